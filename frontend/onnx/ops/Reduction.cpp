//===- Reduction.cpp - Reductions of ONNX -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// None means all, or with noop_with_empty_axes that nothing is reduced. Nothing after an error.
static std::optional<SmallVector<int64_t>> axesOf(NodeImport &node, int64_t rank) {
  auto axes = node.axes(rank);
  bool keepsAll = node.integer("noop_with_empty_axes", 0) != 0;
  if (axes && axes->empty() && !keepsAll)
    axes->assign(llvm::seq<int64_t>(0, rank).begin(), llvm::seq<int64_t>(0, rank).end());
  return axes;
}

/// The dims of the result where a reduced one is 0.
static std::optional<dl::Dims> dimsOfNothing(NodeImport &node, ArrayRef<int64_t> axes,
                                             bool keepdim) {
  dl::Dims dims = node.dims(0), left;
  bool isEmpty = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool isReduced = llvm::is_contained(axes, static_cast<int64_t>(i));
    isEmpty |= isReduced && dl::isConstant(dims[i], 0);
    if (!isReduced)
      left.push_back(dims[i]);
    else if (keepdim)
      left.push_back(node.dim(1));
  }
  return isEmpty ? std::optional(left) : std::nullopt;
}

/// What no number of the dtype lies beyond: of no elements the largest is the lowest one, the
/// smallest the highest.
static Item extreme(Type dtype, bool isHighest) {
  double infinity = std::numeric_limits<double>::infinity();
  if (isa<FloatType>(dtype))
    return item(isHighest ? infinity : -infinity);
  if (dtype.isInteger(1))
    return item(isHighest);
  unsigned width = dtype.getIntOrFloatBitWidth();
  if (dtype.isUnsignedInteger())
    return item(isHighest ? static_cast<int64_t>(llvm::maxUIntN(width)) : int64_t(0));
  return item(isHighest ? llvm::maxIntN(width) : llvm::minIntN(width));
}

/// Reduces `before(x)` by `callee` and applies `after`. Of integers the result is the integer part
/// of what is computed in `compute`, where that is given.
static bool reduce(
    NodeImport &node, StringRef callee,
    llvm::function_ref<Item(Item)> before = [](Item x) { return x; },
    llvm::function_ref<Item(Item)> after = [](Item x) { return x; }, Type compute = {}) {
  auto axes = axesOf(node, node.rank(0));
  bool keepdim = node.integer("keepdims", 1) != 0;
  Item x = node.tensor(0);
  if (!axes || node.hasFailed())
    return false;
  Type dtype = node.dtype(0), within = isa<FloatType>(dtype) || !compute ? dtype : compute;
  x = before(node.cast(x, within));
  if (callee == "amax" || callee == "amin")
    if (auto dims = dimsOfNothing(node, *axes, keepdim)) {
      if (dtype.isUnsignedInteger(64) && callee == "amin")
        return node.unsupported("it is the least of no elements of u64",
                                "; dlc has no number for that");
      node.set(0,
               node.call("full", {dimItems(*dims), extreme(dtype, callee == "amin"), item(dtype)}));
      return !node.hasFailed();
    }
  if (!axes->empty()) {
    bool isBool = dtype.isInteger(1) && (callee == "amax" || callee == "amin");
    if (isBool)
      callee = callee == "amax" ? "any" : "all";
    x = node.call(callee, {x, itemList(*axes), item(keepdim)});
    x = node.cast(x, within); // integers are summed as i64
  }
  node.set(0, node.cast(after(x), dtype));
  return !node.hasFailed();
}

static bool buildSum(NodeImport &node) { return reduce(node, "sum"); }
static Item unchanged(Item x) { return x; }
static bool buildMean(NodeImport &node) {
  return reduce(node, "mean", unchanged, unchanged, node.builder.getF64Type());
}
static bool buildMax(NodeImport &node) { return reduce(node, "amax"); }
static bool buildMin(NodeImport &node) { return reduce(node, "amin"); }
static bool buildProd(NodeImport &node) { return reduce(node, "prod"); }
static bool buildL1(NodeImport &node) {
  return reduce(node, "sum", [&](Item x) { return node.call("abs", {x}); });
}
static bool buildSumSquare(NodeImport &node) {
  return reduce(node, "sum", [&](Item x) { return node.call("mul", {x, x}); });
}
static bool buildL2(NodeImport &node) {
  return reduce(
      node, "sum", [&](Item x) { return node.call("mul", {x, x}); },
      [&](Item x) { return node.call("sqrt", {x}); }, node.builder.getF64Type());
}
static bool buildLogSum(NodeImport &node) {
  return reduce(
      node, "sum", unchanged, [&](Item x) { return node.call("log", {x}); },
      node.builder.getF64Type());
}
static bool buildLogSumExp(NodeImport &node) {
  // Nothing reduced: log(exp(x)).
  auto axes = axesOf(node, node.rank(0));
  if (axes && axes->empty()) {
    node.integer("keepdims", 1);
    node.set(0, node.call("log", {node.call("exp", {node.tensor(0)})}));
    return !node.hasFailed();
  }
  return reduce(node, "logsumexp", unchanged, unchanged, node.builder.getF64Type());
}

/// With select_last_index, of equal elements the last one.
static bool buildArgLast(NodeImport &node, StringRef callee) {
  auto axis = node.axis(node.integer("axis", 0), node.rank(0));
  bool keepdim = node.integer("keepdims", 1) != 0,
       isLast = node.integer("select_last_index", 0) != 0;
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  if (!isLast) {
    node.set(0, node.call(callee, {x, item(*axis), item(keepdim)}));
    return !node.hasFailed();
  }
  Item mirrored = node.call("flip", {x, itemList(SmallVector<int64_t>{*axis})});
  Item first = node.call(callee, {mirrored, item(*axis), item(keepdim)});
  AffineExpr last = node.dims(0)[*axis] - 1;
  Item size =
      node.call("scalar_tensor", {Item::dim(last, {}), item(Type(node.builder.getI64Type()))});
  node.set(0, node.call("sub", {size, first}));
  return !node.hasFailed();
}
static bool buildArgMax(NodeImport &node) { return buildArgLast(node, "argmax"); }
static bool buildArgMin(NodeImport &node) { return buildArgLast(node, "argmin"); }

llvm::ArrayRef<OddRule> reductionRules() {
  static const OddRule rules[] = {
      {"ReduceSum", 1, buildSum},       {"ReduceMean", 1, buildMean},
      {"ReduceMax", 1, buildMax},       {"ReduceMin", 1, buildMin},
      {"ReduceProd", 1, buildProd},     {"ReduceL1", 1, buildL1},
      {"ReduceL2", 1, buildL2},         {"ReduceSumSquare", 1, buildSumSquare},
      {"ReduceLogSum", 1, buildLogSum}, {"ReduceLogSumExp", 1, buildLogSumExp},
      {"ArgMax", 12, buildArgMax},      {"ArgMin", 12, buildArgMin},
  };
  return rules;
}

} // namespace dlc::onnx
