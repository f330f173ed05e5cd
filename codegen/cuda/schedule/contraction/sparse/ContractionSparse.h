//===- ContractionSparse.h - Products with 2:4 weights ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_SPARSE_CONTRACTIONSPARSE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_SPARSE_CONTRACTIONSPARSE_H

#include "codegen/cuda/schedule/contraction/Contraction.h"

namespace dlc::codegen {

/// The inputs of the kernel that dl.expand_two_of_four makes the columns of a product of.
struct SparseColumns {
  unsigned values, places;
};

/// Those of `c` where sparse tensor cores can multiply by the columns: neighbours of the result are
/// neighbours along them, the elements have 16 bits, and the sums a multiple of 64 terms. Else
/// nullopt.
std::optional<SparseColumns> sparseColumnsOf(const Contraction &c);

/// Clocks that a product with a matrix of floats of 16 bits is estimated to take: of the fastest
/// kernel for a whole matrix, and of that for a 2:4 one, 0 where there is none.
std::pair<double, double> clocksOfTwoOfFour(const ProductShape &shape, const GpuModel &gpu);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_SPARSE_CONTRACTIONSPARSE_H
