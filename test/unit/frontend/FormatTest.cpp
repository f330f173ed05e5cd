//===- FormatTest.cpp - The canonical layout, construct by construct ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words to lines, without the parser: the layout of a construct is fixed here whatever else the
// language demands of it. What holds for whole models is tested by test/tools/format.test.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/format/FormatWords.h"

#include "gtest/gtest.h"

using namespace dlc::frontend;
using llvm::StringRef;

namespace {

std::string layOutOnce(StringRef text) {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "t.dl"), {});
  Diagnostics diagnostics(sources, context);
  std::vector<Word> words =
      scanWords(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), diagnostics);
  joinWords(words);
  EXPECT_FALSE(diagnostics.hasErrors()) << text.str();
  return layOut(words);
}

/// Laid out; doing it twice changes nothing.
std::string format(StringRef text) {
  std::string once = layOutOnce(text);
  EXPECT_EQ(layOutOnce(once), once);
  return once;
}

/// A statement, laid out within a forward.
std::string statement(StringRef text) {
  std::string all = format(("model M {\nforward() {\n" + text + "\n}\n}\n").str());
  StringRef rest = all;
  EXPECT_TRUE(rest.consume_front("model M {\n  forward() {\n")) << all;
  EXPECT_TRUE(rest.consume_back("  }\n}\n")) << all;
  return rest.str();
}

TEST(Format, spacesOperators) {
  EXPECT_EQ(statement("y=a+b* -c"), "    y = a + b * -c\n");
  EXPECT_EQ(statement("y = a//2 %3**b@c"), "    y = a // 2 % 3 ** b @ c\n");
  EXPECT_EQ(statement("y=a==b"), "    y = a == b\n");
  EXPECT_EQ(statement("y = a<b & ~c | d^e>=f"), "    y = a < b & ~c | d ^ e >= f\n");
  EXPECT_EQ(statement("y=a if not(b)and c else-d"), "    y = a if not (b) and c else -d\n");
  EXPECT_EQ(statement("y = - x"), "    y = -x\n");
  EXPECT_EQ(statement("y = f(- 1,-a)"), "    y = f(-1, -a)\n");
}

TEST(Format, spacesCallsIndicesAndTuples) {
  EXPECT_EQ(statement("y = f (x , dim = -1 , s = [ 1,2 ])"), "    y = f(x, dim=-1, s=[1, 2])\n");
  EXPECT_EQ(statement("z = x [ : ,-1, None,1 : -1 : 2 ,... ]"),
            "    z = x[:, -1, None, 1:-1:2, ...]\n");
  EXPECT_EQ(statement("h,(a , b)=lstm( x )"), "    h, (a, b) = lstm(x)\n");
  EXPECT_EQ(statement("t=( x, )"), "    t = (x,)\n");
  EXPECT_EQ(statement("y=layers[ i ].attn (x)[ 0 ]"), "    y = layers[i].attn(x)[0]\n");
  EXPECT_EQ(statement("y = f(g)   @no_fuse"), "    y = f(g) @no_fuse\n");
  EXPECT_EQ(statement("y = f(g)@no_fuse"), "    y = f(g) @ no_fuse\n"); // a product
  EXPECT_EQ(statement("a=1;b=2 ;"), "    a = 1\n    b = 2\n");
}

TEST(Format, declarations) {
  EXPECT_EQ(format("dl   1\ndim N=1 .. 64\nconst  W = 4*32\ninclude   'a.dl'"),
            "dl 1\ndim N = 1..64\nconst W = 4 * 32\ninclude 'a.dl'\n");
  EXPECT_EQ(format("dl 1\nblock B( w,heads = 12 ){a :Linear( w,w )   @f32\n"
                   "e.layer[ i ]:B ( w ) for i in 0 .. 12\n"
                   "forward( x:f32[ N,2 * w , (T+1)*2 ] )->( y:f32[] ){y=x}}\nmodel M{\n}\n"),
            "dl 1\n"
            "\n"
            "block B(w, heads=12) {\n"
            "  a: Linear(w, w) @f32\n"
            "  e.layer[i]: B(w) for i in 0..12\n"
            "  forward(x: f32[N,2*w,(T+1)*2]) -> (y: f32[]) {\n"
            "    y = x\n"
            "  }\n"
            "}\n"
            "\n"
            "model M {\n"
            "}\n");
  EXPECT_EQ(format("sequential S( x:f32[N,28,28,1]   layout  NHWC "
                   ")->(y:f32[N,3])\n{\nConv2D(32)\nstem:Dense( 3 )}"),
            "sequential S(x: f32[N,28,28,1] layout NHWC) -> (y: f32[N,3]) {\n"
            "  Conv2D(32)\n"
            "  stem: Dense(3)\n"
            "}\n");
}

TEST(Format, controlFlow) {
  EXPECT_EQ(statement("if W==128 and not(h>3){y=x}\nelse if h<=2 {\ny=x}\nelse\n{for i in 0 .. 3 "
                      "{y=l[ i ](y)}}"),
            "    if W == 128 and not (h > 3) {\n"
            "      y = x\n"
            "    } else if h <= 2 {\n"
            "      y = x\n"
            "    } else {\n"
            "      for i in 0..3 {\n"
            "        y = l[i](y)\n"
            "      }\n"
            "    }\n");
}

TEST(Format, weights) {
  EXPECT_EQ(format("weights   \"a\",\"b\""), "weights \"a\", \"b\"\n");
  EXPECT_EQ(format("weights \"a\"{prefix \"p.\"}"), "weights \"a\" { prefix \"p.\" }\n");
  EXPECT_EQ(
      format("weights \"a\" { prefix \"p.\"  rename { \"x\"->\"y\"  \"z\" -> \"w\" } tie \"a\"\n"
             "=\"b\" rename {\"q\"->\"r\"} }"),
      "weights \"a\" {\n"
      "  prefix \"p.\"\n"
      "  rename {\n"
      "    \"x\" -> \"y\"\n"
      "    \"z\" -> \"w\"\n"
      "  }\n"
      "  tie \"a\" = \"b\"\n"
      "  rename { \"q\" -> \"r\" }\n"
      "}\n");
}

TEST(Format, commentsStay) {
  EXPECT_EQ(format("\xEF\xBB\xBF# top\r\n\r\n\r\n\r\n#two\r\ndl 1 # one\r\n\r\nmodel M{ # open\n\n"
                   "  # own\na:B(1)#short\nabc:B(1)   # long   \n\n\n\n# last\n} # close\n# end"),
            "# top\n"
            "\n"
            "#two\n"
            "dl 1  # one\n"
            "\n"
            "model M {  # open\n"
            "  # own\n"
            "  a: B(1)    #short\n"
            "  abc: B(1)  # long\n"
            "\n"
            "  # last\n"
            "}  # close\n"
            "# end\n");
  EXPECT_EQ(statement("y = f( # why\n# about a\na, b, # behind b\nc\n# at the end\n)"),
            "    y = f(  # why\n"
            "      # about a\n"
            "      a,\n"
            "      b,  # behind b\n"
            "      c\n"
            "      # at the end\n"
            "    )\n");
  EXPECT_EQ(statement("y = a + # one\n# two\nb"), "    y = a +  # one\n"
                                                  "        # two\n"
                                                  "        b\n");
}

TEST(Format, longLines) {
  EXPECT_EQ(statement("scores = scaled_dot_product_attention(transpose(q, 1, 2), transpose(k, 1, "
                      "2), transpose(v, 1, 2))"),
            "    scores = scaled_dot_product_attention(\n"
            "      transpose(q, 1, 2), transpose(k, 1, 2), transpose(v, 1, 2)\n"
            "    )\n");
  EXPECT_EQ(statement("scores = scaled_dot_product_attention(transpose(the_query, 1, 2), "
                      "transpose(the_key, 1, 2), transpose(the_value, 1, 2), attn_mask=mask)"),
            "    scores = scaled_dot_product_attention(\n"
            "      transpose(the_query, 1, 2),\n"
            "      transpose(the_key, 1, 2),\n"
            "      transpose(the_value, 1, 2),\n"
            "      attn_mask=mask\n"
            "    )\n");
  EXPECT_EQ(statement("a = f(x, y,)"), "    a = f(\n      x,\n      y,\n    )\n");
  EXPECT_EQ(statement("a = g([1, 2,], (3,))"),
            "    a = g(\n      [\n        1,\n        2,\n      ],\n      (3,)\n    )\n");
  EXPECT_EQ(
      statement("total = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb "
                "+ ccccccccccccccccccccccccccccccccccc"),
      "    total = aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa + bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb +\n"
      "        ccccccccccccccccccccccccccccccccccc\n");
  EXPECT_EQ(format("model M {\nforward(some_input: f32[N,3,224,224], another: i64[N,T], mask: "
                   "bool[N,T]) -> (probs: f32[N,10], h: f32[N]) {\n}\n}"),
            "model M {\n"
            "  forward(some_input: f32[N,3,224,224], another: i64[N,T], mask: bool[N,T]) -> (\n"
            "    probs: f32[N,10], h: f32[N]\n"
            "  ) {\n"
            "  }\n"
            "}\n");
}

/// Tokens and comments, without `;`.
std::vector<std::string> contentOf(StringRef text) {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(text, "t.dl"), {});
  Diagnostics diagnostics(sources, context);
  std::vector<std::string> content;
  for (const Word &word :
       scanWords(sources.getMemoryBuffer(sources.getMainFileID())->getBuffer(), diagnostics)) {
    for (const OwnComment &comment : word.comments)
      content.push_back(comment.text.str());
    if (!word.is(";"))
      content.push_back(word.text.str());
    if (!word.trailing.empty())
      content.push_back(word.trailing.str());
  }
  return content;
}

TEST(Format, textsOfNoSense) { // are laid out somehow, and stay so
  for (StringRef text :
       {"", "\n\n", "# only", ";;;", "}", ")", "](", "{{{", "a b c", "weights {", "x = (", "dl",
        "weights \"a\" { rename { } }", "f(,)", "- - -", "a[", "forward", "} else", "; # c\n;"})
    EXPECT_EQ(contentOf(format(text)), contentOf(text)) << text.str();
}

TEST(Format, tokensInAnyOrder) {
  static const char *const kPieces[] = {
      "a",    "model", "weights", "forward", "if",
      "else", "for",   "in",      "f32",     "1",
      "2.5",  "\"s\"", "(",       ")",       "[",
      "]",    "{",     "}",       ",",       ":",
      "=",    "->",    "...",     "+",       "-",
      "*",    "**",    "@f32",    "not",     "and",
      "\n",   "\n",    "\n\n",    "# c\n",   "a_name_that_is_rather_long_so_that_lines_are_broken"};
  uint64_t state = 1;
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (int length = 1 + round % 60; length > 0; --length) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      text += kPieces[(state >> 33) % std::size(kPieces)];
      text += ' ';
    }
    ASSERT_EQ(contentOf(format(text)), contentOf(text)) << text;
  }
}

} // namespace
