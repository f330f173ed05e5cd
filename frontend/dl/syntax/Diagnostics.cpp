//===- Diagnostics.cpp - Errors and warnings at places of a source file -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace dlc::frontend {

/// Callers of callers: the innermost say what there is to say.
static constexpr size_t kMaxBlockNotes = 4;

/// Ops call themselves 'dl.linear'; in the language it is 'linear'.
static void useOurNames(mlir::Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  size_t at = text.find("'dl.");
  if (at == std::string::npos)
    return;
  for (; at != std::string::npos; at = text.find("'dl.", at))
    text.erase(at + 1, llvm::StringRef("dl.").size());
  mlir::Diagnostic ours(diagnostic.getLocation(), diagnostic.getSeverity());
  ours << text;
  for (const mlir::Diagnostic &note : diagnostic.getNotes())
    ours.attachNote(note.getLocation()) << note.str();
  diagnostic = std::move(ours);
}

Diagnostics::Diagnostics(const llvm::SourceMgr &sources, mlir::MLIRContext &context,
                         unsigned maxErrors)
    : sources(sources), context(context), maxErrors(maxErrors),
      counter(&context, [this](mlir::Diagnostic &diagnostic) -> llvm::LogicalResult {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning)
          return mlir::success(isFull() || ++this->warnings > kMaxWarnings);
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success(isFull());
        if (isRepeated(diagnostic)) {
          ++repeats;
          return mlir::success(); // handled: nobody else sees it
        }
        if (++this->errors > this->maxErrors)
          return mlir::success();
        useOurNames(diagnostic);
        addNotes(diagnostic);
        if (this->errors == this->maxErrors)
          diagnostic.attachNote() << this->maxErrors << " errors are shown; further ones are not";
        return mlir::failure(); // on to the next handler
      }) {}

bool Diagnostics::isRepeated(const mlir::Diagnostic &diagnostic) {
  uint64_t text = blocks.empty() ? static_cast<size_t>(llvm::hash_value(diagnostic.str())) : 0;
  return !seen.insert({diagnostic.getLocation(), text}).second;
}

void Diagnostics::addNotes(mlir::Diagnostic &diagnostic) {
  size_t count = 0;
  for (const Block &block : llvm::reverse(blocks)) {
    if (++count > kMaxBlockNotes)
      break;
    diagnostic.attachNote(translate(block.loc)) << "in " << quote(block.path) << ", " << block.what;
  }
}

Diagnostics::InBlock::InBlock(Diagnostics &diagnostics, llvm::StringRef path, llvm::StringRef what,
                              llvm::SMLoc loc)
    : diagnostics(diagnostics) {
  diagnostics.blocks.push_back({path, what, loc});
}

Diagnostics::InBlock::~InBlock() { diagnostics.blocks.pop_back(); }

Diagnostics::InLibrary::InLibrary(Diagnostics &diagnostics, llvm::StringRef function,
                                  llvm::SMLoc call)
    : diagnostics(diagnostics), isOutermost(!diagnostics.libraryCall.isValid()) {
  if (!isOutermost)
    return;
  diagnostics.libraryCall = call;
  diagnostics.blocks.push_back({function, "called here", call});
}

Diagnostics::InLibrary::~InLibrary() {
  if (!isOutermost)
    return;
  diagnostics.libraryCall = {};
  diagnostics.blocks.pop_back();
}

mlir::Location Diagnostics::translate(llvm::SMLoc loc) const {
  unsigned buffer = loc.isValid() ? sources.FindBufferContainingLoc(loc) : sources.getMainFileID();
  if (!buffer) {
    assert(libraryCall.isValid() && "a place that no source holds");
    return translate(libraryCall);
  }
  auto file =
      mlir::StringAttr::get(&context, sources.getMemoryBuffer(buffer)->getBufferIdentifier());
  if (!loc.isValid())
    return mlir::FileLineColLoc::get(file, 1, 1);
  auto [line, column] = sources.getLineAndColumn(loc, buffer);
  return mlir::FileLineColLoc::get(file, line, column);
}

SourcePlace Diagnostics::placeOf(llvm::SMLoc loc) const {
  if (!loc.isValid())
    return {};
  auto place = mlir::cast<mlir::FileLineColLoc>(translate(loc));
  return {place.getFilename().str(), place.getLine(), place.getColumn()};
}

void Diagnostics::mention(Mention::Kind kind, llvm::StringRef name, llvm::SMLoc definition,
                          llvm::function_ref<std::string()> text) {
  if (index && !name.empty() && !libraryCall.isValid())
    index->mentions.push_back({kind, name.str(), placeOf(llvm::SMLoc::getFromPointer(name.begin())),
                               placeOf(definition), text()});
}

} // namespace dlc::frontend
