//===- LoopStates.cpp - How a Loop keeps its states ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/control/Loops.h"

#include "llvm/Support/SaveAndRestore.h"

using namespace mlir;

namespace dlc::onnx {

/// The body's result that is the state `position` of the next step.
static StringRef nextName(const Graph &body, size_t position) {
  return body.outputs[1 + position].name;
}

/// The name that a chain of Identity nodes of `body` begins with; `name` where there is none.
static StringRef sourceOf(const Graph &body, StringRef name) {
  for (size_t steps = 0; steps <= body.nodes.size(); ++steps) {
    auto maker = llvm::find_if(body.nodes, [&](const Node &node) {
      return node.op == "Identity" && node.domain.empty() && node.inputs.size() == 1 &&
             node.outputs.size() == 1 && node.outputs.front() == name;
    });
    if (maker == body.nodes.end())
      return name;
    name = maker->inputs.front();
  }
  return name;
}

std::vector<StateUse> statesOf(const Graph &body, size_t count,
                               llvm::function_ref<bool(size_t)> isResultRead) {
  llvm::StringSet<> read;
  addNamesRead(body.nodes, read);
  std::vector<StateUse> uses;
  for (size_t position = 0; position < count; ++position) {
    StringRef argument = body.inputs[2 + position].name;
    bool isReturned = llvm::any_of(
        body.outputs, [&](const ValueInfo &output) { return output.name == argument; });
    if (sourceOf(body, nextName(body, position)) == argument)
      uses.push_back(StateUse::Invariant);
    else if (read.contains(argument) || isReturned)
      uses.push_back(StateUse::Carried);
    else
      uses.push_back(isResultRead(position) ? StateUse::Written : StateUse::Unread);
  }
  return uses;
}

bool Importer::isEverRead(StringRef name) {
  if (namesRead.empty()) {
    addNamesRead(file.model().graph.nodes, namesRead);
    for (const ValueInfo &output : file.model().graph.outputs)
      namesRead.insert(output.name);
    for (const Function &function : file.model().functions) {
      addNamesRead(function.nodes, namesRead);
      namesRead.insert(function.outputs.begin(), function.outputs.end());
    }
  }
  return namesRead.contains(name);
}

/// Returns a type for the first value of a state that no step reads, where `result` is the type
/// that a step writes. The symbols from `firstSymbol` on exist inside the loop only; dims of these
/// are 1 instead.
mlir::Type Importer::typeAtStart(RankedTensorType result, size_t firstSymbol) const {
  dl::Dims dims;
  for (AffineExpr dim : dl::getDims(result)) {
    auto isInside = [&](AffineExpr part) {
      auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part);
      return symbol && symbol.getPosition() >= firstSymbol ? WalkResult::interrupt()
                                                           : WalkResult::advance();
    };
    dims.push_back(dim.walk(isInside).wasInterrupted() ? dl::constantDim(1, context) : dim);
  }
  return dl::makeTensor(dims, result.getElementType());
}

bool Importer::needsKinds(const Loop &loop) {
  for (auto [use, value] : llvm::zip_equal(loop.uses, loop.initial)) {
    bool isUnknown = value.sequence && !hasKind(*value.sequence);
    if (use == StateUse::Written || (use == StateUse::Carried && isUnknown))
      return true;
  }
  return false;
}

bool Importer::tryOut(llvm::function_ref<bool()> import) {
  Operation *before = builder.getInsertionPoint() == builder.getInsertionBlock()->begin()
                          ? nullptr
                          : &*std::prev(builder.getInsertionPoint());
  auto made = frontend::copied(emitter->madeForSizes());
  llvm::SaveAndRestore reads(emitter->readsCounts, true);
  llvm::SaveAndRestore inside(trials, trials + 1);
  if (!import())
    return false;
  dropOpsAfter(before);
  emitter->madeForSizes() = made;
  return true;
}

/// Imports a step of the loop for the kinds of its results: those of the sequences that it carries,
/// and in `types` those of what it writes.
bool Importer::importKinds(NodeImport &node, Loop &loop, size_t firstSymbol,
                           MutableArrayRef<Type> types) {
  std::vector<Value> given{knownInteger(0, builder.getI64Type()),
                           knownInteger(1, builder.getI1Type())};
  llvm::append_range(given, loop.initial);
  Frame held;
  openGraph(node, loop.body, held);
  held.isRegion = true;
  auto results = importGraph(loop.body, held, given);
  if (!results)
    return false;
  loop.kinds.resize(loop.states);
  for (size_t i = 0; i < loop.states; ++i) {
    Value &value = (*results)[1 + i];
    bool isWritten = loop.uses[i] == StateUse::Written;
    if (!loop.isCarried(i) || (!value.sequence && !isWritten))
      continue;
    SmallVector<mlir::Value> tensors;
    if (!flatten(node, value, nullptr, tensors))
      return false;
    if (!value.sequence) {
      types[i] = typeAtStart(llvm::cast<RankedTensorType>(tensors[0].getType()), firstSymbol);
      continue;
    }
    ArrayRef<mlir::Value> left = tensors;
    loop.kinds[i] = unflatten(value, left);
    // The types of what is dropped are kept in arguments of no block.
    kindBlock.push_back(std::make_unique<Block>());
    for (mlir::Value &tensor : loop.kinds[i].sequence->tensors)
      tensor = kindBlock.back()->addArgument(tensor.getType(), node.loc);
  }
  return true;
}

/// A step of the loop is built for its results, and dropped: sequences that begin empty get the
/// kind of what they will hold, and what the body does not read begins with any value of the type
/// that it writes.
bool Importer::findKinds(NodeImport &node, Loop &loop) {
  std::vector<Type> types(loop.states);
  size_t firstSymbol = symbols.size();
  if (!tryOut([&] { return importKinds(node, loop, firstSymbol, types); }))
    return false;
  for (size_t i = 0; i < loop.states; ++i)
    if (loop.uses[i] == StateUse::Written && !beginWith(node, loop, i, types[i]))
      return false;
  return true;
}

/// Replaces what the state `position` begins with, which no step reads, by a value of `type`, or by
/// an empty sequence of its kind.
bool Importer::beginWith(NodeImport &node, Loop &loop, size_t position, Type type) {
  Value &initial = loop.initial[position];
  if (!type) {
    if (initial.sequence)
      return true;
    initial = Value();
    initial.sequence = std::make_shared<Sequence>();
    initial.sequence->isOptional = loop.kinds[position].sequence->isOptional;
    loop.mustStep = true;
    return true;
  }
  auto wanted = llvm::cast<RankedTensorType>(type);
  if (!initial.sequence) {
    Item given = itemOf(initial, node);
    if (!given.isTensor())
      return false;
    if (given.tensorType().getRank() == wanted.getRank() &&
        given.tensorType().getElementType() == wanted.getElementType())
      return true;
  }
  Item zeros = node.full(item(int64_t(0)), wanted);
  if (!zeros.isTensor())
    return false;
  initial = Value();
  initial.tensor = zeros.as<mlir::Value>();
  loop.mustStep = true;
  return true;
}

/// Refuses a run in which the loop takes no step: the results of some states have another rank or
/// dtype than what these begin with.
bool Importer::expectStep(NodeImport &node, mlir::Value trips, mlir::Value condition) {
  if (!trips && !condition)
    return true;
  Type i64 = builder.getI64Type();
  Item taken = condition ? node.cast({condition, {}}, i64) : item(int64_t(1));
  if (trips)
    taken = node.call("multiply", {node.call("minimum", {{trips, {}}, item(int64_t(1))}), taken});
  return taken.isTensor() &&
         emitter->read(node.loc, taken.as<mlir::Value>(), "loop_takes_a_step", {1, 1}) &&
         !node.hasFailed();
}

} // namespace dlc::onnx
