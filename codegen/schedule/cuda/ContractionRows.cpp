//===- ContractionRows.cpp - Few rows times a matrix -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_rows (dlc_rows.cuh): what a tile would leave mostly empty, in every dtype.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/ContractionTemplate.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kMostRows = 8;
/// A warp shares k: shorter sums would leave its lanes idle.
static constexpr int64_t kLeastDepth = 32;
static constexpr int64_t kWarps = 8;
/// Blocks that keep the largest GPUs busy.
static constexpr int64_t kEnoughBlocks = 256;

namespace {
class RowsSchedule : ContractionTemplate {
public:
  explicit RowsSchedule(Contraction &c, bool swapped) : ContractionTemplate(c, swapped) {}
  void run();
};
} // namespace

void RowsSchedule::run() {
  if (!c.batch.groups.empty())
    k.bindFlat(k.block(gpu::Dimension::z, "batch"), c.batch.groups);
  Operand a = {swapped ? 1u : 0u, rows, true, 0}, b = {swapped ? 0u : 1u, columns, true, 0};
  a.width = std::max<int64_t>(1, widthAlong(a.term, c.depth));
  int64_t along = widthAlong(b.term, c.depth), across = widthAlong(b.term, columns);
  b.alongK = along || across ? along >= across : c.liesAlongReduction(b.term);
  b.width = std::max<int64_t>({1, along, across});

  dlk::CallOp call = createCall("contract_rows", "dlc_rows.cuh");
  read(call, 0, a, /*rounded=*/false);
  read(call, 1, b, /*rounded=*/false);
  finish(call, 2, /*width=*/0);
  // Across, eight bytes a lane: a warp's row of them is two transactions, and the blocks stay many.
  int64_t lanes =
      b.alongK ? std::max<int64_t>(1, b.width) : std::clamp<int64_t>(b.width, 1, 8 / elementBytes);
  int64_t most = k.largest(columns.extent).value_or(kWarps * kEnoughBlocks * 4);
  int64_t perWarp = std::clamp<int64_t>(most / (kWarps * kEnoughBlocks), 1, 4);
  int64_t perBlock = b.alongK ? kWarps * perWarp : 32 * lanes;
  complete(call, a, b,
           {{"rows", *k.largest(rows.extent)},
            {"warps", kWarps},
            {"columns", perWarp},
            {"lanes", lanes},
            {"along_k", b.alongK},
            {"width_a", a.width},
            {"width_b", b.width}});
  k.finish(32 * kWarps, {k.ceilDiv(columns.extent, perBlock), k.math.constant(1), c.batch.extent});
}

/// The one side that is never longer than the template's rows; null where none is, or both: a few dot products are
/// reductions, which a whole block shares.
static const Side *shortSide(const Contraction &c) {
  auto isShort = [&](const Side &side) {
    auto most = c.k.largest(side.extent);
    return most && *most <= kMostRows;
  };
  if (isShort(c.m) == isShort(c.n))
    return nullptr;
  return isShort(c.m) ? &c.m : &c.n;
}

bool hasFewRows(const Contraction &c) {
  Type result = c.k.body.getRoot()->getResult(0).getType();
  auto elementOf = [&](unsigned term) {
    return getElementTypeOrSelf(
        c.k.body.getRoot()->getOperand(c.nest.terms[term].operand).getType());
  };
  Type type = elementOf(0);
  auto depth = c.k.largest(c.depth.extent);
  // The places of a convolution share what they read: tiles bring that once.
  return shortSide(c) && !c.nest.isWindow() && (!depth || *depth >= kLeastDepth) &&
         !type.isInteger(1) && elementOf(1) == type && getElementTypeOrSelf(result) == type &&
         c.fitsGrid(c.k.math.constant(1));
}

void scheduleRows(Contraction &c) { RowsSchedule(c, shortSide(c) == &c.n).run(); }

} // namespace dlc::codegen
