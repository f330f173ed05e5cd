//===- Include.cpp - The files that a model includes --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Include.h"

#include "frontend/SiblingFile.h"
#include "frontend/dl/syntax/Parser.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace dlc::frontend {

namespace {

class Includer {
public:
  Includer(SourceMgr &sources, SourceReader read, Diagnostics &diagnostics)
      : sources(sources), read(read), diagnostics(diagnostics) {}

  void addAll(const SourceFile &file, StringRef path);

  std::vector<std::unique_ptr<SourceFile>> files;

private:
  void add(const IncludeDecl &decl, StringRef from);

  SourceMgr &sources;
  SourceReader read;
  Diagnostics &diagnostics;
  /// Files by what they are on disk: those that are being read, outermost first, and all.
  std::vector<std::pair<std::string, std::string>> open; // with the name to show
  StringSet<> known;
};

} // namespace

static std::string identityOf(StringRef path) {
  SmallString<256> real;
  return sys::fs::real_path(path, real) ? path.str() : std::string(real);
}

void Includer::addAll(const SourceFile &file, StringRef path) {
  open.push_back({identityOf(path), sys::path::filename(path).str()});
  for (const IncludeDecl &decl : file.includes)
    if (!diagnostics.isFull())
      add(decl, path);
  open.pop_back();
}

void Includer::add(const IncludeDecl &decl, StringRef from) {
  auto path = siblingFile(from, "include", decl.path, "copy the file there");
  if (!path) {
    diagnostics.error(decl.loc) << toString(path.takeError());
    return;
  }
  std::string identity = identityOf(*path);
  auto same = find_if(open, [&](auto &entry) { return entry.first == identity; });
  if (same != open.end()) {
    std::string chain;
    for (auto &entry : make_range(same, open.end()))
      chain += entry.second + " -> ";
    diagnostics.error(decl.loc) << quote(decl.path) << " includes itself: " << chain << same->second
                                << "; move what both need to a third file";
    return;
  }
  if (!known.insert(identity).second)
    return;
  if (known.size() > kMaxIncludes) {
    if (known.size() == kMaxIncludes + 1)
      diagnostics.error(decl.loc) << "the model includes more than " << kMaxIncludes
                                  << " files; join some of them";
    return;
  }
  auto buffer = read(*path);
  if (!buffer) {
    diagnostics.error(decl.loc) << toString(buffer.takeError());
    return;
  }
  diagnostics.mention(Mention::Kind::file,
                      StringRef(decl.loc.getPointer(), StringRef("include").size()), {},
                      [&] { return *path; });
  unsigned id = sources.AddNewSourceBuffer(std::move(*buffer), decl.loc);
  auto file = std::make_unique<SourceFile>(
      parseSource(sources.getMemoryBuffer(id)->getBuffer(), diagnostics));
  addAll(*file, *path);
  files.push_back(std::move(file));
}

std::vector<std::unique_ptr<SourceFile>> loadIncludes(const SourceFile &file, StringRef path,
                                                      SourceMgr &sources, SourceReader read,
                                                      Diagnostics &diagnostics) {
  Includer includer(sources, read, diagnostics);
  includer.addAll(file, path);
  return std::move(includer.files);
}

} // namespace dlc::frontend
