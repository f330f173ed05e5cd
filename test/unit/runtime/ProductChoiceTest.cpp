//===- ProductChoiceTest.cpp - Which matrix products cuBLASLt gets ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/ProductChoice.h"

#include <gtest/gtest.h>

using namespace dlc::cuda;
using dlc::rt::PlannedProduct;
using dlc::schema::DType;

static PlannedProduct plain(DType dtype, int64_t rows, int64_t depth, int64_t columns,
                            int64_t batch = 1) {
  return {dtype,
          false,
          rows,
          columns,
          depth,
          batch,
          {0, depth, 1, rows * depth},
          {1, columns, 1, depth * columns},
          {2, columns, 1, rows * columns},
          {}};
}

// The file says for which GPUs the call pays under the shapes at hand.
TEST(ProductChoice, WhereTheCompilerSaysSo) {
  PlannedProduct product = plain(DType::bf16, 4096, 4096, 4096);
  EXPECT_FALSE(paysAsLibraryProduct(product, 90)) << "a file of a compiler that did not ask";
  product.gpus = {100, 120};
  EXPECT_FALSE(paysAsLibraryProduct(product, 90));
  EXPECT_TRUE(paysAsLibraryProduct(product, 100));
  EXPECT_TRUE(paysAsLibraryProduct(product, 121)) << "described as the one before it";
  product.gpus = {0};
  EXPECT_TRUE(paysAsLibraryProduct(product, 80));
  product.a = {0, 2, 8192, 0}; // along neither
  EXPECT_FALSE(paysAsLibraryProduct(product, 80));
}

TEST(ProductChoice, WhatTheLibraryCannotDo) {
  PlannedProduct product = plain(DType::f16, 40, 24, 16);
  EXPECT_TRUE(isLibraryProduct(product));
  product.a = {0, 1, 40, 0}; // column by column
  EXPECT_TRUE(isLibraryProduct(product));
  product.a = {0, 2, 48, 0}; // along neither
  EXPECT_FALSE(isLibraryProduct(product));
  product.a = {0, 8, 1, 0}; // rows that overlap, as of a sliding window
  EXPECT_FALSE(isLibraryProduct(product));
  for (auto [rows, depth, columns] : {std::tuple(0, 24, 16), {40, 0, 16}, {40, 24, 0}})
    EXPECT_FALSE(isLibraryProduct(plain(DType::f16, rows, depth, columns)));
  EXPECT_FALSE(isLibraryProduct(plain(DType::f16, 40, 20, 16))) << "rows of 40 bytes";
  EXPECT_TRUE(isLibraryProduct(plain(DType::f32, 40, 20, 16))) << "rows of 80 bytes";
  EXPECT_FALSE(isLibraryProduct(plain(DType::f16, int64_t(1) << 31, 8, 8)));
  product = plain(DType::f16, 40, 24, 16, 3);
  product.b.batch = 0; // one for all
  EXPECT_TRUE(isLibraryProduct(product));
  product.b.batch = 4;
  EXPECT_FALSE(isLibraryProduct(product)) << "a matrix that begins between 16-byte copies";
}
