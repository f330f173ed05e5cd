//===- PoolingEpilogue.cpp - Pooling in the kernel of the convolution before it -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/PooledProduct.h"
#include "passes/Passes.h"
#include "passes/fuse/FusionSteps.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc {

/// The group's root, if that has the loops of a kernel that runs with each call.
static LoopNestOpInterface rootOf(const PlannedFusion &group) {
  return group.weightOnly ? LoopNestOpInterface()
                          : dyn_cast_or_null<LoopNestOpInterface>(group.root);
}

namespace {

/// A program of some kernels of a plan, to ask how long it takes.
class Candidate {
public:
  explicit Candidate(ModuleOp target)
      : target(cast<ModuleOp>(target->cloneWithoutRegions())), builder(target.getContext()) {
    this->target->getBodyRegion().emplaceBlock();
    builder.setInsertionPointToEnd(this->target->getBody());
    function =
        func::FuncOp::create(builder, target.getLoc(), "forward", builder.getFunctionType({}, {}));
    builder.setInsertionPointToEnd(function.addEntryBlock());
  }
  /// Adds a kernel of `ops`, which computes `result`.
  void add(ArrayRef<Operation *> ops, Value result);
  /// Nullopt where a kernel has no schedule.
  std::optional<double> microseconds(const ScheduleOracle &oracle);

private:
  Value inputFor(Value value);

  OwningOpRef<ModuleOp> target;
  func::FuncOp function;
  OpBuilder builder;
  IRMapping values; // of the plan, in `function`
  Value last;
  WeightDependence weights;
  unsigned numWeights = 0;
};

} // namespace

/// An argument, or a weight, in place of a value that no kernel of the candidate computes.
Value Candidate::inputFor(Value value) {
  if (!values.contains(value)) {
    if (weights.dependsOnWeightsAlone(value))
      values.map(value, dl::WeightOp::create(
                            builder, value.getLoc(), value.getType(),
                            builder.getStringAttr("w" + std::to_string(numWeights++)), StringAttr(),
                            builder.getI64IntegerAttr(0), builder.getStringAttr(""), StringAttr()));
    else
      values.map(value, function.front().addArgument(value.getType(), value.getLoc()));
  }
  return values.lookup(value);
}

void Candidate::add(ArrayRef<Operation *> ops, Value result) {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, ops);
  llvm::SetVector<Value> outside;
  for (Operation *op : ops)
    for (Value operand : op->getOperands())
      if (!inside.contains(operand.getDefiningOp()))
        outside.insert(operand);
  SmallVector<Value> inputs =
      llvm::map_to_vector(outside, [&](Value value) { return inputFor(value); });
  auto fusion = dl::FusionOp::create(builder, result.getLoc(), TypeRange{result.getType()}, inputs,
                                     ArrayAttr(), /*in_place=*/false, StringAttr());
  Block &body = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value value : outside)
    mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
  OpBuilder inner = OpBuilder::atBlockEnd(&body);
  for (Operation *op : ops)
    inner.clone(*op, mapping);
  dl::YieldOp::create(inner, result.getLoc(), mapping.lookup(result));
  values.map(result, fusion.getResult(0));
  last = fusion.getResult(0);
}

std::optional<double> Candidate::microseconds(const ScheduleOracle &oracle) {
  func::ReturnOp::create(builder, last.getLoc(), last);
  function.setFunctionType(
      builder.getFunctionType(function.front().getArgumentTypes(), last.getType()));
  PassManager manager(builder.getContext());
  manager.enableVerifier(false);
  manager.addPass(createOutlineKernels());
  if (failed(manager.run(*target)))
    return std::nullopt;
  return oracle.microsecondsOfRun(*target);
}

/// A kernel of `product` and `pool` is estimated to take less time than one for each.
static bool isFaster(const PlannedFusion &product, Value value, const PlannedFusion &pool,
                     const ScheduleOracle &oracle, ModuleOp target) {
  SmallVector<Operation *> ops = product.ops;
  ops.append(pool.ops);
  Candidate together(target), apart(target);
  together.add(ops, pool.results.front());
  apart.add(product.ops, value);
  apart.add(pool.ops, pool.results.front());
  auto one = together.microseconds(oracle), two = apart.microseconds(oracle);
  return one && (!two || *one < *two);
}

static bool joinPooling(FusionPlan &plan, PlannedFusion &pool, FusionEdges &edges,
                        const ScheduleOracle &oracle, ModuleOp target) {
  LoopNestOpInterface root = rootOf(pool);
  if (!root || root.getLoopNest().isProduct)
    return false;
  for (Value value : pool.inputs()) {
    PlannedFusion *product = plan.groupOf(value);
    LoopNestOpInterface productOp = product ? rootOf(*product) : LoopNestOpInterface();
    if (!productOp || !productOp.getLoopNest().isProduct || plan.isReadByOthers(value, {&pool}))
      continue;
    SmallVector<Operation *> ops = product->ops;
    ops.append(pool.ops);
    if (!findPooledProduct(ops, pool.results.front()))
      continue;
    if (!isFaster(*product, value, pool, oracle, target)) {
      auto *reader = llvm::find_if(
          pool.ops, [&](Operation *op) { return llvm::is_contained(op->getOperands(), value); });
      edges[{*reader, value}] = dl::NotFused::two_roots;
      continue;
    }
    plan.join(*product, pool, pool.results);
    return true;
  }
  return false;
}

unsigned joinPoolings(FusionPlan &plan, FusionEdges &edges, const ScheduleOracle &oracle,
                      ModuleOp target) {
  unsigned joined = 0;
  for (PlannedFusion *group : llvm::to_vector(plan.getOrder()))
    joined +=
        group->isKernel && !group->ops.empty() && joinPooling(plan, *group, edges, oracle, target);
  return joined;
}

} // namespace dlc
