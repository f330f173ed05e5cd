//===- WrittenArithmetic.h - What chains of dl ops compute, however written ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that raise ops read arithmetic through these: a product is one list of factors
// whatever the order of its multiplications and divisions, a root one power, x * x + 3 * x a
// polynomial, a mean one thing whether it is an op, a sum over n, with or without the dims that it
// reduces. What is read on the way is covered: it goes when the one op takes its place.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_RAISE_WRITTENARITHMETIC_H
#define DLC_PASSES_RAISE_WRITTENARITHMETIC_H

#include "ir/dl/DLOps.h"

#include "mlir/IR/PatternMatch.h"

#include <array>
#include <vector>

namespace dlc {

/// The ops that one op shall replace: the root, and those that a match has read on the way to it.
class Covered {
public:
  explicit Covered(mlir::Operation *root) : ops{root} {}

  void add(mlir::Operation *op) { ops.push_back(op); }
  /// The mark to hand to `rollBack` where the match that follows fails.
  size_t mark() const { return ops.size(); }
  void rollBack(size_t mark) { ops.truncate(mark); }

  /// Nothing outside reads any but the root, so that all of them go; all are of one block and carry
  /// the same annotations.
  bool isClosed() const;
  /// All ops, each once, in program order.
  std::vector<mlir::Operation *> inOrder() const;
  /// The places of all ops, in program order.
  mlir::Location location() const;
  /// Hands the annotations on to the op that makes `value`.
  void annotate(mlir::Value value) const;

private:
  llvm::SmallVector<mlir::Operation *, 16> ops; // the root first; one may occur twice
};

/// The number that all elements of `value` are; nullopt where they are not one float number.
std::optional<double> numberOf(mlir::Value value);
/// `number`, rounded as numbers of `like` are and perhaps written with six digits, means `wanted`.
bool means(double number, double wanted, mlir::Value like);

/// base ^ exponent.
struct Power {
  mlir::Value base;
  double exponent = 1;
};
/// Reads roots, squares, reciprocals and powers by a number. A root of a square stays one.
Power powerOf(mlir::Value value, Covered &covered);

/// constant * product of the factors.
struct Product {
  double constant = 1;
  llvm::SmallVector<Power, 4> factors; // of the exponent 1 or -1
};
/// Reads multiplications, divisions and negations from `value` on, whether others read it or not,
/// through factors that nothing else reads; what is left after some steps is one factor.
Product productOf(mlir::Value value, Covered &covered);

/// Coefficients by degree.
using Polynomial = std::array<double, 4>;
/// `value` as a polynomial in `x`; nullopt where it is none of degree 3 or less, or not within
/// `depth` ops.
std::optional<Polynomial> polynomialOf(mlir::Value value, mlir::Value x, Covered &covered,
                                       unsigned depth = 8);
/// Each coefficient of `polynomial` means that of `wanted`.
bool means(const Polynomial &polynomial, const Polynomial &wanted, mlir::Value like);

/// A tensor that repeats along `dims`, none of size 1, what `row` holds; dims of size 1 may be
/// missing in `row`.
struct Repeated {
  mlir::Value row;
  llvm::SmallBitVector dims;
};
std::optional<Repeated> repeatedOf(mlir::Value value, Covered &covered);
/// Looks through views that add or drop dims of size 1.
mlir::Value throughUnitDims(mlir::Value value, Covered &covered);

/// The tensor that `row` is the sum, the mean or the largest of, over `dims` (those of size 1
/// aside); null where it is not.
mlir::Value summedIn(mlir::Value row, const llvm::SmallBitVector &dims, Covered &covered);
mlir::Value averagedIn(mlir::Value row, const llvm::SmallBitVector &dims, Covered &covered);
mlir::Value largestIn(mlir::Value row, const llvm::SmallBitVector &dims, Covered &covered);
/// The same with the variance, around the mean and over the number of elements, if an op says so.
mlir::Value variedIn(mlir::Value row, const llvm::SmallBitVector &dims, Covered &covered);

/// Adds cast(op(cast x)) -> op(x) for the ops of these names, where f32 lies between two casts of
/// 16 bits: each op computes 16 bits in f32 and rounds once, as the outer cast did.
void addNarrowing(mlir::RewritePatternSet &patterns, llvm::ArrayRef<llvm::StringRef> ops);

} // namespace dlc

#endif // DLC_PASSES_RAISE_WRITTENARITHMETIC_H
