//===- AttentionWgmma.cpp - Attention on Hopper's tensor cores ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls attention_wgmma (dlc_attention90.cuh). TMA reads query, key and value where they lie: each
// is one matrix whose lines are rows or keys, at multiples of 16 bytes, with the head as some of
// its columns. Heads that share key and value are heads of their own: a tile of one reads as much
// as a tile of all. Operands that are cast from e4m3 are read as they are stored.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/attention/AttentionPlans.h"
#include "codegen/cuda/schedule/attention/AttentionTemplate.h"
#include "codegen/cuda/schedule/attention/AttentionWgmmaChoice.h"
#include "codegen/cuda/schedule/variants/PlanParts.h"
#include "codegen/plan/PlanChoice.h"
#include "ir/machine/EstimateMargins.h"

using namespace mlir;

namespace dlc::codegen {

/// Lines that a map can count, and blocks of a launch.
static constexpr int64_t kMostLines = INT32_MAX - 4096, kMostBlocks = INT32_MAX;
static constexpr size_t kMostWgmmaParts = 2;
/// Shapes that are compared, each of which costs microseconds, and the largest value of a symbol.
static constexpr size_t kSamples = 216;
static constexpr int64_t kLargestSampled = int64_t(1) << 20;

namespace {
class WgmmaAttention : AttentionTemplate {
public:
  WgmmaAttention(KernelBuilder &k, const dl::AttentionParts &a)
      : AttentionTemplate(k, a, ProductUnit::tensorCores) {
    tellsHead = true;
    readsFloat8 = bool(a.float8Operands());
    if (readsFloat8) {
      element = k.b.getI8Type();
      elementBytes = 1;
    }
    parted = partHeads();
  }

  using AttentionTemplate::extents;
  using AttentionTemplate::shape;
  /// False where TMA cannot read the operands, or the template has no tile for the heads.
  bool mayServe();
  void run(const WgmmaAttentionTile &tile);

private:
  /// An operand as it lies in memory: elements from one line to the next, and where a head's first
  /// line and first column are.
  struct Matrix {
    unsigned input;
    int64_t step;
    AffineExpr line, column;
    int64_t columns; // up to the end of the last head
  };
  bool partHeads();
  /// A head's first element as a line of `step` elements and a column of it; nullopt where its
  /// address is not a sum of one term for each dim of the heads.
  std::optional<std::pair<AffineExpr, AffineExpr>> divide(AffineExpr origin, int64_t step) const;
  std::optional<Matrix> matrixOf(const Operand &operand, const Side &lines,
                                 const Side &along) const;
  AffineExpr linesOf(const Matrix &matrix, const Side &lines) const;
  Attribute mapOf(const Matrix &matrix, const Side &lines, int64_t box) const;
  AffineExpr grid() const {
    return dl::normalize(batch.extent * k.ceilDiv(rows.extent, WgmmaAttentionTile::rows));
  }
  /// Fills body `body` with what `place` of a head is.
  void placeBody(dlk::CallOp call, unsigned body, AffineExpr place) {
    OpBuilder::InsertionGuard guard(k.b);
    (void)beginBody(call, body, {});
    give(k.address(k.b, place));
  }

  bool parted;
};
} // namespace

/// Rows are one loop: the longest; the others become heads, the last of them, so that neighbours
/// share keys. False where there are no rows.
bool WgmmaAttention::partHeads() {
  if (rows.groups.empty())
    return false;
  auto length = [&](const DimGroup &group) {
    return k.usual(group.extent, k.largest(group.extent).value_or(kLongestSide));
  };
  auto *longest =
      std::max_element(rows.groups.begin(), rows.groups.end(),
                       [&](const DimGroup &a, const DimGroup &b) { return length(a) < length(b); });
  DimGroup own = *longest;
  rows.groups.erase(longest);
  batch.groups.append(rows.groups);
  rows.groups = {own};
  rows.extent = totalExtent(k.math, rows.groups);
  batch.extent = totalExtent(k.math, batch.groups);
  return true;
}

/// Each dim of the heads adds whole lines or whole columns.
std::optional<std::pair<AffineExpr, AffineExpr>> WgmmaAttention::divide(AffineExpr origin,
                                                                        int64_t step) const {
  llvm::DenseMap<AffineExpr, AffineExpr> first;
  for (const DimGroup &group : batch.groups)
    first[group.variable] = k.math.constant(0);
  AffineExpr sum = k.math.simplify(origin.replace(first));
  AffineExpr line = sum.floorDiv(step), column = sum % step;
  for (const DimGroup &group : batch.groups) {
    llvm::DenseMap<AffineExpr, AffineExpr> others = first;
    others.erase(group.variable);
    AffineExpr part = k.math.simplify(origin.replace(others) - origin.replace(first));
    sum = sum + part;
    if (part.isMultipleOf(step))
      line = line + part.floorDiv(step);
    else
      column = column + part;
  }
  if (dl::normalize(sum - origin) != k.math.constant(0))
    return std::nullopt;
  return std::pair(k.math.simplify(line), k.math.simplify(column));
}

std::optional<WgmmaAttention::Matrix>
WgmmaAttention::matrixOf(const Operand &operand, const Side &lines, const Side &along) const {
  auto argument = dyn_cast<BlockArgument>(operand.tensor);
  if (!argument || lines.groups.size() != 1 || along.groups.size() != 1)
    return std::nullopt;
  auto type = cast<RankedTensorType>(operand.tensor.getType());
  bool isOfElements =
      readsFloat8 ? isa<Float8E4M3FNType>(type.getElementType()) : type.getElementType() == element;
  if (!isOfElements)
    return std::nullopt;
  AffineExpr offset = k.body.offset(type, operand.at);
  AffineExpr row = lines.groups.front().variable, deep = along.groups.front().variable;
  AffineExpr zero = k.math.constant(0);
  llvm::DenseMap<AffineExpr, AffineExpr> atZero = {{row, zero}, {deep, zero}};
  AffineExpr origin = k.math.simplify(offset.replace(atZero));
  auto step = k.math.stepAlong(offset, row), one = k.math.stepAlong(offset, deep);
  auto width = dl::asConstant(along.extent);
  bool isMatrix = step && *step > 0 && *step % (16 / elementBytes) == 0 && one == 1 && width &&
                  k.math.simplify(row * *step + deep + origin - offset) == zero;
  if (!isMatrix)
    return std::nullopt;
  auto place = divide(origin, *step);
  if (!place)
    return std::nullopt;
  auto [line, column] = *place;
  auto left = k.math.range(column);
  auto most = k.largest(linesOf({argument.getArgNumber(), *step, line, column, 0}, lines));
  bool fits = left && left->min >= 0 && left->max + *width <= *step &&
              column.isMultipleOf(16 / elementBytes) && most && *most <= kMostLines;
  if (!fits)
    return std::nullopt;
  return Matrix{argument.getArgNumber(), *step, line, column, left->max + *width};
}

/// Lines down to the end of the last head.
AffineExpr WgmmaAttention::linesOf(const Matrix &matrix, const Side &lines) const {
  llvm::DenseMap<AffineExpr, AffineExpr> atLast;
  for (const DimGroup &group : batch.groups)
    atLast[group.variable] = group.extent - 1;
  return dl::normalize(matrix.line.replace(atLast) + lines.extent);
}

Attribute WgmmaAttention::mapOf(const Matrix &matrix, const Side &lines, int64_t box) const {
  MLIRContext *context = k.b.getContext();
  AffineExpr columns = k.math.constant(matrix.columns), step = k.math.constant(matrix.step);
  return dlx::TensorMapAttr::get(
      context, matrix.input,
      AffineMapAttr::get(dl::dimsMap({columns, linesOf(matrix, lines), step}, context)),
      k.b.getDenseI64ArrayAttr({128 / elementBytes, box}));
}

bool WgmmaAttention::mayServe() {
  // A map of no keys cannot be, unless there are no rows either, and so no launch.
  bool hasKeys = keys.extent == rows.extent || k.smallest(keys.extent).value_or(0) > 0;
  if (!hasKeys || !parted || elementBytes > 2 || wgmmaAttentionTiles(shape()).empty() ||
      !dl::asConstant(depth.extent) || !dl::asConstant(columns.extent))
    return false;
  auto [query, key, value] = operands();
  return matrixOf(query, rows, depth) && matrixOf(key, keys, depth) &&
         matrixOf(value, keys, columns) && k.largest(grid()).value_or(INT64_MAX) <= kMostBlocks;
}

void WgmmaAttention::run(const WgmmaAttentionTile &tile) {
  auto [query, key, value] = operands();
  auto q = matrixOf(query, rows, depth), n = matrixOf(key, keys, depth),
       v = matrixOf(value, keys, columns);
  assert(q && n && v && "the plan was made where TMA can read them");
  HeadShape head = shape().head;
  int64_t width = lanes();
  SmallVector<Value> values = {k.index(batch.extent), k.index(rows.extent), k.index(keys.extent)};
  values.append({k.tensorMap("query_map"), k.tensorMap("key_map"), k.tensorMap("value_map")});
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  SmallVector<Attribute> all = {roles({"head", "m", "n", "score"}), roles({"head", "m"})};
  all.append(6, roles({"head"}));
  all.push_back(roles({"head", "m", "c", "total"}));
  SmallVector<NamedAttribute> config;
  for (auto [name, number] : std::initializer_list<std::pair<StringRef, int64_t>>{
           {"depth", head.depth},
           {"columns", WgmmaAttentionTile::columns(head)},
           {"width", head.columns},
           {"tile_n", tile.keys},
           {"stages", tile.stages},
           {"float8", readsFloat8},
           {"causal", a.lastSeen ? 1 : 0},
           {"scaled", a.areScaledAlone() ? 1 : 0},
           {"chunk", WgmmaAttentionTile::chunk(head)},
           {"vector", width}})
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(number)));
  auto call = dlk::CallOp::create(k.b, k.loc, "attention_wgmma", "dlc_attention90.cuh", element,
                                  k.b.getDictionaryAttr(config), k.b.getArrayAttr(all), values,
                                  /*exchange=*/Value(), /*bodiesCount=*/all.size());
  // With one block it is known how many registers the warpgroups begin with, of which they give
  // each other some.
  call->getParentOfType<gpu::GPUFuncOp>()->setAttr("dlc.resident_blocks", k.b.getI32IntegerAttr(1));
  scoreBody(call, 0);
  seenBody(call, 1);
  unsigned body = 2;
  for (const Matrix &matrix : {*q, *n, *v})
    for (AffineExpr place : {matrix.line, matrix.column})
      placeBody(call, body++, place);
  finishBody(call, body, width);
  k.makePersistentForHopper({mapOf(*q, rows, WgmmaAttentionTile::rows), mapOf(*n, keys, tile.keys),
                             mapOf(*v, keys, tile.keys)});
  k.finish(WgmmaAttentionTile::threads, {grid()}, tile.sharedBytes(head, elementBytes));
}

//===- Plans ----------------------------------------------------------------------------------===//

static dlx::PlanAttr planOf(PlanQuestion &question,
                            const std::optional<WgmmaAttentionTile> &wanted) {
  KernelBuilder &k = question.k;
  if (!k.attention)
    return {};
  WgmmaAttention attention(k, *k.attention);
  if (!attention.mayServe())
    return {};
  AttentionShape shape = attention.shape();
  WgmmaAttentionTile tile = wanted ? *wanted : chooseWgmmaAttentionTile(shape);
  return dlx::PlanAttr::get(k.b.getContext(), kAttentionWgmmaSchedule.name,
                            estimatedClocks(tile, shape) / kHopper.gigahertz,
                            {{"keys", tile.keys}, {"stages", tile.stages}});
}

static WgmmaAttentionTile tileOf(dlx::PlanAttr plan) {
  return {plan.number("keys"), plan.number("stages")};
}

SmallVector<PlannedPart> wgmmaPartsOfAttention(PlanQuestion &question, bool always) {
  dlx::PlanAttr ofAll = planOf(question, {});
  if (!ofAll)
    return {};
  if (always)
    return {{std::nullopt, ofAll}};
  KernelBuilder &k = question.k;
  // Plan 0 is what there is without wgmma.
  AttentionTemplate other(k, *k.attention, ProductUnit::tensorCores);
  WgmmaAttention attention(k, *k.attention);
  AttentionShape shape = attention.shape();
  auto tiles = wgmmaAttentionTiles(shape);
  auto costsOf = [&](const AttentionShape &ofOther, const AttentionShape &own) {
    std::vector<double> costs = {estimatedClocks(
        chooseAttentionTile(ProductUnit::tensorCores, ofOther, kHopper), ofOther, kHopper)};
    for (const WgmmaAttentionTile &tile : tiles)
      costs.push_back(estimatedClocks(tile, own) / kMargins.change);
    return costs;
  };
  SmallVector<AffineExpr> otherExtents = other.extents(), extents = attention.extents();
  ShapeSamples samples(otherExtents, k.ranges(), kSamples, kLargestSampled);
  auto costsAt = [&](size_t sample) {
    auto at = [&](const AttentionShape &usual, ArrayRef<AffineExpr> sides) {
      SmallVector<int64_t> values;
      for (AffineExpr side : sides)
        values.push_back(std::clamp<int64_t>(samples.valueAt(side, sample), 1, kLongestSide));
      return AttentionTemplate::with(usual, values);
    };
    return costsOf(at(other.shape(), otherExtents), at(shape, extents));
  };
  return planned(question,
                 samples.size() < 2
                     ? undivided(costsOf(other.shape(), shape))
                     : samples.divide(costsAt, dividersOf(extents, k.ranges()), kMostWgmmaParts),
                 [&](PlanQuestion &part, size_t plan) { return planOf(part, tiles[plan - 1]); });
}

static dlx::PlanAttr match(PlanQuestion &question) { return planOf(question, {}); }

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOf(question, tileOf(plan));
  return same ? double(same.getNs()) : kNeverServes;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  WgmmaAttention(k, *k.attention).run(tileOf(plan));
  return success();
}

constinit const Schedule kAttentionWgmmaSchedule = {
    .name = "attention_wgmma", .match = match, .build = build, .cost = cost, .gpu = 90};

} // namespace dlc::codegen
