//===- BlockGain.cpp - What a product is estimated to gain without blocks of zeros -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/BlockGain.h"

#include "ir/machine/CpuModel.h"
#include "passes/compress/prune/BlockMask.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc {

bool mayGainByBlocks(const BlockWeight &weight, int64_t stored) {
  return static_cast<double>(stored) <=
         (1 - kLeastZeroBlocks) * static_cast<double>(weight.blocks());
}

/// Rows that share the numbers of a product; nullopt where the data say how many.
static std::optional<double> rowsOf(const BlockProduct &product) {
  auto module = product.op->getParentOfType<ModuleOp>();
  SmallVector<dl::Range> symbols = dl::symbolRanges(module);
  for (dl::Range &symbol : symbols)
    if (symbol.usual == 0)
      symbol.usual = std::max<int64_t>(1, symbol.min);
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(product.op->getResult(0).getType()));
  if (dl::mentions(dims, dl::countedSymbols(module)))
    return std::nullopt;
  double rows = 1;
  for (auto [place, dim] : llvm::enumerate(dims)) {
    auto size = dl::usualOf(dim, symbols);
    if (!size)
      return std::nullopt;
    if (place != product.dim)
      rows *= static_cast<double>(*size);
  }
  return rows;
}

/// Nanoseconds of arithmetic that takes `compute` beside reading `bytes` of weights: about half of
/// the shorter one is not hidden.
static double timeOf(const CpuModel &cpu, double compute, double bytes) {
  const double memory = bytes > cpu.cacheBytes ? bytes / cpu.memoryBytes : 0;
  return std::max(compute, memory) + std::min(compute, memory) / 2;
}

std::optional<double> gainOfBlocks(const BlockWeight &weight, int64_t stored) {
  const CpuModel &cpu = kAvx512Vnni;
  const double all = static_cast<double>(weight.blocks()) * kBlockRows,
               left = static_cast<double>(stored) * kBlockRows;
  double before = 0, after = 0;
  for (const BlockProduct &product : weight.products) {
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
