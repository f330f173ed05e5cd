//===- Exports.h - declarations of what the fake cuBLASLt exports -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As the driver's: each function of the runtime's own table.
//===----------------------------------------------------------------------===//
#pragma once
#include "runtime/cuda/driver/CublasLtAbi.h"
#include "runtime/cuda/driver/DriverAbi.h"

namespace dlc::cuda {
#pragma GCC visibility push(default)
extern "C" {
#define DLC_CUBLASLT(member, symbol, result, parameters) result symbol parameters;
#include "runtime/cuda/driver/Symbols.def"

/// How many handles and descriptors have been made and not given back.
long dlcEmuBlasAlive();
/// How many products have been put into streams or graphs.
long dlcEmuBlasProducts();
}
#pragma GCC visibility pop
} // namespace dlc::cuda
