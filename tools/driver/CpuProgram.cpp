//===- CpuProgram.cpp - A model that the compiler itself runs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/CpuProgram.h"

#include "codegen/Passes.h"
#include "codegen/cpu/CpuCode.h"
#include "codegen/package/Package.h"
#include "passes/Pipelines.h"
#include "tools/driver/WeightReader.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dlc {

static LogicalResult runPhases(ModuleOp module) {
  PipelineOptions options;
  options.targets = {"cpu"};
  for (Phase phase : {Phase::compress, Phase::precision, Phase::layout, Phase::fuse, Phase::outline,
                      Phase::schedule, Phase::buffers}) {
    if (phase == Phase::schedule)
      for (auto target : module.getOps<ModuleOp>()) {
        PassManager manager(module.getContext(), ModuleOp::getOperationName());
        manager.addPass(codegen::createScheduleCpuPass());
        if (failed(manager.run(target)))
          return failure();
      }
    PassManager manager(module.getContext(), ModuleOp::getOperationName());
    addPhase(manager, phase, options);
    if (failed(manager.run(module)))
      return failure();
  }
  return success();
}

FailureOr<std::string> compileCpuProgram(ModuleOp module) {
  if (failed(runPhases(module)))
    return failure();
  codegen::GeneratedCode code;
  for (auto target : module.getOps<ModuleOp>()) {
    auto variants = codegen::compileCpuVariants(target);
    if (failed(variants))
      return failure();
    code.cpu = std::move(*variants);
  }
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(codegen::writePackage(module, code, readPackedWeight, os)))
    return failure();
  return bytes;
}

} // namespace dlc
