//===- Kernels.cpp - From the package's CUDA text to functions on a device -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/Kernels.h"
#include "runtime/core/Plan.h"
#include "runtime/core/Text.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::Status;
using rt::text;

/// What a kernel gets without asking for more.
static constexpr int64_t kDefaultShared = 48 << 10;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

namespace {

/// What to compile for: the device itself, or, where NVRTC does not know it, the newest older
/// architecture as PTX, which the driver compiles on.
struct CompileTarget {
  std::string option;
  bool toPtx = false;
};

/// One source on its way to a loadable image.
struct Compilation {
  const char *source;
  std::string name; ///< for messages: the kernel's
  std::vector<const char *> headers, headerNames;
  std::string image;
  Status status;
};

} // namespace

static rt::Expected<CompileTarget> chooseTarget(const Nvrtc &nvrtc, const GpuDevice &device) {
  int count = 0;
  if (nvrtc.getNumSupportedArchs(&count) != NvrtcResult::Success || count <= 0)
    return Status(DLC_DEVICE, text("NVRTC (", nvrtc.path, ") does not tell what it compiles for"));
  std::vector<int> known(count);
  if (nvrtc.getSupportedArchs(known.data()) != NvrtcResult::Success)
    return Status(DLC_DEVICE, text("NVRTC (", nvrtc.path, ") does not tell what it compiles for"));
  int best = 0;
  for (int arch : known)
    if (arch <= device.architecture())
      best = std::max(best, arch);
  if (best == 0)
    return Status(DLC_UNSUPPORTED, text("NVRTC ", nvrtc.major, ".", nvrtc.minor, " (", nvrtc.path,
                                        ") cannot compile for ", device.name(), " (sm_",
                                        device.architecture(), ")"));
  if (best != device.architecture())
    return CompileTarget{text("--gpu-architecture=compute_", best), true};
  // The "a" variants open the instructions of exactly this architecture (wgmma, TMA).
  return CompileTarget{text("--gpu-architecture=sm_", best, best >= 90 ? "a" : ""), false};
}

static Status readLog(const Nvrtc &nvrtc, NvrtcProgram program, const Compilation &work,
                      NvrtcResult result) {
  size_t bytes = 0;
  std::string log;
  if (nvrtc.getProgramLogSize(program, &bytes) == NvrtcResult::Success && bytes > 1) {
    log.resize(bytes);
    nvrtc.getProgramLog(program, log.data());
    log.resize(std::min(log.find('\0'), size_t(4000)));
  }
  return {DLC_INTERNAL,
          text("NVRTC ", nvrtc.major, ".", nvrtc.minor, " refuses the kernel ", quoted(work.name),
               ": ", nvrtc.getErrorString(result), log.empty() ? "" : "\n", log)};
}

static void compile(const Nvrtc &nvrtc, const CompileTarget &target, Compilation &work) {
  NvrtcProgram program = nullptr;
  std::string fileName = work.name + ".cu";
  NvrtcResult result = nvrtc.createProgram(&program, work.source, fileName.c_str(),
                                           static_cast<int>(work.headers.size()),
                                           work.headers.data(), work.headerNames.data());
  if (result != NvrtcResult::Success) {
    work.status = {DLC_DEVICE, text("NVRTC takes no program: ", nvrtc.getErrorString(result))};
    return;
  }
  // fma is written out where it is wanted, so that CPU and GPU round alike. NVRTC would otherwise change
  // the process's stack limit.
  const char *options[] = {target.option.c_str(), "--std=c++17", "--fmad=false", "-default-device",
                           "--modify-stack-limit=false"};
  result = nvrtc.compileProgram(program, static_cast<int>(std::size(options)), options);
  size_t bytes = 0;
  if (result == NvrtcResult::Success)
    result = target.toPtx ? nvrtc.getPtxSize(program, &bytes) : nvrtc.getCubinSize(program, &bytes);
  if (result == NvrtcResult::Success) {
    work.image.resize(bytes);
    result = target.toPtx ? nvrtc.getPtx(program, work.image.data())
                          : nvrtc.getCubin(program, work.image.data());
  }
  if (result != NvrtcResult::Success)
    work.status = readLog(nvrtc, program, work, result);
  nvrtc.destroyProgram(&program);
}

static void compileAll(const Nvrtc &nvrtc, const CompileTarget &target,
                       std::vector<Compilation> &work) {
  std::atomic<size_t> next{0};
  auto drain = [&] {
    for (size_t i; (i = next.fetch_add(1)) < work.size();)
      try {
        compile(nvrtc, target, work[i]);
      } catch (const std::bad_alloc &) { // must not leave its thread
        work[i].status = {DLC_DEVICE, "out of memory"};
      }
  };
  size_t threads =
      std::min<size_t>({work.size(), std::max(1u, std::thread::hardware_concurrency()), 16});
  std::vector<std::thread> helpers;
  try {
    for (size_t i = 1; i < threads; ++i)
      helpers.emplace_back(drain);
  } catch (const std::exception &) { // fewer threads will do
  }
  drain();
  for (std::thread &helper : helpers)
    helper.join();
}

Status Kernels::build(GpuDevice &device, const rt::Module &module, const schema::Program &program) {
  owner = &device;
  if (sizeOf(program.kernels()) == 0)
    return {};
  rt::Expected<const Nvrtc *> nvrtc = Nvrtc::open(device.driver());
  if (nvrtc.failed())
    return nvrtc.status();
  rt::Expected<CompileTarget> target = chooseTarget(**nvrtc, device);
  if (target.failed())
    return target.status();

  std::vector<Compilation> work(sizeOf(program.cuda_sources()));
  for (size_t i = 0; i < work.size(); ++i) {
    const schema::CudaSource &source = *program.cuda_sources()->Get(i);
    work[i].source = source.text()->c_str();
    work[i].name = text("source", i);
    for (size_t k = 0; k < sizeOf(source.headers()); ++k) {
      const schema::CudaHeader &header =
          *module.table().cuda_headers()->Get(source.headers()->Get(k));
      work[i].headers.push_back(header.text()->c_str());
      work[i].headerNames.push_back(header.name()->c_str());
    }
  }
  for (const schema::Kernel *kernel : *program.kernels())
    work[kernel->cuda_source()].name = kernel->name()->str();
  compileAll(**nvrtc, *target, work);

  for (const Compilation &compiled : work) {
    DLC_TRY(compiled.status);
    Module loaded = nullptr;
    char log[2048] = {};
    JitOption options[] = {JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferSizeBytes};
    void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
    Result result =
        device.driver().moduleLoadDataEx(&loaded, compiled.image.c_str(), 2, options, values);
    if (result == Result::UnsupportedPtxVersion || result == Result::NoBinaryForGpu ||
        result == Result::InvalidImage)
      return {DLC_DEVICE,
              text("the driver (CUDA ", device.driver().version / 1000, ".",
                   device.driver().version % 1000 / 10, ") does not take what NVRTC ",
                   (*nvrtc)->major, ".", (*nvrtc)->minor,
                   " made: ", device.driver().explain(result),
                   ": update the driver, or use an NVRTC of its version (DLC_LIBNVRTC)")};
    DLC_TRY(device.check(result,
                         text("load the kernel ", quoted(compiled.name), log[0] ? ": " : "", log)));
    modules.push_back(loaded);
  }

  // The largest dynamic shared memory that any launch of a kernel asks for.
  std::vector<int64_t> dynamicShared(program.kernels()->size());
  for (auto *commands : {program.init(), program.main()})
    for (size_t i = 0; i < sizeOf(commands); ++i)
      if (const schema::Launch *launch = commands->Get(i)->command_as_Launch()) {
        int64_t bytes = *module.expressions().constant(launch->scratch_bytes());
        dynamicShared[launch->kernel()] = std::max(dynamicShared[launch->kernel()], bytes);
      }
  functions.resize(program.kernels()->size());
  for (uint32_t i = 0; i < functions.size(); ++i)
    DLC_TRY(find(device, program, i, dynamicShared[i]));
  return {};
}

Status Kernels::find(GpuDevice &device, const schema::Program &program, uint32_t index,
                     int64_t dynamicShared) {
  const schema::Kernel &kernel = *program.kernels()->Get(index);
  const Driver &driver = device.driver();
  std::string name = rt::describeKernel(kernel);
  Function &function = functions[index];
  DLC_TRY(device.check(
      driver.moduleGetFunction(&function, modules[kernel.cuda_source()], kernel.name()->c_str()),
      text("find ", name, " in its compiled source")));
  int maxThreads = 0, staticShared = 0, registers = 0;
  auto read = [&](int &value, FunctionAttribute attribute) {
    return device.check(driver.funcGetAttribute(&value, attribute, function),
                        text("read attributes of ", name));
  };
  DLC_TRY(read(maxThreads, FunctionAttribute::MaxThreadsPerBlock));
  DLC_TRY(read(staticShared, FunctionAttribute::SharedSizeBytes));
  DLC_TRY(read(registers, FunctionAttribute::NumRegs));
  int64_t threads = 1;
  for (uint32_t extent : *kernel.block())
    threads *= extent;
  if (threads > maxThreads)
    return {DLC_INTERNAL, text(name, " is launched with ", threads, " threads a block; with its ",
                               registers, " registers the device allows ", maxThreads)};
  if (staticShared + dynamicShared > device.sharedLimit())
    return {DLC_UNSUPPORTED,
            text(name, " needs ", staticShared + dynamicShared, " bytes of shared memory a block, ",
                 device.name(), " has ", device.sharedLimit())};
  if (staticShared + dynamicShared > kDefaultShared)
    DLC_TRY(
        device.check(driver.funcSetAttribute(function, FunctionAttribute::MaxDynamicSharedSizeBytes,
                                             static_cast<int>(dynamicShared)),
                     text("give ", name, " its shared memory")));
  return {};
}

Kernels::~Kernels() {
  for (Module module : modules)
    owner->driver().moduleUnload(module);
}
