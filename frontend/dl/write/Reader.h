//===- Reader.h - Ops on their way to lines -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Statements.cpp (ops), Sizes.cpp (dims that the data say) and Control.cpp (branches and
// loops).
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_WRITE_READER_H
#define DLC_FRONTEND_DL_WRITE_READER_H

#include "frontend/dl/write/Statements.h"

namespace dlc::onnx {

struct Reader {
  mlir::ModuleOp module;
  Program &program;
  llvm::StringSet<> paths = {};
  llvm::SmallBitVector counted = symbolsOfData(module);
  llvm::DenseMap<unsigned, mlir::Value> counts = countsOf(module);
  llvm::DenseMap<unsigned, Pieces> sizes{}; // of symbols that are read
  llvm::DenseSet<mlir::Value> takesSizes{}; // what loops gather whose dims their steps know
  mlir::Operation *reading = nullptr;       // null: the end

  void read(mlir::Operation &op);
  void declareWeight(mlir::Value weight, const Line &user, llvm::StringRef parameter);
  /// A tensor behind what the language leaves implicit.
  Pieces operand(mlir::Operation &user, mlir::Value value);
  Pieces tensor(mlir::Value value);
  /// What a number of the text stands for; empty where the value is none.
  std::string number(mlir::Value value);
  /// A dim; what the data say is the size of a tensor.
  Pieces dim(mlir::AffineExpr dim);
  /// The count of each counted symbol, by its place.
  static llvm::DenseMap<unsigned, mlir::Value> countsOf(mlir::ModuleOp module);
  /// The symbol that an op of counted results counts by `value`, which no call returns.
  std::optional<unsigned> countedBy(mlir::Value value);
  /// The size of a tensor that is a counted symbol.
  Pieces sizeOf(unsigned symbol);
  /// Lets dims of a tensor be the sizes of what is read and has none yet.
  void noteSizes(mlir::Value tensor);
  void noteRead(dl::ReadOp read);
  /// Returns the counted size of the results of `op` as a size of the first of them. No other op
  /// cuts them to this size, but the call in the language does.
  Pieces sizeOfCall(mlir::Operation &op);
  /// Adds a line that gives a symbol its name.
  Line &defineSize(unsigned symbol, llvm::StringRef function, Pieces pieces);
  /// Whether each symbol of `dim` has a name by now.
  bool isNamed(mlir::AffineExpr dim);
  void defineDerived();
  Pieces definition(mlir::Attribute part);
  void readPart(dl::PartOp part);
  void readIf(dl::IfOp branch);
  void readWhile(dl::WhileOp loop);
  /// Returns the tensor that a loop gathers before its first step. It has no rows, and a dim that
  /// has no name yet is 0.
  Pieces withoutRows(mlir::Value gathered);
  /// Returns the tensor with one more row at the end. Dims that only the steps know become those of
  /// the row.
  Pieces withRow(mlir::Value gathered, mlir::Value row);
  /// Returns the tensor after the loop with the dims that have a name; empty if it has them anyway.
  Pieces withDims(mlir::Value gathered);
  void readBlock(mlir::Block &block);
  Line &add(Line::Kind kind, llvm::StringRef function = {});
  void declareWeights(const Pieces &pieces, const Line &line);
  /// The result of an op that counts, as the size that is read cuts it; null where `value` is no
  /// such result.
  mlir::Value cutOf(mlir::OpResult value);
  /// The value that has a name, of the parts to which results of a counting op are cut; other
  /// values as they are.
  mlir::Value sameCut(mlir::Value value);
  /// Reads a tensor that the data cut: `head` of it, or the whole of it where its padding may hold
  /// anything.
  void readTrim(dl::TrimOp trim);
  Pieces attributeText(const Param &param, mlir::Attribute value, mlir::Operation &op);
  Pieces dims(llvm::ArrayRef<mlir::AffineExpr> dims, llvm::StringRef name);
  void call(const Signature &signature, mlir::Operation &op, Line &line);
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_READER_H
