//===- FrontendTest.cpp - Models to dl modules: what comes out, and every refusal ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

TEST_F(Frontend, mapsCallsToOps) {
  EXPECT_EQ(body("y = relu(x)", "f32[N,3,8,8]"),
            "dl.relu %arg0 : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>) -> tensor<?x3x8x8xf32, "
            "#dl.t<[s0, 3, 8, 8]>>\n");
  EXPECT_EQ(body("y = max_pool2d(_x = x, kernel_size=2)", "f32[N,3,4,4]"),
            "5:16: error: 'max_pool2d' has no argument '_x'; did you mean 'x'?\n");
  EXPECT_EQ(
      body("y = max_pool2d(x, 2, ceil_mode=true)", "f32[N,3,4,4]"),
      "dl.max_pool2d %arg0 {ceil_mode = true, kernel_size = array<i64: 2, 2>} : "
      "(tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>) -> tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>\n");
  EXPECT_EQ(body("y = sum(_i)", "i64[]"), "dl.sum %arg2 : (tensor<4xi64>) -> tensor<i64>\n");
  EXPECT_EQ(body("y = max(_i)", "i64[]"), "dl.amax %arg2 : (tensor<4xi64>) -> tensor<i64>\n");
  EXPECT_EQ(body("y = max(_i, _i)", "i64[4]"),
            "dl.maximum %arg2, %arg2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>\n");
  EXPECT_EQ(body("y = cast(_h, f32)", "f32[4]"),
            "dl.cast %arg3 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>\n");
  EXPECT_EQ(body("y = reshape(_i, 2, -1)", "i64[2,2]"),
            "dl.reshape %arg2 {shape = affine_map<() -> (2, -1)>} : (tensor<4xi64>) -> "
            "tensor<2x2xi64>\n");
  EXPECT_EQ(body("y = reshape(x, (N*3, 64))", "f32[3*N,64]"),
            "dl.reshape %arg0 {shape = affine_map<()[s0] -> (s0 * 3, 64)>} : (tensor<?x3x8x8xf32, "
            "#dl.t<[s0, 3, 8, 8]>>)"
            " -> tensor<?x64xf32, #dl.t<[s0 * 3, 64]>>\n");
  EXPECT_EQ(body("y = permute(x, 0, 2, 3, 1)", "f32[N,8,8,3]"),
            "dl.permute %arg0 {dims = array<i64: 0, 2, 3, 1>} : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, "
            "8, 8]>>) -> "
            "tensor<?x8x8x3xf32, #dl.t<[s0, 8, 8, 3]>>\n");
  EXPECT_EQ(body("y = cat(_h, _h)", "f16[8]"),
            "dl.cat %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>\n");
  EXPECT_EQ(body("y = cat((_h, _h), dim=0)", "f16[8]"),
            "dl.cat %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<8xf16>\n");
}

TEST_F(Frontend, broadcastsAndPromotesAsPyTorch) {
  EXPECT_EQ(body("y = _i * 2", "i64[4]"),
            "dl.full 2 : i64 -> tensor<4xi64>\n"
            "dl.mul %arg2, %0 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>\n");
  EXPECT_EQ(body("y = 0.5 - _h", "f16[4]"),
            "dl.full 5.000000e-01 : f32 -> tensor<4xf16>\n"
            "dl.sub %0, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = _i + 0.5", "f32[4]"),
            "dl.cast %arg2 {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>\n"
            "dl.full 5.000000e-01 : f32 -> tensor<4xf32>\n"
            "dl.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n");
  EXPECT_EQ(body("y = _i + _h", "f16[4]"),
            "dl.cast %arg2 {dtype = f16} : (tensor<4xi64>) -> tensor<4xf16>\n"
            "dl.add %0, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = _b + _i", "i64[4]"),
            "dl.cast %arg4 {dtype = i64} : (tensor<4xi1>) -> tensor<4xi64>\n"
            "dl.add %0, %arg2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>\n");
  EXPECT_EQ(body("y = _i / _i", "f32[4]"),
            "dl.cast %arg2 {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>\n"
            "dl.cast %arg2 {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>\n"
            "dl.div %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n");
  EXPECT_EQ(body("y = exp(_i)", "f32[4]"),
            "dl.cast %arg2 {dtype = f32} : (tensor<4xi64>) -> tensor<4xf32>\n"
            "dl.exp %0 : (tensor<4xf32>) -> tensor<4xf32>\n");
  // A tensor without dims does not widen one with dims.
  EXPECT_EQ(body("y = _h + sum(cast(_h, f32))", "f16[4]"),
            "dl.cast %arg3 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>\n"
            "dl.sum %0 : (tensor<4xf32>) -> tensor<f32>\n"
            "dl.cast %1 {dtype = f16} : (tensor<f32>) -> tensor<f16>\n"
            "dl.broadcast %2 : (tensor<f16>) -> tensor<4xf16>\n"
            "dl.add %arg3, %3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(
      body("y = _z[:, None] * _z", "f32[N,N]"), // N x 1 with N
      "dl.reshape %arg1 {shape = affine_map<()[s0] -> (s0, 1)>} : (tensor<?xf32, #dl.t<[s0]>>) -> "
      "tensor<?x1xf32, #dl.t<[s0, 1]>>\n"
      "dl.broadcast %0 : (tensor<?x1xf32, #dl.t<[s0, 1]>>) -> tensor<?x?xf32, #dl.t<[s0, s0]>>\n"
      "dl.broadcast %arg1 : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?x?xf32, #dl.t<[s0, s0]>>\n"
      "dl.mul %1, %2 : (tensor<?x?xf32, #dl.t<[s0, s0]>>, tensor<?x?xf32, #dl.t<[s0, s0]>>) -> "
      "tensor<?x?xf32, #dl.t<[s0, s0]>>\n");
  EXPECT_EQ(body("y = -_i", "i64[4]"), "dl.neg %arg2 : (tensor<4xi64>) -> tensor<4xi64>\n");
}

TEST_F(Frontend, refusesWhatCannotCombine) {
  EXPECT_EQ(body("y = x + _z", "f32[N]"),
            "5:7: error: cannot broadcast f32[N,3,8,8] with f32[N] in 'add': dims 8 and N differ; "
            "expected equal dims, or 1\n");
  EXPECT_EQ(body("y = cast(_i, i8) + 300", "i8[4]"),
            "5:18: error: the number 300 does not fit in the dtype of i8[4]; cast the tensor to a "
            "wider one\n");
  EXPECT_EQ(body("y = _z + \"a\"", "f32[N]"),
            "5:8: error: operator '+' takes tensors and numbers, got the string 'a'\n");
  EXPECT_EQ(body("y = _h + 7 / 2", "f16[4]"),
            "5:12: error: 7 / 2 is not an integer; write 7.0 / 2 where a fraction is meant\n");
  EXPECT_EQ(body("y = _h + 9223372036854775807 * 2", "f16[4]"),
            "5:30: error: the result of 9223372036854775807 * 2 does not fit in 64 bits\n");
  EXPECT_EQ(body("y = relu(1)", "f32[]"), "5:5: error: 'relu' needs a tensor, got numbers alone\n");
  EXPECT_EQ(body("y = matmul(x, 1)", "f32[]"),
            "5:5: error: 'matmul' needs tensors, got the integer 1\n");
}

TEST_F(Frontend, slicesAndIndices) {
  EXPECT_EQ(body("y = x[:, :, ::2, 1:-1]", "f32[N,3,4,6]"),
            "dl.slice %arg0 {dim = 2 : i64, step = 2 : i64} : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, "
            "8, 8]>>) -> "
            "tensor<?x3x4x8xf32, #dl.t<[s0, 3, 4, 8]>>\n"
            "dl.slice %0 {dim = 3 : i64, end = -1 : i64, start = 1 : i64} : (tensor<?x3x4x8xf32, "
            "#dl.t<[s0, 3, 4, 8]>>) -> "
            "tensor<?x3x4x6xf32, #dl.t<[s0, 3, 4, 6]>>\n");
  EXPECT_EQ(body("y = _i[-1]", "i64[]"),
            "dl.slice %arg2 {start = -1 : i64} : (tensor<4xi64>) -> tensor<1xi64>\n"
            "dl.reshape %0 {shape = affine_map<() -> ()>} : (tensor<1xi64>) -> tensor<i64>\n");
  EXPECT_EQ(body("y = _i[4]", "i64[]"), "5:8: error: index 4 lies outside a dim of 4\n");
  EXPECT_EQ(body("y = _z[2]", "f32[]"),
            "5:8: error: index 2 lies outside a dim of N, which may be 2; raise the smallest value "
            "of N to 3: dim N = 3..16\n");
  EXPECT_EQ(body("y = _z[0, 0]", "f32[]"),
            "5:11: error: too many indices for f32[N]; expected at most 1\n");
  EXPECT_EQ(body("y = _z[1.5]", "f32[]"),
            "5:8: error: an index is the number 1.5; expected an integer, a slice or None\n");
  EXPECT_EQ(body("y = _z[x:]", "f32[]"),
            "5:8: error: the start of a slice is a tensor f32[N,3,8,8]; expected an integer\n");
  EXPECT_EQ(body("y = _i[::-1]", "i64[4]"),
            "5:8: error: 'slice' has step -1; expected 1 or more\n");
  EXPECT_EQ(body("y = N[0]", "i64[4]"),
            "5:6: error: only tensors and lists can be indexed, got the dim N\n");
}

TEST_F(Frontend, argumentErrors) {
  EXPECT_EQ(body("y = softmax(x)", "f32[N]"),
            "5:5: error: 'softmax' needs its argument 'dim', an integer\n");
  EXPECT_EQ(body("y = softmax(x, dmi=1)", "f32[N]"),
            "5:16: error: 'softmax' has no argument 'dmi'; did you mean 'dim'?\n");
  EXPECT_EQ(body("y = softmax(x, temperature=1)", "f32[N]"),
            "5:16: error: 'softmax' has no argument 'temperature'; it takes x, dim, dtype\n");
  EXPECT_EQ(body("y = softmax(x, 1, dim=1)", "f32[N]"),
            "5:19: error: 'softmax' gets its argument 'dim' twice\n");
  EXPECT_EQ(body("y = exp(x, 2)", "f32[N]"),
            "5:12: error: 'exp' takes 1 argument, got more: the integer 2\n");
  EXPECT_EQ(body("y = softmax(x, 1.5)", "f32[N]"),
            "5:16: error: argument 'dim' of 'softmax' is the number 1.5; expected an integer\n");
  EXPECT_EQ(body("y = max_pool2d(x, (1, 2, 3))", "f32[N]"),
            "5:19: error: argument 'kernel_size' of 'max_pool2d' is a list of 3; expected an "
            "integer or a list of 2\n");
  EXPECT_EQ(body("y = max_pool2d(x, 2, ceil_mode=1)", "f32[N]"),
            "5:22: error: argument 'ceil_mode' of 'max_pool2d' is the integer 1; expected true or "
            "false\n");
  EXPECT_EQ(
      body("y = cat(1)", "f32[N]"),
      "5:9: error: argument 'tensors' of 'cat' is the integer 1; expected a list of tensors\n");
  EXPECT_EQ(
      body("y = cast(x, 3)", "f32[N]"),
      "5:13: error: argument 'dtype' of 'cast' is the integer 3; expected a dtype such as f32\n");
  EXPECT_EQ(body("y = reshape(x, (1.5,))", "f32[N]"),
            "5:16: error: argument 'shape' of 'reshape' holds the number 1.5; expected a list of "
            "integers or dims\n");
  EXPECT_EQ(body("y = dropout(x, p=\"a\")", "f32[N]"),
            "5:16: error: argument 'p' of 'dropout' is the string 'a'; expected a number\n");
  EXPECT_EQ(body("y = gelu(x, 1)", "f32[N]"),
            "5:13: error: argument 'approximate' of 'gelu' is the integer 1; expected a string\n");
}

TEST_F(Frontend, numbersAreLimited) {
  EXPECT_EQ(body("y = max_pool2d(x, 9223372036854775807)", "f32[N]"),
            "5:19: error: argument 'kernel_size' of 'max_pool2d' is the integer "
            "9223372036854775807; expected an integer or a "
            "list of 2 between -2^31 and 2^31 - 1\n");
  EXPECT_EQ(body("y = _i[-9223372036854775807:9223372036854775807]", "i64[4]"),
            "dl.slice %arg2 {end = 9223372036854775807 : i64, start = -9223372036854775807 : i64} "
            ": (tensor<4xi64>) -> "
            "tensor<4xi64>\n");
  EXPECT_EQ(body("y = _i[-9223372036854775807 - 1]", "i64[]"),
            "5:8: error: index -9223372036854775808 lies outside a dim of 4\n");
  EXPECT_EQ(body("y = softmax(x, 9)", "f32[N]"),
            "5:5: error: 'softmax' has dim 9; expected -4 to 3 for a tensor of rank 4\n");
  EXPECT_EQ(body("y = reshape(_i, 4294967296, 4)", "i64[4]"),
            "5:5: error: 'reshape' of i64[4] has 4 elements; the new dims have 17179869184\n");
  EXPECT_EQ(
      body("y = reshape(_i, 9223372036854775807, 9223372036854775807)", "i64[4]").substr(0, 11),
      "5:5: error:");
  EXPECT_EQ(body("y = pad(_i, 2147483647, 2147483647)\nz = cat(y, y, y)", "i64[4]"),
            "5:1: error: output 'y' is i64[4294967298], declared as i64[4]; change one of "
            "them\n4:79: note: declared here\n");
}

TEST_F(Frontend, callErrors) {
  EXPECT_EQ(body("y = where(_i, x, x)", "f32[N]"),
            "5:5: error: cannot broadcast i64[4] with f32[N,3,8,8] in 'where': dims 4 and 8 "
            "differ; expected equal dims, or 1\n");
  EXPECT_EQ(body("y = where(_i, _i, _i)", "f32[N]"),
            "5:5: error: 'where' needs a bool tensor as its condition, got a tensor i64[4]; "
            "compare it, as in x != 0\n");
  EXPECT_EQ(body("y = abs(x, 1)", "f32[N]"),
            "5:12: error: 'abs' takes 1 argument, got more: the integer 1\n");
  EXPECT_EQ(body("y = len(x, axis=1)", "f32[N]"),
            "5:5: error: 'len' takes a list or a string known at compile time, got a tensor "
            "f32[N,3,8,8] and axis = the integer 1\n");
  EXPECT_EQ(body("y = avg_pool2d(x, kernel_size=(4294967296, 2))", "f32[N]"),
            "5:19: error: argument 'kernel_size' of 'avg_pool2d' holds the integer 4294967296; "
            "expected an integer or a list of 2 between -2^31 and 2^31 - 1\n");
  EXPECT_EQ(body("y = where(3, x, x)", "f32[N]"),
            "5:5: error: 'where' needs a bool tensor as its condition, got the integer 3; compare "
            "it, as in x != 0\n");
  EXPECT_EQ(body("y = max_pool2d(x, 2, padding=\"same\")", "f32[N]"),
            "5:5: error: padding=\"same\" is for convolutions; write the padding in numbers\n");
  EXPECT_EQ(body("y = conv2d(x, x, padding=\"same\", dilation=-1)", "f32[N]"),
            "5:5: error: padding=\"same\" needs a static window and a positive dilation; write the "
            "padding in numbers\n");
  EXPECT_EQ(body("y = conv2d(x, x, padding=\"same\", stride=2)", "f32[N]"),
            "5:5: error: padding=\"same\" needs stride 1, got 2; write the padding in numbers\n");
  EXPECT_EQ(body("y = x[_i, 0]", "f32[N]"),
            "5:7: error: a tensor stands alone in an index, as in x[index]; of other dims, "
            "index_select takes elements\n");
  EXPECT_EQ(body("y = x[..., ...]", "f32[N]"),
            "5:12: error: a second '...'; expected at most one\n");
  EXPECT_EQ(body("y = _z[:x]", "f32[N]"),
            "5:9: error: the end of a slice is a tensor f32[N,3,8,8]; expected an integer\n");
  EXPECT_EQ(body("y = _z[::x]", "f32[N]"),
            "5:10: error: the step of a slice is a tensor f32[N,3,8,8]; expected an integer\n");
  EXPECT_EQ(body("y = len(x)", "f32[N]"), "5:5: error: 'len' takes a list or a string known at "
                                          "compile time, got a tensor f32[N,3,8,8]\n");
  EXPECT_EQ(body("y = len()", "f32[N]"),
            "5:5: error: 'len' takes a list or a string known at compile time, got nothing\n");
  EXPECT_EQ(body("y = size()", "f32[N]"), "5:5: error: 'size' takes a tensor and the number of a "
                                          "dim, as in size(x, 1), got no tensor\n");
  EXPECT_EQ(body("y = size(3)", "f32[N]"), "5:5: error: 'size' takes a tensor and the number of a "
                                           "dim, as in size(x, 1), got the integer 3\n");
  EXPECT_EQ(body("y = size(x, 1, 2)", "f32[N]"),
            "5:16: error: 'size' takes 2 arguments, got more: the integer 2\n");
  EXPECT_EQ(body("p = (x, x)\ny = p[0](x)", "f32[N]"),
            "6:5: error: only functions and layers can be called, got a tensor f32[N,3,8,8]\n");
  EXPECT_EQ(body("y = sigmoid(x, dim=1)", "f32[N]"),
            "5:16: error: 'sigmoid' has no argument 'dim'; it takes x\n");
  EXPECT_EQ(body("y = x.T", "f32[N]"),
            "5:5: error: 'x.T' has no meaning: a tensor f32[N,3,8,8] is no "
            "matrix; its last two dims are exchanged by .mT\n");
  EXPECT_EQ(body("y = x if x else x", "f32[N]"),
            "5:10: error: a condition is a tensor f32[N,3,8,8]; expected one bool, as any(x) or "
            "all(x) give it. Use where(condition, a, b) to choose among elements\n");
  EXPECT_EQ(
      body("y = cat(())", "f32[N]"),
      "5:9: error: argument 'tensors' of 'cat' is a list of 0; expected at least one tensor\n");
  EXPECT_EQ(body("y = reshape(_i, \"a\")", "f32[N]"),
            "5:17: error: argument 'shape' of 'reshape' is the string 'a'; expected a list of "
            "integers or dims\n");
  EXPECT_EQ(body("y = permute(x, \"a\")", "f32[N]"),
            "5:16: error: argument 'dims' of 'permute' is the string 'a'; expected an integer or a "
            "list of integers\n");
  EXPECT_EQ(body("y = bitwise_and(x, x)", "f32[N]"),
            "5:5: error: argument 'x' of 'bitwise_and' is a tensor f32[N,3,8,8]; expected i8, i16, "
            "i32, i64, u8, u16, u32, u64 or bool\n");
  EXPECT_EQ(body("y = x & x", "f32[N]"), "5:7: error: argument 'x' of 'bitwise_and' is a tensor "
                                         "f32[N,3,8,8]; expected i8, i16, i32, i64, u8, "
                                         "u16, u32, u64 or bool\n");
  EXPECT_EQ(
      body("y = not x", "f32[N]"),
      "5:5: error: operator 'not' takes values known at compile time, got a tensor f32[N,3,8,8]\n");
  EXPECT_EQ(body("y = ~x", "f32[N]"), "5:5: error: argument 'x' of 'bitwise_not' is a tensor "
                                      "f32[N,3,8,8]; expected i8, i16, i32, i64, u8, "
                                      "u16, u32, u64 or bool\n");
  EXPECT_EQ(body("y = layer_norm(x, (8,), None, _z)", "f32[N]"),
            "5:5: error: 'layer_norm' takes its argument 'bias' only together with 'weight'\n");
  EXPECT_EQ(body("y = linear(_z, None, _z)", "f32[N]"),
            "5:16: error: argument 'weight' of 'linear' is None; expected a tensor\n");
  EXPECT_EQ(body("y = batch_norm(x, _z, _z, None, _z)", "f32[N]"),
            "5:5: error: 'batch_norm' takes its argument 'bias' only together with 'weight'\n");
  EXPECT_EQ(body("y = conv2d(x, None, _z)", "f32[N]"),
            "5:15: error: argument 'weight' of 'conv2d' is None; expected a tensor\n");
  EXPECT_EQ(body("y = avg_pool2d(x, kernel_size=(1.5, 2))", "f32[N]"),
            "5:19: error: argument 'kernel_size' of 'avg_pool2d' holds the number 1.5; expected an "
            "integer or a list of 2\n");
  EXPECT_EQ(body("y = narrow(x, 0, 0, 1.5)", "f32[N]"),
            "5:21: error: argument 'length' of 'narrow' is the number 1.5; expected an integer or "
            "a dim\n");
  EXPECT_EQ(body("y = arange(9223372036854775807)", "f32[N]"),
            "5:5: error: a tensor i64[9223372036854775807] may have more than 2^56 elements; make "
            "its dims, or their ranges, smaller\n");
  std::string dims = "N,192"; // and 62 more
  for (int dim = 2; dim < 64; ++dim)
    dims += ",1";
  EXPECT_EQ(body("y = reshape(reshape(x, [" + dims + "]), [N*192])", "f32[N*192]").find("error"),
            std::string::npos);
  EXPECT_EQ(body("y = reshape(x, [" + dims + ",1])", "f32[N]"),
            "5:5: error: a tensor has 65 dims; the limit is 64; join some of them\n");
  EXPECT_EQ(body("y = relu(x, false, 1)", "f32[N]"),
            "5:20: error: 'relu' takes 2 arguments, got more: the integer 1\n");
  EXPECT_EQ(body("y = relu()", "f32[N]"), "5:5: error: 'relu' needs its argument 'x', a tensor\n");
  EXPECT_EQ(body("y = (x, x)", "f32[N]"),
            "5:1: error: output 'y' is a list of 2; expected a tensor\n");
}

/// Each byte of a model replaced in turn: an answer, and no crash.
TEST_F(Frontend, survivesDamage) {
  std::string source =
      "dl 1\ndim N=1..4\nconst K=3\nmodel M(w=K*2){\nc: Conv2d(1,w,K,padding='same')\nb: "
      "BatchNorm2d(w,eps=1e-3)\n"
      "forward(x: f32[N,1,4*2,8])->(y: f32[N,2]){\nh=relu(b(c(x)))[:,1:-1,::2,None,0]+0.5\n"
      "y=mean(reshape(h,(N,2,8)),dim=2)/-2\n}}\n";
  EXPECT_TRUE(StringRef(import(source, {{}, true})).contains("func.func"));
  for (size_t i = 0; i < source.size(); i += 3)
    for (char c : StringRef("9*(\n")) {
      std::string damaged = source;
      damaged[i] = c;
      import(damaged, {{}, true});
    }
}

TEST_F(Frontend, nameErrors) {
  EXPECT_EQ(body("xx = relu(x)\ny = rellu(xy)", "f32[N,3,8,8]"),
            "6:11: error: unknown value 'xy'; did you mean 'x'?\n6:5: error: unknown function or "
            "layer 'rellu'; did you mean 'relu'?\n");
  EXPECT_EQ(body("y = Conv2d(1, 2, 3)", "f32[N]"),
            "5:5: error: 'Conv2d' is a kind of layer; declare one above 'forward', as in 'name: "
            "Conv2d(...)', and call it by its name\n");
  EXPECT_EQ(body("N = x\ny = x", "f32[N,3,8,8]"),
            "5:1: error: cannot assign to 'N', which is a dim, a constant or a dtype; choose "
            "another name\n2:5: note: declared here\n");
  EXPECT_EQ(body("a.b = x\ny = x", "f32[N,3,8,8]"),
            "5:1: error: a value has a name without dots, got 'a.b'\n");
  EXPECT_EQ(body("a, b = x\ny = relu(a)", "f32[N,3,8,8]"),
            "5:1: error: 2 names for a tensor f32[N,3,8,8]; expected one name for each result\n");
  EXPECT_EQ(body("a, b = (x, _i)\ny = a; _c = b", "f32[N,3,8,8]"), "");
}

TEST_F(Frontend, outputErrorsAndWarnings) {
  EXPECT_EQ(body("y = x", "f32[N,3,8,9]"),
            "5:1: error: output 'y' is f32[N,3,8,8], declared as f32[N,3,8,9]; change one of "
            "them\n4:79: note: declared here\n");
  EXPECT_EQ(body("y = x", "f16[N,3,8,8]"),
            "5:1: error: output 'y' is f32[N,3,8,8], declared as f16[N,3,8,8]; change one of "
            "them\n4:79: note: declared here\n");
  EXPECT_EQ(body("yy = x", "f32[N]"),
            "4:79: error: output 'y' is never assigned; did you mean 'yy'?\n");
  EXPECT_EQ(body("y = 3", "f32[N]"),
            "5:1: error: output 'y' is the integer 3; expected a tensor\n");
  EXPECT_EQ(body("a = relu(x)\na = x\nb = a\ny = x", "f32[N,3,8,8]"),
            "5:1: warning: 'a' is never used\n7:1: warning: 'b' is never used\n"
            "dl.relu %arg0 : (tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>) -> tensor<?x3x8x8xf32, "
            "#dl.t<[s0, 3, 8, 8]>>\n");
}

TEST_F(Frontend, allErrorsInOneRun) {
  // Syntax, declarations, calls and outputs; none follows from another.
  EXPECT_EQ(
      import(
          "dl 1\ndim N = 1..4\nmodel M {\n  a: Conv2d(1, 2\n  b: Linaer(3)\n  c: ReLU()\n"
          "  forward(x: f32[N,4]) -> (y: f32[N,4], z: f32[N]) {\n    t = b(a(x))\n    u = relu(,)\n"
          "    y = foo(t + u + q)\n    z = c(x)\n  }\n}\n",
          {{}, true}),
      "4:17: error: expected ',' or ')' in the arguments of 'Conv2d', got the end of the "
      "line\n4:12: note: to match this (\n9:14: error: expected an expression, got ','\n5:6: "
      "error: unknown layer 'Linaer'; did you mean 'Linear'?\n10:21: error: unknown value 'q'; "
      "expected an input, or a name assigned above\n10:9: error: unknown function or layer 'foo'; "
      "expected a layer declared above 'forward', or a function that 'dlc list ops' shows\n11:5: "
      "error: output "
      "'z' is f32[N,4], declared as f32[N]; change one of them\n7:41: note: declared here\n");
}

TEST_F(Frontend, declarationErrors) {
  auto check = [&](StringRef source) { return import(("dl 1\n" + source).str(), {{}, true}); };
  EXPECT_EQ(check("dim N"), "1:1: error: the file has no model; add 'model Name { ... }'\n");
  EXPECT_EQ(check("model M {}"), "2:7: error: model 'M' has no 'forward'; add 'forward(x: "
                                 "f32[...]) -> (y: f32[...]) { ... }'\n");
  StringRef rest = "model M {\nforward(x: f32[2]) -> (y: f32[2]) { y = x }\n}\n";
  EXPECT_EQ(check(("dim N = 4..2\ndim f32\ndim K = 1.5..2\ndim K\n" + rest).str()),
            "2:9: error: dim 'N' has the range 4..2; expected 0 <= min <= max <= 2147483647\n"
            "3:5: error: 'f32' is a dtype; choose another name\n"
            "4:9: error: a bound of dim 'K' is the number 1.5; expected an integer\n"
            "5:5: error: dim 'K' has been declared before; choose another name\n4:5: note: the "
            "first declaration\n");
  EXPECT_EQ(check(("const A = B\nconst C = f(1)\nconst D = C[0]\n" + rest).str()),
            "2:11: error: unknown constant or dim 'B'; declare it, as in 'const B = 128' or 'dim B "
            "= 1..64'\n"
            "3:11: error: 'f' cannot be called here: expected a value known at compile time; its "
            "functions are abs, bool, ceil, exp, float, floor, int, len, log, max, min, round, "
            "sqrt\n");
  EXPECT_EQ(
      check((rest + rest).str()),
      "5:7: error: model 'M' has been declared before; choose another name\n2:7: note: the first "
      "declaration\n");
  std::string dims;
  for (int i = 0; i < 65; ++i)
    dims += "dim D" + std::to_string(i) + "\n";
  EXPECT_EQ(check(dims + rest.str()),
            "66:5: error: more than 64 dims; write numbers for some of them\n");
}

TEST_F(Frontend, signatureErrors) {
  auto check = [&](StringRef ports) {
    return import(("dl 1\ndim N = 1..4\nmodel M {\nforward" + ports + " { y = x }\n}\n").str(),
                  {{}, true});
  };
  EXPECT_EQ(check("(x: float32[2]) -> (y: f32[2])"),
            "4:12: error: unknown dtype 'float32'; write f32\n");
  EXPECT_EQ(check("(x: lunch[2]) -> (y: f32[2])"),
            "4:12: error: unknown dtype 'lunch'; expected f64, f32, f16, bf16, i64, i32, i16, "
            "i8, u8, bool, u16, u32, u64, f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, f8e8m0, "
            "f4e2m1, i4, u4, i2, u2\n");
  EXPECT_EQ(check("(x: f32[Q]) -> (y: f32[2])"),
            "4:16: error: unknown constant or dim 'Q'; declare it, as in 'const Q = 128' or 'dim Q "
            "= 1..64'\n");
  EXPECT_EQ(check("(x: f32[-1]) -> (y: f32[2])"),
            "4:16: error: a dim of 'x' is -1; expected 0 or more, or a declared dim where it "
            "varies, as in 'dim N = 1..64'\n");
  EXPECT_EQ(check("(x: f32[N-2]) -> (y: f32[2])"),
            "4:17: error: a dim of 'x', N - 2, may be -1; expected 0 or more; raise the smallest "
            "value of N to 2: dim N = 2..4\n");
  EXPECT_EQ(import("dl 1\ndim N = 1..2147483647\nmodel M {\nforward(x: f32[N*N*N]) -> (y: f32[2]) "
                   "{ y = x }\n}\n",
                   {{}, true}),
            "4:19: error: a dim of 'x', N*N*N, may not fit in 64 bits; make the ranges of its dims "
            "smaller\n");
  EXPECT_EQ(check("(x: f32[1.5]) -> (y: f32[2])"),
            "4:16: error: a dim of 'x' is the number 1.5; expected an integer, or a declared dim "
            "where it varies, as in 'dim N = 1..64'\n");
  EXPECT_EQ(check("(x: f32[4294967296,4294967296]) -> (y: f32[2])"),
            "4:12: error: a tensor f32[4294967296,4294967296] may have more than 2^56 elements; "
            "make its dims, or their ranges, smaller\n");
  EXPECT_EQ(check("(x: f32[1,1,1,1,1,1,1,1,1]) -> (y: f32[2])"),
            "4:12: error: 'x' has 9 dims; the limit is 8; join some of them\n");
  EXPECT_EQ(check("(x: f32[2], x: f32[2]) -> (y: f32[2])"),
            "4:20: error: two inputs have the name 'x'; names must differ\n");
  EXPECT_EQ(check("(x: f32[2], N: f32[2]) -> (y: f32[2])"),
            "4:20: error: 'N' is a dim or a constant already; choose another name\n2:5: note: "
            "declared here\n"
            "4:20: error: cannot assign to 'N', which is a dim, a constant or a dtype; choose "
            "another name\n2:5: note: declared here\n");
  EXPECT_EQ(
      check("(x: f32[2]) -> ()"),
      "4:1: error: 'forward' has no output; expected at least one, as in '-> (y: f32[N,10])'\n");
}

} // namespace
