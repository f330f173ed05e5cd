//===- KernelPrinter.h - Functions and statements as CUDA C++ -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One statement for each value that is used twice, has a role or is long; the others stand inside
// their user. Ops are visited in order: an expression that may be inlined waits in `pending` until
// its user takes it, and is written out as a statement before an op that could change what it
// reads.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CUDA_PRINT_KERNELPRINTER_H
#define DLC_CODEGEN_CUDA_PRINT_KERNELPRINTER_H

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/print/Cpp.h"
#include "codegen/cuda/print/Expressions.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/raw_ostream.h"

namespace dlc::codegen {

class KernelPrinter {
public:
  KernelPrinter(llvm::raw_ostream &os, unsigned indexBits);

  llvm::LogicalResult printKernel(mlir::gpu::GPUFuncOp kernel);
  /// A function of one value with one result, for the kernel's file alone.
  llvm::LogicalResult printDeviceFunction(mlir::func::FuncOp function);

private:
  // Values.
  cpp::Expr textOf(mlir::Value value);
  std::string role(mlir::Value value, llvm::StringRef otherwise);
  std::string typeOf(mlir::Value value, mlir::Operation *user);
  void define(mlir::Value value, const cpp::Expr &expr);
  bool mayInline(mlir::Operation *op, const cpp::Expr &expr) const;
  /// Writes out what waits and reads memory.
  void flushReads();

  // Statements.
  void block(mlir::Block &block, llvm::ArrayRef<std::string> yieldTargets);
  void statement(mlir::Operation *op);
  void expression(mlir::Operation *op);
  void loop(mlir::scf::ForOp op);
  void branch(mlir::scf::IfOp op);
  /// The value of an if that merely chooses between two expressions; nullopt where it does more.
  std::optional<cpp::Expr> choice(mlir::scf::IfOp op);
  void assign(mlir::ValueRange values, llvm::ArrayRef<std::string> targets);
  void localArray(mlir::Operation *alloca);
  void call(dlk::CallOp op);
  void lambda(dlk::CallOp op, unsigned body);

  // Functions.
  std::string parameter(mlir::Value argument, mlir::DictionaryAttr attributes);
  void begin();
  void error(mlir::Operation *op, const llvm::Twine &why);
  llvm::raw_ostream &line() { return os << std::string(2 * depth, ' '); }

  llvm::raw_ostream &os;
  unsigned indexBits;
  Expressions expressions;
  cpp::Names names;
  llvm::DenseMap<mlir::Value, std::string> named;
  llvm::MapVector<mlir::Value, cpp::Expr> pending;
  llvm::SmallVector<std::string> yieldTargets; // of the innermost region
  mlir::Operation *function = nullptr;
  unsigned depth = 0;
  bool inChoice = false; // everything is inlined
  bool failed = false;
};

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CUDA_PRINT_KERNELPRINTER_H
