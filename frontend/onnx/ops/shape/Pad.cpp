//===- Pad.cpp - Pad and Trilu ------------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"

using namespace mlir;

namespace dlc::onnx {

/// Elements of x repeated around it, by `mode`, which is that of `pad`. Negative widths take
/// elements away first, and a dim may be shorter than what it is repeated for. `pads`: both widths
/// of the last dim first.
static Item repeated(NodeImport &node, Item x, SmallVector<int64_t> pads, StringRef mode) {
  int64_t rank = node.rank(0);
  for (size_t place = 0; place < pads.size() && !node.hasFailed(); place += 2) {
    int64_t axis = rank - 1 - static_cast<int64_t>(place / 2), &low = pads[place],
            &high = pads[place + 1];
    if (low < 0 || high < 0) {
      std::vector<std::pair<StringRef, Item>> named{{"dim", item(axis)},
                                                    {"start", item(std::max<int64_t>(-low, 0))}};
      if (high < 0)
        named.push_back({"end", item(high)});
      x = node.call("slice", {x}, named);
      low = std::max<int64_t>(low, 0);
      high = std::max<int64_t>(high, 0);
    }
    auto size = x.isTensor() ? dl::asConstant(dl::getDims(x.tensorType())[axis]) : std::nullopt;
    bool isCircular = mode == "circular";
    int64_t once = size.value_or(INT64_MAX) - (isCircular ? 0 : 1);
    if (mode == "replicate" || size == 0 || std::max(low, high) <= once)
      continue;
    // Around and around, or there and back: what takes so many elements.
    int64_t period = isCircular ? *size : std::max<int64_t>(2 * once, 1);
    Item places = node.call("arange", {item(-low), item(*size + high)});
    places = node.call("remainder", {places, item(period)});
    if (!isCircular) {
      Item fromEnd = node.call("abs", {node.call("sub", {places, item(once)})});
      places = node.call("add", {node.call("neg", {fromEnd}), item(once)});
    }
    x = node.call("index_select", {x, item(axis), places});
    low = high = 0;
  }
  bool isDone = llvm::all_of(pads, [](int64_t width) { return width == 0; });
  return isDone ? x : node.call("pad", {x, itemList(pads), item(mode)});
}

/// The same with widths that follow from sizes: elements are looked up at the places that the mode
/// says, around and around, or there and back.
static Item repeatedBySizes(NodeImport &node, Item x, ArrayRef<AffineExpr> pads, StringRef mode) {
  int64_t rank = node.rank(0);
  for (size_t place = 0; place < pads.size() && !node.hasFailed(); place += 2) {
    int64_t axis = rank - 1 - static_cast<int64_t>(place / 2);
    AffineExpr size = node.dims(0)[axis];
    if (dl::isConstant(pads[place], 0) && dl::isConstant(pads[place + 1], 0))
      continue;
    AffineExpr length = node.atLeastZero(dl::normalize(size + pads[place] + pads[place + 1]));
    Item last = Item::dim(dl::normalize(size - 1), {});
    Item places = node.call(
        "sub", {node.call("arange", {Item::dim(length, {})}), Item::dim(pads[place], {})});
    if (mode == "replicate") {
      places = node.call("minimum", {node.call("maximum", {places, item(int64_t(0))}), last});
    } else if (mode == "circular") {
      places = node.call("remainder", {places, Item::dim(size, {})});
    } else {
      AffineExpr period = node.larger(dl::normalize(2 * (size - 1)), node.dim(1));
      if (!period)
        return {Item::Poison(), {}};
      places = node.call("remainder", {places, Item::dim(period, {})});
      Item fromEnd = node.call("abs", {node.call("sub", {places, last})});
      places = node.call("sub", {last, fromEnd});
    }
    x = node.call("index_select", {x, item(axis), places});
  }
  return x;
}

/// ONNX: all low widths, then all high ones; PyTorch: both of the last dim first.
static bool buildPad(NodeImport &node) {
  dl::Dims widths;
  for (int64_t width : node.integerList("pads"))
    widths.push_back(node.dim(width));
  double fill = node.opset < 11 ? node.real("value", 0) : 0;
  std::optional<Item> computed; // the number, where the model computes it
  int64_t rank = node.rank(0);
  if (node.opset >= 11) {
    auto given = node.sizes(1, "the widths", {-Importer::kMostRead, Importer::kMostRead});
    if (!given)
      return false;
    widths = *given;
    if (node.has(2)) {
      const Known *value = node.known(2);
      auto numbers = value ? value->reals() : std::nullopt;
      bool isExact = numbers && numbers->size() == 1 &&
                     (isa<FloatType>(value->dtype) || std::abs(numbers->front()) < 0x1p53);
      if (isExact)
        fill = numbers->front();
      else
        computed = node.reshape(node.tensor(2), {});
    }
  }
  auto axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (node.has(3)) {
    auto given = node.integers(3, "the axes");
    if (!given)
      return false;
    axes.assign(given->begin(), given->end());
  }
  if (widths.size() != 2 * axes.size())
    return node.fail("it has " + llvm::Twine(widths.size()) + " widths; expected " +
                     llvm::Twine(2 * axes.size()));
  dl::Dims pads(2 * rank, node.dim(0));
  int64_t used = 0;
  for (auto [position, given] : llvm::enumerate(axes)) {
    auto axis = node.axis(given, rank);
    if (!axis)
      return false;
    int64_t place = 2 * (rank - 1 - *axis);
    pads[place] = widths[position];
    pads[place + 1] = widths[axes.size() + position];
    if (!dl::isConstant(pads[place], 0) || !dl::isConstant(pads[place + 1], 0))
      used = std::max(used, place + 2);
  }
  pads.truncate(used);
  std::string mode = node.string("mode", "constant");
  std::string torchMode = mode == "edge" ? "replicate" : mode == "wrap" ? "circular" : mode;
  Item x = node.tensor(0);
  if (node.hasFailed())
    return false;
  if (used == 0) {
    node.alias(0, 0);
  } else if (mode == "constant" && computed) {
    Item isInside =
        node.call("full_like", {x, item(true)}, {{"dtype", item(Type(node.builder.getI1Type()))}});
    node.set(0, node.call("where", {node.call("pad", {isInside, dimItems(pads)}),
                                    node.call("pad", {x, dimItems(pads)}), *computed}));
  } else if (mode == "constant") {
    node.set(0, node.call("pad", {x, dimItems(pads), item(StringRef(torchMode)), item(fill)}));
  } else {
    SmallVector<int64_t> numbers;
    for (AffineExpr width : pads)
      if (auto number = dl::asConstant(width))
        numbers.push_back(*number);
    if (numbers.size() == pads.size())
      node.set(0, repeated(node, x, numbers, torchMode));
    else
      node.set(0, repeatedBySizes(node, x, pads, torchMode));
  }
  return !node.hasFailed();
}

/// Trilu of a diagonal that the model computes.
static bool buildComputedTrilu(NodeImport &node, bool isUpper) {
  Type dtype = node.dtype(0);
  dl::Dims dims = node.dims(0);
  if (dims.size() < 2)
    return node.fail("it takes a matrix, got " + node.typeText(0));
  AffineExpr one = node.dim(1), height = dims[dims.size() - 2], width = dims.back();
  Item rows = node.reshape(node.call("arange", {Item::dim(height, {})}), {height, one});
  Item columns = node.reshape(node.call("arange", {Item::dim(width, {})}), {one, width});
  Item diagonal = node.cast(node.reshape(node.tensor(1), {}), node.builder.getI64Type());
  Item isKept = node.call(isUpper ? "ge" : "le", {node.call("sub", {columns, rows}), diagonal});
  node.set(0, node.call("where", {isKept, node.tensor(0), node.scalar(0, dtype)}));
  return !node.hasFailed();
}

static bool buildTrilu(NodeImport &node) {
  int64_t diagonal = 0;
  if (node.has(1) && !node.knownIntegers(1))
    return buildComputedTrilu(node, node.integer("upper", 1) != 0);
  if (node.has(1)) {
    auto given = node.integers(1, "the diagonal");
    if (!given)
      return false;
    diagonal = std::clamp<int64_t>(given->empty() ? 0 : given->front(), INT32_MIN, INT32_MAX);
  }
  bool isUpper = node.integer("upper", 1) != 0;
  node.set(0, node.call(isUpper ? "triu" : "tril", {node.tensor(0), item(diagonal)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> padRules() {
  static const OddRule rules[] = {
      {"Pad", 2, buildPad},
      {"Trilu", 14, buildTrilu},
  };
  return rules;
}

} // namespace dlc::onnx
