//===- LayoutRules.cpp - In which layout an op wants what it reads ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/layout/LayoutRules.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ViewLayout.h"

using namespace mlir;

namespace dlc {

/// A window over so few row-major channels gains nothing from lying channels last.
static constexpr int64_t kFewChannels = 4;
/// Channels of a vector, or of a panel of packed weights.
static constexpr int64_t kVectorChannels = 16;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Channels last for `type`, or row-major where that is the same.
static dl::Layout channelsLast(RankedTensorType type) {
  return canonicalLayout(type, dl::Layout::channelsLast(type.getRank()));
}

/// The op walks `operand` as it walks its result: dim i of the one is read at dim i of the other.
static bool walksAlong(const LoopNest &nest, unsigned operand) {
  auto alike = [&](const Access &access) {
    if (access.operand != operand)
      return true;
    for (auto [position, index] : llvm::enumerate(access.map.getResults()))
      for (unsigned dim = 0; dim < nest.parallel.size(); ++dim)
        if (dim != position && index.isFunctionOfDim(dim))
          return false;
    return true;
  };
  return llvm::all_of(nest.terms, alike) && llvm::all_of(nest.results, alike);
}

/// The op only moves elements, and walks the channels of `operand` as its own, wherever they begin:
/// dl.depth_to_space.
static bool movesChannels(const LoopNest &nest, unsigned operand) {
  AffineExpr channel = getAffineDimExpr(1, nest.parallel.front().getContext());
  if (!nest.isMap())
    return false;
  return llvm::all_of(nest.results, [&](const Access &access) {
    if (access.operand != operand)
      return true;
    for (auto [position, index] : llvm::enumerate(access.map.getResults())) {
      AffineExpr from = position == 1 ? simplifyAffineExpr(index - channel, access.map.getNumDims(),
                                                           access.map.getNumSymbols())
                                      : index;
      if (from.isFunctionOfDim(1))
        return false;
    }
    return true;
  });
}

/// Neighbouring channels of the result read one element of a window over x, or neighbours: what
/// vectors of channels need. Where they do so in groups alone, vectors must fit these; else they
/// lie along the image.
static bool hasVectorsOfChannels(const LoopNest &nest) {
  MLIRContext *context = nest.parallel.front().getContext();
  AffineExpr channel = getAffineDimExpr(1, context);
  const AffineMap &map = nest.terms.front().map;
  return llvm::all_of(map.getResults(), [&](AffineExpr index) {
    AffineExpr rest = simplifyAffineExpr(index - channel, map.getNumDims(), map.getNumSymbols());
    if (!index.isFunctionOfDim(1) || !rest.isFunctionOfDim(1))
      return true;
    bool isWhole = false;
    index.walk([&](AffineExpr part) {
      auto quotient = dyn_cast<AffineBinaryOpExpr>(part);
      if (quotient && quotient.getKind() == AffineExprKind::FloorDiv &&
          quotient.getLHS() == channel)
        isWhole = dl::asConstant(quotient.getRHS()).value_or(1) % kVectorChannels == 0;
    });
    return isWhole;
  });
}

/// The op reads where numbers say that change from place to place of the image, and that all
/// channels share: those at a place are found at once, and lie together, channels last.
static bool sharesPlaces(const LoopNest &nest) {
  unsigned last = nest.parallel.size() - 1;
  if (last < 2)
    return false;
  auto all = llvm::concat<const Access>(nest.terms, nest.results);
  const Access *placed = nullptr; // the last one with computed indices
  for (const Access &access : all)
    if (access.isComputed())
      placed = &access;
  if (!placed || placed->map.getNumResults() < 3 || placed->computed.test(1) ||
      placed->map.getResult(1) != getAffineDimExpr(1, placed->map.getContext()))
    return false;
  auto channels = dl::asConstant(nest.parallel[1]);
  auto movesAlong = [&](unsigned dim) {
    return nest.readsIndex(dim) || llvm::any_of(all, [&](const Access &access) {
             return !access.isComputed() && access.map.isFunctionOfDim(dim);
           });
  };
  return channels.value_or(0) >= kVectorChannels && movesAlong(last) && !movesAlong(1);
}

/// To lay `x` channels last takes about as long for each of its elements as computing a place does
/// for each of the result's, or for each term. Of terms that may be left out, one is counted.
static bool isWorthTurning(const LoopNest &nest, RankedTensorType x) {
  MLIRContext *context = x.getContext();
  AffineExpr places = dl::product(nest.parallel, context);
  for (auto [loop, extent] : llvm::enumerate(nest.reduction))
    if (!nest.isSpanned(loop))
      places = places * extent;
  auto before = dl::asConstant(dl::product(dl::getDims(x), context)),
       after = dl::asConstant(dl::normalize(places));
  return !before || !after || *before <= *after;
}

std::optional<dl::Layout> LayoutRule::wanted(Operation *op, unsigned number,
                                             const dl::Layout &result) const {
  const OperandRule &rule = operands[number];
  RankedTensorType type = typeOf(op->getOperand(number));
  switch (rule.kind) {
  case OperandRule::anything:
    return std::nullopt;
  case OperandRule::fixed:
    return rule.layout;
  case OperandRule::likeResult:
    return canonicalLayout(type, result);
  case OperandRule::viewed:
    return layoutOfOperand(op, result).value_or(dl::Layout());
  }
  llvm_unreachable("all kinds are handled");
}

std::optional<dl::Layout> LayoutRule::carried(Operation *op, unsigned number,
                                              const dl::Layout &operand) const {
  switch (operands[number].kind) {
  case OperandRule::anything:
  case OperandRule::fixed:
    return std::nullopt;
  case OperandRule::likeResult:
    return canonicalLayout(typeOf(op->getResult(0)), operand);
  case OperandRule::viewed:
    return layoutOfResult(op, operand);
  }
  llvm_unreachable("all kinds are handled");
}

/// Everything is row-major.
static LayoutRule rowMajorRule(Operation *op) {
  LayoutRule rule;
  rule.operands.assign(op->getNumOperands(), {OperandRule::fixed, {}});
  rule.result = dl::Layout();
  return rule;
}

/// The rule of a window over its first operand; nullopt if its kernels read row-major images.
static std::optional<LayoutRule> windowRule(LoopNestOpInterface op, const LoopNest &nest,
                                            const ScheduleOracle &oracle) {
  if (!hasVectorsOfChannels(nest) && !oracle.hasVectorsOfGroups(op))
    return std::nullopt;
  LayoutRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.result = channelsLast(typeOf(op->getResult(0)));
  unsigned number = nest.terms.front().operand;
  RankedTensorType x = typeOf(op->getOperand(number));
  auto channels = dl::asConstant(dl::getDims(x)[1]);
  // Integers are multiplied in pairs of neighbours in memory.
  bool inPairs =
      nest.isProduct && x.getElementType().isSignlessInteger(32) && channels.value_or(2) > 1;
  rule.mayBeRowMajor = oracle.slidesAlongRows(op);
  if (rule.mayBeRowMajor)
    rule.operands[number].kind = OperandRule::likeResult;
  else if (inPairs || channels.value_or(kFewChannels + 1) > kFewChannels)
    rule.operands[number] = {OperandRule::fixed, channelsLast(x)};
  return rule;
}

/// The rule of an op that reads images at places which all of their channels share; nullopt if `op`
/// is none, or if it would take longer to lay the images so.
static std::optional<LayoutRule> placedRule(LoopNestOpInterface op, const LoopNest &nest) {
  if (!sharesPlaces(nest))
    return std::nullopt;
  LayoutRule rule;
  rule.operands.resize(op->getNumOperands());
  rule.result = channelsLast(typeOf(op->getResult(0)));
  for (const Access &access : llvm::concat<const Access>(nest.terms, nest.results))
    if (access.isComputed()) {
      RankedTensorType x = typeOf(op->getOperand(access.operand));
      if (!isWorthTurning(nest, x))
        return std::nullopt;
      rule.operands[access.operand] = {OperandRule::fixed, channelsLast(x)};
    }
  return rule;
}

LayoutRule layoutRuleOf(Operation *op, const ScheduleOracle &oracle) {
  LayoutRule rule;
  rule.operands.resize(op->getNumOperands());
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops) {
    // The products of an attention and what stands alone are scheduled for row-major order.
    bool isKernel = standsAlone(op) || isa<dl::AttentionOp>(op);
    return isKernel || op->hasTrait<OpTrait::IsTerminator>() ? rowMajorRule(op) : rule;
  }
  LoopNest nest = loops.getLoopNest();
  if (isa<dl::ReshapeOp, dl::PermuteOp>(op)) {
    rule.operands.front().kind = OperandRule::viewed;
    rule.isMap = true;
    return rule;
  }
  int64_t rank = typeOf(op->getResult(0)).getRank();
  bool isWindow = nest.isWindow() && rank > 2;
  if (isWindow)
    if (auto window = windowRule(loops, nest, oracle))
      return *window;
  if (isWindow || nest.isProduct)
    return rowMajorRule(op);
  if (auto placed = placedRule(loops, nest))
    return *placed;
  rule.isMap = nest.isMap();
  if (rank < 3) {
    rule.result = dl::Layout();
    return rule;
  }
  for (auto [number, operand] : llvm::enumerate(op->getOperands()))
    if (typeOf(operand).getRank() == rank &&
        (walksAlong(nest, number) || movesChannels(nest, number)))
      rule.operands[number].kind = OperandRule::likeResult;
  return rule;
}

} // namespace dlc
