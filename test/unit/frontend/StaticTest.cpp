//===- StaticTest.cpp - Compile-time values, operators, includes, annotations -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

#include <chrono>

using namespace dlc;
using namespace dlc::frontend;

namespace {

class Static : public Frontend {
protected:
  /// What an expression of the compile time is, or the errors about it; it stands in line 3 from
  /// column 11 on.
  std::string value(StringRef expression) {
    std::string text = import(("dl 1\ndim N = 2..8\nconst V = " + expression +
                               "\nmodel M {\nforward(_x: f32[2]) -> (y: f32[2]) {\ny = V\n}\n}\n")
                                  .str(),
                              {{}, true});
    StringRef rest = text;
    if (!rest.consume_front("6:1: error: output 'y' is ") ||
        !rest.consume_back("; expected a tensor\n"))
      return text;
    return rest.str();
  }
};

TEST_F(Static, numbers) {
  EXPECT_EQ(value("7 // 2 + 7 % 2"), "the integer 4");
  EXPECT_EQ(value("-7 // 2"), "the integer -4");
  EXPECT_EQ(value("-7 % 3"), "the integer 2");
  EXPECT_EQ(value("2 ** 3 ** 2"), "the integer 512");
  EXPECT_EQ(value("-2 ** 2"), "the integer -4");
  EXPECT_EQ(value("2 ** -1"), "the number 0.5");
  EXPECT_EQ(value("(5 & 3) + (5 | 3) + (5 ^ 3) + ~0"), "the integer 13");
  EXPECT_EQ(value("1 < 2 and not 2 == 3 or false"), "true");
  EXPECT_EQ(value("1 if 2.5 >= 3 else 2"), "the integer 2");
  EXPECT_EQ(value("min(3, 2.5, 4) + max([1, 2])"), "the number 4.5");
  EXPECT_EQ(value("int(7.9) + round(2.5) + ceil(1.2) + floor(-1.2) + abs(-3)"), "the integer 12");
  EXPECT_EQ(value("sqrt(64) + float(1)"), "the number 9");
  EXPECT_EQ(value("-float(\"inf\") == float(\"-inf\")"), "true");
  EXPECT_EQ(value("float(\"nan\") == float(\"nan\")"), "false");
  EXPECT_EQ(value("len([1, (2, 3)] + [4])"), "the integer 3");
  EXPECT_EQ(value("\"a\" + 'b' == \"ab\""), "true");
  EXPECT_EQ(value("[1, 2, 3][-1]"), "the integer 3");
  EXPECT_EQ(value("len([1, 2, 3, 4][1:4:2])"), "the integer 2");
  EXPECT_EQ(value("(1, 2) == (1, 2) and f32 != f16 and None == None"), "true");
  EXPECT_EQ(value("N * 2 // 3"), "the dim N*2/3");
  EXPECT_EQ(value("-9223372036854775808 + 1"), "the integer -9223372036854775807");
  EXPECT_EQ(value("N / N"), "the integer 1");
  EXPECT_EQ(value("12 // N"), "the dim 12/N");
  EXPECT_EQ(value("12 // (N * 2)"), "the dim 12/(N*2)");
  EXPECT_EQ(value("N * (12 // N)"), "the dim 12/N*N");
  EXPECT_EQ(value("12 % (N + 1)"), "the dim 12%(N + 1)");
  EXPECT_EQ(value("N + 1 > N"), "true");
}

TEST_F(Static, valueErrors) {
  EXPECT_EQ(value("7 // 0"), "3:13: error: 7 // 0 has no value; expected a divisor other than 0\n");
  EXPECT_EQ(value("7 / 0"), "3:13: error: 7 / 0 has no value; expected a divisor other than 0\n");
  EXPECT_EQ(value("7 % 0"), "3:13: error: 7 % 0 has no value; expected a divisor other than 0\n");
  EXPECT_EQ(value("N + 1.5"),
            "3:13: error: a dim combines with integers and dims, got the number 1.5\n");
  EXPECT_EQ(value("N // 0"),
            "3:13: error: a dim is divided by what is 1 at least, got the integer 0\n");
  EXPECT_EQ(value("7 / (N - 8)"), "3:13: error: a dim is divided by what is 1 at least, got the "
                                  "dim N - 8, which may be less\n");
  EXPECT_EQ(value("N + \"a\""),
            "3:13: error: operator '+' takes tensors and numbers, got the string 'a'\n");
  EXPECT_EQ(value("\"a\" * 2"),
            "3:15: error: operator '*' takes tensors and numbers, got the string 'a'\n");
  EXPECT_EQ(value("-\"a\""),
            "3:11: error: operator '-' takes tensors and numbers, got the string 'a'\n");
  EXPECT_EQ(value("[1, 2][0:1.5]"),
            "3:20: error: the end of a slice is the number 1.5; expected an integer\n");
  EXPECT_EQ(value("[1, 2][N:]"),
            "3:18: error: the start of a slice is the dim N; expected an integer\n");
  EXPECT_EQ(value("[1][\"a\":]"),
            "3:15: error: the start of a slice is the string 'a'; expected an integer\n");
  EXPECT_EQ(value("[1].x"),
            "3:15: error: '(...).x' has no meaning here; expected a value known at compile time\n");
  EXPECT_EQ(value("float(\"1.5\")"), "3:11: error: 'float' takes a number, \"inf\", \"-inf\" or "
                                     "\"nan\" known at compile time, got the string "
                                     "'1.5'\n");
  EXPECT_EQ(value("max([])"),
            "3:11: error: 'max' of a list of 0 has no value; expected at least one number\n");
  EXPECT_EQ(value("abs(-9223372036854775807 - 1)"),
            "3:11: error: 'abs' of the integer -9223372036854775808 does not fit in 64 bits\n");
  EXPECT_EQ(value("log(0)"), "3:11: error: 'log' of the integer 0 is no finite number\n");
  EXPECT_EQ(value("sqrt(\"a\")"),
            "3:11: error: 'sqrt' takes a number known at compile time, got the string 'a'\n");
  EXPECT_EQ(
      value("len(3)"),
      "3:11: error: 'len' takes a list or a string known at compile time, got the integer 3\n");
  EXPECT_EQ(value("max(1, \"a\")"), "3:11: error: 'max' takes numbers, or a list of them, known at "
                                    "compile time, got the integer 1 and the string 'a'\n");
  EXPECT_EQ(value("bool(N)"),
            "3:11: error: 'bool' takes one value known at compile time, got the dim N\n");
  EXPECT_EQ(value("1.5 & 2"),
            "3:15: error: operator '&' takes tensors and integers, got the number 1.5\n");
  EXPECT_EQ(value("2 | 1.5"),
            "3:13: error: operator '|' takes tensors and integers, got the number 1.5\n");
  EXPECT_EQ(value("true & 1"), "3:16: error: operator '&' takes tensors and integers, got true\n");
  EXPECT_EQ(
      value("min()"),
      "3:11: error: 'min' takes numbers, or a list of them, known at compile time, got nothing\n");
  EXPECT_EQ(
      value("foo(1)"),
      "3:11: error: 'foo' cannot be called here: expected a value known at compile time; its "
      "functions are abs, bool, ceil, exp, float, floor, int, len, log, max, min, round, sqrt\n");
  EXPECT_EQ(value("1 @ 2"), "3:13: error: operator '@' takes tensors, got the integer 1\n");
  EXPECT_EQ(value("f32 + 1"), "3:15: error: operator '+' takes tensors and numbers, got a dtype\n");
  EXPECT_EQ(value("[1] < [2]"),
            "3:15: error: operator '<' takes tensors and numbers, got a list of 1\n");
  EXPECT_EQ(value("-9223372036854775807 - 2"),
            "3:32: error: the result of -9223372036854775807 - 2 does not fit in 64 bits\n");
  EXPECT_EQ(value("(-9223372036854775807 - 1) // -1"),
            "3:38: error: the result of -9223372036854775808 // -1 does not fit in 64 bits\n");
  EXPECT_EQ(value("10 ** 19"), "3:14: error: the result of 10 ** 19 does not fit in 64 bits\n");
  EXPECT_EQ(value("1 + true"), "3:13: error: operator '+' takes tensors and numbers, got true\n");
  EXPECT_EQ(value("~1.5"), "3:11: error: operator '~' takes tensors and integers, got the number "
                           "1.5\n");
  EXPECT_EQ(value("not N"), "3:11: error: operator 'not' takes values known at compile time, got "
                            "the dim N\n");
  EXPECT_EQ(value("N > 3"),
            "3:13: error: whether N > 3 is not known before the model runs; compare "
            "numbers\n");
  EXPECT_EQ(value("N ** 2"), "3:13: error: operator '**' does not take dims, got the dim N\n");
  EXPECT_EQ(value("1 if N else 2"),
            "3:16: error: a condition is the dim N; expected a value known at compile time\n");
  EXPECT_EQ(value("[1, 2][2]"), "3:18: error: index 2 lies outside a list of 2\n");
  EXPECT_EQ(value("[1][\"a\"]"),
            "3:15: error: an index of a list is the string 'a'; expected an integer or a slice\n");
  EXPECT_EQ(value("[1][::0]"), "3:15: error: the step of a slice is 0; expected 1 or more\n");
  EXPECT_EQ(value("[1][0, 0]"), "3:14: error: a list of 1 takes one index or slice, as in x[0]\n");
  EXPECT_EQ(value("3[0]"), "3:12: error: only lists can be indexed here, got the integer 3\n");
  EXPECT_EQ(value("min([])"),
            "3:11: error: 'min' of a list of 0 has no value; expected at least one number\n");
  EXPECT_EQ(value("sqrt(-1)"), "3:11: error: 'sqrt' of the integer -1 is no finite number\n");
  EXPECT_EQ(value("int(1e300)"),
            "3:11: error: 'int' of the number 1e+300 does not fit in 64 bits\n");
  EXPECT_EQ(value("1 < 2 < 3"),
            "3:17: error: comparisons do not chain; write them apart, as in 'a < b and b < c'\n");
}

TEST_F(Static, operatorsOfTensors) {
  EXPECT_EQ(body("y = x @ x", "f32[N,3,8,8]").substr(0, 10), "dl.matmul ");
  EXPECT_EQ(body("y = _i == 2", "bool[4]"),
            "dl.full 2 : i64 -> tensor<4xi64>\n"
            "dl.eq %arg2, %0 : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi1>\n");
  EXPECT_EQ(body("y = x[..., None]", "f32[N,3,8,8,1]").substr(0, 11), "dl.reshape ");
  EXPECT_EQ(body("y = x[..., 0:2, None, :]", "f32[N,3,2,1,8]").substr(0, 9), "dl.slice ");
  EXPECT_EQ(body("y = x[..., ...]", "f32[N]"),
            "5:12: error: a second '...'; expected at most one\n");
  EXPECT_EQ(body("y = _b and _b", "bool[4]"),
            "5:5: error: a condition is a tensor bool[4]; expected a value known at compile time; "
            "tensors are joined by & and |\n");
  EXPECT_EQ(body("y = x if _b else _i", "f32[N]"),
            "5:10: error: a condition is a tensor bool[4]; expected one bool, as any(x) or all(x) "
            "give it. Use where(condition, a, b) to choose among elements\n");
  EXPECT_EQ(
      body("y = reshape(x, size(x, 0), x.shape[1], size(x, -1) * 8)", "f32[N,3,64]").substr(0, 11),
      "dl.reshape ");
  EXPECT_EQ(body("y = _h + x.ndim * size(_i, 0)", "f16[4]").substr(0, 24),
            "dl.full 1.600000e+01 : f");
  EXPECT_EQ(body("y = x.relu", "f32[N]"),
            "5:5: error: 'x.relu' has no meaning: a tensor f32[N,3,8,8] has shape, ndim, dtype, T, "
            "mT, H and mH; a method is called, as in x.relu()\n");
  EXPECT_EQ(body("y = x.data", "f32[N]"), "5:5: error: 'x.data' has no meaning: a tensor "
                                          "f32[N,3,8,8] has shape, ndim, dtype, T, mT, H and mH\n");
  EXPECT_EQ(body("y = size(x, 4)", "f32[N]"),
            "5:13: error: 'dim' of 'size' is the integer 4; expected -4 to 3 for f32[N,3,8,8]\n");
  EXPECT_EQ(body("for i in range(3) { y = x }", "f32[N]"),
            "5:10: error: unknown function or layer 'range'; a range is written 0..12\n4:79: "
            "error: output 'y' is never assigned; assign to it in 'forward', as in 'y = x'\n");
  EXPECT_EQ(body("for i in 3 { y = x }", "f32[N]"),
            "5:10: error: a loop is over the integer 3; expected a range such as 0..12, a list or "
            "a list of layers\n4:79: error: output 'y' is never assigned; assign to it in "
            "'forward', as in 'y = x'\n");
  EXPECT_EQ(body("for i in 0..2.5 { y = x }", "f32[N]"),
            "5:13: error: a bound of a loop is the number 2.5; expected an integer\n");
  EXPECT_EQ(body("for i in 0.._b { y = x }", "f32[N]"),
            "5:13: error: a bound of a loop is a tensor bool[4]; expected an integer\n");
  EXPECT_EQ(body("a, b = x\ny = x", "f32[N,3,8,8]"),
            "5:1: error: 2 names for a tensor f32[N,3,8,8]; expected one name for each result\n");
}

TEST_F(Static, textsAndListsAreLimited) {
  std::string doubled = "dl 1\nconst A0 = \"ab\"\n";
  for (int i = 1; i < 17; ++i)
    doubled += "const A" + std::to_string(i) + " = A" + std::to_string(i - 1) + " + A" +
               std::to_string(i - 1) + "\n";
  EXPECT_EQ(
      import(doubled + "model M { forward(x: f32[2]) -> (y: f32[2]) { y = x } }\n", {{}, true}),
      "18:17: error: this string has more than 65536 bytes; make it shorter\n");
  std::string list = "[0";
  for (int i = 0; i < 4096; ++i)
    list += ",0";
  EXPECT_EQ(value(list + "]"),
            "3:8204: error: this list has more than 4096 elements; make it shorter\n");
}

TEST_F(Static, includesAreLimited) {
  std::string source = "dl 1\n";
  for (int i = 0; i < 66; ++i) {
    std::string name = "i" + std::to_string(i) + ".dl";
    write(name, "dl 1\n");
    source += "include \"" + name + "\"\n";
  }
  EXPECT_EQ(
      import(source + "model M { forward(x: f32[2]) -> (y: f32[2]) { y = x } }\n", {{}, true}),
      "66:1: error: the model includes more than 64 files; join some of them\n");
}

TEST_F(Static, annotationsCastAndKeepApart) {
  EXPECT_EQ(body("y = relu(_h) @f32", "f16[4]"),
            "dl.cast %arg3 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>\n"
            "dl.relu %0 : (tensor<4xf32>) -> tensor<4xf32>\n"
            "dl.cast %1 {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = relu(_h) @no_fuse", "f16[4]"),
            "dl.relu %arg3 {dl.no_fuse} : (tensor<4xf16>) -> tensor<4xf16>\n");
  EXPECT_EQ(body("y = relu(_h) @fp8", "f16[4]"),
            "5:14: error: unknown annotation '@fp8'; expected @f32, @f16, @bf16 or @no_fuse. A "
            "matrix product has a space after its @\n");
  EXPECT_EQ(body("y = relu(_h) @fp32", "f16[4]"),
            "5:14: error: unknown annotation '@fp32'; write @f32\n");
  EXPECT_EQ(body("y = relu(_h) @f16 @f32", "f16[4]"),
            "5:19: error: '@f32' is beside '@f16'; expected one dtype, and @no_fuse once\n");
  EXPECT_EQ(body("y = relu(x @x)", "f16[4]"),
            "5:12: error: '@x' has the form of an annotation, which cannot be in brackets; a "
            "matrix product has a space after its @\n");
}

TEST_F(Static, includesBringBlocksAndConstants) {
  write("a.dl", "dl 1\ninclude \"b.dl\"\nblock A { fc: Linear(K, K, bias=false)\n"
                "forward(x) -> (y) { y = fc(x) }\n}\nmodel Ignored { }\n");
  write("b.dl", "dl 1\ndim N = 1..4\nconst K = 3\n");
  StringRef model = "model M {\na: A()\nforward(x: f32[N,K]) -> (y: f32[N,K]) { y = a(x) }\n}\n";
  std::string text =
      import(("dl 1\ninclude \"b.dl\"\ninclude \"a.dl\"\n" + model).str(), {{}, true});
  EXPECT_NE(text.find("dl.weight \"a.fc.weight\""), std::string::npos) << text;
  auto check = [&](StringRef include) {
    return import(("dl 1\ninclude \"" + include + "\"\n" +
                   "model M { forward(x: f32[2]) -> (y: f32[2]) { y = x } }\n")
                      .str(),
                  {{}, true});
  };
  EXPECT_EQ(check("../a.dl"), "2:1: error: 'include' names a file in the folder of this one, got "
                              "'../a.dl'; copy the file there\n");
  EXPECT_EQ(check("none.dl"), "2:1: error: cannot read 'none.dl': No such file or directory\n");
  EXPECT_EQ(check("t.dl"),
            "2:1: error: 't.dl' includes itself: t.dl -> t.dl; move what both need to "
            "a third file\n");
  write("c.dl", "dl 1\ninclude \"d.dl\"\n");
  write("d.dl", "dl 1\ninclude \"c.dl\"\n");
  EXPECT_EQ(check("c.dl"),
            "2:1: error: 'c.dl' includes itself: c.dl -> d.dl -> c.dl; move what both "
            "need to a third file\n");
  ASSERT_FALSE(llvm::sys::fs::create_link("/etc/passwd", path("link.dl")));
  EXPECT_EQ(check("link.dl"),
            "2:1: error: 'link.dl' is a link out of the folder of this file; copy "
            "the file there\n");
  write("bad.dl", "dl 1\nconst = 1\n");
  EXPECT_EQ(check("bad.dl"),
            "2:7: error: expected the name of a constant, as in 'const HIDDEN = 128', got '='\n");
}

TEST_F(Static, namesAreMentionedWithWhatTheyStandFor) {
  SourceIndex index;
  ImportOptions options{{}, true};
  options.index = &index;
  import("dl 1\ndim N = 1..4\nconst K = N * 2\nconst BAD = 1 / 0\nconst L = [K, f32]\n"
         "model M {\na: ReLU()\nforward(x: f32[2]) -> (y: f32[2]) { y = a(x) }\n}\n",
         options);
  std::string text;
  for (const Mention &mention : index.mentions)
    text += mention.text + "\n";
  EXPECT_EQ(
      text,
      "dim N = 1..4\nN: the dim N\nconstant BAD: an erroneous value\nK: the dim N*2\nconstant L: a "
      "list of 2\nmodel M\na: ReLU\nx: f32[2]\nx: f32[2]\na: ReLU\ny: f32[2]\ny: f32[2]\n");
}

TEST_F(Static, anErrorThatALoopRepeatsIsMetAFewTimes) {
  // A fuzzer's find: 31 * 31 * 31 times the same error took 18 s.
  std::string loops, ends;
  for (char variable : {'i', 'j', 'k'}) {
    loops += std::string("for ") + variable + " in 1..32 { ";
    ends += "} ";
  }
  std::string source = "dl 1\nmodel M { forward(x: bool[2]) -> (y: bool[2]) {\n  " + loops +
                       "\n    y = -x\n  " + ends + "\n} }\n";
  auto started = std::chrono::steady_clock::now();
  EXPECT_EQ(import(source), "4:9: error: argument 'x' of 'neg' is a tensor bool[2]; expected "
                            "f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32 or "
                            "u64\n");
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(5));
}

TEST_F(Static, severalModels) {
  StringRef source = "dl 1\nmodel A { forward(x: f32[2]) -> (y: f32[2]) { y = x } }\n"
                     "model B { forward(x: f32[3]) -> (y: f32[3]) { y = x } }\n";
  ImportOptions options{{}, true};
  EXPECT_EQ(
      import(source, options),
      "3:7: error: a second model, 'B'; choose one by --model, as in --model A\n2:7: note: the "
      "first one\n");
  options.model = "B";
  EXPECT_NE(import(source, options).find("module @B"), std::string::npos);
  options.model = "C";
  EXPECT_EQ(import(source, options), "1:1: error: the file has no model 'C'; it has A, B\n");
}

} // namespace
