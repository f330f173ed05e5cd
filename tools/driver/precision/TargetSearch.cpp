//===- TargetSearch.cpp - The layers in f32 of each target's model ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/precision/TargetSearch.h"

#include "passes/precision/NarrowingRules.h"
#include "tools/driver/base/Output.h"

using namespace mlir;

namespace dlc {

static SmallVector<Operation *> opsOf(ModuleOp target) {
  SmallVector<Operation *> ops;
  target.walk([&](Operation *op) {
    if (op != target)
      ops.push_back(op);
  });
  return ops;
}

/// Marks the ops of `target` as those of `searched` are; false where the two compute in different
/// ways.
static bool takesOver(ModuleOp searched, ModuleOp target) {
  SmallVector<Operation *> from = opsOf(searched), to = opsOf(target);
  if (!llvm::equal(from, to,
                   [](Operation *a, Operation *b) { return a->getName() == b->getName(); }))
    return false;
  for (auto [marked, op] : llvm::zip_equal(from, to))
    if (Attribute mark = marked->getAttr(kKeepF32))
      op->setAttr(kKeepF32, mark);
  return true;
}

int searchTargets(ModuleOp module, const PrecisionGoal &goal, const std::string &option,
                  const std::function<void(const std::string &)> &progress,
                  TargetSearchReport &report) {
  struct Found {
    ModuleOp target;
    std::string text, json;
  };
  SmallVector<Found> found;
  for (auto target : module.getOps<ModuleOp>()) {
    if (llvm::any_of(found, [&](Found &other) { return takesOver(other.target, target); }))
      continue;
    PrecisionSearch search(goal, option, progress);
    if (int code = search.run(target))
      return code;
    found.push_back({target, search.asText(), search.asJson()});
  }
  if (found.size() == 1) {
    report = {found.front().text, found.front().json};
    return kOk;
  }
  for (const Found &one : found) {
    auto target = one.target;
    const std::string name = target.getName()->str();
    report.text += "For " + name + ":\n" + one.text;
    report.json += (report.json.empty() ? "{\n\"" : ",\n\"") + name + "\": " + one.json;
  }
  report.json += "}\n";
  return kOk;
}

} // namespace dlc
