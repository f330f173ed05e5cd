//===- GpuModel.cpp - What estimates of kernels know of a GPU --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/machine/GpuModel.h"

namespace dlc {

const GpuModel kAmpere = {108, 160 << 10, 2048, 1024.0, 64.0, 40.0, 600.0, 1.41, 1555.0};
const GpuModel kHopper = {132, 227 << 10, 2048, 1280.0, 128.0, 60.0, 650.0, 1.755, 2950.0};

} // namespace dlc
