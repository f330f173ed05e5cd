//===- FileNamesTest.cpp - The files that a text names, found and renamed -----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/FileNames.h"

#include "mlir/IR/Diagnostics.h"

#include "gtest/gtest.h"

using namespace dlc;
using llvm::StringRef;

namespace {

std::optional<FileNames> namesIn(StringRef text) {
  mlir::MLIRContext context;
  mlir::ScopedDiagnosticHandler quiet(&context, [](mlir::Diagnostic &) { return mlir::success(); });
  return fileNamesOf(llvm::MemoryBuffer::getMemBufferCopy(text, "t.dl"), context);
}

constexpr const char *kModel =
    "model M {\n  forward(x: f32[2]) -> (y: f32[2]) {\n    y = x\n  }\n}\n";

TEST(FileNames, EveryClauseAndQuote) {
  std::string text = std::string("dl 1\r\n# weights \"no.npz\"\n") + kModel +
                     "weights 'a b.npz',\n  \"q\\\"\\\\'.npz\" {\n  prefix \"net.\"\n}\n"
                     "weights \"a b.npz\"";
  auto names = namesIn(text);
  ASSERT_TRUE(names);
  EXPECT_FALSE(names->hasIncludes);
  ASSERT_EQ(names->weights.size(), 3u);
  EXPECT_EQ(names->weights[0].name, "a b.npz");
  EXPECT_EQ(names->weights[1].name, "q\"\\'.npz");
  llvm::StringMap<std::string> renamed;
  renamed["a b.npz"] = "one.safetensors";
  renamed["q\"\\'.npz"] = "back\\slash \"quoted\"";
  EXPECT_EQ(withWeightFiles(text, *names, renamed),
            std::string("dl 1\r\n# weights \"no.npz\"\n") + kModel +
                "weights \"one.safetensors\",\n  \"back\\\\slash \\\"quoted\\\"\" {\n  prefix "
                "\"net.\"\n}\nweights \"one.safetensors\"");
}

TEST(FileNames, NoneAndIncludes) {
  auto names = namesIn(std::string("dl 1\ninclude \"blocks.dl\"\n") + kModel);
  ASSERT_TRUE(names);
  EXPECT_TRUE(names->hasIncludes);
  EXPECT_TRUE(names->weights.empty());
}

TEST(FileNames, NothingOfATextWithErrors) {
  EXPECT_FALSE(namesIn(std::string("dl 1\n") + kModel + "weights 3\n"));
}

} // namespace
