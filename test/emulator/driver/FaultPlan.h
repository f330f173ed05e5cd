//===- FaultPlan.h - the call that shall fail -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A client that handles the failure of each of its calls is tested by letting each fail in turn.
// Calls are counted over all threads; those that give something back, make a context current, or
// explain an error, are not.
//===----------------------------------------------------------------------===//
#pragma once
#include "runtime/cuda/driver/DriverAbi.h"
#include <string>

namespace dlc::cuda {

class FaultPlan {
public:
  /// Reads DLC_EMU_FAULT: "17:2" lets call 17 (from 0) return 2, "cuMemAlloc_v2:1:2" call 1 of
  /// those of that function.
  FaultPlan();

  /// From now on: the call with this number fails. Negative: none does.
  void failAt(long call, Result with);

  /// Counts a call of `function`; what it shall return.
  Result count(const std::string &function);

  long callCount() const { return calls; }
  /// The function that was made to fail; empty where the call was not reached.
  const std::string &failedFunction() const { return failed; }

private:
  long calls = 0, target = -1;
  std::string function, failed;
  Result result = Result::Success;
  /// Whether a planted fault is told on stderr: where nobody can ask for it.
  bool isTold = false;
};

/// Whether nothing works in a context after this error.
bool isSticky(Result result);

} // namespace dlc::cuda
