//===- ShardedWeights.h - Weights that several files hold together ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ARRAYS_SHARDEDWEIGHTS_H
#define DLC_FRONTEND_ARRAYS_SHARDEDWEIGHTS_H

#include "frontend/arrays/WeightFile.h"

namespace dlc::frontend {

/// The file at `path`; or where its name ends in ".index.json", as that of a sharded checkpoint in
/// the manner of Hugging Face does, the files that it names, in their order. These lie in the
/// folder of the index or below. An error says which file is wrong and what to do.
llvm::Expected<std::vector<WeightFile>> openWeights(llvm::StringRef path);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_ARRAYS_SHARDEDWEIGHTS_H
