//===- HintsTest.cpp - What PyTorch's and Keras's ways of writing are called here ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Hints.h"

#include "llvm/ADT/StringSet.h"

#include "gtest/gtest.h"

using namespace dlc::frontend;
using llvm::StringRef;

namespace {

const llvm::StringSet<> kLayers = {"Conv2d", "Linear"};
const llvm::StringSet<> kFunctions = {"relu", "cat"};
bool isLayer(StringRef name) { return kLayers.contains(name); }
bool isFunction(StringRef name) { return kFunctions.contains(name); }

TEST(Hints, layers) {
  EXPECT_EQ(hintForLayer("nn.Conv2d", isLayer), "; write Conv2d(...), without the module");
  EXPECT_EQ(hintForLayer("torch.nn.Linear", isLayer), "; write Linear(...), without the module");
  EXPECT_EQ(hintForLayer("nn.Sequential", isLayer),
            "; declare its layers one below another and call them in 'forward', or write "
            "'sequential Name(x: f32[...]) { ... }' instead of a model");
  EXPECT_EQ(hintForLayer("layers.Dense", isLayer),
            "; Keras's Dense(10) is Linear(in_features, 10) here, or belongs in a 'sequential'");
  EXPECT_EQ(hintForLayer("ModuleList", isLayer),
            "; declare each layer, as in 'layers[i]: Linear(8, 8) for i in 0..4'");
  EXPECT_EQ(hintForLayer("ModuleDict", isLayer),
            "; declare each layer, as in 'layers[i]: Linear(8, 8) for i in 0..4'");
  EXPECT_EQ(hintForLayer("nn.Module", isLayer),
            "; layers that belong together are a 'block Name(...) { ... }'");
  EXPECT_EQ(hintForLayer("Dense", isLayer),
            "; Keras's Dense(10) is Linear(in_features, 10) here, or belongs in a 'sequential'");
  EXPECT_EQ(
      hintForLayer("Conv2D", isLayer),
      "; Keras's Conv2D(16, 3) is Conv2d(in_channels, 16, 3) here, or belongs in a 'sequential'");
  EXPECT_EQ(
      hintForLayer("keras.layers.Conv1D", isLayer),
      "; Keras's Conv1D(16, 3) is Conv1d(in_channels, 16, 3) here, or belongs in a 'sequential'");
  EXPECT_EQ(hintForLayer("MaxPooling2D", isLayer),
            "; write MaxPool2d, or a 'sequential' with Keras's names");
  EXPECT_EQ(hintForLayer("AveragePooling2D", isLayer),
            "; write AvgPool2d, or a 'sequential' with Keras's names");
  EXPECT_EQ(hintForLayer("BatchNormalization", isLayer),
            "; write BatchNorm2d(num_features), or a 'sequential' with Keras's names");
  EXPECT_EQ(hintForLayer("Input", isLayer), "; inputs are declared by 'forward(x: f32[N,784])'");
  EXPECT_EQ(hintForLayer("Lunch", isLayer), "");
}

TEST(Hints, calls) {
  EXPECT_EQ(hintForCall("self.conv1", isFunction), "; write conv1(...): there is no 'self'");
  EXPECT_EQ(hintForCall("F.relu", isFunction), "; write relu(...), without the module");
  EXPECT_EQ(hintForCall("torch.nn.functional.relu", isFunction),
            "; write relu(...), without the module");
  EXPECT_EQ(hintForCall("torch.lunch", isFunction), "");
  EXPECT_EQ(hintForCall("layer1.0.relu", isFunction), "");
}

TEST(Hints, values) {
  EXPECT_EQ(hintForValue("TRUE"), "; write true");
  EXPECT_EQ(hintForValue("null"), "; write None");
  EXPECT_EQ(hintForValue("self.scale"), "; write scale: there is no 'self'");
  EXPECT_EQ(hintForValue("FALSE"), "; write false");
  EXPECT_EQ(hintForValue("NULL"), "; write None");
  EXPECT_EQ(hintForValue("x"), "");
}

TEST(Hints, dtypes) {
  EXPECT_EQ(hintForDtype("float32"), "; write f32");
  EXPECT_EQ(hintForDtype("torch.long"), "; write i64");
  EXPECT_EQ(hintForDtype("tf.uint8"), "; write u8");
  EXPECT_EQ(hintForDtype("half"), "; write f16");
  EXPECT_EQ(hintForDtype("double"), "; write f64");
  EXPECT_EQ(hintForDtype("bfloat16"), "; write bf16");
  EXPECT_EQ(hintForDtype("int"), "; write i32");
  EXPECT_EQ(hintForDtype("short"), "; write i16");
  EXPECT_EQ(hintForDtype("char"), "; write i8");
  EXPECT_EQ(hintForDtype("boolean"), "; write bool");
  EXPECT_EQ(hintForDtype("complex64"), "");
}

TEST(Hints, starts) {
  EXPECT_EQ(hintForStart("//"), "; a comment begins with '#'");
  EXPECT_EQ(hintForStart("self.fc"), "; write 'fc', without 'self.'");
  EXPECT_EQ(hintForStart("class"), "; a class of layers is 'model Name { ... }', or 'block "
                                   "Name(...) { ... }' where others use it");
  EXPECT_EQ(hintForStart("/"), "; a comment begins with '#'");
  EXPECT_EQ(hintForStart("/*"), "; a comment begins with '#'");
  EXPECT_EQ(hintForStart("def"),
            "; write 'forward(x: f32[...]) -> (y: f32[...]) { ... }', without 'def' and 'self'");
  EXPECT_EQ(hintForStart("import"),
            "; nothing is imported but other models' blocks: include \"blocks.dl\"");
  EXPECT_EQ(hintForStart("from"),
            "; nothing is imported but other models' blocks: include \"blocks.dl\"");
  EXPECT_EQ(hintForStart("super"), "; layers are declared without a constructor");
  EXPECT_EQ(hintForStart("print"), "; 'dlc inspect' shows the shapes of all layers");
  EXPECT_EQ(hintForStart("with"),
            "; there are no contexts; a dtype is chosen by '@f16' after a layer or statement");
  EXPECT_EQ(hintForStart("lambda"), "; this is no part of the language");
  EXPECT_EQ(hintForStart("assert"), "; this is no part of the language");
  EXPECT_EQ(hintForStart("let"), "; a value is bound by 'x = ...' alone");
  EXPECT_EQ(hintForStart("var"), "; a value is bound by 'x = ...' alone");
  EXPECT_EQ(hintForStart("fn"), "; write 'forward(x: f32[...]) -> (y: f32[...]) { ... }'");
  EXPECT_EQ(hintForStart("function"), "; write 'forward(x: f32[...]) -> (y: f32[...]) { ... }'");
  EXPECT_EQ(hintForStart("conv1"), "");
}

} // namespace
