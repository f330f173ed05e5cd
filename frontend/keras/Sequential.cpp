//===- Sequential.cpp - Models that are a list or a graph of Keras's layers ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/keras/Sequential.h"

#include "frontend/keras/SequentialLowering.h"
#include "ir/dl/DLOps.h"

using namespace mlir;

namespace dlc::frontend {

ArrayRef<KerasKind> kerasKinds() {
  static const std::vector<KerasKind> kinds = [] {
    std::vector<KerasKind> all;
    for (auto family :
         {kerasCoreLayers, kerasConvolutions, kerasPoolings, kerasRecurrentLayers, kerasMerges})
      llvm::append_range(all, family());
    return all;
  }();
  return kinds;
}

/// Reads where an input has its channels, into the flow; false, reported, where that is not clear.
bool SequentialLowering::setLayout(const Port &input, RankedTensorType type) {
  int64_t rank = type.getRank();
  flow = KerasFlow();
  if (!input.layout) {
    if (rank < 4)
      return true;
    diagnostics.error(input.name.loc)
        << "input " << quote(input.name.name) << " has " << rank
        << " dims; say where its channels are, as in 'layout NHWC' (Keras's default) or 'layout "
           "NCHW'";
    return false;
  }
  StringRef layout = input.layout->name;
  static constexpr StringRef kLast[] = {"NWC", "NHWC", "NDHWC"},
                             kFirst[] = {"NCW", "NCHW", "NCDHW"};
  flow.hasChannelsLast = llvm::is_contained(kLast, layout);
  if (!flow.hasChannelsLast && !llvm::is_contained(kFirst, layout)) {
    diagnostics.error(input.layout->loc)
        << "unknown layout " << quote(layout) << "; expected NHWC or NCHW (NWC or NCW of 3 dims)";
    return false;
  }
  if (static_cast<int64_t>(layout.size()) == rank)
    return true;
  diagnostics.error(input.layout->loc)
      << "layout " << layout << " is for " << layout.size() << " dims; input "
      << quote(input.name.name) << " has " << rank;
  return false;
}

void SequentialLowering::finish(func::FuncOp function) {
  SmallVector<Value> values;
  SmallVector<Type> types;
  size_t count = std::max<size_t>(decl.outputs.size(), 1);
  for (size_t i = 0; i < count; ++i) {
    const Port *port = decl.outputs.empty() ? nullptr : &decl.outputs[i];
    auto named = port ? results.find(port->name.name) : results.end();
    if (count > 1 && named == results.end()) {
      SmallVector<StringRef> known(results.keys());
      diagnostics.error(port->name.loc)
          << "output " << quote(port->name.name) << " is the name of no layer"
          << didYouMean(port->name.name, known)
          << "; where there are several outputs, each has the name of the layer that gives it";
      continue;
    }
    if (named != results.end())
      flow = named->second;
    flow.tensor = logical(); // for whoever reads the output
    if (flow.tensor.is<Item::Poison>())
      continue;
    RankedTensorType type = flow.tensor.tensorType(),
                     declared = port ? model.outputs[i] : RankedTensorType();
    if (declared && !dl::sameShapeAndElement(type, declared)) {
      diagnostics.error(port->name.loc)
          << "output " << quote(port->name.name) << " is " << dl::text(type, diagnostics.module)
          << ", declared as " << dl::text(declared, diagnostics.module) << "; change one of them";
      continue;
    }
    values.push_back(flow.tensor.as<Value>());
    types.push_back(values.back().getType());
  }
  if (values.size() != count)
    return;
  function.setFunctionType(builder.getFunctionType(function.getArgumentTypes(), types));
  for (size_t i = 0; i < count; ++i)
    function.setResultAttr(
        static_cast<unsigned>(i), "dl.name",
        builder.getStringAttr(decl.outputs.empty() ? lastName : decl.outputs[i].name.name));
  func::ReturnOp::create(builder, diagnostics.translate(decl.name.loc), values);
  if (!isPlan)
    return;
  model.outputs.clear();
  for (Type type : types)
    model.outputs.push_back(cast<RankedTensorType>(type));
}

void SequentialLowering::run() {
  declareSymbols(module, model.symbols);
  builder.setInsertionPointToEnd(module.getBody());
  Location loc = diagnostics.translate(decl.name.loc);
  SmallVector<Type> types(model.inputs.begin(), model.inputs.end());
  auto function =
      func::FuncOp::create(builder, loc, "forward", builder.getFunctionType(types, types.front()));
  Block *entry = builder.createBlock(&function.getBody());
  for (auto [i, port] : llvm::enumerate(decl.inputs)) {
    if (!setLayout(port, model.inputs[i]))
      return;
    Value input = entry->addArgument(types[i], diagnostics.translate(port.name.loc));
    function.setArgAttr(static_cast<unsigned>(i), "dl.name", builder.getStringAttr(port.name.name));
    flow.tensor = {input, port.name.loc};
    if (!results.try_emplace(port.name.name, flow).second) {
      diagnostics.error(port.name.loc)
          << "two inputs have the name " << quote(port.name.name) << "; names must differ";
      return;
    }
  }
  if (decl.inputs.size() > 1)
    flow.tensor = {Item::None(), decl.name.loc}; // each of the first layers says what it takes
  for (const Entry &layer : decl.layers) {
    if (diagnostics.isFull())
      return;
    addLayer(layer);
  }
  finish(function);
}

void planSequential(Model &model, Diagnostics &diagnostics, MLIRContext *context) {
  const SequentialDecl &decl = *model.sequential;
  Evaluator evaluator(diagnostics, context, *model.scope, model.budget);
  for (const Port &port : decl.inputs) {
    RankedTensorType type = portType(port, evaluator, model.symbols, diagnostics, context);
    if (!type)
      return;
    model.inputs.push_back(type);
  }
  for (const Port &port : decl.outputs)
    model.outputs.push_back(port.type.dtype.name.empty()
                                ? RankedTensorType()
                                : portType(port, evaluator, model.symbols, diagnostics, context));
  if (decl.layers.empty()) {
    diagnostics.error(decl.name.loc)
        << "sequential " << quote(decl.name.name) << " has no layers; add one, as in 'Dense(10)'";
    return;
  }
  OwningOpRef<ModuleOp> module = ModuleOp::create(diagnostics.translate(decl.name.loc));
  SequentialLowering(model, nullptr, diagnostics, *module).run();
}

void lowerSequential(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                     ModuleOp module) {
  if (!diagnostics.hasErrors())
    SequentialLowering(model, &weights, diagnostics, module).run();
}

} // namespace dlc::frontend
