//===- LowerKernels.cpp - CPU kernel IR to the LLVM dialect ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "ir/scalar/MathExpansion.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/LLVMCommon/ConversionTarget.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
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
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/DialectConversion.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace dlc::codegen {

LogicalResult lowerKernels(ModuleOp module) {
  MLIRContext *context = module.getContext();
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect, LLVM::LLVMDialect,
                       math::MathDialect, ub::UBDialect>();
  // The greedy driver also folds and drops what the schedule left dead.
  RewritePatternSet expansions(context);
  populateMathExpansionPatterns(expansions);
  populateFloatConversionPatterns(expansions);
  populateIntegerDivisionPatterns(expansions);
  populateSaturationPatterns(expansions);
  arith::populateCeilFloorDivExpandOpsPatterns(expansions);
  if (failed(applyPatternsGreedily(module, std::move(expansions))))
    return module.emitError("expansion of math functions did not end");
  if (failed(lowerKernelAbi(module)))
    return failure();

  ConversionTarget flat(*context);
  flat.addIllegalDialect<scf::SCFDialect>();
  flat.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  RewritePatternSet toBlocks(context);
  populateSCFToControlFlowConversionPatterns(toBlocks);
  if (failed(applyPartialConversion(module, flat, std::move(toBlocks))))
    return failure();

  // One conversion for all dialects: a chain of passes leaves casts between vectors and memrefs behind.
  LLVMTypeConverter converter(context);
  LLVMConversionTarget target(*context);
  target.addLegalOp<ModuleOp>();
  // The casts that give pointers as memrefs fold away after it.
  target.addLegalOp<UnrealizedConversionCastOp>();
  RewritePatternSet patterns(context);
  lowerBFloat16ToIntegers(converter, patterns);
  populateFuncToLLVMConversionPatterns(converter, patterns);
  cf::populateControlFlowToLLVMConversionPatterns(converter, patterns);
  populateVectorToLLVMConversionPatterns(converter, patterns);
  populateFinalizeMemRefToLLVMConversionPatterns(converter, patterns);
  populateMathToLLVMConversionPatterns(converter, patterns);
  arith::populateArithToLLVMConversionPatterns(converter, patterns);
  ub::populateUBToLLVMConversionPatterns(converter, patterns);
  if (failed(applyFullConversion(module, target, std::move(patterns))))
    return failure();
  PassManager cleanup(context);
  cleanup.addPass(createReconcileUnrealizedCastsPass());
  return cleanup.run(module);
}

} // namespace dlc::codegen
