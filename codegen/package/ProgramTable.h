//===- ProgramTable.h - One target's program as the package stores it ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_PROGRAMTABLE_H
#define DLC_CODEGEN_PACKAGE_PROGRAMTABLE_H

#include "codegen/package/ExpressionTable.h"
#include "codegen/package/Package.h"
#include "ir/dlx/DLXOps.h"

#include "llvm/ADT/StringMap.h"

namespace dlc::codegen {

/// Weights of the whole module, each name once, in the order in which the programs name them.
class WeightTable {
public:
  /// Index of the weight, which `op` may be the first to name.
  uint32_t add(dlx::WeightOp op);
  llvm::ArrayRef<dlx::WeightOp> getWeights() const { return weights; }

private:
  llvm::StringMap<uint32_t> indices;
  std::vector<dlx::WeightOp> weights;
};

/// Converts `module @cpu` or `module @cuda` (`target`), which is past the buffers phase. Kernels
/// name code by `entry`; images and CUDA headers are the caller's to add (`headerIndex` maps a
/// header's name to its index).
mlir::FailureOr<schema::ProgramT> buildProgram(mlir::ModuleOp module, schema::Target target,
                                               const GeneratedCode &code,
                                               const std::map<std::string, uint32_t> &headerIndex,
                                               ExpressionTable &expressions, WeightTable &weights);

schema::DType dtypeOf(mlir::Type elementType);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_PROGRAMTABLE_H
