//===- Quantize.cpp - dlc quantize: a model with weights in few bits ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/Quantize.h"

#include "frontend/arrays/InputFiles.h"
#include "ir/dl/base/DLBuilder.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/calibrate/Calibration.h"
#include "tools/driver/calibrate/WeightFit.h"
#include "tools/driver/compiler/CompileUsage.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/source/ImportAsText.h"
#include "tools/driver/weights/StoredWeights.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc {

static int checkOptions(const QuantizeOptions &options) {
  if (int code = checkScheme(options.scheme, options, options.calibration, "--scheme"))
    return code;
  if (int code = checkTextName(options.output))
    return code;
  if (int code = checkStates(options.input, options.states))
    return code;
  if (!options.constInputs.empty() && !isOnnx(options.input))
    return fail(kUsage, "--const-input belongs to an ONNX model; '" + options.input + "' is none");
  frontend::noteInputFile(options.input);
  for (const std::string &path : {options.output, weightsBeside(options.output)})
    if (int code = checkNew(path, options.force))
      return code;
  if (options.report.empty())
    return kOk;
  for (const std::string &path : {options.output, weightsBeside(options.output)})
    if (namesSameFile(options.report, path))
      return fail(kUsage, "--report names '" + options.report +
                              "', where the model goes; name another file for the report");
  return checkOutput(options.report);
}

/// ONNX's Gemm is an op that others compute: its product is what reads the weights.
static void decomposeSums(ModuleOp module) {
  module.walk([](dl::AddmmOp op) {
    dl::Builder builder(op);
    op->replaceAllUsesWith(op.decompose(builder));
    op->erase();
  });
}

/// What the same fit takes of dlc compile.
static CompileOptions fitOptions(const QuantizeOptions &options) {
  CompileOptions fit;
  fit.input = options.input;
  fit.quantize = options.scheme;
  static_cast<QuantizationOptions &>(fit) = options;
  fit.calibration = options.calibration;
  fit.keepF32 = options.keepF32;
  // The text serves any target.
  fit.targets = {};
  fit.quantizeWhere = QuantizeWhere::possible;
  return fit;
}

/// What became of each layer, as text and as JSON.
struct QuantizeReport {
  std::string text, json;
};

/// Fits the weights or finds the ranges of activations, as the scheme needs.
template <class Fit>
static int fitTo(ImportedModel &model, const CompileOptions &options, QuantizeReport &report) {
  Fit fit(options, [](const std::string &) {});
  if (int code = fit.run(*model.module))
    return code;
  report = {fit.asText(), fit.asJson()};
  return kOk;
}

static int quantize(ImportedModel &model, const CompileOptions &options, QuantizeReport &report) {
  const bool isOfProducts = recordOf(options.quantize).part == QuantizedPart::products;
  if (int code = isOfProducts ? fitTo<Calibration>(model, options, report)
                              : fitTo<WeightFit>(model, options, report))
    return code;
  PassManager manager(model.context.get(), ModuleOp::getOperationName());
  addQuantize(manager.nest<func::FuncOp>(), quantizationOf(options));
  if (failed(manager.run(*model.module)))
    return kInternal;
  return isOfProducts ? storeQuantizedWeights(*model.module->getOps<func::FuncOp>().begin())
                      : int(kOk);
}

int quantizeModel(const QuantizeOptions &options) {
  if (int code = checkOptions(options))
    return code;
  ImportedModel model;
  ImportRequest request{options.input, {}, false, false, options.model};
  request.constInputs = options.constInputs;
  request.states = options.states;
  if (int code = importModel(request, model))
    return code;
  decomposeSums(*model.module);
  auto kept = LayerPatterns::create(options.keepF32);
  if (!kept)
    return fail(kUsage, "--keep-f32: " + llvm::toString(kept.takeError()));
  if (std::string unmatched = kept->unmatchedIn(*model.module); !unmatched.empty())
    return fail(kUsage, "--keep-f32: " + unmatched);
  QuantizeReport report;
  if (int code = quantize(model, fitOptions(options), report))
    return code;

  const std::string weightsPath = weightsBeside(options.output);
  ImportedText written;
  if (int code = textOf(model, options.output, weightsPath, written))
    return code;
  if (!options.report.empty())
    if (int code = checkOutput(options.report)) // all inputs are known now
      return code;
  if (int code = writeNewFiles({{weightsPath, written.weightsFile}, {options.output, written.text}},
                               options.force))
    return code;
  if (!options.report.empty())
    if (int code = writeFile(options.report, report.json))
      return code;
  return options.quiet ? static_cast<int>(kOk) : finishOutput(report.text);
}

} // namespace dlc
