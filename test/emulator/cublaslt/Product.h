//===- Product.h - matrix products on the host ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "runtime/cuda/driver/CublasLtAbi.h"

namespace dlc::cuda {

/// A stack of matrices that lie column by column.
struct Matrix {
  BlasType type;
  void *data;
  int64_t rows, columns, step, batchStride;
};

size_t bytesOf(BlasType type);

/// d[i] = alpha * op(a[i]) * op(b[i]) for each i below batch: sums in f32, in the order of k, each
/// product rounded with its sum; rounded once to d's type. `tf32`: f32 factors are rounded to 11
/// significant bits.
void multiply(const Matrix &a, bool transposeA, const Matrix &b, bool transposeB, const Matrix &d,
              float alpha, int64_t batch, bool tf32);

} // namespace dlc::cuda
