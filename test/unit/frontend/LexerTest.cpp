//===- LexerTest.cpp - Tokens, and what the lexer refuses ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Lexer.h"
#include "test/unit/frontend/Listener.h"

#include "gtest/gtest.h"

using namespace dlc::frontend;
using llvm::StringRef;

namespace {

/// Spellings of all tokens, a '|' before those that begin a line; then the errors.
std::string lex(StringRef source) {
  mlir::MLIRContext context;
  Listener listener(context);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, "t.dl"), {});
  Diagnostics diagnostics(sources, context);
  Lexer lexer(sources.getMemoryBuffer(1)->getBuffer(), diagnostics);
  std::string text;
  for (Token token = lexer.lex(); !token.is(Token::endOfFile); token = lexer.lex())
    text += (token.isFirstOnLine() ? "|" : " ") +
            (token.is(Token::error) ? std::string("<error>") : token.getSpelling().str());
  return text + (listener.text.empty() ? "" : "\n" + listener.text);
}

Token::Kind kindOf(StringRef source) {
  mlir::MLIRContext context;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source, "t.dl"), {});
  Diagnostics diagnostics(sources, context);
  return Lexer(sources.getMemoryBuffer(1)->getBuffer(), diagnostics).lex().getKind();
}

TEST(Lexer, tokens) {
  EXPECT_EQ(lex("x = relu(conv1(x))"), "|x = relu ( conv1 ( x ) )");
  EXPECT_EQ(lex("forward(x: f32[N,1]) -> (y: f32[N]) {}"),
            "|forward ( x : f32 [ N , 1 ] ) -> ( y : f32 [ N ] ) { }");
  EXPECT_EQ(lex("a+b-c*d/e;"), "|a + b - c * d / e ;");
}

TEST(Lexer, dottedNamesAreOneToken) {
  EXPECT_EQ(lex("layer1.0.conv1: x"), "|layer1.0.conv1 : x");
  EXPECT_EQ(lex("a..b"), "|a .. b");
  EXPECT_EQ(lex("model.conv1"), "|model.conv1");
  EXPECT_EQ(kindOf("model.conv1"), Token::identifier);
  EXPECT_EQ(kindOf("model"), Token::kwModel);
}

TEST(Lexer, numbers) {
  EXPECT_EQ(lex("1..64 1.5 .5 2. 1e-5 1.e3"), "|1 .. 64 1.5 .5 2. 1e-5 1.e3");
  EXPECT_EQ(kindOf("12"), Token::integer);
  EXPECT_EQ(kindOf("1e5"), Token::floating);
  EXPECT_EQ(kindOf("2."), Token::floating);
}

TEST(Lexer, spaceAndComments) {
  EXPECT_EQ(lex("\xEF\xBB\xBF# caf\xC3\xA9\r\na # b\r\n\tc\n#"), "|a|c");
  EXPECT_EQ(lex(""), "");
}

TEST(Lexer, strings) {
  EXPECT_EQ(lex(R"("a b" 'c' "\"")"), R"(|"a b" 'c' "\"")");
  EXPECT_EQ(lex("x = \"abc\ny"),
            "|x = <error>|y\n1:5: error: this string does not end on its line; close it with \"\n");
  EXPECT_EQ(lex("\"abc\\"),
            "|<error>\n1:1: error: this string does not end on its line; close it with \"\n");
  EXPECT_EQ(lex("\"\xFF\""),
            "|<error>\n1:1: error: this string is not valid UTF-8; save the file as UTF-8\n");
}

TEST(Lexer, strayCharacters) {
  EXPECT_EQ(lex("a $ b"), "|a <error> b\n1:3: error: '$' has no meaning here; remove it\n");
  EXPECT_EQ(lex("a \xC3\x97 b"),
            "|a <error> b\n1:3: error: '\xC3\x97' (U+00D7) has no meaning here; write *\n");
  EXPECT_EQ(lex("a \xE2\x88\x92 b"),
            "|a <error> b\n1:3: error: '\xE2\x88\x92' (U+2212) has no meaning here; write -\n");
  EXPECT_EQ(lex("rel\xD1\x83"),
            "|rel <error>\n1:4: error: '\xD1\x83' (U+0443) has no meaning here; write y\n");
  EXPECT_EQ(lex("\xEF\xBC\x88"),
            "|<error>\n1:1: error: '\xEF\xBC\x88' (U+FF08) has no meaning here; write (\n");
  EXPECT_EQ(lex("\xF0\x9F\x98\x80\xC3\xA9"),
            "|<error>\n1:1: error: '\xF0\x9F\x98\x80\xC3\xA9' (U+1F600, U+00E9) has no meaning "
            "here; remove it\n");
  EXPECT_EQ(lex("\xF0\x9F\x98\x80"),
            "|<error>\n1:1: error: '\xF0\x9F\x98\x80' (U+1F600) has no meaning here; remove it\n");
  EXPECT_EQ(lex("a\xE2\x80\x8B b"), "|a <error> b\n1:2: error: an invisible character, U+200B, has "
                                    "no meaning here; remove it\n");
  EXPECT_EQ(lex("a\xC2\xA0= b"),
            "|a <error> = b\n1:2: error: an invisible character, U+00A0, has no "
            "meaning here; write a space\n");
  EXPECT_EQ(lex("\xE2\x80\x8B\xE2\x80\x8D"), "|<error>\n1:1: error: invisible characters, U+200B, "
                                             "U+200D, have no meaning here; remove them\n");
  EXPECT_EQ(lex("\xFF"),
            "|<error>\n1:1: error: these bytes are not valid UTF-8; save the file as UTF-8\n");
  EXPECT_EQ(lex("\x01\x02"), "|<error>\n1:1: error: '\\x01\\x02' has no meaning here; remove it\n");
  EXPECT_EQ(lex(StringRef("a\0b", 3)),
            "|a <error> b\n1:2: error: a model cannot hold a NUL byte; is this a text file?\n");
  EXPECT_EQ(lex("12ab"), "|<error>\n1:1: error: expected a number or a name, got '12ab'; a name "
                         "does not begin with a digit\n");
}

TEST(Lexer, namesAreLimited) {
  mlir::MLIRContext context;
  Listener listener(context);
  llvm::SourceMgr sources;
  std::string source(1024, 'a');
  source += " " + std::string(1025, 'b');
  sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(source, "t.dl"), {});
  Diagnostics diagnostics(sources, context);
  Lexer lexer(sources.getMemoryBuffer(1)->getBuffer(), diagnostics);
  EXPECT_TRUE(lexer.lex().is(Token::identifier));
  EXPECT_TRUE(lexer.lex().is(Token::error));
  EXPECT_EQ(listener.text, "1:1026: error: this name has 1025 characters; the limit is 1024\n");
}

} // namespace
