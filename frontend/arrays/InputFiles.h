//===- InputFiles.h - The files that this process reads -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code that reads a user's file says so here, and code that writes one asks here first: no output
// may take the place of an input. Files are the same when their device and inode are, whatever
// links lead to them. Devices and pipes are never noted: nothing that is written to them destroys
// what was read.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ARRAYS_INPUTFILES_H
#define DLC_FRONTEND_ARRAYS_INPUTFILES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <optional>
#include <string>

namespace dlc::frontend {

/// Notes that the process reads `path`. No effect where no regular file is there. Safe to call from
/// several threads, as are the others.
void noteInputFile(llvm::StringRef path);
void noteInputFile(llvm::StringRef path, const llvm::sys::fs::file_status &status);

/// The file is read in order to be changed in place: from now on it counts as no input, whoever
/// reads it again.
void changeInPlace(llvm::StringRef path);

/// The path by which the file that `path` leads to was read first; nothing where no input is there.
std::optional<std::string> inputFileAt(llvm::StringRef path);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_INPUTFILES_H
