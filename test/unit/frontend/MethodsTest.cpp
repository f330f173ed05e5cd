//===- MethodsTest.cpp - Functions of a tensor as its methods -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

namespace dlc::frontend {
namespace {

class Methods : public Frontend {
protected:
  /// Both ways of writing give the same ops, and no error.
  void same(const std::string &method, const std::string &function, const std::string &type) {
    std::string text = body("y = " + method, type);
    EXPECT_EQ(text, body("y = " + function, type)) << method;
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
  }
};

TEST_F(Methods, areFunctionsOfTheirTensor) {
  same("x.relu()", "relu(x)", "f32[N,3,8,8]");
  same("x.permute(0, 2, 3, 1)", "permute(x, 0, 2, 3, 1)", "f32[N,8,8,3]");
  same("x.view(size(x, 0), -1)", "view(x, size(x, 0), -1)", "f32[N,192]");
  same("x.mean(dim=(2, 3), keepdim=true)", "mean(x, dim=(2, 3), keepdim=true)", "f32[N,3,1,1]");
  same("x.relu().exp().sum(dim=1)", "sum(exp(relu(x)), dim=1)", "f32[N,8,8]");
  same("(x + 1).transpose(2, 3)", "transpose(x + 1, 2, 3)", "f32[N,3,8,8]");
  same("x[:, 0].flatten(1)", "flatten(x[:, 0], 1)", "f32[N,64]");
  same("x.max(dim=1)[0]", "max(x, dim=1)[0]", "f32[N,8,8]");
  same("x.chunk(3, dim=1)[2]", "chunk(x, 3, dim=1)[2]", "f32[N,1,8,8]");
  same("_i.to(f32)", "cast(_i, f32)", "f32[4]");
  same("_h.where(_b, _h * 2)", "where(_b, _h, _h * 2)", "f16[4]");
  same("_h.masked_fill(_b, 0)", "masked_fill(_h, _b, 0)", "f16[4]");
  same("x.mul(2).size(0) * _i.sum()", "size(mul(x, 2), 0) * sum(_i)", "i64[]");
}

TEST_F(Methods, thatAreNoFunctions) {
  same("_i.float()", "cast(_i, f32)", "f32[4]");
  same("_i.half()", "cast(_i, f16)", "f16[4]");
  same("_h.double()", "cast(_h, f64)", "f64[4]");
  same("_h.bfloat16()", "cast(_h, bf16)", "bf16[4]");
  same("_h.long()", "cast(_h, i64)", "i64[4]");
  same("_h.int()", "cast(_h, i32)", "i32[4]");
  same("_i.bool()", "cast(_i, bool)", "bool[4]");
  same("_i.type_as(_h)", "cast(_i, f16)", "f16[4]");
  same("_i.float().view_as(x[:1, 0, 0, :4])", "reshape(cast(_i, f32), x[:1, 0, 0, :4].shape)",
       "f32[1,4]");
  same("relu(x.clone().detach().contiguous())", "relu(x)", "f32[N,3,8,8]");
  same("relu(clone(detach(x)))", "relu(x)", "f32[N,3,8,8]");
  same("_h * x.dim()", "_h * 4", "f16[4]");
  same("_z * x.numel()", "_z * (N * 192)", "f32[N]");
  same("x.mT", "transpose(x, -2, -1)", "f32[N,3,8,8]");
  same("x[0, 0].T", "transpose(x[0, 0], -2, -1)", "f32[8,8]");
  same("x.mT.sum()", "sum(transpose(x, -2, -1))", "f32[]");
  same("x.mH", "transpose(x, -2, -1)", "f32[N,3,8,8]");
  same("x[0, 0].H", "transpose(x[0, 0], -2, -1)", "f32[8,8]");
}

TEST_F(Methods, ofWeightsAndOfLayers) {
  std::string text =
      "dl 1\nmodel M {\n  tok: Embedding(7, 4)\n  p: Parameter(4)\n  l[i]: Linear(4, 4) for i "
      "in 0..2\n  forward(x: i64[2]) -> (y: f32[2,7]) {\n    h = tok(x) + "
      "p.view(1, 4)\n    for layer in l { h = layer(h) @ layer.weight.t() }\n"
      "    y = h @ tok.weight.t() * l[0].weight.sum() * "
      "tok.weight.T.shape[0]\n  }\n}\n";
  std::string made = import(text, {{}, true});
  EXPECT_EQ(made.find("error"), std::string::npos) << made;
}

TEST_F(Methods, aDimEndsASlice) {
  same("cat([x, x])[:N]", "narrow(cat([x, x]), 0, 0, N)", "f32[N,3,8,8]");
  same("cat([x, x])[1:-N]", "narrow(cat([x, x]), 0, 1, N - 1)", "f32[N-1,3,8,8]");
  same("cat([x, x])[N:]", "narrow(cat([x, x]), 0, N, N)", "f32[N,3,8,8]");
  same("cat([x, x, x])[N:2 * N]", "narrow(cat([x, x, x]), 0, N, N)", "f32[N,3,8,8]");
  same("cat([x, x])[N:-1]", "narrow(cat([x, x]), 0, N, N - 1)", "f32[N-1,3,8,8]");
  same("cat([x, x])[-N:]", "narrow(cat([x, x]), 0, N, N)", "f32[N,3,8,8]");
  same("cat([x, x])[N]", "reshape(narrow(cat([x, x]), 0, N, 1), 3, 8, 8)", "f32[3,8,8]");
  // Bounds are cut to the places that x has.
  auto type = [&](StringRef subscript) {
    std::string text = body("y = cat([x, x])" + subscript.str(), "f32[?,3,8,8]");
    return text.substr(text.rfind("#dl.t<[") + 7, text.substr(text.rfind("#dl.t<[") + 7).find(','));
  };
  EXPECT_EQ(type("[:N:2]"), "(s0 + 1) floordiv 2");
  EXPECT_EQ(type("[:N-4]"), "s4");
  EXPECT_EQ(type("[N - 4:]"), "s0 * 2 - s4");
  EXPECT_NE(body("y = cat([x, x])[-1:N]", "f32[0,3,8,8]").find("tensor<0x3x8x8xf32>"),
            std::string::npos);
  // A run checks that the dims are the declared ones.
  std::string far = body("y = x[:, :N]", "f32[N,N,8,8]");
  EXPECT_NE(far.find("dl.expect_dims"), std::string::npos) << far;
}

TEST_F(Methods, errors) {
  EXPECT_EQ(body("y = x.foo()", "f32[N]"),
            "5:5: error: 'x.foo' is no method of a tensor; 'dlc list "
            "ops' shows the functions\n");
  EXPECT_EQ(body("y = x.permut(0)", "f32[N]"),
            "5:5: error: 'x.permut' is no method of a tensor; did you mean 'permute'?\n");
  EXPECT_EQ(body("y = x.relu_()", "f32[N]"),
            "5:5: error: 'x.relu_' would change a value in place, which nothing does here; write x "
            "= x.relu(...)\n");
  EXPECT_EQ(
      body("y = x.shape.sum()", "f32[N]"),
      "5:5: error: 'x.shape.sum' has no meaning: only tensors have methods, got a list of 4\n");
  EXPECT_EQ(body("y = (x, x).sum()", "f32[N]"),
            "5:5: error: '(...).sum' has no meaning: only tensors have methods, got a list of 2\n");
  EXPECT_EQ(body("y = x.float(2)", "f32[N]"),
            "5:5: error: 'x.float' takes no arguments, got the integer 2\n");
  EXPECT_EQ(body("y = x.view_as(2)", "f32[N]"),
            "5:5: error: 'x.view_as' takes one tensor, got the integer 2\n");
  EXPECT_EQ(body("y = x.exp(1)", "f32[N]"),
            "5:11: error: 'exp' takes 1 argument, got more: the integer 1\n");
  EXPECT_EQ(body("y = q.relu()", "f32[N]"),
            "5:5: error: unknown function or layer 'q.relu'; did you mean 'prelu'?\n");
  EXPECT_EQ(body("y = _i.to(torch.float16)", "f16[4]"),
            "5:11: error: unknown value 'torch.float16'; write f16\n");
  EXPECT_EQ(body("y = _i.to(float16)", "f16[4]"),
            "5:11: error: unknown value 'float16'; write f16\n");
  EXPECT_EQ(body("const size = 3\ny = x", "f32[N,3,8,8]"),
            "5:1: error: expected a statement such as 'x = relu(x)', got 'const'; constants are "
            "declared above 'forward'; in it a name is enough, as in 'size = 3'\n");
}

} // namespace
} // namespace dlc::frontend
