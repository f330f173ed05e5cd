//===- Pipelines.cpp - The phases by name, and the passes of each -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/Pipelines.h"

#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

#include <charconv>

using namespace mlir;

namespace dlc {

#define GET_PassBounds_IMPL
namespace {
struct PassBound {
  const char *flag, *fraction, *why;
};
#include "passes/PassBounds.inc"
} // namespace

static double fractionOf(const PassBound &bound) {
  double fraction = 0;
  [[maybe_unused]] bool malformed = StringRef(bound.fraction).getAsDouble(fraction);
  assert(!malformed && "the fraction of a MovesResults record must be a number");
  return fraction;
}

double boundOf(StringRef flag) {
  for (const PassBound &bound : PassBounds)
    if (flag == bound.flag)
      return fractionOf(bound);
  return 0;
}

std::optional<Phase> phaseNamed(StringRef name) {
  for (auto [position, phase] : llvm::enumerate(kPhaseNames))
    if (name == phase)
      return static_cast<Phase>(position);
  return std::nullopt;
}

static void addSimplify(OpPassManager &module) {
  // This pass comes first: it needs counters and indices as the importers write them.
  module.addPass(createRaiseCaches());
  OpPassManager &manager = module.nest<func::FuncOp>();
  // The later passes know ops with loops alone.
  manager.addPass(createDecomposeOps());
  // Canonical forms first: the later passes match fewer shapes of the same thing.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  manager.addPass(createSimplifyAlgebra());
  manager.addPass(createFoldConstants());
  // After the numbers are folded, so that a batch norm of known statistics is seen as one.
  manager.addPass(createFoldBatchNorm());
  // Before ops are raised: what a raised op reads shall be the part that is needed, and no view.
  manager.addPass(createHoistSlices());
  manager.addPass(createMoveViews());
  // Once more: batch norms of one weight leave equal scales, and folded ops leave dead operands.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Last: by now equal values are one value, and numbers are numbers.
  manager.addPass(createRaiseNorms());
  manager.addPass(createRaiseActivations());
  manager.addPass(createRaiseIntegerProducts());
  manager.addPass(createRaiseRotary());
  // After the softmaxes are ops, and products of integers no products of floats any more.
  manager.addPass(createRaiseAttention());
  // After what was raised has read its scales, of scores and of gates.
  manager.addPass(createFoldScales());
  // Once more: a raised op reads a view once that its parts read several times.
  manager.addPass(createMoveViews());
  // Once more: raised ops now read through the views around them.
  manager.addPass(createCanonicalizerPass());
  manager.addPass(createCSEPass());
  // Marks, of ops as they stay.
  manager.addPass(createMarkGatedMlp());
}

void addQuantize(OpPassManager &function, const PipelineOptions &options) {
  switch (recordOf(options.quantize).part) {
  case QuantizedPart::nothing:
    break;
  case QuantizedPart::weights: {
    QuantizeWeightsOptions quantize;
    quantize.bits = options.weightFormat.bits;
    quantize.group = options.weightFormat.group;
    quantize.symmetric = options.weightFormat.isSymmetric;
    quantize.perTensor = options.weightFormat.isPerTensor;
    quantize.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
    function.addPass(createQuantizeWeights(quantize));
    break;
  }
  case QuantizedPart::products: {
    QuantizeProductsOptions quantize;
    quantize.scheme = nameOf(options.quantize);
    quantize.symmetric = options.symmetricActivations;
    quantize.perTensor = options.perTensorWeights;
    quantize.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
    function.addPass(createQuantizeProducts(quantize));
    break;
  }
  }
}

static void addCompress(OpPassManager &module, const PipelineOptions &options) {
  SplitTargetsOptions split;
  split.targets.assign(options.targets.begin(), options.targets.end());
  split.gpu = options.gpu;
  module.addPass(createSplitTargets(split));
  if (options.quantize == QuantizationScheme::none)
    return;
  OpPassManager &manager = module.nest<ModuleOp>().nest<func::FuncOp>();
  addQuantize(manager, options);
  // Products of one weight leave equal arithmetic.
  manager.addPass(createCSEPass());
}

static void addPrecision(OpPassManager &target, const PipelineOptions &options) {
  // First: convert-precision reads an input of 16 bits as it is.
  if (options.io)
    target.addNestedPass<func::FuncOp>(createConvertSignature({nameOf(*options.io)}));
  if (options.precision == Precision::tf32) {
    AllowTf32Options allow;
    allow.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
    target.addNestedPass<func::FuncOp>(createAllowTf32(allow));
  }
  if (isNarrow(options.precision)) {
    ConvertPrecisionOptions convert;
    convert.dtype = nameOf(options.precision);
    convert.keepF32.assign(options.keepF32.begin(), options.keepF32.end());
    target.addNestedPass<func::FuncOp>(createConvertPrecision(convert));
  }
}

void addPhase(OpPassManager &manager, Phase phase, const PipelineOptions &options) {
  switch (phase) {
  case Phase::simplify:
    addSimplify(manager);
    break;
  case Phase::compress:
    addCompress(manager, options);
    break;
  case Phase::precision:
    addPrecision(manager.nest<ModuleOp>(), options);
    break;
  case Phase::layout:
    manager.nest<ModuleOp>().addNestedPass<func::FuncOp>(createAssignLayouts());
    manager.nest<ModuleOp>().addNestedPass<func::FuncOp>(createSinkPermutations());
    break;
  case Phase::fuse: {
    OpPassManager &target = manager.nest<ModuleOp>();
    if (options.sparse == SparsityScheme::block)
      target.addNestedPass<func::FuncOp>(createStoreBlocks({options.explain}));
    if (options.sparse == SparsityScheme::twoOfFour)
      target.addNestedPass<func::FuncOp>(createStoreTwoOfFour({options.explain}));
    target.addNestedPass<func::FuncOp>(createDecomposeAttention({options.explain}));
    // Attentions that become ops leave equal masks.
    target.addNestedPass<func::FuncOp>(createCSEPass());
    target.addNestedPass<func::FuncOp>(createMergeProducts());
    // After the layouts: a tensor is converted to another layout before it is narrowed, by the
    // kernel that stores it.
    target.addNestedPass<func::FuncOp>(createNarrowProducts());
    target.addNestedPass<func::FuncOp>(createFormFusions());
    break;
  }
  case Phase::outline:
    manager.nest<ModuleOp>().addPass(createOutlineKernels());
    break;
  case Phase::buffers:
    manager.addPass(createPlanBuffers());
    break;
  case Phase::import:
  case Phase::schedule:
  case Phase::package:
    break;
  }
  addPhaseVerifier(manager, phase);
}

void addPhaseVerifier(OpPassManager &manager, Phase phase) {
  if (phase != Phase::package)
    manager.addPass(createVerifyPhase({nameOf(phase)}));
}

void registerPipelines() {
  // PassPipelineRegistration keeps references to what it is given: these live as long as the
  // program.
  for (auto [position, name] : llvm::enumerate(kPhaseNames)) {
    const auto phase = static_cast<Phase>(position);
    if (phase == Phase::package)
      continue;
    registerPassPipeline(
        ("dlc-" + StringRef(name)).str(),
        ("The passes of phase " + StringRef(name) + " and its verifier").str(),
        [phase](OpPassManager &manager, StringRef, function_ref<LogicalResult(const Twine &)>) {
          addPhase(manager, phase, PipelineOptions());
          return success();
        },
        [](function_ref<void(const mlir::detail::PassOptions &)>) {});
  }
}

} // namespace dlc
