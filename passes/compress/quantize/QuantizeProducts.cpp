//===- QuantizeProducts.cpp - Products of integers of 8 bits ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x becomes (q - z) * s with q in u8, or q * s with q in i8, and w becomes r * t with r in i8: see
// ScaledProduct.h. z and s are numbers, or what each row's smallest and largest element make of
// them as ONNX's DynamicQuantizeLinear does with those of a whole tensor. A row is what one sum
// reads. So the result of a sample does not depend on what else is in its batch, and grids are as
// fine as they can be.
//
// A table of which look-ups take rows becomes r * t like the weight of a product; look-ups take
// rows of r and of t.
//
// In e4m3 x becomes q * s and w becomes r * t with q and r floats of 8 bits, -448 to 448, which are
// multiplied and added as f32.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/contraction/DLContraction.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/QuantizableTables.h"
#include "passes/compress/quantize/ScaledProduct.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <cmath>
#include <map>

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

/// The largest magnitude that a channel of smaller weights is taken to have in e4m3.
static constexpr double kLeastMagnitude = 1e-30;

/// How numbers are written in u8: x = (q - zeroPoint) * scale; in i8 where the grid is symmetric.
struct Grid {
  double scale;
  int64_t zeroPoint;

  /// The finest that takes in low, high and 0. A range of 0 alone gives a scale of 1: x is then 0.
  static Grid over(double low, double high, bool isSymmetric);
};

/// Quantizes the products of one function.
class Quantization {
public:
  /// `isSymmetric`: activations are i8 and have no zero point. `isPerTensor`: all weights of a
  /// product share a scale.
  Quantization(bool isSymmetric, bool isPerTensor)
      : isSymmetric(isSymmetric), isPerTensor(isPerTensor) {}
  /// Quantizes a product whose activation lies between two numbers.
  void run(const QuantizableProduct &product, double low, double high);
  /// The same in floats of 8 bits.
  void runInFloat8(const QuantizableProduct &product, double low, double high);
  /// Quantizes a product whose activation is measured row by row when the model runs.
  void runByRow(const QuantizableProduct &product);
  /// Quantizes a table. To be called before the products: those that read it share its integers.
  void run(const QuantizableTable &table);

private:
  /// Rows in bytes, and what that means.
  struct QuantizedRows {
    Value numbers;
    RowGrids grids;
  };

  /// Weights in i8, and their scales, in the weight's dims with 1 for those along which one is
  /// shared.
  struct QuantizedWeight {
    Value numbers, scale;
  };

  QuantizedWeight weightOf(const QuantizableProduct &product, dl::Builder &builder) const;
  QuantizedWeight inBytes(Value weight, ArrayRef<int64_t> summed, dl::Builder &builder) const;
  QuantizedWeight ofTable(Value weight, ArrayRef<int64_t> summed, dl::Builder &builder) const;
  Value largestOfWeights(Value weight, ArrayRef<int64_t> summed, dl::Builder &builder) const;
  Type byteType(dl::Builder &builder) const {
    return isSymmetric ? builder.getI8Type() : builder.getIntegerType(8, /*isSigned=*/false);
  }
  Value quantized(Value x, const Grid &grid);
  Value centered(Value x, const Grid &grid, dl::Builder &builder);
  QuantizedRows rowsOf(Value x, ArrayRef<int64_t> summed);
  QuantizedRows symmetricRows(Value x, DenseI64ArrayAttr summed, dl::Builder &builder) const;

  bool isSymmetric, isPerTensor;
  /// Values that are in bytes already, by their value in f32 and their grid.
  llvm::DenseMap<std::tuple<Value, uint64_t, int64_t>, Value> known;
  /// The same in e4m3, by value and scale.
  llvm::DenseMap<std::pair<Value, uint64_t>, Value> knownFloat8;
  /// The same by row, by the value and the dims of it that are one row.
  std::map<std::pair<void *, SmallVector<int64_t>>, QuantizedRows> knownRows;
  /// Tables that are in bytes already.
  llvm::DenseMap<Value, QuantizedWeight> knownTables;
};

} // namespace

/// The steps of i8 from 0 to either end.
static constexpr double kSymmetricSteps = 127;

Grid Grid::over(double low, double high, bool isSymmetric) {
  low = std::min(low, 0.0);
  high = std::max(high, 0.0);
  if (isSymmetric) {
    double scale = static_cast<float>(std::max(-low, high) / kSymmetricSteps);
    return {scale > 0 ? scale : 1, 0};
  }
  // Through f32, in which the model computes with it.
  double scale = static_cast<float>((high - low) / 255);
  if (!(scale > 0))
    return {1, 0};
  return {scale, std::clamp<int64_t>(std::llround(-low / scale), 0, 255)};
}

/// Whether the op's result holds elements of its operand and nothing else, in an order that grows
/// as they do: then bytes may go through it in place of numbers.
static bool movesElements(Operation *op) {
  return isa<dl::MaxPool1dOp, dl::MaxPool2dOp, dl::MaxPool3dOp, dl::ReshapeOp, dl::PermuteOp>(op);
}

/// x in bytes, made where x is.
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
    // The quotient by a number that every element shares is its product with the reciprocal, within
    // half an ulp: far less than a step of the grid.
    Value steps = builder.make<dl::MulOp>(x, builder.fullLike(x, 1 / grid.scale));
    steps = builder.make<dl::RoundOp>(steps);
    if (grid.zeroPoint)
      steps = builder.make<dl::AddOp>(steps, builder.fullLike(steps, double(grid.zeroPoint)));
    result =
        builder.cast(steps, byteType(builder)); // gives the nearest number to what lies outside
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

Quantization::QuantizedRows Quantization::rowsOf(Value x, ArrayRef<int64_t> summed) {
  QuantizedRows &rows = knownRows[{x.getAsOpaquePointer(), SmallVector<int64_t>(summed)}];
  if (rows.numbers)
    return rows;
  dl::Builder builder(x.getLoc(), x.getContext());
  builder.setInsertionPointAfterValue(x);
  auto u8 = builder.getIntegerType(8, /*isSigned=*/false);
  auto dims = builder.getDenseI64ArrayAttr(summed);
  if (isSymmetric)
    return rows = symmetricRows(x, dims, builder);
  auto keeps = builder.getBoolAttr(true);
  Value low = builder.make<dl::AminOp>(x, dims, keeps);
  low = builder.make<dl::MinimumOp>(low, builder.fullLike(low, 0));
  Value high = builder.make<dl::AmaxOp>(x, dims, keeps);
  high = builder.make<dl::MaximumOp>(high, builder.fullLike(high, 0));
  Value extent = builder.make<dl::SubOp>(high, low);
  Value scale = builder.make<dl::DivOp>(extent, builder.fullLike(extent, 255));
  // A row of zeros alone has the scale 0: 0 / 0 is NaN, which casts to 0. NaN in a row makes its
  // scale NaN, and so all results of the row.
  Value zeroPoint = builder.make<dl::NegOp>(builder.make<dl::DivOp>(low, scale));
  zeroPoint = builder.cast(builder.make<dl::RoundOp>(zeroPoint), u8);
  dl::Dims whole = dl::dimsOf(x);
  Value steps = builder.make<dl::DivOp>(x, builder.broadcast(scale, whole));
  steps = builder.make<dl::AddOp>(
      builder.make<dl::RoundOp>(steps),
      builder.broadcast(builder.cast(zeroPoint, builder.getF32Type()), whole));
  rows = {builder.cast(steps, u8), {scale, zeroPoint}};
  return rows;
}

/// The same without a zero point, where the largest magnitude of a row is 127 steps.
Quantization::QuantizedRows Quantization::symmetricRows(Value x, DenseI64ArrayAttr summed,
                                                        dl::Builder &builder) const {
  Value largest =
      builder.make<dl::AmaxOp>(builder.make<dl::AbsOp>(x), summed, builder.getBoolAttr(true));
  Value scale = builder.make<dl::DivOp>(largest, builder.fullLike(largest, kSymmetricSteps));
  // A row of zeros alone has the scale 0: 0 / 0 is NaN, which casts to 0.
  Value steps = builder.make<dl::DivOp>(x, builder.broadcast(scale, dl::dimsOf(x)));
  return {builder.cast(builder.make<dl::RoundOp>(steps), byteType(builder)), {scale, Value()}};
}

/// The largest magnitude of each channel's weights, which are summed over along `summed`, or of
/// all.
Value Quantization::largestOfWeights(Value weight, ArrayRef<int64_t> summed,
                                     dl::Builder &builder) const {
  SmallVector<int64_t> shared(summed);
  if (isPerTensor)
    shared = llvm::to_vector(llvm::seq<int64_t>(0, dl::typeOf(weight).getRank()));
  return builder.make<dl::AmaxOp>(builder.make<dl::AbsOp>(weight),
                                  builder.getDenseI64ArrayAttr(shared), builder.getBoolAttr(true));
}

/// A scale takes the largest magnitude of its weights as 127 steps.
Quantization::QuantizedWeight Quantization::inBytes(Value weight, ArrayRef<int64_t> summed,
                                                    dl::Builder &builder) const {
  Value largest = largestOfWeights(weight, summed, builder);
  Value scale = builder.make<dl::DivOp>(largest, builder.fullLike(largest, 127));
  // A channel of zeros alone has the scale 0: 0 / 0 is NaN, which casts to 0.
  Value steps = builder.make<dl::RoundOp>(
      builder.make<dl::DivOp>(weight, builder.broadcast(scale, dl::dimsOf(weight))));
  return {builder.cast(steps, builder.getIntegerType(8)), scale};
}

/// The weight of a product that is a table in bytes already, or the transpose of one; else no
/// values.
Quantization::QuantizedWeight Quantization::ofTable(Value weight, ArrayRef<int64_t> summed,
                                                    dl::Builder &builder) const {
  const int64_t alongRows = summed.front();
  if (alongRows == 1)
    return knownTables.lookup(weight);
  auto turned = weight.getDefiningOp<dl::PermuteOp>();
  if (!turned || turned.getDims() != ArrayRef<int64_t>{1, 0})
    return {};
  QuantizedWeight table = knownTables.lookup(turned.getX());
  if (!table.numbers)
    return {};
  return {builder.permute(table.numbers, {1, 0}), builder.permute(table.scale, {1, 0})};
}

/// The weight of a product as i32.
Quantization::QuantizedWeight Quantization::weightOf(const QuantizableProduct &product,
                                                     dl::Builder &builder) const {
  SmallVector<int64_t> summed = summedDims(product.weightDims);
  QuantizedWeight found = ofTable(product.getWeight(), summed, builder);
  if (!found.numbers)
    found = inBytes(product.getWeight(), summed, builder);
  return {builder.cast(found.numbers, builder.getI32Type()), found.scale};
}

/// `lookUp` with another table, of the same rows.
static Value lookUpIn(OpOperand &tableOf, Value table, dl::Builder &builder) {
  Operation *copy = builder.clone(*tableOf.getOwner());
  copy->setOperand(tableOf.getOperandNumber(), table);
  auto type = cast<RankedTensorType>(copy->getResult(0).getType());
  dl::Dims dims = dl::getDims(type);
  dims.back() = dl::dimsOf(table).back();
  copy->getResult(0).setType(dl::makeTensor(dims, getElementTypeOrSelf(table.getType())));
  return copy->getResult(0);
}

void Quantization::run(const QuantizableTable &table) {
  dl::Builder builder(table.weight.readers().front()->getOwner());
  dl::WeightOp weight = table.weight.op;
  QuantizedWeight bytes = inBytes(weight.getY(), /*summed=*/1, builder);
  knownTables[weight.getY()] = bytes;
  // A look-up needs a scale in each row, though all have one.
  dl::Dims ofScales = {dl::dimsOf(weight.getY()).front(), dl::constantDim(1, builder.getContext())};
  Value scales = builder.broadcast(bytes.scale, ofScales);
  for (OpOperand *use : table.weight.tables) {
    Operation *lookUp = use->getOwner();
    dl::Builder before(lookUp);
    Value numbers = before.cast(lookUpIn(*use, bytes.numbers, before), before.getF32Type()),
          scale = lookUpIn(*use, scales, before);
    lookUp->getResult(0).replaceAllUsesWith(
        before.make<dl::MulOp>(numbers, before.broadcast(scale, dl::dimsOf(numbers))));
    lookUp->erase();
  }
}

void Quantization::run(const QuantizableProduct &product, double low, double high) {
  dl::Builder builder(product.op);
  Grid grid = Grid::over(low, high, isSymmetric);
  Value x = centered(product.getActivation(), grid, builder);
  auto [weight, scale] = weightOf(product, builder);
  scale = builder.make<dl::MulOp>(scale, builder.fullLike(scale, grid.scale));
  replaceByScaledProduct(product, x, weight, scale, builder);
}

/// `steps` rounded to e4m3, as f32. What lies outside becomes the nearest number, NaN stays.
static Value inFloat8(Value steps, dl::Builder &builder) {
  steps = builder.make<dl::ClampOp>(steps, builder.getF64FloatAttr(-kMostFloat8),
                                    builder.getF64FloatAttr(kMostFloat8));
  Value numbers = builder.cast(steps, Float8E4M3FNType::get(builder.getContext()));
  return builder.cast(numbers, builder.getF32Type());
}

void Quantization::runInFloat8(const QuantizableProduct &product, double low, double high) {
  dl::Builder builder(product.op);
  Value weight = product.getWeight();
  double range = static_cast<float>(std::max(-low, high) / kMostFloat8);
  if (!(range > 0)) // of zeros alone
    range = 1;
  Value &x = knownFloat8[{product.getActivation(), llvm::bit_cast<uint64_t>(range)}];
  if (!x) {
    dl::Builder after(product.getActivation().getLoc(), builder.getContext());
    after.setInsertionPointAfterValue(product.getActivation());
    x = product.getActivation();
    x = inFloat8(after.make<dl::MulOp>(x, after.fullLike(x, 1 / range)), after);
  }
  Value scale = largestOfWeights(weight, summedDims(product.weightDims), builder);
  // Zeros alone need a scale, too: NaN would be one of the numbers of e4m3.
  scale = builder.make<dl::MaximumOp>(scale, builder.fullLike(scale, kLeastMagnitude));
  scale = builder.make<dl::DivOp>(scale, builder.fullLike(scale, kMostFloat8));
  weight = inFloat8(builder.make<dl::DivOp>(weight, builder.broadcast(scale, dl::dimsOf(weight))),
                    builder);
  scale = builder.make<dl::MulOp>(scale, builder.fullLike(scale, range));
  replaceByScaledProduct(product, x, weight, scale, builder);
}

void Quantization::runByRow(const QuantizableProduct &product) {
  dl::Builder builder(product.op);
  QuantizedRows rows = rowsOf(product.getActivation(),
                              summedDims(*dl::resultDimsOf(product.op, 1 - product.weight)));
  Value x = builder.cast(rows.numbers, builder.getI32Type());
  auto [weight, scale] = weightOf(product, builder);
  replaceByScaledProduct(product, x, weight, scale, builder, rows.grids);
}

void QuantizeProducts::runOnOperation() {
  func::FuncOp function = getOperation();
  auto kept = LayerPatterns::keptByPass(function, *keepF32);
  if (failed(kept))
    return signalPassFailure();
  if (function.isExternal())
    return;
  auto chosen = quantizationNamed(scheme);
  if (!chosen || recordOf(*chosen).part != QuantizedPart::products) {
    function.emitError("scheme is ")
        << schemesOf(QuantizedPart::products) << ", got " << scheme.getValue();
    return signalPassFailure();
  }
  Quantization quantization(symmetric, perTensor);
  const std::vector<QuantizableProduct> products =
      findQuantizableProducts(function, *kept, *chosen);
  const std::vector<QuantizableTable> tables =
      findQuantizableTables(function, *kept, products, *chosen);
  for (const QuantizableTable &table : tables) {
    for (OpOperand *use : table.weight.tables)
      use->getOwner()->removeAttr(dl::kKeptByCost);
    if (table.whyKept.empty())
      quantization.run(table);
    ++(table.whyKept.empty() ? numTables : numTablesKept);
  }
  for (const QuantizableProduct &product : products) {
    product.op->removeAttr(dl::kKeptByCost);
    if (*chosen == QuantizationScheme::dynamic) {
      if (product.whyKept.empty())
        quantization.runByRow(product);
      ++(product.whyKept.empty() ? numQuantized : numKept);
      continue;
    }
    auto range = product.op->getAttrOfType<DenseF64ArrayAttr>(kActivationRange);
    product.op->removeAttr(kActivationRange);
    if (!range || range.size() != 2 || !product.whyKept.empty()) {
      ++numKept;
      continue;
    }
    if (*chosen == QuantizationScheme::fp8)
      quantization.runInFloat8(product, range[0], range[1]);
    else
      quantization.run(product, range[0], range[1]);
    ++numQuantized;
  }
  // Pooling of numbers that is done on bytes now. A correction is a sum like others from here on.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front()))) {
    op.removeAttr(dl::kCorrection);
    if (isOpTriviallyDead(&op))
      op.erase();
  }
}

} // namespace dlc
