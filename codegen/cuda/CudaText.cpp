//===- CudaText.cpp - Kernel IR as CUDA C++ text ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/CudaText.h"

#include "codegen/cuda/KernelPrinter.h"
#include "ir/scalar/MathExpansion.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Tools/mlir-translate/Translation.h"

#include <map>

using namespace mlir;

namespace dlc::codegen {

/// Every text needs the vocabulary; templates of hand-scheduled kernels add theirs.
static constexpr const char *kVocabulary = "dlc_device.cuh";

/// The bodies of exp, log, tanh and erf where the kernel calls them, once for each type: both targets compute them by the
/// same arithmetic.
static LogicalResult printMathFunctions(llvm::raw_ostream &os, gpu::GPUFuncOp kernel, unsigned indexBits) {
  std::map<std::pair<std::string, bool>, Operation *> calls; // by name, then is double: in an order that never changes
  kernel.walk([&](Operation *op) {
    if (auto function = expandedMath(op))
      calls.insert({{mathFunctionName(*function).str(), op->getOperand(0).getType().isF64()}, op});
  });
  OpBuilder builder(kernel.getContext());
  for (auto &[key, op] : calls) {
    OwningOpRef<func::FuncOp> function = buildMathFunction(
        builder, op->getLoc(), "dlc_" + key.first, *expandedMath(op), getElementTypeOrSelf(op->getOperand(0).getType()));
    if (failed(KernelPrinter(os, indexBits).printDeviceFunction(*function)))
      return failure();
  }
  return success();
}

FailureOr<CudaText> printKernel(gpu::GPUFuncOp kernel, ArrayRef<std::string> comment) {
  CudaText result;
  result.headers.push_back(kVocabulary);
  llvm::raw_string_ostream os(result.text);
  for (const std::string &text : comment)
    os << "// " << cpp::commentText(text) << "\n";
  for (const std::string &header : result.headers)
    os << "#include \"" << header << "\"\n";
  os << "\n";
  unsigned indexBits = 64;
  if (auto bits = kernel->getAttrOfType<IntegerAttr>("dlc.index_bits"))
    indexBits = bits.getInt();
  if (indexBits != 32 && indexBits != 64)
    return kernel.emitError("cuda printer: dlc.index_bits is 32 or 64, got ") << indexBits;
  if (failed(printMathFunctions(os, kernel, indexBits)) ||
      failed(KernelPrinter(os, indexBits).printKernel(kernel)))
    return failure();
  return result;
}

void registerCudaTranslation() {
  static TranslateFromMLIRRegistration registration(
      "mlir-to-cuda", "print the kernels of a module as CUDA C++",
      [](Operation *module, llvm::raw_ostream &os) -> LogicalResult {
        WalkResult walked = module->walk([&](gpu::GPUFuncOp kernel) {
          SmallVector<std::string> comment;
          if (auto lines = kernel->getAttrOfType<ArrayAttr>("dlc.lines"))
            for (StringAttr text : lines.getAsRange<StringAttr>())
              comment.push_back(text.str());
          FailureOr<CudaText> text = printKernel(kernel, comment);
          if (failed(text))
            return WalkResult::interrupt();
          os << text->text;
          return WalkResult::advance();
        });
        return failure(walked.wasInterrupted());
      },
      [](DialectRegistry &registry) {
        registry.insert<arith::ArithDialect, func::FuncDialect, gpu::GPUDialect, math::MathDialect,
                        memref::MemRefDialect, scf::SCFDialect, ub::UBDialect, vector::VectorDialect>();
      });
}

} // namespace dlc::codegen
