//===- OtherOps.cpp - Ops of ONNX Runtime that ONNX has in another form -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

//===- As ONNX has it -------------------------------------------------------------------------===//

static bool same(NodeImport &node, StringRef op, int64_t opset) {
  SmallVector<NodeImport::Operand> all;
  for (size_t input = 0; input < node.inputCount(); ++input)
    all.push_back(input);
  node.as(op, opset, all);
  return !node.hasFailed();
}
static bool buildExpandDims(NodeImport &node) { return same(node, "Unsqueeze", 13); }
static bool buildGatherNd(NodeImport &node) { return same(node, "GatherND", 12); }
static bool buildGridSample(NodeImport &node) { return same(node, "GridSample", 16); }
static bool buildPad(NodeImport &node) { return same(node, "Pad", 11); }
static bool buildTrilu(NodeImport &node) { return same(node, "Trilu", 14); }

static bool buildCausalConv(NodeImport &node) {
  for (auto [name, only] : {std::pair<StringRef, int64_t>{"ndim", 1},
                            {"dilation", 1},
                            {"channels_last", 0},
                            {"state_window", 0},
                            {"state_length", 0},
                            {"state_channels_last", -1},
                            {"state_update_capacity", 0},
                            {"input_channel_offset", 0},
                            {"input_channels", 0}})
    if (int64_t given = node.integer(name, only); given != only)
      return node.unsupported("its attribute " + frontend::quote(name) + " is " +
                                  llvm::Twine(given),
                              "; dlc takes " + llvm::Twine(only));
  return same(node, "CausalConvWithState", 27);
}

static bool buildLinearAttention(NodeImport &node) {
  if (int64_t window = node.integer("state_window", 0))
    return node.unsupported("its state_window is " + llvm::Twine(window), "; dlc takes 0");
  return same(node, "LinearAttention", 27);
}

//===- Images whose channels are the last dim -------------------------------------------------===//

namespace {

/// [N, ..., C] as [N, C, ...], and back.
struct ChannelOrder {
  explicit ChannelOrder(int64_t rank) : there({0, rank - 1}), back({0}) {
    for (int64_t dim = 1; dim < rank - 1; ++dim) {
      there.push_back(dim);
      back.push_back(dim + 1);
    }
    back.push_back(1);
  }
  SmallVector<int64_t> there, back;
};

} // namespace

/// The op of images of which input 0, and the inputs in `others`, have their channels last.
static bool channelsLast(NodeImport &node, StringRef op, int64_t opset,
                         ArrayRef<size_t> others = {}) {
  int64_t rank = node.rank(0);
  if (rank < 3)
    return node.fail("it takes a tensor [N, ..., C], got " + node.typeText(0));
  ChannelOrder order(rank);
  SmallVector<NodeImport::Operand> operands;
  for (size_t input = 0; input < node.inputCount(); ++input)
    if (node.has(input) && (input == 0 || llvm::is_contained(others, input)))
      operands.push_back(node.permute(node.tensor(input), order.there));
    else
      operands.push_back(input);
  Item y = node.as(op, opset, operands);
  if (!node.hasFailed())
    node.set(0, node.permute(y, order.back));
  return !node.hasFailed();
}

static bool buildNhwcFusedConv(NodeImport &node) {
  return channelsLast(node, "com.microsoft.FusedConv", 1, {3});
}
static bool buildNhwcMaxPool(NodeImport &node) { return channelsLast(node, "MaxPool", 12); }
static bool buildQLinearConv(NodeImport &node) {
  return node.integer("channels_last", 0) != 0 ? channelsLast(node, "QLinearConv", 10)
                                               : same(node, "QLinearConv", 10);
}

//===- Complex numbers ------------------------------------------------------------------------===//

/// Checks what each transform takes: one dim, without a factor, and half of the points.
static bool checkTransform(NodeImport &node) {
  int64_t dims = node.integer("signal_ndim", 1), half = node.integer("onesided", 1),
          factor = node.integer("normalized", 0);
  return (dims == 1 && half == 1 && factor == 0) ||
         node.unsupported("its signal_ndim, onesided and normalized are " + llvm::Twine(dims) +
                              ", " + llvm::Twine(half) + " and " + llvm::Twine(factor),
                          "; dlc takes 1, 1 and 0");
}

static bool buildRfft(NodeImport &node) {
  if (!checkTransform(node) || node.rank(0) < 1)
    return node.hasFailed() ? false : node.fail("it transforms a number; expected [..., n]");
  Item x = node.call("unsqueeze", {node.tensor(0), item(int64_t(-1))});
  node.set(0, transformed(node, x, node.dims(0).back(), /*isInverse=*/false, /*isOneSided=*/true));
  return !node.hasFailed();
}

static bool buildIrfft(NodeImport &node) {
  dl::Dims dims = node.dims(0);
  if (!checkTransform(node) || dims.size() < 2)
    return node.hasFailed()
               ? false
               : node.fail("it transforms " + node.typeText(0) + "; expected [..., n / 2 + 1, 2]");
  AffineExpr points = dl::normalize(2 * (dims[dims.size() - 2] - 1));
  Item y = transformed(node, node.tensor(0), points, /*isInverse=*/true, /*isOneSided=*/true);
  node.set(0, node.call("squeeze", {y, item(int64_t(-1))}));
  return !node.hasFailed();
}

/// a times b, or times its conjugate: tensors [..., 2] of real and imaginary parts.
static bool complexProduct(NodeImport &node, bool conjugates) {
  auto part = [&](size_t input, int64_t which) {
    return node.call("select", {node.tensor(input), item(int64_t(-1)), item(which)});
  };
  auto times = [&](int64_t a, int64_t b) { return node.call("mul", {part(0, a), part(1, b)}); };
  StringRef less = conjugates ? "add" : "sub", more = conjugates ? "sub" : "add";
  Item real = node.call(less, {times(0, 0), times(1, 1)}),
       imaginary = node.call(more, {times(1, 0), times(0, 1)});
  node.set(0, node.call("stack", {Item{Item::List{real, imaginary}, {}}, item(int64_t(-1))}));
  return !node.hasFailed();
}
static bool buildComplexMul(NodeImport &node) { return complexProduct(node, false); }
static bool buildComplexMulConj(NodeImport &node) { return complexProduct(node, true); }

//===- Others ---------------------------------------------------------------------------------===//

static bool buildDistances(NodeImport &node) {
  std::string metric = node.string("metric", "sqeuclidean");
  if (metric != "euclidean" && metric != "sqeuclidean")
    return node.unsupported("its metric is " + frontend::quote(metric),
                            "; dlc takes euclidean and sqeuclidean");
  Item y = node.call("cdist", {node.tensor(0), node.tensor(1)});
  node.set(0, metric == "euclidean" ? y : node.call("mul", {y, y}));
  return !node.hasFailed();
}

static bool buildTorchEmbedding(NodeImport &node) {
  // Inputs 2 and 3 say what training does.
  node.set(0, node.call("embedding", {node.tensor(1), node.tensor(0)}));
  return !node.hasFailed();
}

/// Whether no element of any input is infinite, or NaN.
static bool buildIsAllFinite(NodeImport &node) {
  bool isInfOnly = node.integer("isinf_only", 0) != 0,
       isNanOnly = node.integer("isnan_only", 0) != 0;
  std::optional<Item> all;
  for (size_t input = 0; input < node.inputCount(); ++input) {
    Item x = node.tensor(input);
    Item isBad = isInfOnly ? node.call("isinf", {x}) : node.call("isnan", {x});
    Item isGood =
        isInfOnly || isNanOnly ? node.call("logical_not", {isBad}) : node.call("isfinite", {x});
    isGood = node.call("all", {isGood});
    all = all ? node.call("logical_and", {*all, isGood}) : isGood;
  }
  if (!all)
    return node.fail("it needs its input 0");
  node.set(0, *all);
  return !node.hasFailed();
}

/// A number for each head and distance of a query and a key, from a table with a row for each of
/// the nearest distances, and one for each of ever longer ranges of others.
static bool buildRelativePositionBias(NodeImport &node) {
  bool isBoth = node.integer("is_bidirectional", 0) != 0;
  int64_t farthest = node.integer("max_distance", 0);
  auto rows = node.rank(0) == 2 ? dl::asConstant(node.dims(0)[0]) : std::nullopt;
  if (!rows || *rows < (isBoth ? 4 : 2) || farthest < 2)
    return node.fail("its table is " + node.typeText(0) + " for distances up to " +
                     llvm::Twine(farthest) + "; expected [distances, heads]");
  auto size = [&](size_t input, StringRef what) {
    auto sizes = node.sizes(input, what, {1, INT32_MAX}, /*clamps=*/false, 1);
    return sizes && sizes->size() == 1 ? sizes->front() : AffineExpr();
  };
  AffineExpr queries = size(1, "the number of queries"), keys = size(2, "the number of keys");
  if (!queries || !keys)
    return node.hasFailed() ? false : node.fail("its lengths are not one number each");
  Type f32 = node.builder.getF32Type(), i64 = node.builder.getI64Type();
  Item row = node.reshape(node.call("arange", {Item::dim(queries, {})}), {queries, node.dim(1)});
  Item distance = node.call("sub", {node.call("arange", {Item::dim(keys, {})}), row});
  int64_t count = isBoth ? *rows / 2 : *rows, exact = count / 2;
  Item bucket = node.scalar(0, i64);
  if (isBoth) {
    Item isLater = node.cast(node.call("gt", {distance, item(int64_t(0))}), i64);
    bucket = node.call("mul", {isLater, item(count)});
    distance = node.call("abs", {distance});
  } else {
    distance = node.call("neg", {node.call("minimum", {distance, item(int64_t(0))})});
  }
  double each = static_cast<double>(count - exact) /
                std::log(static_cast<double>(farthest) / static_cast<double>(exact));
  Item ratio = node.call("div", {node.cast(distance, f32), item(static_cast<double>(exact))});
  Item far =
      node.call("mul", {node.call("log", {node.call("clamp", {ratio, item(1.0)})}), item(each)});
  far = node.call("add", {node.cast(far, i64), item(exact)});
  far = node.call("minimum", {far, item(count - 1)});
  Item isNear = node.call("lt", {distance, item(exact)});
  bucket = node.call("add", {bucket, node.call("where", {isNear, distance, far})});
  Item y = node.call("index", {node.tensor(0), bucket}); // [queries, keys, heads]
  node.set(0, node.call("unsqueeze", {node.permute(y, {2, 0, 1}), item(int64_t(0))}));
  return !node.hasFailed();
}

/// rel_pos times a number for each query and head, which two gates of the query give.
static bool buildGatedRelativePositionBias(NodeImport &node) {
  enum Input { query, queryBias, distances, weight, bias, factor, offsets };
  int64_t heads = node.integer("num_heads", 0);
  auto width = node.rank(query) == 3 ? dl::asConstant(node.dims(query)[2]) : std::nullopt;
  auto outputs = node.rank(weight) == 2 ? dl::asConstant(node.dims(weight)[1]) : std::nullopt;
  if (node.has(offsets))
    return node.unsupported("its texts are packed", "; dlc takes queries [N, T, width]");
  if (heads < 1 || !width || *width % heads || !outputs || *outputs % 2)
    return node.fail("its queries are " + node.typeText(query) + " and its weight " +
                     node.typeText(weight) + "; expected [N, T, width] of " + llvm::Twine(heads) +
                     " heads, and [width of a head, an even number]");
  dl::Dims dims = node.dims(query);
  Item x = node.call("add", {node.tensor(query), node.tensor(queryBias)});
  if (node.hasFailed())
    return false;
  x = node.permute(node.reshape(x, {dims[0], dims[1], node.dim(heads), node.dim(*width / heads)}),
                   {0, 2, 1, 3});
  Item y = node.call("add", {node.call("matmul", {x, node.tensor(weight)}), node.tensor(bias)});
  if (node.hasFailed())
    return false;
  y = node.reshape(y, {dims[0], node.dim(heads), dims[1], node.dim(2), node.dim(*outputs / 2)});
  y = node.call("sigmoid", {node.call("sum", {y, itemList(SmallVector<int64_t>{-1})})});
  auto gate = [&](int64_t which) {
    return node.call("narrow", {y, item(int64_t(-1)), item(which), item(int64_t(1))});
  };
  Item inner = node.call("sub", {node.call("mul", {gate(1), node.tensor(factor)}), item(1.0)});
  Item by = node.call("add", {node.call("mul", {gate(0), inner}), item(2.0)});
  node.set(0, node.call("mul", {by, node.tensor(distances)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> microsoftOtherRules() {
  static const OddRule rules[] = {
      {"com.microsoft.CDist", 1, buildDistances},
      {"com.microsoft.CausalConvWithState", 1, buildCausalConv},
      {"com.microsoft.ComplexMul", 1, buildComplexMul},
      {"com.microsoft.ComplexMulConj", 1, buildComplexMulConj},
      {"com.microsoft.ExpandDims", 1, buildExpandDims},
      {"com.microsoft.GatedRelativePositionBias", 1, buildGatedRelativePositionBias},
      {"com.microsoft.GatherND", 1, buildGatherNd},
      {"com.microsoft.GridSample", 1, buildGridSample},
      {"com.microsoft.Irfft", 1, buildIrfft},
      {"com.microsoft.IsAllFinite", 1, buildIsAllFinite},
      {"com.microsoft.LinearAttention", 1, buildLinearAttention},
      {"com.microsoft.NhwcFusedConv", 1, buildNhwcFusedConv},
      {"com.microsoft.NhwcMaxPool", 1, buildNhwcMaxPool},
      {"com.microsoft.Pad", 1, buildPad},
      {"com.microsoft.QLinearConv", 1, buildQLinearConv},
      {"com.microsoft.RelativePositionBias", 1, buildRelativePositionBias},
      {"com.microsoft.Rfft", 1, buildRfft},
      {"com.microsoft.TorchEmbedding", 1, buildTorchEmbedding},
      {"com.microsoft.Trilu", 1, buildTrilu},
  };
  return rules;
}

} // namespace dlc::onnx
