//===- Pipelines.h - The phases by name, and the passes of each ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_PASSES_PIPELINES_H
#define DLC_PASSES_PIPELINES_H

#include "passes/compress/Schemes.h"
#include "passes/compress/quantize/PackedMatrix.h"
#include "passes/precision/Precision.h"

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
  // f16 or bf16: what convert-precision makes of f32; tf32: allow-tf32 runs; f32. No other.
  Precision precision = Precision::f32;
  std::vector<std::string> keepF32;
  /// The driver has written the ranges of activations to the products of a scheme that needs them.
  QuantizationScheme quantize = QuantizationScheme::none;
  WeightFormat weightFormat;         // of w8 and w4
  bool symmetricActivations = false; // of int8 and dynamic
  bool perTensorWeights = false;     // of int8, dynamic and fp8
  // The driver has counted the zeros of weights.
  SparsityScheme sparse = SparsityScheme::none;
  // The type that convert-signature gives inputs and outputs: f32, f16 or bf16. Without a value
  // they keep theirs.
  std::optional<Precision> io;
  int gpu = 0; // the architecture of the only GPU that the file is for, 90 for sm_90; 0: any
};

/// Adds the pass of `options.quantize` to the passes of a function, if it has one.
void addQuantize(mlir::OpPassManager &function, const PipelineOptions &options);

/// Adds the passes of `phase` and the verifier that closes it. Of `import`, `schedule` and
/// `package` only the verifier belongs here (package has none).
void addPhase(mlir::OpPassManager &manager, Phase phase, const PipelineOptions &options);

/// The verifier that closes `phase`, alone; package has none.
void addPhaseVerifier(mlir::OpPassManager &manager, Phase phase);

/// Registers each phase as a pipeline `dlc-PHASE`, for dlc-opt.
void registerPipelines();

} // namespace dlc

#endif // DLC_PASSES_PIPELINES_H
