//===- NarrowingRules.cpp - Which ops of a model of f32 may run in 16 bits ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/precision/NarrowingRules.h"

#include "ir/OpTable.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/composite/AttentionParts.h"
#include "ir/dl/contraction/DLContraction.h"

using namespace mlir;

namespace dlc {

/// False for a number that the narrow type would make 0, infinite or less precise than its other
/// numbers: the eps of a norm, the -1e9 of a mask.
bool NarrowingRules::fits(const APFloat &number) const {
  APFloat rounded = number;
  bool losesInfo = false;
  rounded.convert(narrow.getFloatSemantics(), APFloat::rmNearestTiesToEven, &losesInfo);
  return !number.isFinite() || number.isZero() || rounded.isNormal();
}

/// The same for a tensor of one number; true for all others.
bool NarrowingRules::fits(Value number) const {
  number = dl::outsideAttention(number);
  while (auto repeated = number.getDefiningOp<dl::BroadcastOp>())
    number = dl::outsideAttention(repeated.getX());
  auto full = number.getDefiningOp<dl::FullOp>();
  auto value = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
  return !value || fits(value.getValue());
}

/// Some operand comes in 16 bits, and nothing else in f32 but weights and numbers that fit. A row
/// of a table of weights is as narrow as the table.
bool NarrowingRules::mayFollow(Operation *op) {
  // The numbers of an elementwise op may be its results; those of others stay within it.
  if (op->hasTrait<OpTrait::Elementwise>())
    for (NamedAttribute attribute : op->getAttrs())
      if (auto number = dyn_cast<FloatAttr>(attribute.getValue());
          number && !fits(number.getValue()))
        return false;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return !isWide(operand) || isNarrowBorn(operand) ||
           (weights.dependsOnWeightsAlone(operand) && fits(operand));
  });
}

bool NarrowingRules::isNarrowBorn(Value value) const {
  return narrowBorn.contains(value) || narrowBorn.contains(dl::outsideAttention(value));
}

bool NarrowingRules::computesActivation(Operation *op) {
  return op->getNumResults() > 0 && llvm::any_of(op->getOperands(), isWide) &&
         !llvm::all_of(op->getResults(),
                       [&](Value result) { return weights.dependsOnWeightsAlone(result); });
}

static bool hasRule(Operation *op, dl::PrecisionRule rule) {
  const OpInfo *info = opInfo(op->getName().getStringRef());
  return info && info->precision == rule;
}

/// A product of numbers of 8 bits, whose scales its sums do not have yet: they are beyond f16, and
/// wider operands would bring nothing. Both products of an attention of such numbers are.
static bool multipliesFloat8(Operation *op) {
  if (auto attention = dyn_cast<dl::AttentionOp>(op->getParentOp())) {
    dl::AttentionParts parts;
    return dl::readParts(attention.getBodyBlock(), parts).empty() && parts.float8Operands();
  }
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  return loops && dl::float8OperandsOf(loops, loops.getLoopNest());
}

bool NarrowingRules::isNarrowProduct(Operation *op) {
  return !multipliesFloat8(op) && hasRule(op, dl::PrecisionRule::narrow) && computesActivation(op);
}

bool NarrowingRules::runsNarrow(Operation *op) {
  return isNarrowProduct(op) ||
         (hasRule(op, dl::PrecisionRule::follow) && computesActivation(op) && mayFollow(op));
}

FloatType narrowTypeNamed(Operation *op, StringRef name) {
  auto type = dyn_cast_or_null<FloatType>(dl::dtypeNamed(name, op->getContext()));
  if (type && type.getWidth() == 16)
    return type;
  op->emitError("dtype is f16 or bf16, got '") << name << "'";
  return {};
}

} // namespace dlc
