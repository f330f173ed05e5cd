//===- Combine.h - Accumulators of reductions ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PLAN_COMBINE_H
#define DLC_CODEGEN_PLAN_COMBINE_H

#include "ir/interfaces/LoopNest.h"
#include "ir/scalar/Scalar.h"

namespace dlc::codegen {

/// The accumulator of no terms: 0, 1, or the lowest (highest) value for max (min). For argmax and
/// argmin, of the value part.
mlir::Value neutral(mlir::OpBuilder &builder, mlir::Location loc, Combiner combiner,
                    mlir::Type type, ScalarKind kind);
/// One step of add, mul, max or min, on scalars or vectors.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc, Combiner combiner,
                    ScalarKind kind, mlir::Value acc, mlir::Value term);

/// The accumulator of argmax and argmin: the best value and its position, both scalars or both
/// vectors. Start from {neutral, kNoPosition}.
struct Best {
  mlir::Value value, position;
};
/// Position of no element: larger than any, so that real elements win ties against the neutral
/// value.
inline constexpr int64_t kNoPosition = INT64_MAX;
/// The better of two: the larger value (of argmin the smaller one), NaN before all, the smaller
/// position among equals. Associative and commutative, so that any order of combination gives the
/// same answer. Positions are index or integers.
Best combineBest(mlir::OpBuilder &builder, mlir::Location loc, Combiner combiner, ScalarKind kind,
                 Best a, Best b);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PLAN_COMBINE_H
