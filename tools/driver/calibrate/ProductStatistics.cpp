//===- ProductStatistics.cpp - What the products of a model read, on a user's data --*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/ProductStatistics.h"

#include "ir/analysis/SourcePlaces.h"
#include "ir/dl/DLOps.h"
#include "ir/dl/base/DimNeeds.h"
#include "passes/Pipelines.h"
#include "passes/compress/prune/SecondMoment.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/CpuProgram.h"
#include "tools/driver/run/SampleFeed.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace mlir;

namespace dlc {

void InputMoment::add(const InputMoment &other) {
  rows += other.rows;
  auto add = [](std::vector<double> &own, const std::vector<double> &added) {
    for (auto [sum, part] : llvm::zip_equal(own, added))
      sum += part;
  };
  add(products, other.products);
  add(sums, other.sums);
  add(cross, other.cross);
  add(referenceSums, other.referenceSums);
}

/// Adds to the function what it computes once more, with other weights: what each value is there.
static IRMapping addReference(func::FuncOp function, StringRef suffix) {
  IRMapping mapping;
  if (suffix.empty())
    return mapping;
  OpBuilder builder(function.front().getTerminator());
  SmallVector<Operation *> all;
  for (Operation &op : function.front().without_terminator())
    all.push_back(&op);
  for (Operation *op : all) {
    Operation *copy = builder.clone(*op, mapping);
    if (auto weight = dyn_cast<dl::WeightOp>(copy))
      weight.setName((weight.getName() + suffix).str());
  }
  return mapping;
}

/// Makes the moments of `products` the first results of the function. Of the others only those stay
/// that every model with states or counted dims must have.
static void tapMoments(func::FuncOp function, ArrayRef<TappedProduct> products,
                       StringRef reference) {
  Operation *end = function.front().getTerminator();
  IRMapping mapping = addReference(function, reference);
  Builder builder(function.getContext());
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  auto add = [&](const TappedProduct &product, Value other) {
    dl::Builder before(product.op->getLoc(), function.getContext());
    before.setInsertionPoint(end);
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        "dl.name", builder.getStringAttr("moment." + std::to_string(values.size())))));
    values.push_back(buildSecondMoment(product.op, product.activation, other, before));
    types.push_back(values.back().getType());
  };
  for (const TappedProduct &product : products) {
    Value own = product.op->getOperand(product.activation);
    add(product, own);
    if (!reference.empty())
      add(product, mapping.lookupOrDefault(own));
  }
  for (auto [index, value] : llvm::enumerate(end->getOperands()))
    if (function.getResultAttr(index, "dl.state") || function.getResultAttr(index, "dl.count")) {
      values.push_back(value);
      types.push_back(value.getType());
      attributes.push_back(function.getResultAttrDict(index));
    }
  end->setOperands(values);
  function.setType(builder.getFunctionType(function.getArgumentTypes(), types));
  function.setAllResultAttrs(attributes);
}

/// Adds one batch's moment [groups, columns + 1, columns + 1]; of `lastRows`, the last row counts
/// and not the last column.
static void addBatch(const HostTensor &batch, const InputMoment &moment, bool lastRows,
                     std::vector<double> &products, std::vector<double> &sums, double &rows) {
  const int64_t columns = moment.columns, width = columns + 1;
  for (int64_t group = 0; group < moment.groups; ++group) {
    const int64_t begin = group * width * width;
    for (int64_t row = 0; row < columns; ++row) {
      for (int64_t column = 0; column < columns; ++column)
        products[(group * columns + row) * columns + column] +=
            batch.at(begin + row * width + column);
      sums[group * columns + row] +=
          batch.at(lastRows ? begin + columns * width + row : begin + row * width + columns);
    }
    if (group == 0)
      rows += batch.at(begin + width * width - 1);
  }
}

static int run(const std::string &package, const CalibrationOptions &calibration, bool hasReference,
               ProductStatistics &statistics) {
  CpuProgram program;
  SampleFeed feed;
  if (int code = program.open(package))
    return code;
  if (int code = feed.open(calibration.data, program.getModule()))
    return code;
  // What is summed over a batch lies in memory for each of its samples.
  constexpr int64_t kMostNumbers = int64_t{1} << 26;
  int64_t numbers = 1;
  for (const InputMoment &moment : statistics.moments)
    numbers = std::max(numbers, moment.groups * moment.columns * moment.columns);
  feed.setBatch(std::min(calibration.batch, kMostNumbers / numbers));
  std::vector<dlc_tensor> inputs;
  while (feed.next(inputs)) {
    if (int code = program.run(inputs))
      return code;
    auto output = program.outputs.begin();
    for (InputMoment &moment : statistics.moments) {
      addBatch(*output++, moment, false, moment.products, moment.sums, moment.rows);
      double same = 0;
      if (hasReference)
        addBatch(*output++, moment, true, moment.cross, moment.referenceSums, same);
    }
  }
  statistics.samples = feed.numSamples() - feed.numLeftOut();
  return kOk;
}

static std::string nameOf(Operation *op) {
  SourcePlaces places = sourcePlacesOf(*op);
  for (const std::vector<std::string> *names : {&places.layers, &places.lines})
    if (!names->empty())
      return names->front();
  return op->getName().stripDialect().str();
}

int measureProducts(ModuleOp module, ArrayRef<TappedProduct> products,
                    const CalibrationOptions &calibration, codegen::ReadPacked readPacked,
                    StringRef reference, ProductStatistics &statistics) {
  IRMapping mapping;
  OwningOpRef<ModuleOp> copy = cast<ModuleOp>(module->clone(mapping));
  std::vector<TappedProduct> tapped;
  statistics.moments.clear();
  for (const TappedProduct &product : products) {
    tapped.push_back({mapping.lookup(product.op), product.activation});
    ProductShape shape = *productShape(product.op, product.activation);
    InputMoment &moment = statistics.moments.emplace_back();
    moment.groups = shape.groups;
    moment.columns = shape.columns;
    moment.products.assign(shape.groups * shape.columns * shape.columns, 0);
    moment.sums.assign(shape.groups * shape.columns, 0);
    if (reference.empty())
      continue;
    moment.cross = moment.products;
    moment.referenceSums = moment.sums;
  }
  tapMoments(*copy->getOps<func::FuncOp>().begin(), tapped, reference);
  if (!(*copy)->hasAttr("dl.needs"))
    dl::recordNeeds(*copy);
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  addPhase(manager, Phase::simplify, PipelineOptions());
  if (failed(manager.run(*copy)))
    return kInternal;
  auto package = compileCpuProgram(*copy, {}, readPacked);
  if (failed(package))
    return kUnsupported;
  if (int code = run(*package, calibration, !reference.empty(), statistics))
    return code;
  for (auto [product, moment] : llvm::zip_equal(products, statistics.moments))
    if (!llvm::all_of(moment.products, [](double sum) { return std::isfinite(sum); }))
      return fail(kModelError,
                  "--calib: on this data '" + nameOf(product.op) +
                      "' reads numbers that are NaN or infinite, or too large to be squared in "
                      "f32; expected smaller, finite numbers");
  return kOk;
}

} // namespace dlc
