//===- DLOps.td - All ops of the dl dialect, by family -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
include "ir/dl/DLElementwise.td"
include "ir/dl/DLCompare.td"
include "ir/dl/DLActivation.td"
include "ir/dl/DLContraction.td"
include "ir/dl/DLConvolution.td"
include "ir/dl/DLAttention.td"
include "ir/dl/DLWindow.td"
include "ir/dl/DLReduction.td"
include "ir/dl/DLShape.td"
include "ir/dl/DLRecurrent.td"
include "ir/dl/DLStructure.td"
