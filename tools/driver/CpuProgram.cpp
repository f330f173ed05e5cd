//===- CpuProgram.cpp - A model that the compiler itself runs --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/CpuProgram.h"

#include "codegen/Passes.h"
#include "codegen/cpu/CpuCode.h"
#include "codegen/package/Package.h"
#include "tools/driver/Output.h"
#include "tools/driver/Session.h"
#include "tools/driver/WeightReader.h"

#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dlc {

static LogicalResult runPhases(ModuleOp module, const PipelineOptions &options) {
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
  if (dlc_status status = dlc_context_bind(context, inputs.data(), inputs.size()))
    return failRuntime(status);
  auto setDims = [&](size_t index) {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    dlc_status status = dlc_context_output_dims(context, index, &rank, dims);
    if (status == DLC_OK)
      outputs[index].dims.assign(dims, dims + rank);
    return status;
  };
  std::vector<dlc_tensor> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (dlc_status status = setDims(i))
      return failRuntime(status);
    if (!outputs[i].allocate())
      return failMemory("output", outputNames[i], outputs[i]);
    views.push_back(outputs[i].view());
  }
  if (dlc_status status =
          dlc_context_run(context, inputs.data(), inputs.size(), views.data(), views.size()))
    return failRuntime(status);
  for (size_t i = 0; i < outputs.size(); ++i) { // the data may say how large it is
    if (dlc_status status = setDims(i))
      return failRuntime(status);
    outputs[i].data.resize(static_cast<size_t>(outputs[i].size()) *
                           dlc_dtype_size(outputs[i].dtype));
  }
  return kOk;
}

} // namespace dlc
