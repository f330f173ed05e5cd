//===- ReduceKernelTest.cpp - Reductions, softmax and windows -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

#include "llvm/Support/FormatVariadic.h"

using llvm::SmallVector;

namespace dlc::test {

using ReduceKernelTest = CudaKernelTest;
constexpr Tolerance kSums{16.0, 1e-6};
constexpr Tolerance kExact{};

// Rows of any length: fewer terms than lanes, more, and none.
TEST_P(ReduceKernelTest, WarpRows) {
  load("reduce", R"(^bb0(%x: tensor<5x?xf32, #dl.t<[5, s0]>>):
    %0 = dl.sum %x {dim = array<i64: 1>} : (tensor<5x?xf32, #dl.t<[5, s0]>>) -> tensor<5xf32>
    dl.yield %0 : tensor<5xf32>)");
  checkBoundaries(kSums);
  checkBoundaries(kExact, Fill::whole);
}

// More terms than a warp takes: a block for each row.
TEST_P(ReduceKernelTest, BlockRows) {
  load("reduce", R"(^bb0(%x: tensor<?x9x?xf32, #dl.t<[s1, 9, s0]>>):
    %0 = dl.sum %x {dim = array<i64: 1, 2>} : (tensor<?x9x?xf32, #dl.t<[s1, 9, s0]>>) -> tensor<?xf32, #dl.t<[s1]>>
    dl.yield %0 : tensor<?xf32, #dl.t<[s1]>>)");
  EXPECT_NE(text().find("DLC_SHARED"), std::string::npos) << text();
  checkBoundaries(kExact, Fill::whole);
}

TEST_P(ReduceKernelTest, Softmax) {
  load("reduce", R"(^bb0(%x: tensor<3x?xf32, #dl.t<[3, s0]>>):
    %0 = dl.softmax %x {dim = 1 : i64} : (tensor<3x?xf32, #dl.t<[3, s0]>>) -> tensor<3x?xf32, #dl.t<[3, s0]>>
    dl.yield %0 : tensor<3x?xf32, #dl.t<[3, s0]>>)");
  checkBoundaries(kSums);
  check({40, 1}, kSums, Fill::special);
}

TEST_P(ReduceKernelTest, SoftmaxOfLongRows) {
  load("reduce", R"(^bb0(%x: tensor<?x1000xf16, #dl.t<[s0, 1000]>>):
    %0 = dl.softmax %x {dim = -1 : i64} : (tensor<?x1000xf16, #dl.t<[s0, 1000]>>) -> tensor<?x1000xf16, #dl.t<[s0, 1000]>>
    dl.yield %0 : tensor<?x1000xf16, #dl.t<[s0, 1000]>>)");
  for (int64_t rows : {0, 1, 3})
    check({rows, 1}, {2.0, 1e-3});
}

// Each thread keeps its part of a row over both stages and the result; a map before it is computed
// once.
TEST_P(ReduceKernelTest, KeptRows) {
  for (int64_t length : {1, 31, 33, 256, 257, 511, 769, 2048, 2100, 4096, 4097, 8192, 8196}) {
    std::string type = llvm::formatv("tensor<?x{0}xf32, #dl.t<[s0, {0}]>>", length);
    load("reduce", llvm::formatv(R"(^bb0(%x: {0}, %z: {0}):
    %0 = dl.add %x, %z : ({0}, {0}) -> {0}
    %1 = dl.softmax %0 {{dim = -1 : i64} : ({0}) -> {0}
    %2 = dl.sub %1, %x : ({0}, {0}) -> {0}
    dl.yield %2 : {0})",
                                 type));
    EXPECT_EQ(text().find("kept[") != std::string::npos, length <= 4096 || length == 8192)
        << text();
    for (int64_t rows : {0, 1, 5})
      check({rows, 1}, kSums);
    check({2, 1}, kSums, Fill::special);
  }
}

// A length that varies: the slots beyond it hold nothing.
TEST_P(ReduceKernelTest, KeptRowsOfAnyLength) {
  load("reduce", R"(^bb0(%x: tensor<3x?xf32, #dl.t<[3, s0]>>):
    %0 = dl.log_softmax %x {dim = 1 : i64} : (tensor<3x?xf32, #dl.t<[3, s0]>>) -> tensor<3x?xf32, #dl.t<[3, s0]>>
    dl.yield %0 : tensor<3x?xf32, #dl.t<[3, s0]>>)");
  EXPECT_NE(text().find("kept["), std::string::npos) << text();
  checkBoundaries({32.0, 1e-6});
}

// The rows stand across the memory, and the result keeps what a map before and after made of it.
TEST_P(ReduceKernelTest, LogSoftmaxOfChannels) {
  load("reduce", R"(^bb0(%x: tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>):
    %0 = dl.neg %x : (tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>) -> tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>
    %1 = dl.log_softmax %0 {dim = 1 : i64} : (tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>) -> tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>
    %2 = dl.exp %1 : (tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>) -> tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>
    dl.yield %2 : tensor<?x10x3x2xf32, #dl.t<[s0, 10, 3, 2]>>)");
  checkBoundaries(kSums);
}

TEST_P(ReduceKernelTest, Argmax) {
  load("reduce", R"(^bb0(%x: tensor<?x10xf32, #dl.t<[s0, 10]>>):
    %0 = dl.argmax %x {dim = 1 : i64} : (tensor<?x10xf32, #dl.t<[s0, 10]>>) -> tensor<?xi64, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xi64, #dl.t<[s0]>>)");
  checkBoundaries(kExact, Fill::whole); // ties: the first wins
  checkBoundaries(kExact, Fill::special);
  load("reduce", R"(^bb0(%x: tensor<700x2xi32>):
    %0 = dl.argmax %x : (tensor<700x2xi32>) -> tensor<i64>
    dl.yield %0 : tensor<i64>)");
  check({1, 1}, kExact);
}

TEST_P(ReduceKernelTest, LargestOfBytes) {
  load("reduce", R"(^bb0(%x: tensor<?x40xui8, #dl.t<[s0, 40]>>):
    %0 = dl.amax %x {dim = array<i64: 1>} : (tensor<?x40xui8, #dl.t<[s0, 40]>>) -> tensor<?xui8, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xui8, #dl.t<[s0]>>)");
  checkBoundaries(kExact);
}

TEST_P(ReduceKernelTest, SumOfIntegers) {
  load("reduce", R"(^bb0(%x: tensor<?x33xi8, #dl.t<[s0, 33]>>):
    %0 = dl.sum %x {dim = array<i64: 1>, keepdim = true} : (tensor<?x33xi8, #dl.t<[s0, 33]>>) -> tensor<?x1xi64, #dl.t<[s0, 1]>>
    dl.yield %0 : tensor<?x1xi64, #dl.t<[s0, 1]>>)");
  checkBoundaries(kExact);
}

// Channels last: neighbouring results, far terms. One thread for each.
TEST_P(ReduceKernelTest, MeanOfPlanes) {
  load("reduce", R"(^bb0(%x: tensor<?x6x7x7xf32, #dl.t<[s0, 6, 7, 7], order = [0, 2, 3, 1]>>):
    %0 = dl.mean %x {dim = array<i64: 2, 3>} : (tensor<?x6x7x7xf32, #dl.t<[s0, 6, 7, 7], order = [0, 2, 3, 1]>>) -> tensor<?x6xf32, #dl.t<[s0, 6]>>
    dl.yield %0 : tensor<?x6xf32, #dl.t<[s0, 6]>>)");
  EXPECT_EQ(text().find("shfl"), std::string::npos) << text();
  checkBoundaries(kSums);
}

// Neighbouring terms are read, and results stored, by one access: as many as fit 16 bytes, but no
// lane of a warp is left without.
TEST_P(ReduceKernelTest, VectorsOfKeptRows) {
  struct Row {
    const char *element;
    int64_t length, lanes; // 0: each term by itself
  };
  for (auto [element, length, lanes] :
       {Row{"f16", 33, 0}, Row{"f16", 64, 2}, Row{"bf16", 200, 4}, Row{"f16", 512, 8},
        Row{"bf16", 1032, 8}, Row{"f32", 96, 2}, Row{"f32", 132, 4}, Row{"f64", 256, 4}}) {
    std::string type = llvm::formatv("tensor<?x{0}x{1}, #dl.t<[s0, {0}]>>", length, element);
    load("reduce", llvm::formatv(R"(^bb0(%x: {0}):
    %0 = dl.softmax %x {{dim = -1 : i64} : ({0}) -> {0}
    dl.yield %0 : {0})",
                                 type));
    std::string load = llvm::formatv("dlc::load<{0}>(x", lanes);
    EXPECT_EQ(text().find(load) != std::string::npos, lanes > 0) << text();
    EXPECT_EQ(text().find("dlc::store(y") != std::string::npos, lanes > 0) << text();
    EXPECT_NE(text().find("kept["), std::string::npos) << text();
    for (int64_t rows : {0, 1, 5})
      check({rows, 1}, element[0] == 'b' ? Tolerance{2.0, 1e-2} : Tolerance{16.0, 1e-3});
  }
}

// Rows that are not kept: a loop goes over their terms.
TEST_P(ReduceKernelTest, VectorsOfRows) {
  load("reduce", R"(^bb0(%x: tensor<?x1028xf32, #dl.t<[s0, 1028]>>):
    %0 = dl.sum %x {dim = array<i64: 1>} : (tensor<?x1028xf32, #dl.t<[s0, 1028]>>) -> tensor<?xf32, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xf32, #dl.t<[s0]>>)");
  EXPECT_NE(text().find("dlc::load<4>(x"), std::string::npos) << text();
  for (int64_t rows : {0, 1, 3})
    check({rows, 1}, kExact, Fill::whole);
  // Ties: the first wins, whichever lane has it.
  load("reduce", R"(^bb0(%x: tensor<?x640xi8, #dl.t<[s0, 640]>>):
    %0 = dl.argmax %x {dim = 1 : i64} : (tensor<?x640xi8, #dl.t<[s0, 640]>>) -> tensor<?xi64, #dl.t<[s0]>>
    dl.yield %0 : tensor<?xi64, #dl.t<[s0]>>)");
  EXPECT_NE(text().find("dlc::load<8>(x"), std::string::npos) << text();
  check({3, 1}, kExact, Fill::whole);
  // Whole vectors for any value of the symbol.
  load("reduce", R"(^bb0(%x: tensor<3x?xf32, #dl.t<[3, s0 * 32]>>):
    %0 = dl.amax %x {dim = array<i64: 1>} : (tensor<3x?xf32, #dl.t<[3, s0 * 32]>>) -> tensor<3xf32>
    dl.yield %0 : tensor<3xf32>)");
  EXPECT_NE(text().find("x4 = dlc::load<4>(x + r + row * i)"), std::string::npos) << text();
  for (int64_t part : {1, 2, 5, 40})
    check({part, 1}, kExact);
  // A row's own dim has another extent than its terms.
  load("reduce", R"(^bb0(%x: tensor<?x256xf32, #dl.t<[s0, 256]>>):
    %0 = dl.sum %x {dim = array<i64: 1>, keepdim = true} : (tensor<?x256xf32, #dl.t<[s0, 256]>>) -> tensor<?x1xf32, #dl.t<[s0, 1]>>
    dl.yield %0 : tensor<?x1xf32, #dl.t<[s0, 1]>>)");
  EXPECT_NE(text().find("dlc::load<4>(x"), std::string::npos) << text();
  check({3, 1}, kExact, Fill::whole);
  // The rows begin within vectors.
  load("reduce", R"(^bb0(%x: tensor<5x130xf32>):
    %0 = dl.slice %x {dim = 1 : i64, start = 1 : i64, end = 129 : i64} : (tensor<5x130xf32>) -> tensor<5x128xf32>
    %1 = dl.sum %0 {dim = array<i64: 1>} : (tensor<5x128xf32>) -> tensor<5xf32>
    dl.yield %1 : tensor<5xf32>)");
  EXPECT_EQ(text().find("dlc::load<"), std::string::npos) << text();
  check({1, 1}, kExact, Fill::whole);
}

// Far terms, near results, and a row's own dims: a thread for each row, which keeps ten terms and
// fewer.
TEST_P(ReduceKernelTest, SoftmaxOfChannels) {
  for (int64_t channels : {5, 40}) {
    std::string type = llvm::formatv("tensor<?x{0}x70x2xf32, #dl.t<[s0, {0}, 70, 2]>>", channels);
    load("reduce", llvm::formatv(R"(^bb0(%x: {0}):
    %0 = dl.softmax %x {{dim = 1 : i64} : ({0}) -> {0}
    dl.yield %0 : {0})",
                                 type));
    EXPECT_EQ(text().find("shfl"), std::string::npos) << text();
    EXPECT_EQ(text().find("kept[") != std::string::npos, channels == 5) << text();
    for (int64_t images : {0, 1, 3})
      check({images, 1}, kSums);
  }
}

//===- Many blocks for each of few long rows --------------------------------------------------===//

TEST_P(ReduceKernelTest, PartsOfOneRow) {
  load("reduce", R"(^bb0(%x: tensor<40001xf32>):
    %0 = dl.sum %x {dim = array<i64: 0>} : (tensor<40001xf32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>)");
  EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
  check({1, 1}, {64.0, 1e-5});
  check({1, 1}, kExact, Fill::whole);
  // As many blocks as there may be.
  load("reduce", R"(^bb0(%x: tensor<600001xf32>):
    %0 = dl.sum %x {dim = array<i64: 0>} : (tensor<600001xf32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>)");
  check({1, 1}, kExact, Fill::whole);
}

// Whole vectors of each part, the last of them shorter.
TEST_P(ReduceKernelTest, VectorsOfParts) {
  load("reduce", R"(^bb0(%x: tensor<2x80004xf32>):
    %0 = dl.softmax %x {dim = 1 : i64} : (tensor<2x80004xf32>) -> tensor<2x80004xf32>
    dl.yield %0 : tensor<2x80004xf32>)");
  EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
  EXPECT_NE(text().find("dlc::load<4>(x"), std::string::npos) << text();
  EXPECT_NE(text().find("dlc::store(y"), std::string::npos) << text();
  check({1, 1}, {64.0, 1e-5});
  load("reduce", R"(^bb0(%x: tensor<600008xf16>):
    %0 = dl.sum %x {dim = array<i64: 0>} : (tensor<600008xf16>) -> tensor<f16>
    dl.yield %0 : tensor<f16>)");
  EXPECT_NE(text().find("dlc::load<8>(x"), std::string::npos) << text();
  check({1, 1}, kExact, Fill::whole);
}

// Ties and NaN: the first of all parts wins.
TEST_P(ReduceKernelTest, ArgmaxOfParts) {
  for (const char *dtype : {"f32", "f64", "i8", "i64"}) {
    load("reduce", llvm::formatv(R"(^bb0(%x: tensor<?x33000x{0}, #dl.t<[s1, 33000]>>):
    %0 = dl.argmax %x {{dim = 1 : i64} : (tensor<?x33000x{0}, #dl.t<[s1, 33000]>>) -> tensor<?xi64, #dl.t<[s1]>>
    dl.yield %0 : tensor<?xi64, #dl.t<[s1]>>)",
                                 dtype));
    EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
    check({1, 3}, kExact, Fill::whole);
    check({1, 2}, kExact, Fill::special);
  }
}

TEST_P(ReduceKernelTest, SoftmaxOfParts) {
  load("reduce", R"(^bb0(%x: tensor<?x33333xf16, #dl.t<[s1, 33333]>>):
    %0 = dl.softmax %x {dim = -1 : i64} : (tensor<?x33333xf16, #dl.t<[s1, 33333]>>) -> tensor<?x33333xf16, #dl.t<[s1, 33333]>>
    dl.yield %0 : tensor<?x33333xf16, #dl.t<[s1, 33333]>>)");
  EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
  check({1, 2}, {2.0, 1e-3});
}

// A length that varies: parts may be empty.
TEST_P(ReduceKernelTest, PartsOfAnyLength) {
  load("reduce", R"(^bb0(%x: tensor<2x?xi64, #dl.t<[2, s0]>>):
    %0 = dl.sum %x {dim = array<i64: 1>} : (tensor<2x?xi64, #dl.t<[2, s0]>>) -> tensor<2xi64>
    dl.yield %0 : tensor<2xi64>)",
       int64_t(1) << 31);
  EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
  for (int64_t length : {0, 1, 11, 12, 13, 255, 257, 3000, 50000})
    check({length, 1}, kExact);
}

// Rows across memory: few (a block combines the parts of each) and many (a warp), with and without
// dims of their own.
TEST_P(ReduceKernelTest, PartsAcross) {
  schedule = "split_reduce";
  for (int64_t columns : {3, 70}) {
    std::string type = llvm::formatv("tensor<2500x{0}xf32>", columns),
                row = llvm::formatv("tensor<{0}xf32>", columns);
    if (columns == 3)
      type = "tensor<30000x3xf32>";
    load("reduce", llvm::formatv(R"(^bb0(%x: {0}):
    %0 = dl.mean %x {{dim = array<i64: 0>} : ({0}) -> {1}
    dl.yield %0 : {1})",
                                 type, row));
    EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
    check({1, 1}, {64.0, 1e-5});
    load("reduce", llvm::formatv(R"(^bb0(%x: {0}):
    %0 = dl.softmax %x {{dim = 0 : i64} : ({0}) -> {0}
    dl.yield %0 : {0})",
                                 type));
    EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
    check({1, 1}, {64.0, 1e-5});
  }
}

TEST_P(ReduceKernelTest, ArgmaxAcross) {
  load("reduce", R"(^bb0(%x: tensor<4000x40xbf16>):
    %0 = dl.argmin %x {dim = 0 : i64} : (tensor<4000x40xbf16>) -> tensor<40xi64>
    dl.yield %0 : tensor<40xi64>)");
  EXPECT_NE(text().find("grid_barrier"), std::string::npos) << text();
  check({1, 2}, kExact, Fill::whole);
  check({1, 2}, kExact, Fill::special);
}

// Planted: without the meeting of the grid, blocks read parts that others write.
TEST_P(ReduceKernelTest, AMissingMeetingIsFound) {
  load("reduce", R"(^bb0(%x: tensor<40001xf32>):
    %0 = dl.sum %x {dim = array<i64: 0>} : (tensor<40001xf32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>)");
  std::string broken = text();
  size_t at = broken.find("  dlc::grid_barrier(");
  ASSERT_NE(at, std::string::npos);
  broken.erase(at, broken.find('\n', at) + 1 - at);
  replaceText(broken);
  SmallVector<Tensor> inputs;
  Tensor actual;
  EXPECT_NE(run({1, 1}, Fill::uniform, inputs, actual), Result::Success);
  EXPECT_NE(report().find("race"), std::string::npos) << report();
}

TEST_P(ReduceKernelTest, MaxPool) {
  load("window", R"(^bb0(%x: tensor<?x3x9x8xf32, #dl.t<[s0, 3, 9, 8]>>):
    %0 = dl.max_pool2d %x {kernel_size = array<i64: 3, 2>, stride = array<i64: 2, 1>, padding = array<i64: 1, 1>} : (tensor<?x3x9x8xf32, #dl.t<[s0, 3, 9, 8]>>) -> tensor<?x3x5x9xf32, #dl.t<[s0, 3, 5, 9]>>
    dl.yield %0 : tensor<?x3x5x9xf32, #dl.t<[s0, 3, 5, 9]>>)");
  checkBoundaries(kExact, Fill::special);
}

TEST_P(ReduceKernelTest, AveragePool) {
  load("window", R"(^bb0(%x: tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8], order = [0, 2, 3, 1]>>):
    %0 = dl.avg_pool2d %x {kernel_size = array<i64: 3, 3>, stride = array<i64: 2, 2>, padding = array<i64: 1, 1>, ceil_mode = true, count_include_pad = false} : (tensor<?x4x9x8xf32, #dl.t<[s0, 4, 9, 8], order = [0, 2, 3, 1]>>) -> tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>
    dl.yield %0 : tensor<?x4x5x5xf32, #dl.t<[s0, 4, 5, 5], order = [0, 2, 3, 1]>>)");
  checkBoundaries(kSums);
}

INSTANTIATE_TEST_SUITE_P(Policies, ReduceKernelTest, ::testing::Values("order", "random:7"));

} // namespace dlc::test
