//===- WeightRules.h - From the names of a file to the paths of a model -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_WEIGHTS_WEIGHTRULES_H
#define DLC_FRONTEND_WEIGHTS_WEIGHTRULES_H

#include "frontend/dl/syntax/WeightsClause.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace dlc::frontend {

/// `name` without the first of the clause's prefixes that it begins with, if any, and then with
/// each rename in turn.
std::string pathOf(llvm::StringRef name, const WeightsDecl &rules);

/// Every place where `from` stands in `name` as whole words replaced by `to`: "fc" is no part of
/// "fc1". An empty `from` stands for the begin of the name.
std::string renamed(llvm::StringRef name, llvm::StringRef from, llvm::StringRef to);

/// Whether `glob`, in which * stands for any letters and ? for any one, fits the whole of `name` or
/// its end behind a dot.
bool fits(llvm::StringRef glob, llvm::StringRef name);

/// What a file says of its names' common rule, for messages: "add 'prefix \"bert.\"'". `missing`
/// are paths that no name leads to, `spare` names (as far as rules have changed them) that no path
/// needs, `pairs` a missing path and the nearest spare name. Empty where nothing is plain.
std::string guessRule(llvm::ArrayRef<llvm::StringRef> missing,
                      llvm::ArrayRef<llvm::StringRef> spare,
                      llvm::ArrayRef<std::pair<llvm::StringRef, llvm::StringRef>> pairs);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_WEIGHTS_WEIGHTRULES_H
