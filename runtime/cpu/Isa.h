//===- Isa.h - Which of a package's code images this processor runs -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_ISA_H
#define DLC_RUNTIME_CPU_ISA_H

#include "runtime/core/Status.h"
#include "runtime/schema/module_generated.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace dlc::cpu {

/// Whether processor and operating system provide an instruction set feature, by LLVM's name
/// ("avx512vnni"). False for a name that the runtime does not know.
bool hasFeature(std::string_view name);

/// The index of the best image whose features are all there. DLC_INCOMPATIBLE with the features
/// that lack where none fits. An image whose instructions are slow on this vendor's processors
/// comes last. The environment variable DLC_CPU_ISA ("avx2") names the one to take, for tests.
rt::Expected<uint32_t> chooseImage(const schema::Program &program);

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_ISA_H
