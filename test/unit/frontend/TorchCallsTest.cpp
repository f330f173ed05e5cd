//===- TorchCallsTest.cpp - What a call says in PyTorch beyond its op ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

namespace dlc::frontend {
namespace {

class TorchCalls : public Frontend {
protected:
  /// Both calls give the same ops, and no error.
  void same(const std::string &call, const std::string &other, const std::string &type) {
    std::string text = body("y = " + call, type);
    EXPECT_EQ(text, body("y = " + other, type)) << call;
    EXPECT_EQ(text.find("error"), std::string::npos) << text;
  }
  /// `call` gives a value of `type`.
  void gives(const std::string &call, const std::string &type) {
    std::string text = body("y = " + call, type);
    EXPECT_EQ(text.find("error"), std::string::npos) << call << ": " << text;
  }
};

TEST_F(TorchCalls, aMethodMayMeanAnotherFunction) {
  EXPECT_EQ(body("y = _h.unfold(0, 2, 1)", "f16[3,2]"),
            "dl.unfold_dim %arg3 {dimension = 0 : i64, size = 2 : i64, step = 1 : i64} : "
            "(tensor<4xf16>) -> tensor<3x2xf16>\n");
  same("_h.unfold(dimension=-1, size=3, step=2)", "unfold(_h, dimension=-1, size=3, step=2)",
       "f16[1,3]");
  gives("unfold(x, 2, 2, 1)", "f32[N,12,64]");
  gives("x.unfold(2, 3, 2)", "f32[N,3,3,8,3]");
  EXPECT_EQ(body("y = _h.unfold(0, 5, 1)", "f16[0,5]"),
            "5:5: error: 'unfold_dim' of dim 0 of f16[4] has size 5 and step 1; expected a size "
            "from 0 to that of the dim, and a step of 1 or more\n");
  EXPECT_EQ(body("y = _h.unfold(0, 2, 0)", "f16[0,5]"),
            "5:5: error: 'unfold_dim' of dim 0 of f16[4] has size 2 and step 0; expected a size "
            "from 0 to that of the dim, and a step of 1 or more\n");
  EXPECT_EQ(body("y = _z.unfold(0, 3, 1)", "f32[N-2,3]"),
            "dl.unfold_dim %arg1 {dimension = 0 : i64, size = 3 : i64, step = 1 : i64} : "
            "(tensor<?xf32, #dl.t<[s0]>>) -> tensor<?x3xf32, #dl.t<[s0 - 2, 3]>>\n");
}

TEST_F(TorchCalls, keepdimStandsBehindTheDim) {
  same("x.mean(1, true)", "mean(x, dim=1, keepdim=true)", "f32[N,1,8,8]");
  same("sum(x, (2, 3), true)", "sum(x, dim=(2, 3), keepdim=true)", "f32[N,3,1,1]");
  same("_h.var(0, false)", "var(_h, dim=0, unbiased=false)", "f16[]");
  same("_h.std(false)", "std(_h, unbiased=false)", "f16[]");
  same("norm(x, 2, 1, true)", "norm(x, p=2, dim=1, keepdim=true)", "f32[N,1,8,8]");
  same("norm(x, \"fro\", 1)", "norm(x, p=2, dim=1)", "f32[N,8,8]");
  gives("var_mean(_h, 0, correction=0, keepdim=true)[1]", "f16[1]");
  EXPECT_EQ(body("y = x.sum(1, 0)", "f32[N,8,8]"),
            "5:14: error: argument 'keepdim' of 'sum' is the integer 0; expected true or false; "
            "several dims are a list, as in dim=(0, 1)\n");
  gives("x.permute(0, 2, 3, 1).flip(0, 1)", "f32[N,8,8,3]");
}

TEST_F(TorchCalls, aTensorWithoutDimsCountsAsOneOfSize1) {
  for (std::string call :
       {"sum(-1)",         "sum(0, true)",       "mean(0)",          "softmax(0)",
        "log_softmax(-1)", "sort()[0]",          "topk(1)[0]",       "max(0)[0]",
        "max(0, true)[0]", "min(-1)[0]",         "amax(0, true)",    "cumsum(0)",
        "cumprod(-1)",     "logsumexp(0)",       "norm(2, 0, true)", "var(0, false)",
        "flip(0)",         "transpose(0, -1)",   "movedim(0, -1)",   "squeeze(0)",
        "prod(0)",         "flip(-1).sort(0)[0]"})
    gives("sum(_h)." + call, "f16[]");
  for (std::string call : {"argmax(0)", "argmax(0, true)", "argsort()", "count_nonzero(0)"})
    gives("sum(_h)." + call, "i64[]");
  gives("any(sum(_h), -1)", "bool[]");
  gives("sum(_h).gather(0, _i * 0)", "f16[4]");
  gives("sum(_h).gather(0, sum(_i))", "f16[]");
  gives("_h.gather(0, sum(_i))", "f16[]");
  gives("_h.index_select(0, sum(_i))", "f16[1]");
  gives("sum(_h).index_select(0, _i[:1])", "f16[]");
  gives("sum(_h).index_add(0, sum(_i), sum(_h))", "f16[]");
  gives("sum(_h).scatter(0, sum(_i), sum(_h))", "f16[]");
  gives("_h.scatter(0, sum(_i), sum(_h))", "f16[4]");
  gives("cosine_similarity(sum(_h), sum(_h), dim=0)", "f16[]");
  EXPECT_EQ(body("y = sum(_h).sum(1)", "f16[]"),
            "5:5: error: 'sum' has dim 1; expected -1 to 0 for a tensor of rank 1\n");
  for (std::string call :
       {"select(0, 0)", "narrow(0, 0, 1)", "chunk(1)[0]", "unbind(0)[0]", "roll(1, 0)"})
    EXPECT_NE(body("y = sum(_h)." + call, "f16[]").find("has no dims"), std::string::npos) << call;
}

TEST_F(TorchCalls, anEmptyListOfDims) {
  EXPECT_EQ(body("y = squeeze(_h[:1][None], ())", "f16[1,1]").find("squeeze"), std::string::npos);
  gives("squeeze(_h[:1][None], ())", "f16[1,1]");
  gives("squeeze(_h[:1][None])", "f16[]");
  same("any(_i, ())", "_i.bool()", "bool[4]");
  same("all(_i, dim=())", "_i.bool()", "bool[4]");
  gives("sum(_h, ())", "f16[]");
}

TEST_F(TorchCalls, argumentsWithoutAnAttribute) {
  same("softmax(_i, 0, dtype=f32)", "softmax(_i.float(), 0)", "f32[4]");
  same("log_softmax(_h, 0, f32)", "log_softmax(_h.float(), 0)", "f32[4]");
  same("prod(_i, dtype=i32)", "prod(_i.int()).int()", "i32[]");
  same("norm(_i, dtype=f32)", "norm(_i.float())", "f32[]");
  same("sub(_h, _h, alpha=true)", "sub(_h, _h, alpha=1)", "f16[4]");
  same("divide(_i, 2, rounding_mode=\"floor\")", "div(_i, 2, rounding_mode=\"floor\")", "i64[4]");
  same("subtract(_h, 1, alpha=2)", "sub(_h, 1, alpha=2)", "f16[4]");
  same("batch_norm(x[:, 0], zeros(8), ones(8), training=false, momentum=0.5, eps=0.1)",
       "batch_norm(x[:, 0], zeros(8), ones(8), momentum=0.5, eps=0.1)", "f32[N,8,8]");
  same("avg_pool2d(x, (2, 2), ())", "avg_pool2d(x, 2)", "f32[N,3,4,4]");
  same("_i.to(_h)", "_i.to(f16)", "f16[4]");
  gives("prelu(_h, sum(_h))", "f16[4]");
  same("embedding(_i, zeros(7, 5), sparse=true)", "embedding(_i, zeros(7, 5))", "f32[4,5]");
  EXPECT_EQ(body("y = batch_norm(x[:, 0], zeros(8), ones(8), training=true)", "f32[N,8,8]"),
            "5:44: error: argument 'training' of 'batch_norm' is true; expected false\n");
}

TEST_F(TorchCalls, inPlace) {
  same("relu(_h + 1, inplace=true)", "relu(_h + 1)", "f16[4]");
  gives("leaky_relu(_h, 0.1, true)", "f16[4]");
  EXPECT_EQ(body("h = _h + 1\ny = relu(h, inplace=true)", "f16[4]").find("error"),
            std::string::npos);
  EXPECT_NE(body("h = _h + 1\nr = relu(h, inplace=true)\ny = h * r", "f16[4]")
                .find("7:7: error: uses a tensor after inplace=true changed it, in PyTorch; use "
                      "the result of that call, or leave inplace out"),
            std::string::npos);
}

TEST_F(TorchCalls, integersKeepTheirDtype) {
  EXPECT_EQ(body("y = nan_to_num(_i)", "i64[4]"),
            "dl.nan_to_num %arg2 : (tensor<4xi64>) -> tensor<4xi64>\n");
  gives("nan_to_num(_b)", "bool[4]");
  gives("hardtanh(_i, -2.5, 3.5)", "i64[4]");
  gives("sort(_b)[0]", "bool[4]");
  gives("_b.argsort(descending=true)", "i64[4]");
  gives("max(_b, 0)[0]", "bool[]");
  gives("max(_b)", "bool[]");
  gives("min(_b, _b)", "bool[4]");
  gives("_b.amin(0, true)", "bool[1]");
  gives("logsumexp(_i, 0)", "f32[]");
}

TEST_F(TorchCalls, refusesWhatPyTorchRefuses) {
  auto refuses = [&](const std::string &call, const std::string &error) {
    std::string text = body("y = " + call, "f32[]");
    EXPECT_NE(text.find(error), std::string::npos) << call << ": " << text;
  };
  refuses("softshrink(_h, -1)", "'softshrink' op has lambd = -1; expected 0 or more");
  refuses("adaptive_avg_pool2d(x, -1)",
          "argument 'output_size' of 'adaptive_avg_pool2d' is the integer -1; expected an integer "
          "from 0 to 2^31 - 1, None, or a list of 2");
  refuses("adaptive_max_pool2d(x, (2, -2))", "holds the integer -2; expected an integer from 0");
  std::string indices = "zeros(2, 3, 4, 4, dtype=i64)", x = "x[:2, :, :4, :4]";
  refuses("max_unpool2d(" + x + ", " + indices + ", 2, 0)",
          "'max_unpool2d' needs kernel_size and stride of at least 1, and no negative padding");
  refuses("max_unpool2d(" + x + ", " + indices + ", 2, 1, 3)",
          "'max_unpool2d' of f32[2,3,4,4] gives a dim of size -1; expected 1 or more");
  gives("adaptive_avg_pool2d(x, (0, None))", "f32[N,3,0,8]");
  refuses("dropout(_h, 1.5)", "'dropout' has p = 1.5; expected a probability from 0 to 1");
  refuses("cdist(x, x, -1)", "'cdist' has p = -1; expected 0 or more");
  refuses("embedding(_i, zeros(7, 5), padding_idx=7)",
          "'embedding' has padding_idx 7; expected a row of f32[7,5]");
  gives("embedding(_i, zeros(7, 5), padding_idx=-7)", "f32[4,5]");
  refuses("clamp(_h)", "'clamp' needs at least one of its numbers");
}

} // namespace
} // namespace dlc::frontend
