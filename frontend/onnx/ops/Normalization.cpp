//===- Normalization.cpp - Normalizations of ONNX --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Spelling.h"
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Dims from `axis` on; nothing, reported, where one is symbolic.
static std::optional<SmallVector<int64_t>> normalizedShape(NodeImport &node, int64_t axis) {
  SmallVector<int64_t> shape;
  dl::Dims dims = node.dims(0);
  for (AffineExpr dim : ArrayRef<AffineExpr>(dims).drop_front(axis)) {
    auto size = dl::asConstant(dim);
    if (!size) {
      node.unsupported("it normalizes over the symbolic dim " + dl::text(dim),
                       "; dlc needs its number");
      return std::nullopt;
    }
    shape.push_back(*size);
  }
  return shape;
}

static bool isFloat(Type type, unsigned bits) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == bits;
}

/// stash_type 1: 16-bit tensors are normalized in f32, and rounded before they are scaled.
static bool buildLayerNorm(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", -1), rank);
  double eps = node.real("epsilon", 1e-5);
  node.integer("stash_type", 1);
  auto shape = axis ? normalizedShape(node, *axis) : std::nullopt;
  Item x = node.tensor(0);
  if (!shape || node.hasFailed())
    return false;
  Type dtype = node.dtype(0);
  dl::Dims dims = node.dims(0);
  dl::Dims inner(dims.begin() + *axis, dims.end());
  auto fits = [&](size_t input) { return !node.has(input) || node.dims(input) == inner; };
  bool isPlain = fits(1) && fits(2) && !node.wants(1) && !node.wants(2) && !isFloat(dtype, 16);
  if (isPlain) {
    std::vector<std::pair<StringRef, Item>> named{{"eps", item(eps)}};
    if (node.has(1))
      named.push_back({"weight", node.tensor(1)});
    if (node.has(2))
      named.push_back({"bias", node.tensor(2)});
    node.set(0, node.call("layer_norm", {x, itemList(*shape)}, named));
    return !node.hasFailed();
  }
  Type stash = isFloat(dtype, 16) ? Type(node.builder.getF32Type()) : dtype;
  Item wide = node.cast(x, stash);
  Item axes = itemList(llvm::seq<int64_t>(*axis, rank));
  Item mean = node.call("mean", {wide, axes, item(true)});
  Item centred = node.call("sub", {wide, mean});
  Item variance = node.call("mean", {node.call("mul", {centred, centred}), axes, item(true)});
  Item inverse = node.call("rsqrt", {node.call("add", {variance, item(eps)})});
  Item y = node.cast(node.call("mul", {centred, inverse}), dtype);
  if (node.has(1))
    y = node.call("mul", {y, node.tensor(1)});
  if (node.has(2))
    y = node.call("add", {y, node.tensor(2)});
  node.set(0, y);
  if (node.wants(1))
    node.set(1, mean);
  if (node.wants(2))
    node.set(2, inverse);
  return !node.hasFailed();
}

static bool buildRmsNorm(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", -1), rank);
  double eps = node.real("epsilon", 1e-5);
  node.integer("stash_type", 1);
  auto shape = axis ? normalizedShape(node, *axis) : std::nullopt;
  Item x = node.tensor(0), scale = node.tensor(1);
  if (!shape || node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0), inner(dims.begin() + *axis, dims.end());
  if (node.dims(1) == inner)
    node.set(0,
             node.call("rms_norm", {x, itemList(*shape)}, {{"weight", scale}, {"eps", item(eps)}}));
  else
    node.set(
        0, node.call("mul",
                     {node.call("rms_norm", {x, itemList(*shape)}, {{"eps", item(eps)}}), scale}));
  return !node.hasFailed();
}

/// Before opset 21 scale and bias are of groups, then of channels.
static bool buildGroupNorm(NodeImport &node) {
  int64_t groups = node.integer("num_groups", 1);
  double eps = node.real("epsilon", 1e-5);
  node.integer("stash_type", 1);
  Item x = node.tensor(0), scale = node.tensor(1), bias = node.tensor(2);
  if (node.hasFailed())
    return false;
  auto channels = node.rank(0) > 1 ? dl::asConstant(node.dims(0)[1]) : std::nullopt;
  if (!channels || groups < 1 || *channels % groups)
    return node.fail("its " + llvm::Twine(groups) + " groups do not divide the channels of " +
                     dl::text(node.type(0)));
  if (node.opset < 21) {
    int64_t each = *channels / groups;
    for (Item *of : {&scale, &bias})
      *of = node.reshape(node.broadcast(node.reshape(*of, {node.dim(groups), node.dim(1)}),
                                        {node.dim(groups), node.dim(each)}),
                         {node.dim(*channels)});
  }
  node.set(0, node.call("group_norm", {x, item(groups), scale, bias, item(eps)}));
  return !node.hasFailed();
}

/// x / (sum |x|^p)^(1/p); 0 where that sum is 0.
static bool buildLpNorm(NodeImport &node) {
  auto axis = node.axis(node.integer("axis", -1), node.rank(0));
  double p = static_cast<double>(node.integer("p", 2));
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  Item norm = node.call("norm", {x, item(p), itemList(SmallVector<int64_t>{*axis}), item(true)});
  Item zero = node.scalar(0, node.dtype(0));
  Item isZero = node.call("eq", {norm, zero});
  // No quotient is 0 / 0, so that none of a derivative is.
  Item quotient = node.call("div", {x, node.call("where", {isZero, item(1.0), norm})});
  node.set(0, node.call("where", {isZero, node.call("zeros_like", {x}), quotient}));
  return !node.hasFailed();
}

/// (x - mean) / (standard deviation + 1e-9) over the axes.
static bool buildMeanVariance(NodeImport &node) {
  SmallVector<int64_t> axes = node.integerList("axes");
  if (!node.hasAttribute("axes"))
    axes = {0, 2, 3};
  Item x = node.tensor(0);
  Item mean = node.call("mean", {x, itemList(axes), item(true)});
  Item centred = node.call("sub", {x, mean});
  Item variance =
      node.call("mean", {node.call("mul", {centred, centred}), itemList(axes), item(true)});
  node.set(0, node.call("div",
                        {centred, node.call("add", {node.call("sqrt", {variance}), item(1e-9)})}));
  return !node.hasFailed();
}

/// x / (bias + alpha / size sum of x^2 over `size` neighbouring channels)^beta: the sum is a mean pool over channels.
static bool buildLrn(NodeImport &node) {
  int64_t size = node.integer("size", 1);
  double alpha = node.real("alpha", 1e-4), beta = node.real("beta", 0.75),
         bias = node.real("bias", 1);
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  if (dims.size() < 2 || size < 1 || size > INT16_MAX)
    return node.fail("it takes a tensor [N, C, ...] and a size from 1 on, got " +
                     dl::text(node.type(0)) + " and " + llvm::Twine(size));
  AffineExpr rest = dl::product(ArrayRef<AffineExpr>(dims).drop_front(2), node.context);
  Item squares = node.reshape(node.call("mul", {x, x}), {dims[0], node.dim(1), dims[1], rest});
  Item wide =
      node.call("pad", {squares, itemList(SmallVector<int64_t>{0, 0, (size - 1) / 2, size / 2})});
  Item mean = node.call("avg_pool2d", {wide, itemList(SmallVector<int64_t>{size, 1}),
                                       itemList(SmallVector<int64_t>{1, 1})});
  Item scale =
      node.call("add", {node.call("mul", {node.reshape(mean, dims), item(alpha)}), item(bias)});
  node.set(0, node.call("div", {x, node.call("pow", {scale, item(beta)})}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> normalizationRules() {
  static const OddRule rules[] = {
      {"LayerNormalization", 1, buildLayerNorm},           {"RMSNormalization", 1, buildRmsNorm},
      {"GroupNormalization", 18, buildGroupNorm},          {"LpNormalization", 1, buildLpNorm},
      {"MeanVarianceNormalization", 9, buildMeanVariance}, {"LRN", 1, buildLrn},
  };
  return rules;
}

} // namespace dlc::onnx
