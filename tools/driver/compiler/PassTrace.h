//===- PassTrace.h - What each pass left and how long it took -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPILER_PASSTRACE_H
#define DLC_TOOLS_DRIVER_COMPILER_PASSTRACE_H

#include "mlir/Pass/PassInstrumentation.h"

#include <chrono>
#include <string>
#include <vector>

namespace dlc {

/// Time of one step of the compiler.
struct StepTime {
  std::string phase, step;
  double milliseconds;
};

/// Collects times and, given a folder, writes the whole module after each pass to
/// NN-PHASE-PASS.mlir in it. One compile, whose passes run on one thread.
///
/// The times are not MLIR's (DefaultTimingManager): it names passes by their classes, where the
/// files here are named by the passes' flags, and it prints tenths of a millisecond, where most
/// passes of a small model take less. The files are not MLIR's either (enableIRPrintingToFileTree):
/// it counts anew in each pass manager, so that a phase would overwrite the files of the one before
/// it, and it refuses to print whole modules, which --compile-from needs, where the context has
/// threads, as in the phase `schedule`.
class PassTrace {
public:
  explicit PassTrace(std::string folder) : folder(std::move(folder)) {}

  void beginPhase(llvm::StringRef name) { phase = name; }
  const std::string &getPhase() const { return phase; }
  /// For one pass manager, which owns it; several may be made in turn.
  std::unique_ptr<mlir::PassInstrumentation> makeInstrumentation();
  /// Adds a step that is no pass.
  void addStep(llvm::StringRef step, std::chrono::steady_clock::time_point begin);
  /// Writes the IR as it is now, if there is a folder.
  void dump(mlir::Operation *op, llvm::StringRef step);
  /// timing.json: the steps in order.
  std::string timesAsJson() const;
  /// The ExitCode of the first file that could not be written, which has been reported; after it
  /// none is written.
  int getStatus() const { return status; }

private:
  friend class Instrumentation;
  std::string folder, phase;
  int status = 0;
  unsigned written = 0;
  std::vector<StepTime> steps;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_PASSTRACE_H
