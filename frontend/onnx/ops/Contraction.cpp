//===- Contraction.cpp - Products and convolutions of ONNX --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Windows.h"

#include <cmath>

using namespace mlir;

namespace dlc::onnx {

/// alpha A' B' + beta C. A weight B that is transposed is what linear takes. Matrices may have a
/// batch in front, as some exporters write.
std::optional<Item> gemm(NodeImport &node) {
  bool transA = node.integer("transA", 0) != 0, transB = node.integer("transB", 0) != 0;
  double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  if (node.rank(0) < 2 || node.rank(1) < 2) {
    node.fail("it takes matrices, got " + node.typeText(0) + " and " + node.typeText(1));
    return std::nullopt;
  }
  Item a = node.tensor(0), b = node.tensor(1);
  auto transposed = [&](Item x, int64_t rank) {
    auto order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    std::swap(order[rank - 1], order[rank - 2]);
    return node.permute(x, order);
  };
  if (transA)
    a = transposed(a, node.rank(0));
  bool hasBias = node.has(2);
  // Numbers of integers stay what they are.
  auto times = [&](Item x, double factor) {
    return factor == 1 ? x : node.call("mul", {x, node.scalar(factor, node.dtype(0))});
  };
  if (!isa<FloatType>(node.dtype(0)) && (alpha != std::floor(alpha) || beta != std::floor(beta))) {
    node.unsupported("it scales integers by fractions", "; dlc takes whole alpha and beta there");
    return std::nullopt;
  }
  bool isLinear = transB && node.rank(1) == 2 && alpha == 1 && beta == 1 &&
                  (!hasBias || node.rank(2) == 1) && isa<FloatType>(node.dtype(0));
  if (isLinear) {
    std::vector<Item> arguments{a, b};
    if (hasBias && node.dims(2)[0] == node.dims(1)[0])
      arguments.push_back(node.tensor(2));
    Item product = node.call("linear", arguments);
    if (hasBias && arguments.size() == 2)
      product = node.call("add", {product, node.tensor(2)});
    return product;
  }
  if (transB)
    b = transposed(b, node.rank(1));
  Item product = times(node.call("matmul", {a, b}), alpha);
  if (hasBias && beta != 0) // else it is not read: NaN would stay
    product = node.call("add", {product, times(node.tensor(2), beta)});
  return product;
}

static bool buildGemm(NodeImport &node) {
  if (std::optional<Item> product = gemm(node))
    node.set(0, *product);
  return !node.hasFailed();
}

/// Kernel sizes of a weight [K, C, R, ...]; empty, reported, where they are symbolic.
static SmallVector<int64_t> kernelOf(NodeImport &node, size_t input) {
  SmallVector<int64_t> kernel;
  dl::Dims dims = node.dims(input);
  for (AffineExpr dim : ArrayRef<AffineExpr>(dims).drop_front(std::min<size_t>(2, dims.size())))
    kernel.push_back(dl::asConstant(dim).value_or(0));
  return kernel;
}

static std::optional<std::string> convNamed(NodeImport &node, StringRef name, size_t input = 0) {
  int64_t spatial = node.rank(input) - 2;
  if (spatial >= 1 && spatial <= 3)
    return (name + llvm::Twine(spatial) + "d").str();
  node.unsupported("it convolves " + node.typeText(input), "; dlc convolves 1 to 3 spatial dims");
  return std::nullopt;
}

Item convolved(NodeImport &node, Item x, Item weight, size_t xInput, size_t weightInput,
               std::optional<size_t> bias) {
  auto name = convNamed(node, "conv", xInput);
  auto window =
      name ? readWindow(node, node.dims(xInput), kernelOf(node, weightInput)) : std::nullopt;
  int64_t groups = node.integer("group", 1);
  if (!window || node.hasFailed())
    return x;
  bool isNegative = llvm::any_of(window->low, [](int64_t w) { return w < 0; }) ||
                    llvm::any_of(window->high, [](int64_t w) { return w < 0; });
  if (isNegative) {
    node.unsupported("it has negative pads", "; crop the tensor before it");
    return x;
  }
  if (window->kernel.size() == 1 && !window->isSymmetric()) { // conv1d has one width for both sides
    x = padded(node, x, *window, 0);
    window->low.assign(1, 0);
    window->high.assign(1, 0);
  }
  std::vector<std::pair<StringRef, Item>> named{{"stride", itemList(window->stride)},
                                                {"padding", window->padding()},
                                                {"dilation", itemList(window->dilation)},
                                                {"groups", item(groups)}};
  if (bias)
    named.push_back({"bias", node.tensor(*bias)});
  return node.call(*name, {x, weight}, named);
}

static bool buildConv(NodeImport &node) {
  Item x = node.tensor(0), weight = node.tensor(1);
  node.set(0,
           convolved(node, x, weight, 0, 1, node.has(2) ? std::optional<size_t>(2) : std::nullopt));
  return !node.hasFailed();
}

/// The result is cut by pads; output_shape and auto_pad say what they are.
static bool buildConvTranspose(NodeImport &node) {
  auto name = convNamed(node, "conv_transpose");
  if (!name)
    return false;
  dl::Dims dims = node.dims(0);
  SmallVector<int64_t> shape = node.integerList("output_shape"),
                       extra = node.integerList("output_padding");
  std::string mode = node.string("auto_pad", "NOTSET");
  size_t spatial = dims.size() - 2;
  // SAME asks for as many results as x has elements, times the stride.
  auto window = [&]() -> std::optional<Window> {
    Window w;
    w.kernel = kernelOf(node, 1);
    w.stride = node.integerList("strides");
    w.dilation = node.integerList("dilations");
    node.integerList("kernel_shape");
    SmallVector<int64_t> pads = node.integerList("pads");
    if (w.stride.empty())
      w.stride.assign(spatial, 1);
    if (w.dilation.empty())
      w.dilation.assign(spatial, 1);
    if (extra.empty())
      extra.assign(spatial, 0);
    if (pads.empty())
      pads.assign(2 * spatial, 0);
    bool hasShape = !shape.empty() || mode.starts_with("SAME");
    if (shape.size() > spatial)
      shape.erase(shape.begin(), shape.end() - spatial);
    if (w.kernel.size() != spatial || w.stride.size() != spatial || w.dilation.size() != spatial ||
        pads.size() != 2 * spatial || extra.size() != spatial ||
        (!shape.empty() && shape.size() != spatial)) {
      node.fail("its strides, dilations, pads, output_padding or output_shape have another number "
                "than its " +
                llvm::Twine(spatial) + " spatial dims ask for");
      return std::nullopt;
    }
    auto isBeyond = [&](ArrayRef<int64_t> numbers, StringRef what, int64_t least, int64_t most) {
      for (int64_t number : numbers)
        if (number < least || number > most)
          return !node.fail("its " + what + " hold " + llvm::Twine(number) + "; expected " +
                            llvm::Twine(least) + " to " + llvm::Twine(most));
      return false;
    };
    if (isBeyond(w.stride, "strides", 1, INT16_MAX) ||
        isBeyond(w.dilation, "dilations", 1, INT16_MAX) ||
        isBeyond(pads, "pads", INT32_MIN, INT32_MAX) ||
        isBeyond(extra, "output_padding", 0, INT32_MAX) ||
        isBeyond(shape, "output_shape", 0, INT32_MAX))
      return std::nullopt;
    w.low.assign(pads.begin(), pads.begin() + spatial);
    w.high.assign(pads.begin() + spatial, pads.end());
    for (size_t i = 0; hasShape && i < spatial; ++i) {
      // The pads of auto_pad do not depend on the size of the input.
      int64_t total = extra[i] + (w.kernel[i] - 1) * w.dilation[i] + 1 - w.stride[i];
      if (!shape.empty()) {
        auto size = dl::asConstant(dims[2 + i]);
        if (!size || *size > INT32_MAX) {
          node.unsupported("output_shape over a dim of " + node.text(dims[2 + i]),
                           "; dlc takes pads there");
          return std::nullopt;
        }
        total += w.stride[i] * *size - shape[i];
      }
      // What is missing is added behind; what is too much is cut off both sides, the odd one as
      // auto_pad says.
      if (total < 0) {
        extra[i] -= total;
        total = 0;
      }
      bool isUpper = mode == "SAME_UPPER";
      w.low[i] = isUpper ? total / 2 : total - total / 2;
      w.high[i] = total - w.low[i];
    }
    return w;
  }();
  int64_t groups = node.integer("group", 1);
  Item x = node.tensor(0), weight = node.tensor(1);
  if (!window || node.hasFailed())
    return false;
  // output_padding beyond a stride takes back what the pads cut off, then adds zeros (and the
  // bias).
  SmallVector<int64_t> beyond(spatial);
  for (size_t i = 0; i < spatial; ++i)
    if (extra[i] >= window->stride[i] && extra[i] >= window->dilation[i]) {
      int64_t restored = std::clamp<int64_t>(window->high[i], 0, extra[i]);
      window->high[i] -= restored;
      beyond[i] = extra[i] - restored;
      extra[i] = 0;
    }
  // Sides that differ: the narrower pads, then a cut.
  SmallVector<int64_t> common, cutLow, cutHigh;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t least = std::min(window->low[i], window->high[i]);
    common.push_back(least);
    cutLow.push_back(window->low[i] - least);
    cutHigh.push_back(window->high[i] - least);
  }
  std::vector<std::pair<StringRef, Item>> named{{"stride", itemList(window->stride)},
                                                {"padding", itemList(common)},
                                                {"output_padding", itemList(extra)},
                                                {"groups", item(groups)},
                                                {"dilation", itemList(window->dilation)}};
  bool isPadded = llvm::any_of(beyond, [](int64_t width) { return width > 0; });
  if (node.has(2) && !isPadded)
    named.push_back({"bias", node.tensor(2)});
  Item y = node.call(*name, {x, weight}, named);
  SmallVector<int64_t> pads;
  for (size_t i = spatial; i-- > 0;) {
    pads.push_back(-cutLow[i]);
    pads.push_back(beyond[i] - cutHigh[i]);
  }
  if (llvm::any_of(pads, [](int64_t width) { return width != 0; }))
    y = node.call("pad", {y, itemList(pads)});
  if (node.has(2) && isPadded) {
    if (node.rank(2) != 1)
      return node.fail("its bias is " + node.typeText(2) + "; expected one dim");
    dl::Dims along(spatial + 1, node.dim(1));
    along[0] = node.dims(2)[0];
    y = node.call("add", {y, node.reshape(node.tensor(2), along)});
  }
  node.set(0, y);
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> contractionRules() {
  static const OddRule rules[] = {
      {"Gemm", 1, buildGemm}, {"Conv", 1, buildConv}, {"ConvTranspose", 1, buildConvTranspose}};
  return rules;
}

} // namespace dlc::onnx
