//===- ScalarTape.cpp - Scalar bodies, run over blocks of elements ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/ScalarTape.h"

#include "ir/interpreter/Tensor.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace dlc {
namespace {

using Instruction = ScalarTape::Instruction;

/// The low `width` bits of `value`, read as signed (bools: unsigned).
int64_t wrapSigned(int64_t value, unsigned width) {
  if (width == 64)
    return value;
  if (width == 1)
    return value & 1;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << (64 - width)) >> (64 - width);
}
uint64_t asUnsigned(int64_t value, unsigned width) {
  return width == 64 ? static_cast<uint64_t>(value)
                     : static_cast<uint64_t>(value) & ((uint64_t(1) << width) - 1);
}

template <auto compute> void onFloat(const Instruction &i, Lanes *r, int64_t count) {
  const double *a = r[i.a].floats;
  double *to = r[i.to].floats;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = compute(a[lane]);
}
template <auto compute> void onFloats(const Instruction &i, Lanes *r, int64_t count) {
  const double *a = r[i.a].floats, *b = r[i.b].floats;
  double *to = r[i.to].floats;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = compute(a[lane], b[lane]);
}
template <auto compare> void compareFloats(const Instruction &i, Lanes *r, int64_t count) {
  const double *a = r[i.a].floats, *b = r[i.b].floats;
  int64_t *to = r[i.to].ints;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = compare(a[lane], b[lane]);
}
/// `compute` gets signed values and their width; its result is wrapped.
template <auto compute> void onInts(const Instruction &i, Lanes *r, int64_t count) {
  const int64_t *a = r[i.a].ints, *b = r[i.b].ints;
  int64_t *to = r[i.to].ints;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = wrapSigned(compute(a[lane], b[lane], i.fromWidth), i.toWidth);
}
template <auto compute> void onInt(const Instruction &i, Lanes *r, int64_t count) {
  const int64_t *a = r[i.a].ints;
  int64_t *to = r[i.to].ints;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = wrapSigned(compute(a[lane], i.fromWidth), i.toWidth);
}
template <auto convert> void intToFloat(const Instruction &i, Lanes *r, int64_t count) {
  const int64_t *a = r[i.a].ints;
  double *to = r[i.to].floats;
  for (int64_t lane = 0; lane < count; ++lane)
    to[lane] = convert(a[lane], i.fromWidth);
}

// Conversion beyond the range of int64 is undefined in the IR; here it saturates. NaN gives 0.
int64_t truncated(double value) {
  if (!(std::abs(value) < 0x1p63))
    return std::isnan(value) ? 0
           : value < 0.0     ? std::numeric_limits<int64_t>::min()
                             : std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(value);
}
void floatToInt(const Instruction &i, Lanes *r, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane)
    r[i.to].ints[lane] = wrapSigned(truncated(r[i.a].floats[lane]), i.toWidth);
}
/// To an unsigned 64-bit integer: others lie within the range of a signed one.
void floatToUInt64(const Instruction &i, Lanes *r, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane) {
    double value = r[i.a].floats[lane];
    r[i.to].ints[lane] = value >= 0x1p64   ? -1
                         : value >= 0x1p63 ? static_cast<int64_t>(static_cast<uint64_t>(value))
                                           : truncated(value);
  }
}
void roundFloat(const Instruction &i, Lanes *r, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane)
    r[i.to].floats[lane] = roundTo(i.toType, r[i.a].floats[lane]);
}
/// One of them is an integer, which a body writes where it reads a float's bits.
void reinterpret(const Instruction &i, Lanes *r, int64_t count) {
  auto from = dyn_cast<FloatType>(i.fromType), to = dyn_cast<FloatType>(i.toType);
  for (int64_t lane = 0; lane < count; ++lane) {
    uint64_t bits =
        from ? bitsOf(from, r[i.a].floats[lane]) : asUnsigned(r[i.a].ints[lane], i.fromWidth);
    if (to)
      r[i.to].floats[lane] = floatOfBits(to, bits);
    else
      r[i.to].ints[lane] = wrapSigned(static_cast<int64_t>(bits), i.toWidth);
  }
}
void copyFloat(const Instruction &i, Lanes *r, int64_t count) {
  std::copy_n(r[i.a].floats, count, r[i.to].floats);
}
void selectFloat(const Instruction &i, Lanes *r, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane)
    r[i.to].floats[lane] = r[i.a].ints[lane] ? r[i.b].floats[lane] : r[i.c].floats[lane];
}
void selectInt(const Instruction &i, Lanes *r, int64_t count) {
  for (int64_t lane = 0; lane < count; ++lane)
    r[i.to].ints[lane] = r[i.a].ints[lane] ? r[i.b].ints[lane] : r[i.c].ints[lane];
}

double maximum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  return a > b || (a == b && std::signbit(b)) ? a : b;
}
double minimum(double a, double b) { return -maximum(-a, -b); }

Instruction::Function compareFunction(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return compareFloats<[](double a, double b) { return a == b; }>;
  case P::OLT:
    return compareFloats<[](double a, double b) { return a < b; }>;
  case P::OLE:
    return compareFloats<[](double a, double b) { return a <= b; }>;
  case P::OGT:
    return compareFloats<[](double a, double b) { return a > b; }>;
  case P::OGE:
    return compareFloats<[](double a, double b) { return a >= b; }>;
  case P::UNE:
    return compareFloats<[](double a, double b) { return a != b; }>;
  case P::UNO:
    return compareFloats<[](double a, double b) { return std::isnan(a) || std::isnan(b); }>;
  case P::ORD:
    return compareFloats<[](double a, double b) { return !std::isnan(a) && !std::isnan(b); }>;
  default:
    return nullptr;
  }
}

Instruction::Function compareFunction(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a == b); }>;
  case P::ne:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a != b); }>;
  case P::slt:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a < b); }>;
  case P::sle:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a <= b); }>;
  case P::sgt:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a > b); }>;
  case P::sge:
    return onInts<[](int64_t a, int64_t b, unsigned) { return int64_t(a >= b); }>;
  case P::ult:
    return onInts<[](int64_t a, int64_t b, unsigned w) {
      return int64_t(asUnsigned(a, w) < asUnsigned(b, w));
    }>;
  case P::ule:
    return onInts<[](int64_t a, int64_t b, unsigned w) {
      return int64_t(asUnsigned(a, w) <= asUnsigned(b, w));
    }>;
  case P::ugt:
    return onInts<[](int64_t a, int64_t b, unsigned w) {
      return int64_t(asUnsigned(a, w) > asUnsigned(b, w));
    }>;
  case P::uge:
    return onInts<[](int64_t a, int64_t b, unsigned w) {
      return int64_t(asUnsigned(a, w) >= asUnsigned(b, w));
    }>;
  }
  return nullptr;
}

// Unsigned arithmetic: wrapping is defined.
using U = uint64_t;
template <typename T> int64_t bits(T value) { return static_cast<int64_t>(value); }

/// Of a negative exponent, the reciprocal rounded to zero.
int64_t integerPower(int64_t base, int64_t exponent, unsigned) {
  if (exponent < 0)
    return base == 1 ? 1 : base != -1 ? 0 : exponent % 2 ? -1 : 1;
  U result = 1;
  for (U square = base; exponent > 0; exponent >>= 1, square *= square)
    if (exponent & 1)
      result *= square;
  return bits(result);
}

Instruction::Function functionOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, Instruction::Function>(op)
      .Case<arith::AddFOp>([](auto) { return onFloats<[](double a, double b) { return a + b; }>; })
      .Case<arith::SubFOp>([](auto) { return onFloats<[](double a, double b) { return a - b; }>; })
      .Case<arith::MulFOp>([](auto) { return onFloats<[](double a, double b) { return a * b; }>; })
      .Case<arith::DivFOp>([](auto) { return onFloats<[](double a, double b) { return a / b; }>; })
      .Case<arith::MaximumFOp>([](auto) { return onFloats<maximum>; })
      .Case<arith::MinimumFOp>([](auto) { return onFloats<minimum>; })
      .Case<arith::NegFOp>([](auto) { return onFloat<[](double a) { return -a; }>; })
      .Case<math::AbsFOp>([](auto) { return onFloat<[](double a) { return std::abs(a); }>; })
      .Case<math::SqrtOp>([](auto) { return onFloat<[](double a) { return std::sqrt(a); }>; })
      .Case<math::FloorOp>([](auto) { return onFloat<[](double a) { return std::floor(a); }>; })
      .Case<math::CeilOp>([](auto) { return onFloat<[](double a) { return std::ceil(a); }>; })
      .Case<math::TruncOp>([](auto) { return onFloat<[](double a) { return std::trunc(a); }>; })
      .Case<math::RoundEvenOp>(
          [](auto) { return onFloat<[](double a) { return std::nearbyint(a); }>; })
      .Case<math::ExpOp>([](auto) { return onFloat<[](double a) { return std::exp(a); }>; })
      .Case<math::LogOp>([](auto) { return onFloat<[](double a) { return std::log(a); }>; })
      .Case<math::TanhOp>([](auto) { return onFloat<[](double a) { return std::tanh(a); }>; })
      .Case<math::ErfOp>([](auto) { return onFloat<[](double a) { return std::erf(a); }>; })
      .Case<math::ErfcOp>([](auto) { return onFloat<[](double a) { return std::erfc(a); }>; })
      .Case<dls::SigmoidOp>(
          [](auto) { return onFloat<[](double a) { return 1 / (1 + std::exp(-a)); }>; })
      .Case<dls::GeluOp>([](auto) {
        // At minus infinity the limit, not infinity times 0: erfc is 0 from 28 on.
        return onFloat<[](double a) {
          return (a < -40 ? -40 : a) / 2 * std::erfc(-a / std::numbers::sqrt2);
        }>;
      })
      .Case<math::Exp2Op>([](auto) { return onFloat<[](double a) { return std::exp2(a); }>; })
      .Case<math::ExpM1Op>([](auto) { return onFloat<[](double a) { return std::expm1(a); }>; })
      .Case<math::Log1pOp>([](auto) { return onFloat<[](double a) { return std::log1p(a); }>; })
      .Case<math::Log2Op>([](auto) { return onFloat<[](double a) { return std::log2(a); }>; })
      .Case<math::Log10Op>([](auto) { return onFloat<[](double a) { return std::log10(a); }>; })
      .Case<math::SinOp>([](auto) { return onFloat<[](double a) { return std::sin(a); }>; })
      .Case<math::CosOp>([](auto) { return onFloat<[](double a) { return std::cos(a); }>; })
      .Case<math::TanOp>([](auto) { return onFloat<[](double a) { return std::tan(a); }>; })
      .Case<math::AsinOp>([](auto) { return onFloat<[](double a) { return std::asin(a); }>; })
      .Case<math::AcosOp>([](auto) { return onFloat<[](double a) { return std::acos(a); }>; })
      .Case<math::AtanOp>([](auto) { return onFloat<[](double a) { return std::atan(a); }>; })
      .Case<math::PowFOp>(
          [](auto) { return onFloats<[](double a, double b) { return std::pow(a, b); }>; })
      .Case<math::Atan2Op>(
          [](auto) { return onFloats<[](double a, double b) { return std::atan2(a, b); }>; })
      .Case<arith::RemFOp>(
          [](auto) { return onFloats<[](double a, double b) { return std::fmod(a, b); }>; })
      .Case<math::IPowIOp>([](auto) { return onInts<integerPower>; })
      .Case<arith::CmpFOp>(
          [](arith::CmpFOp compare) { return compareFunction(compare.getPredicate()); })
      .Case<arith::CmpIOp>(
          [](arith::CmpIOp compare) { return compareFunction(compare.getPredicate()); })
      .Case<arith::AddIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) { return bits(U(a) + U(b)); }>;
      })
      .Case<arith::SubIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) { return bits(U(a) - U(b)); }>;
      })
      .Case<arith::MulIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) { return bits(U(a) * U(b)); }>;
      })
      // Division by 0 is undefined in the IR; here it gives 0. The negation wraps where a / -1
      // would overflow.
      .Case<arith::DivSIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) {
          return b == 0 ? 0 : b == -1 ? bits(-U(a)) : a / b;
        }>;
      })
      .Case<arith::DivUIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned w) {
          return b == 0 ? 0 : bits(asUnsigned(a, w) / asUnsigned(b, w));
        }>;
      })
      .Case<arith::RemSIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) {
          return b == 0 ? a : b == -1 ? 0 : a % b;
        }>;
      })
      .Case<arith::RemUIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned w) {
          return b == 0 ? a : bits(asUnsigned(a, w) % asUnsigned(b, w));
        }>;
      })
      .Case<arith::MaxSIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) { return std::max(a, b); }>;
      })
      .Case<arith::MinSIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned) { return std::min(a, b); }>;
      })
      .Case<arith::MaxUIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned w) {
          return asUnsigned(a, w) < asUnsigned(b, w) ? b : a;
        }>;
      })
      .Case<arith::MinUIOp>([](auto) {
        return onInts<[](int64_t a, int64_t b, unsigned w) {
          return asUnsigned(b, w) < asUnsigned(a, w) ? b : a;
        }>;
      })
      .Case<arith::AndIOp>(
          [](auto) { return onInts<[](int64_t a, int64_t b, unsigned) { return a & b; }>; })
      .Case<arith::OrIOp>(
          [](auto) { return onInts<[](int64_t a, int64_t b, unsigned) { return a | b; }>; })
      .Case<arith::XOrIOp>(
          [](auto) { return onInts<[](int64_t a, int64_t b, unsigned) { return a ^ b; }>; })
      .Case<math::AbsIOp>(
          [](auto) { return onInt<[](int64_t a, unsigned) { return a < 0 ? bits(-U(a)) : a; }>; })
      // i1 holds 0 or 1, which a signed reading makes 0 or -1.
      .Case<arith::ExtSIOp>(
          [](auto) { return onInt<[](int64_t a, unsigned w) { return w == 1 ? -a : a; }>; })
      .Case<arith::ExtUIOp>(
          [](auto) { return onInt<[](int64_t a, unsigned w) { return bits(asUnsigned(a, w)); }>; })
      .Case<arith::TruncIOp, arith::IndexCastOp>(
          [](auto) { return onInt<[](int64_t a, unsigned) { return a; }>; })
      .Case<arith::SIToFPOp>([](auto) {
        return intToFloat<[](int64_t a, unsigned w) {
          return static_cast<double>(w == 1 ? -a : a);
        }>;
      })
      .Case<arith::UIToFPOp>([](auto) {
        return intToFloat<[](int64_t a, unsigned w) {
          return static_cast<double>(asUnsigned(a, w));
        }>;
      })
      .Case<arith::FPToSIOp>([](auto) { return floatToInt; })
      .Case<arith::FPToUIOp>([](arith::FPToUIOp op) {
        return op.getType().isInteger(64) ? floatToUInt64 : floatToInt;
      })
      .Case<arith::ExtFOp>([](auto) { return copyFloat; })
      .Case<arith::TruncFOp>([](auto) { return roundFloat; })
      .Case<arith::BitcastOp>([](auto) { return reinterpret; })
      .Case<arith::SelectOp>(
          [](auto select) { return isa<FloatType>(select.getType()) ? selectFloat : selectInt; })
      .Default([](auto) { return nullptr; });
}

unsigned widthOf(Type type) { return type.isIndex() ? 64 : type.getIntOrFloatBitWidth(); }

} // namespace

unsigned ScalarTape::registerOf(Value value) {
  auto [entry, isNew] = numbers.try_emplace(value, registers.size());
  if (isNew)
    registers.emplace_back();
  return entry->second;
}

ScalarTape::ScalarTape(Block &body, Value resultValue)
    : isFloatResult(isa<FloatType>(resultValue.getType())) {
  for (Value argument : body.getArguments())
    registerOf(argument);
  for (Operation &op : body) {
    unsigned to = registerOf(op.getResult(0));
    if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
      if (auto number = dyn_cast<FloatAttr>(constant.getValue())) {
        std::fill_n(registers[to].floats, kBlock, number.getValueAsDouble());
      } else {
        APInt bitsOf = cast<IntegerAttr>(constant.getValue()).getValue();
        std::fill_n(registers[to].ints, kBlock,
                    wrapSigned(bitsOf.getZExtValue(), bitsOf.getBitWidth()));
      }
      continue;
    }
    Instruction instruction{functionOf(&op),
                            to,
                            0,
                            0,
                            0,
                            widthOf(op.getOperand(0).getType()),
                            widthOf(op.getResult(0).getType()),
                            op.getOperand(0).getType(),
                            op.getResult(0).getType()};
    if (!instruction.function)
      llvm::report_fatal_error("the reference interpreter does not know '" +
                               Twine(op.getName().getStringRef()) + "' (see ScalarOps.def)");
    unsigned *fields[] = {&instruction.a, &instruction.b, &instruction.c};
    for (auto [position, operand] : llvm::enumerate(op.getOperands()))
      *fields[position] = registerOf(operand);
    instructions.push_back(instruction);
  }
  result = registerOf(resultValue);
  numbers.clear();
}

const Lanes &ScalarTape::run(int64_t count) {
  for (const Instruction &instruction : instructions)
    instruction.function(instruction, registers.data(), count);
  return registers[result];
}

} // namespace dlc
