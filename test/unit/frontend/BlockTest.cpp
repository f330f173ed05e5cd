//===- BlockTest.cpp - Blocks: instances, calls, and each of their errors -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/frontend/FrontendFixture.h"

using namespace dlc;
using namespace dlc::frontend;

namespace {

class Blocks : public Frontend {
protected:
  /// Diagnostics, or else the names of weights and ops, one a line.
  std::string ops(StringRef source) {
    std::string text = import(source, {{}, true}), result;
    StringRef rest = text;
    for (StringRef line; !rest.empty();) {
      std::tie(line, rest) = rest.split('\n');
      StringRef op = line.split(" = dl.").second;
      if (line.contains("error: ") || line.contains("warning: ") || line.contains("note: "))
        result += (line + "\n").str();
      else if (op.consume_front("weight "))
        result += (op.take_front(op.find(" ")) + "\n").str();
      else if (!op.empty())
        result += (op.take_front(op.find(" ")) + "\n").str();
    }
    return result;
  }
};

TEST_F(Blocks, becomeInstancesWithPaths) {
  EXPECT_EQ(ops("dl 1\n"
                "block Inner(n, bias=false) {\n"
                "  fc: Linear(n, n, bias=bias)\n"
                "  forward(x) -> (y) { y = fc(x) }\n"
                "}\n"
                "block Outer(n) {\n"
                "  const M = n * 2\n"
                "  layer[i]: Inner(n) for i in 0..2\n"
                "  head: Linear(n, M)\n"
                "  forward(x) -> (y) {\n"
                "    for l in layer { x = l(x) }\n"
                "    y = head(x)\n"
                "  }\n"
                "}\n"
                "model M {\n"
                "  a.b: Outer(4)\n"
                "  forward(x: f32[1,4]) -> (y: f32[1,8]) { y = a.b(x) }\n"
                "}\n"),
            "\"a.b.layer.0.fc.weight\"\n\"a.b.layer.1.fc.weight\"\n\"a.b.head.weight\"\n"
            "\"a.b.head.bias\"\nlinear\nlinear\nlinear\n");
}

TEST_F(Blocks, shareWeightsBetweenCallsAndTakeAnyShape) {
  EXPECT_EQ(ops("dl 1\n"
                "block B {\n"
                "  fc: Linear(4, 4, bias=false)\n"
                "  forward(x, scale=None) -> (y, z) {\n"
                "    y = fc(x)\n"
                "    if scale != None { y = y * scale }\n"
                "    z = relu(y)\n"
                "  }\n"
                "}\n"
                "model M {\n"
                "  b: B()\n"
                "  forward(x: f32[1,4], s: f32[2,4]) -> (y: f32[1,4], z: f32[2,4]) {\n"
                "    y, _ = b(x)\n"
                "    pair = b(s, scale=s)\n"
                "    z = pair[1]\n"
                "  }\n"
                "}\n"),
            "\"b.fc.weight\"\nlinear\nrelu\nlinear\nmul\nrelu\n");
}

TEST_F(Blocks, passTuplesAndNone) {
  EXPECT_EQ(ops("dl 1\n"
                "block B {\n"
                "  forward(pair, n=None) -> (both, count) {\n"
                "    a, (b, c) = pair\n"
                "    both = (a + b, c)\n"
                "    count = 1 if n == None else n\n"
                "  }\n"
                "}\n"
                "model M {\n"
                "  b: B()\n"
                "  forward(x: f32[2]) -> (y: f32[2]) {\n"
                "    (s, t), one = b((x, (x, x)))\n"
                "    _, n = b((x, (x, x)), n=3)\n"
                "    y = s + t * one + n\n"
                "  }\n"
                "}\n"),
            "add\nadd\nfull\nmul\nadd\nfull\nadd\n");
}

TEST_F(Blocks, chooseLayersAndStatementsAtCompileTime) {
  EXPECT_EQ(
      ops("dl 1\n"
          "const KIND = \"b\"\n"
          "model M(deep=true) {\n"
          "  if KIND == \"a\" { a: Linear(2, 2) } else if deep and not false {\n"
          "    for i in 0..2 { for j in 0..2 { if i != j { g[i].c[j]: Linear(2, 2, bias=false) } } "
          "}\n"
          "  }\n"
          "  forward(x: f32[1,2]) -> (y: f32[1,2]) {\n"
          "    for i in 0..2 { x = g[i].c[1 - i](x) }\n"
          "    for k in [1, 2, 3] {\n"
          "      if k == 1 { x = relu(x) } else if k % 2 == 0 { x = tanh(x) } else { x = exp(x) }\n"
          "    }\n"
          "    y = x\n"
          "  }\n"
          "}\n"),
      "\"g.0.c.1.weight\"\n\"g.1.c.0.weight\"\nlinear\nlinear\nrelu\ntanh\nexp\n");
}

TEST_F(Blocks, parametersAndWeightsAreValues) {
  EXPECT_EQ(
      ops("dl 1\n"
          "block B {\n"
          "  cls: Parameter(1, 4)\n"
          "  tok: Linear(4, 4, bias=false)\n"
          "  forward(x) -> (y) { y = linear(tok(x) + cls, tok.weight) }\n"
          "}\n"
          "model M {\n"
          "  b[i]: B() for i in 0..2\n"
          "  mean: Buffer((4,))\n"
          "  forward(x: f32[3,4]) -> (y: f32[3,4]) { y = b[1](b[0](x - mean)) @ b[0].tok.weight }\n"
          "}\n"),
      "\"mean\"\n\"b.0.tok.weight\"\n\"b.0.cls\"\n\"b.1.tok.weight\"\n\"b.1.cls\"\nbroadcast\nsub\n"
      "linear\nbroadcast\nadd\nlinear\nlinear\nbroadcast\nadd\nlinear\nmatmul\n");
}

TEST_F(Blocks, layersAndValuesHaveNamesOfTheirOwn) {
  EXPECT_EQ(ops("dl 1\n"
                "model M {\n"
                "  fc: Linear(2, 2, bias=false)\n"
                "  h[i]: ReLU() for i in 0..2\n"
                "  forward(x: f32[3,2]) -> (y: f32[2]) {\n"
                "    fc = fc(x)\n"
                "    fc = linear(fc(fc), fc.weight)\n"
                "    h = h[0](fc)\n"
                "    y = h[1](h)[h.ndim]\n"
                "  }\n"
                "}\n"),
            "\"fc.weight\"\nlinear\nlinear\nlinear\nrelu\nrelu\nslice\nreshape\n");
}

TEST_F(Blocks, recursionIsRefusedWithItsCycle) {
  EXPECT_EQ(
      ops("dl 1\n"
          "block A { b: B() }\n"
          "block B { c: C() }\n"
          "block C { a: A() }\n"
          "model M {\n"
          "  a: A()\n"
          "  forward(x: f32[2]) -> (y: f32[2]) { y = x }\n"
          "}\n"),
      "4:14: error: block 'A' contains itself: A -> B -> C -> A; a block cannot be part of its "
      "own layers\n2:7: note: declared here\n"
      "3:11: note: in 'a.b.c', declared here\n2:11: note: in 'a.b', declared here\n"
      "6:3: note: in 'a', declared here\n");
}

TEST_F(Blocks, errorsInsideNameTheInstanceOnce) {
  EXPECT_EQ(ops("dl 1\n"
                "block B(n) {\n"
                "  fc: Linear(n, 3)\n"
                "  forward(x) -> (y) {\n"
                "    y = fc(x) + x\n"
                "  }\n"
                "}\n"
                "model M {\n"
                "  layer[i]: B(4) for i in 0..3\n"
                "  forward(x: f32[2,4]) -> (y: f32[2,4]) {\n"
                "    y = x\n"
                "    for l in layer { y = l(x) }\n"
                "  }\n"
                "}\n"),
            "5:15: error: cannot broadcast f32[2,3] with f32[2,4] in 'add': dims 3 and 4 differ; "
            "expected equal dims, or 1\n12:26: note: in 'layer.0', called here\n");
  EXPECT_EQ(ops("dl 1\n"
                "block B(n) {\n"
                "  fc: Linear(n)\n"
                "  forward(x) -> (y) { y = fc(x) }\n"
                "}\n"
                "model M {\n"
                "  layer[i]: B(4) for i in 0..3\n"
                "  forward(x: f32[2,4]) -> (y: f32[2,4]) { y = layer[0](x) }\n"
                "}\n"),
            "3:7: error: 'Linear' needs its argument 'out_features', an integer\n"
            "7:3: note: in 'layer.0', declared here\n");
}

TEST_F(Blocks, argumentErrors) {
  auto check = [&](StringRef declaration, StringRef call = "a(x)") {
    return ops(("dl 1\n"
                "block B(n, m=2) {\n"
                "  fc: Linear(n, m)\n"
                "  forward(x: f32[2,n], mask=None) -> (y) { y = fc(x) if mask == None else fc(x) * "
                "mask }\n"
                "}\n"
                "block Empty { act: ReLU() }\n"
                "model M {\n"
                "  a: " +
                declaration +
                "\n"
                "  forward(x: f32[2,4]) -> (y: f32[2,2]) { y = " +
                call + " }\n}\n")
                   .str());
  };
  EXPECT_EQ(check("B(4)"), "\"a.fc.weight\"\n\"a.fc.bias\"\nlinear\n");
  EXPECT_EQ(check("B()"), "8:6: error: 'B' needs its argument 'n'\n2:9: note: declared here\n"
                          "8:3: note: in 'a', declared here\n");
  EXPECT_EQ(check("B(4, 2, 3)"), "8:14: error: 'B' takes 2 arguments, got more: the integer 3\n"
                                 "2:7: note: declared here\n8:3: note: in 'a', declared here\n");
  EXPECT_EQ(check("B(4, k=3)"), "8:11: error: 'B' has no argument 'k'; it takes n, m\n"
                                "2:7: note: declared here\n8:3: note: in 'a', declared here\n");
  EXPECT_EQ(check("B(4, n=3)"), "8:11: error: 'B' gets its argument 'n' twice\n"
                                "2:7: note: declared here\n8:3: note: in 'a', declared here\n");
  EXPECT_EQ(check("B(4)", "a()"), "9:47: error: 'a' needs its argument 'x'\n"
                                  "4:11: note: declared here\n");
  EXPECT_EQ(check("B(4)", "a(x, masc=x)"),
            "9:52: error: 'a' has no argument 'masc'; did you mean 'mask'?\n"
            "4:3: note: declared here\n");
  EXPECT_EQ(check("B(4)", "a(None)"),
            "4:11: error: input 'x' of 'a' is None, declared as f32[2,4]; "
            "change one of them\n9:47: note: in 'a', called here\n");
  EXPECT_EQ(check("B(5)"),
            "4:11: error: input 'x' of 'a' is f32[2,4], declared as f32[2,5]; change "
            "one of them\n9:47: note: in 'a', called here\n");
  EXPECT_EQ(check("Empty()"), "9:47: error: block 'Empty' of 'a' has no 'forward'; add one to call "
                              "it\n6:7: note: declared here\n");
  EXPECT_EQ(check("B(4)", "a"), "9:47: error: 'a' is a layer, not a value; call it, as in a(x)\n");
  EXPECT_EQ(check("Epty(4)"), "8:6: error: unknown layer 'Epty'; did you mean 'Empty'?\n");
  EXPECT_EQ(check("Empty(k=3)"),
            "8:12: error: 'Empty' has no argument 'k'; it takes none\n6:7: note: declared "
            "here\n8:3: note: in 'a', declared here\n9:47: error: block 'Empty' of 'a' has no "
            "'forward'; add one to call it\n6:7: note: declared here\n");
}

TEST_F(Blocks, declarationErrors) {
  StringRef model = "model M {\nforward(x: f32[2]) -> (y: f32[2]) { y = x }\n}\n";
  EXPECT_EQ(ops(("dl 1\nblock B { }\nblock B { }\nblock Linear { }\n" + model).str()),
            "3:7: error: block 'B' has been declared before; choose another name\n"
            "2:7: note: the first declaration\n"
            "4:7: error: 'Linear' is a kind of layer; choose another name for the block\n");
  EXPECT_EQ(ops(("dl 1\nblock B(a=1, b) { }\n" + model).str()),
            "2:14: error: the parameter 'b' without default cannot follow one with a default; move "
            "it to the front\n");
  EXPECT_EQ(
      ops(("dl 1\nblock B { forward(x=1, y) -> (z) { z = y } }\n" + model).str()),
      "2:24: error: the input 'y' without default cannot follow one with a default; move it to "
      "the front\n");
  EXPECT_EQ(
      ops("dl 1\nmodel M {\nl: ReLU() for i in 0..2\nm[i]: ReLU() for i in 0..x\n"
          "n[\"a\"]: ReLU()\np: Parameter(2, \"a\")\nq: Parameter(2, shape=3)\n"
          "forward(x: f32[2]) -> (y: f32[2]) { y = x }\n}\n"),
      "3:1: error: layer 'l' has been declared before; choose another name, as with the number "
      "of the loop in 'layer[i]'\n"
      "4:26: error: unknown constant or dim 'x'; declare it, as in 'const x = 128' or 'dim x = "
      "1..64'\n"
      "5:3: error: the index of a layer is the string 'a'; expected an integer of at least 0\n"
      "6:17: error: a size of 'Parameter' is the string 'a'; expected an integer of at least 0\n"
      "7:17: error: 'Parameter' takes sizes and dtype, as in Parameter(1, 16, dtype=f32), got "
      "'shape' = the integer 3\n");
}

TEST_F(Blocks, aLoopThatCannotBeReadGivesNoLayers) {
  EXPECT_EQ(ops("dl 1\nmodel M {\n  l[i]: Linear(4, 4) for i infor 0..2\n"
                "  forward(x: f32[2,4]) -> (y: f32[2,4]) { y = relu(x) }\n}\n"),
            "3:28: error: expected 'in' after the name that counts, as in 'for i in 0..12', got "
            "'infor'\n");
}

TEST_F(Blocks, limitsAreSaid) {
  StringRef forward = "forward(x: f32[2]) -> (y: f32[2]) { y = x }\n}\n";
  EXPECT_EQ(ops(("dl 1\nmodel M {\na[i]: ReLU() for i in 0..20000\n" + forward).str()),
            "3:1: error: the model has more than 16384 layers; make its loops shorter\n");
  EXPECT_EQ(ops("dl 1\nmodel M {\nforward(x: f32[2]) -> (y: f32[2]) {\n"
                "for i in 0..1000 { for j in 0..1000 { x = relu(x) } }\ny = x\n}\n}\n"),
            "3:1: error: the model has more than 32768 ops; make its loops shorter\n");
  EXPECT_EQ(ops("dl 1\nmodel M {\nforward(x: f32[2]) -> (y: f32[2]) {\n"
                "for i in 0..100000 { for j in 0..100000 { z = i } }\ny = x\n}\n}\n"),
            "4:43: error: this model takes more than 1000000 steps at compile time (values read, "
            "statements run); make its loops shorter\n");
  EXPECT_EQ(ops(("dl 1\nconst A = 0..2\nmodel M {\n" + forward).str()),
            "2:12: error: expected 'dim', 'const', 'include', 'block', 'model', 'sequential' or "
            "'weights', got '..'\n");
  std::string doubled = "dl 1\nconst A0 = [1, 2]\n";
  for (int i = 1; i < 60; ++i)
    doubled += "const A" + std::to_string(i) + " = A" + std::to_string(i - 1) + " + A" +
               std::to_string(i - 1) + "\n";
  EXPECT_EQ(ops(doubled + ("model M {\n" + forward).str()),
            "13:17: error: this list has more than 4096 elements; make it shorter\n");
  // Loops in loops, in blocks of blocks.
  std::string loops = "dl 1\nblock L0 { a: ReLU() }\n", open, close;
  for (int i = 0; i < 200; ++i) {
    open += "for _i in 0..1 { ";
    close += "}";
  }
  for (int i = 1; i < 7; ++i)
    loops += "block L" + std::to_string(i) + " { " + open + "b: L" + std::to_string(i - 1) + "() " +
             close + " }\n";
  EXPECT_EQ(
      ops(loops + ("model M {\na: L6()\n" + forward).str()),
      "3:318: error: blocks and loops are nested more than 1024 deep; flatten some of "
      "them\n4:3412: note: in 'a.b.b.b.b.b', declared here\n5:3412: note: in 'a.b.b.b.b', declared "
      "here\n6:3412: note: in 'a.b.b.b', declared here\n7:3412: note: in 'a.b.b', declared here\n");
  std::string name(600, 'n');
  EXPECT_EQ(
      ops("dl 1\nblock B { " + name + ": ReLU() }\nmodel M {\n" + name + ": B()\n" + forward.str()),
      "2:11: error: the name of this layer has 1201 characters; the limit is 1024\n4:1: note: in "
      "'nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...', "
      "declared here\n");
  // A block that gets itself as a layer.
  EXPECT_EQ(ops("dl 1\nblock B { forward(f, x) -> (y) { y = f(f, x) } }\nmodel M {\n"
                "b[i]: B() for i in 0..1\nforward(x: f32[2]) -> (y: f32[2]) {\n"
                "for f in b { y = f(f, x) }\n}\n}\n"),
            "2:38: error: blocks call blocks more than 64 deep; does a block call itself through a "
            "layer that it was given?\n2:38: note: in 'b.0', called here\n2:38: note: in 'b.0', "
            "called here\n2:38: note: in 'b.0', called here\n2:38: note: in 'b.0', called here\n");
  // Expressions in the calls of blocks in the calls of blocks.
  std::string calls = "dl 1\nblock C0 { forward(x) -> (y) { y = x } }\n";
  for (int i = 1; i < 60; ++i)
    calls += "block C" + std::to_string(i) + " { b: C" + std::to_string(i - 1) +
             "()\nforward(x) -> (y) { y = " + std::string(20, '-') + "b(x) } }\n";
  EXPECT_EQ(ops(calls + "model M {\na: C59()\nforward(x: f32[2]) -> (y: f32[2]) { y = a(x) }\n}\n"),
            "28:34: error: this is nested more than 1024 deep through the calls of blocks; split "
            "it into several statements\n30:45: note: in "
            "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....',"
            " called here\n32:45: note: in "
            "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....',"
            " called here\n34:45: note: in "
            "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....',"
            " called here\n36:45: note: in "
            "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....',"
            " called here\n");
  // Blocks in blocks in blocks.
  std::string deep = "dl 1\nblock B0 { a: ReLU() }\n";
  for (int i = 1; i < 100; ++i)
    deep += "block B" + std::to_string(i) + " { b: B" + std::to_string(i - 1) + "() }\n";
  EXPECT_EQ(
      ops(deep + ("model M {\na: B99()\n" + forward).str()),
      "39:16: error: blocks are nested more than 64 deep; flatten some of them\n40:13: note: "
      "in 'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....', "
      "declared here\n41:13: note: in "
      "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....', "
      "declared here\n42:13: note: in "
      "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....', "
      "declared here\n43:13: note: in "
      "'a.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b....', "
      "declared here\n");
}

TEST_F(Blocks, warningsComeOnceForEachDeclaration) {
  EXPECT_EQ(ops("dl 1\n"
                "block B(n, spare=1) {\n"
                "  used: ReLU()\n"
                "  idle: GELU()\n"
                "  forward(x, _ignored=None) -> (y) {\n"
                "    h = used(x)\n"
                "    y = relu(x)\n"
                "  }\n"
                "}\n"
                "model M {\n"
                "  layer[i]: B(i) for i in 0..3\n"
                "  never: B(1)\n"
                "  forward(x: f32[2]) -> (y: f32[2]) {\n"
                "    for i in 0..2 { x = layer[i](x) }\n"
                "    y = x\n"
                "  }\n"
                "}\n"),
            "11:3: warning: layer 'layer.2' is never called\n"
            "12:3: warning: layer 'never' is never called\n"
            "4:3: warning: layer 'layer.0.idle' is never called\n"
            "2:9: warning: parameter 'n' is never used\n"
            "2:12: warning: parameter 'spare' is never used\n"
            "6:5: warning: 'h' is never used\n"
            "relu\nrelu\nrelu\nrelu\n");
}

} // namespace
