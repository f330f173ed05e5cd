//===- SequenceTensors.cpp - Sequences of ONNX in tensors ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors are levels: the level above says of each of its rows how many rows of the level below
// belong to it. The levels are the lengths of sequences, the dims of tensors, and the elements.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/control/Regions.h"

using namespace mlir;

namespace dlc::onnx {

bool hasKind(const Sequence &sequence) {
  return !sequence.isListed() || llvm::any_of(sequence.elements, [](const Value &element) {
    return !element.sequence || hasKind(*element.sequence);
  });
}

AffineExpr countOf(const Sequence &sequence, MLIRContext *context) {
  if (sequence.isListed())
    return dl::constantDim(static_cast<int64_t>(sequence.elements.size()), context);
  return dl::getDims(llvm::cast<RankedTensorType>(sequence.tensors.back().getType()))[0];
}

SmallVector<RankedTensorType> typesOfNone(const Sequence &like) {
  SmallVector<RankedTensorType> types;
  for (mlir::Value tensor : like.tensors) {
    auto type = llvm::cast<RankedTensorType>(tensor.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[0] = 0;
    types.push_back(RankedTensorType::get(shape, type.getElementType()));
  }
  return types;
}

Item rowOfDims(NodeImport &node, Item x) {
  Item::List sizes;
  for (AffineExpr dim : dl::getDims(x.tensorType()))
    sizes.push_back(node.reshape(node.count(dim), {node.dim(1)}));
  auto rank = static_cast<int64_t>(sizes.size());
  if (rank == 0)
    return node.full(item(int64_t(0)), RankedTensorType::get({1, 0}, node.builder.getI64Type()));
  Item row = rank == 1 ? sizes.front() : node.call("cat", {{sizes, {}}, item(int64_t(0))});
  return node.reshape(row, {node.dim(1), node.dim(rank)});
}

Item flat(NodeImport &node, Item x) {
  return node.reshape(x, {dl::product(dl::getDims(x.tensorType()), node.context)});
}

/// The kind of a sequence's elements, which are sequences.
static Sequence kindOfElements(const Sequence &sequence) {
  Sequence inner = sequence;
  inner.tensors.pop_back();
  inner.isOptional = inner.optionals.pop_back_val();
  return inner;
}

//===- Making them ----------------------------------------------------------------------------===//

/// Appends `items` as the tensors of `sequence`. False after an error.
static bool addTensors(ArrayRef<Item> items, Sequence &sequence) {
  for (const Item &each : items) {
    if (!each.isTensor())
      return false;
    sequence.tensors.push_back(each.as<mlir::Value>());
  }
  return true;
}

Importer::SharedSequence Importer::sequenceOfOne(NodeImport &node, const Value &element,
                                                 const Sequence *like) {
  auto result = std::make_shared<Sequence>();
  if (!element.sequence) {
    Value copy = element;
    Item tensor = itemOf(copy, node);
    bool isGood =
        tensor.isTensor() && addTensors({flat(node, tensor), rowOfDims(node, tensor)}, *result);
    return isGood ? result : nullptr;
  }
  std::optional<Sequence> kind;
  if (like && like->depth() > 1)
    kind = kindOfElements(*like);
  auto inner = inTensors(node, *element.sequence, kind ? &*kind : nullptr);
  if (!inner)
    return nullptr;
  *result = *inner;
  result->isOptional = false;
  result->optionals.push_back(inner->isOptional);
  Item count = node.reshape(node.count(countOf(*inner, context)), {node.dim(1)});
  return addTensors(count, *result) ? result : nullptr;
}

/// Whether elements of two kinds can be in one sequence; false, reported, if not.
static bool haveOneKind(NodeImport &node, const Sequence &a, const Sequence &b) {
  if (a.depth() != b.depth())
    return node.fail("it has both tensors and sequences in one sequence; expected elements of one "
                     "kind");
  auto rankOf = [](const Sequence &sequence) {
    return llvm::cast<RankedTensorType>(sequence.tensors[1].getType()).getDimSize(1);
  };
  if (rankOf(a) != rankOf(b))
    return node.unsupported("a sequence of a length that the model computes has tensors of " +
                                llvm::Twine(rankOf(a)) + " and of " + llvm::Twine(rankOf(b)) +
                                " dims",
                            "; dlc takes such sequences of one rank");
  return true;
}

std::shared_ptr<Sequence> joinedSequences(NodeImport &node,
                                          ArrayRef<std::shared_ptr<Sequence>> parts) {
  for (const auto &part : parts)
    if (!haveOneKind(node, *parts.front(), *part))
      return nullptr;
  auto result = std::make_shared<Sequence>(*parts.front());
  if (parts.size() == 1)
    return result;
  result->tensors.clear();
  for (size_t level = 0; level < parts.front()->tensors.size(); ++level) {
    Item::List rows;
    for (const auto &part : parts)
      rows.push_back({part->tensors[level], {}});
    if (!addTensors(node.call("cat", {{rows, {}}, item(int64_t(0))}), *result))
      return nullptr;
  }
  return result;
}

Importer::SharedSequence Importer::inTensors(NodeImport &node, const Sequence &sequence,
                                             const Sequence *like) {
  if (!sequence.isListed())
    return std::make_shared<Sequence>(sequence);
  if (!like && !hasKind(sequence)) {
    node.unsupported("the number of dims of an empty sequence's elements is not known",
                     "; dlc needs one that is put into it");
    return nullptr;
  }
  SharedSequence result;
  if (sequence.elements.empty()) {
    result = std::make_shared<Sequence>(*like);
    result->tensors.clear();
    for (RankedTensorType type : typesOfNone(*like))
      if (!addTensors(node.full(item(int64_t(0)), type), *result))
        return nullptr;
  } else {
    // An element that tells its kind is the first to be made, and tells that of empty lists.
    std::vector<SharedSequence> parts(sequence.elements.size());
    auto tells = [](const Value &element) {
      return !element.sequence || hasKind(*element.sequence);
    };
    size_t first = llvm::find_if(sequence.elements, tells) - sequence.elements.begin();
    if (first < parts.size()) {
      parts[first] = sequenceOfOne(node, sequence.elements[first]);
      like = parts[first].get();
    }
    for (auto [element, part] : llvm::zip_equal(sequence.elements, parts))
      if (like && !part)
        part = sequenceOfOne(node, element, like);
    if (llvm::is_contained(parts, nullptr))
      return nullptr;
    result = joinedSequences(node, parts);
  }
  if (result)
    result->isOptional = sequence.isOptional;
  return result;
}

//===- Elements -------------------------------------------------------------------------------===//

/// How many rows of the level below belong to each row of `level`: i64[n].
static Item sizesOf(NodeImport &node, Item level) {
  RankedTensorType type = level.tensorType();
  if (type.getRank() == 1)
    return level;
  if (type.getDimSize(1) == 0)
    return node.full(item(int64_t(1)),
                     dl::makeTensor({dl::getDims(type)[0]}, node.builder.getI64Type()));
  return node.call("prod", {level, item(int64_t(1))});
}

/// How many rows of the level below belong to the rows of `level` before `position`: i64[].
static Item offsetOf(NodeImport &node, Item level, Item position) {
  AffineExpr count = dl::getDims(level.tensorType())[0];
  Item before = node.call("lt", {node.call("arange", {Item::dim(count, {})}), position});
  Item some = node.call("where", {before, sizesOf(node, level), item(int64_t(0))});
  return node.call("sum", {some});
}

/// A position counted from the front: i64[].
static Item fromFront(NodeImport &node, Item level, Item position) {
  position = node.cast(node.reshape(position, {}), node.builder.getI64Type());
  Item count = node.count(dl::getDims(level.tensorType())[0]);
  return node.call("where", {node.call("lt", {position, item(int64_t(0))}),
                             node.call("add", {position, count}), position});
}

static Item rows(NodeImport &node, Item level, AffineExpr begin, AffineExpr count) {
  return node.call("narrow", {level, item(int64_t(0)), Item::dim(begin, {}), Item::dim(count, {})});
}

/// The tensor whose dims are the row `place` of the dims.
static Item tensorAt(NodeImport &node, const Sequence &sequence, Item place) {
  Item poison{Item::Poison(), {}}, data{sequence.tensors[0], {}}, shapes{sequence.tensors[1], {}};
  AffineExpr start = node.readSize(offsetOf(node, shapes, place), Importer::kMostElements);
  AffineExpr at = node.readSize(place, Importer::kMostRead);
  if (!start || !at)
    return poison;
  Item row = rows(node, shapes, at, node.dim(1));
  dl::Dims dims;
  for (int64_t dim = 0; dim < shapes.tensorType().getDimSize(1); ++dim) {
    Item one = node.call("select", {node.call("select", {row, item(int64_t(0)), item(int64_t(0))}),
                                    item(int64_t(0)), item(dim)});
    dims.push_back(node.readSize(one, Importer::kMostRead));
    if (!dims.back())
      return poison;
  }
  return node.reshape(rows(node, data, start, dl::product(dims, node.context)), dims);
}

std::optional<Value> Importer::elementAt(NodeImport &node, const Sequence &sequence,
                                         Item position) {
  Value element;
  Item top{sequence.tensors.back(), {}}, place = fromFront(node, top, position);
  if (sequence.depth() == 1) {
    Item tensor = tensorAt(node, sequence, place);
    if (!tensor.isTensor())
      return std::nullopt;
    element.tensor = tensor.as<mlir::Value>();
    return element;
  }
  AffineExpr at = node.readSize(place, kMostRead);
  if (!at)
    return std::nullopt;
  element.sequence = std::make_shared<Sequence>(kindOfElements(sequence));
  Item begin = offsetOf(node, top, place),
       count = node.reshape(rows(node, top, at, node.dim(1)), {});
  for (size_t level = sequence.depth() - 1;; --level) {
    int64_t most = level == 0 ? kMostElements : kMostRead;
    Item own{sequence.tensors[level], {}};
    AffineExpr start = node.readSize(begin, most), size = node.readSize(count, most);
    Item part = start && size ? rows(node, own, start, size) : Item{Item::Poison(), {}};
    if (!part.isTensor())
      return std::nullopt;
    element.sequence->tensors[level] = part.as<mlir::Value>();
    if (level == 0)
      return element;
    Item end = offsetOf(node, own, node.call("add", {begin, count}));
    begin = offsetOf(node, own, begin);
    count = node.call("sub", {end, begin});
  }
}

/// The rows of `level` before `begin`, `middle` if it is a tensor, and the rows from `end` on.
static Item replaced(NodeImport &node, Item level, AffineExpr begin, AffineExpr end, Item middle) {
  AffineExpr none = node.dim(0), size = dl::getDims(level.tensorType())[0];
  AffineExpr rest = node.larger(dl::normalize(size - end), none);
  if (!rest)
    return {Item::Poison(), {}};
  Item::List parts{rows(node, level, none, begin)};
  if (middle.isTensor())
    parts.push_back(middle);
  parts.push_back(rows(node, level, end, rest));
  return node.call("cat", {{parts, {}}, item(int64_t(0))});
}

Importer::SharedSequence Importer::withElement(NodeImport &node, const Sequence &sequence,
                                               Item position, const Sequence *inserted) {
  if (inserted && !haveOneKind(node, sequence, *inserted))
    return nullptr;
  auto result = std::make_shared<Sequence>(sequence);
  Item low = fromFront(node, {sequence.tensors.back(), {}}, position);
  Item high = inserted ? low : node.call("add", {low, item(int64_t(1))});
  for (size_t level = sequence.tensors.size(); level-- > 0;) {
    Item own{sequence.tensors[level], {}};
    int64_t most = level == 0 ? kMostElements : kMostRead;
    AffineExpr begin = node.readSize(low, most), end = begin;
    if (begin && !inserted)
      end = level == sequence.depth() ? dl::normalize(begin + 1) : node.readSize(high, most);
    if (!begin || !end)
      return nullptr;
    Item middle = inserted ? Item{inserted->tensors[level], {}} : Item{Item::Poison(), {}};
    Item all = replaced(node, own, begin, end, middle);
    if (!all.isTensor())
      return nullptr;
    result->tensors[level] = all.as<mlir::Value>();
    if (level > 0) {
      low = offsetOf(node, own, low);
      high = inserted ? low : offsetOf(node, own, high);
    }
  }
  return node.hasFailed() ? nullptr : result;
}

} // namespace dlc::onnx
