//===- ProductChoice.h - Is a matrix product one for cuBLASLt? -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate from shape and GPU: nothing is timed, so one file gives one answer on one device, every time. dlc's kernels
// serve every GPU since Ampere with one text. Where a product is small, what counts is how its few tiles are shared out,
// and the kernel was made for that; where it is large and fills the GPU for long, what counts is the rate of the inner
// loop, which NVIDIA tunes by hand for each GPU. The border is 20 microseconds of all multiprocessors at full rate:
// below it, kernels of the kind that Ampere introduced are as good on newer GPUs; above it, they stay behind what
// these can do (reports of others' measurements on Hopper: 60 to 65 % of its peak). The kernels of dlc's own for sm_90a may
// move the border there: nobody has measured them against the library yet. Our own measurements are to replace all this.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_PRODUCTCHOICE_H
#define DLC_RUNTIME_CUDA_PRODUCTCHOICE_H

#include "runtime/core/package/Plan.h"

namespace dlc::cuda {

/// What the estimate knows of a GPU.
struct ProductDevice {
  int architecture; ///< 90 for sm_90
  int multiprocessors;
};

/// Whether a library takes the product at all: each factor lies along its rows or columns, none is empty, extents are
/// 32-bit numbers, and rows begin where 16-byte copies can.
bool isLibraryProduct(const rt::PlannedProduct &product);

/// Whether it is estimated to be faster there than by dlc's own kernel.
bool paysAsLibraryProduct(const rt::PlannedProduct &product, const ProductDevice &device);

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_PRODUCTCHOICE_H
