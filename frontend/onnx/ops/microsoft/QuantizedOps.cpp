//===- QuantizedOps.cpp - Ops of ONNX Runtime on quantized tensors ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Its quantizer writes them in the form QOperator: each takes a scale and a zero point with each
// tensor, and computes what the op of ONNX computes on the numbers that the tensors stand for.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Quantized.h"

using namespace mlir;

namespace dlc::onnx {

/// The numbers of input `x`, whose scale and zero point are the next two inputs.
static Item numbersOf(NodeImport &node, size_t x) {
  Type f32 = node.builder.getF32Type();
  if (!node.has(x) || !node.has(x + 1)) {
    node.fail("it needs its inputs " + llvm::Twine(x) + " and " + llvm::Twine(x + 1));
    return {Item::Poison(), {}};
  }
  return node.call("mul",
                   {node.cast(centered(node, x, x + 2), f32), node.cast(node.tensor(x + 1), f32)});
}

/// Whether ONNX Runtime rounds a number before it adds the zero point, or the sum: they differ
/// where two integers are equally near, and the zero point is odd.
enum class Rounding { First, Last };

/// Sets result 0 to x by the scale in input `scale` and the zero point after it; in `dtype` if that
/// is left out.
static bool setQuantized(NodeImport &node, Item x, size_t scale, Type dtype,
                         Rounding rounding = Rounding::First) {
  if (!node.has(scale))
    return node.fail("it needs its input " + llvm::Twine(scale));
  std::optional<Item> zeroPoint;
  if (node.has(scale + 1)) {
    dtype = node.dtype(scale + 1);
    if (!node.isZero(scale + 1))
      zeroPoint = node.tensor(scale + 1);
  }
  Type f32 = node.builder.getF32Type();
  x = node.call("div", {x, node.cast(node.tensor(scale), f32)});
  if (zeroPoint && rounding == Rounding::Last) {
    x = node.call("add", {x, node.cast(*zeroPoint, f32)});
    zeroPoint.reset();
  }
  node.set(0, quantized(node, x, zeroPoint, dtype));
  return !node.hasFailed();
}

static bool binary(NodeImport &node, StringRef callee, Rounding rounding) {
  Item y = node.call(callee, {numbersOf(node, 0), numbersOf(node, 3)});
  return setQuantized(node, y, 6, node.dtype(0), rounding);
}
static bool buildAdd(NodeImport &node) { return binary(node, "add", Rounding::Last); }
static bool buildMul(NodeImport &node) { return binary(node, "mul", Rounding::First); }

static bool buildSigmoid(NodeImport &node) {
  return setQuantized(node, node.call("sigmoid", {numbersOf(node, 0)}), 3, node.dtype(0));
}

static bool buildLeakyRelu(NodeImport &node) {
  double slope = node.real("alpha", 0.01);
  Item y = node.call("leaky_relu", {numbersOf(node, 0)}, {{"negative_slope", item(slope)}});
  return setQuantized(node, y, 3, node.dtype(0));
}

/// The op of ONNX of one input, on its numbers.
static bool plain(NodeImport &node, StringRef op, int64_t opset) {
  return setQuantized(node, node.as(op, opset, {numbersOf(node, 0)}), 3, node.dtype(0));
}
static bool buildReduceMean(NodeImport &node) { return plain(node, "ReduceMean", 11); }

static bool buildSoftmax(NodeImport &node) {
  // Before opset 13 all dims from the axis on are one.
  return plain(node, "Softmax", node.integer("opset", 13) < 13 ? 11 : 13);
}

/// A pool over images whose channels may be the last dim.
static bool pool(NodeImport &node, StringRef op, Rounding rounding) {
  bool isLast = node.integer("channels_last", 0) != 0;
  int64_t rank = node.rank(0);
  Item x = numbersOf(node, 0);
  if (rank < 3)
    return node.fail("it pools " + node.typeText(0) + "; expected [N, C, ...]");
  SmallVector<int64_t> there{0, rank - 1}, back{0};
  for (int64_t dim = 1; dim < rank - 1; ++dim) {
    there.push_back(dim);
    back.push_back(dim + 1);
  }
  back.push_back(1);
  Item y = node.as(op, 19, {isLast ? node.permute(x, there) : x});
  return setQuantized(node, isLast && !node.hasFailed() ? node.permute(y, back) : y, 3,
                      node.dtype(0), rounding);
}
static bool buildAveragePool(NodeImport &node) { return pool(node, "AveragePool", Rounding::Last); }
static bool buildGlobalAveragePool(NodeImport &node) {
  return pool(node, "GlobalAveragePool", Rounding::First);
}

static bool buildConcat(NodeImport &node) {
  int64_t axis = node.integer("axis", 0);
  Item::List parts;
  for (size_t input = 2; input < node.inputCount(); input += 3)
    parts.push_back(numbersOf(node, input));
  if (parts.empty())
    return node.fail("it joins no tensors; expected one or more");
  return setQuantized(node, node.call("cat", {Item{std::move(parts), {}}, item(axis)}), 0,
                      node.dtype(2));
}

static bool buildWhere(NodeImport &node) {
  if (!node.has(0))
    return node.fail("it needs its input 0");
  Item y = node.call("where", {node.tensor(0), numbersOf(node, 1), numbersOf(node, 4)});
  return setQuantized(node, y, 7, node.dtype(1));
}

/// (a - its zero point) * (b - its zero point), in i32.
static bool buildMulInteger(NodeImport &node) {
  node.set(0, node.call("mul", {centered(node, 0, 1), centered(node, 2, 3)}));
  return !node.hasFailed();
}

//===- Products -------------------------------------------------------------------------------===//

static bool hasInputs(NodeImport &node, size_t count) {
  for (size_t input = 0; input < count; ++input)
    if (!node.has(input))
      return node.fail("it needs its input " + llvm::Twine(input));
  return true;
}

/// A' B' + C in integers, scaled; quantized if it has a scale of its result.
static bool buildGemm(NodeImport &node) {
  enum Input { a, aScale, aZero, b, bScale, bZero, c, yScale };
  double alpha = node.real("alpha", 1);
  auto matrix = [&](Input from, Input zero, StringRef name) {
    bool isTurned = node.integer(name, 0) != 0;
    Item x = centered(node, from, zero, [&] {
      Item zeroPoint = node.tensor(zero);
      if (from != b || !isTurned || node.rank(zero) != 1)
        return zeroPoint; // one, or one for each column
      return node.reshape(zeroPoint, {node.dims(zero)[0], node.dim(1)});
    });
    return isTurned ? node.call("transpose", {x, item(int64_t(0)), item(int64_t(1))}) : x;
  };
  if (!hasInputs(node, bZero + 1))
    return false;
  Type f32 = node.builder.getF32Type();
  Item sums = node.call("matmul", {matrix(a, aZero, "transA"), matrix(b, bZero, "transB")});
  if (node.has(c))
    sums = node.call("add", {sums, node.tensor(c)});
  Item scale = node.call("mul", {node.cast(node.tensor(aScale), f32), node.tensor(bScale)});
  Item y = node.call("mul", {node.cast(sums, f32), node.call("mul", {scale, item(alpha)})});
  if (node.has(yScale))
    return setQuantized(node, y, yScale, node.dtype(a));
  node.set(0, y);
  return !node.hasFailed();
}

/// Sums of integers by both scales, and a bias.
static bool setScaled(NodeImport &node, Item sums, Item a, Item b, size_t bias, Type dtype) {
  Type f32 = node.builder.getF32Type();
  Item scale = node.call("mul", {node.cast(a, f32), node.cast(b, f32)});
  Item y = node.call("mul", {node.cast(sums, f32), scale});
  if (node.has(bias))
    y = node.call("add", {y, node.cast(node.tensor(bias), f32)});
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}

static bool buildMatMulIntegerToFloat(NodeImport &node) {
  enum Input { a, b, aScale, bScale, aZero, bZero, bias };
  return hasInputs(node, bScale + 1) &&
         setScaled(node, integerProduct(node, a, aZero, b, bZero), node.tensor(aScale),
                   node.tensor(bScale), bias, node.dtype(aScale));
}

static bool buildDynamicQuantizeMatMul(NodeImport &node) {
  enum Input { a, b, bScale, bZero, bias };
  if (!hasInputs(node, bScale + 1))
    return false;
  Type i32 = node.builder.getI32Type();
  DynamicCodes x = dynamicallyQuantized(node, node.tensor(a));
  Item left = node.call("sub", {node.cast(x.codes, i32), node.cast(x.zeroPoint, i32)});
  Item sums = node.call("matmul", {left, centered(node, b, bZero)});
  return setScaled(node, sums, x.scale, node.tensor(bScale), bias, node.dtype(a));
}

//===- As ONNX has it -------------------------------------------------------------------------===//

static bool buildQuantize(NodeImport &node) {
  node.as("QuantizeLinear", 21, {size_t(0), size_t(1), size_t(2)});
  return !node.hasFailed();
}
static bool buildDequantize(NodeImport &node) {
  node.as("DequantizeLinear", 21, {size_t(0), size_t(1), size_t(2)});
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> microsoftQuantizedRules() {
  static const OddRule rules[] = {
      {"com.microsoft.DequantizeLinear", 1, buildDequantize},
      {"com.microsoft.DynamicQuantizeMatMul", 1, buildDynamicQuantizeMatMul},
      {"com.microsoft.MatMulIntegerToFloat", 1, buildMatMulIntegerToFloat},
      {"com.microsoft.MulInteger", 1, buildMulInteger},
      {"com.microsoft.QGemm", 1, buildGemm},
      {"com.microsoft.QLinearAdd", 1, buildAdd},
      {"com.microsoft.QLinearAveragePool", 1, buildAveragePool},
      {"com.microsoft.QLinearConcat", 1, buildConcat},
      {"com.microsoft.QLinearGlobalAveragePool", 1, buildGlobalAveragePool},
      {"com.microsoft.QLinearLeakyRelu", 1, buildLeakyRelu},
      {"com.microsoft.QLinearMul", 1, buildMul},
      {"com.microsoft.QLinearReduceMean", 1, buildReduceMean},
      {"com.microsoft.QLinearSigmoid", 1, buildSigmoid},
      {"com.microsoft.QLinearSoftmax", 1, buildSoftmax},
      {"com.microsoft.QLinearWhere", 1, buildWhere},
      {"com.microsoft.QuantizeLinear", 1, buildQuantize},
  };
  return rules;
}

} // namespace dlc::onnx
