//===- SourcePlaces.cpp - What a location says about the model ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/SourcePlaces.h"

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dlc {

namespace {
/// Fills a list with different texts. A kernel that many launches share has a line of the model for
/// each.
class Uniquer {
public:
  explicit Uniquer(std::vector<std::string> &list) : list(list) {}
  void add(std::string text) {
    if (!text.empty() && known.insert(text).second)
      list.push_back(std::move(text));
  }

private:
  std::vector<std::string> &list;
  llvm::StringSet<> known;
};
} // namespace

/// A package takes clean UTF-8 alone, and names are the model's own.
static std::string printable(StringRef name) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(name.data());
  bool isUtf8 = llvm::isLegalUTF8String(&begin, begin + name.size());
  std::string text = name.str();
  for (char &c : text)
    if (unsigned char byte = c; byte < ' ' || byte == 0x7f || (byte > 0x7f && !isUtf8))
      c = '?';
  return text;
}

/// Adds the places that `whole` names.
static void addPlaces(Location whole, Uniquer &lines, Uniquer &layers) {
  whole->walk([&](Location loc) {
    if (auto file = dyn_cast<FileLineColLoc>(loc)) {
      lines.add(printable(llvm::sys::path::filename(file.getFilename().getValue())) + ":" +
                std::to_string(file.getLine()) + ":" + std::to_string(file.getColumn()));
      return WalkResult::advance();
    }
    auto named = dyn_cast<NameLoc>(loc);
    if (!named)
      return WalkResult::advance();
    if (named.getChildLoc()->findInstanceOf<FileLineColLoc>()) {
      layers.add(printable(named.getName()));
      return WalkResult::advance();
    }
    auto node = dyn_cast<NameLoc>(named.getChildLoc());
    lines.add(printable((node ? node : named).getName()));
    return WalkResult::skip();
  });
}

static SourcePlaces placesOf(ArrayRef<Operation *> operations) {
  SourcePlaces places;
  Uniquer ops(places.ops), lines(places.lines), layers(places.layers);
  for (Operation *op : operations) {
    ops.add(op->getName().stripDialect().str());
    addPlaces(op->getLoc(), lines, layers);
  }
  return places;
}

SourcePlaces sourcePlacesOf(Block &body) {
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    ops.push_back(&op);
  return placesOf(ops);
}

SourcePlaces sourcePlacesOf(Operation &op) { return placesOf(&op); }

SourcePlaces sourcePlacesOf(Location loc) {
  SourcePlaces places;
  Uniquer lines(places.lines), layers(places.layers);
  addPlaces(loc, lines, layers);
  return places;
}

std::string shownNameOf(Operation &op) {
  SourcePlaces places = sourcePlacesOf(op);
  for (const std::vector<std::string> *names : {&places.layers, &places.lines})
    if (!names->empty())
      return names->front();
  return "";
}

StringRef describedNode(Location loc) {
  auto named = loc->findInstanceOf<NameLoc>();
  return named && !loc->findInstanceOf<FileLineColLoc>() ? named.getName().getValue() : StringRef();
}

} // namespace dlc
