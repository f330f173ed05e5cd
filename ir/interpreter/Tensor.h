//===- Tensor.h - Typed tensors in host memory --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of the reference interpreter: logical row-major order whatever layout a type names.
// Floats of every format are held as double, so that a reference may carry more digits than the
// format, and NaNs with the bits that they have there; integers as int64, unsigned ones by their
// value and bools as 0 or 1.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_INTERPRETER_TENSOR_H
#define DLC_IR_INTERPRETER_TENSOR_H

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <memory>
#include <vector>

namespace dlc {

/// Copies share their elements: write only to a tensor that was just made.
class Tensor {
public:
  Tensor() = default;
  /// All elements 0. `elementType` is one that dl tensors may have.
  Tensor(mlir::Type elementType, llvm::ArrayRef<int64_t> dims);
  /// From the elements in their own format, little-endian; `bytes` has exactly as many as they
  /// take.
  static Tensor fromBytes(mlir::Type elementType, llvm::ArrayRef<int64_t> dims,
                          llvm::ArrayRef<char> bytes);

  explicit operator bool() const { return bool(elementType); }
  mlir::Type getElementType() const { return elementType; }
  llvm::ArrayRef<int64_t> getDims() const { return dims; }
  int64_t size() const { return count; }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(elementType); }

  /// The elements of a float tensor.
  llvm::MutableArrayRef<double> floats() { return {floatElements->data(), floatElements->size()}; }
  llvm::ArrayRef<double> floats() const { return *floatElements; }
  /// The elements of an integer or bool tensor.
  llvm::MutableArrayRef<int64_t> ints() { return {intElements->data(), intElements->size()}; }
  llvm::ArrayRef<int64_t> ints() const { return *intElements; }
  /// An element of any tensor, as a double.
  double at(int64_t position) const {
    return isFloat() ? floats()[position] : static_cast<double>(ints()[position]);
  }

  /// The same elements under other dims of equal product.
  Tensor withDims(llvm::ArrayRef<int64_t> dims) const;
  /// The elements in their own format, rounded to it where they carry more digits.
  std::vector<char> toBytes() const;

private:
  mlir::Type elementType;
  llvm::SmallVector<int64_t, 4> dims;
  int64_t count = 0;
  std::shared_ptr<std::vector<double>> floatElements;
  std::shared_ptr<std::vector<int64_t>> intElements;
};

/// Bytes that one element takes in memory: 1 for bools and for types of less than 8 bits.
int64_t elementBytes(mlir::Type elementType);
/// `value` rounded to nearest even in the float format `type`: denormals kept, overflow to
/// infinity, if it has one.
double roundTo(mlir::Type type, double value);
/// The bits of `value`, which the format has; a NaN gives those that it was made of by floatOfBits.
uint64_t bitsOf(mlir::FloatType type, double value);
double floatOfBits(mlir::FloatType type, uint64_t bits);
/// `value` wrapped to the integer type `type`, as Tensor holds it.
int64_t wrapTo(mlir::IntegerType type, int64_t value);

} // namespace dlc

#endif // DLC_IR_INTERPRETER_TENSOR_H
