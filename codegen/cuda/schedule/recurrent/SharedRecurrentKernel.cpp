//===- SharedRecurrentKernel.cpp - Blocks that share the hidden units of a recurrence --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All steps in one cooperative launch; dlc_recurrent.cuh has the product of a step,
// RecurrentChoice.h the plan. States pass through the memory that blocks exchange, the first one in two
// copies: a step reads one and writes the other, so that one meeting of the grid ends it. With a
// projection there is a second meeting. How many units a block has, it knows from the grid.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/RecurrentChoice.h"
#include "codegen/cuda/schedule/recurrent/RecurrentElements.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kWarps = 8, kSharedThreads = 32 * kWarps;
/// Rows of a batch of which nothing is known.
static constexpr int64_t kUsualRows = 32;
static RecurrentOpInterface stepsOf(dlx::KernelOp kernel) {
  return *kernel.getBodyBlock().getOps<RecurrentOpInterface>().begin();
}

/// The shape of a step with a batch in the middle of its range; nullopt where blocks never share
/// it.
static std::optional<StepShape> stepShape(const Recurrence &r, ArrayRef<dl::Range> symbols) {
  if (r.elementType.isF64())
    return std::nullopt;
  auto rows = dl::rangeOf(r.rows, symbols);
  return StepShape{r.numGates,
                   r.units,
                   r.outputs,
                   usualOrMiddle(r.rows, symbols).value_or(kUsualRows),
                   r.elementType.getIntOrFloatBitWidth() / 8,
                   r.projection.has_value(),
                   rows ? std::optional(rows->max) : std::nullopt};
}

namespace {
/// Where the states are in the memory that blocks exchange, in floats, after its counters.
struct ExchangedStates {
  explicit ExchangedStates(const Recurrence &r) {
    AffineExpr at = dl::constantDim(abi::kExchangeCounters, r.rows.getContext());
    auto take = [&](int64_t width) {
      AffineExpr begin = at;
      at = dl::normalize(at + r.rows * width);
      return begin;
    };
    copies[0] = take(r.outputs);
    copies[1] = take(r.outputs);
    for (unsigned state = 1; state < r.numStates; ++state)
      states.push_back(take(r.units));
    if (r.projection)
      whole = take(r.units);
    size = at;
  }

  AffineExpr copies[2];              // of the first state, [rows][outputs]
  SmallVector<AffineExpr, 2> states; // the others, [rows][units]
  AffineExpr whole;                  // before the projection, [rows][units]
  AffineExpr size;
};

/// One of the two lists of columns that blocks divide among them: those of the weights,
/// [groups][columns][length], or of the projection.
struct Columns {
  StringRef role;
  unsigned operand;
  int64_t groups, columns, length, bytes;
  const Columns *before; // in shared memory
};

class SharedRecurrentSchedule : RecurrentElements {
public:
  SharedRecurrentSchedule(KernelBuilder &k, RecurrentOpInterface op, const StepShape &shape)
      : RecurrentElements(k, op), shape(shape), staged(chooseStagedRows(shape)), space(r) {}
  void run(int64_t blocks);

private:
  /// Element [row][column] of a part of the memory.
  Value place(Value part, Value row, int64_t width, Value column) {
    return k.add(part, k.add(k.mul(row, width), column));
  }
  Value place(AffineExpr part, Value row, int64_t width, Value column) {
    return place(k.index(part), row, width, column);
  }
  /// Waits for all blocks.
  void meet() { k.gridBarrier(exchange); }
  void begin();
  void overGrid(AffineExpr elements, llvm::function_ref<void(Value at)> body);
  void overStates(llvm::function_ref<void(unsigned state, Value at)> body);
  DictionaryAttr configOf(const Columns &columns);
  /// The type of `count` values, and more where C++ has no such vector: its size is aligned.
  VectorType vectorOf(int64_t count) {
    int64_t size = count < 4 ? llvm::PowerOf2Ceil(count) : count;
    return VectorType::get({std::max<int64_t>(1, size)}, k.b.getF32Type());
  }
  void keep(const Columns &columns);
  void multiply(
      const Columns &columns, Value from,
      llvm::function_ref<SmallVector<Value>(Value row, Value column)> before,
      llvm::function_ref<void(Value row, Value column, ArrayRef<Value> sums, ArrayRef<Value> prior)>
          finish);
  Value isActive(Value row, Value number, Value &length);
  Value timeOf(Value row, Value number, Value length);
  SmallVector<Value> beforeUnit(Value number, Value from, Value row, Value unit);
  void units(Value number, Value from, Value to);
  void outputs(Value number, Value from, Value to);

  StepShape shape;
  StagedRows staged;
  ExchangedStates space;
  Columns weights = {}, projection = {};
  Value exchange, block, thread;
};
} // namespace

/// Elements that the threads of the grid divide among them.
void SharedRecurrentSchedule::overGrid(AffineExpr elements, llvm::function_ref<void(Value)> body) {
  Value blocks = gpu::GridDimOp::create(k.b, k.loc, gpu::Dimension::x);
  Value first = k.add(k.mul(block, kSharedThreads), thread);
  Value stride = k.named(k.mul(blocks, kSharedThreads), "stride");
  k.loop("i", first, k.index(dl::normalize(elements)), stride, {}, {}, KernelBuilder::Unroll::never,
         [&](Value at, ValueRange) -> SmallVector<Value> {
           body(at);
           return {};
         });
}

/// Elements of all states, [rows][width].
void SharedRecurrentSchedule::overStates(llvm::function_ref<void(unsigned, Value)> body) {
  for (unsigned state = 0; state < r.numStates; ++state)
    overGrid(r.rows * r.width(state), [&](Value at) { body(state, at); });
}

/// Writes the states before the first step.
void SharedRecurrentSchedule::begin() {
  overStates([&](unsigned state, Value at) {
    AffineExpr part = state ? space.states[state - 1] : space.copies[0];
    Value initial = r.initial.empty() ? zero() : load(input(r.initial[state]), at);
    k.write(exchange, {k.add(k.index(part), at)}, initial);
  });
  // Rows without a step leave theirs as it is, and the projection multiplies it all the same.
  if (r.projection && r.lengths)
    overGrid(r.rows * r.units,
             [&](Value at) { k.write(exchange, {k.add(k.index(space.whole), at)}, zero()); });
  meet();
}

//===- The calls of dlc_recurrent.cuh ---------------------------------------------------------------===//

/// The largest power of two that divides `length`, at most `most`.
static int64_t widthOf(int64_t length, int64_t most) {
  while (length % most != 0)
    most /= 2;
  return most;
}

DictionaryAttr SharedRecurrentSchedule::configOf(const Columns &columns) {
  // As wide as all lanes of a warp have something to read.
  int64_t width = widthOf(columns.length, 16 / shape.elementBytes);
  while (width > 1 && 32 * width > columns.length)
    width /= 2;
  const Columns *before = columns.before;
  std::pair<StringRef, int64_t> numbers[] = {
      {"warps", kWarps},
      {"groups", columns.groups},
      {"columns", columns.columns},
      {"length", columns.length},
      {"column_bytes", columns.bytes},
      {"before_columns", before ? before->columns : 0},
      {"before_bytes", before ? before->bytes : 0},
      {"width", width},
      {"rows", staged.rows},
      {"rows_at_once", staged.atOnce},
      {"buffers", staged.buffers},
      {"staged_bytes", staged.bytes(shape)},
      // Parts of the memory begin at multiples of both widths.
      {"copied", widthOf(r.outputs, widthOf(r.units, 4))}};
  SmallVector<NamedAttribute> config;
  for (auto [name, number] : numbers)
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(number)));
  return k.b.getDictionaryAttr(config);
}

void SharedRecurrentSchedule::keep(const Columns &columns) {
  dlk::CallOp::create(k.b, k.loc, "keep_columns", "dlc_recurrent.cuh", storageType(r.elementType),
                      configOf(columns), k.b.getArrayAttr({}), input(columns.operand),
                      /*exchange=*/Value(), /*bodiesCount=*/0);
}

/// For each row and each of this block's columns: `finish` with the sums of the states that lie at
/// `from` times the lines of the column, and with what `before` gave.
void SharedRecurrentSchedule::multiply(
    const Columns &columns, Value from, llvm::function_ref<SmallVector<Value>(Value, Value)> before,
    llvm::function_ref<void(Value, Value, ArrayRef<Value>, ArrayRef<Value>)> finish) {
  SmallVector<Value> values = {k.index(r.rows), exchange, from, input(columns.operand)};
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  auto call = dlk::CallOp::create(k.b, k.loc, "multiply_columns", "dlc_recurrent.cuh",
                                  storageType(r.elementType), configOf(columns),
                                  k.b.getArrayAttr({roles({"row", columns.role}),
                                                    roles({"row", columns.role, "sums", "prior"})}),
                                  values, /*exchange=*/Value(), /*bodiesCount=*/2);
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  Block &first = dlk::beginBody(k.b, call, 0, {index, index});
  SmallVector<Value> early = before(first.getArgument(0), first.getArgument(1));
  VectorType prior = vectorOf(early.size()), sums = vectorOf(columns.groups);
  early.resize(prior.getDimSize(0), zero());
  dlk::GiveOp::create(k.b, k.loc, vector::FromElementsOp::create(k.b, k.loc, prior, early));
  Block &second = dlk::beginBody(k.b, call, 1, {index, index, sums, prior});
  auto lanesOf = [&](Value vector, int64_t count) {
    SmallVector<Value> lanes;
    for (int64_t lane = 0; lane < count; ++lane)
      lanes.push_back(vector::ExtractOp::create(k.b, k.loc, vector, lane));
    return lanes;
  };
  finish(second.getArgument(0), second.getArgument(1),
         lanesOf(second.getArgument(2), columns.groups),
         lanesOf(second.getArgument(3), prior.getDimSize(0)));
  dlk::GiveOp::create(k.b, k.loc, Value());
}

//===- A step ---------------------------------------------------------------------------------------===//

/// Whether the row has a step of this number; null where all have. Sets `length` to the row's steps.
Value SharedRecurrentSchedule::isActive(Value row, Value number, Value &length) {
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
Value SharedRecurrentSchedule::timeOf(Value row, Value number, Value length) {
  Value time = r.reverse && length ? subtract(subtract(length, k.index(1)), number) : number;
  return r.rowsFirst ? k.add(k.mul(row, k.index(r.steps)), time)
                     : k.add(k.mul(time, k.index(r.rows)), row);
}

/// The values that a step of one unit reads beside the product: the gates' x, their biases, the
/// unit's states.
SmallVector<Value> SharedRecurrentSchedule::beforeUnit(Value number, Value from, Value row,
                                                       Value unit) {
  Value length;
  auto read = [&] {
    Value at = timeOf(row, number, length);
    SmallVector<Value> values;
    auto column = [&](unsigned gate) { return k.add(unit, k.index(gate * r.units)); };
    for (unsigned gate = 0; gate < r.numGates; ++gate)
      values.push_back(load(input(r.gates), k.add(k.mul(at, r.numGates * r.units), column(gate))));
    for (unsigned gate = 0; r.bias && gate < r.numGates; ++gate)
      values.push_back(load(input(*r.bias), column(gate)));
    // With a projection the step does not read the first state.
    values.push_back(r.projection ? zero() : k.read(exchange, {place(from, row, r.outputs, unit)}));
    for (AffineExpr state : space.states)
      values.push_back(k.read(exchange, {place(state, row, r.units, unit)}));
    return values;
  };
  Value active = isActive(row, number, length);
  SmallVector<Value> zeros(r.numGates * (r.bias ? 2 : 1) + r.numStates, zero());
  return k.chooseAll(active, read, zeros);
}

void SharedRecurrentSchedule::units(Value number, Value from, Value to) {
  multiply(
      weights, from, [&](Value row, Value unit) { return beforeUnit(number, from, row, unit); },
      [&](Value row, Value unit, ArrayRef<Value> sums, ArrayRef<Value> prior) {
        Value length;
        auto step = [&] {
          Value at = timeOf(row, number, length);
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
          if (r.projection)
            return k.write(exchange, {place(space.whole, row, r.units, unit)}, next[0]);
          k.write(exchange, {place(to, row, r.outputs, unit)}, next[0]);
          store(k.output(0), k.add(k.mul(at, r.outputs), unit), next[0]);
        };
        auto rest = [&] {
          if (r.projection)
            return;
          k.write(exchange, {place(to, row, r.outputs, unit)},
                  k.read(exchange, {place(from, row, r.outputs, unit)}));
          store(k.output(0), k.add(k.mul(timeOf(row, number, {}), r.outputs), unit), zero());
        };
        Value active = isActive(row, number, length);
        active ? k.when(active, step, rest) : step();
      });
}

void SharedRecurrentSchedule::outputs(Value number, Value from, Value to) {
  multiply(
      projection, k.index(space.whole), [](Value, Value) { return SmallVector<Value>(); },
      [&](Value row, Value output, ArrayRef<Value> sums, ArrayRef<Value>) {
        Value length;
        auto give = [&](Value at, Value value) {
          k.write(exchange, {place(to, row, r.outputs, output)}, value);
          return k.add(k.mul(at, r.outputs), output);
        };
        auto step = [&] {
          store(k.output(0), give(timeOf(row, number, length), sums[0]), sums[0]);
        };
        auto rest = [&] {
          Value old = k.read(exchange, {place(from, row, r.outputs, output)});
          store(k.output(0), give(timeOf(row, number, {}), old), zero());
        };
        Value active = isActive(row, number, length);
        active ? k.when(active, step, rest) : step();
      });
}

void SharedRecurrentSchedule::run(int64_t blocks) {
  dlx::KernelOp kernel = k.body.getKernel();
  exchange = k.exchange(space.size, k.b.getF32Type());
  auto function = cast<gpu::GPUFuncOp>(cast<BlockArgument>(exchange).getOwner()->getParentOp());
  auto name = [&](unsigned argument, const char *role) {
    function.setArgAttr(argument, "dlc.role", k.b.getStringAttr(role));
  };
  name(cast<BlockArgument>(input(r.gates)).getArgNumber(), "gates");
  name(cast<BlockArgument>(input(r.weight)).getArgNumber(), "weight");
  block = k.block(gpu::Dimension::x, "block");
  thread = k.thread();
  std::vector<abi::KeptColumns> lists = shape.columns();
  weights = {"unit", r.weight, r.numGates, r.units, r.outputs, lists[0].bytes, nullptr};
  keep(weights);
  if (r.projection) {
    projection = {"output", *r.projection, 1, r.outputs, r.units, lists[1].bytes, &weights};
    keep(projection);
  }
  begin();
  ValueRange copies = k.loop("step", k.index(0), k.index(r.steps), 1,
                             {k.index(space.copies[0]), k.index(space.copies[1])}, {"from", "to"},
                             KernelBuilder::Unroll::never, [&](Value number, ValueRange carried) {
                               units(number, carried[0], carried[1]);
                               meet();
                               if (r.projection) {
                                 outputs(number, carried[0], carried[1]);
                                 meet();
                               }
                               return SmallVector<Value>{carried[1], carried[0]};
                             });
  overStates([&](unsigned state, Value at) {
    Value from = state ? k.index(space.states[state - 1]) : copies[0];
    store(k.output(1 + state), at, k.read(exchange, {k.add(from, at)}));
  });
  // One block a multiprocessor: the more loads its registers hold, the better.
  function->setAttr("dlc.resident_blocks", k.b.getI32IntegerAttr(1));
  kernel.setCooperative(true);
  k.makePersistent(lists);
  k.finish(kSharedThreads, {k.math.constant(blocks)}, staged.bytes(shape));
}

//===- The choice -----------------------------------------------------------------------------------===//

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent)
    return {};
  KernelBuilder &k = question.k;
  Recurrence r = stepsOf(question.kernel()).getRecurrence();
  auto shape = stepShape(r, k.ranges());
  UnitShare share = shape ? chooseUnitShare(*shape, k.gpu()) : UnitShare();
  if (share.units == 0 || !k.mayExchange())
    return {};
  double clocks = clocksOfSharedStep(*shape, share, k.gpu()) * question.usual(r.steps) *
                  question.k.gpu().schedules.recurrences;
  return dlx::PlanAttr::get(question.kernel().getContext(), kSharedRecurrentSchedule.name,
                            question.nanoseconds(clocks), {{"blocks", share.blocks(*shape)}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  dlx::KernelOp kernel = k.body.getKernel();
  StepShape shape = *stepShape(stepsOf(kernel).getRecurrence(), k.ranges());
  SharedRecurrentSchedule(k, stepsOf(kernel), shape).run(plan.number("blocks"));
  return success();
}

constinit const Schedule kSharedRecurrentSchedule = {"recurrent_units", match, build};

} // namespace dlc::codegen
