//===- CpuOracle.cpp - What the schedules of the CPU can run ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/CpuOracle.h"

#include "codegen/cpu/schedule/attention/AttentionSizes.h"
#include "codegen/plan/AttentionLimits.h"

using namespace mlir;

namespace dlc::codegen {

std::string CpuOracle::whyNoKernel(dl::AttentionOp op) const {
  if (std::string why = whyBeyondLimits(op); !why.empty())
    return why;
  dl::AttentionParts parts;
  [[maybe_unused]] std::string wrong = dl::readParts(op.getBodyBlock(), parts);
  assert(wrong.empty() && "the verifier has seen to it");
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

} // namespace dlc::codegen
