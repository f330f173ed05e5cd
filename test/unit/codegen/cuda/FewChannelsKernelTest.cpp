//===- FewChannelsKernelTest.cpp - Convolutions of images of few channels -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. Whole numbers are exact: an element in the wrong place shows.
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
constexpr Tolerance kExact{}, kHalf{2.0, 2e-3}, kBfloat{2.0, 1.6e-2};

struct FirstLayer {
  int channels = 3, high = 13, wide = 16, filters = 24, tapsHigh = 3, tapsWide = 3, stride = 1;
  int top = 1, left = 1, bottom = 1, right = 1;
  std::string type = "f16", image = "f16"; // of the products, of the image as it is stored
  bool isChannelsLast = true;              // the result
  int deep = 0;                            // frames of a video
  int tapsDeep = 1, strideDeep = 1, front = 0, back = 0;
};

class FewChannelsKernelTest : public CudaKernelTest {
protected:
  void loadLayer(const FirstLayer &layer) {
    using Sizes = std::vector<int>;
    auto joined = [](Sizes sizes, const char *separator) {
      std::string text;
      for (int size : sizes)
        text += (text.empty() ? "" : separator) + std::to_string(size);
      return text;
    };
    // Sizes along frames, which an image has not, rows and columns.
    auto spatial = [&](int deep, int high, int wide) {
      return layer.deep > 0 ? Sizes{deep, high, wide} : Sizes{high, wide};
    };
    auto after = [](Sizes sizes, std::initializer_list<int> first) {
      sizes.insert(sizes.begin(), first);
      return sizes;
    };
    auto results = [](int size, int padding, int taps, int stride) {
      return (size + padding - taps) / stride + 1;
    };
    auto batched = [&](Sizes sizes, const std::string &element, bool isChannelsLast) {
      std::string order = !isChannelsLast  ? ""
                          : layer.deep > 0 ? ", order = [0, 2, 3, 4, 1]"
                                           : ", order = [0, 2, 3, 1]";
      return "tensor<?x" + joined(sizes, "x") + "x" + element + ", #dl.t<[s0, " +
             joined(sizes, ", ") + "]" + order + ">>";
    };
    Sizes sizes = after(spatial(layer.deep, layer.high, layer.wide), {layer.channels});
    std::string t = layer.type, stored = batched(sizes, layer.image, false),
                x = batched(sizes, t, false),
                filter = "tensor<" +
                         joined(after(spatial(layer.tapsDeep, layer.tapsHigh, layer.tapsWide),
                                      {layer.filters, layer.channels}),
                                "x") +
                         "x" + t + ">",
                bias = "tensor<" + std::to_string(layer.filters) + "x" + t + ">";
    std::string y = batched(
        after(
            spatial(results(layer.deep, layer.front + layer.back, layer.tapsDeep, layer.strideDeep),
                    results(layer.high, layer.top + layer.bottom, layer.tapsHigh, layer.stride),
                    results(layer.wide, layer.left + layer.right, layer.tapsWide, layer.stride)),
            {layer.filters}),
        t, layer.isChannelsLast);
    Sizes padding = spatial(layer.front, layer.top, layer.left);
    for (int size : spatial(layer.back, layer.bottom, layer.right))
      padding.push_back(size);
    bool rounds = layer.image != t;
    std::string body = "^bb0(%x: " + stored + ", %w: " + filter + ", %b: " + bias + "):\n";
    if (rounds)
      body += "%r = dl.cast %x {dtype = " + t + "} : (" + stored + ") -> " + x + "\n";
    schedule = "few_channels";
    load("contraction",
         body + "%0 = dl.conv" + (layer.deep > 0 ? "3d " : "2d ") + (rounds ? "%r" : "%x") +
             ", %w, %b {padding = array<i64: " + joined(padding, ", ") + ">, stride = array<i64: " +
             joined(spatial(layer.strideDeep, layer.stride, layer.stride), ", ") + ">} : (" + x +
             ", " + filter + ", " + bias + ") -> " + y + "\n%1 = dl.relu %0 : (" + y + ") -> " + y +
             "\ndl.yield %1 : " + y);
    EXPECT_NE(CudaKernelTest::text().find("dlc::contract_few_channels<config>"), std::string::npos)
        << CudaKernelTest::text();
  }
  void checkImages(Tolerance tolerance) {
    for (int64_t images : {0, 1, 3})
      check({images, 1}, tolerance);
    check({2, 1}, kExact, Fill::whole);
  }
};
} // namespace

// Rows of whole vectors and of others; groups of four and of eight; windows at odd places.
TEST_P(FewChannelsKernelTest, Windows) {
  loadLayer({});
  EXPECT_EQ(config("across"), 0) << text();
  checkImages(kHalf);
  loadLayer({.high = 23,
             .wide = 24,
             .tapsHigh = 7,
             .tapsWide = 7,
             .stride = 2,
             .top = 3,
             .left = 3,
             .bottom = 3,
             .right = 3});
  checkImages(kHalf);
  loadLayer({.channels = 1,
             .filters = 6,
             .tapsHigh = 5,
             .tapsWide = 5,
             .top = 2,
             .left = 2,
             .bottom = 2,
             .right = 2});
  checkImages(kHalf);
  loadLayer({.channels = 4,
             .wide = 40,
             .filters = 96,
             .tapsHigh = 4,
             .tapsWide = 4,
             .stride = 4,
             .top = 0,
             .left = 0,
             .bottom = 0,
             .right = 0});
  checkImages(kHalf);
  loadLayer({.wide = 8,
             .tapsHigh = 1,
             .tapsWide = 8,
             .stride = 3,
             .top = 0,
             .left = 0,
             .bottom = 2,
             .right = 9});
  checkImages(kHalf);
  // TensorFlow's padding, on one side alone.
  loadLayer({.high = 12, .stride = 2, .top = 0, .left = 0});
  checkImages(kHalf);
}

// Blocks that take several rows several times, beyond the image's end.
TEST_P(FewChannelsKernelTest, Turns) {
  for (auto [rows, turns] : {std::pair(1, 8), {2, 2}, {4, 4}, {8, 1}}) {
    numbers = {{"rows", rows}, {"turns", turns}};
    loadLayer({.high = 27, .stride = 2});
    EXPECT_EQ(config("rows"), rows) << text();
    EXPECT_EQ(config("turns"), turns);
    checkImages(kHalf);
  }
}

// A result of rows: columns leave as vectors, or one by one.
TEST_P(FewChannelsKernelTest, RowMajorResult) {
  loadLayer({.high = 11, .wide = 32, .stride = 2, .isChannelsLast = false});
  EXPECT_EQ(config("across"), 1) << text();
  EXPECT_EQ(config("vector"), 8);
  checkImages(kHalf);
  loadLayer({.wide = 24,
             .filters = 70,
             .top = 0,
             .left = 0,
             .bottom = 0,
             .right = 0,
             .isChannelsLast = false});
  checkImages(kHalf);
}

// Frames before the first and after the last are zeros, as rows and columns are.
TEST_P(FewChannelsKernelTest, Videos) {
  FirstLayer layer = {.deep = 5, .tapsDeep = 3, .front = 1, .back = 1};
  loadLayer(layer);
  EXPECT_EQ(config("taps_d"), 3) << text();
  checkImages(kHalf);
  layer.isChannelsLast = false;
  loadLayer(layer);
  checkImages(kHalf);
  loadLayer({.high = 12, .stride = 2, .image = "f32", .deep = 4, .tapsDeep = 1});
  checkImages(kHalf);
  loadLayer({.channels = 2,
             .stride = 2,
             .top = 0,
             .left = 0,
             .deep = 7,
             .tapsDeep = 2,
             .strideDeep = 3,
             .front = 1});
  checkImages(kHalf);
}

// An image of floats is rounded on its way.
TEST_P(FewChannelsKernelTest, ImageOfFloats) {
  loadLayer({.image = "f32"});
  checkImages(kHalf);
  loadLayer({.type = "bf16", .image = "f32"});
  checkImages(kBfloat);
}

// Not a number spreads to the windows that it is in, and not by taps that are none.
TEST_P(FewChannelsKernelTest, Specials) {
  loadLayer({});
  check({2, 1}, kHalf, Fill::special);
  loadLayer({.wide = 24, .tapsHigh = 5, .tapsWide = 5, .stride = 2, .isChannelsLast = false});
  check({2, 1}, kHalf, Fill::special);
}

/// The kernel with a part of its header taken out.
class PlantedFewChannelsTest : public FewChannelsKernelTest {
protected:
  void expectReport(const std::string &part, const std::string &phrase) {
    numbers = {{"rows", 4}, {"turns", 2}}; // several warps copy
    loadLayer({});
    check({2, 1}, kHalf);
    removeFromHeader("dlc_few_channels.cuh", part);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({2, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
};

TEST_P(PlantedFewChannelsTest, NoWaitForTheLines) {
  expectReport("    cp_async_wait<0>();\n", "missing wait: ");
}
TEST_P(PlantedFewChannelsTest, NoBarrierBetweenTurns) {
  expectReport("    if (turn > 0)\n      barrier(); // the lines are read\n", "race: ");
}
TEST_P(PlantedFewChannelsTest, NoZerosBesideTheImage) {
  expectReport("    store(image + i / kBeside * kPitch + (at == 0 ? 0 : Config::wide + at * 8), "
               "vec<T, 8>{});\n",
               "uninitialised: ");
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedFewChannelsTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, FewChannelsKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
