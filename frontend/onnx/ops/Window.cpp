//===- Window.cpp - Pools of ONNX, and resizing -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Windows.h"

#include <cmath>
#include <numeric>

using namespace mlir;

namespace dlc::onnx {

//===- Windows --------------------------------------------------------------------------------===//

bool Window::isPadded() const {
  return llvm::any_of(low, [](int64_t width) { return width != 0; }) ||
         llvm::any_of(high, [](int64_t width) { return width != 0; });
}

Item Window::padding() const {
  SmallVector<int64_t> widths(low);
  if (!isSymmetric())
    widths.append(high);
  return itemList(widths);
}

std::optional<Window> readWindow(NodeImport &node, ArrayRef<AffineExpr> dims,
                                 ArrayRef<int64_t> kernel) {
  size_t spatial = dims.size() < 2 ? 0 : dims.size() - 2;
  Window window;
  window.kernel = node.integerList("kernel_shape");
  if (window.kernel.empty())
    window.kernel.assign(kernel.begin(), kernel.end());
  window.stride = node.integerList("strides");
  window.dilation = node.integerList("dilations");
  SmallVector<int64_t> pads = node.integerList("pads");
  std::string mode = node.string("auto_pad", "NOTSET");
  if (window.stride.empty())
    window.stride.assign(spatial, 1);
  if (window.dilation.empty())
    window.dilation.assign(spatial, 1);
  if (pads.empty() || mode != "NOTSET")
    pads.assign(2 * spatial, 0);
  if (spatial == 0 || window.kernel.size() != spatial || window.stride.size() != spatial ||
      window.dilation.size() != spatial || pads.size() != 2 * spatial) {
    node.fail("its kernel_shape, strides, dilations and pads have " +
              llvm::Twine(window.kernel.size()) + ", " + llvm::Twine(window.stride.size()) + ", " +
              llvm::Twine(window.dilation.size()) + " and " + llvm::Twine(pads.size()) +
              " numbers; expected 1, 1, 1 and 2 for each of the " + llvm::Twine(spatial) +
              " spatial dims");
    return std::nullopt;
  }
  for (size_t i = 0; i < spatial; ++i)
    for (int64_t number : {window.kernel[i], window.stride[i], window.dilation[i]})
      if (number < 1 || number > INT16_MAX) {
        node.fail("a number of its window is " + llvm::Twine(number) + "; expected 1 to 32767");
        return std::nullopt;
      }
  for (int64_t width : pads)
    if (width < INT32_MIN || width > INT32_MAX) {
      node.fail("one of its pads is " + llvm::Twine(width) + "; expected -2^31 to 2^31 - 1");
      return std::nullopt;
    }
  window.low.assign(pads.begin(), pads.begin() + spatial);
  window.high.assign(pads.begin() + spatial, pads.end());
  for (size_t i = 0; mode.starts_with("SAME") && i < spatial; ++i) {
    int64_t extent = window.dilation[i] * (window.kernel[i] - 1) + 1, total = extent - 1;
    if (window.stride[i] != 1) {
      auto size = dl::asConstant(dims[2 + i]);
      if (!size) {
        node.unsupported("auto_pad " + mode + " with a stride over a symbolic dim",
                         "; dlc needs its number, or pads");
        return std::nullopt;
      }
      int64_t count = (*size + window.stride[i] - 1) / window.stride[i];
      total = std::max<int64_t>((count - 1) * window.stride[i] + extent - *size, 0);
    }
    window.low[i] = mode == "SAME_LOWER" ? total - total / 2 : total / 2;
    window.high[i] = total - window.low[i];
  }
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    node.fail("its auto_pad is " + frontend::quote(mode) +
              "; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    return std::nullopt;
  }
  return window;
}

Item padded(NodeImport &node, Item x, const Window &window, double value) {
  SmallVector<int64_t> pads;
  for (size_t i = window.low.size(); i-- > 0;) {
    pads.push_back(window.low[i]);
    pads.push_back(window.high[i]);
  }
  return node.call("pad", {x, itemList(pads), item(StringRef("constant")), item(value)});
}

//===- Pools ----------------------------------------------------------------------------------===//

/// "max_pool2d"; nothing, reported, where x has too many dims.
static std::optional<std::string> poolNamed(NodeImport &node, StringRef name) {
  int64_t spatial = node.rank(0) - 2;
  if (spatial >= 1 && spatial <= 3)
    return (name + llvm::Twine(spatial) + "d").str();
  node.unsupported("it pools " + node.typeText(0), "; dlc pools 1 to 3 spatial dims");
  return std::nullopt;
}

/// Padding that PyTorch's pools take: equal on both sides, at most half a window.
static bool isPoolPadding(const Window &window) {
  for (auto [kernel, low] : llvm::zip(window.kernel, window.low))
    if (2 * low > kernel)
      return false;
  return window.isSymmetric();
}

/// Windows that ceil_mode adds begin inside the input or its left padding: what lies behind is
/// padded so that floor finds them.
static bool addCeilPadding(NodeImport &node, Window &window, SmallVectorImpl<int64_t> &extra) {
  dl::Dims dims = node.dims(0);
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    auto size = dl::asConstant(dims[2 + i]);
    if (!size)
      return node.unsupported("ceil_mode over a symbolic dim with pads of two widths",
                              "; dlc needs its number");
    int64_t extent = window.dilation[i] * (window.kernel[i] - 1) + 1;
    int64_t room = *size + window.low[i] + window.high[i] - extent;
    int64_t count = (room + window.stride[i] - 1) / window.stride[i] + 1;
    if ((count - 1) * window.stride[i] >= *size + window.low[i])
      --count;
    extra[i] = std::max<int64_t>(
        (count - 1) * window.stride[i] + extent - (*size + window.low[i] + window.high[i]), 0);
  }
  return true;
}

static bool buildMaxPool(NodeImport &node) {
  auto name = poolNamed(node, "max_pool");
  auto window = name ? readWindow(node, node.dims(0), {}) : std::nullopt;
  bool ceils = node.integer("ceil_mode", 0) != 0;
  int64_t order = node.integer("storage_order", 0);
  Item x = node.tensor(0);
  if (!window || node.hasFailed())
    return false;
  // Where x begins in what is pooled, and how large that is.
  dl::Dims dims = node.dims(0), pooled(dims.begin() + 2, dims.end());
  SmallVector<int64_t> begin(window->kernel.size());
  if (!isPoolPadding(*window)) {
    SmallVector<int64_t> extra(window->kernel.size());
    if (ceils && !addCeilPadding(node, *window, extra))
      return false;
    for (auto [high, more] : llvm::zip(window->high, extra))
      high += more;
    Type dtype = node.dtype(0);
    // The least number of the dtype never wins.
    double least = isa<FloatType>(dtype) ? -std::numeric_limits<double>::infinity()
                   : dtype.isUnsignedInteger()
                       ? 0
                       : -std::ldexp(1.0, dtype.getIntOrFloatBitWidth() - 1);
    x = padded(node, x, *window, least);
    begin = window->low;
    for (auto [size, low, high] : llvm::zip(pooled, window->low, window->high))
      size = dl::normalize(size + low + high);
    ceils = false;
    window->low.assign(window->kernel.size(), 0);
    window->high = window->low;
  }
  std::vector<std::pair<StringRef, Item>> named{{"kernel_size", itemList(window->kernel)},
                                                {"stride", itemList(window->stride)},
                                                {"padding", window->padding()},
                                                {"dilation", itemList(window->dilation)},
                                                {"ceil_mode", item(ceils)}};
  if (!node.wants(1)) {
    node.set(0, node.call(*name, {x}, named));
    return !node.hasFailed();
  }
  std::string both = *name + "_with_indices";
  if (signaturesOf(both).empty())
    return node.unsupported("positions of a pool over a volume",
                            "; dlc gives those of 1 and 2 spatial dims");
  Item results = node.call(both, {x}, named);
  if (!results.is<Item::List>())
    return false;
  // ONNX counts through the whole tensor, PyTorch through each image; there storage_order 1 counts
  // column by column.
  Item positions = results.as<Item::List>()[1];
  auto extent = [&](AffineExpr size) {
    return node.call("scalar_tensor", {Item::dim(size, {}), item(Type(node.builder.getI64Type()))});
  };
  bool isMoved = ArrayRef<AffineExpr>(pooled) != ArrayRef<AffineExpr>(dims).drop_front(2);
  if (pooled.size() == 2 && (order != 0 || isMoved)) {
    Item row = node.call("floor_divide", {positions, extent(pooled[1])}),
         column = node.call("remainder", {positions, extent(pooled[1])});
    row = node.call("sub", {row, item(begin[0])});
    column = node.call("sub", {column, item(begin[1])});
    if (order != 0)
      std::swap(row, column);
    positions =
        node.call("add", {node.call("mul", {row, extent(dims[order != 0 ? 2 : 3])}), column});
  } else if (isMoved) {
    positions = node.call("sub", {positions, item(begin[0])});
  }
  AffineExpr image = dl::product(ArrayRef<AffineExpr>(dims).drop_front(2), node.context);
  dl::Dims along(dims.size(), node.dim(1));
  along[0] = dims[0];
  along[1] = dims[1];
  Item plane =
      node.reshape(node.call("arange", {Item::dim(dl::normalize(dims[0] * dims[1]), {})}), along);
  node.set(0, results.as<Item::List>()[0]);
  node.set(1, node.call("add", {positions, node.call("mul", {plane, extent(image)})}));
  return !node.hasFailed();
}

/// The mean over windows of elements that lie apart, without padding: one dim after the other, the
/// sum of its taps.
static Item dilatedMean(NodeImport &node, Item x, const Window &window) {
  constexpr int64_t kMostTaps = 1024;
  if (std::accumulate(window.kernel.begin(), window.kernel.end(), int64_t(0)) > kMostTaps) {
    node.unsupported("its dilated windows are longer than " + llvm::Twine(kMostTaps) + " elements",
                     "; dlc writes each of them out");
    return {Item::Poison(), {}};
  }
  double elements = 1;
  for (size_t i = 0; i < window.kernel.size(); ++i) {
    Item sum;
    for (int64_t tap = 0; tap < window.kernel[i]; ++tap) {
      std::vector<std::pair<StringRef, Item>> named{{"dim", item(static_cast<int64_t>(2 + i))},
                                                    {"start", item(tap * window.dilation[i])},
                                                    {"step", item(window.stride[i])}};
      if (int64_t behind = (window.kernel[i] - 1 - tap) * window.dilation[i])
        named.push_back({"end", item(-behind)});
      Item part = node.call("slice", {x}, named);
      sum = tap == 0 ? part : node.call("add", {sum, part});
    }
    x = sum;
    elements *= static_cast<double>(window.kernel[i]);
  }
  return node.call("div", {x, item(elements)});
}

/// The mean of x over each window; where padding does not count, the sum over the number of
/// elements in the window.
static Item averagePool(NodeImport &node, Item x, Window window, bool ceils, bool countsPadding,
                        StringRef name) {
  bool isDilated = llvm::any_of(window.dilation, [](int64_t d) { return d != 1; });
  auto pool = [&](Item from, ArrayRef<int64_t> padding, bool ceils, bool counts) {
    return node.call(name, {from},
                     {{"kernel_size", itemList(window.kernel)},
                      {"stride", itemList(window.stride)},
                      {"padding", itemList(padding)},
                      {"ceil_mode", item(ceils)},
                      {"count_include_pad", item(counts)}});
  };
  if (isPoolPadding(window) && !isDilated)
    return pool(x, window.low, ceils, countsPadding);
  auto mean = [&](Item from) {
    SmallVector<int64_t> none(window.kernel.size());
    return isDilated ? dilatedMean(node, from, window) : pool(from, none, false, true);
  };
  if (isDilated && !window.isPadded() && !ceils)
    return mean(x);
  SmallVector<int64_t> extra(window.kernel.size());
  if (ceils && !addCeilPadding(node, window, extra))
    return {Item::Poison(), {}};
  // Ones, padded by zeros where that does not count, tell how many elements a window has.
  Item ones = node.call("ones_like", {x});
  if (countsPadding)
    ones = padded(node, ones, window, 1);
  Window behind = window;
  for (size_t i = 0; i < extra.size(); ++i) {
    window.high[i] += extra[i];
    behind.low[i] = countsPadding ? 0 : window.low[i];
    behind.high[i] = countsPadding ? extra[i] : window.high[i];
  }
  Item sum = mean(padded(node, x, window, 0));
  Item share = mean(padded(node, ones, behind, 0));
  return node.call("div", {sum, share});
}

static bool buildAveragePool(NodeImport &node) {
  auto name = poolNamed(node, "avg_pool");
  auto window = name ? readWindow(node, node.dims(0), {}) : std::nullopt;
  bool ceils = node.integer("ceil_mode", 0) != 0,
       counts = node.integer("count_include_pad", 0) != 0;
  Item x = node.tensor(0);
  if (!window || node.hasFailed())
    return false;
  node.set(0, averagePool(node, x, *window, ceils, counts, *name));
  return !node.hasFailed();
}

/// The attribute p, which is a float in opset 1.
static double powerOf(NodeImport &node) {
  return node.opset < 2 ? node.real("p", 2) : static_cast<double>(node.integer("p", 2));
}

/// (sum |x|^p over each window)^(1/p)
static bool buildLpPool(NodeImport &node) {
  auto name = poolNamed(node, "avg_pool");
  auto window = name ? readWindow(node, node.dims(0), {}) : std::nullopt;
  bool ceils = node.integer("ceil_mode", 0) != 0;
  double p = powerOf(node);
  Item x = node.tensor(0);
  if (!window || node.hasFailed())
    return false;
  double elements = 1;
  for (int64_t size : window->kernel)
    elements *= static_cast<double>(size);
  Item powers = node.call("pow", {node.call("abs", {x}), item(p)});
  SmallVector<int64_t> extra(window->kernel.size());
  if (ceils && !addCeilPadding(node, *window, extra))
    return false;
  for (auto [high, more] : llvm::zip(window->high, extra))
    high += more;
  if (window->isPadded())
    powers = padded(node, powers, *window, 0);
  Window inner = *window;
  inner.low.assign(inner.kernel.size(), 0);
  inner.high = inner.low;
  Item mean = averagePool(node, powers, inner, false, true, *name);
  node.set(0, node.call("pow", {node.call("mul", {mean, item(elements)}), item(1 / p)}));
  return !node.hasFailed();
}

static bool global(NodeImport &node, StringRef callee) {
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, std::max<int64_t>(node.rank(0), 2)));
  if (axes.empty())
    return node.fail("it takes a tensor [N, C, ...] with spatial dims, got " + node.typeText(0));
  node.set(0, node.call(callee, {node.tensor(0), itemList(axes), item(true)}));
  return !node.hasFailed();
}
static bool buildGlobalAverage(NodeImport &node) { return global(node, "mean"); }
static bool buildGlobalMax(NodeImport &node) { return global(node, "amax"); }

/// (sum |x|^p over each image)^(1/p)
static bool buildGlobalLp(NodeImport &node) {
  double p = powerOf(node);
  int64_t rank = node.rank(0);
  if (rank < 3)
    return node.fail("it takes a tensor [N, C, ...] with spatial dims, got " + node.typeText(0));
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  node.set(0, node.call("norm", {node.tensor(0), item(p), itemList(axes), item(true)}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> windowRules() {
  static const OddRule rules[] = {
      {"MaxPool", 1, buildMaxPool},         {"AveragePool", 1, buildAveragePool},
      {"LpPool", 1, buildLpPool},           {"GlobalAveragePool", 1, buildGlobalAverage},
      {"GlobalMaxPool", 1, buildGlobalMax}, {"GlobalLpPool", 1, buildGlobalLp},
  };
  return rules;
}

} // namespace dlc::onnx
