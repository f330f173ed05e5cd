//===- RaiseAttention.cpp - Attention written as products and a softmax becomes an op ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every attention is found by the one thing that all of them have: a product whose one operand is a
// softmax along the dim that it sums over. From there the scores are read back to the product of
// queries and keys, and both products' operands through whatever permutes, scales or repeats them,
// so that the op reads tensors as they were computed. Other products with a softmax between them
// are attention, too, whatever is done to their scores; they are left in the order in which they
// are written.
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/base/DLBuilder.h"
#include "passes/Passes.h"
#include "passes/raise/AttentionBody.h"
#include "passes/raise/AttentionViews.h"
#include "passes/raise/ProductOperand.h"
#include "passes/raise/WrittenScores.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

#include <cmath>

#define DEBUG_TYPE "raise-attention"

using namespace mlir;

namespace dlc {
#define GEN_PASS_DEF_RAISEATTENTION
#include "passes/Passes.h.inc"

namespace {

class RaiseAttention : public impl::RaiseAttentionBase<RaiseAttention> {
  void runOnOperation() override;
};

} // namespace

//===- Attention ------------------------------------------------------------------------------===//

namespace {

/// An attention. Loops of its operands are the dims of the scores, and `rank`, the width of a head.
class Attention {
public:
  /// Reads the attention that ends in `sum`, whose operand `weightsTerm` is a softmax.
  bool read(LoopNestOpInterface sum, unsigned weightsTerm, Covered &covered);
  /// Builds the attention, in the dims of the result of `sum`.
  Value build(dl::Builder &builder) const;

private:
  bool readLoops(const ProductOperand &weights);
  bool readRow();
  bool readOperands(bool mayGroup);
  bool hasDims(const ProductOperand &operand) const;
  double scale() const;
  Value inOrder(const ProductOperand &operand, Value x, int64_t row, dl::Builder &builder) const;
  Value maskInOrder(dl::Builder &builder) const;

  Scores scores;
  int64_t rank = 0, row = -1, key = -1;
  dl::Dims dims;              // of the scores
  SmallVector<int64_t> batch; // dims of the scores but for row and key, in the order of the op's
  /// For each dim of the result of the sum a dim of the scores, or `rank`.
  SmallVector<int64_t> result;
  ProductOperand queryTerm, keyTerm, valueTerm; // as the products read them
  ProductOperand query, keys, values;           // as the op does
};

} // namespace

/// Reads which dims of the scores the loops of the sum are.
bool Attention::readLoops(const ProductOperand &weights) {
  int64_t sumRank = result.size();
  if (weights.loops[key] != sumRank || llvm::is_contained(weights.loops, -1))
    return false;
  SmallVector<int64_t> dimOf(sumRank + 1,
                             rank); // the loop that the weights do not have is the width
  for (auto [dim, loop] : llvm::enumerate(weights.loops))
    dimOf[loop] = dim;
  llvm::copy(ArrayRef(dimOf).drop_back(), result.begin());
  for (int64_t &loop : valueTerm.loops)
    loop = loop < 0 ? -1 : dimOf[loop];
  return llvm::count(result, rank) == 1 && valueTerm.reads(rank);
}

/// The row is the last dim of the scores that the queries have and the keys do not.
bool Attention::readRow() {
  if (queryTerm.reads(key))
    std::swap(queryTerm, keyTerm);
  if (queryTerm.reads(key) || !keyTerm.reads(key))
    return false;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (queryTerm.reads(dim) && !keyTerm.reads(dim))
      row = dim;
  if (row < 0 || valueTerm.reads(row))
    return false;
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != row && dim != key)
      batch.push_back(dim);
  return true;
}

bool Attention::readOperands(bool mayGroup) {
  query = queryTerm;
  keys = keyTerm;
  values = valueTerm;
  readThrough(query, {.scales = true});
  readThrough(keys, {.scales = true, .groups = mayGroup});
  readThrough(values, {.groups = mayGroup});
  if (keys.perGroup != values.perGroup || keys.heads != values.heads)
    return false;
  if (keys.perGroup == 1)
    return true;
  // The op counts heads along its last dim before row and width, and has to know how many there
  // are.
  auto *heads = llvm::find(batch, keys.heads);
  if (heads == batch.end() || !dl::asConstant(dims[keys.heads]) || !query.reads(keys.heads))
    return false;
  batch.erase(heads);
  batch.push_back(keys.heads);
  return true;
}

/// Each batch dim of the operand is as long as that of the scores, or 1.
bool Attention::hasDims(const ProductOperand &operand) const {
  return llvm::all_of(batch, [&](int64_t dim) {
    int64_t at = operand.dimOf(dim);
    bool isGrouped = operand.perGroup > 1 && dim == operand.heads;
    return at < 0 || isGrouped || operand.dims[at] == dims[dim];
  });
}

bool Attention::read(LoopNestOpInterface sum, unsigned weightsTerm, Covered &covered) {
  LoopNest sumNest = sum.getLoopNest();
  if (!isFloatProduct(sum, sumNest))
    return false;
  auto weights = operandOf(sum, sumNest, weightsTerm),
       value = operandOf(sum, sumNest, 1 - weightsTerm);
  auto softmax = weights ? weights->x.getDefiningOp<dl::SoftmaxOp>() : dl::SoftmaxOp();
  if (!softmax || !value)
    return false;
  covered.add(softmax);
  dims = dl::dimsOf(softmax);
  rank = dims.size();
  key = softmax.getDimAttr().getInt();
  key = key < 0 ? key + rank : key;
  valueTerm = *value;
  result.resize(sumNest.parallel.size());
  auto found = readLoops(*weights) ? scoresOf(softmax.getX(), covered) : std::nullopt;
  if (!found)
    return false;
  scores = *found;
  LoopNest nest = scores.product.getLoopNest();
  auto first = operandOf(scores.product, nest, 0), second = operandOf(scores.product, nest, 1);
  if (!first || !second)
    return false;
  queryTerm = *first;
  keyTerm = *second;
  if (!readRow())
    return false;
  SmallVector<int64_t> ungrouped = batch;
  if (!readOperands(/*mayGroup=*/true)) {
    batch = ungrouped;
    readOperands(/*mayGroup=*/false);
  }
  if (!query.reads(rank) || !keys.reads(rank) || !values.reads(key))
    return false;
  return hasDims(query) && hasDims(keys) && hasDims(values) && std::isfinite(scale()) &&
         llvm::all_of(batch, [&](int64_t dim) { return query.reads(dim) || keys.reads(dim); });
}

/// The factor of queries times keys. Roots and squares of roots are rounded: what is
/// meant as 1 / sqrt(width) is that.
double Attention::scale() const {
  double factor = scores.scale * query.scale * keys.scale;
  auto elements = dl::asConstant(query.dims[query.dimOf(rank)]);
  if (elements && *elements > 0) {
    double usual = 1 / std::sqrt(static_cast<double>(*elements));
    auto type = cast<FloatType>(getElementTypeOrSelf(query.x));
    double slack = std::ldexp(4.0, -static_cast<int>(type.getFPMantissaWidth()));
    if (std::abs(factor - usual) <= slack * usual)
      return usual;
  }
  return factor;
}

/// `x`, which the operand reads, as [batch..., row, width], without leading dims that it does not
/// have.
Value Attention::inOrder(const ProductOperand &operand, Value x, int64_t row,
                         dl::Builder &builder) const {
  // A dim that no loop has is of one element, and goes before others change places: what then lies
  // as it is wanted needs no copy.
  dl::Dims own, wanted;
  SmallVector<int64_t> positions;
  for (auto [loop, dim] : llvm::zip_equal(operand.loops, operand.dims)) {
    positions.push_back(own.size());
    if (loop >= 0)
      own.push_back(dim);
  }
  SmallVector<int64_t> order, loops = batch;
  loops.append({row, rank});
  for (int64_t loop : loops) {
    int64_t dim = operand.dimOf(loop);
    if (dim >= 0)
      order.push_back(positions[dim]);
    if (dim >= 0 || !wanted.empty())
      wanted.push_back(dim >= 0 ? operand.dims[dim] : builder.getAffineConstantExpr(1));
  }
  return builder.reshape(builder.permute(builder.reshape(x, own), order), wanted);
}

/// The mask as it is before it repeats, in the order of the op's scores.
Value Attention::maskInOrder(dl::Builder &builder) const {
  Value mask = scores.mask;
  if (!mask)
    return {};
  while (auto repeated = mask.getDefiningOp<dl::BroadcastOp>())
    mask = repeated.getX();
  SmallVector<int64_t> order = batch;
  order.append({row, key});
  if (!llvm::is_sorted(order)) {
    dl::Dims all(rank - dl::typeOf(mask).getRank(), builder.getAffineConstantExpr(1));
    llvm::append_range(all, dl::dimsOf(mask));
    mask = builder.permute(builder.reshape(mask, all), order);
  }
  return scores.isMaskInverted ? builder.make<dl::LogicalNotOp>(mask) : mask;
}

Value Attention::build(dl::Builder &builder) const {
  Value q = inOrder(query, unscaled(query.x, builder), row, builder),
        k = inOrder(keys, unscaled(keys.x, builder), key, builder),
        v = inOrder(values, values.x, key, builder);
  Value y = builder.make<dl::ScaledDotProductAttentionOp>(
      q, k, v, maskInOrder(builder), builder.getF64FloatAttr(0),
      builder.getBoolAttr(scores.isCausal), builder.getF64FloatAttr(scale()),
      builder.getBoolAttr(keys.perGroup > 1));
  SmallVector<int64_t> order;
  for (int64_t loop : result)
    order.push_back(loop == rank  ? batch.size() + 1
                    : loop == row ? batch.size()
                                  : llvm::find(batch, loop) - batch.begin());
  return builder.permute(y, order);
}

//===- Pass -----------------------------------------------------------------------------------===//

namespace {

/// softmax(scale * q k^T, masked) v -> scaled_dot_product_attention(q, k, v)
struct RaiseSum : OpInterfaceRewritePattern<LoopNestOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(LoopNestOpInterface sum, PatternRewriter &rewriter) const override {
    if (isa<dl::AttentionOp>(sum->getParentOp()))
      return failure(); // it is one already
    for (unsigned weightsTerm : {0u, 1u}) {
      if (sum->getNumOperands() < 2 || !sum->getOperand(weightsTerm).getDefiningOp<dl::SoftmaxOp>())
        continue;
      Covered covered(sum);
      Attention attention;
      if (!attention.read(sum, weightsTerm, covered) || !covered.isClosed())
        continue;
      dl::Builder builder(covered.location(), rewriter);
      Value y = attention.build(builder);
      covered.annotate(y);
      rewriter.replaceOp(sum, y);
      return success();
    }
    return failure();
  }
};

} // namespace

void RaiseAttention::runOnOperation() {
  RewritePatternSet patterns(&getContext());
  addAttentionViews(patterns);
  patterns.add<RaiseSum>(&getContext());
  if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
    return signalPassFailure();
  formAttentions(getOperation());
}

} // namespace dlc
