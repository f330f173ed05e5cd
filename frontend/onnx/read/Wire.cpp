//===- Wire.cpp - Fields of protobuf messages ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/read/Wire.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace dlc::onnx {

std::optional<uint64_t> takeVarint(ArrayRef<uint8_t> &bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < 10 && i < bytes.size(); ++i) {
    value |= uint64_t(bytes[i] & 0x7f) << (7 * i);
    if (bytes[i] < 0x80) {
      bytes = bytes.drop_front(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<Field> FieldReader::stop(StringRef why) {
  damage = why;
  return std::nullopt;
}

std::optional<Field> FieldReader::next() {
  if (rest.empty() || !damage.empty())
    return std::nullopt;
  ArrayRef<uint8_t> at = rest;
  auto key = takeVarint(at);
  if (!key || *key >> 3 == 0 || *key >> 3 > 0x1fffffff)
    return stop("expected the number of a field");
  Field field{static_cast<unsigned>(*key >> 3), Field::varint, 0, {}, {}};
  auto takeFixed = [&](size_t size) {
    if (at.size() < size)
      return false;
    field.data = at.take_front(size);
    at = at.drop_front(size);
    return true;
  };
  switch (*key & 7) {
  case 0: {
    ArrayRef<uint8_t> begin = at;
    auto value = takeVarint(at);
    if (!value)
      return stop("a number is cut off or longer than 64 bits");
    field.value = *value;
    field.whole = begin.drop_back(at.size());
    break;
  }
  case 1:
    field.encoding = Field::fixed64;
    if (!takeFixed(8))
      return stop("a number is cut off");
    field.value = support::endian::read64le(field.data.data());
    break;
  case 2: {
    field.encoding = Field::bytes;
    auto size = takeVarint(at);
    if (!size || *size > at.size())
      return stop("a field is longer than what is left of its message");
    takeFixed(*size);
    break;
  }
  case 5:
    field.encoding = Field::fixed32;
    if (!takeFixed(4))
      return stop("a number is cut off");
    field.value = support::endian::read32le(field.data.data());
    break;
  default:
    return stop("a field has an encoding that ONNX files do not use");
  }
  rest = at;
  return field;
}

} // namespace dlc::onnx
