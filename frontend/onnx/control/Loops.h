//===- Loops.h - What is known of a Loop --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_CONTROL_LOOPS_H
#define DLC_FRONTEND_ONNX_CONTROL_LOOPS_H

#include "frontend/onnx/control/Regions.h"

namespace dlc::onnx {

/// How a loop uses one of its states.
enum class StateUse {
  Carried,
  Invariant, ///< a step returns what it took
  Written,   ///< no step reads it
  Unread,    ///< no step reads it, nor does a node after the loop
};

/// The uses of the first `count` states of a loop's body. `isResultRead` tells whether a node reads
/// the result of a state.
std::vector<StateUse> statesOf(const Graph &body, size_t count,
                               llvm::function_ref<bool(size_t)> isResultRead);

/// A Loop: its parts, and what is known of them.
struct Importer::Loop {
  const Graph &body;
  size_t states;
  std::optional<int64_t> trips; ///< INT64_MAX: no limit; nothing: computed by the model
  Value condition;
  std::vector<Value> initial;
  std::vector<StateUse> uses = {};
  std::vector<Value> kinds = {}; ///< of sequences: what their elements will be like
  bool mustStep = false;         ///< without a step some results would have another type

  size_t gathered() const { return body.outputs.size() - 1 - states; }
  /// Whether the flow carries the state from step to step.
  bool isCarried(size_t state) const {
    return uses[state] == StateUse::Carried || uses[state] == StateUse::Written;
  }
};

/// A number that is known at import.
Value knownInteger(int64_t number, mlir::Type dtype);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_CONTROL_LOOPS_H
