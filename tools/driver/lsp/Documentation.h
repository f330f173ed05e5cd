//===- Documentation.h - What an editor shows of functions and layers ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_LSP_DOCUMENTATION_H
#define DLC_TOOLS_DRIVER_LSP_DOCUMENTATION_H

#include "frontend/dl/syntax/SourceIndex.h"
#include "ir/OpTable.h"

namespace dlc {

/// Markdown: `code` as a block of the language.
std::string fenced(llvm::StringRef code);
/// Markdown about the function or kind of layer `name`: how it is called, and what it computes;
/// empty where there is none.
std::string documentCallable(llvm::StringRef name);
/// Markdown about a layer that the text mentions: its kind, weights, parameters, and what it gives.
std::string documentLayer(const Mention &mention, const SourceIndex &index);

/// The ways of calling a function or a kind of layer: "Conv2d(int in_channels, ...)".
std::vector<std::string> callsOf(llvm::StringRef name);
/// The parameters of a function, a kind of layer, or a layer's own call; each name once.
std::vector<Param> paramsOf(llvm::StringRef name);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_LSP_DOCUMENTATION_H
