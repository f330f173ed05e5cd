//===- Loops.cpp - Loop of ONNX -----------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Loop of few steps, whose number is known, is imported once for each; another one is a dl.while.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/control/Loops.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dlc::onnx {

Value knownInteger(int64_t number, Type dtype) {
  Value value;
  value.known = Known{dtype, {}, {{dl::constantDim(number, dtype.getContext())}}};
  return value;
}

/// Whether a value is known to be true or false; nothing where the model computes it.
std::optional<bool> Importer::truthOf(Value &value) {
  const Known *held = known(value);
  auto truth = held ? held->integers() : std::nullopt;
  return truth && truth->size() == 1 ? std::optional(truth->front() != 0) : std::nullopt;
}

/// Imports each step of a loop. Nothing where the model computes whether a step is taken: then no
/// op is left of it.
std::optional<bool> Importer::unrollLoop(NodeImport &node, const Loop &loop) {
  size_t states = loop.states;
  Value condition = loop.condition;
  std::vector<Value> state = loop.initial;
  Operation *before = builder.getInsertionPoint() == builder.getInsertionBlock()->begin()
                          ? nullptr
                          : &*std::prev(builder.getInsertionPoint());
  auto made = frontend::copied(emitter->madeForSizes());
  size_t counts = emitter->countedSizes();
  llvm::SaveAndRestore inside(trials, trials + 1);
  Frame held;
  openGraph(node, loop.body, held);
  held.isRegion = true;
  std::vector<std::vector<Item>> gathered(loop.gathered());
  auto takeStep = [&](int64_t step) -> std::optional<std::vector<Value>> {
    std::vector<Value> given{knownInteger(step, builder.getI64Type()), condition};
    given.insert(given.end(), state.begin(), state.end());
    return importGraph(loop.body, held, given);
  };
  auto gather = [&](std::vector<Value> &results) {
    for (size_t i = 0; i < gathered.size(); ++i) {
      gathered[i].push_back(itemOf(results[1 + states + i], node));
      if (!gathered[i].back().isTensor())
        return false;
    }
    return true;
  };
  for (int64_t step = 0; step < *loop.trips; ++step) {
    auto truth = truthOf(condition);
    if (!truth || (*truth && step >= kMaxSteps)) {
      dropOpsAfter(before);
      emitter->madeForSizes() = made;
      if (emitter->countedSizes() == counts)
        return std::nullopt;
      return readCounts(); // what was counted is gone
    }
    if (!*truth)
      break;
    if (!countStep(node, step))
      return false;
    auto results = takeStep(step);
    if (!results || !gather(*results))
      return false;
    condition = results->front();
    std::copy_n(results->begin() + 1, states, state.begin());
  }
  bool isGathered = llvm::any_of(llvm::seq<size_t>(0, gathered.size()),
                                 [&](size_t i) { return node.wants(states + i); });
  bool isEmpty = isGathered && gathered.front().empty();
  if (isEmpty) { // a step that is not taken says what it would give
    auto results = countStep(node, 0) ? takeStep(0) : std::nullopt;
    if (!results || !gather(*results))
      return false;
  }
  for (size_t i = 0; i < states; ++i)
    node.setValue(i, std::move(state[i]));
  for (size_t i = 0; i < gathered.size(); ++i)
    if (node.wants(states + i))
      node.set(states + i, stacked(node, gathered[i], 0, isEmpty));
  return !node.hasFailed();
}

//===- Loops that run -------------------------------------------------------------------------===//

/// A value as tensors of the flow: one, or those of a sequence, which is in tensors from here on.
/// False after an error.
bool Importer::flatten(NodeImport &node, Value &value, const Sequence *like,
                       SmallVectorImpl<mlir::Value> &tensors) {
  if (!value.sequence) {
    Item tensor = itemOf(value, node);
    if (tensor.isTensor())
      tensors.push_back(tensor.as<mlir::Value>());
    return tensor.isTensor();
  }
  value.sequence = inTensors(node, *value.sequence, like);
  if (!value.sequence)
    return false;
  llvm::append_range(tensors, value.sequence->tensors);
  return true;
}

Value unflatten(const Value &like, ArrayRef<mlir::Value> &tensors) {
  Value value;
  if (!like.sequence) {
    value.tensor = tensors.front();
    tensors = tensors.drop_front();
    return value;
  }
  size_t count = like.sequence->tensors.size();
  value.sequence = std::make_shared<Sequence>(*like.sequence);
  llvm::copy(tensors.take_front(count), value.sequence->tensors.begin());
  tensors = tensors.drop_front(count);
  return value;
}

/// Imports the body of a dl.while, where `given` are the values of its inputs. Returns those of its
/// results for which `isKept` is true, as tensors; nothing after an error.
std::optional<SmallVector<mlir::Value>>
Importer::importBody(NodeImport &node, const Graph &graph, ArrayRef<Value> given,
                     std::optional<bool> &goesOn, llvm::function_ref<bool(size_t)> isKept) {
  Frame held;
  openGraph(node, graph, held);
  held.isRegion = true;
  auto found = importGraph(graph, held, given);
  if (!found)
    return std::nullopt;
  goesOn = truthOf(found->front());
  SmallVector<mlir::Value> tensors;
  for (auto [position, value] : llvm::enumerate(*found)) {
    // The next value of a state, which is one place after its result among the inputs.
    const Sequence *like =
        position + 1 < given.size() ? given[position + 1].sequence.get() : nullptr;
    if (isKept(position) && !flatten(node, value, like, tensors))
      return std::nullopt;
  }
  return tensors;
}

static bool hasOneElement(RankedTensorType type) {
  return type.hasStaticShape() && type.getNumElements() == 1;
}

/// As Regions::buildWhile. Sets the results.
bool Importer::buildWhile(NodeImport &node, mlir::Value trips, mlir::Value condition,
                          ArrayRef<mlir::Value> initial, const BuildBody &build,
                          SmallVectorImpl<mlir::Value> &results) {
  // A body is built again with other ranges of its dims, for which its sizes are others.
  auto derived = derivedSizes;
  auto buildStep = [&](mlir::Value step,
                       ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    llvm::SaveAndRestore inside(regions, regions + 1);
    derivedSizes = derived;
    steps.push_back(step);
    llvm::scope_exit leave([&] { steps.pop_back(); });
    return countStep(node, 0) ? build(step, carried) : std::nullopt;
  };
  llvm::SmallPtrSet<mlir::Value, 4> reshaped;
  // One element keeps its value in any rank; what the loop gives has the rank of a step's result.
  auto beginAgain = [&](mlir::Value first, RankedTensorType wanted) {
    auto type = llvm::cast<RankedTensorType>(first.getType());
    if (type.getElementType() == wanted.getElementType() && hasOneElement(type) &&
        hasOneElement(wanted) && !reshaped.contains(first) && expectStep(node, trips, condition)) {
      mlir::Value begin = emitter->reshape(node.loc, first, dl::getDims(wanted));
      reshaped.insert(begin);
      return begin;
    }
    node.unsupported("its body takes " + dl::text(first) + " and gives " +
                         dl::text(wanted, module) + " for the next step",
                     "; dlc takes loops that keep rank and dtype");
    return mlir::Value();
  };
  std::string problem; // of the loop itself: nodes of its body have reported theirs
  size_t before = errors;
  ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error || errors != before)
      return failure();
    problem = diagnostic.str();
    return success();
  });
  bool isBuilt =
      frontend::Regions(*emitter, builder, symbols, module)
          .buildWhile(node.loc, trips, condition, initial, buildStep, beginAgain, results);
  return isBuilt || (!problem.empty() && node.fail(problem));
}

bool Importer::importWhile(NodeImport &node, Loop &loop) {
  Type i64 = builder.getI64Type();
  mlir::Value trips, condition;
  if (!loop.trips || *loop.trips != INT64_MAX) {
    Item count = node.cast(node.reshape(node.tensor(0), {}), i64);
    if (!count.isTensor())
      return false;
    trips = count.as<mlir::Value>();
  }
  if (truthOf(loop.condition) != true) {
    Item given = node.reshape(itemOf(loop.condition, node), {});
    if (!given.isTensor())
      return false;
    condition = given.as<mlir::Value>();
  }
  if ((needsKinds(loop) && !findKinds(node, loop)) ||
      (loop.mustStep && !expectStep(node, trips, condition)))
    return false;
  SmallVector<mlir::Value> initial;
  for (size_t state = 0; state < loop.states; ++state) {
    const Sequence *kind = loop.kinds.empty() ? nullptr : loop.kinds[state].sequence.get();
    if (loop.isCarried(state) && !flatten(node, loop.initial[state], kind, initial))
      return false;
  }
  bool isAlwaysTrue = true;
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    std::vector<Value> given(2);
    given[0].tensor = step;
    given[1] = knownInteger(1, builder.getI1Type());
    SmallVector<mlir::Value> tensors(carried.begin(), carried.end());
    ArrayRef<mlir::Value> left = tensors;
    for (auto [state, value] : llvm::enumerate(loop.initial))
      given.push_back(loop.isCarried(state) ? unflatten(value, left) : value);
    std::optional<bool> goesOn;
    auto results = importBody(node, loop.body, given, goesOn, [&](size_t result) {
      return result == 0 || result > loop.states || loop.isCarried(result - 1);
    });
    if (!results)
      return std::nullopt;
    isAlwaysTrue = goesOn == true;
    Item truth = node.reshape({results->front(), {}}, {});
    if (!truth.isTensor())
      return std::nullopt;
    results->front() = truth.as<mlir::Value>();
    return results;
  };
  SmallVector<mlir::Value> results;
  if (!trips && !node.has(1))
    return node.fail("it has no number of steps and no condition; it would not end");
  // A condition that is true at first, or not given, and computed in the body.
  if (!condition) {
    Value known = knownInteger(1, builder.getI1Type());
    Item truth = itemOf(known, node);
    condition = truth.isTensor() ? truth.as<mlir::Value>() : mlir::Value();
  }
  if (!buildWhile(node, trips, condition, initial, build, results))
    return false;
  if (isAlwaysTrue && condition)
    if (auto made = results.empty() ? dl::WhileOp() : results.front().getDefiningOp<dl::WhileOp>();
        made && trips)
      dropCondition(made);
  ArrayRef<mlir::Value> left = results;
  for (size_t state = 0; state < loop.states; ++state)
    node.setValue(state, loop.isCarried(state) ? unflatten(loop.initial[state], left)
                                               : std::move(loop.initial[state]));
  for (size_t position = loop.states; !left.empty(); ++position)
    node.setValue(position, unflatten(Value(), left));
  return !node.hasFailed();
}

/// A loop whose body always goes on needs no condition but the first.
void Importer::dropCondition(dl::WhileOp loop) {
  Operation *first = loop.getCondition().getDefiningOp();
  auto full = llvm::dyn_cast_or_null<dl::FullOp>(first);
  auto truth = full ? llvm::dyn_cast<IntegerAttr>(full.getFill()) : IntegerAttr();
  if (!truth || truth.getValue().isZero())
    return;
  loop.getConditionMutable().clear();
  loop.getBodyBlock().getTerminator()->eraseOperand(0);
}

/// Inputs: the number of steps and the condition, either absent, then the state.
bool Importer::importLoop(NodeImport &node) {
  const Graph *body = graphOf(node, "body");
  if (!body)
    return node.fail("it lacks a body");
  size_t states = node.node.inputs.size() > 2 ? node.node.inputs.size() - 2 : 0;
  if (body->inputs.size() != states + 2 || body->outputs.size() < states + 1)
    return node.fail("its body takes " + llvm::Twine(body->inputs.size()) + " values and gives " +
                     llvm::Twine(body->outputs.size()) + " for " + llvm::Twine(states) +
                     " states; expected two more taken, and one more given or above");
  if (auto isGood = importEmbeddingBags(node, *body))
    return *isGood;
  Loop loop{*body, states, INT64_MAX, knownInteger(1, builder.getI1Type()), {}};
  if (node.has(0)) {
    const Known *count = node.known(0);
    auto numbers = count ? count->integers() : std::nullopt;
    if (numbers && numbers->size() != 1)
      return node.fail("its number of steps is no single number");
    loop.trips = numbers ? std::optional(numbers->front()) : std::nullopt;
  }
  if (node.has(1))
    loop.condition = *find(node.node.inputs[1], node.frame);
  loop.initial.resize(states);
  for (size_t i = 0; i < states; ++i)
    if (Value *given = find(node.node.inputs[2 + i], node.frame))
      loop.initial[i] = *given;
  loop.uses = statesOf(*body, states,
                       [&](size_t i) { return node.wants(i) && isEverRead(node.node.outputs[i]); });
  auto nodes = static_cast<int64_t>(std::max<size_t>(body->nodes.size(), 1));
  bool isShort = loop.trips && (*loop.trips == INT64_MAX ||
                                (*loop.trips <= kMaxSteps && *loop.trips <= kMostUnrolled / nodes));
  if (isShort && truthOf(loop.condition))
    if (auto isGood = unrollLoop(node, loop))
      return *isGood;
  return importWhile(node, loop);
}

} // namespace dlc::onnx
