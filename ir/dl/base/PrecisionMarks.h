//===- PrecisionMarks.h - What was decided about precision, as attributes -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_BASE_PRECISIONMARKS_H
#define DLC_IR_DL_BASE_PRECISIONMARKS_H

#include "llvm/ADT/StringRef.h"

namespace dlc::dl {

/// A TypeAttr on a function, and on the program that it becomes: the type of 16 bits in which
/// values of f32 may be stored. Without it they are stored as they are.
inline constexpr llvm::StringLiteral kStoredPrecision = "dl.stored_precision";

/// A UnitAttr on a product of f32: a GPU may round its factors to 11 bits, for tensor cores.
inline constexpr llvm::StringLiteral kTf32 = "dl.tf32";

/// A StringAttr on a product that stays in f32, as quantization would make it slower: why, a part
/// of a sentence.
inline constexpr llvm::StringLiteral kKeptByCost = "dl.kept_by_cost";

/// A DictionaryAttr on a product that quantization would make slower on some targets of the file
/// and not on others: the reason for each of these. In the module of such a target split-targets
/// makes kKeptByCost of it.
inline constexpr llvm::StringLiteral kKeptOn = "dl.kept_on";

/// A UnitAttr on the addition that takes back the mean of what 8 bits change in a product.
inline constexpr llvm::StringLiteral kCorrection = "dl.correction";

/// A StringAttr on an op: the name of what it is a part of, where no op stands for all of it:
/// gated_mlp. Set at the end of `simplify`, read up to `precision`, and gone from `fuse` on.
inline constexpr llvm::StringLiteral kRole = "dl.role";

} // namespace dlc::dl

#endif // DLC_IR_DL_BASE_PRECISIONMARKS_H
