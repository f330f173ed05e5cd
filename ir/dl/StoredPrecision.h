//===- StoredPrecision.h - What values of f32 may be stored in -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_STOREDPRECISION_H
#define DLC_IR_DL_STOREDPRECISION_H

#include "llvm/ADT/StringRef.h"

namespace dlc::dl {

/// A TypeAttr on a function, and on the program that it becomes: the type of 16 bits in which values
/// of f32 may be stored. Without it they are stored as they are.
inline constexpr llvm::StringLiteral kStoredPrecision = "dl.stored_precision";

} // namespace dlc::dl

#endif // DLC_IR_DL_STOREDPRECISION_H
