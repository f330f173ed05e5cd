//===- DLSlice.cpp - Parts of a tensor, borders, and tensors joined -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/base/DimNeeds.h"
#include "ir/dl/shape/ConcatParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <limits>

using namespace mlir;

namespace dlc::dl {

//===- slice ----------------------------------------------------------------------------------===//

/// First index and extent of a sliced dim, after Python's clamping. Symbolic dims are not clamped:
/// an end beyond the dim over part of its range is refused by the caller.
static std::pair<AffineExpr, AffineExpr> sliceBounds(AffineExpr size, std::optional<int64_t> start,
                                                     std::optional<int64_t> end, int64_t step) {
  MLIRContext *context = size.getContext();
  auto clamp = [&](std::optional<int64_t> bound, int64_t otherwise) -> AffineExpr {
    if (auto constant = asConstant(size)) {
      int64_t value = bound.value_or(otherwise == 0 ? 0 : *constant);
      if (value < 0)
        value += *constant;
      return constantDim(std::clamp<int64_t>(value, 0, *constant), context);
    }
    if (!bound)
      return otherwise == 0 ? constantDim(0, context) : size;
    return *bound < 0 ? size + *bound : constantDim(*bound, context);
  };
  AffineExpr first = clamp(start, 0), last = clamp(end, -1);
  AffineExpr extent = quotientUp(last - first, step);
  if (asConstant(extent).value_or(0) < 0)
    extent = constantDim(0, context);
  return {normalize(first), extent};
}

LogicalResult SliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                        Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = cast<RankedTensorType>(adaptor.getX().getType());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  if (static_cast<int64_t>(adaptor.getStep()) < 1)
    return emitOptionalError(location, "'", getOperationName(), "' has step ",
                             static_cast<int64_t>(adaptor.getStep()), "; expected 1 or more");
  Dims dims = getDims(x);
  dims[*dim] =
      sliceBounds(dims[*dim], adaptor.getStart(), adaptor.getEnd(), adaptor.getStep()).second;
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

bool canBeEqual(Value x, AffineExpr a, AffineExpr b) {
  Region *region = x.getParentRegion();
  auto module = region ? region->getParentOfType<ModuleOp>() : ModuleOp();
  if (!module || (asConstant(a) && asConstant(b)))
    return false;
  SmallVector<Range> symbols = symbolRanges(module);
  // Products beyond 64 bits have no range.
  auto difference = rangeOf(normalize(a - b), symbols);
  return !symbols.empty() && (!difference || (difference->min <= 0 && difference->max >= 0));
}

LogicalResult verifyWithin(Operation *op, Value x, int64_t dim, AffineExpr first, AffineExpr last) {
  AffineExpr size = dimsOf(x)[dim];
  auto module = op->getParentOfType<ModuleOp>();
  if ((asConstant(size) && asConstant(normalize(last))) || !module)
    return success(); // static bounds are clamped or refused where the type is inferred
  SmallVector<Range> symbols = symbolRanges(module);
  if (symbols.empty())
    return success(); // a part of a model
  auto begins = rangeOf(normalize(first), symbols), rest = rangeOf(normalize(size - last), symbols);
  if (begins && rest && begins->min >= 0 && rest->min >= 0)
    return success();
  // The runtime checks it (needsOf), unless it never fits.
  if (begins && rest && begins->max >= 0 && rest->max >= 0 &&
      isa<SliceOp, SelectOp, NarrowOp, PartOp>(op) &&
      isCheckedWhenBound(size, normalize(last), module, normalize(first)))
    return success();
  std::string begin = text(normalize(first), op), end = text(normalize(last - 1), op);
  std::string what =
      begin == end ? "takes index " + begin : "takes indices " + begin + " to " + end;
  what += " of dim " + std::to_string(dim) + " of " + text(x);
  auto error = op->emitOpError(what) << ", which it may not have";
  bool isBefore = !begins || begins->min < 0;
  if (auto ends = asConstant(size) ? rangeOf(normalize(last), symbols) : std::nullopt)
    error << ": " << text(normalize(last), op) << " is " << ends->max << " or less";
  else if (auto sizes = rangeOf(size, symbols))
    error << ": " << text(size, op) << " is " << sizes->min << " or more";
  adviseRange(error, {normalize(isBefore ? first : size - last), 0, what}, module);
  return error;
}

std::pair<Dim, Dim> takenBy(SliceOp slice) {
  Dims from = dl::getDims(typeOf(slice.getX()));
  AffineExpr size = from[*wrapDim(std::nullopt, "", slice.getDim(), from.size())];
  auto start = slice.getStart(), last = slice.getEnd();
  auto step = static_cast<int64_t>(slice.getStep());
  auto [first, extent] = sliceBounds(size, start, last, step);
  if (isConstant(extent, 0))
    return {};
  // A quotient rounded up says no more of the end than that it lies before the slice's own.
  AffineExpr end = asConstant(extent) ? first + (extent - 1) * step + 1
                                      : first + sliceBounds(size, start, last, /*step=*/1).second;
  return {first, normalize(end)};
}

LogicalResult SliceOp::verify() {
  auto [first, end] = takenBy(*this);
  auto rank = static_cast<int64_t>(dimsOf(getX()).size());
  return first ? verifyWithin(*this, getX(), *wrapDim(std::nullopt, "", getDim(), rank), first, end)
               : success();
}

LoopNest SliceOp::getLoopNest() {
  Dims from = dl::getDims(typeOf(getX()));
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), from.size());
  SmallVector<AffineExpr> map;
  for (unsigned i = 0; i < from.size(); ++i)
    map.push_back(getAffineDimExpr(i, getContext()));
  map[dim] = map[dim] * getStep() + sliceBounds(from[dim], getStart(), getEnd(), getStep()).first;
  return moveNest(*this, map);
}

OpFoldResult SliceOp::fold(FoldAdaptor) {
  // Equal dims mean the whole of x: a slice never repeats or reverses.
  return getX().getType() == getType() ? OpFoldResult(getX()) : OpFoldResult();
}

//===- part -----------------------------------------------------------------------------------===//

LogicalResult PartOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                       Adaptor adaptor, SmallVectorImpl<Type> &types) {
  RankedTensorType x = typeOf(adaptor.getX());
  auto dim = static_cast<int64_t>(adaptor.getDim());
  AffineExpr start = adaptor.getStart().getResult(0);
  if (dim < 0 || dim >= x.getRank() || asConstant(start).value_or(0) < 0)
    return emitOptionalError(location, "'", getOperationName(), "' has dim ", dim, " and start ",
                             text(start, adaptor.getOperands()), "; expected a dim of ",
                             text(adaptor.getX()), " and a start of 0 or more");
  Dims dims = getDims(x);
  dims[dim] = normalize(adaptor.getLength().getResult(0));
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}
std::pair<Dim, Dim> takenBy(PartOp part) {
  AffineExpr first = part.getStart().getResult(0);
  return {normalize(first), normalize(first + part.getLength().getResult(0))};
}
LogicalResult PartOp::verify() {
  if (getDim() >= static_cast<uint64_t>(typeOf(getX()).getRank()))
    return success(); // said where the type is inferred
  auto [first, end] = takenBy(*this);
  return verifyWithin(*this, getX(), getDim(), first, end);
}
LoopNest PartOp::getLoopNest() {
  SmallVector<AffineExpr> map;
  for (int64_t i = 0; i < typeOf(getX()).getRank(); ++i)
    map.push_back(getAffineDimExpr(i, getContext()));
  map[getDim()] = map[getDim()] + getStart().getResult(0);
  return moveNest(*this, map);
}

//===- pad ------------------------------------------------------------------------------------===//

/// The widths of one dim.
static std::pair<AffineExpr, AffineExpr> widthsOf(AffineMap pad, unsigned pair) {
  return {pad.getResult(2 * pair), pad.getResult(2 * pair + 1)};
}

/// How many elements negative widths crop at both ends.
static int64_t croppedBy(int64_t low, int64_t high) {
  return std::max<int64_t>(-low, 0) + std::max<int64_t>(-high, 0);
}

LogicalResult PadOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  AffineMap pad = adaptor.getPad();
  unsigned count = pad.getNumResults();
  StringRef name = getOperationName(), mode = adaptor.getMode();
  if (mode != "constant" && mode != "reflect" && mode != "replicate" && mode != "circular")
    return emitOptionalError(location, "'", name, "' has mode = '", mode,
                             "'; expected 'constant', 'reflect', 'replicate' or 'circular'");
  if (count % 2 || static_cast<int64_t>(count) > 2 * x.getRank())
    return emitOptionalError(location, "'", name, "' has ", count,
                             " widths; expected two for each dim from the last, at most ",
                             2 * x.getRank());
  Dims dims = getDims(x);
  for (unsigned i = 0; i < count / 2; ++i) {
    int64_t position = dims.size() - 1 - i;
    AffineExpr &dim = dims[position];
    auto [before, behind] = widthsOf(pad, i);
    auto low = asConstant(before), high = asConstant(behind);
    if (mode != "constant" && (!low || !high))
      return emitOptionalError(location, "'", name, "' in mode '", mode, "' has the width ",
                               text(low ? behind : before, adaptor.getOperands()),
                               "; expected numbers, for dims go with mode 'constant' alone");
    int64_t widest = std::max(low.value_or(0), high.value_or(0));
    // The border repeats elements that must exist. A circle is what negative widths leave.
    int64_t most = mode == "reflect"    ? widest + 1
                   : mode == "circular" ? widest + croppedBy(*low, *high)
                                        : 1;
    if (auto size = asConstant(dim); mode != "constant" && size && widest > 0 && *size < most)
      return emitOptionalError(location, "'", name, "' in mode '", mode, "' has width ", widest,
                               " beside dim ", position, " of ", text(adaptor.getX()),
                               "; expected a dim of ", most, " or more");
    dim = normalize(dim + before + behind);
    if (asConstant(dim).value_or(0) < 0)
      return emitOptionalError(location, "'", name, "' crops more than dim ", position, " of ",
                               text(adaptor.getX()), " has");
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LoopNest PadOp::getLoopNest() {
  Dims dims = getDims(typeOf(getX()));
  int64_t rank = dims.size();
  bool isConstant = getMode() == "constant", isChecked = isConstant;
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  llvm::SmallBitVector computed(rank);
  for (unsigned i = 0; i < getPad().getNumResults() / 2; ++i) {
    int64_t dim = rank - 1 - i;
    auto [low, high] = widthsOf(getPad(), i);
    if (dl::isConstant(low, 0) && dl::isConstant(high, 0))
      continue;
    auto size = asConstant(dims[dim]);
    if (isConstant) {
      map[dim] = map[dim] - low;
    } else if (getMode() == "circular" && size) {
      int64_t before = *asConstant(low), circle = *size - croppedBy(before, *asConstant(high));
      map[dim] = (map[dim] + (circle - std::max<int64_t>(before, 0))) % circle +
                 std::max<int64_t>(-before, 0);
    } else {
      // A symbolic dim may be too small for its border, which then is NaN or 0: in the interpreter,
      // that is, since a runtime refuses such sizes (needsOf).
      computed.set(dim), map[dim] = constantDim(0, getContext());
      isChecked |= !size;
    }
  }
  bool isNan = !isConstant && isa<FloatType>(typeOf(getX()).getElementType());
  LoopNest nest = moveNest(*this, map, isChecked,
                           isConstant ? getValue().convertToDouble()
                           : isNan    ? std::numeric_limits<double>::quiet_NaN()
                                      : 0.0);
  nest.indexDims |= computed;
  nest.results.front().computed = computed;
  return nest;
}

Value PadOp::emitResult(BodyContext &, ValueRange args, ValueRange) { return args.front(); }

Value PadOp::emitCoordinate(BodyContext &context, bool, unsigned, unsigned dim, ValueRange) {
  Dims dims = getDims(typeOf(getX()));
  auto widths = widthsOf(getPad(), dims.size() - 1 - dim);
  int64_t low = *asConstant(widths.first), high = *asConstant(widths.second);
  Scalar place(context.builder, context.loc, context.parallel[dim], ScalarKind::signedInt);
  Scalar size(context.builder, context.loc, context.extent(dims[dim]), ScalarKind::signedInt);
  Scalar index = place - static_cast<double>(low), last = size - 1.0;
  if (getMode() == "replicate")
    return min(max(index, 0.0), last).value();
  if (getMode() == "circular") {
    Scalar circle = size - static_cast<double>(croppedBy(low, high));
    Scalar end = circle + static_cast<double>(std::max<int64_t>(-low, 0));
    index = select(index < index.constant(0), index + circle, index);
    return select(index < end, index, index - circle).value();
  }
  index = max(index, -index);                     // mirrored at 0
  return min(index, last + last - index).value(); // and at the last
}

//===- cat ------------------------------------------------------------------------------------===//

LogicalResult CatOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                      Adaptor adaptor, SmallVectorImpl<Type> &types) {
  if (adaptor.getTensors().empty())
    return emitOptionalError(location, "'", getOperationName(), "' needs at least one tensor");
  auto first = cast<RankedTensorType>(adaptor.getTensors().front().getType());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), first.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(first);
  for (Value tensor : adaptor.getTensors().drop_front()) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Dims other = getDims(type);
    bool fits = type.getElementType() == first.getElementType() && other.size() == dims.size();
    bool isSymbolic = false;
    for (unsigned i = 0; fits && i < dims.size(); ++i) {
      fits = i == *dim || dims[i] == other[i];
      isSymbolic = !fits && !(asConstant(dims[i]) && asConstant(other[i]));
    }
    if (!fits)
      return emitOptionalError(
          location, "'", getOperationName(), "' along dim ", *dim, " cannot join ",
          text(adaptor.getTensors().front()), " and ", text(tensor),
          isSymbolic ? "; dims that are equal for some sizes alone need these sizes: --shapes"
                     : "");
    dims[*dim] = dims[*dim] + other[*dim];
  }
  types.push_back(makeTensor(dims, first.getElementType()));
  return success();
}

unsigned joinedDim(CatOp cat) {
  return *wrapDim(std::nullopt, "", cat.getDim(), typeOf(cat.getY()).getRank());
}

Dims startsOf(CatOp cat) {
  Dims starts;
  AffineExpr start = constantDim(0, cat.getContext());
  for (Value tensor : cat.getTensors()) {
    starts.push_back(start);
    start = normalize(start + dimsOf(tensor)[joinedDim(cat)]);
  }
  return starts;
}

LoopNest CatOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = getDims(typeOf(getY()));
  unsigned rank = nest.parallel.size(), dim = joinedDim(*this);
  nest.indexDims.resize(rank);
  nest.indexDims.set(dim);
  for (auto [operand, start] : llvm::enumerate(startsOf(*this))) {
    SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
    map[dim] = map[dim] - start;
    nest.results.push_back({static_cast<unsigned>(operand),
                            AffineMap::get(rank, kMaxSymbols, map, getContext()), true, 0.0});
  }
  return nest;
}

Value CatOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  // The last tensor that begins at or before the index is the one that holds it.
  Value result = args.front(), index = context.parallel[joinedDim(*this)];
  Dims starts = startsOf(*this);
  for (unsigned i = 1; i < args.size(); ++i) {
    Value begins = arith::CmpIOp::create(context.builder, context.loc, arith::CmpIPredicate::sge,
                                         index, context.extent(starts[i]));
    result = arith::SelectOp::create(context.builder, context.loc, begins, args[i], result);
  }
  return result;
}

OpFoldResult CatOp::fold(FoldAdaptor) {
  if (getTensors().size() == 1 && getTensors().front().getType() == getType())
    return getTensors().front();
  return {};
}

//===- update_slice ---------------------------------------------------------------------------===//

LogicalResult UpdateSliceOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX()), src = typeOf(adaptor.getSrc()),
       start = typeOf(adaptor.getStart());
  auto dim = wrapDim(location, getOperationName(), adaptor.getDim(), x.getRank());
  if (!dim)
    return failure();
  Dims dims = getDims(x), parts = getDims(src);
  bool fits = x.getRank() == src.getRank() && x.getElementType() == src.getElementType();
  for (int64_t i = 0; fits && i < x.getRank(); ++i)
    fits = i == *dim || dims[i] == parts[i];
  if (!fits)
    return emitOptionalError(location, "'", getOperationName(), "' along dim ", *dim, " of ",
                             text(adaptor.getX()), " has src ", text(adaptor.getSrc()),
                             "; expected the same dtype and, along the other dims, the same sizes");
  if (start.getRank() > 1 || (start.getRank() == 1 && (getDims(start)[0] != dims[0] || *dim == 0)))
    return emitOptionalError(location, "'", getOperationName(), "' along dim ", *dim, " of ",
                             text(adaptor.getX()), " has start ", text(adaptor.getStart()),
                             "; expected one position, or one for each index of dim 0");
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

LogicalResult UpdateSliceOp::verify() {
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  AffineExpr size = dimsOf(getX())[dim], part = dimsOf(getSrc())[dim];
  if (auto whole = asConstant(size), some = asConstant(part); whole && some)
    return *some <= *whole ? success()
                           : emitOpError("writes ")
                                 << *some << " indices to dim " << dim << " of " << text(getX())
                                 << "; expected at most as many as it has";
  return verifyWithin(*this, getX(), dim, constantDim(0, getContext()), part);
}

LoopNest UpdateSliceOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size();
  int64_t dim = *wrapDim(std::nullopt, "", getDim(), rank);
  nest.indexDims.resize(rank);
  nest.indexDims.set(dim);
  auto map = [&](ArrayRef<AffineExpr> results) {
    return AffineMap::get(rank, kMaxSymbols, results, getContext());
  };
  SmallVector<AffineExpr> own = loopsOf(getContext(), 0, rank), from(own);
  from[dim] = constantDim(0, getContext());
  Access src{2, map(from), /*checked=*/true, 0.0};
  src.computed.resize(rank);
  src.computed.set(dim);
  src.readsOnce = true;
  // src before x: where it reads depends on start alone.
  nest.results = {{1, map(ArrayRef(own).take_front(typeOf(getStart()).getRank()))},
                  src,
                  {0, identityAccess(rank, getContext())}};
  return nest;
}

Value clampedStart(BodyContext &context, Value start, Value held, AffineExpr size,
                   AffineExpr part) {
  Type i64 = context.builder.getI64Type();
  Scalar at(context.builder, context.loc, start, kindOf(held));
  Value room = arith::IndexCastOp::create(context.builder, context.loc, i64,
                                          context.extent(normalize(size - part)));
  at = max(min(at.convertTo(i64, ScalarKind::signedInt),
               Scalar(context.builder, context.loc, room, ScalarKind::signedInt)),
           0.0);
  return arith::IndexCastOp::create(context.builder, context.loc, context.builder.getIndexType(),
                                    at.value());
}

Value UpdateSliceOp::emitCoordinate(BodyContext &context, bool, unsigned, unsigned dim,
                                    ValueRange earlier) {
  Value start = clampedStart(context, earlier.front(), getStart(), dimsOf(getX())[dim],
                             dimsOf(getSrc())[dim]);
  return arith::SubIOp::create(context.builder, context.loc, context.parallel[dim], start);
}

Value UpdateSliceOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  unsigned dim = *wrapDim(std::nullopt, "", getDim(), typeOf(getX()).getRank());
  OpBuilder &b = context.builder;
  Value first = args.front();
  if (isa<VectorType>(first.getType())) // equal lanes
    first = vector::ExtractOp::create(b, context.loc, first, 0);
  Value at = emitCoordinate(context, false, 1, dim, first);
  auto holds = [&](arith::CmpIPredicate predicate, Value bound) {
    return arith::CmpIOp::create(b, context.loc, predicate, at, bound);
  };
  Value isNew = arith::AndIOp::create(
      b, context.loc,
      holds(arith::CmpIPredicate::sge, arith::ConstantIndexOp::create(b, context.loc, 0)),
      holds(arith::CmpIPredicate::slt, context.extent(dimsOf(getSrc())[dim])));
  return arith::SelectOp::create(b, context.loc, isNew, args[1], args[2]);
}

} // namespace dlc::dl
