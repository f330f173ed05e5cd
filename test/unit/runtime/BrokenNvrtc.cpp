//===- BrokenNvrtc.cpp - A library with the functions of NVRTC, one of which fails ------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// DLC_BROKEN_NVRTC names the function that fails. For tests of how NVRTC is opened.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/DriverAbi.h"

#include <cstdlib>
#include <cstring>

using namespace dlc::cuda;

template <class T> static T answer(const char *function) {
  const char *broken = std::getenv("DLC_BROKEN_NVRTC");
  bool fails = broken && std::strcmp(broken, function) == 0;
  return static_cast<T>(fails ? 1 : 0); // NvrtcResult::Success is 0
}
template <> const char *answer(const char *) { return "broken"; }

extern "C" {
NvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = 1;
  return answer<NvrtcResult>(__func__);
}

// The function above stands in the table too; the table's one gets another name.
#define nvrtcGetNumSupportedArchs unusedNumSupportedArchs
#define DLC_NVRTC(member, symbol, result, parameters)                                              \
  result symbol parameters { return answer<result>(#symbol); }
#include "runtime/cuda/driver/Symbols.def"
}
