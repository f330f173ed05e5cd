//===- LibraryChoice.h - Which products cuBLASLt gets -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product that is nothing else may be computed by a call of cuBLASLt, where that is installed.
// The kernel is built in any case: the runtime takes the call in its place where both the GPU and
// the shapes are among those for which it was estimated to be faster, by as much as makes any later
// plan of the table win. So one file gives one answer on one device, every time.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_LIBRARYCHOICE_H
#define DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_LIBRARYCHOICE_H

#include "codegen/cuda/schedule/PlanQuestion.h"

namespace dlc::codegen {

/// A product as a library is asked for it: the attributes of dlx.kernel.
struct LibraryCall {
  mlir::AffineMap product;
  llvm::SmallVector<int64_t> inputs;
  bool tf32;
};

/// The call that computes what the kernel does; nullopt where a library cannot.
std::optional<LibraryCall> libraryCallOf(const Contraction &c, bool allowsTf32);

/// Where a call takes a kernel's place unasked.
enum class LibraryUse {
  asEstimated, // where it is estimated to be faster
  always,      // for all shapes on every GPU
  never,       // only where a run asks for calls
};

/// Writes the call, where there is one, on `kernel`, whose plan and variants are chosen, and on its
/// variants.
void recordLibraryCall(dlx::KernelOp kernel, PlanQuestion &question, LibraryUse use);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_SCHEDULE_CONTRACTION_LIBRARYCHOICE_H
