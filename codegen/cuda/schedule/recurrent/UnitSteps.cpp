//===- UnitSteps.cpp - Steps whose hidden units blocks share ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "ir/analysis/CostModel.h"
#include "ir/analysis/StackedLayers.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

/// Rows of a batch of which nothing is known.
static constexpr int64_t kUsualRows = 32;

std::optional<StepShape> stepShape(ArrayRef<RecurrentOpInterface> ops,
                                   ArrayRef<dl::Range> symbols) {
  Recurrence r = RecurrentOpInterface(ops.front()).getRecurrence();
  if (r.elementType.isF64())
    return std::nullopt;
  auto rows = dl::rangeOf(r.rows, symbols);
  const int64_t layers = areStacked(ops) ? static_cast<int64_t>(ops.size()) : 1;
  return StepShape{r.numGates,
                   r.units,
                   r.outputs,
                   usualOrMiddle(r.rows, symbols).value_or(kUsualRows),
                   r.elementType.getIntOrFloatBitWidth() / 8,
                   r.projection.has_value(),
                   rows ? std::optional(rows->max) : std::nullopt,
                   static_cast<int64_t>(ops.size()) / layers,
                   layers};
}

std::optional<StepShape> sharedStepOf(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent || !question.k.mayExchange())
    return std::nullopt;
  return stepShape(recurrencesOf(question.kernel()), question.k.ranges());
}

double nanosecondsOfSteps(PlanQuestion &question, double clocks) {
  auto ops = recurrencesOf(question.kernel());
  Recurrence first = ops.front().getRecurrence();
  double more = areStacked(ops) ? double(ops.size() - 1) : 0; // waves than steps
  return question.nanoseconds(clocks * (question.usual(first.steps) + more) *
                              question.k.gpu().schedules.recurrences);
}

int64_t widthOf(int64_t length, int64_t most) {
  while (length % most != 0)
    most /= 2;
  return most;
}

UnitSteps::UnitSteps(KernelBuilder &k, const UnitCell &cell, ProductStates form)
    : RecurrentElements(k, cell.op), cell(cell),
      product(cell.layer > 0 ? productOfGates(cell.op) : dl::LinearOp()), form(form),
      space(layOut()) {}

UnitSteps::Places UnitSteps::layOut() const {
  AffineExpr at = cell.begin;
  int64_t widths = 0;
  auto take = [&](int64_t width) {
    AffineExpr begin = at;
    at = dl::normalize(at + r.rows * width);
    widths += width;
    return begin;
  };
  auto takeForProducts = [&](int64_t length) {
    return take(form.areRounded ? padded(length) / 2 : length);
  };
  Places places;
  places.copies[0] = takeForProducts(r.outputs);
  places.copies[1] = takeForProducts(r.outputs);
  if (form.areRounded && r.projection)
    places.whole = takeForProducts(r.units);
  if (form.areRounded)
    places.first = take(r.outputs);
  for (unsigned state = 1; state < r.numStates; ++state)
    places.states.push_back(take(r.units));
  if (!form.areRounded && r.projection)
    places.whole = takeForProducts(r.units);
  // The next recurrence's rounded states are read 16 bytes at a time.
  if (form.areRounded && (cell.number + 1 < cell.count || cell.layer + 1 < cell.layers))
    take(llvm::alignTo(widths, 4) - widths);
  places.end = at;
  return places;
}

/// Elements that the threads of the grid divide among them.
void UnitSteps::overGrid(AffineExpr elements, llvm::function_ref<void(Value)> body) {
  Value blocks = gpu::GridDimOp::create(k.b, k.loc, gpu::Dimension::x);
  Value first = k.add(k.mul(block, 32 * kStepWarps), thread);
  Value stride = k.named(k.mul(blocks, 32 * kStepWarps), "stride");
  k.loop("i", first, k.index(dl::normalize(elements)), stride, {}, {}, KernelBuilder::Unroll::never,
         [&](Value at, ValueRange) -> SmallVector<Value> {
           body(at);
           return {};
         });
}

/// Elements of all states, [rows][width].
void UnitSteps::overStates(llvm::function_ref<void(unsigned, Value)> body) {
  for (unsigned state = 0; state < r.numStates; ++state)
    overGrid(r.rows * r.width(state), [&](Value at) { body(state, at); });
}

/// Writes the states before the first step: of layer l, that is in wave l.
void UnitSteps::begin() {
  const AffineExpr first = space.copies[cell.layer % 2], second = space.copies[1 - cell.layer % 2];
  overStates([&](unsigned state, Value at) {
    AffineExpr part = state ? space.states[state - 1] : form.areRounded ? space.first : first;
    Value initial = r.initial.empty() ? zero() : load(input(r.initial[state]), at);
    k.write(exchange, {k.add(k.index(part), at)}, initial);
  });
  if (form.areRounded) {
    auto initial = [&](Value row, Value column) {
      return r.initial.empty() ? zero()
                               : load(input(r.initial[0]), k.add(k.mul(row, r.outputs), column));
    };
    auto none = [&](Value, Value) { return zero(); };
    beginRounded(weights, k.index(first), initial);
    beginRounded(weights, k.index(second), none);
    if (r.projection)
      beginRounded(projection, k.index(space.whole), none);
  } else if (r.projection && r.lengths) {
    // Rows without a step leave theirs as it is, and the projection multiplies it all the same.
    overGrid(r.rows * r.units,
             [&](Value at) { k.write(exchange, {k.add(k.index(space.whole), at)}, zero()); });
  }
}

//===- Calls of templates ---------------------------------------------------------------------===//

DictionaryAttr UnitSteps::configOf(const Columns &columns,
                                   ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  SmallVector<NamedAttribute> config;
  auto say = [&](StringRef name, int64_t number) {
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(number)));
  };
  for (auto [name, number] : numbers)
    say(name, number);
  if (cell.count > 1) {
    say("cells", cell.count);
    say("cell", cell.number);
  }
  if (cell.layers > 1) {
    say("column_at", columns.begin);
    say("sources", static_cast<int64_t>(columns.matrices.size()));
  }
  return k.b.getDictionaryAttr(config);
}

dlk::CallOp UnitSteps::call(StringRef callee, StringRef header, DictionaryAttr config,
                            ArrayRef<ArrayRef<StringRef>> roles, ValueRange values,
                            Value exchanged) {
  SmallVector<Attribute> names;
  for (ArrayRef<StringRef> list : roles)
    names.push_back(k.b.getStrArrayAttr(list));
  return dlk::CallOp::create(k.b, k.loc, callee, header, storageType(r.elementType), config,
                             k.b.getArrayAttr(names), values, exchanged, roles.size());
}

void UnitSteps::fillBodies(dlk::CallOp call, const Columns &columns, Before before, Finish finish) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  // The type of `count` values, and more where C++ has no such vector: its size is aligned.
  auto vectorOf = [&](int64_t count) {
    int64_t size = count < 4 ? llvm::PowerOf2Ceil(count) : count;
    return VectorType::get({std::max<int64_t>(1, size)}, k.b.getF32Type());
  };
  auto lanesOf = [&](Value vector, int64_t count) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < count; ++lane)
      lanes.push_back(vector::ExtractOp::create(k.b, k.loc, vector, lane));
    return lanes;
  };
  Block &first = dlk::beginBody(k.b, call, 0, {index, index});
  SmallVector<Value> early = before(first.getArgument(0), first.getArgument(1));
  const auto sources = static_cast<int64_t>(columns.matrices.size());
  VectorType prior = vectorOf(early.size()), sums = vectorOf(columns.groups);
  sums = VectorType::get({sums.getDimSize(0) * sources}, k.b.getF32Type());
  early.resize(prior.getDimSize(0), zero());
  dlk::GiveOp::create(k.b, k.loc, vector::FromElementsOp::create(k.b, k.loc, prior, early));
  Block &second = dlk::beginBody(k.b, call, 1, {index, index, sums, prior});
  Value given = finish(second.getArgument(0), second.getArgument(1),
                       lanesOf(second.getArgument(2), columns.groups * sources),
                       lanesOf(second.getArgument(3), prior.getDimSize(0)));
  dlk::GiveOp::create(k.b, k.loc, form.areRounded ? given : Value());
}

//===- A step ---------------------------------------------------------------------------------===//

/// Whether the row has a step of this number; null where all have. Sets `length` to the row's
/// steps.
Value UnitSteps::isActive(Value row, Value number, Value &length) {
  length = k.index(r.steps);
  if (!r.lengths)
    return {};
  Value stored = k.read(input(*r.lengths), {row});
  Value count = arith::IndexCastOp::create(k.b, k.loc, k.b.getIndexType(), stored);
  Value atLeast = arith::MaxSIOp::create(k.b, k.loc, count, k.index(0));
  length = k.named(arith::MinSIOp::create(k.b, k.loc, atLeast, length), "length");
  return k.less(number, length);
}

/// The row's place in gates and y at the step of this number.
Value UnitSteps::timeOf(Value row, Value number, Value length) {
  Value time = r.reverse && length ? subtract(subtract(length, k.index(1)), number) : number;
  return r.rowsFirst ? k.add(k.mul(row, k.index(r.steps)), time)
                     : k.add(k.mul(time, k.index(r.rows)), row);
}

/// `step` where the row is active, else `rest`, whose state nobody multiplies to any effect.
Value UnitSteps::either(Value active, llvm::function_ref<Value()> step,
                        llvm::function_ref<void()> rest) {
  if (!active)
    return step();
  if (!form.areRounded) {
    k.when(active, [&] { step(); }, rest);
    return {};
  }
  return k.choose(active, step, zero(), rest);
}

Value UnitSteps::output(unsigned result) {
  dlx::KernelOp kernel = k.body.getKernel();
  ValueRange given = kernel.getBodyBlock().getTerminator()->getOperands();
  auto found = llvm::find(given, op->getResult(result));
  return found == given.end() ? Value() : k.output(static_cast<unsigned>(found - given.begin()));
}

/// The values that a step of one unit reads beside the product: the gates' x (of a layer on another
/// one what the product adds to it), their biases, the unit's states.
SmallVector<Value> UnitSteps::beforeUnit(const Turn &turn, Value row, Value unit) {
  Value length;
  auto read = [&] {
    SmallVector<Value> values;
    auto column = [&](unsigned gate) { return k.add(unit, k.index(gate * r.units)); };
    if (product) {
      for (unsigned gate = 0; gate < r.numGates; ++gate)
        values.push_back(product.getBias() ? load(input(product.getBias()), column(gate)) : zero());
    } else {
      Value at = timeOf(row, turn.number, length);
      for (unsigned gate = 0; gate < r.numGates; ++gate)
        values.push_back(
            load(input(r.gates), k.add(k.mul(at, r.numGates * r.units), column(gate))));
    }
    for (unsigned gate = 0; r.bias && gate < r.numGates; ++gate)
      values.push_back(load(input(*r.bias), column(gate)));
    // With a projection the step does not read the first state.
    values.push_back(
        r.projection ? zero() : k.read(exchange, {place(oldFirst(turn), row, r.outputs, unit)}));
    for (AffineExpr state : space.states)
      values.push_back(k.read(exchange, {place(state, row, r.units, unit)}));
    return values;
  };
  Value active = isActive(row, turn.number, length);
  SmallVector<Value> zeros(r.numGates * (r.bias ? 2 : 1) + r.numStates, zero());
  return k.chooseAll(active, read, zeros);
}

/// Whether this layer of a stack has a step in the wave; null if it has one in each.
Value UnitSteps::hasStep(Value wave) {
  if (cell.layers == 1)
    return {};
  Value isBefore = k.less(wave, k.index(dl::normalize(r.steps + cell.layer)));
  return cell.layer == 0 ? isBefore : k.both(k.less(k.index(cell.layer - 1), wave), isBefore);
}

void UnitSteps::units(const Turn &turn) {
  SmallVector<Value, 2> from = {turn.from};
  if (turn.below)
    from.insert(from.begin(), turn.below);
  multiply(
      weights, from, r.projection ? k.index(space.whole) : turn.to,
      [&](Value row, Value unit) { return beforeUnit(turn, row, unit); },
      [&](Value row, Value unit, ArrayRef<Value> sums, ArrayRef<Value> prior) {
        Value length;
        auto step = [&] {
          Value y = output(0), at = y ? timeOf(row, turn.number, length) : Value();
          ArrayRef<Value> old = prior.slice(r.numGates * (r.bias ? 2 : 1), r.numStates);
          SmallVector<Value> x(prior.take_front(r.numGates)), h(sums.take_back(r.numGates));
          for (unsigned gate = 0; product && gate < r.numGates; ++gate)
            x[gate] = arith::AddFOp::create(k.b, k.loc, sums[gate], x[gate]);
          for (unsigned gate = 0; r.bias && gate < r.numGates; ++gate)
            h[gate] = arith::AddFOp::create(k.b, k.loc, h[gate], prior[r.numGates + gate]);
          auto extent = [&](AffineExpr dim) { return k.index(dim); };
          BodyContext context{k.b, k.loc, {}, extent};
          SmallVector<Value> next = op.emitStep(context, x, h, old);
          for (auto [state, value] : llvm::zip(space.states, ArrayRef(next).drop_front()))
            k.write(exchange, {place(state, row, r.units, unit)}, value);
          if (r.projection) {
            if (!form.areRounded)
              k.write(exchange, {place(space.whole, row, r.units, unit)}, next[0]);
            return next[0];
          }
          k.write(exchange, {place(newFirst(turn), row, r.outputs, unit)}, next[0]);
          if (y)
            store(y, k.add(k.mul(at, r.outputs), unit), next[0]);
          return next[0];
        };
        auto rest = [&] {
          if (r.projection)
            return;
          if (!form.areRounded)
            k.write(exchange, {place(turn.to, row, r.outputs, unit)},
                    k.read(exchange, {place(turn.from, row, r.outputs, unit)}));
          if (Value y = output(0))
            store(y, k.add(k.mul(timeOf(row, turn.number, {}), r.outputs), unit), zero());
        };
        Value active = isActive(row, turn.number, length);
        return either(active, step, rest);
      });
}

void UnitSteps::outputs(const Turn &turn) {
  multiply(
      projection, k.index(space.whole), turn.to, [](Value, Value) { return SmallVector<Value>(); },
      [&](Value row, Value column, ArrayRef<Value> sums, ArrayRef<Value>) {
        Value length;
        auto give = [&](Value at, Value value) {
          k.write(exchange, {place(newFirst(turn), row, r.outputs, column)}, value);
          return k.add(k.mul(at, r.outputs), column);
        };
        auto step = [&] {
          store(output(0), give(timeOf(row, turn.number, length), sums[0]), sums[0]);
          return sums[0];
        };
        auto rest = [&] {
          Value old = k.read(exchange, {place(oldFirst(turn), row, r.outputs, column)});
          store(output(0), give(timeOf(row, turn.number, {}), old), zero());
        };
        Value active = isActive(row, turn.number, length);
        return either(active, step, rest);
      });
}

} // namespace dlc::codegen
