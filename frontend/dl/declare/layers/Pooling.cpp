//===- Pooling.cpp - Pooling and resampling -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/dl/declare/layers/Families.h"

namespace dlc::frontend {

std::vector<LayerKind> poolingLayers() {
  return {
      {.name = "MaxPool1d",
       .function = "max_pool1d",
       .schema = "(int[1] kernel_size, int[1]? stride=None, int[1] padding=0, int[1] dilation=1, "
                 "bool return_indices=False, bool ceil_mode=False)"},
      {.name = "MaxPool2d",
       .function = "max_pool2d",
       .schema = "(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, int[2] dilation=1, "
                 "bool return_indices=False, bool ceil_mode=False)"},
      {.name = "MaxPool3d",
       .function = "max_pool3d",
       .schema = "(int[3] kernel_size, int[3]? stride=None, int[3] padding=0, int[3] dilation=1, "
                 "bool return_indices=False, bool ceil_mode=False)"},
      {.name = "AvgPool1d",
       .function = "avg_pool1d",
       .schema = "(int[1] kernel_size, int[1]? stride=None, int[1] padding=0, bool "
                 "ceil_mode=False, bool count_include_pad=True)"},
      {.name = "AvgPool2d",
       .function = "avg_pool2d",
       .schema = "(int[2] kernel_size, int[2]? stride=None, int[2] padding=0, bool "
                 "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)"},
      {.name = "AvgPool3d",
       .function = "avg_pool3d",
       .schema = "(int[3] kernel_size, int[3]? stride=None, int[3] padding=0, bool "
                 "ceil_mode=False, bool count_include_pad=True, int? divisor_override=None)"},
      {.name = "AdaptiveAvgPool1d",
       .function = "adaptive_avg_pool1d",
       .schema = "(int?[1] output_size)"},
      {.name = "AdaptiveAvgPool2d",
       .function = "adaptive_avg_pool2d",
       .schema = "(int?[2] output_size)"},
      {.name = "AdaptiveMaxPool1d",
       .function = "adaptive_max_pool1d",
       .schema = "(int?[1] output_size, bool return_indices=False)"},
      {.name = "AdaptiveMaxPool2d",
       .function = "adaptive_max_pool2d",
       .schema = "(int?[2] output_size, bool return_indices=False)"},
      {.name = "AdaptiveAvgPool3d",
       .function = "adaptive_avg_pool3d",
       .schema = "(int?[3] output_size)"},
      {.name = "AdaptiveMaxPool3d",
       .function = "adaptive_max_pool3d",
       .schema = "(int?[3] output_size, bool return_indices=False)"},
      {.name = "LPPool1d",
       .function = "lp_pool1d",
       .schema = "(float norm_type, int kernel_size, int? stride=None, bool ceil_mode=False)"},
      {.name = "LPPool2d",
       .function = "lp_pool2d",
       .schema = "(float norm_type, int[2] kernel_size, int[2]? stride=None, bool "
                 "ceil_mode=False)"},
      {.name = "LocalResponseNorm",
       .function = "local_response_norm",
       .schema = "(int size, float alpha=0.0001, float beta=0.75, float k=1.0)"},
      {.name = "Upsample",
       .function = "interpolate",
       .schema = "(SymInt[]? size=None, float[]? scale_factor=None, str mode='nearest', bool? "
                 "align_corners=None, bool? recompute_scale_factor=None)"},
      {.name = "UpsamplingNearest2d",
       .function = "interpolate",
       .schema = "(SymInt[]? size=None, float[]? scale_factor=None)",
       .passes = {{"mode", "'nearest'"}}},
      {.name = "UpsamplingBilinear2d",
       .function = "interpolate",
       .schema = "(SymInt[]? size=None, float[]? scale_factor=None)",
       .passes = {{"mode", "'bilinear'"}, {"align_corners", "True"}}},
  };
}

} // namespace dlc::frontend
