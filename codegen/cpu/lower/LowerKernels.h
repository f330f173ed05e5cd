//===- LowerKernels.h - CPU kernel IR to the LLVM dialect ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_CPU_LOWER_LOWERKERNELS_H
#define DLC_CODEGEN_CPU_LOWER_LOWERKERNELS_H

#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace dlc::codegen {

/// Gives every function of `module` the calling convention of runtime/schema/KernelAbi.h. A kernel
/// in kernel IR is
///   func.func @k(buffers: memref<?xT>..., dims: index..., begin: index, end: index, scratch:
///   memref<?xi8>)
/// and becomes func.func @k(args: !llvm.ptr, begin: i64, end: i64, scratch: !llvm.ptr).
mlir::LogicalResult lowerKernelAbi(mlir::ModuleOp module);

/// Conversions between floats that x86 would call a library for, as bit arithmetic: to bf16, and
/// from f64 to f16.
void populateFloatConversionPatterns(mlir::RewritePatternSet &patterns);

/// Quotients and remainders of vectors of integers of up to 32 bits by those of floats.
void populateIntegerDivisionPatterns(mlir::RewritePatternSet &patterns);

/// Floats that are converted to integers of at most 16 bits, and quotients by a constant that are
/// rounded before that.
void populateSaturationPatterns(mlir::RewritePatternSet &patterns);

/// Makes the conversion to LLVM hold bf16 as i16: no arithmetic on it is left by then, and x86
/// would move masked vectors of it by way of a library.
void lowerBFloat16ToIntegers(mlir::LLVMTypeConverter &converter, mlir::RewritePatternSet &patterns);

/// Kernel IR (func, scf, memref, vector, arith, math) to the LLVM dialect: math functions become
/// arithmetic first, the calling convention becomes that of the runtime. What it needs to know is
/// put together once for all modules.
class KernelLowering {
public:
  /// Loads the dialects into which it lowers.
  explicit KernelLowering(mlir::MLIRContext *context);
  /// Lowers `module` in place; on several threads at a time, each with a module of its own. Fails
  /// after an error.
  mlir::LogicalResult lower(mlir::ModuleOp module) const;

private:
  mlir::LLVMTypeConverter converter;
  mlir::ConversionTarget flat;
  mlir::LLVMConversionTarget target;
  mlir::FrozenRewritePatternSet expansions, toBlocks, toLlvm;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_LOWER_LOWERKERNELS_H
