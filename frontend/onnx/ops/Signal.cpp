//===- Signal.cpp - Fourier transforms and windows of ONNX --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform of n points is a product with the matrix of cosines and sines, whose angles are
// reduced as integers: k j mod n.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace dlc::onnx {

constexpr double kTurn = 2 * std::numbers::pi;

/// A size as a number of `dtype`.
static Item numberOf(NodeImport &node, AffineExpr size, Type dtype) {
  if (auto known = dl::asConstant(size))
    return node.scalar(static_cast<double>(*known), dtype);
  return node.cast(node.count(size), dtype);
}

static Item steps(NodeImport &node, AffineExpr size) {
  return node.call("arange", {Item::dim(size, {})});
}

/// The one size that an input holds, from 1 to `most`; null, reported, where it holds another.
static AffineExpr sizeOf(NodeImport &node, size_t input, StringRef what, int64_t most) {
  auto sizes = node.sizes(input, what, {1, most}, /*clamps=*/false, 1);
  if (!sizes)
    return {};
  AffineExpr size = sizes->size() == 1 ? sizes->front() : AffineExpr();
  auto known = size ? dl::asConstant(size) : std::nullopt;
  if (known ? *known >= 1 && *known <= most : size && node.limit(size, most))
    return size;
  node.unsupported(what + " is " +
                       (size ? node.text(size) : llvm::Twine(sizes->size()) + " numbers").str(),
                   "; dlc takes one number from 1 to " + llvm::Twine(most));
  return {};
}

//===- Windows --------------------------------------------------------------------------------===//

/// a - b cos(2 pi i / n) + c cos(4 pi i / n), n one less where the window is symmetric.
static bool buildCosines(NodeImport &node, double a, double b, double c) {
  AffineExpr count = sizeOf(node, 0, "the size", INT32_MAX);
  bool isPeriodic = node.integer("periodic", 1) != 0;
  Type dtype = dtypeNamedBy(node, "output_datatype", node.builder.getF32Type());
  if (!count || !dtype)
    return false;
  if (!isa<FloatType>(dtype))
    return node.unsupported("it makes a window of " + dl::dtypeName(dtype),
                            "; dlc takes windows of real numbers");
  Type f32 = node.builder.getF32Type(), f64 = node.builder.getF64Type();
  Item turns = numberOf(node, isPeriodic ? count : dl::normalize(count - 1), f64);
  turns = node.call("maximum", {turns, node.scalar(1, f64)});
  Item place = node.cast(steps(node, count), f32);
  auto wave = [&](double factor, double times) {
    Item angle = node.cast(node.call("div", {node.scalar(times * kTurn, f64), turns}), f32);
    angle = node.call("mul", {place, angle});
    return node.call("mul", {node.call("cos", {angle}), node.scalar(factor, f32)});
  };
  Item y = node.call("sub", {node.scalar(a, f32), wave(b, 1)});
  if (c != 0)
    y = node.call("add", {y, wave(c, 2)});
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}
static bool buildHann(NodeImport &node) { return buildCosines(node, 0.5, 0.5, 0); }
static bool buildHamming(NodeImport &node) {
  return buildCosines(node, 25.0 / 46.0, 21.0 / 46.0, 0);
}
static bool buildBlackman(NodeImport &node) { return buildCosines(node, 0.42, 0.5, 0.08); }

/// Triangles over the bins of a spectrum, spaced evenly in mel between two edges, [bins,
/// triangles]. In f64, as the places of the edges are rounded down.
static bool buildMelWeights(NodeImport &node) {
  AffineExpr mels = sizeOf(node, 0, "the number of mel bins", INT16_MAX),
             length = mels ? sizeOf(node, 1, "the length", INT32_MAX) : AffineExpr();
  Type dtype = dtypeNamedBy(node, "output_datatype", node.builder.getF32Type());
  Type wide = node.builder.getF64Type(), whole = node.builder.getI64Type();
  Item rate = node.cast(node.tensor(2), wide), lowest = node.cast(node.tensor(3), wide),
       highest = node.cast(node.tensor(4), wide);
  if (!length || !dtype || node.hasFailed())
    return false;
  AffineExpr bins = dl::normalize(length.floorDiv(2) + 1), edges = dl::normalize(mels + 2);
  auto op = [&](StringRef name, Item a, Item b) { return node.call(name, {a, b}); };
  auto number = [&](double value) { return node.scalar(value, wide); };
  auto melOf = [&](Item hertz) {
    Item ratio = op("add", op("div", hertz, number(700)), number(1));
    return op("mul", node.call("log10", {ratio}), number(2595));
  };
  Item low = node.reshape(melOf(lowest), {}), high = node.reshape(melOf(highest), {});
  Item step = op("div", op("sub", high, low), numberOf(node, edges, wide));
  Item place = node.cast(steps(node, edges), wide);
  Item mel = op("add", op("mul", place, step), low);
  Item hertz = op("pow", number(10), op("div", mel, number(2595)));
  hertz = op("mul", op("sub", hertz, number(1)), number(700));
  hertz = op("mul", hertz, numberOf(node, dl::normalize(length + 1), wide));
  Item bounds = node.cast(
      node.cast(node.call("floor", {op("div", hertz, node.reshape(rate, {}))}), whole), wide);
  dl::Dims grid{bins, mels};
  auto edge = [&](int64_t from) {
    Item part = node.call("narrow", {bounds, item(int64_t(0)), item(from), Item::dim(mels, {})});
    return node.broadcast(node.reshape(part, {node.dim(1), mels}), grid);
  };
  Item begin = edge(0), center = edge(1), end = edge(2);
  Item at = node.cast(steps(node, bins), wide);
  at = node.broadcast(node.reshape(at, {bins, node.dim(1)}), grid);
  Item rise = op("sub", center, begin), fall = op("sub", end, center);
  auto share = [&](Item part, Item whole) {
    return op("div", part, op("maximum", whole, number(1)));
  };
  Item isRising = op("logical_and", op("ge", at, begin), op("le", at, center));
  Item isFalling = op("logical_and", op("ge", at, center), op("lt", at, end));
  // Where nothing rises the center is 1.
  Item rising =
      node.call("where", {op("eq", rise, number(0)), number(1), share(op("sub", at, begin), rise)});
  Item y = node.call("where", {isRising, rising, number(0)});
  y = node.call("where", {isFalling, share(op("sub", end, at), fall), y});
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}

//===- Transforms -----------------------------------------------------------------------------===//

static constexpr int64_t kMostPoints = 4096;

/// cos and sin of 2 pi k j / n, [rows, columns] of j and k. In f64: the sine of half a turn is to
/// be no more than rounding.
static std::pair<Item, Item> waves(NodeImport &node, AffineExpr rows, AffineExpr columns,
                                   AffineExpr n, Type dtype) {
  Type wide = node.builder.getF64Type();
  AffineExpr one = node.dim(1);
  Item product = node.call("mul", {node.reshape(steps(node, rows), {rows, one}),
                                   node.reshape(steps(node, columns), {one, columns})});
  Item period = numberOf(node, n, node.builder.getI64Type());
  Item turn = node.cast(node.call("remainder", {product, period}), wide);
  Item each = node.call("div", {node.scalar(kTurn, wide), numberOf(node, n, wide)});
  Item angle = node.call("mul", {turn, each});
  return {node.cast(node.call("cos", {angle}), dtype), node.cast(node.call("sin", {angle}), dtype)};
}

/// How often each of the first `taken` points counts whose mirror images among n are left out:
/// points k and n - k are conjugate.
static Item mirrored(NodeImport &node, AffineExpr taken, AffineExpr n, Type dtype) {
  Item twice = node.call("mul", {steps(node, taken), item(int64_t(2))});
  Item all = numberOf(node, n, node.builder.getI64Type());
  Item isSingle = node.call(
      "logical_or", {node.call("eq", {twice, item(int64_t(0))}), node.call("eq", {twice, all})});
  Item isPresent = node.cast(node.call("le", {twice, all}), dtype);
  Item factor = node.call("where", {isSingle, node.scalar(1, dtype), node.scalar(2, dtype)});
  return node.call("mul", {factor, isPresent});
}

Item transformed(NodeImport &node, Item x, AffineExpr n, bool isInverse, bool isOneSided) {
  if (!x.isTensor() || node.hasFailed())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  auto rank = static_cast<int64_t>(dims.size());
  Type dtype = x.tensorType().getElementType(), whole = node.builder.getI64Type();
  auto parts = dl::asConstant(dims[rank - 1]);
  AffineExpr given = dims[rank - 2], taken = given;
  auto points = dl::asConstant(n), held = dl::asConstant(given);
  if (points && held)
    taken = node.dim(std::min(*points, *held));
  bool isGood = points ? *points >= 1 && *points <= kMostPoints : node.limit(n, kMostPoints);
  if (!isGood || !parts || *parts < 1 || *parts > 2) {
    node.unsupported("it transforms " + dl::text(x.as<mlir::Value>()) + " to " + node.text(n) +
                         " points",
                     "; dlc takes 1 to " + llvm::Twine(kMostPoints) + " points, real or complex");
    return {Item::Poison(), {}};
  }
  auto part = [&](int64_t index) {
    Item found = node.call("select", {x, item(rank - 1), item(index)});
    if (taken != given)
      return node.call("narrow", {found, item(rank - 2), item(int64_t(0)), Item::dim(taken, {})});
    if (given == n || (points && held))
      return found;
    Item isTaken = node.call("lt", {steps(node, given), numberOf(node, n, whole)});
    return node.call("where", {isTaken, found, node.scalar(0, dtype)});
  };
  bool mirrors = isInverse && isOneSided; // half of the points is given; the result is real
  AffineExpr count = isOneSided && !isInverse ? dl::normalize(n.floorDiv(2) + 1) : n;
  auto [cosine, sine] = waves(node, taken, count, n, dtype);
  auto times = [&](Item a, Item b) { return node.call("matmul", {a, b}); };
  Item real = part(0), imaginary = *parts == 2 ? part(1) : Item{Item::Poison(), {}};
  if (mirrors) {
    Item factor = mirrored(node, taken, n, dtype);
    real = node.call("mul", {real, factor});
    if (*parts == 2)
      imaginary = node.call("mul", {imaginary, factor});
  }
  // exp(-i a) = cos a - i sin a; the inverse has the other sign.
  auto signedBy = [&](Item x, bool isNegative) { return isNegative ? node.call("neg", {x}) : x; };
  Item yReal = times(real, cosine), yImaginary = signedBy(times(real, sine), !isInverse);
  if (*parts == 2) {
    yReal = node.call(isInverse ? "sub" : "add", {yReal, times(imaginary, sine)});
    yImaginary = node.call("add", {yImaginary, times(imaginary, cosine)});
  }
  Item y = mirrors ? node.call("unsqueeze", {yReal, item(int64_t(-1))})
                   : node.call("stack", {{Item::List{yReal, yImaginary}, {}}, item(int64_t(-1))});
  if (!isInverse)
    return y;
  Item share = node.call("div", {node.scalar(1, node.builder.getF64Type()),
                                 numberOf(node, n, node.builder.getF64Type())});
  return node.call("mul", {y, node.cast(share, dtype)});
}

/// Along an axis, an attribute before opset 20 and input 2 since, of as many points as input 1 says
/// or the axis has.
static bool buildDft(NodeImport &node) {
  bool isInverse = node.integer("inverse", 0) != 0, isOneSided = node.integer("onesided", 0) != 0;
  int64_t given = node.opset < 20 ? node.integer("axis", 1) : -2;
  if (node.has(2)) {
    auto axis = node.integers(2, "the axis");
    if (!axis || axis->size() != 1)
      return axis ? node.fail("its axis is no single number") : false;
    given = axis->front();
  }
  auto axis = node.axis(given, node.rank(0));
  if (!axis)
    return false;
  AffineExpr points = node.dims(0)[*axis];
  if (isInverse && isOneSided)
    points = dl::normalize(2 * (points - 1));
  if (node.has(1) && !(points = sizeOf(node, 1, "the number of points", kMostPoints)))
    return false;
  // The axis goes next to the last.
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, node.rank(0)));
  if (order.size() < 2 || *axis == node.rank(0) - 1)
    return node.fail("it transforms along the dim of real and imaginary parts");
  std::swap(order[*axis], order[order.size() - 2]);
  Item y = transformed(node, node.permute(node.tensor(0), order), points, isInverse, isOneSided);
  node.set(0, node.permute(y, order));
  return !node.hasFailed();
}

/// Frames of a signal [N, L, 1 or 2], real or complex, each times the window, and transformed.
static bool buildStft(NodeImport &node) {
  bool isOneSided = node.integer("onesided", 1) != 0;
  auto step = node.integers(1, "the distance of frames");
  std::optional<SmallVector<int64_t>> length;
  if (node.has(3) && !(length = node.integers(3, "the length of frames")))
    return false;
  Item x = node.tensor(0);
  if (!step || node.hasFailed())
    return false;
  dl::Dims dims = node.dims(0);
  if (dims.size() == 2) { // real, without a dim for that
    dims.push_back(node.dim(1));
    x = node.reshape(x, dims);
  }
  AffineExpr size = dims.size() == 3 ? dims[1] : AffineExpr();
  auto window = node.has(2) && node.rank(2) == 1 ? dl::asConstant(node.dims(2)[0]) : std::nullopt;
  int64_t frame = length && length->size() == 1 ? length->front() : window.value_or(0);
  if (!size || step->size() != 1 || step->front() < 1 || frame < 1 ||
      frame > dl::asConstant(size).value_or(INT64_MAX))
    return node.unsupported("it transforms " + node.typeText(0) + " in frames of " +
                                llvm::Twine(frame),
                            "; dlc takes a signal [N, L, 1 or 2], and frames within it");
  // Frames that the signal fills: none of a signal shorter than one.
  AffineExpr count = dl::normalize((size - frame).floorDiv(step->front()) + 1);
  Item starts =
      node.call("mul", {node.call("arange", {Item::dim(count, {})}), item(step->front())});
  Item positions = node.call(
      "add", {node.reshape(starts, {count, node.dim(1)}),
              node.reshape(node.call("arange", {item(frame)}), {node.dim(1), node.dim(frame)})});
  Item frames = node.call("index", {node.permute(x, {1, 0, 2}), positions});
  frames = node.permute(frames, {2, 0, 1, 3});
  if (node.has(2))
    frames =
        node.call("mul", {frames, node.reshape(node.tensor(2), {node.dim(frame), node.dim(1)})});
  node.set(0, transformed(node, frames, node.dim(frame), false, isOneSided));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> signalRules() {
  static const OddRule rules[] = {
      {"HannWindow", 17, buildHann},
      {"HammingWindow", 17, buildHamming},
      {"BlackmanWindow", 17, buildBlackman},
      {"MelWeightMatrix", 17, buildMelWeights},
      {"DFT", 17, buildDft},
      {"STFT", 17, buildStft},
  };
  return rules;
}

} // namespace dlc::onnx
