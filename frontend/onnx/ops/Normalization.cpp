//===- Normalization.cpp - Normalizations of ONNX -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// Dims from `axis` on; nothing, reported, where one is symbolic.
static std::optional<SmallVector<int64_t>> normalizedShape(NodeImport &node, int64_t axis) {
  SmallVector<int64_t> shape;
  dl::Dims dims = node.dims(0);
  for (AffineExpr dim : ArrayRef<AffineExpr>(dims).drop_front(axis)) {
    auto size = dl::asConstant(dim);
    if (!size) {
      node.unsupported("it normalizes over the symbolic dim " + node.text(dim),
                       "; dlc needs its number");
      return std::nullopt;
    }
    shape.push_back(*size);
  }
  return shape;
}

namespace {
/// The dtypes of a normalization, whose first stage gives mean 0 or variance 1 and whose second one
/// scales and shifts.
struct Precision {
  Type x; // of input 0
  // Of the scale, input 1; the standard lets it differ from x in few ops, exporters in more
  Type result;
  Type widest; // holds those of all inputs
  Type stash;  // what `stash_type` names; null where that was refused
  Type first;  // of the arithmetic of the first stage: that of `stash` at least, never of 16 bits

  /// Whether one op that computes 16 bits in f32 does all.
  bool isOne() const { return widest == x && result == x && (first == x || !first.isF64()); }
};
} // namespace

/// `inputs`: how many the op has.
static Precision precisionOf(NodeImport &node, size_t inputs) {
  Type f32 = node.builder.getF32Type(), x = node.dtype(0);
  Precision found{x, node.has(1) ? node.dtype(1) : x, x, stashType(node), {}};
  for (size_t input = 1; input < inputs; ++input)
    if (node.has(input))
      found.widest = wider(found.widest, node.dtype(input));
  if (found.stash)
    found.first = wider(wider(x, f32), found.stash);
  return found;
}

/// The first stage is rounded to the dtype of x before it is scaled.
static bool buildLayerNorm(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", -1), rank);
  double eps = node.real("epsilon", 1e-5);
  Precision precision = precisionOf(node, 3);
  auto shape = axis ? normalizedShape(node, *axis) : std::nullopt;
  Item x = node.tensor(0);
  if (!shape || node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0);
  dl::Dims inner(dims.begin() + *axis, dims.end());
  auto fits = [&](size_t input) { return !node.has(input) || node.dims(input) == inner; };
  bool isPlain = precision.isOne() && precision.first == precision.x && fits(1) && fits(2) &&
                 !node.wants(1) && !node.wants(2);
  if (isPlain) {
    std::vector<std::pair<StringRef, Item>> named{{"eps", item(eps)}};
    if (node.has(1))
      named.push_back({"weight", node.tensor(1)});
    if (node.has(2))
      named.push_back({"bias", node.tensor(2)});
    node.set(0, node.call("layer_norm", {x, itemList(*shape)}, named));
    return !node.hasFailed();
  }
  Item wide = node.cast(x, precision.first);
  Item axes = itemList(llvm::seq<int64_t>(*axis, rank));
  Item mean = node.call("mean", {wide, axes, item(true)});
  Item centred = node.call("sub", {wide, mean});
  Item variance = node.call("mean", {node.call("mul", {centred, centred}), axes, item(true)});
  Item inverse = node.call("rsqrt", {node.call("add", {variance, item(eps)})});
  Item y = node.cast(node.call("mul", {centred, inverse}), precision.x);
  y = node.cast(y, precision.widest);
  if (node.has(1))
    y = node.call("mul", {y, node.cast(node.tensor(1), precision.widest)});
  if (node.has(2))
    y = node.call("add", {y, node.cast(node.tensor(2), precision.widest)});
  node.set(0, node.cast(y, precision.result));
  if (node.wants(1))
    node.set(1, node.cast(mean, precision.stash));
  if (node.wants(2))
    node.set(2, node.cast(inverse, precision.stash));
  return !node.hasFailed();
}

static bool buildRmsNorm(NodeImport &node) {
  int64_t rank = node.rank(0);
  auto axis = node.axis(node.integer("axis", -1), rank);
  double eps = node.real("epsilon", 1e-5);
  Precision precision = precisionOf(node, 2);
  auto shape = axis ? normalizedShape(node, *axis) : std::nullopt;
  Item x = node.tensor(0), scale = node.tensor(1);
  if (!shape || node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0), inner(dims.begin() + *axis, dims.end());
  if (precision.isOne() && node.dims(1) == inner) {
    node.set(0,
             node.call("rms_norm", {x, itemList(*shape)}, {{"weight", scale}, {"eps", item(eps)}}));
    return !node.hasFailed();
  }
  Item y = node.call("rms_norm", {node.cast(x, precision.first), itemList(*shape)},
                     {{"eps", item(eps)}});
  y = node.cast(y, precision.x);
  y = node.call("mul", {node.cast(y, precision.widest), node.cast(scale, precision.widest)});
  node.set(0, node.cast(y, precision.result));
  return !node.hasFailed();
}

/// Returns whether a BatchNormalization normalizes by statistics of its own batch. Before opset 14
/// a node with more than one result does, unless `is_test` says otherwise.
static bool isTraining(NodeImport &node) {
  if (node.opset >= 14)
    return node.integer("training_mode", 0) != 0;
  bool isTest = node.integer("is_test", 0) != 0;
  node.attribute("consumed_inputs"); // opset 1 asks for it, and it says nothing
  return !isTest && (node.wants(1) || node.wants(2) || node.wants(3) || node.wants(4));
}

/// Replaces the running mean and variance of `operands` (x, mean, variance, ...) by statistics of x
/// over `axes`. Results 1 and 2 become the running statistics, moved by `momentum`, and results 3
/// and 4 the statistics, all of `shape`.
static void useBatchStatistics(NodeImport &node, MutableArrayRef<Item> operands,
                               ArrayRef<int64_t> axes, double momentum, const dl::Dims &shape) {
  Item centred =
      node.call("sub", {operands[0], node.call("mean", {operands[0], itemList(axes), item(true)})});
  Item statistics[] = {node.call("mean", {operands[0], itemList(axes)}),
                       node.call("mean", {node.call("mul", {centred, centred}), itemList(axes)})};
  for (size_t i = 0; i < 2; ++i) {
    Item moved = node.call("add", {node.call("mul", {operands[1 + i], item(momentum)}),
                                   node.call("mul", {statistics[i], item(1 - momentum)})});
    for (auto [output, result] : {std::pair(1 + i, moved), std::pair(3 + i, statistics[i])})
      if (node.wants(output))
        node.set(output, node.cast(node.reshape(result, shape), node.dtype(3 + i)));
    operands[1 + i] = statistics[i];
  }
}

/// Inputs x, scale, bias, running mean and running variance; scale and bias, and the statistics,
/// may have a dtype of their own, and the result has the dtype of x. With `spatial` 0, before opset
/// 9, each element of an image is a channel of its own.
static bool buildBatchNorm(NodeImport &node) {
  double eps = node.real("epsilon", 1e-5), momentum = node.real("momentum", 0.9);
  bool isSpatial = node.integer("spatial", 1) != 0, trains = isTraining(node);
  Type widest = precisionOf(node, 5).widest;
  if (trains)
    widest = wider(widest, node.builder.getF32Type());
  SmallVector<Item> operands;
  for (size_t input : {0, 3, 4, 1, 2})
    operands.push_back(node.cast(node.tensor(input), widest));
  if (node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0), shape = node.dims(1);
  if (dims.size() < 2)
    return node.fail("it takes a tensor [N, C, ...], got " + node.typeText(0));
  if (!isSpatial) {
    ArrayRef<AffineExpr> image = ArrayRef(dims).drop_front();
    for (size_t input = 1; input < 5; ++input)
      if (node.dims(input) != image)
        return node.fail("with spatial = 0 its input " + llvm::Twine(input) +
                         " has the dims of an image of " + node.typeText(0) + ", got " +
                         node.typeText(input));
    AffineExpr count = dl::product(image, node.context);
    operands[0] = node.reshape(operands[0], {dims[0], count});
    for (Item &one : llvm::drop_begin(operands))
      one = node.reshape(one, {count});
  }
  if (trains) {
    SmallVector<int64_t> axes{0};
    for (size_t axis = 2; isSpatial && axis < dims.size(); ++axis)
      axes.push_back(static_cast<int64_t>(axis));
    useBatchStatistics(node, operands, axes, momentum, shape);
  }
  // ONNX's momentum is the share of the old statistics. The share of the new ones is rounded: an
  // f32 of 0.9 leaves 0.1, and not 0.10000002.
  double share = std::round((1 - momentum) * 1e7) / 1e7;
  Item y = node.call("batch_norm", operands, {{"eps", item(eps)}, {"momentum", item(share)}});
  node.set(0, node.cast(isSpatial ? y : node.reshape(y, dims), node.dtype(0)));
  return !node.hasFailed();
}

/// Before opset 21 scale and bias are of groups, then of channels.
static bool buildGroupNorm(NodeImport &node) {
  int64_t groups = node.integer("num_groups", 1);
  double eps = node.real("epsilon", 1e-5);
  Precision precision = precisionOf(node, 3);
  Item x = node.tensor(0), scale = node.tensor(1), bias = node.tensor(2);
  if (node.hasFailed())
    return false;
  auto channels = node.rank(0) > 1 ? dl::asConstant(node.dims(0)[1]) : std::nullopt;
  if (!channels || groups < 1 || *channels % groups)
    return node.fail("its " + llvm::Twine(groups) + " groups do not divide the channels of " +
                     node.typeText(0));
  if (node.opset < 21) {
    int64_t each = *channels / groups;
    for (Item *of : {&scale, &bias})
      *of = node.reshape(node.broadcast(node.reshape(*of, {node.dim(groups), node.dim(1)}),
                                        {node.dim(groups), node.dim(each)}),
                         {node.dim(*channels)});
  }
  Type compute = precision.isOne() ? precision.x : wider(precision.widest, precision.first);
  Item y = node.call("group_norm", {node.cast(x, compute), item(groups), node.cast(scale, compute),
                                    node.cast(bias, compute), item(eps)});
  node.set(0, node.cast(y, precision.x));
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

/// x / (bias + alpha / size sum of x^2 over `size` neighbouring channels)^beta: the sum is a mean
/// pool over channels.
static bool buildLrn(NodeImport &node) {
  int64_t size = node.integer("size", 1);
  double alpha = node.real("alpha", 1e-4), beta = node.real("beta", 0.75),
         bias = node.real("bias", 1);
  dl::Dims dims = node.dims(0);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  if (dims.size() < 2 || size < 1 || size > INT16_MAX)
    return node.fail("it takes a tensor [N, C, ...] and a size from 1 on, got " + node.typeText(0) +
                     " and " + llvm::Twine(size));
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
      {"LayerNormalization", 1, buildLayerNorm},
      {"RMSNormalization", 1, buildRmsNorm},
      {"SimplifiedLayerNormalization", 1,
       buildRmsNorm}, // by this name ONNX Runtime had it before ONNX
      {"GroupNormalization", 18, buildGroupNorm},
      {"BatchNormalization", 1, buildBatchNorm},
      {"LpNormalization", 1, buildLpNorm},
      {"MeanVarianceNormalization", 9, buildMeanVariance},
      {"LRN", 1, buildLrn},
  };
  return rules;
}

} // namespace dlc::onnx
