//===- StoreTwoOfFour.cpp - Weights of which two of each four neighbours are stored -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/interfaces/ScheduleOracle.h"
#include "passes/Passes.h"
#include "passes/compress/StoredPart.h"
#include "passes/compress/sparse/TwoOfFour.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"

#define DEBUG_TYPE "store-two-of-four"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_STORETWOOFFOUR
#include "passes/Passes.h.inc"

namespace {
class StoreTwoOfFour : public impl::StoreTwoOfFourBase<StoreTwoOfFour> {
public:
  using StoreTwoOfFourBase::StoreTwoOfFourBase;

private:
  void runOnOperation() override;
  void replace(const MatrixProduct &product, const MatrixWeight &weight, Value values,
               Value places);
};
} // namespace

/// The target that the function is compiled for, as remarks name it.
static StringRef targetOf(func::FuncOp function) {
  return function->getParentOfType<ModuleOp>().getSymName().value_or("cuda");
}

/// Why no kernel multiplies by the weight as it would be stored, a part of a sentence; empty where
/// one does.
static std::string whyNoKernel(const MatrixWeight &weight) {
  if (!weight.whyDense.empty())
    return weight.whyDense;
  if (!weight.element.isF16() && !weight.element.isBF16())
    return "products read it in another dtype than f16 and bf16";
  for (const MatrixProduct &product : weight.products) {
    auto type = cast<RankedTensorType>(product.op->getResult(0).getType());
    if (!product.steps.empty())
      return "a convolution with a stride reads it";
    if (dl::getLayout(type).innermost(type.getRank()) != int64_t(product.dim))
      return "the results of a product with it are no neighbours in memory";
  }
  return "";
}

/// Returns how many times as fast all products of the weight are estimated to be as it would be
/// stored: 0 if no kernel computes one, and nullopt if the data say how large a product is.
static std::optional<double> gainOf(const MatrixWeight &weight, const ScheduleOracle &oracle) {
  double before = 0, after = 0;
  for (const MatrixProduct &product : weight.products) {
    auto rows = rowsOf(product);
    if (!rows)
      return std::nullopt;
    auto [whole, stored] =
        oracle.microsecondsOfTwoOfFour(product.op, *rows, weight.rows, weight.columns);
    before += whole;
    after += stored;
  }
  return after > 0 ? before / after : 0;
}

/// Why the weight stays whole, a part of a sentence; empty where it does not: `gain` says then how
/// many times as fast it is.
static std::string whyWhole(const MatrixWeight &weight, const ScheduleOracle &oracle,
                            std::string &gain) {
  // The driver counts no groups of other weights.
  if (weight.whyDense.empty() && weight.columns % kStepsOfPlaces != 0)
    return "its sums have no multiple of 64 terms";
  auto full = weight.op->getAttrOfType<IntegerAttr>(kFullGroups);
  if (!full && weight.whyDense.empty())
    return "its numbers are not known when the model is compiled";
  if (std::string why = whyNoKernel(weight); !why.empty())
    return why;
  const int64_t groups = weight.rows * (weight.columns / kGroupOfFour);
  if (full.getInt() > 0)
    return llvm::formatv("{0:N} of its {1:N} groups of four have more than two numbers",
                         full.getInt(), groups)
        .str();
  auto times = gainOf(weight, oracle);
  if (!times)
    return "the data say how large a product with it is";
  if (*times == 0)
    return "its sums have no multiple of 64 terms";
  gain = llvm::formatv("{0:F2}x", *times).str();
  return *times > 1 ? "" : "that is not slower (" + gain + ")";
}

void StoreTwoOfFour::replace(const MatrixProduct &product, const MatrixWeight &weight, Value values,
                             Value places) {
  Operation *op = product.op;
  dl::Builder builder(op);
  if (product.scale) {
    // Both factors are weights: the product is computed once, at load.
    dl::Dims dims = dl::dimsOf(values), rows = dims;
    rows.back() = dl::constantDim(1, &getContext());
    Value factors = builder.broadcast(builder.reshape(product.scale, rows), dims);
    values = builder.make<dl::MulOp>(values, factors);
  }
  Value w = builder.make<dl::ExpandTwoOfFourOp>(builder.cast(values, weight.element), places);
  Value x = op->getOperand(0), bias = op->getNumOperands() > 2 ? op->getOperand(2) : Value(), y;
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  const int64_t rank = type.getRank(), dim = product.dim;
  if (dim + 1 == rank) {
    y = builder.make<dl::LinearOp>(x, w, bias);
    bias = {};
  } else { // channels: a sum over a dim within x
    SmallVector<int64_t> ofX = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    ofX[dim] = rank;
    y = builder.make<dl::ContractOp>(x, w, builder.getDenseI64ArrayAttr(ofX),
                                     builder.getDenseI64ArrayAttr({dim, rank}),
                                     builder.getI64IntegerAttr(rank));
  }
  y.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  y.setType(type); // with its layout
  if (bias) {
    dl::Dims one(rank, dl::constantDim(1, &getContext()));
    one[dim] = dl::dimsOf(y)[dim];
    y = builder.make<dl::AddOp>(y, builder.broadcast(builder.reshape(bias, one), dl::dimsOf(y)));
    y.setType(type);
  }
  op->getResult(0).replaceAllUsesWith(y);
  op->erase();
}

void StoreTwoOfFour::runOnOperation() {
  func::FuncOp function = getOperation();
  const ScheduleOracle *oracle = ScheduleOracle::of(function);
  if (!oracle)
    return signalPassFailure();
  if (!oracle->multipliesTwoOfFour() || function.isExternal())
    return;
  for (const MatrixWeight &weight : findMatrixWeights(function)) {
    dl::WeightOp op = weight.op;
    std::string gain, why = whyWhole(weight, *oracle, gain);
    auto remark = [&] {
      return emitRemark(weight.products.front().op->getLoc(), "weight '")
             << op.getName() << "' is ";
    };
    if (!why.empty()) {
      ++numDense;
      if (explain)
        remark() << "multiplied whole on " << targetOf(function) << ": " << why;
      continue;
    }
    ++numStored;
    if (explain)
      remark() << "stored as two of each four numbers on " << targetOf(function) << " (" << gain
               << ")";
    Builder types(&getContext());
    Value values =
              storedPart(op, kValuesSuffix, {weight.rows, weight.columns / 2}, weight.stored()),
          places = storedPart(op, kPlacesSuffix, {weight.rows, weight.columns / kStepsOfPlaces},
                              types.getIntegerType(8, /*isSigned=*/false));
    values.getDefiningOp()->setAttr(kStoredNumbers,
                                    types.getI64IntegerAttr(dl::typeOf(values).getNumElements()));
    for (const MatrixProduct &product : weight.products)
      replace(product, weight, values, places);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
