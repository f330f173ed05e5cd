//===- Kernels.h - From the package's CUDA text to functions on a device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_H
#define DLC_RUNTIME_CUDA_KERNELS_H

#include "runtime/core/package/Module.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "runtime/schema/Residence.h"

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
  bool noJit = false;                ///< take code of the package only
  const char *cacheFolder = nullptr; ///< as KernelCache::folderFor takes it
  CompileProgress progress;
  bool all = false; ///< those too that others always stand in for on this GPU
};

/// The loaded kernels of a program, by index. Move-only; made and destroyed with the device's context current.
class Kernels {
public:
  Kernels() = default;
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  /// Loads the code that the package has for the device; where it has none, or the driver does not take
  /// it, compiles the sources. Checks that each kernel's launches fit the device. DLC_UNSUPPORTED where code
  /// is missing and may not be compiled; DLC_INTERNAL with the compiler's log where text does not compile.
  rt::Status build(GpuDevice &device, const rt::Module &module, const schema::Program &program,
                   const KernelOptions &options);

  Function operator[](uint32_t kernel) const { return functions[kernel]; }
  /// What planProgram takes: 90 where launches for sm_90a alone can be made, else 0.
  int specialGpu() const { return special; }
  /// Whether kernels that wait for those before them do so on this device.
  bool haveWaits() const { return !isForOlder; }
  /// What one may wish to know of how the code was found; empty where there is nothing.
  const std::string &remarks() const { return notes; }

private:
  rt::Status load(GpuDevice &device, const std::string &name, const void *image, size_t source,
                  Result &result);
  rt::Status loadPackaged(GpuDevice &device, const rt::Module &module,
                          const std::vector<KernelText> &texts, const KernelOptions &options,
                          const schema::Program &program, const std::vector<bool> &wanted,
                          std::vector<size_t> &missing);
  rt::Status compile(GpuDevice &device, const std::vector<KernelText> &texts,
                     const std::vector<size_t> &missing, const KernelOptions &options);
  /// Decides about special launches, and marks the kernels that can be launched.
  std::vector<bool> chooseKernels(const GpuDevice &device, const schema::Program &program,
                                  const KernelOptions &options);
  rt::Status find(GpuDevice &device, const schema::Program &program, uint32_t kernel,
                  int64_t dynamicShared);

  GpuDevice *owner = nullptr;
  std::vector<Module> modules; ///< by source; null where it is not loaded
  std::vector<Function> functions;
  std::string notes;
  int special = 0;
  bool isForOlder = false; ///< some code was made for GPUs before sm_90, which cannot wait
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_H
