//===- Regions.h - Branches and steps that the running model takes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_CONTROL_REGIONS_H
#define DLC_FRONTEND_DL_LOWER_CONTROL_REGIONS_H

#include "frontend/dl/lower/OpEmitter.h"
#include "ir/dl/DLOps.h"

namespace dlc::frontend {

/// The values that a tuple of references refers to.
template <typename... Parts> std::tuple<Parts...> copied(const std::tuple<Parts &...> &parts) {
  return parts;
}

/// While it lives, ops go into another block: what was made for sizes before serves in it, and what
/// is made for sizes in it is forgotten.
class RegionScope {
public:
  RegionScope(OpEmitter &emitter, mlir::OpBuilder &builder, mlir::Block *block)
      : emitter(emitter), guard(builder), made(copied(emitter.madeForSizes())),
        readsCounts(emitter.readsCounts) {
    emitter.readsCounts = true;
    builder.setInsertionPointToEnd(block);
  }
  ~RegionScope() {
    emitter.madeForSizes() = made;
    emitter.readsCounts = readsCounts;
  }

private:
  OpEmitter &emitter;
  mlir::OpBuilder::InsertionGuard guard;
  decltype(copied(std::declval<OpEmitter &>().madeForSizes())) made;
  bool readsCounts;
};

/// Builds dl.if and dl.while. The symbols are those of `module`.
class Regions {
public:
  static constexpr int64_t kMostRead = 65536; // sizes that the running model says, at most

  Regions(OpEmitter &emitter, mlir::OpBuilder &builder, std::vector<Symbol> &symbols,
          mlir::ModuleOp module)
      : emitter(emitter), builder(builder), symbols(symbols), module(module) {}

  /// A new symbol with the ranges of `dims`, for a dim that the running model knows; null after an
  /// error.
  mlir::AffineExpr readDim(mlir::Location loc, const std::string &name,
                           llvm::ArrayRef<mlir::AffineExpr> dims);
  /// The type of a value that is one of two, of one rank and dtype. Symbols from `firstSymbol` on
  /// are known inside a branch alone. Null after an error.
  mlir::RankedTensorType typeOfEither(mlir::Location loc, mlir::Value a, mlir::Value b,
                                      size_t firstSymbol);
  /// The results of `draft`, whose branches yield values of these types. Branches of few cheap ops
  /// are both computed, and the condition selects.
  llvm::SmallVector<mlir::Value> finishIf(dl::IfOp draft, llvm::ArrayRef<mlir::Type> types);

  /// Returns whether the loop goes on, the next carried tensors and what is gathered; nothing to
  /// give up.
  using BuildBody = llvm::function_ref<std::optional<llvm::SmallVector<mlir::Value>>(
      mlir::Value step, llvm::ArrayRef<mlir::BlockArgument> carried)>;
  /// Called before the loop where a carried value begins as `initial` and that of the next step has
  /// the type `next`, of another rank or dtype. Returns the value to begin with instead, of the
  /// rank and dtype of `next`; null after an error, which is reported.
  using BeginAgain =
      llvm::function_ref<mlir::Value(mlir::Value initial, mlir::RankedTensorType next)>;

  /// A dl.while whose body is built by `build`. A carried dim that changes from step to step
  /// becomes a symbol, and the body is built again. False, with nothing left of the loop, after an
  /// error or where `build` gave up.
  bool buildWhile(mlir::Location loc, mlir::Value trips, mlir::Value condition,
                  llvm::ArrayRef<mlir::Value> initial, BuildBody build, BeginAgain beginAgain,
                  llvm::SmallVectorImpl<mlir::Value> &results);

private:
  struct Body;
  bool isInside(mlir::AffineExpr dim, size_t firstSymbol) const;
  mlir::AffineExpr vary(mlir::Location loc, mlir::AffineExpr dim);
  /// Makes a dim of a carried tensor a symbol. False after an error.
  bool varyAt(mlir::Location loc, Body &body, dl::Dims &dims, size_t position);
  /// Compares the carried tensors with the next ones: dims that differ are made symbols. Sets
  /// whether all are equal. False after an error.
  bool compareNext(mlir::Location loc, Body &body, bool &isStable);
  bool keepsLeast(const Body &body, llvm::ArrayRef<mlir::Value> next);
  bool resultTypes(mlir::Location loc, const Body &body, mlir::Value trips, bool hasCondition,
                   llvm::SmallVectorImpl<mlir::Type> &outside);
  mlir::AffineExpr countOfTrips(mlir::Value trips) const;

  OpEmitter &emitter;
  mlir::OpBuilder &builder;
  std::vector<Symbol> &symbols;
  mlir::ModuleOp module;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_CONTROL_REGIONS_H
