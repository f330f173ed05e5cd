//===- Optimizer.h - How weights follow from their gradients ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_OPTIMIZER_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_OPTIMIZER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace dlc {

/// The call of an optimizer, "Adam(lr=1e-3, betas=[0.9, 0.99])", with PyTorch's names and defaults.
/// The functions that it becomes are in frontend/dl/library/optimizers.dl. Its arguments are
/// expressions of the language, in which `step` is the number of the step, from 1 on.
class Optimizer {
public:
  /// An ExitCode, reported unless it is kOk. The arguments are checked where the call is imported.
  int parse(llvm::StringRef call);
  /// What it keeps for each weight besides the weight: PyTorch's names of it, "exp_avg".
  llvm::ArrayRef<llvm::StringRef> statesOfWeight() const { return states; }
  /// Whether it, or a schedule in its arguments, needs to know how many steps there have been.
  bool countsSteps() const { return counts || isScheduled; }
  /// Returns the call of the library, such as "adam(p0, g0, s0_0, s0_1, step, lr=0.001)". `states`
  /// are the names for statesOfWeight(), in that order.
  std::string call(llvm::StringRef param, llvm::StringRef grad,
                   llvm::ArrayRef<std::string> states) const;

private:
  std::string function, arguments;
  llvm::ArrayRef<llvm::StringRef> states;
  bool counts = false, isScheduled = false;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_OPTIMIZER_H
