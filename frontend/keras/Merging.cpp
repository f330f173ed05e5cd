//===- Merging.cpp - Layers that take several tensors ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/keras/KerasCall.h"

#include "frontend/Spelling.h"

using namespace mlir;

namespace dlc::frontend {

using Named = KerasCall::Named;

/// The tensors of a merge; none, reported, where they have different numbers of dims.
static SmallVector<Item> tensorsOf(KerasCall &call, bool &areTurned) {
  SmallVector<Item> tensors = call.merged(areTurned);
  for (const Item &tensor : tensors) {
    if (call.failed() || !tensor.isTensor())
      return {};
    if (tensor.tensorType().getRank() == tensors.front().tensorType().getRank())
      continue;
    call.error(quote(call.kind) + " takes tensors of as many dims, got " +
               dl::text(tensors.front().tensorType()) + " and " + dl::text(tensor.tensorType()));
    return {};
  }
  return tensors;
}

/// Joins the tensors by a function of two, element by element; dims of 1 are repeated.
static void join(KerasCall &call, StringRef function, bool isMean = false) {
  bool areTurned = false;
  SmallVector<Item> tensors = tensorsOf(call, areTurned);
  if (tensors.empty())
    return;
  Item result = tensors.front();
  for (const Item &tensor : llvm::drop_begin(tensors)) {
    result = call.function(function, {result, tensor});
    if (call.failed())
      return;
  }
  if (isMean)
    result = call.function("div", {result, Item{static_cast<double>(tensors.size()), call.loc}});
  call.giveMerged(std::move(result), areTurned);
}

static void add(KerasCall &call) { join(call, "add"); }
static void multiply(KerasCall &call) { join(call, "mul"); }
static void maximum(KerasCall &call) { join(call, "maximum"); }
static void minimum(KerasCall &call) { join(call, "minimum"); }
static void average(KerasCall &call) { join(call, "add", /*isMean=*/true); }

static void subtract(KerasCall &call) {
  if (call.operands.size() != 2) {
    call.error("'Subtract' takes two tensors, got " + Twine(call.operands.size()));
    return;
  }
  join(call, "sub");
}

static void concatenate(KerasCall &call) {
  bool areTurned = false;
  SmallVector<Item> tensors = tensorsOf(call, areTurned);
  if (tensors.empty())
    return;
  int64_t rank = tensors.front().tensorType().getRank();
  int64_t given = call.arguments.get("axis").as<int64_t>(), axis = given < 0 ? given + rank : given;
  if (axis < 0 || axis >= rank) {
    call.error("axis is " + Twine(given) + "; expected one of the " + Twine(rank) + " dims of " +
               dl::text(tensors.front().tensorType()));
    return;
  }
  if (areTurned && axis > 0) // [N, ..., C] lies as [N, C, ...]
    axis = axis == rank - 1 ? 1 : axis + 1;
  Item::List list(tensors.begin(), tensors.end());
  Item result =
      call.function("cat", {Item{std::move(list), call.loc}}, Named{"dim", call.number(axis)});
  if (!call.failed())
    call.giveMerged(std::move(result), areTurned);
}

std::vector<KerasKind> kerasMerges() {
  return {
      {"Add", "()", add, /*isMerge=*/true},
      {"Subtract", "()", subtract, /*isMerge=*/true},
      {"Multiply", "()", multiply, /*isMerge=*/true},
      {"Average", "()", average, /*isMerge=*/true},
      {"Maximum", "()", maximum, /*isMerge=*/true},
      {"Minimum", "()", minimum, /*isMerge=*/true},
      {"Concatenate", "(int axis=-1)", concatenate, /*isMerge=*/true},
  };
}

} // namespace dlc::frontend
