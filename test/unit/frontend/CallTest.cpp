//===- CallTest.cpp - Ways of calling a function, dims among tensors, batches left out --------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

namespace dlc::frontend {
namespace {

using Calls = Frontend;

TEST_F(Calls, aDimMeetsTensors) {
  EXPECT_EQ(body("y = _z + N", "f32[N]"),
            "dl.scalar_tensor  {dtype = f32, s = affine_map<()[s0] -> (s0)>} : () -> tensor<f32>\n"
            "dl.broadcast %0 : (tensor<f32>) -> tensor<?xf32, #dl.t<[s0]>>\n"
            "dl.add %arg1, %1 : (tensor<?xf32, #dl.t<[s0]>>, tensor<?xf32, #dl.t<[s0]>>) -> "
            "tensor<?xf32, #dl.t<[s0]>>\n");
  // As a number does, it leaves the dtype of the tensor as it is.
  EXPECT_EQ(body("y = _h / size(_z, 0)", "f16[4]"),
            "dl.scalar_tensor  {dtype = f16, s = affine_map<()[s0] -> (s0)>} : () -> tensor<f16>\n"
            "dl.broadcast %0 : (tensor<f16>) -> tensor<4xf16>\n"
            "dl.div %arg3, %1 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  // A fraction of a dim is a tensor without dims.
  EXPECT_EQ(body("y = N * 0.5", "f32[]"),
            "dl.scalar_tensor  {dtype = f32, s = affine_map<()[s0] -> (s0)>} : () -> tensor<f32>\n"
            "dl.full 5.000000e-01 : f32 -> tensor<f32>\n"
            "dl.mul %0, %1 : (tensor<f32>, tensor<f32>) -> tensor<f32>\n");
  EXPECT_EQ(body("y = sqrt(size(x, 0))", "f32[]"),
            "dl.scalar_tensor  {dtype = i64, s = affine_map<()[s0] -> (s0)>} : () -> tensor<i64>\n"
            "dl.cast %0 {dtype = f32} : (tensor<i64>) -> tensor<f32>\n"
            "dl.sqrt %1 : (tensor<f32>) -> tensor<f32>\n");
}

TEST_F(Calls, aDimThatIsRoundedUpIsDeclaredAsOneRoundedDown) {
  EXPECT_NE(body("y = sum(x[::2], dim=[1, 2, 3])", "f32[(N + 1) / 2]").find("dl.slice"),
            std::string::npos)
      << body("y = sum(x[::2], dim=[1, 2, 3])", "f32[(N + 1) / 2]");
}

TEST_F(Calls, aDimThatDoesNotFit) {
  EXPECT_EQ(body("y = cast(_i, i8) * (N * 100)", "i8[4]"),
            "5:18: error: the dim N*100, 200 to 1600, does not fit in the dtype of i8[4]; cast the "
            "tensor to a wider one\n");
  EXPECT_EQ(body("y = matmul(x, N)", "f32[]"),
            "5:5: error: 'matmul' needs tensors, got the dim N\n");
}

TEST_F(Calls, aNumberForATensorOfIntegers) {
  std::string made = body("y = update_slice(x, 1, 2, x[:, :1])", "f32[N,3,8,8]");
  EXPECT_NE(made.find("dl.full 2 : i64 -> tensor<i64>"), std::string::npos) << made;
  made = body("y = update_slice(x, 1, N - N, x[:, :1])", "f32[N,3,8,8]");
  EXPECT_EQ(made.find("error"), std::string::npos) << made;
  EXPECT_EQ(
      body("y = update_slice(x, 1, -1, x[:, :1])", "f32[N,3,8,8]"),
      "5:5: error: 'update_slice' takes no -1 as 'start'; expected 0 or more: from the end of "
      "a dim, as in size(x, 0) - 1\n");
  EXPECT_EQ(body("y = update_slice(x, 1, 0.5, x[:, :1])", "f32[N,3,8,8]"),
            "5:5: error: 'update_slice' needs tensors, got the number 0.5\n");
}

TEST_F(Calls, rangesBetweenDims) {
  EXPECT_EQ(
      body("y = arange(N, 2 * N)", "i64[N]"),
      "dl.arange  {end = affine_map<()[s0] -> (s0 * 2)>, start = affine_map<()[s0] -> (s0)>} : "
      "() -> tensor<?xi64, #dl.t<[s0]>>\n");
  EXPECT_EQ(
      body("y = arange(3, N)", "i64[N]"),
      "5:5: error: 'arange' from 3 to N in steps of 1 may have -1 numbers; expected 0 or more; "
      "raise the smallest value of N to 3: dim N = 3..16\n");
  EXPECT_EQ(body("y = arange(N, N - 5)", "i64[N]"),
            "5:5: error: 'arange' cannot go from N to N - 5 in steps of 1\n");
  EXPECT_EQ(body("y = arange(3, 1)", "i64[N]"),
            "5:5: error: 'arange' cannot go from 3 to 1 in steps of 1\n");
  EXPECT_EQ(body("y = arange(0.5, 2, 0.5)", "f32[3]"),
            "dl.fractions  {end = 2.000000e+00 : f64, start = 5.000000e-01 : f64, step = "
            "5.000000e-01 : f64} : () -> tensor<3xf32>\n");
  EXPECT_EQ(body("y = arange(1.5, 0)", "f32[3]"),
            "5:5: error: 'arange' cannot go from 1.5 to 0 in steps of 1\n");
  EXPECT_EQ(body("y = arange(1.5, 2, 0.0)", "f32[3]"),
            "5:5: error: 'arange' has step 0; expected another number\n");
  EXPECT_EQ(body("y = arange(1.5, 2, dtype=i64)", "f32[3]"),
            "5:5: error: 'arange' of fractions gives floats, got dtype i64; cast the result\n");
  EXPECT_EQ(body("y = arange(0, N, 0.5)", "f32[N]"),
            "5:18: error: argument 'step' of 'arange' is the number 0.5; expected an integer\n");
}

TEST_F(Calls, equallySpacedNumbers) {
  EXPECT_EQ(body("y = linspace(-1, 1, 5)", "f32[5]"),
            "dl.linspace  {end = 1.000000e+00 : f64, start = -1.000000e+00 : f64, steps = 5 : i64} "
            ": () -> tensor<5xf32>\n");
  EXPECT_EQ(body("y = linspace(0, 1, 5, dtype=i64)", "i64[5]"),
            "5:5: error: 'linspace' gives floats, got dtype i64; cast the result\n");
  EXPECT_EQ(body("y = linspace(0, 1, N)", "f32[N]"),
            "5:20: error: argument 'steps' of 'linspace' is the dim N; expected an integer\n");
}

TEST_F(Calls, tensorsSideBySide) {
  EXPECT_EQ(body("y = hstack([])", "f32[N]"),
            "5:12: error: argument 'tensors' of 'hstack' is a list of 0; expected at least one "
            "tensor\n");
  EXPECT_EQ(body("y = vstack([_h, _h]).swapaxes(0, 1)", "f16[4,2]"),
            "dl.vstack %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<2x4xf16>\n"
            "dl.transpose %0 {dim0 = 0 : i64, dim1 = 1 : i64} : (tensor<2x4xf16>) -> "
            "tensor<4x2xf16>\n");
}

TEST_F(Calls, anArgumentTellsTheWaysApart) {
  EXPECT_EQ(body("y = div(_h, 2, rounding_mode=\"floor\")", "f16[4]"),
            "dl.full 2.000000e+00 : f32 -> tensor<4xf16>\n"
            "dl.floor_divide %arg3, %0 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = div(_h, _h, rounding_mode=\"trunc\")", "f16[4]"),
            "dl.trunc_divide %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = div(_h, _h, rounding_mode=None)", "f16[4]"),
            "dl.div %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = div(_h, 2, rounding_mode=\"round\")", "f16[4]"),
            "5:16: error: argument 'rounding_mode' of 'div' is the string 'round'; expected None, "
            "'floor' or 'trunc'\n");
  EXPECT_EQ(
      body("y, _ = max_pool2d(x, 2, return_indices=true)", "f32[N,3,4,4]"),
      "dl.max_pool2d_with_indices %arg0 {kernel_size = array<i64: 2, 2>} : (tensor<?x3x8x8xf32, "
      "#dl.t<[s0, 3, 8, 8]>>) -> (tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>, "
      "tensor<?x3x4x4xi64, #dl.t<[s0, 3, 4, 4]>>)\n");
  EXPECT_EQ(
      body("y = max_pool2d(x, 2, return_indices=3)", "f32[N,3,4,4]"),
      "5:22: error: argument 'return_indices' of 'max_pool2d' is the integer 3; expected false "
      "or true\n");
  EXPECT_EQ(body("y = max_pool2d(x, \"a\", return_indices=true)", "f32[N,3,4,4]"),
            "5:19: error: argument 'kernel_size' of 'max_pool2d' is the string 'a'; expected an "
            "integer or a list of 2\n");
  EXPECT_EQ(body("y = take_along_dim(_i, _i)", "i64[4]"),
            "dl.take_flat %arg2, %arg2 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>\n");
  EXPECT_EQ(body("y = instance_norm(x, use_input_stats=false)", "f32[N]"),
            "5:5: error: 'instance_norm' needs its argument 'running_mean', a tensor\n");
  EXPECT_EQ(body("y = instance_norm(x, use_input_stats=3)", "f32[N]"),
            "5:22: error: argument 'use_input_stats' of 'instance_norm' is the integer 3; expected "
            "false or true\n");
}

TEST_F(Calls, clampsBetweenTensors) {
  EXPECT_EQ(body("y = clamp(_h, 0, 1)", "f16[4]"),
            "dl.clamp %arg3 {max = 1.000000e+00 : f64, min = 0.000000e+00 : f64} : (tensor<4xf16>) "
            "-> tensor<4xf16>\n");
  EXPECT_EQ(body("y = clamp(_h, max=_h)", "f16[4]"),
            "dl.minimum %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = clamp(_h, _h)", "f16[4]"),
            "dl.maximum %arg3, %arg3 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = clamp(_h, 0.0, _h)", "f16[4]"),
            "dl.full 0.000000e+00 : f32 -> tensor<4xf16>\n"
            "dl.clamp_tensor %arg3, %0, %arg3 : (tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> "
            "tensor<4xf16>\n");
  EXPECT_EQ(body("y = clamp(_h, \"a\")", "f16[4]"),
            "5:15: error: argument 'min' of 'clamp' is the string 'a'; expected a number\n");
}

TEST_F(Calls, aBatchMayBeLeftOut) {
  EXPECT_EQ(
      body("y = avg_pool1d(reshape(_h, 1, 4), 2)", "f16[1,2]"),
      "dl.reshape %arg3 {shape = affine_map<() -> (1, 4)>} : (tensor<4xf16>) -> tensor<1x4xf16>\n"
      "dl.reshape %0 {shape = affine_map<() -> (1, 1, 4)>} : (tensor<1x4xf16>) -> "
      "tensor<1x1x4xf16>\n"
      "dl.avg_pool1d %1 {kernel_size = array<i64: 2>} : (tensor<1x1x4xf16>) -> "
      "tensor<1x1x2xf16>\n"
      "dl.reshape %2 {shape = affine_map<() -> (1, 2)>} : (tensor<1x1x2xf16>) -> "
      "tensor<1x2xf16>\n");
  EXPECT_EQ(body("y, _ = max_pool1d(reshape(_h, 1, 4), 2, return_indices=true)", "f16[1,2]")
                .find("error"),
            std::string::npos);
  EXPECT_EQ(body("y = avg_pool2d(_h, 2)", "f16[1,2]"),
            "5:5: error: 'avg_pool2d' needs x [N, C, H, W], got f16[4]\n");
  EXPECT_TRUE(StringRef(body("y = avg_pool1d(reshape(_i, 1, 1, 4), 2)", "i64[1,1,2]"))
                  .starts_with("5:5: error: argument 'x' of 'avg_pool1d' is a tensor i64[1,1,4]; "
                               "expected f16, bf16, f32 or f64\n"));
}

TEST_F(Calls, bags) {
  EXPECT_EQ(body("y = embedding_bag(_i, zeros(7, 5))", "f32[4,5]"),
            "5:5: error: 'embedding_bag' has input i64[4]; expected [bags, positions], or one dim "
            "together with offsets\n");
  EXPECT_EQ(body("y = embedding_bag(_i[:, None], zeros(7, 5), _i)", "f32[4,5]"),
            "5:5: error: 'embedding_bag' has input i64[4,1]; expected one dim, which offsets cut "
            "into bags\n");
  EXPECT_EQ(body("y = embedding_bag(_i, zeros(7, 5), _i[:, None])", "f32[4,5]"),
            "5:5: error: 'embedding_bag' has offsets i64[4,1]; expected one dim\n");
  EXPECT_EQ(body("y = embedding_bag(_i, _z, _i)", "f32[4,5]"),
            "5:5: error: 'embedding_bag' has weight f32[N]; expected [rows, width]\n");
  EXPECT_EQ(body("y = embedding_bag(_i[:, None], zeros(7, 5), mode=\"avg\")", "f32[4,5]"),
            "5:5: error: 'embedding_bag' has mode = 'avg'; expected 'sum', 'mean' or 'max'\n");
  EXPECT_EQ(
      body("y = embedding_bag(_i[:, None], zeros(7, 5), include_last_offset=true)", "f32[4,5]"),
      "5:5: error: 'embedding_bag' has include_last_offset, which goes with offsets\n");
  EXPECT_EQ(
      body("y = embedding_bag(_i, zeros(7, 5), _i[:0], include_last_offset=true)", "f32[4,5]"),
      "5:5: error: 'embedding_bag' has no offsets; expected at least the last one\n");
  EXPECT_EQ(
      body("y = embedding_bag(_i[:, None], zeros(7, 5), per_sample_weights=zeros(4, 1))",
           "f32[4,5]"),
      "5:5: error: 'embedding_bag' has per_sample_weights, which go with mode 'sum', not 'mean'\n");
  EXPECT_EQ(body("y = embedding_bag(_i[:, None], zeros(7, 5), mode=\"sum\", "
                 "per_sample_weights=zeros(4, 2))",
                 "f32[4,5]"),
            "5:5: error: 'embedding_bag' has per_sample_weights f32[4,2]; expected the dims of "
            "input i64[4,1] and the dtype of weight f32[7,5]\n");
}

TEST_F(Calls, factorsOfEachDim) {
  EXPECT_EQ(
      body("y = interpolate(x, scale_factor=(2, 3.0))", "f32[N,3,16,24]"),
      "dl.interpolate %arg0 {scale_factor = array<f64: 2.000000e+00, 3.000000e+00>} : "
      "(tensor<?x3x8x8xf32, #dl.t<[s0, 3, 8, 8]>>) -> tensor<?x3x16x24xf32, #dl.t<[s0, 3, 16, "
      "24]>>\n");
  EXPECT_EQ(body("y = interpolate(x, scale_factor=(2, 3, 4))", "f32[N]"),
            "5:5: error: 'interpolate' has 3 scale factors for the 2 dims after [N, C] of "
            "f32[N,3,8,8]\n");
  EXPECT_EQ(
      body("y = interpolate(x, scale_factor=(2, \"a\"))", "f32[N]"),
      "5:20: error: argument 'scale_factor' of 'interpolate' is a list of 2; expected a number "
      "or a list of numbers\n");
}

TEST_F(Calls, tensorsOfNumbers) {
  EXPECT_EQ(body("y = tensor(2.5)", "f32[]"), "dl.full 2.500000e+00 : f32 -> tensor<f32>\n");
  EXPECT_EQ(body("y = tensor([3, true])", "i64[2]"),
            "dl.full 3 : i64 -> tensor<i64>\n"
            "dl.full 1 : i64 -> tensor<i64>\n"
            "dl.stack %0, %1 : (tensor<i64>, tensor<i64>) -> tensor<2xi64>\n");
  EXPECT_EQ(body("y = tensor([[1], [2.5]], dtype=f16)", "f16[2,1]"),
            "dl.full 1.000000e+00 : f32 -> tensor<f16>\n"
            "dl.full 2.500000e+00 : f32 -> tensor<f16>\n"
            "dl.stack %0, %1 : (tensor<f16>, tensor<f16>) -> tensor<2xf16>\n"
            "dl.reshape %2 {shape = affine_map<() -> (2, 1)>} : (tensor<2xf16>) -> "
            "tensor<2x1xf16>\n");
  EXPECT_EQ(body("y = tensor([N, 8])", "i64[2]").find("error"), std::string::npos);
  EXPECT_EQ(body("y = tensor([[1, 2], [3]])", "i64[2,2]"),
            "5:12: error: 'tensor' holds a list of 1 beside a list of 2; expected lists of one "
            "depth and length\n");
  EXPECT_EQ(body("y = tensor([[1, 2], 3])", "i64[2,2]"),
            "5:12: error: 'tensor' holds the integer 3 beside a list; expected lists of one depth "
            "and length\n");
  EXPECT_EQ(body("y = tensor([1, [2]])", "i64[2]"),
            "5:12: error: 'tensor' holds a list of 1 beside a number; expected lists of one depth "
            "and length\n");
  EXPECT_EQ(body("y = tensor([1, x])", "i64[2]"),
            "5:12: error: 'tensor' holds a tensor f32[N,3,8,8]; expected numbers, or lists of them "
            "of one length\n");
  EXPECT_EQ(body("y = tensor([])", "f32[0]"),
            "5:12: error: 'tensor' holds an empty list; expected at least one number, or "
            "zeros(0)\n");
  EXPECT_EQ(body("y = tensor([1], dtype=3)", "f32[1]"),
            "5:5: error: 'tensor' takes numbers in lists and a dtype, as in tensor([1.0, 2.0], "
            "dtype=f32), got the integer 3\n");
  EXPECT_EQ(body("y = tensor([300], dtype=i8)", "i8[1]"),
            "5:5: error: the number 300 does not fit in the dtype of i8[]; cast the tensor to a "
            "wider one\n");
  std::string many = "y = tensor([0";
  for (int i = 0; i < 256; ++i)
    many += ", 0";
  EXPECT_EQ(body(many + "])", "i64[257]"),
            "5:12: error: 'tensor' has more than 256 numbers; declare a Buffer, whose numbers the "
            "file of the weights holds\n");
}

TEST_F(Calls, namesThatOnlyPyTorchHas) {
  EXPECT_EQ(
      body("y = F.ctc_loss(x)", "f32[N]"),
      "5:5: error: dlc does not support PyTorch's function 'F.ctc_loss'; 'dlc list ops' shows the "
      "supported ones\n");
  EXPECT_EQ(
      body("y = torch.linalg.svd(x)", "f32[N]"),
      "5:5: error: dlc does not support PyTorch's function 'torch.linalg.svd'; 'dlc list ops' "
      "shows the supported ones\n");
  EXPECT_EQ(body("y = x.erfinv()", "f32[N]"),
            "5:5: error: 'x.erfinv' is a PyTorch method that dlc does not support; 'dlc list ops' "
            "shows the supported ones\n");
}

TEST_F(Calls, aListRepeats) {
  EXPECT_EQ(body("y = reshape(_h, [1] * 2 + 1 * [4] + [7] * -1)", "f16[1,1,4]"),
            body("y = reshape(_h, [1, 1, 4])", "f16[1,1,4]"));
  EXPECT_EQ(body("y = reshape(_h, [1] * 5000)", "f16[4]"),
            "5:21: error: this list has more than 4096 elements; make it shorter\n");
}

TEST_F(Calls, multiples) {
  EXPECT_EQ(body("y = _h.add(_h, alpha=2)", "f16[4]"),
            "dl.add_scaled %arg3, %arg3 {alpha = 2.000000e+00 : f64} : (tensor<4xf16>, "
            "tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = sub(_h, 1, alpha=0.5)", "f16[4]"),
            "dl.full 1.000000e+00 : f32 -> tensor<4xf16>\n"
            "dl.sub_scaled %arg3, %0 {alpha = 5.000000e-01 : f64} : (tensor<4xf16>, "
            "tensor<4xf16>) -> tensor<4xf16>\n");
}

} // namespace
} // namespace dlc::frontend
