//===- SiblingFile.h - Files that a model names -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_SIBLINGFILE_H
#define DLC_FRONTEND_SIBLINGFILE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace dlc {

/// The path of the file `name` that the clause `clause` of the file `of` names. A text may name
/// only files in its own folder and below: an error where it names another, or a link to one;
/// `advice` says what to do then.
llvm::Expected<std::string> siblingFile(llvm::StringRef of, llvm::StringRef clause,
                                        llvm::StringRef name, llvm::StringRef advice);

} // namespace dlc

#endif // DLC_FRONTEND_SIBLINGFILE_H
