//===- Parser.h - Tokens to syntax --------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_SYNTAX_PARSER_H
#define DLC_FRONTEND_DL_SYNTAX_PARSER_H

#include "frontend/dl/syntax/AST.h"
#include "frontend/dl/syntax/Diagnostics.h"

namespace dlc::frontend {

/// Depth of brackets and of operators in one expression: protects the stack here and in all that
/// walks a tree.
inline constexpr unsigned kMaxNesting = 256;
/// The version of the language that this compiler reads.
inline constexpr int64_t kLanguageVersion = 1;

/// Parses `buffer`, a whole .dl file. After an error it goes on with the next statement or
/// declaration; the result holds what was understood, and is complete where `diagnostics` has seen
/// no error.
SourceFile parseSource(llvm::StringRef buffer, Diagnostics &diagnostics);

/// Parses `buffer`, the statements of a forward without their braces. Returns nullopt after an
/// error.
std::optional<std::vector<StatementPtr>> parseStatements(llvm::StringRef buffer,
                                                         Diagnostics &diagnostics);

/// "encoder.layer[...].output": a callee as it is written, for messages.
std::string textOf(const Expr &expr);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_PARSER_H
