//===- DerivedDims.cpp - Dims that are computed from others -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/DerivedDims.h"

using namespace mlir;

namespace dlc::frontend {

Attribute definitionOf(const Expr &expr, llvm::function_ref<Item(const Expr &)> evaluate,
                       Diagnostics &diagnostics, MLIRContext *context) {
  const auto *call = llvm::dyn_cast<CallExpr>(&expr);
  const auto *name = call ? llvm::dyn_cast<NameExpr>(call->callee.get()) : nullptr;
  auto function = name ? dl::symbolizeSizeFunction(name->name) : std::nullopt;
  if (!function) {
    Item item = evaluate(expr);
    if (item.isPoison())
      return {};
    if (item.isDim())
      return AffineMapAttr::get(dl::dimsMap(dl::normalize(item.asDim(context)), context));
    if (item.is<double>())
      return FloatAttr::get(Float64Type::get(context), item.as<double>());
    diagnostics.error(expr.loc) << "a derived dim is computed from "
                                << describe(item, diagnostics.module)
                                << "; expected dims, numbers and functions of these";
    return {};
  }
  SmallVector<Attribute> operands;
  for (const Argument &argument : call->arguments) {
    operands.push_back(definitionOf(*argument.value, evaluate, diagnostics, context));
    if (!operands.back())
      return {};
  }
  std::string problem;
  {
    ScopedDiagnosticHandler handler(context, [&](Diagnostic &diagnostic) {
      problem = diagnostic.str();
      return success();
    });
    auto report = [&] { return emitError(UnknownLoc::get(context)); };
    if (succeeded(dl::DerivedAttr::verify(report, *function, operands)))
      return dl::DerivedAttr::get(context, *function, operands);
  }
  diagnostics.error(expr.loc) << problem;
  return {};
}

std::optional<dl::Range> rangeOfDefinition(Attribute definition, llvm::SMLoc loc,
                                           const llvm::Twine &what, Diagnostics &diagnostics) {
  auto derived = dyn_cast<dl::DerivedAttr>(definition);
  auto range = derived ? dl::rangeOf(derived, dl::symbolRanges(diagnostics.module)) : std::nullopt;
  if (range && !dl::isReal(derived))
    return range;
  diagnostics.error(loc)
      << what.str()
      << (range ? " is a real number; expected an integer, as in integer(floor(...))"
                : " has no range; expected a function of dims, as in min(N, 4)");
  return std::nullopt;
}

} // namespace dlc::frontend
