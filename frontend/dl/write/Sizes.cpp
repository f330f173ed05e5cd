//===- Sizes.cpp - Dims that the data say, and how lines name them ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/write/Reader.h"

#include "frontend/dl/evaluate/Sema.h"
#include "ir/dl/base/DerivedSize.h"
#include "ir/dl/base/ModuleSymbols.h"

using namespace mlir;

namespace dlc::onnx {

/// Whether the range of a derived symbol is smaller than that of its definition. The language can
/// say this in forward alone: derived(N + 1, most=8).
static bool isLimited(dl::SymbolAttr symbol, ArrayRef<dl::Range> ranges) {
  auto range = dl::rangeOf(symbol.getDerived(), ranges);
  return range && (symbol.getMax() < range->max || symbol.getMin() > range->min);
}

llvm::SmallBitVector symbolsOfData(ModuleOp module) {
  llvm::SmallBitVector found = dl::countedSymbols(module);
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  for (auto [position, symbol] : llvm::enumerate(dl::symbolsOf(module))) {
    bool isOfData = symbol.isRead() || (symbol.isDerived() && isLimited(symbol, ranges));
    if (symbol.isDerived())
      dl::forEachDim(symbol.getDerived(),
                     [&](AffineExpr dim) { isOfData |= dl::mentions(dim, found); });
    if (isOfData)
      found.set(position);
  }
  return found;
}

llvm::DenseMap<unsigned, Value> Reader::countsOf(ModuleOp module) {
  // The results of the function that are marked so, in the order of the symbols.
  auto function = *module.getOps<func::FuncOp>().begin();
  llvm::SmallBitVector counted = dl::countedSymbols(module);
  llvm::DenseMap<unsigned, Value> counts;
  int symbol = counted.find_first();
  for (auto [index, value] :
       llvm::enumerate(function.getBody().front().getTerminator()->getOperands()))
    if (function.getResultAttr(index, "dl.count")) {
      counts[symbol] = value;
      symbol = counted.find_next(symbol);
    }
  return counts;
}

std::optional<unsigned> Reader::countedBy(Value value) {
  const OpInfo *info =
      value.getDefiningOp() ? opInfo(value.getDefiningOp()->getName().getStringRef()) : nullptr;
  if (info && !info->signatures.empty() && !info->signatures.front().counted.empty())
    for (auto [symbol, count] : counts)
      if (count == value)
        return symbol;
  return std::nullopt;
}

Pieces Reader::sizeOf(unsigned symbol) {
  if (auto known = sizes.find(symbol); known != sizes.end())
    return known->second;
  AffineExpr size = getAffineSymbolExpr(symbol, module.getContext());
  dl::TrimOp first;
  module.walk([&](dl::TrimOp trim) {
    bool isThere = !reading || trim->isBeforeInBlock(reading);
    if (!first && isThere && trim.getSize().getResult(0) == size)
      first = trim;
  });
  Pieces pieces;
  append(pieces, "size(");
  if (first) {
    append(pieces, tensor(first.getY()));
    append(pieces, ", " + Twine(first.getDim()) + ")");
    return pieces;
  }
  // No tensor has it yet.
  if (Value count = counts.lookup(symbol); countedBy(count))
    return sizeOfCall(*count.getDefiningOp());
  auto symbols = module->getAttrOfType<ArrayAttr>("dl.symbols");
  append(pieces, "head(arange(");
  append(pieces, dim(cast<dl::SymbolAttr>(symbols[symbol]).getMost().getResult(0)));
  append(pieces, "), ");
  append(pieces, tensor(counts.lookup(symbol)));
  append(pieces, "), 0)");
  return pieces;
}

Pieces Reader::dim(AffineExpr dim) {
  Pieces pieces;
  auto binary = dyn_cast<AffineBinaryOpExpr>(dim);
  if (!dl::mentions(dim, counted)) {
    append(pieces, dl::text(dim, module));
  } else if (binary) {
    append(pieces, "(");
    append(pieces, this->dim(binary.getLHS()));
    append(pieces, binary.getKind() == AffineExprKind::Add   ? " + "
                   : binary.getKind() == AffineExprKind::Mul ? " * "
                   : binary.getKind() == AffineExprKind::Mod ? " % "
                                                             : " // ");
    append(pieces, this->dim(binary.getRHS()));
    append(pieces, ")");
  } else {
    append(pieces, sizeOf(cast<AffineSymbolExpr>(dim).getPosition()));
  }
  return pieces;
}

Pieces Reader::dims(ArrayRef<AffineExpr> dims, StringRef name) {
  Pieces pieces;
  append(pieces, "[");
  for (AffineExpr dim : dims) {
    if (pieces.size() > 1)
      append(pieces, ", ");
    if (auto constant = dyn_cast<AffineConstantExpr>(dim))
      pieces.push_back({Piece::Number, name.str(), constant.getValue(), {}});
    else
      append(pieces, this->dim(dim));
  }
  append(pieces, "]");
  return pieces;
}

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

} // namespace dlc::onnx
