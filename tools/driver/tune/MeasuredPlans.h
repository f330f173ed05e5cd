//===- MeasuredPlans.h - The plans of --plans, for the kernels of a model -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANS_H
#define DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANS_H

#include "tools/driver/base/CompileOptions.h"
#include "tools/driver/tune/PlanFile.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <set>

namespace dlc {

class MeasuredPlans {
public:
  /// Reads the file, none where `file` is empty; an ExitCode.
  int read(const std::string &file);
  bool empty() const { return plans.empty(); }
  /// The plans of the kernels of `target`, whose kernels have none yet, as entries of --force-plan:
  /// KERNEL=PLAN.
  std::vector<std::string> entriesFor(mlir::ModuleOp target);
  /// A warning where plans of the targets of `module` are for no kernel of it; empty where none is.
  std::string unusedIn(mlir::ModuleOp module) const;

  /// Where set, entriesFor writes down the digest of each kernel, and takeCandidates its plans.
  std::map<std::string, KernelPlans> *found = nullptr;
  /// Takes from the kernels of `target` the plans that selecting schedules has written there.
  void takeCandidates(mlir::ModuleOp target);

private:
  std::string path;
  std::vector<MeasuredPlan> plans;
  std::set<size_t> used;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TUNE_MEASUREDPLANS_H
