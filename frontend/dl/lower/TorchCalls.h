//===- TorchCalls.h - What a call says in PyTorch beyond its op ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_LOWER_TORCHCALLS_H
#define DLC_FRONTEND_DL_LOWER_TORCHCALLS_H

#include "frontend/dl/lower/OpEmitter.h"

namespace dlc::frontend {

/// The signatures of a function, in the order in which they are tried. Those whose first tensor is
/// named `self` come last, but for a method they are the only ones: Tensor.unfold is not
/// torch.nn.functional.unfold.
llvm::SmallVector<const Signature *> waysOfCalling(llvm::ArrayRef<const Signature *> signatures,
                                                   bool isMethod);

/// Emits a call as PyTorch means it. The op gets the arguments that it has attributes for; the
/// others convert its tensors (`dtype`) or change nothing (`momentum`). A tensor without dims
/// counts as one dim of size 1 if a dim is named, and an empty list of dims is one of no dims.
/// Poison after an error, reported at `loc`.
Item emitCall(OpEmitter &emitter, mlir::Location loc, const Signature &signature,
              BoundArguments arguments);

/// Reports uses of tensors after calls with `inplace=True`, which in PyTorch see the changed
/// tensor.
void refuseUsesOfChanged(mlir::func::FuncOp function);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LOWER_TORCHCALLS_H
