//===- KeepSlower.cpp - Products and look-ups that would be slower ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/PrecisionMarks.h"
#include "passes/Passes.h"
#include "passes/compress/quantize/QuantizableTables.h"
#include "passes/compress/quantize/QuantizationGain.h"

#define DEBUG_TYPE "keep-slower"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_KEEPSLOWER
#include "passes/Passes.h.inc"

namespace {
class KeepSlower : public impl::KeepSlowerBase<KeepSlower> {
public:
  using KeepSlowerBase::KeepSlowerBase;

private:
  void runOnOperation() override;
  void keepProducts(QuantizationScheme products);
  void keepTables(QuantizationScheme products);
  /// `reader` stays as it is on the targets that `reasons` names, all of those of the file or some.
  void keep(Operation *reader, ArrayRef<std::pair<std::string, std::string>> reasons);
  /// The targets on which it would be slower, and why.
  std::vector<std::pair<std::string, std::string>> losses(ArrayRef<TargetGain> gains) const;
  GainTargets gainTargets() const {
    return {names, precisionNamed(precision.getValue()).value_or(Precision::f32)};
  }

  std::vector<std::string> names; // of the targets
};
} // namespace

static LayerPatterns noPatterns() { return llvm::cantFail(LayerPatterns::create({})); }

void KeepSlower::keep(Operation *reader, ArrayRef<std::pair<std::string, std::string>> reasons) {
  if (reasons.empty())
    return;
  ++numKept;
  Builder builder(&getContext());
  if (reasons.size() < names.size()) {
    SmallVector<NamedAttribute> some;
    for (const auto &[target, why] : reasons)
      some.push_back(builder.getNamedAttr(target, builder.getStringAttr(why)));
    reader->setAttr(dl::kKeptOn, builder.getDictionaryAttr(some));
    return;
  }
  // "int8 0.82x on cpu (...), 0.96x on cuda (...)"
  std::string all;
  for (const auto &[target, why] : reasons) {
    StringRef part = why;
    if (!all.empty())
      part.consume_front(scheme + " ");
    all += (all.empty() ? "" : ", ") + part.str();
  }
  reader->setAttr(dl::kKeptByCost, builder.getStringAttr(all));
}

std::vector<std::pair<std::string, std::string>>
KeepSlower::losses(ArrayRef<TargetGain> gains) const {
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const TargetGain &gain : gains)
    if (gain.isLoss())
      reasons.emplace_back(gain.target, lossText(scheme, gain));
  return reasons;
}

void KeepSlower::keepProducts(QuantizationScheme scheme) {
  for (const QuantizableProduct &product :
       findQuantizableProducts(getOperation(), noPatterns(), scheme))
    if (product.whyKept.empty())
      keep(product.op, losses(gainsOfProduct(product, scheme, gainTargets())));
}

void KeepSlower::keepTables(QuantizationScheme scheme) {
  const auto products = findQuantizableProducts(getOperation(), noPatterns(), scheme);
  for (const QuantizableTable &table :
       findQuantizableTables(getOperation(), noPatterns(), products, scheme)) {
    // A table that a product shares is in memory in bytes anyway.
    if (!table.whyKept.empty() || table.isTied())
      continue;
    auto reasons = losses(gainsOfFewBits(table.weight, /*bits=*/8, gainTargets()));
    auto isCpu = [](const auto &reason) { return reason.first == "cpu"; };
    if (refits && llvm::is_contained(names, "cpu") && llvm::none_of(reasons, isCpu))
      reasons.emplace_back("cpu",
                           "the file has it in f32 for dlc refit, of which the CPU reads the "
                           "rows that it needs; --no-refit stores bytes");
    for (OpOperand *use : table.weight.tables)
      keep(use->getOwner(), reasons);
  }
}

void KeepSlower::runOnOperation() {
  func::FuncOp function = getOperation();
  const auto chosen = quantizationNamed(scheme);
  if (!chosen || *chosen == QuantizationScheme::none) {
    function.emitError("scheme is ")
        << schemesThat([](const auto &) { return true; }) << ", got '" << scheme << "'";
    return signalPassFailure();
  }
  if (function.isExternal())
    return;
  names.assign(targets.begin(), targets.end());
  if (recordOf(*chosen).part == QuantizedPart::products) {
    keepProducts(*chosen);
    keepTables(*chosen);
    return;
  }
  for (const PackableWeight &weight : findPackableWeights(function, noPatterns()))
    if (weight.whyKept.empty())
      for (OpOperand *use : weight.readers())
        keep(use->getOwner(),
             losses(gainsOfFewBits(weight, weight.formatOf({.bits = recordOf(*chosen).bits}).bits,
                                   gainTargets())));
}

} // namespace dlc
