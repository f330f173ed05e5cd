//===- LoopNest.cpp - What an op computes, as loops over its result -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interfaces/LoopNest.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Operation.h"

using namespace mlir;

#include "ir/interfaces/LoopNestInterface.cpp.inc"

namespace dlc {

llvm::SmallBitVector LoopNest::innerDims() const {
  llvm::SmallBitVector inner(parallel.size());
  if (isMap())
    return inner;
  inner.set();
  for (const Access &access : terms)
    for (unsigned dim = 0; dim < parallel.size(); ++dim)
      if (access.map.isFunctionOfDim(dim) || readsIndex(dim))
        inner.reset(dim);
  return inner;
}

int64_t LoopNest::channelsOfGroup(unsigned dim) const {
  if (!isProduct || terms.size() != 2)
    return 0;
  const AffineMap &map = terms[0].map;
  AffineExpr channel = getAffineDimExpr(dim, map.getContext());
  int64_t found = 0;
  for (AffineExpr index : map.getResults()) {
    if (!index.isFunctionOfDim(dim))
      continue;
    // index = (channel floordiv size) * size + k, where k counts the channels of a group.
    int64_t size = 0;
    for (auto [loop, extent] : llvm::enumerate(reduction)) {
      auto steps = dl::asConstant(extent);
      AffineExpr step = getAffineDimExpr(parallel.size() + loop, map.getContext());
      if (steps && *steps > 0 &&
          simplifyAffineExpr(index - (channel.floorDiv(*steps) * *steps + step), map.getNumDims(),
                             map.getNumSymbols()) == getAffineConstantExpr(0, map.getContext()))
        size = *steps;
    }
    if (size == 0 || found != 0)
      return 0;
    found = size;
  }
  return found;
}

bool LoopNest::hasComputed() const {
  auto isComputed = [](const Access &access) { return access.isComputed(); };
  return llvm::any_of(terms, isComputed) || llvm::any_of(results, isComputed);
}

bool LoopNest::isWindow() const {
  auto reads = [](AffineExpr index, unsigned begin, unsigned end) {
    for (unsigned loop = begin; loop < end; ++loop)
      if (index.isFunctionOfDim(loop))
        return true;
    return false;
  };
  for (const Access &access : terms)
    for (AffineExpr index : access.map.getResults())
      if (reads(index, 0, parallel.size()) && reads(index, parallel.size(), numLoops()))
        return true;
  return false;
}

Value BodyContext::splat(Value scalar, VectorType type) {
  return vector::BroadcastOp::create(builder, loc, type, scalar);
}

Value BodyContext::placeIn(ArrayRef<AffineExpr> dims) {
  if (place)
    return place;
  Value at;
  for (auto [dim, index] : llvm::zip_equal(dims, parallel))
    at = at ? arith::AddIOp::create(builder, loc,
                                    arith::MulIOp::create(builder, loc, at, extent(dim)), index)
                  .getResult()
            : index;
  return at ? at : arith::ConstantIndexOp::create(builder, loc, 0).getResult();
}

Value BodyContext::lane(Value value) {
  return isa<VectorType>(value.getType()) ? vector::ExtractOp::create(builder, loc, value, 0)
                                          : value;
}

Type computeType(Type elementType) {
  if (isa<FloatType>(elementType) && elementType.getIntOrFloatBitWidth() < 32)
    return Float32Type::get(elementType.getContext());
  if (auto integer = dyn_cast<IntegerType>(elementType)) {
    unsigned width = integer.getWidth();
    return IntegerType::get(elementType.getContext(), width == 1 ? 1 : std::max(width, 8u));
  }
  return elementType;
}

AffineMap identityAccess(unsigned rank, MLIRContext *context) {
  SmallVector<AffineExpr> results;
  for (unsigned dim = 0; dim < rank; ++dim)
    results.push_back(getAffineDimExpr(dim, context));
  return AffineMap::get(rank, dl::kMaxSymbols, results, context);
}

LoopNest elementwiseNest(Operation *op) {
  LoopNest nest;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  nest.parallel = dl::getDims(type);
  nest.indexDims.resize(nest.parallel.size());
  for (unsigned operand = 0; operand < op->getNumOperands(); ++operand)
    nest.results.push_back({operand, identityAccess(type.getRank(), op->getContext())});
  return nest;
}

} // namespace dlc
