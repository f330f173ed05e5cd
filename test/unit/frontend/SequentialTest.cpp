//===- SequentialTest.cpp - Sequential models and the errors about them -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

namespace dlc::frontend {

namespace {

class Sequential : public Frontend {
protected:
  /// Of a model with this input and these lines of layers.
  std::string check(StringRef layers, StringRef input = "x: f32[2,7,8,4] layout NHWC",
                    StringRef output = "") {
    return import(("dl 1\nsequential S(" + input + ")" + output + " {\n" + layers + "\n}\n").str(),
                  {{}, true});
  }
};

TEST_F(Sequential, weightsHaveKerasNamesAndShapes) {
  std::string text =
      check("Conv2D(3, 3)\nConv2D(5, 1, use_bias=false)\nFlatten()\nhead: Dense(10)");
  for (StringRef weight : {"dl.weight \"conv2d.kernel\" : tensor<3x3x4x3xf32>",
                           "dl.weight \"conv2d.bias\" : tensor<3xf32>",
                           "dl.weight \"conv2d_1.kernel\" : tensor<1x1x3x5xf32>",
                           "dl.weight \"head.kernel\" : tensor<150x10xf32>", "dl.name = \"head\""})
    EXPECT_NE(text.find(weight), std::string::npos) << weight.str() << "\n" << text;
  EXPECT_EQ(text.find("conv2d_1.bias"), std::string::npos);
}

TEST_F(Sequential, layoutErrors) {
  EXPECT_EQ(check("Flatten()", "x: f32[2,7,8,4]"),
            "2:14: error: input 'x' has 4 dims; say where its channels are, as in 'layout NHWC' "
            "(Keras's default) or 'layout NCHW'\n");
  EXPECT_EQ(check("Flatten()", "x: f32[2,7,8,4] layout HWNC"),
            "2:37: error: unknown layout 'HWNC'; expected NHWC or NCHW (NWC or NCW of 3 dims)\n");
  EXPECT_EQ(check("Flatten()", "x: f32[2,7,8] layout NHWC"),
            "2:35: error: layout NHWC is for 4 dims; input 'x' has 3\n");
}

TEST_F(Sequential, layerErrors) {
  EXPECT_EQ(check("Linear(4, 2)"), "3:1: error: 'Linear' is a layer of PyTorch; a sequential model "
                                   "takes Keras's, such as Dense\n");
  EXPECT_EQ(check("Dens(4)"), "3:1: error: unknown layer 'Dens'; did you mean 'Dense'?\n");
  EXPECT_EQ(check("Quux(4)"),
            "3:1: error: unknown layer 'Quux'; expected one of Keras, such as Dense\n");
  EXPECT_EQ(check("a: Flatten()\na: Dense(2)"),
            "4:1: error: layer 'a' has been declared before; choose another name\n"
            "3:1: note: the first declaration\n");
  EXPECT_EQ(check("Dense(0)"), "3:7: error: units is 0; expected at least 1\n");
  EXPECT_EQ(check("Dense(4, activation=rellu)"),
            "3:1: error: unknown activation 'rellu'; did you mean 'relu'?\n");
  EXPECT_EQ(check("Flatten()\nConv2D(3, 3)"),
            "4:1: error: 'Conv2D' takes a tensor of 4 dims, got f32[2,224]\n");
  EXPECT_EQ(check("Conv2D(3, 3, padding=\"full\")"),
            "3:1: error: padding is 'full'; expected \"valid\" or \"same\"\n");
  EXPECT_EQ(check("Conv2D(3, 3, groups=2)"),
            "3:1: error: 'Conv2D' has 4 channels and 3 filters; expected multiples of groups, "
            "which is 2\n");
  EXPECT_EQ(
      check("BatchNormalization(axis=1)"),
      "3:1: error: 'BatchNormalization' is supported with axis=-1 alone, got the integer 1\n");
  EXPECT_EQ(check("ReLU(threshold=0.5)"),
            "3:1: error: 'ReLU' is supported with threshold=0 alone, got the number 0.5\n");
  EXPECT_EQ(check("AveragePooling2D(2, strides=1, padding=\"same\")"),
            "3:1: error: 'AveragePooling2D' with padding=\"same\" and an even window needs strides "
            "above 1\n");
  EXPECT_EQ(check("ZeroPadding2D((1, 2, 3))"),
            "3:1: error: 'ZeroPadding2D' has padding of 3 numbers; expected one, or two for each "
            "dim\n");
  EXPECT_EQ(check("UpSampling2D(2, interpolation=\"cubic\")"),
            "3:1: error: interpolation is 'cubic'; expected \"nearest\" or \"bilinear\"\n");
  EXPECT_EQ(check("Dense(4, activation=quux)"),
            "3:1: error: unknown activation 'quux'; expected one of linear, softmax, log_softmax, "
            "leaky_relu, relu, sigmoid, tanh, softplus, softsign, elu, selu, gelu, swish, silu, "
            "mish, exponential, relu6, hard_sigmoid, hard_swish, hard_silu\n");
  EXPECT_EQ(check("Conv2DTranspose(3, 3, padding=\"full\")"),
            "3:1: error: padding is 'full'; expected \"valid\" or \"same\"\n");
  EXPECT_EQ(check("Conv1D(3, 3)"),
            "3:1: error: 'Conv1D' takes a tensor of 3 dims, got f32[2,7,8,4]\n");
  EXPECT_EQ(check("ZeroPadding1D((1, 2, 3))"),
            "3:1: error: 'ZeroPadding1D' takes a tensor of 3 dims, got f32[2,7,8,4]\n");
  EXPECT_EQ(check("Dense()"), "3:1: error: 'Dense' needs its argument 'units', an integer\n");
  EXPECT_EQ(check("Dense(4, 3)"),
            "3:10: error: argument 'activation' of 'Dense' is the integer 3; expected a string\n");
  EXPECT_EQ(check("Dense(4, units=3)"), "3:10: error: 'Dense' gets its argument 'units' twice\n");
  EXPECT_EQ(check("Conv2D(3, (3, 3, 3))"), "3:11: error: argument 'kernel_size' of 'Conv2D' is a "
                                           "list of 3; expected an integer or a list of 2\n");
  EXPECT_EQ(
      check("LayerNormalization(axis=1)"),
      "3:1: error: 'LayerNormalization' is supported with axis=-1 alone, got the integer 1\n");
  EXPECT_EQ(check("Dense(4, bias=true)"),
            "3:10: error: 'Dense' has no argument 'bias'; it takes units, activation, use_bias\n");
  EXPECT_EQ(check("ReLU(max_value=\"a\")"),
            "3:6: error: argument 'max_value' of 'ReLU' is the string 'a'; expected a number\n");
  EXPECT_EQ(
      check("Permute((2, 1))"),
      "3:1: error: 'Permute' takes each number from 1 to 3 once, for the dims after the batch\n");
  EXPECT_EQ(check("Reshape((3, 5))"),
            "3:1: error: 'reshape' of f32[2,7,8,4] has 448 elements; the new dims have 30\n");
  EXPECT_EQ(check("AveragePooling2D(2, padding=\"full\")"),
            "3:1: error: padding is 'full'; expected \"valid\" or \"same\"\n");
  EXPECT_EQ(check("MaxPooling2D(0)"), "3:14: error: pool_size is 0; expected at least 1\n");
  EXPECT_EQ(check("BatchNormalization(scale=N)"),
            "3:20: error: argument 'scale' of 'BatchNormalization' is the string 'N'; expected "
            "true or false\n");
  EXPECT_EQ(check("Dense(4) @fp8"),
            "3:10: error: unknown annotation '@fp8'; expected @f32, @f16, @bf16 or @no_fuse. A "
            "matrix product has a space after its @\n");
  EXPECT_EQ(check("Bidirectional(LSTM)"), "3:1: error: 'Bidirectional' takes an LSTM, GRU or "
                                          "SimpleRNN, as in 'Bidirectional(LSTM(64))'\n");
  EXPECT_EQ(check("Flatten()", "x: f32[2,7,9,4,3,3] layout NHWC"),
            "2:41: error: layout NHWC is for 4 dims; input 'x' has 6\n");
  auto dynamic = [&](StringRef layers, StringRef input) {
    return import(("dl 1\ndim N = 2..4\nsequential S(" + input + ") {\n" + layers + "\n}\n").str(),
                  {{}, true});
  };
  EXPECT_EQ(dynamic("Dense(2)", "x: f32[2,N]"),
            "4:1: error: 'Dense' needs a number where its input has the dim N; declare the input "
            "with one\n");
  EXPECT_EQ(dynamic("Conv2D(2, 3, strides=2, padding=\"same\")", "x: f32[1,N,8,3] layout NHWC"),
            "4:1: error: 'Conv2D' needs a number where its input has the dim N; declare the input "
            "with one\n");
  EXPECT_EQ(check(""), "2:12: error: sequential 'S' has no layers; add one, as in 'Dense(10)'\n");
}

TEST_F(Sequential, recurrentErrors) {
  auto of = [&](StringRef layers) { return check(layers, "x: f32[2,5,3]"); };
  EXPECT_EQ(of("Bidirectional(Dense(4))"),
            "3:1: error: 'Bidirectional' takes an LSTM, GRU or SimpleRNN, as in "
            "'Bidirectional(LSTM(64))'\n");
  EXPECT_EQ(of("GRU(4, reset_after=false)"),
            "3:1: error: 'GRU' is supported with reset_after=true alone, got false\n");
  EXPECT_EQ(of("LSTM(4, activation=relu)"),
            "3:1: error: 'LSTM' is supported with activation='tanh' alone, got 'relu'\n");
  EXPECT_EQ(
      of("SimpleRNN(4, activation=gelu)"),
      "3:1: error: 'SimpleRNN' is supported with activation='tanh' and 'relu' alone, got 'gelu'\n");
  EXPECT_EQ(of("Bidirectional(LSTM(4), 3)"), "3:1: error: 'Bidirectional' takes an LSTM, GRU or "
                                             "SimpleRNN, as in 'Bidirectional(LSTM(64))'\n");
  EXPECT_EQ(of("Bidirectional(LSTM(0))"), "3:20: error: units is 0; expected at least 1\n");
  EXPECT_EQ(
      of("LSTM(4, recurrent_activation=tanh)"),
      "3:1: error: 'LSTM' is supported with recurrent_activation='sigmoid' alone, got 'tanh'\n");
  EXPECT_EQ(of("Flatten()\nLSTM(4)"),
            "4:1: error: 'LSTM' takes a tensor of 3 dims, got f32[2,15]\n");
}

TEST_F(Sequential, layersTakeWhatIsNamed) {
  std::string text = check("tower: Dense(3, activation=tanh)(a)\nagain: tower(b)\n"
                           "sum: Add()(tower, again, a)\nConcatenate()(sum, again)\nhead: Dense(2)",
                           "a: f32[2,3], b: f32[2,3]", " -> (head, sum)");
  text = text.substr(0, text.find("return"));
  for (StringRef part :
       {"dl.weight \"tower.kernel\" : tensor<3x3xf32>",
        "dl.weight \"head.kernel\" : tensor<6x2xf32>", "dl.name = \"head\"", "dl.name = \"sum\""})
    EXPECT_NE(text.find(part), std::string::npos) << part.str() << "\n" << text;
  EXPECT_EQ(text.find("again."), std::string::npos)
      << "a layer that is called again has no weights of its own";
  EXPECT_EQ(StringRef(text).count("dl.weight \"tower.kernel\""), 1u);
}

TEST_F(Sequential, graphErrors) {
  StringRef two = "a: f32[2,3], b: f32[2,4]";
  EXPECT_EQ(check("Dense(2)", two),
            "3:1: error: the model has 2 inputs; say what 'Dense' takes, as in 'Dense(...)(a)'\n");
  EXPECT_EQ(check("tower: Dense(2)(a)\nDense(2)(towr)", two),
            "4:10: error: there is no input and no layer 'towr' before this one; did you mean "
            "'tower'?\n");
  EXPECT_EQ(check("Dense(2)(a, b)", two),
            "3:1: error: 'Dense' takes one tensor, got 2; join them first, as by 'Concatenate'\n");
  EXPECT_EQ(check("Add()(a)", two),
            "3:1: error: 'Add' takes two tensors or more, as in 'Add()(a, b)'\n");
  EXPECT_EQ(
      check("Dense(2)()", two),
      "3:1: error: 'Dense' takes nothing; expected the name of an input or of a layer before\n");
  EXPECT_EQ(check("tower: Dense(2)(a)\ntower(b)", two),
            "4:1: error: layer 'tower' has kernel[3,2] by its first call, and this one needs "
            "[4,2]; declare a layer of its own\n");
  EXPECT_EQ(check("tower: Dense(2)(a)\ntower(3)", two),
            "4:7: error: expected the name of an input or of a layer before, as in 'tower(x)'\n");
  EXPECT_EQ(check("tower: Dense(2)(a)\ntower(2)(a)", two),
            "4:1: error: 'tower' is a layer of this model; expected what it takes alone, as in "
            "'tower(x)'\n");
  EXPECT_EQ(check("a: Dense(2)(b)", two),
            "3:1: error: 'a' is the name of an input or of a layer before; choose another name\n");
  EXPECT_EQ(check("p: Dense(2)(a)\np: p(a)", two),
            "4:1: error: 'p' is the name of an input or of a layer before; choose another name\n");
  EXPECT_EQ(check("Subtract()(a, a, a)", two), "3:1: error: 'Subtract' takes two tensors, got 3\n");
  EXPECT_EQ(check("Multiply()(a, b)", "a: f32[2,3], b: f32[2,3,1]"),
            "3:1: error: 'Multiply' takes tensors of as many dims, got f32[2,3] and f32[2,3,1]\n");
  EXPECT_EQ(check("Concatenate(axis=2)(a, b)", two),
            "3:1: error: axis is 2; expected one of the 2 dims of f32[2,3]\n");
  EXPECT_EQ(check("Dot(axes=1)(a, a, b)", two), "3:1: error: 'Dot' takes two tensors, got 3\n");
  EXPECT_EQ(check("Dot(1)(a, b)", two),
            "3:1: error: 'Dot' sums over a dim of 3 and one of 4; expected equal ones\n");
  EXPECT_EQ(check("Dot(axes=(1, -3))(a, b)", two),
            "3:1: error: axes has -3 for f32[2,4]; expected one of its dims after the batch\n");
  EXPECT_EQ(check("Dot(axes=0)(a, a)", two),
            "3:1: error: axes has 0 for f32[2,3]; expected one of its dims after the batch\n");
  EXPECT_EQ(check("Flatten()(a)", "a: f32[2,3], a: f32[2,3]"),
            "2:27: error: two inputs have the name 'a'; names must differ\n");
  EXPECT_EQ(check("p: Dense(2)(a)", two, " -> (p, q)"),
            "2:47: error: output 'q' is the name of no layer; where there are several outputs, "
            "each has the name of the layer that gives it\n");
}

TEST_F(Sequential, outputErrors) {
  EXPECT_EQ(check("Flatten()", "x: f32[2,3,4]", " -> (y: f32[2,13])"),
            "2:33: error: output 'y' is f32[2,12], declared as f32[2,13]; change one of them\n");
}

} // namespace

} // namespace dlc::frontend
