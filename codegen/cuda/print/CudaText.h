//===- CudaText.h - Kernel IR as CUDA C++ text --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way out of kernel IR on the CUDA side: one gpu.func becomes one readable translation unit
// over the dlc:: vocabulary. A hand-scheduled kernel (tensor cores) is the same with one region op,
// dlk.call: a call of the named template with its regions as lambdas (KernelTemplateText.cpp); its
// header's name goes into CudaText::headers. Nothing else of the printer knows about it.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_PRINT_CUDATEXT_H
#define DLC_CODEGEN_CUDA_PRINT_CUDATEXT_H

#include "codegen/package/Package.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace dlc::codegen {

/// Prints `kernel`, a gpu.func marked `kernel` with a known block size. Fails with a diagnostic
/// that names the op and the kernel where the text cannot say what the IR does.
///
/// What the printer reads beside the ops:
///   dlc.role (string, on ops, function arguments and workgroup attributions): the identifier of
///   the value. Only
///     schedules set it, from their own words: strings of the user never become code.
///   dlc.comment (strings, on the function): lines of the comment at the head. They may hold
///   anything. dlc.roles (strings, on scf.for): identifiers of the induction variable and the
///   carried values. dlc.unroll (on scf.for): unit, or how often to unroll. dlc.grid_counter (on
///   gpu.barrier): number of the argument, the memory that blocks exchange, at whose kGridCounter
///   all
///     blocks of a cooperative launch meet.
///   dlc.index_bits (on the function): 32 where every index value fits, else 64.
///   dlc.resident_blocks (on the function): so many blocks that a multiprocessor must hold at once;
///   without it the device
///     compiler decides, and may save registers for more than there will be.
///   dlc.cluster (on the function): blocks of a cluster, neighbours along the grid's x; the text is
///   empty for GPUs
///     before sm_90.
///   dlc.cluster (on gpu.barrier): all blocks of the cluster meet.
///   dlc.sm_90a (on the function): the text is for that GPU alone, and empty for others.
///   dlc.begins (on the function): it is the call of a template, which begins the grid.
///   llvm.noalias (on arguments): no other argument reaches these bytes if they are written.
llvm::FailureOr<CudaText> printKernel(mlir::gpu::GPUFuncOp kernel);

/// Contents of every device header by name.
std::map<std::string, std::string> cudaHeaders();

/// Prints every kernel of `module`, one after another.
llvm::LogicalResult printKernels(mlir::Operation *module, llvm::raw_ostream &os);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_PRINT_CUDATEXT_H
