//===- ProductChoice.cpp - Is a matrix product one for cuBLASLt? ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/ProductChoice.h"

#include "ir/machine/GpuModel.h"
#include "runtime/core/DType.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::cuda;

/// Where copies of 16 bytes can begin.
static constexpr int64_t kCopyBytes = 16;

/// The step between neighbouring rows or columns of a matrix that lies along the other; 0 where it
/// lies along none.
static int64_t leadingStep(const rt::PlannedMatrix &matrix, int64_t rows, int64_t columns) {
  if (matrix.column == 1 && matrix.row >= columns)
    return matrix.row;
  return matrix.row == 1 && matrix.column >= rows ? matrix.column : 0;
}

bool dlc::cuda::isLibraryProduct(const rt::PlannedProduct &product) {
  int64_t elements = kCopyBytes / rt::bytesOf(product.dtype);
  auto suits = [&](const rt::PlannedMatrix &matrix, int64_t rows, int64_t columns) {
    int64_t step = leadingStep(matrix, rows, columns);
    return step > 0 && step <= INT32_MAX && step % elements == 0 && matrix.batch % elements == 0;
  };
  auto isExtent = [](int64_t extent) { return extent > 0 && extent <= INT32_MAX; };
  return isExtent(product.rows) && isExtent(product.columns) && isExtent(product.depth) &&
         isExtent(product.batch) && suits(product.a, product.rows, product.depth) &&
         suits(product.b, product.depth, product.columns) && product.target.column == 1 &&
         suits(product.target, product.rows, product.columns);
}

bool dlc::cuda::paysAsLibraryProduct(const rt::PlannedProduct &product, int architecture) {
  auto described = uint32_t(gpuModelOf(architecture).architecture);
  return isLibraryProduct(product) &&
         std::any_of(product.gpus.begin(), product.gpus.end(),
                     [&](uint32_t gpu) { return gpu == 0 || gpu == described; });
}
