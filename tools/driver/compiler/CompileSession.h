//===- CompileSession.h - What a compile was asked for, and what it tells -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_COMPILESESSION_H
#define DLC_TOOLS_DRIVER_COMPILER_COMPILESESSION_H

#include "passes/Pipelines.h"
#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/compiler/PassTrace.h"

namespace dlc {

/// Shared by all that takes part in one compile.
struct CompileSession {
  explicit CompileSession(const CompileOptions &options)
      : options(options), trace(options.dumpDir) {}

  CompileOptions options;
  int onlyGpu = 0; ///< the architecture of the only GPU that the file is for, 90 for sm_90; 0: any
  PassTrace trace;

  PipelineOptions pipelineOptions() const;
  bool hasShapes() const;
  /// Runs the passes that `add` adds on `module`, as one step of the current phase.
  llvm::LogicalResult runPasses(mlir::ModuleOp module,
                                llvm::function_ref<void(mlir::PassManager &)> add);
  /// Where --quantize and --precision mixed change a model: both have something to report.
  bool hasTwoReports() const;
  /// Shows on a terminal what is being done; nothing where `what` is empty. --quiet shows nothing.
  void showProgress(llvm::StringRef what) const;
  /// Writes `json` to the file of --report: at once where one step has something to tell, and as an
  /// object with a member for each where two have. An ExitCode.
  int writeReport(const std::string &json);

private:
  std::string report; ///< of the first of two
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_COMPILESESSION_H
