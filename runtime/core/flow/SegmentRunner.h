//===- SegmentRunner.h - One segment of a flow on a device ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_FLOW_SEGMENTRUNNER_H
#define DLC_RUNTIME_CORE_FLOW_SEGMENTRUNNER_H

#include "runtime/core/flow/TensorPool.h"
#include "runtime/core/package/Module.h"

#include <list>
#include <memory>
#include <vector>

namespace dlc::rt {

class SegmentRunner {
public:
  SegmentRunner(const Module &module, std::unique_ptr<Executor> executor)
      : module(module), executor(std::move(executor)) {}

  /// Runs the segment on tensors of the device, and makes its outputs. A call of the dims and
  /// numbers of the last one binds nothing.
  Status call(const std::vector<TensorRef> &inputs, const std::vector<int64_t> &numbers,
              TensorPool &pool, std::vector<TensorRef> &outputs);

  Executor &device() { return *executor; }
  const Executor &device() const { return *executor; }

private:
  /// The segment under dims and numbers of a call.
  struct Shape {
    std::vector<Dims> inputs;
    std::vector<int64_t> numbers;
    Binding binding;
  };
  /// How many shapes are kept.
  static constexpr size_t kMostShapes = 16;

  Status bind(const std::vector<TensorRef> &inputs, const std::vector<int64_t> &numbers);
  Status cut(const Binding &binding, const std::vector<int64_t> &counts, TensorPool &pool,
             std::vector<TensorRef> &outputs);

  const Module &module;
  std::unique_ptr<Executor> executor;
  std::list<Shape> shapes;       ///< called last, the newest first
  const Shape *placed = nullptr; ///< what the executor has bound
  std::vector<Argument> in, out; ///< of the current call
  std::vector<int64_t> counts;   ///< that the segment's last outputs give
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_FLOW_SEGMENTRUNNER_H
