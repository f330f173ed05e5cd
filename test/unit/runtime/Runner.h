//===- Runner.h - Loads and runs packages through the C API ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_RUNTIME_RUNNER_H
#define DLC_TEST_UNIT_RUNTIME_RUNNER_H

#include "dlc/runtime.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace dlc::test {

struct FreeModule {
  void operator()(dlc_module *module) const { dlc_module_free(module); }
};
struct FreeContext {
  void operator()(dlc_context *context) const { dlc_context_free(context); }
};
struct FreeRun {
  void operator()(dlc_run *run) const { dlc_run_free(run); }
};
using ModulePtr = std::unique_ptr<dlc_module, FreeModule>;
using ContextPtr = std::unique_ptr<dlc_context, FreeContext>;
using RunPtr = std::unique_ptr<dlc_run, FreeRun>;

inline ModulePtr load(const std::vector<uint8_t> &file, dlc_status expected = DLC_OK) {
  dlc_module *module = nullptr;
  EXPECT_EQ(dlc_module_load_memory(file.data(), file.size(), nullptr, &module), expected)
      << dlc_last_error();
  EXPECT_EQ(module != nullptr, expected == DLC_OK);
  return ModulePtr(module);
}

inline dlc_context_options options(const char *device = "cpu", int threads = 2) {
  dlc_context_options chosen = {};
  chosen.struct_size = sizeof(chosen);
  chosen.device = device;
  chosen.threads = threads;
  return chosen;
}

inline ContextPtr open(dlc_module *module, dlc_context_options options,
                       dlc_status expected = DLC_OK) {
  dlc_context *context = nullptr;
  EXPECT_EQ(dlc_context_create(module, &options, &context), expected) << dlc_last_error();
  return ContextPtr(context);
}

/// A tensor over `values`, which must outlive it.
template <class T>
dlc_tensor tensor(dlc_dtype dtype, const std::vector<int64_t> &dims, std::vector<T> &values) {
  dlc_tensor out = {};
  out.struct_size = sizeof(out);
  out.dtype = dtype;
  out.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), out.dims);
  out.data = values.data();
  out.bytes = values.size() * sizeof(T);
  return out;
}

/// Enqueues a run of one input and one output; the handle, null where the call fails.
inline RunPtr enqueue(dlc_context *context, dlc_tensor in, dlc_tensor out,
                      dlc_status expected = DLC_OK, void *stream = nullptr) {
  dlc_enqueue_options options = {sizeof(dlc_enqueue_options), stream};
  auto *run = reinterpret_cast<dlc_run *>(1); // not null: the call sets it either way
  EXPECT_EQ(dlc_context_enqueue(context, &in, 1, &out, 1, &options, &run), expected)
      << dlc_last_error();
  EXPECT_EQ(run != nullptr, expected == DLC_OK);
  return RunPtr(run);
}

/// Whether the last error says `piece`.
inline ::testing::AssertionResult lastErrorHas(const std::string &piece) {
  std::string error = dlc_last_error();
  if (error.find(piece) != std::string::npos)
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the last error is: " << error;
}

} // namespace dlc::test

#endif // DLC_TEST_UNIT_RUNTIME_RUNNER_H
