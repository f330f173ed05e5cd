//===- KernelRoles.h - Which launch of a program a kernel is for --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TUNE_KERNELROLES_H
#define DLC_TOOLS_DRIVER_TUNE_KERNELROLES_H

#include "runtime/schema/module_generated.h"

#include <map>
#include <string>

namespace dlc {

/// A kernel that runs launch. Variants of a launch have its name, by which compiler and people know
/// the kernel: that in the package, without the prefix of CUDA's functions.
struct KernelRole {
  std::string launch;
  const schema::Kernel *kernel = nullptr;
};

/// The kernels that runs of `program` launch, by their names in the package.
std::map<std::string, KernelRole> rolesOf(const schema::Program &program);

/// The plan that the kernel has, as --force-plan names it; empty where it has none.
std::string planOf(const schema::Kernel &kernel);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_KERNELROLES_H
