//===- GroupNorms.cpp - Weights of channels behind the view of a group norm ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/GroupNorms.h"

#include "ir/dl/base/DLBuilder.h"
#include "passes/raise/WrittenArithmetic.h"

using namespace mlir;

namespace dlc {

/// The dims of [N, groups, channels of each, ...] that the weight of a group norm has.
static constexpr int64_t kChannelDims[] = {1, 2};

namespace {
/// A norm of groups of channels.
struct GroupNorm {
  dl::StandardizeOp norm; // of [N, groups, ...]
  dl::ReshapeOp view;     // [N, C, ...]
  dl::Dims split;         // [N, groups, C / groups, ...]

  /// Reads `y`; false where it is none.
  bool read(Value y);
  /// Whether it has neither weight nor bias, but for those that change nothing.
  bool isPlain();
  bool hasWeightAlone() {
    return norm.getAffine().size() == 1 && norm.getAffineDims() == ArrayRef<int64_t>(kChannelDims);
  }
};
} // namespace

bool GroupNorm::read(Value y) {
  view = y.getDefiningOp<dl::ReshapeOp>();
  norm = view ? view.getX().getDefiningOp<dl::StandardizeOp>() : dl::StandardizeOp();
  if (!norm)
    return false;
  dl::Dims groups = dl::dimsOf(norm), dims = dl::dimsOf(view);
  auto rank = static_cast<int64_t>(groups.size());
  if (rank < 3 || dims.size() < 2 || groups[0] != dims[0] ||
      norm.getDims() != ArrayRef<int64_t>(llvm::to_vector(llvm::seq<int64_t>(2, rank))))
    return false;
  auto count = dl::asConstant(groups[1]), channels = dl::asConstant(dims[1]);
  if (!count || !channels || *count < 1 || *channels % *count)
    return false;
  split = dims;
  split[1] = dl::constantDim(*channels / *count, norm.getContext());
  split.insert(split.begin() + 1, groups[1]);
  return true;
}

bool GroupNorm::isPlain() {
  for (auto [position, value] : llvm::enumerate(norm.getAffine()))
    if (numberOf(value) != std::optional<double>(position == 0 ? 1 : 0))
      return false;
  return true;
}

namespace {
/// view(norm(x)) * w -> view(norm(x, w)), and view(norm(x, w)) + b -> view(norm(x, w, b))
template <typename Op> struct AbsorbChannels : OpRewritePattern<Op> {
  using OpRewritePattern<Op>::OpRewritePattern;

  LogicalResult matchAndRewrite(Op op, PatternRewriter &rewriter) const override {
    return success(succeeded(absorb(op, op.getX(), op.getOther(), rewriter)) ||
                   succeeded(absorb(op, op.getOther(), op.getX(), rewriter)));
  }

private:
  static LogicalResult absorb(Op op, Value y, Value other, PatternRewriter &rewriter) {
    constexpr bool isWeight = std::is_same_v<Op, dl::MulOp>;
    GroupNorm group;
    if (!group.read(y) || !(isWeight ? group.isPlain() : group.hasWeightAlone()))
      return failure();
    Covered views(op); // the weight's own stay, for others may read them
    auto repeated = repeatedOf(other, views);
    if (!repeated)
      return failure();
    dl::Dims dims = dl::dimsOf(y);
    for (size_t dim = 0; dim < dims.size(); ++dim)
      if (!dl::isConstant(dims[dim], 1) && repeated->dims[dim] == (dim == 1))
        return failure();
    Covered covered(op);
    covered.add(group.norm);
    covered.add(group.view);
    if (!covered.isClosed())
      return failure();
    dl::Builder builder(covered.location(), rewriter);
    SmallVector<Value> affine;
    if (!isWeight)
      affine.push_back(group.norm.getAffine().front());
    affine.push_back(builder.reshape(repeated->row, {group.split[1], group.split[2]}));
    auto rank = static_cast<int64_t>(group.split.size());
    Value normed =
        builder.make<dl::StandardizeOp>(builder.reshape(group.norm.getX(), group.split), affine,
                                        llvm::to_vector(llvm::seq<int64_t>(2, rank)),
                                        ArrayRef<int64_t>(kChannelDims), group.norm.getEps());
    covered.annotate(normed);
    rewriter.replaceOp(op, builder.reshape(normed, dims));
    return success();
  }
};
} // namespace

void addGroupNorms(RewritePatternSet &patterns) {
  patterns.add<AbsorbChannels<dl::MulOp>, AbsorbChannels<dl::AddOp>>(patterns.getContext());
}

} // namespace dlc
