//===- Passes.h - All passes over the graph and the program -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_PASSES_H
#define DLC_PASSES_PASSES_H

#include "mlir/Pass/Pass.h"

#include <memory>
#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
namespace func {
class FuncOp;
}
} // namespace mlir

namespace dlc {

#define GEN_PASS_DECL
#include "passes/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "passes/Passes.h.inc"

/// How far the pass of this flag may move results, as a fraction of the largest magnitude in an
/// output: its MovesResults record in the *Passes.td of its phase; 0 without one.
double boundOf(llvm::StringRef flag);

} // namespace dlc

#endif // DLC_PASSES_PASSES_H
