//===- Item.cpp - What an expression stands for -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Item.h"

#include "frontend/dl/syntax/Diagnostics.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace dlc::frontend {

AffineExpr Item::asDim(MLIRContext *context) const {
  if (is<AffineExpr>())
    return as<AffineExpr>();
  return dl::constantDim(as<int64_t>(), context);
}

Item Item::dim(AffineExpr dim, llvm::SMLoc loc) {
  dim = dl::normalize(dim);
  if (auto constant = dl::asConstant(dim))
    return {*constant, loc};
  return {dim, loc};
}

std::string describe(const Item &item, dl::SymbolNames names) {
  return std::visit(
      llvm::makeVisitor(
          [](Item::None) { return std::string("None"); },
          [](Item::Poison) { return std::string("an erroneous value"); },
          [](bool value) { return std::string(value ? "true" : "false"); },
          [](int64_t value) { return "the integer " + std::to_string(value); },
          [](double value) {
            std::string text = "the number ";
            llvm::raw_string_ostream(text) << llvm::format("%g", value);
            return text;
          },
          [](const std::string &value) { return "the string " + quote(value); },
          [&](AffineExpr value) { return "the dim " + dl::text(value, names); },
          [](Type) { return std::string("a dtype"); },
          [](Value value) { return "a tensor " + dl::text(value); },
          [](const LayerRef &value) { return "the layer " + quote(value.path); },
          [](const Item::List &value) { return "a list of " + std::to_string(value.size()); }),
      item.value);
}

ArrayRef<StringRef> dtypeNames() { return dl::dtypeNames(); }

Type dtypeOf(StringRef name, MLIRContext *context) { return dl::dtypeNamed(name, context); }

} // namespace dlc::frontend
