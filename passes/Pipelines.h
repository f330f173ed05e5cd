//===- Pipelines.h - The phases by name, and the passes of each ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_PIPELINES_H
#define DLC_PASSES_PIPELINES_H

#include "passes/compress/quantize/PackedMatrix.h"

#include "mlir/Pass/PassManager.h"

#include <optional>
#include <string>
#include <vector>

namespace dlc {

/// All phases, in the order in which they run. The driver runs `schedule` and `package` from
/// codegen.
enum class Phase {
#define DLC_PHASE(name) name,
#include "passes/Phases.def"
};
inline constexpr const char *kPhaseNames[] = {
#define DLC_PHASE(name) #name,
#include "passes/Phases.def"
};

inline const char *nameOf(Phase phase) { return kPhaseNames[static_cast<size_t>(phase)]; }
std::optional<Phase> phaseNamed(llvm::StringRef name);

struct PipelineOptions {
  std::vector<std::string> targets = {"cpu", "cuda"};
  bool explain = false; // remarks on what is not fused
  // f16 or bf16: what convert-precision makes of f32; tf32: allow-tf32 runs.
  std::string precision = "f32";
  std::vector<std::string> keepF32;
  /// none; int8: quantize-products, on ranges that the driver has written to the products; dynamic:
  /// the same on ranges of rows that are found at run time; fp8: the same in floats of 8 bits on
  /// such ranges; w8, w4: quantize-weights.
  std::string quantize = "none";
  WeightFormat weightFormat;         // of w8 and w4
  bool symmetricActivations = false; // of int8 and dynamic
  bool perTensorWeights = false;     // of int8, dynamic and fp8
  // On the weights that the driver has counted: block: store-blocks runs; 2:4: store-two-of-four.
  std::string sparse = "none";
  std::string io; // what convert-signature makes of inputs and outputs; empty: they stay
  int gpu = 0;    // the architecture of the only GPU that the file is for, 90 for sm_90; 0: any

  bool quantizesWeights() const { return quantize == "w8" || quantize == "w4"; }
  bool quantizesProducts() const {
    return quantize == "int8" || quantize == "dynamic" || quantize == "fp8";
  }
  /// convert-precision runs.
  bool runsNarrow() const { return precision == "f16" || precision == "bf16"; }
};

/// How far all passes together may move results (boundOf), those left out that the options leave
/// out.
double boundOfAll(const PipelineOptions &options);

/// Adds the passes of `phase` and the verifier that closes it. Of `import`, `schedule` and
/// `package` only the verifier belongs here (package has none).
void addPhase(mlir::OpPassManager &manager, Phase phase, const PipelineOptions &options);

/// The verifier that closes `phase`, alone; package has none.
void addPhaseVerifier(mlir::OpPassManager &manager, Phase phase);

/// Registers each phase as a pipeline `dlc-PHASE`, for dlc-opt.
void registerPipelines();

} // namespace dlc

#endif // DLC_PASSES_PIPELINES_H
