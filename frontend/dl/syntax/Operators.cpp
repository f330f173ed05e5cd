//===- Operators.cpp - Spellings and functions of the operators ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/AST.h"

#include <iterator>

namespace dlc::frontend {

namespace {
struct Spelled {
  llvm::StringRef spelling, function;
};
} // namespace

static constexpr Spelled kUnary[] = {
#define UNARY(name, spelling, function) {spelling, function},
#include "frontend/dl/syntax/Operators.def"
};
static constexpr Spelled kBinary[] = {
#define BINARY(name, spelling, function) {spelling, function},
#include "frontend/dl/syntax/Operators.def"
};

llvm::StringRef spellingOf(UnaryOp op) { return kUnary[static_cast<size_t>(op)].spelling; }
llvm::StringRef spellingOf(BinaryOp op) { return kBinary[static_cast<size_t>(op)].spelling; }
llvm::StringRef functionOf(UnaryOp op) { return kUnary[static_cast<size_t>(op)].function; }
llvm::StringRef functionOf(BinaryOp op) { return kBinary[static_cast<size_t>(op)].function; }

} // namespace dlc::frontend
