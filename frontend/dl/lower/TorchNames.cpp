//===- TorchNames.cpp - Functions and layers of PyTorch that the language lacks -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of torch, torch.nn.functional, torch.linalg, torch.fft, torch.special and
// torchvision.ops, methods of its tensors, and layers of torch.nn, as PyTorch 1.13 and 2 have them.
// Who asks has looked among those of dlc first, so that a name may stay here when dlc learns it.
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/syntax/Hints.h"

#include "llvm/ADT/StringSet.h"

using llvm::StringRef;

namespace dlc::frontend {

bool isTorchFunction(StringRef name) {
  static const llvm::StringSet<> kNames = {
#define FUNCTION(name) #name,
#define LAYER(name)
#include "frontend/dl/lower/TorchNames.def"
  };
  return kNames.contains(name);
}

bool isTorchLayer(StringRef name) {
  static const llvm::StringSet<> kNames = {
#define FUNCTION(name)
#define LAYER(name) #name,
#include "frontend/dl/lower/TorchNames.def"
  };
  return kNames.contains(name);
}

} // namespace dlc::frontend
