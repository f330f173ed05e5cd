//===- MapLoops.cpp - The loops of a map over its result, grouped -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/map/MapLoops.h"

using namespace mlir;

namespace dlc::codegen {

MapLoops::MapLoops(KernelView &k) {
  ArrayRef<AffineExpr> extents = k.body.getNest().parallel;
  order = k.body.memoryOrder();
  SmallVector<AffineExpr> variables;
  for (AffineExpr extent : extents)
    variables.push_back(k.math.addLoop(extent));
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, {});
  SmallVector<AffineExpr> addresses = {k.resultOffset(variables)};
  k.body.visitResultReads(variables, [&](unsigned, AffineExpr offset, bool) {
    addresses.push_back(offset);
    return true;
  });
  groups =
      mergeDims(k.math, order, variables, extents, addresses, pinned, resultRoles(extents.size()));
  indices.resize(extents.size());
  bindGroups(k.math, groups, order, indices);
}

} // namespace dlc::codegen
