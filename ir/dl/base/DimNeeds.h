//===- DimNeeds.h - The sizes that ops need, and the ranges that give them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An op may need more of a symbolic dim than its range promises: topk of 5 elements needs 5 of
// them. A range that is narrow enough settles it when the model is compiled; what is left is
// checked when shapes are bound.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_BASE_DIMNEEDS_H
#define DLC_IR_DL_BASE_DIMNEEDS_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace dlc::dl {
class NarrowOp;
class PartOp;
class SelectOp;
class SliceOp;

/// `size` is `least` or more or, of two dims that must be equal, exactly `least`. It is dim
/// `position` of `tensor`, an operand or a result of the op that needs it.
struct DimNeed {
  Dim size;
  int64_t least;
  mlir::Value tensor;
  unsigned position;
  Dim end = {}; ///< of a part whose end is checked when shapes are bound: that end; else null
  /// The two sides of sizes that must be equal, whose difference is `size`; else null.
  Dim left = {}, right = {};
};

/// Whether the end `end` of a part of a dim of `size` is checked when shapes are bound, and not by
/// a range. So are sums of symbols in a table of a fixed size, such as the past and the new tokens
/// of a text, of which each may be large while the other is small, and ends or sizes with derived
/// or read symbols. Those with a counted symbol are not. `first`, where it is given, is the part's
/// first index.
bool isCheckedWhenBound(Dim size, Dim end, mlir::ModuleOp module, Dim first = {});

/// Returns the first index that an op takes along its dim, and the one after the last. Both are
/// null where it takes none.
std::pair<Dim, Dim> takenBy(SliceOp slice);
std::pair<Dim, Dim> takenBy(SelectOp select);
std::pair<Dim, Dim> takenBy(NarrowOp narrow);
std::pair<Dim, Dim> takenBy(PartOp part);

/// The needs of `op` along symbolic dims: that it gives no negative dims, and what its own meaning
/// asks for. What its verifier checks over the whole range is not among them.
llvm::SmallVector<DimNeed> needsOf(mlir::Operation *op);
/// "topk needs 5 or more along dim 1 of f32[N,T]", for messages.
std::string describe(mlir::Operation *op, const DimNeed &need);

/// A smaller range of one symbol.
struct Narrowing {
  unsigned symbol;
  Range range;
};
/// The widest range of one symbol with which `size` is `least` or more, whatever the other symbols
/// are: its smallest value raised or else its largest one lowered, of the first of the symbols that
/// `mayNarrow` allows and that suffices. Nothing where no symbol does.
std::optional<Narrowing> narrowingFor(
    Dim size, int64_t least, llvm::ArrayRef<Range> symbols,
    llvm::function_ref<bool(unsigned symbol)> mayNarrow = [](unsigned) { return true; });

/// A need that the ranges of the symbols leave open, and that is an error for this reason.
struct RangeNeed {
  Dim size;
  int64_t least;
  std::string what; // "takes index 3 of dim 1 of f32[N,T]"
};
/// Ends `error` with the range that avoids it, as in "; raise the smallest value of T to 4: dim T =
/// 4..64", and lets neededBy find the need. No such range is that of a symbol that the data count.
void adviseRange(mlir::InFlightDiagnostic &error, const RangeNeed &need, mlir::ModuleOp module);
/// The need that `diagnostic` would not be there without; nothing of other diagnostics.
std::optional<RangeNeed> neededBy(mlir::Diagnostic &diagnostic);

/// Writes the needs of all ops that the ranges of the symbols leave open into the module attribute
/// `dl.needs`, an array of dictionaries {dim, least, why}, with `exact` where the dim must be
/// `least` and no more: the runtime checks them when shapes are bound. Dims that the data count are
/// left out.
void recordNeeds(mlir::ModuleOp module);

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_DIMNEEDS_H
