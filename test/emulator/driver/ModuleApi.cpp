//===- ModuleApi.cpp - modules, functions, launches -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/core/DeviceMemory.h"
#include "test/emulator/core/TensorMap.h"
#include "test/emulator/device/dlc_emu_launch.h"
#include "test/emulator/driver/DeviceWork.h"
#include "test/emulator/driver/Exports.h"
#include "test/emulator/nvrtc/Image.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dlc::cuda {

namespace {

/// Kernels name the emulator's functions without linking it: they find them in the global scope,
/// whatever scope this library was opened in.
__attribute__((constructor)) void joinGlobalScope() {
  Dl_info info;
  if (dladdr(reinterpret_cast<void *>(&joinGlobalScope), &info))
    dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/// Finds the addresses that the library's segments cover.
void findImage(CUmod_st &module) {
  link_map *map = nullptr;
  if (dlinfo(module.library, RTLD_DI_LINKMAP, &map))
    return;
  struct Search {
    ElfW(Addr) base;
    CUmod_st *module;
  } search{map->l_addr, &module};
  dl_iterate_phdr(
      [](dl_phdr_info *info, size_t, void *data) {
        auto &search = *static_cast<Search *>(data);
        if (info->dlpi_addr != search.base)
          return 0;
        search.module->imageBegin = search.base;
        for (int i = 0; i < info->dlpi_phnum; ++i)
          if (info->dlpi_phdr[i].p_type == PT_LOAD)
            search.module->imageEnd = std::max<uintptr_t>(search.module->imageEnd,
                                                          search.base + info->dlpi_phdr[i].p_vaddr +
                                                              info->dlpi_phdr[i].p_memsz);
        return 1;
      },
      &search);
}

Result refuse(Result result, const std::string &why) {
  Driver::get().lastReport = why;
  std::fprintf(stderr, "dlc cuda-emu: %s\n", why.c_str());
  return result;
}

/// Whether code for `target` runs on the device, by the rules of the CUDA programming guide.
bool runsOn(const emu::TargetHeader &target, int device) {
  switch (target.variant) {
  case 'a':
    return target.arch == device;
  case 'p':
    return target.arch <= device;
  default:
    return target.arch / 10 == device / 10 && target.arch <= device;
  }
}

Result loadImage(Module *result, const void *image) {
  emu::TargetHeader target;
  emu::ImageHeader header;
  std::memcpy(&target, image, sizeof target);
  if (target.magic != emu::TargetHeader::kMagic)
    return refuse(Result::InvalidImage, "the image is not one of libdlc_nvrtc_emu.so");
  emu::Settings settings = emu::readSettings();
  if (target.arch && !runsOn(target, settings.arch))
    return refuse(Result::NoBinaryForGpu,
                  "the image was compiled for sm_" + std::to_string(target.arch));
  if (target.version / 1000 > settings.driverVersion / 1000)
    return refuse(Result::UnsupportedPtxVersion, "the image was made by a newer CUDA");
  image = static_cast<const char *>(image) + sizeof target;
  std::memcpy(&header, image, sizeof header);
  if (header.magic != emu::ImageHeader::kMagic)
    return refuse(Result::InvalidImage, "the image is not one of libdlc_nvrtc_emu.so");
  if (header.abiVersion != DLC_EMU_ABI_VERSION)
    return refuse(Result::NoBinaryForGpu, "the image was compiled for another emulator");
  if (settings.check && !header.checked)
    return refuse(Result::NoBinaryForGpu,
                  "DLC_EMU_CHECK is set, but the image was compiled without "
                  "it: compile it again");
  auto module = std::make_unique<CUmod_st>();
  module->file = memfd_create("dlc-cuda-emu-module", MFD_CLOEXEC);
  const char *bytes = static_cast<const char *>(image) + sizeof header;
  for (uint64_t done = 0; done < header.bytes;) {
    ssize_t written = write(module->file, bytes + done, header.bytes - done);
    if (written <= 0)
      return refuse(Result::OperatingSystem, "cannot copy the image to memory");
    done += written;
  }
  std::string path = "/proc/self/fd/" + std::to_string(module->file);
  module->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library)
    return refuse(Result::SharedObjectInitFailed,
                  std::string("cannot load the image: ") + dlerror());
  findImage(*module);
  *result = module.release();
  ++Driver::get().made.modules;
  return Result::Success;
}

} // namespace

CUmod_st::~CUmod_st() {
  if (library)
    dlclose(library);
  if (file >= 0)
    close(file);
}

Result KernelCall::run() const {
  const emu::Settings settings = emu::readSettings();
  if (settings.idle)
    return Result::Success;
  emu::LaunchRequest request;
  request.call = function->call;
  // The emulator only reads parameters; the trampoline's type is CUDA's.
  request.params = const_cast<void **>(params.data());
  request.kernel = function->name;
  request.grid = grid;
  request.block = block;
  request.cluster = function->cluster;
  request.dynamicShared = sharedBytes;
  request.cooperative = cooperative;
  request.early = early;
  request.paramCount = params.size();
  request.paramBlock = storage.get();
  request.paramBlockBytes = storageBytes;
  request.image = reinterpret_cast<const void *>(function->module->imageBegin);
  request.imageBytes = function->module->imageEnd - function->module->imageBegin;
  emu::LaunchResult result = emu::runLaunch(request, settings);
  function->staticShared = std::max(function->staticShared, result.staticShared);
  return result.fault == emu::Fault::None ? Result::Success : Driver::get().fault(result);
}

/// Blocks of a cooperative launch that the device holds at once, as far as threads and shared
/// memory say.
static uint64_t residentBlocks(const CUfunc_st &function, uint64_t threads, unsigned sharedBytes) {
  emu::Settings settings = emu::readSettings();
  if (!settings.multiprocessors)
    return UINT64_MAX;
  constexpr uint64_t kThreads = 2048;
  uint64_t shared = settings.sharedBytes + emu::kReservedShared,
           block = uint64_t(sharedBytes) + function.staticShared + emu::kReservedShared;
  return std::min(kThreads / threads, shared / block) * settings.multiprocessors;
}

Result makeKernelWork(Work &work, CUfunc_st *function, DlcEmuDim grid, DlcEmuDim block,
                      unsigned sharedBytes, void **parameters, bool cooperative, bool early) {
  uint64_t blocks = uint64_t(grid.x) * grid.y * grid.z;
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  if (!function || !blocks || !threads || blocks > 0xffffffffu || grid.x > 0x7fffffffu ||
      grid.y > 65535 || grid.z > 65535 || block.x > 1024 || block.y > 1024 || block.z > 64 ||
      threads > function->maxThreads || sharedBytes > function->maxDynamicShared ||
      sharedBytes + function->staticShared > unsigned(emu::readSettings().sharedBytes))
    return Result::InvalidValue;
  constexpr unsigned kPortable = 8, kLargest = 16; // blocks of a cluster
  unsigned largest = function->mayHaveLargeClusters ? kLargest : kPortable;
  if (grid.x % function->cluster || function->cluster > largest ||
      (function->cluster > 1 && emu::readSettings().arch < 90))
    return Result::InvalidClusterSize;
  if (cooperative && function->cluster > 1)
    return Result::NotSupported;
  if (cooperative && blocks > residentBlocks(*function, threads, sharedBytes))
    return Result::CooperativeLaunchTooLarge;
  constexpr size_t kAlign = 64; // a tensor map's
  auto call = std::make_shared<KernelCall>();
  call->function = function;
  call->grid = grid;
  call->block = block;
  call->sharedBytes = sharedBytes;
  call->cooperative = cooperative;
  call->early = early;
  for (unsigned bytes : function->paramBytes)
    call->storageBytes += (bytes + kAlign - 1) / kAlign * kAlign;
  call->storage = {
      static_cast<unsigned char *>(std::aligned_alloc(kAlign, call->storageBytes + kAlign)),
      std::free};
  size_t offset = 0;
  for (size_t i = 0; i < function->paramBytes.size(); ++i) {
    std::memcpy(call->storage.get() + offset, parameters[i], function->paramBytes[i]);
    call->params.push_back(call->storage.get() + offset);
    offset += (function->paramBytes[i] + kAlign - 1) / kAlign * kAlign;
  }
  work.kind = WorkKind::Kernel;
  work.kernel = call;
  work.run = [call] { return call->run(); };
  return Result::Success;
}

extern "C" {

Result cuModuleLoadData(Module *module, const void *image) {
  DLC_EMU_ENTER();
  if (Result result = driver.notWhileCapturing(); result != Result::Success)
    return result;
  return loadImage(module, image);
}

Result cuModuleLoadDataEx(Module *module, const void *image, unsigned count, JitOption *options,
                          void **values) {
  DLC_EMU_ENTER();
  if (Result result = driver.notWhileCapturing(); result != Result::Success)
    return result;
  Result result = loadImage(module, image);
  for (unsigned i = 0; i < count; ++i)
    if (options[i] == JitOption::ErrorLogBuffer && values[i])
      std::strcpy(static_cast<char *>(values[i]), ""); // reports go to dlcEmuLastReport()
  return result;
}

Result cuModuleUnload(Module module) {
  DLC_EMU_ENTER_CLEANUP();
  Result result = driver.drainAll();
  delete module;
  --driver.made.modules;
  return result;
}

Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  DLC_EMU_ENTER();
  std::unique_ptr<CUfunc_st> &slot = module->functions[name];
  if (!slot) {
    std::string symbol = std::string(name) + "_dlc_emu";
    auto *info = static_cast<const DlcEmuKernelInfo *>(dlsym(module->library, symbol.c_str()));
    if (!info) {
      module->functions.erase(name);
      return Result::NotFound;
    }
    slot = std::make_unique<CUfunc_st>();
    slot->name = name;
    slot->module = module;
    slot->call = info->call;
    slot->maxThreads = info->maxThreads;
    slot->cluster = info->cluster;
    slot->paramBytes.assign(info->paramBytes, info->paramBytes + info->paramCount);
  }
  *function = slot.get();
  return Result::Success;
}

Result cuFuncGetAttribute(int *value, FunctionAttribute attribute, Function function) {
  DLC_EMU_ENTER();
  switch (attribute) {
  case FunctionAttribute::MaxThreadsPerBlock:
    *value = static_cast<int>(function->maxThreads);
    return Result::Success;
  case FunctionAttribute::SharedSizeBytes:
    *value = static_cast<int>(function->staticShared);
    return Result::Success;
  case FunctionAttribute::MaxDynamicSharedSizeBytes:
    *value = static_cast<int>(function->maxDynamicShared);
    return Result::Success;
  case FunctionAttribute::NumRegs:
    *value = 32; // the host compiler allots no device registers
    return Result::Success;
  case FunctionAttribute::PtxVersion:
  case FunctionAttribute::BinaryVersion:
    *value = emu::readSettings().arch;
    return Result::Success;
  case FunctionAttribute::NonPortableClusterSizeAllowed:
    *value = function->mayHaveLargeClusters;
    return Result::Success;
  case FunctionAttribute::ConstSizeBytes:
  case FunctionAttribute::LocalSizeBytes:
  case FunctionAttribute::PreferredSharedMemoryCarveout:
    *value = 0;
    return Result::Success;
  }
  return Result::InvalidValue;
}

Result cuFuncSetAttribute(Function function, FunctionAttribute attribute, int value) {
  DLC_EMU_ENTER();
  if (attribute == FunctionAttribute::PreferredSharedMemoryCarveout)
    return Result::Success;
  if (attribute == FunctionAttribute::NonPortableClusterSizeAllowed) {
    function->mayHaveLargeClusters = value != 0;
    return Result::Success;
  }
  if (attribute != FunctionAttribute::MaxDynamicSharedSizeBytes || value < 0 ||
      value + static_cast<int>(function->staticShared) > emu::readSettings().sharedBytes)
    return Result::InvalidValue;
  function->maxDynamicShared = static_cast<unsigned>(value);
  return Result::Success;
}

static Result launchKernel(Function function, DlcEmuDim grid, DlcEmuDim block, unsigned sharedBytes,
                           Stream stream, void **parameters, bool cooperative, bool early = false) {
  DLC_EMU_ENTER();
  Work work;
  Result result =
      makeKernelWork(work, function, grid, block, sharedBytes, parameters, cooperative, early);
  return result == Result::Success ? driver.submit(stream, std::move(work)) : result;
}

Result cuLaunchKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream stream, void **parameters, void **extra) {
  if (extra)
    return Result::NotSupported;
  return launchKernel(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes,
                      stream, parameters, false);
}

/// One block takes a multiprocessor, and all of these are one group.
Result cuOccupancyMaxActiveClusters(int *clusters, Function function, const LaunchConfig *) {
  DLC_EMU_ENTER();
  int multiprocessors = emu::readSettings().multiprocessors;
  *clusters = multiprocessors ? multiprocessors / static_cast<int>(function->cluster) : 1;
  return Result::Success;
}

Result cuLaunchKernelEx(const LaunchConfig *config, Function function, void **parameters,
                        void **extra) {
  if (extra)
    return Result::NotSupported;
  bool early = false;
  for (unsigned i = 0; i < config->attributeCount; ++i) {
    const LaunchAttribute &attribute = config->attributes[i];
    if (attribute.id != LaunchAttribute::kProgrammaticStreamSerialization)
      return Result::NotSupported;
    early = attribute.isAllowed != 0;
  }
  if (early && emu::readSettings().arch < 90)
    return Result::NotSupported;
  return launchKernel(function, {config->gridX, config->gridY, config->gridZ},
                      {config->blockX, config->blockY, config->blockZ}, config->sharedBytes,
                      config->stream, parameters, false, early);
}

Result cuLaunchCooperativeKernel(Function function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, Stream stream, void **parameters) {
  return launchKernel(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes,
                      stream, parameters, true);
}

Result cuTensorMapEncodeTiled(void *map, int dataType, unsigned rank, void *base,
                              const unsigned long long *extents, const unsigned long long *strides,
                              const unsigned *box, const unsigned *elementStrides, int interleave,
                              int swizzle, int, int outOfBoundsFill) {
  // By CUtensorMapDataType: u8 u16 u32 i32 u64 i64 f16 f32 f64 bf16 and f32/tf32 variants.
  static const unsigned kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  constexpr int kSwizzle128 = 3, kTf32 = 11;
  if (dataType < 0 || dataType >= int(sizeof kBytes / sizeof *kBytes))
    return Result::InvalidValue;
  if (rank != 2 || interleave != 0 || outOfBoundsFill != 0 ||
      (swizzle != 0 && swizzle != kSwizzle128) || elementStrides[0] != 1 || elementStrides[1] != 1)
    return Result::NotSupported;
  unsigned bytes = kBytes[dataType];
  unsigned rowBytes = box[0] * bytes;
  if (reinterpret_cast<uintptr_t>(base) % 16 || strides[0] % 16 || rowBytes % 16 || !box[0] ||
      !box[1] || box[0] > 256 || box[1] > 256 || !extents[0] || !extents[1] ||
      (swizzle && rowBytes > 128))
    return Result::InvalidValue;
  if (swizzle && rowBytes != 128)
    return Result::NotSupported;
  emu::TensorMap encoded{emu::TensorMap::kMagic,   static_cast<const unsigned char *>(base),
                         {extents[0], extents[1]}, strides[0],
                         {box[0], box[1]},         bytes,
                         dataType >= kTf32,        swizzle ? 128u : 0u};
  std::memset(map, 0, 128);
  std::memcpy(map, &encoded, sizeof encoded);
  return Result::Success;
}

} // extern "C"
} // namespace dlc::cuda
