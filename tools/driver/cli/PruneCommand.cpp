//===- PruneCommand.cpp - dlc prune: weights become zero, or fewer ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"

#include <CLI/CLI.hpp>

#include <cstdlib>
#include <memory>

static constexpr const char *kFooter =
    R"(Writes a .dl file and a safetensors file beside it, for dlc compile or to go on training in PyTorch. Pruned are weights that matrix
products and convolutions multiply with, no embeddings, norms or biases. A table says how many numbers are zero, and the part of each weight's
Euclidean length that was removed. Of the text only the name of the weights file changes; with the pattern channels the text is written anew,
as dlc import writes it.

Patterns:
  global    the smallest numbers of all weights together: layers with small ones lose more
  layer     the same share of each weight, or with --allocation sensitivity more of those that need their numbers less
  block     the same as layer, of blocks: one number of each of 16 neighbouring channels of the result, all of which read one number;
            'dlc compile --sparse block' leaves the zero blocks of matrices out
  2:4       the two smallest of each four neighbours that one sum reads; of a convolution, of four input channels;
            'dlc compile --sparse 2:4' multiplies matrices of them on sparse tensor cores
  channels  whole channels, in all layers that hang together by them; --sparsity is the share of the multiplications that goes
  low-rank  each linear layer becomes two with a narrow value between them; --sparsity is the share of its multiplications that goes

Methods for the first four patterns:
  magnitude  by the size of the number; needs no data
  sparsegpt  by what a zero changes of the layer's output on --calib; the other weights of the layer take over as much as they can (not global)
  wanda      by the size of the number times the root mean square of what it is multiplied with; the others stay
Methods for channels; with --calib the layers that read them take over what is gone:
  l2, l1     those with the least squares or magnitudes
  obs        those whose loss changes least of what the layers that read them give

Examples:
  dlc prune model.dl --sparsity 0.5 -o half.dl                      the weights go to half.safetensors
  dlc prune model.onnx --sparsity 0.8 --pattern layer -o p.dl       as dlc import writes it
  dlc prune model.dl --sparsity 0.9 --pattern layer --allocation sensitivity --steps 4 --calib samples.npz -o p.dl    for many zeros
  dlc prune model.dl --sparsity 0.8 --pattern block --calib samples.npz -o p.dl
  dlc prune model.dl --pattern 2:4 --calib samples.npz -o p.dl      by sparsegpt, the default with data
  dlc prune model.dl --pattern 2:4 --permute --calib samples.npz -o p.dl    in a better order of the channels
  dlc prune model.dl --pattern channels --sparsity 0.3 --calib samples.npz -o smaller.dl
  dlc prune model.dl --pattern 2:4 --skip conv1 --skip 'head.*' -o p.dl
  dlc compile half.dl -o half.bin

Exit codes: 0 ok, 1 error in the model or nothing to prune, 2 wrong call, 3 it has parts that dlc cannot import, 5 a file that cannot be read or written.)";

/// A sentence on what is wrong with --sparsity, empty where nothing is.
static std::string checkShare(const std::string &text) {
  char *end = nullptr;
  double share = std::strtod(text.c_str(), &end);
  return !text.empty() && !*end && share > 0 && share < 1
             ? std::string()
             : "expected a share above 0 and below 1, such as 0.5 for every other weight, got '" +
                   text + "'";
}

void dlc::addPruneCommand(CLI::App &app, Action &action, const Compiler &compiler) {
  auto options = std::make_shared<PruneOptions>();
  CLI::App *command = app.add_subcommand(
      "prune", "Make weights of a model zero, or take channels away, in new files");
  command->footer(kFooter);
  command->add_option("model", options->input, "The model, a .dl or .onnx file")->required();
  command->add_option("-o,--output", options->output, "The .dl file to write")->required();
  command
      ->add_option("--sparsity", options->sparsity,
                   "The share of the weights to make zero, or of the multiplications to take away; "
                   "above 0 and below 1")
      ->check(checkShare);
  command->add_option("--pattern", options->pattern, "Which weights become zero, see below")
      ->check(checkOneOf({"global", "layer", "block", "2:4", "channels", "low-rank"}))
      ->capture_default_str();
  command
      ->add_option("--method", options->method,
                   "How weights are chosen and what becomes of the others, see below")
      ->check(checkOneOf({"magnitude", "wanda", "sparsegpt", "l1", "l2", "obs", "svd"}));
  command
      ->add_option("--allocation", options->allocation,
                   "For layer and block by sparsegpt. uniform: each weight gets the share of zeros "
                   "that is asked for; sensitivity: all together get it, and each as many as cost "
                   "least of what the layers give on --calib")
      ->check(checkOneOf({"uniform", "sensitivity"}))
      ->capture_default_str();
  command
      ->add_option("--steps", options->steps,
                   "For layer and block by sparsegpt: the share of zeros grows in so many steps by "
                   "the cubic schedule, 1 - (1 - step / steps)^3 of what is asked for; after each "
                   "the weights that are left take over. 1: all at once")
      ->check(CLI::Range(int64_t{1}, int64_t{64}))
      ->capture_default_str();
  command->add_flag("--permute", options->permute,
                    "With 2:4: first let channels change places, in all layers that hang together "
                    "by them, so that the two of four that go are worth less");
  command
      ->add_option("--multiple", options->channelMultiple,
                   "Channels of a layer that are left are a multiple of this, but for a rest that "
                   "was there before")
      ->check(checkRange(1, 1024))
      ->capture_default_str();
  command->add_option(
      "--calib", options->calibration.data,
      "Data that the layers are seen to read: an .npz of arrays by the names of the "
      "inputs, one row a sample, some hundred rows");
  command
      ->add_option("--calib-batch", options->calibration.batch,
                   "Samples of --calib that are run at once, at most")
      ->check(checkRange(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option(
          "--skip", options->skip,
          "Layers that stay as they are: a glob over paths of layers and of weights, names "
          "of ONNX nodes and names of ops; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--model", options->model, "Which model of the file, where it has several");
  command->add_option("--report", options->report, "A .json file for the table, with exact counts");
  command->add_flag("--force", options->force,
                    "Replace the .dl file and its weights where they exist already");
  command->add_flag("-q,--quiet", options->quiet, "Print no table");
  addOnnxOptions(*command, options->constInputs, options->states);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.prune(*options); };
  });
}
