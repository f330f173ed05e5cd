//===- ContractionKernel.cpp - Matrix products in tiles through shared memory -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block computes a tile of m x n; each step over k brings a slab of both operands into shared
// memory (prologues, padding and implicit im2col happen in that read), and each thread multiplies 4
// x 4 elements out of it.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/plan/Combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr int64_t kPerThread = 4; // rows, and columns, of one thread
static constexpr int64_t kDepth = 16;    // steps of k in shared memory

namespace {
class TiledContraction {
public:
  TiledContraction(KernelBuilder &k, Contraction &c, int64_t rows, int64_t columns)
      : rows(rows), columns(columns), k(k), c(c), m(c.m), n(c.n), depth(c.depth), batch(c.batch),
        parallel(c.parallel), type(k.body.accumulatorType(0)),
        threads(rows / kPerThread * (columns / kPerThread)) {}
  TiledContraction(KernelBuilder &k, Contraction &c)
      : TiledContraction(k, c, tileOf(c.m, k), tileOf(c.n, k)) {}
  bool fitsGrid() const { return c.fitsGrid(k.ceilDiv(n.extent, columns)); }
  void tile();

  const int64_t rows, columns; // of a block

private:
  /// Small sides get small tiles.
  static int64_t tileOf(const Side &side, const KernelView &k) {
    return k.usual(side.extent, 64) <= 32 ? 32 : 64;
  }
  void fill(Value buffer, unsigned term, const Side &side, Value first, int64_t width,
            Value firstK);
  Value guard(Value position, const Side &side, int64_t width);
  void store(Value totals);

  KernelBuilder &k;
  Contraction &c;
  const Side &m, &n, &depth, &batch;
  ArrayRef<AffineExpr> parallel;
  Type type;
  int64_t threads; // of a block
  Value thread, threadM, threadN, firstM, firstN;
};
} // namespace

/// position < extent, or null where a tile of `width` never reaches beyond the end.
Value TiledContraction::guard(Value position, const Side &side, int64_t width) {
  return side.extent.isMultipleOf(width) ? Value() : k.less(position, k.index(side.extent));
}

/// Brings `width` rows (columns) from `first` on and kDepth steps of k into `buffer`[k][row]; what
/// lies beyond is 0.
void TiledContraction::fill(Value buffer, unsigned term, const Side &side, Value first,
                            int64_t width, Value firstK) {
  bool isAlongK = c.liesAlongReduction(term);
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
           Value inside = k.both(guard(position, side, width), guard(at, depth, kDepth));
           ScalarKind kind = k.body.accumulatorKind(0);
           Value zero = neutral(k.b, k.loc, Combiner::add, type, kind);
           k.write(
               buffer, {step, row},
               k.choose(inside, [&] { return k.body.emitTermRead(k.b, term, c.loops()); }, zero));
         });
}

void TiledContraction::store(Value totals) {
  auto full = KernelBuilder::Unroll::full;
  k.loop("i", k.index(0), k.index(kPerThread), 1, full, [&](Value i) {
    Value row = k.named(k.add(k.add(firstM, threadM), k.mul(i, rows / kPerThread)), "m");
    k.loop("j", k.index(0), k.index(kPerThread), 1, full, [&](Value j) {
      Value column = k.named(k.add(k.add(firstN, threadN), k.mul(j, columns / kPerThread)), "n");
      k.when(k.both(guard(row, m, rows), guard(column, n, columns)), [&] {
        k.bindFlat(row, m.groups);
        k.bindFlat(column, n.groups);
        Value total = k.read(totals, {i, j});
        k.forEachResult(
            [&] { k.store(k.resultOffset(parallel), k.body.emitResult(k.b, parallel, total)); });
      });
    });
  });
}

void TiledContraction::tile() {
  auto full = KernelBuilder::Unroll::full;
  // One column more where the fill writes down a column: else all threads would hit one bank.
  Value tileA = k.shared({kDepth, rows + (c.liesAlongReduction(0) ? 1 : 0)}, type, "a_tile");
  Value tileB = k.shared({kDepth, columns + (c.liesAlongReduction(1) ? 1 : 0)}, type, "b_tile");
  thread = k.thread();
  firstM = k.named(k.mul(k.block(gpu::Dimension::x, "m_tile"), rows), "m0");
  firstN = k.named(k.mul(k.block(gpu::Dimension::y, "n_tile"), columns), "n0");
  if (!batch.groups.empty())
    k.bindFlat(k.block(gpu::Dimension::z, "batch"), batch.groups);

  // Neighbouring threads write neighbouring results.
  bool storesAlongM = c.storesAlongM();
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

static dlx::PlanAttr match(PlanQuestion &question) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c || question.k.body.getPool())
    return {};
  TiledContraction tiled(question.k, *c);
  if (!tiled.fitsGrid())
    return {};
  const GpuModel &gpu = question.k.gpu();
  int64_t blocks = llvm::divideCeilSigned(int64_t(question.usualOf(c->m)), tiled.rows) *
                   llvm::divideCeilSigned(int64_t(question.usualOf(c->n)), tiled.columns) *
                   int64_t(question.usualOf(c->batch));
  double turns = double(llvm::divideCeilSigned(blocks, gpu.multiprocessors));
  double width = question.k.body.accumulatorType(0).getIntOrFloatBitWidth() / 32.0;
  const ScheduleRates &rates = gpu.schedules;
  double ofStep = double(tiled.rows * tiled.columns) / rates.tileProducts * width;
  double clocks = rates.tileEnds + question.usualOf(c->depth) *
                                       std::max(turns * ofStep, rates.tileSlab / double(kDepth));
  double ns =
      std::max(question.nanoseconds(clocks), question.nanosecondsOnce(gpu.schedules.direct));
  return dlx::PlanAttr::get(question.kernel().getContext(), kTilesSchedule.name,
                            ns * question.timeFactor(),
                            {{"tile_m", tiled.rows}, {"tile_n", tiled.columns}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  TiledContraction(k, *c, plan.number("tile_m"), plan.number("tile_n")).tile();
  return success();
}

constinit const Schedule kTilesSchedule = {"tiles", match, build, operandsOfProduct};

} // namespace dlc::codegen
