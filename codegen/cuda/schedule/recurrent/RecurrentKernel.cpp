//===- RecurrentKernel.cpp - One block for each row of a recurrence -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads of a block share the hidden units of one row of the batch; the states lie in shared
// memory, the first one twice: a step reads one copy and writes the other, so that one barrier ends
// it. The weights come from the second-level cache, neighbouring units side by side.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"
#include "codegen/cuda/schedule/recurrent/RecurrentElements.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Threads of a block at most: more units go round.
static constexpr int64_t kMostThreads = 512;
/// Static shared memory of a block.
static constexpr int64_t kSharedBytes = 48 << 10;

namespace {
class RecurrentSchedule : RecurrentElements {
public:
  RecurrentSchedule(KernelBuilder &k, RecurrentOpInterface op) : RecurrentElements(k, op) {}
  LogicalResult run();

private:
  void overColumns(StringRef role, int64_t columns, llvm::function_ref<void(Value)> body) {
    k.loop(role, thread, k.index(columns), threads, KernelBuilder::Unroll::never, body);
  }
  Value place(Value time);
  SmallVector<Value> sums(unsigned weight, int64_t length, int64_t count, int64_t columns,
                          Value column, llvm::function_ref<Value(Value)> element);
  void unit(Value at, Value from, Value to, Value unit);
  void step(Value number, Value from, Value to);

  int64_t threads = 0;
  Value row, thread, length;
  SmallVector<Value> states; // in shared memory
  Value whole;               // outputs before the projection
};
} // namespace

/// The row's place at `time` in gates and y.
Value RecurrentSchedule::place(Value time) {
  return r.rowsFirst ? k.add(k.mul(row, k.index(r.steps)), time)
                     : k.add(k.mul(time, k.index(r.rows)), row);
}

/// For each of `count` groups of `columns`: the sum over `length` of element times packed weight.
SmallVector<Value> RecurrentSchedule::sums(unsigned weight, int64_t length, int64_t count,
                                           int64_t columns, Value column,
                                           llvm::function_ref<Value(Value)> element) {
  SmallVector<Value> zeros(count, zero());
  SmallVector<StringRef> names(count, "sum");
  return SmallVector<Value>(
      k.loop("k", k.index(0), k.index(length), 1, zeros, names, KernelBuilder::Unroll::automatic,
             [&](Value at, ValueRange carried) {
               Value x = element(at);
               SmallVector<Value> next;
               for (int64_t group = 0; group < count; ++group) {
                 Value start = k.add(k.mul(at, k.index(count)), k.index(group));
                 Value w = load(input(weight), k.add(k.mul(start, k.index(columns)), column));
                 next.push_back(math::FmaOp::create(k.b, k.loc, x, w, carried[group]));
               }
               return next;
             }));
}

void RecurrentSchedule::unit(Value at, Value from, Value to, Value unit) {
  SmallVector<Value> h = sums(r.weight, r.outputs, r.numGates, r.units, unit,
                              [&](Value at) { return k.read(states[0], {k.add(from, at)}); });
  SmallVector<Value> x, old;
  Value gatesAt = k.mul(at, r.numGates * r.units);
  for (unsigned gate = 0; gate < r.numGates; ++gate) {
    Value column = k.add(unit, k.index(gate * r.units));
    x.push_back(load(input(r.gates), k.add(gatesAt, column)));
    if (r.bias)
      h[gate] = arith::AddFOp::create(k.b, k.loc, h[gate], load(input(*r.bias), column));
  }
  // With a projection the step does not read the first state.
  old.push_back(r.projection ? zero() : k.read(states[0], {k.add(from, unit)}));
  for (Value state : ArrayRef(states).drop_front())
    old.push_back(k.read(state, {unit}));
  auto extent = [&](AffineExpr dim) { return k.index(dim); };
  BodyContext context{k.b, k.loc, {}, extent};
  SmallVector<Value> next = op.emitStep(context, x, h, old);
  for (auto [state, value] : llvm::zip(ArrayRef(states).drop_front(), ArrayRef(next).drop_front()))
    k.write(state, {unit}, value);
  if (r.projection)
    return k.write(whole, {unit}, next[0]);
  k.write(states[0], {k.add(to, unit)}, next[0]);
  store(k.output(0), k.add(k.mul(at, r.outputs), unit), next[0]);
}

void RecurrentSchedule::step(Value number, Value from, Value to) {
  Value time = r.reverse ? subtract(subtract(length, k.index(1)), number) : number;
  Value at = place(time);
  overColumns("unit", r.units, [&](Value column) { unit(at, from, to, column); });
  k.barrier();
  if (!r.projection)
    return;
  overColumns("output", r.outputs, [&](Value column) {
    Value value = sums(*r.projection, r.units, 1, r.outputs, column, [&](Value at) {
                    return k.read(whole, {at});
                  }).front();
    k.write(states[0], {k.add(to, column)}, value);
    store(k.output(0), k.add(k.mul(at, r.outputs), column), value);
  });
  k.barrier();
}

LogicalResult RecurrentSchedule::run() {
  int64_t elements = 2 * r.outputs + (r.numStates - 1) * r.units + (r.projection ? r.units : 0);
  int64_t bytes = elements * (type.getIntOrFloatBitWidth() / 8);
  if (bytes > kSharedBytes)
    return k.body.getKernel().emitOpError("keeps ")
           << bytes << " bytes of states for each row; a block has " << kSharedBytes
           << " bytes of shared memory";
  threads = std::min<int64_t>(kMostThreads, llvm::alignTo(std::max(r.units, r.outputs), 32));
  row = k.block(gpu::Dimension::x, "row");
  thread = k.thread();
  Value steps = k.index(r.steps);
  length = steps;
  if (r.lengths) {
    Value stored = k.read(input(*r.lengths), {row});
    Value count = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), stored);
    Value atLeast = arith::MaxSIOp::create(k.b, k.loc, count, k.index(0));
    length = k.named(arith::MinSIOp::create(k.b, k.loc, atLeast, steps), "length");
  }
  for (unsigned state = 0; state < r.numStates; ++state)
    states.push_back(
        k.shared({state == 0 ? 2 * r.outputs : r.units}, type, "state" + std::to_string(state)));
  if (r.projection)
    whole = k.shared({r.units}, type, "whole");
  for (unsigned state = 0; state < r.numStates; ++state)
    overColumns("i", r.width(state), [&](Value i) {
      Value value = r.initial.empty()
                        ? zero()
                        : load(input(r.initial[state]), k.add(k.mul(row, r.width(state)), i));
      k.write(states[state], {i}, value);
    });
  k.barrier();
  ValueRange buffers =
      k.loop("step", k.index(0), length, 1, {k.index(0), k.index(r.outputs)}, {"from", "to"},
             KernelBuilder::Unroll::never, [&](Value number, ValueRange copies) {
               step(number, copies[0], copies[1]);
               return SmallVector<Value>{copies[1], copies[0]};
             });
  for (unsigned state = 0; state < r.numStates; ++state)
    overColumns("i", r.width(state), [&](Value i) {
      Value value = k.read(states[state], {state == 0 ? k.add(buffers[0], i) : i});
      store(k.output(1 + state), k.add(k.mul(row, r.width(state)), i), value);
    });
  if (r.lengths)
    k.loop("time", length, steps, 1, KernelBuilder::Unroll::never, [&](Value time) {
      Value at = k.mul(place(time), r.outputs);
      overColumns("i", r.outputs, [&](Value i) { store(k.output(0), k.add(at, i), zero()); });
    });
  k.finish(threads, {r.rows});
  return success();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent)
    return {};
  auto ops = recurrencesOf(question.kernel());
  if (ops.size() > 1)
    return {};
  Recurrence r = ops.front().getRecurrence();
  StepShape shape = {r.numGates,
                     r.units,
                     r.outputs,
                     int64_t(question.usual(r.rows)),
                     r.elementType.getIntOrFloatBitWidth() / 8,
                     r.projection.has_value(),
                     std::nullopt};
  double clocks = clocksOfRowStep(shape, question.k.gpu()) * question.usual(r.steps) *
                  question.k.gpu().schedules.recurrences;
  return dlx::PlanAttr::get(question.kernel().getContext(), kRecurrentSchedule.name,
                            question.nanoseconds(clocks), {});
}

static Requirements requirements(PlanQuestion &question, dlx::PlanAttr) {
  RecurrentOpInterface op = recurrencesOf(question.kernel()).front();
  Recurrence r = op.getRecurrence();
  auto inputOf = [&](unsigned operand) {
    return cast<BlockArgument>(op->getOperand(operand)).getArgNumber();
  };
  // weight [gate, unit, k] as [k][gate][unit], projection [p, k] as [k][p].
  Requirements needs;
  needs.operands.push_back({inputOf(r.weight), {{2, 0, 1}, -1, 1}});
  if (r.projection)
    needs.operands.push_back({inputOf(*r.projection), {{1, 0}, -1, 1}});
  return needs;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  return RecurrentSchedule(k, recurrencesOf(k.body.getKernel()).front()).run();
}

constinit const Schedule kRecurrentSchedule = {"recurrent_rows", match, build, requirements};

} // namespace dlc::codegen
