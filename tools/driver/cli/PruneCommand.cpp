//===- PruneCommand.cpp - dlc prune: weights become zero, or fewer ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>

static constexpr const char *kExamples =
    R"(Writes a .dl file and a safetensors file, for 'dlc compile' or to continue
training in PyTorch. Prunes the weights of matmuls and convolutions, not
embeddings, norms or biases. A table shows the number of zeros and how much of
each weight's norm was removed. Only the name of the weights file changes in the
text; with --pattern channels the text is written anew, as by 'dlc import'.

Examples:
  dlc prune model.dl --sparsity 0.5 -o half.dl
  dlc prune model.onnx --sparsity 0.8 --pattern layer -o p.dl
  dlc prune model.dl --sparsity 0.9 --pattern layer \
      --allocation sensitivity --steps 4 --calib samples.npz -o p.dl
  dlc prune model.dl --sparsity 0.8 --pattern block --calib samples.npz -o p.dl
  dlc prune model.dl --pattern 2:4 --calib samples.npz -o p.dl
  dlc prune model.dl --pattern 2:4 --permute --calib samples.npz -o p.dl
  dlc prune model.dl --pattern channels --sparsity 0.3 -o smaller.dl
  dlc prune model.dl --pattern 2:4 --skip conv1 --skip 'head.*' -o p.dl
  dlc compile half.dl -o half.bin

Exit codes: 0 ok, 1 error in the model or nothing to prune, 2 usage, 3 it has
parts that dlc cannot import, 5 a file that cannot be read or written.)";

/// A sentence on what is wrong with --sparsity, empty where nothing is.
static std::string checkShare(const std::string &text) {
  char *end = nullptr;
  double share = std::strtod(text.c_str(), &end);
  return !text.empty() && !*end && share > 0 && share < 1
             ? std::string()
             : "expected a share above 0 and below 1, such as 0.5 for every other weight, got '" +
                   text + "'";
}

static constexpr const char *kFiles = "Input and output";

void dlc::addPruneCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App *command = app.add_subcommand(
      "prune", "Make weights of a model zero, or take channels away, in new files");
  setExamples(*command, kExamples);
  command->add_option("model", options->input, ".dl or .onnx")->required();
  setHelp(command->add_option("-o,--output", options->output, "The .dl file to write")->required(),
          kFiles, "FILE", R"(The weights go to a safetensors file next to it.)");

  const char *group = "Pruning";
  setHelp(command->add_option("--sparsity", options->sparsity, "Share to remove, such as 0.5")
              ->check(checkShare),
          group, "SHARE",
          R"(Above 0 and below 1: the share of the weights that become zero or, with
--pattern channels and low-rank, of the multiplications. --pattern 2:4 needs
none.)");
  setHelp(command
              ->add_option("--pattern", options->pattern,
                           "global, layer, block, 2:4, channels, low-rank")
              ->check(checkOneOf({"global", "layer", "block", "2:4", "channels", "low-rank"})),
          group, "PATTERN",
          R"(global    the smallest numbers of all weights together; the default
layer     the same share of each weight
block     as layer, in blocks of 16 neighbouring outputs by one input, for 'dlc
          compile --sparse block'
2:4       two of four neighbouring inputs (of a convolution: input channels),
          for 'dlc compile --sparse 2:4'
channels  whole channels, in all layers that share them
low-rank  each linear layer becomes two with fewer channels between them)");
  setHelp(
      command
          ->add_option("--method", options->method, "magnitude, wanda, sparsegpt, l1, l2, obs, svd")
          ->check(checkOneOf({"magnitude", "wanda", "sparsegpt", "l1", "l2", "obs", "svd"})),
      group, "NAME",
      R"(How weights are chosen.
For the patterns global, layer, block and 2:4:
magnitude  by their size; needs no data
wanda      by their size times the RMS of their inputs on --calib
sparsegpt  by the change of the layer's output on --calib; the other weights
           compensate for it (not with global)
For channels; with --calib the layers that read them compensate:
l2, l1     those with the smallest squares or magnitudes
obs        those whose removal changes the layers that read them least
For low-rank:
svd        the largest singular values stay)");
  setHelp(command
              ->add_option("--allocation", options->allocation,
                           "sparsegpt: uniform, sensitivity [uniform]")
              ->check(checkOneOf({"uniform", "sensitivity"})),
          group, "RULE",
          R"(For --pattern layer and block.
uniform      each weight gets the share of zeros that --sparsity says
sensitivity  all weights together do; those that matter less on --calib get more)");
  setHelp(command->add_option("--steps", options->steps, "sparsegpt: remove in this many steps [1]")
              ->check(CLI::Range(int64_t{1}, int64_t{64})),
          group, "N",
          R"(For --pattern layer and block. The share grows by the cubic schedule,
1 - (1 - step / steps)^3; after each step the other weights compensate.)");
  setHelp(command->add_flag("--permute", options->permute, "2:4: reorder channels first"), group,
          "", R"(Swaps channels, in all layers that share them, so that less is lost.)");
  setHelp(command
              ->add_option("--multiple", options->channelMultiple,
                           "channels: keep a multiple of this number [1]")
              ->check(checkRange(1, 1024)),
          group, "N", R"(A remainder that the layer had before may stay.)");
  setHelp(command->add_option("--calib", options->calibration.data,
                              "Calibration data: .npz, one array per input"),
          "Pruning", "FILE",
          R"(Each array is named after an input and has one row per sample. Some
hundred rows will do.)");
  setHelp(command
              ->add_option("--calib-batch", options->calibration.batch,
                           "Calibration samples per run [16]")
              ->check(checkRange(1, 1 << 20)),
          "Pruning", "N");

  setHelp(command->add_option("--skip", options->skip, "Do not prune these layers")
              ->allow_extra_args(false),
          group, "GLOB",
          R"(A glob over paths of layers and weights, names of ONNX nodes and names of ops.)");
  setHelp(
      command->add_option("--model", options->model, "Which model of the file, if it has several"),
      kFiles, "NAME");
  setHelp(command->add_option("--report", options->report, "The table as JSON, with exact counts"),
          kFiles, "FILE");
  setHelp(command->add_flag("--force", options->force, "Replace files that exist"), kFiles, "");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print no table"), kFiles, "");
  addOnnxOptions(*command, options->constInputs, options->states);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.prune(*options); };
  });
}
