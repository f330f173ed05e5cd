//===- Statements.h - Ops as lines of the language ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_WRITE_STATEMENTS_H
#define DLC_FRONTEND_DL_WRITE_STATEMENTS_H

#include "frontend/dl/write/Program.h"

#include "frontend/dl/write/WriteDl.h"
#include "ir/OpTable.h"

namespace dlc::onnx {

void append(Pieces &pieces, const Pieces &more);
void append(Pieces &pieces, const llvm::Twine &text);

/// "f32"
std::string dtypeText(mlir::Type type);

/// Returns the attribute of a parameter as an argument, with dims by `names`. Unless `isExact`, a
/// real number has only the digits that an f32 needs.
Pieces attributeText(const Param &param, mlir::Attribute value, dl::SymbolNames names,
                     bool isExact = false);
/// The same of an argument behind others whose value is its default, which stays unwritten: one
/// number that another instance of a block may have otherwise, or nothing.
Pieces defaultText(const Param &param, mlir::Attribute value, dl::SymbolNames names);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_STATEMENTS_H
