//===- Words.cpp - each word of the dlc:: vocabulary on a GPU -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/words/Words.h"

#include "runtime/core/Text.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace dlc::embed {
struct File {
  const char *name, *text;
};
extern const File deviceHeaders[], testKernels[], wordKernels[];
} // namespace dlc::embed

using namespace dlc;
using namespace dlc::hardware;
using rt::Status;

cuda::KernelText hardware::textOf(const std::string &name) {
  cuda::KernelText text;
  text.name = name;
  for (const embed::File *table : {embed::testKernels, embed::wordKernels})
    for (const embed::File *file = table; file->name; ++file)
      if (name == file->name)
        text.source = file->text;
  for (const embed::File *file = embed::deviceHeaders; file->name; ++file) {
    text.headerNames.push_back(file->name);
    text.headers.push_back(file->text);
  }
  return text;
}

//===- Inputs: made of raw bits, which every C++ library makes alike ------===//

template <class To, class From> static To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof to);
  return to;
}

/// Edges of the format and of the integer ranges, then numbers of all sizes.
template <class F> static std::vector<F> floats(size_t count, unsigned seed) {
  using Limits = std::numeric_limits<F>;
  using Bits = std::conditional_t<sizeof(F) == 4, uint32_t, uint64_t>;
  std::vector<F> edges;
  for (F value : {F(0),
                  F(0.5),
                  F(1),
                  F(1.5),
                  F(2.5),
                  F(65504),
                  F(65520),
                  F(8388607.5),
                  F(2147483520),
                  F(2147483648.0),
                  F(4294967296.0),
                  F(9223372036854775808.0),
                  Limits::min(),
                  Limits::denorm_min(),
                  Limits::max(),
                  Limits::infinity(),
                  Limits::quiet_NaN(),
                  F(5.9604645e-8),
                  F(2.9802322e-8),
                  F(6.1035156e-5)}) {
    edges.push_back(value);
    edges.push_back(-value);
  }
  std::mt19937_64 random(seed);
  std::vector<F> values;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    if (i < edges.size() *
                edges.size()) // each pair of edges meets, by the two seeds that are used together
      values.push_back(edges[seed % 2 ? i / edges.size() : i % edges.size()]);
    else if (bits % 2)
      values.push_back(bitCast<F>(Bits(random())));
    else
      values.push_back(F(int64_t(random()) >> (bits >> 1) % 63) / 16);
  }
  return values;
}

template <class T> static std::vector<T> integers(size_t count, unsigned seed) {
  const T edges[] = {0,
                     1,
                     T(-1),
                     2,
                     T(-2),
                     7,
                     T(-7),
                     std::numeric_limits<T>::min(),
                     std::numeric_limits<T>::max(),
                     T(8),
                     T(31)};
  constexpr size_t kEdges = std::size(edges);
  std::mt19937_64 random(seed);
  std::vector<T> values;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = random();
    values.push_back(i < kEdges * kEdges ? edges[seed % 2 ? i / kEdges : i % kEdges]
                                         : T(bits >> (bits % (sizeof(T) * 8))));
  }
  return values;
}

/// Two values of 16 bits in each word, or one of 32: in [-1, 1], or whole numbers from -1 to 1.
enum class Packed { f16, bf16, tf32 };
static std::vector<uint32_t> factors(Packed format, size_t words, unsigned seed, bool isWhole) {
  std::mt19937_64 random(seed);
  auto value = [&] {
    uint64_t bits = random();
    return isWhole ? float(int(bits % 3) - 1) : float(int64_t(bits % 2049) - 1024) / 1024;
  };
  auto narrow = [&](float v) -> uint32_t {
    uint32_t bits = bitCast<uint32_t>(v);
    if (format == Packed::bf16)
      return bits >> 16; // some digits are cut off, which makes another number of the format
    if (v == 0)
      return 0;
    // Exact: 11 digits, exponents from -10 to 0.
    return (bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 127 + 15) << 10 | (bits >> 13 & 1023);
  };
  std::vector<uint32_t> all(words);
  for (uint32_t &word : all)
    if (format == Packed::tf32)
      word = bitCast<uint32_t>(value());
    else {
      uint32_t low = narrow(value());
      word = low | narrow(value()) << 16;
    }
  return all;
}

//===- Launches -----------------------------------------------------------===//

namespace {

constexpr int kCount = 6000;

using Run = std::function<Status(Gpu &, cuda::Function, std::vector<char> &)>;

} // namespace

/// `words` results for each of kCount elements, computed from `inputs` of one type.
template <class Out, class In> static Run elements(int words, std::vector<std::vector<In>> inputs) {
  return [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
    Arguments arguments(gpu);
    for (const std::vector<In> &input : inputs)
      arguments.input(input);
    arguments.output(size_t(words) * kCount * sizeof(Out)).number(kCount);
    return arguments.launch(function, {{unsigned(kCount + 255) / 256}, {256}}, answer);
  };
}

/// One launch with inputs and outputs in this order.
template <class T>
static Run launch(Gpu::Launch how, std::vector<std::vector<T>> inputs,
                  std::vector<size_t> outputBytes, char fill = 0x5a) {
  return [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
    Arguments arguments(gpu);
    for (const std::vector<T> &input : inputs)
      arguments.input(input);
    for (size_t bytes : outputBytes)
      arguments.output(bytes, fill);
    return arguments.launch(function, how, answer);
  };
}

static std::vector<uint32_t> counting(size_t count) {
  std::vector<uint32_t> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = uint32_t(i * 2654435761u);
  return values;
}

/// A 19 x 100 array of bf16 through a box at (column, row).
static Run box(int column, int row) {
  return [=](Gpu &gpu, cuda::Function function, std::vector<char> &answer) -> Status {
    std::vector<uint16_t> array(19 * 104);
    for (size_t i = 0; i < array.size(); ++i)
      array[i] = uint16_t(i + 1);
    auto base = gpu.upload(array.data(), array.size() * 2);
    if (base.failed())
      return base.status();
    TensorMap map = {};
    DLC_TRY(gpu.encode(map, *base, 19, 104, 8, 64));
    Arguments arguments(gpu);
    arguments.map(map).number(column).number(row).output(1024);
    return arguments.launch(function, {{1}, {32}, 2048}, answer);
  };
}

/// gemm90.cu: every word of Hopper in its place, with whole numbers whose sums bf16 holds.
static Status gemm90(Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
  constexpr int m = 200, n = 136, k = 192;
  auto a = factors(Packed::bf16, m * k / 2, 21, true),
       b = factors(Packed::bf16, n * k / 2, 22, true);
  auto inA = gpu.upload(a.data(), a.size() * 4), inB = gpu.upload(b.data(), b.size() * 4);
  if (inA.failed() || inB.failed())
    return inA.failed() ? inA.status() : inB.status();
  TensorMap mapA = {}, mapB = {};
  DLC_TRY(gpu.encode(mapA, *inA, m, k, 128, 64));
  DLC_TRY(gpu.encode(mapB, *inB, n, k, 128, 64));
  Arguments arguments(gpu);
  arguments.map(mapA).map(mapB).output(size_t(m) * n * 2).input(std::vector<float>(n, 3.0f));
  arguments.number(m).number(n).number(k);
  return arguments.launch(function, {{3}, {384}, 4 * 2 * 128 * 64 * 2 + 8 * 8 + 1024}, answer);
}

static std::vector<WordCase> makeCases() {
  const auto f32 = [](unsigned seed) { return floats<float>(kCount, seed); };
  const auto f64 = [](unsigned seed) { return floats<double>(kCount, seed); };
  const std::string file = "primitives.cu";
  std::vector<std::string> floatWords = {"fma",           "sqrt",      "div",     "floor",
                                         "ceil",          "trunc",     "rint",    "max",
                                         "min",           "abs",       "neg",     "copysign",
                                         "select",        "from_bits", "bits_of", "f32_from_bits",
                                         "f64_from_bits", "is_nan"},
                           toInteger = {"to_i32_rn", "to_i32_rz", "to_u32_rz", "to_i64_rn",
                                        "to_i64_rz"},
                           integer = {"add_wrap",  "sub_wrap",  "mul_wrap",     "neg_wrap",
                                      "abs_wrap",  "shl",       "shr_unsigned", "shr_signed",
                                      "div_trunc", "rem_trunc", "div_floor",    "rem_floor"},
                           index = {"udiv", "umod", "max", "min", "ult", "ule"},
                           shuffles = {"shfl", "shfl_xor", "shfl_down", "shfl_up"};
  std::vector<uint16_t> every16(kCount);
  for (int i = 0; i < kCount; ++i)
    every16[i] = uint16_t(i * 11);
  std::vector<WordCase> cases = {
      {"f32_words", file, "f32_words", floatWords, Sameness::f32, false,
       elements<float, float>(16, {f32(1), f32(2), f32(3)})},
      {"f64_words", file, "f64_words", floatWords, Sameness::f64, false,
       elements<double, double>(16, {f64(1), f64(2), f64(3)})},
      {"f32_to_integers", file, "f32_to_integers", toInteger, Sameness::bits, false,
       elements<int64_t, float>(5, {f32(4)})},
      {"f64_to_integers", file, "f64_to_integers", toInteger, Sameness::bits, false,
       elements<int64_t, double>(5, {f64(4)})},
      {"integers_to_floats",
       file,
       "integers_to_floats",
       {},
       Sameness::f64,
       false,
       elements<double, int64_t>(4, {integers<int64_t>(kCount, 5)})},
      {"narrow_f32",
       file,
       "narrow_f32",
       {"from_f", "pack2"},
       Sameness::bits,
       false,
       elements<uint16_t, float>(4, {f32(6)})},
      {"narrow_f64",
       file,
       "narrow_f64",
       {"from_d", "to_odd"},
       Sameness::bits,
       false,
       elements<uint16_t, double>(2, {f64(6)})},
      {"widen",
       file,
       "widen",
       {"to_f", "to_d", "max", "min", "max_stored", "min_stored", "f16_from_bits",
        "bf16_from_bits"},
       Sameness::f64,
       false,
       elements<double, uint16_t>(5, {every16})},
      {"i8_words", file, "i8_words", integer, Sameness::bits, false,
       elements<int8_t, int8_t>(12, {integers<int8_t>(kCount, 7), integers<int8_t>(kCount, 8)})},
      {"i16_words", file, "i16_words", integer, Sameness::bits, false,
       elements<int16_t, int16_t>(12,
                                  {integers<int16_t>(kCount, 7), integers<int16_t>(kCount, 8)})},
      {"i32_words", file, "i32_words", integer, Sameness::bits, false,
       elements<int32_t, int32_t>(12,
                                  {integers<int32_t>(kCount, 7), integers<int32_t>(kCount, 8)})},
      {"i64_words", file, "i64_words", integer, Sameness::bits, false,
       elements<int64_t, int64_t>(12,
                                  {integers<int64_t>(kCount, 7), integers<int64_t>(kCount, 8)})},
      {"i32_index", file, "i32_index", index, Sameness::bits, false,
       elements<int32_t, int32_t>(6,
                                  {integers<int32_t>(kCount, 9), integers<int32_t>(kCount, 10)})},
      {"i64_index", file, "i64_index", index, Sameness::bits, false,
       elements<int64_t, int64_t>(6,
                                  {integers<int64_t>(kCount, 9), integers<int64_t>(kCount, 10)})},
      {"mixed_index", file, "mixed_index", index, Sameness::bits, false,
       launch<char>({{1}, {1}}, {}, {32})},
      {"warp_i32", file, "warp_i32", shuffles, Sameness::bits, false,
       launch<int32_t>({{1}, {32}}, {integers<int32_t>(32, 11)}, {5 * 32 * 4})},
      {"warp_i64", file, "warp_i64", shuffles, Sameness::bits, false,
       launch<int64_t>({{1}, {32}}, {integers<int64_t>(32, 11)}, {5 * 32 * 8})},
      {"warp_f32", file, "warp_f32", shuffles, Sameness::f32, false,
       launch<float>({{1}, {32}}, {floats<float>(32, 12)}, {5 * 32 * 4})},
      {"warp_f64", file, "warp_f64", shuffles, Sameness::f64, false,
       launch<double>({{1}, {32}}, {floats<double>(32, 12)}, {5 * 32 * 8})},
      {"warp_votes",
       file,
       "warp_votes",
       {"ballot", "warp_barrier"},
       Sameness::bits,
       false,
       launch<char>({{1}, {32}}, {}, {128})},
      {"atomics",
       file,
       "atomics",
       {"atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_exchange", "fence"},
       Sameness::bits,
       false,
       launch<char>({{8}, {32}}, {}, {12, 24, 4, 8, 12, 8}, 0)},
      {"vectors",
       file,
       "vectors",
       {"load", "store", "splat", "note_load", "note_store"},
       Sameness::bits,
       false,
       launch<uint32_t>({{1}, {1}}, {counting(36)}, {144})},
      {"constants",
       file,
       "constants",
       {},
       Sameness::bits,
       false,
       launch<char>({{1}, {1}}, {}, {12, 16})},
      {"dynamic_shared",
       file,
       "dynamic_shared",
       {"barrier", "dynamic_shared_bytes", "smem_u32"},
       Sameness::bits,
       false,
       launch<char>({{1}, {64}, 256}, {}, {256})},
      {"ldmatrix",
       "fragments.cu",
       "ldmatrix",
       {"ldmatrix_x4", "ldmatrix_x4_trans"},
       Sameness::bits,
       false,
       launch<uint32_t>({{1}, {32}}, {counting(128)}, {512, 512})},
      {"copies",
       "words.cu",
       "copies",
       {"cp_async16", "cp_async", "cp_async_commit", "cp_async_wait"},
       Sameness::bits,
       false,
       launch<uint32_t>({{1}, {128}, 6144}, {counting(512)}, {(1408 + 128) * 4})},
      {"grid_barrier",
       "words.cu",
       "rounds",
       {"grid_barrier"},
       Sameness::bits,
       false,
       [](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
         Arguments arguments(gpu);
         arguments.input(std::vector<uint32_t>(1)).input(std::vector<uint32_t>(8)).output(64);
         return arguments.launch(function, {{8}, {64}, 0, true}, answer);
       }},
      {"last_block",
       "words.cu",
       "last_block",
       {"fence"},
       Sameness::bits,
       false,
       [](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
         Arguments arguments(gpu);
         arguments.input(std::vector<uint32_t>(1)).input(std::vector<uint32_t>(100)).output(4);
         return arguments.launch(function, {{100}, {32}}, answer);
       }},
  };
  // Rounding to tf32: every exponent, and the digits around a tie.
  cases.push_back({"tf32_bits",
                   "fragments.cu",
                   "round_tf32",
                   {"tf32_bits"},
                   Sameness::f32,
                   false,
                   [](Gpu &gpu, cuda::Function function, std::vector<char> &answer) {
                     std::vector<uint32_t> in;
                     for (uint32_t exponent = 0; exponent < 512; ++exponent)
                       for (uint32_t digits : {0u, 1u, 0xfffu, 0x1000u, 0x1001u, 0x1fffu, 0x3000u,
                                               0x7fefffu, 0x7fffffu})
                         if (exponent % 256 != 255 || digits == 0)
                           in.push_back(exponent << 23 | digits);
                     Arguments arguments(gpu);
                     arguments.input(in).output(in.size() * 4).number(int(in.size()));
                     return arguments.launch(function, {{1}, {32}}, answer);
                   }});
  for (auto [suffix, format] : {std::pair("f16", Packed::f16), std::pair("bf16", Packed::bf16),
                                std::pair("tf32", Packed::tf32)}) {
    std::string type = suffix;
    std::vector<std::string> words = {"mma_tile", type == "tf32" ? "mma_m16n8k8" : "mma_m16n8k16"};
    for (bool isWhole : {true, false})
      cases.push_back(
          {"tiles_" + type + (isWhole ? ", whole numbers" : ""), "words.cu", "tiles_" + type, words,
           isWhole ? Sameness::bits : Sameness::nearF32, false,
           launch<uint32_t>({{1}, {32}},
                            {factors(format, 256, 13, isWhole), factors(format, 128, 14, isWhole)},
                            {4 * 32 * 4 * 4})});
  }
  // Any bits are bytes.
  for (const char *types : {"u8u8", "u8i8", "i8u8", "i8i8"})
    cases.push_back(
        {rt::text("tiles_", types),
         "words.cu",
         rt::text("tiles_", types),
         {"mma_tile_bytes", "mma_m16n8k32", "add_bytes"},
         Sameness::bits,
         false,
         launch<uint32_t>({{1}, {32}}, {integers<uint32_t>(256, 17), integers<uint32_t>(128, 18)},
                          {4 * 32 * 4 * 4})});
  cases.push_back({"phases",
                   "words90.cu",
                   "phases",
                   {"mbar_init", "mbar_fence_init", "mbar_arrive", "mbar_wait"},
                   Sameness::bits,
                   true,
                   launch<char>({{1}, {64}, 2048}, {}, {1024})});
  cases.push_back({"neighbours",
                   "words90.cu",
                   "neighbours",
                   {"cluster_rank", "cluster_barrier", "cluster_leave", "map_shared"},
                   Sameness::bits,
                   true,
                   launch<char>({{24}, {64}, 256}, {}, {24 * 8 * 64 * 4})});
  for (auto [column, row] : {std::pair(0, 0), std::pair(64, 8), std::pair(-8, 16)})
    cases.push_back({rt::text("box at ", column, ", ", row),
                     "words90.cu",
                     "box",
                     {"tma_load_2d", "prefetch_map", "mbar_expect_tx", "fence_async"},
                     Sameness::bits,
                     true,
                     box(column, row)});
  for (auto [suffix, format] : {std::pair("f16", Packed::f16), std::pair("bf16", Packed::bf16),
                                std::pair("tf32", Packed::tf32)})
    for (int columns : {64, 128, 256})
      for (const char *majors : {"00", "01", "10", "11"}) {
        if (format == Packed::tf32 && std::strcmp(majors, "00") != 0)
          continue;
        std::string name = rt::text("wgmma_", suffix, "_", columns, "_", majors);
        cases.push_back({name,
                         "words90.cu",
                         name,
                         {"wgmma", "wgmma_fence", "wgmma_commit", "wgmma_wait", "fence_async",
                          std::strchr(majors, '1') ? "wgmma_along_rows" : "wgmma_along_k"},
                         Sameness::bits,
                         true,
                         launch<uint32_t>({{1}, {128}, unsigned(8192 + columns * 128)},
                                          {factors(format, 2048, 15, true),
                                           factors(format, size_t(columns) * 32, 16, true)},
                                          {size_t(64) * columns * 4})});
      }
  for (auto [suffix, format] : {std::pair("f16", Packed::f16), std::pair("bf16", Packed::bf16)})
    for (int columns : {64, 128, 256})
      for (int major : {0, 1}) {
        std::string name = rt::text("wgmma_held_", suffix, "_", columns, "_", major);
        cases.push_back(
            {name,
             "words90.cu",
             name,
             {"wgmma_held", "wgmma_arrived", "wgmma_fence", "wgmma_commit", "wgmma_wait",
              "fence_async", major ? "wgmma_along_rows" : "wgmma_along_k"},
             Sameness::bits,
             true,
             launch<uint32_t>(
                 {{1}, {128}, unsigned(columns * 128)},
                 {factors(format, 1024, 17, true), factors(format, size_t(columns) * 32, 18, true)},
                 {size_t(64) * columns * 4})});
      }
  cases.push_back({"gemm90",
                   "gemm90.cu",
                   "gemm90",
                   {"reg_alloc", "reg_dealloc", "tma_load_2d", "wgmma"},
                   Sameness::bits,
                   true,
                   gemm90});
  for (auto *some : {sparseCases, narrowCases})
    for (WordCase &word : some())
      cases.push_back(std::move(word));
  return cases;
}

const std::vector<WordCase> &hardware::wordCases() {
  static const std::vector<WordCase> cases = makeCases();
  return cases;
}

//===- Comparison ---------------------------------------------------------===//

template <class F, class Same>
static std::string firstDifference(const std::vector<char> &actual,
                                   const std::vector<char> &expected, Same same) {
  for (size_t at = 0; at + sizeof(F) <= actual.size(); at += sizeof(F)) {
    F one, other;
    std::memcpy(&one, actual.data() + at, sizeof one);
    std::memcpy(&other, expected.data() + at, sizeof other);
    if (!same(one, other)) {
      char text[200];
      std::snprintf(text, sizeof text, "value %zu is %.9g, the emulator's %.9g", at / sizeof(F),
                    double(one), double(other));
      return text;
    }
  }
  return "";
}

std::string hardware::difference(Sameness sameness, const std::vector<char> &actual,
                                 const std::vector<char> &expected) {
  if (actual.size() != expected.size())
    return rt::text(actual.size(), " bytes, expected ", expected.size());
  auto sameFloat = [](auto one, auto other) {
    return std::memcmp(&one, &other, sizeof one) == 0 || (std::isnan(one) && std::isnan(other));
  };
  switch (sameness) {
  case Sameness::bits:
    return firstDifference<unsigned char>(actual, expected,
                                          [](auto one, auto other) { return one == other; });
  case Sameness::f32:
    return firstDifference<float>(actual, expected, sameFloat);
  case Sameness::f64:
    return firstDifference<double>(actual, expected, sameFloat);
  case Sameness::nearF32:
    return firstDifference<float>(actual, expected, [](float one, float other) {
      return std::fabs(one - other) <= 0x1p-16f;
    });
  }
  return "";
}
