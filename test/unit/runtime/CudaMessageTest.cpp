//===- CudaMessageTest.cpp - What is said where a call of the driver or of NVRTC fails --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"
#include "test/unit/runtime/RefusedCall.h"

#include <cstring>
#include <dlfcn.h>

using namespace dlc::test;
using namespace dlc::cuda;
using dlc::schema::DType;
using dlc::schema::Storage;

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(CudaMessage, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

/// Another function in the place of one of the driver's, while it lives.
template <class Function> class Instead {
public:
  Instead(Function *Driver::*member, Function *other) : Instead(*driver(), member, other) {}
  Instead(Function *Nvrtc::*member, Function *other) : Instead(*nvrtc(), member, other) {}
  ~Instead() { place = original; }
  Instead(const Instead &) = delete;

private:
  template <class Table>
  Instead(Table &table, Function *Table::*member, Function *other)
      : place(table.*member), original(place) {
    place = other;
  }
  static Driver *driver() { return const_cast<Driver *>(*Driver::open()); }
  static Nvrtc *nvrtc() { return const_cast<Nvrtc *>(*Nvrtc::open(0)); }

  Function *&place;
  Function *original;
};

/// Fails, whatever it is called with.
template <Result kResult, class... Args> Result failing(Args...) { return kResult; }

constexpr Result kMemory = Result::OutOfMemory, kLost = Result::IllegalAddress;
constexpr const char *kMemoryText = "CUDA_ERROR_OUT_OF_MEMORY (out of memory)";

class CudaMessage : public Cuda {
protected:
  /// Loads and runs cudaPackage() three times with these options; the first failure's message.
  std::string use(const PackageBuilder &package = cudaPackage(),
                  dlc_context_options chosen = options("cuda")) {
    ModulePtr module = load(package.file());
    dlc_context *context = nullptr;
    dlc_status status = dlc_context_create(module.get(), &chosen, &context);
    for (int i = 0; status == DLC_OK && i < 3; ++i)
      status = runScale(context, 3);
    std::string message = status == DLC_OK ? "" : dlc_last_error();
    dlc_context_free(context);
    return message;
  }

  /// The message where `member` fails with `kResult`.
  template <Result kResult, class... Args>
  std::string without(Result (*Driver::*member)(Args...),
                      dlc_context_options chosen = options("cuda")) {
    Instead<Result(Args...)> fault(member, failing<kResult, Args...>);
    return use(cudaPackage(), chosen);
  }

  /// "CUDA device 0: cannot WHAT: CUDA_ERROR_OUT_OF_MEMORY (...)" is said where `member` has no
  /// memory.
  template <class... Args>
  void cannot(const std::string &what, Result (*Driver::*member)(Args...),
              dlc_context_options chosen = options("cuda")) {
    EXPECT_EQ(without<kMemory>(member, chosen),
              "CUDA device 0: cannot " + what + ": " + kMemoryText);
  }
  /// The same where the GPU is lost, which is said of calls that can be done without.
  template <class... Args>
  void lost(const std::string &what, Result (*Driver::*member)(Args...),
            dlc_context_options chosen = options("cuda")) {
    EXPECT_EQ(without<kLost>(member, chosen),
              "CUDA device 0: cannot " + what +
                  ": CUDA_ERROR_ILLEGAL_ADDRESS (a kernel left its buffers). The GPU context of "
                  "this process is lost: end the process and start anew");
  }
};

} // namespace

TEST_F(CudaMessage, EachCallIsNamed) {
  EXPECT_EQ(use(), "");
  dlc_context_options profiled = options("cuda");
  profiled.profile = 1;
  cannot("enter the context", &Driver::ctxPushCurrent);
  cannot("load the kernel 'add_one'", &Driver::moduleLoadDataEx);
  cannot("find kernel 'add_one' (model.dl:3:7) in its compiled source", &Driver::moduleGetFunction);
  cannot("read attributes of kernel 'add_one' (model.dl:3:7)", &Driver::funcGetAttribute);
  cannot("create a stream", &Driver::streamCreate);
  cannot("upload the weights", &Driver::memcpyHtoDAsync);
  cannot("run the init program", &Driver::streamSynchronize);
  cannot("copy a buffer", &Driver::memcpyDtoDAsync);
  cannot("copy an output from the GPU", &Driver::memcpyDtoHAsync);
  cannot("create an event", &Driver::eventCreate, profiled);
  cannot("record an event", &Driver::eventRecord, profiled);
  cannot("read a kernel's time", &Driver::eventElapsedTime, profiled);
  EXPECT_EQ(without<kMemory>(&Driver::launchKernel),
            std::string("init program: CUDA device 0: cannot launch kernel 'add_one' "
                        "(model.dl:3:7): ") +
                kMemoryText);
  lost("capture", &Driver::streamBeginCapture);
  lost("end a capture", &Driver::streamEndCapture);
  lost("make a graph", &Driver::graphInstantiate);
  lost("launch a graph", &Driver::graphLaunch);
  // Of an error that the driver has no name for, the number is told.
  EXPECT_EQ(without<static_cast<Result>(12345)>(&Driver::streamCreate),
            "CUDA device 0: cannot create a stream: CUDA error 12345");
}

TEST_F(CudaMessage, AnInputThatCannotBeCopied) {
  static int copies; // the first is of the weights
  static decltype(Driver::memcpyHtoDAsync) original;
  copies = 0;
  original = (*Driver::open())->memcpyHtoDAsync;
  Instead<Result(DevicePtr, const void *, size_t, Stream)> fault(
      &Driver::memcpyHtoDAsync,
      [](DevicePtr target, const void *from, size_t bytes, Stream stream) {
        return copies++ ? kMemory : original(target, from, bytes, stream);
      });
  EXPECT_EQ(use(), std::string("CUDA device 0: cannot copy an input to the GPU: ") + kMemoryText);
}

TEST_F(CudaMessage, ARunThatDoesNotEnd) {
  static int waits; // the first is for the init program
  static decltype(Driver::streamSynchronize) original;
  waits = 0;
  original = (*Driver::open())->streamSynchronize;
  Instead<Result(Stream)> fault(&Driver::streamSynchronize, [](Stream stream) {
    Result result = original(stream);
    return waits++ ? kLost : result;
  });
  EXPECT_EQ(use(),
            "CUDA device 0: cannot finish the run: CUDA_ERROR_ILLEGAL_ADDRESS (a kernel left "
            "its buffers). The GPU context of this process is lost: end the process and "
            "start anew");
}

TEST_F(CudaMessage, MemoryOfTheGpu) {
  EXPECT_EQ(without<Result::InvalidValue>(&Driver::memAlloc),
            "CUDA device 0: cannot allocate 64 bytes for the weights: CUDA_ERROR_INVALID_VALUE "
            "(invalid argument)");
  EXPECT_EQ(without<kMemory>(&Driver::memAlloc),
            "not enough GPU memory: the weights need 64 bytes; 8.0 GiB of 8.0 GiB are free on dlc "
            "CUDA emulator (sm_90a)");
}

TEST_F(CudaMessage, DevicesThatDoNotServe) {
  EXPECT_EQ(use(cudaPackage(), options("cuda:1")),
            "CUDA device 1 is not usable: the driver sees 1 GPU, numbered from 0");
  EXPECT_EQ(without<kMemory>(&Driver::deviceGetCount),
            std::string("CUDA device 0 is not usable: cuDeviceGetCount: ") + kMemoryText);
  EXPECT_EQ(without<kMemory>(&Driver::deviceGet),
            std::string("CUDA device 0 is not usable: cuDeviceGet: ") + kMemoryText);
  EXPECT_EQ(without<kMemory>(&Driver::deviceGetAttribute),
            "CUDA device 0 is not usable: the driver does not tell its compute capability");
  EXPECT_EQ(without<kMemory>(&Driver::devicePrimaryCtxRetain),
            std::string("CUDA device 0 (dlc CUDA emulator (sm_90a)): cannot make a context: ") +
                kMemoryText);
  {
    Instead<Result(int *)> none(&Driver::deviceGetCount, [](int *count) {
      *count = 0;
      return Result::Success;
    });
    EXPECT_EQ(use(), "CUDA device 0 is not usable: the driver sees no GPU (is CUDA_VISIBLE_DEVICES "
                     "set?)");
  }
  Instead<Result(int *, DeviceAttribute, Device)> turing(
      &Driver::deviceGetAttribute, [](int *value, DeviceAttribute attribute, Device) {
        *value = attribute == DeviceAttribute::ComputeCapabilityMajor ? 7 : 5;
        return Result::Success;
      });
  EXPECT_EQ(use(), "CUDA device 0 is not usable: dlc CUDA emulator (sm_90a) has compute capability "
                   "7.5; dlc needs 8.0 (Ampere) or newer");
}

TEST_F(CudaMessage, DriversThatDoNotStart) {
  // Another path to the same library, which is therefore opened again.
  TemporaryFolder folder;
  std::string path = folder.path() + "/libcuda.so";
  std::filesystem::create_symlink(DLC_EMU_DRIVER_PATH, path);
  Environment other("DLC_LIBCUDA", path);
  auto failAt = reinterpret_cast<void (*)(long, int)>(
      dlsym(dlopen(DLC_EMU_DRIVER_PATH, RTLD_NOW | RTLD_LOCAL), "dlcEmuFailAt"));
  auto expect = [&](long call, Result result, const std::string &message) {
    failAt(call, static_cast<int>(result));
    EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
    EXPECT_EQ(dlc_last_error(), "CUDA is not usable: " + message);
    failAt(-1, 0);
  };
  expect(0, Result::NoDevice,
         "no NVIDIA GPU is visible (is CUDA_VISIBLE_DEVICES set, or the device not passed to this "
         "container?): cuInit: CUDA_ERROR_NO_DEVICE (no device)");
  expect(0, Result::StubLibrary,
         "the driver library is the toolkit's stub: the NVIDIA driver is not installed, or its "
         "folder comes later in LD_LIBRARY_PATH: cuInit: CUDA_ERROR_STUB_LIBRARY (the toolkit's "
         "stub)");
  expect(0, Result::SystemDriverMismatch,
         "the driver library and the loaded kernel module have different versions: restart the "
         "machine: cuInit: CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (driver and kernel module differ)");
  expect(0, Result::SystemNotReady,
         "the system is not ready (fabric manager or MIG set-up): cuInit: CUDA error 802");
  expect(0, kMemory, std::string("the driver does not start: cuInit: ") + kMemoryText);
  expect(1, kMemory, std::string("cuDriverGetVersion: ") + kMemoryText);
}

TEST_F(CudaMessage, LibrariesThatAreNone) {
  Environment driver("DLC_LIBCUDA", "libc.so.6");
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(), "CUDA is not usable: the driver library 'libc.so.6' lacks cuInit: "
                                 "the driver is too old, update it");
  Environment missing("DLC_LIBCUDA", "/none/libcuda.so");
  EXPECT_EQ(openCuda(cudaPackage()), DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(),
               "CUDA is not usable: cannot load the driver library '/none/libcuda.so' "
               "(/none/libcuda.so: cannot open shared object file: No such file or directory): "
               "install the NVIDIA driver, or name the library in DLC_LIBCUDA");
}

TEST_F(CudaMessage, CompilersThatDoNotServe) {
  {
    Environment missing("DLC_LIBNVRTC", "/none/libnvrtc.so");
    EXPECT_EQ(use(),
              "CUDA is not usable: cannot load '/none/libnvrtc.so' (/none/libnvrtc.so: cannot "
              "open shared object file: No such file or directory)");
    Environment another("DLC_LIBNVRTC", "libc.so.6");
    EXPECT_EQ(use(), "CUDA is not usable: the library 'libc.so.6' lacks nvrtcVersion: use NVRTC 12 "
                     "or 13");
  }
  {
    Instead<NvrtcResult(NvrtcProgram *, const char *, const char *, int, const char *const *,
                        const char *const *)>
        fault(&Nvrtc::createProgram, [](auto...) { return static_cast<NvrtcResult>(1); });
    EXPECT_EQ(use(), "NVRTC takes no program: NVRTC_ERROR_OUT_OF_MEMORY");
  }
  auto *nvrtc = const_cast<Nvrtc *>(*Nvrtc::open(0));
  std::vector<int> known = nvrtc->facts.architectures;
  nvrtc->facts.architectures = {100, 103};
  EXPECT_EQ(use(), "NVRTC 13.0 cannot compile for dlc CUDA emulator (sm_90a) (sm_90); it knows "
                   "sm_100, sm_100f, sm_100a, sm_103, sm_103f, sm_103a");
  nvrtc->facts.architectures = known;
}

TEST_F(CudaMessage, CodeThatTheDriverDoesNotTake) {
  EXPECT_EQ(
      without<Result::UnsupportedPtxVersion>(&Driver::moduleLoadDataEx),
      "the driver (CUDA 13.0) does not take what NVRTC 13.0 made: "
      "CUDA_ERROR_UNSUPPORTED_PTX_VERSION (the image was made by an NVRTC that is newer than the "
      "driver): update the driver, or use an NVRTC of its version (DLC_LIBNVRTC)");
  Instead<Result(Module *, const void *, unsigned, JitOption *, void **)> linker(
      &Driver::moduleLoadDataEx, [](Module *, const void *, unsigned, JitOption *, void **values) {
        std::strcpy(static_cast<char *>(values[0]), "ptxas: no luck");
        return kMemory;
      });
  EXPECT_EQ(use(),
            std::string("CUDA device 0: cannot load the kernel 'add_one': ptxas: no luck: ") +
                kMemoryText);
}

TEST_F(CudaMessage, KernelsThatDoNotFit) {
  PackageBuilder shared = cudaPackage();
  Expr bytes = shared.constant(100 << 10);
  shared.module.programs[0]->main[0]->command.AsLaunch()->scratch_bytes = bytes.row;
  EXPECT_EQ(use(shared), "");
  {
    Instead<Result(Function, FunctionAttribute, int)> fault(
        &Driver::funcSetAttribute, failing<kMemory, Function, FunctionAttribute, int>);
    EXPECT_EQ(use(shared), std::string("CUDA device 0: cannot give kernel 'scale' (model.dl:3:7) "
                                       "its shared memory: ") +
                               kMemoryText);
  }
  shared.module.programs[0]->main[0]->command.AsLaunch()->scratch_bytes =
      shared.constant(300 << 10).row;
  EXPECT_EQ(use(shared),
            "kernel 'scale' (model.dl:3:7) needs 307200 bytes of shared memory a block, "
            "dlc CUDA emulator (sm_90a) has 232448");
  Instead<Result(int *, FunctionAttribute, Function)> greedy(
      &Driver::funcGetAttribute, [](int *value, FunctionAttribute attribute, Function) {
        *value = attribute == FunctionAttribute::MaxThreadsPerBlock ? 16
                 : attribute == FunctionAttribute::NumRegs          ? 255
                                                                    : 0;
        return Result::Success;
      });
  EXPECT_EQ(use(), "kernel 'add_one' (model.dl:3:7) is launched with 32 threads a block; with its "
                   "255 registers the device allows 16");
}

TEST_F(CudaMessage, ModulesAndOptionsThatDoNotServe) {
  EXPECT_EQ(use(affinePackage()),
            "the module has no program for CUDA: compile it with '--target cuda'");
  dlc_context_options checked = options("cuda");
  checked.checked = 1;
  EXPECT_EQ(use(cudaPackage(), checked),
            "checked mode is for the CPU; the emulator checks CUDA kernels");
  // A persistent buffer that leaves no room for the weights, in numbers.
  PackageBuilder huge = cudaPackage();
  huge.launch(1, {PackageBuilder::buffer(1)}, {huge.constant(1)}, huge.constant(0)); // reads w
  huge.buffer(Storage::persistent, DType::f32, {huge.constant((int64_t(1) << 61) - 64)});
  EXPECT_EQ(use(huge), "malformed module (compile the model again): the size of the weights "
                       "overflows 64 bits");
}

TEST_F(CudaMessage, StreamsThatDoNotServe) {
  auto device = GpuDevice::open(0);
  ASSERT_FALSE(device.failed());
  const Driver &driver = (*device)->driver();
  dlc_context_options chosen = options("cuda");
  Stream stream = nullptr;
  {
    ContextScope scope(**device);
    ASSERT_EQ(driver.streamCreate(&stream, 0), Result::Success);
    chosen.stream = stream;
    cannot("use the caller's stream", &Driver::streamGetCtx, chosen);
    cannot("use the caller's stream", &Driver::streamIsCapturing, chosen);
    Instead<Result(Stream, Context *)> another(&Driver::streamGetCtx, [](Stream, Context *context) {
      *context = nullptr;
      return Result::Success;
    });
    EXPECT_EQ(use(cudaPackage(), chosen),
              "the stream belongs to another context than the primary one of GPU 0");
  }
  Instead<Result(Stream, StreamCaptureStatus *)> capturing(
      &Driver::streamIsCapturing, [](Stream, StreamCaptureStatus *status) {
        *status = static_cast<StreamCaptureStatus>(1);
        return Result::Success;
      });
  EXPECT_EQ(use(cudaPackage(), chosen),
            "the stream captures a graph; a run waits for its results, which a capture cannot");
  ContextScope scope(**device);
  EXPECT_EQ(driver.streamDestroy(stream), Result::Success);
}

TEST_F(CudaMessage, LibrariesThatAreNoNvrtc) {
  Environment library("DLC_LIBNVRTC", DLC_BROKEN_NVRTC_PATH);
  auto expect = [](const char *function, const std::string &what) {
    Environment broken("DLC_BROKEN_NVRTC", function);
    EXPECT_EQ(Nvrtc::open(0).status().message(),
              "CUDA is not usable: the library '" DLC_BROKEN_NVRTC_PATH "' " + what);
  };
  expect("nvrtcVersion", "does not tell its version");
  expect("nvrtcGetNumSupportedArchs", "does not tell what it compiles for");
  expect("nvrtcGetSupportedArchs", "does not tell what it compiles for");
  Environment none("DLC_LIBNVRTC", "");
  EXPECT_EQ(
      resultUnder({SYS_openat, 2, O_RDONLY | O_CLOEXEC, ENOENT},
                  [] { return Nvrtc::open(0).status().message(); }),
      "CUDA is not usable: NVRTC (libnvrtc.so.13 or .12), which compiles the kernels, is not "
      "in the loader's path, CUDA_HOME, /usr/local/cuda or a Python environment: install CUDA "
      "or the wheel nvidia-cuda-nvrtc, or name the library in DLC_LIBNVRTC");
}

TEST_F(CudaMessage, CodeOfAnUnknownCompiler) {
  PackageBuilder package = cudaPackage();
  package.cubin(0, 90, dlc::schema::CubinVariant::specific, std::string(200, 'x'));
  package.module.programs[0]->cuda_sources[0]->cubins[0]->producer.clear();
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options("cuda"));
  EXPECT_STREQ(dlc_context_remarks(context.get()),
               "kernels are compiled for sm_90: the driver (CUDA 13.0) does not take the package's "
               "code for sm_90a (unknown compiler): CUDA_ERROR_INVALID_IMAGE (not an image of the "
               "emulated NVRTC)");
}

#endif
