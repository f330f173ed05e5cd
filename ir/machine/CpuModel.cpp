//===- CpuModel.cpp - What estimates of kernels know of a CPU -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/machine/CpuModel.h"

namespace dlc {

const CpuModel kAvx512Vnni = {.floatProducts = {56},
                              .blockProducts = {46},
                              .fewChannels = {28},
                              .byteProducts = {220},
                              .looseFloats = {20},
                              .looseIntegers = {12},
                              .memory = {29},
                              .cache = {60},
                              .roundedNumbers = {10},
                              .scaledSums = {4.5},
                              .unpackedBytes = {1000},
                              .unpackedHalves = {28},
                              .weightCache = {1 << 20},
                              .ownCache = {1 << 20},
                              .stepWeights = {256 << 10},
                              .stepRows = 8,
                              .meetings = 1.5,
                              .rowsAtOnce = 16,
                              .launch = 1,
                              .usualThreads = 4};

} // namespace dlc
