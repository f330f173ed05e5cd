//===- JoinedMap.cpp - Maps over tensors that are joined ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/plan/JoinedMap.h"

#include "ir/interfaces/LoopNest.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc::codegen {

/// Whether what reads `value` reads it at its own index, and so on to the results of the kernel.
static bool isReadAtOwnIndex(Value value) {
  // Each value once: there may be many ways to it.
  llvm::SetVector<Value> values;
  values.insert(value);
  for (size_t next = 0; next < values.size(); ++next)
    for (OpOperand &use : values[next].getUses()) {
      Operation *user = use.getOwner();
      if (isa<dl::YieldOp>(user))
        continue;
      auto map = dyn_cast<LoopNestOpInterface>(user);
      LoopNest nest = map ? map.getLoopNest() : LoopNest();
      if (!map || !nest.isMap())
        return false;
      AffineMap own = identityAccess(nest.parallel.size(), value.getContext());
      for (const Access &access : nest.results)
        if (access.operand == use.getOperandNumber() &&
            (access.isComputed() || access.checked || access.map.getResults() != own.getResults()))
          return false;
      values.insert(user->getResult(0));
    }
  return true;
}

/// Ends the parts where the result of `kernel` ends, which may be before the last of them: at its
/// own index a slice reads, too. Returns false where sizes that are not known decide on that.
static bool endAtResult(JoinedMap &joined, dlx::KernelOp kernel) {
  auto type = cast<RankedTensorType>(kernel.getResultTensors().front().getType());
  AffineExpr end = dl::getDims(type)[joined.dim];
  if (joined.bounds.back() == end)
    return true;
  for (AffineExpr &bound : joined.bounds) {
    auto most = dl::asConstant(end), own = dl::asConstant(bound);
    if (!most || !own)
      return false;
    bound = dl::constantDim(std::min(*own, *most), type.getContext());
  }
  return true;
}

SmallVector<JoinedMap> joinedMapsOf(dlx::KernelOp kernel) {
  SmallVector<JoinedMap> found;
  for (auto cat : kernel.getBodyBlock().getOps<dl::CatOp>()) {
    if (cat.getTensors().size() < 2 || !isReadAtOwnIndex(cat.getY()))
      continue;
    auto type = cast<RankedTensorType>(cat.getY().getType());
    JoinedMap joined = {cat, *dl::wrapDim(std::nullopt, "", cat.getDim(), type.getRank()), {}};
    joined.bounds.push_back(dl::constantDim(0, type.getContext()));
    for (Value tensor : cat.getTensors()) {
      dl::Dims dims = dl::getDims(cast<RankedTensorType>(tensor.getType()));
      joined.bounds.push_back(dl::normalize(joined.bounds.back() + dims[joined.dim]));
    }
    if (endAtResult(joined, kernel))
      found.push_back(std::move(joined));
  }
  return found;
}

} // namespace dlc::codegen
