//===- FusionLegality.cpp - Which ops may share a kernel, and why others may not ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/FusionLegality.h"

#include "ir/analysis/CostModel.h"
#include "ir/analysis/IntegerRange.h"
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/composite/AttentionParts.h"
#include "ir/dl/contraction/DLContraction.h"
#include "ir/interfaces/Lines.h"
#include "ir/interfaces/Recurrent.h"

using namespace mlir;

namespace dlc {

/// Bounds of a kernel's parameters and of the bodies in its code, far above what models need. A
/// body is a line of text or several, and a level of calls while a chain of ops is emitted. Few ops
/// can make many: a concat of a value with itself reads it in two places, and a row of n such pairs
/// reads the first value in 2^n.
static constexpr size_t kMostInputs = 32;
static constexpr int64_t kMostBodies = 96;

bool isView(Operation *op) { return isa<dl::ReshapeOp>(op) && keepsBytes(op); }

Value pastViews(Value value) {
  while (value.getDefiningOp() && isView(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool standsAlone(Operation *op) { return isa<RecurrentOpInterface, LineOpInterface>(op); }

bool isFusible(Operation *op) {
  return (isa<LoopNestOpInterface>(op) && !isView(op)) || isa<dl::AttentionOp>(op) ||
         standsAlone(op);
}

static dl::Dims dimsOf(Value value) { return dl::getDims(cast<RankedTensorType>(value.getType())); }

/// Some loop with more than one index does not appear in `map`: the same element is read again and
/// again.
static bool readsRepeatedly(const LoopNest &nest, AffineMap map) {
  llvm::SmallBitVector inner = nest.innerDims();
  bool isTerm = map.getNumDims() > nest.parallel.size(); // stages run once for all inner dims
  for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
    if (isTerm && loop < inner.size() && inner.test(loop))
      continue;
    AffineExpr extent = loop < nest.parallel.size() ? nest.parallel[loop]
                                                    : nest.reduction[loop - nest.parallel.size()];
    if (!dl::isConstant(extent, 1) && !map.isFunctionOfDim(loop))
      return true;
  }
  return false;
}

bool isRepetition(Operation *op) {
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops)
    return false;
  LoopNest nest = loops.getLoopNest();
  auto repeats = [&](const Access &access) {
    return !access.checked && !access.isComputed() && readsRepeatedly(nest, access.map);
  };
  // The cost comes last: to know it, a body is built.
  return nest.isMap() && nest.indexDims.none() && nest.results.size() <= 1 &&
         llvm::all_of(nest.results, repeats) && resultCost(loops) == 0;
}

bool onlyMoves(Operation *op) {
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  LoopNest nest = loops ? loops.getLoopNest() : LoopNest();
  if (!loops || !nest.isMap() || nest.indexDims.any() || nest.results.size() != 1 ||
      nest.results.front().checked || nest.hasComputed())
    return false;
  Value from = op->getOperand(nest.results.front().operand);
  return getElementTypeOrSelf(from) == getElementTypeOrSelf(op->getResult(0)) &&
         resultCost(loops) == 0;
}

/// The op, or one in it, computes with dims that are known only when the shapes of the inputs are.
static bool readsDims(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        // What lies between two ops of a fusion may have such dims, though its result has not.
        for (Type type : inner->getResultTypes())
          if (auto shaped = dyn_cast<ShapedType>(type); shaped && !shaped.hasStaticShape())
            return WalkResult::interrupt();
        for (NamedAttribute attribute : inner->getAttrDictionary())
          if (auto map = dyn_cast<AffineMapAttr>(attribute.getValue());
              map && map.getValue().getNumSymbols() > 0)
            return WalkResult::interrupt();
        return WalkResult::advance();
      })
      .wasInterrupted();
}

bool WeightDependence::dependsOnWeightsAlone(Value value) {
  value = dl::outsideAttention(value);
  if (!value.getDefiningOp())
    return false;
  // A stack of its own, not that of the process: a chain of ops may be very long.
  SmallVector<Operation *> open = {value.getDefiningOp()};
  while (!open.empty()) {
    Operation *op = open.back();
    if (known.contains(op)) {
      open.pop_back();
      continue;
    }
    // A value computed at load has a size that is known then.
    bool alone = !readsDims(op);
    Operation *unknown = nullptr;
    for (Value operand : op->getOperands()) {
      Operation *producer = dl::outsideAttention(operand).getDefiningOp();
      auto found = known.find(producer);
      if (alone && producer && found == known.end())
        unknown = producer;
      else
        alone &= producer && found != known.end() && found->second;
    }
    if (alone && unknown) {
      open.push_back(unknown);
      continue;
    }
    known[op] = alone;
    open.pop_back();
  }
  return known.lookup(value.getDefiningOp());
}

/// Coefficient of `dim` in the linear expression `expr`, other dims at 0; nullopt where it is not
/// linear in `dim`.
static std::optional<int64_t> coefficient(AffineExpr expr, unsigned dim, unsigned numDims) {
  auto at = [&](int64_t index) -> std::optional<int64_t> {
    SmallVector<AffineExpr> dims(numDims, getAffineConstantExpr(0, expr.getContext()));
    dims[dim] = getAffineConstantExpr(index, expr.getContext());
    return dl::asConstant(simplifyAffineExpr(expr.replaceDims(dims), numDims, dl::kMaxSymbols));
  };
  auto zero = at(0), one = at(1), two = at(2);
  if (!zero || !one || !two || *two - *one != *one - *zero)
    return std::nullopt;
  return *one - *zero;
}

/// Two windows of the sum never read one element: the parallel step is wider than the span of the
/// reduction dims.
static bool windowsOverlap(const LoopNest &nest, AffineMap map) {
  unsigned numParallel = nest.parallel.size();
  for (AffineExpr result : map.getResults()) {
    int64_t step = 0, span = 0;
    unsigned parallel = 0, reduction = 0;
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop) {
      if (!result.isFunctionOfDim(loop))
        continue;
      bool isParallel = loop < numParallel;
      AffineExpr extent = isParallel ? nest.parallel[loop] : nest.reduction[loop - numParallel];
      if (dl::isConstant(extent, 1))
        continue;
      ++(isParallel ? parallel : reduction);
      auto factor = coefficient(result, loop, map.getNumDims());
      if (!factor)
        return true;
      auto count = dl::asConstant(extent);
      if (isParallel)
        step = std::abs(*factor);
      else if (count)
        span += std::abs(*factor) * (*count - 1);
      else
        span = INT64_MAX / 2;
    }
    if (reduction > 0 && parallel > 0 && step <= span)
      return true;
    if (parallel > 1 || reduction > 1)
      return true;
  }
  return false;
}

static bool isIdentity(AffineMap map, size_t rank) {
  if (map.getNumResults() != rank)
    return false;
  for (auto [position, result] : llvm::enumerate(map.getResults()))
    if (result != getAffineDimExpr(position, map.getContext()))
      return false;
  return true;
}

/// The group has no arithmetic: casts and changes of layout at the same index.
static bool isFree(const FusionGroup &group) {
  return llvm::all_of(group.ops, [](Operation *op) {
    auto loops = cast<LoopNestOpInterface>(op);
    LoopNest nest = loops.getLoopNest();
    return resultCost(loops) == 0 && llvm::all_of(nest.results, [&](Access &access) {
             return !access.checked && !access.isComputed() &&
                    isIdentity(access.map, nest.parallel.size());
           });
  });
}

static bool hasTooManyInputs(const FusionGroup &first, const FusionGroup &second) {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, first.ops);
  inside.insert(second.ops.begin(), second.ops.end());
  llvm::SmallPtrSet<Value, 16> inputs;
  for (const FusionGroup *group : {&first, &second})
    for (Operation *op : group->ops)
      for (Value operand : op->getOperands()) {
        if (!operand.getDefiningOp() || !inside.contains(operand.getDefiningOp()))
          inputs.insert(operand);
        if (inputs.size() > kMostInputs)
          return true; // a concat may have thousands
      }
  return false;
}

std::optional<dl::NotFused> whyTooLarge(const FusionGroup &producer, const FusionGroup &consumer,
                                        int64_t places) {
  return whyTooLargeTogether(producer, consumer, consumer.bodies + places * producer.bodies);
}

std::optional<dl::NotFused> whyTooLargeTogether(const FusionGroup &first, const FusionGroup &second,
                                                int64_t bodies) {
  if (bodies > kMostBodies)
    return dl::NotFused::too_many_places;
  if (hasTooManyInputs(first, second))
    return dl::NotFused::too_many_inputs;
  return std::nullopt;
}

static bool changesLayout(const FusionGroup &group) {
  return llvm::any_of(group.ops, [](Operation *op) { return isa<dl::ConvertLayoutOp>(op); });
}

/// `value` is cast from e4m3 for a product of such numbers, which kernels multiply as they are
/// stored.
static bool isOfFloat8(Value value, LoopNestOpInterface product, const LoopNest &nest,
                       const ScheduleOracle &oracle) {
  return value.getDefiningOp<dl::CastOp>() && llvm::is_contained(product->getOperands(), value) &&
         dl::float8OperandsOf(product, nest) && oracle.multipliesFloat8(product);
}

/// The group is the cast of a product's operand from fewer bits, less its zero point where it has
/// one (NarrowProducts), which the product's kernel reads.
static bool widensOperand(const FusionGroup &group, Value value, LoopNestOpInterface reader,
                          const LoopNest &nest, const ScheduleOracle &oracle) {
  if (!nest.isProduct || group.ops.size() > 3)
    return false;
  if (isOfFloat8(value, reader, nest, oracle))
    return group.ops.size() == 1;
  auto integers = widenedFrom(value);
  return integers && llvm::all_of(group.ops, [&](Operation *op) {
           return op == value.getDefiningOp() || isa<dl::FullOp>(op) ||
                  (isa<dl::CastOp>(op) && op->getOperand(0) == integers->stored);
         });
}

static LoopNestOpInterface onlyReader(Value value) {
  return value.hasOneUse() ? dyn_cast<LoopNestOpInterface>(*value.user_begin())
                           : LoopNestOpInterface();
}

static bool isOperandOfProduct(Value value) {
  LoopNestOpInterface reader = onlyReader(value);
  return reader && reader.getLoopNest().isProduct;
}

/// `op` is such a cast: what it reads is stored in these bits.
static bool readsNarrowOperand(Operation *op, const ScheduleOracle &oracle) {
  if (!isa<dl::CastOp>(op) || !op->hasOneUse())
    return false;
  Value value = op->getResult(0);
  if (auto attention = dyn_cast<dl::AttentionOp>(*op->user_begin())) {
    dl::AttentionParts parts;
    auto stored = dl::readParts(attention.getBodyBlock(), parts).empty() ? parts.float8Operands()
                                                                         : std::nullopt;
    return stored && llvm::is_contained(*stored, op->getOperand(0));
  }
  if (LoopNestOpInterface reader = onlyReader(value);
      reader && isOfFloat8(value, reader, reader.getLoopNest(), oracle))
    return true;
  if (!widenedFrom(value))
    return false;
  // The subtraction of the zero point comes after the cast.
  if (auto difference = dyn_cast<dl::SubOp>(*value.user_begin());
      difference && widenedFrom(difference))
    value = difference;
  return isOperandOfProduct(value);
}

/// The producer is a look-up, and each of its elements is read again along the last loop alone,
/// such as the scale of a row by the numbers of the row: a place that stays for a row costs no more
/// than the look-up of that row beside it.
static bool looksUpForRow(const FusionGroup &producer, const LoopNest &nest, AffineMap map) {
  if (producer.ops.size() != 1 || !nest.isMap() || nest.parallel.empty())
    return false;
  LoopNest own = cast<LoopNestOpInterface>(producer.ops.front()).getLoopNest();
  if (!own.isMap() || !own.hasComputed())
    return false;
  for (unsigned loop = 0; loop + 1 < nest.parallel.size(); ++loop)
    if (!dl::isConstant(nest.parallel[loop], 1) && !map.isFunctionOfDim(loop))
      return false;
  return true;
}

/// Rules for a producer without a root, which the reader evaluates at each of its loads.
static std::optional<dl::NotFused> whyNotPrologue(const FusionGroup &producer, Value value,
                                                  LoopNestOpInterface reader, const LoopNest &nest,
                                                  const ScheduleOracle &oracle) {
  auto isCheap = [&] {
    return llvm::all_of(
        producer.ops, [](Operation *op) { return resultCost(cast<LoopNestOpInterface>(op)) == 0; });
  };
  auto reads = [&](ArrayRef<Access> accesses) -> std::optional<dl::NotFused> {
    for (const Access &access : accesses) {
      if (reader->getOperand(access.operand) != value)
        continue;
      if (access.readsOnce)
        continue;
      if (access.isComputed())
        return dl::NotFused::computed_index;
      auto isCast = [&] {
        return nest.isProduct && (widensOperand(producer, value, reader, nest, oracle) ||
                                  (isFree(producer) && !changesLayout(producer)));
      };
      // An element that is joined is read where it lies alone.
      bool isMoved = isa<dl::CatOp>(reader) && llvm::all_of(producer.ops, onlyMoves);
      if (access.checked && !isMoved && !(access.fill == 0 && isCast()))
        return dl::NotFused::checked_index;
      // The kernel of an attention reads its operands wherever they lie.
      bool isInAttention = isa_and_nonnull<dl::AttentionOp>(reader->getParentOp());
      if (nest.isProduct && !isCast() && !(isInAttention && llvm::all_of(producer.ops, onlyMoves)))
        return dl::NotFused::read_by_product;
      if (!nest.isProduct && readsRepeatedly(nest, access.map) && !isCheap() &&
          !looksUpForRow(producer, nest, access.map))
        return dl::NotFused::read_again;
    }
    return std::nullopt;
  };
  for (ArrayRef<Access> accesses :
       {ArrayRef(nest.results), ArrayRef(nest.terms), ArrayRef(nest.spanReads)})
    if (auto notFused = reads(accesses))
      return notFused;
  if (!nest.isProduct)
    for (const Access &access : nest.terms)
      if (reader->getOperand(access.operand) == value && windowsOverlap(nest, access.map) &&
          !isCheap())
        return dl::NotFused::overlapping_windows;
  return std::nullopt;
}

/// The user asked for a kernel of its own, by @no_fuse. What only repeats elements has none of its
/// own anyway.
static bool isKeptOut(Operation *op) { return op->hasAttr("dl.no_fuse") && !isRepetition(op); }

dl::NotFused whyAlone(Operation *op) {
  return isa<RecurrentOpInterface>(op) ? dl::NotFused::recurrence : dl::NotFused::lines;
}

int64_t placesRead(Operation *reader, const LoopNest &nest, Value value) {
  SmallVector<AffineMap> shared;
  int64_t bodies = 0;
  for (const Access &access :
       llvm::concat<const Access>(nest.terms, nest.results, nest.spanReads)) {
    if (reader->getOperand(access.operand) != value)
      continue;
    // A read that a test guards is emitted inside the test, by itself.
    bool isPlain = !access.checked && !access.isComputed();
    if (isPlain && llvm::is_contained(shared, access.map))
      continue;
    if (isPlain)
      shared.push_back(access.map);
    ++bodies;
  }
  return bodies;
}

/// Rules for a reader of whatever kind, which reads `value` in so many `places`. `isFree` says that
/// what the producer computes of weights costs nothing where it is read.
static std::optional<dl::NotFused> whyNotJoin(const FusionGroup &producer, Value value,
                                              const FusionGroup &consumer, Operation *reader,
                                              int64_t places, bool isFree,
                                              const ScheduleOracle &oracle) {
  if (producer.isAlone)
    return whyAlone(producer.ops.front());
  Operation *op = value.getDefiningOp();
  if (isKeptOut(op) || (isKeptOut(reader) && !isRepetition(op)))
    return dl::NotFused::no_fuse;
  if (llvm::any_of(op->getUsers(), [&](Operation *user) { return user != reader; }))
    return dl::NotFused::several_users;
  if (readsNarrowOperand(reader, oracle))
    return dl::NotFused::narrow_operand;
  // A number or a repetition costs nothing in the kernel of its reader, and memory where it is
  // stored at load.
  bool storedAtLoad = producer.weightOnly && !producer.unpacks &&
                      !llvm::all_of(producer.ops, isRepetition) && !isFree;
  // Kernels multiply what a 2:4 matrix is made of as it lies in memory.
  bool readsStored = consumer.unpacks && isa<dl::ExpandTwoOfFourOp>(reader);
  if (storedAtLoad && (!consumer.weightOnly || isRepetition(reader) || readsStored))
    return dl::NotFused::at_load;
  return whyTooLarge(producer, consumer, places);
}

std::optional<dl::NotFused> whyNotFuse(const FusionGroup &producer, Value value,
                                       const FusionGroup &consumer, LoopNestOpInterface reader,
                                       const LoopNest &nest, const ScheduleOracle &oracle) {
  auto notFused = whyNotJoin(producer, value, consumer, reader, placesRead(reader, nest, value),
                             widensOperand(producer, value, reader, nest, oracle), oracle);
  if (notFused || producer.unpacks) // computed wherever it is read: memory has the few bits alone
    return notFused;
  if (!producer.root)
    return whyNotPrologue(producer, value, reader, nest, oracle);

  if (consumer.root)
    return dl::NotFused::two_roots;
  // The reader becomes part of the epilogue: it works on the root's results as they are formed.
  if (nest.parallel != dimsOf(value))
    return dl::NotFused::other_dims;
  for (const Access &access : nest.results)
    if (reader->getOperand(access.operand) == value &&
        (access.checked || access.isComputed() || !isIdentity(access.map, nest.parallel.size())))
      return dl::NotFused::other_index;
  return std::nullopt;
}

std::optional<dl::NotFused> whyNotCompute(const FusionGroup &producer, Value value,
                                          const FusionGroup &consumer, LoopNestOpInterface reader,
                                          const LoopNest &nest, const ScheduleOracle &oracle) {
  if (isKeptOut(reader))
    return dl::NotFused::no_fuse;
  if (readsNarrowOperand(reader, oracle))
    return dl::NotFused::narrow_operand;
  if (auto notFused = whyTooLarge(producer, consumer, placesRead(reader, nest, value)))
    return notFused;
  return whyNotPrologue(producer, value, reader, nest, oracle);
}

std::optional<dl::NotFused> whyNotFuse(const FusionGroup &producer, Value value,
                                       const FusionGroup &consumer, dl::AttentionOp reader,
                                       const ScheduleOracle &oracle) {
  auto notFused =
      whyNotJoin(producer, value, consumer, reader, /*places=*/1, /*isFree=*/false, oracle);
  if (notFused || producer.unpacks)
    return notFused;
  if (producer.root)
    return dl::NotFused::two_roots;
  for (auto [input, argument] :
       llvm::zip(reader.getInputs(), reader.getBodyBlock().getArguments())) {
    if (input != value)
      continue;
    for (Operation *user : argument.getUsers()) {
      auto loops = cast<LoopNestOpInterface>(user);
      if (notFused = whyNotPrologue(producer, argument, loops, loops.getLoopNest(), oracle);
          notFused)
        return notFused;
    }
  }
  return std::nullopt;
}

} // namespace dlc
