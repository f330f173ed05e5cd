//===- WindowDerivatives.cpp - Of convolutions and pools ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/gradient/Derivation.h"

using namespace mlir;

namespace dlc::onnx {

namespace {
/// Numbers of each spatial dim.
struct Windows {
  size_t count;
  SmallVector<int64_t> stride, dilation, low, high;

  explicit Windows(Derivation &d) : count(d.dims().size() - 2) {
    auto list = [&](StringRef name, int64_t otherwise) {
      SmallVector<int64_t> numbers = d.integers(name);
      if (numbers.empty())
        numbers.assign(count, otherwise);
      return numbers;
    };
    stride = list("stride", 1);
    dilation = list("dilation", 1);
    low = list("padding", 0);
    high = low.size() == 2 * count ? SmallVector<int64_t>(llvm::drop_begin(low, count)) : low;
    low.truncate(count);
  }
  std::string named(StringRef name) const { return (name + llvm::Twine(count) + "d").str(); }
};
} // namespace

/// What each window gave goes back to where it read: `full` begins `low` elements before x. Where x
/// has symbols, its distance from the end of the last window may not be a number.
static Term cutToX(Derivation &d, Term full, const Windows &windows) {
  dl::Dims dims = d.dims();
  for (size_t i = 0; i < windows.count && !d.node.hasFailed(); ++i) {
    auto axis = static_cast<int64_t>(2 + i);
    AffineExpr behind = dl::normalize(dims[2 + i] + windows.low[i] - full.dims()[axis]);
    if (!dl::asConstant(behind)) {
      d.refuse("windows of stride " + llvm::Twine(windows.stride[i]) + " over a dim of " +
                   d.node.text(dims[2 + i]),
               "; give the symbols numbers by --shapes");
      return full;
    }
    full = full.padded(axis, d.dim(-windows.low[i]), behind);
  }
  return full;
}

/// What a weight is worth is a convolution too: samples are summed up as channels are otherwise,
/// `window` slides over `x`, and stride and dilation change places. [channels of x / groups,
/// channels of window, ...], of the spatial dims of `weight`.
static Term weightWorth(Derivation &d, const Term &x, const Term &window, const Windows &windows,
                        ArrayRef<AffineExpr> weight) {
  int64_t groups = d.integer("groups", 1);
  dl::Dims dims = x.dims();
  if (d.node.hasFailed())
    return x;
  auto rank = static_cast<int64_t>(dims.size());
  AffineExpr each = dl::normalize(dims[1].floorDiv(groups));
  dl::Dims apart{dims[0], d.dim(groups), each}, joined{each, dl::normalize(dims[0] * groups)};
  apart.append(dims.begin() + 2, dims.end());
  joined.append(dims.begin() + 2, dims.end());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank + 1));
  std::swap(order[0], order[2]); // channels, groups, samples
  auto exchanged = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::swap(exchanged[0], exchanged[1]);
  SmallVector<int64_t> padding = windows.low;
  padding.append(windows.high);
  Term samples = x.reshape(apart).permute(order).reshape(joined);
  Term worth =
      samples.call(windows.named("conv"), {window.permute(exchanged).item},
                   {{"stride", itemList(windows.dilation)},
                    {"dilation", itemList(windows.stride)},
                    {"padding", itemList(windows.low == windows.high ? windows.low : padding)},
                    {"groups", item(groups)}});
  // Behind the weight are places that its stride would have reached.
  for (size_t i = 2; i < weight.size(); ++i)
    worth = worth.narrowed(static_cast<int64_t>(i), d.dim(0), weight[i]);
  return worth.permute(exchanged);
}

static void deriveBias(Derivation &d) {
  if (d.op->getNumOperands() < 3 || !d.wants(2))
    return;
  dl::Dims channels(d.dims().size(), d.dim(1));
  channels[1] = d.dims(2)[0];
  d.add(2, d.dy().summedTo(channels).reshape(d.dims(2)));
}

static void deriveConv(Derivation &d) {
  Windows windows(d);
  if (d.wants(0)) {
    Term full = d.dy().call(windows.named("conv_transpose"), {d.x(1).item},
                            {{"stride", itemList(windows.stride)},
                             {"dilation", itemList(windows.dilation)},
                             {"groups", item(d.integer("groups", 1))}});
    d.add(0, cutToX(d, full, windows));
  }
  if (d.wants(1))
    d.add(1, weightWorth(d, d.x(0), d.dy(), windows, d.dims(1)));
  deriveBias(d);
}

static void deriveConvTranspose(Derivation &d) {
  Windows windows(d);
  if (d.wants(0)) {
    Term dx = d.dy().call(windows.named("conv"), {d.x(1).item},
                          {{"stride", itemList(windows.stride)},
                           {"padding", itemList(windows.low)},
                           {"dilation", itemList(windows.dilation)},
                           {"groups", item(d.integer("groups", 1))}});
    for (size_t i = 2; i < d.dims().size(); ++i) // output_padding may be as wide as a stride
      dx = dx.narrowed(static_cast<int64_t>(i), d.dim(0), d.dims()[i]);
    d.add(0, dx);
  }
  if (d.wants(1))
    d.add(1, weightWorth(d, d.dy(), d.x(0), windows, d.dims(1)));
  deriveBias(d);
}

/// A convolution of each channel by itself, divided by how many elements a window has.
static void deriveAvgPool(Derivation &d) {
  Windows windows(d);
  SmallVector<int64_t> kernel = d.integers("kernel_size");
  if (d.integers("stride").empty())
    windows.stride = kernel;
  dl::Dims x = d.dims(), y = d.dy().dims();
  if (d.node.hasFailed())
    return;
  if (d.boolean("ceil_mode"))
    return d.refuse("a mean of windows with ceil_mode", "; dlc knows those without");
  dl::Dims ones(2, d.dim(1)), flat{dl::normalize(y[0] * y[1]), d.dim(1)}, plane(2, d.dim(1));
  int64_t area = 1;
  for (int64_t size : kernel) {
    ones.push_back(d.dim(size));
    area *= size;
  }
  flat.append(y.begin() + 2, y.end());
  plane.append(x.begin() + 2, x.end());
  auto filled = [&](ArrayRef<AffineExpr> dims) {
    return Term(d.node.full(item(1.0), dl::makeTensor(dims, d.dtype())), d.node);
  };
  Term window = filled(ones), part = d.dy().reshape(flat);
  bool isPadded = llvm::any_of(windows.low, [](int64_t width) { return width != 0; });
  if (d.boolean("count_include_pad", true) || !isPadded)
    part = part / static_cast<double>(d.integer("divisor_override", area));
  else
    part = part / filled(plane).call(
                      windows.named("conv"), {window.item},
                      {{"stride", itemList(windows.stride)}, {"padding", itemList(windows.low)}});
  Term full = part.call(windows.named("conv_transpose"), {window.item},
                        {{"stride", itemList(windows.stride)}});
  d.add(0, cutToX(d, full, windows).reshape(x));
}

/// dy goes to the first largest element of each window.
static void scatterToLargest(Derivation &d, const Term &positions) {
  dl::Dims x = d.dims(), y = d.dy().dims();
  auto flat = [&](const dl::Dims &dims) {
    ArrayRef<AffineExpr> all(dims);
    return dl::Dims{dims[0], dims[1],
                    dl::normalize(dl::product(all.drop_front(2), d.node.context))};
  };
  if (d.node.hasFailed())
    return;
  Term dx = d.zeros(flat(x)).call("scatter_add", {item(int64_t(2)), positions.reshape(flat(y)).item,
                                                  d.dy().reshape(flat(y)).item});
  d.add(0, dx.reshape(x));
}

static void deriveMaxPool(Derivation &d) {
  Windows windows(d);
  SmallVector<int64_t> kernel = d.integers("kernel_size"), stride = d.integers("stride");
  Item both = d.node.call(windows.named("max_pool"), {d.x().item, itemList(kernel)},
                          {{"stride", itemList(stride.empty() ? kernel : stride)},
                           {"padding", itemList(windows.low)},
                           {"dilation", itemList(windows.dilation)},
                           {"ceil_mode", item(d.boolean("ceil_mode"))},
                           {"return_indices", item(true)}});
  if (both.is<Item::List>())
    scatterToLargest(d, {both.as<Item::List>()[1], d.node});
}

llvm::ArrayRef<DerivativeRule> windowDerivatives() {
  static const DerivativeRule rules[] = {
      {"dl.conv1d", deriveConv},
      {"dl.conv2d", deriveConv},
      {"dl.conv3d", deriveConv},
      {"dl.conv_transpose1d", deriveConvTranspose},
      {"dl.conv_transpose2d", deriveConvTranspose},
      {"dl.conv_transpose3d", deriveConvTranspose},
      {"dl.avg_pool1d", deriveAvgPool},
      {"dl.avg_pool2d", deriveAvgPool},
      {"dl.avg_pool3d", deriveAvgPool},
      {"dl.max_pool1d", deriveMaxPool},
      {"dl.max_pool2d", deriveMaxPool},
      {"dl.max_pool1d_with_indices", [](Derivation &d) { scatterToLargest(d, d.y(1)); }},
      {"dl.max_pool2d_with_indices", [](Derivation &d) { scatterToLargest(d, d.y(1)); }},
  };
  return rules;
}

} // namespace dlc::onnx
