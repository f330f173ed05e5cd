//===- Cpp.h - Pieces of C++ text: expressions, types, literals, identifiers --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_PRINT_CPP_H
#define DLC_CODEGEN_CUDA_PRINT_CPP_H

#include "mlir/IR/Attributes.h"
#include "mlir/IR/Types.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc::codegen::cpp {

/// How tightly an expression binds, loosest first.
enum class Prec {
  ternary,
  logicalOr,
  logicalAnd,
  bitwise,
  equality,
  relational,
  shift,
  additive,
  multiplicative,
  unary,
  atom
};

struct Expr {
  std::string text;
  Prec prec = Prec::atom;
  /// Reads memory, so it may not move over a write.
  bool reads = false;
};

/// `expr` with parentheses where it binds less tightly than `least`.
std::string paren(const Expr &expr, Prec least);

/// The C++ type of a scalar or rank-1 vector; nullopt where it has none. `indexBits`: what index
/// is.
std::optional<std::string> typeName(mlir::Type type, unsigned indexBits);
/// The unsigned type of an integer's width: "u32".
std::string unsignedName(mlir::Type integer, unsigned indexBits);

/// A constant that reads back to the same bits; nullopt where it is no scalar number. Integers of
/// 64 bits get a suffix where `exactType` (function arguments, where int and i64 would be
/// ambiguous).
std::optional<Expr> literal(mlir::Attribute value, mlir::Type type, unsigned indexBits,
                            bool exactType = false);

/// Whatever `text` holds, as the rest of one // comment.
std::string commentText(llvm::StringRef text);

/// The identifiers in scope.
class Names {
public:
  /// A new identifier like `wish`, which none in scope and no word of C++ or of the vocabulary
  /// equals.
  std::string fresh(llvm::StringRef wish);
  size_t open() const { return used.size(); }
  /// Forgets what was made since open().
  void close(size_t mark) { used.resize(mark); }
  void clear() { used.clear(); }

private:
  std::vector<std::string> used;
};

/// Does the identifier `word` occur in `text`?
bool mentions(llvm::StringRef text, llvm::StringRef word);

} // namespace dlc::codegen::cpp

#endif // DLC_CODEGEN_CUDA_PRINT_CPP_H
