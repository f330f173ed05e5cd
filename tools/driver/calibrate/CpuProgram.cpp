//===- CpuProgram.cpp - A model that the compiler itself runs -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/CpuProgram.h"

#include "codegen/package/Package.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/PhaseRun.h"
#include "tools/driver/run/ModelRun.h"
#include "tools/driver/run/Session.h"
#include "tools/driver/weights/WeightReader.h"

using namespace mlir;

namespace dlc {

FailureOr<std::string> compileCpuProgram(ModuleOp module, const CpuProgramOptions &options,
                                         codegen::ReadPacked readPacked) {
  CompileOptions compile;
  compile.targets = {"cpu"};
  compile.precision = options.precision;
  compile.keepF32 = options.keepF32;
  CompileSession session(compile);
  const bool isThreaded = module.getContext()->isMultithreadingEnabled();
  CompiledModule compiled;
  compiled.module = module;
  LogicalResult result = PhaseRun(session, {}, Phase::simplify, Phase::package).runAlone(compiled);
  compiled.module.release(); // the caller's
  module.getContext()->enableMultithreading(isThreaded);
  if (failed(result))
    return failure();
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  if (failed(codegen::writePackage(module, compiled.code, readPacked, os)))
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
