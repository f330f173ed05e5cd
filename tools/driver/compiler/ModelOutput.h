//===- ModelOutput.h - The files that a compile writes ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_COMPILER_MODELOUTPUT_H
#define DLC_TOOLS_DRIVER_COMPILER_MODELOUTPUT_H

#include "codegen/package/Package.h"
#include "tools/driver/compiler/CompileSession.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace dlc {

/// A target's modules and the code that was made of them.
struct CompiledModule {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  codegen::GeneratedCode code;
};

/// Writes to -o, or to standard output, and to --dump-dir. Each function gives an ExitCode.
class ModelOutput {
public:
  ModelOutput(CompileSession &session, Phase last) : session(session), last(last) {}

  /// Whether -o, --report and --dump-dir may be written, as far as the inputs are known.
  int check() const;
  /// Makes the folder of --dump-dir.
  int makeDumpFolder() const;
  /// The IR of `module`, where the compile stops before the last phase.
  int print(mlir::ModuleOp module) const;
  /// The package of `compiled` or, where there is a `flow`, of that and its segments, with what was
  /// compiled from each.
  int write(mlir::ModuleOp flow, llvm::ArrayRef<CompiledModule> compiled);
  /// Writes what --dump-dir promises beside the IR. A failure there never hides `status`, the
  /// result of the compile. `module` is null where there is none.
  int finishDump(int status, mlir::ModuleOp module, const codegen::GeneratedCode &code) const;

private:
  /// "-": standard output.
  std::string path() const;

  CompileSession &session;
  Phase last;
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPILER_MODELOUTPUT_H
