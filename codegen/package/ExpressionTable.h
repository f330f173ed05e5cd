//===- ExpressionTable.h - Shape expressions as the package stores them -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_EXPRESSIONTABLE_H
#define DLC_CODEGEN_PACKAGE_EXPRESSIONTABLE_H

#include "ir/dl/DLDialect.h"
#include "runtime/schema/module_generated.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace dlc::codegen {

/// The nodes of all shape expressions of a module, each distinct one once, operands before their
/// users.
class ExpressionTable {
public:
  /// Index of `expr`, an expression over the module's symbols.
  uint32_t add(mlir::AffineExpr expr);
  /// Index of the value of a derived symbol, an integer.
  uint32_t add(dl::DerivedAttr size);
  std::vector<uint32_t> addAll(llvm::ArrayRef<mlir::AffineExpr> exprs);
  const std::vector<schema::ExprNode> &getNodes() const { return nodes; }

private:
  uint32_t addOperand(mlir::Attribute operand);

  llvm::DenseMap<mlir::AffineExpr, uint32_t> indices;
  llvm::DenseMap<mlir::Attribute, uint32_t> operands; // of derived symbols, but for dims
  std::vector<schema::ExprNode> nodes;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_EXPRESSIONTABLE_H
