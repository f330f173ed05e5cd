//===- CudaText.h - Kernel IR as CUDA C++ text -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The way out of kernel IR on the CUDA side: one gpu.func becomes one readable translation unit over the dlc:: vocabulary.
// A hand-scheduled kernel (tensor cores, attention) will be the same with one `kernel_template` region op: it gets a case
// in KernelPrinter::statement that prints a call of the named template with its regions as lambdas, and its header's name
// goes into CudaText::headers. Nothing else of the printer knows about it.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_CUDATEXT_H
#define DLC_CODEGEN_CUDA_CUDATEXT_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <string>
#include <vector>

namespace dlc::codegen {

struct CudaText {
  std::string text;
  /// Names of the device headers that `text` includes, its own includes first.
  std::vector<std::string> headers;
};

/// Prints `kernel`, a gpu.func marked `kernel` with a known block size. `comment` lines stand at the head as comments; they
/// may hold anything. Fails with a diagnostic that names the op and the kernel where the text cannot say what the IR does.
///
/// What the printer reads beside the ops:
///   dlc.role (string, on ops, function arguments and workgroup attributions): the identifier of the value. Only
///     schedules set it, from their own words: strings of the user never become code.
///   dlc.roles (strings, on scf.for): identifiers of the induction variable and the carried values.
///   dlc.unroll (on scf.for): unit, or how often to unroll.
///   dlc.index_bits (on the function): 32 where every index value fits, else 64.
///   llvm.noalias (on arguments): no other argument reaches these bytes if they are written.
llvm::FailureOr<CudaText> printKernel(mlir::gpu::GPUFuncOp kernel, llvm::ArrayRef<std::string> comment = {});

/// Registers `--mlir-to-cuda` of dlc-translate: prints every kernel of a module.
void registerCudaTranslation();

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_CUDATEXT_H
