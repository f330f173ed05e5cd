//===- TensorReader.h - Reads a tensor at affine functions of loop indices ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An access of a loop nest, prepared for blocks: the address of an element is a part that depends
// on the place of the result plus, for most accesses, a part that depends on the term alone. The
// first is computed once a block, the second once a chunk of terms, so that a read costs one
// addition.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERPRETER_TENSORREADER_H
#define DLC_IR_INTERPRETER_TENSORREADER_H

#include "ir/interfaces/LoopNest.h"
#include "ir/interpreter/ScalarTape.h"
#include "ir/interpreter/Tensor.h"

#include <array>

namespace dlc {

/// Loop indices of the elements of a block: one array for each loop.
using Indices = std::vector<std::array<int64_t, kBlock>>;

/// Fills `indices` with the index tuples of `extents` in row-major order from number `first` on.
void unravel(int64_t first, int64_t count, llvm::ArrayRef<int64_t> extents, Indices &indices);

class TensorReader {
public:
  /// `numParallel` loops of the access are parallel, the others reduce. `tensor` outlives the
  /// reader.
  TensorReader(const Access &access, const Tensor &tensor, unsigned numParallel,
               llvm::ArrayRef<int64_t> symbols);

  /// The next reads are for the `count` places that `parallel` holds.
  void setPlaces(const Indices &parallel, int64_t count);
  /// The next reads are of the `count` terms that `reduction` holds.
  void setTerms(const Indices &reduction, int64_t count);
  /// The next reads are at `indices` (one for each place) in `dim`, one of Access::computed.
  void setCoordinates(unsigned dim, const int64_t *indices);
  /// Reads, for every place, the element of term number `term` of the chunk.
  void read(int64_t term, Lanes &to);
  /// sums[place] += reads of `a` * reads of `b`, in double.
  static void multiplyAdd(TensorReader &a, TensorReader &b, int64_t term, double *sums);

  bool isFloat() const { return tensor.isFloat(); }

private:
  /// Distance between the addresses of neighbouring places: a number, or not the same for all.
  enum class Step { zero, one, other };
  bool mayLeave(int64_t term) const;
  void evaluateMixed(int64_t term);
  template <typename T> void readChecked(const T *from, T fill, int64_t term, T *to) const;
  template <typename T> void readComputed(const T *from, T fill, int64_t term, T *to) const;

  const Tensor &tensor;
  bool checked;
  double fill;
  int64_t intFill = 0;
  unsigned unsignedWidth = 0; // of the values of an unsigned type while they are computed; else 0
  llvm::SmallVector<int64_t, 4> sizes, strides;
  /// The index in each dim of the tensor: placePart + termPart, or where `mixed` is not empty that
  /// of both.
  llvm::SmallVector<mlir::AffineExpr, 4> placePart, termPart, mixed;

  int64_t places = 0;
  Step step = Step::other;
  std::array<int64_t, kBlock> base;        // address by place
  Indices placeIndex, termIndex;           // by tensor dim, kept where the access is checked
  llvm::SmallVector<int64_t, 4> low, high; // of placeIndex over the block
  std::array<int64_t, kBlock> termOffset;
  llvm::SmallBitVector computed;                           // dims whose index the op computes
  Indices coordinates;                                     // by tensor dim, of those
  const Indices *parallel = nullptr, *reduction = nullptr; // for mixed accesses
};

} // namespace dlc

#endif // DLC_IR_INTERPRETER_TENSORREADER_H
