//===- Resize.cpp - Resizing of ONNX ------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A Resize that dl.interpolate can compute becomes this op, which is one kernel. Any other Resize
// works on one dim after the other. Each element of the result has a coordinate in x, computed in
// double. The coordinate gives the nearest elements of x and their weights. All of this depends on
// sizes alone and is computed at load. A run reads these elements, multiplies them by their weights
// and adds.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/resize/ResizeImport.h"

using namespace mlir;

namespace dlc::onnx {

//===- Interpolation of PyTorch ---------------------------------------------------------------===//

bool ResizeImport::isInterpolation(std::string &torchMode, size_t first) {
  bool isNearest = mode == "nearest", aligns = position == "align_corners";
  bool isFloor = isNearest && position == "asymmetric" && nearest == "floor";
  bool isExact = isNearest && position == "half_pixel" && nearest == "round_prefer_ceil";
  bool isCubic = mode == "cubic" && cubicFactor == -0.75 && !excludesOutside;
  bool isLinear = (mode == "linear" || isCubic) && isa<FloatType>(node.dtype(0)) &&
                  (position == "half_pixel" || aligns || position == "pytorch_half_pixel");
  // Whole factors copy each element: positions of all kinds agree but for ties.
  bool isWhole = isNearest && (((position == "half_pixel" || position == "pytorch_half_pixel") &&
                                StringRef(nearest).starts_with("round")) ||
                               isFloor);
  for (size_t i = 0; i < dims.size(); ++i) {
    // If the scaled size is not a whole number, the corners are at other coordinates.
    double end = size(i) * scales[i];
    isFloor &= rounding(i) == nearest;
    isLinear &= !aligns || hasWholeCorners(i) || end == std::floor(end);
    // A single element is the first one, where PyTorch takes the middle.
    isLinear &= position != "pytorch_half_pixel" || !isResized(i) || !dl::isConstant(sizes[i], 1);
    isWhole &= scales[i] >= 1 && scales[i] == std::floor(scales[i]);
  }
  size_t spatial = dims.size() < 3 ? 0 : dims.size() - 2;
  isLinear &= !isCubic || spatial == 2;
  torchMode = isLinear              ? (isCubic        ? "bicubic"
                                       : spatial == 1 ? "linear"
                                       : spatial == 2 ? "bilinear"
                                                      : "trilinear")
              : isExact && !isWhole ? "nearest-exact"
                                    : "nearest";
  return (isFloor || isExact || isLinear || isWhole) && policy == "stretch" && !antialiases &&
         first >= 2 && spatial >= 1 && spatial <= (mode == "linear" ? 3 : 2);
}

bool ResizeImport::isSizeOfFactor(size_t axis) const {
  auto from = dl::asConstant(dims[axis]), to = dl::asConstant(sizes[axis]);
  if (from && to)
    return std::floor(static_cast<double>(*from) * scales[axis]) == static_cast<double>(*to);
  return scales[axis] == std::floor(scales[axis]) || isPowerOfHalf(scales[axis]);
}

bool ResizeImport::interpolate(Item x) {
  size_t first = 0;
  while (!isResized(first))
    ++first;
  std::string torchMode;
  if (!isInterpolation(torchMode, first))
    return false;
  bool aligns = position == "align_corners", isWhole = mode == "nearest";
  bool areConstant =
      llvm::all_of(sizes, [](AffineExpr dim) { return dl::asConstant(dim).has_value(); });
  for (double scale : scales)
    isWhole &= scale >= 1 && scale == std::floor(scale);
  std::vector<std::pair<StringRef, Item>> named{{"mode", item(StringRef(torchMode))}};
  if (bySize || aligns || (isWhole && areConstant))
    named.push_back({"size", dimItems(ArrayRef<AffineExpr>(sizes).drop_front(2))});
  else if (llvm::all_of(llvm::seq<size_t>(2, dims.size()),
                        [&](size_t axis) { return isSizeOfFactor(axis); }))
    named.push_back({"scale_factor", itemList(ArrayRef<double>(scales).drop_front(2))});
  else
    return false;
  if (mode != "nearest")
    named.push_back({"align_corners", item(aligns)});
  node.set(0, node.call("interpolate", {x}, named));
  return true;
}

//===- Dim by dim -----------------------------------------------------------------------------===//

Item ResizeImport::math(StringRef op, Item a, Item b) {
  if (!a.is<double>() || !b.is<double>()) {
    Item first = a.is<double>() ? node.scalar(a.as<double>(), node.builder.getF64Type()) : a;
    return node.call(op, {first, b});
  }
  double x = a.as<double>(), y = b.as<double>();
  return item(op == "add" ? x + y : op == "sub" ? x - y : op == "mul" ? x * y : x / y);
}

Item ResizeImport::length(AffineExpr dim) {
  if (auto size = dl::asConstant(dim))
    return item(static_cast<double>(*size));
  return node.cast(node.count(dim), node.builder.getF64Type());
}

Item ResizeImport::factor(size_t axis) {
  bool isKnown = !bySize || (dl::asConstant(dims[axis]) && dl::asConstant(sizes[axis]));
  return isKnown ? item(scales[axis]) : math("div", length(sizes[axis]), length(dims[axis]));
}

/// Returns the distance in x between neighbours of a result of `width` elements whose last element
/// is `top` elements after the first. A single element is the first one.
Item ResizeImport::distance(Item top, Item width) {
  Item steps = math("sub", std::move(width), 1);
  if (steps.is<double>())
    return steps.as<double>() == 0 ? item(0.0) : math("div", std::move(top), steps);
  constexpr double kLeast = 1e-300; // times 0 elements
  return math("div", std::move(top), node.call("clamp", {steps}, {{"min", item(kLeast)}}));
}

/// Returns the coordinate in x of each element of the result.
Item ResizeImport::coordinates(size_t axis) {
  Type f64 = node.builder.getF64Type();
  Item in = length(dims[axis]), out = length(sizes[axis]), scale = factor(axis);
  // The size that the scale asks for, before it was cut off or rounded.
  Item width = bySize ? out : math("mul", in, scale);
  Item at = node.cast(node.call("arange", {Item::dim(sizes[axis], {})}), f64);
  auto centred = [&](Item offset) {
    return math("add", math("div", math("add", at, 0.5), scale),
                math("sub", std::move(offset), 0.5));
  };
  if (position == "align_corners")
    return math("mul", at, distance(last(axis), hasWholeCorners(axis) ? out : width));
  if (position == "asymmetric")
    return math("div", at, scale);
  if (position == "pytorch_half_pixel") {
    if (out.is<double>())
      return out.as<double>() == 1 ? math("mul", at, 0) : centred(item(0.0));
    return math("mul", centred(item(0.0)), node.cast(math("gt", out, 1), f64));
  }
  if (position == "half_pixel_symmetric" && !(bySize && policy == "stretch"))
    return centred(math("mul", math("sub", in, math("div", out, scale)), 0.5));
  if (position == "tf_half_pixel_for_nn")
    return centred(item(0.5));
  if (position == "tf_crop_and_resize") {
    Item part = distance(math("mul", last(axis), ends[axis] - starts[axis]), width);
    bool isOne = width.is<double>() && width.as<double>() == 1;
    return math("add", math("mul", at, part),
                math("mul", last(axis), isOne ? (starts[axis] + ends[axis]) / 2 : starts[axis]));
  }
  return centred(item(0.0));
}

Item ResizeImport::nearestOf(Item at, StringRef rounding) {
  if (rounding == "floor" || rounding == "ceil")
    return node.call(rounding, {at});
  return rounding == "round_prefer_ceil" ? node.call("floor", {math("add", at, 0.5)})
                                         : node.call("ceil", {math("sub", at, 0.5)});
}

Item ResizeImport::elementsAt(Item x, size_t axis, Item index) {
  Item top = last(axis);
  Item inside = top.is<double>() ? node.call("clamp", {index, item(0.0), top})
                                 : node.call("clamp", {node.call("minimum", {index, top})},
                                             {{"min", item(0.0)}});
  return node.call("index_select", {x, item(static_cast<int64_t>(axis)),
                                    node.cast(inside, node.builder.getI64Type())});
}

Item ResizeImport::alongAxis(Item vector, size_t axis) {
  dl::Dims shape(dims.size(), node.dim(1));
  shape[axis] = sizes[axis];
  return node.reshape(vector, shape);
}

/// The cubic that is 1 at 0 and 0 at other whole distances, of factor `cubic_coeff_a`.
Item ResizeImport::cubic(Item distance) {
  double a = cubicFactor;
  auto horner = [&](std::initializer_list<double> factors) {
    Item sum;
    bool isFirst = true;
    for (double factor : factors) {
      sum = isFirst ? math("mul", distance, factor)
                    : node.call("mul", {math("add", sum, factor), distance});
      isFirst = false;
    }
    return sum;
  };
  Item near = math("add", horner({a + 2, -(a + 3), 0}), 1),
       far = math("add", horner({a, -5 * a, 8 * a}), -4 * a);
  Item zero = math("mul", distance, 0);
  Item beyond = node.call("where", {math("lt", distance, 2), far, zero});
  return node.call("where", {math("le", distance, 1), near, beyond});
}

/// Returns the weight of the element that is `tap` elements after the coordinate's floor, before
/// the weights are divided by their sum. A `filter` below 1 widens the window.
Item ResizeImport::weight(Item fraction, int64_t tap, double filter) {
  Item distance = node.call("abs", {math("sub", fraction, static_cast<double>(tap))});
  if (filter != 1)
    distance = math("mul", distance, filter);
  if (mode == "cubic")
    return cubic(distance);
  return node.call("clamp", {math("add", math("mul", distance, -1), 1), item(0.0), item(1.0)});
}

Item ResizeImport::resized(Item x, size_t axis, std::optional<Item> &isOutside) {
  Item at = coordinates(axis);
  if (position == "tf_crop_and_resize") {
    Item beyond = node.call("logical_or", {math("lt", at, 0), math("gt", at, size(axis) - 1)});
    beyond = alongAxis(beyond, axis);
    isOutside = isOutside ? node.call("logical_or", {*isOutside, beyond}) : beyond;
  }
  if (mode == "nearest")
    return elementsAt(x, axis, nearestOf(at, rounding(axis)));
  double filter = antialiases ? std::min(scales[axis], 1.0) : 1;
  auto first = static_cast<int64_t>(std::floor(-reach(axis))) + 1;
  Item floor = node.call("floor", {at}), fraction = node.call("sub", {at, floor});
  SmallVector<Item> weights, places;
  Item total;
  for (int64_t tap = first; tap <= 1 - first; ++tap) {
    Item place = math("add", floor, static_cast<double>(tap));
    Item counts = weight(fraction, tap, filter);
    if (excludesOutside) {
      Item isInside =
          node.call("logical_and", {math("ge", place, 0), math("lt", place, length(dims[axis]))});
      counts = node.call("where", {isInside, counts, math("mul", counts, 0)});
    }
    total = tap == first ? counts : node.call("add", {total, counts});
    if (node.hasFailed())
      return counts;
    weights.push_back(counts);
    places.push_back(place);
  }
  Item sum;
  for (auto [tap, place] : llvm::enumerate(places)) {
    Item counts = weights[tap];
    if (excludesOutside || antialiases)
      counts = node.call("div", {counts, total});
    if (node.hasFailed())
      return counts;
    counts = alongAxis(node.cast(counts, x.tensorType().getElementType()), axis);
    Item part = node.call("mul", {elementsAt(x, axis, place), counts});
    sum = tap == 0 ? part : node.call("add", {sum, part});
  }
  return sum;
}

bool ResizeImport::run() {
  readAttributes();
  Item x = node.tensor(0);
  if (node.hasFailed() || !readSizes())
    return false;
  auto axes = llvm::seq<size_t>(0, dims.size());
  if (llvm::none_of(axes, [&](size_t axis) { return isResized(axis); })) {
    node.alias(0, 0);
    return true;
  }
  if (interpolate(x))
    return !node.hasFailed();
  bool isKnown =
      llvm::is_contained({"nearest", "linear", "cubic"}, mode) &&
      llvm::is_contained({"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                          "align_corners", "asymmetric", "tf_crop_and_resize",
                          "tf_half_pixel_for_nn"},
                         position) &&
      llvm::is_contained({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}, nearest);
  for (size_t i = 0; i < dims.size(); ++i)
    isKnown &= !isResized(i) || (dl::asConstant(dims[i]) && dl::asConstant(sizes[i])) ||
               (position != "tf_crop_and_resize" && (!bySize || !(antialiases || isUpsample)));
  if (!isKnown)
    return node.unsupported(
        "it resizes " + node.typeText(0) + " by " + mode + ", " + position +
            (mode == "nearest" ? ", " + nearest : ""),
        "; dlc takes the modes, coordinate transformations and roundings of the standard, but "
        "tf_crop_and_resize and sizes with antialias only of dims that are known at import");
  constexpr double kMostTaps = 1024;
  double taps = 0;
  for (size_t i = 0; i < dims.size(); ++i)
    taps += isResized(i) && mode != "nearest" ? 2 * reach(i) : 0;
  if (!(taps <= kMostTaps))
    return node.unsupported("its windows hold more than " +
                                llvm::Twine(static_cast<int>(kMostTaps)) + " elements",
                            "; dlc writes each of them out");
  // Products and sums of 16-bit floats and integers are rounded once.
  Type dtype = node.dtype(0), compute = dtype;
  if (mode != "nearest" && !dtype.isF64())
    compute = node.builder.getF32Type();
  Item y = node.cast(x, compute);
  std::optional<Item> isOutside;
  for (size_t i = 0; i < dims.size(); ++i)
    if (isResized(i))
      y = resized(y, i, isOutside);
  if (isOutside)
    y = node.call("where", {*isOutside, node.scalar(extrapolation, compute), y});
  if (node.hasFailed())
    return false;
  node.set(0, node.cast(y, dtype));
  return !node.hasFailed();
}

/// Imports an Upsample, which Resize replaced in opset 10.
static bool buildResize(NodeImport &node) { return ResizeImport(node).run(); }

llvm::ArrayRef<OddRule> resizeRules() {
  static const OddRule rules[] = {{"Resize", 10, buildResize}, {"Upsample", 1, buildResize}};
  return rules;
}

} // namespace dlc::onnx
