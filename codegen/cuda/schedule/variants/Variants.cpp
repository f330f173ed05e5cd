//===- Variants.cpp - Kernels that take another's place -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/variants/Variants.h"

using namespace mlir;

namespace dlc::codegen {

dlx::KernelOp addVariant(dlx::KernelOp kernel, const std::optional<ShapePart> &shapes,
                         int64_t gpu) {
  std::string name = kernel.getSymName().str();
  if (shapes)
    name += "_for" + std::to_string(shapes->range.min);
  if (shapes && shapes->range.min != shapes->range.max)
    name += "to" + std::to_string(shapes->range.max);
  if (gpu != 0)
    name += "_sm_" + std::to_string(gpu) + "a";
  unsigned earlier = kernel.getVariants() ? kernel.getVariants()->size() : 0;
  OpBuilder builder(kernel->getContext());
  builder.setInsertionPoint(kernel->getBlock(), std::next(kernel->getIterator(), 1 + earlier));
  auto other = cast<dlx::KernelOp>(builder.clone(*kernel));
  other.setSymName(name);
  other.removeVariantsAttr();
  other.removeOtherPlansAttr();
  return other;
}

void recordVariant(dlx::KernelOp kernel, dlx::KernelOp other,
                   const std::optional<ShapePart> &shapes, int64_t gpu) {
  MLIRContext *context = kernel.getContext();
  AffineMapAttr of;
  DenseI64ArrayAttr limits;
  if (shapes) {
    of = AffineMapAttr::get(dl::dimsMap({shapes->extent}, context));
    limits = DenseI64ArrayAttr::get(context, {shapes->range.min, shapes->range.max});
  }
  SmallVector<Attribute> variants;
  if (ArrayAttr earlier = kernel.getVariantsAttr())
    llvm::append_range(variants, earlier);
  variants.push_back(
      dlx::VariantAttr::get(context, FlatSymbolRefAttr::get(other), of, limits, gpu));
  kernel.setVariantsAttr(ArrayAttr::get(context, variants));
}

} // namespace dlc::codegen
