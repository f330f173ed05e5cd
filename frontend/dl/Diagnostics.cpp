//===- Diagnostics.cpp - Errors and warnings at places of a source file ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace dlc::frontend {

Diagnostics::Diagnostics(const llvm::SourceMgr &sources, mlir::MLIRContext &context,
                         unsigned maxErrors)
    : sources(sources),
      file(mlir::StringAttr::get(
          &context, sources.getMemoryBuffer(sources.getMainFileID())->getBufferIdentifier())),
      maxErrors(maxErrors),
      counter(&context, [this](mlir::Diagnostic &diagnostic) -> llvm::LogicalResult {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning)
          return mlir::success(isFull() || ++this->warnings > kMaxWarnings);
        if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error)
          return mlir::success(isFull());
        if (++this->errors > this->maxErrors)
          return mlir::success(); // handled: nobody else sees it
        if (this->errors == this->maxErrors)
          diagnostic.attachNote() << this->maxErrors << " errors are shown; further ones are not";
        return mlir::failure(); // on to the next handler
      }) {}

mlir::Location Diagnostics::translate(llvm::SMLoc loc) const {
  if (!loc.isValid())
    return mlir::FileLineColLoc::get(file, 1, 1);
  auto [line, column] = sources.getLineAndColumn(loc, sources.getMainFileID());
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
  if (index && !name.empty())
    index->mentions.push_back({kind, name.str(), placeOf(llvm::SMLoc::getFromPointer(name.begin())),
                               placeOf(definition), text()});
}

std::string quote(llvm::StringRef text) {
  constexpr size_t kLongest = 80;
  std::string result = "'";
  for (const char *begin = text.begin(), *end = text.end(); begin != end;) {
    if (result.size() > kLongest) {
      result += "...";
      break;
    }
    unsigned length = llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(*begin));
    bool legal = length <= static_cast<size_t>(end - begin) &&
                 llvm::isLegalUTF8Sequence(reinterpret_cast<const llvm::UTF8 *>(begin),
                                           reinterpret_cast<const llvm::UTF8 *>(begin) + length);
    unsigned char byte = *begin;
    if (!legal || byte < 0x20 || byte == 0x7f) {
      result += "\\x";
      result += llvm::hexdigit(byte >> 4);
      result += llvm::hexdigit(byte & 15);
      ++begin;
    } else {
      result.append(begin, length);
      begin += length;
    }
  }
  return result + "'";
}

} // namespace dlc::frontend
