//===- HintsTest.cpp - What PyTorch's and Keras's ways of writing are called here -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/dl/Hints.h"

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
            "; Keras's Dense(10) is Linear(in_features, 10) here, or stands in a 'sequential'");
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
  EXPECT_EQ(hintForValue("x"), "");
}

TEST(Hints, dtypes) {
  EXPECT_EQ(hintForDtype("float32"), "; write f32");
  EXPECT_EQ(hintForDtype("torch.long"), "; write i64");
  EXPECT_EQ(hintForDtype("tf.uint8"), "; write u8");
  EXPECT_EQ(hintForDtype("complex64"), "");
}

TEST(Hints, starts) {
  EXPECT_EQ(hintForStart("//"), "; a comment begins with '#'");
  EXPECT_EQ(hintForStart("self.fc"), "; write 'fc', without 'self.'");
  EXPECT_EQ(hintForStart("class"), "; a class of layers is 'model Name { ... }', or 'block "
                                   "Name(...) { ... }' where others use it");
  EXPECT_EQ(hintForStart("conv1"), "");
}

} // namespace
