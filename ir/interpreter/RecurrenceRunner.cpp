//===- RecurrenceRunner.cpp - The steps of a recurrent op, run on host tensors ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/RecurrenceRunner.h"

#include "ir/interpreter/NestRunner.h"
#include "ir/interpreter/ScalarTape.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc {

namespace {
class RecurrenceRunner {
public:
  RecurrenceRunner(RecurrentOpInterface op, ArrayRef<Tensor> operands, ArrayRef<int64_t> symbols)
      : op(op), operands(operands), r(op.getRecurrence()), steps(evaluateDim(r.steps, symbols)),
        rows(evaluateDim(r.rows, symbols)), hidden(r.numGates * r.units), next(r.numStates) {
    for (Type type : op->getResultTypes()) {
      SmallVector<int64_t> dims;
      for (AffineExpr dim : dl::getDims(cast<RankedTensorType>(type)))
        dims.push_back(evaluateDim(dim, symbols));
      results.emplace_back(r.elementType, dims);
    }
    compileStep();
  }

  SmallVector<Tensor> run() {
    for (int64_t row = 0; row < rows; ++row)
      runRow(row);
    return results;
  }

private:
  void compileStep();
  void runRow(int64_t row);
  void step(int64_t row, int64_t t);
  int64_t place(int64_t row, int64_t t) const {
    return r.rowsFirst ? row * steps + t : t * rows + row;
  }

  RecurrentOpInterface op;
  ArrayRef<Tensor> operands;
  Recurrence r;
  int64_t steps, rows;
  SmallVector<Tensor> results;
  std::vector<ScalarTape> tapes; // one for each state: x, h, states -> the state's next value
  SmallVector<std::vector<double>> states; // of the row at hand
  std::vector<double> hidden;              // h part of the pre-activations
  SmallVector<std::vector<double>> next;
};
} // namespace

void RecurrenceRunner::compileStep() {
  Block body;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointToEnd(&body);
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < 2 * r.numGates + r.numStates; ++i)
    arguments.push_back(body.addArgument(computeType(r.elementType), op.getLoc()));
  ArrayRef<Value> all(arguments);
  auto extent = [](AffineExpr) -> Value { llvm_unreachable("a step reads no extent"); };
  BodyContext context{builder, op.getLoc(), {}, extent};
  SmallVector<Value> values =
      op.emitStep(context, all.take_front(r.numGates), all.slice(r.numGates, r.numGates),
                  all.take_back(r.numStates));
  for (Value value : values)
    tapes.emplace_back(body, value);
}

void RecurrenceRunner::step(int64_t row, int64_t t) {
  ArrayRef<double> weight = operands[r.weight].floats();
  for (int64_t i = 0, count = hidden.size(); i < count; ++i) {
    double sum = r.bias ? operands[*r.bias].floats()[i] : 0.0;
    for (int64_t k = 0; k < r.outputs; ++k)
      sum += weight[i * r.outputs + k] * states[0][k];
    hidden[i] = sum;
  }
  ArrayRef<double> gates =
      operands[r.gates].floats().slice(place(row, t) * hidden.size(), hidden.size());
  for (unsigned state = 0; state < r.numStates; ++state)
    next[state].resize(r.units);
  for (int64_t first = 0; first < r.units; first += kBlock) {
    int64_t count = std::min(kBlock, r.units - first);
    for (auto [state, tape] : llvm::enumerate(tapes)) {
      for (unsigned gate = 0; gate < r.numGates; ++gate) {
        std::copy_n(gates.begin() + gate * r.units + first, count, tape.argument(gate).floats);
        std::copy_n(hidden.begin() + gate * r.units + first, count,
                    tape.argument(r.numGates + gate).floats);
      }
      // With a projection the first state has no element for each unit, and the step does not read
      // it.
      for (unsigned from = r.projection ? 1 : 0; from < r.numStates; ++from)
        std::copy_n(states[from].begin() + first, count,
                    tape.argument(2 * r.numGates + from).floats);
      std::copy_n(tape.run(count).floats, count, next[state].begin() + first);
    }
  }
  if (r.projection) {
    ArrayRef<double> projection = operands[*r.projection].floats();
    std::vector<double> projected(r.outputs);
    for (int64_t i = 0; i < r.outputs; ++i)
      for (int64_t k = 0; k < r.units; ++k)
        projected[i] += projection[i * r.units + k] * next[0][k];
    next[0] = std::move(projected);
  }
  std::swap(states, next);
  std::copy(states[0].begin(), states[0].end(),
            results[0].floats().begin() + place(row, t) * r.outputs);
}

void RecurrenceRunner::runRow(int64_t row) {
  int64_t length = steps;
  if (r.lengths)
    length = std::clamp<int64_t>(operands[*r.lengths].ints()[row], 0, steps);
  states.assign(r.numStates, {});
  for (unsigned state = 0; state < r.numStates; ++state) {
    states[state].assign(r.width(state), 0.0);
    if (!r.initial.empty())
      std::copy_n(operands[r.initial[state]].floats().begin() + row * r.width(state),
                  r.width(state), states[state].begin());
  }
  for (int64_t s = 0; s < length; ++s)
    step(row, r.reverse ? length - 1 - s : s);
  for (unsigned state = 0; state < r.numStates; ++state)
    std::copy(states[state].begin(), states[state].end(),
              results[1 + state].floats().begin() + row * r.width(state));
}

SmallVector<Tensor> runRecurrence(RecurrentOpInterface op, ArrayRef<Tensor> operands,
                                  ArrayRef<int64_t> symbols) {
  return RecurrenceRunner(op, operands, symbols).run();
}

} // namespace dlc
