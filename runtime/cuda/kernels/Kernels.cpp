//===- Kernels.cpp - From the package's CUDA text to functions on a device -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/Kernels.h"
#include "runtime/core/Text.h"

#include <algorithm>

using namespace dlc;
using namespace dlc::cuda;
using rt::quoted;
using rt::Status;
using rt::text;

/// What a kernel gets without asking for more.
static constexpr int64_t kDefaultShared = 48 << 10;
/// Blocks of a cluster that each GPU with clusters takes.
static constexpr int64_t kPortableCluster = 8;

template <class List> static size_t sizeOf(const List *list) { return list ? list->size() : 0; }

std::vector<KernelText> dlc::cuda::kernelTexts(const schema::Module &module,
                                               const schema::Program &program) {
  std::vector<KernelText> texts(sizeOf(program.cuda_sources()));
  for (size_t i = 0; i < texts.size(); ++i) {
    const schema::CudaSource &source = *program.cuda_sources()->Get(i);
    texts[i].source = source.text()->c_str();
    texts[i].name = text("source", i);
    for (size_t k = 0; k < sizeOf(source.headers()); ++k) {
      const schema::CudaHeader &header = *module.cuda_headers()->Get(source.headers()->Get(k));
      texts[i].headers.push_back(header.text()->c_str());
      texts[i].headerNames.push_back(header.name()->c_str());
    }
  }
  for (size_t i = 0; i < sizeOf(program.kernels()); ++i) {
    const schema::Kernel &kernel = *program.kernels()->Get(i);
    texts[kernel.cuda_source()].name = kernel.name()->str();
  }
  return texts;
}

static Architecture architectureOf(const schema::Cubin &cubin) {
  return {static_cast<int>(cubin.arch()), cubin.variant()};
}

/// The cubin of `source` that serves the device best; null where none runs on it.
static const schema::Cubin *findCubin(const schema::CudaSource &source, int device) {
  const schema::Cubin *best = nullptr;
  for (size_t i = 0; i < sizeOf(source.cubins()); ++i) {
    const schema::Cubin *cubin = source.cubins()->Get(i);
    if (architectureOf(*cubin).runsOn(device) &&
        (!best || servesBetter(architectureOf(*cubin), architectureOf(*best))))
      best = cubin;
  }
  return best;
}

static std::string cubinsOf(const schema::CudaSource &source) {
  std::string names;
  for (size_t i = 0; i < sizeOf(source.cubins()); ++i)
    names += (names.empty() ? "" : ", ") + architectureOf(*source.cubins()->Get(i)).name();
  return names;
}

/// Whether the driver says that it is not made for such code: other code may do.
static bool isRefusal(Result result) {
  return result == Result::UnsupportedPtxVersion || result == Result::NoBinaryForGpu ||
         result == Result::InvalidImage || result == Result::InvalidPtx;
}

static std::string driverName(const GpuDevice &device) {
  return text("the driver (CUDA ", device.driver().version / 1000, ".",
              device.driver().version % 1000 / 10, ")");
}

/// Loads `image` as the code of the source. Where the driver refuses it, `result` says how, and
/// that is no failure yet.
Status Kernels::load(GpuDevice &device, const std::string &name, const void *image, size_t source,
                     Result &result) {
  char log[2048] = {};
  JitOption options[] = {JitOption::ErrorLogBuffer, JitOption::ErrorLogBufferSizeBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log) - 1)};
  Module loaded = nullptr;
  result = device.driver().moduleLoadDataEx(&loaded, image, 2, options, values);
  if (isRefusal(result))
    return {};
  DLC_TRY(device.check(result, text("load the kernel ", quoted(name), log[0] ? ": " : "", log)));
  modules[source] = loaded;
  return {};
}

Status Kernels::loadPackaged(const std::vector<KernelText> &texts, const KernelOptions &options,
                             const std::vector<bool> &wanted, std::vector<size_t> &missing) {
  GpuDevice &device = *owner;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!wanted[i] || modules[i])
      continue;
    const schema::CudaSource &source = *program->cuda_sources()->Get(i);
    const schema::Cubin *cubin = findCubin(source, device.architecture());
    Result result = Result::Success;
    if (cubin)
      DLC_TRY(load(device, texts[i].name, module->bytes(*cubin->data()), i, result));
    if (cubin && result == Result::Success)
      continue;
    std::string has = cubinsOf(source);
    std::string why =
        cubin         ? text(driverName(device), " does not take the package's code for ",
                             architectureOf(*cubin).name(), " (",
                             cubin->producer() ? cubin->producer()->c_str() : "unknown compiler",
                             "): ", device.driver().explain(result))
        : has.empty() ? text("the package has no compiled code")
                      : text("the package has compiled code for ", has, " only");
    if (options.noJit)
      return {DLC_UNSUPPORTED,
              text("kernel ", quoted(texts[i].name), " would have to be compiled for ",
                   device.name(), " (sm_", device.architecture(), "), which is turned off: ", why,
                   "; compile the model with '--target ",
                   Architecture::ofDevice(device.architecture()).name(), "'")};
    // Of interest where somebody compiled ahead of time and it does not serve.
    if (missing.empty() && !has.empty())
      notes = text("kernels are compiled for sm_", device.architecture(), ": ", why);
    missing.push_back(i);
  }
  return {};
}

Status Kernels::compile(GpuDevice &device, const std::vector<KernelText> &texts,
                        const std::vector<size_t> &missing, const KernelOptions &options) {
  KernelCompiler compiler(device.driver().version,
                          options.cacheFolder ? options.cacheFolder->c_str() : nullptr);
  if (const std::string &problem = compiler.kernelCache().problem(); !problem.empty())
    notes += (notes.empty() ? "" : "\n") + problem;
  rt::Expected<CompileTarget> target = compiler.targetFor(device.architecture(), device.name());
  if (target.failed())
    return target.status();
  isForOlder = isForOlder || target->arch.number < 90;
  std::vector<KernelText> wanted;
  for (size_t i : missing)
    wanted.push_back(texts[i]);
  std::vector<std::string> images;
  Status compiled = compiler.compile(wanted, *target, images, options.progress);
  if (compiled.code() == DLC_INTERNAL)
    return {DLC_INTERNAL, text(compiled.message(),
                               "\n'dlc inspect MODEL --source KERNEL' prints the text; '--device "
                               "cpu' runs a model that has a program for the CPU")};
  DLC_TRY(compiled);
  for (size_t k = 0; k < missing.size(); ++k) {
    Result result;
    DLC_TRY(load(device, wanted[k].name, images[k].c_str(), missing[k], result));
    const NvrtcFacts &made = compiler.compilerFacts();
    if (result != Result::Success)
      return {DLC_DEVICE, text(driverName(device), " does not take what NVRTC ", made.major, ".",
                               made.minor, " made: ", device.driver().explain(result),
                               ": update the driver, or use an NVRTC of its version "
                               "(DLC_LIBNVRTC)")};
  }
  return {};
}

/// Calls visit(launch) for each launch of the program, and each variant and chain of one.
template <class Visit> static void forEachLaunch(const schema::Program &program, Visit visit) {
  for (auto *commands : {program.init(), program.main()})
    for (size_t i = 0; i < sizeOf(commands); ++i)
      if (const schema::Launch *launch = commands->Get(i)->command_as_Launch()) {
        visit(*launch);
        for (size_t k = 0; k < sizeOf(launch->variants()); ++k)
          visit(*launch->variants()->Get(k)->launch());
        for (size_t k = 0; k < sizeOf(launch->chains()); ++k)
          visit(*launch->chains()->Get(k)->launch());
      }
}

void Kernels::findUsable(const KernelOptions &options) {
  special = owner->architecture() == 90 && owner->driver().tensorMapEncodeTiled ? 90 : 0;
  usable.resize(sizeOf(program->kernels()));
  for (uint32_t i = 0; i < usable.size(); ++i)
    usable[i] = !options.noJit || hasCubin(i);
  chainBlocks.resize(usable.size());
  for (size_t i = 0; i < sizeOf(program->main()); ++i) {
    const schema::Launch *launch = program->main()->Get(i)->command_as_Launch();
    for (size_t k = 0; launch && k < sizeOf(launch->chains()); ++k) {
      const schema::Launch &chain = *launch->chains()->Get(k)->launch();
      int64_t &blocks = chainBlocks[chain.kernel()];
      blocks = std::max(blocks, *module->expressions().constant(chain.grid()->Get(0)));
      // Nothing is compiled at load for a chain where its launches are ready.
      if (hasCubin(launch->kernel()) && !hasCubin(chain.kernel()))
        usable[chain.kernel()] = false;
    }
  }
}

bool Kernels::hasCubin(uint32_t kernel) const {
  return findCubin(*program->cuda_sources()->Get(program->kernels()->Get(kernel)->cuda_source()),
                   owner->architecture());
}

/// The parts of a GPU that some processes have hold no large cluster: launches take its place.
bool Kernels::giveUpChains() {
  const Driver &driver = owner->driver();
  bool any = false;
  for (uint32_t i = 0; i < chainBlocks.size() && driver.occupancyMaxActiveClusters; ++i) {
    if (chainBlocks[i] <= 1 || !functions[i] || !usable[i])
      continue;
    LaunchConfig config = {};
    config.gridX = static_cast<unsigned>(chainBlocks[i]);
    config.gridY = config.gridZ = config.blockY = config.blockZ = 1;
    config.blockX = program->kernels()->Get(i)->block()->Get(0);
    config.sharedBytes = static_cast<unsigned>(dynamicShared[i]);
    int clusters = 0;
    Result result = driver.occupancyMaxActiveClusters(&clusters, functions[i], &config);
    if (result == Result::Success && clusters == 0) {
      usable[i] = false;
      any = true;
    }
  }
  return any;
}

void Kernels::findDynamicShared() {
  dynamicShared.resize(sizeOf(program->kernels()));
  forEachLaunch(*program, [&](const schema::Launch &launch) {
    int64_t bytes = *module->expressions().constant(launch.scratch_bytes());
    if (launch.kept())
      bytes =
          spreadOf(*owner, launch, *module->expressions().constant(launch.grid()->Get(0)), bytes)
              .sharedBytes;
    dynamicShared[launch.kernel()] = std::max(dynamicShared[launch.kernel()], bytes);
  });
}

std::vector<bool> Kernels::kernelsOfAllShapes() const {
  std::vector<bool> found(functions.size());
  for (size_t i = 0; i < sizeOf(program->init()); ++i)
    if (const schema::Launch *launch = program->init()->Get(i)->command_as_Launch())
      found[launch->kernel()] = true;
  for (size_t i = 0; i < sizeOf(program->main()); ++i) {
    const schema::Launch *launch = program->main()->Get(i)->command_as_Launch();
    if (const schema::Chain *chain = launch ? variants().chainOf(*launch) : nullptr) {
      found[chain->launch()->kernel()] = true;
      i += chain->launches() - 1;
      continue;
    }
    size_t k = 0, count = launch ? sizeOf(launch->variants()) : 0;
    while (k < count && !variants().allows(*launch->variants()->Get(k)))
      ++k;
    // Whether a variant with limits holds, the shapes say.
    if (k < count && sizeOf(launch->variants()->Get(k)->limits()) == 0)
      found[launch->variants()->Get(k)->launch()->kernel()] = true;
    else if (launch && k == count)
      found[launch->kernel()] = true;
  }
  return found;
}

Status Kernels::build(GpuDevice &device, const rt::Module &of, const schema::Program &table,
                      const KernelOptions &options) {
  owner = &device;
  module = &of;
  program = &table;
  modules.resize(sizeOf(program->cuda_sources()));
  functions.resize(sizeOf(program->kernels()));
  findUsable(options);
  findDynamicShared();
  DLC_TRY(make(kernelsOfAllShapes(), options));
  return giveUpChains() ? make(kernelsOfAllShapes(), options) : Status();
}

Status Kernels::require(const std::vector<rt::PlannedCommand> &commands,
                        const KernelOptions &options) {
  std::vector<bool> wanted(functions.size());
  for (const rt::PlannedCommand &command : commands)
    if (command.launch && !command.skip)
      wanted[command.launch->kernel()] = true;
  return make(wanted, options);
}

Status Kernels::make(const std::vector<bool> &wanted, const KernelOptions &options) {
  std::lock_guard<std::mutex> lock(making);
  std::vector<bool> sources(modules.size());
  std::vector<uint32_t> absent;
  for (uint32_t i = 0; i < wanted.size(); ++i)
    if (wanted[i] && !functions[i]) {
      absent.push_back(i);
      sources[program->kernels()->Get(i)->cuda_source()] = true;
    }
  if (absent.empty())
    return {};
  std::vector<KernelText> texts = kernelTexts(module->table(), *program);
  std::vector<size_t> missing;
  DLC_TRY(loadPackaged(texts, options, sources, missing));
  if (!missing.empty())
    DLC_TRY(compile(*owner, texts, missing, options));
  for (uint32_t kernel : absent)
    DLC_TRY(find(kernel));
  return {};
}

abi::Spread dlc::cuda::spreadOf(const GpuDevice &device, const schema::Launch &launch,
                                int64_t blocks, int64_t scratchBytes) {
  std::vector<abi::KeptColumns> kept;
  for (size_t i = 0; i < sizeOf(launch.kept()); ++i)
    kept.push_back({launch.kept()->Get(i)->count(), launch.kept()->Get(i)->bytes()});
  return abi::spreadColumns(blocks, device.multiprocessors(), scratchBytes, device.sharedLimit(),
                            kept.data(), kept.size());
}

Status Kernels::find(uint32_t index) {
  GpuDevice &device = *owner;
  const schema::Kernel &kernel = *program->kernels()->Get(index);
  const Driver &driver = device.driver();
  std::string name = rt::describeKernel(kernel);
  Function function = nullptr;
  const int64_t dynamic = dynamicShared[index];
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
  if (staticShared + dynamic > device.sharedLimit())
    return {DLC_UNSUPPORTED,
            text(name, " needs ", staticShared + dynamic, " bytes of shared memory a block, ",
                 device.name(), " has ", device.sharedLimit())};
  if (staticShared + dynamic > kDefaultShared)
    DLC_TRY(
        device.check(driver.funcSetAttribute(function, FunctionAttribute::MaxDynamicSharedSizeBytes,
                                             static_cast<int>(dynamic)),
                     text("give ", name, " its shared memory")));
  if (chainBlocks[index] > kPortableCluster)
    DLC_TRY(device.check(
        driver.funcSetAttribute(function, FunctionAttribute::NonPortableClusterSizeAllowed, 1),
        text("give ", name, " its cluster")));
  functions[index] = function;
  return {};
}

Kernels::~Kernels() {
  for (Module module : modules)
    if (module && !owner->isHung())
      owner->driver().moduleUnload(module);
}
