//===- FoldScales.cpp - Scales and shifts of channels become part of weights --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/contraction/DLContraction.h"
#include "passes/Passes.h"
#include "passes/precision/NarrowingRules.h"
#include "passes/simplify/ChannelStep.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#define DEBUG_TYPE "fold-scales"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_FOLDSCALES
#include "passes/Passes.h.inc"

namespace {

class FoldScales : public impl::FoldScalesBase<FoldScales> {
  void runOnOperation() override;
};

/// Folds in one function.
class Folding {
public:
  void run(func::FuncOp function);
  int64_t numExpanded = 0, numFolded = 0;

private:
  dl::BatchNormOp widen(dl::BatchNormOp norm);
  bool expand(dl::BatchNormOp norm);
  bool foldBefore(Operation *op);
  bool foldAfter(Operation *product);
  bool isFoldable(Operation *product);
  bool hasKernel(Value value);
  std::optional<ChannelStep> stepOf(Operation *op);
  void replace(Operation *op, Value value);

  WeightDependence weights;
  /// The ops that batch norms became.
  llvm::SmallSetVector<Operation *, 16> expanded;
};

} // namespace

static bool isConvolution(Operation *op) {
  return isa_and_nonnull<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>(op);
}

void Folding::replace(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  weights.forget(op);
  expanded.remove(op);
  op->erase();
}

/// In half precision scale and shift would be rounded once more: the norm of floats that `norm`
/// becomes, its result rounded to what that of `norm` was.
dl::BatchNormOp Folding::widen(dl::BatchNormOp norm) {
  dl::Builder b(norm);
  SmallVector<Value> wide = llvm::map_to_vector(
      norm->getOperands(), [&](Value value) { return b.cast(value, b.getF32Type()); });
  Value y =
      b.make<dl::BatchNormOp>(wide[0], wide[1], wide[2], ArrayRef(wide).drop_front(3),
                              norm.getMomentumAttr(), norm.getEpsAttr(), norm.getBiasedAttr());
  replace(norm, b.cast(y, getElementTypeOrSelf(norm)));
  return y.getDefiningOp<dl::BatchNormOp>();
}

/// A batch norm of known statistics as a product and a sum.
bool Folding::expand(dl::BatchNormOp norm) {
  auto isWeight = [&](Value value) { return weights.dependsOnWeightsAlone(value); };
  // A kernel of its own stays one.
  if (!norm->getDiscardableAttrDictionary().empty() ||
      !llvm::all_of(norm->getOperands().drop_front(), isWeight) || !keepsRange(norm))
    return false;
  if (!isWideFloat(norm))
    norm = widen(norm);
  dl::Builder b(norm);
  Value scale = scaleOf(norm, b), shift = b.make<dl::MulOp>(norm.getRunningMean(), scale);
  bool isAffine = norm.getAffine().size() == 2;
  shift = isAffine ? b.make<dl::SubOp>(norm.getAffine()[1], shift) : b.make<dl::NegOp>(shift);
  dl::Dims dims = dl::dimsOf(norm);
  Value scaled = b.make<dl::MulOp>(norm.getX(), alongDim(b, scale, dims, 1));
  Value y = b.make<dl::AddOp>(scaled, alongDim(b, shift, dims, 1));
  expanded.insert(scaled.getDefiningOp());
  expanded.insert(y.getDefiningOp());
  replace(norm, y);
  return true;
}

/// A product of floats by one tensor that is computed at load, and is read otherwise at load alone.
bool Folding::isFoldable(Operation *product) {
  auto isWeight = [&](Value value) { return weights.dependsOnWeightsAlone(value); };
  return (isConvolution(product) ||
          isa_and_nonnull<dl::LinearOp, dl::MatmulOp, dl::ContractOp>(product)) &&
         isWideFloat(product->getResult(0)) &&
         llvm::all_of(product->getOperands().drop_front(), isWeight) &&
         !isWeight(product->getOperand(0)) &&
         llvm::all_of(product->getOperand(1).getUsers(), [&](Operation *user) {
           return user == product || (user->getNumResults() == 1 && isWeight(user->getResult(0)));
         });
}

/// The ops between a product and a scale of it, from the scale on: sums, which are scaled too, and
/// permutations.
struct Between {
  Operation *op;
  int64_t dim; // of its result, along which it is scaled
};

/// The step that `op` is, if it may be folded.
std::optional<ChannelStep> Folding::stepOf(Operation *op) {
  auto step = channelStepOf(op, weights);
  return step && (expanded.contains(op) || keepsRange(*step)) ? step : std::nullopt;
}

/// Takes `op`, a step along the channels of a product before it, into the weights.
bool Folding::foldBefore(Operation *op) {
  auto step = stepOf(op);
  if (!step)
    return false;
  SmallVector<Between> between;
  Value base = step->x;
  Operation *product = base.getDefiningOp();
  int64_t dim = step->dim;
  auto isPart = [&](Operation *part) {
    return part && part->hasOneUse() && sameAnnotations(part, op);
  };
  for (; step->isScale && isPart(product); product = base.getDefiningOp()) {
    if (auto sum = stepOf(product); sum && !sum->isScale && sum->dim == dim) {
      between.push_back({product, dim});
      base = sum->x;
    } else if (auto permute = dyn_cast<dl::PermuteOp>(product); permute) {
      between.push_back({product, dim});
      int64_t from = permute.getDims()[dim];
      dim = from < 0 ? from + dl::typeOf(base).getRank() : from;
      base = permute.getX();
    } else {
      break;
    }
  }
  if (!isPart(product) || !isFoldable(product))
    return false;
  bool hasBias = isConvolution(product) || isa<dl::LinearOp>(product);
  if (!step->isScale && !hasBias)
    return false; // the sum stays one
  int64_t channels = isConvolution(product) ? 1 : dl::typeOf(base).getRank() - 1;
  auto places = dl::resultDimsOf(product, 1);
  int64_t place = places ? llvm::find(*places, dim) - places->begin() : 0;
  if (!places || place == static_cast<int64_t>(places->size()) ||
      (!step->isScale && dim != channels))
    return false;
  AffineExpr size = dl::dimsOf(base)[dim];
  SmallVector<Value> operands(product->getOperands());
  dl::Dims dims = dl::dimsOf(operands[1]);
  // A dim of size 1 that repeats along the result's has one number for all.
  if (dims[place] != size)
    return false;

  dl::Builder b(op);
  b.setLoc(FusedLoc::get(b.getContext(), {product->getLoc(), op->getLoc()}));
  Value vector = step->vector(b);
  if (step->isScale)
    operands[1] = b.make<dl::MulOp>(operands[1], alongDim(b, vector, dims, place));
  if (operands.size() < 3 && !step->isScale)
    operands.push_back(vector);
  else if (operands.size() > 2)
    operands[2] = step->isScale ? b.make<dl::MulOp>(operands[2], vector)
                                : b.make<dl::AddOp>(operands[2], vector);
  OperationState state(b.getLoc(), product->getName(), operands, product->getResultTypes(),
                       product->getAttrs());
  Value y = b.create(state)->getResult(0);
  for (Between &part : llvm::reverse(between)) {
    b.setLoc(part.op->getLoc());
    if (auto permute = dyn_cast<dl::PermuteOp>(part.op)) {
      y = b.make<dl::PermuteOp>(y, permute.getDims());
    } else {
      Value summand = b.make<dl::MulOp>(channelStepOf(part.op, weights)->vector(b), vector);
      y = b.make<dl::AddOp>(y, alongDim(b, summand, dl::dimsOf(y), part.dim));
    }
    y.getDefiningOp()->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  }
  replace(op, y);
  for (Between &part : between)
    replace(part.op, base);
  weights.forget(product);
  product->erase();
  return true;
}

/// The dim of the weight that `product` sums over with dim `dim` of its first operand; nullopt
/// where there is none.
static std::optional<unsigned> summedDim(Operation *product, int64_t dim) {
  if (isConvolution(product))
    return dim == 1 ? std::optional<unsigned>(1) : std::nullopt;
  LoopNest nest = cast<LoopNestOpInterface>(product).getLoopNest();
  auto loop = dyn_cast<AffineDimExpr>(nest.terms[0].map.getResult(dim));
  if (!loop || loop.getPosition() < nest.parallel.size())
    return std::nullopt;
  ArrayRef<AffineExpr> weight = nest.terms[1].map.getResults();
  const auto *found = llvm::find(weight, loop);
  return found == weight.end() ? std::nullopt : std::optional<unsigned>(found - weight.begin());
}

/// [C], of each channel of what a convolution reads, in the dims of its weight, [K, C / groups,
/// 1...].
static Value perWeight(dl::Builder &b, Operation *convolution, Value vector) {
  dl::Dims dims = dl::dimsOf(convolution->getOperand(1));
  int64_t groups = convolution->getAttrOfType<IntegerAttr>("groups")
                       ? convolution->getAttrOfType<IntegerAttr>("groups").getInt()
                       : 1;
  AffineExpr one = dl::constantDim(1, b.getContext()),
             count = dl::constantDim(groups, b.getContext());
  Value split = b.reshape(vector, {count, one, dims[1]});
  Value repeated = b.broadcast(split, {count, dl::normalize(dims[0].floorDiv(groups)), dims[1]});
  dl::Dims to(dims.size(), one);
  to[0] = dims[0];
  to[1] = dims[1];
  return b.broadcast(b.reshape(repeated, to), dims);
}

static bool isPadded(Operation *convolution) {
  auto padding = convolution->getAttrOfType<DenseI64ArrayAttr>("padding");
  return padding && llvm::any_of(padding.asArrayRef(), [](int64_t width) { return width != 0; });
}

/// Returns true if the kernel that computes `value` does one more step for nothing. What is stored
/// for others has none that could, nor has a view.
bool Folding::hasKernel(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && op->hasOneUse()) {
    auto step = stepOf(op);
    if (!step)
      return !isa<dl::ReshapeOp>(op);
    op = step->x.getDefiningOp();
  }
  return false;
}

/// Takes what is done to the channels that `product` sums over into its weights.
bool Folding::foldAfter(Operation *product) {
  if (!isFoldable(product))
    return false;
  Operation *op = product->getOperand(0).getDefiningOp();
  auto step = op && op->hasOneUse() && sameAnnotations(op, product) ? stepOf(op) : std::nullopt;
  if (!step || hasKernel(step->x))
    return false;
  bool isConv = isConvolution(product);
  auto place = summedDim(product, step->dim);
  Value weight = product->getOperand(1);
  AffineExpr size = dl::dimsOf(step->x)[step->dim];
  if (!place || (!isConv && dl::dimsOf(weight)[*place] != size))
    return false;
  bool isMatrix = isa<dl::MatmulOp>(product) && dl::typeOf(weight).getRank() == 2;
  // The padding of a convolution is not shifted.
  if (!step->isScale && (isConv ? isPadded(product) : !isMatrix && !isa<dl::LinearOp>(product)))
    return false;

  dl::Builder b(product);
  b.setLoc(FusedLoc::get(b.getContext(), {op->getLoc(), product->getLoc()}));
  Value vector = step->vector(b);
  SmallVector<Value> operands(product->getOperands());
  operands[0] = step->x;
  Value added;
  if (isConv) {
    Value terms = b.make<dl::MulOp>(weight, perWeight(b, product, vector));
    if (step->isScale) {
      operands[1] = terms;
    } else {
      SmallVector<int64_t> dims =
          llvm::to_vector(llvm::seq<int64_t>(1, dl::typeOf(weight).getRank()));
      added = b.make<dl::SumOp>(terms, dims, false, TypeAttr());
    }
  } else if (step->isScale) {
    operands[1] = b.make<dl::MulOp>(weight, alongDim(b, vector, dl::dimsOf(weight), *place));
  } else if (isMatrix) {
    added = b.make<dl::MatmulOp>(vector, weight);
  } else {
    added = b.make<dl::LinearOp>(vector, weight, Value());
  }
  if (added && !isMatrix) {
    if (operands.size() > 2)
      operands[2] = b.make<dl::AddOp>(operands[2], added);
    else
      operands.push_back(added);
  }
  OperationState state(b.getLoc(), product->getName(), operands, product->getResultTypes(),
                       product->getAttrs());
  Value y = b.create(state)->getResult(0);
  if (added && isMatrix)
    y = b.make<dl::AddOp>(y, b.broadcast(added, dl::dimsOf(y)));
  replace(product, y);
  replace(op, step->x);
  return true;
}

void Folding::run(func::FuncOp function) {
  for (auto norm : llvm::make_early_inc_range(function.getOps<dl::BatchNormOp>()))
    numExpanded += expand(norm);
  for (bool changed = true; changed;) {
    changed = false;
    for (Operation &op : llvm::make_early_inc_range(function.front()))
      if (foldBefore(&op) || foldAfter(&op)) {
        ++numFolded;
        changed = true;
        break;
      }
  }
  // A batch norm computes in f32 whatever the precision of the model is.
  for (Operation *op : expanded)
    op->setAttr(kKeepF32, UnitAttr::get(op->getContext()));
}

void FoldScales::runOnOperation() {
  if (getOperation().isExternal())
    return;
  Folding folding;
  folding.run(getOperation());
  numExpanded += folding.numExpanded;
  numFolded += folding.numFolded;
}

} // namespace dlc
