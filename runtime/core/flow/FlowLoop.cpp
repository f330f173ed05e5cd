//===- FlowLoop.cpp - The loops of a flow ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/flow/FlowRunner.h"

#include <algorithm>
#include <limits>

using namespace dlc;
using namespace dlc::rt;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

Status FlowRunner::loop(const PlannedStep &planned, const schema::LoopStep &step) {
  int64_t trips = std::numeric_limits<int64_t>::max(), condition = 1;
  if (step.trips() >= 0)
    DLC_TRY(numberIn(static_cast<uint32_t>(step.trips()), trips));
  if (step.condition() >= 0)
    DLC_TRY(numberIn(static_cast<uint32_t>(step.condition()), condition));
  std::vector<TensorRef> carried;
  for (size_t i = 0; i < sizeOf(step.initial()); ++i)
    carried.push_back(slots[step.initial()->Get(static_cast<uint32_t>(i))]);
  for (uint32_t slot : planned.moved)
    slots[slot].reset();
  bool hasFixedTrips = step.trips() >= 0 && step.next_condition() < 0;
  std::vector<Stack> stacks;
  for (size_t i = 0; i < sizeOf(step.gathered()); ++i)
    stacks.push_back({step.gathered()->Get(static_cast<uint32_t>(i)),
                      step.stacks()->Get(static_cast<uint32_t>(i)),
                      nullptr,
                      hasFixedTrips ? trips : 0,
                      {}});
  int64_t done = 0;
  for (bool goesOn = condition != 0; goesOn && done < trips; ++done) {
    DLC_TRY(checkTime());
    DLC_TRY(pass(step, done, carried, stacks, goesOn));
  }
  for (size_t i = 0; i < carried.size(); ++i)
    slots[step.results()->Get(static_cast<uint32_t>(i))] = std::move(carried[i]);
  if (done == 0) {
    std::vector<Dims> dims = dimsOfNone(step);
    for (size_t i = 0; i < stacks.size(); ++i)
      stacks[i].empty = std::move(dims[i]);
  }
  for (Stack &stack : stacks)
    DLC_TRY(endStack(stack, done));
  return {};
}

std::vector<Dims> FlowRunner::dimsOfNone(const schema::LoopStep &step) const {
  std::vector<int64_t> values;
  if (sizeOf(step.empty_dims())) {
    std::vector<int64_t> symbols(numbers.begin(),
                                 numbers.begin() + static_cast<ptrdiff_t>(sizeOf(table.symbols())));
    for (size_t i = 0; i < symbols.size(); ++i) { // those of steps to come are 0 so far
      const schema::Symbol &symbol = *table.symbols()->Get(static_cast<uint32_t>(i));
      symbols[i] = std::clamp(symbols[i], symbol.min(), symbol.max());
    }
    expressions.evaluate(symbols, expressions.size(), values);
  }
  std::vector<Dims> dims;
  uint32_t next = 0;
  for (size_t i = 0; i < sizeOf(step.gathered()); ++i) {
    const auto *known = flow.slots()->Get(step.gathered()->Get(static_cast<uint32_t>(i)))->dims();
    Dims &own = dims.emplace_back();
    for (size_t dim = 0; dim < sizeOf(known); ++dim, ++next) {
      int64_t size = known->Get(static_cast<uint32_t>(dim));
      if (size < 0)
        size = values.empty() ? 0 : values[step.empty_dims()->Get(next)];
      own.push_back(std::max<int64_t>(size, 0));
    }
  }
  return dims;
}

Status FlowRunner::pass(const schema::LoopStep &step, int64_t number,
                        std::vector<TensorRef> &carried, std::vector<Stack> &stacks, bool &goesOn) {
  for (size_t i = 0; i < carried.size(); ++i)
    slots[step.arguments()->Get(static_cast<uint32_t>(i))] = std::move(carried[i]);
  if (step.step() >= 0) {
    Expected<TensorRef> made = scalar(number);
    if (made.failed())
      return made.status();
    slots[static_cast<uint32_t>(step.step())] = made.take();
  }
  DLC_TRY(runBlock(step.body()));
  for (size_t i = 0; i < carried.size(); ++i)
    carried[i] = slots[step.next()->Get(static_cast<uint32_t>(i))];
  int64_t condition = 1;
  if (step.next_condition() >= 0)
    DLC_TRY(numberIn(static_cast<uint32_t>(step.next_condition()), condition));
  goesOn = condition != 0;
  for (Stack &stack : stacks)
    DLC_TRY(gather(stack, number));
  for (uint32_t slot : blocks[step.body()].own)
    slots[slot].reset();
  return {};
}

/// An i64 without dims.
Expected<TensorRef> FlowRunner::scalar(int64_t value) {
  Expected<TensorRef> made = pool->make({}, sizeof(value));
  if (made.failed())
    return made;
  DLC_TRY(copy((*made)->place, {&value, false}, sizeof(value)));
  (*made)->number = value;
  return made;
}

static std::string textOf(const Dims &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += text(i ? "," : "", dims[i]);
  return out + "]";
}

static Argument at(const Tensor &tensor, size_t offset) {
  return {static_cast<char *>(tensor.place.data) + offset, tensor.place.onDevice};
}

/// Adds the value of step `number`.
Status FlowRunner::gather(Stack &stack, int64_t number) {
  const Tensor &value = *slots[stack.from];
  if (!stack.tensor || number >= stack.room) {
    // A loop of known length needs room for its steps, another one for twice as many each time.
    int64_t room = stack.tensor ? 2 * stack.room : std::max<int64_t>(stack.room, 4);
    Dims dims = value.dims;
    dims.insert(dims.begin(), room);
    Expected<TensorRef> made =
        pool->make(dims, static_cast<size_t>(rt::bytesOf(typeOf(stack.from))));
    if (made.failed())
      return made.status();
    if (stack.tensor)
      DLC_TRY(copy((*made)->place, stack.tensor->place, stack.tensor->bytes));
    stack.tensor = made.take();
    stack.room = room;
  }
  const Dims &dims = stack.tensor->dims;
  if (!std::equal(value.dims.begin(), value.dims.end(), dims.begin() + 1, dims.end()))
    return {DLC_USAGE,
            text("step ", number, " of a loop gives ", textOf(value.dims),
                 ", and the steps before it ", textOf(Dims(dims.begin() + 1, dims.end())),
                 "; expected equal dims, as the loop stacks them")};
  return copy(at(*stack.tensor, static_cast<size_t>(number) * value.bytes), value.place,
              value.bytes);
}

Status FlowRunner::endStack(Stack &stack, int64_t count) {
  const schema::Slot &value = *flow.slots()->Get(stack.from);
  auto width = static_cast<size_t>(rt::bytesOf(value.dtype()));
  if (!stack.tensor) {
    Dims dims = stack.empty;
    dims.insert(dims.begin(), 0);
    Expected<TensorRef> made = pool->make(dims, width);
    if (made.failed())
      return made.status();
    stack.tensor = made.take();
  }
  stack.tensor->dims[0] = count;
  stack.tensor->bytes = *bytesOf(stack.tensor->dims, width);
  slots[stack.to] = std::move(stack.tensor);
  return {};
}
