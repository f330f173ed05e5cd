//===- AST.h - What the text of a model says -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax alone: names are not resolved, and nothing is evaluated. StringRefs point into the source
// buffer.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_AST_H
#define DLC_FRONTEND_DL_AST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Casting.h"
#include "llvm/Support/SMLoc.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace dlc::frontend {

struct Identifier {
  llvm::StringRef name; // may have dots
  llvm::SMLoc loc;
};

//===- Expressions
//--------------------------------------------------------------------------------===//

struct Expr {
  enum class Kind {
    integer,
    floating,
    string,
    boolean,
    none,
    name,
    list,
    call,
    unary,
    binary,
    subscript
  };

  const Kind kind;
  llvm::SMLoc
      loc; // where errors about it point: the operator of an infix expression, the name of a call
  /// Height of the tree below: bounded by the parser (kMaxNesting), so that recursion over trees is
  /// safe.
  unsigned depth = 1;

  Expr(Kind kind, llvm::SMLoc loc) : kind(kind), loc(loc) {}
  virtual ~Expr() = default;
};
using ExprPtr = std::unique_ptr<Expr>;

template <Expr::Kind K> struct ExprOf : Expr {
  explicit ExprOf(llvm::SMLoc loc) : Expr(K, loc) {}
  static bool classof(const Expr *expr) { return expr->kind == K; }
};

struct IntegerExpr : ExprOf<Expr::Kind::integer> {
  using ExprOf::ExprOf;
  int64_t value = 0;
};
struct FloatExpr : ExprOf<Expr::Kind::floating> {
  using ExprOf::ExprOf;
  double value = 0;
};
struct StringExpr : ExprOf<Expr::Kind::string> {
  using ExprOf::ExprOf;
  std::string value;
};
struct BooleanExpr : ExprOf<Expr::Kind::boolean> {
  using ExprOf::ExprOf;
  bool value = false;
};
struct NoneExpr : ExprOf<Expr::Kind::none> {
  using ExprOf::ExprOf;
};
struct NameExpr : ExprOf<Expr::Kind::name> {
  using ExprOf::ExprOf;
  llvm::StringRef name;
};
/// `(1, 2)` or `[1, 2]`.
struct ListExpr : ExprOf<Expr::Kind::list> {
  using ExprOf::ExprOf;
  std::vector<ExprPtr> elements;
};

struct Argument {
  std::optional<Identifier> keyword;
  ExprPtr value;
};
/// `callee(1, key=2)`
struct CallExpr : ExprOf<Expr::Kind::call> {
  using ExprOf::ExprOf;
  Identifier callee;
  std::vector<Argument> arguments;
};

struct UnaryExpr : ExprOf<Expr::Kind::unary> { // negation
  using ExprOf::ExprOf;
  ExprPtr operand;
};
struct BinaryExpr : ExprOf<Expr::Kind::binary> {
  using ExprOf::ExprOf;
  char op = 0; // + - * /
  ExprPtr lhs, rhs;
};

/// `3`, `1:-1:2` or `:`
struct Index {
  llvm::SMLoc loc;
  bool isSlice = false;
  ExprPtr value;             // of an index
  ExprPtr start, stop, step; // of a slice, each may be absent
};
struct SubscriptExpr : ExprOf<Expr::Kind::subscript> {
  using ExprOf::ExprOf;
  ExprPtr base;
  std::vector<Index> indices;
};

//===- Declarations
//-------------------------------------------------------------------------------===//

/// `dim N = 1..64` or `dim N`
struct DimDecl {
  Identifier name;
  ExprPtr min, max; // both or neither
};

/// `const HIDDEN = 128`, of the file or of a model
struct ConstDecl {
  Identifier name;
  ExprPtr value;
};

/// `f32[N,1,28,28]`
struct TypeSpec {
  Identifier dtype;
  std::vector<ExprPtr> dims;
};

/// `x: f32[N,1,28,28]`, an input or output
struct Port {
  Identifier name;
  TypeSpec type;
};

/// `conv1: Conv2d(1, 32, kernel_size=3)`
struct LayerDecl {
  Identifier path;
  Identifier type; // without a name: an error has been reported
  std::vector<Argument> arguments;
};

/// `x = expr`, or `h, (a, b) = expr` flattened to its names
struct Statement {
  llvm::SMLoc loc;
  std::vector<Identifier> targets;
  ExprPtr value; // null: an error has been reported
};

struct ForwardDecl {
  llvm::SMLoc loc;
  std::vector<Port> inputs, outputs;
  std::vector<Statement> body;
};

/// `model Name(width=64) { ... }`
struct ModelDecl {
  Identifier name;
  std::vector<ConstDecl> parameters; // with their defaults
  std::vector<ConstDecl> constants;
  std::vector<LayerDecl> layers;
  std::optional<ForwardDecl> forward;
};

/// `weights "f.safetensors"`
struct WeightsDecl {
  llvm::SMLoc loc;
  std::string path;
};

/// One .dl file.
struct SourceFile {
  int64_t version = 0; // 0: an error has been reported
  /// Some declaration could not be read, so that names may be missing. Unreadable statements and layers are no gaps: they
  /// stand in the tree without their values.
  bool hasGaps = false;
  std::vector<DimDecl> dims;
  std::vector<ConstDecl> constants;
  std::vector<ModelDecl> models;
  std::vector<WeightsDecl> weights;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_AST_H
