//===- FunctionCalls.h - Calls of functions -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_FUNCTIONCALLS_H
#define DLC_FRONTEND_DL_LOWER_FUNCTIONCALLS_H

#include "frontend/dl/library/Library.h"
#include "frontend/dl/lower/OpEmitter.h"

namespace dlc::frontend {

/// Builds the ops of calls by name. All of them give poison after an error, which has been
/// reported.
class FunctionCalls {
public:
  using Named = std::pair<llvm::StringRef, Item>;

  /// Evaluates a function of the library for the arguments of a call.
  using LibraryCall = std::function<Item(const LibraryFunction &function,
                                         const BoundArguments &arguments, llvm::SMLoc loc)>;

  /// Without `library` only ops can be called.
  FunctionCalls(OpEmitter &emitter, Diagnostics &diagnostics, LibraryCall library = {})
      : emitter(emitter), diagnostics(diagnostics), library(std::move(library)) {}

  /// Calls the function, or the method of its first argument, by the first of its signatures that
  /// the arguments fit.
  Item call(llvm::StringRef callee, llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments,
            bool isMethod = false);
  /// The same from C++: positional arguments, then named ones. Poison among them gives poison,
  /// without an error.
  Item call(llvm::StringRef callee, llvm::SMLoc loc, llvm::ArrayRef<Item> positional,
            llvm::ArrayRef<Named> named);

  OpEmitter &emitter;
  Diagnostics &diagnostics;

private:
  LibraryCall library;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_FUNCTIONCALLS_H
