//===- RaiseIntegerProducts.cpp - Products of what was dequantized ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/IntegerRange.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/ScaledProduct.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "raise-integer-products"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISEINTEGERPRODUCTS
#include "passes/Passes.h.inc"

namespace {

class RaiseIntegerProducts : public impl::RaiseIntegerProductsBase<RaiseIntegerProducts> {
  void runOnOperation() override;

  bool raise(const QuantizableProduct &product);
  IntegerRanges ranges;
};

/// A value that is `integers` times `scale`: i32 of any dims, and f32 of dims that broadcast to
/// these.
struct Dequantized {
  Value integers, scale;
  /// The reshape or permute after it, if there is one.
  Operation *mover = nullptr;
};

} // namespace

/// The tensor that `value` repeats, in as many dims as it has; the value itself where it repeats
/// none.
static Value unrepeated(Value value, dl::Builder &builder) {
  if (auto full = value.getDefiningOp<dl::FullOp>())
    if (auto number = dyn_cast<FloatAttr>(full.getFill()))
      return builder.full(
          dl::Dims(dl::typeOf(value).getRank(), dl::constantDim(1, builder.getContext())),
          builder.getF32Type(), number.getValueAsDouble());
  auto broadcast = value.getDefiningOp<dl::BroadcastOp>();
  if (!broadcast)
    return value;
  dl::Dims own = dl::dimsOf(broadcast.getX()),
           dims(dl::typeOf(value).getRank(), dl::constantDim(1, builder.getContext()));
  std::copy(own.begin(), own.end(), dims.end() - own.size());
  return builder.reshape(broadcast.getX(), dims);
}

static std::optional<Dequantized> matchDequantized(Value value) {
  Dequantized found;
  if (isa_and_nonnull<dl::ReshapeOp, dl::PermuteOp>(value.getDefiningOp())) {
    found.mover = value.getDefiningOp();
    value = found.mover->getOperand(0);
  }
  auto product = value.getDefiningOp<dl::MulOp>();
  if (!product)
    return std::nullopt;
  for (auto [numbers, scale] : {std::pair(product.getX(), product.getOther()),
                                std::pair(product.getOther(), product.getX())})
    if (auto cast = numbers.getDefiningOp<dl::CastOp>();
        cast && getElementTypeOrSelf(cast.getX()).isSignlessInteger(32)) {
      found.integers = cast.getX();
      found.scale = scale;
      return found;
    }
  return std::nullopt;
}

static bool hasOneElement(Value value) {
  return llvm::all_of(dl::dimsOf(value), [](AffineExpr dim) { return dl::isConstant(dim, 1); });
}

/// Whether every sum of products of these ranges fits into i32.
static bool sumsFit(const IntegerRange &x, const IntegerRange &weight, int64_t terms) {
  auto magnitude = [](const IntegerRange &range) { return std::max(-range.min, range.max); };
  int64_t largest = 0;
  return !llvm::MulOverflow(magnitude(x), magnitude(weight), largest) &&
         !llvm::MulOverflow(largest, terms, largest) && largest <= INT32_MAX;
}

bool RaiseIntegerProducts::raise(const QuantizableProduct &product) {
  auto x = matchDequantized(product.getActivation()),
       weight = matchDequantized(product.getWeight());
  if (!product.whyKept.empty() || !x || !weight || weight->mover)
    return false;
  auto xRange = ranges.of(x->integers), weightRange = ranges.of(weight->integers);
  int64_t terms = 1;
  for (auto [dim, at] : llvm::zip(dl::dimsOf(weight->integers), product.weightDims))
    terms *= at < 0 ? *dl::asConstant(dim) : 1;
  if (!xRange || !weightRange || !sumsFit(*xRange, *weightRange, terms))
    return false;

  dl::Builder builder(product.op);
  Value xScale = unrepeated(x->scale, builder), scale = unrepeated(weight->scale, builder);
  // One number for the activation, and one for each channel of the result for the weight.
  bool isByChannel = llvm::all_of(llvm::zip(dl::dimsOf(scale), product.weightDims), [](auto pair) {
    auto [dim, at] = pair;
    return at >= 0 || dl::isConstant(dim, 1);
  });
  if (!hasOneElement(xScale) || !isByChannel)
    return false;
  Value integers = x->integers;
  if (x->mover) {
    Operation *copy = builder.clone(*x->mover);
    copy->setOperand(0, integers);
    copy->getResult(0).setType(
        dl::withElementType(dl::typeOf(copy->getResult(0)), builder.getI32Type()));
    integers = copy->getResult(0);
  }
  scale = builder.make<dl::MulOp>(
      scale, builder.broadcast(builder.reshape(xScale, {}), dl::dimsOf(scale)));
  replaceByScaledProduct(product, integers, weight->integers, scale, builder);
  return true;
}

void RaiseIntegerProducts::runOnOperation() {
  func::FuncOp function = getOperation();
  if (function.isExternal())
    return;
  auto none = llvm::cantFail(LayerPatterns::create({}));
  for (const QuantizableProduct &product : findQuantizableProducts(function, none))
    if (raise(product))
      ++numRaised;
  // Dequantizations that nothing reads now.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
