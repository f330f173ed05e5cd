//===- Control.cpp - Branches, loops and reads as lines of the language --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Reader.h"

#include "frontend/dl/evaluate/Sema.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"

using namespace mlir;

namespace dlc::onnx {

void Reader::noteSizes(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type)
    return;
  for (auto [position, dim] : llvm::enumerate(dl::getDims(type))) {
    auto symbol = dyn_cast<AffineSymbolExpr>(dim);
    if (!symbol || !counted.test(symbol.getPosition()) || sizes.contains(symbol.getPosition()) ||
        !dl::symbolsOf(module)[symbol.getPosition()].isRead())
      continue;
    Pieces pieces;
    append(pieces, "size(");
    append(pieces, this->tensor(tensor));
    append(pieces, ", " + Twine(position) + ")");
    sizes[symbol.getPosition()] = std::move(pieces);
  }
}

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

//===- Sizes --------------------------------------------------------------------------------------===//

/// The size that a dl.part cuts a result of a counting op to; null where it is another one.
static dl::ReadOp readOfCount(dl::PartOp part) {
  Operation *op = part.getX().getDefiningOp();
  const OpInfo *info = op ? opInfo(op->getName().getStringRef()) : nullptr;
  if (!info || info->signatures.empty() || info->signatures.front().counted.empty())
    return {};
  for (Operation *user : op->getResults().back().getUsers())
    if (auto read = dyn_cast<dl::ReadOp>(user);
        read && read.getSize().getResult(0) == part.getLength().getResult(0))
      return read;
  return {};
}

Value Reader::cutOf(OpResult value) {
  dl::PartOp first;
  for (Operation *user : value.getUsers()) {
    auto part = dyn_cast<dl::PartOp>(user);
    if (!part || !readOfCount(part))
      continue;
    bool isBefore = first && part->getBlock() == first->getBlock() && part->isBeforeInBlock(first);
    bool isOutside = first && part->getBlock() == value.getOwner()->getBlock() &&
                     first->getBlock() != part->getBlock();
    if (!first || isBefore || isOutside)
      first = part;
  }
  return first ? first.getY() : Value();
}

Value Reader::sameCut(Value value) {
  auto part = value.getDefiningOp<dl::PartOp>();
  return part && readOfCount(part) ? cutOf(cast<OpResult>(part.getX())) : value;
}

Pieces Reader::sizeOfCall(Operation &op) {
  for (Signature::Counted held : opInfo(op.getName().getStringRef())->signatures.front().counted) {
    if (held.dim == -1)
      continue;
    auto dim = op.getAttrOfType<IntegerAttr>("dim");
    Pieces pieces;
    append(pieces, "size(");
    append(pieces, tensor(op.getResult(held.result)));
    append(pieces, ", " + Twine(held.dim >= 0 ? held.dim : dim ? dim.getInt() : 0) + ")");
    return pieces;
  }
  llvm_unreachable("an op that counts has a result of that size");
}

void Reader::readPart(dl::PartOp part) {
  if (readOfCount(part))
    return; // a part of the call that makes it
  Line &line = add(Line::Plain, "narrow");
  line.results.push_back(part.getY());
  append(line.pieces, "narrow(");
  append(line.pieces, tensor(part.getX()));
  append(line.pieces, ", " + Twine(part.getDim()) + ", ");
  append(line.pieces, dim(part.getStart().getResult(0)));
  append(line.pieces, ", ");
  append(line.pieces, dim(part.getLength().getResult(0)));
  append(line.pieces, ")");
}

void Reader::noteRead(dl::ReadOp read) {
  unsigned position = read.getSymbol();
  dl::SymbolAttr symbol = dl::symbolsOf(module)[position];
  Operation *op = read.getX().getDefiningOp();
  const OpInfo *info = op ? opInfo(op->getName().getStringRef()) : nullptr;
  bool isCount = info && !info->signatures.empty() && !info->signatures.front().counted.empty() &&
                 op->getResults().back() == read.getX();
  if (isCount) { // the size of the result that it cuts
    for (OpResult result : op->getResults().drop_back())
      if (Value cut = cutOf(result))
        return noteSizes(cut);
    sizes[position] = sizeOfCall(*op);
    return;
  }
  Pieces pieces;
  append(pieces, "dim_of(");
  append(pieces, tensor(read.getX()));
  append(pieces, ", most=" + Twine(symbol.getMax()) + ", least=" + Twine(symbol.getMin()) + ")");
  defineSize(position, "dim_of", std::move(pieces));
}

Line &Reader::defineSize(unsigned symbol, StringRef function, Pieces pieces) {
  // Its name is that of a value that nothing else names.
  OpBuilder builder(module.getContext());
  builder.setInsertionPointToStart(module.getBody());
  auto type = RankedTensorType::get({}, builder.getI64Type());
  Value named = dl::FullOp::create(builder, module.getLoc(), type, builder.getI64IntegerAttr(0));
  Line &line = add(Line::Plain, function);
  line.results.push_back(named);
  line.isDim = true;
  line.pieces = std::move(pieces);
  sizes[symbol] = Pieces{{Piece::Value, {}, 0, named}};
  return line;
}

bool Reader::isNamed(AffineExpr dim) {
  bool isNamed = true;
  dim.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    isNamed &= !symbol || !counted.test(symbol.getPosition()) ||
               sizes.contains(symbol.getPosition()) || counts.contains(symbol.getPosition());
  });
  return isNamed;
}

/// Defines the derived symbols of which all parts are known by now.
void Reader::defineDerived() {
  auto symbols = dl::symbolsOf(module);
  for (auto [position, symbol] : llvm::enumerate(symbols)) {
    if (!symbol.isDerived() || !counted.test(position) || sizes.contains(position))
      continue;
    bool isKnown = true;
    dl::forEachDim(symbol.getDerived(), [&](AffineExpr dim) { isKnown &= isNamed(dim); });
    if (!isKnown)
      continue;
    Pieces pieces;
    append(pieces, "derived(");
    append(pieces, definition(symbol.getDerived()));
    auto range = dl::rangeOf(symbol.getDerived(), dl::symbolRanges(module));
    if (range && symbol.getMax() < std::min(range->max, frontend::kMostSize))
      append(pieces, ", most=" + Twine(symbol.getMax()));
    if (range && symbol.getMin() > std::max(range->min, -frontend::kMostSize))
      append(pieces, ", least=" + Twine(symbol.getMin()));
    append(pieces, ")");
    StringRef function = dl::stringifySizeFunction(symbol.getDerived().getFunction());
    defineSize(position, function, std::move(pieces)).mayGo = true;
  }
}

/// A part of the definition of a derived symbol: a function, a dim or a real number.
Pieces Reader::definition(Attribute part) {
  Pieces pieces;
  if (auto map = dyn_cast<AffineMapAttr>(part))
    return dim(map.getValue().getResult(0));
  auto derived = dyn_cast<dl::DerivedAttr>(part);
  if (!derived) {
    std::string digits = dl::text(cast<FloatAttr>(part).getValue());
    bool isWhole = digits.find_first_not_of("-0123456789") == std::string::npos;
    append(pieces, digits + (isWhole ? ".0" : ""));
    return pieces;
  }
  append(pieces, dl::stringifySizeFunction(derived.getFunction()) + "(");
  for (auto [index, operand] : llvm::enumerate(derived.getOperands())) {
    append(pieces, index ? ", " : "");
    append(pieces, definition(operand));
  }
  append(pieces, ")");
  return pieces;
}

//===- Branches and loops -------------------------------------------------------------------------===//

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
