//===- ContractionTemplate.h - A matrix product as a call of a template -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The main loop is a template of the device headers. What stays here are its addresses, prologues
// and epilogue: an operand whose elements lie in memory as they are multiplied is named by its
// place, as many elements at once as strides allow; any other is computed element by element.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONTEMPLATE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONTEMPLATE_H

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/KernelBuilder.h"
#include "codegen/cuda/schedule/contraction/Contraction.h"
#include "codegen/cuda/schedule/contraction/ContractionBytes.h"
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"

namespace dlc::codegen {

class ContractionTemplate {
protected:
  static constexpr int64_t kUsualExtent = 4096;

  struct Operand {
    unsigned term;
    const Side &side;
    bool alongK;
    int64_t width; // elements that lie together, at most; 0: computed
  };

  /// `swapped`: the template's rows are the dims n, its columns the dims m: the product of the
  /// transposed operands. With `bytes` the template multiplies these.
  ContractionTemplate(KernelBuilder &k, Contraction &c, bool swapped,
                      std::optional<ByteProduct> bytes = {});

  /// How many elements of term `term` lie together along the innermost dim of `side`, at addresses
  /// that are multiples of that: a power of two up to 16 bytes, or 0 where they do not.
  int64_t widthAlong(unsigned term, const Side &side) const;
  /// Elements of term `term` lie together along the innermost dim of `side`.
  bool liesAcross(unsigned term, const Side &side) const;
  /// The input whose elements term `term` multiplies as they are, at any index; nullopt where they
  /// are computed, or tested against bounds.
  std::optional<unsigned> plainInput(unsigned term, const Side &side) const;
  /// How many loops k counts whose indices the template is to tell the operands: 1 where it need
  /// not.
  unsigned loopsOfK() const;
  /// The call with its values and, still empty, its bodies: those with the roles `operands`, of
  /// operands' elements, then that of the totals, and with `hasPlace` that of places without tests.
  dlk::CallOp createCall(llvm::StringRef callee, llvm::StringRef header,
                         llvm::ArrayRef<mlir::Attribute> operands, bool hasPlace = false);
  /// Fills body `body`, which finds or computes an element. The operand's width becomes 0 where it
  /// must be computed; the value is then `rounded` to the operand's type, as if it had been stored,
  /// or of its compute type.
  void read(dlk::CallOp call, unsigned body, Operand &operand, bool rounded);
  /// True where the operand's elements lie in memory as they are multiplied, or are 0.
  bool isFound(const Operand &operand) const;
  /// Steps of k's loops but the last, the taps of a window, if what rows and what steps of k make
  /// of the operand's places can be added, and whether there is an element depends on row and tap
  /// alone; else 0.
  int64_t separableTaps(const Operand &operand) const;
  /// The same, if a row's places are to be kept (slab_feed) because they are tested; else 0.
  int64_t tapsOf(const Operand &operand) const;
  /// The buffer that the operand is copied from; null where the operand is computed.
  mlir::Value source(const Operand &operand) const;
  /// Roles and types of the arguments of a body that finds an element in row `row`.
  mlir::Attribute operandRoles(llvm::StringRef row) const;
  llvm::SmallVector<mlir::Type> operandTypes() const;
  /// Fills body `body` with the offset of the operand's element, wherever that lies.
  void place(dlk::CallOp call, unsigned body, const Operand &operand);
  /// Columns that one call of the epilogue finishes: as many as one store takes.
  int64_t lanes() const;
  /// Fills body `body`, which takes `width` neighbouring totals, or one where it is 0, to the
  /// result.
  void finish(dlk::CallOp call, unsigned body, int64_t width);
  /// The same of a pooled product: the body takes the number of a window and, row by row, its
  /// totals.
  void finishPooled(dlk::CallOp call, unsigned body, int64_t width);
  /// The usual sizes of symbols that have some, else the largest, each side with symbols at most
  /// `most`: a tile is chosen for as much as keeps a GPU busy. A side without a bound counts
  /// kUsualExtent.
  ProductShape shape(int64_t most = kUsualExtent) const;
  /// Adds the operands' buffers to the call's values, and gives it its numbers, beside them those
  /// of k's loops.
  void complete(dlk::CallOp call, llvm::ArrayRef<Operand> operands,
                llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> numbers);
  /// The type of the elements that the template multiplies: of bytes and of e4m3, i8.
  mlir::Type elementType() const;
  /// Adds the numbers of a config that say what its bytes are, where they are bytes.
  void describeBytes(llvm::SmallVectorImpl<std::pair<llvm::StringRef, int64_t>> &numbers) const;
  /// Whether several blocks may share a tile.
  bool mayShareTiles() const;
  /// Blocks of the grid with this tile, before they share any.
  mlir::AffineExpr tiles(const ProductTile &tile) const;
  /// `wanted`, or the tile that suits the shapes that the kernel serves; one that no blocks share
  /// where these would wait for each other under some of them.
  ProductTile tileFor(ProductUnit unit, const std::optional<ProductTile> &wanted = {}) const;

  KernelBuilder &k;
  Contraction &c;
  bool swapped;
  std::optional<ByteProduct> bytes;
  bool tellsLoops = false;  // the template's operands get the indices of k's loops
  bool tellsBatch = false;  // the template's epilogue gets the number of the product
  bool tellsInside = false; // ... and whether its totals are the result's
  const Side &rows, &columns;
  int64_t elementBytes;

private:
  /// Binds the indices of an operand's body: a row of `side`, and where k stands.
  void bindOperand(mlir::Block &block, const Side &side);
  /// Emits what term `term` reads at a row of `side` and a step of k, to be looked at: calls `look`
  /// with the value.
  void peek(unsigned term, const Side &side, llvm::function_ref<void(mlir::Value)> look) const;
  /// The tensor whose elements the term multiplies: its operand, or the bytes of that.
  mlir::Value storedTensor(unsigned term) const;
  /// The byte whose widened number, less the zero point, is `value`.
  mlir::Value storedByte(mlir::Value value, int64_t zeroPoint);
  /// Emits what term `term` multiplies at the indices of all loops: of e4m3 its byte.
  mlir::Value emitElement(unsigned term) const;
  /// The load of the element that `value`, which emitElement gave, is; null where it is more.
  mlir::memref::LoadOp loadOfElement(unsigned term, mlir::Value value) const;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_CONTRACTIONTEMPLATE_H
