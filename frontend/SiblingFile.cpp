//===- SiblingFile.cpp - Files that a model names -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/SiblingFile.h"

#include "frontend/Spelling.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace dlc {

Expected<std::string> siblingFile(StringRef of, StringRef clause, StringRef name,
                                  StringRef advice) {
  StringRef folder = sys::path::parent_path(of);
  SmallString<256> path(folder);
  if (name.empty() || sys::path::is_absolute(name) || name.contains('\0') ||
      is_contained(make_range(sys::path::begin(name), sys::path::end(name)), ".."))
    return createStringError(frontend::quote(clause) + " names a file in the folder of " +
                             (clause == "weights" ? "the model" : "this one") + ", got " +
                             frontend::quote(name) + "; " + advice);
  sys::path::append(path, name);
  SmallString<256> realFolder, realPath;
  if (!sys::fs::real_path(folder.empty() ? "." : folder, realFolder) &&
      !sys::fs::real_path(path, realPath) && realPath != realFolder &&
      !StringRef(realPath).starts_with(realFolder == "/" ? "/" : (realFolder + "/").str()))
    return createStringError(frontend::quote(name) + " is a link out of the folder of " +
                             (clause == "weights" ? "the model" : "this file") + "; " + advice);
  return std::string(path);
}

} // namespace dlc
