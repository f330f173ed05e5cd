//===- IntegerRange.h - Between which numbers the elements of an integer tensor lie -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Integer products of quantized tensors are written in i32 (dl.cast, dl.sub of a zero point,
// dl.matmul). What their operands can be at all decides which type they are stored in and which
// instructions multiply them.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_INTEGERRANGE_H
#define DLC_IR_ANALYSIS_INTEGERRANGE_H

#include "ir/dl/base/DLTypes.h"

#include "llvm/ADT/DenseMap.h"

namespace dlc {

/// Every element is at least `min` and at most `max`.
struct IntegerRange {
  int64_t min, max;

  bool operator==(const IntegerRange &other) const = default;
  bool isWithin(const IntegerRange &other) const { return min >= other.min && max <= other.max; }
};

/// The numbers that `elementType` has; nullopt where it is no integer type, and for u64, whose
/// numbers an i64 cannot hold.
std::optional<IntegerRange> rangeOfType(mlir::Type elementType);

/// Ranges of the tensors of a function or of a kernel's body. It remembers what it has found, so
/// that asking about all of them takes time in proportion to the ops.
class IntegerRanges {
public:
  /// The range of `tensor` by what its ops compute, which never is wider than that of its type;
  /// nullopt where the type has none. Arithmetic that could leave the type, and so wrap, gives the
  /// range of the type.
  std::optional<IntegerRange> of(mlir::Value tensor);

private:
  std::optional<IntegerRange> ofResult(mlir::OpResult result);

  llvm::DenseMap<mlir::Value, std::optional<IntegerRange>> known;
};

/// The integers of another tensor less one number: a tensor quantized with a zero point.
struct OffsetIntegers {
  mlir::Value stored;
  int64_t zeroPoint = 0;
};

/// How `tensor` follows from an integer tensor of fewer bits by a cast that keeps every element,
/// and the subtraction of a number (dl.full) where that does not wrap; nullopt where it does not.
std::optional<OffsetIntegers> widenedFrom(mlir::Value tensor);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_INTEGERRANGE_H
