//===- BlockGain.h - What a product is estimated to gain without blocks of zeros ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_SPARSE_BLOCKGAIN_H
#define DLC_PASSES_COMPRESS_SPARSE_BLOCKGAIN_H

#include "passes/compress/sparse/MatrixWeights.h"

namespace dlc {

/// The suffixes of a weight's name in the names of the tensors that store-blocks makes of it,
/// beside kValuesSuffix.
inline constexpr llvm::StringLiteral kColumnsSuffix = ".columns", kStartsSuffix = ".starts",
                                     kPanelsSuffix = ".panels";
/// An attribute of a dl.weight whose numbers the driver has read: i64, how many of its blocks are
/// not zero.
inline constexpr llvm::StringLiteral kStoredBlocks = "dl.stored_blocks";

/// Blocks of BlockMask.h's size that it has.
int64_t blocksOf(const MatrixWeight &weight);

/// The least part of the blocks that has to be zero. Measured on one core of an AMD EPYC with
/// AVX-512, dense and block-sparse kernels by turns in one process, least processor time of 36 runs
/// or more each, by how many times blocks are faster (AVX-512 / AVX2):
///
///   zero blocks                      10 %      20 %      50 %     70 %     80 %     90 %
///   linear, 768 to 3072: 1 row     1.02/1.1  1.14/1.3  1.9/2.1  3.2/3.5  4.6/5.0  9.0/15
///     the same, 128 rows           0.95/1.02 1.07/1.1  1.9/1.9  3.5/3.7  5.2/5.2  8.5/8.5
///   1x1 convolution, channels
///     512 to 128, 28 x 28 places    1.1/1.1   1.3/1.2  2.0/2.0  3.4/3.2  4.8/4.4  7.8/6.9
///     256 to 1024, 14 x 14          1.1/1.1   1.3/1.2  2.0/2.0  3.5/3.3  5.0/4.6  8.1/7.4
///     2048 to 512, 7 x 7            1.1/1.1   1.2/1.3  1.9/2.1  3.2/3.4  4.7/4.8  6.7/6.9
///
/// From 50 % on what is left runs at about the rate of the dense kernel, 48 to 58 multiply-adds a
/// nanosecond. The estimate takes the least of all rows, CpuModel::blockProducts: it may say less
/// than there is to gain, and no loss is called a gain.
inline constexpr double kLeastZeroBlocks = 0.2;

/// Whether that part is zero where `stored` blocks are not.
bool mayGainByBlocks(const MatrixWeight &weight, int64_t stored);

/// How many times as fast all products of the weight are estimated to be on the CPU where `stored`
/// of its blocks are multiplied in place of all of it; nullopt where the data say how large a
/// product is. Symbols have their usual sizes, else their smallest.
std::optional<double> gainOfBlocks(const MatrixWeight &weight, int64_t stored);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_SPARSE_BLOCKGAIN_H
