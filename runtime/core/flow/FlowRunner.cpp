//===- FlowRunner.cpp - Runs the flow of a module on a device --------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/flow/FlowRunner.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <new>

using namespace dlc;
using namespace dlc::rt;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

FlowRunner::FlowRunner(Module &module, const ExecutorOptions &options)
    : table(module.table()), flow(*module.flow()), expressions(module.expressions()),
      options(options), blocks(planFlow(flow, sizeOf(table.inputs()) + sizeOf(table.states()))),
      slots(sizeOf(flow.slots())) {}

Expected<std::unique_ptr<Executor>> FlowRunner::create(Module &module, const Open &open,
                                                       const ExecutorOptions &options) {
  std::unique_ptr<FlowRunner> runner(new FlowRunner(module, options));
  ExecutorOptions ofSegment = options;
  for (const std::shared_ptr<Module> &segment : module.segments()) {
    Expected<std::unique_ptr<Executor>> executor = open(*segment, ofSegment);
    if (executor.failed())
      return executor.status();
    runner->segments.push_back(std::make_unique<SegmentRunner>(*segment, executor.take()));
    ofSegment.stream = runner->device0().streamHandle();
  }
  runner->pool = std::make_unique<TensorPool>(runner->device0());
  return std::unique_ptr<Executor>(std::move(runner));
}

FlowRunner::~FlowRunner() {
  for (auto *tensors : {&slots, &states, &nextStates, &outputTensors, &callInputs, &callOutputs})
    tensors->clear();
  pool.reset();
  // The first segment's executor owns the stream and goes last.
  while (!segments.empty())
    segments.pop_back();
}

Status FlowRunner::bind(const Binding &binding) {
  dropResults();
  symbols = binding.symbols;
  stateDims = binding.states;
  inputDims.clear();
  for (size_t i = 0; i < sizeOf(table.inputs()); ++i) {
    const schema::Value &input = *table.inputs()->Get(static_cast<uint32_t>(i));
    Dims &dims = inputDims.emplace_back();
    for (size_t dim = 0; dim < sizeOf(input.dims()); ++dim)
      dims.push_back(binding.values[input.dims()->Get(static_cast<uint32_t>(dim))]);
  }
  return {};
}

Status FlowRunner::run(const std::vector<Argument> &inputs,
                       const std::vector<Argument> & /*outputs*/) {
  dropResults();
  nextStates.clear();
  profileEntries.clear();
  deviceTime = -1;
  begin = Clock::now();
  numbers.assign(flow.numbers(), 0);
  std::copy(symbols.begin(), symbols.end(), numbers.begin());
  Status status;
  try {
    status = start(inputs);
    if (!status.failed())
      status = runBlock(0);
    if (!status.failed())
      status = finish();
  } catch (const std::bad_alloc &) { // a GPU may still read the caller's memory
    status = {DLC_DEVICE, "out of memory"};
  }
  // Also after a failure: nothing may read the caller's memory after this call.
  if (Status ended = synchronize(); !status.failed())
    status = ended;
  for (TensorRef &slot : slots)
    slot.reset();
  callInputs.clear();
  callOutputs.clear();
  if (status.failed()) {
    dropResults();
    nextStates.clear();
  }
  return status;
}

/// Puts the inputs and states into their slots. Inputs that kernels can read in place stay the
/// caller's memory.
Status FlowRunner::start(const std::vector<Argument> &inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto width = static_cast<size_t>(rt::bytesOf(typeOf(static_cast<uint32_t>(i))));
    std::optional<size_t> bytes = bytesOf(inputDims[i], width);
    if (!bytes)
      return {DLC_USAGE, text("input ", i, ": its size overflows 64 bits")};
    auto tensor = std::make_shared<Tensor>(inputDims[i], *bytes, inputs[i], nullptr);
    bool isAligned = reinterpret_cast<uintptr_t>(inputs[i].data) % abi::kBufferAlignment == 0;
    if (!inputs[i].onDevice && *bytes == width && isInteger(typeOf(static_cast<uint32_t>(i))))
      DLC_TRY(readNumber(*tensor, static_cast<uint32_t>(i)));
    if (!inputs[i].data || inputs[i].onDevice != takesDeviceMemory() ||
        (!inputs[i].onDevice && !isAligned)) {
      Expected<TensorRef> made = pool->copy(*tensor);
      if (made.failed())
        return made.status();
      tensor = made.take();
    }
    slots[i] = std::move(tensor);
  }
  DLC_TRY(placeStates());
  for (size_t i = 0; i < states.size(); ++i)
    slots[inputs.size() + i] = states[i];
  return {};
}

/// Makes states that are zero where there are none of the bound dims.
Status FlowRunner::placeStates() {
  for (size_t i = 0; i < stateDims.size(); ++i) {
    if (states.size() > i && states[i]->dims == stateDims[i])
      continue;
    size_t slot = sizeOf(table.inputs()) + i;
    auto width = static_cast<size_t>(rt::bytesOf(typeOf(static_cast<uint32_t>(slot))));
    Expected<TensorRef> made = pool->make(stateDims[i], width);
    if (made.failed())
      return made.status();
    std::vector<char> zeros((*made)->bytes);
    DLC_TRY(copy((*made)->place, {zeros.data(), false}, zeros.size()));
    states.resize(std::max(states.size(), i + 1));
    states[i] = made.take();
  }
  return {};
}

/// The tensor itself, or a copy where it is the caller's memory.
Expected<TensorRef> FlowRunner::owned(const TensorRef &tensor) {
  return tensor->owner ? Expected<TensorRef>(tensor) : pool->copy(*tensor);
}

static std::string textOf(const Dims &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += text(i ? "," : "", dims[i]);
  return out + "]";
}

/// Collects the outputs and the next states.
Status FlowRunner::finish() {
  for (auto [from, to] :
       {std::pair(flow.outputs(), &outputTensors), std::pair(flow.next_states(), &nextStates)})
    for (size_t i = 0; i < sizeOf(from); ++i) {
      Expected<TensorRef> tensor = owned(slots[from->Get(static_cast<uint32_t>(i))]);
      if (tensor.failed())
        return tensor.status();
      to->push_back(tensor.take());
    }
  for (size_t i = 0; i < nextStates.size(); ++i)
    if (nextStates[i]->dims != stateDims[i]) {
      const schema::Value &state = *table.states()->Get(static_cast<uint32_t>(i));
      return {DLC_USAGE,
              text("state ", quoted(state.name()->string_view()), ": the model computed ",
                   textOf(nextStates[i]->dims), "; expected ", textOf(stateDims[i]))};
    }
  return {};
}

void FlowRunner::commitStates() {
  if (!nextStates.empty())
    states = std::move(nextStates);
  nextStates.clear();
}

Status FlowRunner::synchronize() {
  Status status;
  for (const auto &segment : segments)
    if (Status ended = segment->device().synchronize(); !status.failed())
      status = ended;
  return status;
}

//===- Steps ----------------------------------------------------------------------------------===//

Status FlowRunner::checkTime() const {
  if (options.timeoutMs > 0 && Clock::now() - begin >= std::chrono::milliseconds(options.timeoutMs))
    return {DLC_DEVICE, text("after ", options.timeoutMs,
                             " ms the model's steps are not done. Give it more time (--timeout, "
                             "timeout_ms), or check the condition of its loops")};
  return {};
}

Status FlowRunner::runBlock(uint32_t index) {
  for (const PlannedStep &step : blocks[index].steps) {
    DLC_TRY(checkTime());
    DLC_TRY(runStep(step));
    for (uint32_t slot : step.dead)
      slots[slot].reset();
  }
  return {};
}

Status FlowRunner::runStep(const PlannedStep &step) {
  switch (step.entry->step_type()) {
  case schema::Step::CallStep:
    return call(*step.entry->step_as_CallStep());
  case schema::Step::ReadStep:
    return read(*step.entry->step_as_ReadStep());
  case schema::Step::SizeStep: {
    const schema::SizeStep &size = *step.entry->step_as_SizeStep();
    numbers[size.number()] = slots[size.slot()]->dims[size.dim()];
    return {};
  }
  case schema::Step::IfStep:
    return branch(*step.entry->step_as_IfStep());
  default:
    return loop(step, *step.entry->step_as_LoopStep());
  }
}

Status FlowRunner::call(const schema::CallStep &step) {
  callInputs.clear();
  callNumbers.clear();
  for (size_t i = 0; i < sizeOf(step.inputs()); ++i)
    callInputs.push_back(slots[step.inputs()->Get(static_cast<uint32_t>(i))]);
  for (size_t i = 0; i < sizeOf(step.numbers()); ++i)
    callNumbers.push_back(numbers[step.numbers()->Get(static_cast<uint32_t>(i))]);
  SegmentRunner &segment = *segments[step.segment()];
  Clock::time_point start = options.profile ? Clock::now() : Clock::time_point();
  DLC_TRY(segment.call(callInputs, callNumbers, *pool, callOutputs));
  for (size_t i = 0; i < callOutputs.size(); ++i)
    slots[step.outputs()->Get(static_cast<uint32_t>(i))] = std::move(callOutputs[i]);
  callInputs.clear();
  if (double time = segment.device().deviceMicroseconds(); time >= 0)
    deviceTime = std::max(deviceTime, 0.0) + time;
  for (dlc_profile_entry entry : segment.device().profile()) {
    entry.start_microseconds += std::chrono::duration<double, std::micro>(start - begin).count();
    profileEntries.push_back(entry);
  }
  return {};
}

/// Sets the number of a tensor with one integer. DLC_USAGE if it does not fit.
Status FlowRunner::readNumber(Tensor &tensor, uint32_t slot) {
  uint64_t bits = 0;
  DLC_TRY(copy({&bits, false}, tensor.place, tensor.bytes));
  schema::DType dtype = typeOf(slot);
  bool isSigned =
      dtype <= schema::DType::i8 || dtype == schema::DType::i4 || dtype == schema::DType::i2;
  if (dtype == schema::DType::boolean)
    bits = bits != 0;
  else if (isSigned && tensor.bytes < 8)
    bits = static_cast<uint64_t>(static_cast<int64_t>(bits << (64 - 8 * tensor.bytes)) >>
                                 (64 - 8 * tensor.bytes));
  if (!isSigned && bits > INT64_MAX)
    return {DLC_USAGE, text("the model computed ", bits, " for a size; expected 63 bits at most")};
  tensor.number = static_cast<int64_t>(bits);
  return {};
}

Status FlowRunner::numberIn(uint32_t slot, int64_t &value) {
  Tensor &tensor = *slots[slot];
  if (!tensor.number)
    DLC_TRY(readNumber(tensor, slot));
  value = *tensor.number;
  return {};
}

Status FlowRunner::read(const schema::ReadStep &step) {
  int64_t &number = numbers[step.number()];
  DLC_TRY(numberIn(step.slot(), number));
  return step.number() < sizeOf(table.symbols())
             ? checkComputed(*table.symbols()->Get(step.number()), number)
             : Status();
}

Status FlowRunner::branch(const schema::IfStep &step) {
  int64_t condition = 0;
  DLC_TRY(numberIn(step.condition(), condition));
  uint32_t block = condition ? step.then_block() : step.else_block();
  const auto *values = condition ? step.then_values() : step.else_values();
  DLC_TRY(runBlock(block));
  for (size_t i = 0; i < sizeOf(values); ++i)
    slots[step.results()->Get(static_cast<uint32_t>(i))] =
        slots[values->Get(static_cast<uint32_t>(i))];
  for (uint32_t slot : blocks[block].own)
    slots[slot].reset();
  return {};
}

//===- About the whole ------------------------------------------------------------------------===//

dlc_memory_info FlowRunner::memory() const {
  dlc_memory_info sum = {};
  sum.struct_size = sizeof(sum);
  for (const auto &segment : segments) {
    dlc_memory_info one = segment->device().memory();
    sum.weight_bytes += one.weight_bytes;
    sum.persistent_bytes += one.persistent_bytes;
    sum.arena_bytes += one.arena_bytes;
    sum.scratch_bytes += one.scratch_bytes;
  }
  for (const TensorRef &state : states)
    sum.state_bytes += static_cast<int64_t>(state->room);
  sum.arena_bytes += pool->bytes() - sum.state_bytes;
  return sum;
}

std::string FlowRunner::remarks() const {
  std::vector<std::string> lines;
  for (const auto &segment : segments) {
    std::string told = segment->device().remarks();
    for (size_t begin = 0; begin < told.size();) {
      size_t end = std::min(told.find('\n', begin), told.size());
      if (std::string line = told.substr(begin, end - begin);
          std::find(lines.begin(), lines.end(), line) == lines.end())
        lines.push_back(std::move(line));
      begin = end + 1;
    }
  }
  std::string joined;
  for (const std::string &line : lines)
    joined += (joined.empty() ? "" : "\n") + line;
  return joined;
}
