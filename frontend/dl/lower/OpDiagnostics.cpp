//===- OpDiagnostics.cpp - Errors of ops in the words of the language ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/OpDiagnostics.h"

#include "frontend/dl/syntax/Diagnostics.h"
#include "ir/dl/base/DLTypes.h"

#include "llvm/Support/Regex.h"

using namespace mlir;

namespace dlc::frontend {

OpDiagnostics::OpDiagnostics(MLIRContext *context, ArrayRef<Value> operands,
                             ArrayRef<StringRef> names)
    : operands(operands), names(names),
      handler(std::make_unique<ScopedDiagnosticHandler>(context, [this](Diagnostic &diagnostic) {
        held.push_back(std::move(diagnostic));
        return success();
      })) {}

/// "16-bit float or bfloat16 type or 8-bit signless integer" to "f16, bf16 or i8".
static std::string dtypesIn(StringRef constraint) {
  SmallVector<std::string> names;
  llvm::Regex element("(bfloat16)|(f[48]E[0-9]M[0-9][FNUZ]*)|([0-9]+)-bit (float|signless "
                      "integer|unsigned integer)");
  SmallVector<StringRef> match;
  while (element.match(constraint, &match)) {
    std::string width = match[3].str(), small = match[2].lower();
    if (small == "f8e8m0fnu" ||
        small == "f4e2m1fn") // the language leaves out what tells them from nothing
      small = small.substr(0, 6);
    names.push_back(!match[1].empty()     ? "bf16"
                    : !small.empty()      ? small
                    : match[4] == "float" ? "f" + width
                    : match[4][0] == 'u'  ? "u" + width
                    : width == "1"        ? "bool"
                                          : "i" + width);
    constraint = constraint.substr(match[0].data() + match[0].size() - constraint.data());
  }
  std::string text;
  for (auto [position, name] : llvm::enumerate(names))
    text += (position == 0 ? "" : position + 1 == names.size() ? " or " : ", ") + name;
  return text;
}

std::string OpDiagnostics::spelled(StringRef text) const {
  static const llvm::Regex operand(
      "^'dl\\.([a-z0-9_]+)' op operand #([0-9]+) must be (.*), but got '(.*)'$");
  SmallVector<StringRef> match;
  unsigned position;
  if (operand.match(text, &match) && !match[2].getAsInteger(10, position) &&
      position < names.size() && position < operands.size())
    if (std::string dtypes = dtypesIn(match[3]); !dtypes.empty())
      return "argument " + quote(names[position]) + " of " + quote(match[1]) + " is a tensor " +
             dl::text(operands[position]) + "; expected " + dtypes;
  std::string words;
  for (StringRef rest = text; !rest.empty();) {
    auto [before, after] = rest.split("'dl.");
    words += before;
    words += after.empty() ? "" : "'";
    rest = after;
  }
  return words;
}

std::optional<dl::RangeNeed> OpDiagnostics::need() {
  for (Diagnostic &diagnostic : held)
    if (auto need = dl::neededBy(diagnostic))
      return need;
  return std::nullopt;
}

OpDiagnostics::~OpDiagnostics() {
  handler.reset();
  for (Diagnostic &diagnostic : held) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error) {
      diagnostic.getLocation()->getContext()->getDiagEngine().emit(std::move(diagnostic));
      continue;
    }
    InFlightDiagnostic again = emitError(diagnostic.getLocation());
    again << spelled(diagnostic.str());
    for (Diagnostic &note : diagnostic.getNotes())
      again.attachNote(note.getLocation()) << spelled(note.str());
  }
}

} // namespace dlc::frontend
