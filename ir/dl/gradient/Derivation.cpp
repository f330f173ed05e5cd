//===- Derivation.cpp - What a change of an op's result is worth to its operands ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/gradient/Derivation.h"

using namespace mlir;

namespace dlc::dl {

void Derivation::add(unsigned operand, const Term &cotangent) {
  if (!wants(operand) || refused)
    return;
  Value of = op->getOperand(operand);
  Value more = b.cast(cotangent.value(), dtype(operand));
  assert(sameShapeAndElement(more.getType(), of.getType()) &&
         "a derivative has the operand's dims");
  auto [found, isFirst] = cotangents.try_emplace(of, more);
  if (!isFirst)
    found->second = b.make<AddOp>(found->second, more);
}

Term Derivation::size(AffineExpr dim, Type dtype) {
  if (auto number = asConstant(normalize(dim)))
    return {static_cast<double>(*number)};
  return {b.make<ScalarTensorOp>(dimsMap({normalize(dim)}, b.getContext()), TypeAttr::get(dtype)),
          b};
}

Term Derivation::arange(AffineExpr end) {
  return {b.make<ArangeOp>(AffineMapAttr::get(dimsMap({end}, b.getContext())), AffineMapAttr(),
                           b.getI64IntegerAttr(1), TypeAttr()),
          b};
}

SmallVector<int64_t> Derivation::axes(ArrayRef<int64_t> dims) const {
  if (dims.empty())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank()));
  return llvm::map_to_vector(dims, [&](int64_t dim) { return axis(dim); });
}

void Derivation::refuse(const Twine &form, const Twine &advice) {
  refused = NotDifferentiable{op, form.str(), advice.str()};
}

SmallVector<ArrayRef<GradientRule>> gradientRules() {
  return {elementwiseGradients(), mathGradients(),        activationGradients(),
          shapeGradients(),       indexGradients(),       reductionGradients(),
          normGradients(),        contractionGradients(), attentionGradients(),
          convolutionGradients(), poolGradients(),        sampleGradients(),
          recurrentGradients()};
}

const GradientRule *gradientRuleOf(Operation *op) {
  static const llvm::StringMap<const GradientRule *> byName = [] {
    llvm::StringMap<const GradientRule *> rules;
    for (ArrayRef<GradientRule> family : gradientRules())
      for (const GradientRule &rule : family)
        rules[rule.op] = &rule;
    return rules;
  }();
  return byName.lookup(op->getName().getStringRef());
}

} // namespace dlc::dl
