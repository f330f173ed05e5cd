//===- VerifyCommand.cpp - dlc verify: a package against a reference ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/LayerComparison.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace {
struct VerifyOptions {
  std::string model, reference, deviceOfReference = "cpu";
  dlc::DeviceOptions device;
  dlc::ComparisonOptions comparison;
};
} // namespace

static constexpr const char *kExamples =
    R"(The reference is 'cpu' (the CPU program of the same file), another compiled
model, or an .npz (an .npy if there is one output) with the expected outputs by
name, one row per sample of --data.

Each output must be within --max-error. The default is a share of the largest
magnitude: f64 1e-9, f32 1e-4, f16 5e-3, bf16 4e-2, 8-bit and 4-bit floats 0.2;
integers must be equal. If a model was compiled with --precision f16, bf16 or
mixed, its f32 outputs have the bound of that type.

With --layers each kernel has that bound (8-bit integers, which are rounded,
0.01). A CPU reference then shows errors of the device, and an f32 model shows
what precision costs.

Examples:
  dlc verify model.bin --reference cpu --device cuda --data images.npz
  dlc verify model.bin --reference expected.npz --data images.npz
  dlc verify f16.bin --reference f32.bin --data images.npz --max-error 1e-2
  dlc verify f16.bin --reference f32.bin --data images.npz \
      --metric cosine --max-error 1e-5
  dlc verify f16.bin --reference f32.bin --data images.npz --layers

Exit codes: as for all commands; 4 if an output is further off than its bound.)";

namespace dlc {

/// How far an output may lie off where nobody says it; `precision` is that of the model.
static double defaultBound(dlc_dtype dtype, dlc_dtype precision) {
  if (dtype == DLC_F32)
    dtype = precision;
  switch (dtype) {
  case DLC_F64:
    return 1e-9;
  case DLC_F32:
    return 1e-4;
  case DLC_F16:
    return 5e-3;
  case DLC_BF16:
    return 4e-2;
  case DLC_F8E4M3FN:
  case DLC_F8E4M3FNUZ:
  case DLC_F8E5M2:
  case DLC_F8E5M2FNUZ:
  case DLC_F8E8M0:
  case DLC_F4E2M1:
    return 0.2;
  default:
    return 0;
  }
}

/// The same of numbers between kernels that are rounded to integers of 8 bits, of which one may be
/// the next.
static constexpr double kRoundedBytes = 0.01;

static int verify(const VerifyOptions &options) {
  const ComparisonOptions &chosen = options.comparison;
  bool isStored = isArchive(options.reference) || options.reference.ends_with(".npy");
  if (isStored && chosen.data.empty())
    return fail(kUsage, "--reference '" + options.reference +
                            "' holds outputs of given samples; give these by --data");
  if (!chosen.maxError && chosen.metric != ErrorMetric::rel)
    return fail(kUsage, std::string("--metric ") + nameOf(chosen.metric) +
                            " has no bound of its own; give one by --max-error");
  if (int code = LayerComparison::checkOptions(chosen))
    return code;
  if (isStored && chosen.layers)
    return fail(kUsage, "--reference '" + options.reference +
                            "' holds outputs, and --layers needs a model that computes what is "
                            "between; expected cpu or a compiled model");
  ModelRun model, reference;
  if (int code = model.open(options.model, options.device))
    return code;
  Comparison comparison(chosen, "the reference", "the model");
  std::vector<dlc_module *> modules = {model.getModule()};
  if (!isStored) {
    DeviceOptions device = options.device;
    device.device = options.deviceOfReference;
    bool isSame = options.reference == "cpu";
    if (int code = reference.open(isSame ? options.model : options.reference, device))
      return code;
    if (int code = reference.follow(model))
      return code;
    modules.push_back(reference.getModule());
  }
  if (int code = comparison.openData(modules))
    return code;
  StoredOutputs stored;
  if (isStored)
    if (int code = stored.open(options.reference, model, comparison.getFeed().numSamples()))
      return code;
  const std::vector<std::string> sources = {
      "reference: " + (isStored ? options.reference : reference.describe()),
      "model: " + model.describe()};
  auto bound = [&](dlc_dtype dtype) {
    if (chosen.maxError)
      return chosen.maxError;
    double most = chosen.layers && (dtype == DLC_I8 || dtype == DLC_U8) ? kRoundedBytes : 0;
    for (dlc_module *module : modules) // the one that rounds most
      most = std::max(most, defaultBound(dtype, dlc_module_precision(module)));
    return std::optional(most);
  };
  if (chosen.layers) {
    LayerComparison layers(chosen);
    int code = layers.run(comparison.getFeed(), model, model, reference, options.device);
    return code ? code : layers.report(sources, bound);
  }
  OutputSource &source = isStored ? static_cast<OutputSource &>(stored) : reference;
  if (int code = comparison.run(model, source))
    return code;
  return comparison.report(sources, bound);
}

} // namespace dlc

void dlc::addVerifyCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App *command =
      app.add_subcommand("verify", "Check a compiled model against a reference, on data");
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();

  setHelp(
      command->add_option("--reference", options->reference, "cpu, model.bin or .npz")->required(),
      "Comparison", "REF",
      R"(cpu        the CPU program of the same file
model.bin  another compiled model
FILE.npz   the expected outputs by name; an .npy if there is one output)");
  options->comparison.declare(*command);
  options->device.declare(*command);
  setHelp(command
              ->add_option("--reference-device", options->deviceOfReference,
                           "Device of a compiled reference [cpu]")
              ->check(checkDevice),
          "Device", "DEVICE");
  command->callback([&action, options] { action = [options] { return verify(*options); }; });
}
