//===- FaultPlan.cpp - the call that shall fail -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/emulator/driver/FaultPlan.h"
#include <cstdio>
#include <cstdlib>

namespace dlc::cuda {

FaultPlan::FaultPlan() {
  const char *text = std::getenv("DLC_EMU_FAULT");
  if (!text || !*text)
    return;
  std::string plan = text;
  size_t last = plan.rfind(':');
  size_t middle = last == std::string::npos || last == 0 ? last : plan.rfind(':', last - 1);
  if (last == std::string::npos) {
    std::fprintf(stderr,
                 "dlc cuda-emu: DLC_EMU_FAULT=%s ignored: expected CALL:RESULT or "
                 "FUNCTION:CALL:RESULT\n",
                 text);
    return;
  }
  if (middle != std::string::npos)
    function = plan.substr(0, middle);
  size_t number = middle == std::string::npos ? 0 : middle + 1;
  target = std::atol(plan.c_str() + number);
  result = Result(std::atoi(plan.c_str() + last + 1));
  isTold = true;
}

void FaultPlan::failAt(long call, Result with) {
  calls = 0;
  target = call;
  result = with;
  function.clear();
  failed.clear();
}

Result FaultPlan::count(const std::string &name) {
  if (!function.empty() && function != name)
    return Result::Success;
  if (calls++ != target)
    return Result::Success;
  failed = name;
  if (isTold)
    std::fprintf(stderr, "dlc cuda-emu: planted: call %ld, %s, returns %d\n", target, name.c_str(),
                 int(result));
  return result;
}

bool isSticky(Result result) {
  switch (result) {
  case Result::EccUncorrectable:
  case Result::IllegalAddress:
  case Result::LaunchTimeout:
  case Result::Assert:
  case Result::HardwareStackError:
  case Result::IllegalInstruction:
  case Result::MisalignedAddress:
  case Result::InvalidAddressSpace:
  case Result::InvalidPc:
  case Result::LaunchFailed:
    return true;
  default:
    return false;
  }
}

} // namespace dlc::cuda
