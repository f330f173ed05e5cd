//===- Tensor.cpp - Typed tensors in host memory ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/Tensor.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/bit.h"

#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

using namespace mlir;

namespace dlc {

static int64_t product(ArrayRef<int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims)
    count *= dim;
  return count;
}

Tensor::Tensor(Type elementType, ArrayRef<int64_t> dims)
    : elementType(elementType), dims(dims), count(product(dims)) {
  if (isFloat())
    floatElements = std::make_shared<std::vector<double>>(count);
  else
    intElements = std::make_shared<std::vector<int64_t>>(count);
}

Tensor Tensor::withDims(ArrayRef<int64_t> newDims) const {
  assert(product(newDims) == count && "a reshape keeps the number of elements");
  Tensor result = *this;
  result.dims.assign(newDims.begin(), newDims.end());
  return result;
}

int64_t elementBytes(Type elementType) { return (elementType.getIntOrFloatBitWidth() + 7) / 8; }

//===- Float formats --------------------------------------------------------------------------===//

static bool hasNaNForMinusZero(const llvm::fltSemantics &format) {
  using llvm::APFloat;
  return APFloat::semanticsHasNaN(format) && APFloat::getNaN(format).bitcastToAPInt().isSignMask();
}

/// A float of 8 or 4 bits; ir/scalar/SmallFloats.h says what happens beyond the range.
static double roundToSmall(const llvm::fltSemantics &format, double value) {
  using llvm::APFloat;
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  double largest = APFloat::getLargest(format).convertToDouble();
  if (!APFloat::semanticsHasZero(format)) { // powers of two
    value = std::abs(value);
    if (!std::isfinite(value))
      return nan;
    double least = std::ldexp(1.0, APFloat::semanticsMinExponent(format));
    if (value <= least)
      return least;
    int exponent = std::ilogb(value);
    double power = std::ldexp(1.0, exponent);
    // All that lies above the least number goes to the next.
    double rounded = value > power && (power == least || value >= 1.5 * power) ? 2 * power : power;
    return rounded > largest ? nan : rounded;
  }
  if (std::isnan(value))
    return APFloat::semanticsHasNaN(format) ? value : -0.0;
  double magnitude = std::abs(value);
  if (std::isfinite(magnitude) && magnitude != 0.0) {
    int exponent =
        std::max(std::ilogb(magnitude), static_cast<int>(APFloat::semanticsMinExponent(format)));
    int last = exponent - static_cast<int>(APFloat::semanticsPrecision(format)) + 1;
    magnitude = std::ldexp(std::nearbyint(std::ldexp(magnitude, -last)), last);
  }
  if (magnitude > largest) {
    if (!APFloat::semanticsHasInf(format) && APFloat::semanticsHasNaN(format))
      return nan;
    magnitude =
        APFloat::semanticsHasInf(format) ? std::numeric_limits<double>::infinity() : largest;
  }
  // Where the only NaN has the bits of -0, zero has no sign.
  bool isSigned = magnitude != 0.0 || !hasNaNForMinusZero(format);
  return isSigned ? std::copysign(magnitude, value) : magnitude;
}

double roundTo(Type type, double value) {
  if (type.getIntOrFloatBitWidth() <= 8)
    return roundToSmall(cast<FloatType>(type).getFloatSemantics(), value);
  if (type.isF64() || !std::isfinite(value) || value == 0.0)
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  const llvm::fltSemantics &format = cast<FloatType>(type).getFloatSemantics();
  // The place of the last digit that is kept; below the smallest normal exponent it stays where it
  // is.
  int exponent =
      std::max(std::ilogb(value), static_cast<int>(llvm::APFloat::semanticsMinExponent(format)));
  int last = exponent - static_cast<int>(llvm::APFloat::semanticsPrecision(format)) + 1;
  double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last)), last);
  if (std::ilogb(rounded) > llvm::APFloat::semanticsMaxExponent(format))
    return std::copysign(std::numeric_limits<double>::infinity(), value);
  return rounded;
}

/// A NaN as a double: the mantissa's bits at the top of the double's, none of them set or cleared
/// on the way, as a conversion of the processor's would.
static double wideNaN(uint64_t mantissa, int mantissaBits, bool isNegative) {
  return llvm::bit_cast<double>(uint64_t(isNegative) << 63 | uint64_t(0x7ff) << 52 |
                                mantissa << (52 - mantissaBits));
}
/// The mantissa that a NaN has in a narrower format: never 0, which would be infinity.
static uint64_t narrowNaN(double nan, int mantissaBits) {
  uint64_t all = (uint64_t(1) << mantissaBits) - 1;
  uint64_t mantissa = (llvm::bit_cast<uint64_t>(nan) >> (52 - mantissaBits)) & all;
  return mantissa ? mantissa : uint64_t(1) << (mantissaBits - 1);
}

/// The number that `bits` mean in a 16-bit format with so many mantissa bits.
static double decode16(uint16_t bits, int mantissaBits) {
  int exponentBits = 15 - mantissaBits, bias = (1 << (exponentBits - 1)) - 1;
  int exponent = (bits >> mantissaBits) & ((1 << exponentBits) - 1),
      mantissa = bits & ((1 << mantissaBits) - 1);
  double magnitude;
  if (exponent == (1 << exponentBits) - 1 && mantissa != 0)
    return wideNaN(mantissa, mantissaBits, bits >> 15);
  if (exponent == (1 << exponentBits) - 1)
    magnitude = std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else
    magnitude = std::ldexp(mantissa | (1 << mantissaBits), exponent - bias - mantissaBits);
  return bits >> 15 ? -magnitude : magnitude;
}

/// The bits of `value`, which the format represents exactly.
static uint16_t encode16(double value, int mantissaBits) {
  int exponentBits = 15 - mantissaBits, bias = (1 << (exponentBits - 1)) - 1;
  uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = ((1 << exponentBits) - 1)
                                                               << mantissaBits;
  if (std::isnan(value))
    return sign | infinity | static_cast<uint16_t>(narrowNaN(value, mantissaBits));
  value = std::abs(value);
  if (std::isinf(value))
    return sign | infinity;
  if (value == 0.0)
    return sign;
  int exponent = std::max(std::ilogb(value), 1 - bias);
  // The implicit bit of a normal number adds 1 to the exponent field, whence the -1.
  auto mantissa = static_cast<uint16_t>(std::ldexp(value, mantissaBits - exponent));
  return sign | static_cast<uint16_t>(((exponent + bias - 1) << mantissaBits) + mantissa);
}

static double decodeSmall(FloatType type, uint8_t bits) {
  llvm::APFloat number(type.getFloatSemantics(), llvm::APInt(type.getWidth(), bits, false, true));
  if (!number.isNaN())
    return number.convertToDouble();
  // LLVM converts the NaN of f8E8M0FNU to infinity. Those with a sign keep it, and those of f8E5M2
  // their mantissa.
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return isa<Float8E5M2Type>(type)     ? wideNaN(bits & 3, 2, bits >> 7)
         : isa<Float8E4M3FNType>(type) ? std::copysign(nan, bits >> 7 ? -1.0 : 1.0)
                                       : nan;
}

/// The bits of `value`, which the format represents.
static uint8_t encodeSmall(FloatType type, double value) {
  const llvm::fltSemantics &format = type.getFloatSemantics();
  bool losesInfo;
  llvm::APFloat number(value);
  if (std::isnan(value) && isa<Float8E5M2Type>(type))
    return static_cast<uint8_t>(std::signbit(value) << 7 | 0x7c | narrowNaN(value, 2));
  if (std::isnan(value))
    number = llvm::APFloat::getNaN(format, isa<Float8E4M3FNType>(type) && std::signbit(value));
  else
    number.convert(format, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return static_cast<uint8_t>(number.bitcastToAPInt().getZExtValue());
}

static int mantissaBits(Type type) { return type.isF16() ? 10 : 7; }

double floatOfBits(FloatType type, uint64_t bits) {
  if (type.isF64())
    return llvm::bit_cast<double>(bits);
  if (type.isF32()) {
    auto number = llvm::bit_cast<float>(static_cast<uint32_t>(bits));
    return std::isnan(number) ? wideNaN(bits & 0x7fffff, 23, bits >> 31) : number;
  }
  return type.getWidth() <= 8 ? decodeSmall(type, static_cast<uint8_t>(bits))
                              : decode16(static_cast<uint16_t>(bits), mantissaBits(type));
}

uint64_t bitsOf(FloatType type, double value) {
  if (type.isF64())
    return llvm::bit_cast<uint64_t>(value);
  if (type.isF32())
    return std::isnan(value)
               ? uint64_t(std::signbit(value)) << 31 | 0x7f800000 | narrowNaN(value, 23)
               : llvm::bit_cast<uint32_t>(static_cast<float>(value));
  return type.getWidth() <= 8 ? encodeSmall(type, value) : encode16(value, mantissaBits(type));
}

//===- Bytes ----------------------------------------------------------------------------------===//

int64_t wrapTo(IntegerType type, int64_t value) {
  unsigned width = type.getWidth();
  if (width == 64)
    return value;
  uint64_t low = static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
  if (type.isUnsigned() || width == 1)
    return static_cast<int64_t>(low);
  return static_cast<int64_t>(low << (64 - width)) >> (64 - width);
}

Tensor Tensor::fromBytes(Type elementType, ArrayRef<int64_t> dims, ArrayRef<char> bytes) {
  Tensor result(elementType, dims);
  int64_t width = elementBytes(elementType);
  assert(static_cast<int64_t>(bytes.size()) == result.size() * width &&
         "as many bytes as the elements take");
  const char *from = bytes.data();
  for (int64_t i = 0; i < result.size(); ++i, from += width) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, width);
    if (auto type = dyn_cast<FloatType>(elementType))
      result.floats()[i] = floatOfBits(type, bits);
    else
      result.ints()[i] =
          elementType.isInteger(1) ? bits != 0 : wrapTo(cast<IntegerType>(elementType), bits);
  }
  return result;
}

std::vector<char> Tensor::toBytes() const {
  int64_t width = elementBytes(elementType);
  std::vector<char> bytes(count * width);
  char *to = bytes.data();
  auto type = dyn_cast<FloatType>(elementType);
  for (int64_t i = 0; i < count; ++i, to += width) {
    uint64_t element =
        type ? bitsOf(type, roundTo(type, floats()[i])) : static_cast<uint64_t>(ints()[i]);
    std::memcpy(to, &element, width);
  }
  return bytes;
}

} // namespace dlc
