//===- QuantizationGain.h - What integers and weights in few bits are estimated to gain -------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An estimate for each product alone, from its loops and from the rates of ir/machine: the time of
// its arithmetic or of its bytes, whichever is longer, and that of conversions. Symbols have their
// usual sizes, else their smallest: batch 1.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZATIONGAIN_H
#define DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZATIONGAIN_H

#include "passes/compress/quantize/PackableWeights.h"
#include "passes/compress/quantize/QuantizableProducts.h"
#include "passes/precision/Precision.h"

namespace dlc {

/// The time of a product, or of all products and look-ups of one weight, on one target, in
/// microseconds.
struct TargetGain {
  std::string target; // "cpu" or "cuda"
  double before;      // as it is
  double after;       // quantized
  // Of `after`, what conversions take: of activations to bytes, of sums to f32, of weights from few
  // bits
  double convert;
  bool isModelled; // such a machine has never been measured

  double gain() const { return before / after; }
  /// A product stays as it is on a target that would be slower.
  bool isLoss() const { return gain() < 1; }
};

/// Says for what is estimated: the targets of the file, and the type in which products run that
/// stay as they are (f32, tf32, f16 or bf16).
struct GainTargets {
  llvm::ArrayRef<std::string> targets;
  Precision precision = Precision::f32;
};

/// Gains of the product in a scheme, one for each target; none where the data say how large it is,
/// and where ranges are found when the model runs. All products that read an activation share the
/// time of turning it into bytes.
std::vector<TargetGain> gainsOfProduct(const QuantizableProduct &product, QuantizationScheme scheme,
                                       const GainTargets &of);
/// Gains of a weight in `bits` bits (4 or 8), over all that reads it.
std::vector<TargetGain> gainsOfFewBits(const PackableWeight &weight, unsigned bits,
                                       const GainTargets &of);

/// "2.1x", or of several targets "2.1x cpu, 1.3x cuda (modelled)"; `keepsLosses` says "kept in f32"
/// of a target that would be slower.
std::string gainText(llvm::ArrayRef<TargetGain> gains, bool keepsLosses);
/// Why a product stays as it is: "int8 0.8x on cpu (convert 41 us)".
std::string lossText(llvm::StringRef scheme, llvm::ArrayRef<TargetGain> gains);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_QUANTIZE_QUANTIZATIONGAIN_H
