//===- LayerTest.cpp - Layers: what they refuse, and paddings by name ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

TEST_F(Frontend, layerErrors) {
  auto check = [&](StringRef layer, StringRef call = "a(x)") {
    return import(("dl 1\nmodel M {\n" + layer +
                   "\nforward(x: f32[2,4,8,8]) -> (y: f32[2]) {\ny = " + call + "\n}\n}\n")
                      .str(),
                  {{}, true});
  };
  EXPECT_EQ(check("a: Conv2d(4, 2)"),
            "3:4: error: 'Conv2d' needs its argument 'kernel_size', an integer or a list of 2\n");
  EXPECT_EQ(
      check("a: Foo(4)"),
      "3:4: error: unknown layer 'Foo'; expected a block, or one of torch.nn, such as Linear\n");
  EXPECT_EQ(check("a: Conv2d(4, 2, 3, strid=2)"),
            "3:20: error: 'Conv2d' has no argument 'strid'; did you mean 'stride'?\n");
  EXPECT_EQ(check("a: Conv2d(4, 0, 3)"), "3:14: error: out_channels is 0; expected at least 1\n");
  EXPECT_EQ(check("a: Conv2d(4, 2, 3, groups=0)"),
            "3:27: error: groups is 0; expected at least 1\n");
  EXPECT_EQ(check("a: Conv2d(4, 2, 3, padding_mode=\"reflect\")"),
            "3:33: error: 'Conv2d' is supported with padding_mode='zeros' alone, got the string "
            "'reflect'\n");
  EXPECT_EQ(
      check("a: BatchNorm2d(4, track_running_stats=false)"),
      "3:39: error: 'BatchNorm2d' is supported with track_running_stats=True alone, got false\n");
  EXPECT_EQ(check("a: Conv2d(5, 2, 3)"), "5:5: error: 'conv2d' has 4 input channels; its weight "
                                         "f32[2,5,3,3] with groups = 1 takes 5\n");
  EXPECT_EQ(check("a: ReLU()\na: GELU()", "x"),
            "4:1: error: layer 'a' has been declared before; choose another name\n3:1: note: the "
            "first declaration\n"
            "6:1: error: output 'y' is f32[2,4,8,8], declared as f32[2]; change one of them\n5:30: "
            "note: declared here\n");
  EXPECT_EQ(check("a: ReLU()", "a(x, x)"),
            "5:10: error: 'a' takes 1 argument, got more: a tensor f32[2,4,8,8]\n"
            "3:1: note: declared here\n");
  EXPECT_EQ(check("a: ReLU()", "a(3)"),
            "5:7: error: argument 'input' of 'a' is the integer 3; expected a tensor\n"
            "3:1: note: declared here\n");
  EXPECT_EQ(check("a: ReLU()", "a()"),
            "5:5: error: 'a' needs its argument 'input', a tensor\n3:1: note: declared here\n");
  EXPECT_EQ(check("a: BatchNorm1d(4)"), "5:5: error: 'BatchNorm1d' takes a tensor of 2 or 3 dims, "
                                        "got f32[2,4,8,8]\n3:1: note: declared here\n");
  EXPECT_EQ(check("a: Sigmoid(dim=1)"),
            "3:12: error: 'Sigmoid' has no argument 'dim'; it takes none\n");
  EXPECT_EQ(check("a: LayerNorm(\"a\")"),
            "3:14: error: argument 'normalized_shape' of 'LayerNorm' is the string 'a'; expected "
            "an integer or a list of integers\n");
  EXPECT_EQ(check("a: LayerNorm((8, 1.5))"),
            "3:14: error: argument 'normalized_shape' of 'LayerNorm' holds the number 1.5; "
            "expected an integer or a list of integers\n");
  EXPECT_EQ(
      check("a: Parameter(2)"),
      "5:5: error: 'a' is a weight, which cannot be called; use it as a value, as in x + a\n");
  EXPECT_EQ(check("l[i]: ReLU() for i in 0..2", "l.5(x)"),
            "5:5: error: there is no layer 'l.5'; 'l' has 'l.0' to 'l.1'\n");
  EXPECT_EQ(check("l[i]: ReLU() for i in 0..2", "l[5](x)"),
            "5:7: error: index 5 lies outside a list of 2\n");
  EXPECT_EQ(check("l[i]: ReLU() for i in 0..2", "l(x)"),
            "5:5: error: 'l' is a list of 2 layers; call one of them, as in l[0](x)\n");
  EXPECT_EQ(check("a: ReLU()", "b.7(x)"),
            "5:5: error: unknown function or layer 'b.7'; expected a layer declared above "
            "'forward', or a function that 'dlc list ops' shows\n");
  EXPECT_EQ(check("a: LSTM(8, 4, proj_size=4)"),
            "3:25: error: proj_size is 4; expected 0, or a size below hidden_size, which is 4\n");
  EXPECT_EQ(check("a: LSTM(8, 4, proj_size=-1)"),
            "3:25: error: proj_size is -1; expected 0, or a size below hidden_size, which is 4\n");
  EXPECT_EQ(check("a: LSTM(8, 0)"), "3:12: error: hidden_size is 0; expected at least 1\n");
  EXPECT_EQ(check("a: RNN(8, 4, nonlinearity=\"relu6\")"),
            "3:27: error: nonlinearity is 'relu6'; expected 'tanh' or 'relu'\n");
  EXPECT_EQ(check("a: RNN(8, 4, nonlinearity=3)"),
            "3:14: error: argument 'nonlinearity' of 'RNN' is the integer 3; expected a string\n");
  EXPECT_EQ(check("a: MultiheadAttention(8, 3)"),
            "3:23: error: embed_dim is 8; expected a multiple of num_heads, which is 3\n");
  EXPECT_EQ(
      check("a: MultiheadAttention(8, 2, add_bias_kv=true)"),
      "3:41: error: 'MultiheadAttention' is supported with add_bias_kv=False alone, got true\n");
  EXPECT_EQ(
      check("a: MultiheadAttention(8, 2, add_zero_attn=true)"),
      "3:43: error: 'MultiheadAttention' is supported with add_zero_attn=False alone, got true\n");
  EXPECT_EQ(check("a: TransformerEncoderLayer(8, 2, activation=\"tanh\")"),
            "3:45: error: activation is 'tanh'; expected 'relu' or 'gelu'\n");
  EXPECT_EQ(check("a: TransformerEncoderLayer(8, 3)"),
            "3:28: error: d_model is 8; expected a multiple of nhead, which is 3\n");
  EXPECT_EQ(check("a: TransformerEncoderLayer(8, 2)"),
            "5:5: error: 'TransformerEncoderLayer' takes a tensor of 3 dims, got "
            "f32[2,4,8,8]\n3:1: note: declared here\n");
  EXPECT_EQ(check("a: Embedding(4, 4, max_norm=1.0)"),
            "3:29: error: 'Embedding' is supported with max_norm=None alone, got the number 1\n");
  EXPECT_EQ(check("a: GroupNorm(3, 4)"),
            "3:17: error: num_channels is 4; expected a multiple of num_groups, which is 3\n");
  EXPECT_EQ(check("a: Linear(4)"),
            "3:4: error: 'Linear' needs its argument 'out_features', an integer\n");
  EXPECT_EQ(check("a: Linear(4, 4, True, 3)"),
            "3:23: error: 'Linear' takes 3 arguments, got more: the integer 3\n");
  EXPECT_EQ(check("a: Linear(4294967296, 4294967296)"),
            "3:11: error: argument 'in_features' of 'Linear' is the integer 4294967296; expected "
            "an integer between -2^31 and 2^31 - 1\n");
  EXPECT_EQ(check("a: Conv2d(4, 2, 3, padding=\"sane\")"),
            "3:20: error: argument 'padding' of 'Conv2d' is the string 'sane'; expected an integer "
            "or a list of 2, or \"same\" or \"valid\"\n");
  EXPECT_EQ(check("a: Conv2d(4, 6, 3, groups=4)"),
            "3:14: error: out_channels is 6; expected a multiple of groups, which is 4\n");
  EXPECT_EQ(check("a: Conv2d(4, 6, (3, -1))"),
            "3:17: error: kernel_size is -1; expected at least 1\n");
  EXPECT_EQ(check("a: ReLU()", "a"),
            "5:5: error: 'a' is a layer, not a value; call it, as in a(x)\n");
  EXPECT_EQ(check("conv1: ReLU()", "conv_1(x)"),
            "5:5: error: unknown function or layer 'conv_1'; did you mean 'conv1'?\n");
}

TEST_F(Frontend, samePaddingIsAsymmetricForEvenWindows) {
  auto check = [&](StringRef layer) {
    std::string text =
        import(("dl 1\nmodel M {\na: " + layer +
                "\nforward(x: f32[2,4,8,8]) -> (y: f32[2,2,8,8]) {\ny = a(x)\n}\n}\n")
                   .str(),
               {{}, true});
    size_t at = text.find("padding = ");
    return at == std::string::npos ? text : text.substr(at, text.find('>', at) + 1 - at);
  };
  EXPECT_EQ(check("Conv2d(4, 2, 3, padding=\"same\")"), "padding = array<i64: 1, 1>");
  EXPECT_EQ(check("Conv2d(4, 2, (2, 5), padding='same', dilation=2)"),
            "padding = array<i64: 1, 4>");
  EXPECT_EQ(check("Conv2d(4, 2, 4, padding='same')"), "padding = array<i64: 1, 1, 2, 2>");
  EXPECT_NE(check("Conv2d(4, 2, 1, padding='valid')").find("-> tensor<2x2x8x8xf32>"),
            std::string::npos);
  EXPECT_EQ(check("Conv2d(4, 2, 3, stride=2, padding='same')"),
            "5:5: error: padding=\"same\" needs stride 1, got 2; write the padding in numbers\n");
}

} // namespace
