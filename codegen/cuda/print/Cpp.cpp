//===- Cpp.cpp - Pieces of C++ text: expressions, types, literals, identifiers ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/Cpp.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

#include <charconv>
#include <cmath>

using namespace mlir;

namespace dlc::codegen::cpp {

std::string paren(const Expr &expr, Prec least) {
  return expr.prec < least ? "(" + expr.text + ")" : expr.text;
}

std::optional<std::string> typeName(Type type, unsigned indexBits) {
  if (type.isF64())
    return "double";
  if (type.isF32())
    return "float";
  if (type.isF16())
    return "dlc::f16";
  if (type.isBF16())
    return "dlc::bf16";
  if (type.isIndex())
    return indexBits == 32 ? "int" : "i64";
  if (type.isSignlessInteger(1))
    return "bool";
  for (unsigned width : {8u, 16u, 32u, 64u})
    if (type.isSignlessInteger(width))
      return "i" + std::to_string(width);
  if (auto vector = dyn_cast<VectorType>(type);
      vector && vector.getRank() == 1 && !vector.isScalable())
    if (auto element = typeName(vector.getElementType(), indexBits))
      return "dlc::vec<" + *element + ", " + std::to_string(vector.getDimSize(0)) + ">";
  return std::nullopt;
}

std::string unsignedName(Type integer, unsigned indexBits) {
  return "u" + std::to_string(integer.isIndex() ? indexBits : integer.getIntOrFloatBitWidth());
}

static Expr integerLiteral(const APInt &value, Type type, unsigned indexBits, bool exactType) {
  if (type.isInteger(1))
    return {value.isZero() ? "false" : "true"};
  unsigned bits = type.isIndex() ? indexBits : value.getBitWidth();
  int64_t number = value.getSExtValue();
  // The smallest value has no decimal literal: its digits alone are too large.
  if (bits >= 32 && number == llvm::minIntN(bits))
    return {bits == 32 ? "(i32)0x80000000u" : "(i64)0x8000000000000000ull", Prec::unary};
  bool wide = bits == 64 && (exactType || number != static_cast<int32_t>(number));
  return {std::to_string(number) + (wide ? "ll" : ""), number < 0 ? Prec::unary : Prec::atom};
}

/// The shortest text that reads back to the same bits.
template <typename T> static std::string shortest(T value) {
  char buffer[40];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  std::string text(buffer, end);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

static Expr floatLiteral(const APFloat &value, Type type) {
  bool isDouble = type.isF64();
  bool isNegative = value.isNegative();
  Prec prec = isNegative ? Prec::unary : Prec::atom;
  if (value.isNaN())
    return {isDouble ? "DLC_NAN_F64" : "DLC_NAN"};
  std::string text;
  if (value.isInfinity()) {
    text = std::string(isNegative ? "-" : "") + (isDouble ? "DLC_INF_F64" : "DLC_INF");
  } else if (isDouble) {
    text = shortest(value.convertToDouble());
  } else {
    APFloat single = value;
    bool losesInfo;
    single.convert(APFloat::IEEEsingle(), APFloat::rmNearestTiesToEven, &losesInfo);
    text = shortest(single.convertToFloat()) + "f";
  }
  return {text, prec};
}

std::optional<Expr> literal(Attribute value, Type type, unsigned indexBits, bool exactType) {
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return integerLiteral(integer.getValue(), type, indexBits, exactType);
  auto number = dyn_cast<FloatAttr>(value);
  if (!number)
    return std::nullopt;
  if (type.isF16() || type.isBF16()) // exact in float
    return Expr{"dlc::from_f<" + *typeName(type, indexBits) + ">(" +
                floatLiteral(number.getValue(), type).text + ")"};
  if (!type.isF32() && !type.isF64())
    return std::nullopt;
  return floatLiteral(number.getValue(), type);
}

std::string commentText(StringRef text) {
  std::string out;
  for (unsigned char c : text) {
    // A backslash at the end would continue the comment on the next line; control characters may
    // break it.
    if (c == '\\')
      out += "\\x5c";
    else if (c < 0x20 || c == 0x7f)
      out += "\\x" + llvm::utohexstr(c, /*LowerCase=*/true, /*Width=*/2);
    else
      out += static_cast<char>(c);
  }
  return out;
}

/// Words that no value may take as its name: of C++, and names that the text or the macros behind
/// it use.
static const llvm::StringSet<> &reserved() {
  static const llvm::StringSet<> words = {
      "alignas",  "alignof",  "and",      "asm",     "auto",      "bool",      "break",
      "case",     "catch",    "char",     "class",   "const",     "continue",  "default",
      "delete",   "do",       "double",   "else",    "enum",      "explicit",  "export",
      "extern",   "false",    "float",    "for",     "friend",    "goto",      "if",
      "inline",   "int",      "long",     "mutable", "namespace", "new",       "not",
      "nullptr",  "operator", "or",       "private", "public",    "register",  "requires",
      "return",   "short",    "signed",   "sizeof",  "static",    "struct",    "switch",
      "template", "this",     "throw",    "true",    "try",       "typedef",   "typeid",
      "typename", "union",    "unsigned", "using",   "virtual",   "void",      "volatile",
      "while",    "xor",      "concept",  "u8",      "u16",       "u32",       "u64",
      "i8",       "i16",      "i32",      "i64",     "dlc",       "threadIdx", "blockIdx",
      "blockDim", "gridDim",  "warpSize"};
  return words;
}

std::string Names::fresh(StringRef wish) {
  std::string name;
  for (char c : wish)
    name += llvm::isAlnum(c) || c == '_' ? c : '_';
  if (name.empty() || llvm::isDigit(name.front()))
    name = "v" + name;
  // Names with two underscores belong to the implementation, dlc_ and DLC_ to the vocabulary and
  // the functions that the text defines.
  if (reserved().contains(name) || StringRef(name).starts_with_insensitive("dlc_") ||
      name.front() == '_' || StringRef(name).contains("__"))
    name = "v" + std::to_string(used.size());
  std::string unique = name;
  for (unsigned suffix = 1; llvm::is_contained(used, unique); ++suffix)
    unique = name + "_" + std::to_string(suffix);
  used.push_back(unique);
  return unique;
}

bool mentions(StringRef text, StringRef word) {
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  for (size_t at = text.find(word); at != StringRef::npos; at = text.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || !isWord(text[at - 1])) && (end == text.size() || !isWord(text[end])))
      return true;
  }
  return false;
}

} // namespace dlc::codegen::cpp
