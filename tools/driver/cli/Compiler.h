//===- Compiler.h - What the command line asks of the compiler ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The seam between `dlc`, which starts in milliseconds because it links no MLIR, and the compiler:
// `dlc` starts `dlc-compile` beside it, while dlc-compile and dlc-static have the compiler in them.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_CLI_COMPILER_H
#define DLC_TOOLS_DRIVER_CLI_COMPILER_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// Each returns an ExitCode.
struct Compiler {
  int (*compile)(const CompileOptions &);
  int (*check)(const CheckOptions &);
  int (*format)(const FormatOptions &);
  int (*inspect)(const InspectSourceOptions &);
  int (*importAsText)(const ImportAsTextOptions &);
  int (*grad)(const GradOptions &);
  int (*train)(const TrainOptions &);
  int (*prune)(const PruneOptions &);
  int (*quantize)(const QuantizeOptions &);
  int (*bisect)(const BisectOptions &);
  int (*tune)(const TuneOptions &);
  int (*list)(const ListOptions &);
};

/// The compiler in this process.
extern const Compiler kLinkedCompiler;
/// Replaces this process by `dlc-compile`, found beside its executable, with the same arguments.
extern const Compiler kSeparateCompiler;

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CLI_COMPILER_H
