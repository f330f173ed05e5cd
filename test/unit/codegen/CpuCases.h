//===- CpuCases.h - Programs of one kernel, and what they must compute --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_UNIT_CODEGEN_CPUCASES_H
#define DLC_TEST_UNIT_CODEGEN_CPUCASES_H

#include "test/unit/codegen/CpuRunner.h"

#include "gtest/gtest.h"

#include <array>
#include <cmath>
#include <cstring>

namespace dlc::test {

/// `tensor<2x3xf32>`, with a layout where `order` names one.
inline std::string tensor(const std::vector<int64_t> &dims, const std::string &element = "f32",
                          const std::string &order = "") {
  std::string shape, list;
  for (int64_t dim : dims) {
    shape += std::to_string(dim) + "x";
    list += (list.empty() ? "" : ", ") + std::to_string(dim);
  }
  return "tensor<" + shape + element +
         (order.empty() ? "" : ", #dl.t<[" + list + "], order = [" + order + "]>") + ">";
}

struct Operand {
  std::string name, type;
  bool isWeight;
};

/// A program that launches one kernel once. The module has the symbol N = 0..1024 as s0.
inline std::string program(const std::string &kind, const std::vector<Operand> &operands,
                           const std::string &result, const std::string &body) {
  auto buffer = [](const std::string &type) { return "!dlx.buffer<" + type + ">"; };
  std::string arguments, inputs, names, weights, uses, types;
  for (const Operand &operand : operands) {
    auto list = [](std::string &to, const std::string &item) {
      to += (to.empty() ? "" : ", ") + item;
    };
    list(arguments, "%" + operand.name + ": " + operand.type);
    list(uses, "%" + operand.name);
    list(types, buffer(operand.type));
    if (operand.isWeight) {
      weights += "%" + operand.name + " = dlx.weight \"" + operand.name +
                 "\" : " + buffer(operand.type) + "\n";
    } else {
      list(inputs, "%" + operand.name + ": " + buffer(operand.type));
      list(names, "\"" + operand.name + "\"");
    }
  }
  return "module attributes {dl.symbols = [#dl.symbol<\"N\", 0, 1024>]} {\n"
         "dlx.kernel @kernel attributes {kind = #dlx.kind<" +
         kind + ">} {\n^bb0(" + arguments + "):\n" + body +
         "\n}\n"
         "dlx.program @Program attributes {input_names = [" +
         names + "], output_names = [\"y\"]} {\n^bb0(" + inputs + "):\n" + weights +
         "%out = dlx.alloc : " + buffer(result) + "\ndlx.launch @kernel(" + uses +
         ") -> (%out) : (" + types + ") -> (" + buffer(result) +
         ")\ndlx.return %out : " + buffer(result) + "\n}\n}\n";
}

/// Multiples of 1/8 between -2 and 2: sums of their products are exact in f32.
inline std::vector<float> numbers(int64_t count, unsigned seed) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = float((i * 7919 + seed * 104729 + i / 13) % 33 - 16) / 8;
  return values;
}

/// A convolution of an image [n, c, h, w] with weights [k, c / groups, r, s].
struct Conv {
  int64_t n, c, h, w, k, r, s, stride, pad, dilation, groups;
  int64_t outH() const { return (h + 2 * pad - dilation * (r - 1) - 1) / stride + 1; }
  int64_t outW() const { return (w + 2 * pad - dilation * (s - 1) - 1) / stride + 1; }
};

/// Reads and writes by logical index, whatever the layout.
inline int64_t at(bool channelsLast, int64_t n, int64_t c, int64_t h, int64_t w, int64_t C,
                  int64_t H, int64_t W) {
  return channelsLast ? ((n * H + h) * W + w) * C + c : ((n * C + c) * H + h) * W + w;
}

/// Runs on every instruction set that this processor has, in one part and in three, and compares
/// f32 outputs; the parts must agree to the bit.
inline void expectOnAll(CpuRunner &runner, const std::vector<Bytes> &inputs,
                        const std::map<std::string, Bytes> &weights,
                        const std::vector<int64_t> &symbols, const std::vector<double> &expected,
                        double tolerance, const std::string &what) {
  for (codegen::IsaVariant isa : codegen::kIsaVariants) {
    if (!runner.canRun(isa))
      continue;
    SCOPED_TRACE(what + " on " + codegen::isaName(isa).str());
    Bytes whole = runner.run(isa, inputs, weights, symbols).front();
    EXPECT_EQ(runner.run(isa, inputs, weights, symbols, 3).front(), whole)
        << "bits depend on the partition";
    std::vector<float> values = fromBytes<float>(whole);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (std::isnan(expected[i]) && std::isnan(values[i]))
        continue;
      double allowed = tolerance * std::max(1.0, std::abs(expected[i]));
      ASSERT_TRUE(values[i] == float(expected[i]) || std::abs(values[i] - expected[i]) <= allowed)
          << "element " << i << ": got " << values[i] << ", expected " << expected[i];
    }
  }
}

} // namespace dlc::test

#endif // DLC_TEST_UNIT_CODEGEN_CPUCASES_H
