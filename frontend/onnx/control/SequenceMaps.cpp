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

static AffineExpr countOf(const Sequence &sequence, MLIRContext *context) {
  if (sequence.isListed())
    return dl::constantDim(static_cast<int64_t>(sequence.elements.size()), context);
  return dl::getDims(llvm::cast<RankedTensorType>(sequence.shapes.getType()))[0];
}

/// Gives all sequences one length, which a run checks if the model computes some.
bool Importer::agreeOnLengths(NodeImport &node, SequenceMap &map) {
  for (Value &input : map.inputs)
    if (input.sequence && input.sequence->isListed()) {
      map.count = countOf(*input.sequence, context);
      map.isListed = true;
    }
  for (Value &input : map.inputs) {
    if (!input.sequence)
      continue;
    AffineExpr own = countOf(*input.sequence, context);
    if (!node.mayAgree(own, map.count))
      return node.fail("its sequences have different lengths");
    if (input.sequence->isListed() || own == map.count)
      continue;
    Item shapes{input.sequence->shapes, {}};
    shapes = node.expect(shapes, {map.count, dl::getDims(shapes.tensorType())[1]});
    if (!shapes.isTensor())
      return false;
    input.sequence = std::make_shared<Sequence>(*input.sequence);
    input.sequence->shapes = shapes.as<mlir::Value>();
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
    if (!input.sequence)
      continue;
    if (input.sequence->isListed()) {
      value = input.sequence->elements[position.as<int64_t>()];
      continue;
    }
    Item place = position.isTensor()
                     ? position
                     : node.full(position, RankedTensorType::get({}, builder.getI64Type()));
    Item element = elementAt(node, *input.sequence, place);
    if (!element.isTensor())
      return std::nullopt;
    value = Value();
    value.tensor = element.as<mlir::Value>();
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

/// The results of the body for the element at `step`, each as the tensors of a sequence of one.
std::optional<std::vector<std::pair<Item, Item>>>
Importer::encodedResults(NodeImport &node, const SequenceMap &map, Item step) {
  auto made = importElement(node, map, step, /*isRegion=*/true);
  if (!made)
    return std::nullopt;
  std::vector<std::pair<Item, Item>> all;
  for (Value &value : llvm::MutableArrayRef(*made).take_front(map.results)) {
    auto tensors = encoded(node, *std::make_unique<Sequence>(Sequence{{}, {value}}));
    if (!tensors || !tensors->first.isTensor() || !tensors->second.isTensor())
      return std::nullopt;
    all.push_back(*tensors);
  }
  return all;
}

bool Importer::importMapLoop(NodeImport &node, const SequenceMap &map) {
  // A step that is dropped tells the ranks and dtypes of the results.
  std::vector<std::pair<Type, int64_t>> kinds;
  bool isGood = tryOut([&] {
    Item first = node.full(item(int64_t(0)), RankedTensorType::get({}, builder.getI64Type()));
    auto results = encodedResults(node, map, first);
    for (size_t i = 0; results && i < results->size(); ++i)
      kinds.emplace_back((*results)[i].first.tensorType().getElementType(),
                         (*results)[i].second.tensorType().getDimSize(1));
    return results.has_value();
  });
  Item trips = isGood ? node.count(map.count) : Item{Item::Poison(), {}};
  if (!trips.isTensor())
    return false;
  SmallVector<mlir::Value> initial;
  for (auto [dtype, rank] : kinds)
    for (RankedTensorType type : {RankedTensorType::get({0}, dtype),
                                  RankedTensorType::get({0, rank}, builder.getI64Type())}) {
      Item empty = node.full(item(int64_t(0)), type);
      if (!empty.isTensor())
        return false;
      initial.push_back(empty.as<mlir::Value>());
    }
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    auto results = encodedResults(node, map, {step, {}});
    if (!results)
      return std::nullopt;
    SmallVector<mlir::Value> next{mlir::Value()};
    for (auto &[data, shapes] : *results)
      for (const Item &more : {data, shapes}) {
        Item all = node.call(
            "cat", {{Item::List{{carried[next.size() - 1], {}}, more}, {}}, item(int64_t(0))});
        if (!all.isTensor())
          return std::nullopt;
        next.push_back(all.as<mlir::Value>());
      }
    return next;
  };
  SmallVector<mlir::Value> results;
  if (!buildWhile(node, trips.as<mlir::Value>(), {}, initial, build, results))
    return false;
  Value like;
  like.sequence = std::make_shared<Sequence>();
  ArrayRef<mlir::Value> left = results;
  for (size_t position = 0; position < map.results; ++position)
    node.setValue(position, unflatten(like, left));
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
