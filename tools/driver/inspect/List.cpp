//===- List.cpp - The functions and layers of the language --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/List.h"

#include "frontend/Spelling.h"
#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/library/Library.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/GlobPattern.h"

#include <tuple>
#include <vector>

using llvm::StringRef;

namespace dlc {

namespace {
/// A name, how it is written, and what it computes.
struct Entry {
  StringRef name;
  std::string usage;
  StringRef summary;
};
} // namespace

static std::vector<Entry> functions() {
  std::vector<Entry> entries;
  frontend::forEachFunction([&](const Signature &signature, StringRef summary) {
    entries.push_back({signature.name, signature.text.str(), summary});
  });
  return entries;
}

static std::vector<Entry> layers() {
  std::vector<Entry> entries;
  for (const frontend::LayerKind &kind : frontend::layerKinds()) {
    // One that is made of several functions is described by none of them.
    StringRef summary = kind.build ? StringRef() : frontend::summaryOf(kind.function);
    entries.push_back({kind.name, (kind.name + kind.schema).str(), summary});
  }
  return entries;
}

int listLanguage(const ListOptions &options) {
  std::vector<Entry> entries = options.what == "ops" ? functions() : layers();
  llvm::sort(entries, [](const Entry &a, const Entry &b) {
    return std::tie(a.name, a.usage) < std::tie(b.name, b.usage);
  });
  std::vector<bool> isChosen(entries.size(), options.names.empty());
  for (const std::string &text : options.names) {
    auto glob = llvm::GlobPattern::create(text);
    if (!glob)
      return fail(kUsage, frontend::quote(text) + " is no pattern: " +
                              llvm::toString(glob.takeError()) + "; expected one such as 'conv*'");
    bool fits = false;
    llvm::SmallVector<StringRef> names;
    for (auto [position, entry] : llvm::enumerate(entries)) {
      names.push_back(entry.name);
      if (glob->match(entry.name))
        isChosen[position] = fits = true;
    }
    std::string kind = options.what == "ops" ? "function" : "kind of layer";
    if (!fits)
      return fail(kUsage, "no " + kind + " is called " + frontend::quote(text) +
                              frontend::didYouMean(text, names));
  }
  std::string text;
  for (auto [position, entry] : llvm::enumerate(entries))
    if (isChosen[position])
      text += entry.usage + (entry.summary.empty() ? "" : "\n    " + entry.summary.str()) + "\n";
  return finishOutput(text);
}

} // namespace dlc
