//===- GivenShapes.h - Ranges of symbolic dims by shapes of a model's inputs --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_GIVENSHAPES_H
#define DLC_IR_ANALYSIS_GIVENSHAPES_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/Location.h"

#include <string>

namespace dlc {

/// The texts of --shapes, --min-shapes, --max-shapes and --opt-shapes:
/// "x:8x3x224x224,mask:8x64", or nothing.
struct GivenShapes {
  std::string only = {};  // the only shapes that will come
  std::string least = {}; // the smallest and the largest ones
  std::string most = {};
  std::string usual = {}; // those to be fast for

  bool empty() const { return only.empty() && least.empty() && most.empty() && usual.empty(); }
};

/// The inputs and their dims that one option names, in order. An error says what is malformed.
using NamedShapes = std::vector<std::pair<std::string, llvm::SmallVector<int64_t>>>;
llvm::Expected<NamedShapes> parseShapes(llvm::StringRef text);

/// An input that shapes may name.
struct ShapedInput {
  std::string name;
  mlir::RankedTensorType type;
  mlir::Location loc; // of errors about it, if it is a place in a file
};

/// The sizes that a symbol may have.
struct SymbolSizes {
  std::string name;
  int64_t min, max;             // unless shapes say otherwise
  int64_t lowest, highest;      // what shapes may say
  int64_t usual = 0;            // 0: none
  bool isComputed = false;      // by the data or from other symbols: no shape says it
  int64_t step = 1, offset = 0; // the name's size is step * symbol + offset
  bool isMinGiven = false, isMaxGiven = false; // by a shape

  int64_t sizeAt(int64_t value) const { return step * value + offset; }
};

/// Narrows `symbols`, in the module's order, to what `given` says of `inputs`; a symbol of one
/// given value has it as its smallest and largest one. A dim such as 2*N + 1 gives N where that is
/// the only unknown. Fails, reported, where the shapes contradict `module` or each other; `model`
/// is where errors about no input are.
llvm::LogicalResult applyShapes(const GivenShapes &given, llvm::ArrayRef<ShapedInput> inputs,
                                llvm::MutableArrayRef<SymbolSizes> symbols, mlir::ModuleOp module,
                                mlir::Location model);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_GIVENSHAPES_H
