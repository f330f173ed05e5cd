//===- TensorRecurrentKernel.cpp - Steps of many rows on tensor cores ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Blocks share the hidden units, and perhaps the rows: dlc_recurrent_mma.cuh has the product of a
// step, TensorStepChoice.h the plan. States are kept in f32, and rounded for the product.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/recurrent/TensorStepChoice.h"
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"

using namespace mlir;

namespace dlc::codegen {

static constexpr StringRef kHeader = "dlc_recurrent_mma.cuh";

namespace {
class TensorSteps : public UnitSteps {
public:
  TensorSteps(KernelBuilder &k, const UnitCell &cell, const StepShape &shape,
              const TensorStep &step)
      : UnitSteps(k, cell, {/*areRounded=*/true, kStepChunk}), shape(shape), step(step) {}

private:
  DictionaryAttr configFor(const Columns &columns);
  void keep(const Columns &columns) override {
    call("keep_lines", kHeader, configFor(columns), {}, columns.matrices);
  }
  void beginRounded(const Columns &columns, Value from, Initial value) override;
  void multiply(const Columns &columns, ValueRange from, Value to, Before before,
                Finish finish) override;

  StepShape shape;
  TensorStep step;
};
} // namespace

DictionaryAttr TensorSteps::configFor(const Columns &columns) {
  const Columns *before = columns.before;
  return configOf(columns, {{"warps", kStepWarps},
                            {"groups", columns.groups},
                            {"columns", columns.columns * step.rowGroups},
                            {"length", columns.length},
                            {"column_bytes", columns.bytes},
                            {"before_columns", before ? before->columns * step.rowGroups : 0},
                            {"before_bytes", before ? before->bytes : 0},
                            {"width", widthOf(columns.length, 8)},
                            {"staged_bytes", step.stagedBytes(shape)},
                            {"row_groups", step.rowGroups},
                            {"line_tiles", step.lineTiles},
                            {"row_tiles", step.rowTiles},
                            {"stored", columns.stored}});
}

void TensorSteps::beginRounded(const Columns &columns, Value from, Initial value) {
  dlk::CallOp begin = call("begin_states", kHeader, configFor(columns), {{"row", "k"}},
                           {k.index(r.rows), from}, exchange);
  OpBuilder::InsertionGuard guard(k.b);
  Type index = k.b.getIndexType();
  Block &body = dlk::beginBody(k.b, begin, 0, {index, index});
  dlk::GiveOp::create(k.b, k.loc, value(body.getArgument(0), body.getArgument(1)));
}

void TensorSteps::multiply(const Columns &columns, ValueRange from, Value to, Before before,
                           Finish finish) {
  SmallVector<Value> values = {k.index(r.rows)};
  llvm::append_range(values, from);
  values.push_back(to);
  llvm::append_range(values, columns.matrices);
  dlk::CallOp product = call(
      from.size() > 1 ? "multiply_stacked_states" : "multiply_states", kHeader, configFor(columns),
      {{"row", columns.role}, {"row", columns.role, "sums", "prior"}}, values, exchange);
  fillBodies(product, columns, before, finish);
}

//===- The choice -----------------------------------------------------------------------------===//

static dlx::PlanAttr match(PlanQuestion &question) {
  const GpuModel &gpu = question.k.gpu();
  std::optional<StepShape> shape = sharedStepOf(question);
  TensorStep step = shape ? chooseTensorStep(*shape, gpu) : TensorStep();
  if (step.blocks == 0)
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), kTensorRecurrentSchedule.name,
                            nanosecondsOfSteps(question, clocksOfTensorStep(*shape, step, gpu)),
                            {{"blocks", step.blocks},
                             {"row_groups", step.rowGroups},
                             {"line_tiles", step.lineTiles},
                             {"row_tiles", step.rowTiles}});
}

static LogicalResult build(KernelBuilder &k, dlx::PlanAttr plan) {
  StepShape shape = *stepShape(recurrencesOf(k.body.getKernel()), k.ranges());
  TensorStep step = {plan.number("blocks"), plan.number("row_groups"), plan.number("line_tiles"),
                     plan.number("row_tiles")};
  UnitSteps::build(
      k, [&](const UnitCell &cell) { return std::make_unique<TensorSteps>(k, cell, shape, step); },
      step.blocks, step.columns(shape), step.stagedBytes(shape));
  return success();
}

constinit const Schedule kTensorRecurrentSchedule = {"recurrent_tensor", match, build};

} // namespace dlc::codegen
