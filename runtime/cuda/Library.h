//===- Library.h - The CUDA driver and NVRTC, loaded at run time ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_LIBRARY_H
#define DLC_RUNTIME_CUDA_LIBRARY_H

#include "runtime/core/Status.h"
#include "runtime/cuda/DriverAbi.h"

#include <string>

namespace dlc::cuda {

/// The driver's functions, one pointer for each row of Symbols.def.
struct Driver {
#define DLC_DRIVER(member, symbol, parameters) Result(*member) parameters = nullptr;
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/cuda/Symbols.def"

  std::string path;
  int version = 0; ///< 13000: the newest CUDA that the driver serves

  /// The library that DLC_LIBCUDA names, else libcuda.so.1; initialised. One for the process and path,
  /// never unloaded. DLC_UNSUPPORTED with the reason where CUDA is unusable.
  static rt::Expected<const Driver *> open();

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string explain(Result result) const;
};

/// NVRTC's functions.
struct Nvrtc {
#define DLC_NVRTC(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/Symbols.def"

  std::string path;
  int major = 0, minor = 0;

  /// The library that DLC_LIBNVRTC names; else the first found of the loader's path, CUDA_HOME, CUDA_PATH,
  /// /usr/local/cuda and the nvidia-cuda-nvrtc wheel, of the driver's major version first.
  static rt::Expected<const Nvrtc *> open(const Driver &driver);
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_LIBRARY_H
