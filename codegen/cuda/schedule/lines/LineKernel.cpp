//===- LineKernel.cpp - A line of a tensor in a block, or in a thread ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/lines/LineKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

AffineExpr LineKernel::lines() const {
  SmallVector<AffineExpr> others(dl::getDims(x));
  others.erase(others.begin() + work.dim);
  return dl::product(others, k.b.getContext());
}

bool LineKernel::haveManyNeighbours(int64_t many) const {
  SmallVector<AffineExpr> inner = llvm::to_vector(llvm::drop_begin(dl::getDims(x), work.dim + 1));
  return dl::asConstant(dl::product(inner, k.b.getContext())).value_or(many) >= many;
}

void LineKernel::bindLine(Value number) {
  dl::Dims dims = dl::getDims(x);
  indices.assign(dims.size(), {});
  along = indices[work.dim] = k.math.addLoop(dims[work.dim]);
  bool isOutermost = true;
  unsigned outermost = work.dim == 0 ? 1 : 0;
  for (unsigned dim = dims.size(); dim-- > 0;) {
    if (dim == work.dim)
      continue;
    isOutermost = dim == outermost;
    Value extent = k.index(dims[dim]);
    Value own = isOutermost ? number : k.mod(number, extent);
    indices[dim] = k.math.addLoop(dims[dim], own);
    if (!isOutermost)
      number = k.div(number, extent);
  }
}

Value LineKernel::load(Value place) {
  k.math.bindLoop(along, place);
  return k.read(k.input(0), {k.index(k.body.offset(x, indices))});
}

void LineKernel::store(Value place, Value stored) {
  k.math.bindLoop(along, place);
  k.write(k.output(0), {k.index(k.body.offset(y, indices))}, stored);
}

Value LineKernel::least(Value a, Value b) { return k.b.createOrFold<arith::MinSIOp>(k.loc, a, b); }
Value LineKernel::subtract(Value a, Value b) {
  return k.b.createOrFold<arith::SubIOp>(k.loc, a, b);
}
Value LineKernel::is(arith::CmpIPredicate predicate, Value a, Value b) {
  return arith::CmpIOp::create(k.b, k.loc, predicate, a, b);
}

dlx::PlanAttr planOfLines(PlanQuestion &question, LineWork::Kind work, StringRef schedule,
                          double passes) {
  if (question.kind() != dlx::KernelKind::lines ||
      lineOpOf(question.kernel()).getLineWork().kind != work)
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), schedule,
                            passes * question.nanosecondsOnce(/*share=*/1), {});
}

} // namespace dlc::codegen
