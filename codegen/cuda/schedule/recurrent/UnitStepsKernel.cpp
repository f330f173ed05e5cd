//===- UnitStepsKernel.cpp - A kernel of steps whose hidden units blocks share ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recurrences of a kernel from their first states over all steps, or waves, to their last
// states.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"
#include "ir/analysis/StackedLayers.h"

using namespace mlir;

namespace dlc::codegen {

void UnitSteps::nameArguments() {
  auto name = [&](auto operand, const char *role) {
    k.nameInput(cast<BlockArgument>(input(operand)).getArgNumber(), role);
  };
  if (product)
    name(product.getWeight(), "weight_of_below");
  else
    name(r.gates, "gates");
  name(r.weight, "weight");
}

void UnitSteps::keepAll(ArrayRef<abi::KeptColumns> lists) {
  const int64_t lineBytes =
      r.numGates * padded(r.outputs) * (r.elementType.getIntOrFloatBitWidth() / 8);
  weights = {"unit",     {},
             r.numGates, r.units,
             r.outputs,  lists[0].bytes,
             nullptr,    padded(r.projection ? r.units : r.outputs),
             0};
  SmallVector<Value, 2> matrices = {input(r.weight)};
  if (product)
    matrices.insert(matrices.begin(), input(product.getWeight()));
  for (auto [source, matrix] : llvm::enumerate(matrices)) {
    weights.begin = beginOfLayer(cell.layer, lineBytes) + static_cast<int64_t>(source) * lineBytes;
    weights.matrices = {matrix};
    keep(weights);
  }
  weights.begin = beginOfLayer(cell.layer, lineBytes);
  weights.matrices = std::move(matrices);
  if (r.projection) {
    projection = {"output", {input(*r.projection)}, 1, r.outputs, r.units, lists[1].bytes,
                  &weights, padded(r.outputs),      0};
    keep(projection);
  }
}

/// Stores the states after the last step; `from` is the copy of those that products read which the
/// next step would read, `to` the other one.
void UnitSteps::end(Value from, Value to) {
  // The copies change their places in the waves after the layer's last step, too.
  Value copy = (cell.layers - 1 - cell.layer) % 2 ? to : from;
  for (unsigned state = 0; state < r.numStates; ++state)
    if (Value last = output(1 + state))
      overGrid(r.rows * r.width(state), [&](Value at) {
        Value part = state             ? k.index(space.states[state - 1])
                     : form.areRounded ? k.index(space.first)
                                       : copy;
        store(last, at, k.read(exchange, {k.add(part, at)}));
      });
}

void UnitSteps::build(KernelBuilder &k,
                      llvm::function_ref<std::unique_ptr<UnitSteps>(const UnitCell &)> make,
                      int64_t blocks, ArrayRef<abi::KeptColumns> lists, int64_t fixedBytes) {
  dlx::KernelOp kernel = k.body.getKernel();
  auto ops = recurrencesOf(kernel);
  std::vector<std::unique_ptr<UnitSteps>> cells;
  AffineExpr end = dl::constantDim(abi::kExchangeCounters, kernel.getContext());
  const bool inWaves = areStacked(ops);
  for (auto [number, op] : llvm::enumerate(ops)) {
    const auto at = static_cast<int64_t>(number), count = static_cast<int64_t>(ops.size());
    cells.push_back(
        make(inWaves ? UnitCell{op, 0, 1, at, count, end} : UnitCell{op, at, count, 0, 1, end}));
    end = cells.back()->space.end;
  }
  Value exchange = k.exchange(end, k.b.getF32Type());
  for (auto &cell : cells) {
    cell->exchange = exchange;
    cell->nameArguments();
  }
  Value block = k.block(gpu::Dimension::x, "block"), thread = k.thread();
  for (auto &cell : cells) {
    cell->block = block;
    cell->thread = thread;
    cell->keepAll(lists);
  }
  for (auto &cell : cells)
    cell->begin();
  k.gridBarrier(exchange);
  SmallVector<Value> copies;
  SmallVector<StringRef> names;
  for (auto &cell : cells) {
    copies.append({k.index(cell->space.copies[0]), k.index(cell->space.copies[1])});
    names.append({"from", "to"});
  }
  const Recurrence &r = cells.front()->r;
  // The cells multiply in the same shared memory, one after the other; then all blocks meet.
  auto forEachCell = [&](auto multiply) {
    for (auto &cell : cells) {
      if (cell != cells.front())
        k.barrier();
      multiply(*cell);
    }
    k.gridBarrier(exchange);
  };
  const AffineExpr turns =
      inWaves ? dl::normalize(r.steps + static_cast<int64_t>(ops.size() - 1)) : r.steps;
  ValueRange last =
      k.loop(inWaves ? "wave" : "step", k.index(0), k.index(turns), 1, copies, names,
             KernelBuilder::Unroll::never, [&](Value number, ValueRange carried) {
               auto turnOf = [&](const UnitSteps &steps) {
                 const int64_t layer = steps.cell.layer, at = 2 * (steps.cell.number + layer);
                 return Turn{layer ? k.b.createOrFold<arith::SubIOp>(k.loc, number, k.index(layer))
                                   : number,
                             carried[at], carried[at + 1], layer ? carried[at - 2] : Value()};
               };
               forEachCell([&](UnitSteps &steps) {
                 if (Value hasStep = steps.hasStep(number))
                   k.when(hasStep, [&] { steps.units(turnOf(steps)); });
                 else
                   steps.units(turnOf(steps));
               });
               if (r.projection)
                 forEachCell([&](UnitSteps &steps) { steps.outputs(turnOf(steps)); });
               SmallVector<Value> next;
               for (size_t at = 0; at < carried.size(); at += 2)
                 next.append({carried[at + 1], carried[at]});
               return next;
             });
  for (auto [number, cell] : llvm::enumerate(cells))
    cell->end(last[2 * number], last[2 * number + 1]);
  // One block a multiprocessor: the more loads its registers hold, the better.
  auto function = cast<gpu::GPUFuncOp>(cast<BlockArgument>(exchange).getOwner()->getParentOp());
  function->setAttr("dlc.resident_blocks", k.b.getI32IntegerAttr(1));
  kernel.setCooperative(true);
  k.makePersistent(lists);
  k.finish(32 * kStepWarps, {k.math.constant(blocks)}, fixedBytes);
}

} // namespace dlc::codegen
