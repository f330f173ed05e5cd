//===- Control.cpp - Branches and loops as lines of the language --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Reader.h"

using namespace mlir;

namespace dlc::onnx {

Line &Reader::add(Line::Kind kind, StringRef function) {
  Line &line = program.lines.emplace_back();
  line.kind = kind;
  line.function = function.str();
  return line;
}

/// The weights among `pieces` become members.
void Reader::declareWeights(const Pieces &pieces, const Line &line) {
  for (const Piece &piece : pieces)
    if (piece.kind == Piece::Value && piece.value.getDefiningOp<dl::WeightOp>() &&
        !program.weightMembers.contains(piece.value))
      declareWeight(piece.value, line, {});
}

void Reader::readIf(dl::IfOp branch) {
  Line &head = add(Line::If, "if");
  llvm::append_range(head.results, branch.getResults());
  head.pieces = tensor(branch.getCondition());
  for (Region &region : branch->getRegions()) {
    if (&region != &branch->getRegion(0))
      add(Line::Else);
    readBlock(region.front());
    Line end;
    for (auto [result, value] :
         llvm::zip_equal(branch.getResults(), region.front().getTerminator()->getOperands())) {
      Line &assign = add(Line::Assign, "if");
      assign.results.push_back(result);
      assign.parts.push_back(tensor(value));
      declareWeights(Pieces(assign.parts.front()), end);
    }
  }
  add(Line::End);
}

Pieces Reader::withoutRows(Value gathered) {
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(gathered.getType()));
  AffineExpr none = dl::constantDim(0, module.getContext());
  dims.front() = none;
  for (AffineExpr &dim : MutableArrayRef(dims).drop_front())
    if (dim == none || !isNamed(dim)) { // which the language lets grow
      dim = none;
      takesSizes.insert(gathered);
    }
  Pieces pieces;
  append(pieces, "zeros(");
  append(pieces, this->dims(dims, "size"));
  append(pieces, ", dtype=" + dtypeText(gathered.getType()) + ")");
  return pieces;
}

Pieces Reader::withRow(Value gathered, Value row) {
  const Piece all{Piece::Value, {}, 0, gathered};
  Pieces pieces;
  append(pieces, "cat([");
  if (takesSizes.contains(gathered)) {
    append(pieces, "reshape(");
    pieces.push_back(all);
    append(pieces, ", [size(");
    pieces.push_back(all);
    append(pieces, ", 0)");
    for (AffineExpr dim : dl::getDims(cast<RankedTensorType>(row.getType()))) {
      append(pieces, ", ");
      append(pieces, this->dim(dim));
    }
    append(pieces, "])");
  } else {
    pieces.push_back(all);
  }
  append(pieces, ", unsqueeze(");
  dl::Dims held = dl::getDims(cast<RankedTensorType>(gathered.getType()));
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(row.getType()));
  bool isSame = takesSizes.contains(gathered) || ArrayRef(held).drop_front() == ArrayRef(dims);
  append(pieces, isSame ? "" : "expect_dims(");
  append(pieces, tensor(row));
  if (!isSame) {
    append(pieces, ", ");
    append(pieces, this->dims(ArrayRef(held).drop_front(), "size"));
    append(pieces, ")");
  }
  append(pieces, ", 0)], 0)");
  return pieces;
}

Pieces Reader::withDims(Value gathered) {
  dl::Dims dims = dl::getDims(cast<RankedTensorType>(gathered.getType()));
  if (!isNamed(dims.front()) && !takesSizes.contains(gathered))
    return {};
  Pieces pieces;
  const Piece all{Piece::Value, {}, 0, gathered};
  append(pieces, "expect_dims(");
  pieces.push_back(all);
  for (auto [position, dim] : llvm::enumerate(dims)) {
    append(pieces, position ? ", " : ", [");
    if (isNamed(dim)) {
      append(pieces, this->dim(dim));
      continue;
    }
    append(pieces, "size(");
    pieces.push_back(all);
    append(pieces, ", " + Twine(position) + ")");
  }
  append(pieces, "])");
  return pieces;
}

void Reader::readWhile(dl::WhileOp loop) {
  // Values of the loop's own: what it carries, what it gathers, its step, and whether it goes on.
  Line end;
  auto set = [&](Value name, Pieces value, StringRef function) {
    declareWeights(value, end);
    Line &line = add(Line::Assign, function);
    line.results.push_back(name);
    line.parts.push_back(std::move(value));
  };
  auto text = [](const Twine &words) { return Pieces{{Piece::Text, words.str(), 0, {}}}; };
  Value step = loop.getStep();
  bool isFor = !loop.getCondition(), countsSteps = !isFor && (loop.getTrips() || !step.use_empty());
  for (auto [argument, initial] : llvm::zip_equal(loop.getCarried(), loop.getInitial()))
    set(argument, tensor(initial), "loop");
  ResultRange gathered = loop.getResults().drop_front(loop.getInitial().size());
  for (Value result : gathered)
    set(result, withoutRows(result), "all");
  Operation *yield = loop.getBodyBlock().getTerminator();
  Value goesOn = loop.getGoesOn();
  if (countsSteps)
    set(step, text("full([], 0, dtype=i64)"), "step");
  // The name of whether the loop goes on is that of a value that nothing else names.
  OpBuilder builder(loop);
  Value flag;
  if (!isFor) {
    flag =
        dl::FullOp::create(builder, loop.getLoc(), RankedTensorType::get({}, builder.getI1Type()),
                           builder.getBoolAttr(true));
    set(flag, tensor(loop.getCondition()), "goes_on");
  }
  Line &head = add(isFor ? Line::For : Line::While, "loop");
  if (isFor) {
    head.results.push_back(step);
    head.pieces = tensor(loop.getTrips());
  } else {
    Pieces condition{{Piece::Value, {}, 0, flag}};
    if (loop.getTrips()) {
      append(condition, " & (");
      condition.push_back({Piece::Value, {}, 0, step});
      append(condition, " < ");
      append(condition, tensor(loop.getTrips()));
      append(condition, ")");
    }
    head.pieces = condition;
  }
  for (Value argument : loop.getCarried())
    noteSizes(argument);
  defineDerived();
  readBlock(loop.getBodyBlock());
  reading = yield;
  Line next;
  next.kind = Line::Assign;
  next.function = "loop";
  auto also = [&](Value name, Pieces value) {
    declareWeights(value, end);
    next.results.push_back(name);
    next.parts.push_back(std::move(value));
  };
  for (auto [argument, value] : llvm::zip_equal(loop.getCarried(), loop.getNext()))
    if (argument != value)
      also(argument, tensor(value));
  for (auto [result, value] : llvm::zip_equal(gathered, loop.getGathered()))
    also(result, withRow(result, value));
  if (countsSteps) {
    Pieces more{{Piece::Value, {}, 0, step}};
    append(more, " + 1");
    also(step, more);
  }
  if (!isFor)
    also(flag, tensor(goesOn));
  program.lines.push_back(std::move(next));
  add(Line::End);
  Line &after = add(Line::Alias);
  for (auto [result, argument] : llvm::zip(loop.getResults(), loop.getCarried())) {
    after.results.push_back(result);
    after.aliased.push_back(argument);
  }
  for (Value result : gathered)
    if (Pieces whole = withDims(result); !whole.empty())
      set(result, whole, "all");
}

} // namespace dlc::onnx
