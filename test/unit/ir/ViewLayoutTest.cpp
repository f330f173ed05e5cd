//===- ViewLayoutTest.cpp - Views against the addresses of all elements -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/analysis/view/ViewLayout.h"

#include "ir/dl/DLOps.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

#include <numeric>

using namespace mlir;
using namespace dlc;

namespace {

using Numbers = std::vector<int64_t>;

struct ViewLayout : testing::Test {
  ViewLayout() : module(ModuleOp::create(UnknownLoc::get(&context))), builder(&context) {
    context.loadDialect<dl::DLDialect>();
    builder.setInsertionPointToEnd(module->getBody());
  }
  RankedTensorType typeOf(ArrayRef<int64_t> dims, const dl::Layout &layout = {}) {
    dl::Dims exprs;
    for (int64_t dim : dims)
      exprs.push_back(dl::constantDim(dim, &context));
    return dl::makeTensor(exprs, Float32Type::get(&context), layout);
  }
  Value tensor(RankedTensorType type) {
    return dl::FullOp::create(builder, builder.getUnknownLoc(), type, builder.getF32FloatAttr(0));
  }
  /// Where each element lies, in row-major order of the indices.
  Numbers addresses(RankedTensorType type) {
    Numbers list;
    SmallVector<int64_t> index(type.getRank(), 0);
    for (int64_t element = 0; element < type.getNumElements(); ++element) {
      SmallVector<AffineExpr> at;
      for (int64_t i : index)
        at.push_back(dl::constantDim(i, &context));
      list.push_back(*dl::asConstant(dl::normalize(dl::physicalOffset(type, at))));
      for (int64_t dim = type.getRank() - 1; dim >= 0 && ++index[dim] == type.getDimSize(dim);
           --dim)
        index[dim] = 0;
    }
    return list;
  }
  /// Where each element of a permutation lies if its bytes are those of `type`.
  Numbers permuted(RankedTensorType type, ArrayRef<int64_t> dims) {
    Numbers from = addresses(type), list;
    SmallVector<int64_t> index(type.getRank(), 0);
    for (size_t element = 0; element < from.size(); ++element) {
      SmallVector<int64_t> source(type.getRank());
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        source[dims[dim]] = index[dim];
      int64_t at = 0;
      for (int64_t dim = 0; dim < type.getRank(); ++dim)
        at = at * type.getDimSize(dim) + source[dim];
      list.push_back(from[at]);
      for (int64_t dim = type.getRank() - 1; dim >= 0 && ++index[dim] == type.getDimSize(dims[dim]);
           --dim)
        index[dim] = 0;
    }
    return list;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  OpBuilder builder;
};

/// All orders of `rank` dims.
std::vector<dl::Layout> ordersOf(int64_t rank) {
  std::vector<dl::Layout> orders;
  dl::Layout layout;
  layout.order.resize(rank);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  do
    orders.push_back(layout);
  while (std::next_permutation(layout.order.begin(), layout.order.end()));
  return orders;
}

TEST_F(ViewLayout, PermutationsHaveOneAlways) {
  for (const Numbers &dims : std::vector<Numbers>{{2, 3, 4}, {1, 3, 2}, {2, 1, 1}})
    for (const dl::Layout &layout : ordersOf(3))
      for (const dl::Layout &turn : ordersOf(3)) {
        RankedTensorType from = typeOf(dims, layout);
        SmallVector<int64_t> to;
        for (int64_t dim : turn.order)
          to.push_back(dims[dim]);
        auto op = dl::PermuteOp::create(builder, builder.getUnknownLoc(), typeOf(to), tensor(from),
                                        builder.getDenseI64ArrayAttr(turn.order));
        auto view = layoutOfResult(op, layout);
        ASSERT_TRUE(view);
        EXPECT_EQ(addresses(typeOf(to, *view)), permuted(from, turn.order));
        EXPECT_EQ(*layoutOfOperand(op, *view), canonicalLayout(from, layout));
        EXPECT_EQ(keepsBytes(op), view->isRowMajor());
        op.getResult().setType(typeOf(to, *view));
        EXPECT_TRUE(keepsBytes(op));
      }
}

TEST_F(ViewLayout, ReshapesHaveOneWhereDimsThatAreJoinedLieInOrder) {
  std::vector<std::pair<Numbers, Numbers>> shapes = {
      {{2, 6, 5}, {2, 2, 3, 5}}, {{2, 2, 3, 5}, {2, 6, 5}}, {{2, 3, 4}, {2, 12}},
      {{1, 3, 4}, {3, 1, 4}},    {{2, 3, 4}, {6, 4}},       {{4, 6}, {3, 8}},
      {{2, 1, 3, 1}, {2, 3}},    {{4, 3, 2}, {2, 2, 6}}};
  unsigned views = 0, others = 0;
  for (const auto &[dims, to] : shapes)
    for (const dl::Layout &layout : ordersOf(dims.size())) {
      RankedTensorType from = typeOf(dims, layout);
      SmallVector<AffineExpr> exprs;
      for (int64_t dim : to)
        exprs.push_back(dl::constantDim(dim, &context));
      auto op = dl::ReshapeOp::create(builder, builder.getUnknownLoc(), typeOf(to), tensor(from),
                                      AffineMapAttr::get(dl::dimsMap(exprs, &context)));
      auto view = layoutOfResult(op, layout);
      Numbers wanted = addresses(from); // reshapes keep the row-major order of elements
      if (view) {
        ++views;
        EXPECT_EQ(addresses(typeOf(to, *view)), wanted);
        EXPECT_EQ(*layoutOfOperand(op, *view), canonicalLayout(from, layout));
        continue;
      }
      ++others;
      for (const dl::Layout &order : ordersOf(to.size()))
        EXPECT_NE(addresses(typeOf(to, order)), wanted);
    }
  EXPECT_GT(views, 20U);
  EXPECT_GT(others, 20U);
}

TEST_F(ViewLayout, CanonicalLayoutsAreEqualWhereAddressesAre) {
  for (const Numbers &dims :
       std::vector<Numbers>{{2, 3, 2, 2}, {1, 3, 2, 2}, {2, 1, 3, 1}, {1, 1, 1, 5}})
    for (const dl::Layout &a : ordersOf(4))
      for (const dl::Layout &b : ordersOf(4)) {
        RankedTensorType one = typeOf(dims, a), other = typeOf(dims, b);
        EXPECT_EQ(addresses(one) == addresses(other),
                  canonicalLayout(one, a) == canonicalLayout(other, b));
        EXPECT_EQ(addresses(typeOf(dims, canonicalLayout(one, a))), addresses(one));
      }
}

} // namespace
