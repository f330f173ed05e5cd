//===- BuildFusions.cpp - The plan as ops -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/view/ViewLayout.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/dl/composite/AttentionParts.h"
#include "passes/fuse/FusionSteps.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace dlc {
namespace {

/// A group as it is to be built: its ops, and what these read from others.
struct Body {
  SmallVector<Operation *> ops;
  llvm::SetVector<Value> inputs;
};

class FusionBuilder {
public:
  FusionBuilder(Block &block, const FusionPlan &plan, const FusionEdges &edges)
      : end(block.getTerminator()), plan(plan), edges(edges) {}
  void place(PlannedFusion &group);
  void eraseOriginals();

private:
  void build(PlannedFusion &group);
  ArrayAttr edgesOf(const Body &body);
  Value current(Value value) const { return built.contains(value) ? built.lookup(value) : value; }
  /// The value in the block as it was whose elements `value` is, through views.
  Value sourceOf(Value value) const {
    return viewed.contains(value) ? viewed.lookup(value) : value;
  }

  Operation *end; // before it everything is put in the order of the plan
  const FusionPlan &plan;
  const FusionEdges &edges;
  llvm::DenseMap<Value, Value> built;  // results of fusions by those of the ops in them
  llvm::DenseMap<Value, Value> viewed; // sources by what views make of them
  SmallVector<Operation *> originals;
};

} // namespace

/// Collects the values that the ops `inside` read from outside of them, in the order in which
/// `value` asks for them, so that attentions that are written in several ways may share a kernel.
static void collectInputs(Value value, const llvm::SmallPtrSetImpl<Operation *> &inside,
                          llvm::SmallPtrSetImpl<Operation *> &visited,
                          llvm::SetVector<Value> &inputs) {
  value = dl::outsideAttention(value);
  Operation *op = value.getDefiningOp();
  auto attention = dyn_cast_or_null<dl::AttentionOp>(op);
  bool isInBody = op && isa<dl::AttentionOp>(op->getParentOp());
  if (!op || !(inside.contains(op) || isInBody)) {
    inputs.insert(value);
    return;
  }
  if (!visited.insert(op).second)
    return;
  for (Value operand :
       attention ? attention.getBodyBlock().getTerminator()->getOperands() : op->getOperands())
    collectInputs(operand, inside, visited, inputs);
}

/// Ops and inputs of a joined group, in the order in which `value` asks for them.
static void collectBody(Value value, const llvm::SmallPtrSetImpl<Operation *> &inside,
                        llvm::SmallPtrSetImpl<Operation *> &visited, Body &body) {
  Operation *op = value.getDefiningOp();
  if (!inside.contains(op)) {
    body.inputs.insert(value);
    return;
  }
  if (!visited.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    collectBody(operand, inside, visited, body);
  body.ops.push_back(op);
}

static Body bodyOf(const PlannedFusion &group) {
  llvm::SmallPtrSet<Operation *, 16> inside(llvm::from_range, group.ops), visited;
  Body body;
  if (group.isJoined) {
    for (Value result : group.results)
      collectBody(result, inside, visited, body);
    return body;
  }
  body.ops = group.ops;
  if (isa_and_nonnull<dl::AttentionOp>(group.root))
    for (Value result : group.results)
      collectInputs(result, inside, visited, body.inputs);
  body.inputs.insert_range(group.inputs());
  return body;
}

/// An entry for each input that other kernels write, perhaps seen through views: one, or those
/// whose results a dl.cat joins.
ArrayAttr FusionBuilder::edgesOf(const Body &body) {
  SmallVector<Attribute> entries;
  for (auto [number, input] : llvm::enumerate(body.inputs)) {
    Operation *producer = sourceOf(input).getDefiningOp();
    if (!producer || !(plan.groupOf(producer)->isKernel || isa<dl::CatOp>(producer)))
      continue;
    auto *reader = llvm::find_if(
        body.ops, [&](Operation *op) { return llvm::is_contained(op->getOperands(), input); });
    auto why = edges.find({*reader, input});
    assert(why != edges.end() && "who decides that two ops are apart says why");
    entries.push_back(dl::FusionEdgeAttr::get(end->getContext(), static_cast<int64_t>(number),
                                              (*reader)->getName().stripDialect(),
                                              producer->getName().stripDialect(), why->second));
  }
  return entries.empty() ? ArrayAttr() : ArrayAttr::get(end->getContext(), entries);
}

void FusionBuilder::build(PlannedFusion &group) {
  Body body = bodyOf(group);
  Operation *last = group.results.front().getDefiningOp();
  OpBuilder builder(end);
  SmallVector<Location> lines;
  for (Operation *op : body.ops)
    lines.push_back(op->getLoc());
  auto fusion = dl::FusionOp::create(
      builder, builder.getFusedLoc(lines), TypeRange(ValueRange(group.results)),
      llvm::map_to_vector(body.inputs, [&](Value input) { return current(input); }), edgesOf(body),
      group.updated != nullptr,
      group.whyCopied.empty() ? StringAttr() : builder.getStringAttr(group.whyCopied),
      group.isOfRows);
  Block &block = fusion.getBody().emplaceBlock();
  IRMapping mapping;
  for (Value input : body.inputs)
    mapping.map(input, block.addArgument(input.getType(), input.getLoc()));
  builder.setInsertionPointToEnd(&block);
  for (Operation *op : body.ops) // equal kernels are one, whatever their ops are parts of
    builder.clone(*op, mapping)->removeDiscardableAttr(dl::kRole);
  dl::YieldOp::create(builder, last->getLoc(), llvm::map_to_vector(group.results, [&](Value value) {
                        return mapping.lookup(value);
                      }));
  for (auto [result, output] : llvm::zip_equal(group.results, fusion.getOutputs()))
    built[result] = output;
  originals.append(group.ops);
}

void FusionBuilder::place(PlannedFusion &group) {
  if (group.isKernel)
    return build(group);
  Operation *op = group.ops.front();
  if (keepsBytes(op))
    viewed[op->getResult(0)] = sourceOf(op->getOperand(0));
  if (op != end)
    op->moveBefore(end);
  for (OpOperand &operand : op->getOpOperands())
    operand.set(current(operand.get()));
}

void FusionBuilder::eraseOriginals() {
  for (Operation *op : originals)
    op->dropAllUses();
  for (Operation *op : originals)
    op->erase();
}

unsigned buildFusions(Block &block, const FusionPlan &plan, const FusionEdges &edges) {
  FusionBuilder builder(block, plan, edges);
  unsigned fusions = 0;
  for (PlannedFusion *group : plan.getOrder()) {
    if (group->ops.empty())
      continue;
    builder.place(*group);
    fusions += group->isKernel;
  }
  builder.eraseOriginals();
  return fusions;
}

} // namespace dlc
