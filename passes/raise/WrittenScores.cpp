//===- WrittenScores.cpp - The scores of an attention, however written --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/raise/WrittenScores.h"

#include "ir/dl/structure/ScaleRange.h"

#include "passes/raise/ProductOperand.h"
#include "passes/raise/Triangle.h"

#include <limits>

using namespace mlir;

namespace dlc {

/// A score of this or less beside any that is not far below zero has the weight exp(-9000) = 0.
static constexpr double kHidden = -1e4;
/// Ops that are read from the softmax to the product.
static constexpr unsigned kMaxDepth = 12;

static bool isHidden(double score) { return score <= kHidden; }

namespace {
/// Reads ops from the softmax back to the product.
class ScoresReader {
public:
  explicit ScoresReader(Covered &covered) : covered(covered) {}
  bool read(Value value, unsigned depth = kMaxDepth);
  Scores scores;

private:
  bool readScaled(Operation *op, unsigned depth);
  bool readAdded(dl::AddOp op, unsigned depth);
  bool readChosen(Operation *op, Value condition, Value x, Value fill, bool fillsWhereTrue,
                  unsigned depth);

  Covered &covered;
};

} // namespace

bool ScoresReader::readScaled(Operation *op, unsigned depth) {
  for (unsigned side : {1u, 0u}) {
    auto number = numberOf(op->getOperand(side));
    if (!number || !Magnitudes::of(*number).areOfScales() || (isa<dl::DivOp>(op) && side == 0))
      continue;
    covered.add(op);
    scores.scale *= isa<dl::DivOp>(op) ? 1 / *number : *number;
    return read(op->getOperand(1 - side), depth - 1);
  }
  return false;
}

/// x + mask.
bool ScoresReader::readAdded(dl::AddOp op, unsigned depth) {
  // A mask that is scaled with the scores would be another one.
  if (scores.isMasked() || scores.scale != 1)
    return false;
  size_t mark = covered.mark();
  for (unsigned side : {0u, 1u}) {
    covered.rollBack(mark);
    scores = {};
    Value mask = op->getOperand(1 - side);
    auto triangle = triangleOf(mask);
    if (triangle && triangle->diagonal == 0 && triangle->belowAsNumber() == 0 &&
        isHidden(triangle->aboveAsNumber()))
      scores.isCausal = true;
    else
      scores.mask = mask;
    covered.add(op);
    if (read(op->getOperand(side), depth - 1))
      return true;
  }
  return false;
}

/// `fill`, a number, where the condition is or is not true, else x.
bool ScoresReader::readChosen(Operation *op, Value condition, Value x, Value fill,
                              bool fillsWhereTrue, unsigned depth) {
  auto number = fill ? numberOf(fill) : cast<dl::MaskedFillOp>(op).getValue().convertToDouble();
  if (!number || scores.isMasked() || !(scores.scale > 0))
    return false;
  auto triangle = triangleOf(condition);
  bool isCausal = triangle && triangle->diagonal == 0 &&
                  (triangle->belowAsNumber() != 0) != fillsWhereTrue &&
                  (triangle->aboveAsNumber() != 0) == fillsWhereTrue;
  // Each row of a causal mask has something to attend to. A row that has not is NaN with -inf, but
  // uniform with a number.
  if (isCausal && isHidden(*number * scores.scale)) {
    scores.isCausal = true;
  } else if (*number == -std::numeric_limits<double>::infinity()) {
    scores.mask = condition;
    scores.isMaskInverted = fillsWhereTrue;
  } else {
    return false;
  }
  covered.add(op);
  return read(x, depth - 1);
}

bool ScoresReader::read(Value value, unsigned depth) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0)
    return false;
  if (isa<dl::MulOp, dl::DivOp>(op))
    return readScaled(op, depth);
  if (auto add = dyn_cast<dl::AddOp>(op))
    return readAdded(add, depth);
  if (auto filled = dyn_cast<dl::MaskedFillOp>(op))
    return readChosen(op, filled.getMask(), filled.getX(), {}, /*fillsWhereTrue=*/true, depth);
  if (auto where = dyn_cast<dl::WhereOp>(op)) {
    bool fillsWhereTrue = numberOf(where.getX()).has_value();
    Value fill = fillsWhereTrue ? where.getX() : where.getOther();
    Value x = fillsWhereTrue ? where.getOther() : where.getX();
    return readChosen(op, where.getCondition(), x, fill, fillsWhereTrue, depth);
  }
  auto product = dyn_cast<LoopNestOpInterface>(op);
  if (!product || !isFloatProduct(product, product.getLoopNest()))
    return false;
  covered.add(op);
  scores.product = product;
  return true;
}

std::optional<Scores> scoresOf(Value value, Covered &covered) {
  ScoresReader reader(covered);
  return reader.read(value) ? std::optional(reader.scores) : std::nullopt;
}

} // namespace dlc
