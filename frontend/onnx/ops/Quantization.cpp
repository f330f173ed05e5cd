//===- Quantization.cpp - Quantized tensors and integer products of ONNX ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A quantized tensor stands for (x - zero point) * scale. Each op is said in plain arithmetic,
// which fuses as any other does: products of integers are exact in i32, and what scales them is
// f32.
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Quantized.h"
#include "frontend/onnx/ops/Windows.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// Fails where the scale by which x is divided is known to be none: calibration that saw zeros
/// alone, or NaN, leaves such.
static void checkScale(NodeImport &node, size_t input) {
  const Known *known = node.known(input);
  auto numbers = known ? known->reals() : std::nullopt;
  if (!numbers)
    return;
  for (double number : *numbers)
    if (number == 0 || !std::isfinite(number)) {
      node.fail("its scale is " +
                llvm::Twine(std::isnan(number)   ? "NaN"
                            : std::isinf(number) ? "infinite"
                                                 : "0") +
                ", by which x is divided; expected a finite number other than 0, as calibration on "
                "data that are not all 0 gives");
      return;
    }
}

/// Input `input`, a scale or zero point of a tensor of dims `dims`, with dims that broadcast to
/// them: one number, one for each index of `axis`, or one for each `block` of these.
static Item aligned(NodeImport &node, size_t input, ArrayRef<AffineExpr> dims, int64_t axis,
                    int64_t block) {
  Item x = node.tensor(input);
  dl::Dims own = node.dims(input);
  auto rank = static_cast<int64_t>(dims.size());
  if (node.hasFailed())
    return x;
  if (own.empty() || (own.size() == 1 && dl::isConstant(own[0], 1)))
    return node.reshape(x, {});
  auto at = node.axis(axis, rank);
  if (!at)
    return x;
  if (own.size() == 1) {
    dl::Dims along(rank, node.dim(1));
    along[*at] = own[0];
    return node.reshape(x, along);
  }
  if (static_cast<int64_t>(own.size()) != rank) {
    node.fail("its input " + llvm::Twine(input) + " is " + node.typeText(input) +
              "; expected one number, one dim or " + llvm::Twine(rank));
    return x;
  }
  if (block > 1) {
    x = node.call("repeat_interleave", {x, item(block), item(*at)});
    if (own[*at] * block != dims[*at]) // the last block is cut off
      x = node.call("narrow", {x, item(*at), item(int64_t(0)), Item::dim(dims[*at], {})});
  }
  return x;
}

Item quantized(NodeImport &node, Item x, std::optional<Item> zeroPoint, Type dtype) {
  x = node.call("round", {x});
  if (zeroPoint)
    x = node.call("add", {x, node.cast(*zeroPoint, node.builder.getF32Type())});
  return node.cast(x, dtype);
}

static bool buildQuantize(NodeImport &node) {
  int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  bool saturates = node.integer("saturate", 1) != 0;
  Type f32 = node.builder.getF32Type(), own = node.dtype(1);
  // From opset 23 on the scale says in which dtype x is divided by it.
  bool isOwn = node.opset >= 23 && isa<FloatType>(own) && own.getIntOrFloatBitWidth() >= 16;
  Type precision = dtypeNamedBy(node, "precision", isOwn ? own : f32);
  Type dtype =
      dtypeNamedBy(node, "output_dtype", node.builder.getIntegerType(8, /*isSigned=*/false));
  if (node.has(2))
    dtype = node.dtype(2);
  dl::Dims dims = node.dims(0);
  checkScale(node, 1);
  Item x = node.tensor(0), scale = aligned(node, 1, dims, axis, block);
  if (node.hasFailed())
    return false;
  // A quotient of f32 rounded to 16 bits is the quotient of 16 bits.
  Type compute = precision.isF64() ? precision : f32;
  auto operand = [&](Item value) { return node.cast(node.cast(value, precision), compute); };
  x = operand(node.call("div", {operand(x), operand(scale)}));
  std::optional<Item> zeroPoint;
  if (node.has(2) && !node.isZero(2))
    zeroPoint = aligned(node, 2, dims, axis, block);
  if (isa<FloatType>(dtype)) {
    if (zeroPoint)
      x = node.call("add", {x, node.cast(*zeroPoint, f32)});
    node.set(0, converted(node, x, compute, dtype, saturates));
  } else {
    node.set(0, quantized(node, x, zeroPoint, dtype));
  }
  return !node.hasFailed();
}

Item centered(NodeImport &node, size_t input, size_t zeroPointInput,
              llvm::function_ref<Item()> zeroPoint) {
  Type i32 = node.builder.getI32Type();
  Item x = node.cast(node.tensor(input), i32);
  if (node.hasFailed() || !node.has(zeroPointInput) || node.isZero(zeroPointInput))
    return x;
  return node.call("sub", {x, node.cast(zeroPoint(), i32)});
}

Item centered(NodeImport &node, size_t input, size_t zeroPointInput) {
  return centered(node, input, zeroPointInput, [&] { return node.tensor(zeroPointInput); });
}

static bool buildDequantize(NodeImport &node) {
  int64_t axis = node.integer("axis", 1), block = node.integer("block_size", 0);
  Type f32 = node.builder.getF32Type(), dtype = dtypeNamedBy(node, "output_dtype", node.dtype(1));
  dl::Dims dims = node.dims(0);
  Item scale = aligned(node, 1, dims, axis, block);
  auto zeroPoint = [&] { return aligned(node, 2, dims, axis, block); };
  Item x;
  if (!isa<FloatType>(node.dtype(0))) {
    x = node.cast(centered(node, 0, 2, zeroPoint), f32);
  } else {
    x = node.cast(node.tensor(0), f32);
    if (node.has(2) && !node.isZero(2))
      x = node.call("sub", {x, node.cast(zeroPoint(), f32)});
  }
  if (node.hasFailed())
    return false;
  node.set(0, node.cast(node.call("mul", {x, node.cast(scale, f32)}), dtype));
  return !node.hasFailed();
}

DynamicCodes dynamicallyQuantized(NodeImport &node, Item x) {
  Type u8 = node.builder.getIntegerType(8, /*isSigned=*/false);
  Item low = node.call("minimum", {node.call("amin", {x}), item(0.0)});
  Item high = node.call("maximum", {node.call("amax", {x}), item(0.0)});
  // The scale of zeros alone is 1, as in ONNX Runtime.
  Item width = node.call("sub", {high, low});
  Item scale =
      node.call("where", {node.call("eq", {width, item(0.0)}), node.call("ones_like", {width}),
                          node.call("div", {width, item(255.0)})});
  Item zeroPoint =
      node.cast(node.call("round", {node.call("neg", {node.call("div", {low, scale})})}), u8);
  return {quantized(node, node.call("div", {x, scale}), zeroPoint, u8), scale, zeroPoint};
}

static bool buildDynamicQuantize(NodeImport &node) {
  DynamicCodes made = dynamicallyQuantized(node, node.tensor(0));
  node.set(0, made.codes);
  node.set(1, made.scale);
  node.set(2, made.zeroPoint);
  return !node.hasFailed();
}

//===- Products -------------------------------------------------------------------------------===//

/// Returns a scale or zero point of a product's left operand: a scalar, or one per row.
static Item ofRows(NodeImport &node, size_t input) {
  dl::Dims dims = node.dims(input);
  if (dims.size() != 1 || dl::isConstant(dims[0], 1))
    return node.tensor(input);
  return node.reshape(node.tensor(input), {dims[0], node.dim(1)});
}

Item integerProduct(NodeImport &node, size_t a, size_t aZero, size_t b, size_t bZero) {
  Item x = centered(node, a, aZero, [&] { return ofRows(node, aZero); });
  Item other = centered(node, b, bZero, [&] { return node.tensor(bZero); });
  return node.call("matmul", {x, other});
}

/// A number, or one for each channel, against dims [K, C, ...] (or [N, K, ...] where it is of a
/// result).
static Item ofChannels(NodeImport &node, size_t input, int64_t rank, bool isResult) {
  dl::Dims dims = node.dims(input);
  if (dims.size() != 1 || rank < 2) // of fewer dims than a convolution has, which is refused
    return node.tensor(input);
  dl::Dims along(rank, node.dim(1));
  along[isResult ? 1 : 0] = dims[0];
  return node.reshape(node.tensor(input), along);
}

/// Sums of integers with scales `a`, `b` as a tensor of scale and zero point `y`.
static Item requantized(NodeImport &node, Item sums, Item a, Item b, size_t y) {
  Type f32 = node.builder.getF32Type();
  Item scale = node.call("mul", {node.cast(a, f32), node.cast(b, f32)});
  scale = node.call("div", {scale, node.cast(node.tensor(y), f32)});
  Item x = node.call("mul", {node.cast(sums, f32), scale});
  std::optional<Item> zeroPoint;
  if (!node.isZero(y + 1))
    zeroPoint = node.tensor(y + 1);
  return quantized(node, x, zeroPoint, node.dtype(y + 1));
}

static bool hasInputs(NodeImport &node, size_t count) {
  for (size_t input = 0; input < count; ++input)
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(input));
  return true;
}

static bool buildMatMulInteger(NodeImport &node) {
  if (hasInputs(node, 2))
    node.set(0, integerProduct(node, 0, 2, 1, 3));
  return !node.hasFailed();
}

static bool buildQLinearMatMul(NodeImport &node) {
  if (hasInputs(node, 8))
    node.set(
        0, requantized(node, integerProduct(node, 0, 2, 3, 5), ofRows(node, 1), node.tensor(4), 6));
  return !node.hasFailed();
}

static Item integerConvolution(NodeImport &node, size_t x, size_t xZero, size_t weight,
                               size_t weightZero, std::optional<size_t> bias) {
  // What the pads stand for is the zero point, 0 once it is taken off.
  Item image = centered(node, x, xZero, [&] { return node.reshape(node.tensor(xZero), {}); });
  Item filter = centered(node, weight, weightZero, [&] {
    return ofChannels(node, weightZero, node.rank(weight), /*isResult=*/false);
  });
  return convolved(node, image, filter, x, weight, bias);
}

static bool buildConvInteger(NodeImport &node) {
  if (hasInputs(node, 2))
    node.set(0, integerConvolution(node, 0, 2, 1, 3, std::nullopt));
  return !node.hasFailed();
}

static bool buildQLinearConv(NodeImport &node) {
  if (!hasInputs(node, 8))
    return false;
  auto bias = node.has(8) ? std::optional<size_t>(8) : std::nullopt;
  Item sums = integerConvolution(node, 0, 2, 3, 5, bias);
  node.set(0, requantized(node, sums, node.tensor(1),
                          ofChannels(node, 4, node.rank(0), /*isResult=*/true), 6));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> quantizationRules() {
  static const OddRule rules[] = {
      {"QuantizeLinear", 10, buildQuantize},
      {"DequantizeLinear", 10, buildDequantize},
      {"DynamicQuantizeLinear", 11, buildDynamicQuantize},
      {"MatMulInteger", 10, buildMatMulInteger},
      {"QLinearMatMul", 10, buildQLinearMatMul},
      {"ConvInteger", 10, buildConvInteger},
      {"QLinearConv", 10, buildQLinearConv},
  };
  return rules;
}

} // namespace dlc::onnx
