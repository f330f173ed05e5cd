//===- FirstWeights.cpp - Weights before the first step -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/step/FirstWeights.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

using namespace mlir;

namespace dlc {

/// How many numbers of the input an element of the result of a layer reads: the size of a row of
/// the weight [results, ...].
static double fanIn(Value weight) {
  ArrayRef<int64_t> dims = cast<RankedTensorType>(weight.getType()).getShape();
  double fan = 1;
  for (int64_t size : dims.drop_front())
    fan *= static_cast<double>(size);
  return std::max(fan, 1.0);
}

/// The rule of torch.nn: Linear, Conv, Embedding, the norms and the recurrent layers.
static std::pair<FirstWeight::Kind, double> ruleOf(OpOperand &use) {
  using Rule = std::pair<FirstWeight::Kind, double>;
  auto byFan = [](Value weight) -> Rule {
    return {FirstWeight::Uniform, 1 / std::sqrt(fanIn(weight))};
  };
  auto scaleThenShift = [&](unsigned weight) -> Rule {
    return {FirstWeight::Constant, use.getOperandNumber() == weight ? 1 : 0};
  };
  return llvm::TypeSwitch<Operation *, Rule>(use.getOwner())
      .Case<dl::LinearOp, dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp, dl::ConvTranspose1dOp,
            dl::ConvTranspose2dOp, dl::ConvTranspose3dOp>(
          [&](Operation *layer) { return byFan(layer->getOperand(1)); })
      .Case<dl::EmbeddingOp, dl::EmbeddingBagOp>(
          [&](Operation *) -> Rule { return {FirstWeight::Normal, 1}; })
      .Case<dl::LayerNormOp, dl::GroupNormOp, dl::InstanceNormOp, dl::RmsNormOp>(
          [&](Operation *) { return scaleThenShift(1); })
      .Case([&](dl::BatchNormOp) -> Rule {
        unsigned operand = use.getOperandNumber(); // x, mean, variance, weight, bias
        return {FirstWeight::Constant, operand == 2 || operand == 3 ? 1 : 0};
      })
      .Case<dl::LstmOp, dl::GruOp, dl::RnnTanhOp, dl::RnnReluOp>([&](Operation *layer) -> Rule {
        int64_t gates = isa<dl::LstmOp>(layer) ? 4 : isa<dl::GruOp>(layer) ? 3 : 1;
        int64_t rows = cast<RankedTensorType>(use.get().getType()).getShape()[0];
        return {FirstWeight::Uniform, 1 / std::sqrt(static_cast<double>(rows / gates))};
      })
      .Case([&](dl::PreluOp) -> Rule { return {FirstWeight::Constant, 0.25}; })
      .Case<dl::MatmulOp, dl::PermuteOp, dl::TransposeOp>([&](Operation *) -> Rule {
        ArrayRef<int64_t> dims = cast<RankedTensorType>(use.get().getType()).getShape();
        return {FirstWeight::Uniform, 1 / std::sqrt(static_cast<double>(dims.back()))};
      })
      .Default([](Operation *) -> Rule { return {FirstWeight::Normal, 0.02}; });
}

/// Returns the row of a table that begins with zeros and is not trained, or -1 if there is none.
static int64_t paddingRow(OpOperand &use) {
  std::optional<int64_t> row;
  if (auto embedding = dyn_cast<dl::EmbeddingOp>(use.getOwner()))
    row = embedding.getPaddingIdx();
  else if (auto bag = dyn_cast<dl::EmbeddingBagOp>(use.getOwner()))
    row = bag.getPaddingIdx();
  if (row && *row < 0)
    *row += cast<RankedTensorType>(use.get().getType()).getShape()[0];
  return row.value_or(-1);
}

FirstWeight firstWeightOf(Value weight) {
  auto op = weight.getDefiningOp<dl::WeightOp>();
  FirstWeight first;
  first.name = op.getName().str();
  ArrayRef<int64_t> dims = cast<RankedTensorType>(weight.getType()).getShape();
  first.dims.assign(dims.begin(), dims.end());
  if (op.getFile())
    first.kind = FirstWeight::Stored;
  else if (!weight.use_empty()) {
    std::tie(first.kind, first.scale) = ruleOf(*weight.use_begin());
    first.zeroRow = paddingRow(*weight.use_begin());
  }
  return first;
}

static std::vector<float> drawWeight(const FirstWeight &weight, uint64_t seed) {
  size_t count = 1;
  for (int64_t size : weight.dims)
    count *= static_cast<size_t>(size);
  if (weight.kind == FirstWeight::Constant)
    return std::vector<float>(count, static_cast<float>(weight.scale));
  // The same on every machine: the standard fixes the numbers of this engine, and not those of
  // distributions.
  std::mt19937_64 engine(seed ^ llvm::xxh3_64bits(weight.name));
  auto uniform = [&] { return (static_cast<double>(engine() >> 11) + 0.5) * 0x1p-53; };
  std::vector<float> numbers(count);
  for (float &number : numbers) {
    double first = uniform();
    if (weight.kind == FirstWeight::Uniform)
      number = static_cast<float>((2 * first - 1) * weight.scale);
    else // Box and Muller
      number = static_cast<float>(std::sqrt(-2 * std::log(first)) *
                                  std::cos(2 * std::numbers::pi * uniform()) * weight.scale);
  }
  if (weight.zeroRow >= 0) {
    size_t row = count / static_cast<size_t>(weight.dims[0]);
    std::fill_n(numbers.begin() + weight.zeroRow * static_cast<int64_t>(row), row, 0.0F);
  }
  return numbers;
}

std::vector<uint8_t> firstBytes(const FirstWeight &weight, uint64_t seed) {
  if (weight.kind == FirstWeight::Stored)
    return weight.bytes;
  std::vector<float> drawn = drawWeight(weight, seed);
  std::vector<uint8_t> bytes(drawn.size() * sizeof(float));
  std::memcpy(bytes.data(), drawn.data(), bytes.size());
  return bytes;
}

} // namespace dlc
