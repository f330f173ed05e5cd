//===- Conversions.cpp - The C++ expression of a conversion -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/Expressions.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::codegen::cpp;

namespace dlc::codegen {

std::optional<Expr> Expressions::convert(Operation *op) {
  Value source = op->getOperand(0);
  Type from = source.getType(), to = op->getResult(0).getType();
  std::string target = type(to);
  auto plain = [&]() -> Expr { return cast(target, operand(source)); };
  // The 16-bit formats are rounded to once, from a double that holds the integer.
  auto toFloat = [&](const Expr &value) -> Expr {
    if (to.isF32() || to.isF64())
      return cast(target, value);
    return {"dlc::from_d<" + target + ">(" + cast("double", value).text + ")"};
  };
  return llvm::TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case<arith::ExtFOp>([&](auto) -> std::optional<Expr> {
        if (from.isF32())
          return plain();
        return call(to.isF64() ? "dlc::to_d" : "dlc::to_f", source);
      })
      .Case<arith::TruncFOp>([&](auto) -> std::optional<Expr> {
        if (to.isF32())
          return plain();
        return call((from.isF64() ? "dlc::from_d<" : "dlc::from_f<") + target + ">", source);
      })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](auto) -> std::optional<Expr> {
        bool isUnsigned = isa<arith::FPToUIOp>(op);
        if (!to.isInteger(64) && !(to.isInteger(32) && isUnsigned)) {
          // Through the widest type that holds every value of the narrow one.
          Expr word = call("dlc::to_i32_rz", source);
          return to.isInteger(32) ? word : cast(target, word);
        }
        if (isUnsigned)
          return cast(target, call(to.isInteger(32) ? "dlc::to_u32_rz" : "dlc::to_u64_rz", source));
        return call("dlc::to_i64_rz", source);
      })
      .Case<arith::SIToFPOp>([&](auto) { return toFloat(operand(source)); })
      .Case<arith::UIToFPOp>([&](auto) -> std::optional<Expr> {
        Expr value = operand(source);
        return toFloat(from.isInteger(1) ? value : cast(unsignedName(from, indexBits), value));
      })
      .Case<arith::ExtUIOp>([&](auto) -> std::optional<Expr> {
        if (from.isInteger(1))
          return plain();
        return cast(target, cast(unsignedName(from, indexBits), operand(source)));
      })
      .Case<arith::ExtSIOp>([&](auto) -> std::optional<Expr> {
        // true is -1 when its sign is extended.
        return from.isInteger(1)
                   ? cast(target, Expr{"-" + cast("i32", operand(source)).text, Prec::unary})
                   : plain();
      })
      .Case<arith::TruncIOp>([&](auto) -> std::optional<Expr> {
        if (!to.isInteger(1))
          return plain();
        return Expr{"(" + paren(operand(source), Prec::unary) + " & 1) != 0", Prec::equality};
      })
      .Case<arith::IndexCastOp>([&](auto) -> std::optional<Expr> {
        unsigned fromBits = from.isIndex() ? indexBits : from.getIntOrFloatBitWidth();
        unsigned toBits = to.isIndex() ? indexBits : to.getIntOrFloatBitWidth();
        return fromBits == toBits ? operand(source) : plain();
      })
      .Case<arith::BitcastOp>([&](auto) -> std::optional<Expr> {
        if (isa<FloatType>(from) && isa<IntegerType>(to))
          return call("dlc::bits_of", source);
        if (isa<IntegerType>(from) && isa<FloatType>(to))
          return call("dlc::from_bits<" + target + ">", source);
        return std::nullopt;
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace dlc::codegen
