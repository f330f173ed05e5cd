//===- Resize.cpp - Resizing of ONNX ---------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What interpolate computes becomes that op, one kernel. Everything else goes one dim after the other: for each place of the
// result a coordinate in x, in double, from it the nearest elements and what each of them counts; all of that depends on
// sizes alone and is computed at load. Then as many reads of x as there are taps, multiplied and added.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "ir/dl/base/DerivedSize.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

namespace {

class ResizeImport {
public:
  explicit ResizeImport(NodeImport &node)
      : node(node), isUpsample(node.node.op == "Upsample" || node.opset < 11) {}
  bool run();

private:
  void readAttributes();
  bool readSizes();
  std::optional<dl::Dims> sizesOfScales(const Known &given, ArrayRef<int64_t> axes);
  bool keepAspectRatio(ArrayRef<int64_t> axes, ArrayRef<double> wanted);
  bool expectFactor(double number);
  bool expectSize(double number);
  bool readRegion(ArrayRef<int64_t> axes);
  /// Whether an axis has another size, or the same one of elements that lie elsewhere.
  bool isResized(size_t axis) const {
    return sizes[axis] != dims[axis] || scales[axis] != 1 || position == "tf_crop_and_resize";
  }
  /// What interpolate does; false where it is not that.
  bool interpolate(Item x);
  bool isInterpolation(std::string &torchMode, size_t first);
  Item resized(Item x, size_t axis, std::optional<Item> &isOutside);
  Item coordinates(size_t axis);
  /// How a coordinate along an axis is rounded to an element. Before opset 11 a smaller size rounds
  /// up and a larger one down, as the node tests of opset 10 and ONNX Runtime do.
  StringRef rounding(size_t axis) const {
    return isUpsample && scales[axis] > 0 && scales[axis] < 1 ? StringRef("ceil")
                                                              : StringRef(nearest);
  }
  Item nearestOf(Item at, StringRef rounding);
  Item weight(Item fraction, int64_t tap, double filter);
  Item cubic(Item distance);
  Item elementsAt(Item x, size_t axis, Item index);
  Item alongAxis(Item vector, size_t axis);

  Item math(StringRef op, Item a, double b) { return node.call(op, {a, item(b)}); }
  double size(size_t axis) const {
    return static_cast<double>(dl::asConstant(dims[axis]).value_or(1));
  }
  /// Whether the corners of the result are those of its whole elements, as the standard says and
  /// PyTorch and ONNX Runtime compute, and not those of the size that the scale asks for before it
  /// is rounded, as the standard's node tests have it. These shrink; exporters seldom do.
  bool hasWholeCorners(size_t axis) const {
    return bySize || scales[axis] >= 1 || node.importer.producer().starts_with("pytorch");
  }

  /// How far a window reaches from its centre, in elements of the result and of x.
  double reach() const { return mode == "cubic" ? 2 : 1; }
  double reach(size_t axis) const {
    // A factor of -0.0 reaches as far as one of 0.
    return antialiases && scales[axis] < 1 ? reach() / std::abs(scales[axis]) : reach();
  }

  NodeImport &node;
  bool isUpsample, bySize = false, excludesOutside = false, antialiases = false;
  std::string mode, position, nearest, policy;
  double cubicFactor = 0, extrapolation = 0;
  dl::Dims dims, sizes;
  SmallVector<double> scales, starts, ends;
};

} // namespace

void ResizeImport::readAttributes() {
  mode = node.string("mode", "nearest");
  mode = node.opset < 7 && mode == "bilinear" ? "linear" : mode;
  position =
      node.string("coordinate_transformation_mode", isUpsample ? "asymmetric" : "half_pixel");
  nearest = node.string("nearest_mode", isUpsample ? "floor" : "round_prefer_floor");
  policy = node.string("keep_aspect_ratio_policy", "stretch");
  antialiases = node.integer("antialias", 0) != 0;
  cubicFactor = node.real("cubic_coeff_a", -0.75);
  excludesOutside = node.integer("exclude_outside", 0) != 0;
  extrapolation = node.real("extrapolation_value", 0);
}

/// One scale for all dims, the least or the largest that was asked for.
bool ResizeImport::keepAspectRatio(ArrayRef<int64_t> axes, ArrayRef<double> wanted) {
  double scale = policy == "not_larger" ? std::numeric_limits<double>::infinity() : 0;
  for (auto [axis, number] : llvm::zip(axes, wanted)) {
    double own = number / size(axis);
    scale = policy == "not_larger" ? std::min(scale, own) : std::max(scale, own);
  }
  for (int64_t axis : axes) {
    if (!expectFactor(scale))
      return false;
    scales[axis] = scale;
    if (!expectSize(size(axis) * scale))
      return false;
    sizes[axis] = node.dim(static_cast<int64_t>(std::floor(size(axis) * scale + 0.5)));
  }
  return true;
}

/// Also refuses what is no number.
bool ResizeImport::expectFactor(double number) {
  constexpr double kLargest = 1 << 30;
  return (number >= 0 && number <= kLargest) ||
         node.fail("it resizes by " + dl::text(llvm::APFloat(number)) +
                   "; expected sizes and factors from 0 to 2^30");
}

bool ResizeImport::expectSize(double number) {
  return number < 0x1p62 || node.fail("it resizes to " + dl::text(llvm::APFloat(number)) +
                                      " elements; expected at most 2^62");
}

/// The sizes that scales ask for which are computed as a size over the dim's own: so exporters write
/// that a tensor gets the size of another one. Nothing where a scale is computed otherwise.
std::optional<dl::Dims> ResizeImport::sizesOfScales(const Known &given, ArrayRef<int64_t> axes) {
  auto withoutRounding = [](mlir::Attribute number) {
    auto size = dyn_cast<dl::DerivedAttr>(number);
    while (size && size.getFunction() == dl::SizeFunction::single) {
      number = size.getOperands().front();
      size = dyn_cast<dl::DerivedAttr>(number);
    }
    return number;
  };
  auto dimOf = [&](mlir::Attribute number) {
    number = withoutRounding(number);
    if (auto real = dyn_cast<FloatAttr>(number)) {
      double value = real.getValueAsDouble();
      return value == std::floor(value) && std::abs(value) <= INT32_MAX
                 ? node.dim(static_cast<int64_t>(value))
                 : AffineExpr();
    }
    auto size = dyn_cast<dl::DerivedAttr>(number);
    if (!size || size.getFunction() != dl::SizeFunction::real)
      return AffineExpr();
    auto dim = dyn_cast<AffineMapAttr>(size.getOperands().front());
    return dim ? dim.getValue().getResult(0) : AffineExpr();
  };
  dl::Dims found;
  if (given.numbers.size() != axes.size())
    return std::nullopt;
  for (auto [number, axis] : llvm::zip(given.numbers, axes)) {
    if (!number.derived && number.real == 1) {
      found.push_back(dims[axis]);
      continue;
    }
    auto ratio = number.derived ? dyn_cast<dl::DerivedAttr>(withoutRounding(number.derived))
                                : dl::DerivedAttr();
    if (!ratio || ratio.getFunction() != dl::SizeFunction::ratio ||
        dimOf(ratio.getOperands()[1]) != dims[axis] || !dimOf(ratio.getOperands()[0]))
      return std::nullopt;
    found.push_back(dimOf(ratio.getOperands()[0]));
  }
  return found;
}

/// The scale and the size of each dim; a size that is not given follows from the scale.
bool ResizeImport::readSizes() {
  dims = node.dims(0);
  SmallVector<int64_t> axes = node.integerList("axes");
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, dims.size()));
  for (int64_t &given : axes) {
    auto axis = node.axis(given, dims.size());
    if (!axis)
      return false;
    given = *axis;
  }
  scales.assign(dims.size(), 1.0);
  sizes = dims;
  size_t scaleInput = isUpsample ? 1 : 2;
  const Known *given = node.has(3)            ? node.known(3)
                       : node.has(scaleInput) ? node.known(scaleInput)
                                              : nullptr;
  bySize = node.has(3);
  SmallVector<double> numbers; // 0 in place of sizes that are no numbers
  dl::Dims asked;
  if (node.node.op == "Upsample" && node.opset < 7) { // of images
    numbers = {1, 1, node.real("height_scale", 1), node.real("width_scale", 1)};
  } else if (isUpsample && node.hasAttribute("scales")) {
    for (float scale : node.attribute("scales")->reals)
      numbers.push_back(scale);
  } else if (!given && bySize) {
    auto read = node.sizes(3, "the sizes", {0, Importer::kMostRead});
    if (!read)
      return false;
    asked = *read;
  } else if (auto reals = given ? given->reals() : std::nullopt) {
    numbers = *reals;
  } else if (auto exprs = given && bySize ? given->dims() : std::nullopt) {
    asked = *exprs;
  } else if (auto exprs = given && !bySize ? sizesOfScales(*given, axes) : std::nullopt) {
    asked = *exprs;
    bySize = true;
  }
  for (AffineExpr dim : asked)
    numbers.push_back(static_cast<double>(dl::asConstant(dim).value_or(0)));
  if (numbers.size() != axes.size())
    return node.unsupported("its scales or sizes are computed by the model",
                            "; dlc needs their numbers at import");
  for (double number : numbers)
    if (!expectFactor(number))
      return false;
  bool isSymbolic = !asked.empty() ||
                    llvm::any_of(axes, [&](int64_t axis) { return !dl::asConstant(dims[axis]); });
  if (bySize && isSymbolic && policy != "stretch")
    return node.unsupported("it keeps the aspect ratio of symbolic dims",
                            "; dlc needs their sizes at import: give them by --shapes");
  for (auto [place, axis] : llvm::enumerate(axes)) {
    auto size = dl::asConstant(dims[axis]);
    double number = numbers[place];
    if (!asked.empty() && !dl::asConstant(asked[place])) {
      sizes[axis] = asked[place];
      scales[axis] = sizes[axis] == dims[axis] ? 1 : 0;
    } else if (bySize) {
      sizes[axis] = node.dim(static_cast<int64_t>(number));
      scales[axis] = size ? number / static_cast<double>(*size) : 0;
    } else {
      scales[axis] = number;
      if (size && !expectSize(static_cast<double>(*size) * number))
        return false;
      if (number != 1.0)
        sizes[axis] =
            size ? node.dim(static_cast<int64_t>(std::floor(static_cast<double>(*size) * number)))
                 : dl::normalize(dims[axis] * static_cast<int64_t>(number));
    }
  }
  if (policy != "stretch" && policy != "not_larger" && policy != "not_smaller")
    return node.fail("its keep_aspect_ratio_policy is " + frontend::quote(policy) +
                     "; expected stretch, not_larger or not_smaller");
  if (bySize && policy != "stretch" && !keepAspectRatio(axes, numbers))
    return false;
  return position != "tf_crop_and_resize" || readRegion(axes);
}

/// The part of each dim that is resized, from 0 to 1.
bool ResizeImport::readRegion(ArrayRef<int64_t> axes) {
  starts.assign(dims.size(), 0);
  ends.assign(dims.size(), 1);
  const Known *region = node.known(1);
  auto numbers = region ? region->reals() : std::nullopt;
  if (!numbers || numbers->size() != 2 * axes.size())
    return node.unsupported("its region is computed by the model",
                            "; dlc needs two numbers for each axis at import");
  for (auto [i, axis] : llvm::enumerate(axes)) {
    starts[axis] = (*numbers)[i];
    ends[axis] = (*numbers)[axes.size() + i];
  }
  return true;
}

//===- Interpolation of PyTorch -------------------------------------------------------------------===//

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
    // Corners of a size that is no whole number lie elsewhere.
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
  else
    named.push_back({"scale_factor", itemList(ArrayRef<double>(scales).drop_front(2))});
  if (mode != "nearest")
    named.push_back({"align_corners", item(aligns)});
  node.set(0, node.call("interpolate", {x}, named));
  return true;
}

//===- Dim by dim ---------------------------------------------------------------------------------===//

/// Where each place of the result lies in x.
Item ResizeImport::coordinates(size_t axis) {
  double in = size(axis), out = static_cast<double>(*dl::asConstant(sizes[axis]));
  // The size that the scale asks for, before it was cut off or rounded.
  double scale = scales[axis], width = bySize ? out : in * scale;
  Item at = node.cast(node.call("arange", {Item::dim(sizes[axis], {})}), node.builder.getF64Type());
  auto centred = [&](double offset) {
    return math("add", math("div", math("add", at, 0.5), scale), offset - 0.5);
  };
  auto every = [&](double step, double first) { return math("add", math("mul", at, step), first); };
  if (position == "align_corners") {
    double length = hasWholeCorners(axis) ? out : width;
    return length == 1 ? every(0, 0) : every((in - 1) / (length - 1), 0);
  }
  if (position == "asymmetric")
    return math("div", at, scale);
  if (position == "pytorch_half_pixel")
    return out == 1 ? every(0, 0) : centred(0);
  if (position == "half_pixel_symmetric")
    return centred(bySize && policy == "stretch" ? 0 : (in - out / scale) / 2);
  if (position == "tf_half_pixel_for_nn")
    return centred(0.5);
  if (position == "tf_crop_and_resize") {
    double part = ends[axis] - starts[axis];
    return width == 1 ? every(0, (starts[axis] + ends[axis]) * (in - 1) / 2)
                      : every(part * (in - 1) / (width - 1), starts[axis] * (in - 1));
  }
  return centred(0);
}

Item ResizeImport::nearestOf(Item at, StringRef rounding) {
  if (rounding == "floor" || rounding == "ceil")
    return node.call(rounding, {at});
  return rounding == "round_prefer_ceil" ? node.call("floor", {math("add", at, 0.5)})
                                         : node.call("ceil", {math("sub", at, 0.5)});
}

Item ResizeImport::elementsAt(Item x, size_t axis, Item index) {
  Item inside = node.call("clamp", {index, item(0.0), item(size(axis) - 1)});
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

/// What the element `tap` behind the coordinate's floor counts, unscaled; `filter` below 1 widens the window.
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
          node.call("logical_and", {math("ge", place, 0), math("lt", place, size(axis))});
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
    isKnown &= !isResized(i) || (dl::asConstant(dims[i]) && dl::asConstant(sizes[i]));
  if (!isKnown)
    return node.unsupported(
        "it resizes " + node.typeText(0) + " by " + mode + ", " + position +
            (mode == "nearest" ? ", " + nearest : ""),
        "; of symbolic dims dlc takes nearest (asymmetric with floor, half_pixel with "
        "round_prefer_ceil, whole factors) and linear (half_pixel, align_corners) of [N, C, L], "
        "[N, C, H, W] and, if linear, [N, C, D, H, W], and cubic (half_pixel, align_corners, "
        "cubic_coeff_a -0.75) of [N, C, H, W]");
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

/// Upsample is the Resize of before opset 10.
static bool buildResize(NodeImport &node) { return ResizeImport(node).run(); }

llvm::ArrayRef<OddRule> resizeRules() {
  static const OddRule rules[] = {{"Resize", 10, buildResize}, {"Upsample", 1, buildResize}};
  return rules;
}

} // namespace dlc::onnx
