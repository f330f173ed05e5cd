//===- CudaProgram.h - A module's program made ready for a GPU -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_CUDAPROGRAM_H
#define DLC_RUNTIME_CUDA_CUDAPROGRAM_H

#include "runtime/core/package/Module.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cuda/driver/Device.h"
#include "runtime/cuda/kernels/Kernels.h"

#include <map>
#include <memory>
#include <vector>

namespace dlc::cuda {

/// A kernel's launch as the driver takes it. It can be moved: parameters point to what the vectors
/// hold.
struct LaunchParameters {
  std::vector<uint64_t> values; ///< a pointer and a dim have eight bytes each
  std::vector<TensorMap> maps;
  std::vector<void *> parameters;
  Function function = nullptr;
  unsigned grid[3] = {}, block[3] = {}, sharedBytes = 0;

  LaunchParameters() = default;
  LaunchParameters(LaunchParameters &&) = default;
  LaunchParameters &operator=(LaunchParameters &&) = default;
  /// The driver would do the same.
  bool isSame(const LaunchParameters &other) const;
};

/// The state that all contexts of a module share on one GPU: kernels, and one block with the
/// weights that the main program reads and what the init program made of the others.
class CudaProgram : public rt::PreparedProgram {
public:
  /// The options are those of the first context on the device; the others share what it made.
  static rt::Expected<std::shared_ptr<CudaProgram>> get(rt::Module &module, int ordinal,
                                                        const KernelOptions &options);
  ~CudaProgram() override;

  GpuDevice &device() const { return *gpu; }
  const std::shared_ptr<GpuDevice> &sharedDevice() const { return gpu; }
  const schema::Program &program() const { return table; }
  /// The variants of launches that can be made on the GPU.
  rt::VariantUse variants() const { return kernels->variants(); }
  /// Makes the kernels of the plan ready that are not yet: compiles those of variants that no shape
  /// has asked for before. The context is current.
  rt::Status require(const rt::Plan &plan, const KernelOptions &options) const {
    return kernels->require(plan.commands, options);
  }
  /// The bytes of the weights that the main program reads as they are in the file.
  int64_t weightBytes() const { return weights.bytes; }
  std::string remarks() const { return kernels->remarks(); }

  /// Sets the addresses of weights and persistent buffers and of their views.
  void resolve(const rt::Plan &plan, std::vector<DevicePtr> &addresses) const;

  /// Enqueues one command; the context is current. `early`: a kernel may begin before the one
  /// before it has ended, where GPU, driver and its code allow that.
  rt::Status enqueue(const rt::Plan &plan, const rt::PlannedCommand &command,
                     const std::vector<DevicePtr> &addresses, Stream stream, bool early) const;
  /// Makes a graph's node what enqueue() would make of the command: the same launch, or a copy, of
  /// whatever shape. `last` has what a launch's node was given last, and becomes what it has now;
  /// where that is the same the driver is not called.
  rt::Status patch(GraphExec graph, GraphNode node, const rt::Plan &plan,
                   const rt::PlannedCommand &command, const std::vector<DevicePtr> &addresses,
                   LaunchParameters &last) const;

private:
  CudaProgram(const rt::Module &module, const schema::Program &table,
              std::shared_ptr<GpuDevice> gpu)
      : module(module), table(table), gpu(std::move(gpu)) {}
  rt::Status describe(const rt::PlannedCommand &command, const std::vector<DevicePtr> &addresses,
                      LaunchParameters &launch) const;
  rt::Status prepare(const KernelOptions &options);
  /// A block of weights, then persistent buffers.
  struct Weights {
    DeviceBlock block;
    std::map<uint32_t, int64_t> offsets; ///< by weight
    int64_t bytes = 0;                   ///< of the weights
  };
  rt::Status upload(const rt::Plan &plan, bool isTemporary, Stream stream);
  rt::Status runInit(const rt::Plan &plan, Stream stream) const;
  void releasePages() const;
  bool mayBeginEarly(const schema::Kernel &kernel) const;
  Result encode(TensorMap &map, const rt::PlannedMap &planned, DevicePtr address) const;

  const rt::Module &module; ///< owns this
  const schema::Program &table;
  std::shared_ptr<GpuDevice> gpu;
  std::unique_ptr<Kernels> kernels;
  Weights weights;
  Weights temporaries; ///< what the init program alone uses, while it runs
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_CUDAPROGRAM_H
