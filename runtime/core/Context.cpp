//===- Context.cpp - A module on a device, for one thread at a time --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/Context.h"
#include "runtime/core/Checked.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/CpuExecutor.h"
#include "runtime/cuda/CudaExecutor.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

using namespace dlc;
using namespace dlc::rt;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

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

/// `whyNot` is set where "auto" passes CUDA over.
static Expected<std::unique_ptr<Executor>> openDevice(Module &module, const std::string &device,
                                                      const ExecutorOptions &options,
                                                      std::string &whyNot) {
  if (device == "cpu")
    return cpu::createExecutor(module, options);
  if (int ordinal = cudaOrdinal(device); ordinal >= 0)
    return cuda::createExecutor(module, ordinal, options);
  if (device != "auto")
    return Status(DLC_USAGE,
                  text("unknown device ", quoted(device), "; expected cpu, cuda, cuda:N or auto"));

  whyNot = "the module has no CUDA program";
  if (module.program(schema::Target::cuda)) {
    Expected<std::unique_ptr<Executor>> made = cuda::createExecutor(module, 0, options);
    // Where CUDA is there and fails, its error matters more than a slow answer from the CPU.
    if (!made.failed() || made.status().code() != DLC_UNSUPPORTED ||
        !module.program(schema::Target::cpu)) {
      whyNot.clear();
      return made;
    }
    whyNot = made.status().message();
  }
  Expected<std::unique_ptr<Executor>> made = cpu::createExecutor(module, options);
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

Status Context::checkArray(const schema::Value &value, const char *kind,
                           const CallerArray &array) const {
  std::string name = text(kind, " ", quoted(value.name()->string_view()));
  if (array.dtype != toC(value.dtype()))
    return {DLC_USAGE, text(name, ": expected ", nameOf(value.dtype()), ", got ",
                            dlc_dtype_name(array.dtype))};
  int64_t needed = bytesOf(value.dtype());
  for (int64_t extent : array.dims) {
    assert(extent >= 0 && "dims are those of a binding");
    if (!checkedMul(needed, extent, needed))
      return {DLC_USAGE, text(name, ": its size overflows 64 bits")};
  }
  if (array.bytes < static_cast<uint64_t>(needed))
    return {DLC_USAGE,
            text(name, ": its dims need ", needed, " bytes, the array has ", array.bytes)};
  if (!array.data && needed > 0)
    return {DLC_USAGE, text(name, ": its data pointer is null")};
  if (array.onDevice && !device->takesDeviceMemory())
    return {DLC_USAGE,
            text(name, ": its data is in GPU memory, and the context runs on ", device->device())};
  return {};
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

/// What a state holds is not thrown away because an input has another batch.
Status Context::checkStates(const Binding &binding) const {
  for (size_t i = 0; i < heldStates.size(); ++i)
    if (heldStates[i] != binding.states[i])
      return {DLC_USAGE,
              text("state ", quoted(owner->table().states()->Get(i)->name()->string_view()),
                   " holds ", textOf(heldStates[i]),
                   " from the runs before, and these inputs make it ", textOf(binding.states[i]),
                   "; reset the states first (--reset-state, dlc_context_reset_states)")};
  return {};
}

void Context::resetStates() {
  device->resetStates();
  heldStates.clear();
  isHalfWritten = false;
}

Status Context::bind(const std::vector<CallerArray> &inputs) {
  size_t count = sizeOf(owner->table().inputs());
  for (size_t i = 0; i < std::min(count, inputs.size()); ++i) {
    const schema::Value &value = *owner->table().inputs()->Get(i);
    if (inputs[i].dtype != toC(value.dtype()))
      return {DLC_USAGE, text("input ", quoted(value.name()->string_view()), ": expected ",
                              owner->describe(value), ", got ", dlc_dtype_name(inputs[i].dtype))};
  }
  counted.clear();
  std::vector<Dims> dims = dimsOf(inputs);
  if (isBound && dims == boundInputs)
    return {};
  isBound = false;
  Expected<Binding> binding = bindShapes(*owner, dims);
  if (binding.failed())
    return binding.status();
  DLC_TRY(checkStates(*binding));
  DLC_TRY(device->bind(*binding));
  bound = binding.take();
  boundInputs = std::move(dims);
  isBound = true;
  return {};
}

/// A bool is 0 or 1: kernels take other bytes for nothing sensible.
static Status checkBools(const schema::Value &value, const CallerArray &array) {
  if (value.dtype() != schema::DType::boolean || array.onDevice)
    return {};
  size_t count = 1;
  for (int64_t extent : array.dims)
    count *= static_cast<size_t>(extent);
  auto *bytes = static_cast<const uint8_t *>(array.data);
  // A block at a time, all bits together: a loop that leaves at an element is done one by one.
  static constexpr size_t kBlock = 4096;
  for (size_t begin = 0; begin < count; begin += kBlock) {
    size_t end = std::min(begin + kBlock, count);
    uint8_t bits = 0;
    for (size_t i = begin; i < end; ++i)
      bits |= bytes[i];
    if (bits <= 1)
      continue;
    for (size_t i = begin; i < end; ++i)
      if (bytes[i] > 1)
        return {DLC_USAGE, text("input ", quoted(value.name()->string_view()), ": element ", i,
                                " is ", bytes[i], "; a bool is 0 or 1")};
  }
  return {};
}

Status Context::checkInputs(const std::vector<CallerArray> &inputs) const {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const schema::Value &value = *owner->table().inputs()->Get(i);
    DLC_TRY(checkArray(value, "input", inputs[i]));
    DLC_TRY(checkBools(value, inputs[i]));
  }
  return {};
}

/// What a count may cut off an output of `dims` lies behind all that remains.
static bool isCutAtEnd(const Module &module, const schema::Value &value, const Dims &dims) {
  int64_t before = 1;
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    std::vector<uint32_t> symbols = module.expressions().symbolsOf(value.dims()->Get(dim));
    for (uint32_t symbol : symbols)
      if (module.table().symbols()->Get(symbol)->counted() && before > 1)
        return false;
    before *= dims[dim];
  }
  return true;
}

Status Context::checkOutputs(const std::vector<CallerArray> &outputs) const {
  size_t count = owner->numOutputs();
  if (outputs.size() != count)
    return {DLC_USAGE, text("expected ", count, count == 1 ? " output" : " outputs", ", got ",
                            outputs.size())};
  for (size_t i = 0; i < count; ++i) {
    const schema::Value &value = *owner->table().outputs()->Get(i);
    std::string name = text("output ", quoted(value.name()->string_view()));
    if (outputs[i].dims.size() != bound.outputs[i].size())
      return {DLC_USAGE, text(name, ": expected ", bound.outputs[i].size(), " dims, got ",
                              outputs[i].dims.size())};
    for (size_t dim = 0; dim < outputs[i].dims.size(); ++dim)
      if (outputs[i].dims[dim] != bound.outputs[i][dim])
        return {DLC_USAGE, text(name, ", dim ", dim, ": expected ", bound.outputs[i][dim], ", got ",
                                outputs[i].dims[dim])};
    DLC_TRY(checkArray(value, "output", outputs[i]));
    if (outputs[i].onDevice && !isCutAtEnd(*owner, value, outputs[i].dims))
      return {DLC_UNSUPPORTED,
              text(name, ": the data say how large a dim is that is not its first: dlc moves its "
                         "elements together in memory of the CPU alone; give it such memory")};
  }
  return {};
}

/// Elements of `data` under `from` that lie within `to`, moved together.
static void moveTogether(uint8_t *data, size_t width, const Dims &from, const Dims &to) {
  if (from == to)
    return;
  // Runs of elements that lie together in both; each goes to where one lay before it.
  size_t dim = from.size();
  size_t run = width;
  while (dim > 0 && from[dim - 1] == to[dim - 1])
    run *= static_cast<size_t>(from[--dim]);
  --dim; // the last one that is cut
  run *= static_cast<size_t>(to[dim]);
  size_t count = 1;
  for (size_t i = 0; i < dim; ++i)
    count *= static_cast<size_t>(to[i]);
  if (run == 0)
    return;
  std::vector<int64_t> index(dim);
  size_t step = run / static_cast<size_t>(to[dim]) * static_cast<size_t>(from[dim]);
  for (size_t number = 0; number < count; ++number) {
    size_t place = 0;
    for (size_t i = 0; i < dim; ++i)
      place = place * static_cast<size_t>(from[i]) + static_cast<size_t>(index[i]);
    std::memmove(data + number * run, data + place * step, run);
    for (size_t i = dim; i-- > 0 && ++index[i] == to[i];)
      index[i] = 0;
  }
}

Status Context::cutOutputs(const std::vector<int64_t> &counts,
                           const std::vector<CallerArray> &outputs) {
  std::vector<int64_t> symbols = bound.symbols, values;
  size_t next = 0;
  for (size_t i = 0; i < symbols.size(); ++i) {
    const schema::Symbol &symbol = *owner->table().symbols()->Get(i);
    if (!symbol.counted())
      continue;
    int64_t count = counts[next++];
    if (count < 0 || count > symbols[i])
      return {DLC_INTERNAL, text("the model counted ", count, " of ", symbols[i], " for ",
                                 quoted(symbol.name()->string_view()))};
    symbols[i] = count;
  }
  owner->expressions().evaluate(symbols, owner->expressions().size(), values);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const schema::Value &value = *owner->table().outputs()->Get(i);
    Dims &dims = counted.emplace_back();
    for (size_t dim = 0; dim < sizeOf(value.dims()); ++dim)
      dims.push_back(values[value.dims()->Get(dim)]);
    if (!outputs[i].onDevice)
      moveTogether(static_cast<uint8_t *>(outputs[i].data),
                   static_cast<size_t>(bytesOf(value.dtype())), bound.outputs[i], dims);
  }
  return {};
}

Status Context::run(const std::vector<CallerArray> &inputs,
                    const std::vector<CallerArray> &outputs) {
  DLC_TRY(bind(inputs));
  DLC_TRY(checkInputs(inputs));
  if (isHalfWritten)
    return {DLC_USAGE, "the run before failed and may have left states half written; reset them "
                       "first (dlc_context_reset_states)"};
  DLC_TRY(checkOutputs(outputs));
  std::vector<Argument> in, out;
  for (const CallerArray &array : inputs)
    in.push_back({array.data, array.onDevice});
  for (const CallerArray &array : outputs)
    out.push_back({array.data, array.onDevice});
  std::vector<int64_t> counts(bound.outputs.size() - outputs.size());
  for (int64_t &count : counts)
    out.push_back({&count, false});
  Status status = device->run(in, out);
  isHalfWritten = status.failed() && !bound.states.empty();
  if (!bound.states.empty())
    heldStates = bound.states;
  return status.failed() || counts.empty() ? status : cutOutputs(counts, outputs);
}
