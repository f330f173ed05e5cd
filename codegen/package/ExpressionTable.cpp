//===- ExpressionTable.cpp - Shape expressions as the package stores them -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/ExpressionTable.h"

#include "ir/dl/base/DerivedSize.h"

#include "llvm/ADT/bit.h"

using namespace mlir;

namespace dlc::codegen {

static schema::ExprOp opOf(AffineExprKind kind) {
  switch (kind) {
  case AffineExprKind::Add:
    return schema::ExprOp::add;
  case AffineExprKind::Mul:
    return schema::ExprOp::mul;
  case AffineExprKind::Mod:
    return schema::ExprOp::mod;
  case AffineExprKind::FloorDiv:
    return schema::ExprOp::floordiv;
  case AffineExprKind::CeilDiv:
    return schema::ExprOp::ceildiv;
  case AffineExprKind::Constant:
    return schema::ExprOp::constant;
  case AffineExprKind::SymbolId:
    return schema::ExprOp::symbol;
  case AffineExprKind::DimId:
    break;
  }
  llvm_unreachable("a shape names no loop variable");
}

uint32_t ExpressionTable::add(AffineExpr expr) {
  if (auto found = indices.find(expr); found != indices.end())
    return found->second;
  uint32_t lhs = 0, rhs = 0;
  int64_t value = 0;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    value = constant.getValue();
  } else if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
    value = symbol.getPosition();
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    lhs = add(binary.getLHS());
    rhs = add(binary.getRHS());
  }
  uint32_t index = nodes.size();
  nodes.emplace_back(opOf(expr.getKind()), lhs, rhs, value);
  indices[expr] = index;
  return index;
}

/// `isReal`: the operands, of a choice its results, are real numbers.
static schema::ExprOp opOf(dl::SizeFunction function, bool isReal) {
  switch (function) {
  case dl::SizeFunction::min:
    return isReal ? schema::ExprOp::real_min : schema::ExprOp::min;
  case dl::SizeFunction::max:
    return isReal ? schema::ExprOp::real_max : schema::ExprOp::max;
  case dl::SizeFunction::equal:
    return isReal ? schema::ExprOp::real_equal : schema::ExprOp::equal;
  case dl::SizeFunction::less:
    return isReal ? schema::ExprOp::real_less : schema::ExprOp::less;
#define SAME(name)                                                                                 \
  case dl::SizeFunction::name:                                                                     \
    return schema::ExprOp::name;
    SAME(select)
    SAME(quotient)
    SAME(remainder)
    SAME(real)
    SAME(integer)
    SAME(single)
    SAME(sum)
    SAME(difference)
    SAME(product)
    SAME(ratio)
    SAME(floor)
    SAME(ceil)
    SAME(nearest)
    SAME(root)
#undef SAME
  }
  llvm_unreachable("a size function that no package holds");
}

uint32_t ExpressionTable::addOperand(Attribute operand) {
  if (auto dim = dyn_cast<AffineMapAttr>(operand))
    return add(dim.getValue().getResult(0));
  if (auto found = operands.find(operand); found != operands.end())
    return found->second;
  uint32_t index;
  if (auto number = dyn_cast<FloatAttr>(operand)) {
    index = nodes.size();
    nodes.emplace_back(schema::ExprOp::real_constant, 0, 0,
                       llvm::bit_cast<int64_t>(number.getValueAsDouble()));
  } else {
    index = add(cast<dl::DerivedAttr>(operand));
  }
  return operands[operand] = index;
}

uint32_t ExpressionTable::add(dl::DerivedAttr size) {
  SmallVector<uint32_t> rows;
  for (Attribute operand : size.getOperands())
    rows.push_back(addOperand(operand));
  bool isChoice = size.getFunction() == dl::SizeFunction::select;
  schema::ExprOp op = opOf(size.getFunction(), dl::isReal(size.getOperands().back()));
  uint32_t index = nodes.size();
  if (isChoice)
    nodes.emplace_back(op, rows[1], rows[2], rows[0]);
  else
    nodes.emplace_back(op, rows[0], rows.back(), 0);
  return index;
}

std::vector<uint32_t> ExpressionTable::addAll(ArrayRef<AffineExpr> exprs) {
  std::vector<uint32_t> list;
  for (AffineExpr expr : exprs)
    list.push_back(add(expr));
  return list;
}

} // namespace dlc::codegen
