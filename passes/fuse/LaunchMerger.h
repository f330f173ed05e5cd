//===- LaunchMerger.h - Several launches as one ----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Passes after outline share this. They make one kernel of launches of which each reads the output of the one before it.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_LAUNCHMERGER_H
#define DLC_PASSES_LAUNCHMERGER_H

#include "ir/dlx/DLXOps.h"
#include "passes/outline/KernelTable.h"

#include "mlir/IR/SymbolTable.h"

namespace dlc {

class LaunchMerger {
public:
  /// For the programs of `target`, the module of one target.
  explicit LaunchMerger(mlir::ModuleOp target) : target(target), symbols(target) {}

  dlx::KernelOp kernelOf(dlx::LaunchOp launch) {
    return symbols.lookup<dlx::KernelOp>(launch.getKernel());
  }
  /// The launch that writes `buffer`, an alloc; null where none does.
  static dlx::LaunchOp writerOf(mlir::Value buffer);
  /// The launch that writes what `reader` and nothing else reads; null where there is more to it.
  static dlx::LaunchOp onlyFor(mlir::Value buffer, dlx::LaunchOp reader);

  /// A kernel's name without the number that tells it from others that do the same.
  static llvm::StringRef withoutNumber(llvm::StringRef name);

  /// A kernel that is in no module yet and computes what `launches` do in order: the last one's result, then those in the
  /// buffers `kept`; what the others write is for the next alone. Its arguments are to be `inputs`, in the order in which the result asks for them: what computes the same looks the same.
  dlx::KernelOp merged(llvm::ArrayRef<dlx::LaunchOp> launches, llvm::StringRef name,
                       dlx::KernelKind kind, llvm::SmallVectorImpl<mlir::Value> &inputs,
                       llvm::ArrayRef<mlir::Value> kept = {});
  /// Launches `kernel`, or one made before that computes the same, in place of `launches`, where `place` stands, one of them.
  /// It writes the last one's output and `kept`; the other buffers between them go.
  void replace(llvm::ArrayRef<dlx::LaunchOp> launches, dlx::KernelOp kernel,
               mlir::ValueRange inputs, dlx::LaunchOp place, llvm::ArrayRef<mlir::Value> kept = {});
  /// Offers the launches of all programs to `fuse` in their order, which says whether it has put one in their place; what goes with
  /// a launch stands before it. Kernels that nothing launches any more are erased.
  void fuseEach(llvm::function_ref<bool(dlx::LaunchOp)> fuse);
  /// Erases kernels that nothing launches.
  void dropUnused();

private:
  dlx::KernelOp shared(dlx::KernelOp kernel);

  mlir::ModuleOp target;
  mlir::SymbolTable symbols;
  KernelTable formed;
};

} // namespace dlc

#endif // DLC_PASSES_LAUNCHMERGER_H
