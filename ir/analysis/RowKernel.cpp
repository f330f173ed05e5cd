//===- RowKernel.cpp - Reductions of the same rows as one kernel --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/RowKernel.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace dlc {

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

//===- The rows of an op ----------------------------------------------------------------------===//

/// The rows of the operand that `access` reads, where each of its indices is a loop of its own and
/// all loops but inner ones are among them.
static std::optional<RowSpace> rowsOf(LoopNestOpInterface op, const LoopNest &nest,
                                      const Access &access) {
  if (access.checked || access.isComputed())
    return std::nullopt;
  unsigned numParallel = nest.parallel.size(), numLoops = nest.numLoops();
  llvm::SmallBitVector inner = nest.innerDims(), seen(numLoops);
  RowSpace rows = {dl::getDims(typeOf(op->getOperand(access.operand))),
                   llvm::SmallBitVector(access.map.getNumResults())};
  unsigned next = numParallel; // the reduction's loops come in the order of the operand's dims
  for (auto [dim, index] : llvm::enumerate(access.map.getResults())) {
    auto loop = dyn_cast<AffineDimExpr>(index);
    if (!loop || seen.test(loop.getPosition()))
      return std::nullopt;
    seen.set(loop.getPosition());
    if (loop.getPosition() < numParallel)
      continue;
    if (loop.getPosition() != next++)
      return std::nullopt;
    rows.reduced.set(dim);
  }
  for (unsigned loop = 0; loop < numLoops; ++loop)
    if (!seen.test(loop) && !(loop < numParallel && inner.test(loop)))
      return std::nullopt;
  return rows;
}

std::optional<RowSpace> rowsOf(LoopNestOpInterface op) {
  LoopNest nest = op.getLoopNest();
  if (nest.isMap() || nest.isProduct || nest.spanned.any() || nest.reduction.empty() ||
      op->getNumResults() != 1)
    return std::nullopt;
  for (const Access &access : nest.terms) {
    std::optional<RowSpace> rows = rowsOf(op, nest, access);
    if (!rows)
      continue;
    auto placement = placementOf(dl::getDims(typeOf(op->getResult(0))), *rows);
    if (!placement)
      return std::nullopt;
    // The loops of a row are those of the result.
    for (auto [dim, index] : llvm::enumerate(access.map.getResults()))
      if (unsigned loop = cast<AffineDimExpr>(index).getPosition();
          loop < nest.parallel.size() && placement->dims[loop] != static_cast<int>(dim))
        return std::nullopt;
    return rows;
  }
  return std::nullopt;
}

//===- Placement ------------------------------------------------------------------------------===//

SmallVector<AffineExpr> RowPlacement::indicesOf(ArrayRef<AffineExpr> indices) const {
  SmallVector<AffineExpr> own;
  for (int dim : dims)
    own.push_back(dim < 0 ? getAffineConstantExpr(0, indices.front().getContext()) : indices[dim]);
  return own;
}

std::optional<RowPlacement> placementOf(ArrayRef<AffineExpr> dims, const RowSpace &rows) {
  size_t rank = rows.dims.size();
  RowPlacement placement;
  if (dims.size() == rank) {
    bool isWhole = llvm::equal(dims, rows.dims);
    for (auto [dim, extent] : llvm::enumerate(dims)) {
      bool isReduced = rows.reduced.test(dim);
      if (!isWhole && !(isReduced ? dl::isConstant(extent, 1) : extent == rows.dims[dim]))
        return std::nullopt;
      placement.dims.push_back(isReduced && !isWhole ? -1 : static_cast<int>(dim));
    }
    placement.isOfRow = !isWhole;
    return placement;
  }
  if (dims.size() + rows.reduced.count() != rank)
    return std::nullopt;
  placement.isOfRow = true;
  for (size_t dim = 0; dim < rank; ++dim) {
    if (rows.reduced.test(dim))
      continue;
    if (dims[placement.dims.size()] != rows.dims[dim])
      return std::nullopt;
    placement.dims.push_back(static_cast<int>(dim));
  }
  return placement;
}

//===- The kernel -----------------------------------------------------------------------------===//

const RowKernel::Reduction &RowKernel::ownerOf(unsigned stage) const {
  return *llvm::find_if(llvm::reverse(reductions),
                        [&](const Reduction &one) { return one.firstStage <= stage; });
}

const RowKernel::Reduction *RowKernel::find(Operation *op) const {
  const auto *found = llvm::find_if(reductions, [&](const Reduction &one) { return one.op == op; });
  return found == reductions.end() ? nullptr : found;
}

namespace {

/// Follows what the kernel reads, from an element of a row on. Indices are over the dims of the row
/// space; in a term those over its reduced dims are the reduction's loops.
class RowWalk {
public:
  RowWalk(const RowKernel &kernel, ArrayRef<Operation *> ops)
      : kernel(kernel), inside(llvm::from_range, ops) {
    for (unsigned dim = 0; dim < kernel.rows.dims.size(); ++dim)
      element.push_back(getAffineDimExpr(dim, ops.front()->getContext()));
  }

  /// All that the terms of `reduction`, or `result`, are made of is of the row at hand.
  bool staysInRow(const RowKernel::Reduction &reduction) {
    SmallVector<AffineExpr> loops = reduction.placement.indicesOf(element);
    for (unsigned dim : kernel.rows.reduced.set_bits())
      loops.push_back(element[dim]);
    return stays(reduction.op, reduction.nest.terms, loops);
  }
  bool staysInRow(Value result, const RowPlacement &placement) {
    return stays(result, placement.indicesOf(element));
  }
  /// A reduction of the kernel has a part in `value`.
  bool isReduced(Value value) {
    Operation *op = value.getDefiningOp();
    if (!op || !inside.contains(op))
      return false;
    if (auto found = reduced.find(op); found != reduced.end())
      return found->second;
    bool is = kernel.find(op) ||
              llvm::any_of(op->getOperands(), [&](Value operand) { return isReduced(operand); });
    return reduced[op] = is;
  }

private:
  bool stays(Value value, ArrayRef<AffineExpr> indices);
  bool stays(LoopNestOpInterface op, ArrayRef<Access> accesses, ArrayRef<AffineExpr> loops);

  const RowKernel &kernel;
  llvm::SmallPtrSet<Operation *, 16> inside;
  SmallVector<AffineExpr> element;
  llvm::DenseMap<Operation *, bool> reduced;
  llvm::DenseSet<std::pair<Value, ArrayAttr>> seen; // values at indices
};

} // namespace

bool RowWalk::stays(LoopNestOpInterface op, ArrayRef<Access> accesses, ArrayRef<AffineExpr> loops) {
  for (const Access &access : accesses) {
    Value operand = op->getOperand(access.operand);
    if (!isReduced(operand))
      continue;
    // A bounds test or an index that the data say may lead to another row.
    if (access.checked || access.isComputed())
      return false;
    SmallVector<AffineExpr> indices;
    for (AffineExpr index : access.map.getResults())
      indices.push_back(
          simplifyAffineExpr(index.replaceDims(loops), element.size(), dl::kMaxSymbols));
    if (!stays(operand, indices))
      return false;
  }
  return true;
}

bool RowWalk::stays(Value value, ArrayRef<AffineExpr> indices) {
  if (!isReduced(value))
    return true;
  MLIRContext *context = value.getContext();
  auto at = ArrayAttr::get(context, AffineMapAttr::get(AffineMap::get(
                                        element.size(), dl::kMaxSymbols, indices, context)));
  if (!seen.insert({value, at}).second)
    return true;
  auto op = cast<LoopNestOpInterface>(value.getDefiningOp());
  const RowKernel::Reduction *reduction = kernel.find(op);
  if (!reduction)
    return stays(op, op.getLoopNest().results, indices);
  for (auto [index, dim] : llvm::zip_equal(indices, reduction->placement.dims))
    if (dim >= 0 && !kernel.rows.reduced.test(dim) && index != element[dim] &&
        !dl::isConstant(kernel.rows.dims[dim], 1))
      return false; // of another row
  return stays(op, reduction->nest.results, indices);
}

/// The reductions among `ops`, all of the same rows; none where they are not, or an op is computed
/// otherwise than by loops.
static bool collectReductions(ArrayRef<Operation *> ops, RowKernel &kernel) {
  for (Operation *op : ops) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops)
      return false;
    LoopNest nest = loops.getLoopNest();
    if (nest.isMap())
      continue;
    std::optional<RowSpace> rows = rowsOf(loops);
    if (!rows || (!kernel.reductions.empty() && *rows != kernel.rows))
      return false;
    kernel.rows = *rows;
    auto placement = placementOf(dl::getDims(typeOf(op->getResult(0))), *rows);
    unsigned firstStage = kernel.nest.stages.size();
    llvm::append_range(kernel.nest.stages, nest.stages);
    kernel.reductions.push_back({loops, std::move(nest), firstStage, *placement});
  }
  return !kernel.reductions.empty();
}

/// Whether the results lie alike: the elements of rows all in one layout, the others row-major.
static bool lieAlike(const RowKernel &kernel, ValueRange results) {
  std::optional<dl::Layout> layout;
  for (auto [result, placement] : llvm::zip_equal(results, kernel.results)) {
    dl::Layout own = dl::getLayout(typeOf(result));
    if (own.isTiled() || (placement.isOfRow && !own.isRowMajor()) ||
        (!placement.isOfRow && layout && *layout != own))
      return false;
    if (!placement.isOfRow)
      layout = own;
  }
  return true;
}

/// Adds the terms of reduction number `number` that no reduction has a part in, over the kernel's
/// own loops: the dims of the row space, then the reduction's.
static void addTerms(RowKernel &kernel, unsigned number, RowWalk &walk) {
  const RowKernel::Reduction &reduction = kernel.reductions[number];
  MLIRContext *context = reduction.op->getContext();
  unsigned rank = kernel.rows.dims.size(), next = rank;
  SmallVector<AffineExpr> row;
  for (unsigned dim = 0; dim < rank; ++dim)
    row.push_back(getAffineDimExpr(dim, context));
  SmallVector<AffineExpr> loops = reduction.placement.indicesOf(row);
  for (size_t dim = 0; dim < kernel.nest.reduction.size(); ++dim)
    loops.push_back(getAffineDimExpr(next++, context));
  for (auto [term, access] : llvm::enumerate(reduction.nest.terms)) {
    Value tensor = reduction.op->getOperand(access.operand);
    if (walk.isReduced(tensor))
      continue;
    Access made = access;
    made.map = access.map.replaceDimsAndSymbols(loops, {}, next, access.map.getNumSymbols());
    auto isSame = [&](const auto &known) {
      auto [place, other] = known;
      const RowKernel::Reduction &owner = kernel.reductions[place.first];
      return other.map == made.map &&
             owner.op->getOperand(owner.nest.terms[place.second].operand) == tensor;
    };
    if (llvm::any_of(llvm::zip_equal(kernel.terms, kernel.nest.terms), isSame))
      continue;
    kernel.nest.terms.push_back(std::move(made));
    kernel.terms.push_back({number, term});
  }
}

std::optional<RowKernel> findRowKernel(ArrayRef<Operation *> ops, ValueRange results) {
  RowKernel kernel;
  if (ops.empty() || !collectReductions(ops, kernel))
    return std::nullopt;
  kernel.nest.parallel = kernel.rows.dims;
  for (unsigned dim : kernel.rows.reduced.set_bits())
    kernel.nest.reduction.push_back(kernel.rows.dims[dim]);
  kernel.nest.indexDims.resize(kernel.rows.dims.size());
  for (Value result : results) {
    auto placement = placementOf(dl::getDims(typeOf(result)), kernel.rows);
    if (!placement)
      return std::nullopt;
    kernel.results.push_back(std::move(*placement));
  }
  if (!lieAlike(kernel, results))
    return std::nullopt;
  RowWalk walk(kernel, ops);
  for (auto [result, placement] : llvm::zip_equal(results, kernel.results))
    if (!walk.staysInRow(result, placement))
      return std::nullopt;
  for (unsigned number = 0; number < kernel.reductions.size(); ++number) {
    if (!walk.staysInRow(kernel.reductions[number]))
      return std::nullopt;
    addTerms(kernel, number, walk);
  }
  return kernel;
}

} // namespace dlc
