//===- Sequences.cpp - Sequences and optionals of ONNX ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence is a list at import as long as its length and the positions are known; nothing is left
// of it in the model. In a loop, and where the model computes a position, it becomes two tensors.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/control/Regions.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace dlc::onnx {

static Item poison() { return {Item::Poison(), {}}; }

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
  if (value && value->sequence)
    return value->sequence;
  node.fail("it needs a sequence as its input " + llvm::Twine(input));
  return nullptr;
}

//===- Sequences in tensors -------------------------------------------------------------------===//

/// The dims of a tensor, as i64[1, rank].
static Item rowOfDims(NodeImport &node, Item x) {
  Item::List sizes;
  for (AffineExpr dim : dl::getDims(x.tensorType()))
    sizes.push_back(node.reshape(node.count(dim), {node.dim(1)}));
  auto rank = static_cast<int64_t>(sizes.size());
  if (rank == 0)
    return node.full(item(int64_t(0)), RankedTensorType::get({1, 0}, node.builder.getI64Type()));
  Item row = rank == 1 ? sizes.front() : node.call("cat", {{sizes, {}}, item(int64_t(0))});
  return node.reshape(row, {node.dim(1), node.dim(rank)});
}

static Item flat(NodeImport &node, Item x) {
  return node.reshape(x, {dl::product(dl::getDims(x.tensorType()), node.context)});
}

static Item joinedRows(NodeImport &node, Item a, Item b) {
  return node.call("cat", {{Item::List{a, b}, {}}, item(int64_t(0))});
}

std::optional<std::pair<Item, Item>> Importer::encoded(NodeImport &node, Sequence &sequence,
                                                       const Sequence *like) {
  if (!sequence.isListed())
    return std::pair(Item{sequence.data, {}}, Item{sequence.shapes, {}});
  Item::List parts, rows;
  std::optional<int64_t> rank;
  Type dtype = sequence.dtype;
  for (Value &element : sequence.elements) {
    Item tensor = itemOf(element, node);
    if (!tensor.isTensor())
      return std::nullopt;
    int64_t own = tensor.tensorType().getRank();
    dtype = tensor.tensorType().getElementType();
    if (rank.value_or(own) != own) {
      node.unsupported("a sequence of a length that the model computes has tensors of " +
                           llvm::Twine(*rank) + " and of " + llvm::Twine(own) + " dims",
                       "; dlc takes such sequences of one rank");
      return std::nullopt;
    }
    rank = own;
    parts.push_back(flat(node, tensor));
    rows.push_back(rowOfDims(node, tensor));
  }
  if (!rank && like) {
    rank = llvm::cast<RankedTensorType>(like->shapes.getType()).getDimSize(1);
    dtype = llvm::cast<RankedTensorType>(like->data.getType()).getElementType();
  }
  if (!rank) {
    node.unsupported("the number of dims of an empty sequence's elements is not known",
                     "; dlc needs one that is put into it");
    return std::nullopt;
  }
  Type i64 = builder.getI64Type();
  if (parts.empty())
    return std::pair(node.full(item(int64_t(0)), RankedTensorType::get({0}, dtype)),
                     node.full(item(int64_t(0)), RankedTensorType::get({0, *rank}, i64)));
  if (parts.size() == 1)
    return std::pair(parts.front(), rows.front());
  return std::pair(node.call("cat", {{parts, {}}, item(int64_t(0))}),
                   node.call("cat", {{rows, {}}, item(int64_t(0))}));
}

/// The number of elements of each tensor: i64[n].
static Item lengths(NodeImport &node, Item shapes) {
  if (shapes.tensorType().getDimSize(1) == 0) {
    dl::Dims dims = dl::getDims(shapes.tensorType());
    return node.full(item(int64_t(1)), dl::makeTensor({dims[0]}, node.builder.getI64Type()));
  }
  return node.call("prod", {shapes, item(int64_t(1))});
}

/// The number of elements before the tensor at `position`: i64[].
static Item offsetOf(NodeImport &node, Item shapes, Item position) {
  AffineExpr count = dl::getDims(shapes.tensorType())[0];
  Item before = node.call("lt", {node.call("arange", {Item::dim(count, {})}), position});
  Item some = node.call("where", {before, lengths(node, shapes), item(int64_t(0))});
  return node.call("sum", {some});
}

/// A position counted from the front: i64[].
static Item fromFront(NodeImport &node, Item shapes, Item position) {
  position = node.cast(node.reshape(position, {}), node.builder.getI64Type());
  Item count = node.count(dl::getDims(shapes.tensorType())[0]);
  return node.call("where", {node.call("lt", {position, item(int64_t(0))}),
                             node.call("add", {position, count}), position});
}

Item Importer::elementAt(NodeImport &node, Sequence &sequence, Item position) {
  auto tensors = encoded(node, sequence);
  if (!tensors)
    return poison();
  auto [data, shapes] = *tensors;
  if (!data.isTensor() || !shapes.isTensor())
    return poison();
  Item place = fromFront(node, shapes, position);
  AffineExpr start = node.readSize(offsetOf(node, shapes, place), kMostElements);
  int64_t rank = shapes.tensorType().getDimSize(1);
  AffineExpr at = node.readSize(place, kMostRead);
  if (!at)
    return poison();
  Item row = node.call("narrow",
                       {shapes, item(int64_t(0)), Item::dim(at, {}), Item::dim(node.dim(1), {})});
  dl::Dims dims;
  for (int64_t dim = 0; dim < rank && start; ++dim) {
    Item one = node.call("select", {node.call("select", {row, item(int64_t(0)), item(int64_t(0))}),
                                    item(int64_t(0)), item(dim)});
    dims.push_back(node.readSize(one, kMostRead));
    if (!dims.back())
      return poison();
  }
  if (!start)
    return poison();
  Item part = node.call("narrow", {data, item(int64_t(0)), Item::dim(start, {}),
                                   Item::dim(dl::product(dims, context), {})});
  return node.reshape(part, dims);
}

/// The elements before `position`, `inserted` where it is a tensor, and those from `position` on,
/// the first of which is left out where `isErased`.
bool Importer::setElements(NodeImport &node, Sequence &sequence, Item position, Item inserted,
                           bool isErased, Sequence &result) {
  bool isIn = inserted.isTensor();
  Item flatInserted = isIn ? flat(node, inserted) : poison(),
       insertedDims = isIn ? rowOfDims(node, inserted) : poison();
  if (isIn && (!flatInserted.isTensor() || !insertedDims.isTensor()))
    return false;
  Sequence kind; // of what an empty sequence will hold
  if (isIn)
    kind = {{}, {}, flatInserted.as<mlir::Value>(), insertedDims.as<mlir::Value>()};
  auto tensors = encoded(node, sequence, isIn ? &kind : nullptr);
  if (!tensors)
    return false;
  auto [data, shapes] = *tensors;
  Item place = fromFront(node, shapes, position);
  Item after = isErased ? node.call("add", {place, item(int64_t(1))}) : place;
  AffineExpr first = node.readSize(place, kMostRead),
             begin = node.readSize(offsetOf(node, shapes, place), kMostElements);
  AffineExpr next = isErased ? dl::normalize(first + 1) : first,
             end = isErased ? node.readSize(offsetOf(node, shapes, after), kMostElements) : begin;
  if (!first || !begin || !end)
    return false;
  auto around = [&](Item x, AffineExpr low, AffineExpr high, Item middle) {
    AffineExpr size = dl::getDims(x.tensorType())[0], none = node.dim(0);
    AffineExpr rest = node.larger(dl::normalize(size - high), none);
    if (!rest)
      return poison();
    Item head = node.call("narrow", {x, item(int64_t(0)), Item::dim(none, {}), Item::dim(low, {})});
    Item tail =
        node.call("narrow", {x, item(int64_t(0)), Item::dim(high, {}), Item::dim(rest, {})});
    return middle.isTensor() ? joinedRows(node, joinedRows(node, head, middle), tail)
                             : joinedRows(node, head, tail);
  };
  Item all = around(data, begin, end, flatInserted);
  Item rows = around(shapes, first, next, insertedDims);
  if (!all.isTensor() || !rows.isTensor())
    return false;
  result.data = all.as<mlir::Value>();
  result.shapes = rows.as<mlir::Value>();
  result.dtype = all.tensorType().getElementType();
  return !node.hasFailed();
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

static bool setSequence(NodeImport &node, Sequence sequence) {
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
    node.set(0, elementAt(node, *sequence, node.tensor(1)));
    return !node.hasFailed();
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
  Item tensor = itemOf(*given, node);
  if (!tensor.isTensor())
    return false;
  if (node.has(2))
    return setElements(node, *sequence, node.tensor(2), tensor, false, result) &&
           setSequence(node, std::move(result));
  auto tensors = encoded(node, *sequence);
  if (!tensors)
    return false;
  Item data = joinedRows(node, tensors->first, flat(node, tensor)),
       shapes = joinedRows(node, tensors->second, rowOfDims(node, tensor));
  if (!data.isTensor() || !shapes.isTensor())
    return false;
  result.data = data.as<mlir::Value>();
  result.shapes = shapes.as<mlir::Value>();
  return setSequence(node, std::move(result));
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
  return setElements(node, *sequence, last, poison(), true, result) &&
         setSequence(node, std::move(result));
}

bool Importer::importSequenceLength(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  if (!sequence)
    return false;
  AffineExpr count = sequence->isListed()
                         ? node.dim(static_cast<int64_t>(sequence->elements.size()))
                         : dl::getDims(llvm::cast<RankedTensorType>(sequence->shapes.getType()))[0];
  node.set(0, Known{builder.getI64Type(), {}, {{count}}});
  return true;
}

/// Parts of a dim: of sizes that are listed, or of one size.
bool Importer::importSplit(NodeImport &node) {
  constexpr int64_t kMostParts = 256;
  bool keeps = node.integer("keepdims", 1) != 0;
  auto axis = node.axis(node.integer("axis", 0), node.rank(0));
  Item x = node.tensor(0);
  if (!axis || node.hasFailed())
    return false;
  AffineExpr size = node.dims(0)[*axis];
  auto whole = dl::asConstant(size);
  Sequence result;
  result.dtype = node.dtype(0);
  bool isOne = !node.has(1), isScalar = !isOne && node.rank(1) == 0;
  dl::Dims sizes;
  if (isOne || isScalar) {
    auto given = isOne ? std::optional<dl::Dims>(dl::Dims{node.dim(1)})
                       : node.sizes(1, "the size of the parts", {1, kMostRead});
    if (!given)
      return false;
    auto part = dl::asConstant(given->front());
    if (part && *part < 1)
      return node.fail("its parts have " + llvm::Twine(*part) + " elements; expected 1 or more");
    if (part && whole && llvm::divideCeil(*whole, *part) <= kMostParts) {
      for (int64_t at = 0; at < *whole; at += *part)
        sizes.push_back(node.dim(std::min(*part, *whole - at)));
    } else if (part && *part == 1) {
      // One part each, as many as there are, along the first dim.
      SmallVector<int64_t> order{*axis};
      for (int64_t dim = 0; dim < node.rank(0); ++dim)
        if (dim != *axis)
          order.push_back(dim);
      x = *axis == 0 ? x : node.permute(x, order);
      Item row = rowOfDims(node, x);
      if (!row.isTensor())
        return false;
      auto dimsFrom = [&](int64_t start, int64_t end) {
        return node.call("slice", {row},
                         {{"dim", item(int64_t(1))}, {"start", item(start)}, {"end", item(end)}});
      };
      Item before = dimsFrom(1, *axis + 1), after = dimsFrom(*axis + 1, node.rank(0));
      Item one = node.full(item(int64_t(1)), RankedTensorType::get({1, 1}, builder.getI64Type()));
      row = isScalar || keeps
                ? node.call("cat", {{Item::List{before, one, after}, {}}, item(int64_t(1))})
                : dimsFrom(1, node.rank(0));
      Item rows = row.isTensor()
                      ? node.broadcast(row, {size, node.dim(row.tensorType().getDimSize(1))})
                      : poison();
      Item data = flat(node, x);
      if (!rows.isTensor() || !data.isTensor())
        return false;
      result.data = data.as<mlir::Value>();
      result.shapes = rows.as<mlir::Value>();
      return setSequence(node, std::move(result));
    } else {
      return node.unsupported("it splits a dim of " + node.text(size) + " into parts of " +
                                  node.text(given->front()),
                              "; dlc needs their number, up to " + llvm::Twine(kMostParts));
    }
  } else {
    auto given = node.sizes(1, "the sizes of the parts", {0, kMostRead});
    if (!given)
      return false;
    sizes = *given;
  }
  x = joinedOfParts(node, x, *axis, sizes);
  AffineExpr start = node.dim(0);
  for (AffineExpr part : sizes) {
    Item piece = node.call("narrow", {x, item(*axis), Item::dim(start, {}), Item::dim(part, {})});
    if (isOne && !keeps && piece.isTensor()) {
      dl::Dims dims = dl::getDims(piece.tensorType());
      dims.erase(dims.begin() + *axis);
      piece = node.reshape(piece, dims);
    }
    if (!piece.isTensor())
      return false;
    result.elements.emplace_back().tensor = piece.as<mlir::Value>();
    start = dl::normalize(start + part);
  }
  return setSequence(node, std::move(result));
}

/// The elements along a dim, or along a new one.
Item Importer::joined(NodeImport &node, Sequence &sequence, int64_t axis, bool isNew) {
  if (sequence.isListed()) {
    Item::List parts;
    for (Value &element : sequence.elements)
      parts.push_back(itemOf(element, node));
    if (parts.empty()) {
      node.fail("it joins an empty sequence");
      return poison();
    }
    if (isNew)
      return node.call("stack", {{parts, {}}, item(axis)});
    return parts.size() == 1 ? parts.front() : node.call("cat", {{parts, {}}, item(axis)});
  }
  Item data{sequence.data, {}}, shapes{sequence.shapes, {}};
  int64_t rank = shapes.tensorType().getDimSize(1);
  auto at = node.axis(axis, isNew ? rank + 1 : rank);
  if (!at)
    return poison();
  // A row of zeros stands for those of no elements.
  Item rows = joinedRows(
      node, shapes,
      node.full(item(int64_t(0)), RankedTensorType::get({1, rank}, builder.getI64Type())));
  Item first = node.call("select", {rows, item(int64_t(0)), item(int64_t(0))});
  AffineExpr count = dl::getDims(shapes.tensorType())[0];
  dl::Dims dims;
  for (int64_t dim = 0; dim < rank; ++dim) {
    bool isSummed = !isNew && dim == *at;
    Item size = isSummed
                    ? node.call("sum", {node.call("select", {shapes, item(int64_t(1)), item(dim)})})
                    : node.call("select", {first, item(int64_t(0)), item(dim)});
    dims.push_back(node.readSize(size, kMostRead));
    if (!dims.back())
      return poison();
  }
  if (isNew) {
    dl::Dims all = dims;
    all.insert(all.begin(), count);
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(1, rank + 1));
    order.insert(order.begin() + *at, 0);
    return node.permute(node.reshape(data, all), order);
  }
  if (*at == 0)
    return node.reshape(data, dims);
  // Along another dim the elements are put together one by one.
  dl::Dims none = dims;
  none[*at] = node.dim(0);
  Item begin =
      node.full(item(int64_t(0)), dl::makeTensor(none, data.tensorType().getElementType()));
  Item trips = node.count(count);
  if (!begin.isTensor() || !trips.isTensor())
    return poison();
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    Item element = elementAt(node, sequence, {step, {}});
    if (!element.isTensor())
      return std::nullopt;
    dl::Dims wanted = dims;
    wanted[*at] = dl::getDims(element.tensorType())[*at];
    Item all = node.call(
        "cat", {{Item::List{{carried.front(), {}}, node.expect(element, wanted)}, {}}, item(*at)});
    if (!all.isTensor())
      return std::nullopt;
    return SmallVector<mlir::Value>{mlir::Value(), all.as<mlir::Value>()};
  };
  SmallVector<mlir::Value> results;
  if (!buildWhile(node, trips.as<mlir::Value>(), {}, begin.as<mlir::Value>(), build, results))
    return poison();
  return node.expect({results.front(), {}}, dims);
}

bool Importer::importJoin(NodeImport &node) {
  auto sequence = sequenceOf(node, 0);
  if (!sequence)
    return false;
  if (!node.hasAttribute("axis"))
    return node.fail("it lacks its attribute 'axis'");
  bool isNew = node.integer("new_axis", 0) != 0;
  node.set(0, joined(node, *sequence, node.integer("axis", 0), isNew));
  return !node.hasFailed();
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
    auto dtype = elementType(node.integer("dtype", 1));
    return setSequence(node, {dtype ? frontend::dtypeOf(nameOf(*dtype), context) : Type(), {}});
  }
  if (op == "SequenceConstruct") {
    Sequence sequence;
    for (StringRef input : node.node.inputs)
      if (Value *value = find(input, node.frame))
        sequence.elements.push_back(*value);
    return setSequence(node, std::move(sequence));
  }
  Value *given = node.has(0) ? find(node.node.inputs[0], node.frame) : nullptr;
  if (op == "OptionalHasElement") {
    bool isThere = given && !given->isEmptyOptional;
    node.set(0, Known{builder.getI1Type(), {}, {{node.dim(isThere)}}});
    return true;
  }
  if (op == "Optional")
    node.attribute("type");
  if (!given && op == "Optional") {
    Value empty;
    empty.isEmptyOptional = true;
    node.setValue(0, std::move(empty));
    return true;
  }
  if (!given || given->isEmptyOptional)
    return node.fail("it takes the element of an optional that is empty");
  node.setValue(0, *given);
  return true;
}

} // namespace dlc::onnx
