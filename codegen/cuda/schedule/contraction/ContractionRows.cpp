//===- ContractionRows.cpp - Few rows times a matrix --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls contract_rows (dlc_rows.cuh): what a tile would leave mostly empty, in every dtype.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/ContractionPlans.h"
#include "codegen/cuda/schedule/contraction/ContractionTemplate.h"
#include "codegen/cuda/schedule/contraction/RowsChoice.h"
#include "codegen/cuda/schedule/contraction/sparse/ContractionSparse.h"
#include "codegen/plan/PackOperand.h"
#include "runtime/schema/KernelAbi.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace dlc::codegen {

/// Threads share k: shorter sums would leave them idle.
static constexpr int64_t kLeastDepth = 32;

namespace {
class RowsSchedule : ContractionTemplate {
public:
  RowsSchedule(KernelBuilder &k, Contraction &c);
  /// The tile that suits the shapes, and the clocks that it is estimated to take.
  RowsTile choose(double &clocks) const;
  void run(const RowsTile &tile);
  /// The matrix in the order in which its rows lie along k, if that is another and loses no width.
  std::optional<PackedOperand> matrixToPack() const;

private:
  Operand matrix() const;
  AffineExpr blocks(const RowsTile &tile) const {
    return dl::normalize(k.ceilDiv(columns.extent, tile.blockColumns()) * c.batch.extent);
  }
};
} // namespace

RowsSchedule::Operand RowsSchedule::matrix() const {
  unsigned term = swapped ? 0 : 1;
  int64_t along = widthAlong(term, c.depth), across = widthAlong(term, columns);
  bool alongK = along || across ? along >= across : c.liesAlongReduction(term);
  return {term, columns, alongK, std::max<int64_t>({1, along, across})};
}

std::optional<PackedOperand> RowsSchedule::matrixToPack() const {
  Operand b = matrix();
  auto argument =
      dyn_cast<BlockArgument>(k.body.getRoot()->getOperand(c.nest.terms[b.term].operand));
  if (b.alongK || !argument)
    return std::nullopt;
  auto depth = dl::asConstant(c.depth.extent);
  if (!depth || *depth % b.width != 0)
    return std::nullopt;
  return packedAlongDepth(c, b.term, argument);
}

RowsTile RowsSchedule::choose(double &clocks) const {
  Operand matrix = this->matrix();
  auto sizeOf = [&](AffineExpr extent) {
    auto size = dl::asConstant(extent);
    return size ? *size : k.usual(extent, kUsualExtent);
  };
  RowsShape shape = {*k.largest(rows.extent),
                     sizeOf(columns.extent),
                     sizeOf(c.depth.extent),
                     sizeOf(c.batch.extent),
                     elementBytes,
                     matrix.alongK,
                     matrix.width};
  // The memory that takes parts takes floats.
  bool maySplit = k.body.accumulatorType(0).isF32() && k.mayExchange();
  RowsTile tile = chooseRowsTile(shape, k.gpu(), maySplit);
  // Each of the blocks before they share has a counter, over the whole range of the shapes.
  if (tile.parts > 1 && k.largest(blocks(tile)).value_or(INT64_MAX) > abi::kGridCounter)
    tile = chooseRowsTile(shape, k.gpu(), /*maySplit=*/false);
  clocks = estimatedClocks(shape, k.gpu());
  std::optional<unsigned> input = plainInput(matrix.term, columns);
  tile.early = input && k.isWeight(*input);
  return tile;
}

/// True where the body that gives an element's place tests whether there is one.
static bool isChecked(dlk::CallOp call, unsigned body) {
  auto give = cast<dlk::GiveOp>(call.getBodies()[body].front().getTerminator());
  return give.getValue().getDefiningOp<scf::IfOp>() != nullptr;
}

void RowsSchedule::run(const RowsTile &tile) {
  if (!c.batch.groups.empty())
    k.bindFlat(k.block(gpu::Dimension::z, "batch"), c.batch.groups);
  Operand a = {swapped ? 1u : 0u, rows, true, 0}, b = matrix();
  a.width = std::max<int64_t>(1, widthAlong(a.term, c.depth));
  dlk::CallOp call = createCall(tile.parts > 1 ? "contract_rows_split" : "contract_rows",
                                "dlc_rows.cuh", {operandRoles("m"), operandRoles("n")});
  read(call, 0, a, /*rounded=*/false);
  read(call, 1, b, /*rounded=*/false);
  finish(call, 2, /*width=*/0);
  // As rows_tile::kIsStaged has it.
  int64_t length = b.alongK ? tile.deep : tile.columns;
  bool isCopied = b.width >= length && length * elementBytes >= 4;
  SmallVector<std::pair<StringRef, int64_t>> numbers = {{"rows", *k.largest(rows.extent)},
                                                        {"along_k", b.alongK},
                                                        {"width_a", a.width},
                                                        {"width_b", b.width},
                                                        {"checked_a", isChecked(call, 0)},
                                                        {"checked_b", isChecked(call, 1)},
                                                        {"columns", tile.columns},
                                                        {"deep", tile.deep},
                                                        {"stages", tile.stages},
                                                        {"lanes_n", tile.lanesN},
                                                        {"warps_n", tile.warpsN()},
                                                        {"warps_k", tile.warpsK},
                                                        {"early", tile.early && isCopied}};
  if (tile.parts > 1)
    numbers.push_back({"parts", tile.parts});
  complete(call, {a, b}, numbers);
  if (tile.parts > 1) {
    int64_t part = tile.totals(*k.largest(rows.extent));
    AffineExpr floats =
        dl::normalize(blocks(tile) * (tile.parts * part) + k.math.constant(abi::kExchangeCounters));
    call.getExchangeMutable().assign(k.exchange(floats, k.b.getF32Type()));
  }
  k.beginGridInTemplate();
  k.finish(RowsTile::threads(),
           {dl::normalize(k.ceilDiv(columns.extent, tile.blockColumns()) * tile.parts),
            k.math.constant(1), c.batch.extent},
           tile.sharedBytes(*k.largest(rows.extent), elementBytes,
                            k.body.accumulatorType(0).getIntOrFloatBitWidth() / 8));
}

/// The one side that is never longer than the template's rows; null where none is, or both: a few
/// dot products are reductions, which a whole block shares.
static const Side *shortSide(const Contraction &c) {
  auto isShort = [&](const Side &side) {
    auto most = c.k.largest(side.extent);
    return most && *most <= kMostFewRows;
  };
  if (isShort(c.m) == isShort(c.n))
    return nullptr;
  return isShort(c.m) ? &c.m : &c.n;
}

bool hasFewRows(const Contraction &c) {
  Type result = c.k.body.getRoot()->getResult(0).getType();
  auto elementOf = [&](unsigned term) {
    return getElementTypeOrSelf(
        c.k.body.getRoot()->getOperand(c.nest.terms[term].operand).getType());
  };
  Type type = elementOf(0);
  auto depth = c.k.largest(c.depth.extent);
  // The places of a convolution share what they read: tiles bring that once. Sparse tensor cores
  // have tiles of few rows.
  return shortSide(c) && !c.nest.isWindow() && !sparseColumnsOf(c) &&
         (!depth || *depth >= kLeastDepth) && !type.isInteger(1) && elementOf(1) == type &&
         getElementTypeOrSelf(result) == type && c.fitsGrid(c.k.math.constant(1));
}

RowsSchedule::RowsSchedule(KernelBuilder &k, Contraction &c)
    : ContractionTemplate(k, c, shortSide(c) == &c.n) {}

std::optional<PackedOperand> matrixOfRowsToPack(KernelBuilder &k, Contraction &c) {
  return RowsSchedule(k, c).matrixToPack();
}

static dlx::PlanAttr match(PlanQuestion &question) {
  Contraction *c = question.product();
  if (question.kind() != dlx::KernelKind::contraction || !c || question.k.body.getPool() ||
      !hasFewRows(*c))
    return {};
  // The kernel for few rows reads a matrix of bytes one byte at a time.
  if (bytesOf(question.k.body.getRoot(), c->nest) && suitsTensorCores(*c, question.allowsTf32))
    return {};
  double clocks = 0;
  RowsTile tile = RowsSchedule(question.k, *c).choose(clocks);
  return dlx::PlanAttr::get(question.kernel().getContext(), kRowsSchedule.name,
                            question.nanoseconds(clocks),
                            {{"columns", tile.columns},
                             {"deep", tile.deep},
                             {"stages", tile.stages},
                             {"lanes_n", tile.lanesN},
                             {"warps_k", tile.warpsK},
                             {"parts", tile.parts},
                             {"early", tile.early}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  auto c = Contraction::of(k);
  if (!c)
    return failure();
  RowsSchedule(k, *c).run({plan.number("columns"), plan.number("deep"), plan.number("stages"),
                           plan.number("lanes_n"), plan.number("warps_k"), plan.number("parts"),
                           plan.number("early") != 0});
  return success();
}

constinit const Schedule kRowsSchedule = {"rows", match, build, operandsOfProduct};

} // namespace dlc::codegen
