//===- Families.h - The kinds of layers, by family ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names, order and defaults of arguments are those of torch.nn, names and shapes of weights those
// of its state_dict; test/conformance/run_layers.py compares them with the real ones.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_DECLARE_LAYERS_FAMILIES_H
#define DLC_FRONTEND_DL_DECLARE_LAYERS_FAMILIES_H

#include "frontend/dl/declare/Layers.h"

namespace dlc::frontend {

std::vector<LayerKind> linearLayers();
std::vector<LayerKind> convolutionLayers();
std::vector<LayerKind> normalizationLayers();
std::vector<LayerKind> poolingLayers();
std::vector<LayerKind> activationLayers();
std::vector<LayerKind> shapeLayers();
std::vector<LayerKind> distanceLayers();
std::vector<LayerKind> embeddingLayers();
std::vector<LayerKind> recurrentLayers();
std::vector<LayerKind> attentionLayers();
std::vector<LayerKind> lossLayers();

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_DECLARE_LAYERS_FAMILIES_H
