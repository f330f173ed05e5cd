//===- FlowCommandsTest.cpp - Commands on models that are cut into segments ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/NpzFile.h"
#include "runtime/core/package/Module.h"
#include "test/unit/runtime/flow/FlowPackage.h"
#include "tools/driver/base/ExitCode.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/cli/Compiler.h"
#include "tools/driver/run/Tensors.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace dlc;
using namespace dlc::test;

namespace {

/// sampleFlow() in a file of the temporary folder.
class FlowCommands : public testing::Test {
protected:
  FlowCommands() { write(sampleFlow()); }
  ~FlowCommands() override { std::remove(model.c_str()); }

  void write(const FlowPackage &package) {
    std::vector<uint8_t> file = package.file();
    std::ofstream(model, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  }

  /// What `dlc` prints with these arguments; `error`: on standard error.
  std::string run(std::vector<std::string> words, int expected = kOk,
                  std::string *error = nullptr) {
    words.insert(words.begin(), "dlc");
    std::vector<char *> arguments;
    for (std::string &word : words)
      arguments.push_back(word.data());
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    EXPECT_EQ(runCommandLine(int(arguments.size()), arguments.data(), kSeparateCompiler), expected);
    std::string said = testing::internal::GetCapturedStderr();
    if (error)
      *error = said;
    else
      EXPECT_EQ(said, "");
    return testing::internal::GetCapturedStdout();
  }

  std::string model = testing::TempDir() + "dlc-flow-" + std::to_string(getpid()) + ".bin";
  std::vector<std::string> inputs = {"--input",     "x=2xf32=zeros", "--input",
                                     "trips=zeros", "--input",       "doubles=zeros"};
};

std::vector<std::string> operator+(std::vector<std::string> list,
                                   const std::vector<std::string> &more) {
  list.insert(list.end(), more.begin(), more.end());
  return list;
}

} // namespace

TEST_F(FlowCommands, Run) {
  EXPECT_EQ(run(std::vector<std::string>{"run", model, "--device", "cpu"} + inputs),
            "y: f32[6]  min = 0 max = 5 mean = 2.333333\nfilled: f32[0]\n");
}

TEST_F(FlowCommands, Steps) {
  std::string error;
  run({"run", model, "--device", "cpu", "--steps", "--input", "x=3x2xf32=zeros", "--input",
       "trips=zeros", "--input", "doubles=zeros"},
      kUsage, &error);
  EXPECT_EQ(error, "error: --steps: the data say how large output 'y' is, in each step anew; run "
                   "the steps one by one\n");
}

TEST_F(FlowCommands, Bench) {
  std::string text = run(
      std::vector<std::string>{"bench", model, "--device", "cpu", "--duration", "0", "--profile"} +
      inputs);
  EXPECT_NE(text.find("model.dl:3:7"), std::string::npos) << text;
}

TEST_F(FlowCommands, CompareAndVerify) {
  std::string data = model + ".npz", bytes, error;
  std::vector<std::unique_ptr<HostTensor>> held; // arrays view them
  auto array = [&](const char *name, dlc_dtype dtype, std::vector<int64_t> dims) {
    held.push_back(std::make_unique<HostTensor>(HostTensor{dtype, dims, {}}));
    HostTensor &zeros = *held.back();
    EXPECT_TRUE(zeros.allocate());
    return frontend::NamedArray{name, *frontend::elementTypeNamed(dlc_dtype_name(dtype)), dims,
                                zeros.data};
  };
  ASSERT_FALSE(frontend::writeNpz(bytes, {array("x", DLC_F32, {3, 2}), array("trips", DLC_I64, {3}),
                                          array("doubles", DLC_BOOL, {3})}));
  std::ofstream(data, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  std::vector<std::string> with = {"--device", "cpu", "--data", data, "--max-error", "1e-6"};
  std::string text = run(std::vector<std::string>{"compare", model, model} + with);
  EXPECT_NE(text.find("filled"), std::string::npos) << text;
  run(std::vector<std::string>{"verify", model, "--reference", model} + with);
  run(std::vector<std::string>{"compare", model, model, "--layers"} + with, kUnsupported, &error);
  std::remove(data.c_str());
  EXPECT_EQ(error, "error: --layers: '" + model +
                       "' is cut into segments, whose number of runs the data say; compare its "
                       "outputs without --layers\n");
}

TEST_F(FlowCommands, Inspect) {
  std::string text = run({"inspect", model});
  size_t begin = text.find("Symbolic dims"), end = text.find("\n\nProgram for cpu");
  ASSERT_NE(end, std::string::npos) << text;
  EXPECT_EQ(text.substr(begin, end - begin), R"(Symbolic dims
  N = 0..64
  m = 0..64, told by the run
Flow
  y f32[?] = if doubles
    %5 f32[?], %6 f32[?,?] = loop of trips steps from %3 f32[?] = x
      %4 f32[?] = segment 0 of %3
      next %4, stack %4
    give %5
  else
    %10 bool[] = segment 2 of x
    %9 f32[?] = loop if %10 from %7 f32[?] = x
      %8 f32[?] = segment 1 of %7
      %11 bool[] = segment 2 of %8
      next %8 while %11
    give %9
  m = dim 0 of y
  #2 = the element of trips
  filled f32[?] = segment 3 with #2
Weights: 0 bytes

Segment 0: x f32[N] -> y f32[N])");
  EXPECT_NE(text.find("Segment 3: with n -> y f32[n]\n"), std::string::npos) << text;
  std::string json = run({"inspect", model, "--json"});
  for (const char *piece : {R"("programs": [],)", R"("m = dim 0 of y")",
                            R"("known": "during the run")", R"("type": "f32[N + 1]")"})
    EXPECT_NE(json.find(piece), std::string::npos) << piece;
  run({"inspect", model, "--source", "k"}, kUsage, &json);
  EXPECT_EQ(json, "error: 4 kernels compute 'k'; name one of them: k, k, k, k\n");
}

TEST_F(FlowCommands, Explain) {
  std::string text = run({"explain", model, "--target", "cpu"});
  EXPECT_EQ(text, R"(The model is cut into 4 segments, because
  the run reads the size n, which sizes after it depend on
  it has a branch, and only one side runs
  it has 2 loops, whose body runs once for each step

Segment 0
Program for cpu
  'k', 1 launch: model.dl:3:7

Segment 1
Program for cpu
  'k', 1 launch: model.dl:3:7

Segment 2
Program for cpu
  'k', 1 launch: model.dl:3:7

Segment 3
Program for cpu
  'k', 1 launch: model.dl:3:7
)");
  std::string json = run({"explain", model, "--json", "--target", "cuda"});
  EXPECT_NE(json.find(R"("segment": 3)"), std::string::npos) << json;
  EXPECT_NE(json.find(R"("cut_because")"), std::string::npos) << json;
}

TEST_F(FlowCommands, Refit) {
  std::string error, weights = model + ".safetensors";
  run({"refit", model, "--weights", weights}, kUsage, &error);
  EXPECT_EQ(error, "error: the model '" + model + "' has no weights to replace\n");
  // Two segments with a weight of one name: both get the new one.
  FlowPackage package = sampleFlow();
  for (size_t segment : {0, 1})
    package.segments[segment].weight("w", {1, 2}, {2});
  write(package);
  std::string header = R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  std::string bytes = {char(header.size()), 0, 0, 0, 0, 0, 0, 0};
  bytes += header;
  const float values[] = {5, 7};
  bytes.append(reinterpret_cast<const char *>(values), sizeof(values));
  std::ofstream(weights, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  run({"refit", model, "--weights", weights}, kOk, &error);
  EXPECT_EQ(error, model + ": 1 weights replaced\n");
  std::remove(weights.c_str());
  auto module = rt::Module::load(model.c_str(), /*verifyAll=*/true);
  ASSERT_FALSE(module.failed()) << module.status().message();
  for (size_t segment : {0, 1}) {
    const rt::Module &part = *(*module)->segments()[segment];
    EXPECT_EQ(std::memcmp(part.bytes(*part.table().weights()->Get(0)->data()), values, 8), 0);
  }
}
