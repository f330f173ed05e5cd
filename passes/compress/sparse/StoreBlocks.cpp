//===- StoreBlocks.cpp - Weights without their blocks of zeros ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "ir/interfaces/ScheduleOracle.h"
#include "passes/Passes.h"
#include "passes/compress/StoredPart.h"
#include "passes/compress/prune/BlockMask.h"
#include "passes/compress/sparse/BlockGain.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#define DEBUG_TYPE "store-blocks"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_STOREBLOCKS
#include "passes/Passes.h.inc"

namespace {

/// The three tensors that take the place of a weight.
struct StoredTensors {
  Value values, columns, starts;
};

class StoreBlocks : public impl::StoreBlocksBase<StoreBlocks> {
public:
  using StoreBlocksBase::StoreBlocksBase;

private:
  void runOnOperation() override;
  std::string whyWhole(const MatrixWeight &weight, int64_t stored, std::string &gain) const;
  StoredTensors store(const MatrixWeight &weight, int64_t stored);
  void replace(const MatrixProduct &product, const MatrixWeight &weight, StoredTensors tensors);
};

} // namespace

/// "43.8 %" of the blocks are zero.
static std::string shareText(const MatrixWeight &weight, int64_t stored) {
  const double zeros = 1 - static_cast<double>(stored) / static_cast<double>(blocksOf(weight));
  return llvm::formatv("{0:F1} %", 100 * zeros).str();
}

/// A part of a sentence, empty where blocks are faster: `gain` says then by how much.
std::string StoreBlocks::whyWhole(const MatrixWeight &weight, int64_t stored,
                                  std::string &gain) const {
  if (!weight.whyDense.empty())
    return weight.whyDense;
  if (weight.rows % kBlockRows != 0 &&
      llvm::any_of(weight.products, [](const MatrixProduct &product) { return !!product.scale; }))
    return "a factor for each row multiplies it, and its rows fill no whole blocks";
  if (!weight.element.isF32())
    return "products read it in another dtype than f32";
  auto times = gainOfBlocks(weight, stored);
  if (!times)
    return "the data say how large a product with it is";
  gain = llvm::formatv("{0:F2}x", *times).str();
  if (*times > 1 && mayGainByBlocks(weight, stored))
    return "";
  return "too few of its blocks are zero, " + shareText(weight, stored) + " (" + gain + ")";
}

StoredTensors StoreBlocks::store(const MatrixWeight &weight, int64_t stored) {
  Builder types(&getContext());
  const auto panels = static_cast<int64_t>(llvm::divideCeil(weight.rows, kBlockRows));
  // A tensor has an element at least.
  const int64_t blocks = std::max<int64_t>(stored, 1);
  return {storedPart(weight.op, kValuesSuffix, {blocks, kBlockRows}, types.getF32Type()),
          storedPart(weight.op, kColumnsSuffix, {blocks}, types.getI32Type()),
          storedPart(weight.op, kStartsSuffix, {panels + 1}, types.getI32Type())};
}

void StoreBlocks::replace(const MatrixProduct &product, const MatrixWeight &weight,
                          StoredTensors tensors) {
  Operation *op = product.op;
  dl::Builder builder(op);
  if (product.scale) {
    // Each block has the factors of its panel; what depends on weights alone is computed once, at
    // load.
    const int64_t panels = weight.rows / kBlockRows;
    Value ofPanels = builder.reshape(product.scale, {dl::constantDim(panels, &getContext()),
                                                     dl::constantDim(kBlockRows, &getContext())});
    Value panel = storedPart(weight.op, kPanelsSuffix, dl::typeOf(tensors.columns).getShape(),
                             builder.getI32Type());
    Value factors = builder.make<dl::IndexSelectOp>(ofPanels, panel, uint64_t(0));
    tensors.values = builder.make<dl::MulOp>(tensors.values, factors);
  }
  Value bias = op->getNumOperands() > 2 ? op->getOperand(2) : Value();
  auto y = builder.make<dl::BlockSparseLinearOp>(
      op->getOperand(0), tensors.values, tensors.columns, tensors.starts, bias,
      static_cast<uint64_t>(weight.rows), static_cast<uint64_t>(product.dim), product.steps);
  y.setType(op->getResult(0).getType()); // with its layout
  op->getResult(0).replaceAllUsesWith(y);
  op->erase();
}

void StoreBlocks::runOnOperation() {
  func::FuncOp function = getOperation();
  const ScheduleOracle *oracle = ScheduleOracle::of(function);
  if (!oracle)
    return signalPassFailure();
  if (!oracle->multipliesStoredBlocks() || function.isExternal())
    return;
  for (const MatrixWeight &weight : findMatrixWeights(function)) {
    if (!weight.stored().isF32())
      continue;
    auto op = weight.op;
    auto counted = op->getAttrOfType<IntegerAttr>(kStoredBlocks);
    const int64_t stored = counted ? counted.getInt() : blocksOf(weight);
    std::string gain, why = counted || !weight.whyDense.empty()
                                ? whyWhole(weight, stored, gain)
                                : "its numbers are not known when the model is compiled";
    auto remark = [&] {
      return emitRemark(weight.products.front().op->getLoc(), "weight '")
             << op.getName() << "' is ";
    };
    if (!why.empty()) {
      ++numDense;
      if (explain)
        remark() << "multiplied whole on cpu: " << why;
      continue;
    }
    ++numStored;
    if (explain)
      remark() << "stored without its blocks of zeros on cpu: " << shareText(weight, stored)
               << " of them (" << gain << ")";
    StoredTensors tensors = store(weight, stored);
    for (const MatrixProduct &product : weight.products)
      replace(product, weight, tensors);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace dlc
