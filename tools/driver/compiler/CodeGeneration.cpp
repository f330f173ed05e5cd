//===- CodeGeneration.cpp - Scheduled modules to code of each target ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CodeGeneration.h"

#include "codegen/cpu/image/CpuCode.h"
#include "codegen/cuda/print/CudaText.h"
#include "tools/driver/inspect/SourceLines.h"

#include <set>

using namespace mlir;

namespace dlc {

/// The CUDA C++ of the kernels of `target`, and of the headers those that they include.
static LogicalResult printCuda(ModuleOp target, codegen::GeneratedCode &code) {
  quoteSourceLines(target);
  code.cudaHeaders = codegen::cudaHeaders();
  WalkResult printed = target.walk([&](gpu::GPUFuncOp kernel) -> WalkResult {
    auto text = codegen::printKernel(kernel);
    if (failed(text))
      return failure();
    code.cuda[kernel.getName().str()] = std::move(*text);
    return success();
  });
  if (printed.wasInterrupted())
    return failure();
  std::set<std::string> included;
  for (const auto &[name, text] : code.cuda)
    included.insert(text.headers.begin(), text.headers.end());
  std::erase_if(code.cudaHeaders,
                [&](const auto &header) { return !included.contains(header.first); });
  return success();
}

LogicalResult generateCode(ModuleOp module, PassTrace &trace, codegen::GeneratedCode &code) {
  for (auto target : module.getOps<ModuleOp>()) {
    auto started = std::chrono::steady_clock::now();
    if (target.getName() != "cpu") {
      if (failed(printCuda(target, code)))
        return failure();
      trace.addStep("cuda-text", started);
      continue;
    }
    auto variants = codegen::compileCpuVariants(target);
    if (failed(variants))
      return failure();
    code.cpu = std::move(*variants);
    trace.addStep("cpu-code", started);
  }
  return success();
}

} // namespace dlc
