//===- LayerPatterns.cpp - The layers that a user names -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/precision/LayerPatterns.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/PrecisionMarks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

/// Names in a message: enough to see what they look like.
static constexpr size_t kShownNames = 12;

llvm::Expected<LayerPatterns> LayerPatterns::create(ArrayRef<std::string> patterns) {
  LayerPatterns made;
  made.texts = patterns.vec();
  for (const std::string &text : made.texts) { // globs point into these
    auto glob = llvm::GlobPattern::create(text);
    if (!glob)
      return llvm::createStringError("'" + text +
                                     "' is no pattern: " + llvm::toString(glob.takeError()));
    made.globs.push_back(std::move(*glob));
  }
  return made;
}

FailureOr<LayerPatterns> LayerPatterns::keptByPass(Operation *op, ArrayRef<std::string> patterns) {
  auto made = create(patterns);
  if (!made) {
    op->emitError("keep-f32: ") << llvm::toString(made.takeError());
    return failure();
  }
  return std::move(*made);
}

std::string LayerPatterns::matchingOnly(StringRef name) {
  std::string glob;
  for (char c : name) {
    if (StringRef("*?[]{}\\").contains(c))
      glob += '\\';
    glob += c;
  }
  return glob;
}

/// The norm that users know a standardize as: all three of them become one.
static StringRef normOf(dl::StandardizeOp op) {
  if (op.getAffineDims() == op.getDims())
    return "layer_norm";
  return op.getAffineDims() == ArrayRef<int64_t>{1} ? "instance_norm" : "group_norm";
}

/// The names by which users know `op`: its layers, its ONNX nodes or places, and its own.
static std::vector<std::string> namesOf(Operation *op) {
  SourcePlaces places = sourcePlacesOf(*op);
  std::vector<std::string> names = std::move(places.layers);
  names.insert(names.end(), places.lines.begin(), places.lines.end());
  names.insert(names.end(), places.ops.begin(), places.ops.end());
  if (auto standardize = dyn_cast<dl::StandardizeOp>(op))
    names.push_back(normOf(standardize).str());
  if (auto role = op->getAttrOfType<StringAttr>(dl::kRole))
    names.push_back(role.str());
  // A pattern that keeps an attention keeps all ops of its body.
  if (isa_and_nonnull<dl::AttentionOp>(op->getParentOp()))
    names.push_back(op->getParentOp()->getName().stripDialect().str());
  return names;
}

bool LayerPatterns::matches(StringRef name) const {
  return llvm::any_of(globs, [&](const llvm::GlobPattern &glob) { return glob.match(name); });
}

bool LayerPatterns::matches(Operation *op) const {
  return !globs.empty() &&
         llvm::any_of(namesOf(op), [&](const std::string &name) { return matches(name); });
}

std::string LayerPatterns::unmatchedIn(ModuleOp module, ArrayRef<std::string> own) const {
  llvm::SmallBitVector matched(globs.size());
  std::vector<std::string> layers, nodes; // each once, in program order
  llvm::StringSet<> known;
  auto list = [&](std::vector<std::string> &names, ArrayRef<std::string> more) {
    for (const std::string &name : more)
      if (known.insert(name).second)
        names.push_back(name);
  };
  auto note = [&](ArrayRef<std::string> names) {
    for (const std::string &name : names)
      for (size_t i = 0; i < globs.size(); ++i)
        if (globs[i].match(name))
          matched.set(i);
  };
  note(own);
  for (auto function : module.getOps<func::FuncOp>())
    function.walk([&](Operation *op) {
      if (isa<func::FuncOp, func::ReturnOp>(op))
        return;
      SourcePlaces places = sourcePlacesOf(*op);
      list(layers, places.layers);
      list(nodes, places.lines);
      note(namesOf(op));
    });
  int first = matched.find_first_unset();
  if (first < 0)
    return "";
  ArrayRef<std::string> shown = !own.empty()     ? own
                                : layers.empty() ? ArrayRef(nodes)
                                                 : ArrayRef(layers);
  return "'" + texts[first] + "' matches no layer, node or op of the model; it has " +
         llvm::join(shown.take_front(kShownNames), ", ") +
         (shown.size() > kShownNames
              ? " and " + std::to_string(shown.size() - kShownNames) + " more"
              : "");
}

} // namespace dlc
