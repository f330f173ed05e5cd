//===- PhaseErrors.h - What the passes before precision do to outputs, on data ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_PRECISION_PHASEERRORS_H
#define DLC_TOOLS_DRIVER_PRECISION_PHASEERRORS_H

#include "tools/driver/precision/PrecisionProbe.h"

#include "mlir/IR/OwningOpRef.h"

namespace dlc {

/// Runs phase `simplify` and keeps the model as each of its passes left it, compiles what they left
/// in f32 and runs that. The reference is the model after as few passes as it can be compiled with.
class PhaseErrors {
public:
  PhaseErrors(const PrecisionGoal &goal, std::function<void(const std::string &)> progress)
      : goal(goal), progress(std::move(progress)) {}

  /// `module` is what phase `import` left; phase `simplify` is run on it. An ExitCode, reported.
  int run(mlir::ModuleOp module);
  /// The error of the outputs after the phase.
  double getError() const { return error; }
  /// The flag of the first pass after which the outputs are out of the bound; empty where they are
  /// within it at the end of the phase.
  const std::string &getGuilty() const { return guilty; }

private:
  struct Stage {
    std::string pass;
    mlir::OwningOpRef<mlir::ModuleOp> module;
  };
  int measure(Stage &stage, double &found);

  const PrecisionGoal &goal;
  std::function<void(const std::string &)> progress;
  CpuProgram reference;
  double error = 0;
  std::string guilty;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_PRECISION_PHASEERRORS_H
