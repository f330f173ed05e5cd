//===- ContractionKernel.cpp - Matrix products in tiles through shared memory ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// GEMM, batched GEMM and convolution are one loop nest: the result's dims that only the first operand knows are the rows
// m, those that only the second knows are the columns n, those of both are the batch, and the reduction is k. A block
// computes a tile of m x n; each step over k brings a slab of both operands into shared memory (prologues, padding and
// implicit im2col happen in that read), and each thread multiplies 4 x 4 elements out of it.
//
// A tensor-core kernel replaces `tile` by a kernel_template op and keeps the rest: the roles of the dims, the reads as
// its prologue regions, the write as its epilogue region.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/schedule/cuda/Schedules.h"

#include "codegen/schedule/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kPerThread = 4; // rows, and columns, of one thread
static constexpr int64_t kDepth = 16;    // steps of k in shared memory
static constexpr int64_t kFewRows = 4;   // up to here a tile would be mostly empty
static constexpr int64_t kMaxGridYZ = 65535;

namespace {
/// One of m, n, k and batch: dims of the nest walked as one.
struct Side {
  SmallVector<unsigned>
      order; // positions among the parallel (for k: reduction) dims, outermost first
  SmallVector<DimGroup> groups;
  AffineExpr extent;
};

class ContractionSchedule {
public:
  explicit ContractionSchedule(KernelBuilder &k) : k(k), nest(k.body.getNest()) {}
  /// False where the loops are no product of matrices.
  bool findSides();
  /// A vector times a matrix: too few rows for tiles.
  bool hasFewRows() const;
  /// In that case: the rows of the matrix lie along k, so a warp reads them whole.
  bool liesAlongReduction(unsigned term) const { return unitStride(term, reductionVariables); }
  bool fitsGrid() const;
  void tile();

private:
  bool unitStride(unsigned term, ArrayRef<AffineExpr> along) const;
  void visit(unsigned term, llvm::function_ref<void(AffineExpr)> visitor) const;
  void fill(Value buffer, unsigned term, const Side &side, Value first, int64_t width,
            Value firstK);
  Value guard(Value position, const Side &side, int64_t width);
  void store(Value totals);

  KernelBuilder &k;
  const LoopNest &nest;
  Side m, n, depth, batch;
  SmallVector<AffineExpr> variables, reductionVariables; // one for each dim: for questions
  SmallVector<AffineExpr> parallel, reduction;           // over the groups' variables: for code
  Type type;
  int64_t threads = 0, rows = 0, columns = 0; // of a block
  Value thread, threadM, threadN, firstM, firstN;
};
} // namespace

void ContractionSchedule::visit(unsigned term, llvm::function_ref<void(AffineExpr)> visitor) const {
  SmallVector<AffineExpr> loops(variables), at;
  loops.append(reductionVariables);
  for (AffineExpr expr : nest.terms[term].map.getResults())
    at.push_back(k.math.simplify(expr.replaceDims(loops)));
  k.body.visitReads(k.body.getRoot()->getOperand(nest.terms[term].operand), at,
                    [&](unsigned, AffineExpr offset, bool) {
                      visitor(offset);
                      return true;
                    });
}

bool ContractionSchedule::unitStride(unsigned term, ArrayRef<AffineExpr> along) const {
  bool found = false;
  visit(term, [&](AffineExpr offset) {
    for (AffineExpr variable : along)
      found |= k.math.strideAlong(offset, variable) == Stride::unit;
  });
  return found;
}

bool ContractionSchedule::findSides() {
  if (!nest.isProduct || nest.terms.size() != 2)
    return false;
  for (AffineExpr extent : nest.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : nest.reduction)
    reductionVariables.push_back(k.math.addLoop(extent));

  dl::Layout layout = dl::getLayout(k.body.getResultType());
  for (unsigned position = 0; position < nest.parallel.size(); ++position) {
    unsigned dim = layout.order.empty() ? position : layout.order[position];
    bool inA = nest.terms[0].map.isFunctionOfDim(dim), inB = nest.terms[1].map.isFunctionOfDim(dim);
    // A dim of both that is not simply an index of A chooses a group: a grouped convolution is many small products.
    if (inA && inB &&
        !llvm::is_contained(nest.terms[0].map.getResults(),
                            getAffineDimExpr(dim, k.b.getContext())))
      return false;
    (inA && inB ? batch : inB ? n : m).order.push_back(dim);
  }
  // The reduction runs along the first operand's memory: its smallest step innermost.
  for (unsigned dim = 0; dim < nest.reduction.size(); ++dim)
    depth.order.push_back(dim);
  SmallVector<int64_t> steps(nest.reduction.size(), INT64_MAX);
  visit(0, [&](AffineExpr offset) {
    for (auto [dim, variable] : llvm::enumerate(reductionVariables))
      if (auto step = k.math.stepAlong(offset, variable); step && steps[dim] == INT64_MAX)
        steps[dim] = std::abs(*step);
  });
  llvm::sort(depth.order, [&](unsigned a, unsigned b) {
    return std::pair(-steps[a], a) < std::pair(-steps[b], b);
  });

  SmallVector<AffineExpr> terms[2], results = {k.resultOffset(variables)};
  for (unsigned term : {0u, 1u})
    visit(term, [&](AffineExpr offset) { terms[term].push_back(offset); });
  k.body.visitResultReads(variables, [&](unsigned, AffineExpr offset, bool) {
    results.push_back(offset);
    return true;
  });
  SmallVector<AffineExpr> all(terms[0]);
  all.append(terms[1]);
  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, reductionVariables);
  llvm::SmallBitVector pinnedReduction =
      k.pinnedDims(reductionVariables, variables, reductionVariables);
  depth.groups = mergeDims(k.math, depth.order, reductionVariables, nest.reduction, all,
                           pinnedReduction, reductionRoles(nest.reduction.size()));
  all.append(results);
  for (Side *side : {&m, &n, &batch})
    side->groups = mergeDims(k.math, side->order, variables, nest.parallel, all, pinned,
                             resultRoles(nest.parallel.size()));

  parallel.resize(nest.parallel.size());
  reduction.resize(nest.reduction.size());
  for (Side *side : {&m, &n, &batch}) {
    bindGroups(k.math, side->groups, side->order, parallel);
    side->extent = totalExtent(k.math, side->groups);
  }
  bindGroups(k.math, depth.groups, depth.order, reduction);
  depth.extent = totalExtent(k.math, depth.groups);

  // Small sides get small tiles.
  auto tileOf = [&](const Side &side) {
    auto most = k.largest(side.extent);
    return most && *most <= 32 ? 32 : 64;
  };
  rows = tileOf(m);
  columns = tileOf(n);
  threads = rows / kPerThread * (columns / kPerThread);
  type = k.body.accumulatorType(0);
  return true;
}

bool ContractionSchedule::hasFewRows() const {
  auto most = k.largest(m.extent);
  return most && *most <= kFewRows;
}

bool ContractionSchedule::fitsGrid() const {
  auto y = k.largest(k.ceilDiv(n.extent, columns)), z = k.largest(batch.extent);
  return y && z && *y <= kMaxGridYZ && *z <= kMaxGridYZ;
}

/// position < extent, or null where a tile of `width` never reaches beyond the end.
Value ContractionSchedule::guard(Value position, const Side &side, int64_t width) {
  return side.extent.isMultipleOf(width) ? Value() : k.less(position, k.index(side.extent));
}

/// Brings `width` rows (columns) from `first` on and kDepth steps of k into `buffer`[k][row]; what lies beyond is 0.
void ContractionSchedule::fill(Value buffer, unsigned term, const Side &side, Value first,
                               int64_t width, Value firstK) {
  bool isAlongK = liesAlongReduction(term);
  int64_t fast = isAlongK ? kDepth : width;
  k.loop("p", k.index(0), k.index(width * kDepth / threads), 1, KernelBuilder::Unroll::full,
         [&](Value p) {
           // Neighbouring threads read neighbouring elements.
           Value element = k.named(k.add(k.mul(p, threads), thread), "e");
           Value inner = k.mod(element, k.index(fast)), outer = k.div(element, k.index(fast));
           k.named(inner, isAlongK ? "kk" : "row");
           k.named(outer, isAlongK ? "row" : "kk");
           Value row = isAlongK ? outer : inner, step = isAlongK ? inner : outer;
           Value position = k.named(k.add(first, row), &side == &m ? "m" : "n");
           Value at = k.named(k.add(firstK, step), "k");
           k.bindFlat(position, side.groups);
           k.bindFlat(at, depth.groups);
           SmallVector<AffineExpr> loops(parallel);
           loops.append(reduction);
           Value inside = k.both(guard(position, side, width), guard(at, depth, kDepth));
           ScalarKind kind = k.body.accumulatorKind(0);
           Value zero = neutral(k.b, k.loc, Combiner::add, type, kind);
           k.write(buffer, {step, row},
                   k.choose(inside, [&] { return k.body.emitTermRead(k.b, term, loops); }, zero));
         });
}

void ContractionSchedule::store(Value totals) {
  auto full = KernelBuilder::Unroll::full;
  k.loop("i", k.index(0), k.index(kPerThread), 1, full, [&](Value i) {
    Value row = k.named(k.add(k.add(firstM, threadM), k.mul(i, rows / kPerThread)), "m");
    k.loop("j", k.index(0), k.index(kPerThread), 1, full, [&](Value j) {
      Value column = k.named(k.add(k.add(firstN, threadN), k.mul(j, columns / kPerThread)), "n");
      k.when(k.both(guard(row, m, rows), guard(column, n, columns)), [&] {
        k.bindFlat(row, m.groups);
        k.bindFlat(column, n.groups);
        Value total = k.read(totals, {i, j});
        k.store(k.resultOffset(parallel), k.body.emitResult(k.b, parallel, total));
      });
    });
  });
}

void ContractionSchedule::tile() {
  auto full = KernelBuilder::Unroll::full;
  // One column more where the fill writes down a column: else all threads would hit one bank.
  Value tileA = k.shared({kDepth, rows + (liesAlongReduction(0) ? 1 : 0)}, type, "a_tile");
  Value tileB = k.shared({kDepth, columns + (liesAlongReduction(1) ? 1 : 0)}, type, "b_tile");
  thread = k.thread();
  firstM = k.named(k.mul(k.block(gpu::Dimension::x, "m_tile"), rows), "m0");
  firstN = k.named(k.mul(k.block(gpu::Dimension::y, "n_tile"), columns), "n0");
  if (!batch.groups.empty())
    k.bindFlat(k.block(gpu::Dimension::z, "batch"), batch.groups);

  // Neighbouring threads write neighbouring results.
  bool storesAlongM =
      !m.groups.empty() &&
      k.math.strideAlong(k.resultOffset(parallel), m.groups.back().variable) == Stride::unit;
  int64_t fast = (storesAlongM ? rows : columns) / kPerThread;
  Value quick = k.mod(thread, k.index(fast)), slow = k.div(thread, k.index(fast));
  threadM = k.named(storesAlongM ? quick : slow, "thread_m");
  threadN = k.named(storesAlongM ? slow : quick, "thread_n");

  ScalarKind kind = k.body.accumulatorKind(0);
  Value zero = neutral(k.b, k.loc, Combiner::add, type, kind);
  Value totals = k.local({kPerThread, kPerThread}, type, "acc");
  auto forEach = [&](llvm::function_ref<void(Value, Value)> body) {
    k.loop("i", k.index(0), k.index(kPerThread), 1, full, [&](Value i) {
      k.loop("j", k.index(0), k.index(kPerThread), 1, full, [&](Value j) { body(i, j); });
    });
  };
  forEach([&](Value i, Value j) { k.write(totals, {i, j}, zero); });

  k.loop(
      "k0", k.index(0), k.index(depth.extent), kDepth, KernelBuilder::Unroll::never,
      [&](Value firstK) {
        fill(tileA, 0, m, firstM, rows, firstK);
        fill(tileB, 1, n, firstN, columns, firstK);
        k.barrier();
        // Sixteen steps at once would keep so many addresses in registers that some spill.
        k.loop(
            "kk", k.index(0), k.index(kDepth), 1, KernelBuilder::Unroll::byEight, [&](Value step) {
              Value a = k.local({kPerThread}, type, "a"), b = k.local({kPerThread}, type, "b");
              k.loop("i", k.index(0), k.index(kPerThread), 1, full, [&](Value i) {
                k.write(a, {i}, k.read(tileA, {step, k.add(threadM, k.mul(i, rows / kPerThread))}));
                k.write(b, {i},
                        k.read(tileB, {step, k.add(threadN, k.mul(i, columns / kPerThread))}));
              });
              forEach([&](Value i, Value j) {
                Value x = k.read(a, {i}), y = k.read(b, {j}), total = k.read(totals, {i, j});
                if (isa<FloatType>(type)) {
                  total = math::FmaOp::create(k.b, k.loc, x, y, total);
                } else {
                  Value product =
                      (Scalar(k.b, k.loc, x, kind) * Scalar(k.b, k.loc, y, kind)).value();
                  total = combine(k.b, k.loc, Combiner::add, kind, total, product);
                }
                k.write(totals, {i, j}, total);
              });
            });
        k.barrier();
      });
  store(totals);
  k.finish(threads, {k.ceilDiv(m.extent, rows), k.ceilDiv(n.extent, columns), batch.extent});
}

void scheduleContraction(KernelBuilder &k) {
  ContractionSchedule schedule(k);
  if (!schedule.findSides())
    return scheduleDirect(k);
  if (schedule.hasFewRows())
    return schedule.liesAlongReduction(1) ? scheduleReduce(k) : scheduleDirect(k);
  if (!schedule.fitsGrid())
    return scheduleDirect(k);
  schedule.tile();
}

} // namespace dlc::codegen
