//===- KernelTable.h - Kernels by what they compute ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_OUTLINE_KERNELTABLE_H
#define DLC_PASSES_OUTLINE_KERNELTABLE_H

#include "ir/dlx/DLXOps.h"

namespace dlc {

/// Finds the kernel that computes what another body does, in time that does not grow with the
/// number of kernels. Kernels in the table must neither change nor be erased while it is asked.
class KernelTable {
public:
  /// The kernel, added before, whose body is that of `body`; null if there is none. It then stands
  /// for `body` too: it names `loc`, and its ops name the places of those in `body`, up to
  /// kMostPlaces each.
  dlx::KernelOp find(mlir::Region &body, mlir::Location loc);
  void add(dlx::KernelOp kernel);

  /// Places of the model that a kernel or an op of it names when others have been found to be the
  /// same. Nobody reads more, and a model of 10,000 equal layers would spend its time on lists of
  /// them.
  static constexpr size_t kMostPlaces = 256;

private:
  llvm::DenseMap<uint64_t, llvm::SmallVector<dlx::KernelOp, 1>> kernels; // by a hash of the body
};

} // namespace dlc

#endif // DLC_PASSES_OUTLINE_KERNELTABLE_H
