//===- Pooling.cpp - Keras's windows: borders, pooling, resampling ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/Windows.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;

namespace dlc::frontend {

using Named = KerasCall::Named;
using Shape = KerasCall::Shape;

Borders bordersOf(KerasCall &call, const Item &x, ArrayRef<int64_t> window,
                  ArrayRef<int64_t> strides, ArrayRef<int64_t> dilation) {
  Borders borders;
  std::string padding = call.textOf("padding");
  bool isCausal = padding == "causal" && window.size() == 1;
  if (padding != "valid" && padding != "same" && !isCausal)
    call.error("padding is " + quote(padding) + "; expected \"valid\" or \"same\"");
  for (size_t i = 0; i < window.size(); ++i) {
    int64_t reach = dilation[i] * (window[i] - 1), low = 0, total = 0;
    if (padding != "valid" && !call.failed()) {
      total = reach;
      if (strides[i] > 1 && !isCausal) {
        int64_t size = call.staticSize(x, 2 + i);
        int64_t windows = (size + strides[i] - 1) / strides[i];
        total = std::max<int64_t>((windows - 1) * strides[i] + reach + 1 - size, 0);
      }
      low = isCausal ? total : total / 2;
    }
    borders.low.push_back(low);
    borders.high.push_back(total - low);
  }
  return borders;
}

Item padded(KerasCall &call, const Item &x, const Borders &borders, double value) {
  Shape widths; // the last dim first
  for (size_t i = borders.low.size(); i-- > 0;)
    widths.append({borders.low[i], borders.high[i]});
  return call.function("pad", x,
                       {Named{"pad", call.list(widths)}, Named{"value", Item{value, call.loc}}});
}

template <unsigned Spatial> static void pooling(KerasCall &call, bool isMax) {
  const LayerArguments &a = call.arguments;
  Item x = call.channelsFirst(Spatial);
  Shape window = a.sizes("pool_size");
  Shape strides = a.isNone("strides") ? window : a.sizes("strides");
  Borders borders = bordersOf(call, x, window, strides, Shape(Spatial, 1));
  if (call.failed())
    return;
  SmallVector<Named> named = {{"kernel_size", call.list(window)}, {"stride", call.list(strides)}};
  if (!borders.areSymmetric()) {
    bool strided = llvm::all_of(strides, [](int64_t stride) { return stride > 1; });
    if (strided) {
      // The window that the odd element of the border makes: it begins inside, so ceil_mode has it.
      named.push_back({"ceil_mode", Item{true, call.loc}});
    } else if (isMax) {
      x = padded(call, x, borders, -std::numeric_limits<double>::infinity());
      borders.low.assign(Spatial, 0);
    } else {
      call.error(quote(call.kind) +
                 " with padding=\"same\" and an even window needs strides above 1");
      return;
    }
  }
  named.push_back({"padding", call.list(borders.low)});
  if (!isMax) // the border is not counted
    named.push_back({"count_include_pad", Item{false, call.loc}});
  std::string callee = (StringRef(isMax ? "max_pool" : "avg_pool") + Twine(Spatial) + "d").str();
  call.giveChannelsFirst(call.function(callee, x, named));
}

template <unsigned Spatial> static void maxPooling(KerasCall &call) {
  pooling<Spatial>(call, true);
}
template <unsigned Spatial> static void averagePooling(KerasCall &call) {
  pooling<Spatial>(call, false);
}

static void globalPooling(KerasCall &call, unsigned spatial, StringRef reduction) {
  Item x = call.channelsFirst(spatial);
  Shape dims = llvm::to_vector(llvm::seq<int64_t>(2, 2 + spatial));
  bool keep = call.arguments.flag("keepdims");
  Item y = call.function(reduction, x,
                         {Named{"dim", call.list(dims)}, Named{"keepdim", Item{keep, call.loc}}});
  keep ? call.giveChannelsFirst(y) : call.give(y);
}

template <unsigned Spatial> static void globalMax(KerasCall &call) {
  globalPooling(call, Spatial, "amax");
}
template <unsigned Spatial> static void globalAverage(KerasCall &call) {
  globalPooling(call, Spatial, "mean");
}

template <unsigned Spatial> static void zeroPadding(KerasCall &call) {
  Item x = call.channelsFirst(Spatial);
  Item::List widths = call.arguments.get("padding").as<Item::List>();
  // 1, (h, w), or ((top, bottom), (left, right)), which arrives flat.
  SmallVector<int64_t> flat;
  for (const Item &width : widths)
    flat.push_back(width.as<int64_t>());
  Borders borders;
  if (flat.size() == 1) {
    borders = {Shape(Spatial, flat[0]), Shape(Spatial, flat[0])};
  } else if (Spatial == 2 && flat.size() == 2) {
    borders = {flat, flat};
  } else if (flat.size() == 2 * Spatial) {
    for (unsigned i = 0; i < Spatial; ++i) {
      borders.low.push_back(flat[2 * i]);
      borders.high.push_back(flat[2 * i + 1]);
    }
  } else {
    call.error(quote(call.kind) + " has padding of " + Twine(flat.size()) +
               " numbers; expected one, or two for each dim");
    return;
  }
  call.giveChannelsFirst(padded(call, x, borders, 0.0));
}

static void upSampling(KerasCall &call) {
  const LayerArguments &a = call.arguments;
  Item x = call.channelsFirst(2);
  Shape factors = a.sizes("size");
  if (call.textOf("interpolation") != "nearest" && call.textOf("interpolation") != "bilinear") {
    call.error("interpolation is " + quote(call.textOf("interpolation")) +
               "; expected \"nearest\" or \"bilinear\"");
    return;
  }
  if (call.failed())
    return;
  // Sizes, not scales: a scale is one number for all dims.
  dl::Dims dims = call.dims(x);
  Item::List size;
  for (auto [dim, factor] : llvm::zip(llvm::drop_begin(dims, 2), factors))
    size.push_back(Item::dim(dim * factor, call.loc));
  call.giveChannelsFirst(call.function("interpolate", x,
                                       {Named{"size", Item{std::move(size), call.loc}},
                                        Named{"mode", call.text(call.textOf("interpolation"))}}));
}

std::vector<KerasKind> kerasPoolings() {
  static constexpr StringRef k2d =
                                 "(int[2] pool_size=2, int[2]? strides=None, str padding='valid')",
                             k1d =
                                 "(int[1] pool_size=2, int[1]? strides=None, str padding='valid')",
                             kGlobal = "(bool keepdims=False)";
  return {
      {"MaxPooling1D", k1d, maxPooling<1>},
      {"AveragePooling1D", k1d, averagePooling<1>},
      {"UpSampling2D", "(int[2] size=2, str interpolation='nearest')", upSampling},
      {"MaxPooling2D", k2d, maxPooling<2>},
      {"AveragePooling2D", k2d, averagePooling<2>},
      {"GlobalMaxPooling1D", kGlobal, globalMax<1>},
      {"GlobalMaxPooling2D", kGlobal, globalMax<2>},
      {"GlobalAveragePooling1D", kGlobal, globalAverage<1>},
      {"GlobalAveragePooling2D", kGlobal, globalAverage<2>},
      {"ZeroPadding1D", "(int[] padding=1)", zeroPadding<1>},
      {"ZeroPadding2D", "(int[] padding=1)", zeroPadding<2>},
  };
}

} // namespace dlc::frontend
