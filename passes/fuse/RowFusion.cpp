//===- RowFusion.cpp - What reads the same rows, by one kernel ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/CostModel.h"
#include "ir/analysis/RowKernel.h"
#include "passes/fuse/FusionSteps.h"

using namespace mlir;

namespace dlc {

namespace {

class RowFusion {
public:
  RowFusion(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
            ArrayRef<dl::Range> symbols)
      : plan(plan), edges(edges), oracle(oracle), symbols(symbols) {}

  /// Joins `group` with one before it that it reads, or that reads what it reads.
  bool join(PlannedFusion &group);

private:
  /// Bytes that a kernel reads and writes, operations, and the bodies in its code.
  struct Work {
    double bytes = 0, operations = 0;
    int64_t bodies = 0;
  };
  /// A kernel of two groups: the one that comes first, and what both store.
  struct Pair {
    PlannedFusion &earlier, &later;
    SmallVector<Operation *> ops;
    SmallVector<Value> results;
    Work work = {};
  };

  /// Facts about an op, kept because each pair of groups asks for them.
  struct OpFacts {
    bool isPlain = false; ///< a map or a reduction of rows that reads plain elements
    size_t stages = 0;
    SmallVector<Value, 2> terms, reads; ///< read in each stage, and when the result is formed
    double forming = 0, operations = 0; ///< arithmetic of the results, and of all
  };

  bool isCandidate(const PlannedFusion &group);
  const OpFacts &factsOf(Operation *op);
  SmallVector<PlannedFusion *> partnersOf(PlannedFusion &group) const;
  Pair pairOf(PlannedFusion &earlier, PlannedFusion &later);
  std::optional<dl::NotFused> whyNotJoin(const Pair &pair);
  ScheduleOracle::RowShape shapeOf(const RowKernel &kernel, ValueRange results) const;
  void explain(const Pair &pair, dl::NotFused why);
  Work workOf(ArrayRef<Operation *> ops, ValueRange results);
  double microseconds(const PlannedFusion &group);
  double usual(dl::Dim dim) const;

  FusionPlan &plan;
  FusionEdges &edges;
  const ScheduleOracle &oracle;
  ArrayRef<dl::Range> symbols;
  llvm::DenseMap<Operation *, std::unique_ptr<OpFacts>> facts;
};

} // namespace

static RankedTensorType typeOf(Value tensor) { return cast<RankedTensorType>(tensor.getType()); }

/// Readers of a value among which partners are looked for.
static constexpr unsigned kMostReaders = 16;
/// A number that estimates take for a dim that nothing bounds.
static constexpr int64_t kUnknown = int64_t(1) << 24;

double RowFusion::usual(dl::Dim dim) const {
  return double(usualOrMiddle(dim, symbols).value_or(kUnknown));
}

const RowFusion::OpFacts &RowFusion::factsOf(Operation *op) {
  std::unique_ptr<OpFacts> &known = facts[op];
  if (known)
    return *known;
  known = std::make_unique<OpFacts>();
  OpFacts &own = *known;
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops || op->hasAttr("dl.no_fuse") || isa<dl::CatOp>(op))
    return own;
  LoopNest nest = loops.getLoopNest();
  auto isPlain = [](const Access &access) { return !access.checked && !access.isComputed(); };
  own.isPlain = llvm::all_of(nest.terms, isPlain) && llvm::all_of(nest.results, isPlain) &&
                nest.indexDims.none() && (nest.isMap() || rowsOf(loops));
  if (!own.isPlain)
    return own;
  own.stages = nest.stages.size();
  for (const Access &access : nest.terms)
    own.terms.push_back(op->getOperand(access.operand));
  for (const Access &access : nest.results)
    own.reads.push_back(op->getOperand(access.operand));
  own.forming = double(resultCost(loops)) * usual(dl::product(nest.parallel, op->getContext()));
  own.operations = usual(flopsOf(loops));
  return own;
}

/// Maps and reductions of rows that read plain elements and run with each call.
bool RowFusion::isCandidate(const PlannedFusion &group) {
  return group.isKernel && !group.ops.empty() && !group.isAlone && !group.weightOnly &&
         !group.unpacks && !group.updated && !group.inPlace && !plan.writesPart(group) &&
         llvm::all_of(group.ops, [&](Operation *op) { return factsOf(op).isPlain; });
}

/// The groups before `group` that it reads, and those that read the same elements as it does.
SmallVector<PlannedFusion *> RowFusion::partnersOf(PlannedFusion &group) const {
  dl::Dims elements = group.root ? rowsOf(cast<LoopNestOpInterface>(group.root))->dims
                                 : dl::getDims(typeOf(group.results.front()));
  llvm::SetVector<PlannedFusion *> partners;
  for (Value input : group.inputs()) {
    if (PlannedFusion *writer = plan.groupOf(input))
      partners.insert(writer);
    // A mask or a row of weights has other dims. Few of many readers fit into one kernel.
    if (dl::getDims(typeOf(input)) != elements ||
        llvm::hasNItemsOrMore(input.getUses(), kMostReaders + 1))
      continue;
    for (Operation *user : input.getUsers())
      if (PlannedFusion *other = plan.groupOf(user); other && plan.isBefore(*other, group))
        partners.insert(other);
  }
  return partners.takeVector();
}

RowFusion::Pair RowFusion::pairOf(PlannedFusion &earlier, PlannedFusion &later) {
  Pair pair = {earlier, later, earlier.ops, {later.results.front()}};
  pair.ops.append(later.ops);
  for (PlannedFusion *group : {&later, &earlier})
    for (Value value : group->results)
      if (value != later.results.front() && plan.isReadByOthers(value, {&earlier, &later}))
        pair.results.push_back(value);
  pair.work = workOf(pair.ops, pair.results);
  return pair;
}

/// Returns the work of a kernel of `ops` that stores `results`. Each stage computes the maps that
/// its terms read, and the results compute theirs again.
RowFusion::Work RowFusion::workOf(ArrayRef<Operation *> ops, ValueRange results) {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  llvm::SmallDenseSet<Value> inputs;
  Work work;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()) && inputs.insert(operand).second)
        work.bytes += usual(storedBytes(typeOf(operand)));
  for (Value result : results)
    work.bytes += usual(storedBytes(typeOf(result)));
  auto add = [&](SmallVector<Value, 2> open) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    while (!open.empty()) {
      Operation *op = open.pop_back_val().getDefiningOp();
      if (!op || !inside.contains(op) || !seen.insert(op).second)
        continue;
      const OpFacts &own = factsOf(op);
      ++work.bodies;
      work.operations += own.forming;
      llvm::append_range(open, own.reads);
    }
  };
  for (Operation *op : ops) {
    const OpFacts &own = factsOf(op);
    for (size_t stage = 0; stage < own.stages; ++stage)
      add(own.terms);
    work.bodies += own.stages;
    if (own.stages > 0)
      work.operations += own.operations;
  }
  add(SmallVector<Value, 2>(results));
  return work;
}

double RowFusion::microseconds(const PlannedFusion &group) {
  Work work = workOf(group.ops, group.results);
  return oracle.microsecondsToCompute(group.ops.front(), work.bytes, work.operations);
}

ScheduleOracle::RowShape RowFusion::shapeOf(const RowKernel &kernel, ValueRange results) const {
  MLIRContext *context = results.front().getContext();
  double terms = usual(dl::product(kernel.nest.reduction, context)),
         all = usual(dl::product(kernel.rows.dims, context));
  auto rank = static_cast<int64_t>(kernel.rows.dims.size());
  int64_t innermost = rank - 1;
  bool storesElements = false;
  for (auto [result, placement] : llvm::zip_equal(results, kernel.results))
    if (!placement.isOfRow) {
      innermost = dl::getLayout(typeOf(result)).innermost(rank);
      storesElements = true;
    }
  return {all / std::max(terms, 1.0), terms, kernel.rows.reduced.test(innermost), storesElements};
}

/// Why one kernel does not compute both; nullopt where it does, and in less time by estimate.
std::optional<dl::NotFused> RowFusion::whyNotJoin(const Pair &pair) {
  if (auto tooLarge = whyTooLargeTogether(pair.earlier, pair.later, pair.work.bodies))
    return tooLarge;
  std::optional<RowKernel> kernel = findRowKernel(pair.ops, pair.results);
  if (!kernel)
    return dl::NotFused::other_rows;
  if (auto idle = oracle.whyNotWholeRows(pair.ops.front(), shapeOf(*kernel, pair.results)))
    return idle;
  double together =
             oracle.microsecondsToCompute(pair.ops.front(), pair.work.bytes, pair.work.operations),
         apart = microseconds(pair.earlier) + microseconds(pair.later);
  if (together >= apart)
    return dl::NotFused::slower_rows;
  return std::nullopt;
}

/// Says of what the later group reads of the earlier one why it has a kernel of its own, where it
/// is one of several readers of a value that a kernel with several results might store.
void RowFusion::explain(const Pair &pair, dl::NotFused why) {
  if (why == dl::NotFused::other_rows && !(pair.earlier.root && pair.later.root))
    return; // a map that reads other places than those of its row
  for (Operation *op : pair.later.ops)
    for (Value operand : op->getOperands())
      if (auto edge = edges.find({op, operand});
          plan.groupOf(operand) == &pair.earlier && edge != edges.end() &&
          (edge->second == dl::NotFused::several_users || edge->second == dl::NotFused::two_roots))
        edge->second = why;
}

bool RowFusion::join(PlannedFusion &group) {
  if (!isCandidate(group))
    return false;
  for (PlannedFusion *partner : partnersOf(group)) {
    if (!isCandidate(*partner) || !(partner->root || group.root) ||
        plan.dependsThroughOther(group, *partner))
      continue;
    Pair pair = pairOf(*partner, group);
    if (auto why = whyNotJoin(pair)) {
      explain(pair, *why);
      continue;
    }
    plan.join(*partner, group, pair.results);
    group.isOfRows = true;
    group.bodies = pair.work.bodies;
    return true;
  }
  return false;
}

unsigned joinRows(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                  ArrayRef<dl::Range> symbols) {
  RowFusion fusion(plan, edges, oracle, symbols);
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder()))
    while (!group->ops.empty() && fusion.join(*group))
      ++joined;
  return joined;
}

} // namespace dlc
