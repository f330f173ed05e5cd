//===- EnqueuedRun.h - A run that its caller does not wait for -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_API_ENQUEUEDRUN_H
#define DLC_RUNTIME_CORE_API_ENQUEUEDRUN_H

#include "runtime/core/Status.h"
#include "runtime/core/bind/ShapeBinder.h"

#include <chrono>
#include <optional>
#include <utility>
#include <vector>

namespace dlc::rt {

/// Shared by the caller's handle and by what computes the run. Safe to use from many threads;
/// outlives the context.
class EnqueuedRun {
public:
  virtual ~EnqueuedRun() = default;

  using Limit = std::optional<std::chrono::milliseconds>;
  /// Waits for the end, at most `limit` (none: as long as it takes). The run's own status;
  /// DLC_PENDING where it has not ended.
  virtual Status wait(Limit limit) = 0;

  /// By output that callers see. To be read after wait() has told that the run has ended.
  const std::vector<Dims> &outputDims() const { return outputs; }

protected:
  explicit EnqueuedRun(std::vector<Dims> outputs) : outputs(std::move(outputs)) {}
  static Status pending() { return {DLC_PENDING, "the run has not ended yet"}; }

  std::vector<Dims> outputs; ///< the largest that they can be; the real dims once the run has ended
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_API_ENQUEUEDRUN_H
