//===- ForwardLowering.h - The evaluator of forward ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Private to Lower.cpp (statements, calls) and Subscripts.cpp.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_FORWARDLOWERING_H
#define DLC_FRONTEND_DL_FORWARDLOWERING_H

#include "frontend/dl/LayerCalls.h"

namespace dlc::frontend {

/// Evaluates the statements of `forward`, building ops as it goes.
class ForwardLowering : public Evaluator {
public:
  ForwardLowering(Model &model, const BoundWeights &weights, Diagnostics &diagnostics,
                  mlir::ModuleOp module)
      : Evaluator(diagnostics, module.getContext(), model.scope), model(model),
        builder(module.getContext()), emitter(builder, model.symbols),
        layers(builder, emitter, weights, diagnostics), module(module) {}

  void run();

protected:
  Item evaluateName(const NameExpr &expr) override;
  Item evaluateCall(const CallExpr &expr) override;
  Item evaluateSubscript(const SubscriptExpr &expr) override;
  Item negateTensor(const Item &operand, llvm::SMLoc loc) override;
  Item combineTensors(char op, const Item &lhs, const Item &rhs, llvm::SMLoc loc) override;

private:
  struct Binding {
    Item item;
    llvm::SMLoc loc;
    bool isUsed = false;
  };

  void assign(const Identifier &target, Item item);
  void mentionValue(llvm::StringRef name, const Binding &binding);
  void mentionCall(llvm::StringRef name, const Layer &layer, const Item &result);
  void noteUnused(llvm::StringRef name, const Binding &binding);
  mlir::Value outputOf(const Port &port, mlir::RankedTensorType declared);
  Item call(llvm::StringRef callee, llvm::SMLoc loc, llvm::ArrayRef<PassedArgument> arguments);
  std::optional<int64_t> bound(const ExprPtr &expr, llvm::StringRef what, bool &good);
  mlir::Value slice(mlir::Value x, int64_t dim, const Index &index);
  mlir::Value select(mlir::Value x, int64_t dim, int64_t position, llvm::SMLoc loc);
  Item tensor(mlir::Value value, llvm::SMLoc loc) { return value ? Item{value, loc} : poison(loc); }
  llvm::StringRef guess(llvm::StringRef name);

  Model &model;
  mlir::OpBuilder builder;
  OpEmitter emitter;
  LayerCalls layers;
  mlir::ModuleOp module;
  llvm::MapVector<llvm::StringRef, Binding> values;
  std::vector<Identifier> unused;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_FORWARDLOWERING_H
