//===- ProductChoice.h - Is a matrix product one for cuBLASLt? -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The compiler has compared the call with the kernels, for each GPU and all shapes
// (codegen/cuda/schedule/contraction/LibraryChoice.h). Nothing is timed, so that one file gives one
// answer on one device, every time. A file of a compiler that did not compare them keeps its
// kernels.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_PRODUCTCHOICE_H
#define DLC_RUNTIME_CUDA_KERNELS_PRODUCTCHOICE_H

#include "runtime/core/package/Plan.h"

namespace dlc::cuda {

/// Whether a library takes the product at all: each factor lies along its rows or columns, none is
/// empty, extents are 32-bit numbers, and rows begin where 16-byte copies can.
bool isLibraryProduct(const rt::PlannedProduct &product);

/// Whether it is estimated to be faster there than by dlc's own kernel on a GPU of this
/// architecture (90 for sm_90).
bool paysAsLibraryProduct(const rt::PlannedProduct &product, int architecture);

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_PRODUCTCHOICE_H
