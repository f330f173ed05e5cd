//===- StepProgram.cpp - A compiled step and its states -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/StepProgram.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/run/Session.h"

#include <algorithm>

namespace dlc {

StepProgram::~StepProgram() {
  if (context)
    dlc_context_free(context);
  if (module)
    dlc_module_free(module);
}

int StepProgram::open(const std::string &path, const DeviceOptions &options) {
  return openProgram(path, options, /*profile=*/false, module, context);
}

int StepProgram::seed(int64_t first) {
  std::vector<std::string> names = stateNames();
  if (std::find(names.begin(), names.end(), "generator") == names.end())
    return kOk;
  dlc_status status = dlc_context_seed(context, first);
  return status ? failRuntime(status) : static_cast<int>(kOk);
}

int StepProgram::run(const std::vector<dlc_tensor> &inputs, std::vector<double> &results) {
  std::vector<HostTensor> outputs(dlc_module_num_outputs(module));
  std::vector<dlc_tensor> views;
  for (HostTensor &output : outputs) {
    output.data.resize(sizeof(float));
    views.push_back(output.view());
  }
  if (dlc_status status =
          dlc_context_run(context, inputs.data(), inputs.size(), views.data(), views.size()))
    return failRuntime(status);
  results.clear();
  for (const HostTensor &output : outputs)
    results.push_back(output.at(0));
  return kOk;
}

std::vector<std::string> StepProgram::outputNames() const {
  std::vector<std::string> names;
  for (size_t index = 0; index < dlc_module_num_outputs(module); ++index) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    dlc_module_output(module, index, &info);
    names.emplace_back(info.name);
  }
  return names;
}

std::vector<std::string> StepProgram::stateNames() const {
  std::vector<std::string> names;
  for (size_t index = 0; index < dlc_module_num_states(module); ++index) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    dlc_module_state(module, index, &info);
    names.emplace_back(info.name);
  }
  return names;
}

int StepProgram::find(const std::string &state) const {
  std::vector<std::string> names = stateNames();
  return static_cast<int>(std::find(names.begin(), names.end(), state) - names.begin());
}

int StepProgram::readState(const std::string &name, HostTensor &value) {
  auto index = static_cast<size_t>(find(name));
  dlc_value_info info = {};
  info.struct_size = sizeof(info);
  dlc_module_state(module, index, &info);
  value.dtype = info.dtype;
  int rank = 0;
  int64_t dims[DLC_MAX_RANK];
  if (dlc_status status = dlc_context_state_dims(context, index, &rank, dims))
    return failRuntime(status);
  value.dims.assign(dims, dims + rank);
  if (!value.allocate())
    return failMemory("state", name, value);
  dlc_status status = dlc_context_read_state(context, index, value.data.data(), value.data.size());
  return status ? failRuntime(status) : static_cast<int>(kOk);
}

int StepProgram::writeState(const std::string &name, const std::vector<int64_t> &dims,
                            const void *data, size_t bytes) {
  dlc_status status = dlc_context_write_state(context, static_cast<size_t>(find(name)), dims.data(),
                                              static_cast<int>(dims.size()), data, bytes);
  return status ? failRuntime(status) : static_cast<int>(kOk);
}

} // namespace dlc
