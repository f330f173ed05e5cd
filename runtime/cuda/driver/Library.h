//===- Library.h - The CUDA driver, NVRTC and cuBLASLt, loaded at run time ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_LIBRARY_H
#define DLC_RUNTIME_CUDA_DRIVER_LIBRARY_H

#include "runtime/core/Status.h"
#include "runtime/cuda/driver/CublasLtAbi.h"
#include "runtime/cuda/driver/DriverAbi.h"

#include <string>
#include <vector>

namespace dlc::cuda {

/// The driver's functions, one pointer for each row of Symbols.def.
struct Driver {
#define DLC_DRIVER(member, symbol, parameters) Result(*member) parameters = nullptr;
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters) Result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"

  std::string path;
  int version = 0; ///< 13000: the newest CUDA that the driver serves

  /// The library that DLC_LIBCUDA names, else libcuda.so.1; initialised. One for the process and
  /// path, never unloaded. DLC_UNSUPPORTED with the reason where CUDA is unusable.
  static rt::Expected<const Driver *> open();

  /// "CUDA_ERROR_OUT_OF_MEMORY (out of memory)".
  std::string explain(Result result) const;
};

/// What is known of an NVRTC: enough to look for code that it made, without loading it.
struct NvrtcFacts {
  int major = 0, minor = 0;
  std::vector<int> architectures; ///< 80 for sm_80
  std::string identity;           ///< what else tells one from another of the same version

  bool operator==(const NvrtcFacts &) const = default;
};

/// NVRTC's functions.
struct Nvrtc {
#define DLC_NVRTC(member, symbol, result, parameters) result(*member) parameters = nullptr;
#define DLC_NVRTC_OPTIONAL(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"

  std::string path; ///< by which it was found
  NvrtcFacts facts;

  /// The library that DLC_LIBNVRTC names; else the first found of the loader's path, CUDA_HOME,
  /// CUDA_PATH, /usr/local/cuda and the nvidia-cuda-nvrtc wheel: of the major version that the
  /// driver (13000; 0: none) runs code of first.
  static rt::Expected<const Nvrtc *> open(int driverVersion);

  /// "NVRTC 13.0 (/usr/lib/libnvrtc.so.13)".
  std::string describe() const;
  /// The file that was loaded; empty where the loader does not tell.
  std::string file() const;
};

/// cuBLASLt's functions.
struct CublasLt {
#define DLC_CUBLASLT(member, symbol, result, parameters) result(*member) parameters = nullptr;
#include "runtime/cuda/driver/Symbols.def"

  std::string path;   ///< by which it was found
  size_t version = 0; ///< 130002: 13.0.2

  /// The library that DLC_LIBCUBLASLT names; else the first found where NVRTC is looked for, or in
  /// the nvidia-cublas wheel: of the major version that the driver (13000; 0: none) runs first.
  /// DLC_UNSUPPORTED, with the reason, where there is none: dlc's own kernels compute everything
  /// that it does.
  static rt::Expected<const CublasLt *> open(int driverVersion);

  std::string versionText() const; ///< "13.0.2"
  /// "cuBLASLt 13.0.2 (/usr/lib/libcublasLt.so.13)".
  std::string describe() const;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_LIBRARY_H
