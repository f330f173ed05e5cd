//===- SequenceParts.cpp - Splitting into sequences and joining them ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/control/Regions.h"

using namespace mlir;

namespace dlc::onnx {

static Item poison() { return {Item::Poison(), {}}; }

/// The elements of the parts of x along dim `axis`, part by part: `whole` parts of `part` elements
/// and the rest.
static Item partsOneByOne(NodeImport &node, Item x, int64_t axis, AffineExpr whole,
                          AffineExpr part) {
  dl::Dims dims = dl::getDims(x.tensorType());
  if (!node.mayMultiply({whole, part}))
    return poison();
  AffineExpr end = dl::normalize(whole * part);
  AffineExpr rest = node.larger(dl::normalize(dims[axis] - end), node.dim(0));
  if (!rest)
    return poison();
  auto piece = [&](AffineExpr begin, AffineExpr size) {
    return node.call("narrow", {x, item(axis), Item::dim(begin, {}), Item::dim(size, {})});
  };
  dims[axis] = part;
  dims.insert(dims.begin() + axis, whole);
  SmallVector<int64_t> order{axis};
  for (int64_t dim = 0; dim < static_cast<int64_t>(dims.size()); ++dim)
    if (dim != axis)
      order.push_back(dim);
  Item parts = flat(node, node.permute(node.reshape(piece(node.dim(0), end), dims), order));
  if (rest == node.dim(0) || !parts.isTensor())
    return parts;
  return node.call("cat",
                   {{Item::List{parts, flat(node, piece(end, rest))}, {}}, item(int64_t(0))});
}

/// Splits dim `axis` into parts of `part` elements, the last of which may have fewer: a sequence in
/// tensors. `keeps` tells whether parts have that dim. Null after an error.
static std::shared_ptr<Sequence> partsInTensors(NodeImport &node, Item x, int64_t axis,
                                                AffineExpr part, bool keeps) {
  dl::Dims dims = dl::getDims(x.tensorType());
  AffineExpr size = dims[axis], whole, count; // whole parts, and all of them
  if (auto number = dl::asConstant(part)) {
    whole = dl::normalize(size.floorDiv(*number));
    count = dl::normalize((size + (*number - 1)).floorDiv(*number));
  } else {
    auto quotient = [&](Item dividend) {
      Item ratio = node.call("div", {dividend, node.count(part)},
                             {{"rounding_mode", item(StringRef("trunc"))}});
      return node.readSize(ratio, Importer::kMostRead);
    };
    Item before = node.call("sub", {node.count(part), item(int64_t(1))});
    whole = quotient(node.count(size));
    count = quotient(node.call("add", {node.count(size), before}));
  }
  if (!whole || !count)
    return nullptr;
  Item data = axis == 0 ? flat(node, x) : partsOneByOne(node, x, axis, whole, part);
  // The dims of each part: its own size along the axis, and the others.
  auto rank = static_cast<int64_t>(dims.size());
  Item starts = node.call("mul", {node.call("arange", {Item::dim(count, {})}), node.count(part)});
  Item left = node.call("sub", {node.count(size), starts});
  Item sizes = node.reshape(node.call("minimum", {left, node.count(part)}), {count, node.dim(1)});
  Item row = node.broadcast(rowOfDims(node, x), {count, node.dim(rank)});
  auto columns = [&](int64_t begin, int64_t end) {
    return node.call("narrow", {row, item(int64_t(1)), item(begin), item(end - begin)});
  };
  Item::List parts{columns(0, axis), columns(axis + 1, rank)};
  if (keeps)
    parts.insert(parts.begin() + 1, sizes);
  Item shapes = node.call("cat", {{parts, {}}, item(int64_t(1))});
  if (node.hasFailed() || !data.isTensor() || !shapes.isTensor())
    return nullptr;
  auto result = std::make_shared<Sequence>();
  result->tensors = {data.as<mlir::Value>(), shapes.as<mlir::Value>()};
  return result;
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
    } else {
      auto tensors = partsInTensors(node, x, *axis, given->front(), isScalar || keeps);
      return tensors && setSequence(node, std::move(*tensors));
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

/// The elements of a sequence in tensors along dim `axis`, put together one by one into `dims`.
Item Importer::joinedInLoop(NodeImport &node, const Sequence &sequence, ArrayRef<AffineExpr> dims,
                            int64_t axis) {
  dl::Dims none(dims);
  none[axis] = node.dim(0);
  Type dtype = llvm::cast<RankedTensorType>(sequence.tensors[0].getType()).getElementType();
  Item begin = node.full(item(int64_t(0)), dl::makeTensor(none, dtype));
  Item trips = node.count(countOf(sequence, context));
  if (!begin.isTensor() || !trips.isTensor())
    return poison();
  auto build = [&](mlir::Value step,
                   ArrayRef<BlockArgument> carried) -> std::optional<SmallVector<mlir::Value>> {
    auto found = elementAt(node, sequence, {step, {}});
    if (!found)
      return std::nullopt;
    Item element{found->tensor, {}};
    dl::Dims wanted(dims);
    wanted[axis] = dl::getDims(element.tensorType())[axis];
    Item all = node.call(
        "cat", {{Item::List{{carried.front(), {}}, node.expect(element, wanted)}, {}}, item(axis)});
    if (!all.isTensor())
      return std::nullopt;
    return SmallVector<mlir::Value>{mlir::Value(), all.as<mlir::Value>()};
  };
  SmallVector<mlir::Value> results;
  if (!buildWhile(node, trips.as<mlir::Value>(), {}, begin.as<mlir::Value>(), build, results))
    return poison();
  return node.expect({results.front(), {}}, dims);
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
  if (sequence.depth() > 1) {
    node.fail("it joins sequences; expected a sequence of tensors");
    return poison();
  }
  Item data{sequence.tensors[0], {}}, shapes{sequence.tensors[1], {}};
  int64_t rank = shapes.tensorType().getDimSize(1);
  auto at = node.axis(axis, isNew ? rank + 1 : rank);
  if (!at)
    return poison();
  // A sequence without elements has a row of zeros.
  Item zeros = node.full(item(int64_t(0)), RankedTensorType::get({1, rank}, builder.getI64Type()));
  Item rows = node.call("cat", {{Item::List{shapes, zeros}, {}}, item(int64_t(0))});
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
  return joinedInLoop(node, sequence, dims, *at);
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

} // namespace dlc::onnx
