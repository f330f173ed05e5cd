//===- Body.h - Lines, calls of blocks and loops of one forward ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_WRITE_BODY_H
#define DLC_FRONTEND_DL_WRITE_BODY_H

#include "frontend/dl/write/Program.h"

#include "llvm/ADT/StringSet.h"

namespace dlc::onnx {

/// A call of a block's instance, or a line.
struct Statement {
  size_t line = 0;
  const BlockText *block = nullptr;
  const Instance *instance = nullptr;
};

/// An output of a forward, and what it is.
struct Output {
  Pieces pieces;
  std::string name;
};

/// An expression that has no name yet, because one line alone uses it.
struct Pending {
  std::string text;
  unsigned precedence = 0, depth = 0;
};

/// Writes one `forward`: of the model, or of a block by its first instance.
class Body {
public:
  Body(const Program &program, const llvm::StringSet<> &reserved, const BlockText *block)
      : program(program), used(reserved), block(block) {}

  /// A name of the language like `name`, which nothing else has from now on.
  std::string unique(llvm::StringRef name);
  std::string declare(mlir::Value value, llvm::StringRef name) {
    return names[value] = unique(name);
  }
  void write(llvm::ArrayRef<Statement> statements, llvm::ArrayRef<Output> outputs);
  std::string text; // the lines so far

  std::string render(const Pieces &pieces, std::optional<unsigned> layer, unsigned &depth);

private:
  struct Loop {
    size_t length = 1;
    unsigned carried = 0; // the input that is the result of the call before
  };

  std::string expression(const Line &line, Pending &made);
  std::string operand(mlir::Value value, unsigned precedence, unsigned &depth, size_t &room);
  void line(const Line &line);
  /// A part of a branch or loop.
  void control(const Line &line);
  void assign(const Line &line);
  std::string nameOf(mlir::Value value, llvm::StringRef function);
  void call(const Statement &statement);
  void flush();
  Loop loopFrom(llvm::ArrayRef<Statement> statements) const;
  void loop(llvm::ArrayRef<Statement> statements, unsigned carried);
  std::string pathOfMember(unsigned member) const;

  const Program &program;
  llvm::StringSet<> used;
  const BlockText *block;
  llvm::DenseMap<mlir::Value, std::string> names;
  llvm::DenseMap<mlir::Value, unsigned> uses;
  llvm::MapVector<mlir::Value, Pending> pending;
  llvm::DenseMap<mlir::Value, std::string> functionOf;
  llvm::StringMap<unsigned> counts;
  std::string indent = "    ";
};

/// "layer1.12" is "layer1" and 12.
std::optional<std::pair<llvm::StringRef, int64_t>> elementOf(const Instance &instance);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_BODY_H
