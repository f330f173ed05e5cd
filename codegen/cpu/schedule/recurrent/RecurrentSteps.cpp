//===- RecurrentSteps.cpp - The steps of recurrences on the CPU ---------------------*- C++ -*-===//
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

RecurrentOpInterface recurrenceOf(dlx::KernelOp kernel) {
  return *kernel.getBodyBlock().getOps<RecurrentOpInterface>().begin();
}

unsigned inputOf(RecurrentOpInterface op, unsigned operand) {
  return cast<BlockArgument>(op->getOperand(operand)).getArgNumber();
}

SmallVector<PackedOperand> recurrentOperandsToPack(dlx::KernelOp kernel) {
  RecurrentOpInterface op = recurrenceOf(kernel);
  Recurrence r = op.getRecurrence();
  SmallVector<PackedOperand> packed;
  // weight [gate, unit, k] as [unit / 16][k][gate][16], projection [p, k] as [p / 16][k][16].
  packed.push_back({inputOf(op, r.weight), {{1, 2, 0}, 1, kPanel}});
  if (r.projection)
    packed.push_back({inputOf(op, *r.projection), {{0, 1}, 0, kPanel}});
  return packed;
}

int64_t weightBytes(const Recurrence &r) {
  return r.numGates * r.units * r.outputs * r.elementType.getIntOrFloatBitWidth() / 8;
}

RecurrentSteps::RecurrentSteps(CpuKernel &kernel)
    : k(kernel), op(recurrenceOf(kernel.emitter.getKernel())), r(op.getRecurrence()),
      type(computeType(r.elementType)), lanes(kernel.lanes()),
      maxVectors(kernel.isa >= IsaVariant::avx512 ? 24 : 12) {
  if (type.getIntOrFloatBitWidth() > 32)
    maxVectors /= 2;
}

//===- Memory ---------------------------------------------------------------------------------===//

Value RecurrentSteps::loadScratch(const StateRows &memory, Value row, Value column) {
  return vector::LoadOp::create(k.builder, k.loc, VectorType::get({lanes}, type), memory.memory,
                                at(memory, row, column));
}

void RecurrentSteps::storeScratch(const StateRows &memory, Value row, Value column, Value value) {
  vector::StoreOp::create(k.builder, k.loc, value, memory.memory, at(memory, row, column));
}

Value RecurrentSteps::loadBuffer(Value buffer, Value offset, Value mask) {
  auto stored = VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  Value value;
  if (!mask) {
    value = vector::LoadOp::create(k.builder, k.loc, stored, buffer, offset);
  } else {
    Value zero = arith::ConstantOp::create(k.builder, k.loc, k.builder.getZeroAttr(stored));
    value = vector::MaskedLoadOp::create(k.builder, k.loc, stored, buffer, offset, mask, zero);
  }
  return fromStorage(k.builder, k.loc, value, r.elementType);
}

void RecurrentSteps::storeBuffer(Value buffer, Value offset, Value mask, Value value) {
  Value stored = toStorage(k.builder, k.loc, value, r.elementType);
  if (mask)
    vector::MaskedStoreOp::create(k.builder, k.loc, buffer, offset, mask, stored);
  else
    vector::StoreOp::create(k.builder, k.loc, stored, buffer, offset);
}

void RecurrentSteps::forColumns(int64_t columns, llvm::function_ref<void(Value, Value)> body) {
  int64_t whole = columns / lanes * lanes;
  if (whole > 0)
    k.forEach(k.index(0), k.index(whole), lanes, [&](Value column) { body(column, {}); });
  if (whole < columns)
    body(k.index(whole), k.laneMask(k.index(columns - whole), lanes));
}

void RecurrentSteps::forColumnsOf(int64_t columns, const std::optional<UnitRange> &range,
                                  llvm::function_ref<void(Value, Value)> body) {
  if (!range)
    return forColumns(columns, body);
  int64_t whole = columns / lanes * lanes;
  k.forEach(range->begin, k.smaller(range->end, k.index(whole)), lanes,
            [&](Value column) { body(column, {}); });
  if (whole < columns)
    k.when(k.less(k.index(whole), range->end),
           [&] { body(k.index(whole), k.laneMask(k.index(columns - whole), lanes)); });
}

//===- Time -----------------------------------------------------------------------------------===//

Value RecurrentSteps::length(Value row) {
  Value steps = k.value(r.steps);
  if (!r.lengths)
    return steps;
  Value stored = memref::LoadOp::create(k.builder, k.loc, k.input(inputOf(op, *r.lengths)),
                                        k.add(firstRow, row));
  Value count = arith::IndexCastOp::create(k.builder, k.loc, k.builder.getIndexType(), stored);
  Value atLeast = arith::MaxSIOp::create(k.builder, k.loc, count, k.index(0));
  return k.smaller(atLeast, steps);
}

Value RecurrentSteps::mostSteps() {
  if (!r.lengths)
    return k.value(r.steps);
  return k
      .fold(k.index(0), tileRows, 1, k.index(0),
            [&](Value row, ValueRange most) {
              return SmallVector<Value>{
                  arith::MaxSIOp::create(k.builder, k.loc, most.front(), length(row))};
            })
      .front();
}

Value RecurrentSteps::place(Value row, Value time) {
  Value global = k.add(firstRow, row);
  return r.rowsFirst ? k.add(k.mul(global, k.value(r.steps)), time)
                     : k.add(k.mul(time, k.value(r.rows)), global);
}

RecurrentSteps::Moment RecurrentSteps::momentOf(Value row, Value step) {
  Moment moment;
  Value count = length(row), time = step;
  if (r.lengths)
    moment.counts = k.less(step, count);
  if (r.reverse) {
    Value last = arith::SubIOp::create(k.builder, k.loc, count, k.index(1));
    time = arith::SubIOp::create(k.builder, k.loc, last, step);
    if (r.lengths) // a row that is done reads at its first step, and nothing of it is kept
      time = arith::MaxSIOp::create(k.builder, k.loc, time, k.index(0));
  }
  moment.offset = place(row, time);
  return moment;
}

//===- Steps ----------------------------------------------------------------------------------===//

void RecurrentSteps::cell(Value step, ArrayRef<StateRows> oldStates, ArrayRef<StateRows> nextStates,
                          const std::optional<UnitRange> &range) {
  Value gates = k.input(inputOf(op, r.gates)), y = k.output(0);
  forRows([&](Value row) {
    Moment moment = momentOf(row, step);
    Value gatesAt = k.mul(moment.offset, k.index(r.numGates * r.units));
    Value yAt = k.mul(moment.offset, k.index(r.outputs));
    forColumnsOf(r.units, range, [&](Value column, Value mask) {
      SmallVector<Value> x, h, old;
      for (unsigned gate = 0; gate < r.numGates; ++gate) {
        Value start = k.add(column, k.index(gate * r.units));
        x.push_back(loadBuffer(gates, k.add(gatesAt, start), mask));
        Value sum = loadScratch(pre, row, k.add(column, k.index(gate * (pre.width / r.numGates))));
        if (r.bias)
          sum = arith::AddFOp::create(k.builder, k.loc, sum,
                                      loadBuffer(k.input(inputOf(op, *r.bias)), start, mask));
        h.push_back(sum);
      }
      for (auto [index, state] : llvm::enumerate(oldStates))
        old.push_back(loadScratch(r.projection && index == 0 ? whole : state, row, column));
      auto extent = [&](AffineExpr dim) { return k.value(dim); };
      BodyContext context{k.builder, op.getLoc(), {}, extent};
      SmallVector<Value> next = op.emitStep(context, x, h, old);
      for (auto [index, state] : llvm::enumerate(nextStates)) {
        if (r.projection && index == 0)
          storeScratch(whole, row, column, next[0]);
        else
          storeScratch(state, row, column,
                       moment.counts ? arith::SelectOp::create(k.builder, k.loc, moment.counts,
                                                               next[index], old[index])
                                           .getResult()
                                     : next[index]);
      }
      if (r.projection)
        return;
      auto store = [&] { storeBuffer(y, k.add(yAt, column), mask, next[0]); };
      if (moment.counts)
        k.when(moment.counts, store);
      else
        store();
    });
  });
}

Value RecurrentSteps::zeros() {
  return arith::ConstantOp::create(k.builder, k.loc,
                                   k.builder.getZeroAttr(VectorType::get({lanes}, type)));
}

void RecurrentSteps::begin(ArrayRef<StateRows> states, const std::optional<UnitRange> &range) {
  Value zero = zeros();
  forRows([&](Value row) {
    for (auto [index, state] : llvm::enumerate(states))
      forColumnsOf(
          r.width(index), range, [&, &index = index, &state = state](Value column, Value mask) {
            Value value = zero;
            if (!r.initial.empty())
              value = loadBuffer(
                  k.input(inputOf(op, r.initial[index])),
                  k.add(k.mul(k.add(firstRow, row), k.index(r.width(index))), column), mask);
            storeScratch(state, row, column, value);
          });
  });
}

void RecurrentSteps::finish(ArrayRef<StateRows> states, const std::optional<UnitRange> &range) {
  Value zero = zeros();
  forRows([&](Value row) {
    for (auto [index, state] : llvm::enumerate(states))
      forColumnsOf(
          r.width(index), range, [&, &index = index, &state = state](Value column, Value mask) {
            storeBuffer(k.output(1 + index),
                        k.add(k.mul(k.add(firstRow, row), k.index(r.width(index))), column), mask,
                        loadScratch(state, row, column));
          });
    if (r.lengths)
      k.forEach(length(row), k.value(r.steps), 1, [&](Value time) {
        Value yAt = k.mul(place(row, time), k.index(r.outputs));
        forColumnsOf(r.outputs, range, [&](Value column, Value mask) {
          storeBuffer(k.output(0), k.add(yAt, column), mask, zero);
        });
      });
  });
}

} // namespace dlc::codegen
