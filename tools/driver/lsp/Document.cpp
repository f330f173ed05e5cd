//===- Document.cpp - A text that an editor holds, and what the compiler makes of it ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/Document.h"

#include "frontend/Frontend.h"
#include "frontend/dl/format/Format.h"
#include "tools/driver/lsp/Documentation.h"
#include "tools/driver/lsp/TextPositions.h"
#include "tools/driver/source/Import.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

namespace lsp = llvm::lsp;
using llvm::StringRef;

namespace dlc {

/// The text of a file, as it is open or on disk; empty where it cannot be read.
static std::string textOf(StringRef path, const OpenTexts &texts) {
  if (auto open = texts.find(path); open != texts.end())
    return open->second;
  auto file = llvm::MemoryBuffer::getFile(path);
  return file ? (*file)->getBuffer().str() : std::string();
}

namespace {

/// Turns what the frontend reports into findings of the protocol.
class Collector {
public:
  Collector(mlir::MLIRContext &context, StringRef mainFile, const OpenTexts &texts)
      : mainFile(mainFile.str()), texts(texts),
        handler(&context, [this](mlir::Diagnostic &diagnostic) {
          add(diagnostic);
          return mlir::success();
        }) {}

  Document::Findings findings;

private:
  /// File and range of a diagnostic; without a place of its own it belongs to the first line.
  std::pair<std::string, lsp::Range> placeOf(const mlir::Diagnostic &diagnostic) const {
    auto place = diagnostic.getLocation()->findInstanceOf<mlir::FileLineColLoc>();
    if (!place)
      return {mainFile, lsp::Range()};
    std::string file = place.getFilename().str(), text = textOf(file, texts);
    TextPositions positions(text);
    return {file, positions.tokenAt(positions.offsetOf(place.getLine(), place.getColumn()))};
  }

  void add(mlir::Diagnostic &diagnostic) {
    auto [file, range] = placeOf(diagnostic);
    lsp::Diagnostic found;
    found.range = range;
    found.severity = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error
                         ? lsp::DiagnosticSeverity::Error
                         : lsp::DiagnosticSeverity::Warning;
    found.source = "dlc";
    found.message = diagnostic.str();
    std::vector<lsp::DiagnosticRelatedInformation> related;
    for (const mlir::Diagnostic &note : diagnostic.getNotes()) {
      auto [noteFile, noteRange] = placeOf(note);
      if (auto uri = lsp::URIForFile::fromFile(noteFile))
        related.emplace_back(lsp::Location(*uri, noteRange), note.str());
      else
        llvm::consumeError(uri.takeError());
    }
    if (!related.empty())
      found.relatedInformation = std::move(related);
    findings[file].push_back(std::move(found));
  }

  std::string mainFile;
  const OpenTexts &texts;
  mlir::ScopedDiagnosticHandler handler;
};

} // namespace

Document::Findings Document::analyze(const OpenTexts &texts) {
  SourceContext context;
  SourceIndex found;
  ImportOptions options;
  options.withoutHashes = true;
  options.mayLackModel = true;
  options.unsaved = &texts;
  options.index = &found;
  Collector collector(*context.context, uri.file(), texts);
  (void)importFile(uri.file(), options, *context.context);
  // What an include gives is known early; more is known once the text could be read.
  if (llvm::any_of(found.mentions,
                   [](const Mention &mention) { return mention.kind != Mention::Kind::file; }))
    index = std::move(found);
  collector.findings[uri.file().str()]; // also where there is nothing: old findings vanish
  return std::move(collector.findings);
}

const Mention *Document::mentionAt(StringRef text, lsp::Position position) const {
  TextPositions positions(text);
  size_t offset = positions.offsetOf(position);
  // A text that is evaluated several times is mentioned several times; what it gave last is as good
  // as any.
  for (const Mention &mention : llvm::reverse(index.mentions)) {
    if (mention.place.file != uri.file())
      continue;
    size_t begin = positions.offsetOf(mention.place.line, mention.place.column);
    // The word `include` stands for all of its line.
    if (mention.kind == Mention::Kind::file && begin <= offset &&
        !text.slice(begin, offset).contains('\n'))
      return &mention;
    if (begin <= offset && offset <= begin + mention.name.size() &&
        text.substr(begin).starts_with(mention.name))
      return &mention;
  }
  return nullptr;
}

/// The dotted word around `offset`; empty where there is none.
static std::pair<size_t, StringRef> wordAround(StringRef text, size_t offset) {
  auto isPart = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; };
  size_t begin = offset, end = offset;
  while (begin > 0 && isPart(text[begin - 1]))
    --begin;
  while (end < text.size() && isPart(text[end]))
    ++end;
  return {begin, text.slice(begin, end)};
}

std::optional<lsp::Hover> Document::hover(StringRef text, lsp::Position position) const {
  TextPositions positions(text);
  auto [begin, word] = wordAround(text, positions.offsetOf(position));
  std::string content;
  if (const Mention *mention = mentionAt(text, position)) {
    begin = positions.offsetOf(mention->place.line, mention->place.column);
    word = text.substr(begin, mention->name.size());
    content = mention->kind == Mention::Kind::function ? documentCallable(mention->name)
              : mention->kind == Mention::Kind::layer  ? documentLayer(*mention, index)
                                                       : fenced(mention->text);
  } else {
    content = documentCallable(word);
  }
  if (content.empty())
    return std::nullopt;
  lsp::Hover hover({positions.positionOf(begin), positions.positionOf(begin + word.size())});
  hover.contents.value = std::move(content);
  return hover;
}

std::vector<lsp::Location> Document::definition(const OpenTexts &texts,
                                                lsp::Position position) const {
  const Mention *mention = mentionAt(textOf(uri.file(), texts), position);
  bool isFile = mention && mention->kind == Mention::Kind::file;
  if (!mention || (!isFile && mention->definition.line == 0))
    return {};
  auto target = lsp::URIForFile::fromFile(isFile ? mention->text : mention->definition.file);
  if (!target) {
    llvm::consumeError(target.takeError());
    return {};
  }
  if (isFile)
    return {lsp::Location(*target, lsp::Range())};
  std::string text = textOf(mention->definition.file, texts);
  TextPositions positions(text);
  size_t begin = positions.offsetOf(mention->definition.line, mention->definition.column);
  return {lsp::Location(*target, positions.tokenAt(begin))};
}

std::vector<lsp::DocumentSymbol> Document::symbols(StringRef text) const {
  TextPositions positions(text);
  std::vector<lsp::DocumentSymbol> symbols;
  for (const Mention &mention : index.mentions) {
    if (!mention.isDefinition() || mention.place.file != uri.file())
      continue;
    lsp::SymbolKind kind;
    switch (mention.kind) {
    case Mention::Kind::model:
    case Mention::Kind::block:
      kind = lsp::SymbolKind::Class;
      break;
    case Mention::Kind::layer:
      kind = lsp::SymbolKind::Field;
      break;
    case Mention::Kind::dim:
    case Mention::Kind::constant:
      kind = lsp::SymbolKind::Constant;
      break;
    default:
      continue;
    }
    lsp::Range range =
        positions.tokenAt(positions.offsetOf(mention.place.line, mention.place.column));
    bool isKnown = llvm::any_of(
        symbols, [&](const lsp::DocumentSymbol &symbol) { return symbol.selectionRange == range; });
    if (isKnown)
      continue;
    symbols.emplace_back(mention.name, kind, range, range);
    symbols.back().detail = mention.text;
  }
  return symbols;
}

std::vector<lsp::TextEdit> Document::format(StringRef text) const {
  SourceContext context;
  // Errors have been published already.
  mlir::ScopedDiagnosticHandler silent(context.context.get(), [](mlir::Diagnostic &) {});
  auto after =
      formatSource(llvm::MemoryBuffer::getMemBufferCopy(text, uri.file()), *context.context);
  if (!after || *after == text)
    return {};
  TextPositions positions(text);
  return {{lsp::Range({0, 0}, positions.positionOf(text.size())), *after}};
}

} // namespace dlc
