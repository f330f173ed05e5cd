//===- RecurrentProduct.cpp - States times weights, for the rows of a tile ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/recurrent/RecurrentSteps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Steps of the product's loop written out at once.
static constexpr int64_t kStepsAtOnce = 4;
/// Rows that share a vector of weights.
static constexpr int64_t kBlockRows = 4;
/// Accumulators that hide the latency of their additions.
static constexpr int64_t kBusyVectors = 8;

void RecurrentSteps::productBlock(const Block &block, Value firstPanel, int64_t panels,
                                  Value firstRow, int64_t rows) {
  auto vectorType = VectorType::get({lanes}, type);
  Value weight = k.input(block.weightInput);
  Type stored = cast<MemRefType>(weight.getType()).getElementType();
  Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(vectorType));
  int64_t gates = block.gates;
  auto multiply = [&](Value part, Value at, SmallVector<Value> accs) {
    SmallVector<Value> b;
    for (int64_t panel = 0; panel < panels; ++panel) {
      Value step = k.add(k.mul(k.add(firstPanel, k.index(panel)), k.index(block.length)), at);
      Value base = k.add(k.mul(step, k.index(gates * kPanel)), part);
      for (int64_t gate = 0; gate < gates; ++gate) {
        Value loaded = vector::LoadOp::create(k.builder, k.loc, VectorType::get({lanes}, stored),
                                              weight, k.add(base, k.index(gate * kPanel)));
        b.push_back(fromStorage(k.builder, k.loc, loaded, r.elementType));
      }
    }
    for (int64_t row = 0; row < rows; ++row) {
      Value element =
          memref::LoadOp::create(k.builder, k.loc, block.from.memory,
                                 this->at(block.from, k.add(firstRow, k.index(row)), at));
      Value a = k.splat(element, lanes);
      for (auto [j, value] : llvm::enumerate(b)) {
        Value &acc = accs[row * b.size() + j];
        acc = math::FmaOp::create(k.builder, k.loc, a, value, acc);
      }
    }
    return accs;
  };
  k.forEach(k.index(0), k.index(kPanel), lanes, [&](Value part) {
    SmallVector<Value> accs(rows * panels * gates, zero);
    int64_t whole = block.length / kStepsAtOnce * kStepsAtOnce;
    if (whole > 0)
      accs =
          k.fold(k.index(0), k.index(whole), kStepsAtOnce, accs, [&](Value at, ValueRange carried) {
            SmallVector<Value> next(carried);
            for (int64_t step = 0; step < kStepsAtOnce; ++step)
              next = multiply(part, k.add(at, k.index(step)), next);
            return next;
          });
    for (int64_t at = whole; at < block.length; ++at)
      accs = multiply(part, k.index(at), accs);
    int64_t gateWidth = block.to.width / gates;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t panel = 0; panel < panels; ++panel)
        for (int64_t gate = 0; gate < gates; ++gate) {
          Value first = k.mul(k.add(firstPanel, k.index(panel)), k.index(kPanel));
          storeScratch(block.to, k.add(firstRow, k.index(row)),
                       k.add(k.add(first, part), k.index(gate * gateWidth)),
                       accs[(row * panels + panel) * gates + gate]);
        }
  });
}

/// `rows` rows from `row` on times `panels`, so many of these `atOnce`: a multiple of that, or the
/// last ones of all `count` panels.
void RecurrentSteps::productRows(const Block &block, const UnitRange &panels, int64_t atOnce,
                                 int64_t count, Value row, int64_t rows) {
  int64_t whole = count / atOnce * atOnce;
  k.forEach(panels.begin, k.smaller(panels.end, k.index(whole)), atOnce,
            [&](Value panel) { productBlock(block, panel, atOnce, row, rows); });
  if (whole < count)
    k.when(k.less(k.index(whole), panels.end),
           [&] { productBlock(block, k.index(whole), count - whole, row, rows); });
}

int64_t RecurrentSteps::panelsAtOnce(int64_t gates, int64_t panels) const {
  return std::clamp<int64_t>(kBusyVectors / gates, 1, panels);
}

void RecurrentSteps::product(const StateRows &from, int64_t length, unsigned weightInput,
                             int64_t gates, int64_t columns, const StateRows &to,
                             const std::optional<UnitRange> &range) {
  Block block{from, to, length, weightInput, gates};
  int64_t panels = llvm::divideCeil(columns, kPanel);
  UnitRange all = range ? *range : UnitRange{k.index(0), k.index(panels)};
  int64_t blockRows = std::min<int64_t>(kBlockRows, maxVectors / gates);
  Value wholeRows = k.index(0);
  if (mostRows >= blockRows) {
    wholeRows = k.mul(k.divide(tileRows, k.index(blockRows)), k.index(blockRows));
    int64_t blockPanels = std::clamp<int64_t>(maxVectors / (gates * blockRows), 1, panels);
    while (range && panelsOfTile % blockPanels != 0)
      --blockPanels;
    // All blocks of rows while a panel is in the cache.
    int64_t whole = panels / blockPanels * blockPanels;
    auto overRows = [&](Value panel, int64_t count) {
      k.forEach(k.index(0), wholeRows, blockRows,
                [&](Value row) { productBlock(block, panel, count, row, blockRows); });
    };
    k.forEach(all.begin, k.smaller(all.end, k.index(whole)), blockPanels,
              [&](Value panel) { overRows(panel, blockPanels); });
    if (whole < panels)
      k.when(k.less(k.index(whole), all.end), [&] { overRows(k.index(whole), panels - whole); });
  }
  // A single row takes several panels at once.
  k.forEach(wholeRows, tileRows, 1, [&](Value row) {
    productRows(block, all, panelsAtOnce(gates, panels), panels, row, 1);
  });
}

} // namespace dlc::codegen
