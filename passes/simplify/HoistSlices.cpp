//===- HoistSlices.cpp - Slices before the ops whose results they take parts of -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/view/ReshapeGroups.h"
#include "ir/dl/contraction/DLContraction.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#define DEBUG_TYPE "hoist-slices"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_HOISTSLICES
#include "passes/Passes.h.inc"

namespace {

class HoistSlices : public impl::HoistSlicesBase<HoistSlices> {
  void runOnOperation() override;
};

/// The indices from `begin` to before `end` of dim `dim`.
struct Part {
  int64_t dim, begin, end;

  int64_t size() const { return end - begin; }
};

} // namespace

/// The part that `slice` takes, with step 1, of a dim whose size is a number; nullopt for all
/// others.
static std::optional<Part> partOf(dl::SliceOp slice) {
  int64_t rank = dl::typeOf(slice.getX()).getRank(), dim = slice.getDimAttr().getInt();
  dim = dim < 0 ? dim + rank : dim;
  auto size = dl::asConstant(dl::dimsOf(slice.getX())[dim]);
  if (!size || slice.getStepAttr().getInt() != 1)
    return std::nullopt;
  auto bound = [&](IntegerAttr attribute, int64_t otherwise) {
    int64_t value = attribute ? attribute.getInt() : otherwise;
    return std::clamp<int64_t>(value < 0 ? value + *size : value, 0, *size);
  };
  Part part{dim, bound(slice.getStartAttr(), 0), bound(slice.getEndAttr(), *size)};
  return part.size() > 0 ? std::optional<Part>(part) : std::nullopt;
}

static int64_t dimOf(dl::CatOp cat) {
  int64_t dim = cat.getDimAttr().getInt();
  return dim < 0 ? dim + dl::typeOf(cat).getRank() : dim;
}

static Value take(dl::Builder &b, Value x, const Part &part) {
  return b.slice(x, part.dim, part.begin, part.end);
}

/// `repetition`, of which the part is taken.
static Value takeOfRepetition(dl::Builder &b, dl::BroadcastOp repetition, const Part &part) {
  dl::Dims dims = dl::dimsOf(repetition), narrow = dl::dimsOf(repetition.getX());
  int64_t dim = part.dim - static_cast<int64_t>(dims.size() - narrow.size());
  Value x = repetition.getX();
  if (dim >= 0 && narrow[dim] == dims[part.dim])
    x = take(b, x, {dim, part.begin, part.end});
  dims[part.dim] = dl::constantDim(part.size(), b.getContext());
  return b.broadcast(x, dims);
}

namespace {

/// Asks what all patterns ask before they look closer.
struct SlicePattern : OpRewritePattern<dl::SliceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::SliceOp slice, PatternRewriter &rewriter) const override {
    Operation *op = slice.getX().getDefiningOp();
    auto part = partOf(slice);
    if (!op || !part || !isa<func::FuncOp>(op->getParentOp()) || op->hasAttr("dl.no_fuse") ||
        slice->hasAttr("dl.no_fuse") || hasCountedDim(slice.getX()))
      return failure();
    dl::Builder b(slice);
    b.setListener(rewriter.getListener());
    // Before all that may read what is made.
    b.setInsertionPointAfter(op);
    Value value = rewritten(b, op, slice, *part);
    if (!value)
      return failure();
    // Others may take the same part.
    for (Operation *user : llvm::make_early_inc_range(op->getUsers()))
      if (user != slice && isa<dl::SliceOp>(user) && areEqual(user, slice))
        rewriter.replaceOp(user, value);
    rewriter.replaceOp(slice, value);
    // An op without readers is erased at once, so that it does not read what is sliced now.
    if (op->use_empty())
      rewriter.eraseOp(op);
    return success();
  }

protected:
  /// Both slices take one part of one tensor.
  static bool areEqual(Operation *a, Operation *b) {
    return a->getOperands() == b->getOperands() && a->getAttrs() == b->getAttrs() &&
           a->getResultTypes() == b->getResultTypes();
  }
  /// The part of what `op` computes, made otherwise; null, and nothing built, where that is not to
  /// be.
  virtual Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp slice,
                          const Part &part) const = 0;
};

/// slice(slice(x)) -> slice(x)
struct MergeSlices : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp, const Part &part) const override {
    auto inner = dyn_cast<dl::SliceOp>(op);
    auto whole = inner ? partOf(inner) : std::nullopt;
    if (!whole || whole->dim != part.dim)
      return {};
    return take(b, inner.getX(), {part.dim, whole->begin + part.begin, whole->begin + part.end});
  }
};

/// slice(cat(x, y)) -> slice(x), where it lies in x
struct SliceOfCat : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp, const Part &part) const override {
    auto cat = dyn_cast<dl::CatOp>(op);
    if (!cat)
      return {};
    int64_t dim = part.dim, offset = 0;
    if (dimOf(cat) != dim)
      return {};
    for (Value tensor : cat.getTensors()) {
      auto size = dl::asConstant(dl::dimsOf(tensor)[dim]);
      if (!size)
        return {};
      if (offset <= part.begin && part.end <= offset + *size)
        return take(b, tensor, {dim, part.begin - offset, part.end - offset});
      offset += *size;
    }
    return {};
  }
};

/// A part of what is repeated is what repeats it less often.
struct SliceOfBroadcast : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp, const Part &part) const override {
    auto repetition = dyn_cast<dl::BroadcastOp>(op);
    return repetition ? takeOfRepetition(b, repetition, part) : Value();
  }
};

static bool areAllSlices(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) { return isa<dl::SliceOp>(user); });
}

/// Where a permutation is read by slices alone, no element is moved twice.
struct SliceOfPermute : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp, const Part &part) const override {
    auto permute = dyn_cast<dl::PermuteOp>(op);
    if (!permute || !areAllSlices(op))
      return {};
    int64_t from = permute.getDims()[part.dim];
    from = from < 0 ? from + dl::typeOf(permute).getRank() : from;
    return b.permute(take(b, permute.getX(), {from, part.begin, part.end}), permute.getDims());
  }
};

/// slice(reshape(x)) -> reshape(slice(x)), where the slice is one of the first dim of a group
struct SliceOfReshape : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp slice,
                  const Part &part) const override {
    auto reshape = dyn_cast<dl::ReshapeOp>(op);
    if (!reshape || !mayGoBefore(reshape, slice))
      return {};
    dl::Dims from = dl::dimsOf(reshape.getX()), to = dl::dimsOf(reshape);
    auto groups = dimGroupsOf(from, to);
    if (!groups)
      return {};
    for (const DimGroup &group : *groups) {
      if (part.dim < group.toBegin || part.dim >= group.toEnd)
        continue;
      int64_t first = group.fromBegin, inOld = 1, inNew = 1;
      while (first < group.fromEnd && dl::isConstant(from[first], 1))
        ++first;
      // How many elements one index of the old dim and of the new one has.
      for (int64_t dim = group.toBegin; dim < group.toEnd; ++dim) {
        auto size = dl::asConstant(to[dim]);
        if (!size || (dim < part.dim && *size != 1))
          return {};
        inNew *= dim > part.dim ? *size : 1;
      }
      for (int64_t dim = first + 1; dim < group.fromEnd; ++dim) {
        auto size = dl::asConstant(from[dim]);
        if (!size)
          return {};
        inOld *= *size;
      }
      int64_t begin = part.begin * inNew, end = part.end * inNew;
      if (first == group.fromEnd || inOld == 0 || begin % inOld || end % inOld)
        return {};
      return b.reshape(take(b, reshape.getX(), {first, begin / inOld, end / inOld}),
                       dl::dimsOf(slice));
    }
    return {};
  }

private:
  /// Only on the way to what computes or moves x for this alone: a view of what lies in memory is
  /// as good there as here.
  static bool mayGoBefore(dl::ReshapeOp reshape, dl::SliceOp slice) {
    Operation *op = reshape.getX().getDefiningOp();
    if (!op || !areAllSlices(reshape) || !llvm::all_of(op->getUsers(), [&](Operation *user) {
          return user == reshape || isa<dl::SliceOp>(user);
        }))
      return false;
    return isa<dl::PermuteOp>(op) || llvm::all_of(reshape->getUsers(), [&](Operation *user) {
             return areEqual(user, slice);
           });
  }
};

/// squeeze(permute(slice(view(x)))) -> permute(slice(view(x))), where the slice takes one index of
/// a dim: of a view that has this dim and the next one as one, the indices of the next one are
/// taken. So are the queries of [rows, 3, heads, size] 'heads' heads of [rows, 3 * heads, size],
/// which an attention reads where they lie. There need be no permutation.
struct SqueezeOfSlice : OpRewritePattern<dl::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::ReshapeOp squeeze, PatternRewriter &rewriter) const override {
    auto permute = squeeze.getX().getDefiningOp<dl::PermuteOp>();
    auto slice = (permute ? permute.getX() : squeeze.getX()).getDefiningOp<dl::SliceOp>();
    auto view = slice ? slice.getX().getDefiningOp<dl::ReshapeOp>() : dl::ReshapeOp();
    auto part = slice ? partOf(slice) : std::nullopt;
    if (!view || !part || part->size() != 1 || !isa<func::FuncOp>(squeeze->getParentOp()) ||
        llvm::any_of(std::initializer_list<Operation *>{squeeze, slice, view}, isKeptOut) ||
        (permute && isKeptOut(permute)) || hasCountedDim(view.getX()))
      return failure();
    dl::Dims dims = dl::dimsOf(view);
    auto next = static_cast<size_t>(part->dim) + 1;
    auto count = next < dims.size() ? dl::asConstant(dims[next]) : std::nullopt;
    if (!count)
      return failure();
    // The dims of the slice, and their order after the permutation, without the one that is taken.
    SmallVector<int64_t> order;
    auto rank = static_cast<int64_t>(dims.size());
    for (int64_t at = 0; at < rank; ++at) {
      int64_t dim = permute ? permute.getDims()[at] : at;
      dim = dim < 0 ? dim + rank : dim;
      if (dim != part->dim)
        order.push_back(dim > part->dim ? dim - 1 : dim);
    }
    dl::Dims rest = dims;
    rest.erase(rest.begin() + part->dim);
    if (dl::dimsOf(squeeze) !=
        dl::Dims(llvm::map_range(order, [&](int64_t dim) { return rest[dim]; })))
      return failure();
    dl::Dims merged = rest;
    merged[part->dim] = dl::normalize(dims[part->dim] * *count);
    dl::Builder b(squeeze);
    b.setListener(rewriter.getListener());
    Value taken = take(b, b.reshape(view.getX(), merged),
                       {part->dim, part->begin * *count, part->end * *count});
    rewriter.replaceOp(squeeze, permute ? b.permute(taken, order) : taken);
    return success();
  }

private:
  static bool isKeptOut(Operation *op) { return op->hasAttr("dl.no_fuse"); }
};

/// slice(f(x)) -> f(slice(x)), where nothing else reads f(x)
struct SliceOfComputed : SlicePattern {
  using SlicePattern::SlicePattern;
  Value rewritten(dl::Builder &b, Operation *op, dl::SliceOp slice,
                  const Part &part) const override {
    WeightDependence weights;
    if (op->getNumResults() != 1 || !llvm::all_of(op->getUsers(), [&](Operation *user) {
          return isa<dl::SliceOp>(user) && areEqual(user, slice);
        }))
      return {};
    auto dims = dimsTaken(op, part.dim);
    if (!dims || weights.dependsOnWeightsAlone(slice))
      return {};
    SmallVector<Value> operands;
    for (auto [operand, dim] : llvm::zip_equal(op->getOperands(), *dims)) {
      Part own{dim, part.begin, part.end};
      auto number = operand.getDefiningOp<dl::FullOp>();
      auto repetition = operand.getDefiningOp<dl::BroadcastOp>();
      if (dim < 0) {
        operands.push_back(operand);
      } else if (number) {
        dl::Dims shape = dl::dimsOf(operand);
        shape[dim] = dl::constantDim(part.size(), b.getContext());
        operands.push_back(dl::FullOp::create(
            b, dl::makeTensor(shape, dl::typeOf(operand).getElementType()), number.getFillAttr()));
      } else {
        operands.push_back(repetition ? takeOfRepetition(b, repetition, own)
                                      : take(b, operand, own));
      }
    }
    b.setLoc(op->getLoc());
    Operation *moved = b.clone(*op);
    moved->setOperands(operands);
    moved->getResult(0).setType(slice.getType());
    return moved->getResult(0);
  }

private:
  /// For each operand of `op` the dim that is dim `dim` of its result, -1 where all of the operand
  /// is read; nullopt where a part of the result takes more than parts of the operands.
  static std::optional<SmallVector<int64_t>> dimsTaken(Operation *op, int64_t dim) {
    SmallVector<int64_t> dims(op->getNumOperands(), -1);
    if (op->hasTrait<OpTrait::Elementwise>()) {
      dims.assign(op->getNumOperands(), dim);
      return dims;
    }
    int64_t rank = dl::typeOf(op->getResult(0)).getRank();
    if (auto norm = dyn_cast<dl::StandardizeOp>(op)) {
      if (llvm::is_contained(norm.getDims(), dim))
        return std::nullopt;
      const auto *place = llvm::find(norm.getAffineDims(), dim);
      dims.assign(op->getNumOperands(),
                  place == norm.getAffineDims().end() ? -1 : place - norm.getAffineDims().begin());
      dims[0] = dim;
      return dims;
    }
    if (auto norm = dyn_cast<dl::RmsNormOp>(op)) {
      dims[0] = dim;
      return dim < rank - static_cast<int64_t>(norm.getNormalizedShape().size())
                 ? std::optional(dims)
                 : std::nullopt;
    }
    if (auto softmax = dyn_cast<dl::SoftmaxOp>(op)) {
      int64_t along = softmax.getDimAttr().getInt();
      dims[0] = dim;
      return (along < 0 ? along + rank : along) != dim ? std::optional(dims) : std::nullopt;
    }
    if (!isa<dl::LinearOp, dl::MatmulOp, dl::ContractOp>(op))
      return std::nullopt;
    AffineExpr size = dl::dimsOf(op->getResult(0))[dim];
    for (unsigned operand : {0u, 1u}) {
      auto places = *dl::resultDimsOf(op, operand);
      const auto *place = llvm::find(places, dim);
      // A dim of size 1 is repeated along the result's.
      if (place != places.end() &&
          dl::dimsOf(op->getOperand(operand))[place - places.begin()] == size)
        dims[operand] = place - places.begin();
    }
    if (isa<dl::LinearOp>(op) && op->getNumOperands() > 2 && dim == rank - 1)
      dims[2] = 0;
    return dims;
  }
};

/// cat(slice(x, 0 to n), slice(x, n to the end)) -> x
struct CatOfAllParts : OpRewritePattern<dl::CatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::CatOp cat, PatternRewriter &rewriter) const override {
    int64_t dim = dimOf(cat), next = 0;
    Value x;
    for (Value tensor : cat.getTensors()) {
      auto slice = tensor.getDefiningOp<dl::SliceOp>();
      auto part = slice ? partOf(slice) : std::nullopt;
      if (!part || part->dim != dim || part->begin != next || (x && slice.getX() != x))
        return failure();
      x = slice.getX();
      next = part->end;
    }
    if (!x || x.getType() != cat.getType())
      return failure();
    rewriter.replaceOp(cat, x);
    return success();
  }
};

/// cat(slice(x, n to the end), slice(x, 0 to n)) -> roll(x)
struct CatToRoll : OpRewritePattern<dl::CatOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(dl::CatOp cat, PatternRewriter &rewriter) const override {
    if (cat.getTensors().size() != 2 || cat->hasAttr("dl.no_fuse"))
      return failure();
    auto back = cat.getTensors()[0].getDefiningOp<dl::SliceOp>(),
         front = cat.getTensors()[1].getDefiningOp<dl::SliceOp>();
    if (!back || !front || back.getX() != front.getX() || back.getX().getType() != cat.getType() ||
        !back->hasOneUse() || !front->hasOneUse() || back->hasAttr("dl.no_fuse") ||
        front->hasAttr("dl.no_fuse") || hasCountedDim(cat))
      return failure();
    auto begin = partOf(front), end = partOf(back);
    int64_t rank = dl::typeOf(cat).getRank(), dim = dimOf(cat);
    // Vectors go along the last dim.
    if (!begin || !end || begin->dim != dim || end->dim != dim || dim == rank - 1 ||
        begin->begin != 0 || begin->end != end->begin)
      return failure();
    rewriter.replaceOpWithNewOp<dl::RollOp>(cat, cat.getType(), back.getX(),
                                            rewriter.getDenseI64ArrayAttr({-end->begin}),
                                            rewriter.getDenseI64ArrayAttr({dim}));
    return success();
  }
};

} // namespace

void HoistSlices::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  patterns.add<MergeSlices, SliceOfCat, SliceOfBroadcast, SliceOfPermute, SliceOfReshape,
               SqueezeOfSlice, SliceOfComputed, CatOfAllParts, CatToRoll>(&getContext());
  if (failed(applyPatternsGreedily(
          getOperation(), std::move(patterns),
          GreedyRewriteConfig().setMaxIterations(GreedyRewriteConfig::kNoLimit))))
    signalPassFailure();
}

} // namespace dlc
