//===- UnitSteps.cpp - Steps whose hidden units blocks share ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"
#include "codegen/cuda/schedule/Schedules.h"

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
  return StepShape{r.numGates,
                   r.units,
                   r.outputs,
                   usualOrMiddle(r.rows, symbols).value_or(kUsualRows),
                   r.elementType.getIntOrFloatBitWidth() / 8,
                   r.projection.has_value(),
                   rows ? std::optional(rows->max) : std::nullopt,
                   static_cast<int64_t>(ops.size())};
}

std::optional<StepShape> sharedStepOf(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent || !question.k.mayExchange())
    return std::nullopt;
  return stepShape(recurrencesOf(question.kernel()), question.k.ranges());
}

double nanosecondsOfSteps(PlanQuestion &question, double clocks) {
  RecurrentOpInterface first = recurrencesOf(question.kernel()).front();
  return question.nanoseconds(clocks * question.usual(first.getRecurrence().steps) *
                              question.k.gpu().schedules.recurrences);
}

int64_t widthOf(int64_t length, int64_t most) {
  while (length % most != 0)
    most /= 2;
  return most;
}

UnitSteps::UnitSteps(KernelBuilder &k, const UnitCell &cell, ProductStates form)
    : RecurrentElements(k, cell.op), cell(cell), form(form), space(layOut()) {}

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
  if (form.areRounded && cell.number + 1 < cell.count)
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

/// Writes the states before the first step.
void UnitSteps::begin() {
  overStates([&](unsigned state, Value at) {
    AffineExpr part = state             ? space.states[state - 1]
                      : form.areRounded ? space.first
                                        : space.copies[0];
    Value initial = r.initial.empty() ? zero() : load(input(r.initial[state]), at);
    k.write(exchange, {k.add(k.index(part), at)}, initial);
  });
  if (form.areRounded) {
    auto initial = [&](Value row, Value column) {
      return r.initial.empty() ? zero()
                               : load(input(r.initial[0]), k.add(k.mul(row, r.outputs), column));
    };
    auto none = [&](Value, Value) { return zero(); };
    beginRounded(weights, k.index(space.copies[0]), initial);
    beginRounded(weights, k.index(space.copies[1]), none);
    if (r.projection)
      beginRounded(projection, k.index(space.whole), none);
  } else if (r.projection && r.lengths) {
    // Rows without a step leave theirs as it is, and the projection multiplies it all the same.
    overGrid(r.rows * r.units,
             [&](Value at) { k.write(exchange, {k.add(k.index(space.whole), at)}, zero()); });
  }
}

//===- Calls of templates ---------------------------------------------------------------------------===//

DictionaryAttr UnitSteps::configOf(ArrayRef<std::pair<StringRef, int64_t>> numbers) {
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
  VectorType prior = vectorOf(early.size()), sums = vectorOf(columns.groups);
  early.resize(prior.getDimSize(0), zero());
  dlk::GiveOp::create(k.b, k.loc, vector::FromElementsOp::create(k.b, k.loc, prior, early));
  Block &second = dlk::beginBody(k.b, call, 1, {index, index, sums, prior});
  Value given = finish(second.getArgument(0), second.getArgument(1),
                       lanesOf(second.getArgument(2), columns.groups),
                       lanesOf(second.getArgument(3), prior.getDimSize(0)));
  dlk::GiveOp::create(k.b, k.loc, form.areRounded ? given : Value());
}

//===- A step ---------------------------------------------------------------------------------------===//

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

/// The values that a step of one unit reads beside the product: the gates' x, their biases, the
/// unit's states.
SmallVector<Value> UnitSteps::beforeUnit(const Turn &turn, Value row, Value unit) {
  Value length;
  auto read = [&] {
    Value at = timeOf(row, turn.number, length);
    SmallVector<Value> values;
    auto column = [&](unsigned gate) { return k.add(unit, k.index(gate * r.units)); };
    for (unsigned gate = 0; gate < r.numGates; ++gate)
      values.push_back(load(input(r.gates), k.add(k.mul(at, r.numGates * r.units), column(gate))));
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

void UnitSteps::units(const Turn &turn) {
  multiply(
      weights, turn.from, r.projection ? k.index(space.whole) : turn.to,
      [&](Value row, Value unit) { return beforeUnit(turn, row, unit); },
      [&](Value row, Value unit, ArrayRef<Value> sums, ArrayRef<Value> prior) {
        Value length;
        auto step = [&] {
          Value at = timeOf(row, turn.number, length);
          ArrayRef<Value> x = prior.take_front(r.numGates),
                          old = prior.slice(r.numGates * (r.bias ? 2 : 1), r.numStates);
          SmallVector<Value> h(sums);
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
          store(output(0), k.add(k.mul(at, r.outputs), unit), next[0]);
          return next[0];
        };
        auto rest = [&] {
          if (r.projection)
            return;
          if (!form.areRounded)
            k.write(exchange, {place(turn.to, row, r.outputs, unit)},
                    k.read(exchange, {place(turn.from, row, r.outputs, unit)}));
          store(output(0), k.add(k.mul(timeOf(row, turn.number, {}), r.outputs), unit), zero());
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

//===- The kernel -----------------------------------------------------------------------------------===//

void UnitSteps::nameArguments() {
  auto function = cast<gpu::GPUFuncOp>(cast<BlockArgument>(exchange).getOwner()->getParentOp());
  auto name = [&](unsigned argument, const char *role) {
    function.setArgAttr(argument, "dlc.role", k.b.getStringAttr(role));
  };
  name(cast<BlockArgument>(input(r.gates)).getArgNumber(), "gates");
  name(cast<BlockArgument>(input(r.weight)).getArgNumber(), "weight");
}

void UnitSteps::keepAll(ArrayRef<abi::KeptColumns> lists) {
  weights = {"unit",    r.weight,       r.numGates, r.units,
             r.outputs, lists[0].bytes, nullptr,    padded(r.projection ? r.units : r.outputs)};
  keep(weights);
  if (r.projection) {
    projection = {"output", *r.projection,  1,        r.outputs,
                  r.units,  lists[1].bytes, &weights, padded(r.outputs)};
    keep(projection);
  }
}

/// Stores the states after the last step; `copy` holds those that products read.
void UnitSteps::end(Value copy) {
  overStates([&](unsigned state, Value at) {
    Value from = state             ? k.index(space.states[state - 1])
                 : form.areRounded ? k.index(space.first)
                                   : copy;
    store(output(1 + state), at, k.read(exchange, {k.add(from, at)}));
  });
}

void UnitSteps::build(KernelBuilder &k,
                      llvm::function_ref<std::unique_ptr<UnitSteps>(const UnitCell &)> make,
                      int64_t blocks, ArrayRef<abi::KeptColumns> lists, int64_t fixedBytes) {
  dlx::KernelOp kernel = k.body.getKernel();
  auto ops = recurrencesOf(kernel);
  std::vector<std::unique_ptr<UnitSteps>> cells;
  AffineExpr end = dl::constantDim(abi::kExchangeCounters, kernel.getContext());
  ValueRange stored = kernel.getBodyBlock().getTerminator()->getOperands();
  for (auto [number, op] : llvm::enumerate(ops)) {
    auto firstResult = llvm::find(stored, op->getResult(0)) - stored.begin();
    cells.push_back(make({op, int64_t(number), int64_t(ops.size()), end, unsigned(firstResult)}));
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
  ValueRange last = k.loop("step", k.index(0), k.index(r.steps), 1, copies, names,
                           KernelBuilder::Unroll::never, [&](Value number, ValueRange carried) {
                             auto turnOf = [&](const UnitSteps &steps) {
                               int64_t at = 2 * steps.cell.number;
                               return Turn{number, carried[at], carried[at + 1]};
                             };
                             forEachCell([&](UnitSteps &steps) { steps.units(turnOf(steps)); });
                             if (r.projection)
                               forEachCell([&](UnitSteps &steps) { steps.outputs(turnOf(steps)); });
                             SmallVector<Value> next;
                             for (size_t at = 0; at < carried.size(); at += 2)
                               next.append({carried[at + 1], carried[at]});
                             return next;
                           });
  for (auto &cell : cells)
    cell->end(last[2 * cell->cell.number]);
  // One block a multiprocessor: the more loads its registers hold, the better.
  auto function = cast<gpu::GPUFuncOp>(cast<BlockArgument>(exchange).getOwner()->getParentOp());
  function->setAttr("dlc.resident_blocks", k.b.getI32IntegerAttr(1));
  kernel.setCooperative(true);
  k.makePersistent(lists);
  k.finish(32 * kStepWarps, {k.math.constant(blocks)}, fixedBytes);
}

} // namespace dlc::codegen
