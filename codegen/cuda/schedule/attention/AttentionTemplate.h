//===- AttentionTemplate.h - Attention as a call of a template ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The walk over the keys is a template of the device headers. The rows of a block are the dims of
// the result that neither key nor value has: the queries, and heads that share one of key and
// value, which so are read once for all of these. What becomes of a score, masks too, is a body of
// the call.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONTEMPLATE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONTEMPLATE_H

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/KernelBuilder.h"
#include "codegen/cuda/schedule/attention/AttentionChoice.h"
#include "codegen/cuda/schedule/contraction/Contraction.h"

#include <array>

namespace dlc::codegen {

class AttentionTemplate {
public:
  /// Finds the sides of the attention.
  AttentionTemplate(KernelBuilder &k, const dl::AttentionParts &a, ProductUnit unit);

  /// The extents at the usual sizes of the symbols that have some, else the largest.
  AttentionShape shape() const;
  /// The extents by which the shapes differ that the kernel serves: rows, keys, and heads that
  /// share none.
  llvm::SmallVector<mlir::AffineExpr> extents() const {
    return {rows.extent, keys.extent, batch.extent};
  }
  /// The same shape with other values of extents().
  static AttentionShape with(AttentionShape shape, llvm::ArrayRef<int64_t> values) {
    shape.head.rows = values[0];
    shape.head.keys = values[1];
    shape.batch = values[2];
    return shape;
  }
  /// The tile that suits `shape`. Whether blocks may share it depends on the other shapes, too.
  AttentionTile tileFor(const AttentionShape &shape) const;
  /// Whether the kernel may run with this tile at all of its shapes: those that share one meet at a
  /// counter, of which there are kGridCounter.
  bool mayServe(const AttentionTile &tile) const;
  /// Fills the kernel.
  void run(const AttentionTile &tile);

protected:
  /// Query, key or value. `along` is the side that the template sums over (of the value, the keys),
  /// `lines` the other.
  struct Operand {
    llvm::StringRef suffix;
    mlir::Value tensor;
    llvm::SmallVector<mlir::AffineExpr> at; // where it is read, over the groups' variables
    const Side *lines, *along;
    int64_t width = 0; // elements that lie together, at most; 0: computed
    bool liesAlong = true;
  };

  void findSides();
  llvm::SmallVector<mlir::AffineExpr> scoreIndices(llvm::ArrayRef<mlir::AffineExpr> result) const;
  Operand operand(llvm::StringRef suffix, LoopNestOpInterface op, const Access &access,
                  llvm::ArrayRef<mlir::AffineExpr> loops, const Side &lines, const Side &along);
  /// Query, key and value.
  std::array<Operand, 3> operands();
  int64_t widthAlong(const Operand &operand, const Side &side) const;
  void chooseCopies(Operand &operand);
  void bind(mlir::Value position, const Side &side) { k.bindFlat(position, side.groups); }

  /// Blocks of the grid before they share any tile.
  mlir::AffineExpr tiles(const AttentionTile &tile) const {
    return dl::normalize(batch.extent * k.ceilDiv(rows.extent, tile.rows));
  }
  mlir::Value firstRow(const AttentionTile &tile);
  dlk::CallOp createCall(mlir::Value first, llvm::ArrayRef<Operand *> operands,
                         const AttentionTile &tile, int64_t lanes);
  mlir::DictionaryAttr config(llvm::ArrayRef<Operand *> operands, const AttentionTile &tile,
                              int64_t lanes);
  void give(mlir::Value value) { dlk::GiveOp::create(k.b, k.loc, value); }
  /// Begins a body of the call, and binds the head where the template tells it. Returns the
  /// arguments after that.
  mlir::Block::BlockArgListType beginBody(dlk::CallOp call, unsigned body,
                                          llvm::ArrayRef<mlir::Type> types);
  void readBody(dlk::CallOp call, unsigned body, const Operand &operand);
  void scoreBody(dlk::CallOp call, unsigned body);
  void seenBody(dlk::CallOp call, unsigned body);
  void exponentialBody(dlk::CallOp call, unsigned body);
  void finishBody(dlk::CallOp call, unsigned body, int64_t lanes);
  int64_t lanes() const;

  KernelBuilder &k;
  const dl::AttentionParts &a;
  BodyEmitter scores;
  LoopNest product;
  const LoopNest &sum;
  Side rows, batch, columns, depth, keys;
  /// Indices of the result, of the scores, and along the heads.
  llvm::SmallVector<mlir::AffineExpr> y, scoreAt, deep;
  mlir::Type element;
  int64_t elementBytes;
  ProductUnit unit;
  bool readsFloat8 = false; // operands are the bytes that e4m3 is stored in
  bool tellsHead = false;   // the template's bodies get the number of the head first
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_ATTENTION_ATTENTIONTEMPLATE_H
