//===- Api.cpp - The C API over Module and Context --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments are checked here, exceptions of the standard library end here, and the message of a
// failure is kept for the thread.
//===--------------------------------------------------------------------------------------===//
#include "dlc/runtime.h"
#include "runtime/core/DType.h"
#include "runtime/core/Text.h"
#include "runtime/core/api/Context.h"
#include "runtime/core/package/Module.h"

#include <cstring>
#include <new>

using namespace dlc;
using namespace dlc::rt;

struct dlc_module {
  std::shared_ptr<Module> module;
};
struct dlc_context {
  std::unique_ptr<Context> context;
};
struct dlc_run {
  std::shared_ptr<EnqueuedRun> run;
};

static thread_local std::string lastError;

static dlc_status keep(const Status &status) {
  lastError = status.message();
  return status.code();
}

/// Runs `body` (returning a Status) so that no exception leaves it.
template <class Body> static dlc_status guarded(Body body) noexcept {
  try {
    return keep(body());
  } catch (const std::bad_alloc &) {
    // No allocation here: the short text fits into the string itself.
    lastError = "out of memory";
    return DLC_DEVICE;
  } catch (...) {
    lastError = "internal error";
    return DLC_INTERNAL;
  }
}

static Status usage(std::string message) { return {DLC_USAGE, std::move(message)}; }

static const char *const kNoSize = "the options' struct_size is 0; set it to sizeof(the struct)";

/// Whether a struct whose first field is its size reaches past `field`.
#define DLC_HAS_FIELD(pointer, type, field)                                                        \
  ((pointer)->struct_size >= offsetof(type, field) + sizeof(type::field))

const char *dlc_last_error(void) { return lastError.c_str(); }
const char *dlc_version(void) { return DLC_VERSION; }

const char *dlc_dtype_name(dlc_dtype dtype) { return isDType(dtype) ? kDTypes[dtype].name : "?"; }
size_t dlc_dtype_size(dlc_dtype dtype) { return isDType(dtype) ? kDTypes[dtype].bytes : 0; }

template <class Load>
static dlc_status load(const dlc_load_options *options, dlc_module **out, Load loadIt) {
  return guarded([&]() -> Status {
    if (!out)
      return usage("the pointer to the module is null");
    *out = nullptr;
    if (options && options->struct_size == 0)
      return usage(kNoSize);
    bool verifyAll =
        options && DLC_HAS_FIELD(options, dlc_load_options, verify_all) && options->verify_all;
    Expected<std::shared_ptr<Module>> module = loadIt(verifyAll);
    if (module.failed())
      return module.status();
    *out = new dlc_module{module.take()};
    return {};
  });
}

dlc_status dlc_module_load(const char *path, const dlc_load_options *options, dlc_module **out) {
  return load(options, out, [&](bool verifyAll) -> Expected<std::shared_ptr<Module>> {
    if (!path)
      return usage("the path is null");
    return Module::load(path, verifyAll);
  });
}

dlc_status dlc_module_load_memory(const void *data, size_t bytes, const dlc_load_options *options,
                                  dlc_module **out) {
  return load(options, out, [&](bool verifyAll) -> Expected<std::shared_ptr<Module>> {
    if (!data)
      return usage("the data pointer is null");
    return Module::loadMemory(data, bytes, verifyAll);
  });
}

void dlc_module_free(dlc_module *module) { delete module; }

using Values = flatbuffers::Vector<flatbuffers::Offset<schema::Value>>;

size_t dlc_module_num_inputs(const dlc_module *module) {
  const Values *inputs = module ? module->module->table().inputs() : nullptr;
  return inputs ? inputs->size() : 0;
}

size_t dlc_module_num_outputs(const dlc_module *module) {
  return module ? module->module->numOutputs() : 0;
}

dlc_dtype dlc_module_precision(const dlc_module *module) {
  return module ? toC(module->module->table().precision()) : DLC_F32;
}

int64_t dlc_module_cache_capacity(const dlc_module *module) {
  const schema::Cache *cache = module ? module->module->table().cache() : nullptr;
  return cache ? cache->capacity() : 0;
}

size_t dlc_module_num_states(const dlc_module *module) {
  const Values *states = module ? module->module->table().states() : nullptr;
  return states ? states->size() : 0;
}

static Status describe(const Module &module, const Values *values, size_t count, const char *kind,
                       size_t index, dlc_value_info *info) {
  if (index >= count)
    return usage(text("there is no ", kind, " ", index, "; the module has ", count));
  if (!info || info->struct_size < sizeof(dlc_value_info))
    return usage("the info pointer is null or its struct_size is too small");
  const schema::Value &value = *values->Get(index);
  dlc_value_info filled = {};
  filled.struct_size = info->struct_size;
  filled.name = value.name()->c_str();
  filled.dtype = toC(value.dtype());
  filled.rank = value.dims() ? static_cast<int>(value.dims()->size()) : 0;
  for (int dim = 0; dim < filled.rank; ++dim) {
    const Interval &range = module.expressions().range(value.dims()->Get(dim));
    const std::string &name = module.dimNames(value)[dim];
    filled.dims[dim] = name.empty() ? range.min : -1;
    filled.min_dims[dim] = std::max<int64_t>(range.min, 0);
    filled.max_dims[dim] = range.max;
    filled.dim_names[dim] = name.empty() ? nullptr : name.c_str();
  }
  *info = filled;
  return {};
}

dlc_status dlc_module_input(const dlc_module *module, size_t index, dlc_value_info *info) {
  return guarded([&] {
    return module ? describe(*module->module, module->module->table().inputs(),
                             dlc_module_num_inputs(module), "input", index, info)
                  : usage("the module is null");
  });
}

dlc_status dlc_module_output(const dlc_module *module, size_t index, dlc_value_info *info) {
  return guarded([&] {
    return module ? describe(*module->module, module->module->table().outputs(),
                             dlc_module_num_outputs(module), "output", index, info)
                  : usage("the module is null");
  });
}

dlc_status dlc_module_state(const dlc_module *module, size_t index, dlc_value_info *info) {
  return guarded([&] {
    return module ? describe(*module->module, module->module->table().states(),
                             dlc_module_num_states(module), "state", index, info)
                  : usage("the module is null");
  });
}

dlc_status dlc_context_create(dlc_module *module, const dlc_context_options *options,
                              dlc_context **out) {
  return guarded([&]() -> Status {
    if (!out)
      return usage("the pointer to the context is null");
    *out = nullptr;
    if (!module)
      return usage("the module is null");
    std::string device = "auto";
    ExecutorOptions chosen;
    if (options) {
      if (options->struct_size == 0)
        return usage(kNoSize);
      if (DLC_HAS_FIELD(options, dlc_context_options, device) && options->device)
        device = options->device;
      if (DLC_HAS_FIELD(options, dlc_context_options, threads))
        chosen.threads = options->threads;
      chosen.checked = DLC_HAS_FIELD(options, dlc_context_options, checked) && options->checked;
      chosen.profile = DLC_HAS_FIELD(options, dlc_context_options, profile) && options->profile;
      chosen.noGraph = DLC_HAS_FIELD(options, dlc_context_options, no_graph) && options->no_graph;
      chosen.noOverlap =
          DLC_HAS_FIELD(options, dlc_context_options, no_overlap) && options->no_overlap;
      if (DLC_HAS_FIELD(options, dlc_context_options, cublas)) {
        int cublas; // a C caller may have put any number there
        static_assert(sizeof(cublas) == sizeof(options->cublas));
        std::memcpy(&cublas, &options->cublas, sizeof(cublas));
        if (cublas < DLC_CUBLAS_AUTO || cublas > DLC_CUBLAS_ALWAYS)
          return usage(text("unknown use of cuBLASLt, ", cublas,
                            "; expected DLC_CUBLAS_AUTO, DLC_CUBLAS_NEVER or DLC_CUBLAS_ALWAYS"));
        chosen.cublas = options->cublas;
      }
      if (DLC_HAS_FIELD(options, dlc_context_options, timeout_ms))
        chosen.timeoutMs = options->timeout_ms;
      if (DLC_HAS_FIELD(options, dlc_context_options, stream))
        chosen.stream = options->stream;
      chosen.timeDevice =
          DLC_HAS_FIELD(options, dlc_context_options, time_device) && options->time_device;
      chosen.noJit = DLC_HAS_FIELD(options, dlc_context_options, no_jit) && options->no_jit;
      if (DLC_HAS_FIELD(options, dlc_context_options, cache_dir))
        chosen.cacheFolder = options->cache_dir;
      if (DLC_HAS_FIELD(options, dlc_context_options, progress_data) && options->progress)
        chosen.progress = [call = options->progress, data = options->progress_data](
                              size_t done, size_t total) { call(data, done, total); };
    }
    if (chosen.timeoutMs < 0)
      return usage(
          text("expected a timeout of 0 (none) or more milliseconds, got ", chosen.timeoutMs));
    if (chosen.threads < 0 || chosen.threads > 1024)
      return usage(text("expected 0 to 1024 threads, got ", chosen.threads));
    Expected<std::unique_ptr<Context>> context = Context::create(module->module, device, chosen);
    if (context.failed())
      return context.status();
    *out = new dlc_context{context.take()};
    return {};
  });
}

void dlc_context_free(dlc_context *context) { delete context; }

const char *dlc_context_device(const dlc_context *context) {
  return context ? context->context->deviceName().c_str() : "";
}

const char *dlc_context_remarks(const dlc_context *context) {
  return context ? context->context->remarks().c_str() : "";
}

/// dlc_tensor as the first version had it.
static constexpr size_t kSmallestTensor = offsetof(dlc_tensor, memory);

static Status readArrays(const dlc_tensor *tensors, size_t count, const char *kind,
                         std::vector<CallerArray> &out) {
  if (count > 0 && !tensors)
    return usage(text("the pointer to the ", kind, "s is null"));
  if (count > 0 &&
      (tensors->struct_size < kSmallestTensor || tensors->struct_size % alignof(dlc_tensor)))
    return usage(text("the struct_size of the first ", kind, " is not the size of dlc_tensor"));
  for (size_t i = 0; i < count; ++i) {
    // A later version's struct may be longer; all of one array have the same size.
    auto *tensor = reinterpret_cast<const dlc_tensor *>(reinterpret_cast<const char *>(tensors) +
                                                        i * tensors->struct_size);
    if (tensor->struct_size != tensors->struct_size)
      return usage(text(kind, " ", i, ": its struct_size differs from the first one's"));
    int dtype; // a C caller may have put any number there
    static_assert(sizeof(dtype) == sizeof(tensor->dtype));
    std::memcpy(&dtype, &tensor->dtype, sizeof(dtype));
    if (!isDType(dtype))
      return usage(text(kind, " ", i, ": unknown element type ", dtype));
    if (tensor->rank < 0 || tensor->rank > DLC_MAX_RANK)
      return usage(
          text(kind, " ", i, ": expected 0 to ", DLC_MAX_RANK, " dims, got ", tensor->rank));
    int memory = DLC_MEMORY_HOST;
    static_assert(sizeof(memory) == sizeof(tensor->memory));
    if (DLC_HAS_FIELD(tensor, dlc_tensor, memory))
      std::memcpy(&memory, &tensor->memory, sizeof(memory));
    if (memory != DLC_MEMORY_HOST && memory != DLC_MEMORY_DEVICE)
      return usage(text(kind, " ", i, ": unknown kind of memory ", memory,
                        "; expected DLC_MEMORY_HOST or DLC_MEMORY_DEVICE"));
    out.push_back({tensor->dtype, Dims(tensor->dims, tensor->dims + tensor->rank), tensor->data,
                   tensor->bytes, memory == DLC_MEMORY_DEVICE});
  }
  return {};
}

dlc_status dlc_context_bind(dlc_context *context, const dlc_tensor *inputs, size_t num_inputs) {
  return guarded([&]() -> Status {
    if (!context)
      return usage("the context is null");
    std::vector<CallerArray> in;
    DLC_TRY(readArrays(inputs, num_inputs, "input", in));
    return context->context->bind(in);
  });
}

dlc_status dlc_context_output_dims(const dlc_context *context, size_t index, int *rank,
                                   int64_t dims[DLC_MAX_RANK]) {
  return guarded([&]() -> Status {
    if (!context || !rank || !dims)
      return usage("a pointer is null");
    const Binding *binding = context->context->binding();
    if (!binding)
      return usage(
          "the context has no bound shapes: call dlc_context_bind or dlc_context_run first");
    size_t count = context->context->module().numOutputs();
    if (index >= count)
      return usage(text("there is no output ", index, "; the module has ", count));
    const Dims &found = context->context->outputDims(index);
    *rank = static_cast<int>(found.size());
    std::copy(found.begin(), found.end(), dims);
    return {};
  });
}

dlc_status dlc_context_run(dlc_context *context, const dlc_tensor *inputs, size_t num_inputs,
                           dlc_tensor *outputs, size_t num_outputs) {
  return guarded([&]() -> Status {
    if (!context)
      return usage("the context is null");
    std::vector<CallerArray> in, out;
    DLC_TRY(readArrays(inputs, num_inputs, "input", in));
    DLC_TRY(readArrays(outputs, num_outputs, "output", out));
    return context->context->run(in, out);
  });
}

dlc_status dlc_context_output_data(const dlc_context *context, size_t index, const void **data,
                                   size_t *bytes) {
  return guarded([&]() -> Status {
    if (!context || !data || !bytes)
      return usage("a pointer is null");
    size_t count = context->context->module().numOutputs();
    if (index >= count)
      return usage(text("there is no output ", index, "; the module has ", count));
    Expected<const KeptOutputs::Output *> found = context->context->keptOutput(index);
    if (found.failed())
      return found.status();
    *data = (*found)->data;
    *bytes = (*found)->bytes;
    return {};
  });
}

int64_t dlc_context_cache_length(const dlc_context *context) {
  return context ? context->context->cacheLength() : 0;
}

/// Whether a module has a state `index`.
static Status checkState(const dlc_context *context, size_t index) {
  const auto *states = context->context->module().table().states();
  size_t count = states ? states->size() : 0;
  return index < count ? Status()
                       : usage(text("there is no state ", index, "; the module has ", count));
}

dlc_status dlc_context_state_dims(const dlc_context *context, size_t index, int *rank,
                                  int64_t dims[DLC_MAX_RANK]) {
  return guarded([&]() -> Status {
    if (!context || !rank || !dims)
      return usage("a pointer is null");
    DLC_TRY(checkState(context, index));
    Expected<Dims> found = context->context->stateDims(index);
    if (found.failed())
      return found.status();
    *rank = static_cast<int>(found->size());
    std::copy(found->begin(), found->end(), dims);
    return {};
  });
}

dlc_status dlc_context_read_state(dlc_context *context, size_t index, void *data, size_t bytes) {
  return guarded([&]() -> Status {
    if (!context || (!data && bytes))
      return usage("a pointer is null");
    DLC_TRY(checkState(context, index));
    return context->context->readState(index, data, bytes);
  });
}

dlc_status dlc_context_write_state(dlc_context *context, size_t index, const int64_t *dims,
                                   int rank, const void *data, size_t bytes) {
  return guarded([&]() -> Status {
    if (!context || (!dims && rank) || (!data && bytes))
      return usage("a pointer is null");
    DLC_TRY(checkState(context, index));
    if (rank < 0 || rank > DLC_MAX_RANK)
      return usage(text("a state has a rank of 0 to ", DLC_MAX_RANK, ", got ", rank));
    return context->context->writeState(index, Dims(dims, dims + rank), data, bytes);
  });
}

dlc_status dlc_context_seed(dlc_context *context, int64_t seed) {
  return guarded([&]() -> Status {
    if (!context)
      return usage("the context is null");
    return context->context->seed(seed);
  });
}

dlc_status dlc_context_reset_states(dlc_context *context) {
  return guarded([&]() -> Status {
    if (!context)
      return usage("the context is null");
    context->context->resetStates();
    return {};
  });
}

dlc_status dlc_context_prepare(dlc_context *context, const dlc_tensor *inputs, size_t num_inputs) {
  return guarded([&]() -> Status {
    if (!context)
      return usage("the context is null");
    std::vector<CallerArray> in;
    DLC_TRY(readArrays(inputs, num_inputs, "input", in));
    return context->context->prepare(in);
  });
}

dlc_status dlc_context_enqueue(dlc_context *context, const dlc_tensor *inputs, size_t num_inputs,
                               dlc_tensor *outputs, size_t num_outputs,
                               const dlc_enqueue_options *options, dlc_run **run) {
  return guarded([&]() -> Status {
    if (run)
      *run = nullptr;
    if (!context)
      return usage("the context is null");
    if (options && options->struct_size == 0)
      return usage(kNoSize);
    void *stream =
        options && DLC_HAS_FIELD(options, dlc_enqueue_options, stream) ? options->stream : nullptr;
    std::vector<CallerArray> in, out;
    DLC_TRY(readArrays(inputs, num_inputs, "input", in));
    DLC_TRY(readArrays(outputs, num_outputs, "output", out));
    // Before the run is in line: afterwards nothing may fail.
    std::unique_ptr<dlc_run> handle(run ? new dlc_run : nullptr);
    Expected<std::shared_ptr<EnqueuedRun>> made =
        context->context->enqueue(std::move(in), std::move(out), stream, run != nullptr);
    if (made.failed())
      return made.status();
    if (run) {
      handle->run = made.take();
      *run = handle.release();
    }
    return {};
  });
}

dlc_status dlc_context_synchronize(dlc_context *context) {
  return guarded(
      [&] { return context ? context->context->synchronize() : usage("the context is null"); });
}

dlc_status dlc_run_wait(dlc_run *run, int milliseconds) {
  return guarded([&] {
    EnqueuedRun::Limit limit;
    if (milliseconds >= 0)
      limit = std::chrono::milliseconds(milliseconds);
    return run ? run->run->wait(limit) : usage("the run is null");
  });
}

dlc_status dlc_run_output_dims(dlc_run *run, size_t index, int *rank, int64_t dims[DLC_MAX_RANK]) {
  return guarded([&]() -> Status {
    if (!run || !rank || !dims)
      return usage("a pointer is null");
    DLC_TRY(run->run->wait(std::chrono::milliseconds(0)));
    const std::vector<Dims> &outputs = run->run->outputDims();
    if (index >= outputs.size())
      return usage(text("there is no output ", index, "; the module has ", outputs.size()));
    *rank = static_cast<int>(outputs[index].size());
    std::copy(outputs[index].begin(), outputs[index].end(), dims);
    return {};
  });
}

void dlc_run_free(dlc_run *run) { delete run; }

dlc_status dlc_context_profile(const dlc_context *context, const dlc_profile_entry **entries,
                               size_t *count) {
  return guarded([&]() -> Status {
    if (!context || !entries || !count)
      return usage("a pointer is null");
    if (!context->context->isProfiled())
      return usage("the context was created without the option 'profile'");
    const std::vector<dlc_profile_entry> &profile = context->context->executor().profile();
    *entries = profile.data();
    *count = profile.size();
    return {};
  });
}

dlc_status dlc_context_device_time(const dlc_context *context, double *microseconds) {
  return guarded([&]() -> Status {
    if (!context || !microseconds)
      return usage("a pointer is null");
    double time = context->context->executor().deviceMicroseconds();
    if (time < 0)
      return {DLC_UNSUPPORTED, "the device's time is measured on a GPU, from the first run of a "
                               "context with the option 'time_device' or 'profile' on"};
    *microseconds = time;
    return {};
  });
}

dlc_status dlc_context_memory(const dlc_context *context, dlc_memory_info *info) {
  return guarded([&]() -> Status {
    constexpr size_t kSmallest = offsetof(dlc_memory_info, state_bytes); // of the first version
    if (!context || !info || info->struct_size < kSmallest)
      return usage("a pointer is null, or struct_size is too small");
    size_t size = info->struct_size;
    dlc_memory_info filled = context->context->executor().memory();
    std::memcpy(info, &filled, std::min(size, sizeof(filled)));
    info->struct_size = size;
    return {};
  });
}
