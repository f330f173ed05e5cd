//===- PhaseHook.h - What a compile does around its phases --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_PHASEHOOK_H
#define DLC_TOOLS_DRIVER_COMPILER_PHASEHOOK_H

#include "passes/Pipelines.h"
#include "tools/driver/base/ExitCode.h"

#include "mlir/IR/BuiltinOps.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace dlc {

struct CompileSession;

/// A step that is no pass, as it needs data, runs the model or reads files: calibration, the search
/// for layers in f32, measured plans. Each function that gives an int gives an ExitCode; all but
/// kOk are reported and end the compile.
class PhaseHook {
public:
  virtual ~PhaseHook() = default;

  /// Before anything is read.
  virtual int begin() { return kOk; }
  virtual int before(Phase phase, mlir::ModuleOp module) { return kOk; }
  virtual int after(Phase phase, mlir::ModuleOp module) { return kOk; }
  /// Whether before() or after() may change the module, so that a phase that fails later cannot be
  /// seen again by running the phases alone.
  virtual bool changes(Phase phase) const { return false; }

  /// Plans that the kernels of `target` are to run by, as --force-plan names them. They come after
  /// the user's own, of which the first counts.
  virtual std::vector<std::string> plansFor(mlir::ModuleOp target) { return {}; }
  /// `target` has chosen its schedules.
  virtual void scheduled(mlir::ModuleOp target) {}
  /// A note for a user one of whose plans was refused; empty: none.
  virtual std::string noteOnRefusedPlan() const { return ""; }
};

/// Makes the hook of a compile, which outlives it.
using MakePhaseHook = std::function<std::unique_ptr<PhaseHook>(CompileSession &)>;

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_PHASEHOOK_H
