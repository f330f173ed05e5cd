//===- Progress.h - What a long step tells while it runs ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_PROGRESS_H
#define DLC_TOOLS_DRIVER_BASE_PROGRESS_H

#include <functional>
#include <string>

namespace dlc {

/// Gets what is being done, in a few words: "calibration, 48 of 512 samples".
using Progress = std::function<void(const std::string &)>;

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_PROGRESS_H
