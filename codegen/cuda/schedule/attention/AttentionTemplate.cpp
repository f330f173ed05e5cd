//===- AttentionTemplate.cpp - Attention as a call of a template --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionTemplate.h"

#include "codegen/cuda/schedule/Lanes.h"
#include "ir/kernel/Sides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace dlc::codegen {

/// An extent without an upper bound counts as this many elements.
static constexpr int64_t kUsualExtent = 4096;

AttentionTemplate::AttentionTemplate(KernelBuilder &k, const dl::AttentionParts &a,
                                     ProductUnit unit)
    : k(k), a(a),
      scores(
          k.body.getKernel(), k.math,
          [&k](OpBuilder &builder, Location, unsigned position, AffineExpr offset) -> Value {
            return memref::LoadOp::create(builder, k.loc, k.input(position),
                                          k.address(builder, offset));
          },
          a.scoresOp, a.scores),
      product(scores.getNest()), sum(k.body.getNest()), unit(unit) {
  LoopNestOpInterface op = a.scoresOp;
  // Each number of e4m3 is one of f16, and so is each weight that is rounded to e4m3.
  element = a.float8Operands()
                ? FloatType(Float16Type::get(op.getContext()))
                : getElementTypeOrSelf(op->getOperand(product.terms[0].operand).getType());
  elementBytes = element.getIntOrFloatBitWidth() / 8;
  findSides();
}

//===- Sides ----------------------------------------------------------------------------------===//

/// Where the scores of the result at `result` are, for the key that the sum is at.
SmallVector<AffineExpr> AttentionTemplate::scoreIndices(ArrayRef<AffineExpr> result) const {
  SmallVector<AffineExpr> loops(result), at;
  loops.push_back(keys.groups.front().variable);
  for (AffineExpr expr : sum.terms[a.weightsTerm].map.getResults())
    at.push_back(expr.replaceDims(loops));
  return at;
}

void AttentionTemplate::findSides() {
  SmallVector<AffineExpr> variables, deepVariables;
  for (AffineExpr extent : sum.parallel)
    variables.push_back(k.math.addLoop(extent));
  for (AffineExpr extent : product.reduction)
    deepVariables.push_back(k.math.addLoop(extent));
  keys.extent = sum.reduction.front();
  keys.groups = {{{0}, keys.extent, k.math.addLoop(keys.extent), "key"}};

  Sides sides = dlc::findSides(a);
  for (unsigned dim : k.body.memoryOrder())
    (sides.rows.test(dim) ? rows : sides.columns.test(dim) ? columns : batch).order.push_back(dim);
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

//===- Operands -------------------------------------------------------------------------------===//

AttentionTemplate::Operand AttentionTemplate::operand(StringRef suffix, LoopNestOpInterface op,
                                                      const Access &access,
                                                      ArrayRef<AffineExpr> loops, const Side &lines,
                                                      const Side &along) {
  Operand result{suffix, op->getOperand(access.operand), {}, &lines, &along};
  for (AffineExpr expr : access.map.getResults())
    result.at.push_back(k.math.simplify(expr.replaceDims(loops)));
  if (readsFloat8)
    result.tensor = result.tensor.getDefiningOp<dl::CastOp>().getX();
  result.tensor = k.body.storedAt(result.tensor, result.at);
  chooseCopies(result);
  if (auto argument = dyn_cast<BlockArgument>(result.tensor)) {
    StringRef role = suffix == "q" ? "query" : suffix == "k" ? "key" : "value";
    k.nameInput(argument.getArgNumber(), role);
  }
  return result;
}

std::array<AttentionTemplate::Operand, 3> AttentionTemplate::operands() {
  SmallVector<AffineExpr> loops(scoreAt), sumLoops(y);
  loops.append(deep);
  sumLoops.push_back(keys.groups.front().variable);
  return {operand("q", a.scoresOp, product.terms[a.queryTerm], loops, rows, depth),
          operand("k", a.scoresOp, product.terms[a.keyTerm], loops, keys, depth),
          operand("v", a.sumOp, sum.terms[a.valueTerm], sumLoops, columns, keys)};
}

/// How many elements lie together along the innermost dim of `side`, at addresses that are
/// multiples of that: a power of two up to 16 bytes, or 0 where neighbours lie apart or the operand
/// is computed.
int64_t AttentionTemplate::widthAlong(const Operand &operand, const Side &side) const {
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
void AttentionTemplate::chooseCopies(Operand &operand) {
  bool isComputed = !isa<BlockArgument>(operand.tensor);
  bool isValue = operand.along == &keys;
  int64_t along = widthAlong(operand, *operand.along), across = widthAlong(operand, *operand.lines);
  if (unit == ProductUnit::floats) {
    // Lines are rows of the operand as the sum wants them: of the value, of its columns.
    int64_t line = isValue ? across : along;
    operand.liesAlong = isComputed || line >= 1;
    operand.width = isComputed ? 0 : std::max<int64_t>(line, 1);
  } else if (elementBytes == 4) {
    // Elements of 4 bytes cannot be transposed on the way out of shared memory, so that they are on
    // the way in; values change places as well.
    operand.width = isComputed ? 0 : isValue ? 1 : std::max<int64_t>(along, 1);
  } else {
    // A copy is of 4 bytes at least.
    operand.liesAlong = along || across ? along >= across : !isValue;
    operand.width = std::max(along, across);
    if (operand.width == 1)
      operand.width = 0;
  }
}

//===- Bodies ---------------------------------------------------------------------------------===//

Block::BlockArgListType AttentionTemplate::beginBody(dlk::CallOp call, unsigned body,
                                                     ArrayRef<Type> types) {
  SmallVector<Type> all(types);
  if (tellsHead)
    all.insert(all.begin(), k.b.getIndexType());
  Block &block = dlk::beginBody(k.b, call, body, all);
  if (tellsHead)
    bind(block.getArgument(0), batch);
  return block.getArguments().drop_front(tellsHead ? 1 : 0);
}

/// The element of the operand at a line and a position along it: its place, or its value where it
/// is computed.
void AttentionTemplate::readBody(dlk::CallOp call, unsigned body, const Operand &operand) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  auto at = beginBody(call, body, {index, index});
  bind(at[0], *operand.lines);
  bind(at[1], *operand.along);
  if (operand.width) {
    auto type = cast<RankedTensorType>(operand.tensor.getType());
    return give(k.address(k.b, k.body.offset(type, operand.at)));
  }
  Value value = k.body.emit(k.b, operand.tensor, operand.at);
  give(toStorage(k.b, k.loc, value, element));
}

void AttentionTemplate::scoreBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  auto at = beginBody(call, body, {index, index, k.b.getF32Type()});
  bind(at[0], rows);
  bind(at[1], keys);
  give(scores.emitResult(k.b, scoreAt, at[2]));
}

/// Keys that a row sees: up to and with the last one.
void AttentionTemplate::seenBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  bind(beginBody(call, body, k.b.getIndexType())[0], rows);
  if (!a.lastSeen)
    return give(k.index(keys.extent));
  AffineExpr last = k.math.simplify(a.lastSeen.replaceDims(scoreAt));
  give(k.add(k.index(last), k.index(1)));
}

void AttentionTemplate::exponentialBody(dlk::CallOp call, unsigned body) {
  OpBuilder::InsertionGuard guard(k.b);
  give(math::ExpOp::create(k.b, k.loc, beginBody(call, body, k.b.getF32Type())[0]));
}

void AttentionTemplate::finishBody(dlk::CallOp call, unsigned body, int64_t lanes) {
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  auto at = beginBody(call, body, {index, index, VectorType::get({lanes}, k.b.getF32Type())});
  bind(at[0], rows);
  bind(at[1], columns);
  auto total = [&](OpFoldResult lane) -> Value {
    Value sum = vector::ExtractOp::create(k.b, k.loc, at[2], lane);
    if (a.weightsFactor == 1)
      return sum;
    Value factor =
        arith::ConstantOp::create(k.b, k.loc, k.b.getF32FloatAttr(float(a.weightsFactor)));
    return arith::MulFOp::create(k.b, k.loc, sum, factor);
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
int64_t AttentionTemplate::lanes() const {
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

//===- The call -------------------------------------------------------------------------------===//

dlk::CallOp AttentionTemplate::createCall(Value first, ArrayRef<Operand *> operands,
                                          const AttentionTile &tile, int64_t lanes) {
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  SmallVector<Value> values = {first, k.index(rows.extent), k.index(keys.extent)};
  auto none = MemRefType::get({ShapedType::kDynamic}, element);
  for (Operand *operand : operands)
    values.push_back(operand->width ? k.input(cast<BlockArgument>(operand->tensor).getArgNumber())
                                    : ub::PoisonOp::create(k.b, k.loc, none).getResult());
  bool isOfFloats = unit == ProductUnit::floats;
  std::string callee = isOfFloats ? "attention_simt" : "attention_mma";
  SmallVector<Attribute> all = {roles({"m", "e"}), roles({"n", "e"}), roles({"c", "n"}),
                                roles({"m", "n", "score"}), roles({"m"})};
  if (isOfFloats)
    all.push_back(roles({"x"}));
  all.push_back(roles({"m", "c", "total"}));
  auto call = dlk::CallOp::create(k.b, k.loc, tile.parts > 1 ? callee + "_split" : callee,
                                  isOfFloats ? "dlc_attention_simt.cuh" : "dlc_attention.cuh",
                                  element, config(operands, tile, lanes), k.b.getArrayAttr(all),
                                  values, /*exchange=*/Value(),
                                  /*bodiesCount=*/all.size());
  for (auto [body, operand] : llvm::enumerate(operands))
    readBody(call, body, *operand);
  scoreBody(call, 3);
  seenBody(call, 4);
  if (isOfFloats) // tensor cores round weights, and have an exponential of their own
    exponentialBody(call, 5);
  finishBody(call, all.size() - 1, lanes);
  return call;
}

DictionaryAttr AttentionTemplate::config(ArrayRef<Operand *> operands, const AttentionTile &tile,
                                         int64_t lanes) {
  SmallVector<NamedAttribute> numbers;
  auto number = [&](const Twine &name, int64_t value) {
    numbers.push_back(k.b.getNamedAttr(name.str(), k.b.getI64IntegerAttr(value)));
  };
  HeadShape head = shape().head;
  number("depth", head.depth);
  number("columns", head.columns);
  number("causal", a.lastSeen ? 1 : 0);
  number("vector", lanes);
  number("tile_n", tile.keys);
  if (unit == ProductUnit::floats) {
    number("tile_m", tile.rows);
  } else {
    number("warps_m", tile.warpsM());
    number("warps_n", tile.warpsN);
    number("tiles_m", tile.tilesM);
  }
  if (tile.parts > 1)
    number("parts", tile.parts);
  for (const Operand *operand : operands) {
    number("width_" + operand->suffix, operand->width);
    number((unit == ProductUnit::floats ? "along_" : "along_k_") + operand->suffix,
           operand->liesAlong);
  }
  return k.b.getDictionaryAttr(numbers);
}

/// The first row of the block, whose head is bound. Blocks of one tile lie side by side, and the
/// last tile comes first: with a causal mask it takes longest.
Value AttentionTemplate::firstRow(const AttentionTile &tile) {
  Value block = k.block(gpu::Dimension::x, "block");
  if (tile.parts > 1)
    block = k.named(k.div(block, k.index(tile.parts)), "tile");
  Value number = block;
  if (!batch.groups.empty()) {
    Value heads = k.index(batch.extent);
    bind(k.mod(block, heads), batch);
    number = k.div(block, heads);
  }
  AffineExpr last = dl::normalize(k.ceilDiv(rows.extent, tile.rows) - 1);
  Value first = k.mul(k.b.createOrFold<arith::SubIOp>(k.loc, k.index(last), number), tile.rows);
  return k.named(first, "first");
}

void AttentionTemplate::run(const AttentionTile &tile) {
  auto [query, key, value] = operands();
  HeadShape head = shape().head;
  dlk::CallOp call = createCall(firstRow(tile), {&query, &key, &value}, tile, lanes());
  if (tile.parts > 1) {
    AffineExpr floats = dl::normalize(tiles(tile) * (tile.parts * tile.partFloats(head)) +
                                      k.math.constant(abi::kExchangeCounters));
    call.getExchangeMutable().assign(k.exchange(floats, k.b.getF32Type()));
  }
  k.finish(tile.threads(), {dl::normalize(tiles(tile) * tile.parts)},
           tile.sharedBytes(head, elementBytes));
}

//===- The shape ------------------------------------------------------------------------------===//

AttentionShape AttentionTemplate::shape() const {
  auto usual = [&](const Side &side) {
    return std::min(k.usual(side.extent, k.largest(side.extent).value_or(kUsualExtent)),
                    kLongestSide);
  };
  return {{usual(rows), usual(keys), usual(depth), usual(columns)},
          usual(batch),
          elementBytes,
          bool(a.lastSeen),
          /*masked=*/
          !scores.visitResultReads(scoreAt, [](unsigned, AffineExpr, bool) { return false; }),
          /*computed=*/!readsFloat8 && a.float8Operands()};
}

AttentionTile AttentionTemplate::tileFor(const AttentionShape &shape) const {
  // Launches at load have no memory to meet in.
  return chooseAttentionTile(unit, shape, k.gpu(), k.mayExchange(), k.gpu(kAmpere));
}

bool AttentionTemplate::mayServe(const AttentionTile &tile) const {
  return tile.parts == 1 || k.largest(tiles(tile)).value_or(INT64_MAX) <= abi::kGridCounter;
}

} // namespace dlc::codegen
