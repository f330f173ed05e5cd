//===- SampleFeedTest.cpp - Data sets against what models take ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/SampleFeed.h"
#include "frontend/arrays/NpzFile.h"
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"
#include "tools/driver/base/ExitCode.h"

#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <unistd.h>

using namespace dlc;
using namespace dlc::test;
using schema::DType;

namespace {

/// Arrays in a file of the temporary folder, and feeds that read them.
class SampleFeedTest : public testing::Test {
protected:
  ~SampleFeedTest() override { std::remove(path.c_str()); }

  /// An array of the numbers 0, 1, 2 ... of f32.
  void array(const std::string &name, const std::vector<int64_t> &dims) {
    HostTensor &tensor = arrays.emplace_back(name, HostTensor{DLC_F32, dims, {}}).second;
    ASSERT_TRUE(tensor.allocate());
    std::vector<float> values(static_cast<size_t>(tensor.size()));
    std::iota(values.begin(), values.end(), 0.0f);
    if (!values.empty())
      std::memcpy(tensor.data.data(), values.data(), tensor.data.size());
  }
  void zeros(const std::string &name, dlc_dtype dtype, const std::vector<int64_t> &dims) {
    ASSERT_TRUE(arrays.emplace_back(name, HostTensor{dtype, dims, {}}).second.allocate());
  }
  float *values(size_t index) {
    return reinterpret_cast<float *>(arrays[index].second.data.data());
  }

  /// Not by writeTensors(), which takes no file that this process has read.
  void write() {
    std::vector<frontend::NamedArray> named;
    for (auto &[name, tensor] : arrays)
      named.push_back({name, *frontend::elementTypeNamed(dlc_dtype_name(tensor.dtype)), tensor.dims,
                       tensor.data});
    std::string bytes;
    llvm::raw_string_ostream os(bytes);
    ASSERT_FALSE(isArchive(path)
                     ? frontend::writeNpz(bytes, named)
                     : frontend::writeNpy(os, named[0].type, named[0].shape, named[0].data));
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }

  dlc_module *load(const PackageBuilder &package) {
    modules.push_back(test::load(package.file()));
    return modules.back().get();
  }

  /// The feed of the arrays does not fit the package, and the error is `message`, where FILE stands
  /// for the path.
  void refused(const PackageBuilder &package, std::string message, int expected = kUsage) {
    write();
    for (size_t at; (at = message.find("FILE")) != std::string::npos;)
      message.replace(at, 4, path);
    dlc_module *module = load(package);
    SampleFeed feed;
    testing::internal::CaptureStderr();
    EXPECT_EQ(feed.open(path, module), expected);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "error: " + message + "\n");
    arrays.clear();
  }

  /// Rows of the batches until the end.
  static std::vector<int64_t> batches(SampleFeed &feed) {
    std::vector<int64_t> rows;
    std::vector<dlc_tensor> views;
    for (feed.rewind(); feed.next(views);)
      rows.push_back(views[0].dims[0]);
    return rows;
  }

  std::string path = testing::TempDir() + "dlc-feed-test-" + std::to_string(getpid()) + ".npz";
  std::vector<std::pair<std::string, HostTensor>> arrays;
  std::vector<ModulePtr> modules;
};

/// x of f32[N,4] with N in the range.
PackageBuilder rangePackage(int64_t from, int64_t to) {
  PackageBuilder package;
  package.input("x", DType::f32, {package.symbol("N", from, to), package.constant(4)});
  package.program(schema::Target::cpu);
  return package;
}

PackageBuilder fixedPackage(int64_t rows) {
  PackageBuilder package;
  package.input("x", DType::f32, {package.constant(rows), package.constant(4)});
  package.program(schema::Target::cpu);
  return package;
}

/// image of f32[N,4], mask of i64[N,S] with S in 1..9, scale of f32[].
PackageBuilder severalPackage() {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, 64), s = package.symbol("S", 1, 9);
  package.input("image", DType::f32, {n, package.constant(4)});
  package.input("mask", DType::i64, {n, s});
  package.input("scale", DType::f32, {});
  package.program(schema::Target::cpu);
  return package;
}

using Rows = std::vector<int64_t>;

} // namespace

TEST_F(SampleFeedTest, CutsBatchesWithoutCopies) {
  array("x", {10, 4});
  array("labels", {10}); // not the model's: left alone
  write();
  SampleFeed feed;
  ASSERT_EQ(feed.open(path, load(rangePackage(0, 64))), kOk);
  EXPECT_EQ(feed.numSamples(), 10);
  EXPECT_EQ(feed.smallestBatch(), 1);
  EXPECT_EQ(feed.largestBatch(), 64);
  EXPECT_EQ(batches(feed), Rows({10}));
  feed.setBatch(4);
  EXPECT_EQ(batches(feed), Rows({4, 4, 2}));
  EXPECT_EQ(feed.numLeftOut(), 0);
  feed.rewind();
  std::vector<dlc_tensor> views;
  const char *first = nullptr;
  for (int64_t row = 0; feed.next(views); row += views[0].dims[0]) {
    ASSERT_EQ(views.size(), 1u);
    EXPECT_EQ(views[0].rank, 2);
    EXPECT_EQ(views[0].dims[1], 4);
    EXPECT_EQ(views[0].bytes, static_cast<size_t>(views[0].dims[0]) * 16);
    const char *data = static_cast<const char *>(views[0].data);
    first = row == 0 ? data : first;
    EXPECT_EQ(data, first + row * 16);
    EXPECT_EQ(*reinterpret_cast<const float *>(data), static_cast<float>(4 * row));
  }
  dlc_tensor last = views[0];
  EXPECT_FALSE(feed.next(views)); // it stays at the end, and says so without touching the views
  EXPECT_EQ(views[0].data, last.data);
}

TEST_F(SampleFeedTest, LeavesOutWhatFillsNoBatch) {
  array("x", {10, 4});
  write();
  SampleFeed fixed;
  ASSERT_EQ(fixed.open(path, load(fixedPackage(4))), kOk);
  EXPECT_EQ(fixed.smallestBatch(), 4);
  EXPECT_EQ(fixed.largestBatch(), 4);
  EXPECT_EQ(batches(fixed), Rows({4, 4}));
  EXPECT_EQ(fixed.numLeftOut(), 2);
  fixed.setBatch(3); // no batch of the model's
  EXPECT_EQ(batches(fixed), Rows({4, 4}));
  // From 4 rows on: 7 and 3 would leave 3 out, 6 and 4 none.
  SampleFeed ranged;
  ASSERT_EQ(ranged.open(path, load(rangePackage(4, 7))), kOk);
  EXPECT_EQ(batches(ranged), Rows({6, 4}));
  EXPECT_EQ(ranged.numLeftOut(), 0);
  SampleFeed narrow;
  ASSERT_EQ(narrow.open(path, load(rangePackage(6, 7))), kOk);
  EXPECT_EQ(batches(narrow), Rows({7}));
  EXPECT_EQ(narrow.numLeftOut(), 3);
}

TEST_F(SampleFeedTest, ARowOfOneDimMoreIsAWholeInput) {
  array("image", {3, 4});
  zeros("mask", DLC_I64, {3, 1, 7});
  array("scale", {3});
  write();
  SampleFeed feed;
  ASSERT_EQ(feed.open(path, load(severalPackage())), kOk);
  std::vector<dlc_tensor> views;
  for (int row = 0; row < 3; ++row) {
    ASSERT_TRUE(feed.next(views));
    ASSERT_EQ(views.size(), 3u);
    EXPECT_EQ(views[0].dims[0], 1);
    EXPECT_EQ(views[1].rank, 2);
    EXPECT_EQ(views[1].dims[1], 7);
    EXPECT_EQ(views[2].rank, 0);
    EXPECT_EQ(*static_cast<float *>(views[2].data), static_cast<float>(row));
  }
  EXPECT_FALSE(feed.next(views));
}

TEST_F(SampleFeedTest, ASymbolOfAnotherDimFixesTheBatch) {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, 64);
  package.input("x", DType::f32, {n, n});
  package.program(schema::Target::cpu);
  array("x", {10, 3});
  write();
  SampleFeed feed;
  ASSERT_EQ(feed.open(path, load(package)), kOk);
  EXPECT_EQ(batches(feed), Rows({3, 3, 3}));
  EXPECT_EQ(feed.numLeftOut(), 1);
}

TEST_F(SampleFeedTest, AnotherModuleNarrowsTheBatches) {
  array("x", {10, 4});
  write();
  SampleFeed feed;
  ASSERT_EQ(feed.open(path, load(rangePackage(1, 64))), kOk);
  ASSERT_EQ(feed.addModule(load(fixedPackage(5))), kOk);
  EXPECT_EQ(batches(feed), Rows({5, 5}));
  testing::internal::CaptureStderr();
  EXPECT_EQ(feed.addModule(load(rangePackage(6, 8))), kUsage);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "error: array 'x' of '" + path +
                "' is f32[10,4], but input 'x' is f32[N,4] (N = 6..8): it takes 6 to 8 rows at a "
                "time, and what came before it 5; expected a batch that all take\n");
}

TEST_F(SampleFeedTest, RandomInputsHaveTheSmallestDimsThatAllTake) {
  SampleFeed feed;
  ASSERT_EQ(feed.fillRandom(5, {load(rangePackage(0, 64)), load(rangePackage(3, 8))}), kOk);
  EXPECT_EQ(feed.numSamples(), 5);
  EXPECT_EQ(feed.numLeftOut(), 0);
  std::vector<dlc_tensor> views;
  float first = 0;
  for (int row = 0; row < 5; ++row) {
    ASSERT_TRUE(feed.next(views));
    EXPECT_EQ(feed.rows(), 1);
    EXPECT_EQ(views[0].rank, 2);
    EXPECT_EQ(views[0].dims[0], 3);
    EXPECT_EQ(views[0].dims[1], 4);
    float value = *static_cast<float *>(views[0].data);
    EXPECT_NE(value, first);
    first = value;
  }
  EXPECT_FALSE(feed.next(views));
  // Where there are several inputs, one of them a scalar.
  SampleFeed several;
  ASSERT_EQ(several.fillRandom(2, {load(severalPackage())}), kOk);
  ASSERT_TRUE(several.next(views));
  EXPECT_EQ(views[1].dims[1], 1);
  EXPECT_EQ(views[2].rank, 0);
}

TEST_F(SampleFeedTest, TheCallersOwnInputsAreNotInTheData) {
  PackageBuilder package;
  package.input("choice", DType::boolean, {package.constant(3)});
  package.input("x", DType::f32, {package.symbol("N", 1, 8), package.constant(4)});
  package.program(schema::Target::cpu);
  array("x", {5, 4});
  write();
  SampleFeed feed(/*ownInputs=*/1);
  ASSERT_EQ(feed.open(path, load(package)), kOk);
  EXPECT_EQ(batches(feed), Rows({5}));
  feed.rewind();
  std::vector<dlc_tensor> views;
  ASSERT_TRUE(feed.next(views));
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].dtype, DLC_F32);
  SampleFeed random(/*ownInputs=*/1);
  ASSERT_EQ(random.fillRandom(2, {load(package)}), kOk);
  ASSERT_TRUE(random.next(views));
  EXPECT_EQ(views.size(), 1u);
}

TEST_F(SampleFeedTest, RefusesArraysThatDoNotFit) {
  std::string x = "array 'x' of 'FILE' is ", input = ", but input 'x' is f32[N,4] (N = 1..64): ";
  PackageBuilder ranged = rangePackage(1, 64);
  array("y", {10, 4});
  refused(ranged, "'FILE' has no array 'x'; it holds: y");
  zeros("x", DLC_F64, {10, 4});
  refused(ranged, x + "f64[10,4]" + input + "save it with .astype(numpy.float32)");
  array("x", {10, 5});
  refused(ranged, x + "f32[10,5]" + input + "dim 1 is 5, expected 4");
  array("x", {2, 65, 4});
  refused(ranged, x + "f32[2,65,4]" + input + "dim 1 is 65, expected 1 to 64");
  array("x", {10});
  refused(ranged, x + "f32[10]" + input +
                      "expected 2 dims, the first of them samples, or 3 dims, "
                      "a whole input in each row");
  array("x", {0, 4});
  refused(ranged, x + "f32[0,4]: it has no rows; expected at least one sample");
  array("x", {3, 4});
  refused(fixedPackage(4), "'FILE' holds 3 samples, but the model takes at least 4 at a time");
  array("x", {3, 4});
  refused(fixedPackage(0), x + "f32[3,4], but input 'x' is f32[0,4]: its first dim is 0, which "
                               "takes no samples");
  array("image", {3, 4});
  zeros("mask", DLC_I64, {4, 9});
  refused(severalPackage(), "array 'mask' of 'FILE' is i64[4,9]: it has 4 rows, but 'image' has 3; "
                            "expected one row a sample in each");
}

TEST_F(SampleFeedTest, RefusesSymbolsThatDiffer) {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, 64), s = package.symbol("S", 1, 9);
  package.input("x", DType::f32, {n, s});
  package.input("y", DType::f32, {n, s});
  package.program(schema::Target::cpu);
  array("x", {3, 4});
  array("y", {3, 5});
  refused(package, "array 'y' of 'FILE' is f32[3,5], but input 'y' is f32[N,S] (N = 1..64, "
                   "S = 1..9): dim 1 is 5, expected 4 as S is in 'x'");
  PackageBuilder doubled;
  Expr twice = doubled.apply(schema::ExprOp::mul, doubled.constant(2), doubled.symbol("N", 1, 9));
  doubled.input("x", DType::f32, {twice});
  doubled.program(schema::Target::cpu);
  array("x", {6});
  refused(doubled, "array 'x' of 'FILE' is f32[6], but input 'x' is f32[2*N] (2*N = 2..18): its "
                   "first dim is 2*N, which is no number of samples; expected 2 "
                   "dims, a whole input in each row");
}

TEST_F(SampleFeedTest, RefusesNumbersThatAreNotFinite) {
  array("x", {10, 4});
  values(0)[9] = NAN;
  values(0)[21] = -INFINITY;
  values(0)[22] = NAN;
  refused(rangePackage(1, 64), "array 'x' of 'FILE' is f32[10,4]: 2 of its numbers are NaN and 1 "
                               "are infinite, the first in row 2; expected finite numbers");
}

TEST_F(SampleFeedTest, RefusesTypesThatNumPyLacks) {
  for (auto [dtype, name, hint] :
       {std::tuple(DType::bf16, "bf16", "NumPy has no bf16; declare the input as f32"),
        std::tuple(DType::f8e4m3fn, "f8e4m3fn", "save its bytes as numpy.uint8"),
        std::tuple(DType::boolean, "bool", "save it with .astype(numpy.bool_)")}) {
    PackageBuilder package;
    package.input("x", dtype, {package.symbol("N", 1, 64)});
    package.program(schema::Target::cpu);
    array("x", {3});
    refused(package, "array 'x' of 'FILE' is f32[3], but input 'x' is " + std::string(name) +
                         "[N] (N = 1..64): " + hint);
  }
}

TEST_F(SampleFeedTest, AnNpyServesAModelOfOneInput) {
  path.back() = 'y'; // .npy
  array("x", {5, 4});
  write();
  SampleFeed feed;
  ASSERT_EQ(feed.open(path, load(rangePackage(1, 64))), kOk);
  EXPECT_EQ(batches(feed), Rows({5}));
  arrays.clear();
  array("x", {5, 4});
  refused(severalPackage(), "'FILE' holds one array, and the model has 3 inputs; expected an .npz "
                            "of arrays by their names");
  array("x", {5, 3});
  refused(rangePackage(1, 64), "the array of 'FILE' is f32[5,3], but input 'x' is f32[N,4] (N = "
                               "1..64): dim 1 is 3, expected 4");
  PackageBuilder none;
  none.program(schema::Target::cpu);
  array("x", {5, 4});
  refused(none, "the model has no inputs; 'FILE' has nothing to feed");
}
