//===- SharedRecurrentKernel.cpp - Blocks that share the hidden units of a recurrence --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All steps in one cooperative launch. Each block keeps the weights of its hidden units in shared memory; a warp multiplies
// those of one unit with the states of up to four rows, its lanes along the states, and adds the lanes' sums in one order.
// States pass through a workspace in memory, the first one in two copies: a step reads one and writes the other, so that one
// meeting of the grid ends it. With a projection there is a second meeting.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/RecurrentChoice.h"
#include "codegen/schedule/cuda/RecurrentElements.h"
#include "codegen/schedule/cuda/Schedules.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kWarps = 8, kSharedThreads = 32 * kWarps;
/// Rows that a warp multiplies at once.
static constexpr int64_t kRowsAtOnce = 4;
/// Words of the workspace before the states: the barrier's has a line of the cache to itself.
static constexpr int64_t kBarrierWords = 64;

static RecurrentOpInterface stepsOf(dlx::KernelOp kernel) {
  return *kernel.getBodyBlock().getOps<RecurrentOpInterface>().begin();
}

/// The shape of a step with a batch in the middle of its range; nullopt where that has no end.
static std::optional<StepShape> stepShape(const Recurrence &r, ArrayRef<dl::Range> symbols) {
  auto rows = usualOrMiddle(r.rows, symbols);
  if (!rows || r.elementType.isF64())
    return std::nullopt;
  return StepShape{r.numGates,
                   r.units,
                   r.outputs,
                   *rows,
                   r.elementType.getIntOrFloatBitWidth() / 8,
                   r.projection.has_value()};
}

namespace {
/// Where the states are in the workspace, in elements.
struct Workspace {
  explicit Workspace(const Recurrence &r) {
    AffineExpr at = dl::constantDim(kBarrierWords, r.rows.getContext());
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

class SharedRecurrentSchedule : RecurrentElements {
public:
  SharedRecurrentSchedule(KernelBuilder &k, RecurrentOpInterface op, const UnitShare &share)
      : RecurrentElements(k, op), share(share), space(r) {}
  void run(int64_t blocks);

private:
  /// Element [row][column] of a part of the workspace.
  Value place(Value part, Value row, int64_t width, Value column) {
    return k.add(part, k.add(k.mul(row, width), column));
  }
  Value place(AffineExpr part, Value row, int64_t width, Value column) {
    return place(k.index(part), row, width, column);
  }
  void keep(Value shared, unsigned operand, int64_t groups, int64_t share, int64_t columns,
            int64_t length);
  void meet();
  void overStates(llvm::function_ref<void(unsigned state, Value at)> body);
  void overItems(StringRef role, int64_t share, int64_t columns, int64_t length, int64_t groups,
                 Value shared, Value from,
                 llvm::function_ref<void(Value row, Value column, ArrayRef<Value> sums)> body);
  Value isActive(Value row, Value number, Value &length);
  Value timeOf(Value row, Value number, Value length);
  void units(Value number, Value from, Value to);
  void outputs(Value number, Value from, Value to);

  UnitShare share;
  Workspace space;
  Value workspace, weights, projection, block, thread, lane, warp;
};
} // namespace

/// Brings this block's columns of `operand`, [groups][columns][length], into shared memory.
void SharedRecurrentSchedule::keep(Value shared, unsigned operand, int64_t groups, int64_t share,
                                   int64_t columns, int64_t length) {
  Value first = k.mul(block, share);
  k.loop("i", thread, k.index(groups * share * length), kSharedThreads,
         KernelBuilder::Unroll::automatic, [&](Value i) {
           Value line = k.div(i, k.index(length)), at = k.mod(i, k.index(length));
           Value column = k.add(first, k.mod(line, k.index(share)));
           Value group = k.div(line, k.index(share));
           k.when(k.less(column, k.index(columns)), [&] {
             Value row = k.add(k.mul(group, columns), column);
             k.write(shared, {i}, k.read(input(operand), {k.add(k.mul(row, length), at)}));
           });
         });
}

/// Waits for all blocks.
void SharedRecurrentSchedule::meet() {
  auto barrier = gpu::BarrierOp::create(k.b, k.loc);
  unsigned position = cast<BlockArgument>(workspace).getArgNumber();
  barrier->setAttr("dlc.grid_counter", k.b.getI32IntegerAttr(position));
}

/// Elements of all states, [rows][width], shared by the threads of the grid.
void SharedRecurrentSchedule::overStates(llvm::function_ref<void(unsigned, Value)> body) {
  Value count = k.index(dl::constantDim(kSharedThreads, k.b.getContext()));
  Value first = k.add(k.mul(block, count), thread);
  int64_t stride = share.blocks({r.numGates, r.units, r.outputs, 1, 1, false}) * kSharedThreads;
  for (unsigned state = 0; state < r.numStates; ++state)
    k.loop("i", first, k.index(dl::normalize(r.rows * r.width(state))), stride,
           KernelBuilder::Unroll::never, [&](Value at) { body(state, at); });
}

/// For each row and each of this block's columns: the sums over `length` of the elements of `from` times the kept weights of
/// each group. `body` runs in one lane.
void SharedRecurrentSchedule::overItems(
    StringRef role, int64_t share, int64_t columns, int64_t length, int64_t groups, Value shared,
    Value from, llvm::function_ref<void(Value, Value, ArrayRef<Value>)> body) {
  auto most = k.largest(r.rows);
  int64_t atOnce = most ? std::clamp<int64_t>(*most, 1, kRowsAtOnce) : kRowsAtOnce;
  Value items = k.mul(k.index(dl::normalize(r.rows.ceilDiv(atOnce))), share);
  k.loop("item", warp, items, kWarps, KernelBuilder::Unroll::never, [&](Value item) {
    Value own = k.named(k.mod(item, k.index(share)), "own");
    Value column = k.named(k.add(k.mul(block, share), own), role);
    Value firstRow = k.named(k.mul(k.div(item, k.index(share)), atOnce), "first_row");
    // One condition for all lanes, so that their shuffles find each other.
    k.when(k.less(column, k.index(columns)), [&] {
      Value lastRow = subtract(k.index(r.rows), k.index(1));
      SmallVector<Value> rows;
      for (int64_t i = 0; i < atOnce; ++i)
        rows.push_back(
            i == 0 ? firstRow
                   : arith::MinSIOp::create(k.b, k.loc, k.add(firstRow, k.index(i)), lastRow));
      SmallVector<Value> zeros(groups * atOnce, zero());
      SmallVector<StringRef> names(groups * atOnce, "sum");
      ValueRange partial =
          k.loop("k", lane, k.index(length), 32, zeros, names, KernelBuilder::Unroll::automatic,
                 [&](Value at, ValueRange carried) {
                   SmallVector<Value> next, w;
                   for (int64_t group = 0; group < groups; ++group) {
                     Value line = k.add(own, k.index(group * share));
                     w.push_back(load(shared, k.add(k.mul(line, length), at)));
                   }
                   for (int64_t i = 0; i < atOnce; ++i) {
                     Value x = k.read(workspace, {place(from, rows[i], length, at)});
                     for (int64_t group = 0; group < groups; ++group)
                       next.push_back(math::FmaOp::create(k.b, k.loc, w[group], x,
                                                          carried[i * groups + group]));
                   }
                   return next;
                 });
      SmallVector<Value> sums(partial);
      Value width = arith::ConstantIntOp::create(k.b, k.loc, 32, 32);
      for (int64_t mask = 16; mask > 0; mask /= 2)
        for (Value &sum : sums) {
          Value by = arith::ConstantIntOp::create(k.b, k.loc, mask, 32);
          Value other = gpu::ShuffleOp::create(k.b, k.loc, sum, by, width, gpu::ShuffleMode::XOR)
                            .getShuffleResult();
          sum = arith::AddFOp::create(k.b, k.loc, sum, k.named(other, "other"));
        }
      // Each lane has all sums; lane i goes on with row i.
      SmallVector<Value> mine(sums.begin(), sums.begin() + groups);
      for (int64_t i = 1; i < atOnce; ++i) {
        Value isOwn = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::eq, lane, k.index(i));
        for (int64_t group = 0; group < groups; ++group)
          mine[group] =
              arith::SelectOp::create(k.b, k.loc, isOwn, sums[i * groups + group], mine[group]);
      }
      Value row = k.named(k.add(firstRow, lane), "row");
      Value exists = k.both(k.less(lane, k.index(atOnce)), k.less(row, k.index(r.rows)));
      k.when(exists, [&] { body(row, column, mine); });
    });
  });
}

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

void SharedRecurrentSchedule::units(Value number, Value from, Value to) {
  overItems("unit", share.units, r.units, r.outputs, r.numGates, weights, from,
            [&](Value row, Value unit, ArrayRef<Value> sums) {
              Value length;
              auto step = [&] {
                Value at = timeOf(row, number, length);
                SmallVector<Value> x, h(sums), old;
                for (unsigned gate = 0; gate < r.numGates; ++gate) {
                  Value column = k.add(unit, k.index(gate * r.units));
                  x.push_back(load(input(r.gates), k.add(k.mul(at, r.numGates * r.units), column)));
                  if (r.bias)
                    h[gate] =
                        arith::AddFOp::create(k.b, k.loc, h[gate], load(input(*r.bias), column));
                }
                // With a projection the step does not read the first state.
                old.push_back(
                    r.projection ? zero() : k.read(workspace, {place(from, row, r.outputs, unit)}));
                for (AffineExpr state : space.states)
                  old.push_back(k.read(workspace, {place(state, row, r.units, unit)}));
                auto extent = [&](AffineExpr dim) { return k.index(dim); };
                BodyContext context{k.b, k.loc, {}, extent};
                SmallVector<Value> next = op.emitStep(context, x, h, old);
                for (auto [state, value] : llvm::zip(space.states, ArrayRef(next).drop_front()))
                  k.write(workspace, {place(state, row, r.units, unit)}, value);
                if (r.projection)
                  return k.write(workspace, {place(space.whole, row, r.units, unit)}, next[0]);
                k.write(workspace, {place(to, row, r.outputs, unit)}, next[0]);
                store(k.output(0), k.add(k.mul(at, r.outputs), unit), next[0]);
              };
              auto rest = [&] {
                if (r.projection)
                  return;
                k.write(workspace, {place(to, row, r.outputs, unit)},
                        k.read(workspace, {place(from, row, r.outputs, unit)}));
                store(k.output(0), k.add(k.mul(timeOf(row, number, {}), r.outputs), unit), zero());
              };
              Value active = isActive(row, number, length);
              active ? k.when(active, step, rest) : step();
            });
}

void SharedRecurrentSchedule::outputs(Value number, Value from, Value to) {
  overItems("output", share.outputs, r.outputs, r.units, 1, projection, k.index(space.whole),
            [&](Value row, Value output, ArrayRef<Value> sums) {
              Value length;
              auto give = [&](Value at, Value value) {
                k.write(workspace, {place(to, row, r.outputs, output)}, value);
                return k.add(k.mul(at, r.outputs), output);
              };
              auto step = [&] {
                store(k.output(0), give(timeOf(row, number, length), sums[0]), sums[0]);
              };
              auto rest = [&] {
                Value old = k.read(workspace, {place(from, row, r.outputs, output)});
                store(k.output(0), give(timeOf(row, number, {}), old), zero());
              };
              Value active = isActive(row, number, length);
              active ? k.when(active, step, rest) : step();
            });
}

void SharedRecurrentSchedule::run(int64_t blocks) {
  dlx::KernelOp kernel = k.body.getKernel();
  unsigned last = kernel.getBodyBlock().getNumArguments() - 1;
  workspace = k.input(last);
  auto function = cast<gpu::GPUFuncOp>(cast<BlockArgument>(workspace).getOwner()->getParentOp());
  auto name = [&](unsigned argument, const char *role) {
    function.setArgAttr(argument, "dlc.role", k.b.getStringAttr(role));
  };
  name(last, "workspace");
  name(cast<BlockArgument>(input(r.gates)).getArgNumber(), "gates");
  name(cast<BlockArgument>(input(r.weight)).getArgNumber(), "weight");
  block = k.block(gpu::Dimension::x, "block");
  thread = k.thread();
  lane = k.named(k.mod(thread, k.index(32)), "lane");
  warp = k.named(k.div(thread, k.index(32)), "warp");
  Type stored = storageType(r.elementType);
  weights = k.shared({r.numGates * share.units * r.outputs}, stored, "weights");
  keep(weights, r.weight, r.numGates, share.units, r.units, r.outputs);
  if (r.projection) {
    projection = k.shared({share.outputs * r.units}, stored, "projection");
    keep(projection, *r.projection, 1, share.outputs, r.outputs, r.units);
  }
  auto part = [&](unsigned state) { return state ? space.states[state - 1] : space.copies[0]; };
  if (!r.initial.empty()) {
    overStates([&](unsigned state, Value at) {
      k.write(workspace, {k.add(k.index(part(state)), at)}, load(input(r.initial[state]), at));
    });
    meet();
  } else {
    k.barrier(); // the workspace is zero at first
  }
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
    Value from = state ? k.index(part(state)) : copies[0];
    store(k.output(1 + state), at, k.read(workspace, {k.add(from, at)}));
  });
  kernel->setAttr(kCooperativeAttr, k.b.getUnitAttr());
  k.finish(kSharedThreads, {k.math.constant(blocks)});
}

//===- The choice -----------------------------------------------------------------------------------===//

static UnitShare shareOf(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  auto shape = stepShape(stepsOf(kernel).getRecurrence(), symbols);
  return shape ? chooseUnitShare(*shape) : UnitShare();
}

bool sharesUnits(dlx::KernelOp kernel, ArrayRef<dl::Range> symbols) {
  return shareOf(kernel, symbols).units > 0;
}

void addRecurrentWorkspace(dlx::KernelOp kernel) {
  Workspace space(stepsOf(kernel).getRecurrence());
  addWorkspace(kernel, dl::makeTensor({space.size}, Float32Type::get(kernel.getContext())));
}

void scheduleSharedRecurrent(KernelBuilder &k, ArrayRef<dl::Range> symbols) {
  dlx::KernelOp kernel = k.body.getKernel();
  UnitShare share = shareOf(kernel, symbols);
  auto shape = stepShape(stepsOf(kernel).getRecurrence(), symbols);
  SharedRecurrentSchedule(k, stepsOf(kernel), share).run(share.blocks(*shape));
}

} // namespace dlc::codegen
