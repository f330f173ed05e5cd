//===- Decoder.cpp - Tokens into a model with a cache, and what comes next ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/Decoder.h"

#include "tools/driver/base/Output.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace dlc {

//===- The next token -------------------------------------------------------------------------===//

/// From 0 to below 1, the same for the same `seed` and `step` (SplitMix64).
static double uniform(uint64_t seed, uint64_t step) {
  uint64_t bits = seed + (step + 1) * 0x9E3779B97F4A7C15u;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  bits ^= bits >> 31;
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

int64_t chooseToken(const std::vector<double> &logits, const Sampling &sampling, uint64_t step) {
  if (sampling.temperature == 0)
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  std::vector<int64_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
  });
  if (sampling.topK > 0 && static_cast<size_t>(sampling.topK) < order.size()) {
    double least = logits[order[static_cast<size_t>(sampling.topK) - 1]];
    while (logits[order.back()] < least) // as likely as the last one is likely enough
      order.pop_back();
  }
  std::vector<double> sums; // of the probabilities up to each, times one number
  double sum = 0;
  for (int64_t token : order)
    sums.push_back(sum += std::exp((logits[token] - logits[order.front()]) / sampling.temperature));
  size_t count =
      sampling.topP < 1
          ? std::lower_bound(sums.begin(), sums.end(), sampling.topP * sum) - sums.begin() + 1
          : sums.size();
  count = std::min(count, sums.size());
  double place = uniform(sampling.seed, step) * sums[count - 1];
  size_t chosen = std::upper_bound(sums.begin(), sums.begin() + count, place) - sums.begin();
  return order[std::min(chosen, count - 1)];
}

//===- Runs -----------------------------------------------------------------------------------===//

int64_t Decoder::capacity() const { return dlc_module_cache_capacity(session.getModule()); }

int Decoder::open(const std::string &path, const DeviceOptions &options) {
  if (int code = session.open(path, options))
    return code;
  if (capacity() == 0)
    return fail(kUsage,
                "'" + path +
                    "' has no cache that counts its positions, so that it does not continue a "
                    "text; compile a decoder whose states hold the past: --state "
                    "'past_key_values.*=present.*' for ONNX (docs/generation.md)");
  return assignRoles();
}

static bool isInteger(dlc_dtype dtype) { return dtype == DLC_I64 || dtype == DLC_I32; }

int Decoder::assignRoles() {
  dlc_module *module = session.getModule();
  int tokens = 0;
  for (size_t i = 0; i < dlc_module_num_inputs(module); ++i) {
    Input input = {};
    input.info.struct_size = sizeof(input.info);
    if (dlc_status status = dlc_module_input(module, i, &input.info))
      return failRuntime(status);
    std::string name = input.info.name;
    input.role = name == "attention_mask" ? Role::mask
                 : name == "position_ids" ? Role::positions
                                          : Role::tokens;
    bool isRow = input.info.rank == 1 || (input.info.rank == 2 && input.info.min_dims[0] <= 1);
    bool isMask = input.role == Role::mask && input.info.rank == 2;
    if (!isRow || !(isInteger(input.info.dtype) || isMask))
      return fail(kUsage,
                  "input '" + name + "' is " + describeValue(input.info) +
                      ", neither tokens nor an attention_mask or position_ids of a batch of 1; "
                      "expected i64[1,T]");
    if (input.role == Role::tokens) {
      ++tokens;
      least = input.info.min_dims[input.info.rank - 1];
      most = input.info.max_dims[input.info.rank - 1];
    }
    inputs.push_back(input);
  }
  if (tokens != 1)
    return fail(kUsage,
                "the model has " + std::to_string(tokens) +
                    " inputs that may be the tokens; expected one beside attention_mask and "
                    "position_ids");
  if (least > 1)
    return fail(kUsage, "a run of the model takes " + std::to_string(least) +
                            " tokens or more; generation needs runs of one: give dim T a range "
                            "from 1 on");
  size_t count = dlc_module_num_outputs(module), found = count;
  for (size_t i = 0; i < count; ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_output(module, i, &info))
      return failRuntime(status);
    bool isIt = std::string(info.name) == "logits" || count == 1;
    if (!isIt)
      continue;
    found = i;
    if (info.rank >= 1 && info.dims[info.rank - 1] >= 0)
      tokenCount = info.dims[info.rank - 1];
  }
  if (found == count)
    return fail(kUsage, "the model has " + std::to_string(count) +
                            " outputs and none is called 'logits'; name the one that scores the "
                            "next token so");
  logitsOutput = found;
  outputs.resize(count);
  return kOk;
}

int Decoder::run(const int64_t *tokens, int64_t count, HostTensor &result) {
  std::vector<HostTensor> arrays(inputs.size());
  std::vector<dlc_tensor> in, out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    HostTensor &array = arrays[i];
    array.dtype = inputs[i].info.dtype;
    array.dims.assign(static_cast<size_t>(inputs[i].info.rank), 1);
    array.dims.back() = count;
    if (!array.allocate())
      return failMemory("input", inputs[i].info.name, array);
    for (int64_t t = 0; t < count; ++t) {
      int64_t value = inputs[i].role == Role::tokens      ? tokens[t]
                      : inputs[i].role == Role::positions ? length + t
                                                          : 1;
      uint8_t *at = array.data.data() + t * dlc_dtype_size(array.dtype);
      if (array.dtype == DLC_I64)
        *reinterpret_cast<int64_t *>(at) = value;
      else if (array.dtype == DLC_I32)
        *reinterpret_cast<int32_t *>(at) = static_cast<int32_t>(value);
      else if (array.dtype == DLC_F32)
        *reinterpret_cast<float *>(at) = static_cast<float>(value);
      else
        *at = static_cast<uint8_t>(value);
    }
    in.push_back(array.view());
  }
  dlc_context *context = session.getContext();
  if (dlc_status status = dlc_context_bind(context, in.data(), in.size()))
    return failRuntime(status);
  for (size_t i = 0; i < outputs.size(); ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_output(session.getModule(), i, &info))
      return failRuntime(status);
    HostTensor &array = i == logitsOutput ? result : outputs[i];
    array.dtype = info.dtype;
    if (int code = makeRoom(context, i, info.name, array))
      return code;
    out.push_back(array.view());
  }
  if (dlc_status status = dlc_context_run(context, in.data(), in.size(), out.data(), out.size()))
    return failRuntime(status);
  if (int code = takeOutput(context, logitsOutput, "logits", result))
    return code;
  length += count;
  return kOk;
}

int Decoder::read(const std::vector<int64_t> &tokens, std::vector<double> &logits) {
  HostTensor result;
  auto count = static_cast<int64_t>(tokens.size());
  for (int64_t from = 0; from < count; from += most)
    if (int code = run(tokens.data() + from, std::min(most, count - from), result))
      return code;
  if (result.dims.empty() || result.size() == 0)
    return fail(kUsage, "the output 'logits' is " + result.describe() +
                            "; expected the scores of all tokens along its last dim");
  int64_t size = result.dims.back(), first = result.size() - size;
  logits.resize(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i)
    if (std::isnan(logits[static_cast<size_t>(i)] = result.at(first + i)))
      return fail(kAccuracy, "the model's logits hold NaN after token " + std::to_string(length) +
                                 "; dlc compare and dlc verify help to find out why");
  return kOk;
}

} // namespace dlc
