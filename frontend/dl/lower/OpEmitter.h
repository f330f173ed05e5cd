//===- OpEmitter.h - Builds dl ops from calls ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows no op by name, but those that make explicit what the language leaves implicit (cast, broadcast, full): an op says
// through its signature what it takes, and through type inference what it gives.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_OPEMITTER_H
#define DLC_FRONTEND_DL_OPEMITTER_H

#include "frontend/dl/evaluate/Sema.h"
#include "frontend/dl/lower/Arguments.h"
#include "frontend/dl/lower/OpDiagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

namespace dlc::frontend {

class OpEmitter {
public:
  /// Results whose sizes the data say add symbols to `symbols`, which are those of `module`.
  OpEmitter(mlir::OpBuilder &builder, std::vector<Symbol> &symbols, mlir::ModuleOp module)
      : builder(builder), symbols(symbols), module(module) {}

  /// Calls `signature`. Operands of elementwise ops and of lists of tensors get PyTorch's common dtype, and those of
  /// elementwise ops one shape. Gives the tensor, or the list of tensors where the signature returns several; Poison after an
  /// error, reported at `loc`.
  Item emit(mlir::Location loc, const Signature &signature, const BoundArguments &arguments);

  /// The elements of `x` under other dims.
  mlir::Value reshape(mlir::Location loc, mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);

  /// Ends `function`: its results are `results` and, behind the outputs and before states, the counts of counted symbols
  /// (#dl.symbol), named as the symbols.
  void finish(mlir::func::FuncOp function, mlir::Location loc,
              llvm::SmallVector<mlir::Value> results);

  /// `x` in another dtype.
  mlir::Value cast(mlir::Location loc, mlir::Value x, mlir::Type dtype);

  /// The common dtype of tensors and numbers.
  mlir::Type promote(llvm::ArrayRef<const Item *> items);

  /// A tensor of one repeated number or dim; null, reported, where it does not fit in the dtype.
  mlir::Value full(mlir::Location loc, const Item &number, mlir::RankedTensorType type);

  /// Where it is set: is asked to narrow the symbols' ranges for an op at `loc` that needs it;
  /// false where it cannot.
  std::function<bool(mlir::Location loc, const dl::RangeNeed &need)> narrow;

private:
  mlir::Value fullOfDim(mlir::Location loc, mlir::AffineExpr dim, mlir::RankedTensorType type);
  mlir::Operation *createOnce(mlir::OperationState &state);
  mlir::Operation *create(mlir::Location loc, llvm::StringRef op,
                          llvm::ArrayRef<mlir::Value> operands,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes,
                          llvm::ArrayRef<llvm::StringRef> operandNames = {});
  /// Whether the op can be made of these operands.
  bool accepts(mlir::Location loc, llvm::StringRef op, llvm::ArrayRef<mlir::Value> operands,
               llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// What a call gives: a tensor, or several; Poison where there is no op. A batch of one is taken off.
  Item resultOf(mlir::Location loc, const Signature &signature, mlir::Operation *op,
                bool isBatchOfOne);
  bool unify(mlir::Location loc, llvm::StringRef callee, llvm::ArrayRef<const Item *> items,
             bool broadcast, const llvm::SmallBitVector &conditions,
             llvm::SmallVectorImpl<mlir::Value> &operands);

  mlir::OpBuilder &builder;
  /// A tensor<i64> for each counted symbol, in order.
  struct Count {
    unsigned symbol;
    mlir::Value value;
  };
  mlir::Value trim(mlir::Location loc, const Signature &signature, mlir::Operation *op,
                   Signature::Counted counted);

  std::vector<Symbol> &symbols;
  mlir::ModuleOp module;
  llvm::SmallVector<Count> counts;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_OPEMITTER_H
