//===- OpenClauses.cpp - The files that a model's weights clauses name -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightBinding.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dlc::frontend {

/// The file that a `weights` clause names; an error where it lies outside the folder of the model.
static llvm::Expected<std::string> resolve(StringRef model, StringRef name) {
  StringRef folder = llvm::sys::path::parent_path(model);
  SmallString<256> path(folder);
  if (name.empty() || llvm::sys::path::is_absolute(name) || name.contains('\0') ||
      llvm::is_contained(llvm::make_range(llvm::sys::path::begin(name), llvm::sys::path::end(name)),
                         ".."))
    return llvm::createStringError("'weights' names a file in the folder of the model, got " +
                                   quote(name) + "; use --weights for one elsewhere");
  llvm::sys::path::append(path, name);
  SmallString<256> realFolder, realPath;
  if (!llvm::sys::fs::real_path(folder.empty() ? "." : folder, realFolder) &&
      !llvm::sys::fs::real_path(path, realPath) && realPath != realFolder &&
      !StringRef(realPath).starts_with(realFolder == "/" ? "/" : (realFolder + "/").str()))
    return llvm::createStringError(
        quote(name) + " is a link out of the folder of the model; use --weights for a file "
                      "elsewhere");
  return std::string(path);
}

namespace {
class Opener {
public:
  explicit Opener(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void open(OpenedClause &clause, llvm::Expected<std::string> path, llvm::SMLoc loc) {
    if (!path)
      return fail(loc, path.takeError());
    auto file = WeightFile::open(*path);
    if (!file)
      return fail(loc, file.takeError());
    clause.files.push_back(std::move(*file));
  }

  bool isGood = true;

private:
  void fail(llvm::SMLoc loc, llvm::Error error) {
    diagnostics.error(loc) << llvm::toString(std::move(error));
    isGood = false;
  }
  Diagnostics &diagnostics;
};
} // namespace

std::optional<std::vector<OpenedClause>> openClauses(StringRef path, const Model &model,
                                                     ArrayRef<std::string> instead,
                                                     Diagnostics &diagnostics) {
  std::vector<OpenedClause> opened;
  for (const WeightsDecl &decl : model.weights) {
    if (decl.isBroken)
      return std::nullopt;
    opened.push_back({decl, decl.loc, {}});
  }
  Opener opener(diagnostics);
  if (instead.empty()) {
    for (OpenedClause &clause : opened)
      for (const QuotedText &file : clause.rules.files)
        opener.open(clause, resolve(path, file.value), file.loc);
  } else if (opened.size() <= 1) {
    if (opened.empty())
      opened.push_back({{}, model.decl->name.loc, {}});
    for (const std::string &file : instead)
      opener.open(opened.front(), file, opened.front().loc);
  } else {
    size_t needed = 0;
    for (const OpenedClause &clause : opened)
      needed += clause.rules.files.size();
    if (needed != instead.size()) {
      diagnostics.error(opened.front().loc)
          << "--weights is given for " << instead.size() << " files, but the model's "
          << opened.size() << " weights clauses name " << needed
          << "; give it once for each of them, in their order";
      return std::nullopt;
    }
    for (OpenedClause &clause : opened)
      for (size_t i = 0; i < clause.rules.files.size(); ++i) {
        opener.open(clause, instead.front(), clause.rules.files[i].loc);
        instead = instead.drop_front();
      }
  }
  if (!opener.isGood)
    return std::nullopt;
  return opened;
}

} // namespace dlc::frontend
