//===- Expressions.cpp - The C++ expression of one op -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where C++ and the IR differ:
//   data integers wrap in the IR, signed overflow is undefined in C++: add_wrap and its like. Index
//   values never overflow (the schedule proved their width), so they use plain operators; narrow
//   integers promote to int: casts and explicit template arguments restore the width; `x % 30u`
//   would make the whole expression around it unsigned: udiv and umod give signed values back; an
//   unordered comparison is true on NaN: the negation of the opposite ordered one.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/Expressions.h"

#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace dlc::codegen::cpp;

namespace dlc::codegen {

namespace {
struct Infix {
  const char *symbol;
  Prec prec;
};
} // namespace

static std::optional<Infix> floatInfix(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Infix>>(op)
      .Case<arith::AddFOp>([](auto) { return Infix{"+", Prec::additive}; })
      .Case<arith::SubFOp>([](auto) { return Infix{"-", Prec::additive}; })
      .Case<arith::MulFOp>([](auto) { return Infix{"*", Prec::multiplicative}; })
      .Case<arith::DivFOp>([](auto) { return Infix{"/", Prec::multiplicative}; })
      .Default([](auto) { return std::nullopt; });
}

/// A function of the vocabulary that takes the operands as they are.
static const char *plainFunction(Operation *op) {
  return llvm::TypeSwitch<Operation *, const char *>(op)
      .Case<arith::MaximumFOp>([](auto) { return "dlc::max"; })
      .Case<arith::MinimumFOp>([](auto) { return "dlc::min"; })
      .Case<math::FmaOp>([](auto) { return "dlc::fma"; })
      .Case<math::SqrtOp>([](auto) { return "dlc::sqrt"; })
      .Case<math::AbsFOp>([](auto) { return "dlc::abs"; })
      .Case<math::FloorOp>([](auto) { return "dlc::floor"; })
      .Case<math::CeilOp>([](auto) { return "dlc::ceil"; })
      .Case<math::TruncOp>([](auto) { return "dlc::trunc"; })
      .Case<math::RoundEvenOp>([](auto) { return "dlc::rint"; })
      .Case<math::CopySignOp>([](auto) { return "dlc::copysign"; })
      .Case<dls::ReciprocalOp>([](auto) { return "dlc::reciprocal"; })
      .Default([](auto) { return nullptr; });
}

std::string mathFunctionText(MathFunction function) {
  return "dlc_" + mathFunctionName(function).str();
}

bool Expressions::isExpression(Operation *op) {
  if (floatInfix(op) || plainFunction(op) || expandedMath(op))
    return true;
  return isa<arith::NegFOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp,
             arith::DivUIOp, arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, arith::AndIOp,
             arith::OrIOp, arith::XOrIOp, arith::ShLIOp, arith::ShRSIOp, arith::ShRUIOp,
             arith::MaxSIOp, arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::CmpIOp,
             arith::CmpFOp, arith::SelectOp, arith::ExtFOp, arith::TruncFOp, arith::FPToSIOp,
             arith::FPToUIOp, arith::SIToFPOp, arith::UIToFPOp, arith::ExtSIOp, arith::ExtUIOp,
             arith::TruncIOp, arith::IndexCastOp, arith::BitcastOp, math::AbsIOp, memref::LoadOp,
             vector::LoadOp, vector::ExtractOp, vector::FromElementsOp, vector::BroadcastOp,
             gpu::ThreadIdOp, gpu::BlockIdOp, gpu::BlockDimOp, gpu::GridDimOp, gpu::ShuffleOp>(op);
}

std::string Expressions::type(Type type) const {
  // The printer has refused types without a name before it comes here.
  return typeName(type, indexBits).value_or("?");
}

arith::ConstantOp Expressions::constantOf(Value value) const {
  auto width = [&](Type type) { return type.isIndex() ? indexBits : type.getIntOrFloatBitWidth(); };
  while (auto cast = value.getDefiningOp<arith::IndexCastOp>()) {
    if (isa<VectorType>(cast.getType()) || width(cast.getIn().getType()) != width(cast.getType()))
      break;
    value = cast.getIn();
  }
  return value.getDefiningOp<arith::ConstantOp>();
}

std::string Expressions::argument(Value value) {
  if (arith::ConstantOp op = constantOf(value))
    if (auto typed = literal(op.getValue(), op.getType(), indexBits, /*exactType=*/true))
      return typed->text;
  return operand(value).text;
}

Expr Expressions::call(StringRef function, ValueRange args) {
  std::string text = function.str() + "(";
  for (auto [position, value] : llvm::enumerate(args))
    text += (position ? ", " : "") + argument(value);
  return {text + ")"};
}

Expr Expressions::infix(Operation *op, StringRef symbol, Prec prec) {
  // Among bit operations and shifts nobody knows the precedence: anything but a name is in
  // parentheses.
  bool isBits = prec == Prec::bitwise || prec == Prec::shift;
  Expr lhs = operand(op->getOperand(0)), rhs = operand(op->getOperand(1));
  auto above = static_cast<Prec>(static_cast<int>(prec) + 1);
  return {paren(lhs, isBits ? Prec::unary : prec) + " " + symbol.str() + " " +
              paren(rhs, isBits ? Prec::unary : above),
          prec};
}

Expr Expressions::cast(const std::string &type, const Expr &value) {
  return {"(" + type + ")" + paren(value, Prec::unary), Prec::unary};
}

Expr Expressions::integerArithmetic(Operation *op, StringRef symbol, Prec prec,
                                    StringRef wrapping) {
  if (op->getResult(0).getType().isIndex())
    return infix(op, symbol, prec);
  return call((wrapping + "<" + elementOf(op) + ">").str(), op->getOperands());
}

Expr Expressions::compare(arith::CmpIOp op) {
  static const char *const symbols[] = {"==", "!=", "<", "<=", ">", ">=", "<", "<=", ">", ">="};
  arith::CmpIPredicate predicate = op.getPredicate();
  Type type = op.getLhs().getType();
  // The sign of a bool does not matter: it holds 0 or 1 in C++.
  bool isUnsigned = predicate >= arith::CmpIPredicate::ult && !type.isInteger(1);
  bool isEquality = predicate <= arith::CmpIPredicate::ne;
  auto side = [&](Value value) {
    Expr expr = operand(value);
    return isUnsigned ? cast(unsignedName(type, indexBits), expr).text : paren(expr, Prec::shift);
  };
  return {side(op.getLhs()) + " " + symbols[static_cast<int>(predicate)] + " " + side(op.getRhs()),
          isEquality ? Prec::equality : Prec::relational};
}

std::optional<Expr> Expressions::compare(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  P predicate = op.getPredicate();
  if (predicate == P::UNO && op.getLhs() == op.getRhs())
    return call("dlc::is_nan", op.getLhs());
  std::string a = paren(operand(op.getLhs()), Prec::shift),
              b = paren(operand(op.getRhs()), Prec::shift);
  auto ordered = [&](const char *symbol, Prec prec = Prec::relational) {
    return Expr{a + " " + symbol + " " + b, prec};
  };
  auto unordered = [&](const char *opposite) {
    return Expr{"!(" + a + " " + opposite + " " + b + ")", Prec::unary};
  };
  switch (predicate) {
  case P::OEQ:
    return ordered("==", Prec::equality);
  case P::UNE:
    return ordered("!=", Prec::equality);
  case P::OLT:
    return ordered("<");
  case P::OLE:
    return ordered("<=");
  case P::OGT:
    return ordered(">");
  case P::OGE:
    return ordered(">=");
  case P::ULT:
    return unordered(">=");
  case P::ULE:
    return unordered(">");
  case P::UGT:
    return unordered("<=");
  case P::UGE:
    return unordered("<");
  default: // the rest would name an operand twice; no schedule and no body makes them
    return std::nullopt;
  }
}

std::optional<Expr> Expressions::arithmetic(Operation *op) {
  Type result = op->getResult(0).getType();
  auto wrapped = [&](const char *symbol, Prec prec, const char *function) -> Expr {
    return integerArithmetic(op, symbol, prec, function);
  };
  auto unsignedOf = [&](const char *function) -> Expr {
    std::string u = unsignedName(result, indexBits);
    std::string a = cast(u, operand(op->getOperand(0))).text,
                b = cast(u, operand(op->getOperand(1))).text;
    return cast(type(result), {std::string(function) + "(" + a + ", " + b + ")"});
  };
  auto templated = [&](const char *function) -> Expr {
    return call(std::string(function) + "<" + elementOf(op) + ">", op->getOperands());
  };
  auto bits = [&](const char *symbol, const char *ofBools, Prec boolPrec) -> Expr {
    if (!result.isInteger(1))
      return infix(op, symbol, Prec::bitwise);
    // Mixing && and || without parentheses earns a warning.
    Expr lhs = operand(op->getOperand(0)), rhs = operand(op->getOperand(1));
    auto side = [&](const Expr &expr) {
      return expr.prec == boolPrec ? expr.text : paren(expr, Prec::equality);
    };
    return {side(lhs) + " " + ofBools + " " + side(rhs), boolPrec};
  };
  return llvm::TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case<arith::AddIOp>([&](auto) { return wrapped("+", Prec::additive, "dlc::add_wrap"); })
      .Case<arith::SubIOp>([&](auto) { return wrapped("-", Prec::additive, "dlc::sub_wrap"); })
      .Case<arith::MulIOp>(
          [&](auto) { return wrapped("*", Prec::multiplicative, "dlc::mul_wrap"); })
      .Case<arith::DivSIOp>(
          [&](auto) { return wrapped("/", Prec::multiplicative, "dlc::div_trunc"); })
      .Case<arith::RemSIOp>(
          [&](auto) { return wrapped("%", Prec::multiplicative, "dlc::rem_trunc"); })
      .Case<arith::FloorDivSIOp>([&](auto) {
        return result.isIndex()
                   ? call("dlc::div_floor<" + std::string(indexBits == 32 ? "i32" : "i64") + ">",
                          op->getOperands())
                   : templated("dlc::div_floor");
      })
      .Case<arith::DivUIOp>([&](auto) {
        if (result.isIndex())
          return call("dlc::udiv", op->getOperands());
        std::string u = unsignedName(result, indexBits);
        return cast(type(result), {cast(u, operand(op->getOperand(0))).text + " / " +
                                       cast(u, operand(op->getOperand(1))).text,
                                   Prec::multiplicative});
      })
      .Case<arith::RemUIOp>([&](auto) {
        if (result.isIndex())
          return call("dlc::umod", op->getOperands());
        std::string u = unsignedName(result, indexBits);
        return cast(type(result), {cast(u, operand(op->getOperand(0))).text + " % " +
                                       cast(u, operand(op->getOperand(1))).text,
                                   Prec::multiplicative});
      })
      .Case<arith::AndIOp>([&](auto) { return bits("&", "&&", Prec::logicalAnd); })
      .Case<arith::OrIOp>([&](auto) { return bits("|", "||", Prec::logicalOr); })
      .Case<arith::XOrIOp>([&](auto) {
        return result.isInteger(1) ? infix(op, "!=", Prec::equality)
                                   : infix(op, "^", Prec::bitwise);
      })
      .Case<arith::ShLIOp>([&](auto) { return templated("dlc::shl"); })
      .Case<arith::ShRSIOp>([&](auto) {
        return result.isIndex() ? infix(op, ">>", Prec::shift) : templated("dlc::shr_signed");
      })
      .Case<arith::ShRUIOp>([&](auto) { return templated("dlc::shr_unsigned"); })
      .Case<arith::MaxSIOp>([&](auto) { return call("dlc::max", op->getOperands()); })
      .Case<arith::MinSIOp>([&](auto) { return call("dlc::min", op->getOperands()); })
      .Case<arith::MaxUIOp>([&](auto) { return unsignedOf("dlc::max"); })
      .Case<arith::MinUIOp>([&](auto) { return unsignedOf("dlc::min"); })
      .Case<math::AbsIOp>([&](auto) { return templated("dlc::abs_wrap"); })
      .Case<arith::NegFOp>([&](auto) {
        return Expr{"-" + paren(operand(op->getOperand(0)), Prec::atom), Prec::unary};
      })
      .Case<arith::CmpIOp>([&](arith::CmpIOp cmp) { return compare(cmp); })
      .Case<arith::CmpFOp>([&](arith::CmpFOp cmp) { return compare(cmp); })
      .Case<arith::SelectOp>([&](arith::SelectOp select) {
        Expr condition = operand(select.getCondition());
        // The literal of one of two constants has the exact type: otherwise the choice would be an
        // int, and max(c ? 3 : -3, x) of an i64 x ambiguous.
        bool isConstant = constantOf(select.getTrueValue()) && constantOf(select.getFalseValue());
        std::string a = isConstant ? argument(select.getTrueValue())
                                   : paren(operand(select.getTrueValue()), Prec::logicalOr);
        // A chain of choices reads well without parentheses.
        Expr b = operand(select.getFalseValue());
        return Expr{paren(condition, Prec::logicalOr) + " ? " + a + " : " + b.text, Prec::ternary};
      })
      .Default([](auto) { return std::nullopt; });
}

Expr Expressions::element(Value memref, ValueRange indices) {
  std::string text = paren(operand(memref), Prec::atom);
  for (Value index : indices)
    text += "[" + operand(index).text + "]";
  return {text};
}

Expr Expressions::pointer(Value memref, ValueRange indices) {
  if (indices.size() != 1)
    return {"&" + element(memref, indices).text, Prec::unary};
  std::string base = paren(operand(memref), Prec::additive);
  Expr index = operand(indices.front());
  if (index.text == "0")
    return {base};
  return {base + " + " + paren(index, Prec::additive), Prec::additive};
}

/// threadIdx.x and its like: unsigned in CUDA, so they are always defined as a signed value first.
static std::string builtinName(StringRef base, gpu::Dimension dimension) {
  return (base + "." + gpu::stringifyDimension(dimension)).str();
}

static std::optional<std::string> shuffleFunction(gpu::ShuffleMode mode) {
  switch (mode) {
  case gpu::ShuffleMode::XOR:
    return "dlc::shfl_xor";
  case gpu::ShuffleMode::IDX:
    return "dlc::shfl";
  case gpu::ShuffleMode::DOWN:
    return "dlc::shfl_down";
  case gpu::ShuffleMode::UP:
    return "dlc::shfl_up";
  }
  return std::nullopt;
}

Expr Expressions::operand(Value value) {
  Expr expr = textOf(value);
  sawRead |= expr.reads;
  return expr;
}

std::optional<Expr> Expressions::build(Operation *op) {
  sawRead = false;
  std::optional<Expr> expr = dispatch(op);
  if (expr)
    expr->reads |= sawRead;
  return expr;
}

std::optional<Expr> Expressions::dispatch(Operation *op) {
  if (auto sign = floatInfix(op))
    return infix(op, sign->symbol, sign->prec);
  if (const char *function = plainFunction(op))
    return call(function, op->getOperands());
  // Their text stands at the head of the file (CudaText.cpp).
  if (auto function = expandedMath(op))
    return call(mathFunctionText(*function), op->getOperands());
  if (auto expr = arithmetic(op))
    return expr;
  if (auto expr = op->getNumOperands() == 1 ? convert(op) : std::nullopt)
    return expr;
  return llvm::TypeSwitch<Operation *, std::optional<Expr>>(op)
      .Case<memref::LoadOp>([&](memref::LoadOp load) {
        Expr expr = element(load.getMemRef(), load.getIndices());
        expr.reads = true;
        return expr;
      })
      .Case<vector::LoadOp>([&](vector::LoadOp load) {
        std::string lanes = std::to_string(load.getVectorType().getDimSize(0));
        return Expr{"dlc::load<" + lanes + ">(" + pointer(load.getBase(), load.getIndices()).text +
                        ")",
                    Prec::atom, true};
      })
      .Case<vector::ExtractOp>([&](vector::ExtractOp extract) -> std::optional<Expr> {
        if (extract.getNumIndices() != 1)
          return std::nullopt;
        std::string vector = paren(operand(extract.getSource()), Prec::atom);
        OpFoldResult position = extract.getMixedPosition().front();
        std::string lane =
            isa<Value>(position)
                ? operand(llvm::cast<Value>(position)).text
                : std::to_string(llvm::cast<IntegerAttr>(llvm::cast<Attribute>(position)).getInt());
        return Expr{vector + "[" + lane + "]"};
      })
      .Case<vector::FromElementsOp>([&](vector::FromElementsOp from) {
        std::string text = type(from.getType()) + "{{";
        for (auto [position, value] : llvm::enumerate(from.getElements()))
          text += (position ? ", " : "") + operand(value).text;
        return Expr{text + "}}"};
      })
      .Case<vector::BroadcastOp>([&](vector::BroadcastOp broadcast) {
        auto vector = llvm::cast<VectorType>(broadcast.getType());
        return call("dlc::splat<" + std::to_string(vector.getDimSize(0)) + ">",
                    broadcast.getSource());
      })
      .Case<gpu::ThreadIdOp>([&](auto id) {
        return cast(type(id.getType()), {builtinName("threadIdx", id.getDimension())});
      })
      .Case<gpu::BlockIdOp>([&](auto id) {
        return cast(type(id.getType()), {builtinName("blockIdx", id.getDimension())});
      })
      .Case<gpu::BlockDimOp>([&](auto id) {
        return cast(type(id.getType()), {builtinName("blockDim", id.getDimension())});
      })
      .Case<gpu::GridDimOp>([&](auto id) {
        return cast(type(id.getType()), {builtinName("gridDim", id.getDimension())});
      })
      .Case<gpu::ShuffleOp>([&](gpu::ShuffleOp shuffle) -> std::optional<Expr> {
        APInt width;
        if (!matchPattern(shuffle.getWidth(), m_ConstantInt(&width)) || width != 32)
          return std::nullopt; // a warp's 32 lanes and no fewer
        return call(*shuffleFunction(shuffle.getMode()), {shuffle.getValue(), shuffle.getOffset()});
      })
      .Default([](auto) { return std::nullopt; });
}

} // namespace dlc::codegen
