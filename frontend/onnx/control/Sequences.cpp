//===- Sequences.cpp - Sequences and optionals of ONNX ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence is a list at import as long as its length and the positions are known; nothing is left
// of it in the model. In a loop, and where the model computes a position, it becomes tensors. An
// optional is a sequence of at most one element.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/control/Regions.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::onnx {

bool isSequenceOp(StringRef op) {
  return llvm::StringSwitch<bool>(op)
      .Cases({"SequenceEmpty", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt",
              "SequenceLength", "SplitToSequence", "ConcatFromSequence", "SequenceMap"},
             true)
      .Cases({"Optional", "OptionalHasElement", "OptionalGetElement"}, true)
      .Default(false);
}

std::shared_ptr<Sequence> Importer::sequenceOf(NodeImport &node, size_t input) {
  Value *value = node.has(input) ? find(node.node.inputs[input], node.frame) : nullptr;
  if (value && value->sequence && !value->sequence->isOptional)
    return value->sequence;
  node.fail("it needs a sequence as its input " + llvm::Twine(input));
  return nullptr;
}

//===- Ops ------------------------------------------------------------------------------------===//

/// The position that an input holds, counted from the front, where it and the length are known.
static std::optional<int64_t> knownPosition(NodeImport &node, size_t input, size_t count) {
  const Known *held = node.known(input);
  auto numbers = held ? held->integers() : std::nullopt;
  if (!numbers || numbers->size() != 1)
    return std::nullopt;
  int64_t position = numbers->front();
  return position < 0 ? position + static_cast<int64_t>(count) : position;
}

bool setSequence(NodeImport &node, Sequence sequence) {
  if (node.hasFailed())
    return false;
  Value value;
  value.sequence = std::make_shared<Sequence>(std::move(sequence));
  node.setValue(0, std::move(value));
  return true;
}

bool Importer::importSequenceAt(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  if (!sequence)
    return false;
  auto known =
      sequence->isListed() ? knownPosition(node, 1, sequence->elements.size()) : std::nullopt;
  if (!known) {
    auto tensors = inTensors(node, *sequence);
    auto element = tensors ? elementAt(node, *tensors, node.tensor(1)) : std::nullopt;
    if (element)
      node.setValue(0, std::move(*element));
    return element.has_value();
  }
  if (*known < 0 || *known >= static_cast<int64_t>(sequence->elements.size()))
    return node.fail("it takes element " + llvm::Twine(*known) + " of a sequence of " +
                     llvm::Twine(sequence->elements.size()));
  node.setValue(0, sequence->elements[*known]);
  return true;
}

bool Importer::importSequenceInsert(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  Value *given = node.has(1) ? find(node.node.inputs[1], node.frame) : nullptr;
  if (!sequence || !given)
    return sequence ? node.fail("it needs its input 1") : false;
  Sequence result = *sequence;
  if (sequence->isListed()) {
    size_t count = sequence->elements.size();
    auto known = node.has(2) ? knownPosition(node, 2, count) : static_cast<int64_t>(count);
    if (known && (*known < 0 || *known > static_cast<int64_t>(count)))
      return node.fail("it puts a tensor at " + llvm::Twine(*known) + " of a sequence of " +
                       llvm::Twine(count));
    if (known) {
      result.elements.insert(result.elements.begin() + *known, *given);
      return setSequence(node, std::move(result));
    }
  }
  auto one = sequenceOfOne(node, *given, sequence->isListed() ? nullptr : sequence.get());
  auto tensors = one ? inTensors(node, *sequence, one.get()) : nullptr;
  if (!tensors)
    return false;
  auto all = node.has(2) ? withElement(node, *tensors, node.tensor(2), one.get())
                         : joinedSequences(node, {tensors, one});
  return all && setSequence(node, std::move(*all));
}

bool Importer::importSequenceErase(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  if (!sequence)
    return false;
  Sequence result = *sequence;
  size_t count = sequence->elements.size();
  if (sequence->isListed()) {
    auto known = node.has(1) ? knownPosition(node, 1, count) : static_cast<int64_t>(count) - 1;
    if (known && (*known < 0 || *known >= static_cast<int64_t>(count)))
      return node.fail("it takes element " + llvm::Twine(*known) + " out of a sequence of " +
                       llvm::Twine(count));
    if (known) {
      result.elements.erase(result.elements.begin() + *known);
      return setSequence(node, std::move(result));
    }
  }
  Item last = node.has(1)
                  ? node.tensor(1)
                  : node.full(item(int64_t(-1)), RankedTensorType::get({}, builder.getI64Type()));
  auto tensors = inTensors(node, *sequence);
  auto rest = tensors ? withElement(node, *tensors, last, nullptr) : nullptr;
  return rest && setSequence(node, std::move(*rest));
}

bool Importer::importSequenceLength(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  if (!sequence)
    return false;
  node.set(0, Known{builder.getI64Type(), {}, {{countOf(*sequence, context)}}});
  return true;
}

/// Optional, OptionalHasElement and OptionalGetElement. The latter two also take what is no
/// optional, as opset 18 allows.
bool Importer::importOptionalOp(NodeImport &node) {
  StringRef op = node.node.op;
  Value *given = node.has(0) ? find(node.node.inputs[0], node.frame) : nullptr;
  if (op == "Optional") {
    node.attribute("type");
    Sequence optional;
    optional.isOptional = true;
    if (given)
      optional.elements.push_back(*given);
    return setSequence(node, std::move(optional));
  }
  Sequence *optional =
      given && given->sequence && given->sequence->isOptional ? given->sequence.get() : nullptr;
  if (op == "OptionalHasElement") {
    if (optional && !optional->isListed()) {
      node.set(0, node.call("gt", {node.count(countOf(*optional, context)), item(int64_t(0))}));
      return !node.hasFailed();
    }
    bool isThere = given && !(optional && optional->elements.empty());
    node.set(0, Known{builder.getI1Type(), {}, {{node.dim(isThere)}}});
    return true;
  }
  if (!given || (optional && optional->isEmptyList()))
    return node.fail("it takes the element of an optional that is empty");
  if (optional && !optional->isListed()) {
    Item first = node.full(item(int64_t(0)), RankedTensorType::get({}, builder.getI64Type()));
    auto element = elementAt(node, *optional, first);
    if (element)
      node.setValue(0, std::move(*element));
    return element.has_value();
  }
  node.setValue(0, optional ? Value(optional->elements.front()) : *given);
  return true;
}

bool Importer::importSequenceOp(NodeImport &node) {
  StringRef op = node.node.op;
  if (op == "SequenceAt")
    return importSequenceAt(node);
  if (op == "SequenceInsert")
    return importSequenceInsert(node);
  if (op == "SequenceErase")
    return importSequenceErase(node);
  if (op == "SequenceLength")
    return importSequenceLength(node);
  if (op == "SplitToSequence")
    return importSplit(node);
  if (op == "ConcatFromSequence")
    return importJoin(node);
  if (op == "SequenceMap")
    return importSequenceMap(node);
  if (op == "SequenceEmpty") {
    node.attribute("dtype"); // its first element has one, too
    return setSequence(node, {});
  }
  if (op == "SequenceConstruct") {
    Sequence sequence;
    for (StringRef input : node.node.inputs)
      if (Value *value = find(input, node.frame))
        sequence.elements.push_back(*value);
    return setSequence(node, std::move(sequence));
  }
  return importOptionalOp(node);
}

} // namespace dlc::onnx
