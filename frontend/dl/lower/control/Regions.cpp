//===- Regions.cpp - Branches and steps that the running model takes ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/lower/control/Regions.h"

#include "ir/dl/base/DLBuilder.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc::frontend {

//===- Sizes ----------------------------------------------------------------------------------===//

AffineExpr Regions::readDim(Location loc, const std::string &name, ArrayRef<AffineExpr> dims) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  dl::Range whole{INT64_MAX, 0};
  for (AffineExpr dim : dims) {
    auto range = dl::rangeOf(dim, ranges);
    whole.min = std::min(whole.min, range ? std::max<int64_t>(range->min, 0) : 0);
    whole.max = std::max(whole.max, range ? range->max : kMostRead);
  }
  return emitter.readSymbol(loc, name, whole);
}

bool Regions::isInside(AffineExpr dim, size_t firstSymbol) const {
  return dim
      .walk([&](AffineExpr part) {
        auto symbol = dyn_cast<AffineSymbolExpr>(part);
        return symbol && symbol.getPosition() >= firstSymbol ? WalkResult::interrupt()
                                                             : WalkResult::advance();
      })
      .wasInterrupted();
}

//===- Branches -------------------------------------------------------------------------------===//

RankedTensorType Regions::typeOfEither(Location loc, Value a, Value b, size_t firstSymbol) {
  auto first = llvm::cast<RankedTensorType>(a.getType()),
       second = llvm::cast<RankedTensorType>(b.getType());
  dl::Dims dims;
  for (auto [one, other] : llvm::zip_equal(dl::getDims(first), dl::getDims(second))) {
    bool isKnown = one == other && !isInside(one, firstSymbol);
    dims.push_back(isKnown ? one : readDim(loc, "if_dim", {one, other}));
    if (!dims.back())
      return {};
  }
  return dl::makeTensor(dims, first.getElementType());
}

/// Whether both branches are so cheap that to run both costs less than to ask which.
static bool areCheap(dl::IfOp branch) {
  constexpr unsigned kMostOps = 8;
  unsigned count = 0;
  for (Region &region : branch->getRegions())
    for (Operation &op : region.front().without_terminator()) {
      auto loops = dyn_cast<LoopNestOpInterface>(op);
      if (!isPure(&op) || op.getNumRegions() > 0 || !loops || !loops.getLoopNest().isMap() ||
          ++count > kMostOps)
        return false;
    }
  return llvm::all_of(llvm::seq(branch.getNumResults()), [&](unsigned position) {
    Type type = branch.getResult(position).getType();
    return llvm::all_of(branch->getRegions(), [&](Region &region) {
      return region.front().getTerminator()->getOperand(position).getType() == type;
    });
  });
}

/// Results of branches that are both computed.
static SmallVector<Value> selected(dl::IfOp branch) {
  SmallVector<Value> sides[2];
  for (auto [region, side] : llvm::zip(branch->getRegions(), sides)) {
    Operation *end = region.front().getTerminator();
    side.append(end->operand_begin(), end->operand_end());
    for (Operation &op : llvm::make_early_inc_range(region.front().without_terminator()))
      op.moveBefore(branch);
  }
  dl::Builder b(branch);
  Value condition = branch.getCondition();
  SmallVector<Value> results;
  for (auto [x, y] : llvm::zip_equal(sides[0], sides[1]))
    results.push_back(x == y ? x
                             : b.make<dl::WhereOp>(b.broadcast(condition, dl::dimsOf(x)), x, y));
  branch.erase();
  return results;
}

SmallVector<Value> Regions::finishIf(dl::IfOp draft, ArrayRef<Type> types) {
  auto branch = dl::IfOp::create(builder, draft.getLoc(), types, draft.getCondition());
  for (int i = 0; i < 2; ++i)
    branch->getRegion(i).takeBody(draft->getRegion(i));
  draft.erase();
  return areCheap(branch) ? selected(branch) : SmallVector<Value>(branch.getResults());
}

//===- Loops ----------------------------------------------------------------------------------===//

/// What has been found of a loop's body.
struct Regions::Body {
  size_t firstSymbol;                  // that is known inside alone
  SmallVector<RankedTensorType> types; // of the carried tensors
  // Those whose next one has another rank or dtype, and its type.
  SmallVector<std::pair<size_t, RankedTensorType>> others = {};
  llvm::DenseSet<AffineExpr> varying = {};
  SmallVector<Value> yielded = {};
};

/// A symbol for a dim that is `dim` in the first step.
AffineExpr Regions::vary(Location loc, AffineExpr dim) {
  auto range = dl::rangeOf(dim, dl::symbolRanges(module));
  return emitter.readSymbol(
      loc, "loop_dim",
      {range ? std::max<int64_t>(range->min, 0) : 0, std::max(kMostRead, range ? range->max : 0)});
}

/// Whether no varying dim becomes smaller than its symbol says, which is as in the first step.
/// Where one may, it may be empty.
bool Regions::keepsLeast(const Body &body, ArrayRef<Value> next) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  bool isKept = true;
  for (auto [type, value] : llvm::zip(body.types, next))
    for (auto [inside, dim] : llvm::zip_equal(dl::getDims(type), dl::dimsOf(value))) {
      if (!body.varying.contains(inside))
        continue;
      Symbol &symbol = symbols[llvm::cast<AffineSymbolExpr>(inside).getPosition()];
      auto range = dl::rangeOf(dim, ranges);
      if (range && range->min >= symbol.min)
        continue;
      isKept &= symbol.min == 0;
      symbol.min = 0;
    }
  if (!isKept)
    declareSymbols(module, symbols);
  return isKept;
}

/// The dim that a number of trips is, where it is one; null where the model computes it, or it may
/// be negative.
AffineExpr Regions::countOfTrips(Value trips) const {
  AffineExpr dim;
  if (auto size = trips ? trips.getDefiningOp<dl::ScalarTensorOp>() : dl::ScalarTensorOp())
    dim = size.getS().getResult(0);
  if (auto full = trips ? trips.getDefiningOp<dl::FullOp>() : dl::FullOp())
    if (auto number = llvm::dyn_cast<IntegerAttr>(full.getFill()))
      dim = dl::constantDim(number.getInt(), builder.getContext());
  auto range = dim ? dl::rangeOf(dim, dl::symbolRanges(module)) : std::nullopt;
  return range && range->min >= 0 ? dim : AffineExpr();
}

/// The types of the results, where symbols of the inside are others.
bool Regions::resultTypes(Location loc, const Body &body, Value trips, bool hasCondition,
                          SmallVectorImpl<Type> &outside) {
  size_t carried = body.types.size();
  AffineExpr count = hasCondition ? AffineExpr() : countOfTrips(trips);
  if (!count && body.yielded.size() > 1 + carried)
    count = emitter.readSymbol(loc, "loop_steps", {0, kMostRead});
  for (auto [position, value] : llvm::enumerate(ArrayRef(body.yielded).drop_front())) {
    auto type =
        position < carried ? body.types[position] : llvm::cast<RankedTensorType>(value.getType());
    dl::Dims dims;
    if (position >= carried)
      dims.push_back(count);
    for (AffineExpr dim : dl::getDims(type))
      dims.push_back(isInside(dim, body.firstSymbol) ? readDim(loc, "loop_dim", {dim}) : dim);
    if (llvm::is_contained(dims, AffineExpr()))
      return false;
    outside.push_back(dl::makeTensor(dims, type.getElementType()));
    if (position >= carried)
      dims[0] = dims[0] + 1; // the language gathers by joining one row more
    if (!emitter.fits(dl::makeTensor(dims, type.getElementType()), loc))
      return false;
  }
  return true;
}

bool Regions::varyAt(Location loc, Body &body, dl::Dims &dims, size_t position) {
  dims[position] = vary(loc, dims[position]);
  return dims[position] && body.varying.insert(dims[position]).second;
}

bool Regions::compareNext(Location loc, Body &body, bool &isStable) {
  isStable = true;
  body.others.clear();
  for (auto [index, value] : llvm::enumerate(ArrayRef(body.yielded).slice(1, body.types.size()))) {
    RankedTensorType &type = body.types[index], next = dl::typeOf(value);
    if (next.getRank() != type.getRank() || next.getElementType() != type.getElementType()) {
      isStable = false;
      body.others.emplace_back(index, next);
      continue;
    }
    dl::Dims dims = dl::getDims(type);
    for (auto [position, dim] : llvm::enumerate(dl::getDims(next)))
      if (dims[position] != dim && !body.varying.contains(dims[position])) {
        isStable = false;
        if (!varyAt(loc, body, dims, position))
          return false;
      }
    type = dl::makeTensor(dims, next.getElementType());
  }
  isStable = isStable && keepsLeast(body, ArrayRef(body.yielded).drop_front());
  return true;
}

bool Regions::buildWhile(Location loc, Value trips, Value condition, ArrayRef<Value> initial,
                         BuildBody build, BeginAgain beginAgain, SmallVectorImpl<Value> &results) {
  SmallVector<Value> begin(initial);
  Body body{symbols.size(), {}};
  for (Value value : begin) {
    dl::Dims dims = dl::dimsOf(value);
    for (size_t position = 0; position < dims.size(); ++position)
      if (dl::isConstant(dims[position], 0) && !varyAt(loc, body, dims, position))
        return false; // what is empty grows
    body.types.push_back(dl::makeTensor(dims, dl::typeOf(value).getElementType()));
  }
  dl::WhileOp draft;
  for (bool isStable = false; !isStable;) {
    draft = dl::WhileOp::create(builder, loc, TypeRange(), trips, condition, begin);
    SmallVector<Type> arguments{RankedTensorType::get({}, builder.getI64Type())};
    llvm::append_range(arguments, body.types);
    Block *block = builder.createBlock(&draft.getBody(), {}, arguments,
                                       SmallVector<Location>(arguments.size(), loc));
    builder.setInsertionPointAfter(draft);
    {
      RegionScope scope(emitter, builder, block);
      auto made = build(block->getArgument(0), block->getArguments().drop_front());
      if (!made) {
        draft.erase();
        return false;
      }
      body.yielded = std::move(*made);
      if (!compareNext(loc, body, isStable))
        return false;
      if (!isStable)
        draft.erase();
      else
        dl::YieldOp::create(
            builder, loc, condition ? ArrayRef(body.yielded) : ArrayRef(body.yielded).drop_front());
    }
    for (auto [index, next] : body.others) {
      begin[index] = beginAgain(begin[index], next);
      if (!begin[index])
        return false;
      body.types[index] = dl::typeOf(begin[index]);
    }
  }
  SmallVector<Type> outside;
  if (!resultTypes(loc, body, trips, condition != nullptr, outside))
    return false;
  auto loop = dl::WhileOp::create(builder, loc, outside, trips, condition, begin);
  loop.getBody().takeBody(draft.getBody());
  draft.erase();
  results.assign(loop.getResults().begin(), loop.getResults().end());
  return true;
}

} // namespace dlc::frontend
