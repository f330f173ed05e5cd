//===- Convolution.cpp - Keras's convolutions ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/Windows.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace dlc::frontend {

using Named = KerasCall::Named;
using Shape = KerasCall::Shape;

/// [*window, in, out] to [out, in, *window], PyTorch's order.
static Item kernelFirst(KerasCall &call, const Item &kernel, unsigned spatial) {
  Shape order = {spatial + 1, spatial};
  llvm::append_range(order, llvm::seq<int64_t>(0, spatial));
  return call.permute(kernel, order);
}

static std::string functionOf(StringRef name, unsigned spatial) {
  return (name + Twine(spatial) + "d").str();
}

/// The convolution of x ([N, C, ...]) by a weight in PyTorch's order, under the call's strides,
/// padding and dilation.
static Item convolve(KerasCall &call, Item x, const Item &weight, const Item &bias,
                     ArrayRef<int64_t> window, int64_t groups) {
  unsigned spatial = window.size();
  Shape strides = call.arguments.sizes("strides"), dilation = call.arguments.sizes("dilation_rate");
  Borders borders = bordersOf(call, x, window, strides, dilation);
  if (call.failed())
    return {Item::Poison(), call.loc};
  Shape padding = borders.low;
  if (!borders.areSymmetric()) {
    if (spatial == 2)
      llvm::append_range(padding, borders.high); // top, left, bottom, right
    else {
      x = padded(call, x, borders, 0.0);
      padding.assign(spatial, 0);
    }
  }
  return call.function(functionOf("conv", spatial), {x, weight, bias},
                       {Named{"stride", call.list(strides)}, Named{"padding", call.list(padding)},
                        Named{"dilation", call.list(dilation)},
                        Named{"groups", call.number(groups)}});
}

template <unsigned Spatial> static void convolution(KerasCall &call) {
  const LayerArguments &a = call.arguments;
  Item x = call.channelsFirst(Spatial);
  int64_t channels = call.staticSize(x, 1), groups = a.size("groups"), filters = a.size("filters");
  if (!call.failed() && (channels % groups != 0 || filters % groups != 0))
    call.error(quote(call.kind) + " has " + Twine(channels) + " channels and " + Twine(filters) +
               " filters; expected multiples of groups, which is " + Twine(groups));
  Shape window = a.sizes("kernel_size"), shape = window;
  shape.append({channels / groups, filters});
  Item kernel = kernelFirst(call, call.weight("kernel", shape), Spatial);
  Item bias = call.weightIf("use_bias", "bias", {filters});
  call.giveChannelsFirst(convolve(call, x, kernel, bias, window, groups));
  call.activate();
}

/// [h, w, C, M] as the weight of C groups, [C M, 1, h, w], and its convolution.
static Item depthwise(KerasCall &call, const Item &x, StringRef leaf, const Item &bias,
                      int64_t channels, int64_t multiplier) {
  Shape window = call.arguments.sizes("kernel_size"), shape = window;
  shape.append({channels, multiplier});
  Item kernel = call.permute(call.weight(leaf, shape), {2, 3, 0, 1});
  if (call.failed())
    return kernel;
  MLIRContext *context = kernel.tensorType().getContext();
  SmallVector<AffineExpr> dims;
  for (int64_t size : {channels * multiplier, int64_t(1), window[0], window[1]})
    dims.push_back(dl::constantDim(size, context));
  return convolve(call, x, call.reshape(kernel, dims), bias, window, channels);
}

static void depthwiseConvolution(KerasCall &call) {
  Item x = call.channelsFirst(2);
  int64_t channels = call.staticSize(x, 1);
  int64_t multiplier = call.arguments.size("depth_multiplier");
  Item bias = call.weightIf("use_bias", "bias", {channels * multiplier});
  call.giveChannelsFirst(depthwise(call, x, "kernel", bias, channels, multiplier));
  call.activate();
}

static void separableConvolution(KerasCall &call) {
  Item x = call.channelsFirst(2);
  int64_t channels = call.staticSize(x, 1);
  int64_t multiplier = call.arguments.size("depth_multiplier");
  int64_t filters = call.arguments.size("filters");
  Item each =
      depthwise(call, x, "depthwise_kernel", {Item::None(), call.loc}, channels, multiplier);
  Item kernel =
      kernelFirst(call, call.weight("pointwise_kernel", {1, 1, channels * multiplier, filters}), 2);
  Item bias = call.weightIf("use_bias", "bias", {filters});
  call.giveChannelsFirst(call.function("conv2d", {each, kernel, bias}));
  call.activate();
}

/// As the gradient of a convolution that pads "same" or "valid": `in * stride` results, or what the
/// window adds.
static void transposedConvolution(KerasCall &call) {
  const LayerArguments &a = call.arguments;
  Item x = call.channelsFirst(2);
  int64_t channels = call.staticSize(x, 1), filters = a.size("filters");
  Shape window = a.sizes("kernel_size"), strides = a.sizes("strides"), shape = window;
  bool isSame = call.textOf("padding") == "same";
  if (!isSame && call.textOf("padding") != "valid")
    call.error("padding is " + quote(call.textOf("padding")) + "; expected \"valid\" or \"same\"");
  shape.append({filters, channels});
  Item kernel = kernelFirst(call, call.weight("kernel", shape), 2); // [in, out, h, w]
  Item bias = call.weightIf("use_bias", "bias", {filters});
  Shape low, more, cut;
  for (unsigned i = 0; i < 2; ++i) {
    int64_t extra = window[i] - strides[i]; // of the full result over in * stride
    low.push_back(isSame && extra > 0 ? extra / 2 : 0);
    cut.push_back(isSame && extra > 0 ? extra % 2 : 0);
    more.push_back(std::max<int64_t>(-extra, 0));
  }
  Item y = call.function("conv_transpose2d", {x, kernel, bias},
                         {Named{"stride", call.list(strides)}, Named{"padding", call.list(low)},
                          Named{"output_padding", call.list(more)}});
  for (int64_t i = 0; i < 2; ++i)
    if (cut[i])
      y = call.function("slice", y,
                        {Named{"dim", call.number(2 + i)}, Named{"start", call.number(0)},
                         Named{"end", call.number(-1)}});
  call.giveChannelsFirst(y);
  call.activate();
}

std::vector<KerasKind> kerasConvolutions() {
  return {
      {"Conv1D",
       "(int filters, int[1] kernel_size, int[1] strides=1, str padding='valid', int[1] "
       "dilation_rate=1, int groups=1, str? activation=None, bool use_bias=True)",
       convolution<1>},
      {"Conv2D",
       "(int filters, int[2] kernel_size, int[2] strides=1, str padding='valid', int[2] "
       "dilation_rate=1, int groups=1, str? activation=None, bool use_bias=True)",
       convolution<2>},
      {"DepthwiseConv2D",
       "(int[2] kernel_size, int[2] strides=1, str padding='valid', int depth_multiplier=1, int[2] "
       "dilation_rate=1, str? activation=None, bool use_bias=True)",
       depthwiseConvolution},
      {"SeparableConv2D",
       "(int filters, int[2] kernel_size, int[2] strides=1, str padding='valid', int[2] "
       "dilation_rate=1, int depth_multiplier=1, str? activation=None, bool use_bias=True)",
       separableConvolution},
      {"Conv2DTranspose",
       "(int filters, int[2] kernel_size, int[2] strides=1, str padding='valid', str? "
       "activation=None, bool use_bias=True)",
       transposedConvolution},
  };
}

} // namespace dlc::frontend
