//===- SystemFailureTest.cpp - What is said where the system refuses a call -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that runs out, a file that cannot be mapped, a policy against executable memory: a child process forbids
// itself one system call (seccomp) and reports the runtime's sentence.
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;

namespace {

/// Calls of the number `call` with `value` as their argument `argument` fail with `error`.
struct Refusal {
  long call;
  int argument;
  uint32_t value;
  int error;
};

bool install(const Refusal &refusal) {
  auto offset = static_cast<uint32_t>(offsetof(seccomp_data, args) + 8 * refusal.argument);
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(refusal.call), 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset), // the low half: little-endian machines only
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal.value, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(refusal.error)),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  sock_fprog program = {static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

/// The last error of `body` in a process where the system refuses a call.
std::string errorUnder(const Refusal &refusal, const std::function<void()> &body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    bool installed = install(refusal);
    if (installed)
      body();
    std::string message = installed ? dlc_last_error() : "the system has no seccomp filters";
    bool written = write(ends[1], message.data(), message.size()) == ssize_t(message.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string message;
  char piece[256];
  for (ssize_t count; (count = read(ends[0], piece, sizeof(piece))) > 0;)
    message.append(piece, static_cast<size_t>(count));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "the child died";
  return message;
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
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, x + misalignment, 64}, out = in;
  out.data = y;
  dlc_context_run(context, &in, 1, &out, 1);
}

Refusal noMapping(uint32_t bytes) { return {SYS_mmap, 1, bytes, ENOMEM}; }

/// A copy of x[4,4] to y; beside it a persistent buffer of 3136 bytes and a launch with 1000 bytes of scratch.
PackageBuilder roomyPackage() {
  PackageBuilder package;
  Expr four = package.constant(4), rows = package.constant(49), one = package.constant(1);
  package.input("x", DType::f32, {four, four});
  package.output("y", DType::f32, {four, four});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {four, four});
  uint32_t y = package.buffer(Storage::output, DType::f32, {four, four});
  uint32_t p = package.buffer(Storage::persistent, DType::f32, {rows, package.constant(16)});
  auto none = [](const CpuArgs *, int64_t, int64_t, void *) {};
  uint32_t kernel = package.kernel("none", none);
  package.launch(kernel, {PackageBuilder::buffer(p)}, {one}, {0}, true);
  package.launch(kernel, {}, {one}, package.constant(1000));
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
