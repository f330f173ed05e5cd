//===- GpuFaultTest.cpp - Faults of GPU, compiler and cache that need a scene of their own ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// test/emulator/FAULTS.md lists all of them, and where each is tested.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/kernels/KernelCache.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/Instead.h"
#include "test/unit/runtime/RefusedCall.h"

#include <cerrno>
#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace fs = std::filesystem;
using namespace dlc::test;
using namespace dlc::cuda;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(GpuFault, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

class GpuFault : public Cuda {
protected:
  static const Driver *driver() { return *Driver::open(); }

  /// Creates a context and runs twice; the status and message of the first failure.
  static std::pair<dlc_status, std::string> use(const PackageBuilder &package = cudaPackage()) {
    ModulePtr module = load(package.file());
    dlc_context_options chosen = options("cuda");
    dlc_context *context = nullptr;
    dlc_status status = dlc_context_create(module.get(), &chosen, &context);
    for (int i = 0; status == DLC_OK && i < 2; ++i)
      status = runScale(context, 3);
    std::string message = status == DLC_OK ? "" : dlc_last_error();
    dlc_context_free(context);
    return {status, message};
  }
  static void expectWell() { EXPECT_EQ(use(), std::pair(DLC_OK, std::string())); }
};

using Outcome = std::pair<dlc_status, std::string>;

} // namespace

//===- The compiler ---------------------------------------------------------------------------===//

TEST_F(GpuFault, TheFileBesideNvrtcIsMissing) {
  const Nvrtc *nvrtc = *Nvrtc::open(0);
  const std::string message =
      "CUDA is not usable: NVRTC 13.0 (" + nvrtc->path +
      ") does not find libnvrtc-builtins, which belongs beside it: install the whole of CUDA or of "
      "the wheel nvidia-cuda-nvrtc";
  {
    Instead fault(
        nvrtc, &Nvrtc::compileProgram, +[](NvrtcProgram, int, const char *const *) {
          return NvrtcResult::BuiltinOperationFailure;
        });
    Outcome outcome = use();
    EXPECT_EQ(outcome.first, DLC_UNSUPPORTED);
    EXPECT_EQ(outcome.second.find(message), 0u) << outcome.second;
  }
  { // Some versions say it in the log alone.
    Instead fault(
        nvrtc, &Nvrtc::compileProgram,
        +[](NvrtcProgram, int, const char *const *) { return NvrtcResult::Compilation; });
    static const char kLog[] = "nvrtc: error: failed to open libnvrtc-builtins.so.13.0.";
    Instead size(
        nvrtc, &Nvrtc::getProgramLogSize, +[](NvrtcProgram, size_t *bytes) {
          *bytes = sizeof(kLog);
          return NvrtcResult::Success;
        });
    Instead log(
        nvrtc, &Nvrtc::getProgramLog, +[](NvrtcProgram, char *text) {
          std::copy(std::begin(kLog), std::end(kLog), text);
          return NvrtcResult::Success;
        });
    EXPECT_EQ(use(), Outcome(DLC_UNSUPPORTED, message + "\n" + kLog));
  }
  expectWell();
}

TEST_F(GpuFault, TextThatDoesNotCompileSaysHowToGoOn) {
  Outcome outcome = use(cudaPackage("extern \"C\" __global__ void scale() { undeclared = 1; }"));
  EXPECT_EQ(outcome.first, DLC_INTERNAL);
  EXPECT_TRUE(outcome.second.ends_with(
      "\n'dlc inspect MODEL --source KERNEL' prints the text; '--device cpu' runs a model that has "
      "a program for the CPU"))
      << outcome.second;
  expectWell();
}

//===- The device -----------------------------------------------------------------------------===//

TEST_F(GpuFault, AnotherProcessHasTheDeviceForItself) {
  {
    Instead fault(
        driver(), &Driver::devicePrimaryCtxRetain,
        +[](dlc::cuda::Context *, Device) { return Result::DeviceUnavailable; });
    EXPECT_EQ(use(), Outcome(DLC_DEVICE, "CUDA device 0 (dlc CUDA emulator (sm_90a)): cannot make "
                                         "a context: CUDA error 46"));
  }
  expectWell();
}

TEST_F(GpuFault, MemoryThatAnotherProcessTookIsThereAgain) {
  // The first allocation that a second shape needs fails; the context goes on with the shapes that
  // fit, and with all of them once there is memory.
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  expectRight(context.get(), 2);
  {
    Instead fault(
        driver(), &Driver::memAlloc, +[](DevicePtr *, size_t) { return Result::OutOfMemory; });
    EXPECT_EQ(runScale(context.get(), 60), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("not enough GPU memory: the activations need "));
  }
  expectRight(context.get(), 60);
  expectRight(context.get(), 2);
}

/// y = x * (i mod 4 + 2), and more where the counters are not zero: a kernel that leaves them so
/// shows what it finds.
static PackageBuilder exchangePackage() {
  using namespace dlc::schema;
  using B = PackageBuilder;
  PackageBuilder package;
  Expr n = package.symbol("N", 0, 64), four = package.constant(4);
  package.input("x", DType::f32, {n, four});
  package.output("y", DType::f32, {n, four});
  package.program(Target::cuda);
  Expr count = package.product({n, four});
  uint32_t x = package.buffer(Storage::input, DType::f32, {n, four});
  uint32_t words = package.buffer(Storage::exchange, DType::f32,
                                  {package.apply(ExprOp::add, count, package.constant(1024))});
  uint32_t y = package.buffer(Storage::output, DType::f32, {n, four});
  uint32_t kernel = package.cudaKernel("count", R"(
extern "C" __global__ void count(const float *x, float *words, float *y, long long n) {
  for (int i = threadIdx.x; i < n; i += 1)
    y[i] = x[i] * (i % 4 + 2) + words[0] + words[1023];
  words[0] = words[1023] = 1.0f;
}
)",
                                       1);
  package.launch(kernel, {B::buffer(x), B::buffer(words), B::buffer(y), B::dim(count)},
                 {package.constant(1)}, package.constant(0));
  return package;
}

TEST_F(GpuFault, StatesThatCannotBeCleared) {
  ModulePtr module = load(delayPackage(dlc::schema::Target::cuda).file());
  ContextPtr context = open(module.get(), options("cuda"));
  std::vector<float> x(8, 1), y(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  {
    Instead fault(
        driver(), &Driver::memsetD8Async,
        +[](DevicePtr, unsigned char, size_t, dlc::cuda::Stream) { return Result::OutOfMemory; });
    EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("CUDA device 0: cannot clear the states: "));
  }
  EXPECT_EQ(dlc_context_reset_states(context.get()), DLC_OK);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK);
  EXPECT_EQ(y[0], 0);
}

TEST_F(GpuFault, CountersOfBlocksAreZeroAtFirstAndAfterAFailure) {
  ModulePtr module = load(exchangePackage().file());
  ContextPtr context = open(module.get(), options("cuda")),
             other = open(module.get(), options("cuda"));
  expectRight(context.get(), 3);
  // A launch leaves them zero; this one does not, and nobody clears them for it, in a replayed
  // graph neither.
  for (int i = 0; i < 3; ++i) {
    std::vector<float> y;
    EXPECT_EQ(runScale(context.get(), 3, &y), DLC_OK);
    EXPECT_EQ(y[1], 1.0f * 3 + 2);
  }
  expectRight(other.get(), 3); // which has its own
  {
    Instead fault(
        driver(), &Driver::streamSynchronize,
        +[](dlc::cuda::Stream) { return Result::OutOfMemory; });
    EXPECT_EQ(runScale(context.get(), 3), DLC_DEVICE);
  }
  expectRight(context.get(), 3);
  expectRight(context.get(), 60); // in new memory
  {
    Instead fault(
        driver(), &Driver::memsetD8Async,
        +[](DevicePtr, unsigned char, size_t, dlc::cuda::Stream) { return Result::OutOfMemory; });
    ContextPtr third = open(module.get(), options("cuda"));
    EXPECT_EQ(runScale(third.get(), 3), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("CUDA device 0: cannot clear what blocks exchange: "));
  }
  {
    static decltype(Driver::memAlloc) allocate;
    static int calls;
    calls = 0;
    allocate = driver()->memAlloc;
    // The first is of the input and the output.
    Instead fault(
        driver(), &Driver::memAlloc, +[](DevicePtr *pointer, size_t bytes) {
          return calls++ == 1 ? Result::OutOfMemory : allocate(pointer, bytes);
        });
    ContextPtr third = open(module.get(), options("cuda"));
    EXPECT_EQ(runScale(third.get(), 3), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("not enough GPU memory: what blocks exchange need "));
    expectRight(third.get(), 3);
  }
}

TEST_F(GpuFault, EachStickyErrorIsKept) {
  for (Result result :
       {Result::EccUncorrectable, Result::Contained, Result::IllegalAddress, Result::LaunchTimeout,
        Result::ContextIsDestroyed, Result::Assert, Result::HardwareStackError,
        Result::IllegalInstruction, Result::MisalignedAddress, Result::InvalidAddressSpace,
        Result::InvalidPc, Result::LaunchFailed}) {
    static Result planted;
    planted = result;
    ModulePtr module = load(cudaPackage().file());
    ContextPtr context = open(module.get(), options("cuda"));
    expectRight(context.get(), 3);
    std::string first;
    {
      Instead fault(driver(), &Driver::streamSynchronize, +[](Stream) { return planted; });
      EXPECT_EQ(runScale(context.get(), 3), DLC_DEVICE);
      first = dlc_last_error();
      EXPECT_TRUE(first.starts_with("CUDA device 0: cannot finish the run: ")) << first;
      EXPECT_TRUE(first.ends_with("The GPU context of this process is lost: end the process and "
                                  "start anew"))
          << first;
    }
    // Every later call has the first error, on this context and on new ones.
    EXPECT_EQ(runScale(context.get(), 3), DLC_DEVICE);
    EXPECT_EQ(dlc_last_error(), first);
    EXPECT_EQ(use(), Outcome(DLC_DEVICE, first));
    context.reset();
    module.reset();
    // With the last context the device goes, and the next one is a new one.
    expectWell();
  }
}

/// What `body` says in a process of its own: what it leaves on the device goes with it.
static std::string inChild(const std::function<std::string()> &body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  pid_t child = fork();
  if (child == 0) {
    std::string text = body();
    _exit(write(ends[1], text.data(), text.size()) == ssize_t(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char piece[256];
  for (ssize_t count; (count = read(ends[0], piece, sizeof(piece))) > 0;)
    text.append(piece, size_t(count));
  close(ends[0]);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

/// Runs `runs` times with a timeout, the last time on a GPU that does not end; what is said, and
/// how many calls that could wait for it were made from then on.
static std::string hangInRun(int runs) {
  static int waits;
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.timeout_ms = 300; // the runs before, which end, need far less on a busy machine, too
  ContextPtr context = open(module.get(), chosen);
  for (int i = 1; i < runs; ++i)
    if (runScale(context.get(), 3) != DLC_OK)
      return std::string("too early: ") + dlc_last_error();
  auto *driver = const_cast<Driver *>(*Driver::open());
  driver->eventQuery = [](Event) { return Result::NotReady; };
  driver->streamSynchronize = [](Stream) { return ++waits, Result::Success; };
  driver->memFree = [](DevicePtr) { return ++waits, Result::Success; };
  driver->moduleUnload = [](dlc::cuda::Module) { return ++waits, Result::Success; };
  driver->graphExecDestroy = [](GraphExec) { return ++waits, Result::Success; };
  driver->devicePrimaryCtxRelease = [](Device) { return ++waits, Result::Success; };
  std::string said = runScale(context.get(), 3) == DLC_DEVICE ? dlc_last_error() : "no failure";
  if (runScale(context.get(), 4) != DLC_DEVICE || dlc_last_error() != said)
    said += "; and then something else";
  context.reset();
  module.reset();
  return said + (waits ? "; and it waited" : "");
}

TEST_F(GpuFault, ARunThatDoesNotEnd) {
  const std::string lost =
      ". The GPU context of this process is lost: end the process and start anew";
  EXPECT_EQ(inChild([] { return hangInRun(1); }),
            "CUDA device 0: after 300 ms kernel 'scale' (model.dl:3:7) still runs" + lost);
  EXPECT_EQ(
      inChild([] { return hangInRun(3); }),
      "CUDA device 0: after 300 ms the graph of 2 commands still runs; '--no-graph' (no_graph) "
      "tells which of them" +
          lost);
  EXPECT_EQ(inChild([] {
              static int asked; // the last mark first, then each command's
              asked = 0;
              ModulePtr module = load(cudaPackage().file());
              dlc_context_options chosen = options("cuda");
              chosen.timeout_ms = 1;
              ContextPtr context = open(module.get(), chosen);
              auto *driver = const_cast<Driver *>(*Driver::open());
              static Event first;
              driver->eventQuery = [](Event event) {
                // The kernel has ended, the copy after it has not.
                return event == first ? Result::Success : Result::NotReady;
              };
              driver->eventRecord = [](Event event, Stream) {
                first = asked++ ? first : event;
                return Result::Success;
              };
              return runScale(context.get(), 3) == DLC_DEVICE ? std::string(dlc_last_error()) : "";
            }),
            "CUDA device 0: after 1 ms a copy still runs" + lost);
}

TEST_F(GpuFault, ARunThatEndsInTime) {
  ModulePtr module = load(cudaPackage().file());
  dlc_context_options chosen = options("cuda");
  chosen.timeout_ms = 100000;
  chosen.time_device = 1;
  ContextPtr context = open(module.get(), chosen);
  for (int i = 0; i < 4; ++i)
    expectRight(context.get(), 3);
  expectRight(context.get(), 0);
  chosen.timeout_ms = -1;
  open(module.get(), chosen, DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "expected a timeout of 0 (none) or more milliseconds, got -1");
  {
    Instead fault(driver(), &Driver::eventQuery, +[](Event) { return Result::OutOfMemory; });
    EXPECT_EQ(runScale(context.get(), 3), DLC_DEVICE);
    EXPECT_TRUE(lastErrorHas("CUDA device 0: cannot finish the run: CUDA_ERROR_OUT_OF_MEMORY"));
  }
  expectRight(context.get(), 3);
}

TEST_F(GpuFault, AContextUsedFromAnotherThread) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  expectRight(context.get(), 2);
  std::thread([&] {
    expectRight(context.get(), 5);
    context.reset(); // and freed there
  }).join();
  expectWell();
}

TEST_F(GpuFault, AfterAFork) {
  ModulePtr module = load(cudaPackage().file());
  ContextPtr context = open(module.get(), options("cuda"));
  expectRight(context.get(), 2);
  const std::string message =
      "CUDA device 0 was opened before this process was forked, and CUDA does not work in the "
      "child: start it by exec or spawn, or fork before the first context is created";
  pid_t child = fork();
  if (child == 0) {
    bool isSaid = runScale(context.get(), 2) == DLC_USAGE && dlc_last_error() == message;
    dlc_context *made = nullptr;
    dlc_context_options chosen = options("cuda");
    isSaid &= dlc_context_create(module.get(), &chosen, &made) == DLC_USAGE && !made &&
              dlc_last_error() == message;
    _exit(isSaid ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  expectRight(context.get(), 2); // the parent goes on
}

//===- The cache ------------------------------------------------------------------------------===//

TEST_F(GpuFault, TheCacheGoesWhileItIsUsed) {
  TemporaryFolder folder;
  std::string path = folder.path() + "/cache";
  Environment cache("DLC_CACHE_DIR", path);
  expectWell();
  ASSERT_FALSE(fs::is_empty(path));
  fs::remove_all(path);
  expectWell();
  EXPECT_TRUE(fs::exists(path)) << "made again";
  // Gone behind an open one: what it stores is lost, and nothing else.
  KernelCache open(path, int64_t(1) << 20);
  fs::remove_all(path);
  EXPECT_FALSE(open.store(std::string(64, 'a'), "code"));
  std::string image;
  EXPECT_FALSE(open.load(std::string(64, 'a'), image));
  open.trim();
}

TEST_F(GpuFault, TheCachesDiskIsFullOrReadOnly) {
  expectWell(); // so that the emulated NVRTC need not compile where calls are refused
  constexpr uint32_t kCreate = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
  constexpr uint32_t kHeaderBytes = 112; // of an entry, written first
  for (int error : {ENOSPC, EROFS, EDQUOT, EIO}) {
    TemporaryFolder folder;
    Environment cache("DLC_CACHE_DIR", folder.path());
    // Creating the entry fails, or writing it.
    for (Refusal refusal :
         {Refusal{SYS_openat, 2, kCreate, error}, Refusal{SYS_write, 2, kHeaderBytes, error}})
      EXPECT_EQ(resultUnder(refusal, [] { return use().second; }), "") << error;
    for (const auto &entry : fs::directory_iterator(folder.path()))
      EXPECT_FALSE(entry.path().extension() == ".cubin") << entry.path();
    expectWell();
  }
}

TEST_F(GpuFault, TheClockJumps) {
  TemporaryFolder folder;
  Environment cache("DLC_CACHE_DIR", folder.path());
  expectWell();
  for (time_t when : {time_t(0), time(nullptr) + 400 * 86400}) {
    for (const auto &entry : fs::directory_iterator(folder.path())) {
      timespec times[2] = {{when, 0}, {when, 0}};
      ASSERT_EQ(utimensat(AT_FDCWD, entry.path().c_str(), times, 0), 0);
    }
    int before = countCompiles();
    expectWell();
    EXPECT_EQ(countCompiles(), before) << "an entry's age is no reason to compile again";
  }
}

#endif
