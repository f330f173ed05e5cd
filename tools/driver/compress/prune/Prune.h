//===- Prune.h - dlc prune: the smallest weights become zero ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNE_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNE_H

#include "tools/driver/base/CompileOptions.h"

namespace dlc {

/// `dlc prune`: an ExitCode; everything is reported.
int pruneModel(const PruneOptions &options);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNE_H
