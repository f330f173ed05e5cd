//===- KeptOutputs.cpp - Outputs that a context keeps for its caller -------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/api/KeptOutputs.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::rt;

void KeptOutputs::forget() {
  for (Output &output : kept)
    output.isKept = false;
}

static const schema::Value &outputOf(const Module &module, size_t index) {
  return *module.table().outputs()->Get(static_cast<uint32_t>(index));
}
static std::string titleOf(const schema::Value &value) {
  return text("output ", quoted(value.name()->string_view()));
}

Status KeptOutputs::fill(const Module &module, const std::vector<Dims> &dims,
                         std::vector<CallerArray> &outputs) {
  kept.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!isLeftToContext(outputs[i]))
      continue;
    const schema::Value &value = outputOf(module, i);
    std::optional<size_t> bytes = bytesOf(dims[i], static_cast<size_t>(rt::bytesOf(value.dtype())));
    if (!bytes)
      return {DLC_USAGE, text(titleOf(value), ": its size overflows 64 bits")};
    Output &output = kept[i];
    DLC_TRY(output.block.reserve(static_cast<int64_t>(std::max<size_t>(*bytes, 1)),
                                 "the outputs that the context keeps"));
    output.data = output.block.data();
    output.bytes = *bytes;
    output.isKept = true;
    outputs[i].dims = dims[i];
    outputs[i].data = output.block.data();
    outputs[i].bytes = *bytes;
    outputs[i].onDevice = false;
  }
  return {};
}

void KeptOutputs::cut(const Module &module, const std::vector<Dims> &dims) {
  for (size_t i = 0; i < std::min(kept.size(), dims.size()); ++i)
    if (kept[i].isKept)
      kept[i].bytes =
          *bytesOf(dims[i], static_cast<size_t>(rt::bytesOf(outputOf(module, i).dtype())));
}

/// "f32[5,4]".
static std::string describe(const schema::Value &value, const Dims &dims) {
  std::string out = text(nameOf(value.dtype()), "[");
  for (size_t i = 0; i < dims.size(); ++i)
    out += text(i ? "," : "", dims[i]);
  return out + "]";
}

Status KeptOutputs::deliver(const Module &module, const Binding &binding, FlowRunner &flow,
                            const std::vector<CallerArray> &outputs, std::vector<Dims> &dims) {
  dims.clear();
  for (const TensorRef &tensor : flow.results())
    dims.push_back(tensor->dims);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor &tensor = *flow.results()[i];
    const schema::Value &value = outputOf(module, i);
    for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
      if (int64_t wanted = binding.outputs[i][dim]; wanted >= 0 && wanted != tensor.dims[dim])
        return {DLC_USAGE, text(titleOf(value), ", dim ", dim, ": the model computed ",
                                tensor.dims[dim], "; expected ", wanted)};
    if (!isLeftToContext(outputs[i])) {
      if (outputs[i].bytes < tensor.bytes)
        return {DLC_USAGE,
                text(titleOf(value), ": the model computed ", describe(value, tensor.dims),
                     ", which needs ", tensor.bytes, " bytes, and the array has ", outputs[i].bytes,
                     ". Run again with a larger array, or leave the output to the context (data "
                     "null, bytes 0)")};
      DLC_TRY(flow.copy({outputs[i].data, outputs[i].onDevice}, tensor.place, tensor.bytes));
      continue;
    }
    // Runs in line leave no output to the context: this list is of the thread that calls it.
    kept.resize(std::max(kept.size(), outputs.size()));
    Output &output = kept[i];
    output.data = tensor.place.data; // which the flow holds until its next run
    if (tensor.place.onDevice) {
      DLC_TRY(output.block.reserve(static_cast<int64_t>(std::max<size_t>(tensor.bytes, 1)),
                                   "the outputs that the context keeps"));
      output.data = output.block.data();
      DLC_TRY(flow.copy({output.block.data(), false}, tensor.place, tensor.bytes));
    }
    output.bytes = tensor.bytes;
    output.isKept = true;
  }
  return {};
}

Expected<const KeptOutputs::Output *> KeptOutputs::find(size_t index) const {
  if (index >= kept.size() || !kept[index].isKept)
    return Status(DLC_USAGE, text("the context does not keep output ", index,
                                  ": hand dlc_context_run an output with data null and bytes 0"));
  return &kept[index];
}
