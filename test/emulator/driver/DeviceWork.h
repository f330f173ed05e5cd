//===- DeviceWork.h - what calls and graphs give the device to do -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "test/emulator/driver/Driver.h"

namespace dlc::cuda {

/// Makes `work` launch the function, with a copy of its parameters. InvalidValue, as the real
/// driver says, where a limit of the device or of the kernel is passed.
Result makeKernelWork(Work &work, CUfunc_st *function, DlcEmuDim grid, DlcEmuDim block,
                      unsigned sharedBytes, void **parameters, bool cooperative,
                      bool early = false);

/// Makes `work` copy from one place of the device's memory to another. InvalidValue where either is
/// not all in one allocation.
Result makeDeviceCopy(Work &work, DevicePtr target, DevicePtr source, size_t bytes);

} // namespace dlc::cuda
