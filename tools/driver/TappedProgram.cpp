//===- TappedProgram.cpp - A program whose activations are outputs ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/TappedProgram.h"

#include "tools/driver/Output.h"
#include "tools/driver/Session.h"

namespace dlc {

TappedProgram::~TappedProgram() {
  dlc_context_free(context);
  dlc_module_free(module);
}

int TappedProgram::open(const std::string &package) {
  dlc_context_options settings = {};
  settings.struct_size = sizeof(settings);
  settings.device = "cpu";
  if (dlc_status status = dlc_module_load_memory(package.data(), package.size(), nullptr, &module))
    return failRuntime(status);
  if (dlc_status status = dlc_context_create(module, &settings, &context))
    return failRuntime(status);
  outputs.resize(dlc_module_num_outputs(module));
  return kOk;
}

int TappedProgram::run(const std::vector<dlc_tensor> &inputs) {
  // Each batch is a stream of its own.
  dlc_context_reset_states(context);
  if (dlc_status status = dlc_context_bind(context, inputs.data(), inputs.size()))
    return failRuntime(status);
  std::vector<dlc_tensor> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    if (dlc_status status = dlc_module_output(module, i, &info))
      return failRuntime(status);
    if (dlc_status status = dlc_context_output_dims(context, i, &rank, dims))
      return failRuntime(status);
    outputs[i].dtype = info.dtype;
    outputs[i].dims.assign(dims, dims + rank);
    if (!outputs[i].allocate())
      return failMemory("output", info.name, outputs[i]);
    views.push_back(outputs[i].view());
  }
  if (dlc_status status =
          dlc_context_run(context, inputs.data(), inputs.size(), views.data(), views.size()))
    return failRuntime(status);
  return kOk;
}

} // namespace dlc
