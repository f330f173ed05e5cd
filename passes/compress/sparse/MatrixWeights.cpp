//===- MatrixWeights.cpp - Weights that products read as matrices -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/sparse/MatrixWeights.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/dl/contraction/DLContraction.h"
#include "ir/kernel/Sides.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc {

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

namespace {
/// Follows a weight to all that reads it.
class MatrixReaders {
public:
  MatrixReaders(MatrixWeight &found, WeightDependence &weights) : found(found), weights(weights) {}

  /// `value` is the weight or, with `isTurned`, its transpose, times `scale` where there is one.
  void follow(Value value, bool isTurned, Value scale);

private:
  bool addMatrixProduct(OpOperand &use, bool isTurned, Value scale);
  bool addConvolution(OpOperand &use, Value scale);
  void add(MatrixProduct product, int64_t rows, int64_t columns, bool isTransposed);
  void keep(const Twine &why) {
    if (found.whyDense.empty())
      found.whyDense = why.str();
  }

  MatrixWeight &found;
  WeightDependence &weights;
};
} // namespace

void MatrixReaders::add(MatrixProduct product, int64_t rows, int64_t columns, bool isTransposed) {
  if (!found.products.empty() && isTransposed != found.isTransposed)
    keep("products sum along both of its dims");
  if (product.scale && isTransposed)
    keep("a factor for each column multiplies it");
  Type element = typeOf(product.op->getOperand(1)).getElementType();
  if (!found.products.empty() && element != found.element)
    keep("products of several dtypes read it");
  found.element = element;
  found.isTransposed = isTransposed;
  found.rows = rows;
  found.columns = columns;
  found.products.push_back(std::move(product));
}

bool MatrixReaders::addMatrixProduct(OpOperand &use, bool isTurned, Value scale) {
  Operation *op = use.getOwner();
  auto matrix = use.getOperandNumber() == 1 ? findMatrix(op) : std::nullopt;
  if (!matrix)
    return false;
  const auto [dim, isTransposed] = *matrix;
  auto ofX = dl::resultDimsOf(op, 0);
  // x has the dims of the result, each at its place, and the columns at the place of the rows.
  if (ofX->size() != static_cast<size_t>(typeOf(op->getResult(0)).getRank()))
    return false;
  for (auto [place, loop] : llvm::enumerate(*ofX))
    if (loop != (place == dim ? -1 : static_cast<int64_t>(place)))
      return false;
  // A dim of size 1 would be repeated.
  auto x = dl::getDims(typeOf(op->getOperand(0))), y = dl::getDims(typeOf(op->getResult(0)));
  for (unsigned place = 0; place < x.size(); ++place)
    if (place != dim && x[place] != y[place])
      return false;
  ArrayRef<int64_t> shape = typeOf(use.get()).getShape();
  if (!dl::isConstant(x[dim], shape[isTransposed ? 0 : 1]))
    return false;
  add({op, dim, {}, scale}, shape[isTransposed ? 1 : 0], shape[isTransposed ? 0 : 1],
      isTransposed != isTurned);
  return true;
}

bool MatrixReaders::addConvolution(OpOperand &use, Value scale) {
  Operation *op = use.getOwner();
  if (use.getOperandNumber() != 1)
    return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>([&](auto conv) {
        ArrayRef<int64_t> shape = typeOf(use.get()).getShape();
        MatrixProduct product{op, 1, {}, scale};
        if (llvm::any_of(conv.getStride(), [](int64_t stride) { return stride > 1; })) {
          product.steps = {1, 1};
          llvm::append_range(product.steps, conv.getStride());
        }
        const bool isPadded = llvm::any_of(conv.getPadding(), [](int64_t width) { return width; });
        if (conv.getGroups() != 1)
          keep("a convolution of groups reads it");
        else if (isPadded ||
                 llvm::any_of(shape.drop_front(2), [](int64_t taps) { return taps > 1; }))
          keep("a convolution of several taps reads it");
        add(std::move(product), shape[0], shape[1], /*isTransposed=*/false);
        return true;
      })
      .Default([](Operation *) { return false; });
}

void MatrixReaders::follow(Value value, bool isTurned, Value scale) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (auto permute = dyn_cast<dl::PermuteOp>(op);
        permute && !scale && permute.getDims() == ArrayRef<int64_t>{1, 0}) {
      follow(permute, !isTurned, scale);
      continue;
    }
    if (isa<dl::CastOp>(op) && typeOf(value).getElementType().isF32()) {
      follow(op->getResult(0), isTurned, scale);
      continue;
    }
    auto product = dyn_cast<dl::MulOp>(op);
    auto factors =
        product ? product->getOperand(1).getDefiningOp<dl::BroadcastOp>() : dl::BroadcastOp();
    if (factors && use.getOperandNumber() == 0 && !scale && !isTurned &&
        weights.dependsOnWeightsAlone(factors)) {
      dl::Dims dims = dl::getDims(typeOf(factors.getX()));
      auto isOne = [](AffineExpr dim) { return dl::isConstant(dim, 1); };
      if (dims.size() == static_cast<size_t>(typeOf(value).getRank()) &&
          llvm::all_of(ArrayRef(dims).drop_front(), isOne)) {
        follow(product, isTurned, factors.getX());
        continue;
      }
    }
    if (!addMatrixProduct(use, isTurned, scale) && !addConvolution(use, scale))
      keep("also read by " + op->getName().stripDialect());
  }
}

std::vector<MatrixWeight> findMatrixWeights(func::FuncOp function) {
  std::vector<MatrixWeight> all;
  WeightDependence weights;
  for (auto op : function.front().getOps<dl::WeightOp>()) {
    auto type = typeOf(op.getY());
    Type element = type.getElementType();
    if (type.getRank() < 2 || !(element.isF32() || element.isF16() || element.isBF16()) ||
        !type.hasStaticShape() || type.getNumElements() == 0)
      continue;
    MatrixWeight found{op, false, 0, 0, {}, {}, {}};
    MatrixReaders(found, weights).follow(op.getY(), /*isTurned=*/false, /*scale=*/{});
    // What depends on weights alone is computed once, at load.
    for (const MatrixProduct &product : found.products)
      if (found.whyDense.empty() && weights.dependsOnWeightsAlone(product.op->getOperand(0)))
        found.whyDense = "a product of weights reads it";
    if (!found.products.empty())
      all.push_back(std::move(found));
  }
  return all;
}

std::optional<double> rowsOf(const MatrixProduct &product) {
  auto module = product.op->getParentOfType<ModuleOp>();
  SmallVector<dl::Range> symbols = dl::symbolRanges(module);
  for (dl::Range &symbol : symbols)
    if (symbol.usual == 0)
      symbol.usual = std::max<int64_t>(1, symbol.min);
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(product.op->getResult(0).getType()));
  if (dl::mentions(dims, dl::countedSymbols(module)))
    return std::nullopt;
  double rows = 1;
  for (auto [place, dim] : llvm::enumerate(dims)) {
    auto size = dl::usualOf(dim, symbols);
    if (!size)
      return std::nullopt;
    if (place != product.dim)
      rows *= static_cast<double>(*size);
  }
  return rows;
}

} // namespace dlc
