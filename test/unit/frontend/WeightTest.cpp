//===- WeightTest.cpp - Weights and the files that they come from -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

static const char *kLinear =
    "dl 1\nmodel M {\nfc: Linear(4, 2)\nforward(x: f32[3,4]) -> (y: f32[3,2]) {\ny = fc(x)\n}\n}\n"
    "weights \"w.safetensors\"\n";

TEST_F(Frontend, bindsWeights) {
  writeWeights("w.safetensors", {{"fc.bias", {2}}, {"fc.weight", {2, 4}}});
  std::string text = import(kLinear);
  EXPECT_NE(text.find("dl.weight \"fc.weight\""), std::string::npos) << text;
  EXPECT_NE(text.find("module @M"), std::string::npos);
  EXPECT_NE(text.find("func.func @forward(%arg0: tensor<3x4xf32> {dl.name = \"x\"}) -> "
                      "(tensor<3x2xf32> {dl.name = \"y\"})"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("/w.safetensors\""), std::string::npos);
  EXPECT_NE(text.find("hash = \""), std::string::npos);
}

TEST_F(Frontend, reportsEveryWrongWeight) {
  writeWeights("w.safetensors", {{"fc.bais", {2}}, {"fc.weight", {4, 2}}, {"head.weight", {1}}});
  EXPECT_EQ(
      import(kLinear),
      "3:1: error: weight 'fc.weight' is f32[4,2] in 'w.safetensors'; the layer needs [2,4]; it is "
      "stored [in,out]: add 'transpose \"fc.weight\"' to the weights clause\n"
      "3:1: error: weight 'fc.bias' [2] is not in 'w.safetensors'; did you mean 'fc.bais'?\n"
      "8:1: error: 'w.safetensors' holds 'fc.bais' f32[2], which no layer owns; did you mean "
      "'fc.bias'?\n"
      "8:1: error: 'w.safetensors' holds 'head.weight' f32[1], which no layer owns; "
      "allow_extra \"head.weight\" in the weights clause leaves it out\n");
  writeWeights("w.safetensors", {{"fc.bias", {2}}, {"fc.weight", {2, 4}}}, "I32");
  EXPECT_EQ(import(kLinear), "3:1: error: weight 'fc.weight' has the dtype i32 in 'w.safetensors'; "
                             "expected f64, f32, f16 or bf16\n"
                             "3:1: error: weight 'fc.bias' has the dtype i32 in 'w.safetensors'; "
                             "expected f64, f32, f16 or bf16\n");
  writeWeights("w.safetensors", {{"fc.bias", {2}}, {"fc.weight", {2, 4}}}, "F16");
  EXPECT_NE(import(kLinear).find("dl.linear %arg0, %2, %3 : (tensor<3x4xf32>, tensor<2x4xf32>, "),
            std::string::npos)
      << "a weight of another float dtype is cast to that of the input\n"
      << import(kLinear);
}

TEST_F(Frontend, batchNormKeepsItsTrainingState) {
  writeWeights("w.safetensors", {{"bn.weight", {4}},
                                 {"bn.bias", {4}},
                                 {"bn.running_mean", {4}},
                                 {"bn.running_var", {4}},
                                 {"bn.num_batches_tracked", {}}});
  std::string source = "dl 1\nmodel M {\nbn: BatchNorm1d(4, eps=0.5)\nforward(x: f32[3,4]) -> (y: "
                       "f32[3,4]) {\ny = bn(x)\n}\n}\n"
                       "weights \"w.safetensors\"\n";
  std::string text = import(source);
  EXPECT_NE(text.find("dl.batch_norm %arg0, %0, %1, %2, %3 {eps = 5.000000e-01 : f64}"),
            std::string::npos)
      << text;
  size_t mean = text.find("%0 = dl.weight \"bn.running_mean\""),
         var = text.find("%1 = dl.weight \"bn.running_var\"");
  EXPECT_TRUE(mean != std::string::npos && var != std::string::npos) << text;
}

TEST_F(Frontend, lengthsThatOtherFormatsBeginWith) {
  for (size_t length : {0x280, 0x4B50}) { // a pickle begins with the bytes 80 02, a zip with 50 4B
    std::string header = R"({"fc.weight":{"dtype":"F32","shape":[2,4],"data_offsets":[0,32]},)"
                         R"("fc.bias":{"dtype":"F32","shape":[2],"data_offsets":[32,40]}})";
    header.resize(length, ' ');
    std::string file = {char(length & 0xFF), char(length >> 8), 0, 0, 0, 0, 0, 0};
    write("w.safetensors", file + header + std::string(40, '\0'));
    EXPECT_NE(import(kLinear).find("dl.linear"), std::string::npos) << import(kLinear);
  }
}

TEST_F(Frontend, weightFilesThatCannotBeUsed) {
  auto clause = [&](StringRef name) {
    StringRef model = kLinear;
    return import((model.take_front(model.find("weights")) + "weights \"" + name + "\"").str());
  };
  EXPECT_EQ(clause("w.safetensors"),
            "8:9: error: cannot read 'w.safetensors': No such file or directory\n");
  for (StringRef escape : {"../w.safetensors", "a/../../w", "/etc/passwd", ""})
    EXPECT_EQ(clause(escape),
              ("8:9: error: 'weights' names a file in the folder of the model, got '" + escape +
               "'; use --weights for one elsewhere\n")
                  .str());
  ASSERT_FALSE(llvm::sys::fs::create_link("/etc/passwd", path("link.safetensors")));
  EXPECT_EQ(clause("link.safetensors"),
            "8:9: error: 'link.safetensors' is a link out of the folder of the model; use "
            "--weights for one elsewhere\n");
  write("bad.safetensors", "hello");
  EXPECT_EQ(clause("bad.safetensors"), "8:9: error: 'bad.safetensors' has 5 bytes; a safetensors "
                                       "file begins with the 8 bytes of its header size\n");
  EXPECT_EQ(import(StringRef(kLinear).split("weights").first),
            "3:1: error: layer 'fc' has weights, but the file names none; add 'weights "
            "\"model.safetensors\"' or use --weights\n");
}

TEST_F(Frontend, filesThatCannotBeRead) {
  mlir::MLIRContext context;
  frontend::Listener listener(context);
  EXPECT_FALSE(importFile("/nonexistent.dl", {}, context));
  EXPECT_FALSE(importFile("/", {}, context));
  EXPECT_EQ(listener.text, "error: cannot read '/nonexistent.dl': No such file or directory\n"
                           "error: cannot read '/': it is a directory; expected a file\n");
  std::string large = "dl 1\n";
  large.resize((64 << 20) + 1, '#');
  EXPECT_EQ(import(large), "error: 't.dl' has 67108865 bytes; the limit of a model's text is "
                           "67108864. Weights belong in a safetensors file\n");
}

} // namespace
