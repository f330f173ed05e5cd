//===- PhaseRun.h - The phases of one module, with the hooks around them ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_PHASERUN_H
#define DLC_TOOLS_DRIVER_COMPILER_PHASERUN_H

#include "tools/driver/compiler/CompileSession.h"
#include "tools/driver/compiler/ModelOutput.h"
#include "tools/driver/compiler/PhaseHook.h"
#include "tools/driver/compiler/ValidatePasses.h"

namespace dlc {

/// Runs the phases from the one after `first` to `last`. A phase that fails or crashes leaves a
/// file with the module that it got, and a sentence on how to see the failure again.
class PhaseRun {
public:
  PhaseRun(CompileSession &session, llvm::ArrayRef<std::unique_ptr<PhaseHook>> hooks, Phase first,
           Phase last)
      : session(session), hooks(hooks), first(first), last(last) {}

  /// Runs the phases on `compiled.module` and, in the last of them, makes `compiled.code`. An
  /// ExitCode.
  int run(CompiledModule &compiled);
  /// Runs the phases on `compiled.module` without hooks, trace and report: for a model that the
  /// compiler itself runs. Fails after an error.
  llvm::LogicalResult runAlone(CompiledModule &compiled) { return repeat(compiled, first, last); }
  /// Reports that `phase` failed on `compiled.module`, and writes the file. An ExitCode.
  int reportFailure(CompiledModule &compiled, Phase phase, bool isCrash = false);

private:
  int runWithHooks(CompiledModule &compiled, Phase phase);
  int tellHooks(mlir::ModuleOp module, Phase phase, int (PhaseHook::*moment)(Phase, mlir::ModuleOp),
                Phase done);
  int finishPhase(mlir::ModuleOp module, Phase phase);
  llvm::LogicalResult repeat(CompiledModule &compiled, Phase from, Phase to);
  llvm::LogicalResult runPasses(CompiledModule &compiled, Phase phase, bool isRepeated = false);
  llvm::LogicalResult schedule(mlir::ModuleOp target, bool isRepeated);
  std::vector<std::string> forcedPlansOf(llvm::StringRef target) const;
  int selectTargets(mlir::ModuleOp module) const;
  std::string textBefore(CompiledModule &compiled, Phase phase);

  CompileSession &session;
  llvm::ArrayRef<std::unique_ptr<PhaseHook>> hooks;
  const Phase first, last;
  PassValidator validator;
  bool isPlanRefused = false; ///< an entry of --force-plan, with an error that says why
  /// A copy of the module as phase `savedAfter` and the hooks left it.
  mlir::OwningOpRef<mlir::ModuleOp> saved;
  Phase savedAfter = Phase::import;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_PHASERUN_H
