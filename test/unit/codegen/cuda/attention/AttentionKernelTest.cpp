//===- AttentionKernelTest.cpp - Attention in one kernel -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Under each policy, checked. What test/numeric asks at boundary shapes is asked here of layouts, masks and numbers that its
// rows do not have, and each barrier of the walk over the keys is taken out once.
//===----------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

namespace {
/// One head or more: query [B, L, E], key [B, S, E] or, as `keyDims` says, otherwise, value [B, S, V].
struct Head {
  std::string batch = "s1", rows = "s0", keys = "45";
  int depth = 24, columns = 16;
  std::string type = "f32", mask = "", maskType = "";
  bool causal = false, keyAcross = false, swapped = false;
  bool addsLeast = false; // the least number to all scores
  int64_t largest = 200;  // value of s0
  bool wgmma = false;     // the kernel for sm_90a
  bool float8 = false;    // query, key and value are cast from e4m3, weights are rounded to it
};

std::string tensor(const std::string &dims, const std::string &type) {
  std::string shape;
  bool isDynamic = dims.find('s') != std::string::npos;
  for (size_t at = 0; at < dims.size();) {
    size_t end = std::min(dims.find(", ", at), dims.size());
    std::string dim = dims.substr(at, end - at);
    shape += (dim[0] == 's' ? "?" : dim) + "x";
    at = end + 2;
  }
  return "tensor<" + shape + type + (isDynamic ? ", #dl.t<[" + dims + "]>>" : ">");
}

class AttentionKernelTest : public CudaKernelTest {
protected:
  void loadHead(const Head &h, const std::string &precision = "f32") {
    std::string e = std::to_string(h.depth), v = std::to_string(h.columns);
    std::string q = tensor(h.batch + ", " + h.rows + ", " + e, h.type),
                k = tensor(h.keyAcross ? h.batch + ", " + e + ", " + h.keys
                                       : h.batch + ", " + h.keys + ", " + e,
                           h.type),
                w = tensor(h.batch + ", " + h.keys + ", " + v, h.type),
                s = tensor(h.batch + ", " + h.rows + ", " + h.keys, h.type),
                y = tensor(h.batch + ", " + h.rows + ", " + v, h.type);
    std::string loops = h.keyAcross ? "0, 3, 2" : "0, 2, 3";
    // As the kernel gets them.
    auto stored = [&](std::string type) {
      return h.float8 ? type.replace(type.rfind("f32"), 3, "f8E4M3FN") : type;
    };
    std::string m = h.mask.empty() ? "" : ", " + tensor(h.mask, h.maskType);
    auto arguments = [&](const std::string &suffix, bool isStored) {
      return "^bb0(%q" + suffix + ": " + (isStored ? stored(q) : q) + ", %k" + suffix + ": " +
             (isStored ? stored(k) : k) + ", %v" + suffix + ": " + (isStored ? stored(w) : w) +
             (m.empty() ? "" : ", %m" + suffix + ": " + m.substr(2)) + "):\n";
    };
    std::string body = arguments(h.float8 ? "0" : "1", h.float8);
    if (h.float8)
      for (const auto &[name, type] : {std::pair("q", q), {"k", k}, {"v", w}})
        body += std::string("%") + name + "1 = dl.cast %" + name + "0 {dtype = f32} : (" +
                stored(type) + ") -> " + type + "\n";
    body += std::string("%y = dl.attention(%q1, %k1, %v1") +
            (m.empty()  ? ""
             : h.float8 ? ", %m0"
                        : ", %m1") +
            ")" + (h.causal ? " {is_causal}" : "") + " : (" + q + ", " + k + ", " + w + m +
            ") -> " + y + " {\n" + arguments("", false);
    auto binary = [&](const std::string &y, const std::string &op, const std::string &a,
                      const std::string &b) {
      body += y + " = dl." + op + " " + a + ", " + b + " : (" + s + ", " + s + ") -> " + s + "\n";
    };
    if (h.swapped)
      body += "%s = dl.contract %k, %q {other_loops = array<i64: 0, 1, 3>, rank = 3 : i64, "
              "x_loops = array<i64: " +
              loops + ">} : (" + k + ", " + q + ") -> " + s + "\n";
    else
      body += "%s = dl.contract %q, %k {other_loops = array<i64: " + loops +
              ">, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (" + q + ", " + k + ") -> " + s +
              "\n";
    std::string scores = "%s";
    if (!h.mask.empty()) {
      std::string wide = tensor(h.batch + ", " + h.rows + ", " + h.keys, h.maskType);
      body += "%b = dl.broadcast %m : (" + tensor(h.mask, h.maskType) + ") -> " + wide + "\n";
      if (h.maskType == "i1") {
        body += "%i = dl.full 0xFF800000 : f32 -> " + s + "\n%t = dl.where %b, %s, %i : (" + wide +
                ", " + s + ", " + s + ") -> " + s + "\n";
      } else {
        binary("%t", "add", "%s", "%b");
      }
      scores = "%t";
    }
    if (h.addsLeast) {
      body += "%i = dl.full 0xFF7FFFFF : f32 -> " + s + "\n";
      binary("%t", "add", "%s", "%i");
      scores = "%t";
    }
    body += "%p = dl.softmax " + scores + " {dim = -1 : i64} : (" + s + ") -> " + s + "\n";
    std::string weights = "%p";
    if (h.float8) {
      body += "%c = dl.full 2.56e+02 : f32 -> " + s + "\n";
      binary("%o", "mul", "%p", "%c");
      body += "%n = dl.cast %o {dtype = f8E4M3FN} : (" + s + ") -> " + stored(s) +
              "\n%w = dl.cast %n {dtype = f32} : (" + stored(s) + ") -> " + s + "\n";
      weights = "%w";
    }
    body += "%z = dl.matmul " + weights + ", %v : (" + s + ", " + w + ") -> " + y +
            "\ndl.yield %z : " + y + "\n}\ndl.yield %y : " + y;
    load("attention", body, h.largest, precision, h.wgmma ? "always" : "never");
  }
};
} // namespace

// The interpreter rounds scores and weights to the dtype, this kernel does not.
constexpr Tolerance kSingle{64.0, 2e-5}, kHalf{64.0, 1e-2}, kTf32{64.0, 1e-2};
/// Weights of 256 together, which either rounds by up to 2^-4 of each.
constexpr Tolerance kWeights8{64.0, 0x1p-3 * 256};

TEST_P(AttentionKernelTest, SinglePrecision) {
  loadHead({});
  EXPECT_NE(text().find("dlc::attention_simt<config>"), std::string::npos) << text();
  EXPECT_EQ(config("width_q"), 4) << text();
  checkBoundaries(kSingle);
}

TEST_P(AttentionKernelTest, HalfPrecision) {
  Head head;
  head.type = "f16";
  loadHead(head);
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  EXPECT_EQ(config("width_k"), 8) << text();
  EXPECT_EQ(config("along_k_v"), 0);
  checkBoundaries(kHalf);
}

// Kernels of other GPUs multiply e4m3 as f16, and keep more of the weights.
TEST_P(AttentionKernelTest, Float8) {
  Head head;
  head.float8 = true;
  loadHead(head);
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  checkBoundaries(kWeights8);
}

TEST_P(AttentionKernelTest, Tf32) {
  loadHead({}, "tf32");
  EXPECT_NE(text().find("dlc::attention_mma<config>"), std::string::npos) << text();
  checkBoundaries(kTf32);
}

// Keys that lie along their columns, read by a product whose operands changed places; no even number of anything.
TEST_P(AttentionKernelTest, KeysAcross) {
  for (const char *type : {"f32", "f16"}) {
    Head head;
    head.type = type;
    head.keyAcross = head.swapped = true;
    head.keys = "40", head.depth = 5, head.columns = 3;
    loadHead(head);
    EXPECT_EQ(config(head.type == "f16" ? "along_k_k" : "along_k"), 0) << text();
    EXPECT_EQ(config("width_k"), head.type == "f16" ? 8 : 1);
    EXPECT_EQ(config("width_q"), head.type == "f16" ? 0 : 1);
    for (int64_t rows : {1, 17, 65})
      check({rows, 2}, head.type == "f16" ? kHalf : kSingle);
  }
}

// The mask of the heads alone, of the keys alone, of both; a causal one beside it, in the other order.
TEST_P(AttentionKernelTest, Masks) {
  for (const char *mask : {"s1, 1, 1", "45", "s0, 45", "s1, s0, 45"})
    for (bool causal : {false, true}) {
      Head head;
      head.mask = mask, head.maskType = "f32", head.causal = causal;
      loadHead(head);
      EXPECT_EQ(config("causal"), causal) << text();
      EXPECT_EQ(text().find("INF"), std::string::npos) << text();
      for (int64_t rows : {1, 33, 66})
        check({rows, 2}, kSingle);
    }
  Head head;
  head.mask = "s0, 45", head.maskType = "i1", head.type = "bf16";
  loadHead(head);
  for (int64_t rows : {1, 33, 66})
    check({rows, 3}, {64.0, 8e-2});
}

// NaN, infinities and -0 where the reference has them: here the masks, there the operands.
TEST_P(AttentionKernelTest, SpecialNumbers) {
  for (const char *precision : {"f32", "tf32"}) {
    Head head;
    head.keys = "3", head.depth = 2, head.columns = 2;
    loadHead(head, precision);
    for (int64_t rows : {7, 64})
      check({rows, 4}, kTf32, Fill::special);
  }
}

// As many registers and as much shared memory as there may be.
TEST_P(AttentionKernelTest, WideHeads) {
  for (const char *type : {"f32", "f16"}) {
    Head head;
    head.type = type, head.keys = "70";
    head.depth = head.columns = 256;
    loadHead(head);
    check({65, 1}, head.type == "f16" ? kHalf : kSingle);
    if (head.type == "f32") {
      loadHead(head, "tf32");
      check({65, 1}, kTf32);
    }
    head.depth = head.columns = 128;
    head.causal = true;
    loadHead(head);
    check({65, 1}, head.type == "f16" ? kHalf : kSingle);
  }
}

// Warps of 32 rows, where rows are many: rows that end within a warp's first or second 16.
TEST_P(AttentionKernelTest, WarpsOf32Rows) {
  Head head;
  head.keys = "150", head.depth = head.columns = 64, head.largest = 20000;
  for (bool causal : {false, true}) {
    head.type = causal ? "bf16" : "f16", head.causal = causal;
    loadHead(head);
    EXPECT_EQ(config("tiles_m"), 2) << text();
    for (int64_t rows : {15, 33, 150})
      check({rows, 1}, causal ? Tolerance{64.0, 8e-2} : kHalf);
  }
  // A mask takes the registers of 16 of them.
  head.mask = "s0, 150", head.maskType = head.type;
  loadHead(head);
  EXPECT_EQ(config("tiles_m"), 1) << text();
}

// A row that the least number covers, as masks have it, gives all keys the same weight: nothing
// overflows.
TEST_P(AttentionKernelTest, LeastNumbers) {
  for (const char *precision : {"f32", "tf32"}) {
    Head head;
    head.addsLeast = true;
    loadHead(head, precision);
    check({17, 2}, kTf32);
  }
}

//===- Keys that blocks share -----------------------------------------------------------------------===//

namespace {
Tolerance toleranceOf(llvm::StringRef type) {
  return type == "f32" ? kSingle : type == "f16" ? kHalf : Tolerance{64.0, 8e-2};
}

/// Few queries over as many keys as s0 says.
Head longPast(const std::string &type) {
  Head head;
  head.type = type, head.rows = "5", head.keys = "s0", head.largest = 3000;
  return head;
}

class SplitAttentionTest : public AttentionKernelTest {
protected:
  void loadShared(const Head &head, const std::string &precision = "f32") {
    loadHead(head, precision);
    EXPECT_NE(text().find("_split<config>"), std::string::npos) << text();
    EXPECT_GT(config("parts"), 2);
  }
};
} // namespace

// No key at all, one part with keys, parts of unequal length, and a last span that is cut.
TEST_P(SplitAttentionTest, EachUnit) {
  for (const char *type : {"f32", "f16", "bf16"}) {
    loadShared(longPast(type));
    for (int64_t keys : {0, 1, 65, 600})
      check({keys, 2}, toleranceOf(type));
  }
  loadShared(longPast("f32"), "tf32");
  for (int64_t keys : {0, 129, 300})
    check({keys, 1}, kTf32);
}

// The bits are the same whichever block comes last: one policy's are kept for the others.
TEST_P(SplitAttentionTest, SameBits) {
  static std::vector<std::vector<char>> kept;
  std::vector<std::vector<char>> bits;
  for (const char *type : {"f32", "f16"}) {
    loadShared(longPast(type));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    ASSERT_EQ(run({700, 2}, Fill::uniform, inputs, actual), Result::Success) << report();
    bits.push_back(actual.toBytes());
  }
  if (kept.empty())
    kept = bits;
  EXPECT_EQ(kept, bits);
}

// Parts in which a row sees nothing, rows that see nothing in any part, and NaN.
TEST_P(SplitAttentionTest, Masks) {
  for (const char *mask : {"s0", "5, s0"}) {
    Head head = longPast("f32");
    head.mask = mask, head.maskType = "i1";
    loadShared(head);
    for (int64_t keys : {1, 3, 400})
      check({keys, 2}, kSingle);
  }
  Head head = longPast("f16");
  head.mask = "5, s0", head.maskType = "f16", head.columns = 2, head.depth = 2;
  head.largest = 100000;
  loadShared(head);
  check({3, 2}, kHalf, Fill::special);
  check({300, 1}, kHalf, Fill::special);
}

// A causal mask leaves the last parts of these rows without keys.
TEST_P(SplitAttentionTest, Causal) {
  for (const char *type : {"f32", "f16"}) {
    Head head = longPast(type);
    head.causal = true, head.rows = "70";
    loadShared(head);
    for (int64_t keys : {1, 65, 400})
      check({keys, 1}, toleranceOf(type));
  }
}

// Tiles of a long product have counters each; where there are too few of these, blocks share none.
TEST_P(SplitAttentionTest, StaysWhole) {
  Head head = longPast("f16");
  head.rows = "s0", head.keys = "4096", head.largest = 1 << 18;
  loadHead(head);
  EXPECT_EQ(config("parts"), -1) << text();
}

//===- wgmma ----------------------------------------------------------------------------------------===//

namespace {
/// A GPU with three multiprocessors: blocks take several tiles.
class WgmmaAttentionTest : public AttentionKernelTest {
protected:
  static Head headOf(const std::string &type, int depth, int columns, const std::string &keys) {
    Head head;
    head.wgmma = true;
    head.type = type, head.depth = depth, head.columns = columns, head.keys = keys;
    return head;
  }
  void loadWgmma(const Head &head) {
    loadHead(head);
    EXPECT_NE(text().find("dlc::attention_wgmma<config>"), std::string::npos) << text();
  }
};
} // namespace

// Rows that end in either warpgroup, a last span of some keys, of all keys, and nothing but it.
TEST_P(WgmmaAttentionTest, HalfPrecision) {
  loadWgmma(headOf("f16", 64, 64, "150"));
  EXPECT_EQ(config("tile_n"), 64) << text();
  for (int64_t rows : {0, 1, 17, 63, 64, 65, 128, 129, 200})
    check({rows, 2}, kHalf);
  for (const char *keys : {"1", "63", "64", "128", "1000"}) {
    loadWgmma(headOf("f16", 64, 64, keys));
    check({70, 1}, kHalf);
  }
}
TEST_P(WgmmaAttentionTest, BFloat) {
  loadWgmma(headOf("bf16", 64, 64, "500"));
  EXPECT_EQ(config("tile_n"), 128) << text();
  for (int64_t rows : {1, 64, 129, 200})
    check({rows, 3}, toleranceOf("bf16"));
}

// Heads in several lines of shared memory, and those of values of another width.
TEST_P(WgmmaAttentionTest, WideHeads) {
  for (auto [depth, columns] :
       {std::pair(128, 128), std::pair(256, 256), std::pair(64, 128), std::pair(192, 64)}) {
    loadWgmma(headOf("f16", depth, columns, "150"));
    EXPECT_EQ(config("width"), columns) << text();
    for (int64_t rows : {65, 130})
      check({rows, 2}, kHalf);
  }
}

// Heads that fill no whole lines: what lies beside them is of other heads, or nothing.
TEST_P(WgmmaAttentionTest, HeadsOfAnyWidth) {
  for (auto [depth, columns] : {std::pair(32, 32), std::pair(80, 80), std::pair(96, 112),
                                std::pair(16, 8), std::pair(160, 200)}) {
    loadWgmma(headOf("f16", depth, columns, "150"));
    for (int64_t rows : {65, 130})
      check({rows, 2}, kHalf);
    check({7, 4}, kHalf, Fill::special);
  }
  Head head = headOf("f32", 96, 80, "150");
  head.float8 = true;
  loadWgmma(head);
  check({130, 2}, kWeights8);
}

// Rows see as many keys as they are far: one warpgroup has spans that the other does not.
TEST_P(WgmmaAttentionTest, Causal) {
  for (const char *type : {"f16", "bf16"})
    for (int width : {64, 128}) {
      Head head = headOf(type, width, width, "s0");
      head.causal = true;
      loadWgmma(head);
      EXPECT_EQ(config("causal"), 1);
      for (int64_t rows : {0, 1, 63, 65, 128, 129, 200})
        check({rows, 2}, toleranceOf(type));
    }
}

// More queries than keys and fewer.
TEST_P(WgmmaAttentionTest, CausalApart) {
  for (const char *keys : {"40", "170"}) {
    Head head = headOf("f16", 64, 64, keys);
    head.causal = true;
    loadWgmma(head);
    for (int64_t rows : {1, 64, 150})
      check({rows, 2}, kHalf);
  }
}

TEST_P(WgmmaAttentionTest, SymbolicKeys) {
  loadWgmma(headOf("f16", 64, 64, "s0 + 1"));
  for (int64_t keys : {0, 1, 62, 63, 64, 127, 128, 199})
    check({keys, 2}, kHalf);
}

// NaN and infinities of one head do not reach another, whose lines follow.
TEST_P(WgmmaAttentionTest, SpecialNumbers) {
  loadWgmma(headOf("f16", 64, 64, "3"));
  for (int64_t rows : {7, 64})
    check({rows, 4}, kHalf, Fill::special);
}

// Masks of heads, of keys and of both, also beside a causal one.
TEST_P(WgmmaAttentionTest, Masks) {
  for (const char *mask : {"s1, 1, 1", "150", "s1, s0, 150"})
    for (bool causal : {false, true}) {
      Head head = headOf("f16", 64, 64, "150");
      head.mask = mask, head.maskType = "f16", head.causal = causal;
      loadWgmma(head);
      EXPECT_EQ(config("tile_n"), 64) << text();
      check({130, 2}, kHalf);
    }
  Head head = headOf("bf16", 128, 128, "150");
  head.mask = "s0, 150", head.maskType = "i1";
  loadWgmma(head);
  for (int64_t rows : {1, 33, 130})
    check({rows, 3}, toleranceOf("bf16"));
}

// e4m3: weights of 256 in all, rounded to 4 bits. Rows and keys that end anywhere in a span, heads
// of half a line and of a whole one.
TEST_P(WgmmaAttentionTest, Float8) {
  for (auto [depth, columns, keys] :
       {std::tuple(64, 64, "150"), std::tuple(128, 128, "768"), std::tuple(64, 128, "1"),
        std::tuple(128, 64, "128"), std::tuple(64, 64, "17")}) {
    Head head = headOf("f32", depth, columns, keys);
    head.float8 = true;
    loadWgmma(head);
    EXPECT_EQ(config("float8"), 1) << text();
    EXPECT_EQ(config("tile_n"), head.keys == "768" || head.keys == "128" ? 128 : 64);
    for (int64_t rows : {0, 1, 65, 200})
      check({rows, 2}, kWeights8);
  }
}
TEST_P(WgmmaAttentionTest, Float8Causal) {
  Head head = headOf("f32", 128, 128, "s0");
  head.float8 = head.causal = true;
  loadWgmma(head);
  for (int64_t rows : {0, 1, 63, 65, 129, 200})
    check({rows, 2}, kWeights8);
}
// A mask of some rows and keys; NaN of one head does not reach another, whose lines follow.
TEST_P(WgmmaAttentionTest, Float8Masks) {
  Head head = headOf("f32", 64, 64, "150");
  head.float8 = true, head.mask = "s0, 150", head.maskType = "i1";
  loadWgmma(head);
  EXPECT_EQ(config("tile_n"), 64) << text();
  for (int64_t rows : {1, 130})
    check({rows, 2}, kWeights8);
  head = headOf("f32", 64, 64, "3");
  head.float8 = true;
  loadWgmma(head);
  check({64, 4}, kWeights8, Fill::special);
}

// A map of the scores that is more than their scale.
TEST_P(WgmmaAttentionTest, LeastNumbers) {
  Head head = headOf("bf16", 64, 64, "70");
  EXPECT_NO_FATAL_FAILURE(loadWgmma(head));
  EXPECT_EQ(config("scaled"), 1) << text();
  head.addsLeast = true;
  loadWgmma(head);
  EXPECT_EQ(config("scaled"), 0) << text();
  check({17, 2}, toleranceOf("bf16"));
}

//===- Planted bugs ---------------------------------------------------------------------------------===//

namespace {
class PlantedAttentionTest : public AttentionKernelTest {
protected:
  /// Takes `line` out of the way on which blocks tell each other what they found.
  void plantInSharing(const std::string &type, const std::string &file, const std::string &line,
                      const std::string &phrase) {
    Head head = longPast(type);
    loadHead(head);
    check({700, 1}, kHalf);
    removeFromHeader(file, line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({700, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Takes `line` out of attention_wgmma.
  void plantInWgmma(const std::string &line, const std::string &phrase, bool float8 = false) {
    Head head;
    // More spans than stages.
    head.type = float8 ? "f32" : "f16", head.keys = float8 ? "1000" : "700";
    head.depth = head.columns = 64, head.wgmma = true, head.float8 = float8;
    loadHead(head);
    check({200, 4}, float8 ? kWeights8 : kHalf);
    removeFromHeader("dlc_attention90.cuh", line);
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({200, 4}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_NE(report().find(phrase), std::string::npos) << report();
  }
  /// Takes `line` out of the walk over the keys.
  void plant(const std::string &type, const std::string &file, const std::string &line) {
    Head head;
    head.type = type, head.keys = "150", head.causal = true;
    head.largest = 20000; // so many tiles that blocks share none
    loadHead(head);
    check({70, 1}, kHalf);
    std::string header = kernelFile(file), source = text();
    std::string include = "#include \"" + file + "\"";
    size_t walk = header.find("for (Index n0 = begin; n0 < end"), at = header.find(line, walk),
           start = source.find(include);
    ASSERT_NE(walk, std::string::npos);
    ASSERT_NE(at, std::string::npos);
    ASSERT_NE(start, std::string::npos);
    replaceText(source.replace(start, include.size(), header.erase(at, line.size())));
    llvm::SmallVector<Tensor> inputs;
    Tensor actual;
    EXPECT_NE(run({70, 1}, Fill::uniform, inputs, actual), Result::Success);
    EXPECT_TRUE(report().find("race: ") != std::string::npos ||
                report().find("missing wait: ") != std::string::npos)
        << report();
  }
};
} // namespace

constexpr const char *kMma = "dlc_attention.cuh", *kSimt = "dlc_attention_simt.cuh";

TEST_P(PlantedAttentionTest, ValuesBeforeTheyAreHere) {
  plant("f16", kMma, "    cp_async_wait<0>();\n");
}
TEST_P(PlantedAttentionTest, KeysOverThoseInUse) {
  plant("f16", kMma, "    barrier(); // the values are here, and nobody reads the keys any more\n");
}
TEST_P(PlantedAttentionTest, ValuesOverThoseInUse) {
  plant("bf16", kMma,
        "    barrier(); // the next keys are here, and nobody reads the values any more\n");
}
TEST_P(PlantedAttentionTest, WeightsBeforeTheyAreHere) {
  plant("f32", kSimt,
        "    barrier(); // weights and values are here, and nobody reads the keys any more\n");
}
TEST_P(PlantedAttentionTest, WeightsOverThoseInUse) {
  plant("f32", kSimt,
        "    barrier(); // the next keys are here, and nobody reads values or weights any more\n");
}

TEST_P(PlantedAttentionTest, ArrivesBeforeItsPartIsComplete) {
  plantInSharing("f32", "dlc_split.cuh", "    barrier(); // the part is complete\n", "race: load");
}
TEST_P(PlantedAttentionTest, PartMayBeSeenAfterItsArrival) {
  plantInSharing("f32", "dlc_split.cuh", "      fence(); // it is seen before its arrival\n",
                 "missing fence: load");
}
TEST_P(PlantedAttentionTest, FinishesBeforeFloatRowsAreMerged) {
  plantInSharing("f32", "dlc_attention_rows.cuh", "    barrier(); // the merged rows are here\n",
                 "race: ");
}
TEST_P(PlantedAttentionTest, FinishesBeforeHalfRowsAreMerged) {
  plantInSharing("f16", "dlc_attention_rows.cuh", "    barrier(); // the merged rows are here\n",
                 "race: ");
}

TEST_P(PlantedAttentionTest, QueriesBeforeTheyAreHere) {
  plantInWgmma("    ring_q.wait_full();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, QueriesOverThoseInUse) {
  plantInWgmma("        ring_q.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, KeysOfAStageThatIsNotHere) {
  plantInWgmma("          ring_k.wait_full(); // for the next keys\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, KeysOverThoseOfAStageInUse) {
  plantInWgmma("            ring_k.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesOfAStageThatIsNotHere) {
  plantInWgmma("        ring_v.wait_full();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesOverThoseOfAStageInUse) {
  plantInWgmma("            ring_v.wait_empty();\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, WeightsOverThoseThatAreMultiplied) {
  plantInWgmma("        wgmma_wait<0>(); // the values have been multiplied\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ValuesAreClearedBeforeTheyAreHere) {
  plantInWgmma("            mbar_wait(landed, landed_phase);\n", "missing wait: ");
}
TEST_P(PlantedAttentionTest, ClearedValuesWithoutFence) {
  plantInWgmma("            fence_async();\n", "missing fence: ");
}
TEST_P(PlantedAttentionTest, ClearedValuesBeforeTheyAreComplete) {
  plantInWgmma("            warp_barrier(); // the values are complete\n", "race: ");
}

// Values of e4m3 on their way from TMA to the tensor cores.
TEST_P(PlantedAttentionTest, ValuesAreTurnedBeforeTheyAreHere) {
  plantInWgmma("            ring_coming.wait_full(); // these values are here\n", "missing wait: ",
               /*float8=*/true);
}
TEST_P(PlantedAttentionTest, ValuesOverThoseThatAreTurned) {
  plantInWgmma("              mbar_wait(ring_coming.empty + stage, asked >> 1 & 1 ^ 1);\n",
               "missing wait: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedOverThoseThatAreMultiplied) {
  plantInWgmma("            ring_v.wait_empty();     // and nothing multiplies those before them\n",
               "race: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedValuesWithoutFence) {
  plantInWgmma("            fence_async();  // tensor cores read what was written\n",
               "missing fence: ", /*float8=*/true);
}
TEST_P(PlantedAttentionTest, TurnedValuesBeforeTheyAreComplete) {
  plantInWgmma("            warp_barrier(); // the warp's share is complete\n", "missing wait: ",
               /*float8=*/true);
}

INSTANTIATE_TEST_SUITE_P(Policies, PlantedAttentionTest, ::testing::Values("order", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, AttentionKernelTest,
                         ::testing::Values("order", "reverse", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, SplitAttentionTest,
                         ::testing::Values("order", "reverse", "random:7"));
INSTANTIATE_TEST_SUITE_P(Policies, WgmmaAttentionTest,
                         ::testing::Values("order", "reverse", "random:7"));

} // namespace dlc::test
