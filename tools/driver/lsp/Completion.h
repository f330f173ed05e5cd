//===- Completion.h - What could stand at a place of a model's text -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_LSP_COMPLETION_H
#define DLC_TOOLS_DRIVER_LSP_COMPLETION_H

#include "frontend/dl/syntax/SourceIndex.h"

#include "llvm/Support/LSP/Protocol.h"

namespace dlc {

/// What may be written at byte `offset` of `text`, judged by the text before it: kinds of layers
/// behind `name:`, dtypes in a signature, arguments within a call, values, layers and functions in
/// an expression, and the words that begin a declaration. `index` knows the names of the model.
llvm::lsp::CompletionList complete(llvm::StringRef text, size_t offset, const SourceIndex &index);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_LSP_COMPLETION_H
