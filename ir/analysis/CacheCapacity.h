//===- CacheCapacity.h - How much the caches among a model's states hold ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A cache is a state into which each run writes its own positions, after those of the runs before, by dl.update_slice at a place
// that another state counts. A run beyond its end would overwrite what is there: the runtime counts along and refuses it.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_ANALYSIS_CACHECAPACITY_H
#define DLC_IR_ANALYSIS_CACHECAPACITY_H

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// Writes what is known of the caches of `forward` into the module attribute `dl.cache`, a dictionary {capacity, step}: the positions
/// of the smallest one, a number, and how many of them a run takes, a dim. No attribute where no state counts so, where the counter
/// begins elsewhere than at 0, or where caches are counted by different steps.
void recordCache(mlir::ModuleOp module);

} // namespace dlc

#endif // DLC_IR_ANALYSIS_CACHECAPACITY_H
