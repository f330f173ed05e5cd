//===- LayerRecovery.h - The layer that an op with weights was ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_WRITE_LAYERRECOVERY_H
#define DLC_FRONTEND_DL_WRITE_LAYERRECOVERY_H

#include "frontend/dl/write/Program.h"

#include "ir/OpTable.h"
#include "llvm/ADT/StringSet.h"

namespace dlc::onnx {

struct RecoveredLayer {
  Member member;
  mlir::Value input;
};

/// The layer whose function and weights an op is, by the table of layers: all of its operands but
/// one are weights of the right shapes, which nothing else uses, and whose names are those of a
/// layer or were made by a machine. Its weights are added to `program.weights`, its path to
/// `paths`.
std::optional<RecoveredLayer> recoverLayer(const Signature &signature, mlir::Operation &op,
                                           llvm::ArrayRef<std::string> scope,
                                           llvm::StringSet<> &paths, Program &program);

/// Whether the op is a product that `recoverLinear` takes together with the sum behind it.
bool isHeldBack(mlir::Operation &op);

/// The Linear that a product, or the sum of one and a bias, was. Exporters fold the transpose of a
/// Linear's weight, and make a name up for what comes out: such weights alone are taken, and become
/// [out, in] again.
std::optional<RecoveredLayer> recoverLinear(mlir::Operation &op, llvm::ArrayRef<std::string> scope,
                                            llvm::StringSet<> &paths, Program &program);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_LAYERRECOVERY_H
