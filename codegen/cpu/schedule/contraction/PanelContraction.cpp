//===- PanelContraction.cpp - Sums of products as rows times panels -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/schedule/contraction/PanelContraction.h"

#include "codegen/cpu/schedule/CpuKernel.h"
#include "codegen/cpu/schedule/contraction/ComputedOperand.h"
#include "ir/analysis/IntegerRange.h"
#include "ir/kernel/Sides.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace dlc::codegen {

namespace {

/// The nest with fresh variables for its loops, to ask how addresses move.
struct LoopVariables {
  SmallVector<AffineExpr> parallel, reduction, all;
  LoopVariables(const LoopNest &nest, IndexMath &math) {
    for (AffineExpr dim : nest.parallel)
      parallel.push_back(math.addLoop(dim));
    for (AffineExpr dim : nest.reduction)
      reduction.push_back(math.addLoop(dim));
    all = parallel;
    llvm::append_range(all, reduction);
  }
};

} // namespace

/// True where an extent may be 0 on some loop beside the rows: then a may have no element to read
/// in place of a border.
static bool mayBeEmpty(RankedTensorType type) {
  return llvm::any_of(dl::getDims(type), [&](AffineExpr dim) { return dl::isConstant(dim, 0); });
}

/// Returns how many neighbours along loop `dim` read the same element through `map`: 0 if all do,
/// nullopt if the number varies.
static std::optional<int64_t> groupAlong(AffineMap map, unsigned dim) {
  int64_t size = 0;
  bool isGrouped = true;
  for (AffineExpr index : map.getResults()) {
    // The dim may stand as the numerator of one divisor alone.
    llvm::DenseMap<AffineExpr, AffineExpr> numbers;
    index.walk([&](AffineExpr part) {
      auto quotient = dyn_cast<AffineBinaryOpExpr>(part);
      if (!quotient || quotient.getKind() != AffineExprKind::FloorDiv ||
          quotient.getLHS() != getAffineDimExpr(dim, map.getContext()))
        return;
      auto divisor = dl::asConstant(quotient.getRHS());
      isGrouped &= divisor && (size == 0 || size == *divisor);
      size = divisor.value_or(0);
      numbers[part] = getAffineConstantExpr(0, map.getContext());
    });
    isGrouped &= !index.replace(numbers).isFunctionOfDim(dim);
  }
  return isGrouped ? std::optional(size) : std::nullopt;
}

static bool isNarrowGroup(int64_t channels) {
  return channels >= 2 && channels < kPanel && kPanel % channels == 0;
}

/// `operand`, or the integers of fewer bits that it is widened from, where this is for it alone.
static OffsetIntegers storedOperand(Value operand) {
  auto integers = operand.hasOneUse() ? widenedFrom(operand) : std::nullopt;
  return integers && isa<BlockArgument>(integers->stored) ? *integers : OffsetIntegers{operand};
}

/// The same, where no zero point is taken away.
static Value storedWithoutOffset(Value operand) {
  OffsetIntegers integers = storedOperand(operand);
  return integers.zeroPoint == 0 ? integers.stored : operand;
}

/// Sums in i32 of products of i16 or u8, less a zero point, with i8, u8 or i16: pairs of i16 hold
/// the operands, and a sum of two products wraps as i32 does.
static bool multipliesIntegers(BodyEmitter &emitter, const OffsetIntegers &a, Value b) {
  if (!emitter.accumulatorType(0).isSignlessInteger(32) || !isa<BlockArgument>(a.stored))
    return false;
  Type type = getElementTypeOrSelf(a.stored.getType());
  bool isShort = type.isSignlessInteger(16) && a.zeroPoint == 0;
  bool isByte = type.isUnsignedInteger(8) && a.zeroPoint >= 0 && a.zeroPoint <= 255;
  std::optional<IntegerRange> pairs = rangeOfType(IntegerType::get(b.getContext(), 16));
  auto numbers = rangeOfType(getElementTypeOrSelf(b.getType()));
  return (isShort || isByte) && numbers && numbers->isWithin(*pairs);
}

/// Sums in f32 of products of bf16 that are read as they are stored.
static bool multipliesBrainFloats(BodyEmitter &emitter, Value a, Value b) {
  return emitter.accumulatorType(0).isF32() && isa<BlockArgument>(a) &&
         getElementTypeOrSelf(a.getType()).isBF16() && getElementTypeOrSelf(b.getType()).isBF16();
}

/// Both operands are read as they are stored, in f32.
static bool multipliesFloats(BodyEmitter &emitter, Value b) {
  Value a = emitter.getRoot()->getOperand(emitter.getNest().terms[0].operand);
  return isa<BlockArgument>(a) && getElementTypeOrSelf(a.getType()).isF32() &&
         getElementTypeOrSelf(b.getType()).isF32() && emitter.accumulatorType(0).isF32();
}

/// The channels of the first operand that are the result's columns lie together, and what lies
/// outside of it is 0.
static bool readsChannels(BodyEmitter &emitter, IndexMath &math, unsigned column) {
  const LoopNest &nest = emitter.getNest();
  const Access &a = nest.terms[0];
  if (a.isComputed() || (a.checked && a.fill != 0))
    return false;
  LoopVariables loops(nest, math);
  SmallVector<AffineExpr> indices;
  for (AffineExpr index : a.map.getResults())
    indices.push_back(index.isFunctionOfDim(column) ? loops.parallel[column]
                                                    : math.simplify(index.replaceDims(loops.all)));
  return emitter.visitReads(
      emitter.getRoot()->getOperand(a.operand), indices, [&](unsigned, AffineExpr offset, bool) {
        return math.strideAlong(offset, loops.parallel[column]) == Stride::unit;
      });
}

int64_t PanelContraction::neighboursAtOnce(IsaVariant isa) const {
  if (bytes && isa >= IsaVariant::avx512Vnni)
    return 4;
  return integers || (brainFloats && isa >= IsaVariant::avx512Bf16) ? 2 : 1;
}

IsaVariant PanelContraction::bestIsa() const {
  if (brainFloats)
    return IsaVariant::avx512Bf16;
  return integers ? IsaVariant::avx512Vnni : IsaVariant::avx512;
}

/// Rows of an image, at least, that fill chunks by themselves.
static constexpr int64_t kLeastRowsOfImage = 32;

void PanelContraction::takeImagesApart(const LoopNest &nest) {
  auto isKnown = [&](unsigned dim) { return dl::asConstant(nest.parallel[dim]).has_value(); };
  auto *firstKnown = llvm::find_if(rows, isKnown);
  int64_t ofImage = 1;
  for (unsigned dim : ArrayRef(firstKnown, rows.end())) {
    if (!isKnown(dim))
      return;
    ofImage *= *dl::asConstant(nest.parallel[dim]);
  }
  if (ofImage < kLeastRowsOfImage)
    return;
  batch.insert(batch.begin(), rows.begin(), firstKnown);
  rows.erase(rows.begin(), firstKnown);
}

std::optional<PanelContraction> PanelContraction::match(BodyEmitter &emitter, IndexMath &math) {
  const LoopNest &nest = emitter.getNest();
  auto sides = findSides(nest);
  if (!sides)
    return std::nullopt;
  const Access &a = nest.terms[0], &b = nest.terms[1];
  Value operand = emitter.getRoot()->getOperand(b.operand);
  auto argument = dyn_cast<BlockArgument>(storedWithoutOffset(operand));
  bool isComputed = !argument && isa<FloatType>(getElementTypeOrSelf(operand.getType()));
  if ((!isComputed && (!argument || !argument.hasOneUse())) || b.checked)
    return std::nullopt;
  if (mayBeEmpty(cast<RankedTensorType>(emitter.getRoot()->getOperand(a.operand).getType())))
    return std::nullopt;

  LoopVariables loops(nest, math);
  unsigned rank = nest.parallel.size();
  // Which dim of b each loop is.
  SmallVector<int64_t> bDim(nest.numLoops(), -1);
  for (auto [dim, index] : llvm::enumerate(b.map.getResults())) {
    if (isa<AffineConstantExpr>(index))
      continue;
    auto loop = dyn_cast<AffineDimExpr>(index);
    if (!loop || bDim[loop.getPosition()] >= 0)
      return std::nullopt;
    bDim[loop.getPosition()] = dim;
  }
  for (unsigned dim = rank; dim < nest.numLoops(); ++dim)
    if (bDim[dim] < 0)
      return std::nullopt;

  PanelContraction found;
  // The column: read by b alone or by a in groups of panels, and innermost in the result where
  // there is a choice.
  std::optional<unsigned> column;
  for (unsigned dim : emitter.memoryOrder()) {
    if (sides->rows.test(dim))
      continue;
    if (auto group = groupAlong(a.map, dim); group && *group % kPanel == 0) {
      column = dim;
      found.columnsOfGroup = *group;
    } else if (int64_t channels = nest.channelsOfGroup(dim);
               isNarrowGroup(channels) && argument && multipliesFloats(emitter, argument)) {
      column = dim;
      found.columnsOfGroup = 0;
      found.narrowGroup = channels;
    }
  }
  if (!column || emitter.needsScalarAlong(loops.parallel[*column], loops.parallel, loops.reduction))
    return std::nullopt;
  found.column = *column;
  for (unsigned dim : emitter.memoryOrder())
    if (dim != *column)
      (sides->rows.test(dim) ? found.rows : found.batch).push_back(dim);
  found.takeImagesApart(nest);

  if (found.narrowGroup && !readsChannels(emitter, math, found.column))
    return std::nullopt;

  OffsetIntegers integers = storedOperand(emitter.getRoot()->getOperand(a.operand));
  bool multipliesShorts =
      argument && (!a.checked || a.fill == 0) && multipliesIntegers(emitter, integers, argument);
  Value aTensor = found.a = multipliesShorts || integers.zeroPoint == 0
                                ? integers.stored
                                : emitter.getRoot()->getOperand(a.operand);
  SmallVector<AffineExpr> aIndices;
  for (AffineExpr index : a.map.getResults())
    aIndices.push_back(math.simplify(index.replaceDims(loops.all)));
  auto isContiguous = [&](unsigned dim) {
    return emitter.visitReads(aTensor, aIndices, [&](unsigned, AffineExpr offset, bool) {
      return math.strideAlong(offset, loops.reduction[dim]) == Stride::unit;
    });
  };
  // Innermost runs a loop that no border depends on, where there is a choice one along which a is
  // contiguous.
  auto meetsBorder = [&](unsigned dim) {
    unsigned loop = cast<AffineDimExpr>(loops.reduction[dim]).getPosition();
    auto aDims = dl::getDims(cast<RankedTensorType>(aTensor.getType()));
    return a.checked && llvm::any_of(llvm::zip(aIndices, aDims), [&](auto at) {
             auto [index, extent] = at;
             return index.isFunctionOfDim(loop) &&
                    !(math.isNonNegative(index) && math.isBelow(index, extent));
           });
  };
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim)
    if (meetsBorder(dim))
      found.reduction.push_back(dim);
  unsigned numBorders = found.reduction.size();
  if (numBorders == nest.reduction.size())
    return std::nullopt;
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim)
    if (!meetsBorder(dim))
      found.reduction.push_back(dim);
  for (unsigned at = numBorders; at + 1 < found.reduction.size(); ++at) {
    unsigned dim = found.reduction[at];
    if (isContiguous(dim)) {
      found.reduction.erase(found.reduction.begin() + at);
      found.reduction.push_back(dim);
      break;
    }
  }

  unsigned innermost = found.reduction.back();
  // The channels of a group are walked innermost: a vector of them is read once.
  if (found.narrowGroup && llvm::none_of(a.map.getResults(), [&](AffineExpr index) {
        return index.isFunctionOfDim(found.column) && index.isFunctionOfDim(rank + innermost);
      }))
    return std::nullopt;
  if (isComputed) {
    ComputedOperand inputs(math, loops.reduction[innermost]);
    SmallVector<AffineExpr> indices;
    for (AffineExpr index : b.map.getResults())
      indices.push_back(math.simplify(index.replaceDims(loops.all)));
    if (!inputs.visit(operand, indices) || !inputs.isAlone(emitter.getRoot()))
      return std::nullopt;
    auto packed = inputs.pack(loops.parallel[*column], loops.reduction);
    if (!packed)
      return std::nullopt;
    found.b = operand;
    found.packed = std::move(*packed);
    found.halves = inputs.halves(nest.reduction[innermost]);
    return found;
  }
  found.bInput = argument.getArgNumber();
  bool isOneStep = dl::isConstant(nest.reduction[innermost], 1);
  if (isOneStep)
    found.a = storedWithoutOffset(emitter.getRoot()->getOperand(a.operand));
  found.integers = multipliesShorts && !isOneStep;
  found.brainFloats = !isOneStep && (!a.checked || a.fill == 0) &&
                      multipliesBrainFloats(emitter, aTensor, argument);
  found.zeroPoint = found.integers ? integers.zeroPoint : 0;
  found.bytes = found.integers && getElementTypeOrSelf(aTensor.getType()).isUnsignedInteger(8) &&
                getElementTypeOrSelf(argument.getType()).isSignlessInteger(8);
  found.areNeighbours = isContiguous(innermost);

  auto bType = cast<RankedTensorType>(argument.getType());
  dl::Layout layout;
  llvm::SmallBitVector placed(bType.getRank());
  auto place = [&](int64_t dim) {
    if (!placed.test(dim))
      layout.order.push_back(dim);
    placed.set(dim);
  };
  SmallVector<int64_t> last = {bDim[*column]};
  for (unsigned dim : found.reduction)
    last.push_back(bDim[rank + dim]);
  for (int64_t dim = 0; dim < bType.getRank(); ++dim)
    if (!llvm::is_contained(last, dim))
      place(dim);
  for (int64_t dim : last)
    place(dim);
  layout.tileDim = bDim[*column];
  layout.tile = kPanel;
  found.packed = {{found.bInput, layout}};
  return found;
}

/// Packs b along the vectors of scheduleReduction, for products that gain nothing from panels
/// (grouped and depthwise). The vectors run along the columns of the result if a moves with them;
/// along the columns of a if the result is written in another order; else along a reduction dim in
/// which a is contiguous.
static std::optional<PackedOperand> packAlongVectors(BodyEmitter &emitter, IndexMath &math) {
  const LoopNest &nest = emitter.getNest();
  if (!emitter.getRoot() || !nest.isProduct || nest.terms.size() != 2)
    return std::nullopt;
  RankedTensorType type = emitter.getResultType();
  unsigned rank = type.getRank();
  int64_t innermost = dl::getLayout(type).innermost(rank);
  const Access &a = nest.terms[0], &b = nest.terms[1];
  auto argument =
      dyn_cast<BlockArgument>(storedWithoutOffset(emitter.getRoot()->getOperand(b.operand)));
  if (!argument || !argument.hasOneUse() || innermost < 0)
    return std::nullopt;
  LoopVariables loops(nest, math);
  SmallVector<AffineExpr> aIndices;
  for (AffineExpr index : a.map.getResults())
    aIndices.push_back(math.simplify(index.replaceDims(loops.all)));
  Value aTensor = emitter.getRoot()->getOperand(a.operand);
  auto isContiguous = [&](AffineExpr variable) {
    return emitter.visitReads(aTensor, aIndices, [&](unsigned, AffineExpr offset, bool) {
      return math.strideAlong(offset, variable) == Stride::unit;
    });
  };
  std::optional<unsigned> along;
  if (isContiguous(loops.parallel[innermost]))
    along = innermost;
  for (unsigned dim = 0; dim < rank && !along; ++dim)
    if (isContiguous(loops.parallel[dim]))
      along = dim;
  for (unsigned dim = 0; dim < nest.reduction.size() && !along; ++dim)
    if (isContiguous(loops.reduction[dim]))
      along = rank + dim;
  if (!along)
    return std::nullopt;
  std::optional<int64_t> last;
  for (auto [dim, index] : llvm::enumerate(b.map.getResults()))
    if (index == getAffineDimExpr(*along, type.getContext()))
      last = dim;
  if (!last)
    return std::nullopt;
  PackedOperand packed{argument.getArgNumber(), {}};
  for (int64_t dim = 0, count = cast<RankedTensorType>(argument.getType()).getRank(); dim < count;
       ++dim)
    if (dim != *last)
      packed.layout.order.push_back(dim);
  packed.layout.order.push_back(*last);
  return packed;
}

SmallVector<PackedOperand> operandsToPack(BodyEmitter &emitter, IndexMath &math) {
  if (auto contraction = PanelContraction::match(emitter, math))
    return contraction->packed;
  auto packed = packAlongVectors(emitter, math);
  return packed ? SmallVector<PackedOperand>{*packed} : SmallVector<PackedOperand>();
}

/// The product whose second operand lies in panels already.
static std::optional<PanelContraction> matchPacked(BodyEmitter &emitter, IndexMath &math) {
  auto contraction = PanelContraction::match(emitter, math);
  if (!contraction)
    return std::nullopt;
  bool isPacked = llvm::all_of(contraction->packed, [&](const PackedOperand &packed) {
    Value input = emitter.getKernel().getBodyBlock().getArgument(packed.input);
    return dl::getLayout(cast<RankedTensorType>(input.getType())) == packed.layout;
  });
  return isPacked ? contraction : std::nullopt;
}

bool isPanelContraction(BodyEmitter &emitter, IndexMath &math) {
  return matchPacked(emitter, math).has_value();
}

IsaVariant bestIsaOfContraction(BodyEmitter &emitter, IndexMath &math) {
  auto contraction = matchPacked(emitter, math);
  return contraction ? contraction->bestIsa() : IsaVariant::avx512;
}

} // namespace dlc::codegen
