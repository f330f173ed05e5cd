//===- QuantizeProducts.cpp - Products of integers of 8 bits ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x becomes (q - z) * s with q in u8, and w becomes r * t with r in i8: see IntegerProduct.h.
//===----------------------------------------------------------------------------------------------===//
#include "passes/Passes.h"
#include "passes/compress/IntegerProduct.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>

#define DEBUG_TYPE "quantize-products"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "passes/Passes.h.inc"

namespace {

class QuantizeProducts : public impl::QuantizeProductsBase<QuantizeProducts> {
public:
  using QuantizeProductsBase::QuantizeProductsBase;

private:
  void runOnOperation() override;
};

/// How numbers are written in u8: x = (q - zeroPoint) * scale.
struct Grid {
  double scale;
  int64_t zeroPoint;

  /// The finest that takes in low, high and 0. A range of 0 alone gives a scale of 1: x is then 0.
  static Grid over(double low, double high);
};

/// Quantizes the products of one function.
class Quantization {
public:
  void run(const QuantizableProduct &product, double low, double high);

private:
  Value quantized(Value x, const Grid &grid);
  Value centered(Value x, const Grid &grid, dl::Builder &builder);

  /// Values that are in u8 already, by their value in f32 and their grid.
  llvm::DenseMap<std::tuple<Value, uint64_t, int64_t>, Value> known;
};

} // namespace

Grid Grid::over(double low, double high) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  // Through f32, in which the model computes with it.
  double scale = static_cast<float>((high - low) / 255);
  if (!(scale > 0))
    return {1, 0};
  return {scale, std::clamp<int64_t>(std::llround(-low / scale), 0, 255)};
}

/// Whether the op's result holds elements of its operand and nothing else, in an order that grows as
/// they do: then bytes may go through it in place of numbers.
static bool movesElements(Operation *op) {
  return isa<dl::MaxPool1dOp, dl::MaxPool2dOp, dl::MaxPool3dOp, dl::ReshapeOp, dl::PermuteOp>(op);
}

/// x in u8, made where x is.
Value Quantization::quantized(Value x, const Grid &grid) {
  std::tuple key(x, llvm::bit_cast<uint64_t>(grid.scale), grid.zeroPoint);
  if (Value found = known.lookup(key))
    return found;
  Value result;
  Operation *producer = x.getDefiningOp();
  if (producer && movesElements(producer) && x.hasOneUse()) {
    Value operand = quantized(producer->getOperand(0), grid);
    OpBuilder builder(producer);
    Operation *copy = builder.clone(*producer);
    copy->setOperand(0, operand);
    copy->getResult(0).setType(
        dl::withElementType(dl::typeOf(x), getElementTypeOrSelf(operand.getType())));
    result = copy->getResult(0);
  } else {
    dl::Builder builder(x.getLoc(), x.getContext());
    builder.setInsertionPointAfterValue(x);
    auto u8 = builder.getIntegerType(8, /*isSigned=*/false);
    // The quotient by a number that every element shares is its product with the reciprocal, within
    // half an ulp: far less than a step of the grid.
    Value steps = builder.make<dl::MulOp>(x, builder.fullLike(x, 1 / grid.scale));
    steps = builder.make<dl::RoundOp>(steps);
    if (grid.zeroPoint)
      steps = builder.make<dl::AddOp>(steps, builder.fullLike(steps, double(grid.zeroPoint)));
    result = builder.cast(steps, u8); // gives the nearest number to what lies outside
  }
  known[key] = result;
  return result;
}

/// q - zero point in i32.
Value Quantization::centered(Value x, const Grid &grid, dl::Builder &builder) {
  Value wide = builder.cast(quantized(x, grid), builder.getI32Type());
  if (!grid.zeroPoint)
    return wide;
  return builder.make<dl::SubOp>(wide, builder.fullLike(wide, double(grid.zeroPoint)));
}

/// One number for each channel of the result, the largest magnitude of the channel's weights as
/// 127 steps, in the weight's dims with 1 for those that are summed over.
static Value weightScale(const QuantizableProduct &product, dl::Builder &builder) {
  Value weight = product.getWeight();
  SmallVector<int64_t> summed;
  for (auto [dim, at] : llvm::enumerate(product.weightDims))
    if (at < 0)
      summed.push_back(dim);
  Value largest =
      builder.make<dl::AmaxOp>(builder.make<dl::AbsOp>(weight),
                               builder.getDenseI64ArrayAttr(summed), builder.getBoolAttr(true));
  return builder.make<dl::DivOp>(largest, builder.fullLike(largest, 127));
}

void Quantization::run(const QuantizableProduct &product, double low, double high) {
  dl::Builder builder(product.op);
  Grid grid = Grid::over(low, high);
  Value x = centered(product.getActivation(), grid, builder);
  Value scale = weightScale(product, builder);
  Value weight = product.getWeight();
  // A channel of zeros alone has the scale 0: 0 / 0 is NaN, which casts to 0.
  Value steps = builder.make<dl::RoundOp>(
      builder.make<dl::DivOp>(weight, builder.broadcast(scale, dl::dimsOf(weight))));
  weight = builder.cast(builder.cast(steps, builder.getIntegerType(8)), builder.getI32Type());
  scale = builder.make<dl::MulOp>(scale, builder.fullLike(scale, grid.scale));
  replaceByIntegerProduct(product, x, weight, scale, builder);
}

void QuantizeProducts::runOnOperation() {
  func::FuncOp function = getOperation();
  auto kept = LayerPatterns::keptByPass(function, *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (function.isExternal())
    return;
  Quantization quantization;
  for (const QuantizableProduct &product : findQuantizableProducts(function, *kept)) {
    auto range = product.op->getAttrOfType<DenseF64ArrayAttr>(kActivationRange);
    product.op->removeAttr(kActivationRange);
    if (!range || range.size() != 2 || !product.whyKept.empty()) {
      ++numKept;
      continue;
    }
    quantization.run(product, range[0], range[1]);
    ++numQuantized;
  }
  // Pooling of numbers that is done on bytes now.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
