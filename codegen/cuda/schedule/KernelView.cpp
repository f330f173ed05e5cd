//===- KernelView.cpp - What schedules know of a kernel before they build it --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/KernelView.h"

using namespace mlir;

namespace dlc::codegen {

static SmallVector<dl::Range> rangesIn(const std::optional<ShapePart> &part,
                                       ArrayRef<dl::Range> symbols) {
  return part ? symbolsWithin(*part, symbols) : SmallVector<dl::Range>(symbols);
}

KernelView::KernelView(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols,
                       const std::optional<ShapePart> &part, BodyEmitter::Load load)
    : math(kernel.getContext(), rangesIn(part, symbols)), body(kernel, math, std::move(load)),
      kernel(kernel), part(part), symbols(rangesIn(part, symbols)) {}

std::optional<int64_t> KernelView::largest(AffineExpr expr) const {
  auto values = range(expr);
  return values ? std::optional(values->max) : std::nullopt;
}

std::optional<int64_t> KernelView::smallest(AffineExpr expr) const {
  auto values = range(expr);
  return values ? std::optional(values->min) : std::nullopt;
}

int64_t KernelView::usual(AffineExpr expr, int64_t guess) const {
  auto size = dl::usualOf(withPart(expr), symbols);
  return std::min(size ? *size : largest(expr).value_or(guess), guess);
}

llvm::SmallBitVector KernelView::pinnedDims(ArrayRef<AffineExpr> variables,
                                            ArrayRef<AffineExpr> parallel,
                                            ArrayRef<AffineExpr> reduction) {
  llvm::SmallBitVector pinned(variables.size());
  auto isChecked = [](const Access &access) { return access.checked || access.isComputed(); };
  for (auto op : kernel.getBodyBlock().getOps<LoopNestOpInterface>()) {
    LoopNest nest = op.getLoopNest();
    if (llvm::any_of(nest.terms, isChecked) || llvm::any_of(nest.results, isChecked)) {
      pinned.set();
      return pinned;
    }
  }
  for (unsigned dim = 0; dim < variables.size(); ++dim)
    pinned[dim] = body.needsScalarAlong(variables[dim], parallel, reduction);
  return pinned;
}

bool KernelView::forEachSelected(bool isOfRow, llvm::function_ref<void()> visit) {
  bool any = false;
  for (unsigned number = 0; number < body.getResults().size(); ++number) {
    if (body.isOfRow(number) != isOfRow)
      continue;
    any = true;
    body.select(number);
    visit();
  }
  body.select(0);
  return any;
}

bool KernelView::forEachResult(llvm::function_ref<void()> visit) {
  return forEachSelected(/*isOfRow=*/false, visit);
}

bool KernelView::forEachResultOfRow(llvm::function_ref<void()> visit) {
  return forEachSelected(/*isOfRow=*/true, visit);
}

unsigned KernelView::resultBits() const {
  unsigned bits = 0;
  for (Value result : body.getResults())
    bits =
        std::max(bits, storageType(getElementTypeOrSelf(result.getType())).getIntOrFloatBitWidth());
  return bits;
}

bool KernelView::mayExchange() const {
  bool may = true;
  dlx::KernelOp kernel = body.getKernel();
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    may &= !launch.getInit() || launch.getKernel() != kernel.getSymName();
  });
  return may;
}

bool KernelView::isWeight(unsigned input) const {
  bool isLaunched = false, is = true;
  dlx::KernelOp kernel = body.getKernel();
  kernel->getParentOp()->walk([&](dlx::LaunchOp launch) {
    if (launch.getKernel() != kernel.getSymName())
      return;
    Value buffer = launch.getInputs()[input];
    while (auto view = buffer.getDefiningOp<dlx::ViewOp>())
      buffer = view.getSource();
    auto alloc = buffer.getDefiningOp<dlx::AllocOp>();
    is &= buffer.getDefiningOp<dlx::WeightOp>() || (alloc && alloc.getPersistent());
    isLaunched = true;
  });
  return isLaunched && is;
}

unsigned KernelView::inputBits(unsigned input) const {
  Type type = body.getKernel().getBodyBlock().getArgument(input).getType();
  return storageType(getElementTypeOrSelf(type)).getIntOrFloatBitWidth();
}

} // namespace dlc::codegen
