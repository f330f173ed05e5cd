//===- KernelCompiler.h - From CUDA text to cubins ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime does at load and `dlc compile --target sm_90a` ahead of time: look into the
// cache, compile the rest with NVRTC on several threads, keep it. NVRTC is loaded only where
// something must be compiled: loading it takes longer than a small model from the cache.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_KERNELCOMPILER_H
#define DLC_RUNTIME_CUDA_KERNELS_KERNELCOMPILER_H

#include "runtime/core/Status.h"
#include "runtime/cuda/driver/Architecture.h"
#include "runtime/cuda/driver/Library.h"
#include "runtime/cuda/kernels/KernelCache.h"
#include "runtime/cuda/kernels/KernelText.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace dlc::cuda {

/// What to compile for: an architecture, as machine code, or as PTX that the driver compiles on.
struct CompileTarget {
  Architecture arch;
  bool toPtx = false;

  std::string option() const;
};

/// Told how many of the kernels to compile are done, first with 0. Called on the thread that
/// compiles.
using CompileProgress = std::function<void(size_t done, size_t total)>;

class KernelCompiler {
public:
  /// `driverVersion`: 13000, or 0 where code shall be made without a driver. `cacheFolder`: null
  /// for the environment's, empty for none.
  KernelCompiler(int driverVersion, const char *cacheFolder);

  /// For a device of this machine: its own architecture, or, where NVRTC is older than the device,
  /// the newest that it knows as PTX. `deviceName` is for messages.
  rt::Expected<CompileTarget> targetFor(int device, const std::string &deviceName);
  /// DLC_USAGE, naming what is known, where NVRTC cannot compile for it.
  rt::Status check(const Architecture &arch);

  /// Sets `images` to the code of each text, in their order; equal texts are compiled once.
  /// DLC_INTERNAL with the compiler's log where a text does not compile.
  rt::Status compile(const std::vector<KernelText> &texts, const CompileTarget &target,
                     std::vector<std::string> &images, const CompileProgress &progress = {});

  /// The version by which code is made: of the NVRTC that is loaded, or would be. Known after
  /// targetFor(), check() or compile().
  const NvrtcFacts &compilerFacts() const { return *facts; }
  const KernelCache &kernelCache() const { return cache; }

private:
  /// Makes `facts` known: by the note in the cache, or by loading NVRTC.
  rt::Status learn();
  /// Loads NVRTC; `facts` are its own then.
  rt::Status load();
  std::string noteName() const;
  bool readNote();
  void writeNote() const;
  std::string keyOf(const std::string &digest, const CompileTarget &target) const;

  int driverVersion;
  KernelCache cache;
  std::optional<NvrtcFacts> facts;
  const Nvrtc *nvrtc = nullptr;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_KERNELCOMPILER_H
