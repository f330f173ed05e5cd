//===- DLTypes.h - Symbolic dims and physical layouts of tensors --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The only code that builds or reads the encoding of a tensor. A tensor whose dims are all static
// and whose layout is row-major carries no encoding; every other one carries a #dl.t.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_DL_BASE_DLTYPES_H
#define DLC_IR_DL_BASE_DLTYPES_H

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/AffineMap.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallBitVector.h"

#include <optional>

namespace dlc::dl {

/// A dim of a tensor: a constant or an expression over the module's symbols, in normal form (see
/// normalize).
using Dim = mlir::AffineExpr;
using Dims = llvm::SmallVector<mlir::AffineExpr, 4>;

/// How the elements of a tensor lie in memory. See #dl.t.
struct Layout {
  llvm::SmallVector<int64_t, 4> order; // logical dims, outermost first; empty means row-major
  int64_t tileDim = -1;
  int64_t tile = 1;

  bool isRowMajor() const;
  bool isTiled() const { return tileDim >= 0; }
  bool operator==(const Layout &other) const = default;
  /// The logical dim that is innermost in memory, or -1 for rank 0. With a tile, the tiled dim.
  int64_t innermost(int64_t rank) const;
  /// Channels last: [0, 2, 3, ..., 1].
  static Layout channelsLast(int64_t rank);
};

/// Upper bound on the number of symbols of a module that is compiled as a whole.
inline constexpr unsigned kMaxSymbols = 64;
/// The same of a module that is yet to be cut into segments, or whose counted symbols are yet to be
/// settled. A symbol's name `sK` parses without a table.
inline constexpr unsigned kMaxDeclared = 256;

/// The dims of `type`: constants for static dims.
Dims getDims(mlir::RankedTensorType type);
Layout getLayout(mlir::RankedTensorType type);
/// The one constructor of tensor types: normalizes dims and drops an encoding that says nothing.
mlir::RankedTensorType makeTensor(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType,
                                  const Layout &layout = {});
mlir::RankedTensorType withLayout(mlir::RankedTensorType type, const Layout &layout);
mlir::RankedTensorType withElementType(mlir::RankedTensorType type, mlir::Type elementType);
/// Equal dims and element types, whatever the layouts.
bool sameShapeAndElement(mlir::Type lhs, mlir::Type rhs);

/// Normal form: two dims are equal exactly when their normal forms are the same expression.
Dim normalize(mlir::AffineExpr dim);
/// numerator / divisor rounded up, for a positive divisor, as a quotient rounded down: so that a
/// user's (N + 1) / 2 is what ceil(N / 2) is.
Dim quotientUp(mlir::AffineExpr numerator, int64_t divisor);
Dim constantDim(int64_t value, mlir::MLIRContext *context);
std::optional<int64_t> asConstant(mlir::AffineExpr dim);
/// A dim that is `step` * symbol + `offset`, both 0 or more; the symbol is null for another dim.
struct SteppedSymbol {
  mlir::AffineSymbolExpr symbol;
  int64_t step = 1, offset = 0;
};
SteppedSymbol asStepped(mlir::AffineExpr dim);
bool isConstant(mlir::AffineExpr dim, int64_t value);
/// The dims to which two tensors broadcast: aligned at their end, equal or 1; nullopt where they
/// differ otherwise.
std::optional<Dims> commonDims(Dims a, Dims b);
/// Product of `dims`; 1 for rank 0.
Dim product(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);
/// ()[symbols] -> (dims), with no more symbols than the dims use: how lists of dims stand in
/// attributes.
mlir::AffineMap dimsMap(llvm::ArrayRef<mlir::AffineExpr> dims, mlir::MLIRContext *context);
/// The same of numbers.
mlir::AffineMap constantMap(llvm::ArrayRef<int64_t> numbers, mlir::MLIRContext *context);
/// Number of elements stored, the zero tail of a tile included.
Dim storedElements(mlir::RankedTensorType type);

/// The address map of a layout: offset in elements of the element at logical `indices`.
mlir::AffineExpr physicalOffset(mlir::RankedTensorType type,
                                llvm::ArrayRef<mlir::AffineExpr> indices);

/// The names of the dtypes in the language: "f32", "u8", "bool", "f8e4m3fn" (DTypes.def).
llvm::ArrayRef<llvm::StringRef> dtypeNames();
/// The dtype of a name; null where there is none.
mlir::Type dtypeNamed(llvm::StringRef name, mlir::MLIRContext *context);
/// The name of a tensor's element type; empty where it is none of them.
llvm::StringRef dtypeName(mlir::Type elementType);

/// Smallest and largest value of `dim` over the ranges of the module's symbols; nullopt where
/// unbounded. The bounds are exact for dims of one occurrence of each symbol, and close ones for
/// sums in which quotients of a symbol meet the symbol itself, such as N - N/2.
struct Range {
  int64_t min, max;
  /// Of a symbol: the size that schedules choose for (#dl.symbol); 0: none is told.
  int64_t usual = 0;
};
std::optional<Range> rangeOf(mlir::AffineExpr dim, llvm::ArrayRef<Range> symbols);
/// The value of `dim` at the usual sizes; nullopt where one of its symbols has none.
std::optional<int64_t> usualOf(mlir::AffineExpr dim, llvm::ArrayRef<Range> symbols);
/// The ranges of `dl.symbols`, empty where the module has none.
llvm::SmallVector<Range> symbolRanges(mlir::ModuleOp module);
/// Of each symbol of `dl.symbols`, whether it is counted: the data say what it is (#dl.symbol).
llvm::SmallBitVector countedSymbols(mlir::ModuleOp module);
/// Returns the set of symbols of `dl.symbols` that other symbols define (#dl.derived), or that the
/// model reads as it runs.
llvm::SmallBitVector computedSymbols(mlir::ModuleOp module);
/// Whether `dim` depends on one of `symbols`.
bool mentions(mlir::AffineExpr dim, const llvm::SmallBitVector &symbols);
bool mentions(llvm::ArrayRef<mlir::AffineExpr> dims, const llvm::SmallBitVector &symbols);

/// Where a message finds the names of symbols: in the attribute `dl.symbols` of the nearest module
/// around an op or a value that has one. The names are looked up when a text is made, so that they
/// are those of that moment; what has none is s0, s1, ... Holds a pointer into the module, which
/// must outlive it.
class SymbolNames {
public:
  SymbolNames() = default;
  SymbolNames(mlir::Operation *near) : near(near) {}
  SymbolNames(mlir::OpState near) : near(near.getOperation()) {}
  /// The op that defines `near`, or the op around the block whose argument it is.
  SymbolNames(mlir::Value near);
  /// The same of the first of the values.
  SymbolNames(mlir::ValueRange near) : SymbolNames(near.empty() ? mlir::Value() : near.front()) {}

  /// The name of a symbol, which belongs to `step` times the symbol plus `offset`.
  struct Name {
    std::string name;
    int64_t step = 1, offset = 0;
  };
  Name of(unsigned symbol) const;

private:
  mlir::Operation *near = nullptr; // null: no names
};

/// "N*4", "f32[N,3,224,224]": dims and types in the words of the language, for messages.
std::string text(mlir::AffineExpr dim, SymbolNames names);
std::string text(mlir::Type tensor, SymbolNames names);
/// The type of a tensor, by the names of its own module.
std::string text(mlir::Value tensor);
/// A number in the fewest digits that tell it from all others: 0.5, 1e-05.
std::string text(const llvm::APFloat &number);

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_DLTYPES_H
