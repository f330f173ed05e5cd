//===- AttentionKernel.cpp - Attention without the scores in memory --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls attention_mma or attention_simt. The rows of a block are the dims of the result that neither key nor value has:
// the queries, and heads that share one of key and value. What becomes of a score, masks too, is a body of the call.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/Lanes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/attention/AttentionChoice.h"
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/contraction/Contraction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// What the tile is chosen for where an extent has no bound.
static constexpr int64_t kUsualExtent = 4096;

namespace {
class AttentionSchedule {
public:
  AttentionSchedule(KernelBuilder &k, const dl::AttentionParts &a, bool onTensorCores);
  dlx::PlanAttr plan();
  void run(dlx::PlanAttr plan);
  /// Whether tensor cores multiply such elements, of f32 where `allowsTf32`.
  bool suitsTensorCores(bool allowsTf32) const { return elementBytes == 2 || allowsTf32; }
  /// How many rows of queries share a head's keys, once plan() has found the sides.
  AffineExpr rowsOfHead() const { return rows.extent; }

private:
  /// Query, key or value. `along` is the side that the template sums over (of the value, the keys), `lines` the other.
  struct Operand {
    StringRef suffix;
    Value tensor;
    SmallVector<AffineExpr> at; // where it is read, over the groups' variables
    const Side *lines, *along;
    int64_t width = 0; // elements that lie together, at most; 0: computed
    bool liesAlong = true;
  };

  void findSides();
  Side &sideOf(unsigned dim);
  SmallVector<AffineExpr> scoreIndices(ArrayRef<AffineExpr> result) const;
  Operand operand(StringRef suffix, LoopNestOpInterface op, const Access &access,
                  ArrayRef<AffineExpr> loops, const Side &lines, const Side &along);
  int64_t widthAlong(const Operand &operand, const Side &side) const;
  void chooseCopies(Operand &operand);
  void bind(Value position, const Side &side) { k.bindFlat(position, side.groups); }

  dlk::CallOp createCall(Value first, ArrayRef<Operand *> operands, int64_t lanes);
  void give(Value value) { dlk::GiveOp::create(k.b, k.loc, value); }
  void readBody(dlk::CallOp call, unsigned body, const Operand &operand);
  void scoreBody(dlk::CallOp call, unsigned body);
  void seenBody(dlk::CallOp call, unsigned body);
  void exponentialBody(dlk::CallOp call, unsigned body);
  void finishBody(dlk::CallOp call, unsigned body, int64_t lanes);
  int64_t lanes() const;
  HeadShape usualHead() const;
  double clocks(int64_t rowsOfTile) const;

  KernelBuilder &k;
  const dl::AttentionParts &a;
  BodyEmitter scores;
  LoopNest product;
  const LoopNest &sum;
  Side rows, batch, columns, depth, keys;
  SmallVector<AffineExpr> y, scoreAt,
      deep; // indices of the result, of the scores, and along the heads
  Type element;
  int64_t elementBytes;
  bool onTensorCores;
};
} // namespace

AttentionSchedule::AttentionSchedule(KernelBuilder &k, const dl::AttentionParts &a,
                                     bool onTensorCores)
    : k(k), a(a),
      scores(
          k.body.getKernel(), k.math,
          [&k](OpBuilder &builder, Location, unsigned position, AffineExpr offset) -> Value {
            return memref::LoadOp::create(builder, k.loc, k.input(position),
                                          k.address(builder, offset));
          },
          a.scoresOp, a.scores),
      product(scores.getNest()), sum(k.body.getNest()), onTensorCores(onTensorCores) {
  LoopNestOpInterface op = a.scoresOp;
  element = getElementTypeOrSelf(op->getOperand(product.terms[0].operand).getType());
  elementBytes = element.getIntOrFloatBitWidth() / 8;
}

//===- Sides ----------------------------------------------------------------------------------------===//

/// Where the scores of the result at `result` are, for the key that the sum is at.
SmallVector<AffineExpr> AttentionSchedule::scoreIndices(ArrayRef<AffineExpr> result) const {
  SmallVector<AffineExpr> loops(result), at;
  loops.push_back(keys.groups.front().variable);
  for (AffineExpr expr : sum.terms[a.weightsTerm].map.getResults())
    at.push_back(expr.replaceDims(loops));
  return at;
}

/// The side of dim `dim` of the result.
Side &AttentionSchedule::sideOf(unsigned dim) {
  AffineMap weights = sum.terms[a.weightsTerm].map;
  bool inValue = sum.terms[a.valueTerm].map.isFunctionOfDim(dim);
  for (auto [position, expr] : llvm::enumerate(weights.getResults()))
    if (expr.isFunctionOfDim(dim)) {
      bool inKey = product.terms[a.keyTerm].map.isFunctionOfDim(position);
      return inValue || inKey ? batch : rows;
    }
  return inValue ? columns : batch; // of neither: a dim of size 1
}

void AttentionSchedule::findSides() {
  SmallVector<AffineExpr> variables, deepVariables;
  for (AffineExpr extent : sum.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : product.reduction)
    deepVariables.push_back(k.math.addLoop(extent));
  keys.extent = sum.reduction.front();
  keys.groups = {{{0}, keys.extent, k.math.addLoop(keys.extent), "key"}};

  dl::Layout layout = dl::getLayout(k.body.getResultType());
  for (unsigned position = 0; position < sum.parallel.size(); ++position) {
    unsigned dim = layout.order.empty() ? position : layout.order[position];
    sideOf(dim).order.push_back(dim);
  }
  for (unsigned dim = 0; dim < product.reduction.size(); ++dim)
    depth.order.push_back(dim);

  // Dims are walked as one where all addresses allow it, those of the masks too.
  SmallVector<AffineExpr> at = scoreIndices(variables), addresses = {k.resultOffset(variables)};
  auto visit = [&](unsigned, AffineExpr offset, bool) {
    addresses.push_back(offset);
    return true;
  };
  auto visitTerm = [&](LoopNestOpInterface op, const Access &access, ArrayRef<AffineExpr> loops) {
    SmallVector<AffineExpr> indices;
    for (AffineExpr expr : access.map.getResults())
      indices.push_back(k.math.simplify(expr.replaceDims(loops)));
    scores.visitReads(op->getOperand(access.operand), indices, visit);
  };
  SmallVector<AffineExpr> loops(at), sumLoops(variables);
  loops.append(deepVariables);
  sumLoops.push_back(keys.groups.front().variable);
  for (const Access &access : product.terms)
    visitTerm(a.scoresOp, access, loops);
  visitTerm(a.sumOp, sum.terms[a.valueTerm], sumLoops);
  scores.visitResultReads(at, visit);
  k.body.visitResultReads(variables, visit);

  llvm::SmallBitVector pinned = k.pinnedDims(variables, variables, keys.groups.front().variable);
  for (auto [dim, variable] : llvm::enumerate(variables))
    if (scores.needsScalarAlong(variable, at, deepVariables) ||
        (a.lastSeen &&
         a.lastSeen.replaceDims(at).isFunctionOfDim(cast<AffineDimExpr>(variable).getPosition())))
      pinned.set(dim);
  for (Side *side : {&rows, &batch, &columns})
    side->groups = mergeDims(k.math, side->order, variables, sum.parallel, addresses, pinned,
                             resultRoles(sum.parallel.size()));
  depth.groups = mergeDims(k.math, depth.order, deepVariables, product.reduction, addresses,
                           llvm::SmallBitVector(deepVariables.size()),
                           reductionRoles(product.reduction.size()));
  y.resize(sum.parallel.size());
  deep.resize(product.reduction.size());
  for (Side *side : {&rows, &batch, &columns}) {
    bindGroups(k.math, side->groups, side->order, y);
    side->extent = totalExtent(k.math, side->groups);
  }
  bindGroups(k.math, depth.groups, depth.order, deep);
  depth.extent = totalExtent(k.math, depth.groups);
  scoreAt = scoreIndices(y);
}

//===- Operands -------------------------------------------------------------------------------------===//

AttentionSchedule::Operand AttentionSchedule::operand(StringRef suffix, LoopNestOpInterface op,
                                                      const Access &access,
                                                      ArrayRef<AffineExpr> loops, const Side &lines,
                                                      const Side &along) {
  Operand result{suffix, op->getOperand(access.operand), {}, &lines, &along};
  for (AffineExpr expr : access.map.getResults())
    result.at.push_back(k.math.simplify(expr.replaceDims(loops)));
  result.tensor = k.body.storedAt(result.tensor, result.at);
  chooseCopies(result);
  if (auto argument = dyn_cast<BlockArgument>(result.tensor)) {
    auto buffer = cast<BlockArgument>(k.input(argument.getArgNumber()));
    auto function = cast<gpu::GPUFuncOp>(buffer.getOwner()->getParentOp());
    StringRef role = suffix == "q" ? "query" : suffix == "k" ? "key" : "value";
    function.setArgAttr(buffer.getArgNumber(), "dlc.role", k.b.getStringAttr(role));
  }
  return result;
}

/// How many elements lie together along the innermost dim of `side`, at addresses that are multiples of that: a power of two
/// up to 16 bytes, or 0 where neighbours lie apart or the operand is computed.
int64_t AttentionSchedule::widthAlong(const Operand &operand, const Side &side) const {
  if (side.groups.empty() || !isa<BlockArgument>(operand.tensor))
    return 0;
  const DimGroup &inner = side.groups.back();
  AffineExpr offset = k.body.offset(cast<RankedTensorType>(operand.tensor.getType()), operand.at);
  if (k.math.strideAlong(offset, inner.variable) != Stride::unit)
    return 0;
  for (int64_t width = 16 / elementBytes; width > 1; width /= 2) {
    llvm::DenseMap<AffineExpr, AffineExpr> toWhole = {{inner.variable, inner.variable * width}};
    if (inner.extent.isMultipleOf(width) &&
        k.math.simplify(offset.replace(toWhole)).isMultipleOf(width))
      return width;
  }
  return 1;
}

/// Which way the operand lies in shared memory, and how much of it a copy takes.
void AttentionSchedule::chooseCopies(Operand &operand) {
  bool isComputed = !isa<BlockArgument>(operand.tensor);
  bool isValue = operand.along == &keys;
  int64_t along = widthAlong(operand, *operand.along), across = widthAlong(operand, *operand.lines);
  if (!onTensorCores) {
    // Lines are rows of the operand as the sum wants them: of the value, of its columns.
    int64_t line = isValue ? across : along;
    operand.liesAlong = isComputed || line >= 1;
    operand.width = isComputed ? 0 : std::max<int64_t>(line, 1);
  } else if (elementBytes == 4) {
    // What is not transposed on the way out of shared memory is transposed on the way in; values change places as well.
    operand.width = isComputed ? 0 : isValue ? 1 : std::max<int64_t>(along, 1);
  } else {
    // A copy is of 4 bytes at least.
    operand.liesAlong = along || across ? along >= across : !isValue;
    operand.width = std::max(along, across);
    if (operand.width == 1)
      operand.width = 0;
  }
}

//===- Bodies ---------------------------------------------------------------------------------------===//

/// The element of the operand at a line and a position along it: its place, or its value where it is computed.
void AttentionSchedule::readBody(dlk::CallOp call, unsigned body, const Operand &operand) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  Block &block = dlk::beginBody(k.b, call, body, {index, index});
  bind(block.getArgument(0), *operand.lines);
  bind(block.getArgument(1), *operand.along);
  if (operand.width) {
    auto type = cast<RankedTensorType>(operand.tensor.getType());
    return give(k.address(k.b, k.body.offset(type, operand.at)));
  }
  Value value = k.body.emit(k.b, operand.tensor, operand.at);
  give(toStorage(k.b, k.loc, value, element));
}

void AttentionSchedule::scoreBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  Block &block = dlk::beginBody(k.b, call, body, {index, index, k.b.getF32Type()});
  bind(block.getArgument(0), rows);
  bind(block.getArgument(1), keys);
  give(scores.emitResult(k.b, scoreAt, block.getArgument(2)));
}

/// Keys that a row sees: up to and with the last one.
void AttentionSchedule::seenBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  Block &block = dlk::beginBody(k.b, call, body, k.b.getIndexType());
  bind(block.getArgument(0), rows);
  if (!a.lastSeen)
    return give(k.index(keys.extent));
  AffineExpr last = k.math.simplify(a.lastSeen.replaceDims(scoreAt));
  give(k.add(k.index(last), k.index(1)));
}

void AttentionSchedule::exponentialBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  Block &block = dlk::beginBody(k.b, call, body, k.b.getF32Type());
  give(math::ExpOp::create(k.b, k.loc, block.getArgument(0)));
}

void AttentionSchedule::finishBody(dlk::CallOp call, unsigned body, int64_t lanes) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  Block &block =
      dlk::beginBody(k.b, call, body, {index, index, VectorType::get({lanes}, k.b.getF32Type())});
  bind(block.getArgument(0), rows);
  bind(block.getArgument(1), columns);
  auto total = [&](OpFoldResult lane) -> Value {
    return vector::ExtractOp::create(k.b, k.loc, block.getArgument(2), lane);
  };
  if (lanes == 1) {
    k.store(k.resultOffset(y), k.body.emitResult(k.b, y, total(k.b.getIndexAttr(0))));
  } else {
    const DimGroup &inner = columns.groups.back();
    storeLanes(k, lanes, inner.variable, inner.extent, k.index(inner.variable), y,
               [&](Value lane) { return k.body.emitResult(k.b, y, total(lane)); });
  }
  give(Value());
}

/// Columns that one store takes.
int64_t AttentionSchedule::lanes() const {
  Type type = storageType(k.body.getResultType().getElementType());
  int64_t width = std::min<int64_t>(8, 128 / type.getIntOrFloatBitWidth());
  if (columns.groups.empty())
    return 1;
  const DimGroup &inner = columns.groups.back();
  AffineExpr offset = k.resultOffset(y);
  llvm::DenseMap<AffineExpr, AffineExpr> toWhole = {{inner.variable, inner.variable * width}};
  bool isWhole = inner.extent.isMultipleOf(width) &&
                 k.math.strideAlong(offset, inner.variable) == Stride::unit &&
                 k.math.simplify(offset.replace(toWhole)).isMultipleOf(width) &&
                 !k.body.needsScalarAlong(inner.variable, y, keys.groups.front().variable);
  return isWhole ? width : 1;
}

//===- The call -------------------------------------------------------------------------------------===//

dlk::CallOp AttentionSchedule::createCall(Value first, ArrayRef<Operand *> operands,
                                          int64_t lanes) {
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  SmallVector<Value> values = {first, k.index(rows.extent), k.index(keys.extent)};
  auto none = MemRefType::get({ShapedType::kDynamic}, element);
  for (Operand *operand : operands)
    values.push_back(operand->width ? k.input(cast<BlockArgument>(operand->tensor).getArgNumber())
                                    : ub::PoisonOp::create(k.b, k.loc, none).getResult());
  auto call =
      dlk::CallOp::create(k.b, k.loc, onTensorCores ? "attention_mma" : "attention_simt",
                          onTensorCores ? "dlc_attention.cuh" : "dlc_attention_simt.cuh", element,
                          k.b.getDictionaryAttr({}),
                          k.b.getArrayAttr({roles({"m", "e"}), roles({"n", "e"}), roles({"c", "n"}),
                                            roles({"m", "n", "score"}), roles({"m"}), roles({"x"}),
                                            roles({"m", "c", "total"})}),
                          values, /*exchange=*/Value(), /*bodiesCount=*/7);
  for (auto [body, operand] : llvm::enumerate(operands))
    readBody(call, body, *operand);
  scoreBody(call, 3);
  seenBody(call, 4);
  exponentialBody(call, 5);
  finishBody(call, 6, lanes);
  return call;
}

HeadShape AttentionSchedule::usualHead() const {
  auto usual = [&](const Side &side) { return k.usual(side.extent, kUsualExtent); };
  return {usual(rows), usual(keys), usual(depth), usual(columns)};
}

/// Clocks of all blocks, `rowsOfTile` rows each: some share a multiprocessor, and each waits for its keys
/// step by step.
double AttentionSchedule::clocks(int64_t rowsOfTile) const {
  const GpuModel &gpu = k.gpu();
  const ScheduleRates &rates = gpu.schedules;
  auto usual = [&](const Side &side) {
    return double(k.usual(side.extent, k.largest(side.extent).value_or(kUsualExtent)));
  };
  double tiles = std::ceil(usual(rows) / double(rowsOfTile));
  double blocks = tiles * usual(batch);
  double products = double(rowsOfTile) * usual(keys) * (usual(depth) + usual(columns)) *
                    (a.lastSeen ? 0.5 + 0.5 / tiles : 1);
  double ofBlock = rates.attentionEnds +
                   products / (onTensorCores ? rates.attentionProducts * 2 / double(elementBytes)
                                             : rates.attentionFloats);
  double together = double(gpu.multiprocessors) * rates.attentionBlocks;
  return ofBlock * std::max(1.0, blocks / together);
}

dlx::PlanAttr AttentionSchedule::plan() {
  findSides();
  HeadShape head = usualHead();
  double gigahertz = k.gpu().gigahertz;
  if (onTensorCores) {
    AttentionMmaTile tile = chooseAttentionMmaTile(head, elementBytes, k.gpu(kAmpere));
    return dlx::PlanAttr::get(
        k.b.getContext(), kAttentionTensorCoresSchedule.name, clocks(tile.rows()) / gigahertz,
        {{"warps_m", tile.warpsM}, {"warps_n", tile.warpsN}, {"keys", tile.keys}});
  }
  AttentionSimtTile tile = chooseAttentionSimtTile(head, k.gpu(kAmpere));
  return dlx::PlanAttr::get(k.b.getContext(), kAttentionFloatUnitsSchedule.name,
                            clocks(tile.rows) / gigahertz,
                            {{"rows", tile.rows}, {"keys", tile.keys}});
}

void AttentionSchedule::run(dlx::PlanAttr plan) {
  findSides();
  SmallVector<AffineExpr> loops(scoreAt), sumLoops(y);
  loops.append(deep);
  sumLoops.push_back(keys.groups.front().variable);
  Operand query = operand("q", a.scoresOp, product.terms[a.queryTerm], loops, rows, depth),
          key = operand("k", a.scoresOp, product.terms[a.keyTerm], loops, keys, depth),
          value = operand("v", a.sumOp, sum.terms[a.valueTerm], sumLoops, columns, keys);
  HeadShape head = usualHead();
  int64_t vector = lanes();
  SmallVector<NamedAttribute> config;
  auto number = [&](const Twine &name, int64_t value) {
    config.push_back(k.b.getNamedAttr(name.str(), k.b.getI64IntegerAttr(value)));
  };
  number("depth", head.depth);
  number("columns", head.columns);
  number("causal", a.lastSeen ? 1 : 0);
  number("vector", vector);
  for (const Operand *operand : {&query, &key, &value}) {
    number("width_" + operand->suffix, operand->width);
    number((onTensorCores ? "along_k_" : "along_") + operand->suffix, operand->liesAlong);
  }
  int64_t threads, tileRows, shared;
  if (onTensorCores) {
    AttentionMmaTile tile = {plan.number("warps_m"), plan.number("warps_n"), plan.number("keys")};
    number("warps_m", tile.warpsM);
    number("warps_n", tile.warpsN);
    number("tile_n", tile.keys);
    threads = tile.threads(), tileRows = tile.rows();
    shared = tile.sharedBytes(head, elementBytes);
  } else {
    AttentionSimtTile tile = {plan.number("rows"), plan.number("keys")};
    number("tile_m", tile.rows);
    number("tile_n", tile.keys);
    threads = 256, tileRows = tile.rows;
    shared = tile.sharedBytes(head);
  }
  // Blocks of one tile side by side, the last tile first: with a causal mask it takes longest.
  AffineExpr tiles = k.ceilDiv(rows.extent, tileRows);
  Value block = k.block(gpu::Dimension::x, "block"), tile = block;
  if (!batch.groups.empty()) {
    Value heads = k.index(batch.extent);
    bind(k.mod(block, heads), batch);
    tile = k.div(block, heads);
  }
  Value first = k.mul(
      k.b.createOrFold<arith::SubIOp>(k.loc, k.index(dl::normalize(tiles - 1)), tile), tileRows);
  dlk::CallOp call = createCall(k.named(first, "first"), {&query, &key, &value}, vector);
  call.setConfigAttr(k.b.getDictionaryAttr(config));
  k.finish(threads, {dl::normalize(batch.extent * tiles)}, shared);
}

//===- The schedules --------------------------------------------------------------------------------===//

SmallVector<PlannedPart> partsOfAttention(PlanQuestion &question, const Schedule &schedule) {
  SmallVector<PlannedPart> parts;
  AttentionSchedule ofAll(question.k, *question.k.attention, /*onTensorCores=*/true);
  ofAll.plan();
  AffineExpr rows = ofAll.rowsOfHead();
  auto range = question.k.range(rows);
  if (!range || !growsWithSymbols(rows, question.k.ranges()))
    return parts;
  int64_t least = range->min;
  for (int64_t most : kFewAttentionRows) {
    if (most < least || most >= range->max)
      continue;
    ShapePart few = {rows, {least, most}};
    PlanQuestion part(question, few);
    if (dlx::PlanAttr plan = schedule.match(part))
      parts.push_back({few, plan});
    least = most + 1;
  }
  return parts;
}

template <bool onTensorCores> static dlx::PlanAttr match(PlanQuestion &question) {
  if (!question.k.attention)
    return {};
  AttentionSchedule schedule(question.k, *question.k.attention, onTensorCores);
  return schedule.suitsTensorCores(question.allowsTf32) == onTensorCores ? schedule.plan()
                                                                         : dlx::PlanAttr();
}

template <bool onTensorCores> static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  AttentionSchedule(k, *k.attention, onTensorCores).run(plan);
  return success();
}

constinit const Schedule kAttentionTensorCoresSchedule = {"attention_tensor_cores", match<true>,
                                                          build<true>};
constinit const Schedule kAttentionFloatUnitsSchedule = {"attention_float_units", match<false>,
                                                         build<false>};

} // namespace dlc::codegen
