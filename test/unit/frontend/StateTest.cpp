//===- StateTest.cpp - States: what runs leave for the next, and each of their errors ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

class States : public Frontend {
protected:
  /// What is said of a model with these members and this body of forward(x: f32[N,4]) -> (y:
  /// f32[N,4]).
  std::string said(StringRef members, StringRef body) {
    return import(("dl 1\ndim N = 1..8\ndim M = 1..8\nmodel A {\n" + members +
                   "\n  forward(x: f32[N,4]) -> (y: f32[N,4]) {\n" + body + "\n  }\n}\n")
                      .str(),
                  {{}, true});
  }
};

TEST_F(States, areArgumentsAndResultsBehindTheOthers) {
  std::string text = import("dl 1\n"
                            "block Counter {\n"
                            "  state total: f32[4]\n"
                            "  forward(x) -> (y) {\n"
                            "    total = total + x\n"
                            "    y = total * 2.0\n"
                            "  }\n"
                            "}\n"
                            "model A {\n"
                            "  state: Linear(4, 4, bias=false)\n" // a layer of that name
                            "  state steps: i64[]\n"
                            "  c[i]: Counter() for i in 0..2\n"
                            "  forward(x: f32[4]) -> (y: f32[4]) {\n"
                            "    y = c[1](c[0](state(x)))\n"
                            "    steps = steps + 1\n"
                            "    y = c[0](y)\n" // again: it sees what the first call has left
                            "  }\n"
                            "}\n",
                            {{}, true});
  EXPECT_NE(text.find("%arg1: tensor<i64> {dl.name = \"steps\", dl.state}, "
                      "%arg2: tensor<4xf32> {dl.name = \"c.0.total\", dl.state}, "
                      "%arg3: tensor<4xf32> {dl.name = \"c.1.total\", dl.state}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("-> (tensor<4xf32> {dl.name = \"y\"}, tensor<i64> {dl.name = \"steps\", "
                      "dl.state}, tensor<4xf32> {dl.name = \"c.0.total\", dl.state}, "
                      "tensor<4xf32> {dl.name = \"c.1.total\", dl.state})"),
            std::string::npos)
      << text;
}

TEST_F(States, hasNameAndType) {
  EXPECT_EQ(said("  state 3", "y = x"),
            "5:9: error: expected the name of the state, as in 'state k: "
            "f16[N,8,512,64]', got '3'\n");
  EXPECT_EQ(said("  state k = f32[4]", "y = x"),
            "5:11: error: expected ':' and the type of the state, as in 'state k: "
            "f16[N,8,512,64]', got '='\n");
}

TEST_F(States, areDeclaredOnce) {
  EXPECT_EQ(said("  state k: f32[4]\n  state k: f32[4]", "k = k + 1\ny = x + k"),
            "6:9: error: state 'k' has been declared before; choose another name, or put "
            "it into a block of which each has its own\n");
  EXPECT_EQ(said("  for i in 0..3 { state k: f32[4] }", "k = k + 1\ny = x + k"),
            "5:25: error: state 'k' has been declared before; choose another name, or "
            "put it into a block of which each has its own\n");
}

TEST_F(States, haveNamesOfTheirOwn) {
  EXPECT_EQ(said("  state x: f32[N,4]", "y = x"),
            "5:9: error: 'x' is a dim, a constant or an input already; choose another name for the "
            "state\n6:11: note: declared here\n");
  EXPECT_EQ(said("  state N: f32[4]", "y = x"),
            "5:9: error: 'N' is a dim, a constant or an input already; choose another name for the "
            "state\n2:5: note: declared here\n");
  EXPECT_TRUE(StringRef(said("  state f32: f32[4]", "y = x"))
                  .starts_with("5:9: error: 'f32' cannot be the name of a state: it is a dtype; "
                               "choose another name\n"));
  EXPECT_TRUE(StringRef(said("  state a.b: f32[4]", "y = x"))
                  .starts_with("5:9: error: 'a.b' cannot be the name of a state: it is a path; "
                               "choose another name\n"));
}

TEST_F(States, keepTheirType) {
  EXPECT_EQ(said("  state k: f32[N,4]", "k = cast(x, f16)\ny = x"),
            "7:1: error: state 'k' becomes f16[N,4], declared as f32[N,4]; change one of "
            "them\n5:9: note: declared here\n");
  EXPECT_EQ(said("  state k: f32[N,4]", "k = 1\ny = x"),
            "7:1: error: state 'k' becomes the integer 1, declared as f32[N,4]; change "
            "one of them\n5:9: note: declared here\n");
}

TEST_F(States, haveDimsThatInputsTell) {
  EXPECT_EQ(said("  state k: f32[M,4]", "k = k + 1\ny = x"),
            "5:9: error: state 'k' is f32[M,4], and no input tells 'M'; write a number, "
            "or a dim that an input has\n");
}

TEST_F(States, areAssignedByAll) {
  EXPECT_TRUE(StringRef(said("  state k: f32[N,4]", "y = x + k"))
                  .starts_with("5:9: warning: state 'k' is never assigned, so that it stays 0\n"));
}

TEST_F(States, areNotMoreThanTheLimit) {
  std::string text = import("dl 1\n"
                            "block B {\n"
                            "  state k: f32[1]\n"
                            "  forward(x) -> (y) { y = x }\n"
                            "}\n"
                            "model A {\n"
                            "  b[i]: B() for i in 0..5000\n"
                            "  forward(x: f32[1]) -> (y: f32[1]) { y = x }\n"
                            "}\n",
                            {{}, true});
  EXPECT_NE(text.find("error: the model has more than 4096 states; join some of them\n"),
            std::string::npos)
      << text;
}

} // namespace
