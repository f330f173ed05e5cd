//===- ResizeSizes.cpp - Attributes and sizes of a Resize of ONNX -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/ops/resize/ResizeImport.h"
#include "ir/dl/base/DerivedSize.h"

using namespace mlir;

namespace dlc::onnx {

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

/// Refuses NaN, too.
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

std::optional<AffineExpr> ResizeImport::scaled(AffineExpr dim, double factor) {
  // The product is one of f32, as in ONNX Runtime: 10 elements by 0.9, a little less in f32, are 9.
  auto single = static_cast<float>(factor);
  if (auto size = dl::asConstant(dim)) {
    double product = factor == std::floor(factor) ? static_cast<double>(*size) * factor
                                                  : static_cast<float>(*size) * single;
    if (!expectSize(product))
      return std::nullopt;
    return node.dim(static_cast<int64_t>(product));
  }
  if (factor == std::floor(factor))
    return dl::normalize(dim * static_cast<int64_t>(factor));
  if (isPowerOfHalf(factor))
    return dl::normalize(dim.floorDiv(static_cast<int64_t>(1 / factor)));
  using dl::SizeFunction;
  MLIRContext *context = node.context;
  mlir::Attribute number = AffineMapAttr::get(dl::dimsMap(dim, context));
  auto apply = [&](SizeFunction function, ArrayRef<mlir::Attribute> operands) {
    return number = dl::DerivedAttr::get(context, function, operands);
  };
  apply(SizeFunction::real, {number});
  apply(SizeFunction::product, {number, FloatAttr::get(Float64Type::get(context), factor)});
  apply(SizeFunction::single, {number});
  apply(SizeFunction::integer, {number});
  AffineExpr size = node.importer.derive(cast<dl::DerivedAttr>(number));
  if (!size)
    node.unsupported("it scales the dim " + node.text(dim) + " by " +
                         dl::text(llvm::APFloat(factor)),
                     "; dlc needs a range of the dim at import");
  return size ? std::optional(size) : std::nullopt;
}

/// The sizes that scales ask for which are computed as a size over the dim's own: so exporters
/// write that a tensor gets the size of another one. Nothing where a scale is computed otherwise.
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
      auto scaledSize = scaled(dims[axis], number);
      if (!scaledSize)
        return false;
      sizes[axis] = *scaledSize;
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

} // namespace dlc::onnx
