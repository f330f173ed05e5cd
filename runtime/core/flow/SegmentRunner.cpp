//===- SegmentRunner.cpp - One segment of a flow on a device ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/flow/SegmentRunner.h"
#include "runtime/core/DType.h"
#include "runtime/core/api/CallerArrays.h"

#include <algorithm>
#include <cassert>

using namespace dlc;
using namespace dlc::rt;

static bool haveDims(const std::vector<TensorRef> &tensors, const std::vector<Dims> &dims) {
  return std::equal(
      tensors.begin(), tensors.end(), dims.begin(), dims.end(),
      [](const TensorRef &tensor, const Dims &other) { return tensor->dims == other; });
}

Status SegmentRunner::bind(const std::vector<TensorRef> &inputs,
                           const std::vector<int64_t> &numbers) {
  auto found = std::find_if(shapes.begin(), shapes.end(), [&](const Shape &shape) {
    return shape.numbers == numbers && haveDims(inputs, shape.inputs);
  });
  if (found != shapes.end()) {
    shapes.splice(shapes.begin(), shapes, found);
  } else {
    std::vector<Dims> dims;
    for (const TensorRef &tensor : inputs)
      dims.push_back(tensor->dims);
    Expected<Binding> binding = bindShapes(module, dims, numbers);
    if (binding.failed())
      return binding.status();
    shapes.push_front({std::move(dims), numbers, binding.take()});
    if (shapes.size() > kMostShapes) {
      if (placed == &shapes.back())
        placed = nullptr;
      shapes.pop_back();
    }
  }
  if (placed == &shapes.front())
    return {};
  placed = nullptr;
  DLC_TRY(executor->bind(shapes.front().binding));
  placed = &shapes.front();
  return {};
}

Status SegmentRunner::call(const std::vector<TensorRef> &inputs,
                           const std::vector<int64_t> &numbers, TensorPool &pool,
                           std::vector<TensorRef> &outputs) {
  DLC_TRY(bind(inputs, numbers));
  const Binding &binding = shapes.front().binding;
  in.clear();
  out.clear();
  outputs.clear();
  for (const TensorRef &tensor : inputs)
    in.push_back(tensor->place);
  for (size_t i = 0; i < module.numOutputs(); ++i) {
    auto width = static_cast<size_t>(rt::bytesOf(module.table().outputs()->Get(i)->dtype()));
    Expected<TensorRef> made = pool.make(binding.outputs[i], width);
    if (made.failed())
      return made.status();
    out.push_back((*made)->place);
    outputs.push_back(made.take());
  }
  counts.assign(binding.outputs.size() - outputs.size(), 0);
  if (counts.empty())
    return executor->launch(in, out);
  for (int64_t &count : counts)
    out.push_back({&count, false});
  DLC_TRY(executor->run(in, out));
  return cut(binding, counts, pool, outputs);
}

/// Leaves the elements of counted outputs that are real.
Status SegmentRunner::cut(const Binding &binding, const std::vector<int64_t> &counts,
                          TensorPool &pool, std::vector<TensorRef> &outputs) {
  std::vector<CallerArray> arrays;
  for (size_t i = 0; i < outputs.size(); ++i)
    arrays.push_back({toC(module.table().outputs()->Get(i)->dtype()), outputs[i]->dims,
                      outputs[i]->place.data, outputs[i]->bytes, outputs[i]->place.onDevice});
  std::vector<Dims> dims;
  DLC_TRY(cutOutputs(module, binding, counts, arrays, dims));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (dims[i] == outputs[i]->dims)
      continue;
    auto width = static_cast<size_t>(rt::bytesOf(module.table().outputs()->Get(i)->dtype()));
    if (!outputs[i]->place.onDevice) {
      outputs[i]->bytes = *bytesOf(dims[i], width);
      outputs[i]->dims = dims[i];
      continue;
    }
    Expected<TensorRef> made = pool.make(dims[i], width);
    if (made.failed())
      return made.status();
    auto at = [](const TensorRef &tensor, size_t offset) {
      return Argument{static_cast<char *>(tensor->place.data) + offset, true};
    };
    DLC_TRY(moveTogether(width, outputs[i]->dims, dims[i],
                         [&](size_t target, size_t source, size_t bytes) {
                           return executor->copy(at(*made, target), at(outputs[i], source), bytes);
                         }));
    outputs[i] = made.take();
  }
  return {};
}
