//===- Library.h - Functions that are written in the language -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The .dl files of this folder are part of the compiler. Each holds functions:
//
//   # Summary of the function
//   name(Tensor x, int dim=-1, str reduction='mean') {
//     y = ...
//   }
//
// The head is a signature in the grammar of the op table (ir/OpTable.h). The body is that of a
// `forward`, in which the parameters are values. It assigns the result to `y`, or each of several
// to the name that the signature gives it. `fail("...", value)` reports an error at the user's
// call. A name that begins with `_` is known to the library only. A function may have several ways
// of calling: each has a head, and its own body.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_LIBRARY_LIBRARY_H
#define DLC_FRONTEND_DL_LIBRARY_LIBRARY_H

#include "ir/OpTable.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace dlc::frontend {

/// Name of the state i64[2], a seed and a count of draws, that random functions draw from. The
/// runtime seeds the state of this name.
inline constexpr llvm::StringLiteral kGenerator = "generator";

/// One way of calling a function of the library.
struct LibraryFunction {
  Signature signature; // its `op` is empty
  llvm::StringRef summary;
  llvm::StringRef body; // the text between the braces
};

/// All functions, in the order of the files.
llvm::ArrayRef<LibraryFunction> libraryFunctions();
/// Returns the functions of one file of the library, whose text must outlive them.
std::vector<LibraryFunction> parseLibrary(llvm::StringRef text);
/// Returns the function that `signature`, one of functionSignatures, belongs to; null if it is an
/// op's.
const LibraryFunction *libraryFunctionOf(const Signature &signature);

/// Returns the ways of calling `name` in a model: those of ops, then those of the library. Empty if
/// it is not a function.
llvm::SmallVector<const Signature *> functionSignatures(llvm::StringRef name);
/// Returns what a function computes, in a line; empty if it is not a function.
llvm::StringRef summaryOf(llvm::StringRef name);
/// Calls `visit` for each way of calling each function that models may call.
void forEachFunction(
    llvm::function_ref<void(const Signature &signature, llvm::StringRef summary)> visit);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LIBRARY_LIBRARY_H
