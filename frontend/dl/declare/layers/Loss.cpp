//===- Loss.cpp - Losses ------------------------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"

namespace dlc::frontend {

std::vector<LayerKind> lossLayers() {
  // A tensor of weights is passed to the function instead: the arguments of a layer are known at
  // compile time.
  static constexpr llvm::StringRef
      kReduced = "(bool? size_average=None, bool? reduce=None, str reduction='mean')",
      kWeighted = "(Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
                  "reduction='mean')",
      kPair = "(Tensor input, Tensor target)", kTriple = "(Tensor x, Tensor x2, Tensor target)",
      kMargin = "(float margin=0.0, bool? size_average=None, bool? reduce=None, str "
                "reduction='mean')";
  return {
      {.name = "MSELoss", .function = "mse_loss", .schema = kReduced, .call = kPair},
      {.name = "L1Loss", .function = "l1_loss", .schema = kReduced, .call = kPair},
      {.name = "SmoothL1Loss",
       .function = "smooth_l1_loss",
       .schema = "(bool? size_average=None, bool? reduce=None, str reduction='mean', float "
                 "beta=1.0)",
       .call = kPair},
      {.name = "HuberLoss",
       .function = "huber_loss",
       .schema = "(str reduction='mean', float delta=1.0)",
       .call = kPair},
      {.name = "KLDivLoss",
       .function = "kl_div",
       .schema = "(bool? size_average=None, bool? reduce=None, str reduction='mean', bool "
                 "log_target=False)",
       .call = kPair},
      {.name = "BCELoss", .function = "binary_cross_entropy", .schema = kWeighted, .call = kPair},
      {.name = "BCEWithLogitsLoss",
       .function = "binary_cross_entropy_with_logits",
       .schema = "(Tensor? weight=None, bool? size_average=None, bool? reduce=None, str "
                 "reduction='mean', Tensor? pos_weight=None)",
       .call = kPair},
      {.name = "NLLLoss",
       .function = "nll_loss",
       .schema = "(Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
                 "reduce=None, str reduction='mean')",
       .call = kPair},
      {.name = "CrossEntropyLoss",
       .function = "cross_entropy",
       .schema = "(Tensor? weight=None, bool? size_average=None, int ignore_index=-100, bool? "
                 "reduce=None, str reduction='mean', float label_smoothing=0.0)",
       .call = kPair},
      {.name = "SoftMarginLoss", .function = "soft_margin_loss", .schema = kReduced, .call = kPair},
      {.name = "MultiLabelSoftMarginLoss",
       .function = "multilabel_soft_margin_loss",
       .schema = kWeighted,
       .call = kPair},
      {.name = "MultiLabelMarginLoss",
       .function = "multilabel_margin_loss",
       .schema = kReduced,
       .call = kPair},
      {.name = "MultiMarginLoss",
       .function = "multi_margin_loss",
       .schema = "(int p=1, float margin=1.0, Tensor? weight=None, bool? size_average=None, bool? "
                 "reduce=None, str reduction='mean')",
       .call = kPair},
      {.name = "PoissonNLLLoss",
       .function = "poisson_nll_loss",
       .schema = "(bool log_input=True, bool full=False, bool? size_average=None, float "
                 "eps=1e-08, bool? reduce=None, str reduction='mean')",
       .call = kPair},
      {.name = "GaussianNLLLoss",
       .function = "gaussian_nll_loss",
       .schema = "(bool full=False, float eps=1e-06, str reduction='mean')",
       .call = "(Tensor input, Tensor target, Tensor var)"},
      {.name = "HingeEmbeddingLoss",
       .function = "hinge_embedding_loss",
       .schema = "(float margin=1.0, bool? size_average=None, bool? reduce=None, str "
                 "reduction='mean')",
       .call = kPair},
      {.name = "MarginRankingLoss",
       .function = "margin_ranking_loss",
       .schema = kMargin,
       .call = kTriple},
      {.name = "CosineEmbeddingLoss",
       .function = "cosine_embedding_loss",
       .schema = kMargin,
       .call = kTriple},
      {.name = "TripletMarginLoss",
       .function = "triplet_margin_loss",
       .schema = "(float margin=1.0, float p=2.0, float eps=1e-06, bool swap=False, bool? "
                 "size_average=None, bool? reduce=None, str reduction='mean')",
       .call = "(Tensor anchor, Tensor positive, Tensor negative)"},
  };
}

} // namespace dlc::frontend
