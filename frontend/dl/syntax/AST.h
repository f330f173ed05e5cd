//===- AST.h - What the text of a model says ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax alone: names are not resolved, and nothing is evaluated. StringRefs point into the source
// buffer.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_SYNTAX_AST_H
#define DLC_FRONTEND_DL_SYNTAX_AST_H

#include "frontend/dl/syntax/WeightsClause.h"

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

//===- Expressions ----------------------------------------------------------------------------===//

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
    conditional,
    subscript,
    attribute
  };

  const Kind kind;
  llvm::SMLoc
      loc; // where errors about it point: the operator of an infix expression, the name of a call
  /// Height of the tree below: bounded by the parser (kMaxNesting), so that recursion over trees is
  /// safe.
  unsigned depth = 1;
  /// It stands in parentheses of its own.
  bool inParentheses = false;

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
  bool isTuple = false; // in parentheses
  std::vector<ExprPtr> elements;
};

struct Argument {
  std::optional<Identifier> keyword;
  ExprPtr value;
};
/// `callee(1, key=2)`
struct CallExpr : ExprOf<Expr::Kind::call> {
  using ExprOf::ExprOf;
  ExprPtr callee; // a name, `encoder.layer[i]` or `encoder.layer[i].output`
  std::vector<Argument> arguments;
};

enum class UnaryOp {
#define UNARY(name, spelling, function) name,
#include "frontend/dl/syntax/Operators.def"
};
struct UnaryExpr : ExprOf<Expr::Kind::unary> {
  using ExprOf::ExprOf;
  UnaryOp op = UnaryOp::negate;
  ExprPtr operand;
};

enum class BinaryOp {
#define BINARY(name, spelling, function) name,
#include "frontend/dl/syntax/Operators.def"
};
struct BinaryExpr : ExprOf<Expr::Kind::binary> {
  using ExprOf::ExprOf;
  BinaryOp op = BinaryOp::add;
  ExprPtr lhs, rhs;
};

/// As it is written: "+", "and".
llvm::StringRef spellingOf(UnaryOp op);
llvm::StringRef spellingOf(BinaryOp op);
/// PyTorch's function that an operator stands for ("add"); empty for `and`, `or` and `not`.
llvm::StringRef functionOf(UnaryOp op);
llvm::StringRef functionOf(BinaryOp op);

/// `value if condition else otherwise`
struct ConditionalExpr : ExprOf<Expr::Kind::conditional> {
  using ExprOf::ExprOf;
  ExprPtr condition, value, otherwise;
};

/// `3`, `1:-1:2`, `:` or `...`
struct Index {
  llvm::SMLoc loc;
  bool isSlice = false, isEllipsis = false;
  ExprPtr value;             // of an index
  ExprPtr start, stop, step; // of a slice, each may be absent
};
struct SubscriptExpr : ExprOf<Expr::Kind::subscript> {
  using ExprOf::ExprOf;
  ExprPtr base;
  std::vector<Index> indices;
};
/// `base.name` after a bracket; elsewhere a name has its dots in it.
struct AttributeExpr : ExprOf<Expr::Kind::attribute> {
  using ExprOf::ExprOf;
  ExprPtr base;
  Identifier name; // "weight", or a number: "0"
};

//===- Declarations ---------------------------------------------------------------------------===//

/// `dim N = 1..64` or `dim N`
struct DimDecl {
  Identifier name;
  ExprPtr min, max; // both or neither
  ExprPtr step;     // of `1..64 step 8`; else null
  ExprPtr value;    // of `dim few = min(N, 4)`; else null
};

/// `const HIDDEN = 128`, of the file or of a block; or a parameter of a block.
struct ConstDecl {
  Identifier name;
  ExprPtr value; // null: a parameter without default
};

/// `f32[N,1,28,28]`
struct TypeSpec {
  Identifier dtype;          // without a name: any type (of a port of a block)
  std::vector<ExprPtr> dims; // null for `?`, in an output of a model: whatever it turns out to be
};

/// `x: f32[N,1,28,28]`, an input or output; of a block also `x`, `mask: bool[N,T] = None`
struct Port {
  Identifier name;
  TypeSpec type;
  ExprPtr defaultValue;             // of an input of a block, or null
  std::optional<Identifier> layout; // `layout NHWC`, of the input of a sequential
};

/// `@f32`
struct Annotation {
  Identifier name; // without the @, where loc points
};

/// `i in 0..12`, or `layer in encoder.layer`
struct LoopHead {
  Identifier variable;
  ExprPtr begin, end; // of a range, which excludes its end
  ExprPtr iterable;   // of the other form
};

//===- Members of a model or block ------------------------------------------------------------===//

struct Member {
  enum class Kind { constant, state, layer, loop, branch };
  const Kind kind;
  llvm::SMLoc loc;
  Member(Kind kind, llvm::SMLoc loc) : kind(kind), loc(loc) {}
  virtual ~Member() = default;
};
using MemberPtr = std::unique_ptr<Member>;

template <Member::Kind K> struct MemberOf : Member {
  explicit MemberOf(llvm::SMLoc loc) : Member(K, loc) {}
  static bool classof(const Member *member) { return member->kind == K; }
};

struct ConstMember : MemberOf<Member::Kind::constant> {
  using MemberOf::MemberOf;
  ConstDecl decl;
};

/// `state k: f16[N,8,512,64]`
struct StateDecl : MemberOf<Member::Kind::state> {
  using MemberOf::MemberOf;
  Port port; // its name and type
};

/// What follows the first name of a path: `[i]`, or `.attention.self`
struct PathPiece {
  Identifier name; // of `.name`
  ExprPtr index;   // of `[index]`
};

/// `conv1: Conv2d(1, 32, kernel_size=3) @f32`, `encoder.layer[i]: BertLayer() for i in 0..12`
struct LayerDecl : MemberOf<Member::Kind::layer> {
  using MemberOf::MemberOf;
  Identifier path; // up to the first index
  std::vector<PathPiece> rest;
  Identifier type; // without a name: an error has been reported
  std::vector<Argument> arguments;
  std::vector<LoopHead> loops;
  std::vector<Annotation> annotations;
};

/// `for i in 0..3 { ... }`
struct LoopMember : MemberOf<Member::Kind::loop> {
  using MemberOf::MemberOf;
  LoopHead head;
  std::vector<MemberPtr> body;
};

/// `if a { ... } else if b { ... } else { ... }`
struct BranchMember : MemberOf<Member::Kind::branch> {
  using MemberOf::MemberOf;
  struct Arm {
    ExprPtr condition; // null: else
    std::vector<MemberPtr> body;
  };
  std::vector<Arm> arms;
};

//===- Statements of forward ------------------------------------------------------------------===//

struct Statement {
  enum class Kind { assign, loop, whileLoop, branch };
  const Kind kind;
  llvm::SMLoc loc;
  Statement(Kind kind, llvm::SMLoc loc) : kind(kind), loc(loc) {}
  virtual ~Statement() = default;
};
using StatementPtr = std::unique_ptr<Statement>;

template <Statement::Kind K> struct StatementOf : Statement {
  explicit StatementOf(llvm::SMLoc loc) : Statement(K, loc) {}
  static bool classof(const Statement *statement) { return statement->kind == K; }
};

/// A name, or a tuple of targets: `h, (a, b)`
struct Target {
  Identifier name;
  bool isTuple = false;
  std::vector<Target> elements;
};

/// `x = expr @f32`
struct AssignStatement : StatementOf<Statement::Kind::assign> {
  using StatementOf::StatementOf;
  Target target;
  ExprPtr value; // null: an error has been reported
  std::vector<Annotation> annotations;
};

/// `for layer in encoder.layer { ... }`
struct LoopStatement : StatementOf<Statement::Kind::loop> {
  using StatementOf::StatementOf;
  LoopHead head;
  std::vector<StatementPtr> body;
};

/// `while not_done { ... }`
struct WhileStatement : StatementOf<Statement::Kind::whileLoop> {
  using StatementOf::StatementOf;
  ExprPtr condition;
  std::vector<StatementPtr> body;
};

/// `if a { ... } else if b { ... } else { ... }`
struct BranchStatement : StatementOf<Statement::Kind::branch> {
  using StatementOf::StatementOf;
  struct Arm {
    ExprPtr condition; // null: else
    std::vector<StatementPtr> body;
  };
  std::vector<Arm> arms;
};

//===- Files ----------------------------------------------------------------------------------===//

struct ForwardDecl {
  llvm::SMLoc loc;
  std::vector<Port> inputs, outputs;
  std::vector<StatementPtr> body;
};

/// `block Name(width, heads=12) { ... }`, or `model Name(width=64) { ... }`
struct BlockDecl {
  bool isModel = false;
  Identifier name;
  std::vector<ConstDecl> parameters;
  std::vector<MemberPtr> members;
  std::optional<ForwardDecl> forward;
};

/// `sequential Name(x: f32[N,28,28,1] layout NHWC) -> (y: f32[N,10]) { stem: Conv2D(32, 3)
/// Flatten() }`
struct SequentialDecl {
  struct Entry {
    std::optional<Identifier> name;
    Identifier type; ///< a layer of Keras, or the name of an entry before, which is called again
    std::vector<Argument> arguments;
    /// The results that the layer takes, written `(a, b)` after its arguments; absent: the result
    /// of the entry before. Where a layer is called again, `arguments` has them.
    std::optional<std::vector<Identifier>> operands;
    std::vector<Annotation> annotations;
  };
  Identifier name;
  std::vector<Port> inputs;
  std::vector<Port> outputs; ///< none: the result of the last entry
  std::vector<Entry> layers;
};

/// `include "blocks.dl"`
struct IncludeDecl {
  llvm::SMLoc loc;
  std::string path;
};

/// One .dl file.
struct SourceFile {
  int64_t version = 0; // 0: an error has been reported
  /// Some declaration could not be read, so that names may be missing. Unreadable statements and
  /// layers are no gaps: they stand in the tree without their values.
  bool hasGaps = false;
  std::vector<IncludeDecl> includes;
  std::vector<DimDecl> dims;
  std::vector<ConstDecl> constants;
  std::vector<BlockDecl> blocks, models;
  std::vector<SequentialDecl> sequentials;
  std::vector<WeightsDecl> weights;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_SYNTAX_AST_H
