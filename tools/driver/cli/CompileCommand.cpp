//===- CompileCommand.cpp - dlc compile: a model to model.bin -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/ErrorMetric.h"
#include "tools/driver/measure/RangeEstimator.h"

#include <CLI/CLI.hpp>

#include <memory>

/// As --compile-from and --compile-to take them.
static const std::vector<std::string> kPhases = {
#define DLC_PHASE(name) #name,
#include "passes/Phases.def"
};

static constexpr const char *kFooter =
    R"(Phases: import simplify compress precision layout fuse outline schedule buffers package.

Examples:
  dlc compile model.dl -o model.bin
  dlc compile model.dl --weights trained.safetensors --target cpu -o model.bin
  dlc compile model.onnx -o model.bin                     ONNX, opsets 1 to 28
  dlc compile model.onnx --const-input shape=@shape.npy   an input that must be known: a shape, axes
  dlc compile model.dl --target cpu,sm_80,sm_90a -o model.bin   with machine code for these GPUs; needs NVRTC, no GPU
  dlc compile model.dl --shapes x:1x3x224x224 -o model.bin      for this shape alone
  dlc compile model.dl --opt-shapes x:1x3x224x224 -o model.bin  for all shapes, and fast for this one
  dlc compile model.dl --precision f16 --keep-f32 'head.*' -o model.bin   in f16, but for these layers
  dlc compile model.dl --precision mixed --max-error 1e-3 --calib samples.npz -o model.bin   f16 where these outputs allow it
  dlc compile model.dl --quantize int8 --calib samples.npz --target cpu -o model.bin   in 8 bits, ranges from these samples
  dlc compile model.dl --quantize dynamic --target cpu -o model.bin   matrix products in 8 bits, ranges as they come
  dlc compile model.dl --quantize int8 --calib samples.npz --smooth 0.5 --target cpu -o model.bin   for activations with few large channels
  dlc compile model.dl --quantize w4 --calib samples.npz -o model.bin   weights in 4 bits, fitted to these samples
  dlc compile model.dl --quantize w4 --calib samples.npz --smooth auto -o model.bin   the same, with channels of activations scaled (AWQ)
  dlc compile model.dl --quantize w4 --weight-grid symmetric --group 64 -o model.bin   without zero points, in larger groups
  dlc compile pruned.dl --sparse block --target cpu -o model.bin   of what dlc prune --pattern block made, without its zeros
  dlc compile pruned.dl --sparse 2:4 --precision f16 --target cuda -o model.bin   of --pattern 2:4, on sparse tensor cores
  dlc compile model.dl --compile-to=fuse                  print which ops share a kernel
  dlc compile fused.mlir --compile-from=fuse -o model.bin go on from there
  dlc compile model.dl --target cpu --plans model.plans -o model.bin   by plans that 'dlc tune' measured
  dlc compile model.dl --dump-dir why -o model.bin        IR after each pass, CUDA text, buffer plan, timing
  dlc compile model.dl --validate-passes -o model.bin     run the model before and after each pass)";

void dlc::addProgramOptions(CLI::App &command, CompileOptions &options) {
  command.add_option("--model", options.model, "Which model of the file, where it has several");
  command
      .add_option(
          "--weights", options.weights,
          "Safetensors or npz file, instead of the one that the model names; may be repeated")
      ->allow_extra_args(false);
  addOnnxOptions(command, options.constInputs, options.states);
  command
      .add_option(
          "--precision", options.precision,
          "What a model of f32 runs in. f16, bf16: what is safe, in 16 bits; sums and all that "
          "makes numbers far larger or smaller in f32; inputs and outputs stay f32. mixed, "
          "mixed-bf16: the same, but for layers that must stay in f32 for the outputs to hold "
          "--max-error on --calib; a table says which. tf32: on cuda, products round their "
          "operands to 11 bits, for tensor cores")
      ->check(checkOneOf({"f32", "tf32", "f16", "bf16", "mixed", "mixed-bf16"}))
      ->capture_default_str();
  command
      .add_option("--max-error", options.maxError,
                  "How far outputs may lie off those in f32 with --precision mixed; exit 4 where "
                  "no layer can run in 16 bits so")
      ->check(checkPositive, "POSITIVE");
  command.add_flag("--best-effort", options.bestEffort,
                   "Where no choice of layers holds --max-error, write the one that comes nearest "
                   "and warn, instead of exit 4");
  command
      .add_option("--error-metric", options.errorMetric,
                  "What --max-error bounds: rel (largest difference, as a part of the largest "
                  "magnitude), abs (largest difference), cosine (1 - cosine), top1 (part of the "
                  "answers that differ)")
      ->check(checkOneOf(kErrorMetrics))
      ->capture_default_str();
  command
      .add_option("--io", options.io,
                  "The type of all inputs and outputs that the model declares as f32, f16 or "
                  "bf16 (default: as it declares them); --calib keeps the declared types")
      ->check(checkOneOf({"f32", "f16", "bf16"}));
  command
      .add_option("--quantize", options.quantize,
                  "int8: products and convolutions with weights multiply integers of 8 bits; "
                  "ranges of what they read come from --calib. dynamic: matrix products do so "
                  "with the range that each row turns out to have, and need no data. fp8: they "
                  "multiply floats of 8 bits (e4m3), with ranges of --calib. int8 and dynamic "
                  "make integers of the tables of look-ups, too. w8, w4: "
                  "the weights of matrix "
                  "products and the tables of look-ups are stored in 8 or 4 bits, in the file and "
                  "in memory, and all is "
                  "computed as before; with --calib their rounding makes up for its errors on "
                  "these data. What that does to each layer is printed")
      ->check(checkOneOf({"none", "int8", "dynamic", "fp8", "w8", "w4"}))
      ->capture_default_str();
  command
      .add_option("--quantize-where", options.quantizeWhere,
                  "faster: a layer of --quantize that the cost model says would be slower on a "
                  "target of the file stays as it is there; possible: every layer that can be "
                  "quantized is (default: faster for int8; possible for fp8, and for w8 and w4, "
                  "which save memory in any case)")
      ->check(checkOneOf({"faster", "possible"}));
  addQuantizationOptions(command, options, "--quantize");
  command
      .add_option(
          "--sparse", options.sparse,
          "The zeros that 'dlc prune' has made are left out of the weights of linear layers, "
          "matrix products and convolutions of one tap where the cost model says that this is "
          "faster. block (--pattern block), for cpu: 16 neighbouring results by one number that "
          "they read. 2:4 (--pattern 2:4), for cuda in f16 or bf16: two of each four numbers, on "
          "sparse tensor cores. --explain says which "
          "weights, and why others stay whole. 'dlc refit' takes no other weights then")
      ->check(checkOneOf({"none", "block", "2:4"}))
      ->capture_default_str();
  command.add_flag(
      "--no-refit", options.noRefit,
      "With --quantize int8 or dynamic: the file holds the integers alone, a quarter of the "
      "bytes, and not the weights that 'dlc refit' makes them from (files of w8 and "
      "w4 never do)");
  command.add_option("--calib", options.calibration.data,
                     "Data for --quantize and --precision mixed: an .npz with an array by the "
                     "name of each input, one row a sample; a few hundred that are like those to "
                     "come");
  command
      .add_option("--calib-method", options.calibration.method,
                  "How the range of an activation follows from the data. minmax: all of it; "
                  "average: the moving average over batches; percentile: without a "
                  "hundred-thousandth at either end; entropy, mse: what loses the least "
                  "information, or has the least squared error")
      ->check(checkOneOf(std::vector<std::string>(kRangeMethods.begin(), kRangeMethods.end())))
      ->capture_default_str();
  command
      .add_option("--calib-batch", options.calibration.batch,
                  "Samples of --calib that are run at once, at most")
      ->check(checkPositive, "POSITIVE")
      ->capture_default_str();
  command
      .add_option("--keep-f32", options.keepF32,
                  "Layers that stay in f32 with any other --precision and with --quantize: a "
                  "glob over paths of layers, names of ONNX nodes and names of ops; may be "
                  "repeated")
      ->allow_extra_args(false);
  addShapeOptions(command, options.shapes);
  command.add_option("--opt-shapes", options.shapes.optShapes,
                     "The shapes to be fast for, among those that will come: tiles are chosen for "
                     "them; the model takes all");
}

void dlc::addCompileCommand(CLI::App &app, Action &action, const Compiler &compiler,
                            std::vector<std::string> commandLine) {
  auto options = std::make_shared<CompileOptions>();
  options->commandLine = std::move(commandLine);
  CLI::App *command = app.add_subcommand("compile", "Compile a model to one file, model.bin");
  command->footer(kFooter);
  command
      ->add_option("model", options->input, "The model: .dl or .onnx, or .mlir with --compile-from")
      ->required();
  command->add_option("-o,--output", options->output,
                      "File to write; '-' is standard output (default: model.bin, or standard "
                      "output with --compile-to)");
  command
      ->add_option(
          "--target", options->targets,
          "What the file shall run on: cpu, cuda, and GPU architectures such as sm_80 or "
          "sm_90a, for which its "
          "kernels are compiled now; others compile them at load. One GPU alone: its tiles "
          "are chosen for that")
      ->delimiter(',')
      ->check([](const std::string &name) {
        return name == "cpu" || name == "cuda" || name.starts_with("sm_")
                   ? std::string()
                   : "'" + name +
                         "' is no target; expected cpu, cuda or a GPU architecture such as sm_90a";
      })
      ->default_str("cpu,cuda");
  addProgramOptions(*command, *options);
  command->add_option("--report", options->report,
                      "File for what --quantize or --precision mixed did to each layer, as JSON");
  command
      ->add_option("--force-plan", options->forcePlan,
                   "KERNEL=PLAN: how a kernel runs in place of the plan with the smallest "
                   "estimate; *=PLAN: every kernel that it can run. A plan is a schedule and, each "
                   "after a colon, numbers of it, as in tensor_cores:tile_m=64:tile_n=128. 'dlc "
                   "inspect' shows the kernels with their plans and those that lost; may be "
                   "repeated")
      ->allow_extra_args(false);
  command->add_option("--plans", options->plans,
                      "Plans that 'dlc tune' measured for this model: they take the place of those "
                      "with the smallest estimate");
  command
      ->add_option("--chains", options->chains,
                   "For cuda, kernels that follow each other and are small: one launch in the "
                   "place of several. auto: where the cost model says that this is faster; always: "
                   "wherever it is possible; never. 'dlc inspect' shows the chains")
      ->check(checkOneOf({"auto", "always", "never"}))
      ->capture_default_str();
  command->add_option("--compile-to", options->compileTo, "Stop after this phase and print the IR")
      ->check(checkOneOf(kPhases));
  command
      ->add_option("--compile-from", options->compileFrom,
                   "The input is the IR that this phase left")
      ->check(checkOneOf(kPhases));
  command->add_option(
      "--dump-dir", options->dumpDir,
      "Folder for the IR after each pass, kernel texts, plan.txt, timing.json and repro.sh");
  command->add_flag("--validate-passes", options->validatePasses,
                    "Run the model before and after each pass on integers, random and special "
                    "values; exit 4 names the "
                    "first pass that changes a result beyond its declared bound");
  command->add_flag(
      "--explain", options->explain,
      "Say at each line of the model why its op is not in the kernel that computes what it "
      "reads, for each target whose kernels differ, why an attention is several kernels and why a "
      "state is copied; with --sparse also which weights are stored without their "
      "zeros, and why others are not");
  command->add_flag("--locations", options->locations, "Print the model's lines with --compile-to");
  command->add_flag("-q,--quiet", options->quiet, "Say nothing when all is well");
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.compile(*options); };
  });
}
