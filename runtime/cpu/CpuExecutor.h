//===- CpuExecutor.h - A context that runs on the CPU ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_CPUEXECUTOR_H
#define DLC_RUNTIME_CPU_CPUEXECUTOR_H

#include "runtime/core/api/Executor.h"

#include <memory>

namespace dlc::cpu {

/// DLC_UNSUPPORTED where the module has no CPU program, DLC_INCOMPATIBLE where it is for another
/// processor.
rt::Expected<std::unique_ptr<rt::Executor>> createExecutor(rt::Module &module,
                                                           const rt::ExecutorOptions &options);

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_CPUEXECUTOR_H
