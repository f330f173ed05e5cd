//===- CallerArrays.cpp - Inputs and outputs as the caller describes them ---------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/api/CallerArrays.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <cassert>
#include <cstring>

using namespace dlc;
using namespace dlc::rt;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

static Status checkKind(const Executor &device, const schema::Value &value, const char *kind,
                        const CallerArray &array) {
  auto name = [&] { return text(kind, " ", quoted(value.name()->string_view())); };
  if (array.dtype != toC(value.dtype()))
    return {DLC_USAGE, text(name(), ": expected ", nameOf(value.dtype()), ", got ",
                            dlc_dtype_name(array.dtype))};
  if (array.onDevice && !device.takesDeviceMemory())
    return {DLC_USAGE,
            text(name(), ": its data is in GPU memory, and the context runs on ", device.device())};
  return {};
}

static Status checkArray(const Executor &device, const schema::Value &value, const char *kind,
                         const CallerArray &array) {
  auto name = [&] { return text(kind, " ", quoted(value.name()->string_view())); };
  DLC_TRY(checkKind(device, value, kind, array));
  int64_t needed = bytesOf(value.dtype());
  for (int64_t extent : array.dims) {
    assert(extent >= 0 && "dims are those of a binding");
    if (!checkedMul(needed, extent, needed))
      return {DLC_USAGE, text(name(), ": its size overflows 64 bits")};
  }
  if (array.bytes < static_cast<uint64_t>(needed))
    return {DLC_USAGE,
            text(name(), ": its dims need ", needed, " bytes, the array has ", array.bytes)};
  if (!array.data && needed > 0)
    return {DLC_USAGE, text(name(), ": its data pointer is null")};
  return {};
}

Status dlc::rt::checkTypes(const Module &module, const std::vector<CallerArray> &inputs) {
  size_t count = sizeOf(module.table().inputs());
  for (size_t i = 0; i < std::min(count, inputs.size()); ++i) {
    const schema::Value &value = *module.table().inputs()->Get(i);
    if (inputs[i].dtype != toC(value.dtype()))
      return {DLC_USAGE, text("input ", quoted(value.name()->string_view()), ": expected ",
                              module.describe(value), ", got ", dlc_dtype_name(inputs[i].dtype))};
  }
  return {};
}

/// A bool is 0 or 1: kernels take other bytes for nothing sensible.
static Status checkBool(const schema::Value &value, const CallerArray &array) {
  if (value.dtype() != schema::DType::boolean || array.onDevice)
    return {};
  size_t count = 1;
  for (int64_t extent : array.dims)
    count *= static_cast<size_t>(extent);
  auto *bytes = static_cast<const uint8_t *>(array.data);
  // A block at a time, all bits together: a loop that leaves at an element is done one by one.
  static constexpr size_t kBlock = 4096;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t end = std::min(begin + kBlock, count);
    uint8_t bits = 0;
    for (size_t i = begin; i < end; ++i)
      bits |= bytes[i];
    if (bits <= 1)
      continue;
    for (size_t i = begin; i < end; ++i)
      if (bytes[i] > 1)
        return {DLC_USAGE, text("input ", quoted(value.name()->string_view()), ": element ", i,
                                " is ", bytes[i], "; a bool is 0 or 1")};
  }
  return {};
}

Status dlc::rt::checkInputs(const Module &module, const Executor &device,
                            const std::vector<CallerArray> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    DLC_TRY(checkArray(device, *module.table().inputs()->Get(i), "input", inputs[i]));
  return {};
}

Status dlc::rt::checkBools(const Module &module, const std::vector<CallerArray> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    DLC_TRY(checkBool(*module.table().inputs()->Get(i), inputs[i]));
  return {};
}

/// The part of an output of `dims` that a count may cut off comes after all that remains.
static bool isCutAtEnd(const Module &module, const schema::Value &value, const Dims &dims) {
  int64_t before = 1;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    std::vector<uint32_t> symbols = module.expressions().symbolsOf(value.dims()->Get(dim));
    for (uint32_t symbol : symbols)
      if (module.table().symbols()->Get(symbol)->counted() && before > 1)
        return false;
    before *= dims[dim];
  }
  return true;
}

Status dlc::rt::checkOutputs(const Module &module, const Executor &device, const Binding &binding,
                             const std::vector<CallerArray> &outputs, bool mayKeep) {
  size_t count = module.numOutputs();
  if (outputs.size() != count)
    return {DLC_USAGE, text("expected ", count, count == 1 ? " output" : " outputs", ", got ",
                            outputs.size())};
  for (size_t i = 0; i < count; ++i) {
    const schema::Value &value = *module.table().outputs()->Get(i);
    auto name = [&] { return text("output ", quoted(value.name()->string_view())); };
    if (mayKeep && isLeftToContext(outputs[i])) {
      DLC_TRY(checkKind(device, value, "output", outputs[i]));
      continue;
    }
    if (outputs[i].dims.size() != binding.outputs[i].size())
      return {DLC_USAGE, text(name(), ": expected ", binding.outputs[i].size(), " dims, got ",
                              outputs[i].dims.size())};
    bool isKnown = true;
    for (size_t dim = 0; dim < outputs[i].dims.size(); ++dim) {
      int64_t expected = binding.outputs[i][dim];
      isKnown &= expected >= 0;
      if (expected >= 0 && outputs[i].dims[dim] != expected)
        return {DLC_USAGE, text(name(), ", dim ", dim, ": expected ", expected, ", got ",
                                outputs[i].dims[dim])};
    }
    if (!isKnown) { // the array's size is compared after the run
      if (!outputs[i].data)
        return {DLC_USAGE, text(name(), ": its data pointer is null")};
      DLC_TRY(checkKind(device, value, "output", outputs[i]));
      continue;
    }
    DLC_TRY(checkArray(device, value, "output", outputs[i]));
    if (outputs[i].onDevice && binding.outputs.size() > count &&
        !isCutAtEnd(module, value, outputs[i].dims))
      return {DLC_UNSUPPORTED,
              text(name(), ": the data say how large a dim is that is not its first: dlc moves its "
                           "elements together in memory of the CPU alone; give it such memory")};
  }
  return {};
}

Status dlc::rt::moveTogether(size_t width, const Dims &from, const Dims &to,
                             const std::function<Status(size_t, size_t, size_t)> &move) {
  if (from == to)
    return {};
  // Runs of elements that lie together in both; each goes to where one lay before it.
  size_t dim = from.size();
  size_t run = width;
  while (dim > 0 && from[dim - 1] == to[dim - 1])
    run *= static_cast<size_t>(from[--dim]);
  --dim; // the last one that is cut
  run *= static_cast<size_t>(to[dim]);
  size_t count = 1;
  for (size_t i = 0; i < dim; ++i)
    count *= static_cast<size_t>(to[i]);
  if (run == 0)
    return {};
  std::vector<int64_t> index(dim);
  size_t step = run / static_cast<size_t>(to[dim]) * static_cast<size_t>(from[dim]);
  for (size_t number = 0; number < count; ++number) {
    size_t place = 0;
    for (size_t i = 0; i < dim; ++i)
      place = place * static_cast<size_t>(from[i]) + static_cast<size_t>(index[i]);
    DLC_TRY(move(number * run, place * step, run));
    for (size_t i = dim; i-- > 0 && ++index[i] == to[i];)
      index[i] = 0;
  }
  return {};
}

Status dlc::rt::cutOutputs(const Module &module, const Binding &binding,
                           const std::vector<int64_t> &counts,
                           const std::vector<CallerArray> &outputs, std::vector<Dims> &dims) {
  std::vector<int64_t> symbols = binding.symbols, values;
  size_t next = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const schema::Symbol &symbol = *module.table().symbols()->Get(i);
    if (!symbol.counted())
      continue;
    int64_t count = counts[next++];
    if (count < 0 || count > symbols[i])
      return {DLC_INTERNAL, text("the model counted ", count, " of ", symbols[i], " for ",
                                 quoted(symbol.name()->string_view()))};
    symbols[i] = count;
  }
  module.expressions().evaluate(symbols, module.expressions().size(), values);
  dims.clear();
  for (size_t i = 0; i < outputs.size(); ++i) {
    const schema::Value &value = *module.table().outputs()->Get(i);
    Dims &real = dims.emplace_back();
    for (size_t dim = 0; dim < sizeOf(value.dims()); ++dim)
      real.push_back(values[value.dims()->Get(dim)]);
    auto *data = static_cast<uint8_t *>(outputs[i].data);
    if (!outputs[i].onDevice)
      DLC_TRY(moveTogether(static_cast<size_t>(bytesOf(value.dtype())), binding.outputs[i], real,
                           [&](size_t target, size_t source, size_t bytes) -> Status {
                             std::memmove(data + target, data + source, bytes);
                             return {};
                           }));
  }
  return {};
}
