//===- OpenClauses.cpp - The files that a model's weights clauses name --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/SiblingFile.h"
#include "frontend/arrays/ShardedWeights.h"
#include "frontend/weights/WeightBinding.h"

using namespace mlir;

namespace dlc::frontend {

namespace {
class Opener {
public:
  explicit Opener(Diagnostics &diagnostics) : diagnostics(diagnostics) {}

  void open(OpenedClause &clause, llvm::Expected<std::string> path, llvm::SMLoc loc) {
    if (!path)
      return fail(loc, path.takeError());
    auto files = openWeights(*path);
    if (!files)
      return fail(loc, files.takeError());
    for (WeightFile &file : *files)
      clause.files.push_back(std::move(file));
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
        opener.open(clause,
                    siblingFile(path, "weights", file.value, "use --weights for one elsewhere"),
                    file.loc);
  } else if (opened.size() <= 1) {
    if (opened.empty())
      opened.push_back({{}, model.name.loc, {}});
    for (const std::string &file : instead)
      opener.open(opened.front(), file, opened.front().loc);
  } else {
    size_t needed = 0;
    for (const OpenedClause &clause : opened)
      needed += clause.rules.files.size();
    if (needed != instead.size()) {
      diagnostics.error(opened.front().loc)
          << "the model's " << opened.size() << " weights clauses name " << needed
          << " files, --weights names " << instead.size()
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
