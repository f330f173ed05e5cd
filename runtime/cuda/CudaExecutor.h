//===- CudaExecutor.h - A context that runs on a GPU -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_CUDAEXECUTOR_H
#define DLC_RUNTIME_CUDA_CUDAEXECUTOR_H

#include "runtime/core/api/Executor.h"

#include <memory>

namespace dlc::cuda {

/// DLC_UNSUPPORTED, with the reason, where CUDA is unusable on this machine or the module has no
/// CUDA program; DLC_DEVICE where it is there and fails.
rt::Expected<std::unique_ptr<rt::Executor>> createExecutor(rt::Module &module, int ordinal,
                                                           const rt::ExecutorOptions &options);

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_CUDAEXECUTOR_H
