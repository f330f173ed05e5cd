//===- CpuProgram.cpp - A model that the compiler itself runs -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/CpuProgram.h"

#include "codegen/Passes.h"
#include "codegen/cpu/image/CpuCode.h"
#include "codegen/package/Package.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/run/ModelRun.h"
#include "tools/driver/run/Session.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dlc {

static LogicalResult runPhases(ModuleOp module, const PipelineOptions &options) {
  for (Phase phase : {Phase::compress, Phase::precision, Phase::layout, Phase::fuse, Phase::outline,
                      Phase::schedule, Phase::buffers}) {
    if (phase == Phase::schedule)
      for (auto target : module.getOps<ModuleOp>()) {
        PassManager manager(module.getContext(), ModuleOp::getOperationName());
        codegen::addScheduleCpu(manager);
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

FailureOr<std::string> compileCpuProgram(ModuleOp module, PipelineOptions options,
                                         codegen::ReadPacked readPacked) {
  options.targets = {"cpu"};
  if (failed(runPhases(module, options)))
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
  if (failed(codegen::writePackage(module, code, readPacked, os)))
    return failure();
  return bytes;
}

CpuProgram::~CpuProgram() {
  dlc_context_free(context);
  dlc_module_free(module);
}

int CpuProgram::open(const std::string &package) {
  dlc_context_options settings = {};
  settings.struct_size = sizeof(settings);
  settings.device = "cpu";
  if (dlc_status status = dlc_module_load_memory(package.data(), package.size(), nullptr, &module))
    return failRuntime(status);
  if (dlc_status status = dlc_context_create(module, &settings, &context))
    return failRuntime(status);
  outputs.resize(dlc_module_num_outputs(module));
  for (size_t i = 0; i < outputs.size(); ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_output(module, i, &info))
      return failRuntime(status);
    outputs[i].dtype = info.dtype;
    outputNames.emplace_back(info.name);
  }
  return kOk;
}

int CpuProgram::run(const std::vector<dlc_tensor> &inputs) {
  // Each batch is a stream of its own.
  dlc_context_reset_states(context);
  return runOnce(context, inputs, outputNames, outputs);
}

} // namespace dlc
