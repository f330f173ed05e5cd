//===- CudaBinaries.h - Kernels compiled for named GPUs, ahead of time --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_CUDABINARIES_H
#define DLC_TOOLS_DRIVER_COMPILER_CUDABINARIES_H

#include "codegen/package/Package.h"
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "tools/driver/compiler/CompileSession.h"

#include <memory>
#include <string>
#include <vector>

namespace dlc {

/// What `dlc compile --target cpu,sm_80,sm_90a` names beside cpu and cuda. No GPU and no driver is
/// needed: NVRTC compiles for any architecture that it knows.
class CudaBinaries {
public:
  /// Takes the architectures out of `targets`, where they leave "cuda". Reports one that there is
  /// not, or that the installed NVRTC does not know; an ExitCode.
  int choose(std::vector<std::string> &targets);
  /// The architecture of the only GPU that was named, 90 for sm_90a; 0 where several were, or cuda,
  /// which is any.
  int onlyGpu() const;
  /// Adds the machine code of each kernel for each architecture to it, and shows how many are done.
  /// An ExitCode.
  int compile(codegen::GeneratedCode &code, CompileSession &session);

private:
  int compileFor(const cuda::Architecture &arch, codegen::GeneratedCode &code,
                 const cuda::CompileProgress &progress);

  std::vector<cuda::Architecture> architectures;
  std::unique_ptr<cuda::KernelCompiler> compiler;
  bool isForAny = false; ///< cuda was named
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_CUDABINARIES_H
