//===- SharedRecurrentKernel.cpp - Blocks that share the hidden units of a recurrence --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A warp multiplies a column with a few rows, its lanes along the line: dlc_recurrent.cuh has the
// product of a step, RecurrentChoice.h the plan.
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr StringRef kHeader = "dlc_recurrent.cuh";

namespace {
class LaneSteps : public UnitSteps {
public:
  LaneSteps(KernelBuilder &k, RecurrentOpInterface op, const StepShape &shape)
      : UnitSteps(k, op, {/*areRounded=*/false, /*padding=*/1}), shape(shape),
        staged(chooseStagedRows(shape)) {}
  void run(int64_t blocks) { UnitSteps::run(blocks, shape.columns(), staged.bytes(shape)); }

private:
  DictionaryAttr configOf(const Columns &columns);
  void keep(const Columns &columns) override {
    call("keep_columns", kHeader, configOf(columns), {}, input(columns.operand));
  }
  void multiply(const Columns &columns, Value from, Value to, Before before,
                Finish finish) override;

  StepShape shape;
  StagedRows staged;
};
} // namespace

DictionaryAttr LaneSteps::configOf(const Columns &columns) {
  // As wide as all lanes of a warp have something to read.
  int64_t width = widthOf(columns.length, 16 / shape.elementBytes);
  while (width > 1 && 32 * width > columns.length)
    width /= 2;
  const Columns *before = columns.before;
  return dictionary({{"warps", kStepWarps},
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

void LaneSteps::multiply(const Columns &columns, Value from, Value, Before before, Finish finish) {
  dlk::CallOp product = call("multiply_columns", kHeader, configOf(columns),
                             {{"row", columns.role}, {"row", columns.role, "sums", "prior"}},
                             {k.index(r.rows), exchange, from, input(columns.operand)});
  fillBodies(product, columns, before, finish);
}

//===- The choice -----------------------------------------------------------------------------------===//

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::recurrent)
    return {};
  KernelBuilder &k = question.k;
  Recurrence r = stepsOf(question.kernel()).getRecurrence();
  auto shape = stepShape(r, k.ranges());
  UnitShare share = shape ? chooseUnitShare(*shape, k.gpu()) : UnitShare();
  if (share.units == 0 || !k.mayExchange())
    return {};
  double clocks = clocksOfSharedStep(*shape, share, k.gpu()) * question.usual(r.steps) *
                  question.k.gpu().schedules.recurrences;
  return dlx::PlanAttr::get(question.kernel().getContext(), kSharedRecurrentSchedule.name,
                            question.nanoseconds(clocks), {{"blocks", share.blocks(*shape)}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  dlx::KernelOp kernel = k.body.getKernel();
  StepShape shape = *stepShape(stepsOf(kernel).getRecurrence(), k.ranges());
  LaneSteps(k, stepsOf(kernel), shape).run(plan.number("blocks"));
  return success();
}

constinit const Schedule kSharedRecurrentSchedule = {"recurrent_units", match, build};

} // namespace dlc::codegen
