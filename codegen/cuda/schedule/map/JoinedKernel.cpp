//===- JoinedKernel.cpp - Maps over joined tensors: one load where many were chosen from ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each thread has a vector of results, which lies in one part. It chooses that part's buffer and
// the place in it, loads the vector from there, and goes on as a map does. Other maps over joined
// tensors load each element from every part that may have it.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/map/MapLoops.h"
#include "codegen/plan/JoinedMap.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

namespace {
class JoinedSchedule : MapLoops {
public:
  explicit JoinedSchedule(KernelBuilder &k) : MapLoops(k), k(k), lanes(lanesOf(k)) {}
  /// False where no vector of the result lies in one part, in memory that is one vector, too.
  bool find();
  void run();

private:
  /// Where the element at `indices` of a part lies: in an input, at an offset.
  struct Stored {
    BlockArgument input; // null: it is computed
    AffineExpr place;
  };
  bool suits(const JoinedMap &map);
  Stored storedOf(unsigned part) const;
  Value load();

  KernelBuilder &k;
  int64_t lanes; // of a thread
  JoinedMap joined;
};
} // namespace

JoinedSchedule::Stored JoinedSchedule::storedOf(unsigned part) const {
  SmallVector<AffineExpr> at(indices);
  at[joined.dim] = k.math.simplify(at[joined.dim] - joined.bounds[part]);
  Value tensor = k.body.storedAt(joined.part(part), at);
  return {dyn_cast<BlockArgument>(tensor),
          k.body.offset(cast<RankedTensorType>(tensor.getType()), at)};
}

bool JoinedSchedule::suits(const JoinedMap &map) {
  joined = map;
  const DimGroup &inner = groups.back();
  bool isAlong = llvm::is_contained(inner.dims, unsigned(joined.dim));
  if (isAlong && inner.dims.size() > 1)
    return false;
  llvm::DenseMap<AffineExpr, AffineExpr> toVector = {{inner.variable, inner.variable * lanes}};
  for (unsigned part = 0; part < joined.parts(); ++part) {
    auto [input, place] = storedOf(part);
    if (!input || (isAlong && !joined.bounds[part].isMultipleOf(lanes)))
      return false;
    if (k.math.strideAlong(place, inner.variable) != Stride::unit ||
        !k.math.simplify(place.replace(toVector)).isMultipleOf(lanes))
      return false;
  }
  return true;
}

bool JoinedSchedule::find() {
  return !groups.empty() && groups.back().extent.isMultipleOf(lanes) && !k.body.isInPlace() &&
         llvm::any_of(joinedMapsOf(k.body.getKernel()),
                      [&](const JoinedMap &map) { return suits(map); });
}

/// The vector of the part in which the results at hand lie.
Value JoinedSchedule::load() {
  Stored first = storedOf(0);
  Value at = k.index(indices[joined.dim]), buffer = k.input(first.input.getArgNumber()),
        place = k.address(k.b, first.place);
  for (unsigned part = 1; part < joined.parts(); ++part) {
    Value isAfter = arith::CmpIOp::create(k.b, k.loc, arith::CmpIPredicate::sge, at,
                                          k.index(joined.bounds[part]));
    Stored own = storedOf(part);
    buffer =
        arith::SelectOp::create(k.b, k.loc, isAfter, k.input(own.input.getArgNumber()), buffer);
    place = arith::SelectOp::create(k.b, k.loc, isAfter, k.address(k.b, own.place), place);
  }
  auto type = VectorType::get({lanes}, cast<MemRefType>(buffer.getType()).getElementType());
  return k.named(vector::LoadOp::create(k.b, k.loc, type, buffer, k.named(place, "at")), "joined");
}

void JoinedSchedule::run() {
  AffineExpr total = totalExtent(k.math, groups);
  Value thread = k.add(k.mul(k.block(gpu::Dimension::x, "block"), kThreads), k.thread());
  Value first = k.named(k.mul(thread, lanes), "first");
  k.when(k.less(first, k.index(total)), [&] {
    k.bindFlat(first, groups);
    const DimGroup &inner = groups.back();
    Value begin = k.index(inner.variable), whole = load();
    Type stored = cast<RankedTensorType>(joined.result().getType()).getElementType();
    storeLanes(k, lanes, inner.variable, inner.extent, begin, indices, [&](Value lane) {
      k.body.held = [&](Value tensor, ArrayRef<AffineExpr>) -> Value {
        if (tensor != joined.result())
          return {};
        Value element = vector::ExtractOp::create(k.b, k.loc, whole, OpFoldResult(lane));
        return fromStorage(k.b, k.loc, element, stored);
      };
      Value value = k.body.emitMap(k.b, indices);
      k.body.held = nullptr;
      return value;
    });
  });
  k.finish(kThreads, {k.ceilDiv(total, kThreads * lanes)});
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::map || joinedMapsOf(question.kernel()).empty() ||
      !JoinedSchedule(question.k).find())
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), kJoinedSchedule.name,
                            question.nanoseconds(2 * question.k.gpu().clocksOfLatency) +
                                question.nanosecondsOnce(question.k.gpu().schedules.map),
                            {});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr) {
  JoinedSchedule schedule(k);
  bool isFound = schedule.find();
  assert(isFound && "the plan was made where it is");
  (void)isFound;
  schedule.run();
  return success();
}

constinit const Schedule kJoinedSchedule = {"joined", match, build};

} // namespace dlc::codegen
