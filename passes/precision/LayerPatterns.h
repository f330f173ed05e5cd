//===- LayerPatterns.h - The layers that a user names -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_PRECISION_LAYERPATTERNS_H
#define DLC_PASSES_PRECISION_LAYERPATTERNS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/GlobPattern.h"

#include <string>
#include <vector>

namespace dlc {

/// Globs (`*`, `?`, `[ab]`, `{one,two}`) that name layers: each is matched against the whole path
/// of a layer of a .dl model ("encoder.0.norm"), the place of a call in it ("bert.dl:14:9"), the
/// name of an ONNX node ("/encoder/Softmax") and the name of an op ("softmax").
class LayerPatterns {
public:
  /// Fails where a pattern is malformed; the error quotes it.
  static llvm::Expected<LayerPatterns> create(llvm::ArrayRef<std::string> patterns);
  /// The same for the option keep-f32 of a pass over `op`, where a malformed pattern is reported.
  static mlir::FailureOr<LayerPatterns> keptByPass(mlir::Operation *op,
                                                   llvm::ArrayRef<std::string> patterns);
  /// The glob that matches `name` and nothing else.
  static std::string matchingOnly(llvm::StringRef name);
  LayerPatterns(LayerPatterns &&) = default;

  bool matches(mlir::Operation *op) const;
  bool matches(llvm::StringRef name) const;
  /// A sentence about the first pattern that matches no op of the module's functions, which lists
  /// names that there are; empty where all match. `own` are names that the caller matches by
  /// itself; where there are any, the sentence lists these.
  std::string unmatchedIn(mlir::ModuleOp module, llvm::ArrayRef<std::string> own = {}) const;

private:
  LayerPatterns() = default;

  std::vector<std::string> texts;
  std::vector<llvm::GlobPattern> globs; // of `texts`, in their order; they point into these
};

} // namespace dlc

#endif // DLC_PASSES_PRECISION_LAYERPATTERNS_H
