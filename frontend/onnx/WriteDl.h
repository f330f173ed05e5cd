//===- WriteDl.h - Imported models as text of the language ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_WRITEDL_H
#define DLC_FRONTEND_ONNX_WRITEDL_H

#include "mlir/IR/BuiltinOps.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc::onnx {

/// A parameter of the text and the op that says where its numbers lie.
struct NamedWeight {
  std::string path; // in the text and in its weights file
  mlir::Operation *weight;
};

/// The text of a module that an import made, with `weightsFile` in its weights clause: one line an op, each value named after the
/// function that makes it. `weights` are filled with what that file must hold. Nothing where an op has an infinite number, for which
/// the language has no word.
std::optional<std::string> writeDl(mlir::ModuleOp module, llvm::StringRef weightsFile,
                                   std::vector<NamedWeight> &weights);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_WRITEDL_H
