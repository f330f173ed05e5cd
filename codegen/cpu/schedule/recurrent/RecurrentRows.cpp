//===- RecurrentRows.cpp - Tiles of rows, from their first step to their last -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows do not depend on each other, so that a tile waits for no other one. Each reads all of the
// weights in each step. With a projection a step has a second product, of what the cell gives.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/recurrent/RecurrentSteps.h"

#include "ir/machine/CpuModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Weights that stay in a core's own cache from step to step get small tiles, which balance
/// threads better; others get large ones, which read them less often.
static constexpr int64_t kFewRows = 8, kManyRows = 16;

namespace {

class RecurrentRows : RecurrentSteps {
public:
  explicit RecurrentRows(CpuKernel &kernel);
  CpuLaunch run();

private:
  StateRows scratch(int64_t columns);
  void project(Value step);
  void emitTile(Value tile);

  int64_t scratchBytes = 0;
  SmallVector<StateRows> states;
  StateRows projected; // outputs after the projection
};

} // namespace

RecurrentRows::RecurrentRows(CpuKernel &kernel) : RecurrentSteps(kernel) {
  mostRows = double(weightBytes(r)) <= kAvx512Vnni.ownCache ? kFewRows : kManyRows;
  // A few rows are shared out among threads.
  if (auto rows = k.math.usual(r.rows))
    mostRows = std::max<int64_t>(1, std::min(mostRows, (*rows + 1) / 2));
}

StateRows RecurrentRows::scratch(int64_t columns) {
  int64_t width = llvm::alignTo(columns, kPanel), elements = width * mostRows;
  StateRows made{k.scratchView(type, elements, scratchBytes), width};
  scratchBytes += elements * bytesOfElement();
  return made;
}

void RecurrentRows::project(Value step) {
  product(whole, r.units, inputOf(op, *r.projection), 1, r.outputs, projected);
  forRows([&](Value row) {
    Moment moment = momentOf(row, step);
    Value yAt = k.mul(moment.offset, k.index(r.outputs));
    auto keep = [&] {
      forColumns(r.outputs, [&](Value column, Value mask) {
        Value value = loadScratch(projected, row, column);
        storeScratch(states[0], row, column, value);
        storeBuffer(k.output(0), k.add(yAt, column), mask, value);
      });
    };
    if (moment.counts)
      k.when(moment.counts, keep);
    else
      keep();
  });
}

void RecurrentRows::emitTile(Value tile) {
  firstRow = k.mul(tile, k.index(mostRows));
  tileRows = k.smaller(k.index(mostRows),
                       k.builder.createOrFold<arith::SubIOp>(k.loc, k.value(r.rows), firstRow));
  begin(states);
  k.forEach(k.index(0), mostSteps(), 1, [&](Value step) {
    product(states[0], r.outputs, inputOf(op, r.weight), r.numGates, r.units, pre);
    cell(step, states, states);
    if (r.projection)
      project(step);
  });
  finish(states);
}

CpuLaunch RecurrentRows::run() {
  for (unsigned state = 0; state < r.numStates; ++state)
    states.push_back(scratch(r.width(state)));
  pre = scratch(r.numGates * llvm::alignTo(r.units, kPanel));
  if (r.projection) {
    whole = scratch(r.units);
    projected = scratch(r.outputs);
  }
  k.forEach(k.begin, k.end, 1, [&](Value tile) { emitTile(tile); });
  return {r.rows.ceilDiv(mostRows), scratchBytes};
}

CpuLaunch scheduleRecurrentRows(CpuKernel &kernel) { return RecurrentRows(kernel).run(); }

} // namespace dlc::codegen
