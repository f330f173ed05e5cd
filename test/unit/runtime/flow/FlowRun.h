//===- FlowRun.h - Runs a model whose outputs the context keeps -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_FLOW_FLOWRUN_H
#define DLC_TEST_UNIT_RUNTIME_FLOW_FLOWRUN_H

#include "test/unit/runtime/Runner.h"
#include "test/unit/runtime/flow/FlowPackage.h"

#include <cstring>

namespace dlc::test {

struct FlowRun {
  explicit FlowRun(dlc_module *model, dlc_context_options chosen = options("cpu"))
      : model(model), context(open(model, chosen)) {}
  explicit FlowRun(const std::vector<uint8_t> &file, const char *device = "cpu",
                   dlc_context_options chosen = options("cpu"))
      : module(load(file)), model(module.get()) {
    chosen.device = device;
    context = open(model, chosen);
  }

  /// All outputs are left to the context.
  dlc_status run(std::vector<dlc_tensor> inputs) {
    std::vector<dlc_tensor> outputs;
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    dlc_tensor left = {};
    left.struct_size = sizeof(left);
    for (size_t i = 0; i < dlc_module_num_outputs(model); ++i) {
      EXPECT_EQ(dlc_module_output(model, i, &info), DLC_OK) << dlc_last_error();
      left.dtype = info.dtype;
      outputs.push_back(left);
    }
    return dlc_context_run(context.get(), inputs.data(), inputs.size(), outputs.data(),
                           outputs.size());
  }

  std::string bytes(size_t output) const {
    const void *data = nullptr;
    size_t count = 0;
    EXPECT_EQ(dlc_context_output_data(context.get(), output, &data, &count), DLC_OK)
        << dlc_last_error();
    return std::string(static_cast<const char *>(data), count);
  }
  std::vector<float> floats(size_t output) const { return as<float>(output); }
  std::vector<int64_t> integers(size_t output) const { return as<int64_t>(output); }
  std::vector<int64_t> dims(size_t output) const {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    EXPECT_EQ(dlc_context_output_dims(context.get(), output, &rank, dims), DLC_OK)
        << dlc_last_error();
    return {dims, dims + rank};
  }

  ModulePtr module; ///< null where the model is another's
  dlc_module *model;
  ContextPtr context;

private:
  template <class T> std::vector<T> as(size_t output) const {
    std::string all = bytes(output);
    std::vector<T> values(all.size() / sizeof(T));
    if (!all.empty())
      std::memcpy(values.data(), all.data(), all.size());
    return values;
  }
};

using Floats = std::vector<float>;
using Integers = std::vector<int64_t>;

/// Runs sampleFlow().
struct Sample : FlowRun {
  explicit Sample(const char *device = "cpu", dlc_context_options chosen = options("cpu"))
      : FlowRun(sampleFlow().file(), device, chosen) {}

  dlc_status run(Floats x, int64_t trips, bool doubles) {
    values = std::move(x);
    count = {trips};
    flag = {uint8_t(doubles)};
    return FlowRun::run({tensor(DLC_F32, {int64_t(values.size())}, values),
                         tensor(DLC_I64, {}, count), tensor(DLC_BOOL, {}, flag)});
  }

  Floats values;
  Integers count;
  std::vector<uint8_t> flag;
};

/// Runs sumsFlow().
inline dlc_status runSums(FlowRun &run, int64_t trips, int64_t start) {
  Integers a = {trips}, b = {start};
  return run.run({tensor(DLC_I64, {}, a), tensor(DLC_I64, {}, b)});
}

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_FLOW_FLOWRUN_H
