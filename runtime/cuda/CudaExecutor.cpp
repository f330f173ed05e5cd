//===- CudaExecutor.cpp - A context that runs on a GPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaExecutor.h"
dlc::rt::Expected<std::unique_ptr<dlc::rt::Executor>>
dlc::cuda::createExecutor(rt::Module &module, int ordinal, const rt::ExecutorOptions &options) {
  return rt::Status(DLC_UNSUPPORTED, "this build of the runtime has no CUDA path yet");
}
