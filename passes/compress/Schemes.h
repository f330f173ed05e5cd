//===- Schemes.h - The schemes of --quantize and --sparse ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A scheme is one row of a table. The command line, the checks of options, the passes and the
// reports read the row. Includes nothing of ours, so that commands without MLIR can use it.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_SCHEMES_H
#define DLC_PASSES_COMPRESS_SCHEMES_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlc {

/// In the order of kQuantizationSchemes.
enum class QuantizationScheme { none, int8, dynamic, fp8, w8, w4 };

/// The part of a model that a scheme changes. Each has its own pass.
enum class QuantizedPart {
  nothing,
  products, // quantize-products: products with weights run in 8 bits
  weights,  // quantize-weights: weights are stored in few bits and dequantized where they are used
};

/// How a scheme uses the data of --calib.
enum class CalibrationUse {
  needed,       // the ranges of activations
  forRounding,  // weights are rounded to the nearest without data
  forSmoothing, // only with --smooth
};

struct QuantizationRecord {
  const char *name;
  QuantizedPart part = QuantizedPart::nothing;
  CalibrationUse calibration = CalibrationUse::forSmoothing;
  bool isOfIntegers = false; // products multiply integers: grids of activations, --no-refit
  bool canSmooth = false;    // --smooth
  bool canCorrect = false;   // --bias-correction
  bool hasGains = false;     // the cost model knows its products or weights: --quantize-where
  unsigned bits = 8;         // of a weight
  bool isSymmetric = false;  // weights without zero points, unless --weight-grid says otherwise
  int64_t group = 0;         // weights that share a scale, unless options say otherwise; 0: a row
  const char *help = "";     // for 'dlc help', a line each
};

inline constexpr QuantizationRecord kQuantizationSchemes[] = {
    {.name = "none", .help = "Keep all weights and products."},
    {.name = "int8",
     .part = QuantizedPart::products,
     .calibration = CalibrationUse::needed,
     .isOfIntegers = true,
     .canSmooth = true,
     .canCorrect = true,
     .hasGains = true,
     .help = "Matmuls and convolutions with weights run on 8-bit integers. Ranges of\n"
             "activations come from --calib. Embedding tables are quantized, too."},
    {.name = "dynamic",
     .part = QuantizedPart::products,
     .isOfIntegers = true,
     .canSmooth = true,
     .help = "Matmuls run on 8-bit integers. Each row's range is found at run time, so\n"
             "no data is needed. Embedding tables are quantized, too."},
    {.name = "fp8",
     .part = QuantizedPart::products,
     .calibration = CalibrationUse::needed,
     .hasGains = true,
     .help = "Matmuls and convolutions with weights run on 8-bit floats (e4m3). Ranges\n"
             "of activations come from --calib."},
    {.name = "w8",
     .part = QuantizedPart::weights,
     .calibration = CalibrationUse::forRounding,
     .canSmooth = true,
     .hasGains = true,
     .isSymmetric = true,
     .help = "Weights of matmuls and embedding tables are stored in 8 bits and\n"
             "dequantized where they are used. --calib fits their rounding to data."},
    {.name = "w4",
     .part = QuantizedPart::weights,
     .calibration = CalibrationUse::forRounding,
     .canSmooth = true,
     .hasGains = true,
     .bits = 4,
     .group = 32,
     .help = "As w8, in 4 bits."},
};

inline constexpr const QuantizationRecord &recordOf(QuantizationScheme scheme) {
  return kQuantizationSchemes[static_cast<size_t>(scheme)];
}
inline constexpr const char *nameOf(QuantizationScheme scheme) { return recordOf(scheme).name; }

/// In the order of kSparsitySchemes.
enum class SparsityScheme { none, block, twoOfFour };

struct SparsityRecord {
  const char *name;
  const char *target;       // the one that has kernels for it
  const char *machines;     // of that target, in a message
  bool isOfFloat32 = false; // its kernels multiply f32
  const char *help = "";    // for 'dlc help', a line each
};

inline constexpr SparsityRecord kSparsitySchemes[] = {
    {.name = "none", .target = "", .machines = "", .help = "Store all zeros."},
    {.name = "block",
     .target = "cpu",
     .machines = "CPUs",
     .isOfFloat32 = true,
     .help = "cpu: 16 neighbouring outputs by one input ('dlc prune --pattern block')"},
    {.name = "2:4",
     .target = "cuda",
     .machines = "GPUs",
     .help = "cuda, f16 or bf16: two of four numbers, on sparse tensor cores ('dlc\n"
             "prune --pattern 2:4')"},
};

inline constexpr const SparsityRecord &recordOf(SparsityScheme scheme) {
  return kSparsitySchemes[static_cast<size_t>(scheme)];
}
inline constexpr const char *nameOf(SparsityScheme scheme) { return recordOf(scheme).name; }

/// Returns the scheme that `name` names, and nullopt if there is none; "none" names one.
inline constexpr std::optional<QuantizationScheme> quantizationNamed(std::string_view name) {
  for (size_t i = 0; i < std::size(kQuantizationSchemes); ++i)
    if (name == kQuantizationSchemes[i].name)
      return static_cast<QuantizationScheme>(i);
  return std::nullopt;
}

/// Returns the names of the schemes whose record satisfies `holds`: "int8, dynamic or w8".
template <class Condition> std::string schemesThat(Condition holds) {
  std::vector<const char *> names;
  for (const QuantizationRecord &record : kQuantizationSchemes)
    if (record.part != QuantizedPart::nothing && holds(record))
      names.push_back(record.name);
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += std::string(i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + names[i];
  return text;
}
inline std::string schemesOf(QuantizedPart part) {
  return schemesThat([part](const QuantizationRecord &record) { return record.part == part; });
}

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_SCHEMES_H
