//===- CpuOracle.cpp - What the schedules of the CPU can run ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuOracle.h"

#include "codegen/Passes.h"
#include "codegen/cpu/schedule/attention/AttentionSizes.h"
#include "codegen/plan/AttentionLimits.h"
#include "codegen/plan/ProgramEstimate.h"
#include "ir/machine/CpuModel.h"

using namespace mlir;

namespace dlc::codegen {

std::string CpuOracle::whyNoKernel(dl::AttentionOp op) const {
  if (std::string why = whyBeyondLimits(op); !why.empty())
    return why;
  dl::AttentionParts parts;
  [[maybe_unused]] std::string wrong = dl::readParts(op.getBodyBlock(), parts);
  assert(wrong.empty() && "the verifier has seen to it");
  if (parts.hasFloat8Weights)
    return "one kernel needs weights that are not rounded to e4m3";
  auto dims = dimsOfAttention(parts, op.getIsCausal());
  if (!dims)
    return "one kernel needs a dim of the result that only the queries have and one that only the "
           "values have, and query and key summed along one dim";
  auto rows = dl::asConstant(parts.sumOp.getLoopNest().parallel[dims->row]);
  if (rows && *rows < kFewestAttentionRows)
    return "one kernel needs " + std::to_string(kFewestAttentionRows) +
           " rows of queries or more, got " + std::to_string(*rows);
  return "";
}

/// Maps, but for those that write packed weights or choose among joined tensors.
bool CpuOracle::storesSeveral(ArrayRef<Operation *> ops) const {
  return llvm::all_of(ops, [](Operation *op) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    return loops && !isa<dl::CatOp>(op) && loops.getLoopNest().isMap() &&
           !dl::getLayout(cast<RankedTensorType>(op->getResult(0).getType())).isTiled();
  });
}

/// A contiguous row is read in vectors along the row. Other rows are read a vector of rows at a
/// time, and read again if their elements are stored: long ones have left the cache by then.
std::optional<dl::NotFused> CpuOracle::whyNotWholeRows(Operation *, const RowShape &shape) const {
  static constexpr double kVectorFloats = 16, kMostTermsApart = 128;
  if (shape.areTogether && shape.terms < kVectorFloats)
    return dl::NotFused::short_rows;
  if (!shape.areTogether && shape.storesElements && shape.terms > kMostTermsApart)
    return dl::NotFused::slower_rows;
  return std::nullopt;
}

/// Groups of at most half a vector, which the kernel of windows takes a vector from at a time.
bool CpuOracle::hasVectorsOfGroups(LoopNestOpInterface window) const {
  static constexpr int64_t kVectorChannels = 16;
  int64_t channels = window.getLoopNest().channelsOfGroup(1);
  return channels >= 2 && channels < kVectorChannels && kVectorChannels % channels == 0 &&
         llvm::all_of(
             window->getOperands().take_front(2),
             [](Value value) { return getElementTypeOrSelf(value).isF32(); });
}

double CpuOracle::microsecondsToMove(Operation *, int64_t bytes) const {
  return kAvx512Vnni.launch + 2 * double(bytes) / kAvx512Vnni.memory / 1000;
}

double CpuOracle::microsecondsToCompute(Operation *, double bytes, double operations) const {
  return kAvx512Vnni.launch +
         (kAvx512Vnni.nanosecondsToMove(bytes) + operations / (2 * kAvx512Vnni.looseFloats)) / 1000;
}

std::optional<double> CpuOracle::microsecondsOfRun(ModuleOp target) const {
  PassManager manager(target.getContext());
  manager.enableVerifier(false);
  manager.addPass(createSelectSchedulesCpuPass());
  if (failed(manager.run(target)))
    return std::nullopt;
  return codegen::microsecondsOfRun(target, kAvx512Vnni.launch, /*gpu=*/0);
}

} // namespace dlc::codegen
