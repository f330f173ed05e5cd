//===- SampleGradients.cpp - Derivatives of ops that resample -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

/// Returns the weights of the op along one spatial dim, [size of x, size of the result]: the op
/// applied to a unit matrix.
static Term weightsAlong(Derivation &d, InterpolateOp op, size_t spatial) {
  MLIRContext *context = d.b.getContext();
  size_t count = d.dims().size() - 2;
  AffineExpr size = d.dims()[2 + spatial];
  Dims dims(count + 2, d.dim(1)), to(count, d.dim(1));
  dims[0] = dims[2 + spatial] = size;
  AffineMapAttr sizes;
  if (auto given = op.getSize()) {
    to[spatial] = given->getResult(given->getNumResults() == 1 ? 0 : spatial);
    sizes = AffineMapAttr::get(dimsMap(to, context));
  }
  DenseF64ArrayAttr factors;
  if (auto given = op.getScaleFactor()) {
    SmallVector<double> scales(count, 1.0);
    scales[spatial] = (*given)[given->size() == 1 ? 0 : spatial];
    factors = d.b.getDenseF64ArrayAttr(scales);
  }
  Term unit(d.b.make<EyeOp>(AffineMapAttr::get(dimsMap({size}, context)), AffineMapAttr(),
                            TypeAttr::get(d.dtype())),
            d.b);
  Term made = unit.reshape(dims).make<InterpolateOp>(
      sizes, factors, op.getModeAttr(), op.getAlignCornersAttr(), op.getRecomputeScaleFactorAttr());
  return made.reshape({size, made.dims()[2 + spatial]});
}

/// Each spatial dim is resampled by itself.
static void derive(Derivation &d, InterpolateOp op) {
  auto rank = d.rank();
  Term dx = d.dy();
  for (int64_t axis = 2; axis < rank; ++axis) {
    auto loops = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    loops[axis] = rank;
    Term weights = weightsAlong(d, op, static_cast<size_t>(axis - 2));
    dx = dx.make<ContractOp>(weights, ArrayRef<int64_t>(loops), ArrayRef<int64_t>({axis, rank}),
                             static_cast<uint64_t>(rank));
  }
  d.add(0, dx);
}

ArrayRef<GradientRule> sampleGradients() { return rulesOf<InterpolateOp>(); }

} // namespace dlc::dl
