//===- ExpressionTable.cpp - Shape expressions as the package stores them --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/package/ExpressionTable.h"

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

std::vector<uint32_t> ExpressionTable::addAll(ArrayRef<AffineExpr> exprs) {
  std::vector<uint32_t> list;
  for (AffineExpr expr : exprs)
    list.push_back(add(expr));
  return list;
}

} // namespace dlc::codegen
