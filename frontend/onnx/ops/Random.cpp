//===- Random.cpp - Random numbers of ONNX ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX names no generator. dlc draws from the generator of the language (Draws.cpp), and makes
// numbers of its bits as the functions of the language do (frontend/dl/library/random.dl).
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace dlc::onnx {

/// The dtype that numbers are computed in before they become `dtype`.
static Type wide(NodeImport &node, Type dtype) {
  return dtype.isF64() ? dtype : node.builder.getF32Type();
}

/// x * factor + offset.
static Item scaled(NodeImport &node, Item x, double factor, double offset) {
  Type dtype = x.isTensor() ? x.tensorType().getElementType() : node.builder.getF32Type();
  if (factor != 1)
    x = node.call("mul", {x, node.scalar(factor, dtype)});
  return offset != 0 ? node.call("add", {x, node.scalar(offset, dtype)}) : x;
}

/// Uniform numbers of [0, 1) with as many bits as `dtype`, f32 or f64, has below 1.
static Item uniform(NodeImport &node, ArrayRef<AffineExpr> dims, Type dtype) {
  auto draw = node.nextDraw();
  if (!draw)
    return {Item::Poison(), {}};
  auto upper = [&](int64_t word, unsigned bits) {
    Item all = node.randomBits(*draw, dims, word);
    Type u32 = IntegerType::get(node.context, 32, IntegerType::Unsigned);
    Item some = node.call("div", {all, node.scalar(std::ldexp(1, 32 - bits), u32)},
                          {{"rounding_mode", item(StringRef("trunc"))}});
    return node.cast(some, dtype);
  };
  if (!dtype.isF64())
    return node.call("mul", {upper(0, 24), node.scalar(0x1p-24, dtype)});
  Item first = node.call("mul", {upper(0, 27), node.scalar(0x1p26, dtype)});
  Item both = node.call("add", {first, upper(1, 26)});
  return node.call("mul", {both, node.scalar(0x1p-53, dtype)});
}

/// The dtype that the node asks for, or else `otherwise`; nothing, reported, where it holds no real
/// numbers or dlc does not have it.
static Type realDtype(NodeImport &node, Type otherwise) {
  if (node.hasAttribute("dtype")) {
    int64_t number = node.integer("dtype", 1);
    auto type = elementType(number);
    otherwise = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
    if (!otherwise || !isa<FloatType>(otherwise)) {
      node.fail("its random numbers are " + dataTypeName(number) + "; expected real numbers");
      return {};
    }
  }
  if (!isa<FloatType>(otherwise)) {
    node.fail("its random numbers are " + dl::dtypeName(otherwise) +
              ", as its input is; expected real numbers, or the attribute 'dtype'");
    return {};
  }
  return otherwise;
}

/// What the node gives: of the shape of its input, or of its attribute `shape`.
static std::optional<RankedTensorType> drawnType(NodeImport &node, bool isLike) {
  dl::Dims dims;
  if (isLike) {
    if (!node.has(0)) {
      node.fail("it needs its input 0");
      return std::nullopt;
    }
    dims = node.dims(0);
  } else {
    for (int64_t dim : node.integerList("shape")) {
      if (dim < 0 || dim > INT32_MAX) {
        node.fail("its shape has a dim of " + llvm::Twine(dim) + "; expected 0 to 2^31 - 1");
        return std::nullopt;
      }
      dims.push_back(node.dim(dim));
    }
  }
  Type dtype = realDtype(node, isLike ? node.dtype(0) : node.builder.getF32Type());
  if (!dtype || node.hasFailed())
    return std::nullopt;
  return dl::makeTensor(dims, dtype);
}

static bool buildUniform(NodeImport &node, bool isLike) {
  double low = node.real("low", 0), high = node.real("high", 1);
  auto type = drawnType(node, isLike);
  if (!type)
    return false;
  Item x = uniform(node, dl::getDims(*type), wide(node, type->getElementType()));
  node.set(0, node.cast(scaled(node, x, high - low, low), type->getElementType()));
  return !node.hasFailed();
}
static bool buildRandomUniform(NodeImport &node) { return buildUniform(node, false); }
static bool buildRandomUniformLike(NodeImport &node) { return buildUniform(node, true); }

/// Normal numbers by Box and Muller's transform: a radius and an angle, each of a number in (0, 1).
static bool buildNormal(NodeImport &node, bool isLike) {
  double mean = node.real("mean", 0), deviation = node.real("scale", 1);
  auto type = drawnType(node, isLike);
  auto draw = type ? node.nextDraw() : std::nullopt;
  if (!draw)
    return false;
  Type dtype = type->getElementType(), kind = wide(node, dtype);
  auto open = [&](int64_t word) {
    Item bits = node.randomBits(*draw, dl::getDims(*type), word);
    return scaled(node, node.cast(bits, kind), 0x1p-32, 0x1p-33);
  };
  Item radius =
      node.call("sqrt", {node.call("mul", {node.call("log", {open(0)}), node.scalar(-2, kind)})});
  Item angle = node.call("mul", {open(1), node.scalar(2 * std::numbers::pi, kind)});
  Item x = node.call("mul", {radius, node.call("cos", {angle})});
  node.set(0, node.cast(scaled(node, x, deviation, mean), dtype));
  return !node.hasFailed();
}
static bool buildRandomNormal(NodeImport &node) { return buildNormal(node, false); }
static bool buildRandomNormalLike(NodeImport &node) { return buildNormal(node, true); }

/// 1 with the probability that the input gives, else 0.
static bool buildBernoulli(NodeImport &node) {
  if (!node.has(0))
    return node.fail("it needs its input 0");
  Type dtype = node.dtype(0);
  if (!isa<FloatType>(dtype))
    return node.fail("its probabilities are " + dl::dtypeName(dtype) + "; expected real numbers");
  if (node.hasAttribute("dtype")) {
    int64_t number = node.integer("dtype", 1);
    auto type = elementType(number);
    dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
    if (!dtype)
      return node.unsupported("it gives " + dataTypeName(number), "; dlc takes numbers and bool");
  }
  if (node.hasFailed())
    return false;
  Type kind = wide(node, node.dtype(0));
  Item isOne =
      node.call("lt", {uniform(node, node.dims(0), kind), node.cast(node.tensor(0), kind)});
  node.set(0, node.cast(isOne, dtype));
  return !node.hasFailed();
}

/// Classes of the last dim, drawn by the logarithms of their weights: [N, C] becomes [N, samples].
static bool buildMultinomial(NodeImport &node) {
  int64_t samples = node.integer("sample_size", 1), number = node.integer("dtype", 6);
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  auto type = elementType(number);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  if (!dtype || !(dtype.isInteger(32) || dtype.isInteger(64)))
    return node.fail("it gives " + dataTypeName(number) + "; expected int32 or int64");
  if (node.rank(0) != 2 || !isa<FloatType>(node.dtype(0)) || samples < 1 || samples > INT32_MAX)
    return node.fail("it draws " + llvm::Twine(samples) + " samples by " + node.typeText(0) +
                     "; expected 1 to 2^31 - 1 of them, and real numbers [N, C]");
  Type kind = wide(node, node.dtype(0)), i64 = node.builder.getI64Type();
  x = node.cast(x, kind);
  Item largest = node.call("amax", {x, itemList(SmallVector<int64_t>{-1}), item(true)});
  Item sums =
      node.call("cumsum", {node.call("exp", {node.call("sub", {x, largest})}), item(int64_t(-1))});
  Item total =
      node.call("slice", {sums}, {{"dim", item(int64_t(1))}, {"start", item(int64_t(-1))}});
  AffineExpr rows = node.dims(0)[0], classes = node.dims(0)[1];
  Item place = node.call("mul", {uniform(node, {rows, node.dim(samples)}, kind), total});
  // The classes before the place: at most those before the last one that has a weight, since the
  // place may be rounded up to the total.
  auto countBelow = [&](StringRef compare, Item bound) {
    Item column = node.call("unsqueeze", {bound, item(int64_t(2))});
    Item row = node.reshape(sums, {rows, node.dim(1), classes});
    Item isBelow = node.cast(node.call(compare, {row, column}), i64);
    return node.call("sum", {isBelow, itemList(SmallVector<int64_t>{2})});
  };
  Item drawn = node.call("minimum", {countBelow("le", place), countBelow("lt", total)});
  node.set(0, node.cast(drawn, dtype));
  return !node.hasFailed();
}

/// Whether a number that is known at import is `wanted`.
static bool isKnownAs(NodeImport &node, size_t input, double wanted) {
  const Known *known = node.has(input) ? node.known(input) : nullptr;
  auto reals = known ? known->reals() : std::nullopt;
  return reals && reals->size() == 1 && reals->front() == wanted;
}

/// In inference it changes nothing, and its mask is true everywhere. In training elements are
/// dropped, each with the probability that is the ratio, and the others made larger by as much as
/// that takes away on average. A rate of 0 is inference, so that both may be told apart by the
/// running model.
std::optional<Dropped> dropped(NodeImport &node, Item x, size_t ratio, size_t training) {
  if (!x.isTensor())
    return std::nullopt;
  Type f32 = node.builder.getF32Type(), dtype = x.tensorType().getElementType();
  dl::Dims dims = dl::getDims(x.tensorType());
  if (!node.has(training) || isKnownAs(node, training, 0) || isKnownAs(node, ratio, 0)) {
    node.attribute("seed");
    return Dropped{x, node.full(item(true), dl::makeTensor(dims, node.builder.getI1Type()))};
  }
  if (!isa<FloatType>(dtype)) {
    node.fail("it drops " + dl::dtypeName(dtype) + "; expected real numbers");
    return std::nullopt;
  }
  Item rate = node.has(ratio) ? node.cast(node.reshape(node.tensor(ratio), {}), f32)
                              : node.scalar(0.5, f32);
  if (!isKnownAs(node, training, 1))
    rate = node.call("where", {node.reshape(node.tensor(training), {}), rate, node.scalar(0, f32)});
  Item isKept = node.call("ge", {uniform(node, dims, f32), rate});
  Item factor = node.call("reciprocal", {node.call("sub", {node.scalar(1, f32), rate})});
  Item larger = node.call("mul", {x, node.cast(factor, dtype)});
  return Dropped{node.call("where", {isKept, larger, node.scalar(0, dtype)}), isKept};
}

static bool buildDropout(NodeImport &node) {
  node.attribute("ratio"); // before opset 12, whose nodes are in inference
  if (!node.has(0))
    return node.fail("it needs its input 0");
  auto both = dropped(node, node.tensor(0), 1, 2);
  if (!both || node.hasFailed())
    return false;
  if (both->y.as<mlir::Value>() == node.tensor(0).as<mlir::Value>())
    node.alias(0, 0);
  else
    node.set(0, both->y);
  if (node.wants(1)) // before opset 10 a mask of numbers
    node.set(1, node.opset < 10 ? node.cast(both->mask, node.dtype(0)) : both->mask);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> randomRules() {
  static const OddRule rules[] = {
      {"RandomUniform", 1, buildRandomUniform},
      {"RandomUniformLike", 1, buildRandomUniformLike},
      {"RandomNormal", 1, buildRandomNormal},
      {"RandomNormalLike", 1, buildRandomNormalLike},
      {"Bernoulli", 15, buildBernoulli},
      {"Multinomial", 7, buildMultinomial},
      {"Dropout", 1, buildDropout},
  };
  return rules;
}

} // namespace dlc::onnx
