//===- CpuSaturationTest.cpp - Quantized and dequantized floats on the CPU, to the bit -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/CpuCases.h"

#include <limits>

using namespace dlc;
using namespace dlc::test;

namespace {

/// Inputs of QuantizeLinear: the floats around each number halfway between two results, and numbers
/// beyond the ends.
std::vector<float> inputsFor(float scale) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {0.0f,   -0.0f, kInf,   -kInf, std::nanf(""), 0x1p-149f, -1e-38f,
                          1e-30f, 3e38f, -3e38f, 1e10f, -1e10f,        0.4999f,   -0.4999f};
  for (float half = -300.5f; half < 300; half += 1) {
    float below = half * scale, above = below;
    for (int step = 0; step < 6; ++step) {
      x.push_back(below);
      x.push_back(above);
      below = std::nextafter(below, -kInf);
      above = std::nextafter(above, kInf);
    }
  }
  return x;
}

struct Range {
  std::string type;
  float low, high;
};

/// round(x / scale) + zero point in the range, less the zero point: what DequantizeLinear
/// multiplies. 0 for NaN.
float centered(float x, float scale, float zeroPoint, const Range &range) {
  float number = std::nearbyint(x / scale) + zeroPoint;
  if (std::isnan(number))
    number = 0;
  return std::min(std::max(number, range.low), range.high) - zeroPoint + 0.0f;
}

/// Casts of %q, an f32 quotient, to the range, and back to f32.
std::string throughIntegers(const std::string &t, const Range &range, float zeroPoint,
                            bool isBack) {
  auto of = [&](const std::string &element) {
    return t.substr(0, t.rfind('x') + 1) + element + ">";
  };
  std::string zero = std::to_string(int(zeroPoint)), bytes = of(range.type), i32 = of("i32"),
              cast = "dtype = ";
  std::string body = "%r = dl.round %q : (" + t + ") -> " + t + "\n";
  std::string sum = "%r";
  if (zeroPoint != 0) {
    body += "%z = dl.full " + zero + ".0 : f32 -> " + t + "\n%s = dl.add %r, %z : (" + t + ", " +
            t + ") -> " + t + "\n";
    sum = "%s";
  }
  body += "%b = dl.cast " + sum + " {dtype = " + range.type + "} : (" + t + ") -> " + bytes + "\n";
  if (!isBack)
    return body + "dl.yield %b : " + bytes;
  body += "%w = dl.cast %b {dtype = i32} : (" + bytes + ") -> " + i32 + "\n";
  std::string wide = "%w";
  if (zeroPoint != 0) {
    body += "%o = dl.full " + zero + " : i32 -> " + i32 + "\n%c = dl.sub %w, %o : (" + i32 + ", " +
            i32 + ") -> " + i32 + "\n";
    wide = "%c";
  }
  return body + "%y = dl.cast " + wide + " {dtype = f32} : (" + i32 + ") -> " + t +
         "\ndl.yield %y : " + t;
}

std::string text(float number) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.9e", double(number));
  return buffer;
}

class CpuSaturation : public testing::TestWithParam<std::tuple<float, float>> {};

TEST_P(CpuSaturation, QuantizesByAConstantScale) {
  auto [scale, zeroPoint] = GetParam();
  for (const Range &range :
       {Range{"ui8", 0, 255}, Range{"i8", -128, 127}, Range{"ui16", 0, 65535}}) {
    if (range.low == 0 && zeroPoint < 0)
      continue;
    std::vector<float> x = inputsFor(scale);
    std::string t = tensor({int64_t(x.size())});
    std::string quotient = "%d = dl.full " + text(scale) + " : f32 -> " + t +
                           "\n%q = dl.div %x, %d : (" + t + ", " + t + ") -> " + t + "\n";
    CpuRunner runner(program("map", {{"x", t, false}}, t,
                             quotient + throughIntegers(t, range, zeroPoint, true)));
    ASSERT_TRUE(runner.isValid());
    std::vector<double> expected;
    for (float number : x)
      expected.push_back(centered(number, scale, zeroPoint, range));
    std::string what = range.type + " scale " + text(scale) + " zero point " + text(zeroPoint);
    expectOnAll(runner, {toBytes(x)}, {}, {}, expected, 0, what);
    // No zero has a sign, as none of an integer has.
    for (codegen::IsaVariant isa : codegen::kIsaVariants)
      if (runner.canRun(isa))
        for (float y : fromBytes<float>(runner.run(isa, {toBytes(x)}).front()))
          ASSERT_FALSE(y == 0 && std::signbit(y)) << what;

    if (range.high > 255)
      continue;
    std::string bytes = tensor({int64_t(x.size())}, range.type);
    CpuRunner stored(program("map", {{"x", t, false}}, bytes,
                             quotient + throughIntegers(t, range, zeroPoint, false)));
    ASSERT_TRUE(stored.isValid());
    for (codegen::IsaVariant isa : codegen::kIsaVariants) {
      if (!stored.canRun(isa))
        continue;
      Bytes y = stored.run(isa, {toBytes(x)}).front();
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], uint8_t(int(centered(x[i], scale, zeroPoint, range) + zeroPoint)))
            << what << ", x = " << text(x[i]) << " on " << codegen::isaName(isa).str();
    }
  }
}

// The last scales have no reciprocal that is tried: they divide.
INSTANTIATE_TEST_SUITE_P(Scales, CpuSaturation,
                         testing::Combine(testing::Values(0.0701183602f, 0.0732656345f, 1.0f, 3.0f,
                                                          0x1.fffffep-4f, 0x1.000002p+3f, 1e-12f,
                                                          0x1p-70f, -0.5f),
                                          testing::Values(0.0f, 120.0f, 255.0f, -128.0f)));

/// A quotient by a number that is not known: nothing but the ends is simplified.
TEST(CpuSaturationOfInputs, QuantizesByAScaleOfItsOwn) {
  for (const Range &range : {Range{"ui8", 0, 255}, Range{"i8", -128, 127}}) {
    std::vector<float> x = inputsFor(0.3f), scale = {0.3f};
    std::string t = tensor({int64_t(x.size())}), s = "tensor<f32>";
    CpuRunner runner(program("map", {{"x", t, false}, {"s", s, false}}, t,
                             "%d = dl.broadcast %s : (" + s + ") -> " + t +
                                 "\n%q = dl.div %x, %d : (" + t + ", " + t + ") -> " + t + "\n" +
                                 throughIntegers(t, range, 0, true)));
    ASSERT_TRUE(runner.isValid());
    std::vector<double> expected;
    for (float number : x)
      expected.push_back(centered(number, 0.3f, 0, range));
    expectOnAll(runner, {toBytes(x), toBytes(scale)}, {}, {}, expected, 0, range.type);
  }
}

} // namespace
