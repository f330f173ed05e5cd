//===- TwoOfFour.h - How 2:4 weights are stored -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_COMPRESS_SPARSE_TWOOFFOUR_H
#define DLC_PASSES_COMPRESS_SPARSE_TWOOFFOUR_H

#include "passes/compress/sparse/MatrixWeights.h"

namespace dlc {

/// The suffix of a weight's name in the name of the tensor of places that store-two-of-four makes
/// of it, beside that of values (kValuesSuffix).
inline constexpr llvm::StringLiteral kPlacesSuffix = ".places";
/// An attribute of a dl.weight whose numbers the driver has read: i64, how many groups of four
/// neighbours along its sums have more than two numbers that are not zero.
inline constexpr llvm::StringLiteral kFullGroups = "dl.full_groups";
/// An attribute of the dl.weight of values: i64, how many there are.
inline constexpr llvm::StringLiteral kStoredNumbers = "dl.stored_numbers";

/// Neighbours of a group, and steps along a sum whose places a byte holds.
inline constexpr int64_t kGroupOfFour = 4, kStepsOfPlaces = 8;

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_SPARSE_TWOOFFOUR_H
