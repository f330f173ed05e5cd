//===- ContractionWgmma.cpp - Matrix products on Hopper's tensor cores --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_wgmma, or for a batch of products contract_wgmma_batched (dlc_contract90.cuh). TMA
// reads the operands where they lie, so nothing may be computed on their way in, and each is one
// matrix with rows at multiples of 16 bytes; those of a batch lie one below the other. One of the
// two may be an image under a window, whose channels lie together: threads gather it
// (contract_wgmma_gathered). Where tiles are few and sums are long, the blocks of a cluster share a
// tile (contract_wgmma_split, contract_wgmma_gathered_split).
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/MappedTemplate.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

namespace {
class WgmmaSchedule : MappedTemplate {
public:
  WgmmaSchedule(KernelBuilder &k, Contraction &c)
      : MappedTemplate(k, c, c.storesAlongM(), bytesOf(k.body.getRoot(), c.nest)) {
    tellsInside = true;
  }

  /// Null where neither TMA nor threads can bring the operands.
  dlx::PlanAttr plan(const std::optional<WgmmaTile> &wanted);
  void run(const WgmmaTile &tile);

private:
  std::optional<Matrix> matrixOfRows() const { return matrixOf(swapped ? 1 : 0, rows); }
  std::optional<Matrix> matrixOfColumns() const { return matrixOf(swapped ? 0 : 1, columns); }
  Operand imageOf(Gathered gathered) const;
  /// Threads can copy the operand, 16 bytes at a time.
  bool canGather(const Operand &image) const;
  /// A tile that says how the operands come to shared memory; nothing where one cannot.
  std::optional<WgmmaTile> findFeed();
  /// Blocks before some take several tiles.
  AffineExpr grid(const WgmmaTile &tile) const {
    return dl::normalize(k.ceilDiv(rows.extent, WgmmaTile::m) * k.ceilDiv(columns.extent, tile.n) *
                         c.batch.extent * tile.parts);
  }
  /// The blocks of a cluster share one product's tiles.
  bool maySplit() const { return c.batch.groups.empty(); }
  void finishHopper(const WgmmaTile &tile, ArrayRef<Attribute> maps);
  void runMapped(const WgmmaTile &tile);
  void runGathered(const WgmmaTile &tile);
  /// Fills body `body` with the line where the matrix of a product begins.
  void giveLine(dlk::CallOp call, unsigned body, const Matrix &matrix);
};
} // namespace

void WgmmaSchedule::giveLine(dlk::CallOp call, unsigned body, const Matrix &matrix) {
  OpBuilder::InsertionGuard guard(k.b);
  Block &block = dlk::beginBody(k.b, call, body, {k.b.getIndexType()});
  k.bindFlat(block.getArgument(0), c.batch.groups);
  dlk::GiveOp::create(k.b, k.loc, k.address(k.b, matrix.line));
}

WgmmaSchedule::Operand WgmmaSchedule::imageOf(Gathered gathered) const {
  bool ofRows = gathered == Gathered::rows;
  unsigned term = ofRows == swapped ? 1 : 0;
  return {term, ofRows ? rows : columns, true, widthAlong(term, c.depth)};
}

bool WgmmaSchedule::canGather(const Operand &image) const {
  // wgmma would cut floats off where TMA rounds them.
  return elementBytes <= 2 && c.batch.groups.empty() && image.width * elementBytes == 16 &&
         separableTaps(image) > 0 && isFound(image);
}

std::optional<WgmmaTile> WgmmaSchedule::findFeed() {
  WgmmaTile fed = {};
  auto ofRows = matrixOfRows(), ofColumns = matrixOfColumns();
  if (ofColumns && k.isWeight(ofColumns->input))
    fed.early = 2;
  else if (ofRows && k.isWeight(ofRows->input))
    fed.early = 1;
  if (ofRows && ofColumns)
    return fed;
  // Slabs of the one that TMA brings lie along k, too.
  const std::optional<Matrix> &mapped = ofRows ? ofRows : ofColumns;
  if (!mapped || mapped->alongRows)
    return std::nullopt;
  tellsLoops = true;
  fed.gathered = ofRows ? Gathered::columns : Gathered::rows;
  Operand image = imageOf(fed.gathered);
  if (!canGather(image))
    return std::nullopt;
  fed.taps = separableTaps(image);
  return fed;
}

dlx::PlanAttr WgmmaSchedule::plan(const std::optional<WgmmaTile> &wanted) {
  std::optional<WgmmaTile> fed = hasSides() ? findFeed() : std::nullopt;
  if (!fed)
    return {};
  WgmmaTile tile =
      wanted ? wanted->fedAs(*fed) : chooseWgmmaTile(shape(kLongestSide), *fed, maySplit());
  if (k.largest(grid(tile)).value_or(INT64_MAX) > kMaxGridX || (tile.parts > 1 && !maySplit()))
    return {};
  double clocks = estimatedClocks(tile, shape(kLongestSide));
  if (!std::isfinite(clocks))
    return {};
  return dlx::PlanAttr::get(k.b.getContext(), kWgmmaSchedule.name, clocks / kHopper.gigahertz,
                            {{"tile_n", tile.n},
                             {"stages", tile.stages},
                             {"chunk", tile.chunk},
                             {"parts", tile.parts},
                             {"early", tile.early},
                             {"gathered", int64_t(tile.gathered)},
                             {"taps", tile.taps},
                             {"pingpong", tile.pingpong}});
}

void WgmmaSchedule::run(const WgmmaTile &tile) {
  if (tile.gathered == Gathered::none)
    runMapped(tile);
  else
    runGathered(tile);
  bool addsColumns = bytes && bytes->operands[swapped ? 1 : 0].zeroPoint != 0;
  k.finish(WgmmaTile::threads, {grid(tile)}, tile.sharedBytes(addsColumns));
}

void WgmmaSchedule::finishHopper(const WgmmaTile &tile, ArrayRef<Attribute> maps) {
  if (tile.parts > 1)
    k.makeClustersForHopper(maps, tile.parts);
  else
    k.makePersistentForHopper(maps);
}

void WgmmaSchedule::runGathered(const WgmmaTile &tile) {
  tellsLoops = true;
  bool ofColumns = tile.gathered == Gathered::columns;
  auto mapped = ofColumns ? matrixOfRows() : matrixOfColumns();
  assert(mapped && "the plan was made where TMA can read it");
  Operand image = imageOf(tile.gathered);
  int64_t width = lanes();
  SmallVector<Attribute> roles = {k.b.getStrArrayAttr({"m", "n", "total", "inside"}),
                                  operandRoles("row"), operandRoles("row")};
  auto call = dlk::CallOp::create(
      k.b, k.loc, tile.parts > 1 ? "contract_wgmma_gathered_split" : "contract_wgmma_gathered",
      "dlc_contract90.cuh", storageType(elementType()), k.b.getDictionaryAttr({}),
      k.b.getArrayAttr(roles),
      ValueRange{k.index(rows.extent), k.index(columns.extent), k.index(c.depth.extent),
                 k.tensorMap(ofColumns ? "a_map" : "b_map")},
      /*exchange=*/Value(), /*bodiesCount=*/roles.size());
  finish(call, 0, width);
  read(call, 1, image, /*rounded=*/true);
  place(call, 2, image);
  SmallVector<std::pair<StringRef, int64_t>> numbers = {
      {"tile_n", tile.n},    {"stages", tile.stages},        {"chunk", tile.chunk},
      {"vector", width},     {"gathers_columns", ofColumns}, {"taps", tile.taps},
      {"early", tile.early}, {"pingpong", tile.pingpong}};
  if (tile.parts > 1)
    numbers.push_back({"parts", tile.parts});
  describeBytes(numbers);
  complete(call, {image}, numbers);
  finishHopper(tile,
               {mapOf(*mapped, ofColumns ? rows : columns, ofColumns ? WgmmaTile::m : tile.n)});
}

void WgmmaSchedule::runMapped(const WgmmaTile &tile) {
  auto a = matrixOfRows(), b = matrixOfColumns();
  assert(a && b && "the plan was made where TMA can read them");
  int64_t width = lanes();
  bool isBatch = !c.batch.groups.empty();
  Value maps[] = {k.tensorMap("a_map"), k.tensorMap("b_map")};
  SmallVector<Value> values = {k.index(rows.extent), k.index(columns.extent),
                               k.index(c.depth.extent)};
  if (isBatch)
    values.push_back(k.index(c.batch.extent));
  values.append({maps[0], maps[1]});
  auto roles = [&](ArrayRef<StringRef> names) -> Attribute { return k.b.getStrArrayAttr(names); };
  SmallVector<Attribute> allRoles = {roles({"m", "n", "total", "inside"})};
  if (isBatch)
    allRoles = {roles({"batch", "m", "n", "total", "inside"}), roles({"batch"}), roles({"batch"})};
  SmallVector<std::pair<StringRef, int64_t>> numbers = {
      {"tile_n", tile.n},        {"stages", tile.stages},    {"chunk", tile.chunk},
      {"along_m", a->alongRows}, {"along_n", b->alongRows},  {"vector", width},
      {"early", tile.early},     {"pingpong", tile.pingpong}};
  if (tile.parts > 1)
    numbers.push_back({"parts", tile.parts});
  describeBytes(numbers);
  SmallVector<NamedAttribute> config;
  for (auto [name, value] : numbers)
    config.push_back(k.b.getNamedAttr(name, k.b.getI64IntegerAttr(value)));
  StringRef callee = isBatch          ? "contract_wgmma_batched"
                     : tile.parts > 1 ? "contract_wgmma_split"
                                      : "contract_wgmma";
  auto call =
      dlk::CallOp::create(k.b, k.loc, callee, "dlc_contract90.cuh", storageType(elementType()),
                          k.b.getDictionaryAttr(config), k.b.getArrayAttr(allRoles), values,
                          /*exchange=*/Value(),
                          /*bodiesCount=*/allRoles.size());
  tellsBatch = isBatch;
  if (isBatch) {
    giveLine(call, 1, *a);
    giveLine(call, 2, *b);
  }
  finish(call, 0, width);
  finishHopper(tile, {mapOf(*a, rows, WgmmaTile::m), mapOf(*b, columns, tile.n)});
}

dlx::PlanAttr planOfWgmma(PlanQuestion &question, const std::optional<WgmmaTile> &tile) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c || question.k.body.getPool() ||
      !hasTensorCoreOperands(*c, question.allowsTf32))
    return {};
  return WgmmaSchedule(question.k, *c).plan(tile);
}

static dlx::PlanAttr match(PlanQuestion &question) { return planOfWgmma(question, {}); }

WgmmaTile wgmmaTileOf(dlx::PlanAttr plan) {
  return {plan.number("tile_n"),
          plan.number("stages"),
          plan.number("chunk"),
          plan.number("parts"),
          Gathered(plan.number("gathered")),
          plan.number("taps"),
          plan.number("early"),
          plan.number("pingpong") != 0};
}

static SmallVector<dlx::PlanAttr> all(PlanQuestion &question) {
  SmallVector<dlx::PlanAttr> plans;
  for (const WgmmaTile &tile : wgmmaTiles())
    if (dlx::PlanAttr plan = planOfWgmma(question, tile))
      plans.push_back(plan);
  return plans;
}

static double cost(PlanQuestion &question, dlx::PlanAttr plan) {
  dlx::PlanAttr same = planOfWgmma(question, wgmmaTileOf(plan));
  return same ? double(same.getNs()) : kNeverServes;
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  WgmmaSchedule(k, *c).run(wgmmaTileOf(plan));
  return success();
}

constinit const Schedule kWgmmaSchedule = {.name = "wgmma",
                                           .match = match,
                                           .build = build,
                                           .requirements = operandsOfProduct,
                                           .cost = cost,
                                           .all = all,
                                           .gpu = 90};

} // namespace dlc::codegen
