//===- Merging.cpp - Layers that take several tensors -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
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
               dl::text(tensors.front().as<Value>()) + " and " + dl::text(tensor.as<Value>()));
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
               dl::text(tensors.front().as<Value>()));
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

/// Sums over a dim of each of two tensors, the batch by itself: [N, a..., b...] of what is left of
/// both; [N, 1] of nothing.
static void dot(KerasCall &call) {
  if (call.operands.size() != 2) {
    call.error("'Dot' takes two tensors, got " + Twine(call.operands.size()));
    return;
  }
  bool areTurned = false;
  SmallVector<Item> tensors = call.merged(areTurned);
  Item::List given = call.arguments.get("axes").as<Item::List>();
  if (call.failed() || given.size() != 2)
    return;
  std::string equation, result = "a";
  char next = 'c';
  SmallVector<mlir::AffineExpr> sizes;
  for (auto [tensor, item] : llvm::zip(tensors, given)) {
    auto axis = item.as<int64_t>();
    dl::Dims dims = call.dims(tensor); // turned: [N, C, ...] where Keras means [N, ..., C]
    if (areTurned)
      std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
    auto rank = static_cast<int64_t>(dims.size());
    int64_t summed = axis < 0 ? axis + rank : axis;
    if (summed < 1 || summed >= rank) {
      call.error(
          "axes has " + Twine(axis) + " for " +
          dl::text(dl::makeTensor(dims, tensor.tensorType().getElementType()), tensor.as<Value>()) +
          "; expected one of its dims after the batch");
      return;
    }
    sizes.push_back(dims[summed]);
    std::string letters = "a";
    for (int64_t dim = 1; dim < rank; ++dim)
      letters += dim == summed ? 'b' : next++;
    for (char letter : StringRef(letters).drop_front())
      if (letter != 'b')
        result += letter;
    if (areTurned)
      std::rotate(letters.begin() + 1, letters.end() - 1, letters.end());
    equation += (equation.empty() ? "" : ",") + letters;
    if (call.arguments.flag("normalize")) // as Keras does, with its epsilon
      tensor = call.function("normalize", tensor,
                             {Named{"dim", call.number(static_cast<int64_t>(letters.find('b')))},
                              Named{"eps", Item{1e-7, call.loc}}});
    if (call.failed())
      return;
  }
  if (sizes.front() != sizes.back()) {
    call.error("'Dot' sums over a dim of " + dl::text(sizes.front(), tensors.front().as<Value>()) +
               " and one of " + dl::text(sizes.back(), tensors.back().as<Value>()) +
               "; expected equal ones");
    return;
  }
  Item y = call.function("einsum", {call.text(equation + "->" + result),
                                    Item{Item::List(tensors.begin(), tensors.end()), call.loc}});
  if (result.size() == 1 && !call.failed())
    y = call.reshape(y, {call.dims(y).front(), dl::constantDim(1, sizes.front().getContext())});
  if (!call.failed())
    call.giveMerged(std::move(y), /*isTurned=*/false);
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
      {"Dot", "(int[2] axes, bool normalize=False)", dot, /*isMerge=*/true},
  };
}

} // namespace dlc::frontend
