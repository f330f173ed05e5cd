//===- GivenSizes.cpp - Sizes of declared dims by shapes of the inputs --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/evaluate/Sema.h"

#include <limits>

using namespace mlir;

namespace dlc::frontend {

/// The dims of an input, whatever values the ranges of its symbols give them; null after an error.
static RankedTensorType typeOf(const Port &port, Evaluator &evaluator, MLIRContext *context) {
  Type dtype = dtypeOf(port.type.dtype.name, context);
  SmallVector<AffineExpr> dims;
  for (const ExprPtr &expr : port.type.dims) {
    Item item = expr ? evaluator.evaluate(*expr) : Item{int64_t(1), port.name.loc}; // `?`
    if (!dtype || !item.isDim())
      return {};
    dims.push_back(item.asDim(context));
    if (dl::asConstant(dims.back()).value_or(0) < 0)
      return {};
  }
  return dtype ? dl::makeTensor(dims, dtype) : RankedTensorType();
}

std::optional<GivenSizes> sizesOf(const SourceFile &file, ArrayRef<const SourceFile *> included,
                                  StringRef name, const GivenShapes &shapes,
                                  const llvm::SourceMgr &sources, MLIRContext *context) {
  GivenSizes none;
  if (shapes.empty())
    return none;
  std::optional<Model> model;
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(context)); // for its dims alone
  SmallVector<ShapedInput> inputs;
  Location place = UnknownLoc::get(context);
  {
    ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
    Diagnostics unheard(sources, *context, /*maxErrors=*/std::numeric_limits<unsigned>::max());
    model = analyze(file, included, name, none, unheard, *module);
    if (!model || (!model->sequential && model->instances.empty()))
      return none;
    const Scope &scope = model->sequential ? *model->scope : model->root().scope;
    Evaluator evaluator(unheard, context, scope, model->budget);
    auto add = [&](const Port &port) {
      RankedTensorType type = typeOf(port, evaluator, context);
      inputs.push_back({port.name.name.str(), type, unheard.translate(port.name.loc)});
      return type != nullptr;
    };
    place =
        unheard.translate(model->sequential ? model->name.loc : model->root().decl->forward->loc);
    if (!llvm::all_of(model->sequential ? model->sequential->inputs
                                        : model->root().decl->forward->inputs,
                      add))
      return none;
  }
  SmallVector<SymbolSizes> symbols;
  for (const Symbol &symbol : model->symbols)
    symbols.push_back({symbol.name.str(), symbol.min, symbol.max, /*lowest=*/symbol.min,
                       /*highest=*/symbol.max, /*usual=*/0,
                       /*isComputed=*/symbol.derived != nullptr, symbol.step, symbol.offset});
  if (failed(applyShapes(shapes, inputs, symbols, *module, place)))
    return std::nullopt;
  GivenSizes sizes;
  for (SymbolSizes &symbol : symbols)
    if (!symbol.isComputed)
      sizes[symbol.name] = std::move(symbol);
  return sizes;
}

} // namespace dlc::frontend
