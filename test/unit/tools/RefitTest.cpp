//===- RefitTest.cpp - dlc refit of weights that share their bytes ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/cli/Compiler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace dlc;
using namespace dlc::test;
using namespace dlc::schema;

namespace {

std::string temporary(const char *name) {
  return testing::TempDir() + "dlc-refit-test-" + std::to_string(getpid()) + name;
}

/// affinePackage with a second weight, 'tied', whose bytes are those of 'bias'.
std::vector<uint8_t> packageOfTiedWeights() {
  PackageBuilder package = affinePackage();
  package.weight("tied", {1, 2, 3, 4}, {4});
  std::vector<uint8_t> file = package.file();
  const auto *weights = GetModule(file.data() + kTableOffset)->weights();
  Segment first = *weights->Get(0)->data(), second = *weights->Get(1)->data();
  *const_cast<Segment *>(weights->Get(0)->data()) = second;
  std::fill_n(file.begin() + first.offset(), first.bytes(), uint8_t(0));
  rehash(file);
  return file;
}

/// A safetensors file of 'bias' and 'tied', each f32[4].
std::string weightsFile(const std::vector<float> &bias, const std::vector<float> &tied) {
  std::string header = R"({"bias":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                       R"("tied":{"dtype":"F32","shape":[4],"data_offsets":[16,32]}})";
  std::string bytes = {char(header.size()), 0, 0, 0, 0, 0, 0, 0};
  bytes += header;
  for (const std::vector<float> &values : {bias, tied})
    bytes.append(reinterpret_cast<const char *>(values.data()), 16);
  return bytes;
}

void write(const std::string &path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
}

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

} // namespace

/// The numbers of weight `number` in the package `file`.
static std::vector<float> weightOf(const std::string &file, unsigned number) {
  const Segment &data = *GetModule(file.data() + kTableOffset)->weights()->Get(number)->data();
  std::vector<float> numbers(data.bytes() / sizeof(float));
  std::memcpy(numbers.data(), file.data() + data.offset(), data.bytes());
  return numbers;
}

TEST(Refit, TiedWeightsStayEqualOrPart) {
  std::string model = temporary(".bin"), weights = temporary(".safetensors");
  std::vector<uint8_t> file = packageOfTiedWeights();
  std::string old(file.begin(), file.end());
  write(model, old);
  auto refit = [&](int status, const std::string &message) {
    std::vector<std::string> words = {"dlc", "refit", model, "-q", "--weights", weights};
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    testing::internal::CaptureStderr();
    EXPECT_EQ(runCommandLine(int(arguments.size()), arguments.data(), kSeparateCompiler), status);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), message);
  };
  const std::vector<float> first = {5, 6, 7, 8}, second = {5, 6, 7, 9}, third = {1, 2, 3, 0};
  write(weights, weightsFile(first, first));
  refit(kOk, "");
  EXPECT_EQ(read(model).size(), old.size());
  EXPECT_EQ(weightOf(read(model), 0), first);
  EXPECT_EQ(weightOf(read(model), 1), first);
  // One of them is another now: both have their own bytes, and go on having them.
  write(weights, weightsFile(first, second));
  refit(kOk, "");
  EXPECT_EQ(weightOf(read(model), 0), first);
  EXPECT_EQ(weightOf(read(model), 1), second);
  size_t apart = read(model).size();
  EXPECT_GT(apart, old.size());
  write(weights, weightsFile(third, third));
  refit(kOk, "");
  EXPECT_EQ(read(model).size(), apart);
  EXPECT_EQ(weightOf(read(model), 0), third);
  EXPECT_EQ(weightOf(read(model), 1), third);
  std::remove(model.c_str());
  std::remove(weights.c_str());
}
