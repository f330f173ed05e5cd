//===- KerasCall.h - One layer of a sequential model while it is built --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Keras's tensors have their channels last, dlc's ops have them in dim 1. What flows from layer to
// layer may therefore lie turned: [N, C, ...] in memory, [N, ..., C] in meaning. It is turned back
// only where a layer reads dims by their place.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_KERAS_KERASCALL_H
#define DLC_FRONTEND_KERAS_KERASCALL_H

#include "frontend/dl/declare/Layers.h"
#include "frontend/dl/lower/FunctionCalls.h"

#include <functional>

namespace dlc::frontend {

class KerasCall;

/// A layer of Keras: its name, its arguments in the grammar of the op table, and how it is built.
struct KerasKind {
  llvm::StringRef name;
  llvm::StringRef schema;
  void (*build)(KerasCall &);
  /// It takes two tensors or more.
  bool isMerge = false;
};

/// All of them.
llvm::ArrayRef<KerasKind> kerasKinds();

std::vector<KerasKind> kerasCoreLayers();
std::vector<KerasKind> kerasConvolutions();
std::vector<KerasKind> kerasPoolings();
std::vector<KerasKind> kerasRecurrentLayers();
std::vector<KerasKind> kerasMerges();

/// The tensor between two layers.
struct KerasFlow {
  Item tensor;                 // Poison after an error
  bool hasChannelsLast = true; // what Keras calls data_format
  bool isTurned = false;
};

class KerasCall {
public:
  using Shape = llvm::SmallVector<int64_t>;
  using Named = FunctionCalls::Named;
  using MakeWeight = llvm::function_ref<mlir::Value(llvm::StringRef leaf, Shape shape)>;

  KerasCall(llvm::StringRef kind, llvm::SMLoc loc, llvm::ArrayRef<Param> params,
            const BoundArguments &bound, KerasFlow &flow, FunctionCalls &functions,
            MakeWeight makeWeight)
      : arguments(params, bound), kind(kind), loc(loc), flow(flow), functions(functions),
        makeWeight(makeWeight) {}

  /// All tensors that a merge takes, the first of which is `flow`.
  llvm::ArrayRef<KerasFlow> operands;

  const LayerArguments arguments;
  bool isBidirectional = false; // in Bidirectional(...)

  /// The tensor with its dims as Keras orders them.
  Item logical();
  /// The tensors of a merge, all with their dims as Keras orders them, or, where each lies turned,
  /// all as they lie: what giveMerged() then takes lies so too.
  llvm::SmallVector<Item> merged(bool &areTurned);
  void giveMerged(Item tensor, bool isTurned);
  /// The tensor as [N, C, ...], of `spatial` dims after; Poison, reported, where it has another
  /// number.
  Item channelsFirst(unsigned spatial);
  void give(Item logical);
  void giveChannelsFirst(Item tensor);
  /// Replaces the tensor by a function of each element.
  void map(llvm::StringRef function, llvm::ArrayRef<Named> named = {});
  /// The function of `activation`, "relu" or "softmax"; nothing for "linear".
  void activate(llvm::StringRef activation);
  /// The argument `activation`, which may be None.
  void activate();

  /// A size of a tensor that must be a number: it shapes a weight. 1, after an error, where it is a
  /// symbol.
  int64_t staticSize(const Item &tensor, int64_t dim);
  dl::Dims dims(const Item &tensor) const { return dl::getDims(tensor.tensorType()); }

  /// A weight, in the dtype of the tensor where both are floats.
  Item weight(llvm::StringRef leaf, Shape shape);
  /// The weight where `flag` is true, None otherwise.
  Item weightIf(llvm::StringRef flag, llvm::StringRef leaf, Shape shape);
  Item function(llvm::StringRef callee, llvm::ArrayRef<Item> positional,
                llvm::ArrayRef<Named> named = {});
  Item permute(const Item &tensor, llvm::ArrayRef<int64_t> order);
  Item reshape(const Item &tensor, llvm::ArrayRef<mlir::AffineExpr> dims);
  /// A tensor of one number, of the flow's dtype.
  Item full(double number, Shape shape);

  Item list(llvm::ArrayRef<int64_t> values) const;
  Item number(int64_t value) const { return {value, loc}; }
  Item text(llvm::StringRef value) const { return {value.str(), loc}; }
  std::string textOf(llvm::StringRef argument) const;

  bool failed() const { return flow.tensor.is<Item::Poison>(); }
  /// Reports an error about the layer; the tensor becomes Poison.
  Item error(const llvm::Twine &message);

  const llvm::StringRef kind;
  const llvm::SMLoc loc;

private:
  Item turned(const KerasFlow &from, bool toFirst);

  KerasFlow &flow;
  FunctionCalls &functions;
  MakeWeight makeWeight;
};

} // namespace dlc::frontend

#endif // DLC_FRONTEND_KERAS_KERASCALL_H
