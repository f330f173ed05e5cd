//===- SequentialLowering.h - From a sequential model to operators -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_KERAS_SEQUENTIALLOWERING_H
#define DLC_FRONTEND_KERAS_SEQUENTIALLOWERING_H

#include "frontend/dl/declare/Elaborate.h"
#include "frontend/dl/lower/ForwardLowering.h"
#include "frontend/keras/KerasCall.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace dlc::frontend {

/// Adds one layer after the other: a list, or a graph whose entries name what they take.
/// SequentialLayers.cpp has the layers, Sequential.cpp the model around them.
class SequentialLowering {
public:
  /// Without weights, it finds those that the model needs.
  SequentialLowering(Model &model, const BoundWeights *weights, Diagnostics &diagnostics,
                     mlir::ModuleOp module)
      : model(model), decl(*model.sequential), isPlan(!weights), diagnostics(diagnostics),
        context(module.getContext()), module(module), builder(context),
        emitter(builder, model.symbols, module), functions(emitter, diagnostics),
        layers(builder, emitter, weights ? *weights : none, diagnostics) {}

  void run();

private:
  using Entry = SequentialDecl::Entry;

  bool setLayout(const Port &input, mlir::RankedTensorType type);
  llvm::StringRef nameOf(const Entry &entry);
  std::optional<llvm::SmallVector<Identifier>> operandsOf(const Entry &entry, bool isAgain);
  bool takeOperands(const Entry &entry, bool isAgain);
  /// A layer within another one: Bidirectional(LSTM(64)), TimeDistributed(Dense(10)).
  enum class Wrapper { none, bidirectional, timeDistributed };
  const CallExpr *wrappedBy(const Entry &entry, Wrapper wrapper);
  const KerasKind *kindOf(const Identifier &type);
  void addLayer(const Entry &entry);
  void buildLayer(const Entry &entry, const Entry &definition, const CallExpr *wrapped,
                  Wrapper wrapper, const KerasKind &kind);
  Item logical();
  dl::Dims joinSteps();
  void separateSteps(const dl::Dims &before);
  Layer *declare(const Entry &entry, llvm::StringRef name);
  mlir::Value weight(Layer &layer, llvm::StringRef leaf, KerasCall::Shape shape);
  Item cast(const Item &item, mlir::Type dtype);
  void note(const Entry &entry);
  void finish(mlir::func::FuncOp function);

  Model &model;
  const SequentialDecl &decl;
  const bool isPlan;
  const BoundWeights none;
  Diagnostics &diagnostics;
  mlir::MLIRContext *context;
  mlir::ModuleOp module;
  mlir::OpBuilder builder;
  OpEmitter emitter;
  FunctionCalls functions;
  LayerCalls layers;
  KerasFlow flow;
  llvm::SmallVector<KerasFlow> operands; // of the layer that is added
  /// The values of the inputs and of the entries before, by name.
  llvm::StringMap<KerasFlow> results;
  /// By its name, an entry that is a layer; of one that is called again, the first.
  llvm::StringMap<std::pair<const Entry *, llvm::StringRef>> definitions;
  llvm::StringMap<unsigned> counts; // of automatic names
  llvm::StringRef lastName;
  llvm::SMLoc lastLoc;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_KERAS_SEQUENTIALLOWERING_H
