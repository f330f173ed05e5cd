//===- ElementType.cpp - Element types of stored arrays -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/ElementType.h"

#include "llvm/Support/CheckedArithmetic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace dlc::frontend {

namespace {
struct Row {
  StringRef name;
  unsigned bytes;
  StringRef safetensors, npy;
};
} // namespace

static constexpr Row kRows[] = {
#define ELEMENT(name, bytes, safetensors, npy) {#name, bytes, safetensors, npy},
#include "frontend/arrays/ElementTypes.def"
};

static const Row &row(ElementType type) { return kRows[static_cast<size_t>(type)]; }

unsigned sizeOf(ElementType type) { return row(type).bytes; }
StringRef nameOf(ElementType type) {
  return type == ElementType::boolean ? StringRef("bool") : row(type).name;
}
StringRef npyCode(ElementType type) { return row(type).npy; }

static std::optional<ElementType> find(StringRef Row::*field, StringRef value) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (!value.empty() && kRows[i].*field == value)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

std::optional<ElementType> elementTypeNamed(StringRef name) {
  return find(&Row::name, name == "bool" ? "boolean" : name);
}
StringRef safetensorsName(ElementType type) { return row(type).safetensors; }

std::optional<ElementType> fromSafetensors(StringRef name) { return find(&Row::safetensors, name); }
std::optional<ElementType> fromNpy(StringRef code) { return find(&Row::npy, code); }

std::optional<uint64_t> byteSize(ElementType type, ArrayRef<int64_t> shape) {
  std::optional<uint64_t> size = sizeOf(type);
  // A dim of 0 must not hide that the others overflow.
  bool isEmpty = false;
  for (int64_t dim : shape) {
    if (dim < 0)
      return std::nullopt;
    isEmpty |= dim == 0;
    if (dim > 0 && !(size = checkedMulUnsigned<uint64_t>(*size, dim)))
      return std::nullopt;
  }
  return isEmpty ? 0 : size;
}

std::string describe(ElementType type, ArrayRef<int64_t> shape) {
  std::string text = nameOf(type).str() + "[";
  raw_string_ostream os(text);
  interleave(shape, os, ",");
  os << ']';
  return text;
}

} // namespace dlc::frontend
