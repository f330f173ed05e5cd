//===- CompileCommand.cpp - dlc compile: a model to model.bin -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/ErrorMetric.h"
#include "tools/driver/measure/RangeEstimator.h"

#include <CLI/CLI.hpp>

#include <memory>

using namespace dlc;

/// As --compile-from and --compile-to take them.
static const std::vector<std::string> kPhases = {
#define DLC_PHASE(name) #name,
#include "passes/Phases.def"
};

static constexpr const char *kExamples = R"(Examples:
  dlc compile model.dl -o model.bin
  dlc compile model.dl --weights trained.safetensors --target cpu -o model.bin
  dlc compile model.onnx -o model.bin                    ONNX, opsets 1 to 28
  dlc compile model.onnx --const-input shape=@shape.npy  an input that is fixed
  dlc compile model.dl --target cpu,sm_80,sm_90a         needs NVRTC, no GPU

  dlc compile model.dl --shapes x:1x3x224x224            for this shape only
  dlc compile model.dl --opt-shapes x:1x3x224x224        tiles for one shape

  dlc compile model.dl --precision f16 --keep-f32 'head.*'
  dlc compile model.dl --precision mixed --max-error 1e-3 --calib samples.npz

  dlc compile model.dl --quantize int8 --calib samples.npz --target cpu
  dlc compile model.dl --quantize int8 --calib samples.npz --smooth 0.5
  dlc compile model.dl --quantize dynamic --target cpu   no data needed
  dlc compile model.dl --quantize w4 --calib samples.npz
  dlc compile model.dl --quantize w4 --calib samples.npz --smooth auto
  dlc compile model.dl --quantize w4 --weight-grid symmetric --group 64
  dlc compile pruned.dl --sparse block --target cpu
  dlc compile pruned.dl --sparse 2:4 --precision f16 --target cuda

  dlc compile model.dl --compile-to=fuse                 prints fused ops
  dlc compile fused.mlir --compile-from=fuse             goes on from there
  dlc compile model.dl --target cpu --plans model.plans  plans of 'dlc tune'
  dlc compile model.dl --dump-dir why                    IR after each pass
  dlc compile model.dl --validate-passes                 runs each pass's IR)";

static constexpr const char *kFiles = "Input and output", *kShapes = "Shapes",
                            *kPrecision = "Precision", *kSmaller = "Quantization and sparsity",
                            *kKernels = "Kernels", *kDebugging = "Debugging";

static void addPrecisionOptions(CLI::App &command, CompileOptions &options) {
  setHelp(addChoice(command, "--precision", options.precision,
                    choicesOf<Precision>(kPrecisionNames),
                    "f32, tf32, f16, bf16, mixed, mixed-bf16 [f32]"),
          kPrecision, "TYPE",
          R"(The compute type of an f32 model. Inputs and outputs stay f32.
f16, bf16   16 bits where that is safe. Sums and ops that make much larger or
            smaller numbers stay in f32.
mixed, mixed-bf16
            As f16 or bf16, but layers stay in f32 until the outputs meet
            --max-error on the data of --calib. A table lists these layers.
tf32        On CUDA, matmuls round their operands to 11 bits, for tensor cores.
Example: dlc compile model.dl --precision mixed --max-error 1e-3 --calib d.npz)");
  setHelp(addChoice(command, "--io", options.io,
                    std::vector{Precision::f32, Precision::f16, Precision::bf16},
                    "Type of float inputs and outputs: f32, f16, bf16"),
          kPrecision, "TYPE",
          R"(Applies to all inputs and outputs that the model declares as f32, f16 or bf16.
Default: the declared types. The arrays of --calib keep the declared types.)");
  setHelp(
      command
          .add_option("--keep-f32", options.keepF32, "Keep these layers, ONNX nodes or ops in f32")
          ->allow_extra_args(false),
      kPrecision, "GLOB",
      R"(A glob over paths of layers, names of ONNX nodes and names of ops, such as
'head.*', '/encoder/*' or 'softmax'. Applies to --precision and --quantize.)");
  setHelp(command.add_option("--max-error", options.maxError, "mixed: error bound for the outputs")
              ->check(checkPositive, "POSITIVE"),
          kPrecision, "X",
          R"(The largest error of any output, compared with the f32 model on --calib, as
--error-metric measures it. If even a model with one 16-bit layer exceeds the
bound, dlc exits with 4.)");
  setHelp(addChoice(command, "--error-metric", options.errorMetric,
                    choicesOf<ErrorMetric>(kErrorMetricNames),
                    "mixed: rel, abs, cosine, top1 [rel]"),
          kPrecision, "NAME",
          R"(What --max-error bounds.
rel     largest difference, divided by the largest magnitude of the output
abs     largest difference
cosine  1 - cosine of the angle between the two outputs
top1    share of samples whose largest element is at another place)");
  setHelp(command.add_flag("--best-effort", options.bestEffort,
                           "mixed: if the bound cannot be met, write the closest"),
          kPrecision, "", R"(With a warning, instead of exit code 4.)");
}

/// What --calib and the kind of numbers do.
static void addCalibrationOptions(CLI::App &command, CompileOptions &options) {
  setHelp(command.add_option("--calib", options.calibration.data,
                             "Calibration data: .npz, one array per input"),
          kSmaller, "FILE",
          R"(Each array is named after an input and has one row per sample. A few hundred
samples like those of real use are enough. --quantize int8 and fp8 and
--precision mixed need it; w8, w4 and --smooth use it.)");
  setHelp(addChoice(command, "--calib-method", options.calibration.method,
                    choicesOf<RangeMethod>(kRangeMethodNames),
                    "minmax, average, percentile, entropy, mse [mse]"),
          kSmaller, "NAME",
          R"(How the range of an activation is computed from the data.
minmax      smallest to largest value
average     moving average of these over batches
percentile  without 0.001 % of the values at each end
entropy     the range that loses the least information
mse         the range with the least squared error)");
  setHelp(command
              .add_option("--calib-batch", options.calibration.batch,
                          "Calibration samples per run [16]")
              ->check(checkPositive, "POSITIVE"),
          kSmaller, "N");
}

/// Returns "none, int8, dynamic".
template <class Record, size_t count> static std::string namesOf(const Record (&records)[count]) {
  std::string names;
  for (const Record &record : records)
    names += (names.empty() ? "" : ", ") + std::string(record.name);
  return names;
}

static void addSizeOptions(CLI::App &command, CompileOptions &options) {
  setHelp(addChoice(command, "--quantize", options.quantize,
                    choicesOf<QuantizationScheme>(kQuantizationSchemes),
                    namesOf(kQuantizationSchemes) + " [none]"),
          kSmaller, "SCHEME",
          linesOn(kQuantizationSchemes) +
              R"(A table shows what quantization does to each layer.
Example: dlc compile model.dl --quantize int8 --calib d.npz)");
  setHelp(addChoice(command, "--quantize-where", options.quantizeWhere,
                    choicesOf<QuantizeWhere>(kQuantizeWhereNames),
                    "faster (skip layers it would slow down), possible"),
          kSmaller, "RULE",
          R"(faster    leave a layer as it is on a target where the cost model says that
          quantizing would slow it down
possible  quantize every layer that can be
Default: faster for int8; possible for fp8, and for w8 and w4, which save memory
in any case.)");
  addCalibrationOptions(command, options);
  addQuantizationOptions(command, options);
  setHelp(command.add_flag("--no-refit", options.noRefit,
                           "int8, dynamic: leave the f32 weights out of the file"),
          kSmaller, "",
          R"(The file is a quarter of the size, and 'dlc refit' cannot replace its weights.
Files of w8 and w4 never hold f32 weights.)");
  setHelp(addChoice(command, "--sparse", options.sparse,
                    choicesOf<SparsityScheme>(kSparsitySchemes),
                    "Skip pruned zeros: block (cpu), 2:4 (cuda) [none]"),
          kSmaller, "PATTERN",
          R"(Leaves out zeros made by 'dlc prune' from the weights of linear layers, matmuls
and 1x1 convolutions, if the cost model says that this is faster.
)" + linesOn(kSparsitySchemes) +
              R"(--explain lists the weights and the reasons. 'dlc refit' cannot replace weights
of such a file.)");
}

void dlc::addProgramOptions(CLI::App &command, CompileOptions &options) {
  setHelp(
      command.add_option("--model", options.model, "Which model of the file, if it has several"),
      kFiles, "NAME");
  setHelp(
      command.add_option("--weights", options.weights, "Weights to use instead of the model's own")
          ->allow_extra_args(false),
      kFiles, "FILE", R"(A safetensors or npz file; a later file takes precedence.)");
  addOnnxOptions(command, options.constInputs, options.states);
  addShapeOptions(command, options.shapes);
  setHelp(command.add_option("--opt-shapes", options.shapes.optShapes,
                             "Choose tiles for these shapes; all others still run"),
          kShapes, "SPEC");
  addPrecisionOptions(command, options);
  addSizeOptions(command, options);
}

/// What decides how the model's kernels run, and what is told of them.
static void addKernelOptions(CLI::App &command, CompileOptions &options) {
  setHelp(command.add_option("--plans", options.plans, "Use plans measured by 'dlc tune'"),
          kKernels, "FILE", R"(They replace the plans with the smallest estimate.)");
  setHelp(command
              .add_option("--force-plan", options.forcePlan,
                          "Run kernel K by PLAN; *=PLAN: every kernel that can")
              ->allow_extra_args(false),
          kKernels, "K=PLAN",
          R"(PLAN is a schedule and, each after a colon, its numbers, such as
tensor_cores:tile_m=64:tile_n=128. 'dlc inspect' shows the kernels, their plans
and the plans that were slower by estimate.)");
  setHelp(command
              .add_option("--chains", options.chains,
                          "cuda: merge launches: auto, always, never [auto]")
              ->check(checkOneOf({"auto", "always", "never"})),
          kKernels, "MODE",
          R"(Runs small kernels that follow each other in one launch.
auto    where the cost model says that this is faster
always  wherever it is possible
never   nowhere
'dlc inspect' shows the chains.)");
  setHelp(command.add_flag("--explain", options.explain,
                           "Print, for each line, why its op was not fused"),
          kKernels, "",
          R"(Also prints why an attention became several kernels and why a state is copied;
with --sparse, which weights are stored without zeros and why others are not.)");
}

static void addDebuggingOptions(CLI::App &command, CompileOptions &options) {
  setHelp(
      command.add_option("--compile-to", options.compileTo, "Stop after PHASE and print the IR")
          ->check(checkOneOf(kPhases)),
      kDebugging, "PHASE", R"('dlc help compile' lists the phases.)");
  setHelp(
      command.add_option("--compile-from", options.compileFrom, "MODEL is the IR that PHASE left")
          ->check(checkOneOf(kPhases)),
      kDebugging, "PHASE", R"('dlc help compile' lists the phases.)");
  setHelp(command.add_flag("--locations", options.locations,
                           "With --compile-to: print source locations"),
          kDebugging, "");
  setHelp(command.add_option("--dump-dir", options.dumpDir,
                             "Write IR per pass, kernels, plan, timing, reproducer"),
          kDebugging, "DIR",
          R"(The files are NN-PASS.mlir, kernel-NAME.cu, plan.txt, timing.json and repro.sh.)");
  setHelp(command.add_flag("--validate-passes", options.validatePasses,
                           "Run the model around each pass; exit 4 on a change"),
          kDebugging, "",
          R"(Uses integers, random and special values as inputs. The error names the first
pass that changes a result by more than its declared bound.)");
}

void dlc::addCompileCommand(CLI::App &app, Action &action, const Compiler &compiler,
                            std::vector<std::string> commandLine) {
  auto options = std::make_shared<CompileOptions>();
  options->commandLine = std::move(commandLine);
  CLI::App *command =
      app.add_subcommand("compile", "Compile a model to one file for CPUs and NVIDIA GPUs");
  std::string phases = "\n\nPhases:\n";
  for (const std::string &phase : kPhases)
    phases += (&phase == kPhases.data() ? "" : " ") + phase;
  setExamples(*command, kExamples + phases);
  command->add_option("model", options->input, ".dl, .onnx; or .mlir with --compile-from")
      ->required();
  setHelp(command->add_option("-o,--output", options->output,
                              "File to write; '-' is stdout [model.bin]"),
          kFiles, "FILE", R"(With --compile-to the default is standard output.)");
  setHelp(
      command->add_option("--target", options->targets, "cpu, cuda, GPUs such as sm_90a [cpu,cuda]")
          ->delimiter(',')
          ->check([](const std::string &name) {
            return name == "cpu" || name == "cuda" || name.starts_with("sm_")
                       ? std::string()
                       : "'" + name +
                             "' is no target; expected cpu, cuda or a GPU architecture such "
                             "as sm_90a";
          }),
      kFiles, "LIST",
      R"(cpu     machine code for AVX2 and AVX-512, the best of which is used at load
cuda    CUDA C++ that is compiled when the model is loaded, for any GPU
sm_90a  and other architectures: compiled now, which needs NVRTC but no GPU
If the file is for one architecture only, tiles are chosen for it.)");
  addProgramOptions(*command, *options);
  setHelp(command->add_option("--report", options->report,
                              "Per-layer report on --quantize or mixed, as JSON"),
          kFiles, "FILE");
  setHelp(command->add_flag("-q,--quiet", options->quiet, "Print nothing on success"), kFiles, "");
  addKernelOptions(*command, *options);
  addDebuggingOptions(*command, *options);
  command->callback([&action, options, &compiler] {
    action = [options, &compiler] { return compiler.compile(*options); };
  });
}
