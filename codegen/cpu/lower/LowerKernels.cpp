//===- LowerKernels.cpp - CPU kernel IR to the LLVM dialect -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "ir/scalar/MathExpansion.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace dlc::codegen {

static MLIRContext *withDialects(MLIRContext *context) {
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                       math::MathDialect, ub::UBDialect>();
  return context;
}

KernelLowering::KernelLowering(MLIRContext *context)
    : converter(withDialects(context)), flat(*context), target(*context) {
  RewritePatternSet expand(context);
  populateMathExpansionPatterns(expand);
  populateFloatConversionPatterns(expand);
  populateIntegerDivisionPatterns(expand);
  populateSaturationPatterns(expand);
  arith::populateCeilFloorDivExpandOpsPatterns(expand);
  expansions = std::move(expand);

  flat.addIllegalDialect<scf::SCFDialect>();
  flat.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  RewritePatternSet flatten(context);
  populateSCFToControlFlowConversionPatterns(flatten);
  toBlocks = std::move(flatten);

  // One conversion for all dialects: a chain of passes leaves casts between vectors and memrefs
  // behind.
  target.addLegalOp<ModuleOp>();
  // The casts that give pointers as memrefs fold away after it.
  target.addLegalOp<UnrealizedConversionCastOp>();
  RewritePatternSet convert(context);
  lowerBFloat16ToIntegers(converter, convert);
  populateFuncToLLVMConversionPatterns(converter, convert);
  cf::populateControlFlowToLLVMConversionPatterns(converter, convert);
  populateVectorToLLVMConversionPatterns(converter, convert);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, convert);
  populateMathToLLVMConversionPatterns(converter, convert);
  arith::populateArithToLLVMConversionPatterns(converter, convert);
  ub::populateUBToLLVMConversionPatterns(converter, convert);
  toLlvm = std::move(convert);
}

/// Gives vectors in memory the alignment of their elements. For an access without one the
/// conversion makes an LLVM context to ask for the alignment.
static void alignVectors(ModuleOp module) {
  module.walk([](Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<vector::LoadOp, vector::StoreOp, vector::MaskedLoadOp, vector::MaskedStoreOp>(
            [](auto access) {
              Type element = access.getMemRefType().getElementType();
              unsigned bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
              if (!access.getAlignment() && bits >= 8 && bits <= 64 && llvm::isPowerOf2_32(bits))
                access.setAlignment(bits / 8);
            });
  });
}

LogicalResult KernelLowering::lower(ModuleOp module) const {
  // The greedy driver also folds and drops what the schedule left dead.
  if (failed(applyPatternsGreedily(module, expansions)))
    return module.emitError("expansion of math functions did not end");
  alignVectors(module);
  if (failed(lowerKernelAbi(module)) || failed(applyPartialConversion(module, flat, toBlocks)) ||
      failed(applyFullConversion(module, target, toLlvm)))
    return failure();
  SmallVector<UnrealizedConversionCastOp> casts;
  module.walk([&](UnrealizedConversionCastOp cast) { casts.push_back(cast); });
  reconcileUnrealizedCasts(casts);
  return success();
}

} // namespace dlc::codegen
