//===- ParserTest.cpp - Syntax, each of its errors, and recovery --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Parser.h"
#include "test/unit/frontend/Listener.h"

#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace dlc::frontend;
using llvm::cast;
using llvm::StringRef;

namespace {

/// The tree in full parentheses.
std::string print(const Expr *expr) {
  if (!expr)
    return "";
  auto list = [](auto &items, auto text) {
    std::string result;
    for (auto &item : items)
      result += (result.empty() ? "" : ", ") + text(item);
    return result;
  };
  if (auto *e = llvm::dyn_cast<IntegerExpr>(expr))
    return std::to_string(e->value);
  if (auto *e = llvm::dyn_cast<FloatExpr>(expr))
    return llvm::formatv("{0:E}", e->value);
  if (auto *e = llvm::dyn_cast<StringExpr>(expr))
    return quote(e->value);
  if (auto *e = llvm::dyn_cast<BooleanExpr>(expr))
    return e->value ? "true" : "false";
  if (llvm::isa<NoneExpr>(expr))
    return "None";
  if (auto *e = llvm::dyn_cast<NameExpr>(expr))
    return e->name.str();
  if (auto *e = llvm::dyn_cast<ListExpr>(expr))
    return "{" + list(e->elements, [](auto &x) { return print(x.get()); }) + "}";
  if (auto *e = llvm::dyn_cast<CallExpr>(expr))
    return print(e->callee.get()) + "(" +
           list(e->arguments,
                [](auto &x) {
                  return (x.keyword ? x.keyword->name.str() + "=" : "") + print(x.value.get());
                }) +
           ")";
  if (auto *e = llvm::dyn_cast<UnaryExpr>(expr))
    return "(" + spellingOf(e->op).str() + (e->op == UnaryOp::logicalNot ? " " : "") +
           print(e->operand.get()) + ")";
  if (auto *e = llvm::dyn_cast<BinaryExpr>(expr))
    return "(" + print(e->lhs.get()) + " " + spellingOf(e->op).str() + " " + print(e->rhs.get()) +
           ")";
  if (auto *e = llvm::dyn_cast<ConditionalExpr>(expr))
    return "(" + print(e->value.get()) + " if " + print(e->condition.get()) + " else " +
           print(e->otherwise.get()) + ")";
  if (auto *e = llvm::dyn_cast<AttributeExpr>(expr))
    return print(e->base.get()) + "." + e->name.name.str();
  auto *e = llvm::cast<SubscriptExpr>(expr);
  return print(e->base.get()) + "[" +
         list(e->indices,
              [](auto &x) {
                return x.isEllipsis ? std::string("...")
                       : x.isSlice  ? print(x.start.get()) + ":" + print(x.stop.get()) + ":" +
                                          print(x.step.get())
                                    : print(x.value.get());
              }) +
         "]";
}

struct Parsed {
  SourceFile file;
  std::string errors;
  std::unique_ptr<llvm::SourceMgr> sources = std::make_unique<llvm::SourceMgr>();
};

Parsed parse(StringRef source) {
  Parsed parsed;
  mlir::MLIRContext context;
  Listener listener(context);
  parsed.sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, "t.dl"), {});
  Diagnostics diagnostics(*parsed.sources, context);
  parsed.file = parseSource(parsed.sources->getMemoryBuffer(1)->getBuffer(), diagnostics);
  parsed.errors = listener.text;
  return parsed;
}

/// Parses `text` as the right side of `y = ...` on line 4.
std::string expr(StringRef text) {
  Parsed parsed =
      parse(("dl 1\nmodel M {\nforward(x: f32[N]) -> (y: f32[N]) {\ny = " + text + "\n}}").str());
  if (!parsed.errors.empty())
    return parsed.errors;
  return print(cast<AssignStatement>(*parsed.file.models[0].forward->body[0]).value.get());
}

TEST(Parser, wholeFile) {
  Parsed parsed = parse(R"(# a comment
dl 1
dim N = 1..64
dim T
const WIDTH = 8
model Net(width=WIDTH, bias=true) {
  const HALF = width / 2
  a.0.b: Conv2d(1, 32, kernel_size=3)   c: ReLU()
  forward(x: f32[N, 1, N*2], mask: bool[]) -> (y: f32[N,10], z: i64[N]) {
    h, (a, b) = lstm(x)
    y = a; z = argmax(h, dim=-1)
  }
}
weights "f.safetensors"
)");
  EXPECT_EQ(parsed.errors, "");
  const SourceFile &file = parsed.file;
  EXPECT_EQ(file.version, 1);
  ASSERT_EQ(file.dims.size(), 2u);
  EXPECT_EQ(file.dims[0].name.name, "N");
  EXPECT_EQ(print(file.dims[0].max.get()), "64");
  EXPECT_EQ(file.dims[1].min, nullptr);
  ASSERT_EQ(file.weights.size(), 1u);
  ASSERT_EQ(file.weights[0].files.size(), 1u);
  EXPECT_EQ(file.weights[0].files[0].value, "f.safetensors");
  const BlockDecl &model = file.models.at(0);
  EXPECT_EQ(model.name.name, "Net");
  ASSERT_EQ(model.parameters.size(), 2u);
  EXPECT_EQ(model.parameters[1].name.name, "bias");
  ASSERT_EQ(model.members.size(), 3u);
  EXPECT_EQ(print(cast<ConstMember>(*model.members[0]).decl.value.get()), "(width / 2)");
  const auto &layer = cast<LayerDecl>(*model.members[1]);
  EXPECT_EQ(layer.path.name, "a.0.b");
  EXPECT_EQ(layer.type.name, "Conv2d");
  EXPECT_EQ(layer.arguments.at(2).keyword->name, "kernel_size");
  ASSERT_TRUE(model.forward);
  EXPECT_EQ(model.forward->inputs.at(0).type.dims.size(), 3u);
  EXPECT_EQ(model.forward->inputs.at(1).type.dims.size(), 0u);
  EXPECT_EQ(model.forward->outputs.at(1).type.dtype.name, "i64");
  ASSERT_EQ(model.forward->body.size(), 3u);
  const Target &target = cast<AssignStatement>(*model.forward->body[0]).target;
  ASSERT_EQ(target.elements.size(), 2u);
  EXPECT_EQ(target.elements[0].name.name, "h");
  EXPECT_EQ(target.elements[1].elements.at(1).name.name, "b");
}

TEST(Parser, expressions) {
  EXPECT_EQ(expr("a + b * -c - d"), "((a + (b * (-c))) - d)");
  EXPECT_EQ(expr("(a + b) * c / 2"), "(((a + b) * c) / 2)");
  EXPECT_EQ(expr("relu(layer1.0.bn1(x) + x)"), "relu((layer1.0.bn1(x) + x))");
  EXPECT_EQ(expr("cat(a, b, dim=1,)"), "cat(a, b, dim=1)");
  EXPECT_EQ(expr("f((1, 2), [3], (4,), (5), ())"), "f({1, 2}, {3}, {4}, 5, {})");
  EXPECT_EQ(expr("f(None, true, False, \"a\\n\\\"\", 1.5e3)"),
            "f(None, true, false, 'a\\x0A\"', 1.500000E+03)");
  EXPECT_EQ(expr("x[:, 1:, :-1, ::2, -1, 0:4:2]"), "x[::, 1::, :(-1):, ::2, (-1), 0:4:2]");
  EXPECT_EQ(expr("f(x)[0][1]"), "f(x)[0][1]");
  EXPECT_EQ(expr("f(\n  a,\n  -b\n  + c)"), "f(a, ((-b) + c))");
  EXPECT_EQ(expr("softmax(x, dim=-1)"), "softmax(x, dim=(-1))"); // a keyword that is a name
}

TEST(Parser, operatorsBindAsInPython) {
  EXPECT_EQ(expr("a or b and not c == d"), "(a or (b and (not (c == d))))");
  EXPECT_EQ(expr("a | b ^ c & d + e @ f"), "(a | (b ^ (c & (d + (e @ f)))))");
  EXPECT_EQ(expr("-a ** -b ** c"), "(-(a ** (-(b ** c))))");
  EXPECT_EQ(expr("~a % b // c"), "(((~a) % b) // c)");
  EXPECT_EQ(expr("a if b < c else d if e else f"), "(a if (b < c) else (d if e else f))");
  EXPECT_EQ(expr("(a < b) == c"), "((a < b) == c)");
  EXPECT_EQ(expr("a@b"), "(a @ b)");
  EXPECT_EQ(expr("layer[i].out.dense(x)[0].shape"), "layer[i].out.dense(x)[0].shape");
  EXPECT_EQ(expr("h[i].0(x)"), "h[i].0(x)");
  EXPECT_EQ(expr("x[..., None, 0]"), "x[..., None, 0]");
  EXPECT_EQ(expr("f(a == b)"), "f((a == b))");
  EXPECT_EQ(expr("a if b"),
            "4:11: error: expected 'else' after the condition, as in 'a if flag else "
            "b', got the end of the line\n");
  EXPECT_EQ(expr("x[0]."), "4:10: error: expected a name after '.', got the end of the line\n");
}

TEST(Parser, linesEndStatements) {
  EXPECT_EQ(expr("a\n- b"), "5:1: error: expected a statement such as 'x = relu(x)', got '-'\n");
  EXPECT_EQ(expr("a\n(b, c) = d"), "a");
}

TEST(Parser, expressionErrors) {
  EXPECT_EQ(expr("relu(x"),
            "4:11: error: expected ',' or ')' in the arguments of 'relu', got the end of the line\n"
            "4:9: note: to match this (\n");
  EXPECT_EQ(expr("relu(x]"),
            "4:11: error: expected ',' or ')' in the arguments of 'relu', got ']'\n"
            "4:9: note: to match this (\n");
  EXPECT_EQ(expr("a +"), "4:8: error: expected an expression, got the end of the line\n");
  EXPECT_EQ(expr("a b"), "4:7: error: expected the end of the statement, got 'b'\n");
  EXPECT_EQ(expr("x[]"), "4:7: error: expected an index, got ']'\n");
  EXPECT_EQ(expr("f(x)(y)"),
            "4:9: error: only a function or a layer can be called; declare a layer above "
            "'forward', as in 'fc: Linear(8, 10)', and call it by its name\n");
  EXPECT_EQ(expr("f(a=1, b)"), "4:12: error: a positional argument cannot follow 'a'=...; move it "
                               "to the front or name it\n");
  EXPECT_EQ(expr("9223372036854775808"),
            "4:5: error: the integer '9223372036854775808' does not fit in 64 bits; "
            "expected at most 9223372036854775807\n");
  EXPECT_EQ(expr("1e999"),
            "4:5: error: the number '1e999' does not fit in f64; expected at most 1.797e308\n");
  EXPECT_EQ(expr(R"("\q")"),
            "4:6: error: unknown escape '\\q' in a string; expected \\n, \\t, \\\\, \\\" or \\'\n");
  EXPECT_EQ(expr("$"), "4:5: error: '$' has no meaning here; remove it\n");
}

TEST(Parser, nestingIsLimited) {
  std::string tooDeep =
      "4:261: error: this is nested more than 256 deep; split it into several statements\n";
  EXPECT_EQ(expr(std::string(100000, '(')), tooDeep);
  EXPECT_EQ(expr(std::string(100000, '-')),
            "4:260: error: this is nested more than 256 deep; split it into several statements\n");
  std::string sum = "x";
  for (int i = 0; i < 100000; ++i)
    sum += "+x";
  EXPECT_EQ(expr(sum),
            "4:516: error: this is nested more than 256 deep; split it into several statements\n");
  EXPECT_EQ(expr("x" + std::string(300, '[')),
            "4:262: error: this is nested more than 256 deep; split it into several statements\n");
  std::string good(250, '(');
  EXPECT_EQ(expr(good + "x" + std::string(250, ')')), "x");
}

std::string errors(StringRef source) { return parse(source).errors; }

TEST(Parser, fileErrors) {
  EXPECT_EQ(errors(""), "1:1: error: expected 'dl 1' as the first line (the version of the "
                        "language), got the end of the file\n");
  EXPECT_EQ(
      errors("dim N"),
      "1:1: error: expected 'dl 1' as the first line (the version of the language), got 'dim'\n");
  EXPECT_EQ(errors("dl\ndim N"), "1:3: error: expected an integer after 'dl': the version of the "
                                 "language, 'dl 1', got the end of the line\n");
  EXPECT_EQ(errors("dl 2"), "1:4: error: this dlc reads version 1 of the language, the file is in "
                            "version 2; write 'dl 1', or use a newer dlc\n");
  EXPECT_EQ(
      errors("dl 1\nmodle M { a }\ndim"),
      "2:1: error: expected 'dim', 'const', 'include', 'block', 'model', 'sequential' or "
      "'weights', "
      "got 'modle'; did you mean "
      "'model'?\n"
      "3:4: error: expected the name of a dim, as in 'dim N = 1..64', got the end of the file\n");
  EXPECT_EQ(errors("dl 1\ndim N = 4"), "2:10: error: expected '..' and a largest value, as in 'dim "
                                       "N = 1..64', got the end of the file\n");
  EXPECT_EQ(errors("dl 1\nweights f"), "2:9: error: expected the name of a file after 'weights', "
                                       "as in 'weights \"model.safetensors\"', got 'f'\n");
  EXPECT_EQ(errors("dl 1\nconst A 1"),
            "2:9: error: expected '=' and a value, as in 'const HIDDEN = 128', got '1'\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M(a) {}"),
      "2:10: error: expected '=' and a default after a parameter, as in '(width=64)', got ')'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\n"),
            "2:10: error: expected '}' at the end of model 'M', got the end of the file\n"
            "2:9: note: to match this {\n");
}

TEST(Parser, modelErrors) {
  EXPECT_EQ(errors("dl 1\nmodel M {\n  conv1 Conv2d(1)\n  fc = Linear(2)\n  a: 3\n  b: ReLU\n}"),
            "3:9: error: expected ':' and a layer after its name, as in 'conv1: Conv2d(1, 32, "
            "kernel_size=3)', got 'Conv2d'\n"
            "4:6: error: expected ':' and a layer after its name, as in 'conv1: Conv2d(1, 32, "
            "kernel_size=3)', got '='\n"
            "5:6: error: expected the kind of the layer, as in 'conv1: Conv2d(1, 32, "
            "kernel_size=3)', got '3'\n"
            "6:10: error: expected '(' and the arguments of 'ReLU', got the end of the line\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32) -> (y: f32[]) {\nz = = 1\n}\n}\ndim"),
      "3:15: error: expected '[' and the dims after the dtype, as in 'f32[N,10]' (a scalar is "
      "'f32[]'), got ')'\n"
      "4:5: error: expected an expression, got '='\n"
      "7:4: error: expected the name of a dim, as in 'dim N = 1..64', got the end of the file\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) {\n}\n}"),
            "3:19: error: expected '->' and the outputs of 'forward', as in '-> (y: f32[N,10])', "
            "got '{'\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward() -> () {}\nforward() -> () {}\n}"),
      "4:1: error: the model has a second 'forward'; expected one\n3:1: note: the first one\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward() -> ()\nx = 1\n}\n}"),
      "3:16: error: expected '{' before the statements of 'forward', got the end of the line\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward() -> () {\nreturn x\nrelu(x)\n)\n}\n}"),
            "4:1: error: there is no 'return': assign to the name of the output instead\n"
            "5:5: error: expected '=' and an expression after 'relu', got '('\n"
            "6:1: error: expected a statement such as 'x = relu(x)', got ')'\n");
  // A dim that is set in is meant to be there.
  EXPECT_EQ(
      errors("dl 1\nmodel M {\n  dim N = 1..4\n  weights \"f\"\nforward() -> () {\nx = 1\n}\n}"),
      "3:3: error: 'dim' belongs to the file; move it out of these braces, to the front\n"
      "4:3: error: 'weights' belongs to the file; move it out of these braces, to the front\n");
  // A missing brace does not swallow the next declaration.
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward() -> () {\nx = 1\n}\nweights \"f\"\n"),
            "5:2: error: expected '}' at the end of model 'M', got the end of the line\n2:9: note: "
            "to match this {\n");
}

TEST(Parser, blocksLoopsAndSequentials) {
  Parsed parsed = parse(R"(dl 1
include "blocks.dl"
block B(n, m=2) {
  if n > 1 { a: ReLU() } else if m { } else { const C = 1 }
  for i in 0..n { x.y[i].z: Linear(n, m) @f32 @no_fuse }
  p[i][j]: B(1) for i in 0..2 for j in (1, 2)
  forward(x, mask: bool[N]=None) -> (y, z) {
    for l in p { x = l(x) @bf16 }
    if mask == None { (y, z) = x } else { y = x; z = mask }
  }
}
sequential S(x: f32[N,28,28,1] layout NHWC) -> (y: f32[N,10]) {
  stem: Conv2D(32, 3, activation=relu)  Flatten()
  Dense(10)
}
)");
  EXPECT_EQ(parsed.errors, "");
  EXPECT_EQ(parsed.file.includes.at(0).path, "blocks.dl");
  const BlockDecl &block = parsed.file.blocks.at(0);
  EXPECT_EQ(block.parameters.at(0).value, nullptr);
  ASSERT_EQ(block.members.size(), 3u);
  EXPECT_EQ(cast<BranchMember>(*block.members[0]).arms.size(), 3u);
  const auto &inner = cast<LayerDecl>(*cast<LoopMember>(*block.members[1]).body.at(0));
  EXPECT_EQ(inner.path.name, "x.y");
  EXPECT_EQ(inner.rest.size(), 2u);
  EXPECT_EQ(inner.annotations.at(1).name.name, "no_fuse");
  EXPECT_EQ(cast<LayerDecl>(*block.members[2]).loops.size(), 2u);
  EXPECT_TRUE(block.forward->inputs.at(1).defaultValue);
  ASSERT_EQ(block.forward->body.size(), 2u);
  const SequentialDecl &sequential = parsed.file.sequentials.at(0);
  EXPECT_EQ(sequential.inputs.at(0).layout->name, "NHWC");
  EXPECT_EQ(sequential.outputs.at(0).name.name, "y");
  ASSERT_EQ(sequential.layers.size(), 3u);
  EXPECT_EQ(sequential.layers[0].name->name, "stem");
  EXPECT_EQ(sequential.layers[2].type.name, "Dense");
}

TEST(Parser, blockErrors) {
  EXPECT_EQ(
      errors("dl 1\nblock B {\nfor i 0..2 { }\n}"),
      "3:7: error: expected 'in' after the name that counts, as in 'for i in 0..12', got '0'\n");
  EXPECT_EQ(errors("dl 1\nblock B {\nif true {\nforward(x) -> (y) { y = x }\n}\n}"),
            "4:1: error: a 'forward' cannot be inside of 'for' or 'if'; put them inside of the one "
            "'forward'\n");
  EXPECT_EQ(errors("dl 1\nblock B {\na[i: ReLU()\n}"),
            "3:4: error: expected ']' after the index of a layer, got ':'\n");
  EXPECT_EQ(
      errors("dl 1\ninclude blocks"),
      "2:9: error: expected the name of a file after 'include', as in 'include \"blocks.dl\"', "
      "got 'blocks'\n");
  EXPECT_EQ(
      errors("dl 1\nsequential S() { }"),
      "2:13: error: sequential 'S' has no input; expected one, as in '(x: f32[N,28,28,1])'\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) { Add()(x, 2) }"),
            "2:36: error: expected the name of an input or of a layer before, as in 'Add()(a, b)', "
            "got '2'\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) {\n3\n}"),
            "3:1: error: expected a layer, as in 'Dense(10)' or 'head: Dense(10)', got '3'\n");
  // Loops in loops, each with an error: the depth is limited all the same.
  std::string deep = "dl 1\nmodel M {\n";
  for (int i = 0; i < 300; ++i)
    deep += "for i in 0..1 {\n";
  EXPECT_EQ(errors(deep),
            "259:10: error: this is nested more than 256 deep; split it into several "
            "statements\n302:16: error: expected '}' after these layers, got the end of the "
            "file\n258:15: note: to match this {\n");
}

TEST(Parser, saysWhatItExpectsInDeclarations) {
  EXPECT_EQ(errors("dl 1\ndim 3"),
            "2:5: error: expected the name of a dim, as in 'dim N = 1..64', got '3'\n");
  EXPECT_EQ(errors("dl 1\nconst 3"),
            "2:7: error: expected the name of a constant, as in 'const HIDDEN = 128', got '3'\n");
  EXPECT_EQ(errors("dl 1\ninclude 3"), "2:9: error: expected the name of a file after 'include', "
                                       "as in 'include \"blocks.dl\"', got '3'\n");
  EXPECT_EQ(errors("dl 1\nmodel {"),
            "2:7: error: expected the name of the model, as in 'model Net { ... }', got '{'\n");
  EXPECT_EQ(errors("dl 1\nblock {"), "2:7: error: expected the name of the block, as in 'block "
                                     "Residual(width) { ... }', got '{'\n");
  EXPECT_EQ(errors("dl 1\nmodel M(3) {}"),
            "2:9: error: expected the name of a parameter, as in '(width=64)', got '3'\n");
  EXPECT_EQ(errors("dl 1\nblock B(a b) {}"),
            "2:11: error: expected ',' or ')' after the parameters of block 'B', got 'b'\n2:8: "
            "note: to match this (\n");
  EXPECT_EQ(errors("dl 1\nblock B\n"),
            "2:8: error: expected '{' before the layers of block 'B', got the end of the file\n");
  EXPECT_EQ(errors("dl 1\nmodel M:\nforward(x: f32[]) -> (y: f32[]):\ny = x\n"),
            "2:8: error: expected '{' before the layers of model 'M', got ':'\n3:32: error: "
            "expected '{' before the statements of 'forward', got ':'\n");
  EXPECT_EQ(errors("dl 1\nmodel M(a=1)\nforward"),
            "2:13: error: expected '{' before the layers of model 'M', got the end of the "
            "line\n3:8: error: expected '(' and the inputs of 'forward', as in '(x: f32[N,10])', "
            "got the end of the file\n");
  EXPECT_EQ(errors("dl 1\nweights"),
            "2:8: error: expected the name of a file after 'weights', as in 'weights "
            "\"model.safetensors\"', got the end of the file\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\",\n{}"),
            "2:13: error: expected the name of a file after 'weights', as in 'weights "
            "\"model.safetensors\"', got the end of the line\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {"),
            "2:14: error: expected '}' at the end of the weights clause, got the end of the "
            "file\n2:13: note: to match this {\n");
}

TEST(Parser, saysWhatItExpectsInMembers) {
  EXPECT_EQ(errors("dl 1\nmodel M {\n3\n}"),
            "3:1: error: expected a layer ('conv1: Conv2d(...)'), "
            "'const', 'state', 'for', 'if' or 'forward', got '3'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\na[0].: ReLU()\n}"),
            "3:6: error: expected the next part of the layer's name, got ':'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\na[0]..b: ReLU()\n}"),
            "3:5: error: expected ':' and a layer after its name, as in 'conv1: Conv2d(1, 32, "
            "kernel_size=3)', got '..'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\na ReLU()\n}"),
            "3:3: error: expected ':' and a layer after its name, as in 'conv1: Conv2d(1, 32, "
            "kernel_size=3)', got 'ReLU'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nfor 3 in 0..2 { }\n}"),
            "3:5: error: expected the name that counts, as in 'for i in 0..12', got '3'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nfor i in 0..2\na: ReLU()\n}"),
            "3:14: error: expected '{' before the layers, got the end of the line\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nif true { a: ReLU()\n}"),
            "4:2: error: expected '}' at the end of model 'M', got the end of the file\n2:9: note: "
            "to match this {\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nfor i in 0..2 { a: ReLU() }\nelse { }\n}"),
            "4:1: error: expected a layer ('conv1: Conv2d(...)'), 'const', 'state', 'for', 'if' or "
            "'forward', got 'else'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\na: ReLU() @fast\n}"),
            "3:11: error: unknown annotation '@fast'; expected @f32, @f16, @bf16 or @no_fuse. A "
            "matrix product has a space after its @\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\na: ReLU() @f16 @bf16\n}"),
            "3:16: error: '@bf16' is beside '@f16'; expected one dtype, and @no_fuse once\n");
}

TEST(Parser, saysWhatItExpectsInForward) {
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward {\n}\n}"),
      "3:9: error: expected '(' and the inputs of 'forward', as in '(x: f32[N,10])', got '{'\n");
  EXPECT_EQ(errors("dl 1\nblock B {\nforward {\n}\n}"),
            "3:9: error: expected '(' and the inputs of 'forward', as in '(x)', got '{'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(3: f32[]) -> (y: f32[]) {\n}\n}"),
            "3:9: error: expected the name of a tensor, as in 'x: f32[N,10]', got '3'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x) -> (y: f32[]) {\n}\n}"),
            "3:10: error: expected ':' and a type, as in 'x: f32[N,10]', got ')'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: 3) -> (y: f32[]) {\n}\n}"),
            "3:12: error: expected a dtype, as in 'f32[N,10]', got '3'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[2 3]) -> (y: f32[]) {\n}\n}"),
            "3:18: error: expected ',' or ']' after a dim, got '3'\n3:15: note: to match this [\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32[] z: f32[]) -> (y: f32[]) {\n}\n}"),
      "3:18: error: expected ',' or ')' after the type, got 'z'\n3:8: note: to match this (\n");
  EXPECT_EQ(
      errors("dl 1\nblock B {\nforward(x z) -> (y) {\n}\n}"),
      "3:11: error: expected ',' or ')' after a tensor, got 'z'\n3:8: note: to match this (\n");
  EXPECT_EQ(errors("dl 1\nblock B {\nforward(x) {\n}\n}"),
            "3:12: error: expected '->' and the outputs of 'forward', as in '-> (y)', got '{'\n");
  EXPECT_EQ(errors("dl 1\nblock B {\nforward(x) -> y {\n}\n}"),
            "3:15: error: expected '(' and the outputs of 'forward', as in '-> (y)', got 'y'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = x"),
            "4:6: error: expected '}' at the end of 'forward', got the end of the file\n3:33: "
            "note: to match this {\n4:6: error: expected '}' at the end of model 'M', got the end "
            "of the file\n2:9: note: to match this {\n");
  EXPECT_EQ(
      errors("dl 1\nblock B {\nforward(x) -> (y) {\n}\nforward(x) -> (y) {\n}\n}"),
      "5:1: error: the block has a second 'forward'; expected one\n3:1: note: the first one\n");
}

TEST(Parser, saysWhatItExpectsInStatements) {
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\n(a, b = x\n}\n}"),
            "4:7: error: expected ')' after the names of a tuple, got '='\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\na, 3 = x\n}\n}"),
            "4:4: error: expected the name of a result, as in 'a, b = f(x)', got '3'\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\nfor i in 0..2\ny = x\n}\n}"),
      "4:14: error: expected '{' before the statements, got the end of the line\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\nfor i in 0..2 {\ny = x"),
            "5:6: error: expected '}' after these statements, got the end of the file\n4:15: note: "
            "to match this {\n5:6: error: expected '}' at the end of 'forward', got the end of the "
            "file\n3:33: note: to match this {\n5:6: error: expected '}' at the end of model 'M', "
            "got the end of the file\n2:9: note: to match this {\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny += x\n}\n}"),
            "4:3: error: there is no '+='; write 'y = y + ...'\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32[?]) -> (y: f32[]) {\ny = x\n}\n}"),
      "3:16: error: '?' is allowed only in the type of a model output; write a number, or a dim "
      "if the size varies, as in 'dim N = 1..64'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny[:, 0] = x\n}\n}"),
            "4:2: error: a part of a tensor cannot be assigned to; write 'y = update_slice(y, dim, "
            "start, part)'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\nwhile { y = x }\n}\n}"),
            "4:7: error: expected an expression, got '{'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\nwhile x y = x\n}\n}"),
            "4:9: error: expected '{' before the statements, got 'y'\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = [x x]\n}\n}"),
      "4:8: error: expected ',' or ']' after an element, got 'x'\n4:5: note: to match this [\n");
  EXPECT_EQ(
      errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = x[1 2]\n}\n}"),
      "4:9: error: expected ',' or ']' after an index, got '2'\n4:6: note: to match this [\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = f(x @f16)\n}\n}"),
            "4:9: error: '@f16' has the form of an annotation, which cannot be in brackets; a "
            "matrix product has a space after its @\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = a < b < c\n}\n}"),
            "4:11: error: comparisons do not chain; write them apart, as in 'a < b and b < c'\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = f(x,\nz\n}\n}"),
            "5:2: error: expected ',' or ')' in the arguments of 'f', got the end of the "
            "line\n4:6: note: to match this (\n");
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward(x: f32[]) -> (y: f32[]) {\ny = r\"a\"\n}\n}"),
            "4:5: error: a string has no prefix here; write it without the 'r'\n");
}

TEST(Parser, saysWhatItExpectsInSequentials) {
  EXPECT_EQ(errors("dl 1\nsequential { }"),
            "2:12: error: expected the name of the sequential model, as in 'sequential Net(x: "
            "f32[N,784])', got '{'\n");
  EXPECT_EQ(errors("dl 1\nsequential S { }"), "2:14: error: expected '(' and the input, as in '(x: "
                                              "f32[N,28,28,1] layout NHWC)', got '{'\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1] layout 3) { }"),
            "2:31: error: expected the order of the dims after 'layout', NHWC or NCHW, got '3'\n");
  EXPECT_EQ(
      errors("dl 1\nsequential S(x: f32[1] y) { }"),
      "2:24: error: expected ',' or ')' after the input, got 'y'\n2:13: note: to match this (\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) -> y { }"),
            "2:28: error: expected '(' and the output, as in '-> (probs: f32[N,10])', got 'y'\n");
  EXPECT_EQ(
      errors("dl 1\nsequential S(x: f32[1]) -> (y: f32[1] z: f32[1]) { }"),
      "2:39: error: expected ',' or ')' after a tensor, got 'z'\n2:28: note: to match this (\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1])\nDense(10)"),
            "2:24: error: expected '{' before the layers of 'S', got the end of the line\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) {\nDense(10)"),
            "3:10: error: expected '}' at the end of sequential 'S', got the end of the "
            "file\n2:25: note: to match this {\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) {\nhead: 3\n}"),
            "3:7: error: expected a layer, as in 'Dense(10)' or 'head: Dense(10)', got '3'\n");
  EXPECT_EQ(errors("dl 1\nsequential S(x: f32[1]) {\nDense\n}"),
            "3:6: error: expected '(' and the arguments of 'Dense', got the end of the line\n");
}

TEST(Parser, saysWhatItExpectsInWeights) {
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\nprefx \"a\"\n}"),
            "3:1: error: expected 'prefix', 'rename', 'transpose', 'tie' or 'allow_extra' in a "
            "weights clause, got 'prefx'; did you mean 'prefix'?\n");
  EXPECT_EQ(
      errors("dl 1\nweights \"f\" {\nprefix 3\n}"),
      "3:8: error: expected how the names in the file begin, as in 'prefix \"bert.\"', got '3'\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\ntranspose 3\n}"),
            "3:11: error: expected the paths of weights that are stored [in,out], as in 'transpose "
            "\"*.c_attn.weight\"', got '3'\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\nallow_extra 3\n}"),
            "3:13: error: expected names that the model does not need, as in 'allow_extra "
            "\"position_ids\"', got '3'\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\nrename \"a\" \"b\"\n}"),
            "3:12: error: expected '->' in a rename such as '\"LayerNorm.gamma\" -> "
            "\"LayerNorm.weight\"', got '\"b\"'\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\nrename {\n\"a\" -> \"b\""),
            "4:11: error: expected '}' at the end of the renames, got the end of the file\n3:8: "
            "note: to match this {\n4:11: error: expected '}' at the end of the weights clause, "
            "got the end of the file\n2:13: note: to match this {\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\ntie \"a\" -> \"b\"\n}"),
            "3:9: error: expected '=' in a tie such as 'tie \"lm_head.weight\" = \"wte.weight\"', "
            "got '->'\n");
  EXPECT_EQ(errors("dl 1\nweights \"f\" {\nrename \"a\" -> 3\n}"),
            "3:15: error: expected a rename such as '\"LayerNorm.gamma\" -> \"LayerNorm.weight\"', "
            "got '3'\n");
  EXPECT_EQ(
      errors("dl 1\nweights \"f\" {\ntie 3\n}"),
      "3:5: error: expected a tie such as 'tie \"lm_head.weight\" = \"wte.weight\"', got '3'\n");
}

TEST(Parser, recoversAtTheNextLine) {
  // "c = 2" may be an argument: the line after it cannot.
  EXPECT_EQ(errors("dl 1\nmodel M {\nforward() -> () {\na = relu((1\nb = f(\nc = 2\nd = )\n}\n}"),
            "4:12: error: expected ',' or ')' in these parentheses, got the end of the line\n"
            "4:10: note: to match this (\n"
            "6:6: error: expected ',' or ')' in the arguments of 'f', got the end of the line\n"
            "5:6: note: to match this (\n"
            "7:5: error: expected an expression, got ')'\n");
}

TEST(Parser, showsTwentyErrors) {
  std::string source = "dl 1\nmodel M {\nforward() -> () {\n";
  for (int i = 0; i < 1000; ++i)
    source += "x = )\n";
  std::string text = errors(source + "}\n}");
  EXPECT_EQ(StringRef(text).count("error:"), 20u);
  EXPECT_NE(text.find("note: 20 errors are shown; further ones are not"), std::string::npos);
}

/// Every prefix of a file, and every file with one byte changed, is answered without a crash.
TEST(Parser, survivesDamage) {
  std::string source = "dl 1\ndim N = 1..4\nmodel M(a=1) {\n c.0: Conv2d(1, (2, 3), bias=false)\n"
                       " forward(x: f32[N,1]) -> (y: f32[N]) {\n  y = relu(c.0(x)[:, ::2] + "
                       "-1.5e3)\n }\n}\nweights \"f\"\n";
  EXPECT_EQ(errors(source), "");
  for (size_t i = 0; i < source.size(); ++i) {
    parse(StringRef(source).take_front(i));
    for (char c : StringRef("\0\"(}.=\xFF\n", 8)) {
      std::string damaged = source;
      damaged[i] = c;
      parse(damaged);
    }
  }
}

} // namespace
