//===- dlc.hpp - The C API of the dlc runtime for C++17 ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   dlc::Model model("digits.bin");
//   dlc::Context context(model);
//   std::vector<float> image(64), probs(10);
//   context.run({dlc::Tensor({1, 1, 8, 8}, image)}, {dlc::Tensor({1, 10}, probs)});
//
// Header only: link libdlc_runtime and nothing else. Objects own their handles and are movable;
// failures throw dlc::Error. dlc/runtime.h documents each call.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_HPP
#define DLC_HPP

#include "dlc/runtime.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dlc {

/// A failed call: what() describes the error, and status tells its kind.
class Error : public std::runtime_error {
public:
  Error(dlc_status status, const std::string &sentence)
      : std::runtime_error(sentence), code(status) {}
  dlc_status status() const noexcept { return code; }

private:
  dlc_status code;
};

/// Throws if `status`, the result of a call of the C API, is a failure.
inline void check(dlc_status status) {
  if (status != DLC_OK)
    throw Error(status, dlc_last_error());
}

using Shape = std::vector<int64_t>;

/// A contiguous sequence of elements owned by someone else, as std::span is in C++20.
template <class T> class Span {
public:
  constexpr Span(T *data, size_t size) noexcept : first(data), count(size) {}
  /// From any container with data() and size(): std::vector, std::array, std::span.
  template <class List, class = std::enable_if_t<
                            std::is_convertible_v<decltype(std::declval<List &>().data()), T *>>>
  constexpr Span(List &list) noexcept : Span(list.data(), list.size()) {}
  template <size_t size> constexpr Span(T (&array)[size]) noexcept : Span(array, size) {}

  constexpr T *data() const noexcept { return first; }
  constexpr size_t size() const noexcept { return count; }
  constexpr T *begin() const noexcept { return first; }
  constexpr T *end() const noexcept { return first + count; }
  constexpr T &operator[](size_t i) const noexcept { return first[i]; }

private:
  T *first;
  size_t count;
};

namespace detail {
template <class T> struct DType;
template <> struct DType<double> {
  static constexpr dlc_dtype value = DLC_F64;
};
template <> struct DType<float> {
  static constexpr dlc_dtype value = DLC_F32;
};
template <> struct DType<int64_t> {
  static constexpr dlc_dtype value = DLC_I64;
};
template <> struct DType<int32_t> {
  static constexpr dlc_dtype value = DLC_I32;
};
template <> struct DType<int16_t> {
  static constexpr dlc_dtype value = DLC_I16;
};
template <> struct DType<int8_t> {
  static constexpr dlc_dtype value = DLC_I8;
};
template <> struct DType<uint64_t> {
  static constexpr dlc_dtype value = DLC_U64;
};
template <> struct DType<uint32_t> {
  static constexpr dlc_dtype value = DLC_U32;
};
template <> struct DType<uint16_t> {
  static constexpr dlc_dtype value = DLC_U16;
};
template <> struct DType<uint8_t> {
  static constexpr dlc_dtype value = DLC_U8;
};
template <> struct DType<bool> {
  static constexpr dlc_dtype value = DLC_BOOL;
};
} // namespace detail

/// The dtype of a C++ type. Pass dtypes that C++ has no type for (f16, bf16, f8...) explicitly.
template <class T>
inline constexpr dlc_dtype dtypeOf = detail::DType<std::remove_const_t<T>>::value;

/// A dense row-major array owned by the caller; nothing is copied. Inputs are only read.
class Tensor : public dlc_tensor {
public:
  Tensor(const Shape &shape, dlc_dtype type, const void *elements, size_t size,
         dlc_memory_kind kind = DLC_MEMORY_HOST)
      : dlc_tensor{} {
    if (shape.size() > DLC_MAX_RANK)
      throw Error(DLC_USAGE, "a tensor has at most " + std::to_string(DLC_MAX_RANK) +
                                 " dims, and this one has " + std::to_string(shape.size()));
    struct_size = sizeof(dlc_tensor);
    dtype = type;
    rank = static_cast<int>(shape.size());
    for (size_t i = 0; i < shape.size(); ++i)
      dims[i] = shape[i];
    data = const_cast<void *>(elements);
    bytes = size;
    memory = kind;
  }
  template <class T>
  Tensor(const Shape &shape, Span<T> elements, dlc_memory_kind kind = DLC_MEMORY_HOST)
      : Tensor(shape, dtypeOf<T>, elements.data(), elements.size() * sizeof(T), kind) {}
  /// From any container with data() and size().
  template <class List, class T = std::remove_pointer_t<decltype(std::declval<List &>().data())>>
  Tensor(const Shape &shape, List &elements) : Tensor(shape, Span<T>(elements)) {}
  /// Only a shape, for Context::bind and Context::prepare, which read no data. As an output: the
  /// context keeps the data.
  Tensor(const Shape &shape, dlc_dtype type) : Tensor(shape, type, nullptr, 0) {}
};
static_assert(sizeof(Tensor) == sizeof(dlc_tensor), "arrays of them go to the C API as they are");

/// An input, output or state of a model.
struct ValueInfo {
  std::string name;
  dlc_dtype dtype = DLC_F32;
  Shape dims;                        ///< -1 if the dim is symbolic
  Shape minDims, maxDims;            ///< range of a symbolic dim
  std::vector<std::string> dimNames; ///< "N", "2*N"; empty if the dim is static
};

/// A loaded model.bin. Threads may share it, each with its own Context. A Context keeps it alive.
class Model {
public:
  explicit Model(const std::string &path, bool verifyAll = false) {
    dlc_load_options options = optionsOf(verifyAll);
    dlc_module *made = nullptr;
    check(dlc_module_load(path.c_str(), &options, &made));
    handle.reset(made);
  }
  /// Loads from memory; copies the bytes.
  explicit Model(Span<const uint8_t> bytes, bool verifyAll = false) {
    dlc_load_options options = optionsOf(verifyAll);
    dlc_module *made = nullptr;
    check(dlc_module_load_memory(bytes.data(), bytes.size(), &options, &made));
    handle.reset(made);
  }

  std::vector<ValueInfo> inputs() const {
    return describe(dlc_module_num_inputs(get()), dlc_module_input);
  }
  std::vector<ValueInfo> outputs() const {
    return describe(dlc_module_num_outputs(get()), dlc_module_output);
  }
  std::vector<ValueInfo> states() const {
    return describe(dlc_module_num_states(get()), dlc_module_state);
  }
  /// Capacity of the caches in positions; 0 if the model has none.
  int64_t cacheCapacity() const { return dlc_module_cache_capacity(get()); }
  dlc_dtype precision() const { return dlc_module_precision(get()); }

  dlc_module *get() const noexcept { return handle.get(); }

private:
  struct Free {
    void operator()(dlc_module *module) const noexcept { dlc_module_free(module); }
  };
  static dlc_load_options optionsOf(bool verifyAll) {
    dlc_load_options options{};
    options.struct_size = sizeof(options);
    options.verify_all = verifyAll;
    return options;
  }
  std::vector<ValueInfo> describe(size_t count, dlc_status (*ask)(const dlc_module *, size_t,
                                                                  dlc_value_info *)) const {
    std::vector<ValueInfo> out;
    for (size_t i = 0; i < count; ++i) {
      dlc_value_info info{};
      info.struct_size = sizeof(info);
      check(ask(get(), i, &info));
      ValueInfo value{info.name,
                      info.dtype,
                      Shape(info.dims, info.dims + info.rank),
                      Shape(info.min_dims, info.min_dims + info.rank),
                      Shape(info.max_dims, info.max_dims + info.rank),
                      {}};
      for (int dim = 0; dim < info.rank; ++dim)
        value.dimNames.emplace_back(info.dim_names[dim] ? info.dim_names[dim] : "");
      out.push_back(std::move(value));
    }
    return out;
  }

  std::unique_ptr<dlc_module, Free> handle;
};

/// dlc_context_options with struct_size set.
struct ContextOptions : dlc_context_options {
  ContextOptions() : dlc_context_options{} { struct_size = sizeof(dlc_context_options); }
  explicit ContextOptions(const char *deviceName) : ContextOptions() { device = deviceName; }
};

/// A queued run. It owns the arrays until it has ended. Destroying this object does not wait.
class Run {
public:
  explicit Run(dlc_run *run) noexcept : handle(run) {}

  /// Waits for the run; throws if it failed.
  void wait() { check(dlc_run_wait(get(), -1)); }
  /// Waits for at most this time; returns whether the run has ended.
  bool waitFor(std::chrono::milliseconds limit) {
    dlc_status status = dlc_run_wait(get(), static_cast<int>(limit.count()));
    if (status == DLC_PENDING)
      return false;
    check(status);
    return true;
  }
  bool hasEnded() { return waitFor(std::chrono::milliseconds(0)); }
  /// Dims of an output, after the run has ended.
  Shape outputShape(size_t index) {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    check(dlc_run_output_dims(get(), index, &rank, dims));
    return Shape(dims, dims + rank);
  }

  dlc_run *get() const noexcept { return handle.get(); }

private:
  struct Free {
    void operator()(dlc_run *run) const noexcept { dlc_run_free(run); }
  };
  std::unique_ptr<dlc_run, Free> handle;
};

/// A model on a device, to be used by one thread at a time.
class Context {
public:
  /// Uses the device "auto": a GPU if one is usable, else the CPU.
  explicit Context(const Model &model, const ContextOptions &options = ContextOptions()) {
    dlc_context *made = nullptr;
    check(dlc_context_create(model.get(), &options, &made));
    handle.reset(made);
  }
  Context(const Model &model, const char *device) : Context(model, ContextOptions(device)) {}

  void bind(const std::vector<Tensor> &inputs) {
    check(dlc_context_bind(get(), inputs.data(), inputs.size()));
  }
  /// After a bind, dims that only a run can tell are -1.
  Shape outputShape(size_t index) const {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    check(dlc_context_output_dims(get(), index, &rank, dims));
    return Shape(dims, dims + rank);
  }
  void run(const std::vector<Tensor> &inputs, std::vector<Tensor> outputs) {
    check(dlc_context_run(get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()));
  }
  /// An output that the last run left to the context, because `run` got a Tensor of its dtype with
  /// a null pointer and 0 bytes, `Tensor({}, dtype)`. Valid until the next bind or run.
  Span<const uint8_t> outputData(size_t index) const {
    const void *data = nullptr;
    size_t bytes = 0;
    check(dlc_context_output_data(get(), index, &data, &bytes));
    return Span<const uint8_t>(static_cast<const uint8_t *>(data), bytes);
  }
  /// Dims of the contents of a state.
  Shape stateShape(size_t index) const {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    check(dlc_context_state_dims(get(), index, &rank, dims));
    return Shape(dims, dims + rank);
  }
  /// Copies the contents of a state to host memory, dense and row-major.
  void readState(size_t index, void *data, size_t bytes) {
    check(dlc_context_read_state(get(), index, data, bytes));
  }
  /// Sets the contents of a state for the next run from dense row-major host memory.
  void writeState(size_t index, const std::vector<int64_t> &dims, const void *data, size_t bytes) {
    check(dlc_context_write_state(get(), index, dims.data(), static_cast<int>(dims.size()), data,
                                  bytes));
  }
  /// Seeds the random numbers of the next run.
  void seed(int64_t seed) { check(dlc_context_seed(get(), seed)); }
  void resetStates() { check(dlc_context_reset_states(get())); }
  /// Positions in use in the caches since the last reset.
  int64_t cacheLength() const { return dlc_context_cache_length(get()); }

  void prepare(const std::vector<Tensor> &inputs) {
    check(dlc_context_prepare(get(), inputs.data(), inputs.size()));
  }
  /// `stream` is a CUstream (cudaStream_t); null for the context's own.
  [[nodiscard]] Run enqueue(const std::vector<Tensor> &inputs, std::vector<Tensor> outputs,
                            void *stream = nullptr) {
    dlc_enqueue_options options{};
    options.struct_size = sizeof(options);
    options.stream = stream;
    dlc_run *made = nullptr;
    check(dlc_context_enqueue(get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(),
                              &options, &made));
    return Run(made);
  }
  void synchronize() { check(dlc_context_synchronize(get())); }

  std::string device() const { return dlc_context_device(get()); }
  std::string remarks() const { return dlc_context_remarks(get()); }
  dlc_memory_info memory() const {
    dlc_memory_info info{};
    info.struct_size = sizeof(info);
    check(dlc_context_memory(get(), &info));
    return info;
  }

  dlc_context *get() const noexcept { return handle.get(); }

private:
  struct Free {
    void operator()(dlc_context *context) const noexcept { dlc_context_free(context); }
  };
  std::unique_ptr<dlc_context, Free> handle;
};

} // namespace dlc

#endif // DLC_HPP
