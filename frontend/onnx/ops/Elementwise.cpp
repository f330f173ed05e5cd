//===- Elementwise.cpp - Arithmetic, comparisons and casts of ONNX ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// Max, Min, Sum and Mean of any number of inputs.
static bool fold(NodeImport &node, StringRef callee) {
  if (!node.has(0))
    return node.fail("it needs an input");
  Item result = node.tensor(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    result = node.call(callee, {result, node.tensor(i)});
  node.set(0, result);
  return !node.hasFailed();
}

static bool buildMax(NodeImport &node) { return fold(node, "maximum"); }
static bool buildMin(NodeImport &node) { return fold(node, "minimum"); }
static bool buildSum(NodeImport &node) { return fold(node, "add"); }

static bool buildMean(NodeImport &node) {
  Item sum = node.tensor(0);
  for (size_t i = 1; i < node.inputCount(); ++i)
    sum = node.call("add", {sum, node.tensor(i)});
  node.set(0, node.call("div", {sum, item(static_cast<double>(node.inputCount()))}));
  return !node.hasFailed();
}

/// Of integers, towards 0.
static bool buildDiv(NodeImport &node) {
  Item x = node.tensor(0), other = node.tensor(1);
  if (isa<FloatType>(node.dtype(0)))
    node.set(0, node.call("div", {x, other}));
  else
    node.set(0, node.call("div", {x, other}, {{"rounding_mode", item(StringRef("trunc"))}}));
  return !node.hasFailed();
}

static bool buildMod(NodeImport &node) {
  bool isTruncated = node.integer("fmod", 0) != 0;
  node.set(0, node.call(isTruncated ? "fmod" : "remainder", {node.tensor(0), node.tensor(1)}));
  return !node.hasFailed();
}

/// Of unsigned integers: by more bits than they have it gives 0, as a product and as a quotient do.
static bool buildBitShift(NodeImport &node) {
  std::string direction = node.string("direction", "");
  if (direction != "LEFT" && direction != "RIGHT")
    return node.fail("its direction is " + frontend::quote(direction) + "; expected LEFT or RIGHT");
  if (!node.dtype(0).isUnsignedInteger())
    return node.fail("it shifts " + node.typeText(0) + "; expected unsigned integers");
  Item power = node.call("pow", {node.scalar(2, node.dtype(0)), node.tensor(1)});
  if (direction == "LEFT")
    node.set(0, node.call("mul", {node.tensor(0), power}));
  else
    node.set(0, node.call("div", {node.tensor(0), power},
                          {{"rounding_mode", item(StringRef("trunc"))}}));
  return !node.hasFailed();
}

/// A power of floats of less than 64 bits, to which integers from 2^24 on are even: with the sign
/// that x has for an odd power.
static Item turned(NodeImport &node, Item x, Item power) {
  Item isNegative = node.call("lt", {x, node.call("zeros_like", {x})});
  return node.call("where", {isNegative, node.call("neg", {power}), power});
}

/// A power that is known to be one number.
static Item powerOf(NodeImport &node, Item x, double power) {
  if (power == 2 || power == 0.5)
    return node.call(power == 2 ? "square" : "sqrt", {x});
  constexpr double kAllEven = 0x1p24;
  bool isOdd = std::abs(power) > kAllEven && std::fmod(std::abs(power), 2) == 1;
  Item y = node.call("pow", {x, item(power)});
  return isOdd && !node.dtype(0).isF64() ? turned(node, x, y) : y;
}

/// The result has the dtype of the base, whatever that of the exponent.
static bool buildPow(NodeImport &node) {
  Type dtype = node.dtype(0), ofPower = node.dtype(1);
  const Known *exponent = node.known(1);
  bool isNumber = exponent && exponent->numbers.size() == 1 &&
                  static_cast<int64_t>(exponent->shape.size()) <= node.rank(0);
  auto numbers = isNumber ? exponent->reals() : std::nullopt;
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  if (numbers && isa<FloatType>(dtype)) {
    node.set(0, powerOf(node, x, numbers->front()));
    return !node.hasFailed();
  }
  Item y = node.tensor(1);
  if (isa<FloatType>(dtype)) {
    Item power = node.call("pow", {x, node.cast(y, dtype)});
    if (!isa<FloatType>(ofPower) && ofPower.getIntOrFloatBitWidth() > 24 && !dtype.isF64()) {
      Item isLarge = node.call(
          "gt", {node.call("abs", {node.cast(y, node.builder.getF64Type())}), item(0x1p24)});
      Item isOdd = node.call(
          "ne", {node.call("remainder", {y, node.scalar(2, ofPower)}), node.scalar(0, ofPower)});
      Item isTurned = node.call("logical_and", {isLarge, isOdd});
      power = node.call("where", {isTurned, turned(node, x, power), power});
    }
    node.set(0, power);
  } else if (isa<FloatType>(ofPower)) {
    // Whole powers of integers are exact, others no less so than f64.
    Type f64 = node.builder.getF64Type();
    double whole = numbers ? numbers->front() : -1;
    if (whole >= 0 && whole < 64 && whole == std::floor(whole))
      node.set(0, node.call("pow", {x, node.scalar(whole, dtype)}));
    else
      node.set(0, node.cast(node.call("pow", {node.cast(x, f64), node.cast(y, f64)}), dtype));
  } else {
    node.set(0, node.call("pow", {x, node.cast(y, dtype)}));
  }
  return !node.hasFailed();
}

static bool buildClip(NodeImport &node) {
  Item x = node.tensor(0);
  Type dtype = node.dtype(0);
  bool isAttribute = node.opset < 11;
  StringRef bounds[] = {"min", "max"};
  std::vector<std::pair<StringRef, Item>> numbers;
  bool areNumbers = true;
  for (size_t i : {0, 1}) {
    if (isAttribute ? !node.hasAttribute(bounds[i]) : !node.has(i + 1))
      continue;
    auto known = isAttribute || !node.known(i + 1) ? std::nullopt : node.known(i + 1)->reals();
    areNumbers &= isAttribute || (known && known->size() == 1);
    double bound = isAttribute ? node.real(bounds[i], 0) : areNumbers ? known->front() : 0;
    areNumbers &= std::isfinite(bound);
    numbers.push_back({bounds[i], {bound, {}}});
  }
  if (areNumbers && isa<FloatType>(dtype)) {
    node.set(0, numbers.empty() ? x : node.call("clamp", {x}, numbers));
    return !node.hasFailed();
  }
  StringRef functions[] = {"maximum", "minimum"};
  for (size_t i : {0, 1}) {
    if (isAttribute && node.hasAttribute(bounds[i]))
      x = node.call(functions[i], {x, node.scalar(node.real(bounds[i], 0), dtype)});
    else if (!isAttribute && node.has(i + 1))
      x = node.call(functions[i], {x, node.tensor(i + 1)});
  }
  node.set(0, x);
  return !node.hasFailed();
}

/// The dtype that ONNX calls by this number; null, reported, where dlc does not compute with it.
static Type dtypeNamed(NodeImport &node, int64_t dataType) {
  auto type = elementType(dataType);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  if (!dtype)
    node.unsupported("it converts to " + dataTypeName(dataType),
                     "; dlc converts to " + llvm::join(frontend::dtypeNames(), ", "));
  return dtype;
}

/// f8e8m0 has powers of two alone: the one above, below or nearest in place of a number between
/// two.
static Item roundedToPower(NodeImport &node, Item x, StringRef mode, bool saturates) {
  Type dtype = Float8E8M0FNUType::get(node.context);
  Item wide = node.call("abs", {node.cast(x, node.builder.getF32Type())});
  Item power = node.cast(node.cast(wide, dtype), node.builder.getF32Type());
  if (mode == "up")
    power = node.call(
        "where", {node.call("lt", {power, wide}), node.call("mul", {power, item(2.0)}), power});
  else if (mode == "down")
    power = node.call(
        "where", {node.call("gt", {power, wide}), node.call("mul", {power, item(0.5)}), power});
  if (saturates || mode == "down") { // numbers alone: not infinity, not NaN
    Item number = node.call("where", {node.call("isnan", {power}), item(0x1p127), power});
    Item isNumber = node.call("lt", {wide, item(std::numeric_limits<double>::infinity())});
    power = node.call("where",
                      {isNumber, node.call("clamp", {number, item(0.0), item(0x1p127)}), power});
  }
  return node.cast(power, dtype);
}

Item converted(NodeImport &node, Item x, Type from, Type dtype, bool saturates, StringRef mode) {
  if (dtype == from || node.hasFailed())
    return x;
  unsigned width = dtype.getIntOrFloatBitWidth();
  bool isFloat = isa<FloatType>(from);
  if (!isa<FloatType>(dtype)) // NumPy drops the high bits of floats too
    return node.cast(
        width < 8 && width > 1 && isFloat ? node.cast(x, node.builder.getI32Type()) : x, dtype);
  if (width > 8)
    return node.cast(x, dtype);
  if (isa<Float8E8M0FNUType>(dtype))
    return roundedToPower(node, x, mode, saturates);
  if (saturates && width == 8) {
    double largest =
        llvm::APFloat::getLargest(cast<FloatType>(dtype).getFloatSemantics()).convertToDouble();
    if (!isFloat || from.getIntOrFloatBitWidth() < 16)
      x = node.cast(x, node.builder.getF32Type());
    x = node.call("clamp", {x, item(-largest), item(largest)});
  }
  return node.cast(x, dtype);
}

static bool convert(NodeImport &node, Type dtype) {
  bool saturates = node.integer("saturate", 1) != 0;
  std::string mode = node.string("round_mode", "up");
  Item x = node.tensor(0);
  if (node.hasFailed() || !dtype)
    return false;
  if (dtype == node.dtype(0))
    node.alias(0, 0);
  else
    node.set(0, converted(node, x, node.dtype(0), dtype, saturates, mode));
  return !node.hasFailed();
}

Type dtypeNamedBy(NodeImport &node, StringRef attribute, Type otherwise) {
  int64_t number = node.integer(attribute, 0);
  if (number == 0)
    return otherwise;
  auto type = elementType(number);
  Type dtype = type ? frontend::dtypeOf(nameOf(*type), node.context) : Type();
  if (!dtype)
    node.fail("its " + attribute + " is " + dataTypeName(number) + "; expected " +
              llvm::join(frontend::dtypeNames(), ", "));
  return dtype;
}

Type stashType(NodeImport &node) {
  Type dtype = dtypeNamedBy(node, "stash_type", node.builder.getF32Type());
  if (!dtype || isa<FloatType>(dtype))
    return dtype;
  node.fail("its stash_type is " + dl::dtypeName(dtype) + "; expected a float");
  return {};
}

Type wider(Type a, Type b) {
  if (a == b)
    return a;
  unsigned width = a.getIntOrFloatBitWidth(), other = b.getIntOrFloatBitWidth();
  return width == other ? Float32Type::get(a.getContext()) : width > other ? a : b;
}

static bool buildCast(NodeImport &node) {
  return convert(node, dtypeNamed(node, node.integer("to", 0)));
}
static bool buildCastLike(NodeImport &node) {
  if (!node.has(1))
    return node.fail("it needs its input 1");
  return convert(node, node.dtype(1));
}

static bool buildBitCast(NodeImport &node) {
  Type dtype = dtypeNamed(node, node.integer("to", 0));
  if (node.hasFailed() || !dtype)
    return false;
  node.set(0, node.call("bitcast", {node.tensor(0), item(dtype)}));
  return !node.hasFailed();
}

static bool buildIdentity(NodeImport &node) {
  node.alias(0, 0);
  return !node.hasFailed();
}

static bool buildIsInf(NodeImport &node) {
  bool takesNegative = node.integer("detect_negative", 1) != 0,
       takesPositive = node.integer("detect_positive", 1) != 0;
  Item x = node.tensor(0), y = node.call("isinf", {x});
  if (!takesNegative || !takesPositive) {
    Item isTaken = takesPositive   ? node.call("gt", {x, item(0.0)})
                   : takesNegative ? node.call("lt", {x, item(0.0)})
                                   : node.call("ne", {x, x}); // of NaN alone, which is not infinite
    y = node.call("logical_and", {y, isTaken});
  }
  node.set(0, y);
  return !node.hasFailed();
}

/// NaN stays NaN, where dl's sign gives 0.
static bool buildSign(NodeImport &node) {
  Item x = node.tensor(0), sign = node.call("sign", {x});
  if (isa<FloatType>(node.dtype(0)))
    sign = node.call("where", {node.call("isnan", {x}), x, sign});
  node.set(0, sign);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> elementwiseRules() {
  static const OddRule rules[] = {
      {"Max", 1, buildMax},           {"Min", 1, buildMin},
      {"Sum", 1, buildSum},           {"Mean", 1, buildMean},
      {"Div", 1, buildDiv},           {"Mod", 1, buildMod},
      {"Pow", 1, buildPow},           {"Clip", 1, buildClip},
      {"Cast", 6, buildCast},         {"BitShift", 11, buildBitShift},
      {"CastLike", 1, buildCastLike}, {"Identity", 1, buildIdentity},
      {"IsInf", 10, buildIsInf},      {"BitCast", 26, buildBitCast},
      {"Sign", 9, buildSign},
  };
  return rules;
}

} // namespace dlc::onnx
