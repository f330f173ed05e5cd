//===- Layers.h - Layers and the parameters that they own ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A layer is a function with weights: Conv2d(1, 32, 3) is conv2d with weight and bias. What a layer computes is said by
// the op alone; here stand PyTorch's arguments and the shapes of the weights.
//===----------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_LAYERS_H
#define DLC_FRONTEND_DL_LAYERS_H

#include "frontend/dl/Arguments.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringSet.h"

namespace dlc::frontend {

/// The arguments of a layer by name, defaults included, as the shapes of its weights read them.
class LayerArguments {
public:
  LayerArguments(llvm::ArrayRef<Param> params, const BoundArguments &bound)
      : params(params), bound(bound) {}

  /// A size: at least 1. Smaller ones are noted as a problem, and answered by 1.
  int64_t size(llvm::StringRef name, unsigned element = 0) const;
  bool flag(llvm::StringRef name) const;

  mutable std::optional<BindError> problem;
  mutable llvm::StringSet<> read; // names that were asked for

private:
  const std::optional<Item> &get(llvm::StringRef name, const Param *&param) const;

  llvm::ArrayRef<Param> params;
  const BoundArguments &bound;
};

/// A parameter tensor of a layer.
struct LayerWeight {
  llvm::StringRef
      leaf; // the last part of its name, and the parameter of the function that takes it
  llvm::SmallVector<int64_t> (*shape)(const LayerArguments &);
  llvm::StringRef condition = {}; // argument that must be true
};

struct LayerKind {
  llvm::StringRef name;     // "Conv2d"
  llvm::StringRef function; // "conv2d"
  /// The arguments in the grammar of the op table; "*" for those of the function.
  llvm::StringRef schema = "*";
  std::vector<LayerWeight> weights = {};
  /// Arguments that change nothing at inference.
  std::vector<llvm::StringRef> ignored = {};
  /// Tensors that checkpoints hold beside the weights, for training alone.
  std::vector<llvm::StringRef> trainingState = {};
};

/// Nothing where there is no layer of the name.
const LayerKind *findLayer(llvm::StringRef name);
llvm::ArrayRef<LayerKind> layerKinds();

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_LAYERS_H
