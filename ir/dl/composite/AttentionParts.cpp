//===- AttentionParts.cpp - What the body of an attention consists of ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/composite/AttentionParts.h"

#include "ir/dl/base/DLBuilder.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace dlc::dl {

//===- Reading --------------------------------------------------------------------------------===//

Value AttentionParts::operandOf(LoopNestOpInterface product, unsigned term) {
  return product->getOperand(product.getLoopNest().terms[term].operand);
}

/// The positive number that each element of `value` is.
static std::optional<double> positiveNumber(Value value) {
  auto full = outsideAttention(value).getDefiningOp<FullOp>();
  auto fill = full ? dyn_cast<FloatAttr>(full.getFill()) : FloatAttr();
  if (!fill || !fill.getValue().isFiniteNonZero() || fill.getValue().isNegative())
    return std::nullopt;
  return fill.getValueAsDouble();
}

/// The factors of `value` where it is a product with a positive number: the other one, and that
/// number.
static std::optional<std::pair<Value, double>> scaledBy(Value value) {
  if (auto mul = value.getDefiningOp<MulOp>())
    for (unsigned operand : {0u, 1u})
      if (auto number = positiveNumber(mul->getOperand(operand)))
        return std::pair(mul->getOperand(1 - operand), *number);
  return std::nullopt;
}

bool AttentionParts::areScaledAlone() const {
  LoopNestOpInterface product = scoresOp;
  Value value = scores;
  while (auto scaled = scaledBy(value))
    value = scaled->first;
  return value.getDefiningOp() == product;
}

std::optional<std::array<Value, 3>> AttentionParts::float8Operands() const {
  if (!hasFloat8Weights)
    return std::nullopt;
  std::array<Value, 3> found = {operandOf(scoresOp, queryTerm), operandOf(scoresOp, keyTerm),
                                operandOf(sumOp, valueTerm)};
  for (Value &value : found) {
    auto cast = outsideAttention(value).getDefiningOp<CastOp>();
    if (!cast || !isa<Float8E4M3FNType>(getElementTypeOrSelf(cast.getX())))
      return std::nullopt;
    value = cast.getX();
  }
  return found;
}

static bool isPlain(const Access &access) { return !access.checked && !access.isComputed(); }

/// True where each result is the dim of its own number.
static bool readsAtOwnIndex(const Access &access, const LoopNest &nest) {
  if (!isPlain(access) || access.map.getNumResults() != nest.parallel.size())
    return false;
  for (auto [position, result] : llvm::enumerate(access.map.getResults()))
    if (result != getAffineDimExpr(position, access.map.getContext()))
      return false;
  return true;
}

static bool dependsOn(Value value, Operation *op) {
  Operation *by = value.getDefiningOp();
  return by && (by == op || llvm::any_of(by->getOperands(),
                                         [&](Value operand) { return dependsOn(operand, op); }));
}

/// `value` is made of `root` by maps that read it at their own index.
static bool isMadeOf(Value value, Operation *root) {
  Operation *op = value.getDefiningOp();
  if (op == root)
    return true;
  auto loops = dyn_cast_or_null<LoopNestOpInterface>(op);
  LoopNest nest = loops ? loops.getLoopNest() : LoopNest();
  if (!loops || !nest.isMap())
    return false;
  return llvm::all_of(nest.results, [&](const Access &access) {
    Value operand = op->getOperand(access.operand);
    return !dependsOn(operand, root) || (readsAtOwnIndex(access, nest) && isMadeOf(operand, root));
  });
}

/// Kernels round weights of e4m3 as parts of the largest one, not of their sum, and with steps
/// that suit factors up to this one.
static constexpr double kMostWeightsFactor = 256;

/// Reads from the sum's operand `value` back to the softmax: casts, and products with a number
/// before one to e4m3.
static bool readWeights(Value value, AttentionParts &parts) {
  bool hasFloat8Weights = false;
  double factor = 1;
  while (true) {
    if (auto cast = value.getDefiningOp<CastOp>()) {
      // Kernels leave out a cast that only rounds; any other one changes what the weights are.
      Type type = getElementTypeOrSelf(cast.getY());
      if (!type.isF16() && !type.isBF16() && !type.isF32() && !type.isF64() &&
          !isa<Float8E4M3FNType>(type))
        return false;
      hasFloat8Weights |= isa<Float8E4M3FNType>(type);
      value = cast.getX();
    } else if (auto scaled = hasFloat8Weights ? scaledBy(value) : std::nullopt) {
      factor *= scaled->second;
      value = scaled->first;
    } else {
      break;
    }
  }
  if (value != parts.softmax.getY() || factor > kMostWeightsFactor)
    return false;
  parts.hasFloat8Weights = hasFloat8Weights;
  parts.weightsFactor = factor;
  return true;
}

static bool isProduct(const LoopNest &nest) {
  return nest.isProduct && nest.terms.size() == 2 && nest.results.empty() && !nest.isWindow() &&
         llvm::all_of(nest.terms, isPlain);
}

/// Each dim of the weights is a loop of the sum: the keys its reduction, the others dims of its
/// result.
static bool walksWeights(const AttentionParts &parts, const LoopNest &sum) {
  if (sum.reduction.size() != 1)
    return false;
  llvm::SmallBitVector taken(sum.numLoops());
  for (auto [dim, expr] : llvm::enumerate(sum.terms[parts.weightsTerm].map.getResults())) {
    if (dim != parts.keyDim && isConstant(expr, 0))
      continue;
    auto loop = dyn_cast<AffineDimExpr>(expr);
    if (!loop || taken.test(loop.getPosition()) ||
        (loop.getPosition() == sum.parallel.size()) != (dim == parts.keyDim))
      return false;
    taken.set(loop.getPosition());
  }
  return true;
}

std::string readParts(Block &body, AttentionParts &parts) {
  SmallVector<LoopNestOpInterface> products;
  for (Operation &op : body.without_terminator()) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    LoopNest nest = loops ? loops.getLoopNest() : LoopNest();
    // Of ops with several stages this one is exp(x - max) / sum: its name stands for what no loop
    // nest says.
    if (auto softmax = dyn_cast<SoftmaxOp>(op); softmax && !parts.softmax)
      parts.softmax = softmax;
    else if (loops && isProduct(nest))
      products.push_back(loops);
    else if (!loops || !nest.isMap())
      return "has '" + op.getName().getStringRef().str() +
             "' in its body; expected two products, a softmax and maps";
  }
  if (!parts.softmax || products.size() != 2)
    return "has a body without two products and a softmax";
  parts.scoresOp = products[0];
  parts.sumOp = products[1];
  parts.scores = parts.softmax.getX();
  int64_t rank = typeOf(parts.scores).getRank(), dim = parts.softmax.getDimAttr().getInt();
  parts.keyDim = dim < 0 ? dim + rank : dim;

  LoopNest product = parts.scoresOp.getLoopNest(), sum = parts.sumOp.getLoopNest();
  parts.keyTerm = product.terms[1].map.isFunctionOfDim(parts.keyDim) ? 1 : 0;
  parts.queryTerm = 1 - parts.keyTerm;
  parts.weightsTerm = readWeights(parts.operandOf(parts.sumOp, 0), parts) ? 0 : 1;
  parts.valueTerm = 1 - parts.weightsTerm;
  if (!isMadeOf(parts.scores, parts.scoresOp))
    return "takes the softmax of something else than scores, or of scores at another index";
  if (!product.terms[parts.keyTerm].map.isFunctionOfDim(parts.keyDim) ||
      product.terms[parts.queryTerm].map.isFunctionOfDim(parts.keyDim))
    return "takes the softmax along a dim that is not the keys'";
  if (!readWeights(parts.operandOf(parts.sumOp, parts.weightsTerm), parts) ||
      dependsOn(parts.operandOf(parts.sumOp, parts.valueTerm), parts.scoresOp) ||
      !walksWeights(parts, sum))
    return "does not end in the product of the softmax, summed along the keys, and values";
  if (body.getTerminator()->getOperands() != ValueRange(parts.sumOp->getResults()))
    return "yields something else than its last product";
  return "";
}

Value outsideAttention(Value value) {
  while (auto argument = dyn_cast<BlockArgument>(value)) {
    auto op = dyn_cast_or_null<AttentionOp>(argument.getOwner()->getParentOp());
    if (!op)
      break;
    value = op.getInputs()[argument.getArgNumber()];
  }
  return value;
}

LogicalResult AttentionOp::verify() {
  Block &block = getBodyBlock();
  if (block.getArgumentTypes() != getInputs().getTypes())
    return emitOpError("has a body whose arguments differ from its inputs");
  if (block.getTerminator()->getOperandTypes() != getOperation()->getResultTypes())
    return emitOpError("has a body that yields another type than its result");
  AttentionParts parts;
  if (std::string wrong = readParts(block, parts); !wrong.empty())
    return emitOpError(wrong);
  int64_t rank = typeOf(parts.scores).getRank();
  if (getIsCausal() && (rank < 2 || parts.keyDim + 1 != rank))
    return emitOpError("is causal; expected the keys as the last dim of the scores, ")
           << text(parts.scores);
  return success();
}

//===- Expansion ------------------------------------------------------------------------------===//

ExpandedAttention expand(AttentionOp op, OpBuilder &builder) {
  AttentionParts inside;
  [[maybe_unused]] std::string wrong = readParts(op.getBodyBlock(), inside);
  assert(wrong.empty() && "the verifier has seen to it");
  IRMapping mapping;
  mapping.map(op.getBodyBlock().getArguments(), op.getInputs());
  ExpandedAttention expanded;
  for (Operation &part : op.getBodyBlock().without_terminator()) {
    if (&part == inside.softmax) {
      Value scores = mapping.lookup(inside.scores);
      expanded.parts = inside;
      expanded.parts.scores = scores;
      if (op.getIsCausal()) {
        Builder b(inside.softmax.getLoc(), builder.getContext());
        b.restoreInsertionPoint(builder.saveInsertionPoint());
        b.setListener(builder.getListener());
        Dims dims = dimsOf(scores);
        Value mask = CausalMaskOp::create(b, makeTensor(ArrayRef<AffineExpr>(dims).take_back(2),
                                                        typeOf(scores).getElementType()));
        mapping.map(inside.scores, b.make<AddOp>(scores, b.broadcast(mask, dims)));
        expanded.parts.lastSeen = b.getAffineDimExpr(static_cast<unsigned>(dims.size() - 2));
      }
    }
    builder.clone(part, mapping);
  }
  AttentionParts &parts = expanded.parts;
  parts.scoresOp = cast<LoopNestOpInterface>(mapping.lookup(inside.scoresOp.getOperation()));
  parts.sumOp = cast<LoopNestOpInterface>(mapping.lookup(inside.sumOp.getOperation()));
  parts.softmax = cast<SoftmaxOp>(mapping.lookup(inside.softmax.getOperation()));
  expanded.y = parts.sumOp->getResult(0);
  return expanded;
}

SmallVector<Value> AttentionOp::decompose(Builder &builder) { return {expand(*this, builder).y}; }

//===- Canonical form -------------------------------------------------------------------------===//

namespace {

/// Numbers and repetitions that maps of the scores read, and what permutes an operand of a product,
/// are made in the body: the products read through the latter.
struct SinkOperands : OpRewritePattern<AttentionOp> {
  using OpRewritePattern::OpRewritePattern;

  static bool belongsInside(Operation *by, BlockArgument argument) {
    auto isFactor = [](Operation *user) {
      return cast<LoopNestOpInterface>(user).getLoopNest().isProduct;
    };
    if (isa_and_nonnull<FullOp, BroadcastOp>(by))
      return llvm::none_of(argument.getUsers(), isFactor);
    return isa_and_nonnull<PermuteOp>(by) && llvm::all_of(argument.getUsers(), isFactor);
  }

  LogicalResult matchAndRewrite(AttentionOp op, PatternRewriter &rewriter) const override {
    Block &body = op.getBodyBlock();
    for (BlockArgument argument : body.getArguments()) {
      Operation *by = op.getInputs()[argument.getArgNumber()].getDefiningOp();
      bool isUsed = !argument.use_empty();
      if (isUsed && !belongsInside(by, argument))
        continue;
      SmallVector<Value> inputs(op.getInputs());
      inputs.erase(inputs.begin() + argument.getArgNumber());
      rewriter.modifyOpInPlace(op, [&] {
        if (isUsed) {
          IRMapping mapping;
          for (Value operand : by->getOperands()) {
            mapping.map(operand, body.addArgument(operand.getType(), operand.getLoc()));
            inputs.push_back(operand);
          }
          OpBuilder::InsertionGuard guard(rewriter);
          rewriter.setInsertionPointToStart(&body);
          rewriter.replaceAllUsesWith(argument, rewriter.clone(*by, mapping)->getResult(0));
        }
        body.eraseArgument(argument.getArgNumber());
        op.getInputsMutable().assign(inputs);
      });
      return success();
    }
    return failure();
  }
};

/// An attention whose result is permuted, and nothing else, gives its result in that order.
struct GivePermutedAttention : OpRewritePattern<PermuteOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PermuteOp permute, PatternRewriter &rewriter) const override {
    auto op = permute.getX().getDefiningOp<AttentionOp>();
    if (!op || !op->hasOneUse() ||
        !isa<MatmulOp, ContractOp>(
            op.getBodyBlock().getTerminator()->getOperand(0).getDefiningOp()))
      return failure();
    auto after = AttentionOp::create(rewriter, op.getLoc(), permute.getType(), op.getInputs(),
                                     op.getIsCausal());
    after->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getBody(), after.getBody(), after.getBody().end());
    Operation *yield = after.getBodyBlock().getTerminator();
    rewriter.setInsertionPoint(yield);
    Value y = yield->getOperand(0);
    // The product takes this in (GivePermuted), so that the body ends in it again.
    auto inside =
        PermuteOp::create(rewriter, permute.getLoc(), permute.getType(), y, permute.getDimsAttr());
    rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, inside); });
    rewriter.replaceOp(permute, after);
    rewriter.eraseOp(op);
    return success();
  }
};

} // namespace

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  patterns.add<SinkOperands, GivePermutedAttention>(context);
}

} // namespace dlc::dl
