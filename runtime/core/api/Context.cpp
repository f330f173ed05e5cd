//===- Context.cpp - A module on a device, for one thread at a time --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/api/Context.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/CpuExecutor.h"
#include "runtime/cuda/CudaExecutor.h"

#include <algorithm>
#include <charconv>
#include <string_view>

using namespace dlc;
using namespace dlc::rt;

/// The ordinal in "cuda" or "cuda:1"; -1 where `device` is neither.
static int cudaOrdinal(std::string_view device) {
  if (device == "cuda")
    return 0;
  if (!device.starts_with("cuda:"))
    return -1;
  device.remove_prefix(5);
  int ordinal = -1;
  auto [end, error] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  return error == std::errc() && end == device.data() + device.size() ? ordinal : -1;
}

/// `ordinal`: of a GPU; negative: the CPU.
static Expected<std::unique_ptr<Executor>> openOn(Module &module, int ordinal,
                                                  const ExecutorOptions &options) {
  auto open = [ordinal](Module &one, const ExecutorOptions &its) {
    return ordinal >= 0 ? cuda::createExecutor(one, ordinal, its) : cpu::createExecutor(one, its);
  };
  return module.flow() ? FlowRunner::create(module, open, options) : open(module, options);
}

/// `whyNot` is set where "auto" passes CUDA over.
static Expected<std::unique_ptr<Executor>> openDevice(Module &module, const std::string &device,
                                                      const ExecutorOptions &options,
                                                      std::string &whyNot) {
  if (device == "cpu")
    return openOn(module, -1, options);
  if (int ordinal = cudaOrdinal(device); ordinal >= 0)
    return openOn(module, ordinal, options);
  if (device != "auto")
    return Status(DLC_USAGE,
                  text("unknown device ", quoted(device), "; expected cpu, cuda, cuda:N or auto"));

  whyNot = "the module has no CUDA program";
  if (module.hasProgram(schema::Target::cuda)) {
    Expected<std::unique_ptr<Executor>> made = openOn(module, 0, options);
    // Where CUDA is there and fails, its error matters more than a slow answer from the CPU.
    if (!made.failed() || made.status().code() != DLC_UNSUPPORTED ||
        !module.hasProgram(schema::Target::cpu)) {
      whyNot.clear();
      return made;
    }
    whyNot = made.status().message();
  }
  Expected<std::unique_ptr<Executor>> made = openOn(module, -1, options);
  if (made.failed())
    return Status(made.status().code(), text("no device can run the module. cuda: ", whyNot,
                                             ". cpu: ", made.status().message()));
  return made;
}

Expected<std::unique_ptr<Context>> Context::create(std::shared_ptr<Module> module,
                                                   const std::string &device,
                                                   const ExecutorOptions &options) {
  std::string whyNot;
  Expected<std::unique_ptr<Executor>> executor = openDevice(*module, device, options, whyNot);
  if (executor.failed())
    return executor.status();
  std::string notes = whyNot.empty() ? "" : "not on a GPU: " + whyNot;
  std::unique_ptr<Context> context(
      new Context(std::move(module), executor.take(), options.profile, std::move(notes)));
  return context;
}

const std::string &Context::remarks() const {
  remarked = notes;
  if (std::string told = device->remarks(); !told.empty())
    remarked += (remarked.empty() ? "" : "\n") + told;
  return remarked;
}

static std::vector<Dims> dimsOf(const std::vector<CallerArray> &arrays) {
  std::vector<Dims> dims;
  for (const CallerArray &array : arrays)
    dims.push_back(array.dims);
  return dims;
}

static std::string textOf(const Dims &dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    out += text(i ? "," : "", dims[i]);
  return out + "]";
}

static std::string_view nameOfState(const Module &module, size_t index) {
  return module.table().states()->Get(static_cast<uint32_t>(index))->name()->string_view();
}

/// Refuses inputs whose shapes would resize a state that holds data.
Status Context::checkStates(const Binding &binding) const {
  for (size_t i = 0; i < heldStates.size(); ++i)
    if (heldStates[i] != binding.states[i])
      return {DLC_USAGE,
              text("state ", quoted(nameOfState(*owner, i)), " holds ", textOf(heldStates[i]),
                   " from the runs before, and these inputs make it ", textOf(binding.states[i]),
                   "; reset the states first (--reset-state, dlc_context_reset_states)")};
  for (const auto &[i, state] : written)
    if (state.dims != binding.states[i])
      return {DLC_USAGE,
              text("state ", quoted(nameOfState(*owner, i)), " was written with the dims ",
                   textOf(state.dims), ", and these inputs make it ", textOf(binding.states[i]))};
  return {};
}

int64_t Context::cacheStep(const Binding &binding) const {
  const schema::Cache *cache = owner->table().cache();
  return cache ? binding.values[cache->step()] : 0;
}

/// A cache that is full would be written over at its end, and the results would be wrong.
Status Context::checkCache(const Binding &binding) const {
  const schema::Cache *cache = owner->table().cache();
  if (int64_t step = cacheStep(binding); cache && step > cache->capacity() - taken.load())
    return {
        DLC_USAGE,
        text("the model's cache holds ", cache->capacity(), " positions, of which ", taken.load(),
             " are taken, and this run brings ", step,
             "; reset the states first (--reset-state, dlc_context_reset_states), or compile the "
             "model with a larger cache")};
  return {};
}

void Context::resetStates() {
  queue.drain();
  device->resetStates();
  heldStates.clear();
  written.clear();
  taken = 0;
  isHalfWritten = false;
}

Expected<Context::ShapesPtr> Context::shapesOf(const std::vector<CallerArray> &inputs) const {
  std::vector<Dims> dims = dimsOf(inputs);
  Expected<Binding> binding = bindShapes(*owner, dims);
  if (binding.failed())
    return binding.status();
  DLC_TRY(checkStates(*binding));
  return std::make_shared<const Shapes>(Shapes{std::move(dims), binding.take()});
}

static bool haveDims(const std::vector<CallerArray> &arrays, const std::vector<Dims> &dims) {
  return std::equal(
      arrays.begin(), arrays.end(), dims.begin(), dims.end(),
      [](const CallerArray &array, const Dims &other) { return array.dims == other; });
}

Status Context::bind(const std::vector<CallerArray> &inputs) {
  queue.drain();
  DLC_TRY(checkTypes(*owner, inputs));
  counted.clear();
  kept.forget();
  if (flow)
    flow->dropResults();
  if (bound && bound == placed && haveDims(inputs, bound->inputs))
    return checkStates(bound->binding);
  bound = placed = nullptr;
  Expected<ShapesPtr> shapes = shapesOf(inputs);
  if (shapes.failed())
    return shapes.status();
  DLC_TRY(device->bind((*shapes)->binding));
  bound = placed = shapes.take();
  return {};
}

Status Context::prepare(const std::vector<CallerArray> &inputs) {
  DLC_TRY(bind(inputs));
  DLC_TRY(device->prepare());
  if (std::none_of(prepared.begin(), prepared.end(),
                   [&](const ShapesPtr &shapes) { return shapes->inputs == bound->inputs; }))
    prepared.push_back(bound);
  return {};
}

static std::vector<Argument> argumentsOf(const std::vector<CallerArray> &arrays) {
  std::vector<Argument> arguments;
  for (const CallerArray &array : arrays)
    arguments.push_back({array.data, array.onDevice});
  return arguments;
}

static Status halfWritten() {
  return {DLC_USAGE, "the run before failed and may have left states half written; reset them "
                     "first (dlc_context_reset_states)"};
}

Expected<Dims> Context::stateDims(size_t index) const {
  if (auto found = written.find(index); found != written.end())
    return found->second.dims;
  if (index < heldStates.size())
    return heldStates[index];
  const schema::Value &state = *owner->table().states()->Get(static_cast<uint32_t>(index));
  Dims dims;
  for (uint32_t i = 0; state.dims() && i < state.dims()->size(); ++i) {
    std::optional<int64_t> size = owner->expressions().constant(state.dims()->Get(i));
    if (!size)
      return Status(DLC_USAGE, text("state ", quoted(state.name()->string_view()),
                                    " holds nothing before a run, which tells its dims"));
    dims.push_back(*size);
  }
  return dims;
}

Status Context::readState(size_t index, void *data, size_t bytes) {
  queue.drain();
  if (isHalfWritten)
    return halfWritten();
  Expected<Dims> dims = stateDims(index);
  if (dims.failed())
    return dims.status();
  const schema::Value &state = *owner->table().states()->Get(static_cast<uint32_t>(index));
  std::optional<size_t> needed = bytesOf(*dims, static_cast<size_t>(rt::bytesOf(state.dtype())));
  if (!needed || bytes < *needed)
    return {DLC_USAGE, text("state ", quoted(state.name()->string_view()), " needs ",
                            needed.value_or(0), " bytes, got ", bytes)};
  if (auto found = written.find(index); found != written.end()) {
    std::copy_n(found->second.data.begin(), *needed, static_cast<char *>(data));
    return {};
  }
  if (heldStates.empty()) {
    std::fill_n(static_cast<char *>(data), *needed, 0);
    return {};
  }
  Expected<Argument> memory = device->stateMemory(index);
  return memory.failed() ? memory.status() : device->copy({data, false}, *memory, *needed);
}

Status Context::writeState(size_t index, const Dims &dims, const void *data, size_t bytes) {
  if (owner->table().cache())
    return {DLC_UNSUPPORTED, text("state ", quoted(nameOfState(*owner, index)),
                                  " cannot be written: the model has caches whose positions the "
                                  "context counts")};
  return write(index, dims, data, bytes);
}

/// Name of the state i64[2] that random numbers are drawn from: a seed and a count of draws.
static constexpr std::string_view kGenerator = "generator";

Status Context::seed(int64_t seed) {
  const auto *states = owner->table().states();
  for (uint32_t i = 0; states && i < states->size(); ++i) {
    const schema::Value &state = *states->Get(i);
    if (state.name()->string_view() != kGenerator || state.dtype() != schema::DType::i64)
      continue;
    const int64_t generator[] = {seed, 0};
    return write(i, {2}, generator, sizeof(generator));
  }
  return {DLC_USAGE, "the model draws no random numbers, so that a seed changes nothing"};
}

Status Context::write(size_t index, const Dims &dims, const void *data, size_t bytes) {
  queue.drain();
  if (isHalfWritten)
    return halfWritten();
  const schema::Value &state = *owner->table().states()->Get(static_cast<uint32_t>(index));
  std::string_view name = nameOfState(*owner, index);
  auto hasSize = [&](uint32_t dim) {
    std::optional<int64_t> size = owner->expressions().constant(state.dims()->Get(dim));
    return dims[dim] >= 0 && (!size || *size == dims[dim]);
  };
  size_t rank = state.dims() ? state.dims()->size() : 0;
  bool fits = dims.size() == rank;
  for (uint32_t dim = 0; fits && dim < rank; ++dim)
    fits = hasSize(dim);
  if (!fits || (index < heldStates.size() && heldStates[index] != dims)) {
    Expected<Dims> held = stateDims(index);
    return {DLC_USAGE,
            text("state ", quoted(name), " cannot be ", textOf(dims), "; expected ",
                 held.failed() ? text(rank, " dims as the model declares them") : textOf(*held))};
  }
  std::optional<size_t> needed = bytesOf(dims, static_cast<size_t>(rt::bytesOf(state.dtype())));
  if (!needed || bytes != *needed)
    return {DLC_USAGE, text("state ", quoted(name), " of the dims ", textOf(dims), " needs ",
                            needed.value_or(0), " bytes, got ", bytes)};
  const char *first = static_cast<const char *>(data);
  written[index] = {dims, std::vector<char>(first, first + bytes)};
  return {};
}

Status Context::placeWritten(const WrittenStates &states) {
  for (const auto &[index, state] : states) {
    Expected<Argument> memory = device->stateMemory(index);
    if (memory.failed())
      return memory.status();
    // copy() only reads its source.
    DLC_TRY(
        device->copy(*memory, {const_cast<char *>(state.data.data()), false}, state.data.size()));
  }
  return {};
}

/// Runs on arrays that have been checked; `dims` becomes those of the outputs where the data say
/// how large they are.
Status Context::perform(const ShapesPtr &shapes, const std::vector<CallerArray> &inputs,
                        const std::vector<CallerArray> &outputs, std::vector<Dims> &dims) {
  const Binding &binding = shapes->binding;
  if (flow)
    return performFlow(binding, inputs, outputs, dims);
  std::vector<Argument> in = argumentsOf(inputs), out = argumentsOf(outputs);
  std::vector<int64_t> counts(binding.outputs.size() - outputs.size());
  for (int64_t &count : counts)
    out.push_back({&count, false});
  isHalfWritten =
      !binding.states.empty(); // also where memory runs out, which leaves by an exception
  Status status = device->run(in, out);
  isHalfWritten &= status.failed();
  return status.failed() || counts.empty() ? status
                                           : cutOutputs(*owner, binding, counts, outputs, dims);
}

/// The states change at the end of a run that went well, after its outputs were delivered.
Status Context::performFlow(const Binding &binding, const std::vector<CallerArray> &inputs,
                            const std::vector<CallerArray> &outputs, std::vector<Dims> &dims) {
  DLC_TRY(flow->run(argumentsOf(inputs), {}));
  Status status = kept.deliver(*owner, binding, *flow, outputs, dims);
  if (Status copied = flow->synchronize(); !status.failed())
    status = copied;
  DLC_TRY(status);
  flow->commitStates();
  return {};
}

namespace {
/// Gives back the positions that a run took, unless it has begun to write.
struct TakenPositions {
  std::atomic<int64_t> &taken;
  const int64_t step;
  bool isWriting = false;

  ~TakenPositions() {
    if (!isWriting)
      taken -= step;
  }
};
} // namespace

/// The turn of a run that was put in line, on the queue's thread.
Status Context::performInLine(const ShapesPtr &shapes, const std::vector<CallerArray> &inputs,
                              const std::vector<CallerArray> &outputs, const WrittenStates &states,
                              std::vector<Dims> &dims) {
  TakenPositions positions{taken, cacheStep(shapes->binding)};
  if (placed != shapes) {
    placed = nullptr;
    DLC_TRY(device->bind(shapes->binding));
    placed = shapes;
  }
  // First, so that a run that is refused does not lose them.
  if (!isHalfWritten)
    DLC_TRY(placeWritten(states));
  DLC_TRY(checkBools(*owner, inputs));
  if (isHalfWritten)
    return halfWritten();
  positions.isWriting = true;
  Status status = perform(shapes, inputs, outputs, dims);
  // The runs after it would continue from the states before it, as if it had not been.
  isHalfWritten |= status.failed() && !shapes->binding.states.empty();
  return status;
}

Status Context::run(const std::vector<CallerArray> &inputs,
                    const std::vector<CallerArray> &outputs) {
  DLC_TRY(bind(inputs));
  DLC_TRY(checkInputs(*owner, *device, inputs));
  DLC_TRY(checkBools(*owner, inputs));
  if (isHalfWritten)
    return halfWritten();
  DLC_TRY(checkCache(bound->binding));
  DLC_TRY(checkOutputs(*owner, *device, bound->binding, outputs, /*mayKeep=*/true));
  DLC_TRY(placeWritten(written));
  Status status;
  if (!flow && std::any_of(outputs.begin(), outputs.end(), isLeftToContext)) {
    std::vector<CallerArray> filled = outputs;
    DLC_TRY(kept.fill(*owner, bound->binding.outputs, filled));
    status = perform(bound, inputs, filled, counted);
    kept.cut(*owner, counted);
    if (status.failed())
      kept.forget();
  } else {
    status = perform(bound, inputs, outputs, counted);
  }
  if (flow && status.failed()) // which has changed no state
    return status;
  written.clear();
  if (!bound->binding.states.empty())
    heldStates = bound->binding.states;
  taken += cacheStep(bound->binding);
  return status;
}

/// The shapes of a run that may be put in line: all that can be checked without the data.
Expected<Context::ShapesPtr> Context::lineUp(const std::vector<CallerArray> &inputs,
                                             const std::vector<CallerArray> &outputs) const {
  DLC_TRY(checkTypes(*owner, inputs));
  ShapesPtr shapes = bound && haveDims(inputs, bound->inputs) ? bound : nullptr;
  for (size_t i = 0; !shapes && i < prepared.size(); ++i)
    if (haveDims(inputs, prepared[i]->inputs)) {
      shapes = prepared[i];
      DLC_TRY(checkStates(shapes->binding));
    }
  if (!shapes) {
    Expected<ShapesPtr> made = shapesOf(inputs);
    if (made.failed())
      return made.status();
    shapes = made.take();
  }
  DLC_TRY(checkCache(shapes->binding));
  DLC_TRY(checkInputs(*owner, *device, inputs));
  DLC_TRY(checkOutputs(*owner, *device, shapes->binding, outputs, /*mayKeep=*/false));
  return shapes;
}

Expected<std::shared_ptr<EnqueuedRun>> Context::enqueue(std::vector<CallerArray> inputs,
                                                        std::vector<CallerArray> outputs,
                                                        void *stream, bool wanted) {
  if (flow && device->keepsLine())
    return Status(DLC_UNSUPPORTED,
                  "the model decides its steps while it runs: use dlc_context_run");
  Expected<ShapesPtr> found = lineUp(inputs, outputs);
  if (found.failed())
    return found.status();
  ShapesPtr shapes = found.take();
  std::shared_ptr<EnqueuedRun> handle;
  std::vector<Dims> states = shapes->binding.states;
  if (!device->keepsLine()) {
    if (stream)
      return Status(DLC_USAGE, text("a stream is for runs on a GPU, and the context runs on ",
                                    device->device()));
    std::vector<Dims> largest(shapes->binding.outputs.begin(),
                              shapes->binding.outputs.begin() +
                                  static_cast<ptrdiff_t>(outputs.size()));
    auto run = std::make_shared<QueuedRun>(
        std::move(largest), [this, shapes, inputs = std::move(inputs), outputs = std::move(outputs),
                             states = written](std::vector<Dims> &dims) {
          return performInLine(shapes, inputs, outputs, states, dims);
        });
    int64_t step = cacheStep(shapes->binding);
    taken += step; // the run may end before push() does
    if (Status status = queue.push(run); status.failed()) {
      taken -= step;
      return status;
    }
    handle = std::move(run);
  } else {
    if (shapes->binding.outputs.size() != outputs.size())
      return Status(DLC_UNSUPPORTED, "an output has a data-dependent size, which on a GPU is known "
                                     "only after the run: use dlc_context_run");
    if (isHalfWritten)
      return halfWritten();
    placed = nullptr;
    if (!written.empty()) {
      DLC_TRY(device->bind(shapes->binding));
      DLC_TRY(placeWritten(written));
    }
    auto made =
        device->enqueue(shapes->binding, argumentsOf(inputs), argumentsOf(outputs), stream, wanted);
    if (made.failed()) {
      dlc_status code = made.status().code();
      isHalfWritten = code != DLC_NOT_PREPARED && code != DLC_USAGE && !states.empty();
      return made.status();
    }
    handle = made.take();
    placed = shapes;
    taken += cacheStep(shapes->binding);
  }
  written.clear();
  counted.clear();
  kept.forget();
  bound = std::move(shapes);
  if (!states.empty())
    heldStates = std::move(states);
  return handle;
}

Status Context::synchronize() {
  return device->keepsLine() ? device->synchronize() : queue.takeFailure();
}
