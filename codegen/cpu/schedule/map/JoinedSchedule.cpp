//===- JoinedSchedule.cpp - Maps over joined tensors on the CPU ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the result that lies in one of the tensors is a map by itself, whose vectors lie as
// that tensor likes. The tiles of the parts follow each other.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/plan/JoinedMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace dlc::codegen {

bool isJoinedMap(BodyEmitter &emitter) {
  return !emitter.getRoot() && !emitter.isInPlace() &&
         !dl::getLayout(emitter.getResultType()).isTiled() &&
         !joinedMapsOf(emitter.getKernel()).empty();
}

/// Returns true if every part of `joined` is computed without a choice by its index.
static bool settlesChoices(CpuKernel &k, const JoinedMap &joined) {
  SmallVector<AffineExpr> variables;
  for (AffineExpr dim : dl::getDims(k.emitter.getResultType()))
    variables.push_back(k.math.addLoop(dim));
  bool needsScalar = false;
  for (unsigned part = 0; part < joined.parts(); ++part) {
    k.emitter.joinedPart = {joined.cat, part};
    for (AffineExpr variable : variables)
      needsScalar |= k.emitter.needsScalarAlong(variable, variables, {});
  }
  k.emitter.joinedPart.reset();
  return !needsScalar;
}

CpuLaunch scheduleJoined(CpuKernel &k) {
  SmallVector<JoinedMap> maps = joinedMapsOf(k.emitter.getKernel());
  auto *joined = llvm::find_if(maps, [&](const JoinedMap &map) { return settlesChoices(k, map); });
  if (joined == maps.end())
    joined = maps.begin();
  Value begin = k.begin, end = k.end, zero = k.index(0);
  AffineExpr before = k.math.constant(0); // tiles of earlier parts
  int64_t scratchBytes = 0;
  for (unsigned part = 0; part < joined->parts(); ++part) {
    auto ownTile = [&](Value tile) {
      Value own = k.builder.createOrFold<arith::SubIOp>(k.loc, tile, k.value(before));
      return k.builder.createOrFold<arith::MaxSIOp>(k.loc, own, zero);
    };
    k.begin = part ? ownTile(begin) : begin;
    k.end = part ? ownTile(end) : end;
    k.emitter.joinedPart = {joined->cat, part};
    AffineExpr first = joined->bounds[part],
               extent = dl::normalize(joined->bounds[part + 1] - first);
    if (dl::isConstant(extent, 0))
      continue;
    CpuLaunch launch =
        scheduleMap(k, ResultPart{static_cast<unsigned>(joined->dim), first, extent});
    before = dl::normalize(before + launch.tiles);
    scratchBytes = std::max(scratchBytes, launch.scratchBytes);
  }
  k.emitter.joinedPart.reset();
  return {before, scratchBytes};
}

} // namespace dlc::codegen
