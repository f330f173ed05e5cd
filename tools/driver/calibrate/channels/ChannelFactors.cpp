//===- ChannelFactors.cpp - Factors of channels, from an activation into its weights ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/channels/ChannelFactors.h"

#include "ir/dl/DLOps.h"
#include "tools/driver/weights/WeightReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace dlc {

Value holdChannelFactors(func::FuncOp function, Location location, StringRef weight,
                         ArrayRef<float> factors) {
  llvm::StringSet<> names;
  for (auto other : function.front().getOps<dl::WeightOp>())
    names.insert(other.getName());
  const std::string base = weight.str() + ".smooth";
  std::string name = base;
  for (unsigned number = 2; names.contains(name); ++number)
    name = base + std::to_string(number);
  OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
  return holdVector(builder, location, name, factors);
}

Value repeatChannels(Value channels, Value x, int64_t dim, dl::Builder &builder) {
  dl::Dims whole = dl::dimsOf(x), along(whole.size(), dl::constantDim(1, builder.getContext()));
  along[dim] = whole[dim];
  return builder.broadcast(builder.reshape(channels, along), whole);
}

/// Whether a norm gives the activation to `reads` alone, and has a weight for each channel.
static bool isOfNorm(const ChannelReads &reads) {
  Operation *norm = reads.activation.getDefiningOp();
  auto standardize = dyn_cast_or_null<dl::StandardizeOp>(norm);
  if (norm == nullptr || !isa<dl::StandardizeOp, dl::RmsNormOp, dl::LayerNormOp>(norm) ||
      norm->getNumOperands() < 2 || dl::typeOf(norm->getOperand(1)).getRank() != 1)
    return false;
  const int64_t ofNorm = standardize ? standardize.getAffineDims().front()
                                     : dl::typeOf(reads.activation).getRank() - 1;
  return ofNorm == reads.dim && llvm::all_of(reads.activation.getUses(), [&](OpOperand &use) {
           return llvm::is_contained(reads.uses, &use);
         });
}

void multiplyChannels(const ChannelReads &reads, Value factors) {
  Value x = reads.activation;
  dl::Builder builder(x.getLoc(), x.getContext());
  if (isOfNorm(reads)) {
    Operation *norm = x.getDefiningOp();
    builder.setInsertionPoint(norm);
    for (OpOperand &affine : norm->getOpOperands().drop_front())
      affine.set(builder.make<dl::MulOp>(affine.get(), factors));
    return;
  }
  builder.setInsertionPointAfterValue(x);
  if (!factors.getDefiningOp()->isBeforeInBlock(&*builder.getInsertionPoint()))
    builder.setInsertionPointAfterValue(factors);
  x = builder.make<dl::MulOp>(x, repeatChannels(factors, x, reads.dim, builder));
  for (OpOperand *use : reads.uses)
    use->set(x);
}

} // namespace dlc
