//===- MergeProducts.cpp - One product for several with the same first factor -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Queries, keys and values of an attention are products of one tensor with three weights. Side by
// side these weights are one, which is put together at load, and one launch reads the tensor once.
// What read one of the products reads a slice.
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ADT/MapVector.h"

#define DEBUG_TYPE "merge-products"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_MERGEPRODUCTS
#include "passes/Passes.h.inc"

namespace {

/// A product with a weight [K, N] (dl.matmul) or [N, K] (dl.linear), and the bias that is added to
/// it.
struct Member {
  Operation *product = nullptr;
  Value weight;
  Value bias;               // [N], null where there is none
  Operation *sum = nullptr; // dl.add of product and bias, where the product itself has none
  /// Casts and repetitions that `sum` reads the bias through, the last one first.
  SmallVector<Operation *, 2> repeated;

  Value result() const { return (sum ? sum : product)->getResult(0); }
};

class MergeProducts : public impl::MergeProductsBase<MergeProducts> {
  void runOnOperation() override;

  std::optional<Member> memberOf(Operation *op);
  bool findBias(Member &member, Operation *sum);
  void hoist(Value value, Operation *before);
  void merge(ArrayRef<Member> members);

  WeightDependence weights;
  SmallVector<Operation *> views; // of the slices
};

} // namespace

/// Whether `value` is read by one op alone, past views and permutations, which reads a slice of
/// something larger as well, and is no part of the product's own kernel: an attention, or a map
/// that reads it elsewhere than at its own index.
static bool isReadInPlace(Value value) {
  while (value.hasOneUse()) {
    Operation *reader = *value.user_begin();
    if (isa<dl::ReshapeOp, dl::PermuteOp>(reader)) {
      value = reader->getResult(0);
      continue;
    }
    auto loops = dyn_cast<LoopNestOpInterface>(reader);
    return isa<dl::AttentionOp>(reader) ||
           (loops && loops.getLoopNest().isMap() && !reader->hasTrait<OpTrait::Elementwise>());
  }
  return false;
}

/// `sum` adds a bias of one dim to the product of `member`.
bool MergeProducts::findBias(Member &member, Operation *sum) {
  Value product = member.product->getResult(0);
  Value bias = sum->getOperand(0) == product ? sum->getOperand(1) : sum->getOperand(0);
  while (Operation *op = bias.getDefiningOp()) {
    if (!isa<dl::CastOp, dl::BroadcastOp>(op))
      break;
    member.repeated.push_back(op);
    bias = op->getOperand(0);
  }
  dl::Dims dims = dl::dimsOf(bias), own = dl::dimsOf(product);
  if (dims.size() != 1 || dims.front() != own.back() || !weights.dependsOnWeightsAlone(bias))
    return false;
  member.bias = bias;
  member.sum = sum;
  return true;
}

std::optional<Member> MergeProducts::memberOf(Operation *op) {
  Member member;
  member.product = op;
  if (auto linear = dyn_cast<dl::LinearOp>(op)) {
    member.weight = linear.getWeight();
    member.bias = linear.getBias();
  } else if (auto matmul = dyn_cast<dl::MatmulOp>(op)) {
    member.weight = matmul.getOther();
  } else {
    return std::nullopt;
  }
  auto isFloat = [](Value value) { return isa<FloatType>(dl::typeOf(value).getElementType()); };
  if (dl::typeOf(member.weight).getRank() != 2 || !isFloat(member.weight) ||
      dl::typeOf(op->getOperand(0)).getRank() < 2 || op->hasAttr("dl.no_fuse") ||
      !dl::asConstant(dl::dimsOf(op->getResult(0)).back()) ||
      !weights.dependsOnWeightsAlone(member.weight) ||
      (member.bias && !weights.dependsOnWeightsAlone(member.bias)))
    return std::nullopt;
  if (!member.bias && op->hasOneUse())
    if (auto sum = dyn_cast<dl::AddOp>(*op->user_begin()); sum && !findBias(member, sum))
      member.repeated.clear();
  return isReadInPlace(member.result()) ? std::optional(std::move(member)) : std::nullopt;
}

/// Members that one product may stand for: all but their weights alike.
static bool areAlike(const Member &a, const Member &b) {
  auto sameButColumns = [](Value x, Value y) {
    dl::Dims left = dl::dimsOf(x), right = dl::dimsOf(y);
    return ArrayRef(left).drop_back() == ArrayRef(right).drop_back() &&
           dl::typeOf(x).getElementType() == dl::typeOf(y).getElementType();
  };
  return a.product->getName() == b.product->getName() &&
         a.product->getOperand(0) == b.product->getOperand(0) &&
         a.product->getDiscardableAttrDictionary() == b.product->getDiscardableAttrDictionary() &&
         dl::typeOf(a.weight).getElementType() == dl::typeOf(b.weight).getElementType() &&
         !a.weight.getDefiningOp<dl::ExpandTwoOfFourOp>() ==
             !b.weight.getDefiningOp<dl::ExpandTwoOfFourOp>() &&
         !a.bias == !b.bias && !a.sum == !b.sum && sameButColumns(a.result(), b.result()) &&
         (!a.bias || dl::typeOf(a.bias).getElementType() == dl::typeOf(b.bias).getElementType()) &&
         llvm::equal(a.repeated, b.repeated, [&](Operation *x, Operation *y) {
           return x->getName() == y->getName() && sameButColumns(x->getResult(0), y->getResult(0));
         });
}

/// Moves what computes `value` of weights to before `before`.
void MergeProducts::hoist(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || op->isBeforeInBlock(before))
    return;
  op->moveBefore(before);
  for (Value operand : op->getOperands())
    hoist(operand, op);
}

/// The rows of all `matrices`; where two of each four of their numbers are stored, so are those of
/// the result's.
static Value stackOf(ArrayRef<Value> matrices, dl::Builder &builder) {
  SmallVector<Value> values, places;
  for (Value matrix : matrices)
    if (auto expand = matrix.getDefiningOp<dl::ExpandTwoOfFourOp>()) {
      values.push_back(expand.getValues());
      places.push_back(expand.getPlaces());
    }
  if (values.size() < matrices.size())
    return builder.make<dl::CatOp>(matrices, uint64_t(0));
  return builder.make<dl::ExpandTwoOfFourOp>(builder.make<dl::CatOp>(values, uint64_t(0)),
                                             builder.make<dl::CatOp>(places, uint64_t(0)));
}

void MergeProducts::merge(ArrayRef<Member> members) {
  Operation *first = members.front().product;
  bool isLinear = isa<dl::LinearOp>(first);
  SmallVector<Value> parts, biases;
  SmallVector<Location> lines;
  int64_t columns = 0;
  for (const Member &member : members) {
    for (Value value : {member.weight, member.bias})
      if (value)
        hoist(value, first);
    parts.push_back(member.weight);
    lines.push_back(member.product->getLoc());
    if (member.bias)
      biases.push_back(member.bias);
    columns += *dl::asConstant(dl::dimsOf(member.result()).back());
  }
  dl::Builder builder(first);
  builder.setLoc(FusedLoc::get(builder.getContext(), lines));
  Value x = first->getOperand(0);
  Value weight =
      isLinear ? stackOf(parts, builder) : builder.make<dl::CatOp>(parts, static_cast<uint64_t>(1));
  Value bias = biases.empty() ? Value() : builder.make<dl::CatOp>(biases, uint64_t(0));
  const Member &model = members.front();
  Value y = isLinear ? builder.make<dl::LinearOp>(x, weight, model.sum ? Value() : bias)
                     : builder.make<dl::MatmulOp>(x, weight);
  y.getDefiningOp()->setDiscardableAttrs(first->getDiscardableAttrDictionary());
  if (model.sum) {
    for (Operation *op : llvm::reverse(model.repeated)) {
      dl::Dims dims = dl::dimsOf(op->getResult(0));
      dims.back() = dl::constantDim(columns, builder.getContext());
      bias = isa<dl::CastOp>(op) ? builder.cast(bias, dl::typeOf(op->getResult(0)).getElementType())
                                 : builder.broadcast(bias, dims);
    }
    bool isFirst = model.sum->getOperand(0) == first->getResult(0);
    y = builder.make<dl::AddOp>(isFirst ? y : bias, isFirst ? bias : y);
  }
  int64_t begin = 0, dim = dl::typeOf(y).getRank() - 1;
  for (const Member &member : members) {
    int64_t end = begin + *dl::asConstant(dl::dimsOf(member.result()).back());
    Value slice = builder.slice(y, dim, begin, end);
    member.result().replaceAllUsesWith(slice);
    for (Operation *reader : slice.getUsers())
      if (isa<dl::ReshapeOp>(reader))
        views.push_back(reader);
    begin = end;
  }
  for (const Member &member : members) {
    if (member.sum)
      member.sum->erase();
    member.product->erase();
  }
  weights = {};
  numMerged += members.size();
}

void MergeProducts::runOnOperation() {
  weights = {};
  views.clear();
  llvm::MapVector<Value, SmallVector<Member>> byFactor;
  for (Operation &op : getOperation().front())
    if (auto member = memberOf(&op))
      byFactor[op.getOperand(0)].push_back(std::move(*member));
  for (auto &[factor, members] : byFactor)
    while (!members.empty()) {
      const Member model = members.front();
      SmallVector<Member> alike, others;
      for (Member &member : members)
        (areAlike(model, member) ? alike : others).push_back(std::move(member));
      if (alike.size() > 1)
        merge(alike);
      members = std::move(others);
    }
  // A slice of a view, which attentions read where it lies.
  RewritePatternSet patterns(&getContext());
  dl::ReshapeOp::getCanonicalizationPatterns(patterns, &getContext());
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  if (failed(applyOpPatternsGreedily(views, std::move(patterns), config)))
    signalPassFailure();
}

} // namespace dlc
