//===- NarrowWords.cpp - wgmma of one-byte elements on a GPU ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/words/Words.h"

#include "runtime/core/Text.h"

#include <cmath>
#include <random>

using namespace dlc;
using namespace dlc::hardware;

/// Bytes of -3 to 3 in e4m3, of which any sum is exact.
static std::vector<uint32_t> wholeFloat8(size_t words, unsigned seed) {
  static const uint32_t kCodes[] = {0x00, 0x38, 0x40, 0x44, 0xb8, 0xc0, 0xc4};
  std::mt19937_64 random(seed);
  std::vector<uint32_t> values(words);
  for (uint32_t &word : values)
    for (int i = 0; i < 4; ++i)
      word = word << 8 | kCodes[random() % 7];
  return values;
}

static std::vector<uint32_t> anyBytes(size_t words, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> values(words);
  for (uint32_t &word : values)
    word = uint32_t(random());
  return values;
}

static WordCase product(const std::string &name, const std::string &word, int columns,
                        const std::vector<uint32_t> &a, const std::vector<uint32_t> &b) {
  return {name,
          "words90.cu",
          name,
          {word, "wgmma_fence", "wgmma_commit", "wgmma_wait", "fence_async", "wgmma_along_k"},
          Sameness::bits,
          /*needsHopper=*/true,
          [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
            Arguments arguments(gpu);
            arguments.input(a).input(b).output(size_t(64) * columns * 4);
            return arguments.launch(function, {{1}, {128}, unsigned(8192 + columns * 128)}, answer);
          }};
}

/// Numbers of all exponents of e4m3, at and beside the middle of two of it, and beyond the largest.
static std::vector<float> aroundFloat8() {
  std::vector<float> values = {0.0f, -0.0f, 448.0f, -464.0f, 1e9f, INFINITY, -INFINITY, NAN};
  for (int exponent = -11; values.size() < 512; exponent = exponent == 9 ? -11 : exponent + 1)
    for (int sixteenths = 0; sixteenths < 16; ++sixteenths) {
      float middle = std::ldexp(1 + float(sixteenths) / 16, exponent);
      values.insert(values.end(), {middle, -std::nextafter(middle, 0.0f)});
    }
  values.resize(512);
  return values;
}

std::vector<WordCase> hardware::narrowCases() {
  std::vector<WordCase> cases;
  cases.push_back({"packed_float8",
                   "words90.cu",
                   "packed_float8",
                   {"pack4_float8", "choose_bytes"},
                   Sameness::bits,
                   /*needsHopper=*/true,
                   [](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
                     Arguments arguments(gpu);
                     arguments.input(aroundFloat8()).output(256 * 4);
                     return arguments.launch(function, {{1}, {128}}, answer);
                   }});
  for (int columns : {64, 128, 256}) {
    const auto words = size_t(columns) * 32;
    for (const char *where : {"", "held_"})
      if (*where == 0 || columns < 256)
        cases.push_back(product(rt::text("wgmma_", where, "e4m3_", columns),
                                rt::text("wgmma_", where, "float8"), columns, wholeFloat8(2048, 41),
                                wholeFloat8(words, 42)));
    for (const char *types : {"s8s8", "s8u8", "u8s8", "u8u8"})
      cases.push_back(product(rt::text("wgmma_", types, "_", columns), "wgmma_bytes", columns,
                              anyBytes(2048, 43), anyBytes(words, 44)));
  }
  return cases;
}
