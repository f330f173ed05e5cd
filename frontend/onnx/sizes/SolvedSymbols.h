//===- SolvedSymbols.h - Sizes for which dims of an ONNX model agree ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops need dims to be equal that differ in form: the sums of a feature pyramid need ceil(H / 16) to
// be 2 * ceil(H / 32). Where a step, a range or another dim in the place of a symbol makes them
// equal, the model is imported again with it: dims then agree in form, and kernels are as fast as
// for any proved model.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_SIZES_SOLVEDSYMBOLS_H
#define DLC_FRONTEND_ONNX_SIZES_SOLVEDSYMBOLS_H

#include "frontend/onnx/read/Model.h"
#include "ir/dl/base/DLTypes.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::onnx {

/// The sizes of a symbol of the inputs, as earlier attempts found them.
struct SolvedSymbol {
  /// Its sizes are step * symbol + offset.
  int64_t step = 1, offset = 0;
  /// Bounds of its sizes; nothing where no op gives one.
  std::optional<int64_t> min, max;
  /// A dim that it equals, over symbols of the names `names`; null if it stays a symbol.
  mlir::AffineExpr same;
  std::vector<std::string> names;
  std::string why;  // "node 'add' (Add) needs H and 2*W to be equal"
  std::string note; // "multiples of 32": for the note of the import
};

/// By the symbols' names.
using SolvedSymbols = std::map<std::string, SolvedSymbol, std::less<>>;

/// The largest length of a signal: 17 minutes at 16 kHz.
inline constexpr int64_t kLongestSignal = int64_t(1) << 24;
/// The lengths of inputs of real numbers that are signals, one for each index of a batch at most:
/// they may be longer than other dims.
SolvedSymbols lengthsOfSignals(const Model &model, mlir::MLIRContext *context);
/// The name of a symbol for what a file calls a dim; `fallback` for a dim without a name.
std::string symbolName(llvm::StringRef name, const std::string &fallback,
                       mlir::MLIRContext *context);

/// A step for one or two symbols, or a range or a dim for one symbol.
struct Solution {
  llvm::SmallVector<unsigned, 2> symbols;
  int64_t step = 1, offset = 0;
  std::optional<dl::Range> range; // of the symbol
  mlir::AffineExpr same;
};

/// Returns the least restrictive solution that makes `a` and `b` equal in form or, where one is a
/// number, equal by its range; nothing if no such solution is known. Only symbols that `mayChange`
/// allows are changed.
std::optional<Solution> solveEqual(mlir::AffineExpr a, mlir::AffineExpr b,
                                   llvm::ArrayRef<dl::Range> symbols,
                                   llvm::function_ref<bool(unsigned symbol)> mayChange);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_SIZES_SOLVEDSYMBOLS_H
