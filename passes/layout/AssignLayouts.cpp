//===- AssignLayouts.cpp - Channels last inside convolutional regions ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "assign-layouts"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_ASSIGNLAYOUTS
#include "passes/Passes.h.inc"

namespace {

class AssignLayouts : public impl::AssignLayoutsBase<AssignLayouts> {
  void runOnOperation() override;

  void assign(LoopNestOpInterface op);
  /// Makes `operand` read its value in `layout`.
  void require(OpOperand &operand, const dl::Layout &layout);

  /// Converts made so far, so that each value is converted once.
  llvm::DenseMap<std::pair<Value, Type>, Value> converted;
  WeightDependence weights;
};

} // namespace

/// A window over so few row-major channels gains nothing from lying channels last.
static constexpr int64_t kFewChannels = 4;
/// Channels of a vector, or of a panel of packed weights.
static constexpr int64_t kVectorChannels = 16;

static RankedTensorType typeOf(Value value) { return cast<RankedTensorType>(value.getType()); }

/// Both layouts put the same bytes in the same places: dims of size 1 may stand anywhere.
static bool isSameAsRowMajor(RankedTensorType type, const dl::Layout &layout) {
  dl::Dims dims = dl::getDims(type);
  int64_t previous = -1;
  for (int64_t dim : layout.order) {
    if (dl::isConstant(dims[dim], 1))
      continue;
    if (dim < previous)
      return false;
    previous = dim;
  }
  return true;
}

/// Channels last for `type`, or row-major where that is the same.
static dl::Layout channelsLast(RankedTensorType type) {
  dl::Layout layout = dl::Layout::channelsLast(type.getRank());
  return isSameAsRowMajor(type, layout) ? dl::Layout() : layout;
}

static bool isChannelsLast(Value value) {
  int64_t rank = typeOf(value).getRank();
  return rank > 2 && dl::getLayout(typeOf(value)) == dl::Layout::channelsLast(rank);
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

/// The op only moves elements, and walks the channels of `operand` as its own, wherever they begin: dl.depth_to_space.
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

/// Neighbouring channels of the result read one element of a window over x, or neighbours: what vectors of channels need. Where they
/// do so in groups alone, vectors must fit these; else they lie along the image.
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

/// The channels of several whole groups make a vector, which the CPU reads at once, and takes those
/// of each group from.
static bool hasVectorsOfGroups(LoopNestOpInterface op, const LoopNest &nest) {
  int64_t channels = nest.channelsOfGroup(1);
  return op->getParentOfType<ModuleOp>().getName() == "cpu" && channels >= 2 &&
         channels < kVectorChannels && kVectorChannels % channels == 0 &&
         llvm::all_of(
             op->getOperands().take_front(2),
             [](Value value) { return typeOf(value).getElementType().isF32(); });
}

/// The op reads where numbers say that change from place to place of the image, and that all channels share: those at a place are found
/// at once, and lie together, channels last.
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

/// To lay `x` channels last takes about as long for each of its elements as computing a place does for each of the result's, or for
/// each term. Of terms that may be left out, one is counted.
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

void AssignLayouts::require(OpOperand &operand, const dl::Layout &layout) {
  Value value = operand.get();
  // Never convert a converted value: go back to what it was.
  if (auto convert = value.getDefiningOp<dl::ConvertLayoutOp>())
    value = convert.getX();
  auto type = dl::withLayout(typeOf(value), layout);
  if (type == value.getType()) {
    operand.set(value);
    return;
  }
  Value &convert = converted[{value, type}];
  if (!convert) {
    OpBuilder builder(operand.getOwner());
    builder.setInsertionPointAfterValue(value);
    convert = dl::ConvertLayoutOp::create(builder, operand.getOwner()->getLoc(), type, value);
    ++numConverts;
  }
  operand.set(convert);
}

void AssignLayouts::assign(LoopNestOpInterface op) {
  Value result = op->getResult(0);
  if (weights.dependsOnWeightsAlone(result))
    return;
  LoopNest nest = op.getLoopNest();
  bool isWindow = nest.isWindow() && typeOf(result).getRank() > 2;
  // A reshape means row-major order; matrix products and convolutions of groups are scheduled for it.
  if (isa<dl::ReshapeOp>(op) || (nest.isProduct && !isWindow) ||
      (isWindow && !hasVectorsOfChannels(nest) && !hasVectorsOfGroups(op, nest))) {
    for (OpOperand &operand : op->getOpOperands())
      require(operand, {});
    return;
  }
  if (isWindow) {
    OpOperand &x = op->getOpOperand(nest.terms.front().operand);
    auto channels = dl::asConstant(dl::getDims(typeOf(x.get()))[1]);
    // Integers are multiplied in pairs of neighbours in memory.
    bool inPairs = nest.isProduct && typeOf(x.get()).getElementType().isSignlessInteger(32) &&
                   channels.value_or(2) > 1;
    if (inPairs || channels.value_or(kFewChannels + 1) > kFewChannels)
      require(x, channelsLast(typeOf(x.get())));
  }
  bool isPlaced = sharesPlaces(nest);
  auto forEachPlaced = [&](llvm::function_ref<void(OpOperand &)> then) {
    for (const Access &access : llvm::concat<const Access>(nest.terms, nest.results))
      if (access.isComputed())
        then(op->getOpOperand(access.operand));
  };
  if (isPlaced)
    forEachPlaced([&](OpOperand &x) { isPlaced &= isWorthTurning(nest, typeOf(x.get())); });
  if (isPlaced)
    forEachPlaced([&](OpOperand &x) { require(x, channelsLast(typeOf(x.get()))); });
  bool carries = false;
  if (typeOf(result).getRank() < 3)
    return;
  for (OpOperand &operand : op->getOpOperands())
    carries |= isChannelsLast(operand.get()) && (walksAlong(nest, operand.getOperandNumber()) ||
                                                 movesChannels(nest, operand.getOperandNumber()));
  if (isWindow || isPlaced || carries)
    result.setType(dl::withLayout(typeOf(result), channelsLast(typeOf(result))));
}

void AssignLayouts::runOnOperation() {
  converted.clear();
  weights = {};
  Block &block = getOperation().front();
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto loops = dyn_cast<LoopNestOpInterface>(op))
      assign(loops);
    else if (standsAlone(&op) || isa<dl::AttentionOp>(op)) // whose products are scheduled for it
      for (OpOperand &operand : op.getOpOperands())
        require(operand, {});
  for (OpOperand &result : block.getTerminator()->getOpOperands())
    require(result, {});
  // A convert that later users went round has none left.
  for (auto &[key, convert] : converted)
    if (convert.use_empty())
      convert.getDefiningOp()->erase();
}

} // namespace dlc
