//===- Documentation.cpp - What an editor shows of functions and layers -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/lsp/Documentation.h"

#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/library/Library.h"
#include "tools/driver/inspect/ModelSummary.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using llvm::StringRef;

namespace dlc {

using frontend::findLayer;
using frontend::functionSignatures;
using frontend::LayerKind;

std::string fenced(StringRef code) { return ("```dl\n" + code + "\n```").str(); }

/// "(int in_channels, ...)": the schema of a layer, that of its function behind the tensor where it
/// has none of its own.
static std::string schemaOf(const LayerKind &kind) {
  if (kind.schema != "*")
    return kind.schema.str();
  auto signatures = functionSignatures(kind.function);
  if (signatures.empty())
    return "()";
  StringRef params = signatures.front()->text.drop_until([](char c) { return c == '('; });
  size_t comma = params.find(',');
  return comma == StringRef::npos ? "()" : "(" + params.substr(comma + 1).ltrim().str();
}

std::vector<std::string> callsOf(StringRef name) {
  std::vector<std::string> calls;
  for (const Signature *signature : functionSignatures(name))
    calls.push_back(signature->text.str());
  if (const LayerKind *kind = findLayer(name))
    calls.push_back(name.str() + schemaOf(*kind));
  return calls;
}

std::vector<Param> paramsOf(StringRef name) {
  std::vector<Param> params;
  auto add = [&](const Param &param) {
    if (llvm::none_of(params, [&](const Param &other) { return other.name == param.name; }))
      params.push_back(param);
  };
  for (const Signature *signature : functionSignatures(name))
    llvm::for_each(signature->params, add);
  if (const LayerKind *kind = findLayer(name)) {
    if (kind->schema != "*") {
      llvm::for_each(parseSignature("", kind->schema).params, add);
    } else if (auto signatures = functionSignatures(kind->function); !signatures.empty()) {
      llvm::for_each(llvm::drop_begin(signatures.front()->params), add);
    }
  }
  return params;
}

std::string documentCallable(StringRef name) {
  std::vector<std::string> calls = callsOf(name);
  if (calls.empty())
    return {};
  const LayerKind *kind = findLayer(name);
  return fenced(llvm::join(calls, "\n")) + "\n" +
         frontend::summaryOf(kind ? kind->function : name).str();
}

std::string documentLayer(const Mention &mention, const SourceIndex &index) {
  std::string out = fenced(mention.text);
  for (const LayerFacts &layer : index.layers) {
    if (layer.place != mention.definition)
      continue;
    out += "\n";
    for (const LayerFacts::Weight &weight : layer.weights) {
      std::string dims;
      for (int64_t dim : weight.shape)
        dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      out += "- `" + weight.path + "` [" + dims + "]\n";
    }
    uint64_t parameters = ModelSummary::elementsOf(layer, false);
    if (parameters)
      out += "\n" + grouped(parameters) + " parameters\n";
    if (!layer.outputs.empty())
      out += "\ngives `" + layer.outputs.back() + "`\n";
    break; // of a repeated layer, the first one
  }
  return out;
}

} // namespace dlc
