//===- LibraryTest.cpp - Functions that are written in the language -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/library/Library.h"

#include "frontend/dl/syntax/Parser.h"
#include "test/unit/frontend/FrontendFixture.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dlc::frontend {
namespace {

using Library = Frontend;

TEST_F(Library, eachBodyParses) {
  llvm::SourceMgr sources;
  unsigned main = sources.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer("a()"), {});
  mlir::MLIRContext context;
  Listener listener(context);
  Diagnostics diagnostics(sources, context);
  Diagnostics::InLibrary inLibrary(
      diagnostics, "a",
      llvm::SMLoc::getFromPointer(sources.getMemoryBuffer(main)->getBufferStart()));
  for (const LibraryFunction &function : libraryFunctions())
    EXPECT_TRUE(parseStatements(function.body, diagnostics))
        << listener.text << function.signature.text.str();
}

TEST_F(Library, eachFunctionHasANumericRow) {
  std::string rows;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(DLC_NUMERIC_ROWS "/library", error), end;
       !error && file != end; file.increment(error))
    if (StringRef(file->path()).ends_with(".py"))
      rows += (*llvm::MemoryBuffer::getFile(file->path()))->getBuffer();
  ASSERT_FALSE(error) << error.message();
  // Rows have results of one shape; others are judged beside PyTorch's.
  auto judged = llvm::MemoryBuffer::getFile(DLC_NUMERIC_ROWS "/../../opinfo/vision.py");
  ASSERT_TRUE(judged) << "no test/opinfo/vision.py";
  rows += (*judged)->getBuffer();
  for (const LibraryFunction &function : libraryFunctions())
    if (!function.signature.name.starts_with("_"))
      EXPECT_TRUE(StringRef(rows).contains(("\"" + function.signature.name + "\"").str()))
          << function.signature.name.str() << " has no row in test/numeric/rows/library: add one";
}

TEST_F(Library, aFunctionIsAMethodToo) {
  EXPECT_EQ(body("y = _h.ravel()", "f16[4]"), body("y = ravel(_h)", "f16[4]"));
}

TEST_F(Library, errorsPointAtTheCall) {
  EXPECT_EQ(body("y = mse_loss(_z, _z, reduction=\"avg\")", "f32[]"),
            "5:5: error: reduction is 'avg'; expected 'none', 'mean' or 'sum'\n"
            "5:5: note: in 'mse_loss', called here\n");
  EXPECT_EQ(body("y = mse_loss(_h, x[:, :, :, :5])", "f32[]"),
            "5:5: error: cannot broadcast f16[4] with f32[N,3,8,5] in 'sub': dims 4 and 5 differ; "
            "expected equal dims, or 1\n"
            "5:5: note: in 'mse_loss', called here\n");
  EXPECT_EQ(body("y = mse_loss(_z)", "f32[]"),
            "5:5: error: 'mse_loss' needs its argument 'target', a tensor\n");
}

TEST_F(Library, partsOfTheLibraryAreNotForModels) {
  constexpr const char *kRest =
      "; expected a layer declared above 'forward', or a function that 'dlc list ops' shows\n";
  EXPECT_EQ(body("y = _reduced(_z, \"mean\")", "f32[]"),
            std::string("5:5: error: unknown function or layer '_reduced'") + kRest);
  EXPECT_EQ(body("y = fail(\"x\")", "f32[]"),
            std::string("5:5: error: unknown function or layer 'fail'") + kRest);
}

} // namespace
} // namespace dlc::frontend
