//===- LibraryProduct.h - A launch as a call of cuBLASLt -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_KERNELS_LIBRARYPRODUCT_H
#define DLC_RUNTIME_CUDA_KERNELS_LIBRARYPRODUCT_H

#include "runtime/core/package/Plan.h"
#include "runtime/cuda/driver/Device.h"

#include <memory>
#include <string>
#include <vector>

namespace dlc::cuda {

/// One product under bound shapes: how the library shall compute it, chosen by the library.
/// Move-only.
class LibraryProduct {
public:
  LibraryProduct(LibraryProduct &&other) noexcept { *this = std::move(other); }
  LibraryProduct &operator=(LibraryProduct &&other) noexcept;
  ~LibraryProduct();

  /// Bytes of GPU memory, aligned to 256, that a call needs beside the matrices.
  size_t workspaceBytes() const { return workspace; }

private:
  friend class MatrixLibrary;
  explicit LibraryProduct(const CublasLt &blas) : blas(&blas) {}

  const CublasLt *blas = nullptr;
  BlasMatmul matmul = nullptr;
  BlasLayout layouts[3] = {}; ///< of the library's a (our b), b (our a) and d
  BlasAlgorithm algorithm = {};
  size_t workspace = 0;
  uint32_t buffers[3] = {}; ///< in the layouts' order
};

/// When a product that the library could compute is given to it.
enum class LibraryUse { estimated, never, always };

/// cuBLASLt on one GPU, loaded when the first product wants it. Whatever is wrong with it is no
/// failure: dlc's own kernel computes the product, and remarks() says why. Used with the device's
/// context current.
class MatrixLibrary {
public:
  MatrixLibrary(GpuDevice &device, LibraryUse use) : device(device), use(use) {}
  ~MatrixLibrary() { close(); }
  MatrixLibrary(const MatrixLibrary &) = delete;
  MatrixLibrary &operator=(const MatrixLibrary &) = delete;

  /// For each command of the plan the library's product, or null where the kernel is launched. An
  /// error is one after which the device is lost.
  rt::Status prepare(const rt::Plan &plan, std::vector<std::unique_ptr<LibraryProduct>> &products);

  /// Gives the library's handle back, where there is one; its products are gone.
  void close();

  /// Enqueues the product; false, with a remark, where the library does not do it.
  bool enqueue(const LibraryProduct &product, const std::vector<DevicePtr> &addresses,
               DevicePtr workspace, Stream stream);

  /// Sentences, a line each; empty where all is well.
  const std::string &remarks() const { return notes; }

private:
  bool open();
  std::unique_ptr<LibraryProduct> make(const rt::PlannedProduct &product);
  void note(const std::string &sentence);

  GpuDevice &device;
  LibraryUse use;
  const CublasLt *blas = nullptr;
  BlasHandle handle = nullptr;
  bool isClosed = false; ///< it was tried, and cannot be used
  std::string notes;
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_KERNELS_LIBRARYPRODUCT_H
