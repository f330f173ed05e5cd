//===- PrunableWeights.cpp - The weights that products read -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/PrunableWeights.h"

#include "ir/dl/DLOps.h"
#include "ir/kernel/Sides.h"
#include "passes/compress/prune/SecondMoment.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace dlc {

namespace {

/// A dim of a tensor that shows a weight's numbers: index i lies i * stride numbers further on.
struct ViewDim {
  int64_t size, stride;
  bool isCut = false; // a slice shows a part of the weight's numbers along it
};
struct View {
  SmallVector<ViewDim> dims;
  int64_t offset = 0; // of the number at index 0 of every dim
};

/// How the readers of a weight use it.
class Readers {
public:
  explicit Readers(const LayerPatterns &kept) : kept(kept) {}

  void follow(Value value, const View &view);
  bool isMultiplied() const { return products > 0; }
  PrunableWeight describe(dl::WeightOp weight) const;

private:
  void addProduct(OpOperand &use, const LoopNest &nest, const View &view);

  const LayerPatterns &kept;
  unsigned products = 0;
  Operation *other = nullptr; // the first reader that multiplies nothing by it
  bool isKept = false, hasRuns = true;
  std::optional<SumRuns> runs;
  std::vector<WeightReading> readings;
};

} // namespace

static bool isStatic(ArrayRef<AffineExpr> dims) {
  return llvm::all_of(dims, [](AffineExpr dim) { return dl::asConstant(dim).has_value(); });
}

static View viewOf(dl::Dims dims) {
  View view{SmallVector<ViewDim>(dims.size())};
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    view.dims[i] = {*dl::asConstant(dims[i]), stride};
    stride *= view.dims[i].size;
  }
  return view;
}

/// The same numbers in another shape; nothing where these have no strides.
static std::optional<View> reshaped(const View &source, ArrayRef<AffineExpr> dims) {
  ArrayRef<ViewDim> view = source.dims;
  SmallVector<ViewDim> result;
  ViewDim run{1, 1}; // what is left of the dims taken so far, innermost first
  auto takeNext = [&] {
    while (!view.empty() && view.back().size == 1)
      view = view.drop_back();
    if (view.empty())
      return false;
    if (run.size == 1)
      run = view.back();
    else if (view.back().stride == run.stride * run.size)
      run = {run.size * view.back().size, run.stride, run.isCut || view.back().isCut};
    else
      return false;
    view = view.drop_back();
    return true;
  };
  for (AffineExpr dim : llvm::reverse(dims)) {
    const int64_t size = *dl::asConstant(dim);
    while (run.size < size)
      if (!takeNext())
        return std::nullopt;
    if (size == 0 || run.size % size != 0)
      return std::nullopt;
    result.push_back({size, run.stride, run.isCut && size != 1});
    run.size /= size;
    run.stride *= size;
  }
  return View{SmallVector<ViewDim>(llvm::reverse(result)), source.offset};
}

/// The view of what a move that computes nothing makes of `view`: `map` says where it reads.
static std::optional<View> moved(const View &view, AffineMap map, ArrayRef<AffineExpr> dims) {
  View result{{}, view.offset};
  for (AffineExpr dim : dims)
    result.dims.push_back({*dl::asConstant(dim), 0});
  for (auto [from, index] : llvm::zip_equal(view.dims, map.getResults())) {
    AffineExpr inner = index;
    int64_t first = 0;
    if (auto constant = dyn_cast<AffineConstantExpr>(index)) {
      inner = {};
      first = constant.getValue();
    } else if (auto sum = dyn_cast<AffineBinaryOpExpr>(index);
               sum && sum.getKind() == AffineExprKind::Add) {
      if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        inner = sum.getLHS();
        first = constant.getValue();
      }
    }
    result.offset += first * from.stride;
    if (from.size == 1)
      continue;
    auto position = dyn_cast_if_present<AffineDimExpr>(inner);
    if (!position)
      return std::nullopt;
    ViewDim &to = result.dims[position.getPosition()];
    to.stride = from.stride;
    to.isCut = from.isCut || to.size != from.size;
  }
  return result;
}

/// The view of the op's result, where it only shows the numbers that `view` shows in another way.
/// These ops are named since the nests of activations look the same.
static std::optional<View> viewThrough(Operation *op, const View &view) {
  if (!isa<dl::CastOp, dl::ReshapeOp, dl::FlattenOp, dl::PermuteOp, dl::TransposeOp, dl::SliceOp,
           dl::PartOp, dl::BroadcastOp>(op))
    return std::nullopt;
  auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!type || !isStatic(dl::getDims(type)))
    return std::nullopt;
  if (isa<dl::ReshapeOp, dl::FlattenOp>(op))
    return reshaped(view, dl::getDims(type));
  if (isa<dl::CastOp>(op))
    return isa<FloatType>(type.getElementType()) ? std::optional(view) : std::nullopt;
  LoopNest nest = cast<LoopNestOpInterface>(op).getLoopNest();
  return moved(view, nest.results.front().map, dl::getDims(type));
}

/// The runs that a product sums over, as it reads `view` by `map`. Several dims without gaps
/// between them are one run; of a convolution the first counts, the channels, since the others are
/// taps.
static std::optional<SumRuns> runsOf(const LoopNest &nest, AffineMap map, ArrayRef<ViewDim> view) {
  std::optional<ViewDim> run;
  for (auto [dim, index] : llvm::zip_equal(view, map.getResults())) {
    auto position = dyn_cast<AffineDimExpr>(index);
    if (!position || position.getPosition() < nest.parallel.size())
      continue;
    if (dim.isCut || dim.stride == 0)
      return std::nullopt;
    if (!run)
      run = dim;
    else if (nest.isWindow())
      break;
    else if (run->size == 1)
      run = dim;
    else if (run->stride == dim.size * dim.stride)
      run = ViewDim{run->size * dim.size, dim.stride};
    else if (dim.size != 1)
      return std::nullopt;
  }
  if (!run)
    return std::nullopt;
  return SumRuns{static_cast<uint64_t>(run->size), static_cast<uint64_t>(run->stride)};
}

/// The positions over all indices of `loops`, row-major, of which each moves by its stride.
static std::vector<uint64_t> positionsOf(ArrayRef<std::pair<int64_t, int64_t>> loops,
                                         int64_t first) {
  std::vector<uint64_t> positions = {static_cast<uint64_t>(first)};
  for (auto [extent, stride] : loops) {
    std::vector<uint64_t> next;
    next.reserve(positions.size() * extent);
    for (uint64_t position : positions)
      for (int64_t i = 0; i < extent; ++i)
        next.push_back(position + i * stride);
    positions = std::move(next);
  }
  return positions;
}

/// The weight as the matrices of `use`'s product; nothing where it is none of SecondMoment.h, or
/// where a number of the weight is read at several places of a matrix.
static std::optional<WeightReading> readingOf(OpOperand &use, const LoopNest &nest,
                                              const View &view) {
  Operation *op = use.getOwner();
  const unsigned weight = use.getOperandNumber();
  auto shape = weight > 1 ? std::nullopt : productShape(op, 1 - weight);
  if (!shape)
    return std::nullopt;
  const unsigned other = nest.terms[0].operand == weight ? 1 : 0;
  Sides sides = *findSides(nest, other);
  SmallVector<int64_t> strides(nest.numLoops());
  for (auto [dim, index] : llvm::zip_equal(view.dims, nest.terms[1 - other].map.getResults()))
    if (auto loop = dyn_cast<AffineDimExpr>(index))
      strides[loop.getPosition()] = dim.stride;
  SmallVector<std::pair<int64_t, int64_t>> groups, rows, columns;
  for (unsigned loop = 0; loop < nest.numLoops(); ++loop) {
    const bool isSummed = loop >= nest.parallel.size();
    if (!isSummed && sides.rows.test(loop))
      continue;
    auto extent = dl::asConstant(isSummed ? nest.reduction[loop - nest.parallel.size()]
                                          : nest.parallel[loop]);
    if (!extent || (*extent > 1 && strides[loop] == 0))
      return std::nullopt;
    // The groups of a convolution are runs of its output channels, in this order already.
    const bool isGroup = !isSummed && sides.batch.test(loop) && !sides.groups.test(loop);
    (isSummed ? columns : isGroup ? groups : rows).emplace_back(*extent, strides[loop]);
  }
  llvm::append_range(groups, rows);
  return WeightReading{op, weight, shape->groups, positionsOf(groups, view.offset),
                       positionsOf(columns, 0)};
}

void Readers::addProduct(OpOperand &use, const LoopNest &nest, const View &view) {
  ++products;
  isKept |= kept.matches(use.getOwner());
  for (const Access &term : nest.terms) {
    if (term.operand != use.getOperandNumber())
      continue;
    auto found = runsOf(nest, term.map, view.dims);
    hasRuns &= found && (!runs || (runs->length == found->length && runs->stride == found->stride));
    runs = found;
  }
  if (auto reading = readingOf(use, nest, view))
    readings.push_back(std::move(*reading));
}

void Readers::follow(Value value, const View &view) {
  for (OpOperand &use : value.getUses()) {
    Operation *op = use.getOwner();
    if (auto next = viewThrough(op, view)) {
      follow(op->getResult(0), *next);
      continue;
    }
    auto looped = dyn_cast<LoopNestOpInterface>(op);
    LoopNest nest = looped ? looped.getLoopNest() : LoopNest();
    const bool isTerm = llvm::any_of(
        nest.terms, [&](const Access &term) { return term.operand == use.getOperandNumber(); });
    if (nest.isProduct && isTerm && !nest.reduction.empty())
      addProduct(use, nest, view);
    else if (!other)
      other = op;
  }
}

PrunableWeight Readers::describe(dl::WeightOp weight) const {
  const bool isSkipped = isKept || kept.matches(weight);
  PrunableWeight found{weight.getName().str(), "", isSkipped, hasRuns ? runs : std::nullopt,
                       readings.size() == products ? readings : std::vector<WeightReading>()};
  if (other)
    found.whyKept = "also read by " + other->getName().stripDialect().str();
  else if (isSkipped)
    found.whyKept = "named by --skip";
  return found;
}

std::vector<PrunableWeight> findPrunableWeights(ModuleOp module, const LayerPatterns &kept) {
  std::vector<PrunableWeight> found;
  module.walk([&](dl::WeightOp weight) {
    auto type = cast<RankedTensorType>(weight.getY().getType());
    if (!isa<FloatType>(type.getElementType()) || type.getElementTypeBitWidth() < 16 ||
        !isStatic(dl::getDims(type)))
      return;
    Readers readers(kept);
    readers.follow(weight.getY(), viewOf(dl::getDims(type)));
    if (readers.isMultiplied())
      found.push_back(readers.describe(weight));
  });
  return found;
}

} // namespace dlc
