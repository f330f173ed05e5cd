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
  bool isChosen = options.precision != Precision::f32;
  if (!options.keepF32.empty() && !isChosen && options.quantize == QuantizationScheme::none)
    return fail(kUsage, "--keep-f32 names what --precision other than f32 and --quantize leave "
                        "alone; expected one of these");
  if (first >= Phase::precision && isChosen)
    return fail(kUsage, std::string("--precision ") + nameOf(options.precision) +
                            " acts in phase 'precision', which lies before the rest of "
                            "--compile-from=" +
                            options.compileFrom);
  if (!isMixed(options.precision)) {
    if (options.maxError)
      return fail(kUsage, "--max-error needs --precision mixed or mixed-bf16");
    if (options.errorMetric != ErrorMetric::rel)
      return fail(kUsage, "--error-metric needs --precision mixed or mixed-bf16");
    if (options.bestEffort)
      return fail(kUsage, "--best-effort needs --precision mixed or mixed-bf16");
    return kOk;
  }
  if (!options.maxError)
    return fail(kUsage, std::string("--precision ") + nameOf(options.precision) +
                            " needs a bound to hold; add --max-error, such as 1e-3");
  return kOk;
}

static int checkSignature(const CompileOptions &options, Phase first) {
  if (options.io && first >= Phase::precision)
    return fail(kUsage, "--io acts in phase 'precision', which lies before the rest of "
                        "--compile-from=" +
                            options.compileFrom);
  return kOk;
}

/// Whether the scheme takes such an exponent, and has the data for it.
static int checkSmoothing(const QuantizationRecord &record, const SmoothExponent &smooth,
                          const CalibrationOptions &calibration, const std::string &option) {
  if (!record.canSmooth)
    return fail(kUsage,
                "--smooth makes activations and weights fit for few bits; expected " + option +
                    " " + schemesThat([](const auto &one) { return one.canSmooth; }) + " with it");
  if (calibration.data.empty())
    return fail(kUsage, "--smooth needs to see how large the channels of activations are; add "
                        "--calib FILE.npz");
  if (record.part != QuantizedPart::weights && !smooth.fixed)
    return fail(kUsage, "--smooth auto finds the exponents for weights that stay in memory in few "
                        "bits; expected " +
                            option + " " + schemesOf(QuantizedPart::weights) +
                            " with it, or a number from 0 to 1, as in --smooth 0.5");
  return kOk;
}

int checkScheme(QuantizationScheme scheme, const QuantizationOptions &options,
                const CalibrationOptions &calibration, const std::string &option) {
  const QuantizationRecord &record = recordOf(scheme);
  const std::string given = option + " " + record.name;
  if (!options.keepW8.empty() && record.bits >= 8)
    return fail(kUsage, "--keep-w8 names layers that have 8 bits where others have 4; expected " +
                            option + " " +
                            schemesThat([](const auto &one) { return one.bits < 8; }) + " with it");
  if (options.smooth)
    if (int code = checkSmoothing(record, *options.smooth, calibration, option))
      return code;
  if (options.biasCorrection && !record.canCorrect)
    return fail(kUsage, "--bias-correction takes back what 8 bits do to means; expected " + option +
                            " " + schemesThat([](const auto &one) { return one.canCorrect; }) +
                            " with it");
  if (int code = checkGrids(scheme, options.grids, option))
    return code;
  if (record.part == QuantizedPart::nothing)
    return kOk;
  if (record.calibration == CalibrationUse::forSmoothing && !options.smooth &&
      !calibration.data.empty())
    return fail(kUsage, given + " finds ranges when the model runs and reads no data; expected "
                                "--calib with --smooth alone");
  if (record.calibration == CalibrationUse::needed && calibration.data.empty())
    return fail(kUsage, given +
                            " needs to see what the model reads; add --calib FILE.npz, an array by "
                            "the name of each input, one row a sample, some hundred rows");
  return kOk;
}

/// The options that need a scheme, or --precision mixed.
static int checkWithoutScheme(const CompileOptions &options) {
  if (!options.calibration.data.empty() && !isMixed(options.precision))
    return fail(kUsage,
                "--calib is data for --quantize and --precision mixed; expected one of these");
  if (!options.report.empty() && !isMixed(options.precision))
    return fail(kUsage, "--report says what --quantize and --precision mixed did; expected one "
                        "of these");
  if (options.noRefit)
    return fail(kUsage, "--no-refit needs --quantize " +
                            schemesThat([](const auto &one) { return one.isOfIntegers; }));
  if (options.quantizeWhere)
    return fail(kUsage, "--quantize-where needs --quantize");
  return kOk;
}

static int checkQuantization(const CompileOptions &options, Phase first) {
  const QuantizationScheme scheme = options.quantize;
  if (int code = checkScheme(scheme, options, options.calibration, "--quantize"))
    return code;
  if (scheme == QuantizationScheme::none)
    return checkWithoutScheme(options);
  if (options.quantizeWhere && !recordOf(scheme).hasGains)
    return fail(kUsage, "--quantize-where needs --quantize " +
                            schemesThat([](const auto &one) { return one.hasGains; }));
  if (scheme == QuantizationScheme::fp8 && options.calibration.method != RangeMethod::mse &&
      options.calibration.method != RangeMethod::minmax)
    return fail(kUsage, "--calib-method chooses the range of 256 even steps; floats of 8 bits take "
                        "in all that was seen: expected none with --quantize fp8");
  if (first >= Phase::compress)
    return fail(kUsage, "--quantize acts in phase 'compress', which lies before the rest of "
                        "--compile-from=" +
                            options.compileFrom);
  return kOk;
}

/// Whether a name of --target is for `target`: GPU architectures are for cuda.
static bool isFor(const std::string &name, llvm::StringRef target) {
  return name == target || (target == "cuda" && llvm::StringRef(name).starts_with("sm_"));
}

static int checkSparse(const CompileOptions &options, Phase first) {
  if (options.sparse == SparsityScheme::none)
    return kOk;
  const SparsityRecord &record = recordOf(options.sparse);
  const std::string flag = std::string("--sparse ") + record.name;
  if (options.quantize != QuantizationScheme::none)
    return fail(kUsage, flag + " stores floats; expected it without --quantize");
  if (record.isOfFloat32 && options.precision != Precision::f32 &&
      options.precision != Precision::tf32)
    return fail(kUsage, flag + " multiplies blocks of f32; expected it without --precision " +
                            nameOf(options.precision));
  if (llvm::none_of(options.targets,
                    [&](const std::string &name) { return isFor(name, record.target); }))
    return fail(kUsage, flag + " has kernels for " + record.machines + " alone; expected " +
                            record.target + " among the targets");
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
  const QuantizationRecord &scheme = recordOf(options.quantize);
  if (scheme.calibration == CalibrationUse::needed)
    return refuse(std::string("--quantize ") + scheme.name, "measures the ranges of activations");
  if (scheme.part == QuantizedPart::weights && !options.calibration.data.empty())
    return refuse("--calib", "measures activations");
  if (isMixed(options.precision))
    return refuse(std::string("--precision ") + nameOf(options.precision),
                  "measures the error of each layer");
  return kOk;
}

} // namespace dlc
