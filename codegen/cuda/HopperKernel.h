//===- HopperKernel.h - What is said of kernels for sm_90a alone -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A dlx.kernel may name a second one that computes the same with what one GPU alone has. Between the schedule, which makes
// it, and the package, which tells the runtime, stand these attributes.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_KERNELS_HOPPERKERNEL_H
#define DLC_CODEGEN_KERNELS_HOPPERKERNEL_H

#include "llvm/ADT/StringRef.h"

namespace dlc::codegen {

/// On the kernel for all GPUs: the symbol of the other one, and from how many blocks of that one's grid on it is faster.
inline constexpr llvm::StringLiteral kHopperKernel = "dlc.sm_90a",
                                     kHopperLeast = "dlc.sm_90a_least";
/// On the other one: an array with a dictionary for each tensor map that it takes behind its dims. `input` is the
/// kernel's input that the map describes, `shape` its columns, rows and elements from row to row (an affine map over
/// the module's symbols), `box` the columns and rows of what one copy brings, rows of 128 bytes.
inline constexpr llvm::StringLiteral kTensorMaps = "dlc.tensor_maps";
/// On the other one, and on any kernel: its blocks take tile after tile, so that the grid may be
/// smaller than it says.
inline constexpr llvm::StringLiteral kPersistent = "dlc.persistent";
/// On a persistent kernel: an array of integers, the number of columns of weights and the bytes of
/// one in turn, that its blocks keep in shared memory as far as a GPU takes them
/// (runtime/schema/Residence.h).
inline constexpr llvm::StringLiteral kKeptColumns = "dlc.kept_columns";

} // namespace dlc::codegen

#endif // DLC_CODEGEN_KERNELS_HOPPERKERNEL_H
