//===- Spelling.h - What a misspelled name probably meant ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_SPELLING_H
#define DLC_FRONTEND_SPELLING_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace dlc::frontend {

/// `text` between quotes, cut to a readable length, with control characters and bytes that are no
/// UTF-8 escaped.
std::string quote(llvm::StringRef text);

/// The candidate nearest to `name` by edit distance, case apart; the first of several. Nothing
/// where none is near: at most a third of the letters may differ.
std::optional<llvm::StringRef> nearest(llvm::StringRef name,
                                       llvm::ArrayRef<llvm::StringRef> candidates);

/// "; did you mean 'conv1'?", or nothing.
std::string didYouMean(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_SPELLING_H
