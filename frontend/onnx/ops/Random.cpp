//===- Random.cpp - Random numbers of ONNX ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX names no generator. Here a number is a hash of its place and of the node's seed, so that it
// is the same in each run, on each device and for any batch, and a model of several dlc ops
// computes it. A node without a seed may have any, and has one by the name of its result.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include "llvm/Support/xxhash.h"

#include <numbers>

using namespace mlir;

namespace dlc::onnx {

/// Mixes 32 bits in the manner of MurmurHash3's finaliser, with the factors of C. Wellons's search
/// ("hash prospector"), whose bias is below those of MurmurHash3.
static Item mixed(NodeImport &node, Item x) {
  Type u32 = IntegerType::get(node.context, 32, IntegerType::Unsigned);
  auto foldUpper = [&](Item x, unsigned bits) {
    Item upper = node.call("div", {x, node.scalar(static_cast<double>(1u << bits), u32)},
                           {{"rounding_mode", item(StringRef("trunc"))}});
    return node.call("bitwise_xor", {x, upper});
  };
  auto times = [&](Item x, uint32_t factor) {
    return node.call("mul", {x, node.scalar(factor, u32)});
  };
  return foldUpper(times(foldUpper(times(foldUpper(x, 16), 0x7feb352d), 15), 0x846ca68b), 16);
}

/// Numbers of f32, uniform in [0, 1), multiples of 2^-24, of the shape `dims`. Each `stream` of a
/// node has its own.
static Item uniform(NodeImport &node, ArrayRef<AffineExpr> dims, uint64_t stream) {
  Type u32 = IntegerType::get(node.context, 32, IntegerType::Unsigned);
  // SplitMix64's finaliser: seeds that differ by little have keys that share nothing.
  uint64_t key = stream + 0x9e3779b97f4a7c15;
  if (const Attribute *seed = node.attribute("seed"))
    key += seed->integer ? static_cast<uint64_t>(*seed->integer)
                         : uint64_t(llvm::bit_cast<uint32_t>(seed->real.value_or(0))) << 32;
  else // each node of its own
    key += llvm::xxh3_64bits(node.node.outputs.front());
  key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9;
  key = (key ^ key >> 27) * 0x94d049bb133111eb;
  key ^= key >> 31;
  if (!node.mayMultiply(dims))
    return {Item::Poison(), {}};
  AffineExpr count = dl::normalize(dl::product(dims, node.context));
  Item bits = node.call("arange", {Item::dim(count, {})}, {{"dtype", item(u32)}});
  // Twice with a half of the key each, so that two keys share no run of numbers.
  for (uint64_t half : {key & UINT32_MAX, key >> 32})
    bits =
        mixed(node, node.call("bitwise_xor", {bits, node.scalar(static_cast<double>(half), u32)}));
  Item upper = node.call("div", {bits, node.scalar(256, u32)},
                         {{"rounding_mode", item(StringRef("trunc"))}});
  Type f32 = node.builder.getF32Type();
  Item numbers = node.call("mul", {node.cast(upper, f32), node.scalar(0x1p-24, f32)});
  return node.reshape(numbers, dims);
}

/// Whether the node's seed is a number. One without a seed gets one, as the standard says, which is
/// the same in each run.
static bool hasSeed(NodeImport &node) {
  const Attribute *seed = node.attribute("seed");
  if (seed && (seed->integer || seed->real))
    return true;
  if (seed)
    return node.fail("its attribute 'seed' is no number");
  node.remark("it has no attribute 'seed'; dlc draws the same random numbers in each run");
  return true;
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
  if (!dtype || !hasSeed(node) || node.hasFailed())
    return std::nullopt;
  return dl::makeTensor(dims, dtype);
}

/// x * factor + offset, computed in f32.
static bool scaled(NodeImport &node, Item x, double factor, double offset, Type dtype) {
  Type f32 = node.builder.getF32Type();
  Item y =
      node.call("add", {node.call("mul", {x, node.scalar(factor, f32)}), node.scalar(offset, f32)});
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}

static bool buildUniform(NodeImport &node, bool isLike) {
  auto type = drawnType(node, isLike);
  double low = node.real("low", 0), high = node.real("high", 1);
  return type && scaled(node, uniform(node, dl::getDims(*type), 0), high - low, low,
                        type->getElementType());
}
static bool buildRandomUniform(NodeImport &node) { return buildUniform(node, false); }
static bool buildRandomUniformLike(NodeImport &node) { return buildUniform(node, true); }

/// Box and Muller's transform: a radius and an angle. Numbers are below 5.8 deviations, as u is
/// 2^-24 at least.
static bool buildNormal(NodeImport &node, bool isLike) {
  auto type = drawnType(node, isLike);
  double mean = node.real("mean", 0), deviation = node.real("scale", 1);
  if (!type)
    return false;
  Type f32 = node.builder.getF32Type();
  auto dims = dl::getDims(*type);
  auto op = [&](StringRef name, Item a, double b) {
    return node.call(name, {a, node.scalar(b, f32)});
  };
  Item u = op("add", uniform(node, dims, 0), 0x1p-24);
  Item radius = node.call("sqrt", {op("mul", node.call("log", {u}), -2)});
  Item angle = op("mul", uniform(node, dims, 1), 2 * std::numbers::pi);
  Item x = node.call("mul", {radius, node.call("cos", {angle})});
  return scaled(node, x, deviation, mean, type->getElementType());
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
  if (node.hasFailed() || !hasSeed(node))
    return false;
  Item probability = node.cast(node.tensor(0), node.builder.getF32Type());
  Item isOne = node.call("lt", {uniform(node, node.dims(0), 0), probability});
  node.set(0, node.cast(isOne, dtype));
  return !node.hasFailed();
}

/// In inference it changes nothing, and its mask is true everywhere. In training elements are
/// dropped, each with the probability that is the ratio, and the others made larger by as much as
/// that takes away on average. A rate of 0 is inference, so that both may be told apart by the
/// running model.
static bool buildDropout(NodeImport &node) {
  node.attribute("ratio");
  node.attribute("seed");
  if (!node.has(0))
    return node.fail("it needs its input 0");
  Type truth = node.builder.getI1Type(), f32 = node.builder.getF32Type(), dtype = node.dtype(0);
  auto only = [&](size_t input) -> std::optional<double> {
    const Known *known = node.has(input) ? node.known(input) : nullptr;
    auto reals = known ? known->reals() : std::nullopt;
    return reals && reals->size() == 1 ? std::optional(reals->front()) : std::nullopt;
  };
  auto training = only(2), ratio = only(1);
  if (!node.has(2) || training == 0 || ratio == 0) {
    node.alias(0, 0);
    if (node.wants(1)) { // before opset 10 a mask of numbers
      Type mask = node.opset < 10 ? dtype : truth;
      node.set(1, node.cast(node.call("full_like", {node.tensor(0), item(true)},
                                      {{"dtype", item(truth)}}),
                            mask));
    }
    return !node.hasFailed();
  }
  if (!node.hasAttribute("seed"))
    return node.unsupported(training ? "it is in training mode" : "it may be in training mode",
                            "; dlc runs models in inference: export it so, or give it the "
                            "attribute 'seed', with which each run drops the same elements");
  if (!isa<FloatType>(dtype))
    return node.fail("it drops " + dl::dtypeName(dtype) + "; expected real numbers");
  if (!hasSeed(node))
    return false;
  Item rate =
      node.has(1) ? node.cast(node.reshape(node.tensor(1), {}), f32) : node.scalar(0.5, f32);
  if (!training)
    rate = node.call("where", {node.reshape(node.tensor(2), {}), rate, node.scalar(0, f32)});
  Item isKept = node.call("ge", {uniform(node, node.dims(0), 0), rate});
  Item factor = node.call("reciprocal", {node.call("sub", {node.scalar(1, f32), rate})});
  Item larger = node.call("mul", {node.tensor(0), node.cast(factor, dtype)});
  node.set(0, node.call("where", {isKept, larger, node.scalar(0, dtype)}));
  if (node.wants(1))
    node.set(1, isKept);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> randomRules() {
  static const OddRule rules[] = {
      {"RandomUniform", 1, buildRandomUniform}, {"RandomUniformLike", 1, buildRandomUniformLike},
      {"RandomNormal", 1, buildRandomNormal},   {"RandomNormalLike", 1, buildRandomNormalLike},
      {"Bernoulli", 15, buildBernoulli},        {"Dropout", 1, buildDropout},
  };
  return rules;
}

} // namespace dlc::onnx
