//===- Tensors.cpp - Arrays from files, from the command line, and compared ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/Tensors.h"

#include "frontend/arrays/WeightFile.h"

#include "llvm/ADT/APFloat.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <numeric>
#include <stdexcept>

namespace dlc {

int64_t HostTensor::size() const {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

bool HostTensor::allocate() {
  try {
    data.assign(static_cast<size_t>(size()) * dlc_dtype_size(dtype), 0);
    return true;
  } catch (const std::bad_alloc &) {
  } catch (const std::length_error &) {
  }
  return false;
}

//===- Elements -------------------------------------------------------------------------------===//

static double fromHalf(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent == 31  ? (mantissa ? std::numeric_limits<double>::quiet_NaN() : HUGE_VAL)
                 : exponent == 0 ? std::ldexp(mantissa, -24)
                                 : std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -value : value;
}

static double fromSmall(const llvm::fltSemantics &format, uint8_t bits) {
  unsigned width = llvm::APFloat::semanticsSizeInBits(format);
  llvm::APFloat number(format, llvm::APInt(width, bits));
  return number.isNaN() ? std::numeric_limits<double>::quiet_NaN() : number.convertToDouble();
}

template <typename T> static T load(const uint8_t *from) {
  T value;
  memcpy(&value, from, sizeof(T));
  return value;
}

double HostTensor::at(int64_t position) const {
  const uint8_t *from = data.data() + static_cast<size_t>(position) * dlc_dtype_size(dtype);
  switch (dtype) {
  case DLC_F64:
    return load<double>(from);
  case DLC_F32:
    return load<float>(from);
  case DLC_F16:
    return fromHalf(load<uint16_t>(from));
  case DLC_BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(from)) << 16);
  case DLC_I64:
    return static_cast<double>(load<int64_t>(from));
  case DLC_I32:
    return load<int32_t>(from);
  case DLC_I16:
    return load<int16_t>(from);
  case DLC_I8:
    return load<int8_t>(from);
  case DLC_U64:
    return static_cast<double>(load<uint64_t>(from));
  case DLC_U32:
    return load<uint32_t>(from);
  case DLC_U16:
    return load<uint16_t>(from);
  case DLC_I4:
  case DLC_I2:
    return load<int8_t>(from);
  case DLC_U8:
  case DLC_BOOL:
  case DLC_U4:
  case DLC_U2:
    return *from;
  case DLC_F8E4M3FN:
    return fromSmall(llvm::APFloat::Float8E4M3FN(), *from);
  case DLC_F8E4M3FNUZ:
    return fromSmall(llvm::APFloat::Float8E4M3FNUZ(), *from);
  case DLC_F8E5M2:
    return fromSmall(llvm::APFloat::Float8E5M2(), *from);
  case DLC_F8E5M2FNUZ:
    return fromSmall(llvm::APFloat::Float8E5M2FNUZ(), *from);
  case DLC_F8E8M0:
    return fromSmall(llvm::APFloat::Float8E8M0FNU(), *from);
  case DLC_F4E2M1:
    return fromSmall(llvm::APFloat::Float4E2M1FN(), *from & 15);
  }
  return 0;
}

int64_t HostTensor::countNaN() const {
  if (dtype >= DLC_F8E4M3FN) { // less than two bytes each
    int64_t count = 0;
    for (int64_t i = 0; i < size(); ++i)
      count += std::isnan(at(i));
    return count;
  }
  auto type = frontend::elementTypeNamed(dlc_dtype_name(dtype));
  assert(type && "each dtype is an element type of files");
  return static_cast<int64_t>(frontend::countNaN(*type, data));
}

template <typename T> static void store(uint8_t *to, T value) { memcpy(to, &value, sizeof(T)); }

bool fillRandom(HostTensor &tensor, uint64_t seed) {
  if (!tensor.allocate())
    return false;
  uint64_t state = seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
  size_t width = dlc_dtype_size(tensor.dtype);
  for (size_t offset = 0; offset < tensor.data.size(); offset += width) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    // 8 fractional bits: a number of every float type but bf16, which keeps 7 and the sign of them.
    int steps = static_cast<int>(state >> 40 & 511) - 256,
        small = static_cast<int>(state >> 40 & 15);
    float number = static_cast<float>(steps) / 256;
    uint8_t *to = tensor.data.data() + offset;
    switch (tensor.dtype) {
    case DLC_F64:
      store<double>(to, number);
      break;
    case DLC_F32:
      store<float>(to, number);
      break;
    case DLC_F16: { // sign, then the exponent and 10 bits of the magnitude in units of 2^-8
      int magnitude = std::abs(steps),
          exponent = magnitude ? 31 - std::countl_zero(static_cast<uint32_t>(magnitude)) : 0;
      uint16_t bits = magnitude ? static_cast<uint16_t>((exponent - 8 + 15) << 10 |
                                                        (magnitude << (10 - exponent) & 1023))
                                : 0;
      store<uint16_t>(to, static_cast<uint16_t>(bits | (steps < 0 ? 0x8000 : 0)));
      break;
    }
    case DLC_BF16:
      store<uint16_t>(to, static_cast<uint16_t>(std::bit_cast<uint32_t>(number) >> 16));
      break;
    case DLC_BOOL:
      store<uint8_t>(to, small & 1);
      break;
    case DLC_F8E4M3FN: // numbers of at most 2 in each of these
    case DLC_F8E4M3FNUZ:
    case DLC_F8E5M2:
    case DLC_F8E5M2FNUZ:
      store<uint8_t>(to, static_cast<uint8_t>((small & 8 ? 0x80 : 0) | 0x38 | (small & 7)));
      break;
    case DLC_F8E8M0:
      store<uint8_t>(to, static_cast<uint8_t>(0x78 | (small & 7)));
      break;
    case DLC_I4:
    case DLC_I2:
    case DLC_U2:
      store<uint8_t>(to, small & (tensor.dtype == DLC_I4 ? 7 : tensor.dtype == DLC_U2 ? 3 : 1));
      break;
    default: // little-endian integers
      *to = static_cast<uint8_t>(small);
    }
  }
  return true;
}

dlc_tensor HostTensor::view() {
  dlc_tensor tensor = {};
  tensor.struct_size = sizeof(tensor);
  tensor.dtype = dtype;
  tensor.rank = static_cast<int>(std::min<size_t>(dims.size(), DLC_MAX_RANK));
  std::copy_n(dims.begin(), tensor.rank, tensor.dims);
  tensor.data = data.empty() ? nullptr : data.data();
  tensor.bytes = data.size();
  return tensor;
}

void HostTensor::takeBytesAs(dlc_dtype type) {
  if (type >= DLC_F8E4M3FN && (dtype == DLC_U8 || dtype == DLC_I8))
    dtype = type;
}

std::string HostTensor::describe() const {
  std::string text = std::string(dlc_dtype_name(dtype)) + "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + "]";
}

//===- Specifications -------------------------------------------------------------------------===//

std::optional<dlc_dtype> dtypeNamed(const std::string &name) {
  for (int dtype = DLC_F64; dlc_dtype_size(static_cast<dlc_dtype>(dtype)); ++dtype)
    if (name == dlc_dtype_name(static_cast<dlc_dtype>(dtype)))
      return static_cast<dlc_dtype>(dtype);
  return std::nullopt;
}

/// "8x1x28x28xf32".
static std::optional<HostTensor> parseShape(const std::string &text) {
  HostTensor shape;
  size_t begin = 0;
  for (size_t end; (end = text.find('x', begin)) != std::string::npos; begin = end + 1) {
    std::string digits = text.substr(begin, end - begin);
    if (digits.empty() || digits.size() > 12 ||
        digits.find_first_not_of("0123456789") != std::string::npos)
      return std::nullopt;
    shape.dims.push_back(std::stoll(digits));
  }
  auto dtype = dtypeNamed(text.substr(begin));
  if (!dtype || shape.dims.size() > DLC_MAX_RANK)
    return std::nullopt;
  double bytes = static_cast<double>(dlc_dtype_size(*dtype));
  for (int64_t dim : shape.dims)
    bytes *= static_cast<double>(dim);
  if (bytes > 1e12)
    return std::nullopt;
  shape.dtype = *dtype;
  return shape;
}

std::optional<TensorSpec> TensorSpec::parse(const std::string &text, std::string &problem) {
  TensorSpec spec;
  std::string rest = text;
  size_t equals = rest.find('=');
  // The part before the first '=' is a name, unless it is the shape of random numbers or zeros:
  // "i2" is both. A file begins with '@'.
  auto fills = [](const std::string &content) { return content == "random" || content == "zeros"; };
  if (rest[0] != '@' && equals != std::string::npos &&
      !(fills(rest.substr(equals + 1)) && parseShape(rest.substr(0, equals)))) {
    spec.name = rest.substr(0, equals);
    rest = rest.substr(equals + 1);
  }
  if (rest.size() > 1 && rest[0] == '@') {
    spec.file = rest.substr(1);
    return spec;
  }
  equals = rest.find('=');
  std::string content = equals == std::string::npos ? rest : rest.substr(equals + 1);
  spec.random = content == "random";
  spec.zeros = content == "zeros";
  if (equals != std::string::npos)
    spec.shape = parseShape(rest.substr(0, equals));
  if ((spec.random || spec.zeros) && (spec.shape || equals == std::string::npos))
    return spec;
  problem =
      "'" + text +
      "' is not understood; expected NAME=@FILE.npy, NAME=@FILE.npz, NAME=8x1x28x28xf32=random or "
      "NAME=zeros";
  return std::nullopt;
}

//===- Comparison and text --------------------------------------------------------------------===//

static std::string indexText(int64_t position, const std::vector<int64_t> &dims) {
  std::string text;
  for (size_t dim = dims.size(); dim-- > 0; position /= std::max<int64_t>(dims[dim], 1))
    text = std::to_string(position % std::max<int64_t>(dims[dim], 1)) + (text.empty() ? "" : ", ") +
           text;
  return "[" + text + "]";
}

static std::string number(double value) {
  char text[32];
  snprintf(text, sizeof(text), "%.7g", value);
  return text;
}

std::optional<std::string> findDifference(const HostTensor &actual, const HostTensor &expected,
                                          double atol, double rtol) {
  if (actual.dims != expected.dims)
    return " is " + actual.describe() + ", expected " + expected.describe();
  int64_t differing = 0, worst = -1;
  double worstExcess = -1;
  for (int64_t i = 0; i < actual.size(); ++i) {
    double a = actual.at(i), e = expected.at(i);
    if (a == e || (std::isnan(a) && std::isnan(e)))
      continue;
    double excess = std::abs(a - e) - (atol + rtol * std::abs(e));
    if (excess <= 0)
      continue;
    ++differing;
    if (std::isnan(excess))
      excess = HUGE_VAL;
    if (excess > worstExcess) {
      worstExcess = excess;
      worst = i;
    }
  }
  if (worst < 0)
    return std::nullopt;
  return ": " + std::to_string(differing) + " of " + std::to_string(actual.size()) +
         " elements differ by more than " + number(atol) + " + " + number(rtol) +
         "*|expected|; worst at " + indexText(worst, actual.dims) + ": " +
         number(actual.at(worst)) + ", expected " + number(expected.at(worst));
}

std::string describeNaN(const std::string &name, const HostTensor &tensor) {
  int64_t count = tensor.countNaN(), first = 0;
  if (count == 0)
    return {};
  while (!std::isnan(tensor.at(first)))
    ++first;
  return "output '" + name + "' holds " + std::to_string(count) + (count == 1 ? " NaN" : " NaNs") +
         " among its " + std::to_string(tensor.size()) + " numbers, the first at " +
         indexText(first, tensor.dims);
}

std::string describeTop(const std::string &name, const HostTensor &tensor, int64_t count) {
  int64_t classes = tensor.dims.empty() ? 1 : tensor.dims.back();
  std::string text;
  for (int64_t row = 0; classes > 0 && row < tensor.size() / classes; ++row) {
    std::vector<int64_t> order(static_cast<size_t>(classes));
    std::iota(order.begin(), order.end(), row * classes);
    size_t kept = static_cast<size_t>(std::min(count, classes));
    // NaN first: a result that holds one should be seen.
    auto before = [&](int64_t a, int64_t b) {
      double x = tensor.at(a), y = tensor.at(b);
      if (std::isnan(x) != std::isnan(y))
        return std::isnan(x);
      return x != y && !std::isnan(x) ? x > y : a < b;
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<ptrdiff_t>(kept), order.end(),
                      before);
    std::vector<int64_t> outer(tensor.dims.begin(),
                               tensor.dims.end() - (tensor.dims.empty() ? 0 : 1));
    text += name + (outer.empty() ? "" : indexText(row, outer)) + ":";
    for (size_t i = 0; i < kept; ++i)
      text += (i ? ", " : " ") + std::to_string(order[i] - row * classes) + " (" +
              number(tensor.at(order[i])) + ")";
    text += "\n";
  }
  return text;
}

std::string describeValues(const std::string &name, const HostTensor &tensor) {
  double smallest = HUGE_VAL, largest = -HUGE_VAL, sum = 0;
  int64_t nans = 0;
  for (int64_t i = 0; i < tensor.size(); ++i) {
    double value = tensor.at(i);
    if (std::isnan(value)) {
      ++nans;
      continue;
    }
    smallest = std::min(smallest, value);
    largest = std::max(largest, value);
    sum += value;
  }
  std::string text = name + ": " + tensor.describe();
  if (int64_t numbers = tensor.size() - nans)
    text += "  min = " + number(smallest) + " max = " + number(largest) +
            " mean = " + number(sum / static_cast<double>(numbers));
  if (nans)
    text += "  NaN: " + std::to_string(nans);
  return text + "\n";
}

} // namespace dlc
