//===- CompareCommand.cpp - dlc compare: two packages on the same data --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/LayerComparison.h"

#include <CLI/CLI.hpp>

#include <memory>

namespace {
struct CompareOptions {
  std::string before, after, deviceOfAfter;
  dlc::DeviceOptions device;
  dlc::ComparisonOptions comparison;
};
} // namespace

static constexpr const char *kExamples =
    R"(Prints the differences of B from A over all samples: the largest one, the same
divided by the largest magnitude in A, the signal-to-noise ratio and the cosine.
If an output is a row of classes, also how often both give the same answer.
Samples are along the first dim of an input, or along an extra one. States are
zero in each run. McNemar's p is the probability that the answers changed by
chance.

Examples:
  dlc compare f32.bin f16.bin --data images.npz
  dlc compare f32.bin f16.bin --data images.npz --labels labels.npy \
      --metric top1 --max-error 0.003
  dlc compare f32.bin f16.bin --data images.npz --max-error 1e-2
  dlc compare a.bin b.bin --device cpu --device-b cuda --json
  dlc compare f32.bin f16.bin --data images.npz --layers)";

static int compare(const CompareOptions &options) {
  if (int code = dlc::LayerComparison::checkOptions(options.comparison))
    return code;
  dlc::ModelRun before, after;
  if (int code = before.open(options.before, options.device))
    return code;
  dlc::DeviceOptions device = options.device;
  if (!options.deviceOfAfter.empty())
    device.device = options.deviceOfAfter;
  if (int code = after.open(options.after, device))
    return code;
  if (int code = after.follow(before))
    return code;
  dlc::Comparison comparison(options.comparison, "a", "b");
  if (int code = comparison.openData({before.getModule(), after.getModule()}))
    return code;
  const std::vector<std::string> sources = {"a: " + before.describe(), "b: " + after.describe()};
  auto bound = [&](dlc_dtype) { return options.comparison.maxError; };
  if (options.comparison.layers) {
    dlc::LayerComparison layers(options.comparison);
    int code = layers.run(comparison.getFeed(), before, after, before, options.device);
    return code ? code : layers.report(sources, bound);
  }
  if (int code = comparison.run(after, before))
    return code;
  return comparison.report(sources, bound);
}

void dlc::addCompareCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<CompareOptions>();
  CLI::App *command = app.add_subcommand(
      "compare", "Run two compiled models on the same data and show the difference");
  setExamples(*command, kExamples);
  command->add_option("a", options->before, "The compiled model that is the reference")->required();
  command->add_option("b", options->after, "The compiled model to compare with it")->required();
  options->comparison.declare(*command);
  options->device.declare(*command);
  dlc::setHelp(command->add_option("--device-b", options->deviceOfAfter, "Device of B [that of A]")
                   ->check(dlc::checkDevice),
               "Device", "DEVICE");
  command->callback([&action, options] { action = [options] { return compare(*options); }; });
}
