//===- Update.h - How the weights change in a step ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEP_UPDATE_H
#define DLC_TOOLS_DRIVER_TRAIN_STEP_UPDATE_H

#include "tools/driver/train/step/Snippet.h"

namespace dlc {

/// The state e that scales the loss: by 2^(16 + e).
inline constexpr const char *kScaleExponent = "optimizer.scale_exponent";
/// The state that counts the steps whose gradients overflowed.
inline constexpr const char *kSkippedSteps = "optimizer.skipped";

/// Fills the snippet of an update. Its inputs are the gradients of `weights`, which are dl.weight
/// ops, in their order; its states are the weights and what the optimizer keeps. `names` gets the
/// names of the states in the step. With `givesWeights`, the weights are inputs behind the
/// gradients, and the new ones are the outputs.
///
/// Gradients are clipped as torch.nn.utils.clip_grad_value_ and then clip_grad_norm_ do. If the
/// loss is scaled, a step whose gradients are not finite changes nothing and halves the scale, and
/// 2000 others in a row double it, as torch.amp.GradScaler does. An ExitCode, reported unless it is
/// kOk.
int makeUpdate(const TrainingOptions &options, mlir::ArrayRef<mlir::Value> weights,
               Snippet &snippet, llvm::SmallVectorImpl<std::string> &names,
               bool givesWeights = false);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEP_UPDATE_H
