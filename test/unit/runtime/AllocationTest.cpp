//===- AllocationTest.cpp - Each allocation failing in turn -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cstdlib>
#include <new>

// The operators of this whole test program: on the thread that asks for it, the Nth allocation from
// now fails.
static thread_local int allocationsLeft = -1;

static void *allocate(size_t bytes) {
  if (allocationsLeft >= 0 && allocationsLeft-- == 0)
    throw std::bad_alloc();
  if (void *memory = std::malloc(bytes ? bytes : 1))
    return memory;
  throw std::bad_alloc();
}
void *operator new(size_t bytes) { return allocate(bytes); }
void *operator new[](size_t bytes) { return allocate(bytes); }
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }
void operator delete[](void *memory, size_t) noexcept { std::free(memory); }

using namespace dlc::test;

TEST(Allocation, EachMayFail) {
  const std::vector<uint8_t> file = affinePackage().file();
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  dlc_tensor in = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, y);
  // A pool of its own size, so that its creation is part of the test.
  dlc_context_options chosen = options("cpu", 5);
  int failures = 0;
  for (int nth = 0;; ++nth) {
    dlc_module *module = nullptr;
    dlc_context *context = nullptr;
    allocationsLeft = nth;
    dlc_status status = dlc_module_load_memory(file.data(), file.size(), nullptr, &module);
    if (status == DLC_OK)
      status = dlc_context_create(module, &chosen, &context);
    if (status == DLC_OK)
      status = dlc_context_run(context, &in, 1, &out, 1);
    bool reached = allocationsLeft < 0;
    allocationsLeft = -1;
    if (!reached) {
      EXPECT_EQ(status, DLC_OK);
      dlc_context_free(context);
      dlc_module_free(module);
      break;
    }
    if (status != DLC_OK) {
      ++failures;
      ASSERT_EQ(status, DLC_DEVICE) << nth;
      ASSERT_STREQ(dlc_last_error(), "out of memory");
    }
    // What was made before goes on.
    if (!module)
      ASSERT_EQ(dlc_module_load_memory(file.data(), file.size(), nullptr, &module), DLC_OK);
    if (!context)
      ASSERT_EQ(dlc_context_create(module, &chosen, &context), DLC_OK);
    ASSERT_EQ(dlc_context_run(context, &in, 1, &out, 1), DLC_OK) << dlc_last_error();
    ASSERT_EQ(y, std::vector<float>({3, 6, 9, 12}));
    dlc_context_free(context);
    dlc_module_free(module);
  }
  EXPECT_GT(failures, 20);
}

TEST(Allocation, EachOfAnEnqueueMayFail) {
  ModulePtr module = load(affinePackage().file());
  std::vector<float> x = {1, 2, 3, 4}, y(4), z(4);
  dlc_tensor in = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, y);
  int failures = 0;
  for (bool areAllReached = false; !areAllReached;) {
    areAllReached = true;
    ContextPtr context = open(module.get(), options("cpu"));
    // The first one, which starts the thread, and one after it.
    for (int run = 0; run < 2; ++run) {
      dlc_run *made = nullptr;
      allocationsLeft = failures;
      dlc_status status = dlc_context_enqueue(context.get(), &in, 1, &out, 1, nullptr, &made);
      bool isReached = allocationsLeft >= 0;
      areAllReached &= isReached;
      allocationsLeft = -1;
      ASSERT_EQ(status, isReached ? DLC_OK : DLC_DEVICE) << failures;
      ASSERT_EQ(made != nullptr, status == DLC_OK);
      if (!made)
        ASSERT_STREQ(dlc_last_error(), "out of memory");
      dlc_run_free(made);
      // What came to nothing is not in line, and the next one is.
      dlc_tensor next = tensor(DLC_F32, {1, 4}, z);
      ASSERT_EQ(dlc_context_enqueue(context.get(), &in, 1, &next, 1, nullptr, nullptr), DLC_OK);
      ASSERT_EQ(dlc_context_synchronize(context.get()), DLC_OK) << dlc_last_error();
      ASSERT_EQ(z, std::vector<float>({3, 6, 9, 12}));
      ASSERT_EQ(y, isReached ? z : std::vector<float>(4));
      y.assign(4, 0);
    }
    ++failures;
  }
  EXPECT_GT(failures, 10); // of which the last did not happen
}
