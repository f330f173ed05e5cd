//===- ArenaTest.cpp - Placements are sound, tight and repeatable -----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/bind/Arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace dlc::rt;

static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

TEST(Arena, ReusesMemoryOfTheDead) {
  // A chain: each buffer lives for two commands, so two slots serve all.
  std::vector<Lifetime> chain;
  for (uint32_t i = 0; i < 10; ++i)
    chain.push_back({1000, i, i + 1});
  std::optional<Placement> placement = placeBuffers(chain, 64);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->bytes, 2 * align(1000));
}

TEST(Arena, PlacesWhatEndsTooHighFirst) {
  // Two blocks of a residual network, whose hidden values take four times what the others do. With
  // the hidden values at the bottom, the second residual lies above what is alive at once.
  std::vector<Lifetime> blocks = {{64, 0, 5},  {64, 1, 2}, {64, 2, 3}, {256, 3, 4}, {64, 4, 5},
                                  {64, 5, 10}, {64, 6, 7}, {64, 7, 8}, {256, 8, 9}};
  std::optional<Placement> placement = placeBuffers(blocks, 64);
  ASSERT_TRUE(placement);
  EXPECT_TRUE(isSound(blocks, *placement, 64));
  EXPECT_EQ(mostAlive(blocks, 64), 384);
  EXPECT_EQ(placement->bytes, 384);
}

TEST(Arena, EmptyBuffersAndNoBuffers) {
  EXPECT_EQ(placeBuffers({}, 64)->bytes, 0);
  std::optional<Placement> placement = placeBuffers({{0, 0, 3}, {64, 0, 3}, {0, 1, 2}}, 64);
  ASSERT_TRUE(placement);
  EXPECT_EQ(placement->bytes, 64);
}

TEST(Arena, RandomPlacementsAreSoundAndAboveTheLowerBound) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Lifetime> requests(1 + random() % 60);
    for (Lifetime &request : requests) {
      request.bytes = random() % 4 == 0 ? random() % 3 : random() % 5000;
      request.first = random() % 40;
      request.last = request.first + random() % 10;
    }
    std::optional<Placement> placement = placeBuffers(requests, 64);
    ASSERT_TRUE(placement);
    ASSERT_TRUE(isSound(requests, *placement, 64)) << round;
    EXPECT_EQ(placeBuffers(requests, 64)->offsets, placement->offsets);
    int64_t peak = 0, sum = 0;
    for (uint32_t time = 0; time < 50; ++time) {
      int64_t alive = 0;
      for (const Lifetime &request : requests)
        if (request.first <= time && time <= request.last)
          alive += align(request.bytes);
      peak = std::max(peak, alive);
    }
    for (const Lifetime &request : requests)
      sum += align(request.bytes);
    EXPECT_EQ(mostAlive(requests, 64), peak);
    EXPECT_GE(placement->bytes, peak);
    EXPECT_LE(placement->bytes, sum);
  }
}

TEST(Arena, TheCheckFindsBadPlacements) {
  std::vector<Lifetime> requests = {{100, 0, 1}, {100, 1, 2}};
  EXPECT_TRUE(isSound(requests, {{0, 128}, 228}, 64));
  EXPECT_FALSE(isSound(requests, {{0, 64}, 228}, 64));  // overlap
  EXPECT_FALSE(isSound(requests, {{0, 130}, 230}, 64)); // alignment
  EXPECT_FALSE(isSound(requests, {{0, 128}, 200}, 64)); // outside the block
  EXPECT_FALSE(isSound(requests, {{-64, 128}, 228}, 64));
  EXPECT_FALSE(isSound(requests, {{0}, 100}, 64));
  EXPECT_TRUE(isSound({{100, 0, 0}, {100, 1, 2}}, {{0, 0}, 100}, 64)); // never alive together
}

TEST(Arena, OverflowIsReported) {
  EXPECT_FALSE(placeBuffers({{INT64_MAX, 0, 0}}, 64));
  EXPECT_FALSE(placeBuffers({{INT64_MAX / 2 - 200, 0, 0}, {INT64_MAX / 2 - 200, 0, 0}}, 64));
}
