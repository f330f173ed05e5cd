//===- LongLinesTest.cpp - What is shown of lines that nobody reads to their end ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/LongLines.h"

#include <gtest/gtest.h>

using namespace dlc;

static std::string of(size_t count, char c = ' ') { return std::string(count, c); }

TEST(LongLines, shortTextStays) {
  std::string text = "m.dl:1:3: error: \x1b[1mwhat\x1b[0m\n" + of(240, 'a') + "\n  ^\n";
  EXPECT_EQ(cutLongLines(text), text);
  EXPECT_EQ(cutLongLines(""), "");
}

TEST(LongLines, thePartRoundTheCaret) {
  EXPECT_EQ(cutLongLines("error: what\n" + of(1000, 'a') + "\n" + of(500) + "^\n"),
            "error: what\n..." + of(240, 'a') + "...\n" + of(123) + "^\n");
  EXPECT_EQ(cutLongLines("error: what\n" + of(1000, 'a') + "\n" + of(5) + "^\n"),
            "error: what\n" + of(125, 'a') + "...\n" + of(5) + "^\n");
  EXPECT_EQ(
      cutLongLines("error: what\n" + of(1000, 'a') + "\n" + of(990) + "^\nnote: more\nab\n ^\n"),
      "error: what\n..." + of(130, 'a') + "\n" + of(123) + "^\nnote: more\nab\n ^\n");
}

TEST(LongLines, colorsAreNoPartOfALine) {
  EXPECT_EQ(cutLongLines("\x1b[1merror: \x1b[0mwhat\n" + of(1000, 'a') + "\n\x1b[32m" + of(500) +
                         "^\x1b[0m\n"),
            "error: what\n..." + of(240, 'a') + "...\n" + of(123) + "^\n");
}

TEST(LongLines, noHalfCharacters) {
  std::string line;
  for (int i = 0; i < 500; ++i)
    line += "\u00e9";
  std::string expected;
  for (int i = 0; i < 121; ++i)
    expected += "\u00e9";
  EXPECT_EQ(cutLongLines("error: what\n" + line + "\n" + of(501) + "^\n"),
            "error: what\n..." + expected.substr(0, 240) + "...\n" + of(124) + "^\n");
}

TEST(LongLines, messagesEnd) {
  EXPECT_EQ(cutLongLines("error: " + of(9000, 'a') + "\nx\n^\n"),
            "error: " + of(4089, 'a') + "...\nx\n^\n");
}
