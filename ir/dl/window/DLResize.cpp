//===- DLResize.cpp - Type and loops of interpolation -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element i of a resized dim stands at a position of the source dim: nearest takes the element
// there, linear weighs the two around it, cubic the four. The position is a float, and nearest's
// choice depends on how it is rounded; so it is computed step by step in one format, each step
// rounded, in the interpreter too (which keeps floats in double otherwise).
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/dl/window/Interpolation.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <cmath>

using namespace mlir;

namespace dlc::dl {

static bool isLinear(StringRef mode) {
  return mode == "linear" || mode == "bilinear" || mode == "trilinear";
}
static bool isCubic(StringRef mode) { return mode == "bicubic"; }
/// Elements that are read along each resized dim.
static unsigned tapsOf(StringRef mode) { return isCubic(mode) ? 4 : isLinear(mode) ? 2 : 1; }

/// The factor of dim `dim`; nothing where sizes are given.
template <typename Op> static std::optional<double> factorOf(Op op, unsigned dim) {
  auto factors = op.getScaleFactor();
  if (!factors)
    return std::nullopt;
  return (*factors)[factors->size() == 1 ? 0 : dim - 2];
}

/// The factor that positions are computed with: that of the call, unless it is to follow from the
/// sizes.
static std::optional<double> usedFactor(InterpolateOp op, unsigned dim) {
  return op.getRecomputeScaleFactor().value_or(false) ? std::nullopt : factorOf(op, dim);
}

//===- Types ----------------------------------------------------------------------------------===//

/// floor(size * factor); nullopt where a symbolic size does not tell it.
static std::optional<Dim> scaled(Dim size, double factor) {
  if (auto extent = asConstant(size)) {
    double product = std::floor(static_cast<double>(*extent) * factor);
    if (!(product >= 1 && product < 0x1p31))
      return std::nullopt;
    return constantDim(static_cast<int64_t>(product), size.getContext());
  }
  if (factor >= 1 && factor < 0x1p31 && factor == std::floor(factor))
    return normalize(size * static_cast<int64_t>(factor));
  double inverse = 1 / factor;
  if (inverse >= 1 && inverse < 0x1p31 && inverse == std::floor(inverse) && factor * inverse == 1 &&
      llvm::isPowerOf2_64(static_cast<uint64_t>(inverse)))
    return normalize(size.floorDiv(static_cast<int64_t>(inverse)));
  return std::nullopt;
}

LogicalResult InterpolateOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                              Adaptor adaptor, SmallVectorImpl<Type> &types) {
  auto x = typeOf(adaptor.getX());
  StringRef name = getOperationName(), mode = adaptor.getMode();
  bool weighs = tapsOf(mode) > 1;
  if (!weighs && mode != "nearest" && mode != "nearest-exact")
    return emitOptionalError(location, "'", name, "' has mode = '", mode,
                             "'; expected 'nearest', 'nearest-exact', 'linear', 'bilinear', "
                             "'bicubic' or 'trilinear'");
  int64_t rank = mode == "linear" ? 3 : mode == "trilinear" ? 5 : 4;
  if (weighs ? x.getRank() != rank : x.getRank() < 3)
    return emitOptionalError(location, "'", name, "' in mode '", mode, "' needs x ",
                             mode == "linear"      ? "[N, C, L]"
                             : mode == "trilinear" ? "[N, C, D, H, W]"
                             : weighs              ? "[N, C, H, W]"
                                                   : "[N, C, ...]",
                             ", got ", text(adaptor.getX()));
  if (weighs && !isa<FloatType>(x.getElementType()))
    return emitOptionalError(location, "'", name, "' in mode '", mode, "' needs floats, got ",
                             text(adaptor.getX()));
  if (!weighs && adaptor.getAlignCorners())
    return emitOptionalError(location, "'", name, "' has align_corners, which the mode '", mode,
                             "' has not; the linear and cubic ones have it");
  std::optional<AffineMap> size = adaptor.getSize();
  std::optional<ArrayRef<double>> factors = adaptor.getScaleFactor();
  if (size.has_value() == factors.has_value())
    return emitOptionalError(location, "'", name, "' needs either size or scale_factor");
  if (size && adaptor.getRecomputeScaleFactor().value_or(false))
    return emitOptionalError(location, "'", name,
                             "' has recompute_scale_factor, which goes with scale_factor");
  for (double factor : factors.value_or(ArrayRef<double>()))
    if (!(factor > 0))
      return emitOptionalError(location, "'", name, "' has scale_factor = ", text(APFloat(factor)),
                               "; expected more than 0");
  Dims dims = getDims(x);
  unsigned spatial = dims.size() - 2;
  if (size && size->getNumResults() != 1 && size->getNumResults() != spatial)
    return emitOptionalError(location, "'", name, "' has ", size->getNumResults(),
                             " sizes for the ", spatial, " dims after [N, C] of ",
                             text(adaptor.getX()));
  if (factors && factors->size() != 1 && factors->size() != spatial)
    return emitOptionalError(location, "'", name, "' has ", factors->size(),
                             " scale factors for the ", spatial, " dims after [N, C] of ",
                             text(adaptor.getX()));
  for (unsigned i = 0; i < spatial; ++i) {
    AffineExpr &dim = dims[2 + i];
    if (isConstant(dim, 0))
      return emitOptionalError(location, "'", name, "' of ", text(adaptor.getX()),
                               ", which is empty");
    std::optional<Dim> to = size ? normalize(size->getResult(size->getNumResults() == 1 ? 0 : i))
                                 : scaled(dim, *factorOf(adaptor, 2 + i));
    if (!to || asConstant(*to).value_or(1) < 1)
      return emitOptionalError(location, "'", name, "' cannot bring dim ", 2 + i, " of ",
                               text(adaptor.getX()),
                               " to another size: expected 1 or more, and of a symbolic dim a "
                               "scale_factor that is a whole number or 1/2, 1/4, ...");
    dim = *to;
  }
  types.push_back(makeTensor(dims, x.getElementType()));
  return success();
}

//===- Source positions -----------------------------------------------------------------------===//

namespace {
/// The steps that lead from an index of the result to a position in dim `dim` of x.
struct Position {
  mutable InterpolateOp op; // accessors of ops are not const
  unsigned dim;
  BodyContext &context;

  Type format() const {
    MLIRContext *mlir = op.getContext();
    return typeOf(op.getX()).getElementType().isF64() ? Type(Float64Type::get(mlir))
                                                      : Type(Float32Type::get(mlir));
  }
  /// To the nearest value of `format`.
  Scalar rounded(Scalar value) const {
    if (format().isF64())
      return value;
    Value wide = arith::ExtFOp::create(context.builder, context.loc,
                                       Float64Type::get(op.getContext()), value.value());
    return scalar(arith::TruncFOp::create(context.builder, context.loc, format(), wide));
  }
  Scalar scalar(Value value) const {
    return {context.builder, context.loc, value, ScalarKind::floating};
  }
  Scalar number(double value) const {
    return scalar(arith::ConstantOp::create(
        context.builder, context.loc, OpBuilder(op.getContext()).getFloatAttr(format(), value)));
  }
  Scalar real(Value index) const {
    Value integer = arith::IndexCastOp::create(context.builder, context.loc,
                                               context.builder.getI64Type(), index);
    return rounded(Scalar(context.builder, context.loc, integer, ScalarKind::signedInt)
                       .convertTo(format(), ScalarKind::floating));
  }
  AffineExpr before() const { return dimsOf(op.getX())[dim]; }
  AffineExpr after() const { return dimsOf(op.getY())[dim]; }

  /// Distance of the positions of neighbours.
  Scalar scale() const {
    auto out = asConstant(after());
    if (op.getAlignCorners().value_or(false)) {
      if (out && *out <= 1)
        return number(0);
      Scalar steps = real(context.extent(normalize(before() - 1)));
      Scalar last = real(context.extent(normalize(after() - 1)));
      // Of a single element the position is 0, whatever the scale.
      return rounded(steps / max(last, 1.0));
    }
    if (auto factor = usedFactor(op, dim))
      return number(1.0 / *factor);
    return rounded(real(context.extent(before())) / real(context.extent(after())));
  }
  Scalar source() const {
    Scalar index = real(context.parallel[dim]);
    if (tapsOf(op.getMode()) > 1 && !op.getAlignCorners().value_or(false)) {
      Scalar at = rounded(rounded(scale() * rounded(index + 0.5)) - 0.5);
      return isCubic(op.getMode()) ? at : max(at, 0.0); // a cubic repeats the border
    }
    if (op.getMode() == "nearest-exact")
      return rounded(rounded(index + 0.5) * scale());
    return rounded(index * scale());
  }
  Scalar last() const {
    Value value =
        arith::IndexCastOp::create(context.builder, context.loc, context.builder.getI64Type(),
                                   context.extent(normalize(before() - 1)));
    return {context.builder, context.loc, value, ScalarKind::signedInt};
  }
  /// Of the element `apart` from the one at or below the position, or the outermost one.
  Scalar index(Scalar position, int64_t apart) const {
    Scalar integer = floor(position).convertTo(context.builder.getI64Type(), ScalarKind::signedInt);
    integer = min(integer, last());
    if (apart != 0)
      integer = min(integer + static_cast<double>(apart), last());
    return isCubic(op.getMode()) ? max(integer, 0.0) : integer;
  }
  /// The weights of the elements that are read along the dim; none where one element is read.
  SmallVector<Scalar, 4> weights() const {
    Scalar at = source();
    if (isCubic(op.getMode()))
      return cubicWeights(rounded(at - floor(at)));
    Scalar below = index(at, 0).convertTo(format(), ScalarKind::floating);
    Scalar upper = min(max(rounded(at - below), 0.0), 1.0);
    return {rounded(1.0 - upper), upper};
  }
};
} // namespace

/// The index of `mode` nearest at `i`, as the bodies compute it in f32.
static int64_t nearestIndex(int64_t i, int64_t in, float scale, bool exact) {
  float position = (static_cast<float>(i) + (exact ? 0.5F : 0.0F)) * scale;
  return std::min(static_cast<int64_t>(std::floor(position)), in - 1);
}

/// Nearest's source index as an affine expression, where it is one for each index; null otherwise.
static AffineExpr affineIndex(InterpolateOp op, unsigned dim) {
  static constexpr int64_t kMostTried = 1 << 16;
  AffineExpr index = getAffineDimExpr(dim, op.getContext());
  Dim before = dimsOf(op.getX())[dim], after = dimsOf(op.getY())[dim];
  if (before == after && factorOf(op, dim).value_or(1.0) == 1.0)
    return index;
  if (typeOf(op.getX()).getElementType().isF64())
    return {};
  bool exact = op.getMode() == "nearest-exact";
  auto factor = usedFactor(op, dim);
  auto in = asConstant(before), out = asConstant(after);
  if (!in || !out) {
    // Halves, quarters ... are exact in every float, and so are indices below 2^24.
    if (!factor || exact)
      return {};
    double value = *factor;
    if (value != std::floor(value) || value > 64 ||
        !llvm::isPowerOf2_64(static_cast<uint64_t>(value)))
      return {};
    return index.floorDiv(static_cast<int64_t>(value));
  }
  if (*out > kMostTried)
    return {};
  float scale = factor ? static_cast<float>(1.0 / *factor)
                       : static_cast<float>(*in) / static_cast<float>(*out);
  int64_t common = std::gcd(*in, *out), up = *in / common, down = *out / common;
  int64_t shift = exact ? up : 0; // (i + 1/2) * in / out
  for (int64_t i = 0; i < *out; ++i)
    if (nearestIndex(i, *in, scale, exact) !=
        (exact ? (2 * i * up + shift) / (2 * down) : i * up / down))
      return {};
  return exact ? (index * (2 * up) + shift).floorDiv(2 * down) : (index * up).floorDiv(down);
}

//===- Loops ----------------------------------------------------------------------------------===//

LoopNest InterpolateOp::getLoopNest() {
  LoopNest nest;
  nest.parallel = dimsOf(getY());
  unsigned rank = nest.parallel.size(), spatial = rank - 2;
  nest.indexDims.resize(rank);
  SmallVector<AffineExpr> map = loopsOf(getContext(), 0, rank);
  llvm::SmallBitVector computed(rank);
  for (unsigned dim = 2; dim < rank; ++dim) {
    AffineExpr affine = tapsOf(getMode()) > 1 ? AffineExpr() : affineIndex(*this, dim);
    map[dim] = affine ? affine : constantDim(0, getContext());
    computed[dim] = !affine;
  }
  nest.indexDims |= computed;
  // Nothing can be read of a symbolic dim that turns out to be empty.
  bool isChecked = llvm::any_of(computed.set_bits(),
                                [&](unsigned dim) { return !asConstant(dimsOf(getX())[dim]); });
  // The digits of the access number, to the base of the taps, tell which neighbour is read in dim
  // 2, 3 and so on.
  unsigned neighbours = 1;
  for (unsigned i = 0; i < spatial; ++i)
    neighbours *= tapsOf(getMode());
  for (unsigned neighbour = 0; neighbour < neighbours; ++neighbour)
    nest.results.push_back(
        {0, AffineMap::get(rank, kMaxSymbols, map, getContext()), isChecked, 0.0, computed});
  return nest;
}

Value InterpolateOp::emitCoordinate(BodyContext &context, bool, unsigned access, unsigned dim,
                                    ValueRange) {
  Position position{*this, dim, context};
  const unsigned taps = tapsOf(getMode());
  for (unsigned i = 2; i < dim; ++i)
    access /= taps;
  const int64_t apart = static_cast<int64_t>(access % taps) - (isCubic(getMode()) ? 1 : 0);
  Scalar index = position.index(position.source(), apart);
  return arith::IndexCastOp::create(context.builder, context.loc, context.builder.getIndexType(),
                                    index.value());
}

Value InterpolateOp::emitResult(BodyContext &context, ValueRange args, ValueRange) {
  const unsigned taps = tapsOf(getMode());
  if (taps == 1)
    return args.front();
  auto value = [&](Value number) {
    return Scalar(context.builder, context.loc, number, ScalarKind::floating);
  };
  auto shape = dyn_cast<VectorType>(args.front().getType());
  SmallVector<Scalar> values;
  for (Value arg : args)
    values.push_back(value(arg));
  // The last dim first: each of its neighbours is an equal part of the access numbers.
  for (unsigned dim = typeOf(getX()).getRank() - 1; dim >= 2; --dim) {
    SmallVector<Scalar, 4> weights;
    for (Scalar weight : Position{*this, dim, context}.weights()) {
      Value number = weight.convertTo(values.front().elementType(), ScalarKind::floating).value();
      weights.push_back(value(shape ? context.splat(number, shape) : number));
    }
    sumNeighbours(values, weights);
  }
  return values.front().value();
}

} // namespace dlc::dl
