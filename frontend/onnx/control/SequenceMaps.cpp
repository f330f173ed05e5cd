//===- SequenceMaps.cpp - SequenceMap of ONNX ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The body is imported once for each element of a sequence that is listed. If no sequence among the
// inputs is, it is that of a dl.while, which appends its results to sequences in tensors.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/control/Loops.h"

using namespace mlir;

namespace dlc::onnx {

/// A SequenceMap: its body and inputs.
struct Importer::SequenceMap {
  const Graph &body;
  std::vector<Value> inputs;
  AffineExpr count; ///< of the elements
  bool isListed;    ///< at least one sequence is
  size_t results;   ///< of the node
};

/// Whether the body takes the elements of `input` one by one.
static bool isMapped(const Value &input) { return input.sequence && !input.sequence->isOptional; }

/// Gives all sequences one length, which a run checks if the model computes some.
bool Importer::agreeOnLengths(NodeImport &node, SequenceMap &map) {
  for (Value &input : map.inputs)
    if (isMapped(input) && input.sequence->isListed()) {
      map.count = countOf(*input.sequence, context);
      map.isListed = true;
    }
  for (Value &input : map.inputs) {
    if (!isMapped(input))
      continue;
    AffineExpr own = countOf(*input.sequence, context);
    if (!node.mayAgree(own, map.count))
      return node.fail("its sequences have different lengths");
    if (input.sequence->isListed() || own == map.count)
      continue;
    input.sequence = std::make_shared<Sequence>(*input.sequence);
    mlir::Value &rows = input.sequence->tensors.back();
    dl::Dims dims = dl::getDims(llvm::cast<RankedTensorType>(rows.getType()));
    dims[0] = map.count;
    Item checked = node.expect({rows, {}}, dims);
    if (!checked.isTensor())
      return false;
    rows = checked.as<mlir::Value>();
  }
  return true;
}

/// Imports the body for the elements at `position`, a number where a sequence is listed. Nothing
/// after an error.
std::optional<std::vector<Value>> Importer::importElement(NodeImport &node, const SequenceMap &map,
                                                          Item position, bool isRegion) {
  std::vector<Value> given;
  for (const Value &input : map.inputs) {
    Value &value = given.emplace_back(input);
    if (!isMapped(input))
      continue;
    if (input.sequence->isListed()) {
      value = input.sequence->elements[position.as<int64_t>()];
      continue;
    }
    Item place = position.isTensor()
                     ? position
                     : node.full(position, RankedTensorType::get({}, builder.getI64Type()));
    auto element = elementAt(node, *input.sequence, place);
    if (!element)
      return std::nullopt;
    value = std::move(*element);
  }
  Frame held;
  openGraph(node, map.body, held);
  held.isRegion = isRegion;
  auto made = importGraph(map.body, held, given);
  if (made && made->size() < map.results) {
    node.fail("its body gives too few results");
    return std::nullopt;
  }
  return made;
}

/// Writes the steps out.
bool Importer::unrollMap(NodeImport &node, const SequenceMap &map) {
  std::vector<Sequence> results(map.results);
  for (int64_t position = 0; position < *dl::asConstant(map.count); ++position) {
    if (!countStep(node, position))
      return false;
    auto made = importElement(node, map, item(position), /*isRegion=*/false);
    if (!made)
      return false;
    for (auto [result, value] : llvm::zip(results, *made))
      result.elements.push_back(std::move(value));
  }
  for (auto [position, result] : llvm::enumerate(results)) {
    Value value;
    value.sequence = std::make_shared<Sequence>(std::move(result));
    node.setValue(position, std::move(value));
  }
  return true;
}

/// The results of the body for the element at `step`, each as a sequence of one; none after an
/// error.
std::vector<Importer::SharedSequence>
Importer::resultsInTensors(NodeImport &node, const SequenceMap &map, Item step) {
  auto made = importElement(node, map, step, /*isRegion=*/true);
  if (!made)
    return {};
  std::vector<SharedSequence> all;
  for (Value &value : llvm::MutableArrayRef(*made).take_front(map.results)) {
    all.push_back(sequenceOfOne(node, value));
    if (!all.back())
      return {};
  }
  return all;
}

bool Importer::importMapLoop(NodeImport &node, const SequenceMap &map) {
  // A step that is dropped tells the kinds of the results.
  std::vector<Value> kinds;
  SmallVector<RankedTensorType> types;
  bool isGood = tryOut([&] {
    Item first = node.full(item(int64_t(0)), RankedTensorType::get({}, builder.getI64Type()));
    for (const SharedSequence &result : resultsInTensors(node, map, first)) {
      llvm::append_range(types, typesOfNone(*result));
      Value &kind = kinds.emplace_back();
      kind.sequence = result;
      llvm::fill(result->tensors, mlir::Value());
    }
    return !kinds.empty();
  });
  Item trips = isGood ? node.count(map.count) : Item{Item::Poison(), {}};
  if (!trips.isTensor())
    return false;
  SmallVector<mlir::Value> initial;
  for (RankedTensorType type : types) {
    Item empty = node.full(item(int64_t(0)), type);
    if (!empty.isTensor())
      return false;
    initial.push_back(empty.as<mlir::Value>());
  }
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    SmallVector<mlir::Value> so(carried.begin(), carried.end()), next{mlir::Value()};
    ArrayRef<mlir::Value> left = so;
    auto results = resultsInTensors(node, map, {step, {}});
    if (results.empty())
      return std::nullopt;
    for (auto [kind, result] : llvm::zip_equal(kinds, results)) {
      auto all = joinedSequences(node, {unflatten(kind, left).sequence, result});
      if (!all)
        return std::nullopt;
      llvm::append_range(next, all->tensors);
    }
    return next;
  };
  SmallVector<mlir::Value> results;
  if (!buildWhile(node, trips.as<mlir::Value>(), {}, initial, build, results))
    return false;
  ArrayRef<mlir::Value> left = results;
  for (auto [position, kind] : llvm::enumerate(kinds))
    node.setValue(position, unflatten(kind, left));
  return !node.hasFailed();
}

/// The body's results for each element, as sequences; other inputs that are sequences go along.
bool Importer::importSequenceMap(NodeImport &node) {
  const Graph *body = graphOf(node, "body");
  auto first = sequenceOf(node, 0);
  if (!body || !first)
    return body ? false : node.fail("it lacks a body");
  SequenceMap map{*body, {}, countOf(*first, context), false, node.node.outputs.size()};
  for (auto [position, name] : llvm::enumerate(node.node.inputs)) {
    Value *value = find(name, node.frame);
    if (!value)
      return node.fail("it needs its input " + llvm::Twine(position));
    map.inputs.push_back(*value);
  }
  if (!agreeOnLengths(node, map))
    return false;
  return map.isListed ? unrollMap(node, map) : importMapLoop(node, map);
}

} // namespace dlc::onnx
