//===- Loops.cpp - for and while in forward -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop over values that are known at compile time is evaluated once for each. Another one becomes
// a dl.while, which carries what the body assigns to names from before the loop.
//===------------------------------------------------------------------------------------------===//
#include "frontend/HeldReports.h"
#include "frontend/dl/lower/ForwardLowering.h"

#include "llvm/ADT/ScopeExit.h"

using namespace mlir;

namespace dlc::frontend {

//===- What a loop carries --------------------------------------------------------------------===//

/// A name that the body of a loop assigns to.
struct ForwardLowering::Carried {
  StringRef name;
  Item initial;             // tensors, numbers and dims, or lists of these
  SmallVector<Type> dtypes; // of each of these
  unsigned changes = 0;     // of a dtype
};

/// A loop whose steps the running model counts.
struct ForwardLowering::RunningLoop {
  llvm::SMLoc loc;
  ArrayRef<StatementPtr> body;
  const Expr *condition = nullptr;      // of a `while`
  Value trips = {};                     // of a `for`
  const Identifier *variable = nullptr; // of a `for`
  Item begin = {};                      // the first value of the variable
  AssignedNames assigned = {};
  Values before = {};
  llvm::MapVector<StringRef, Lost> lostBefore = {}, lost = {};
  std::vector<Carried> carried = {};
  llvm::DenseSet<StringRef> kept = {};    // what the body leaves as it is
  llvm::DenseSet<StringRef> changed = {}; // what it changes after all
  bool triesNumbers =
      false; // the body is evaluated with the numbers of before, to see whether it changes them
  bool isPlanned = false; // false: the body asks for other carried names or dtypes
  bool hasFailed = false;
};

static bool isCarriable(const Item &item) {
  if (item.is<Item::List>())
    return llvm::all_of(item.as<Item::List>(), isCarriable);
  return item.isTensor() || item.isNumber() || item.isDim();
}

static bool hasPoison(const Item &item) {
  return item.isPoison() ||
         (item.is<Item::List>() && llvm::any_of(item.as<Item::List>(), hasPoison));
}

/// Calls `visit` with each tensor, number or dim.
static void forEachPart(const Item &item, llvm::function_ref<void(const Item &)> visit) {
  if (!item.is<Item::List>())
    return visit(item);
  for (const Item &element : item.as<Item::List>())
    forEachPart(element, visit);
}

static bool hasNumber(const Item &item) {
  bool found = false;
  forEachPart(item, [&](const Item &part) { found |= !part.isTensor(); });
  return found;
}

/// The item with tensors in place of its parts.
static Item ofTensors(const Item &item, ArrayRef<Value> &tensors) {
  if (!item.is<Item::List>()) {
    Item made{tensors.front(), item.loc};
    tensors = tensors.drop_front();
    return made;
  }
  Item::List list;
  for (const Item &element : item.as<Item::List>())
    list.push_back(ofTensors(element, tensors));
  return {std::move(list), item.loc};
}

/// Sets what the loop carries.
void ForwardLowering::planCarried(RunningLoop &loop) {
  std::vector<Carried> earlier = std::exchange(loop.carried, {});
  for (const auto &[name, places] : loop.assigned) {
    auto found = loop.before.find(name);
    if (found == loop.before.end() || loop.lost.contains(name) || loop.kept.contains(name) ||
        (loop.variable && loop.variable->name == name))
      continue;
    bool isTried = loop.triesNumbers && hasNumber(found->second.item);
    if (!isCarriable(found->second.item) || isTried) {
      loop.kept.insert(name); // as long as the body does so
      continue;
    }
    auto known = llvm::find_if(earlier, [&](const Carried &one) { return one.name == name; });
    if (known != earlier.end()) {
      loop.carried.push_back(*known);
      continue;
    }
    Carried carried{name, found->second.item, {}};
    forEachPart(carried.initial,
                [&](const Item &part) { carried.dtypes.push_back(emitter.promote({&part})); });
    loop.carried.push_back(std::move(carried));
  }
}

/// Makes the first values of what is carried. Returns the condition of the first step; null where
/// there is none, or after an error.
Value ForwardLowering::startLoop(RunningLoop &loop, const Item &first,
                                 SmallVectorImpl<Value> &initial) {
  bool hasNumbers = false;
  for (const Carried &carried : loop.carried) {
    size_t begin = initial.size();
    forEachPart(carried.initial, [&](const Item &part) {
      hasNumbers |= !part.isTensor();
      initial.push_back(tensorOf(part, carried.dtypes[initial.size() - begin], part.loc));
      loop.hasFailed |= !initial.back();
    });
    ArrayRef<Value> tensors = ArrayRef(initial).drop_front(begin);
    frame->values[carried.name].item = ofTensors(carried.initial, tensors);
  }
  if (loop.hasFailed || !loop.condition)
    return {};
  // A number that the loop changes is no longer known.
  Item item = hasNumbers ? evaluate(*loop.condition) : first;
  if (item.isTensor())
    return conditionTensor(item, loop.condition->loc);
  if (conditionOf(item, *loop.condition))
    diagnostics.error(loop.condition->loc)
        << "this loop would not end: nothing that it assigns to changes the condition; expected "
           "one of a tensor or number that it assigns to";
  return {};
}

//===- Steps ----------------------------------------------------------------------------------===//

/// Adds the tensors of `next`, what a name is after a step that it began as `inside`. Changes the
/// plan where the loop cannot carry them so.
void ForwardLowering::nextOf(RunningLoop &loop, Carried &carried, const Item &initial,
                             const Item &inside, const Item &next,
                             SmallVectorImpl<Value> &yielded) {
  SmallVector<const Item *> starts, insides, ends;
  forEachPart(initial, [&](const Item &part) { starts.push_back(&part); });
  forEachPart(inside, [&](const Item &part) { insides.push_back(&part); });
  forEachPart(next, [&](const Item &part) { ends.push_back(&part); });
  constexpr unsigned kMostChanges = 8;
  bool isGood = isCarriable(next) && starts.size() == ends.size();
  for (size_t i = 0; isGood && i < ends.size(); ++i) {
    const Item &end = *ends[i];
    auto type = insides[i]->tensorType();
    bool isScalar = type.getRank() == 0 && (!end.isTensor() || end.tensorType().getRank() == 0);
    if (end.isTensor() ? end.tensorType().getElementType() == type.getElementType() &&
                             end.tensorType().getRank() == type.getRank()
                       : isScalar && emitter.promote({insides[i], &end}) == type.getElementType()) {
      yielded.push_back(tensorOf(end, type.getElementType(), end.loc));
      loop.hasFailed |= !yielded.back();
      continue;
    }
    // A number becomes what the loop makes of it.
    Type common = emitter.promote({starts[i], &end});
    isGood = isScalar && !starts[i]->isTensor() && common != type.getElementType() &&
             (!end.isTensor() || common == end.tensorType().getElementType()) &&
             ++carried.changes <= kMostChanges;
    carried.dtypes[i] = common;
    loop.isPlanned = false;
  }
  if (isGood)
    return;
  loop.isPlanned = false;
  loop.lost[carried.name] = {
      "is " + describe(inside, module) + " before a step of a loop and " + describe(next, module) +
          " after it; expected tensors of one rank and dtype: cast or reshape one of them, or give "
          "one another name",
      loop.loc};
}

std::optional<SmallVector<Value>> ForwardLowering::runStep(RunningLoop &loop, Value step,
                                                           ArrayRef<BlockArgument> arguments) {
  frame->values = loop.before;
  frame->lost = loop.lostBefore;
  for (const auto &[name, lost] : loop.lost) {
    frame->values.erase(name);
    frame->lost[name] = lost;
  }
  SmallVector<Value> given(arguments.begin(), arguments.end());
  ArrayRef<Value> left = given;
  std::vector<Item> insides;
  for (const Carried &carried : loop.carried) {
    insides.push_back(ofTensors(carried.initial, left));
    Binding &binding = frame->values[carried.name];
    binding.item = insides.back();
    llvm::append_range(binding.others, loop.assigned[carried.name]);
  }
  unsigned errors = diagnostics.errorCount();
  steps.push_back(step);
  llvm::scope_exit leave([&] { steps.pop_back(); });
  if (loop.variable) {
    llvm::SMLoc loc = loop.variable->loc;
    Item number{step, loc};
    if (!loop.begin.is<int64_t>() || loop.begin.as<int64_t>() != 0)
      number = callOperator("add", loc, {{{}, loc, number}, {{}, loc, loop.begin}});
    assign(*loop.variable, std::move(number));
    usages.erase(loc.getPointer()); // what only counts may go unread
  }
  ++stepDepth;
  runStatements(loop.body);
  --stepDepth;
  loop.isPlanned = true;
  loop.hasFailed |= isOver() || diagnostics.errorCount() > errors;
  if (loop.hasFailed)
    return std::nullopt;
  SmallVector<Value> yielded{Value()};
  for (auto [carried, inside] : llvm::zip_equal(loop.carried, insides)) {
    auto found = frame->values.find(carried.name);
    if (found == frame->values.end()) {
      loop.lost[carried.name] = frame->lost.lookup(carried.name);
      loop.isPlanned = false;
    } else if (hasPoison(found->second.item)) {
      loop.hasFailed = true;
    } else if (areSame(found->second.item, inside) && !loop.changed.contains(carried.name)) {
      loop.kept.insert(carried.name);
      loop.isPlanned = false;
    } else {
      nextOf(loop, carried, carried.initial, inside, found->second.item, yielded);
    }
  }
  for (StringRef name : loop.kept) {
    auto found = frame->values.find(name);
    const Item &before = loop.before.find(name)->second.item;
    if (hasPoison(before) || (found != frame->values.end() && areSame(found->second.item, before)))
      continue;
    loop.changed.insert(name);
    loop.isPlanned = false;
    if (found == frame->values.end())
      loop.lost[name] = frame->lost.lookup(name);
    else if (!isCarriable(before))
      loop.lost[name] = {"is " + describe(before, module) + " before a loop, which assigns " +
                             describe(found->second.item, module) +
                             "; expected tensors of one rank and dtype",
                         loop.loc};
  }
  for (StringRef name : loop.changed)
    loop.kept.erase(name);
  if (loop.hasFailed || !loop.isPlanned)
    return std::nullopt;
  if (loop.condition) {
    Item item = evaluate(*loop.condition);
    if (item.isTensor())
      yielded.front() = conditionTensor(item, loop.condition->loc);
    else if (auto truth = conditionOf(item, *loop.condition))
      yielded.front() = tensorOf({*truth, item.loc}, builder.getI1Type(), loop.condition->loc);
    loop.hasFailed |= !yielded.front();
  }
  return loop.hasFailed ? std::nullopt : std::optional(std::move(yielded));
}

/// As runStep, where numbers are as before the loop. Says nothing of errors: where there are some,
/// numbers are carried.
std::optional<SmallVector<Value>> ForwardLowering::tryStep(RunningLoop &loop, Value step,
                                                           ArrayRef<BlockArgument> arguments) {
  HeldReports held(*context, nullptr);
  auto made = runStep(loop, step, arguments);
  held.stop();
  loop.triesNumbers = false;
  bool isGood = !loop.hasFailed && held.errorCount() == 0;
  if (isGood || isOver()) {
    held.say();
    return made;
  }
  loop.hasFailed = loop.isPlanned = false;
  loop.kept.clear();
  loop.lost.clear();
  return std::nullopt;
}

/// Gives the names their values after the loop.
void ForwardLowering::endLoop(RunningLoop &loop, ArrayRef<Value> results) {
  frame->values = loop.before;
  frame->lost = loop.lostBefore;
  for (const auto &[name, places] : loop.assigned) {
    if (loop.variable && loop.variable->name == name) {
      frame->values.erase(name);
      frame->lost[name] = {"counts the steps of a loop, which may take none; assign it to a name "
                           "from before the loop",
                           loop.loc};
    } else if (!loop.before.contains(name)) {
      frame->lost[name] = {"is assigned in a loop alone, which may take no step; assign to it "
                           "before the loop, too",
                           loop.loc};
    }
  }
  for (const auto &[name, lost] : loop.lost) {
    frame->values.erase(name);
    frame->lost[name] = lost;
  }
  for (const Carried &carried : loop.carried) {
    Binding &binding = frame->values[carried.name];
    binding.item = ofTensors(carried.initial, results);
    llvm::append_range(binding.others, loop.assigned[carried.name]);
  }
}

/// `first` is the condition as it is before the loop.
void ForwardLowering::runSteps(RunningLoop &loop, const Item &first) {
  loop.assigned = assignedNames(loop.body);
  if (loop.variable)
    loop.assigned[loop.variable->name].push_back(loop.variable->loc);
  loop.before = frame->values;
  loop.lostBefore = frame->lost;
  // What is noted for editors and reports is that of the last time.
  SourceIndex *index = diagnostics.index;
  size_t mentions = index ? index->mentions.size() : 0;
  SmallVector<size_t> outputs;
  for (size_t i = 0; index && i < index->layers.size(); ++i)
    outputs.push_back(index->layers[i].outputs.size());
  auto build = [&](Value step, ArrayRef<BlockArgument> carried) {
    if (index)
      index->mentions.resize(mentions);
    for (auto [position, count] : llvm::enumerate(outputs))
      index->layers[position].outputs.resize(count);
    return loop.triesNumbers ? tryStep(loop, step, carried) : runStep(loop, step, carried);
  };
  auto beginAgain = [](Value, RankedTensorType) -> Value {
    llvm_unreachable("the plan has the types of the next step");
  };
  // A condition of numbers alone is one of numbers that the body changes.
  loop.triesNumbers = !loop.condition || first.isTensor();
  SmallVector<Value> results;
  do {
    frame->values = loop.before;
    planCarried(loop);
    SmallVector<Value> initial;
    Value condition = startLoop(loop, first, initial);
    loop.hasFailed |= loop.condition && !condition;
    loop.isPlanned = true;
    if (!loop.hasFailed && !regions.buildWhile(diagnostics.translate(loop.loc), loop.trips,
                                               condition, initial, build, beginAgain, results))
      loop.hasFailed |= loop.isPlanned;
  } while (!loop.hasFailed && !loop.isPlanned);
  if (!loop.hasFailed)
    return endLoop(loop, results);
  frame->values = loop.before;
  frame->lost = loop.lostBefore;
  poisonAll(loop.assigned);
}

//===- Statements -----------------------------------------------------------------------------===//

void ForwardLowering::runWhile(const WhileStatement &loop) {
  Item item = evaluate(*loop.condition);
  std::optional<bool> truth = true;
  if (!item.isTensor())
    truth = conditionOf(item, *loop.condition);
  if (!truth)
    return poisonAll(assignedNames(loop.body));
  if (!*truth)
    return;
  RunningLoop running{loop.loc, loop.body, loop.condition.get()};
  runSteps(running, item);
}

void ForwardLowering::runLoop(const LoopStatement &loop) {
  if (!loop.head.iterable)
    return runRange(loop);
  auto values = evaluateLoop(loop.head);
  if (!values)
    return;
  const Identifier &name = loop.head.variable;
  for (Item &value : *values) {
    if (isOver())
      return;
    assign(name, std::move(value));
    usages.erase(name.loc.getPointer()); // what only counts may go unread
    runStatements(loop.body);
  }
}

Value ForwardLowering::boundOf(const Item &item) {
  Type dtype = builder.getI64Type();
  if (!item.isTensor())
    return tensorOf(item, dtype, item.loc);
  Location loc = diagnostics.translate(item.loc);
  Value flat = item.tensorType().getRank() == 0 ? item.as<Value>()
                                                : emitter.reshape(loc, item.as<Value>(), {});
  return flat ? emitter.cast(loc, flat, dtype) : Value();
}

void ForwardLowering::runRange(const LoopStatement &loop) {
  const LoopHead &head = loop.head;
  if (!head.begin || !head.end) // could not be read, which has been reported
    return;
  Item bounds[2] = {evaluate(*head.begin), evaluate(*head.end)};
  for (Item &bound : bounds) {
    auto isOne = [&](RankedTensorType type) {
      return !isa<FloatType>(type.getElementType()) && !type.getElementType().isInteger(1) &&
             dl::isConstant(dl::product(dl::getDims(type), context), 1);
    };
    if (bound.isDim() || (bound.isTensor() && isOne(bound.tensorType())))
      continue;
    const Expr &expr = &bound == bounds ? *head.begin : *head.end;
    if (!bound.isPoison())
      diagnostics.error(expr.loc) << "a bound of a loop is " << describe(bound, diagnostics.module)
                                  << "; expected an integer";
    AssignedNames assigned = assignedNames(loop.body);
    assigned[head.variable.name].push_back(head.variable.loc);
    return poisonAll(assigned);
  }
  const Item &begin = bounds[0], &end = bounds[1];
  AffineExpr length = begin.isDim() && end.isDim()
                          ? dl::normalize(end.asDim(context) - begin.asDim(context))
                          : AffineExpr();
  if (auto count = length ? dl::asConstant(length) : std::nullopt) {
    // Before the work for them is done.
    if (*count > 0 && !budget.spend(static_cast<uint64_t>(*count), head.variable.loc, diagnostics))
      return;
    for (int64_t step = 0; step < *count && !isOver(); ++step) {
      assign(head.variable,
             Item::dim(dl::normalize(begin.asDim(context) + step), head.variable.loc));
      usages.erase(head.variable.loc.getPointer()); // what only counts may go unread
      runStatements(loop.body);
    }
    return;
  }
  RunningLoop running{loop.loc, loop.body};
  running.variable = &head.variable;
  running.begin = begin;
  if (length) {
    running.trips = boundOf(Item::dim(length, begin.loc));
  } else {
    Value first = boundOf(begin), last = boundOf(end);
    Item trips{last, end.loc};
    if (first && last && (!begin.is<int64_t>() || begin.as<int64_t>() != 0))
      trips = callOperator("sub", begin.loc,
                           {{{}, begin.loc, trips}, {{}, begin.loc, {first, begin.loc}}});
    if (!first || !last)
      return poisonAll(assignedNames(loop.body));
    running.trips = trips.isTensor() ? trips.as<Value>() : Value();
  }
  if (!running.trips)
    return poisonAll(assignedNames(loop.body));
  runSteps(running, {});
}

} // namespace dlc::frontend
