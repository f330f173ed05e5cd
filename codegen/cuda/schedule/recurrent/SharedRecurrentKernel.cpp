//===- SharedRecurrentKernel.cpp - Blocks that share the hidden units of a recurrence ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp multiplies a column with a few rows, its lanes along the line: dlc_recurrent.cuh has the
// product of a step, RecurrentChoice.h the plan.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr StringRef kHeader = "dlc_recurrent.cuh";

namespace {
class LaneSteps : public UnitSteps {
public:
  LaneSteps(KernelBuilder &k, const UnitCell &cell, const StepShape &shape)
      : UnitSteps(k, cell, {/*areRounded=*/false, /*padding=*/1}), shape(shape),
        staged(chooseStagedRows(shape)) {}

private:
  DictionaryAttr configFor(const Columns &columns);
  void keep(const Columns &columns) override {
    call("keep_columns", kHeader, configFor(columns), {}, columns.matrices);
  }
  void multiply(const Columns &columns, ValueRange from, Value to, Before before,
                Finish finish) override;

  StepShape shape;
  StagedRows staged;
};
} // namespace

DictionaryAttr LaneSteps::configFor(const Columns &columns) {
  // As wide as all lanes of a warp have something to read.
  int64_t width = widthOf(columns.length, 16 / shape.elementBytes);
  while (width > 1 && 32 * width > columns.length)
    width /= 2;
  const Columns *before = columns.before;
  return configOf(columns, {{"warps", kStepWarps},
                            {"groups", columns.groups},
                            {"columns", columns.columns},
                            {"length", columns.length},
                            {"column_bytes", columns.bytes},
                            {"before_columns", before ? before->columns : 0},
                            {"before_bytes", before ? before->bytes : 0},
                            {"width", width},
                            {"rows", staged.rows},
                            {"rows_at_once", staged.atOnce},
                            {"buffers", staged.buffers},
                            {"staged_bytes", staged.bytes(shape)},
                            // Parts of the memory begin at multiples of both widths.
                            {"copied", widthOf(r.outputs, widthOf(r.units, 4))}});
}

void LaneSteps::multiply(const Columns &columns, ValueRange from, Value, Before before,
                         Finish finish) {
  SmallVector<Value> values = {k.index(r.rows), exchange};
  llvm::append_range(values, from);
  llvm::append_range(values, columns.matrices);
  dlk::CallOp product = call(
      from.size() > 1 ? "multiply_stacked_columns" : "multiply_columns", kHeader,
      configFor(columns), {{"row", columns.role}, {"row", columns.role, "sums", "prior"}}, values);
  fillBodies(product, columns, before, finish);
}

//===- The choice -----------------------------------------------------------------------------===//

static dlx::PlanAttr match(PlanQuestion &question) {
  const GpuModel &gpu = question.k.gpu();
  std::optional<StepShape> shape = sharedStepOf(question);
  UnitShare share = shape ? chooseUnitShare(*shape, gpu) : UnitShare();
  if (share.units == 0)
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), kSharedRecurrentSchedule.name,
                            nanosecondsOfSteps(question, clocksOfSharedStep(*shape, share, gpu)),
                            {{"blocks", share.blocks(*shape)}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  StepShape shape = *stepShape(recurrencesOf(k.body.getKernel()), k.ranges());
  UnitSteps::build(
      k, [&](const UnitCell &cell) { return std::make_unique<LaneSteps>(k, cell, shape); },
      plan.number("blocks"), shape.columns(), chooseStagedRows(shape).bytes(shape));
  return success();
}

constinit const Schedule kSharedRecurrentSchedule = {"recurrent_units", match, build};

} // namespace dlc::codegen
