//===- Program.h - An imported model on its way to text -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module becomes lines (Statements.cpp, Control.cpp), runs of lines that repeat become blocks
// (Blocks.cpp), and both become text (Text.cpp).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_WRITE_PROGRAM_H
#define DLC_FRONTEND_DL_WRITE_PROGRAM_H

#include "ir/dl/DLOps.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc::onnx {

/// A part of a line.
struct Piece {
  enum Kind {
    Text,
    Number, // of an attribute or a dim: what may differ between the instances of a block
    Value,  // an input, a result of a line, or a weight
    Layer   // the layer that the line calls
  };
  Kind kind;
  std::string text; // of a number: the name of what it says, "stride"
  int64_t number = 0;
  mlir::Value value;
  /// Of a number that is the default of its parameter: what stands before it, ", stride=". Both are
  /// written only where the number is a parameter of a block, of which other instances have
  /// another.
  std::string unlessDefault = {};
};
using Pieces = std::vector<Piece>;

/// What owns weights: a layer, or one weight by itself.
struct Member {
  std::string path;   // "layer1.0.conv1"; of a weight by itself "layer1.0.scale"
  Pieces declaration; // what stands behind the colon
};

/// A statement: `results = pieces`, or a part of a branch or loop.
struct Line {
  enum Kind {
    Plain,
    If,     // `if pieces {`, whose arms assign to the results
    Else,   // `} else {`
    For,    // `for results in 0..pieces {`
    While,  // `while pieces {`
    End,    // `}`
    Assign, // the names of `results`, which keep theirs, become `parts`
    Alias   // the results are called as `aliased`
  };
  Kind kind = Plain;
  std::vector<Pieces> parts = {};
  llvm::SmallVector<mlir::Value, 1> aliased = {};
  llvm::SmallVector<mlir::Value, 1> results;
  std::string function; // results are named after it
  /// Of a binary operator: its spelling, between the first two of `pieces`. Empty: `pieces` are the
  /// text.
  std::string infix;
  Pieces pieces;
  bool isDim = false;            // the result is a dim, which has a name
  bool mayGo = false;            // the line is left out where nothing uses its result
  std::optional<unsigned> layer; // the member that it calls
  llvm::SmallVector<std::string, 0>
      scope; // the modules that the node's name shows: "layer1", "0", "conv1"
};

/// A parameter of the text and the op that says where its numbers lie.
struct NamedWeight {
  std::string path; // in the text and in its weights file
  mlir::Operation *weight;
  bool isTransposed = false; // the file holds its transpose
};

/// A model in lines, in an order in which they can be computed.
struct Program {
  std::vector<Member> members;
  std::vector<Line> lines;
  /// The member of a weight that lines use by itself.
  llvm::MapVector<mlir::Value, unsigned> weightMembers;
  std::vector<NamedWeight> weights;
  std::vector<Pieces> outputs;
  std::string loopVariable = "i"; // no name of the model's
};

/// The lines of the module's function.
Program readProgram(mlir::ModuleOp module);

/// A run of lines that is written once and called for each instance.
struct Instance {
  size_t begin = 0, end = 0; // of the lines
  std::string path;
  std::vector<unsigned> members;
  llvm::SmallVector<mlir::Value> inputs, outputs;
  std::vector<int64_t>
      numbers; // those that differ between instances, in the order of the block's parameters
};

struct BlockText {
  std::string name;
  std::vector<std::string> parameters;
  /// What a number of the first instance is in the block: the index of its parameter.
  llvm::DenseMap<const Piece *, unsigned> parameterOf;
  std::vector<Instance> instances; // in the order of their lines
};

/// The runs of lines whose nodes' names show a module, and that are the same but for numbers. They
/// do not overlap. Parameters have other names than `reserved`: a block's parameter hides the dim
/// of that name, which its lines may use.
std::vector<BlockText> findBlocks(const Program &program, const llvm::StringSet<> &reserved);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_PROGRAM_H
