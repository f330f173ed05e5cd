//===- DLDistance.cpp - Types and decompositions of distances -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc::dl {

/// The dims to which two operands of one dtype broadcast; nullopt after an error.
static std::optional<Dims> inferCommonDims(StringRef op, std::optional<Location> location,
                                           ValueRange operands) {
  if (failed(checkSameElement(location, op, operands)))
    return std::nullopt;
  auto dims = commonDims(dimsOf(operands[0]), dimsOf(operands[1]));
  if (!dims)
    (void)emitOptionalError(location, "'", op, "' cannot broadcast ", text(operands[0]), " and ",
                            text(operands[1]), " to each other");
  return dims;
}

/// `x` in the dtype that it is computed in.
static Value widened(Builder &b, Value x) {
  return b.cast(x, computeType(typeOf(x).getElementType()));
}

/// The p-norm of `x1` - `x2` + `eps` in `dims`, over its last dim.
static Value distance(Builder &b, Value x1, Value x2, ArrayRef<AffineExpr> dims, const APFloat &p,
                      double eps, bool keepdim) {
  Value difference =
      b.make<SubOp>(b.broadcast(widened(b, x1), dims), b.broadcast(widened(b, x2), dims));
  if (eps != 0)
    difference = b.make<AddOp>(difference, b.fullLike(difference, eps));
  int64_t last = static_cast<int64_t>(dims.size()) - 1;
  return b.cast(b.make<NormOp>(difference, p, last, keepdim), typeOf(x1).getElementType());
}

LogicalResult CosineSimilarityOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims = inferCommonDims(getOperationName(), location, adaptor.getOperands());
  if (!dims)
    return failure();
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), dims->size());
  if (!dim)
    return failure();
  dims->erase(dims->begin() + *dim);
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX1()).getElementType()));
  return success();
}

SmallVector<Value> CosineSimilarityOp::decompose(Builder &b) {
  Dims dims = *commonDims(dimsOf(getX1()), dimsOf(getX2()));
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), dims.size());
  double eps = getEps().convertToDouble();
  Value x1 = b.broadcast(widened(b, getX1()), dims), x2 = b.broadcast(widened(b, getX2()), dims);
  auto norm = [&](Value x) {
    Value y = b.make<NormOp>(x, APFloat(2.0), dim, /*keepdim=*/false);
    return b.make<MaximumOp>(y, b.fullLike(y, eps));
  };
  Value product = b.make<SumOp>(b.make<MulOp>(x1, x2), dim, /*keepdim=*/false, TypeAttr());
  Value cosine = b.make<DivOp>(product, b.make<MulOp>(norm(x1), norm(x2)));
  return {b.cast(cosine, typeOf(getY()).getElementType())};
}

LogicalResult PairwiseDistanceOp::inferReturnTypes(MLIRContext *context,
                                                   std::optional<Location> location,
                                                   Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto dims = inferCommonDims(getOperationName(), location, adaptor.getOperands());
  if (!dims)
    return failure();
  if (dims->empty())
    return emitOptionalError(location, "'", getOperationName(), "' needs vectors, got ",
                             text(adaptor.getX1()));
  dims->pop_back();
  if (adaptor.getKeepdim())
    dims->push_back(constantDim(1, context));
  types.push_back(makeTensor(*dims, typeOf(adaptor.getX1()).getElementType()));
  return success();
}

SmallVector<Value> PairwiseDistanceOp::decompose(Builder &b) {
  Dims dims = *commonDims(dimsOf(getX1()), dimsOf(getX2()));
  return {distance(b, getX1(), getX2(), dims, getP(), getEps().convertToDouble(), getKeepdim())};
}

/// [..., P, R, M] of x1 [..., P, M] and x2 [..., R, M]; nullopt where the leading dims do not
/// broadcast to each other.
static std::optional<Dims> dimsOfPairs(Value x1, Value x2) {
  Dims rows = dimsOf(x1), columns = dimsOf(x2);
  auto dims = commonDims(Dims(ArrayRef(rows).drop_back(2)), Dims(ArrayRef(columns).drop_back(2)));
  if (dims)
    dims->append({rows[rows.size() - 2], columns[columns.size() - 2], rows.back()});
  return dims;
}

LogicalResult CdistOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (failed(checkSameElement(location, name, adaptor.getOperands())))
    return failure();
  RankedTensorType x1 = typeOf(adaptor.getX1()), x2 = typeOf(adaptor.getX2());
  if (x1.getRank() < 2 || x2.getRank() < 2 || getDims(x1).back() != getDims(x2).back())
    return emitOptionalError(location, "'", name, "' needs x1 [..., P, M] and x2 [..., R, M], got ",
                             text(adaptor.getX1()), " and ", text(adaptor.getX2()));
  if (!(adaptor.getP().convertToDouble() >= 0))
    return emitOptionalError(location, "'", name, "' has p = ", text(adaptor.getP()),
                             "; expected 0 or more");
  auto dims = dimsOfPairs(adaptor.getX1(), adaptor.getX2());
  if (!dims)
    return emitOptionalError(location, "'", name, "' cannot broadcast the leading dims of ",
                             text(adaptor.getX1()), " and ", text(adaptor.getX2()));
  dims->pop_back();
  types.push_back(makeTensor(*dims, x1.getElementType()));
  return success();
}

SmallVector<Value> CdistOp::decompose(Builder &b) {
  Dims dims = *dimsOfPairs(getX1(), getX2());
  return {distance(b, b.unsqueeze(getX1(), -2), b.unsqueeze(getX2(), -3), dims, getP(), 0,
                   /*keepdim=*/false)};
}

} // namespace dlc::dl
