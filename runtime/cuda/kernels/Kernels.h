//===- Kernels.h - From the package's CUDA text to functions on a device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_KERNELS_H
#define DLC_RUNTIME_CUDA_KERNELS_KERNELS_H

#include "runtime/core/package/Module.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "runtime/schema/Residence.h"

#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace dlc::cuda {

/// The sources of a program, in its order, each named by a kernel in it.
std::vector<KernelText> kernelTexts(const schema::Module &module, const schema::Program &program);

/// Blocks of a persistent launch on the device, of the `blocks` of its grid, and the dynamic shared
/// memory of each, at least `scratchBytes`.
abi::Spread spreadOf(const GpuDevice &device, const schema::Launch &launch, int64_t blocks,
                     int64_t scratchBytes);

/// How kernels become code.
struct KernelOptions {
  bool noJit = false;                     ///< take code of the package only
  std::optional<std::string> cacheFolder; ///< as KernelCache::folderFor takes it
  CompileProgress progress;
};

/// The kernels of a program, by index, as far as they were asked for. Made and destroyed with the
/// device's context current; several threads may ask for kernels, and each may use those that it
/// has asked for.
class Kernels {
public:
  Kernels() = default;
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  /// Makes ready what runs at load and what runs under all shapes.
  ///
  /// Loads the code that the package has for the device; where it has none, or the driver does not
  /// take it, compiles the sources. Checks that each kernel's launches fit the device.
  /// DLC_UNSUPPORTED where code is missing and may not be compiled; DLC_INTERNAL with the
  /// compiler's log where text does not compile.
  rt::Status build(GpuDevice &device, const rt::Module &module, const schema::Program &program,
                   const KernelOptions &options);
  /// Makes ready, in the same way, the kernels of `commands` that are not yet.
  rt::Status require(const std::vector<rt::PlannedCommand> &commands, const KernelOptions &options);

  Function operator[](uint32_t kernel) const { return functions[kernel]; }
  /// The variants of launches that can be made on this device.
  rt::VariantUse variants() const {
    return {.any = true, .chains = true, .gpu = special, .usable = &usable};
  }
  /// Whether kernels that wait for those before them do so on this device.
  bool haveWaits() const { return !isForOlder; }
  /// What one may wish to know of how the code was found; empty where there is nothing.
  std::string remarks() const {
    std::lock_guard<std::mutex> lock(making);
    return notes;
  }

private:
  /// Makes the kernels ready that are `wanted`, by index, and are not.
  rt::Status make(const std::vector<bool> &wanted, const KernelOptions &options);
  rt::Status load(GpuDevice &device, const std::string &name, const void *image, size_t source,
                  Result &result);
  rt::Status loadPackaged(const std::vector<KernelText> &texts, const KernelOptions &options,
                          const std::vector<bool> &wanted, std::vector<size_t> &missing);
  rt::Status compile(GpuDevice &device, const std::vector<KernelText> &texts,
                     const std::vector<size_t> &missing, const KernelOptions &options);
  void findUsable(const KernelOptions &options);
  void findDynamicShared();
  /// The package has code of the kernel for this device.
  bool hasCubin(uint32_t kernel) const;
  /// Marks the chains that cannot be launched on this device; true where there are any.
  bool giveUpChains();
  /// The kernels that are launched whatever the shapes are.
  std::vector<bool> kernelsOfAllShapes() const;
  rt::Status find(uint32_t kernel);

  GpuDevice *owner = nullptr;
  const rt::Module *module = nullptr;
  const schema::Program *program = nullptr;
  mutable std::mutex making;
  std::vector<Module> modules;        ///< by source; null where it is not loaded
  std::vector<Function> functions;    ///< null where it is not ready
  std::vector<bool> usable;           ///< there is code for this device, or it may be compiled
  std::vector<int64_t> chainBlocks;   ///< of a chain; 0 of other kernels
  std::vector<int64_t> dynamicShared; ///< bytes, the largest that any launch of a kernel asks for
  std::string notes;
  int special = 0; ///< 90 where launches for sm_90a alone can be made, else 0
  std::atomic<bool> isForOlder =
      false; ///< some code was made for GPUs before sm_90, which cannot wait
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_KERNELS_H
