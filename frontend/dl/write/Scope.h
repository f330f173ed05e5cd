//===- Scope.h - Modules and paths that names of nodes and weights show -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_WRITE_SCOPE_H
#define DLC_FRONTEND_DL_WRITE_SCOPE_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/StringSet.h"

#include <string>

namespace dlc::onnx {

/// The modules that the name of the op's node shows, without the node itself:
/// "/layer1/layer1.0/conv1/Conv" of PyTorch and "layer1.0/conv1/Conv" are "layer1", "0", "conv1".
/// Empty where there are none.
llvm::SmallVector<std::string, 0> scopeOf(mlir::Operation &op);

/// Whether an exporter made the name of a weight up, as in "onnx::Conv_497" and "497".
bool isMadeByMachine(llvm::StringRef weight);

/// The name as a path of the language: pieces of letters, digits and '_', of which the first is no
/// number.
std::string pathOf(llvm::StringRef name);

/// The path, or it with a number behind, as none of `paths`; it is added to them.
std::string uniquePath(llvm::StringSet<> &paths, llvm::StringRef path);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_DL_WRITE_SCOPE_H
