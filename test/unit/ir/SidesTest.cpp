//===- SidesTest.cpp - Rows, columns and batch of products, asked without any IR ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/kernel/Sides.h"

#include "ir/dl/composite/AttentionParts.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace dlc;

namespace {

using Loops = std::vector<unsigned>;

Loops loopsOf(const llvm::SmallBitVector &bits) {
  return Loops(bits.set_bits_begin(), bits.set_bits_end());
}

struct SidesTest : testing::Test {
  /// A product of `parallel` loops over the result and some over the sum, whose factors are read at
  /// the results of two affine maps.
  LoopNest product(unsigned parallel, StringRef first, StringRef second) {
    LoopNest nest;
    for (StringRef text : {first, second}) {
      Attribute map = parseAttribute(("affine_map<" + text + ">").str(), &context);
      nest.terms.push_back({unsigned(nest.terms.size()), cast<AffineMapAttr>(map).getValue()});
    }
    nest.parallel.assign(parallel, dl::constantDim(8, &context));
    nest.reduction.assign(nest.terms[0].map.getNumDims() - parallel, dl::constantDim(8, &context));
    nest.stages = {Combiner::add};
    nest.isProduct = true;
    return nest;
  }

  MLIRContext context;
};

TEST_F(SidesTest, BatchedMatmul) {
  LoopNest nest = product(3, "(b, i, j, k) -> (b, i, k)", "(b, i, j, k) -> (b, k, j)");
  auto sides = findSides(nest);
  ASSERT_TRUE(sides);
  EXPECT_EQ(loopsOf(sides->batch), Loops({0}));
  EXPECT_EQ(loopsOf(sides->rows), Loops({1}));
  EXPECT_EQ(loopsOf(sides->columns), Loops({2}));
  EXPECT_TRUE(sides->repeated.none());
  EXPECT_TRUE(sides->groups.none());

  auto swapped = findSides(nest, /*first=*/1);
  ASSERT_TRUE(swapped);
  EXPECT_EQ(loopsOf(swapped->batch), Loops({0}));
  EXPECT_EQ(loopsOf(swapped->rows), Loops({2}));
  EXPECT_EQ(loopsOf(swapped->columns), Loops({1}));
}

TEST_F(SidesTest, Convolution) {
  auto sides = findSides(product(4, "(n, c, h, w, r, y, x) -> (n, r, h + y, w + x)",
                                 "(n, c, h, w, r, y, x) -> (c, r, y, x)"));
  ASSERT_TRUE(sides);
  EXPECT_EQ(loopsOf(sides->rows), Loops({0, 2, 3}));
  EXPECT_EQ(loopsOf(sides->columns), Loops({1}));
  EXPECT_TRUE(sides->batch.none());
}

// The group that a channel of the result belongs to decides which channels of the image are read.
TEST_F(SidesTest, GroupedConvolution) {
  auto grouped = findSides(product(3, "(n, c, w, r, x) -> (n, (c floordiv 4) * 4 + r, w + x)",
                                   "(n, c, w, r, x) -> (c, r, x)")),
       depthwise = findSides(
           product(3, "(n, c, w, r, x) -> (n, c, w + x)", "(n, c, w, r, x) -> (c, r, x)"));
  ASSERT_TRUE(grouped && depthwise);
  EXPECT_EQ(loopsOf(grouped->batch), Loops({1}));
  EXPECT_EQ(loopsOf(grouped->groups), Loops({1}));
  EXPECT_TRUE(grouped->columns.none());
  EXPECT_EQ(loopsOf(depthwise->batch), Loops({1}));
  EXPECT_TRUE(depthwise->groups.none());
}

// Neither factor has dim 0 of the result.
TEST_F(SidesTest, RepeatedResults) {
  auto sides = findSides(product(3, "(o, i, j, k) -> (i, k)", "(o, i, j, k) -> (k, j)"));
  ASSERT_TRUE(sides);
  EXPECT_EQ(loopsOf(sides->rows), Loops({0, 1}));
  EXPECT_EQ(loopsOf(sides->repeated), Loops({0}));
}

TEST_F(SidesTest, SumsOfOtherTermsHaveNone) {
  LoopNest nest = product(2, "(i, j, k) -> (i, k)", "(i, j, k) -> (k, j)");
  nest.isProduct = false;
  EXPECT_FALSE(findSides(nest));
}

/// The ops of an attention and its inputs, in a block that belongs to no op.
struct AttentionSides : SidesTest {
  AttentionSides() {
    context.loadDialect<dl::DLDialect>();
    builder.setInsertionPointToEnd(&block);
  }
  Value input(ArrayRef<int64_t> dims) {
    return block.addArgument(RankedTensorType::get(dims, builder.getF32Type()),
                             builder.getUnknownLoc());
  }
  template <typename Op, typename... Args> Op make(Args &&...args) {
    return Op::create(builder, builder.getUnknownLoc(), std::forward<Args>(args)...);
  }

  Block block;
  OpBuilder builder{&context};
};

TEST_F(AttentionSides, HeadsShareAKey) {
  // [batch, heads, queries, depth] and one key and one value for all heads.
  Value query = input({2, 4, 16, 8}), key = input({2, 1, 8, 32}), value = input({2, 1, 32, 24});
  dl::AttentionParts parts;
  parts.scoresOp = make<dl::MatmulOp>(query, key);
  auto softmax = make<dl::SoftmaxOp>(parts.scoresOp->getResult(0), 3);
  parts.sumOp = make<dl::MatmulOp>(softmax, value);
  parts.softmax = softmax;
  Sides sides = findSides(parts);
  EXPECT_EQ(loopsOf(sides.batch), Loops({0}));
  EXPECT_EQ(loopsOf(sides.rows), Loops({1, 2}));
  EXPECT_EQ(loopsOf(sides.columns), Loops({3}));
}

} // namespace
