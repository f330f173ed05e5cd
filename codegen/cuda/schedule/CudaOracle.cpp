//===- CudaOracle.cpp - What the schedules for CUDA can run -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/CudaOracle.h"

#include "codegen/Passes.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/contraction/sparse/ContractionSparse.h"
#include "codegen/cuda/schedule/recurrent/TensorStepChoice.h"
#include "codegen/cuda/schedule/recurrent/UnitSteps.h"
#include "codegen/cuda/schedule/reduce/ReduceChoice.h"
#include "codegen/plan/AttentionLimits.h"
#include "codegen/plan/PlanChoice.h"
#include "codegen/plan/ProgramEstimate.h"
#include "codegen/plan/TargetModule.h"
#include "ir/analysis/CostModel.h"
#include "ir/kernel/Sides.h"
#include "ir/machine/EstimateMargins.h"

using namespace mlir;

namespace dlc::codegen {

std::string CudaOracle::whyNoKernel(dl::AttentionOp op) const { return whyBeyondLimits(op); }

/// Returns true for products of matrices. The schedules of other products store one result.
static bool isMatrixProduct(const LoopNest &nest) {
  auto sides = findSides(nest);
  return sides && sides->groups.none();
}

bool CudaOracle::multipliesFloat8(LoopNestOpInterface product) const {
  return isMatrixProduct(product.getLoopNest());
}

std::pair<double, double> CudaOracle::microsecondsOfTwoOfFour(Operation *op, double rows,
                                                              int64_t columns,
                                                              int64_t depth) const {
  const GpuModel &gpu = gpuOf(op);
  const ProductShape shape = {.m = static_cast<int64_t>(std::min(rows, double(kLongestSide))),
                              .n = columns,
                              .k = depth,
                              .batch = 1,
                              .elementBytes = 2};
  auto [whole, stored] = clocksOfTwoOfFour(shape, gpu);
  auto microseconds = [&](double clocks) { return clocks / gpu.gigahertz / 1000; };
  return {microseconds(whole), microseconds(stored)};
}

bool CudaOracle::storesSeveral(ArrayRef<Operation *> ops) const {
  return llvm::all_of(ops, [](Operation *op) {
    auto loops = dyn_cast<LoopNestOpInterface>(op);
    if (!loops || isa<dl::BlockSparseLinearOp>(op))
      return false;
    LoopNest nest = loops.getLoopNest();
    return nest.isMap() || isMatrixProduct(nest);
  });
}

/// A row that lies together has a warp or more, any other a thread.
std::optional<dl::NotFused> CudaOracle::whyNotWholeRows(Operation *op,
                                                        const RowShape &shape) const {
  static constexpr double kWarp = 32;
  if (shape.areTogether && shape.terms < kWarp)
    return dl::NotFused::short_rows;
  auto count = [](double number) { return std::max<int64_t>(1, std::llround(number)); };
  ReduceShape reduced = {count(shape.rows), count(shape.terms), !shape.areTogether};
  if (chooseRowShare(reduced, gpuOf(op)).isCut())
    return dl::NotFused::few_rows;
  return std::nullopt;
}

/// Neighbours along a row of 16-bit elements that one access takes (DepthwiseShape::along).
static constexpr int64_t kAlongRow = 8;

bool CudaOracle::slidesAlongRows(LoopNestOpInterface window) const {
  LoopNest nest = window.getLoopNest();
  if (!nest.isProduct || nest.terms.size() != 2 || nest.hasComputed())
    return false;
  auto typeOf = [&](unsigned term) {
    return cast<RankedTensorType>(window->getOperand(nest.terms[term].operand).getType());
  };
  // The columns are read one after the other from column to column of the filter, and at most every
  // second one from result to result.
  AffineExpr column = nest.terms[0].map.getResults().back();
  auto stepAlong = [&](unsigned loop) {
    SmallVector<AffineExpr> at(nest.numLoops(), getAffineConstantExpr(0, column.getContext()));
    AffineExpr origin = column.replaceDims(at);
    at[loop] = getAffineConstantExpr(1, column.getContext());
    return dl::asConstant(dl::normalize(column.replaceDims(at) - origin)).value_or(0);
  };
  unsigned tap = nest.numLoops() - 1, result = nest.parallel.size() - 1;
  bool isClose = stepAlong(tap) == 1 && stepAlong(result) >= 1 && stepAlong(result) <= 2;
  // A filter of one channel for each channel of the image, which slides along whole vectors.
  dl::Dims image = dl::getDims(typeOf(0)), filter = dl::getDims(typeOf(1)),
           results = dl::getDims(cast<RankedTensorType>(window->getResult(0).getType()));
  return image.size() == 4 && filter.size() == 4 && isa<FloatType>(typeOf(0).getElementType()) &&
         dl::isConstant(filter[1], 1) && filter[0] == image[1] &&
         image.back().isMultipleOf(kAlongRow) && results.back().isMultipleOf(kAlongRow) && isClose;
}

bool CudaOracle::runsSideBySide(ArrayRef<RecurrentOpInterface> ops) const {
  Operation *op = ops.front();
  auto target = op->getParentOfType<ModuleOp>();
  auto together = stepShape(ops, symbolsOf(target)),
       one = stepShape(ops.front(), symbolsOf(target));
  if (!together)
    return false;
  const GpuModel &gpu = gpuOf(op);
  double clocks = clocksOfUnitStep(*together, gpu),
         alone = std::min(clocksOfUnitStep(*one, gpu), clocksOfRowStep(*one, gpu));
  return clocks < kMargins.change * alone * double(ops.size());
}

double CudaOracle::microsecondsToMove(Operation *op, int64_t bytes) const {
  const GpuModel &gpu = gpuOf(op);
  return gpu.launchInRow + 2 * double(bytes) / gpu.memoryBytes / 1000;
}

double CudaOracle::microsecondsToCompute(Operation *op, double bytes, double operations) const {
  const GpuModel &gpu = gpuOf(op);
  double perNanosecond =
      2 * gpu.peakFloats * gpu.schedules.arithmetic * double(gpu.multiprocessors) * gpu.gigahertz;
  return gpu.launchInRow + (bytes / gpu.memoryBytes + operations / perNanosecond) / 1000;
}

std::optional<double> CudaOracle::microsecondsOfRun(ModuleOp target) const {
  PassManager manager(target.getContext());
  manager.enableVerifier(false);
  SelectSchedulesCudaPassOptions select;
  select.chains = "never"; // the estimate is of single launches
  manager.addPass(createSelectSchedulesCudaPass(select));
  if (failed(manager.run(target)))
    return std::nullopt;
  const GpuModel &gpu = gpuOf(target);
  return codegen::microsecondsOfRun(target, gpu.launchInRow, gpu.architecture);
}

/// Steps of a sequence of which nothing is known.
static constexpr int64_t kUsualSteps = 32;

bool CudaOracle::runsInWaves(ArrayRef<RecurrentOpInterface> layers) const {
  RecurrentOpInterface top = layers.back();
  auto symbols = symbolsOf(top->getParentOfType<ModuleOp>());
  auto one = stepShape(top, symbols);
  if (!one)
    return false;
  const GpuModel &gpu = gpuOf(top);
  const auto steps =
      double(usualOrMiddle(top.getRecurrence().steps, symbols).value_or(kUsualSteps));
  auto clocksOf = [&](size_t count) {
    StepShape shape = *one;
    shape.layers = static_cast<int64_t>(count);
    double clocks = clocksOfUnitStep(shape, gpu);
    if (count == 1)
      clocks = std::min(clocks, clocksOfRowStep(shape, gpu));
    return clocks * gpu.schedules.recurrences * (steps + double(count - 1));
  };
  // At least the product's arithmetic, its weights from memory, and two launches less.
  const double weights = double(one->gates * one->units * one->outputs),
               rate = one->elementBytes == 2 ? gpu.halfProducts : gpu.floatProducts,
               products = weights * double(one->rows) * steps / rate / double(gpu.multiprocessors),
               bytes = weights * double(one->elementBytes) / gpu.bytesOnce;
  const double apart = clocksOf(layers.size() - 1) + clocksOf(1) + std::max(products, bytes) +
                       2 * gpu.launchInRow * 1000 * gpu.gigahertz;
  return clocksOf(layers.size()) < kMargins.change * apart;
}

} // namespace dlc::codegen
