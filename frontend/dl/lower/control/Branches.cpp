//===- Branches.cpp - if in forward -------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A condition that is known at compile time chooses the statements that are evaluated. One that the
// model computes becomes a dl.if, and what its arms assign is joined after it.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Arithmetic.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/dl/lower/control/AssignedNames.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace dlc::frontend {

//===- Values that are one of two -------------------------------------------------------------===//

bool ForwardLowering::areSame(const Item &a, const Item &b) {
  if (a.value.index() != b.value.index())
    return false;
  return std::visit(
      [&](const auto &value) {
        using T = std::decay_t<decltype(value)>;
        const T &other = b.as<T>();
        if constexpr (std::is_same_v<T, Item::None> || std::is_same_v<T, Item::Poison>)
          return true;
        else if constexpr (std::is_same_v<T, LayerRef>)
          return value.instance == other.instance && value.path == other.path;
        else if constexpr (std::is_same_v<T, Item::List>)
          return llvm::equal(value, other, areSame);
        else
          return value == other;
      },
      a.value);
}

static bool isList(const Item &a, const Item &b) {
  return a.is<Item::List>() && b.is<Item::List>() &&
         a.as<Item::List>().size() == b.as<Item::List>().size();
}

bool ForwardLowering::areAlike(const Item &a, const Item &b) {
  if (areSame(a, b) || a.isPoison() || b.isPoison())
    return true;
  if (isList(a, b))
    return llvm::all_of(llvm::zip_equal(a.as<Item::List>(), b.as<Item::List>()),
                        [&](auto pair) { return areAlike(std::get<0>(pair), std::get<1>(pair)); });
  Type common = emitter.promote({&a, &b});
  auto becomes = [&](const Item &item, const Item &other) {
    int64_t rank = other.isTensor() ? other.tensorType().getRank() : 0;
    return item.isTensor() ? item.tensorType().getElementType() == common &&
                                 (!other.isTensor() || item.tensorType().getRank() == rank)
                           : (item.isNumber() || item.isDim()) && rank == 0;
  };
  return becomes(a, b) && becomes(b, a);
}

/// The values of two branches that differ, in the order of the items.
struct ForwardLowering::Pairs {
  SmallVector<std::pair<const Item *, const Item *>> list;

  void add(const Item &a, const Item &b) {
    if (areSame(a, b) || a.isPoison() || b.isPoison())
      return;
    if (!isList(a, b))
      return list.push_back({&a, &b});
    for (auto [x, y] : llvm::zip_equal(a.as<Item::List>(), b.as<Item::List>()))
      add(x, y);
  }
  /// The items with results in place of the pairs.
  static Item replaced(const Item &a, const Item &b, ArrayRef<Value> &results) {
    if (areSame(a, b) || a.isPoison())
      return a;
    if (b.isPoison())
      return b;
    if (!isList(a, b)) {
      Item made{results.front(), a.loc};
      results = results.drop_front();
      return made;
    }
    Item::List made;
    for (auto [x, y] : llvm::zip_equal(a.as<Item::List>(), b.as<Item::List>()))
      made.push_back(replaced(x, y, results));
    return {std::move(made), a.loc};
  }
};

Value ForwardLowering::tensorOf(const Item &item, Type dtype, llvm::SMLoc loc) {
  if (item.isTensor())
    return item.as<Value>();
  return emitter.full(diagnostics.translate(loc), item, dl::makeTensor({}, dtype));
}

std::optional<Item::List> ForwardLowering::joinBranches(dl::IfOp draft, size_t firstSymbol,
                                                        const Item::List &a, const Item::List &b) {
  Pairs pairs;
  for (auto [x, y] : llvm::zip_equal(a, b))
    pairs.add(x, y);
  SmallVector<Value> yielded[2];
  for (int side = 0; side < 2; ++side) {
    RegionScope scope(emitter, builder, &draft->getRegion(side).front());
    for (auto [x, y] : pairs.list) {
      yielded[side].push_back(
          tensorOf(side == 0 ? *x : *y, emitter.promote({x, y}), (side == 0 ? x : y)->loc));
      if (!yielded[side].back())
        return std::nullopt;
    }
    dl::YieldOp::create(builder, draft.getLoc(), yielded[side]);
  }
  SmallVector<Type> types;
  for (auto [x, y] : llvm::zip_equal(yielded[0], yielded[1])) {
    types.push_back(regions.typeOfEither(draft.getLoc(), x, y, firstSymbol));
    if (!types.back())
      return std::nullopt;
  }
  SmallVector<Value> results = regions.finishIf(draft, types);
  ArrayRef<Value> left = results;
  Item::List joined;
  for (auto [x, y] : llvm::zip_equal(a, b))
    joined.push_back(Pairs::replaced(x, y, left));
  return joined;
}

//===- Statements -----------------------------------------------------------------------------===//

Value ForwardLowering::conditionTensor(const Item &item, llvm::SMLoc loc) {
  auto type = item.tensorType();
  bool isOne = dl::isConstant(dl::product(dl::getDims(type), context), 1);
  if (!isOne || !type.getElementType().isInteger(1)) {
    diagnostics.error(loc) << "a condition is " << describe(item, diagnostics.module)
                           << "; expected one bool"
                           << (!isOne ? ", as any(x) or all(x) give it. Use where(condition, a, b) "
                                        "to choose among elements"
                                      : ", as in x != 0");
    return {};
  }
  return type.getRank() == 0 ? item.as<Value>()
                             : emitter.reshape(diagnostics.translate(loc), item.as<Value>(), {});
}

void ForwardLowering::poisonAll(const AssignedNames &assigned) {
  for (const auto &[name, places] : assigned) {
    frame->lost.erase(name);
    frame->values[name] = {poison(places.front()), places.front()};
  }
}

bool ForwardLowering::reportLost(StringRef name, llvm::SMLoc loc) {
  auto found = frame->lost.find(name);
  if (found == frame->lost.end())
    return false;
  diagnostics.error(loc)
          .append(quote(name), " ", found->second.why)
          .attachNote(diagnostics.translate(found->second.loc))
      << "here";
  return true;
}

void ForwardLowering::runArms(Arms arms, llvm::SMLoc loc) {
  if (arms.empty() || !descend(loc))
    return;
  llvm::scope_exit leave([&] { ascend(); });
  for (; !arms.empty(); arms = arms.drop_front()) {
    const BranchStatement::Arm &arm = arms.front();
    if (!arm.condition)
      return runStatements(arm.body);
    Item item = evaluate(*arm.condition);
    if (item.isTensor()) {
      if (Value condition = conditionTensor(item, arm.condition->loc))
        return runTakenArm(condition, arms, loc);
      return poisonAll(assignedNames(arms));
    }
    auto truth = conditionOf(item, *arm.condition);
    if (!truth)
      return poisonAll(assignedNames(arms));
    if (*truth)
      return runStatements(arm.body);
  }
}

void ForwardLowering::runTakenArm(Value condition, Arms arms, llvm::SMLoc loc) {
  AssignedNames assigned = assignedNames(arms);
  size_t firstSymbol = model.symbols.size();
  auto draft = dl::IfOp::create(builder, diagnostics.translate(loc), TypeRange(), condition);
  const Values before = frame->values;
  const auto lostBefore = frame->lost;
  Values values[2];
  llvm::MapVector<StringRef, Lost> lost[2];
  for (int side = 0; side < 2; ++side) {
    Block *block = builder.createBlock(&draft->getRegion(side));
    builder.setInsertionPointAfter(draft);
    RegionScope scope(emitter, builder, block);
    ++stepDepth;
    if (side == 0)
      runStatements(arms.front().body);
    else
      runArms(arms.drop_front(), loc);
    --stepDepth;
    values[side] = std::exchange(frame->values, before);
    lost[side] = std::exchange(frame->lost, lostBefore);
  }
  if (isOver())
    return;
  Item::List sides[2];
  SmallVector<Binding> bindings;
  SmallVector<StringRef> joinedNames;
  for (const auto &[name, places] : assigned) {
    auto a = values[0].find(name), b = values[1].find(name);
    bool isInFirst = a != values[0].end(), isInSecond = b != values[1].end();
    frame->lost.erase(name);
    if (isInFirst && isInSecond && areAlike(a->second.item, b->second.item)) {
      Binding binding{{}, a->second.loc, a->second.others};
      binding.others.push_back(b->second.loc);
      llvm::append_range(binding.others, b->second.others);
      bindings.push_back(std::move(binding));
      joinedNames.push_back(name);
      sides[0].push_back(a->second.item);
      sides[1].push_back(b->second.item);
      continue;
    }
    frame->values.erase(name);
    if (isInFirst && isInSecond) {
      frame->lost[name] = {"is " + describe(a->second.item, module) + " or " +
                               describe(b->second.item, module) +
                               ", as the branch of an 'if' says that was taken; expected tensors "
                               "of one rank and dtype: cast or reshape one of them",
                           loc};
      continue;
    }
    auto inner = llvm::find_if(lost, [&](const auto &side) { return side.contains(name); });
    if (inner != std::end(lost))
      frame->lost[name] = inner->lookup(name);
    else if (isInFirst || isInSecond)
      frame->lost[name] = {"is assigned in one branch of an 'if' alone; assign to it in each of "
                           "the branches, or before the 'if'",
                           loc};
  }
  auto joined = joinBranches(draft, firstSymbol, sides[0], sides[1]);
  for (auto [position, name] : llvm::enumerate(joinedNames)) {
    bindings[position].item = joined ? (*joined)[position] : poison(bindings[position].loc);
    frame->values[name] = std::move(bindings[position]);
  }
}

Item ForwardLowering::chooseByTensor(const ConditionalExpr &expr, const Item &condition) {
  Value choice = conditionTensor(condition, expr.condition->loc);
  if (!choice)
    return poison(expr.loc);
  size_t firstSymbol = model.symbols.size();
  auto draft = dl::IfOp::create(builder, diagnostics.translate(expr.loc), TypeRange(), choice);
  Item sides[2];
  for (int side = 0; side < 2; ++side) {
    Block *block = builder.createBlock(&draft->getRegion(side));
    builder.setInsertionPointAfter(draft);
    RegionScope scope(emitter, builder, block);
    ++stepDepth;
    sides[side] = evaluate(side == 0 ? *expr.value : *expr.otherwise);
    --stepDepth;
    if (sides[side].isPoison())
      return poison(expr.loc);
  }
  if (!areAlike(sides[0], sides[1])) {
    diagnostics.error(expr.loc) << "this is " << describe(sides[0], module) << " or "
                                << describe(sides[1], module)
                                << ", as its condition says; expected tensors of one rank and "
                                   "dtype: cast or reshape one of them";
    return poison(expr.loc);
  }
  auto joined = joinBranches(draft, firstSymbol, {sides[0]}, {sides[1]});
  return joined ? std::move(joined->front()).at(expr.loc) : poison(expr.loc);
}

/// Whether a dim of the result is a size that is read. Then `size(y, 0)` needs the branch, though
/// it does not use the tensor y.
static bool givesReadSize(Value result, ArrayRef<Symbol> symbols) {
  return llvm::any_of(dl::getDims(cast<RankedTensorType>(result.getType())), [&](AffineExpr dim) {
    auto symbol = dyn_cast<AffineSymbolExpr>(dim);
    return symbol && symbols[symbol.getPosition()].isRead;
  });
}

/// Drops the results of branches that nothing reads. They are names that each arm assigns and that
/// no line after the branch uses.
void ForwardLowering::dropUnusedResults(func::FuncOp function) {
  SmallVector<dl::IfOp> branches, empty;
  function.walk([&](dl::IfOp branch) { branches.push_back(branch); });
  for (dl::IfOp branch : llvm::reverse(branches)) { // what reads others before these
    llvm::BitVector unused(branch.getNumResults());
    for (OpResult result : branch.getResults())
      if (result.use_empty() && !givesReadSize(result, model.symbols))
        unused.set(result.getResultNumber());
    if (unused.none())
      continue;
    SmallVector<Value> kept;
    for (OpResult result : branch.getResults())
      if (!unused.test(result.getResultNumber()))
        kept.push_back(result);
    for (Region &region : branch->getRegions())
      region.front().getTerminator()->eraseOperands(unused);
    OpBuilder at(branch);
    auto smaller =
        dl::IfOp::create(at, branch.getLoc(), TypeRange(ValueRange(kept)), branch.getCondition());
    for (int side = 0; side < 2; ++side)
      smaller->getRegion(side).takeBody(branch->getRegion(side));
    for (auto [from, to] : llvm::zip_equal(kept, smaller.getResults()))
      from.replaceAllUsesWith(to);
    branch.erase();
    if (kept.empty())
      empty.push_back(smaller);
  }
  for (dl::IfOp branch : llvm::reverse(empty)) // the inner ones first
    branch.erase();
}

} // namespace dlc::frontend
