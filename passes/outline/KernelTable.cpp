//===- KernelTable.cpp - Kernels by what they compute -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/outline/KernelTable.h"

#include "mlir/IR/OperationSupport.h"

using namespace mlir;

namespace dlc {

/// Equal for bodies that are equivalent, whatever their locations.
static uint64_t hashOf(Region &body) {
  Block &block = body.front();
  llvm::DenseMap<Value, unsigned> numbers;
  llvm::hash_code hash = llvm::hash_value(block.getNumArguments());
  for (BlockArgument argument : block.getArguments()) {
    numbers.try_emplace(argument, numbers.size());
    hash = llvm::hash_combine(hash, argument.getType());
  }
  for (Operation &op : block) {
    auto number = [&](Value value) { return llvm::hash_value(numbers.lookup(value)); };
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(&op, number, OperationEquivalence::ignoreHashValue,
                                                OperationEquivalence::IgnoreLocations));
    for (Value result : op.getResults())
      numbers.try_emplace(result, numbers.size());
  }
  // DenseMap keeps two values for itself.
  return static_cast<size_t>(hash) >> 1;
}

/// `places` and `more` as one, unless there are enough.
static Location joined(Location places, Location more) {
  auto fused = dyn_cast<FusedLoc>(places);
  if (fused && fused.getLocations().size() >= KernelTable::kMostPlaces)
    return places;
  return FusedLoc::get(places.getContext(), {places, more});
}

/// The ops of `ours` and in them get the places of the same ops of `theirs`.
static void joinPlaces(Block &ours, Block &theirs) {
  for (auto [our, their] : llvm::zip(ours, theirs)) {
    our.setLoc(joined(our.getLoc(), their.getLoc()));
    for (auto [inOur, inTheir] : llvm::zip(our.getRegions(), their.getRegions()))
      joinPlaces(inOur.front(), inTheir.front());
  }
}

dlx::KernelOp KernelTable::find(Region &body, Location loc) {
  for (dlx::KernelOp kernel : kernels[hashOf(body)]) {
    if (!OperationEquivalence::isRegionEquivalentTo(&kernel.getBody(), &body,
                                                    OperationEquivalence::IgnoreLocations))
      continue;
    joinPlaces(kernel.getBodyBlock(), body.front());
    kernel->setLoc(joined(kernel.getLoc(), loc));
    return kernel;
  }
  return {};
}

void KernelTable::add(dlx::KernelOp kernel) { kernels[hashOf(kernel.getBody())].push_back(kernel); }

} // namespace dlc
