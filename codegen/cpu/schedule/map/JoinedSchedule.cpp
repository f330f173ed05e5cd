//===- JoinedSchedule.cpp - Maps over joined tensors on the CPU ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of the result take one part after the other as vectors, and parts that are joined across rows
// are chosen once a row.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/JoinedMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

/// Elements of a tile: enough work to be worth handing to a thread, little enough to balance.
static constexpr int64_t kTileElements = 4096;

namespace {
/// The joined tensor of a kernel, and the loops over its result.
struct JoinedRows : JoinedMap {
  SmallVector<AffineExpr> variables;
  SmallVector<int64_t> order; // dims of the result, outermost in memory first
};
} // namespace

/// Whether vectors along `variable` hold what a part reads and computes.
static bool isVectorAlong(BodyEmitter &emitter, IndexMath &math, const JoinedRows &joined) {
  AffineExpr variable = joined.variables[joined.order.back()];
  return !emitter.needsScalarAlong(variable, joined.variables, {}) &&
         emitter.visitReads(emitter.getResult(), joined.variables,
                            [&](unsigned, AffineExpr offset, bool) {
                              return isVectorAccess(math, offset, variable);
                            });
}

/// Nullopt where the kernel joins nothing that rows of its result can take as vectors.
static std::optional<JoinedRows> findJoined(BodyEmitter &emitter, IndexMath &math) {
  RankedTensorType type = emitter.getResultType();
  dl::Layout layout = dl::getLayout(type);
  if (emitter.getRoot() || emitter.isInPlace() || layout.isTiled())
    return std::nullopt;
  for (JoinedMap &map : joinedMapsOf(emitter.getKernel())) {
    JoinedRows joined = {std::move(map), {}, {}};
    for (auto [position, dim] : llvm::enumerate(dl::getDims(type))) {
      joined.variables.push_back(math.addLoop(dim));
      joined.order.push_back(layout.order.empty() ? position : layout.order[position]);
    }
    bool areVectors = true;
    for (unsigned part = 0; areVectors && part < joined.parts(); ++part) {
      emitter.joinedPart = {joined.cat, part};
      areVectors = isVectorAlong(emitter, math, joined);
    }
    emitter.joinedPart.reset();
    if (areVectors)
      return joined;
  }
  return std::nullopt;
}

bool isJoinedMap(BodyEmitter &emitter, IndexMath &math) {
  return findJoined(emitter, math).has_value();
}

CpuLaunch scheduleJoined(CpuKernel &k) {
  std::optional<JoinedRows> joined = findJoined(k.emitter, k.math);
  assert(joined && "the plan was made where it is");
  RankedTensorType type = k.emitter.getResultType();
  dl::Dims dims = dl::getDims(type);
  int64_t inner = joined->order.back();
  AffineExpr column = joined->variables[inner],
             resultOffset = k.emitter.resultOffset(joined->variables);
  SmallVector<AffineExpr> outerVariables, outerDims;
  for (int64_t outer : ArrayRef(joined->order).drop_back()) {
    outerVariables.push_back(joined->variables[outer]);
    outerDims.push_back(dims[outer]);
  }
  AffineExpr rows = dl::product(outerDims, type.getContext());
  auto length = k.math.usual(dims[inner]);
  int64_t perTile = length && *length > 0 ? std::max<int64_t>(1, kTileElements / *length) : 1;
  auto takeRow = [&](Value begin, Value end) {
    k.forVector(column, begin, end,
                [&] { k.store(k.emitter.emitMap(k.builder, joined->variables), resultOffset); });
  };
  Value size = k.index(perTile);
  Value end = k.smaller(k.mul(k.end, size), k.value(rows));
  k.forEach(k.mul(k.begin, size), end, 1, [&](Value row) {
    k.delinearize(row, outerVariables, outerDims);
    for (unsigned part = 0; part < joined->parts(); ++part) {
      k.emitter.joinedPart = {joined->cat, part};
      Value from = k.value(joined->bounds[part]), to = k.value(joined->bounds[part + 1]);
      if (joined->dim == inner) {
        takeRow(from, to);
        continue;
      }
      Value place = k.value(joined->variables[joined->dim]);
      Value isAfter =
          arith::CmpIOp::create(k.builder, k.loc, arith::CmpIPredicate::sge, place, from);
      k.when(arith::AndIOp::create(k.builder, k.loc, isAfter, k.less(place, to)),
             [&] { takeRow(k.index(0), k.value(dims[inner])); });
    }
    k.emitter.joinedPart.reset();
  });
  return {rows.ceilDiv(perTile)};
}

} // namespace dlc::codegen
