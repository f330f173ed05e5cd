//===- AttentionHead.h - Heads whose attention is one kernel ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_CODEGEN_CUDA_ATTENTION_ATTENTIONHEAD_H
#define DLC_TEST_UNIT_CODEGEN_CUDA_ATTENTION_ATTENTIONHEAD_H

#include "test/unit/codegen/cuda/CudaKernel.h"

namespace dlc::test {

/// One head or more: query [B, L, E], key [B, S, E] or, as `keyDims` says, otherwise, value [B, S,
/// V].
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

inline std::string tensor(const std::string &dims, const std::string &type) {
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

// The interpreter rounds scores and weights to the dtype, this kernel does not.
inline constexpr Tolerance kSingle{64.0, 2e-5}, kHalf{64.0, 1e-2}, kTf32{64.0, 1e-2};
/// Weights of 256 together, which either rounds by up to 2^-4 of each.
inline constexpr Tolerance kWeights8{64.0, 0x1p-3 * 256};

inline Tolerance toleranceOf(llvm::StringRef type) {
  return type == "f32" ? kSingle : type == "f16" ? kHalf : Tolerance{64.0, 8e-2};
}

/// Few queries over as many keys as s0 says.
inline Head longPast(const std::string &type) {
  Head head;
  head.type = type, head.rows = "5", head.keys = "s0", head.largest = 3000;
  return head;
}

} // namespace dlc::test

#endif // DLC_TEST_UNIT_CODEGEN_CUDA_ATTENTION_ATTENTIONHEAD_H
