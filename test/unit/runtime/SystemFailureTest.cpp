//===- SystemFailureTest.cpp - What is said where the system refuses a call -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/RefusedCall.h"
#include "test/unit/runtime/Runner.h"

#include <cstdio>
#include <fstream>
#include <sys/mman.h>

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;

namespace {

/// The last error of `body` where the system refuses a call.
std::string errorUnder(const Refusal &refusal, const std::function<void()> &body) {
  return resultUnder(refusal, [&] {
    body();
    return std::string(dlc_last_error());
  });
}

/// Loads and runs `package` on four rows of four floats, up to the first failure.
void run(const std::vector<uint8_t> &file, bool checked, size_t misalignment = 0) {
  dlc_module *module = nullptr;
  dlc_context *context = nullptr;
  if (dlc_module_load_memory(file.data(), file.size(), nullptr, &module) != DLC_OK)
    return;
  dlc_context_options chosen = options("cpu", 1);
  chosen.checked = checked;
  if (dlc_context_create(module, &chosen, &context) != DLC_OK)
    return;
  alignas(64) static char x[128], y[128];
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, x + misalignment, 64, DLC_MEMORY_HOST},
             out = in;
  out.data = y;
  dlc_context_run(context, &in, 1, &out, 1);
}

Refusal noMapping(uint32_t bytes) { return {SYS_mmap, 1, bytes, ENOMEM}; }

/// A copy of x[4,4] to y; beside it a persistent buffer of 3136 bytes, another one of 3072 that the
/// init program alone uses, and a launch with 1000 bytes of scratch.
PackageBuilder roomyPackage() {
  PackageBuilder package;
  Expr four = package.constant(4), rows = package.constant(49), one = package.constant(1);
  package.input("x", DType::f32, {four, four});
  package.output("y", DType::f32, {four, four});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {four, four});
  uint32_t y = package.buffer(Storage::output, DType::f32, {four, four});
  uint32_t p = package.buffer(Storage::persistent, DType::f32, {rows, package.constant(16)});
  uint32_t t =
      package.buffer(Storage::persistent, DType::f32, {package.constant(48), package.constant(16)});
  auto none = [](const CpuArgs *, int64_t, int64_t, void *) {};
  uint32_t kernel = package.kernel("none", none);
  package.launch(kernel, {PackageBuilder::buffer(t), PackageBuilder::buffer(p)}, {one}, {0}, true);
  package.launch(kernel, {PackageBuilder::buffer(p)}, {one}, package.constant(1000));
  package.copy(x, y);
  return package;
}

} // namespace

TEST(SystemFailure, AFileThatCannotBeRead) {
  std::string path = testing::TempDir() + "dlc-system-failure-" + std::to_string(getpid());
  std::vector<uint8_t> file = affinePackage().file();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char *>(file.data()), file.size());
  auto load = [&] {
    dlc_module *module = nullptr;
    dlc_module_load(path.c_str(), nullptr, &module);
  };
  EXPECT_EQ(errorUnder(noMapping(uint32_t(file.size())), load),
            "'" + path + "': cannot map the file: Cannot allocate memory");
#ifdef SYS_newfstatat // what fstat calls: path "", flag AT_EMPTY_PATH
  EXPECT_EQ(errorUnder({SYS_newfstatat, 3, AT_EMPTY_PATH, EIO}, load),
            "'" + path + "': cannot read the file's size: Input/output error");
#endif
  std::remove(path.c_str());
}

TEST(SystemFailure, NoExecutableMemory) {
  std::vector<uint8_t> file = affinePackage().file();
  EXPECT_EQ(errorUnder({SYS_mprotect, 2, PROT_READ | PROT_EXEC, EACCES}, [&] { run(file, false); }),
            "the system refuses executable memory for the kernels' code (Permission denied): a "
            "security policy may forbid it");
  EXPECT_EQ(errorUnder(noMapping(24), [&] { run(file, false); }),
            "cannot allocate 24 bytes for the kernels' code");
}

TEST(SystemFailure, EachMemoryIsNamed) {
  std::vector<uint8_t> affine = affinePackage().file(), roomy = roomyPackage().file();
  EXPECT_EQ(errorUnder(noMapping(64), [&] { run(affine, false); }),
            "not enough memory: the activations need 64 bytes");
  EXPECT_EQ(errorUnder(noMapping(3136), [&] { run(roomy, false); }),
            "not enough memory: the prepared weights need 3.1 KiB");
  EXPECT_EQ(errorUnder(noMapping(3072), [&] { run(roomy, false); }),
            "not enough memory: the weights while they are prepared need 3.0 KiB");
  EXPECT_EQ(errorUnder(noMapping(1024), [&] { run(roomy, false); }),
            "not enough memory: the kernels' scratch buffers need 1.0 KiB");
  // An input that is not aligned is copied.
  EXPECT_EQ(errorUnder(noMapping(64), [&] { run(roomy, false, 4); }),
            "not enough memory: the staging copies of inputs and outputs need 64 bytes");
}

TEST(SystemFailure, GuardedBuffers) {
  auto page = static_cast<uint32_t>(sysconf(_SC_PAGESIZE));
  std::vector<uint8_t> affine = affinePackage().file();
  EXPECT_EQ(errorUnder(noMapping(3 * page), [&] { run(affine, true); }),
            "checked mode cannot allocate a guarded buffer of 16 bytes: Cannot allocate memory");
}
