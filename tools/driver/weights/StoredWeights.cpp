//===- StoredWeights.cpp - What is computed of weights, as weights ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/weights/StoredWeights.h"

#include "ir/analysis/FusionLegality.h"
#include "ir/analysis/IntegerRange.h"
#include "ir/dl/DLOps.h"
#include "ir/interpreter/Interpreter.h"
#include "passes/compress/quantize/PackableWeights.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace dlc {

/// The suffix of the sums of the codes that one channel multiplies by.
static constexpr llvm::StringLiteral kSumsSuffix = ".sums";

namespace {
/// The weights that a value is computed from, and whether they are rounded or measured on the way.
struct Origin {
  dl::WeightOp weight;
  bool isQuantized = false;

  void visit(Value value) {
    Operation *op = value.getDefiningOp();
    if (auto found = dyn_cast<dl::WeightOp>(op); found && !weight)
      weight = found;
    isQuantized |= isa<dl::RoundOp, dl::AmaxOp>(op);
    for (Value operand : op->getOperands())
      visit(operand);
  }
};
} // namespace

static bool isFloat8(Value value) {
  return isa<Float8E4M3FNType>(getElementTypeOrSelf(value.getType()));
}

/// The value with the fewest bytes that `value` is a wider or repeated form of.
static Value narrowestForm(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (auto integers = widenedFrom(value); integers && integers->zeroPoint == 0)
      value = integers->stored;
    else if (isa<dl::CastOp>(op) && isFloat8(op->getOperand(0)))
      value = op->getOperand(0);
    else if (isa<dl::BroadcastOp, dl::ReshapeOp, dl::PermuteOp>(op))
      value = op->getOperand(0);
    else
      break;
  }
  return value;
}

/// What the ops that depend on data read of weights that were quantized.
static SmallVector<Value> quantizedValues(func::FuncOp function) {
  WeightDependence weights;
  llvm::SetVector<Value> found;
  for (Operation &op : function.front()) {
    if (op.getNumResults() == 0 || weights.dependsOnWeightsAlone(op.getResult(0)))
      continue;
    for (Value operand : op.getOperands()) {
      if (!weights.dependsOnWeightsAlone(operand))
        continue;
      Value value = narrowestForm(operand);
      Origin origin;
      origin.visit(value);
      if (origin.weight && origin.isQuantized)
        found.insert(value);
    }
  }
  return found.takeVector();
}

/// The values, computed in a function of their own.
static FailureOr<SmallVector<Tensor>> computed(func::FuncOp function, ArrayRef<Value> values) {
  OpBuilder builder(function);
  auto alone = func::FuncOp::create(
      builder, function.getLoc(), "quantized_weights",
      builder.getFunctionType({},
                              llvm::map_to_vector(values, [](Value v) { return v.getType(); })));
  builder.setInsertionPointToStart(alone.addEntryBlock());
  WeightDependence weights;
  IRMapping mapping;
  for (Operation &op : function.front())
    if (op.getNumResults() > 0 && weights.dependsOnWeightsAlone(op.getResult(0)))
      builder.clone(op, mapping);
  func::ReturnOp::create(builder, function.getLoc(), llvm::map_to_vector(values, [&](Value value) {
                           return mapping.lookup(value);
                         }));
  InterpreterOptions options;
  options.roundResults = true;
  options.readWeight = [](dl::WeightOp op) -> FailureOr<Tensor> {
    auto bytes = readWeightBytes(op);
    if (failed(bytes))
      return failure();
    auto type = cast<RankedTensorType>(op.getY().getType());
    return Tensor::fromBytes(type.getElementType(), type.getShape(),
                             {reinterpret_cast<const char *>(bytes->data()), bytes->size()});
  };
  // Nothing here has a symbol; each has some value.
  SmallVector<int64_t> symbols;
  for (const dl::Range &range : dl::symbolRanges(function->getParentOfType<ModuleOp>()))
    symbols.push_back(range.min);
  auto results = interpret(alone, {}, symbols, options);
  alone.erase();
  return results;
}

int storeQuantizedWeights(func::FuncOp function) {
  SmallVector<Value> values = quantizedValues(function);
  auto numbers = computed(function, values);
  if (failed(numbers))
    return kModelError;
  for (auto [value, tensor] : llvm::zip_equal(values, *numbers)) {
    Origin origin;
    origin.visit(value);
    auto type = cast<RankedTensorType>(value.getType());
    const StringRef suffix = type.getElementType().isF32()                 ? kScaleSuffix
                             : value.getDefiningOp<dl::SumOp>() != nullptr ? kSumsSuffix
                                                                           : kCodesSuffix;
    const std::vector<char> bytes = tensor.toBytes();
    const std::string name =
        holdUnderOwnName((origin.weight.getName() + suffix).str(), {bytes.begin(), bytes.end()});
    OpBuilder builder(value.getDefiningOp());
    Value stored =
        dl::WeightOp::create(builder, value.getLoc(), type, builder.getStringAttr(name),
                             builder.getStringAttr(kPackedFile), builder.getI64IntegerAttr(-1),
                             builder.getStringAttr(""), StringAttr());
    value.replaceAllUsesWith(stored);
  }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(function.front())))
    if (isOpTriviallyDead(&op))
      op.erase();
  return kOk;
}

} // namespace dlc
