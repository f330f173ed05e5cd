//===- DLSplit.cpp - Types and decompositions of ops that take tensors apart --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/DimNeeds.h"

using namespace mlir;

namespace dlc::dl {

//===- select, narrow -------------------------------------------------------------------------===//

LogicalResult SelectOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(x);
  int64_t index = adaptor.getIndex();
  if (auto size = asConstant(dims[*dim]); size && (index < -*size || index >= *size))
    return emitOptionalError(location, "'", getOperationName(), "' has index ", index, "; dim ",
                             *dim, " of ", text(adaptor.getX()), " has ", *size);
  dims.erase(dims.begin() + *dim);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
std::pair<Dim, Dim> takenBy(SelectOp select) {
  Dims from = dimsOf(select.getX());
  AffineExpr first = constantDim(select.getIndex(), select.getContext());
  if (static_cast<int64_t>(select.getIndex()) < 0)
    first = first + from[*wrapDim(std::nullopt, "", select.getDim(), from.size())];
  return {normalize(first), normalize(first + 1)};
}
LogicalResult SelectOp::verify() {
  auto [first, end] = takenBy(*this);
  return verifyWithin(*this, getX(), *wrapDim(std::nullopt, "", getDim(), dimsOf(getX()).size()),
                      first, end);
}
SmallVector<Value> SelectOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  return {b.select(getX(), dim, getIndex())};
}

LogicalResult NarrowOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(x);
  AffineExpr length = adaptor.getLength().getResult(0), start = adaptor.getStart().getResult(0);
  bool isFromEnd = asConstant(start).value_or(0) < 0;
  AffineExpr last = isFromEnd ? constantDim(0, x.getContext()) : dims[*dim];
  auto rest = asConstant(normalize(last - start - length)), size = asConstant(length);
  bool isBeyond = rest.value_or(0) < 0 || size.value_or(0) < 0;
  bool isBefore = isFromEnd && asConstant(normalize(dims[*dim] + start)).value_or(0) < 0;
  // Whether a symbolic part lies within the dim, its range says.
  if (isBeyond || isBefore || (!size && isFromEnd))
    return emitOptionalError(
        location, "'", getOperationName(), "' takes ", text(length, adaptor.getOperands()),
        " from ", text(start, adaptor.getOperands()), " on; dim ", *dim, " of ",
        text(adaptor.getX()), " has ", text(dims[*dim], adaptor.getOperands()));
  dims[*dim] = normalize(length);
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
std::pair<Dim, Dim> takenBy(NarrowOp narrow) {
  Dims from = dimsOf(narrow.getX());
  AffineExpr first = narrow.getStart().getResult(0);
  if (asConstant(first).value_or(0) < 0)
    first = first + from[*wrapDim(std::nullopt, "", narrow.getDim(), from.size())];
  return {normalize(first), normalize(first + narrow.getLength().getResult(0))};
}
LogicalResult NarrowOp::verify() {
  auto [first, end] = takenBy(*this);
  return verifyWithin(*this, getX(), *wrapDim(std::nullopt, "", getDim(), dimsOf(getX()).size()),
                      first, end);
}
SmallVector<Value> NarrowOp::decompose(Builder &b) {
  auto x = typeOf(getX());
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), x.getRank());
  AffineExpr length = getLength().getResult(0);
  auto number = asConstant(getStart().getResult(0));
  if (!number)
    return {b.make<PartOp>(getX(), static_cast<uint64_t>(dim), getStart(), getLength())};
  int64_t start = *number;
  if (auto size = asConstant(length)) {
    std::optional<int64_t> end;
    if (start >= 0 || start + *size != 0) // from the end to the end
      end = start + *size;
    return {b.slice(getX(), dim, start, end)};
  }
  auto rest = asConstant(normalize(dimsOf(getX())[dim] - start - length));
  if (!rest)
    return {b.make<PartOp>(getX(), static_cast<uint64_t>(dim), getStart(), getLength())};
  // Up to a distance from the end.
  return {b.slice(getX(), dim, start, *rest == 0 ? std::nullopt : std::optional(-*rest))};
}

//===- split, chunk, unbind -------------------------------------------------------------------===//

/// `sizes` as types of the pieces of dim `dim` of `x`.
static void piecesOf(RankedTensorType x, int64_t dim, ArrayRef<int64_t> sizes,
                     SmallVectorImpl<Type> &types) {
  for (int64_t size : sizes) {
    Dims dims = getDims(x);
    dims[dim] = constantDim(size, x.getContext());
    types.push_back(makeTensor(dims, x.getElementType()));
  }
}

/// The pieces of dim `dim` of `x`, counted from the end where negative, that the results are.
static SmallVector<Value> cut(Builder &b, Value x, int64_t dim, ValueRange results) {
  dim = *wrapDim(std::nullopt, "", dim, typeOf(x).getRank());
  SmallVector<Value> pieces;
  int64_t start = 0;
  for (Value result : results) {
    int64_t size = *asConstant(dimsOf(result)[dim]);
    pieces.push_back(b.slice(x, dim, start, start + size));
    start += size;
  }
  return pieces;
}

/// The static size of a dim that is taken apart; nullopt after an error.
static std::optional<int64_t> sizeOf(StringRef op, std::optional<Location> location, Value x,
                                     int64_t dim) {
  auto size = asConstant(dimsOf(x)[dim]);
  if (!size)
    (void)emitOptionalError(location, "'", op, "' takes apart dim ", dim, " of ", text(x),
                            "; expected a dim of static size");
  return size;
}

static SmallVector<int64_t> equalPieces(int64_t size, int64_t each) {
  SmallVector<int64_t> sizes;
  for (int64_t start = 0; start < size || sizes.empty(); start += each)
    sizes.push_back(std::min(each, size - start));
  return sizes;
}

/// More results than any model has; also what keeps a program of hostile numbers small.
static constexpr int64_t kMostPieces = 1024;

LogicalResult SplitOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  StringRef name = getOperationName();
  auto dim = wrapDim(location, name, adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  ArrayRef<int64_t> sections = adaptor.getSplitSizeOrSections();
  std::optional<int64_t> each = adaptor.getSplitSize();
  if (!each && sections.size() == 1)
    each = sections.front();
  auto size = sizeOf(name, location, adaptor.getX(), *dim);
  if (!size)
    return failure();
  int64_t total = 0;
  for (int64_t section : sections)
    total += section;
  if (each ? *each < 1
           : (total != *size || llvm::any_of(sections, [](int64_t s) { return s < 0; })))
    return emitOptionalError(location, "'", name, "' of dim ", *dim, " of ", text(adaptor.getX()),
                             each ? " has pieces of " : " has pieces of together ",
                             each ? *each : total, "; expected ",
                             each ? "1 or more" : std::to_string(*size));
  SmallVector<int64_t> sizes(sections);
  if (each && (*size + *each - 1) / *each <= kMostPieces)
    sizes = equalPieces(*size, *each);
  else if (each)
    sizes.assign(kMostPieces + 1, 0);
  if (static_cast<int64_t>(sizes.size()) > kMostPieces)
    return emitOptionalError(location, "'", name, "' makes more than ", kMostPieces, " pieces");
  piecesOf(x, *dim, sizes, types);
  return success();
}
SmallVector<Value> SplitOp::decompose(Builder &b) { return cut(b, getX(), getDim(), getResults()); }

LogicalResult ChunkOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  StringRef name = getOperationName();
  int64_t chunks = adaptor.getChunks();
  auto dim = wrapDim(location, name, adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  if (chunks < 1 || chunks > kMostPieces)
    return emitOptionalError(location, "'", name, "' makes ", chunks, " pieces; expected 1 to ",
                             kMostPieces);
  auto size = sizeOf(name, location, adaptor.getX(), *dim);
  if (!size)
    return failure();
  // PyTorch gives all of the chunks where there is nothing to share out.
  if (*size == 0)
    piecesOf(x, *dim, SmallVector<int64_t>(chunks, 0), types);
  else
    piecesOf(x, *dim, equalPieces(*size, (*size + chunks - 1) / chunks), types);
  return success();
}
SmallVector<Value> ChunkOp::decompose(Builder &b) { return cut(b, getX(), getDim(), getResults()); }

LogicalResult UnbindOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  StringRef name = getOperationName();
  auto dim = wrapDim(location, name, adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  auto size = sizeOf(name, location, adaptor.getX(), *dim);
  if (!size)
    return failure();
  if (*size > kMostPieces)
    return emitOptionalError(location, "'", name, "' makes more than ", kMostPieces, " pieces");
  Dims dims = getDims(x);
  dims.erase(dims.begin() + *dim);
  types.append(*size, makeTensor(dims, x.getElementType()));
  return success();
}
SmallVector<Value> UnbindOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  SmallVector<Value> slices;
  for (unsigned position = 0; position < getNumResults(); ++position)
    slices.push_back(b.select(getX(), dim, position));
  return slices;
}

//===- meshgrid, stack ------------------------------------------------------------------------===//

LogicalResult MeshgridOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                           Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName(), indexing = adaptor.getIndexing();
  if (indexing != "ij" && indexing != "xy")
    return emitOptionalError(location, "'", name, "' has indexing = '", indexing,
                             "'; expected 'ij' or 'xy'");
  Dims dims;
  for (Value tensor : adaptor.getTensors()) {
    auto type = typeOf(tensor);
    if (type.getRank() > 1)
      return emitOptionalError(location, "'", name, "' gets ", text(tensor),
                               "; expected tensors of at most one dim");
    dims.push_back(type.getRank() ? getDims(type)[0] : constantDim(1, type.getContext()));
  }
  if (indexing == "xy" && dims.size() > 1)
    std::swap(dims[0], dims[1]);
  for (Value tensor : adaptor.getTensors())
    types.push_back(makeTensor(dims, typeOf(tensor).getElementType()));
  return success();
}
SmallVector<Value> MeshgridOp::decompose(Builder &b) {
  SmallVector<Value> grids;
  for (auto [position, tensor] : llvm::enumerate(getTensors())) {
    Dims dims = dimsOf(getResults()[position]), line(dims.size(), constantDim(1, getContext()));
    unsigned along =
        getIndexing() == "xy" && position < 2 && dims.size() > 1 ? 1 - position : position;
    line[along] = dims[along];
    grids.push_back(b.broadcast(b.reshape(tensor, line), dims));
  }
  return grids;
}

LogicalResult StackOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  StringRef name = getOperationName();
  if (adaptor.getTensors().empty())
    return emitOptionalError(location, "'", name, "' needs at least one tensor");
  auto first = typeOf(adaptor.getTensors().front());
  auto dim = wrapDim(location, name, adaptor.getDim(), first.getRank() + 1);
  if (!dim)
    return failure();
  for (Value tensor : adaptor.getTensors())
    if (!sameShapeAndElement(first, tensor.getType()))
      return emitOptionalError(location, "'", name, "' cannot join ",
                               text(adaptor.getTensors().front()), " and ", text(tensor),
                               "; expected equal dims and dtypes");
  Dims dims = getDims(first);
  dims.insert(dims.begin() + *dim, constantDim(adaptor.getTensors().size(), context));
  types.push_back(makeTensor(dims, first.getElementType()));
  return success();
}
SmallVector<Value> StackOp::decompose(Builder &b) {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getY()).getRank());
  SmallVector<Value> rows;
  for (Value tensor : getTensors())
    rows.push_back(b.unsqueeze(tensor, dim));
  return {b.make<CatOp>(ValueRange(rows), dim)};
}

//===- hstack, vstack, dstack, column_stack ---------------------------------------------------===//

namespace {
/// The dims in which an op joins tensors, and the dim along which it does.
struct Joint {
  SmallVector<Dims> operands;
  int64_t dim;
};
} // namespace

/// `dims` with so many dims of size 1 before and after them.
static Dims withOnes(Dims dims, int64_t before, int64_t after, MLIRContext *context) {
  dims.insert(dims.begin(), std::max<int64_t>(before, 0), constantDim(1, context));
  dims.append(std::max<int64_t>(after, 0), constantDim(1, context));
  return dims;
}

/// Along dim 0 where the first tensor is a vector or a number, else along dim 1.
static Joint jointOf(HstackOp::Adaptor op, MLIRContext *context) {
  Joint joint{{}, typeOf(op.getTensors().front()).getRank() < 2 ? 0 : 1};
  for (Value tensor : op.getTensors())
    joint.operands.push_back(withOnes(dimsOf(tensor), 1 - typeOf(tensor).getRank(), 0, context));
  return joint;
}
static Joint jointOf(VstackOp::Adaptor op, MLIRContext *context) {
  Joint joint{{}, 0};
  for (Value tensor : op.getTensors())
    joint.operands.push_back(withOnes(dimsOf(tensor), 2 - typeOf(tensor).getRank(), 0, context));
  return joint;
}
static Joint jointOf(DstackOp::Adaptor op, MLIRContext *context) {
  Joint joint{{}, 2};
  for (Value tensor : op.getTensors())
    joint.operands.push_back(withOnes(dimsOf(tensor), 2 - typeOf(tensor).getRank(),
                                      typeOf(tensor).getRank() < 3 ? 1 : 0, context));
  return joint;
}
static Joint jointOf(ColumnStackOp::Adaptor op, MLIRContext *context) {
  Joint joint{{}, 1};
  for (Value tensor : op.getTensors())
    joint.operands.push_back(withOnes(dimsOf(tensor), 0, 2 - typeOf(tensor).getRank(), context));
  return joint;
}

template <typename Op>
static LogicalResult inferJoined(std::optional<Location> location, typename Op::Adaptor op,
                                 MLIRContext *context, SmallVectorImpl<Type> &types) {
  StringRef name = Op::getOperationName();
  if (op.getTensors().empty())
    return emitOptionalError(location, "'", name, "' needs at least one tensor");
  Joint joint = jointOf(op, context);
  RankedTensorType first = typeOf(op.getTensors().front());
  Dims dims = joint.operands.front();
  for (auto [tensor, of] : llvm::drop_begin(llvm::zip(op.getTensors(), joint.operands))) {
    bool fits =
        of.size() == dims.size() && typeOf(tensor).getElementType() == first.getElementType();
    for (size_t i = 0; fits && i < dims.size(); ++i)
      fits = static_cast<int64_t>(i) == joint.dim || of[i] == dims[i];
    if (!fits)
      return emitOptionalError(location, "'", name, "' cannot join ", text(op.getTensors().front()),
                               " and ", text(tensor), " along dim ", joint.dim,
                               "; expected one dtype, and equal sizes of the other dims");
    dims[joint.dim] = normalize(dims[joint.dim] + of[joint.dim]);
  }
  types.push_back(makeTensor(dims, first.getElementType()));
  return success();
}

template <typename Op> static SmallVector<Value> decomposeJoined(Op op, Builder &b) {
  Joint joint = jointOf(typename Op::Adaptor(op), op.getContext());
  SmallVector<Value> parts;
  for (auto [tensor, dims] : llvm::zip(op.getTensors(), joint.operands))
    parts.push_back(b.reshape(tensor, dims));
  return {b.make<CatOp>(ValueRange(parts), joint.dim)};
}

LogicalResult HstackOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferJoined<HstackOp>(location, adaptor, context, types);
}
SmallVector<Value> HstackOp::decompose(Builder &b) { return decomposeJoined(*this, b); }

LogicalResult VstackOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferJoined<VstackOp>(location, adaptor, context, types);
}
SmallVector<Value> VstackOp::decompose(Builder &b) { return decomposeJoined(*this, b); }

LogicalResult DstackOp::inferReturnTypes(MLIRContext *context, std::optional<Location> location,
                                         Adaptor adaptor, SmallVectorImpl<Type> &types) {
  return inferJoined<DstackOp>(location, adaptor, context, types);
}
SmallVector<Value> DstackOp::decompose(Builder &b) { return decomposeJoined(*this, b); }

LogicalResult ColumnStackOp::inferReturnTypes(MLIRContext *context,
                                              std::optional<Location> location, Adaptor adaptor,
                                              SmallVectorImpl<Type> &types) {
  return inferJoined<ColumnStackOp>(location, adaptor, context, types);
}
SmallVector<Value> ColumnStackOp::decompose(Builder &b) { return decomposeJoined(*this, b); }

} // namespace dlc::dl
