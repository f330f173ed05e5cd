//===- OpTable.cpp - What the records say about each dl op --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/OpTable.h"

#include "ir/dl/DLOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/ErrorHandling.h"

#include <vector>

using llvm::StringRef;

namespace dlc {

/// Schemas are part of the program: one that does not parse is an error of ours.
[[noreturn]] static void malformed(StringRef schema) {
  llvm::report_fatal_error("malformed schema of a dl op: " + llvm::Twine(schema));
}

/// `int[2]? stride=None`
static Param parseParam(StringRef text, StringRef schema) {
  auto [type, rest] = text.trim().split(' ');
  Param param;
  auto [name, defaultValue] = rest.split('=');
  param.name = name.trim();
  param.hasDefault = rest.contains('=');
  param.defaultValue = defaultValue.trim();
  param.optional = type.consume_back("?");
  bool list = type.consume_back("]");
  if (list) {
    auto [element, count] = type.split('[');
    if (!count.empty() && count.getAsInteger(10, param.count))
      malformed(schema);
    type = element;
    param.optionalElements = type.consume_back("?");
  }
  int kind = llvm::StringSwitch<int>(type)
                 .Case("Tensor", list ? Param::tensors : Param::tensor)
                 .Cases({"BoolTensor", "IntTensor"}, Param::tensor)
                 .Case("int", list ? Param::integers : Param::integer)
                 .Case("float", list ? Param::floatings : Param::floating)
                 .Case("bool", Param::boolean)
                 .Case("str", Param::string)
                 .Case("ScalarType", Param::dtype)
                 .Case("SymInt", Param::dims)
                 .Cases({"None", "True", "False"}, Param::fixed)
                 .Default(type.starts_with("'") ? Param::fixed : -1);
  if (kind < 0 || param.name.empty())
    malformed(schema);
  param.type = static_cast<Param::Type>(kind);
  if (param.type == Param::fixed)
    param.constant = type;
  param.keepsDtype = type == "BoolTensor";
  param.takesNumber = type == "IntTensor";
  if (param.type == Param::dims && !list)
    param.count = 1;
  return param;
}

/// `(Tensor values, Tensor indices)`, `Tensor[]`, or nothing
static void parseResults(Signature &signature, StringRef text, StringRef schema) {
  signature.returnsList = text == "Tensor[]";
  if (text.empty() || signature.returnsList)
    return;
  if (!text.consume_front("(") || !text.consume_back(")"))
    malformed(schema);
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',');
  for (StringRef part : parts) {
    part = part.trim();
    if (!part.consume_front("Tensor ") || part.empty())
      malformed(schema);
    signature.results.push_back(part);
  }
}

Signature parseSignature(StringRef op, StringRef line) {
  line = line.trim(); // TableGen indents the lines of a record's schema
  Signature signature;
  signature.op = op;
  signature.name = line.take_until([](char c) { return c == '('; });
  signature.text = line;
  auto [call, results] = line.split(" -> ");
  parseResults(signature, results.trim(), line);
  StringRef params = call.rtrim().drop_front(signature.name.size());
  if (!params.consume_front("(") || !params.consume_back(")"))
    malformed(line);
  // A default is a number, a word, a quoted word or []: it holds no comma.
  llvm::SmallVector<StringRef> parts;
  params.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    signature.params.push_back(parseParam(part, line));
  return signature;
}

/// `values:0 inverse counts:0`
static void parseCounted(Signature &signature, StringRef text) {
  llvm::SmallVector<StringRef> names;
  text.split(names, ' ', -1, /*KeepEmpty=*/false);
  auto add = [&](StringRef wanted) {
    for (auto [number, entry] : llvm::enumerate(names)) {
      auto [name, dim] = entry.split(':');
      int padded = dim == "dim" ? Signature::Counted::kAttribute : -1;
      if (!dim.empty() && dim != "dim" && dim.getAsInteger(10, padded))
        malformed(text);
      if (wanted.empty() || wanted == name) {
        signature.counted.push_back({static_cast<unsigned>(number), padded});
        return;
      }
    }
    malformed(text);
  };
  if (!names.empty() && signature.results.empty())
    add("");
  if (!names.empty())
    for (StringRef result : signature.results)
      add(result);
}

static OpInfo parseOp(StringRef op, StringRef schema, StringRef summary, unsigned batchedRank,
                      StringRef onnx, StringRef counted, dl::PrecisionRule precision) {
  OpInfo info{op, {}, summary, onnx, precision};
  llvm::SmallVector<StringRef> lines;
  schema.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    info.signatures.push_back(parseSignature(op, line));
    info.signatures.back().batchedRank = batchedRank;
    parseCounted(info.signatures.back(), counted);
  }
  return info;
}

template <typename... Ops> static std::vector<OpInfo> buildTable() {
  return {parseOp(Ops::getOperationName(), Ops::kSchema, Ops::kSummary, Ops::kBatchedRank,
                  Ops::kOnnx, Ops::kCounted, Ops::kPrecision)...};
}

llvm::ArrayRef<OpInfo> opTable() {
  using namespace dl;
  static const std::vector<OpInfo> table = buildTable<
#define GET_OP_LIST
#include "ir/dl/DLOpList.cpp.inc"
      >();
  return table;
}

const OpInfo *opInfo(StringRef op) {
  static const auto byName = [] {
    llvm::StringMap<const OpInfo *> map;
    for (const OpInfo &info : opTable())
      map[info.op] = &info;
    return map;
  }();
  return byName.lookup(op);
}

llvm::SmallVector<const Signature *> signaturesOf(StringRef name) {
  llvm::SmallVector<const Signature *> found;
  for (const OpInfo &info : opTable())
    for (const Signature &signature : info.signatures)
      if (signature.name == name)
        found.push_back(&signature);
  return found;
}

} // namespace dlc
