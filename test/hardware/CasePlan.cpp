//===- CasePlan.cpp - What gpu-case runs, and how far results may lie apart -===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
#include "test/hardware/CasePlan.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

using namespace dlc;
using namespace dlc::hardware;

template <class T> static T at(const void *data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return value;
}

template <class T> static void append(std::vector<char> &data, T value) {
  const char *bytes = reinterpret_cast<const char *>(&value);
  data.insert(data.end(), bytes, bytes + sizeof value);
}

//===- Formats ------------------------------------------------------------===//

static double widened(uint16_t half) {
  int exponent = half >> 10 & 31, digits = half & 1023;
  double value = exponent == 31  ? (digits ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(digits, -24)
                                 : std::ldexp(1024 + digits, exponent - 25);
  return half & 0x8000 ? -value : value;
}

/// Whether a value is finite and a normal number or 0, as noise is.
static uint16_t asHalf(float value) {
  if (std::fabs(value) < 6.2e-5f)
    return std::signbit(value) ? 0x8000 : 0;
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = (bits & 0x7fffffff) - (112u << 23);
  magnitude += 0xfff + (magnitude >> 13 & 1); // to nearest, ties to even
  return uint16_t((bits >> 16 & 0x8000) | magnitude >> 13);
}

static uint16_t asBfloat(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void appendNumber(std::vector<char> &data, dlc_dtype dtype, double value) {
  switch (dtype) {
  case DLC_F64:
    return append(data, value);
  case DLC_F32:
    return append(data, float(value));
  case DLC_F16:
    return append(data, asHalf(float(value)));
  case DLC_BF16:
    return append(data, asBfloat(float(value)));
  default: {
    auto whole = int64_t(value); // little endian: the low bytes come first
    const char *bytes = reinterpret_cast<const char *>(&whole);
    data.insert(data.end(), bytes, bytes + dlc_dtype_size(dtype));
  }
  }
}

static bool isFloat(dlc_dtype dtype) {
  return dtype == DLC_F64 || dtype == DLC_F32 || dtype == DLC_F16 || dtype == DLC_BF16;
}

static double real(dlc_dtype dtype, const void *data, size_t index) {
  switch (dtype) {
  case DLC_F64:
    return at<double>(data, index);
  case DLC_F32:
    return at<float>(data, index);
  case DLC_F16:
    return widened(at<uint16_t>(data, index));
  default: // bf16
    return std::bit_cast<float>(uint32_t(at<uint16_t>(data, index)) << 16);
  }
}

double hardware::unitOf(dlc_dtype dtype, int roundingBits) {
  switch (dtype) {
  case DLC_F64:
    return std::ldexp(1.0, -53);
  case DLC_F32:
    return std::ldexp(1.0, -roundingBits);
  case DLC_F16:
    return std::ldexp(1.0, -11);
  case DLC_BF16:
    return std::ldexp(1.0, -8);
  default:
    return 0;
  }
}

//===- Inputs -------------------------------------------------------------===//

/// splitmix64: the number at `index` of a sequence.
static uint64_t scrambled(uint64_t seed, uint64_t index) {
  uint64_t z = (seed << 32) + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// In [-2, 2): the sum of four numbers of 16 bits, which double holds.
static double noise(uint64_t bits) {
  uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return double(sum) / 65536 - 2;
}

static bool makeData(std::istream &words, size_t count, std::istream &file, Input &input) {
  std::string source;
  uint64_t seed = 0;
  words >> source;
  if (source == "file") {
    if (!count) // where all of them are empty there is no inputs.bin
      return true;
    input.data.resize(count * dlc_dtype_size(input.dtype));
    file.read(input.data.data(), std::streamsize(input.data.size()));
    return bool(file);
  }
  double scale = 0, offset = 0;
  long long low = 0, high = 0;
  if (source == "noise" ? !(words >> seed >> scale >> offset)
                        : source != "integers" || !(words >> seed >> low >> high) || high < low)
    return false;
  for (size_t i = 0; i < count; ++i) {
    uint64_t bits = scrambled(seed, i);
    double value = source == "noise" ? scale * noise(bits)
                                     : double(low + (long long)(bits % uint64_t(high - low + 1)));
    appendNumber(input.data, input.dtype, offset > 0 ? std::fabs(value) + offset : value);
  }
  return true;
}

static bool parseInput(std::istream &words, std::istream &file, Input &input) {
  std::string word;
  words >> word;
  int code = 0;
  while (word != dlc_dtype_name(static_cast<dlc_dtype>(code)))
    if (std::strcmp(dlc_dtype_name(static_cast<dlc_dtype>(code++)), "?") == 0)
      return false;
  input.dtype = static_cast<dlc_dtype>(code);
  size_t count = 1;
  while (words >> word && word != "=") {
    input.dims.push_back(std::atoll(word.c_str()));
    count *= size_t(input.dims.back());
  }
  return word == "=" && input.dims.size() <= DLC_MAX_RANK && makeData(words, count, file, input);
}

static bool parseOutput(std::istream &words, Output &output) {
  std::string rule;
  words >> output.name >> rule;
  output.rule.isExact = rule == "exact";
  if (rule == "within")
    words >> output.rule.relative >> output.rule.absolute;
  else if (rule == "roundings")
    words >> output.rule.roundings;
  else if (rule != "exact")
    return false;
  return bool(words);
}

std::string hardware::readPlan(const std::string &folder, CasePlan &plan) {
  std::ifstream text(folder + "/plan.txt"), file(folder + "/inputs.bin", std::ios::binary);
  if (!text)
    return folder + " holds no plan.txt";
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    bool isRight = false;
    if (kind == "rounding") {
      isRight = bool(words >> plan.roundingBits);
    } else if (kind == "run") {
      plan.runs.push_back({});
      std::getline(words >> std::ws, plan.runs.back().label);
      isRight = true;
    } else if (kind == "in" && !plan.runs.empty()) {
      plan.runs.back().inputs.push_back({});
      isRight = parseInput(words, file, plan.runs.back().inputs.back());
    } else if (kind == "out" && !plan.runs.empty()) {
      plan.runs.back().outputs.push_back({});
      isRight = parseOutput(words, plan.runs.back().outputs.back());
    }
    if (!isRight)
      return folder + "/plan.txt:" + std::to_string(number) +
             ": cannot be understood, or inputs.bin is too short";
  }
  if (file && file.peek() != std::ifstream::traits_type::eof())
    return folder + "/inputs.bin holds more than plan.txt says";
  return plan.runs.empty() ? folder + "/plan.txt has no runs" : "";
}

//===- Judging ------------------------------------------------------------===//

std::string hardware::difference(dlc_dtype dtype, const Rule &rule, int roundingBits,
                                 const void *actual, const void *expected, size_t bytes) {
  size_t width = dlc_dtype_size(dtype), count = bytes / width, wrong = 0;
  if (std::memcmp(actual, expected, bytes) == 0)
    return "";
  bool isReal = isFloat(dtype);
  double absolute = rule.absolute;
  if (isReal && rule.roundings > 0) {
    double largest = 0;
    for (size_t i = 0; i < count; ++i)
      if (double value = std::fabs(real(dtype, expected, i)); std::isfinite(value))
        largest = std::max(largest, value);
    absolute += rule.roundings * unitOf(dtype, roundingBits) * largest;
  }
  char first[200] = "";
  for (size_t i = 0; i < count; ++i) {
    double got = 0, want = 0, bound = 0;
    bool same;
    if (!isReal) {
      same = std::memcmp(static_cast<const char *>(actual) + i * width,
                         static_cast<const char *>(expected) + i * width, width) == 0;
    } else {
      got = real(dtype, actual, i);
      want = real(dtype, expected, i);
      bound = rule.isExact ? 0 : rule.relative * std::fabs(want) + absolute;
      same = std::isnan(want)   ? std::isnan(got)
             : rule.isExact     ? got == want && std::signbit(got) == std::signbit(want)
             : std::isinf(want) ? got == want
                                : got == want || std::fabs(got - want) <= bound;
    }
    if (same || wrong++)
      continue;
    if (isReal)
      std::snprintf(first, sizeof first, "value %zu is %.9g, expected %.9g within %.3g", i, got,
                    want, bound);
    else
      std::snprintf(first, sizeof first, "value %zu differs", i);
  }
  return wrong ? std::to_string(wrong) + " of " + std::to_string(count) +
                     " values are wrong: " + first
               : "";
}
