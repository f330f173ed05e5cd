//===- BlockGain.cpp - What a product is estimated to gain without blocks of zeros --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/sparse/BlockGain.h"

#include "ir/machine/CpuModel.h"
#include "passes/compress/prune/BlockMask.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

static_assert(dl::BlockSparseLinearOp::kPanel == kBlockRows,
              "dlc prune --pattern block makes the blocks zero that the op leaves out");

int64_t blocksOf(const MatrixWeight &weight) {
  return static_cast<int64_t>(llvm::divideCeil(weight.rows, kBlockRows)) * weight.columns;
}

bool mayGainByBlocks(const MatrixWeight &weight, int64_t stored) {
  return static_cast<double>(stored) <=
         (1 - kLeastZeroBlocks) * static_cast<double>(blocksOf(weight));
}

/// Nanoseconds of arithmetic that takes `compute` beside reading `bytes` of weights: about half of
/// the shorter one is not hidden.
static double timeOf(const CpuModel &cpu, double compute, double bytes) {
  const double memory = bytes > cpu.weightCache ? bytes / cpu.memory : 0;
  return std::max(compute, memory) + std::min(compute, memory) / 2;
}

std::optional<double> gainOfBlocks(const MatrixWeight &weight, int64_t stored) {
  const CpuModel &cpu = kAvx512Vnni;
  const double all = static_cast<double>(blocksOf(weight)) * kBlockRows,
               left = static_cast<double>(stored) * kBlockRows;
  double before = 0, after = 0;
  for (const MatrixProduct &product : weight.products) {
    auto rows = rowsOf(product);
    if (!rows)
      return std::nullopt;
    before += timeOf(cpu, *rows * all / cpu.floatProducts, all * sizeof(float));
    // A block has its column beside its numbers.
    after += timeOf(cpu, *rows * left / cpu.blockProducts,
                    left * sizeof(float) * (kBlockRows + 1) / kBlockRows);
  }
  return before / after;
}

} // namespace dlc
