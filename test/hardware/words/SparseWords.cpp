//===- SparseWords.cpp - products with two of each four elements on a GPU -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices, how they lie for mma.sp and wgmma.sp by the PTX manual, and their product, all made on
// the host: what the emulator takes for the layout is not asked.
//===----------------------------------------------------------------------===//
#include "test/hardware/words/Words.h"

#include "runtime/core/Text.h"

#include <array>
#include <cstdio>
#include <cstring>
#include <random>

using namespace dlc;
using namespace dlc::hardware;
using rt::Status;

/// The bits of a whole number from -15 to 15, which both formats hold.
static uint32_t encode(int value, bool isBf16) {
  float wide = float(value);
  uint32_t bits;
  std::memcpy(&bits, &wide, sizeof bits);
  if (isBf16)
    return bits >> 16;
  if (value == 0)
    return 0;
  return (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 127 + 15) << 10 | (bits >> 13 & 1023);
}

namespace {

using Words = std::vector<uint32_t>;

/// A of `rows` x `steps`, of which two of each four neighbours along k are not 0, at any of the six
/// pairs of places, and B of `steps` x `columns`: whole numbers from -15 to 15.
class Matrices {
public:
  Matrices(int rows, int columns, int steps, unsigned seed)
      : columns(columns), steps(steps), a(size_t(rows) * steps), b(size_t(steps) * columns) {
    static const int kPairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    std::mt19937_64 random(seed);
    for (size_t group = 0; group < a.size(); group += 4)
      for (int place : kPairs[random() % 6]) {
        int size = int(random() % 15) + 1;
        a[group + place] = random() % 2 ? size : -size;
      }
    for (int &value : b)
      value = int(random() % 31) - 15;
  }

  /// Sums of at most 64 products that are not 0: float holds all of them.
  float total(int row, int column) const {
    int sum = 0;
    for (int k = 0; k < steps; ++k)
      sum += a[size_t(row) * steps + k] * b[size_t(k) * columns + column];
    return float(sum);
  }
  /// At which of the four steps from 4 * `group` on the elements stand that are stored.
  std::array<int, 2> places(int row, int group) const {
    std::array<int, 2> found = {};
    size_t count = 0;
    for (int place = 0; place < 4; ++place)
      if (a[size_t(row) * steps + group * 4 + place] != 0)
        found[count++] = place;
    return found;
  }
  /// The two stored elements of a four, as a word.
  uint32_t stored(int row, int group, bool isBf16) const {
    auto [first, second] = places(row, group);
    const int *four = &a[size_t(row) * steps + group * 4];
    return encode(four[first], isBf16) | encode(four[second], isBf16) << 16;
  }
  /// Steps k and k + 1 of a column of B, as a word.
  uint32_t pairOfB(int k, int column, bool isBf16) const {
    const int *at = &b[size_t(k) * columns + column];
    return encode(at[0], isBf16) | encode(at[columns], isBf16) << 16;
  }
  /// The word of `lane` with the places of 16 rows from `row` on, 32 steps from 4 * `group` on. The
  /// first of four lanes has 16 of the steps, the second the others; nobody reads the other two.
  uint32_t wordOfPlaces(int lane, int row, int group) const {
    if (lane % 4 >= 2)
      return 0xeeeeeeee; // places 2 and 3 throughout
    uint32_t word = 0;
    for (int half = 0; half < 2; ++half)
      for (int i = 0; i < 4; ++i) {
        auto [first, second] = places(row + lane / 4 + half * 8, group + lane % 4 * 4 + i);
        word |= uint32_t(first | second << 2) << (half * 16 + i * 4);
      }
    return word;
  }

private:
  int columns, steps;
  std::vector<int> a, b;
};

} // namespace

/// Launches, and compares each bit with `expected`, the host's product in the order of the answer.
static Status multiply(Gpu &gpu, cuda::Function function, const Gpu::Launch &how,
                       const std::array<Words, 3> &inputs, const std::vector<float> &expected,
                       std::vector<char> &answer) {
  Arguments arguments(gpu);
  for (const Words &input : inputs)
    arguments.input(input);
  arguments.output(expected.size() * sizeof(float));
  DLC_TRY(arguments.launch(function, how, answer));
  std::vector<float> actual(expected.size());
  std::memcpy(actual.data(), answer.data(), answer.size());
  size_t wrong = 0, first = 0;
  for (size_t i = actual.size(); i-- > 0;)
    if (std::memcmp(&actual[i], &expected[i], sizeof(float)) != 0) {
      ++wrong;
      first = i;
    }
  if (wrong == 0)
    return {};
  char text[200];
  std::snprintf(text, sizeof text,
                "%zu of %zu values are not those of the host: value %zu is %.9g, the host's %.9g",
                wrong, actual.size(), first, double(actual[first]), double(expected[first]));
  return {DLC_INTERNAL, text};
}

/// One warp: 2 x 3 tiles of 16 x 8, two times 32 steps of k.
static Status tiles(Gpu &gpu, cuda::Function function, bool isBf16, std::vector<char> &answer) {
  const Matrices matrices(32, 24, 64, 31);
  Words a, places, b;
  std::vector<float> expected;
  for (int step = 0; step < 2; ++step) {
    for (int tile = 0; tile < 2; ++tile)
      for (int lane = 0; lane < 32; ++lane) {
        places.push_back(matrices.wordOfPlaces(lane, tile * 16, step * 8));
        for (int r = 0; r < 4; ++r)
          a.push_back(matrices.stored(tile * 16 + lane / 4 + r % 2 * 8,
                                      step * 8 + lane % 4 + r / 2 * 4, isBf16));
      }
    for (int tile = 0; tile < 3; ++tile)
      for (int lane = 0; lane < 32; ++lane)
        for (int r = 0; r < 4; ++r)
          b.push_back(
              matrices.pairOfB(step * 32 + r * 8 + lane % 4 * 2, tile * 8 + lane / 4, isBf16));
  }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int lane = 0; lane < 32; ++lane)
        for (int k = 0; k < 4; ++k)
          expected.push_back(
              matrices.total(i * 16 + lane / 4 + k / 2 * 8, j * 8 + lane % 4 * 2 + k % 2));
  return multiply(gpu, function, {{1}, {32}}, {a, places, b}, expected, answer);
}

/// Lines of 128 bytes with the 128-byte swizzle: `lineWord(line, i)` is word i before it.
template <class LineWord> static void pushLines(Words &words, int lines, LineWord lineWord) {
  for (int line = 0; line < lines; ++line)
    for (int at = 0; at < 32; ++at)
      words.push_back(lineWord(line, (at / 4 ^ line % 8) * 4 + at % 4));
}

/// One warpgroup: 64 rows, four times 32 steps of k.
static Status warpgroup(Gpu &gpu, cuda::Function function, int columns, bool isBf16,
                        std::vector<char> &answer) {
  const Matrices matrices(64, columns, 128, 32);
  Words a, places, b;
  std::vector<float> expected;
  pushLines(a, 64, [&](int row, int word) { return matrices.stored(row, word, isBf16); });
  for (int block = 0; block < 2; ++block)
    pushLines(b, columns, [&](int column, int word) {
      return matrices.pairOfB(block * 64 + word * 2, column, isBf16);
    });
  for (int product = 0; product < 4; ++product)
    for (int t = 0; t < 128; ++t)
      places.push_back(matrices.wordOfPlaces(t % 32, t / 32 * 16, product * 8));
  for (int i = 0; i < columns / 2; ++i)
    for (int t = 0; t < 128; ++t)
      expected.push_back(
          matrices.total(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, i / 4 * 8 + t % 4 * 2 + i % 2));
  return multiply(gpu, function, {{1}, {128}, unsigned(8192 + columns * 256)}, {a, places, b},
                  expected, answer);
}

std::vector<WordCase> hardware::sparseCases() {
  std::vector<WordCase> cases;
  for (const char *type : {"f16", "bf16"}) {
    bool isBf16 = *type == 'b';
    std::string name = rt::text("sparse_tiles_", type);
    cases.push_back({name,
                     "words.cu",
                     name,
                     {"mma_tile_sparse", "mma_sparse_m16n8k32"},
                     Sameness::bits,
                     false,
                     [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
                       return tiles(gpu, function, isBf16, answer);
                     }});
    for (int columns : {64, 128, 256}) {
      name = rt::text("wgmma_sparse_", type, "_", columns);
      cases.push_back({name,
                       "words90.cu",
                       name,
                       {"wgmma_sparse", "wgmma_arrived", "wgmma_fence", "wgmma_commit",
                        "wgmma_wait", "fence_async", "wgmma_along_k"},
                       Sameness::bits,
                       true,
                       [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
                         return warpgroup(gpu, function, columns, isBf16, answer);
                       }});
    }
  }
  return cases;
}
