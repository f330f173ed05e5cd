//===- OpCensusTest.cpp - What every op of the dl dialect must have -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// That each record has a summary and an example, and that the example parses and survives printing,
// is the business of test/ir/run_record_examples.py. Here: that each op can be computed, and that
// somebody checks its numbers.
//===------------------------------------------------------------------------------------------===//
#include "ir/OpTable.h"
#include "ir/dl/DLDialect.h"
#include "ir/dl/DLOps.h"

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

using namespace mlir;
using namespace dlc;

namespace {

/// Ops that compute nothing themselves: they bring in a parameter, hold other ops together, or are
/// steps between segments. Anything else needs loops, or other ops to become.
const llvm::StringSet<> &structural() {
  static const llvm::StringSet<> names = {
      dl::WeightOp::getOperationName(), dl::FusionOp::getOperationName(),
      dl::YieldOp::getOperationName(),  dl::ReadOp::getOperationName(),
      dl::IfOp::getOperationName(),     dl::WhileOp::getOperationName(),
      dl::CallOp::getOperationName()};
  return names;
}

class OpCensus : public testing::Test {
protected:
  OpCensus() { context.loadDialect<dl::DLDialect>(); }
  MLIRContext context;
};

TEST_F(OpCensus, TheTableHasEveryOp) {
  llvm::StringSet<> listed;
  for (const OpInfo &info : opTable())
    listed.insert(info.op);
  EXPECT_GT(listed.size(), 30u);
  for (RegisteredOperationName name : context.getRegisteredOperationsByDialect("dl"))
    EXPECT_TRUE(listed.contains(name.getStringRef())) << name.getStringRef().str();
}

TEST_F(OpCensus, EachOpHasLoopsOrBecomesOtherOps) {
  for (const OpInfo &info : opTable()) {
    auto name = RegisteredOperationName::lookup(info.op, &context);
    ASSERT_TRUE(name) << info.op.str();
    bool hasLoops = name->hasInterface<LoopNestOpInterface>();
    bool isDecomposed = name->hasInterface<DecomposableOpInterface>();
    bool isRecurrent = name->hasInterface<RecurrentOpInterface>();
    bool hasLines = name->hasInterface<LineOpInterface>();
    EXPECT_EQ(hasLoops + isDecomposed + isRecurrent + hasLines + structural().contains(info.op), 1)
        << info.op.str() << " must have loops or steps, or become other ops, or be structural: it "
        << (hasLoops ? "has loops" : "has no loops")
        << (isDecomposed ? " and becomes other ops" : " and becomes no other ops");
  }
}

TEST_F(OpCensus, EachOpHasANumericRow) {
  std::string rows;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator file(DLC_NUMERIC_ROWS, error), end; !error && file != end;
       file.increment(error))
    if (StringRef(file->path()).ends_with(".py"))
      rows += (*llvm::MemoryBuffer::getFile(file->path()))->getBuffer();
  ASSERT_FALSE(error) << error.message();
  for (const OpInfo &info : opTable()) {
    if (structural().contains(info.op))
      continue;
    std::string quoted = "\"" + info.op.substr(3).str() + "\"";
    EXPECT_TRUE(StringRef(rows).contains(quoted))
        << info.op.str() << " has no row in test/numeric/rows: add one";
  }
}

} // namespace
