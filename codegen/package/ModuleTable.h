//===- ModuleTable.h - One module as the package stores it --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_MODULETABLE_H
#define DLC_CODEGEN_PACKAGE_MODULETABLE_H

#include "codegen/package/Package.h"
#include "codegen/package/ProgramTable.h"
#include "codegen/package/SegmentStore.h"

namespace dlc::codegen {

/// Builds the table of a module that holds `module @cpu`, `module @cuda` or both.
class ModuleTable {
public:
  ModuleTable(mlir::ModuleOp module, const GeneratedCode &code, ReadPacked readPacked,
              SegmentStore &store)
      : module(module), code(code), readPacked(readPacked), store(store) {}
  /// The segments that the table names are those of the store, which outlives the table.
  mlir::LogicalResult build(schema::ModuleT &result);

private:
  mlir::LogicalResult addPrograms();
  void addCpuImages(schema::ProgramT &program);
  void addCudaBinaries(schema::ProgramT &program);
  mlir::LogicalResult addWeights();
  mlir::LogicalResult addSignature(dlx::ProgramOp program);
  mlir::FailureOr<llvm::ArrayRef<uint8_t>> bytesOf(dlx::WeightOp weight, uint64_t count);
  void addNeeds();

  mlir::ModuleOp module;
  const GeneratedCode &code;
  ReadPacked readPacked;
  SegmentStore &store;
  schema::ModuleT table;
  ExpressionTable expressions;
  WeightTable weights;
};

/// Writes the symbols of `module` into `table`; the definitions of derived ones go to
/// `expressions`.
void addSymbols(mlir::ModuleOp module, schema::ModuleT &table, ExpressionTable &expressions);

/// Writes into `table` what raise-caches has found of the caches of `module`.
void addCache(mlir::ModuleOp module, schema::ModuleT &table, ExpressionTable &expressions);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_MODULETABLE_H
