//===- CompileUsage.cpp - Whether the options of a compile go together --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CompileUsage.h"

#include "passes/Pipelines.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/source/Import.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace dlc {

/// The options of a compile that starts from IR.
static int checkCompileFrom(const CompileOptions &options, Phase first, Phase last) {
  if (first >= last)
    return fail(kUsage,
                llvm::formatv(
                    "--compile-from={0} --compile-to={1}: nothing is left to do; expected a later "
                    "phase to stop at",
                    options.compileFrom, options.compileTo)
                    .str());
  if (first != Phase::import && !givenShapes(options.shapes).empty())
    return fail(kUsage, "--shapes, --min-shapes, --max-shapes and --opt-shapes belong before "
                        "phase 'simplify'");
  if (!options.weights.empty())
    return fail(kUsage, "--weights belongs to a .dl model; the IR given to --compile-from names "
                        "its weights itself");
  return kOk;
}

static int checkForcedPlans(const CompileOptions &options, Phase first, Phase last) {
  for (const std::string &entry : options.forcePlan) {
    size_t equals = entry.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == entry.size())
      return fail(
          kUsage,
          "--force-plan " + entry +
              ": expected KERNEL=PLAN, such as linear=tiles or linear=tiles:tile_m=64, or *=PLAN; "
              "'dlc inspect' names kernels and schedules");
  }
  if (options.forcePlan.empty() && options.plans.empty())
    return kOk;
  if (first >= Phase::schedule || last < Phase::schedule)
    return fail(kUsage,
                std::string(options.forcePlan.empty() ? "--plans" : "--force-plan") +
                    " takes effect in phase 'schedule': start before it (--compile-from) and "
                    "do not stop before it (--compile-to)");
  return kOk;
}

static int checkPrecision(const CompileOptions &options, Phase first) {
  bool isChosen = options.precision != "f32";
  if (!options.keepF32.empty() && !isChosen && options.quantize == "none")
    return fail(kUsage, "--keep-f32 names what --precision other than f32 and --quantize leave "
                        "alone; expected one of these");
  if (first >= Phase::precision && isChosen)
    return fail(kUsage, "--precision " + options.precision +
                            " acts in phase 'precision', which lies before the rest of "
                            "--compile-from=" +
                            options.compileFrom);
  if (!isMixed(options.precision)) {
    if (options.maxError)
      return fail(kUsage, "--max-error needs --precision mixed or mixed-bf16");
    if (options.errorMetric != "rel")
      return fail(kUsage, "--error-metric needs --precision mixed or mixed-bf16");
    if (options.bestEffort)
      return fail(kUsage, "--best-effort needs --precision mixed or mixed-bf16");
    return kOk;
  }
  if (!options.maxError)
    return fail(kUsage, "--precision " + options.precision +
                            " needs a bound to hold; add --max-error, such as 1e-3");
  return kOk;
}

static int checkSignature(const CompileOptions &options, Phase first) {
  if (!options.io.empty() && first >= Phase::precision)
    return fail(kUsage, "--io acts in phase 'precision', which lies before the rest of "
                        "--compile-from=" +
                            options.compileFrom);
  return kOk;
}

int checkSmoothing(const std::string &scheme, const std::optional<SmoothExponent> &smooth,
                   const CalibrationOptions &calibration, const std::string &option) {
  if (!smooth)
    return kOk;
  const bool isOfWeights = scheme == "w8" || scheme == "w4";
  if (!isOfWeights && scheme != "int8" && scheme != "dynamic")
    return fail(kUsage, "--smooth makes activations and weights fit for few bits; expected " +
                            option + " int8, dynamic, w8 or w4 with it");
  if (calibration.data.empty())
    return fail(kUsage, "--smooth needs to see how large the channels of activations are; add "
                        "--calib FILE.npz");
  if (!isOfWeights && !smooth->fixed)
    return fail(kUsage, "--smooth auto finds the exponents for weights that stay in memory in few "
                        "bits; expected " +
                            option +
                            " w8 or w4 with it, or a number from 0 to 1, as in --smooth 0.5");
  return kOk;
}

/// What goes with products of integers, and that --quantize dynamic needs data for --smooth alone.
static int checkProducts(const CompileOptions &options) {
  const bool isDynamic = options.quantize == "dynamic";
  if (int code =
          checkSmoothing(options.quantize, options.smooth, options.calibration, "--quantize"))
    return code;
  if (options.biasCorrection && options.quantize != "int8")
    return fail(kUsage, "--bias-correction takes back what 8 bits do to means; expected --quantize "
                        "int8 with it");
  if (isDynamic && !options.smooth && !options.calibration.data.empty())
    return fail(kUsage, "--quantize dynamic finds ranges when the model runs and reads no data; "
                        "expected --calib with --smooth alone");
  return kOk;
}

static int checkQuantization(const CompileOptions &options, Phase first) {
  if (!options.keepW8.empty() && options.quantize != "w4")
    return fail(kUsage, "--keep-w8 names layers that have 8 bits where others have 4; expected "
                        "--quantize w4 with it");
  if (int code = checkProducts(options))
    return code;
  if (int code = checkGrids(options.quantize, options.grids, "--quantize"))
    return code;
  if (options.quantize == "none") {
    if (!options.calibration.data.empty() && !isMixed(options.precision))
      return fail(kUsage,
                  "--calib is data for --quantize and --precision mixed; expected one of these");
    if (!options.report.empty() && !isMixed(options.precision))
      return fail(kUsage, "--report says what --quantize and --precision mixed did; expected one "
                          "of these");
    if (options.noRefit)
      return fail(kUsage, "--no-refit needs --quantize int8 or dynamic");
    if (!options.quantizeWhere.empty())
      return fail(kUsage, "--quantize-where needs --quantize");
    return kOk;
  }
  if (!options.quantizeWhere.empty() && options.quantize == "dynamic")
    return fail(kUsage, "--quantize-where needs --quantize int8, fp8, w8 or w4");
  if ((options.quantize == "int8" || options.quantize == "fp8") && options.calibration.data.empty())
    return fail(kUsage, "--quantize " + options.quantize +
                            " needs to see what the model reads; add --calib FILE.npz, an array by "
                            "the name of each input, one row a sample, some hundred rows");
  if (options.quantize == "fp8" && options.calibration.method != "mse" &&
      options.calibration.method != "minmax")
    return fail(kUsage, "--calib-method chooses the range of 256 even steps; floats of 8 bits take "
                        "in all that was seen: expected none with --quantize fp8");
  if (first >= Phase::compress)
    return fail(kUsage, "--quantize acts in phase 'compress', which lies before the rest of "
                        "--compile-from=" +
                            options.compileFrom);
  return kOk;
}

static int checkSparse(const CompileOptions &options, Phase first) {
  if (options.sparse == "none")
    return kOk;
  const bool isBlock = options.sparse == "block";
  const std::string flag = "--sparse " + options.sparse;
  if (options.quantize != "none")
    return fail(kUsage, flag + " stores floats; expected it without --quantize");
  if (isBlock && options.precision != "f32" && options.precision != "tf32")
    return fail(kUsage, flag + " multiplies blocks of f32; expected it without --precision " +
                            options.precision);
  const std::string target = isBlock ? "cpu" : "cuda";
  auto isTarget = [&](const std::string &name) {
    return name == target || (!isBlock && llvm::StringRef(name).starts_with("sm_"));
  };
  if (llvm::none_of(options.targets, isTarget))
    return fail(kUsage, flag + " has kernels for " + (isBlock ? "CPUs" : "GPUs") +
                            " alone; expected " + target + " among the targets");
  if (first >= Phase::compress)
    return fail(kUsage, flag +
                            " counts zeros before phase 'compress', which lies before the rest "
                            "of --compile-from=" +
                            options.compileFrom);
  return kOk;
}

int checkUsage(const CompileOptions &options) {
  for (const std::string &target : options.targets)
    if (llvm::count(options.targets, target) > 1)
      return fail(kUsage, "--target names '" + target + "' twice; name each target once");
  Phase first = options.compileFrom.empty() ? Phase::import : *phaseNamed(options.compileFrom);
  Phase last = *phaseNamed(options.compileTo);
  if (!options.compileFrom.empty())
    if (int code = checkCompileFrom(options, first, last))
      return code;
  if (options.explain && (first >= Phase::outline || last < Phase::outline))
    return fail(kUsage, "--explain is about the kernels that the phase 'outline' forms; it needs a "
                        "--compile-from before it and a --compile-to that is not");
  if (int code = checkForcedPlans(options, first, last))
    return code;
  if (int code = checkPrecision(options, first))
    return code;
  if (int code = checkSignature(options, first))
    return code;
  if (int code = checkSparse(options, first))
    return code;
  return checkQuantization(options, first);
}

int checkSegmentUsage(const CompileOptions &options) {
  auto refuse = [&](llvm::StringRef option, llvm::StringRef reason) {
    return fail(kUnsupported,
                (option + " " + reason +
                 " while the model runs, and this model is cut into segments where its "
                 "data decide what runs (docs/sizes.md); leave the option out")
                    .str());
  };
  if (options.quantize == "int8" || options.quantize == "fp8")
    return refuse("--quantize " + options.quantize, "measures the ranges of activations");
  if ((options.quantize == "w8" || options.quantize == "w4") && !options.calibration.data.empty())
    return refuse("--calib", "measures activations");
  if (isMixed(options.precision))
    return refuse("--precision " + options.precision, "measures the error of each layer");
  return kOk;
}

} // namespace dlc
