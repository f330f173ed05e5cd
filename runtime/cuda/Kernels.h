//===- Kernels.h - From the package's CUDA text to functions on a device --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_H
#define DLC_RUNTIME_CUDA_KERNELS_H

#include "runtime/core/Module.h"
#include "runtime/cuda/Device.h"

#include <vector>

namespace dlc::cuda {

/// The loaded kernels of a program, by index. Move-only; made and destroyed with the device's context current.
class Kernels {
public:
  Kernels() = default;
  ~Kernels();
  Kernels(const Kernels &) = delete;
  Kernels &operator=(const Kernels &) = delete;

  /// Compiles the program's sources with NVRTC, on as many threads as there are cores, loads them, and
  /// checks that each kernel's launches fit the device. DLC_INTERNAL with the compiler's log where text
  /// does not compile.
  rt::Status build(GpuDevice &device, const rt::Module &module, const schema::Program &program);

  Function operator[](uint32_t kernel) const { return functions[kernel]; }

private:
  rt::Status find(GpuDevice &device, const schema::Program &program, uint32_t kernel,
                  int64_t dynamicShared);

  GpuDevice *owner = nullptr;
  std::vector<Module> modules; ///< by source
  std::vector<Function> functions;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_H
