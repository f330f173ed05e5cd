//===- Layers.h - Layers and the parameters that they own ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer is a function with weights: Conv2d(1, 32, 3) is conv2d with weight and bias. What a layer
// computes is said by the op alone; here stand PyTorch's arguments and the shapes of the weights.
// The kinds themselves stand in layers/, one file for each family.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_DECLARE_LAYERS_H
#define DLC_FRONTEND_DL_DECLARE_LAYERS_H

#include "frontend/dl/lower/Arguments.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace dlc::frontend {

/// The arguments of a layer by name, defaults included, as the shapes of its weights read them.
class LayerArguments {
public:
  LayerArguments(llvm::ArrayRef<Param> params, const BoundArguments &bound)
      : params(params), bound(bound) {}

  /// What was passed or is the default; an Item::None where that is None.
  Item get(llvm::StringRef name) const;
  /// A size: at least 1. Smaller ones are noted as a problem, and answered by 1.
  int64_t size(llvm::StringRef name, unsigned element = 0) const;
  /// All sizes of a list.
  llvm::SmallVector<int64_t> sizes(llvm::StringRef name) const;
  /// The size `name` divided by the size `by`, which must leave nothing over.
  int64_t quotient(llvm::StringRef name, llvm::StringRef by) const;
  bool flag(llvm::StringRef name) const { return get(name).as<bool>(); }
  bool isNone(llvm::StringRef name) const { return get(name).is<Item::None>(); }

  /// Notes that the argument `name` has a value that the layer cannot have; the first problem
  /// counts.
  void refuse(llvm::StringRef name, const llvm::Twine &message) const;

  mutable std::optional<BindError> problem;
  mutable llvm::StringSet<> read; // names that were asked for

private:
  int64_t checked(llvm::StringRef name, const Item &item) const;

  llvm::ArrayRef<Param> params;
  const BoundArguments &bound;
};

/// A parameter tensor of a layer.
struct LayerWeight {
  std::string leaf; // the last part of its name: "weight_ih_l0"
  llvm::SmallVector<int64_t> shape;
  std::string parameter; // of the function, that takes it; several may go to one that takes a list
};

/// The weights of one layer, in the order in which PyTorch registers them.
class LayerWeights {
public:
  /// `parameter` is the leaf's name where it is left out.
  void add(llvm::StringRef leaf, llvm::SmallVector<int64_t> shape, llvm::StringRef parameter = {}) {
    all.push_back({leaf.str(), std::move(shape), (parameter.empty() ? leaf : parameter).str()});
  }
  std::vector<LayerWeight> all;
};

/// How a parameter of the function gets its value where that is not the layer's argument of the
/// same name: from another argument, or from a constant as schemas write it ("'reflect'", "0",
/// "True"). `none` is passed, if it is given, for an argument that is None.
struct Passing {
  llvm::StringRef parameter, from, none = {};
};

class LayerCall;

struct LayerKind {
  llvm::StringRef name; // "Conv2d"
  /// The function that it calls, "conv2d"; where `build` is set, one of those.
  llvm::StringRef function;
  /// The arguments of its declaration, in the grammar of the op table.
  llvm::StringRef schema = "()";
  void (*weights)(const LayerArguments &, LayerWeights &) = nullptr;
  /// Arguments that change nothing at inference.
  std::vector<llvm::StringRef> ignored = {};
  /// Tensors that checkpoints hold beside the weights, for training alone.
  std::vector<llvm::StringRef> trainingState = {};
  std::vector<Passing> passes = {};
  /// What a call of the layer takes: the parameters of PyTorch's forward.
  llvm::StringRef call = "(Tensor input)";
  /// The ranks that the first tensor may have; any where empty.
  std::vector<int64_t> ranks = {};
  /// Makes the call of several functions; null where the layer is one.
  Item (*build)(LayerCall &) = nullptr;
};

/// Nothing where there is no layer of the name.
const LayerKind *findLayer(llvm::StringRef name);
llvm::ArrayRef<LayerKind> layerKinds();
/// The parameters of the layer's declaration.
std::vector<Param> layerParams(const LayerKind &kind);
/// The weights of a layer that was declared with these arguments, or what is wrong with them, dims
/// by `names`.
std::variant<std::vector<LayerWeight>, BindError> weightsOf(const LayerKind &kind,
                                                            llvm::ArrayRef<Param> params,
                                                            const BoundArguments &arguments,
                                                            dl::SymbolNames names);

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_DECLARE_LAYERS_H
