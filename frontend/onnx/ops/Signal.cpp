//===- Signal.cpp - Fourier transforms and windows of ONNX ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A transform of n points is a product with the matrix of cosines and sines, whose angles are reduced as integers: k j mod n.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace dlc::onnx {

constexpr double kTurn = 2 * std::numbers::pi;

//===- Windows ------------------------------------------------------------------------------------===//

/// a - b cos(2 pi i / n) + c cos(4 pi i / n), n one less where the window is symmetric.
static bool buildCosines(NodeImport &node, double a, double b, double c) {
  auto size = node.integers(0, "the size");
  bool isPeriodic = node.integer("periodic", 1) != 0;
  int64_t output = node.integer("output_datatype", 1);
  auto type = elementType(output);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  if (!size)
    return false;
  if (size->size() != 1 || size->front() < 1 || !dtype || !isa<FloatType>(dtype))
    return node.unsupported("it makes a window of " +
                                llvm::Twine(size->size() == 1 ? size->front() : 0) +
                                " numbers of " + dataTypeName(output),
                            "; dlc takes sizes of 1 and above, and real numbers");
  int64_t count = size->front(), turns = std::max<int64_t>(1, isPeriodic ? count : count - 1);
  Type f32 = node.builder.getF32Type();
  Item place = node.cast(node.call("arange", {item(count)}), f32);
  auto wave = [&](double factor, double times) {
    Item angle =
        node.call("mul", {place, node.scalar(times * kTurn / static_cast<double>(turns), f32)});
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

/// Triangles over the bins of a spectrum, spaced evenly in mel between two edges, [bins, triangles]. In f64, as the places of the
/// edges are rounded down.
static bool buildMelWeights(NodeImport &node) {
  auto count = node.integers(0, "the number of mel bins"), length = node.integers(1, "the length");
  int64_t output = node.integer("output_datatype", 1);
  auto type = elementType(output);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  Type wide = node.builder.getF64Type(), whole = node.builder.getI64Type();
  Item rate = node.cast(node.tensor(2), wide), lowest = node.cast(node.tensor(3), wide),
       highest = node.cast(node.tensor(4), wide);
  if (!count || !length || node.hasFailed())
    return false;
  if (count->size() != 1 || length->size() != 1 || count->front() < 1 || length->front() < 1 ||
      count->front() > INT16_MAX || length->front() > INT32_MAX || !dtype)
    return node.unsupported("its matrix of " + dataTypeName(output) +
                                " has no size of two numbers from 1 on",
                            "; dlc takes up to 32767 mel bins");
  int64_t bins = length->front() / 2 + 1, mels = count->front();
  auto op = [&](StringRef name, Item a, Item b) { return node.call(name, {a, b}); };
  auto number = [&](double value) { return node.scalar(value, wide); };
  auto melOf = [&](Item hertz) {
    Item ratio = op("add", op("div", hertz, number(700)), number(1));
    return op("mul", node.call("log10", {ratio}), number(2595));
  };
  Item low = node.reshape(melOf(lowest), {}), high = node.reshape(melOf(highest), {});
  Item step = op("div", op("sub", high, low), number(static_cast<double>(mels + 2)));
  Item place = node.cast(node.call("arange", {item(mels + 2)}), wide);
  Item mel = op("add", op("mul", place, step), low);
  Item hertz = op("pow", number(10), op("div", mel, number(2595)));
  hertz = op("mul", op("sub", hertz, number(1)), number(700));
  hertz = op("mul", hertz, number(static_cast<double>(length->front() + 1)));
  Item edges = node.cast(
      node.cast(node.call("floor", {op("div", hertz, node.reshape(rate, {}))}), whole), wide);
  dl::Dims grid{node.dim(bins), node.dim(mels)};
  auto edge = [&](int64_t from) {
    Item part = node.call("slice", {edges}, {{"start", item(from)}, {"end", item(from + mels)}});
    return node.broadcast(node.reshape(part, {node.dim(1), node.dim(mels)}), grid);
  };
  Item begin = edge(0), center = edge(1), end = edge(2);
  Item at = node.broadcast(node.reshape(node.cast(node.call("arange", {item(bins)}), wide),
                                        {node.dim(bins), node.dim(1)}),
                           grid);
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

//===- Transforms ---------------------------------------------------------------------------------===//

/// cos and sin of 2 pi k j / n, [rows, columns] of j and k. In f64: that of half a turn is to be no more than rounding.
static std::pair<Item, Item> waves(NodeImport &node, int64_t rows, int64_t columns, int64_t n,
                                   Type dtype) {
  Type wide = node.builder.getF64Type();
  Item j = node.call("arange", {item(rows)}), k = node.call("arange", {item(columns)});
  Item product = node.call("mul", {node.reshape(j, {node.dim(rows), node.dim(1)}),
                                   node.reshape(k, {node.dim(1), node.dim(columns)})});
  Item turn = node.cast(node.call("remainder", {product, item(n)}), wide);
  Item angle = node.call("mul", {turn, node.scalar(kTurn / static_cast<double>(n), wide)});
  return {node.cast(node.call("cos", {angle}), dtype), node.cast(node.call("sin", {angle}), dtype)};
}

/// The transform along the last dim but one of x [..., m, 1 or 2], cut or filled up with zeros to n points; the last dim holds real
/// and imaginary parts.
static Item transformed(NodeImport &node, Item x, int64_t n, bool isInverse, bool isOneSided) {
  if (!x.isTensor())
    return x;
  dl::Dims dims = dl::getDims(x.tensorType());
  auto rank = static_cast<int64_t>(dims.size());
  Type dtype = x.tensorType().getElementType();
  auto given = dl::asConstant(dims[rank - 2]), parts = dl::asConstant(dims[rank - 1]);
  if (!given || !parts || *parts < 1 || *parts > 2 || n < 1 || n > 4096) {
    node.unsupported("it transforms " + dl::text(x.as<mlir::Value>()) + " to " + llvm::Twine(n) +
                         " points",
                     "; dlc takes 1 to 4096 points of static dims, real or complex");
    return {Item::Poison(), {}};
  }
  auto part = [&](int64_t index) {
    Item found = node.call("select", {x, item(rank - 1), item(index)});
    if (*given > n)
      found = node.call("slice", {found}, {{"dim", item(rank - 2)}, {"end", item(n)}});
    return found;
  };
  int64_t taken = std::min(*given, n);
  bool mirrors = isInverse && isOneSided; // what is given is half of the points; the result is real
  int64_t count = isOneSided && !isInverse ? n / 2 + 1 : n;
  auto [cosine, sine] = waves(node, taken, count, n, dtype);
  auto times = [&](Item a, Item b) { return node.call("matmul", {a, b}); };
  Item real = part(0), imaginary = *parts == 2 ? part(1) : Item{Item::Poison(), {}};
  if (mirrors) {
    // Points k and n - k are conjugate: each of those between counts twice.
    SmallVector<int64_t> single{0};
    Item place = node.call("arange", {item(taken)});
    Item isSingle = node.call("eq", {place, item(int64_t(0))});
    if (n % 2 == 0)
      isSingle = node.call("logical_or", {isSingle, node.call("eq", {place, item(n / 2)})});
    Item isPresent = node.cast(node.call("le", {place, item(n / 2)}), dtype);
    Item factor = node.call("where", {isSingle, node.scalar(1, dtype), node.scalar(2, dtype)});
    factor = node.call("mul", {factor, isPresent});
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
  return isInverse ? node.call("mul", {y, node.scalar(1.0 / static_cast<double>(n), dtype)}) : y;
}

/// Along an axis, an attribute before opset 20 and input 2 since, of as many points as input 1 says or the axis has.
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
  auto size = dl::asConstant(node.dims(0)[*axis]);
  int64_t points = size.value_or(0);
  if (isInverse && isOneSided)
    points = 2 * (points - 1);
  if (node.has(1)) {
    auto length = node.integers(1, "the number of points");
    if (!length || length->size() != 1)
      return length ? node.fail("its number of points is no single number") : false;
    points = length->front();
  }
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
  node.set(0, transformed(node, frames, frame, false, isOneSided));
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
