//===- RecurrentUnits.cpp - A phase for each step, whose tiles are groups of units --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads share the units of all rows, and meet after each step: each reads its part of the
// weights alone, which stays in its cache. That pays where rows are few and weights are many. Phase
// 0 writes the first states, phase s + 1 runs step s, and the last phase writes what the recurrence
// gives beside y. All tiles of the next step read the first state, so that there are two of it,
// which the phases write in turn; each tile reads only its own part of the others.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/recurrent/RecurrentSteps.h"

#include "ir/machine/CpuModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows for which a tile writes out blocks of rows: as many as tiles of rows have.
static constexpr int64_t kBlocksOfRows = 16;

namespace {

class RecurrentUnits : RecurrentSteps {
public:
  explicit RecurrentUnits(CpuKernel &kernel);
  CpuLaunch run();

private:
  /// A row of `columns` columns for each row of the batch, from byte `offset` on.
  StateRows rowsAt(Value offset, int64_t columns);
  /// The bytes of that.
  AffineExpr bytesOf(int64_t columns) const;
  /// The states after `steps` steps.
  SmallVector<StateRows> statesAfter(Value steps);
  void emitTile(Value tile);

  int64_t panels, tiles;
};

} // namespace

RecurrentUnits::RecurrentUnits(CpuKernel &kernel) : RecurrentSteps(kernel) {
  mostRows = kBlocksOfRows;
  panels = llvm::divideCeil(r.units, kPanel);
  panelsOfTile = panelsAtOnce(r.numGates, panels);
  tiles = llvm::divideCeil(panels, panelsOfTile);
}

StateRows RecurrentUnits::rowsAt(Value offset, int64_t columns) {
  int64_t width = llvm::alignTo(columns, kPanel);
  return {k.scratchView(type, k.mul(k.value(r.rows), k.index(width)), offset), width};
}

AffineExpr RecurrentUnits::bytesOf(int64_t columns) const {
  return r.rows * (static_cast<int64_t>(llvm::alignTo(columns, kPanel)) * bytesOfElement());
}

SmallVector<StateRows> RecurrentUnits::statesAfter(Value steps) {
  Value first = k.mul(k.remainder(steps, k.index(2)), k.value(bytesOf(r.width(0))));
  SmallVector<StateRows> states = {rowsAt(first, r.width(0))};
  AffineExpr before = 2 * bytesOf(r.width(0));
  for (unsigned state = 1; state < r.numStates; ++state) {
    states.push_back(rowsAt(k.value(before), r.width(state)));
    before = before + bytesOf(r.width(state));
  }
  return states;
}

void RecurrentUnits::emitTile(Value tile) {
  firstRow = k.index(0);
  tileRows = k.value(r.rows);
  Value phase = k.divide(tile, k.index(tiles)), group = k.remainder(tile, k.index(tiles));
  Value firstPanel = k.mul(group, k.index(panelsOfTile)),
        endPanel = k.smaller(k.add(firstPanel, k.index(panelsOfTile)), k.index(panels));
  UnitRange ofPanels{firstPanel, endPanel},
      ofUnits{k.mul(firstPanel, k.index(kPanel)),
              k.smaller(k.mul(endPanel, k.index(kPanel)), k.index(r.units))};
  k.when(k.less(phase, k.index(1)), [&] { begin(statesAfter(k.index(0)), ofUnits); });
  Value steps = mostSteps(), one = k.index(1);
  // The steps of the longest row: no other ones change a state.
  Value isBegun = k.less(k.index(0), phase), isStep = k.less(phase, k.add(steps, one));
  k.when(arith::AndIOp::create(k.builder, k.loc, isBegun, isStep), [&] {
    Value step = arith::SubIOp::create(k.builder, k.loc, phase, one);
    SmallVector<StateRows> old = statesAfter(step), next = statesAfter(phase);
    product(old[0], r.outputs, inputOf(op, r.weight), r.numGates, r.units, pre, ofPanels);
    cell(step, old, next, ofUnits);
  });
  k.when(k.less(k.value(r.steps), phase), [&] { finish(statesAfter(steps), ofUnits); });
}

CpuLaunch RecurrentUnits::run() {
  AffineExpr bytes = bytesOf(r.width(0));
  for (unsigned state = 0; state < r.numStates; ++state)
    bytes = bytes + bytesOf(r.width(state));
  int64_t gates = r.numGates * llvm::alignTo(r.units, kPanel);
  pre = rowsAt(k.value(dl::normalize(bytes)), gates);
  k.forEach(k.begin, k.end, 1, [&](Value tile) { emitTile(tile); });
  CpuLaunch launch;
  launch.tiles = dl::constantDim(tiles, k.builder.getContext());
  launch.phases = r.steps + 2;
  launch.scratch = dl::normalize(bytes + bytesOf(gates));
  return launch;
}

CpuLaunch scheduleRecurrentUnits(CpuKernel &kernel) { return RecurrentUnits(kernel).run(); }

bool isWorthSharing(const Recurrence &r, double rows) {
  return double(weightBytes(r)) >= kAvx512Vnni.stepWeights && rows <= kAvx512Vnni.stepRows;
}

} // namespace dlc::codegen
