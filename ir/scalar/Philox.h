//===- Philox.h - Random bits of a counter ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_SCALAR_PHILOX_H
#define DLC_IR_SCALAR_PHILOX_H

#include "ir/scalar/Scalar.h"

namespace dlc {

/// A word, 0 to 3, of 32 random bits: Philox 4x32-10 of Salmon, Moraes, Dror and Shaw, "Parallel
/// random numbers: as easy as 1, 2, 3" (SC 2011). The counter's words 0 and 1 are `low`, 2 and 3
/// `high`, the key is `key`, each an i64, the lower half first. The result is a u32.
Scalar philox(Scalar low, Scalar high, Scalar key, uint64_t word);

} // namespace dlc

#endif // DLC_IR_SCALAR_PHILOX_H
