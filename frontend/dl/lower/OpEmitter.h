//===- OpEmitter.h - Builds dl ops from calls ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Knows no op by name, but those that make explicit what the language leaves implicit (cast,
// broadcast, full): an op says through its signature what it takes, and through type inference what
// it gives.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_LOWER_OPEMITTER_H
#define DLC_FRONTEND_DL_LOWER_OPEMITTER_H

#include "frontend/dl/evaluate/Sema.h"
#include "frontend/dl/lower/Arguments.h"
#include "frontend/dl/lower/OpDiagnostics.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/SmallBitVector.h"

#include <tuple>

namespace dlc::frontend {

class OpEmitter {
public:
  /// Results whose sizes the data say add symbols to `symbols`, which are those of `module`.
  OpEmitter(mlir::OpBuilder &builder, std::vector<Symbol> &symbols, mlir::ModuleOp module)
      : builder(builder), symbols(symbols), module(module) {}

  /// Calls `signature`. Operands of elementwise ops and of lists of tensors get PyTorch's common
  /// dtype, and those of elementwise ops one shape. Gives the tensor, or the list of tensors where
  /// the signature returns several; Poison after an error, reported at `loc`.
  Item emit(mlir::Location loc, const Signature &signature, const BoundArguments &arguments);

  /// The elements of `x` under other dims.
  mlir::Value reshape(mlir::Location loc, mlir::Value x, llvm::ArrayRef<mlir::AffineExpr> dims);

  /// `x` as a value that is declared to be `type`: x itself where it is, and where they differ in
  /// dims that the model computes (#dl.derived, or read) and that may be equal, x under the
  /// declared dims, which are compared as it runs. Null for any other difference.
  mlir::Value asDeclared(mlir::Location loc, mlir::Value x, mlir::RankedTensorType type);

  /// Ends `function`: its results are `results` and, behind the outputs and before states, the
  /// counts of counted symbols (#dl.symbol), named as the symbols.
  void finish(mlir::func::FuncOp function, mlir::Location loc,
              llvm::SmallVector<mlir::Value> results);

  /// `x` in another dtype.
  mlir::Value cast(mlir::Location loc, mlir::Value x, mlir::Type dtype);

  /// The common dtype of tensors and numbers.
  mlir::Type promote(llvm::ArrayRef<const Item *> items);

  /// A tensor of one repeated number or dim; null, reported, where it does not fit in the dtype.
  mlir::Value full(mlir::Location loc, const Item &number, mlir::RankedTensorType type);

  /// Whether the data say a dim, or a part of it.
  bool isCounted(mlir::AffineExpr dim) const;
  /// A dim as a tensor<i64>: of counted symbols what the model counts.
  mlir::Value countOf(mlir::Location loc, mlir::AffineExpr dim);
  /// The smaller of two dims, as a counted symbol.
  mlir::AffineExpr smaller(mlir::Location loc, mlir::AffineExpr a, mlir::AffineExpr b);
  /// A dim where each counted symbol has its largest value.
  mlir::AffineExpr paddedDim(mlir::AffineExpr dim) const;
  /// `x` with a dim that the data say as large as it may be: its padding is of any value.
  mlir::Value padded(mlir::Location loc, mlir::Value x, int64_t dim);
  /// The first elements of a dim of x, as many as `count` says, an integer tensor of one element;
  /// by one count of one size. Null after an error.
  mlir::Value head(mlir::Location loc, mlir::Value x, mlir::Value count, int64_t dim);
  enum class Fill;

  /// A new symbol that no input says, of this range; null, reported, where there are too many.
  mlir::AffineExpr readSymbol(mlir::Location loc, const std::string &wanted, dl::Range range);
  /// The number that `x`, of one element, has while the model runs, as a symbol of this range
  /// (dl.read). Equal tensors share it. Null after an error.
  mlir::AffineExpr read(mlir::Location loc, mlir::Value x, const std::string &wanted,
                        dl::Range range);
  /// The dim that functions of dims give, as a new symbol where it is not a dim of known ones;
  /// equal definitions share it. A run in which it is outside of `limits` is refused. Null where it
  /// is computed from counted dims, the limits leave nothing of its range, or it is a symbol too
  /// many.
  mlir::AffineExpr derive(dl::DerivedAttr size, dl::Range limits = {-kMostSize, kMostSize});
  /// Sizes that the data say are read as the model runs, in place of counted symbols: in branches
  /// and loops, and in models that have such.
  bool readsCounts = false;
  /// Whether a tensor was refused that may have too many elements.
  bool sawTooLarge = false;
  /// How many sizes were counted, those that there was no room for included.
  size_t countedSizes() const { return counted; }

  /// The values that were made for sizes. A region begins with those around it, and after it they
  /// are as before.
  auto madeForSizes() {
    return std::tie(counters, sizes, realMasks, dimOfSize, headSizes, smallerDims, maskedValues,
                    joinedParts, reads);
  }

  /// Where it is set: is asked to narrow the symbols' ranges for an op at `loc` that needs it;
  /// false where it cannot.
  std::function<bool(mlir::Location loc, const dl::RangeNeed &need)> narrow;
  /// Makes symbols of `type` smaller that the model computes: larger ones are refused when they
  /// turn up. False where none is left.
  bool limitComputed(mlir::RankedTensorType type);
  /// Whether a tensor of `type` is small enough, which may limit symbols that the model computes.
  /// Reports an error at `loc` if not.
  bool fits(mlir::RankedTensorType type, mlir::Location loc);

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
  /// What a call gives: a tensor, or several; Poison where there is no op. A batch of one is taken
  /// off.
  Item resultOf(mlir::Location loc, const Signature &signature, mlir::Operation *op,
                bool isBatchOfOne);
  bool unify(mlir::Location loc, llvm::StringRef callee, llvm::ArrayRef<const Item *> items,
             bool broadcast, const llvm::SmallBitVector &conditions,
             llvm::SmallVectorImpl<mlir::Value> &operands);

  /// An op over tensors whose sizes the data say, the padding of `operands` masked; nothing where
  /// the op does without it.
  std::optional<Item> emitCounted(mlir::Location loc, const Signature &signature,
                                  llvm::SmallVectorImpl<mlir::Value> &operands,
                                  llvm::SmallVectorImpl<mlir::NamedAttribute> &attributes,
                                  llvm::ArrayRef<llvm::StringRef> names);
  /// Which elements of the dim, as large as it may be, are real: bool[size].
  mlir::Value isReal(mlir::Location loc, mlir::AffineExpr dim);
  /// `x` with the whole of a dim, `fill` for what is not real.
  mlir::Value masked(mlir::Location loc, mlir::Value x, int64_t dim, Fill fill);
  /// The real elements of `parts` one after another along a dim.
  mlir::Value joined(mlir::Location loc, llvm::ArrayRef<mlir::Value> parts, int64_t dim);

  mlir::OpBuilder &builder;
  /// A tensor<i64> for each counted symbol, in order.
  struct Count {
    unsigned symbol;
    mlir::Value value;
  };
  mlir::Value trim(mlir::Location loc, const Signature &signature, mlir::Operation *op,
                   Signature::Counted counted);

  /// A new symbol that the model counts, of at most `most`; null, reported, where there are too
  /// many.
  mlir::AffineExpr countedSymbol(mlir::Location loc, const std::string &wanted,
                                 mlir::AffineExpr most, mlir::Value count);
  mlir::Operation *sharedCount(mlir::Operation *op);
  /// A dim of `x` said to be `size`, which it is while the model runs (dl.trim); where sizes are
  /// read, the first elements (dl.part).
  mlir::Value cut(mlir::Location loc, mlir::Value x, int64_t dim, mlir::AffineExpr size);

  /// `wanted`, or with a number after it where that is taken.
  llvm::StringRef nameOf(const std::string &wanted);

  size_t counted = 0;
  mlir::RankedTensorType tooLarge; // of the last op that createOnce refused for its size
  std::vector<Symbol> &symbols;
  mlir::ModuleOp module;
  llvm::SmallVector<Count> counts;
  llvm::SmallVector<mlir::Operation *> counters; // the ops whose results the data cut
  // Values that were made for dims that the data say. Equal dims share them.
  llvm::DenseMap<mlir::AffineExpr, mlir::Value> sizes, realMasks;
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> dimOfSize;
  llvm::DenseMap<std::pair<mlir::Value, mlir::AffineExpr>, mlir::AffineExpr> headSizes;
  llvm::DenseMap<std::pair<mlir::AffineExpr, mlir::AffineExpr>, mlir::AffineExpr> smallerDims;
  llvm::DenseMap<std::pair<mlir::Value, std::pair<unsigned, unsigned>>, mlir::Value> maskedValues;
  std::vector<std::pair<llvm::SmallVector<mlir::AffineExpr>, mlir::Value>> joinedParts;
  llvm::DenseMap<mlir::Value, mlir::AffineExpr> reads; // symbols of numbers that were read
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_OPEMITTER_H
