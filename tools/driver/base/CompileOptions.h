//===- CompileOptions.h - What the subcommands ask of the compiler ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_BASE_COMPILEOPTIONS_H
#define DLC_TOOLS_DRIVER_BASE_COMPILEOPTIONS_H

#include "passes/compress/Schemes.h"
#include "passes/precision/Precision.h"
#include "tools/driver/base/DeviceOptions.h"
#include "tools/driver/base/OptionValues.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace dlc {

/// Shapes of inputs: "x:8x3x224x224,mask:8x64".
struct ShapeOptions {
  std::string shapes, minShapes, maxShapes, optShapes;
};

/// The data on which a model is run while it is compiled.
struct CalibrationOptions {
  std::string data; // .npz of arrays by input name, one row a sample; empty: none
  RangeMethod method = RangeMethod::mse;
  int64_t batch = 16; // samples that are run at once, at most
};

/// The grids of numbers in few bits; nullopt or 0 for the scheme's own (QuantizationGrids.h).
struct GridOptions {
  std::optional<GridKind> activation; // of int8 and dynamic
  std::optional<GridKind> weight;     // of w8 and w4
  std::optional<Granularity> granularity;
  int64_t group = 0; // weights of a group, of w8 and w4
};

/// The exponent of the scales that --smooth moves from the channels of activations into weights.
struct SmoothExponent {
  std::optional<double>
      fixed; // 0 to 1; none: each activation has the one that serves its weights best
};

/// How numbers in few bits are found, whichever scheme stores them.
struct QuantizationOptions {
  GridOptions grids;
  std::vector<std::string> keepW8; // globs: layers whose weights w4 stores in 8 bits
  // int8 and dynamic use SmoothQuant with a fixed exponent, w8 and w4 use AWQ.
  std::optional<SmoothExponent> smooth;
  bool biasCorrection = false; // of int8
};

/// The compiler tells 'dlc tune' these facts of a kernel: its digest (tune/KernelDigest.h), and the
/// plans that it could run by, as --force-plan names them, with their estimates in nanoseconds, the
/// smallest first.
struct KernelPlans {
  std::string digest;
  std::vector<std::pair<std::string, int64_t>> plans;
};

struct CompileOptions : QuantizationOptions {
  std::string input;
  std::string output; // empty: model.bin beside nothing, or standard output for --compile-to
  std::vector<std::string> weights; // empty: the files that the model names
  std::string model;                // empty: the only one of the file
  std::vector<std::string> targets = {"cpu", "cuda"};
  std::string compileTo = "package", compileFrom; // names of phases
  ShapeOptions shapes;
  std::vector<std::string> constInputs; // of an ONNX model: NAME=@FILE.npy
  std::vector<std::string> states;      // of an ONNX model: INPUT=OUTPUT
  std::string dumpDir;
  std::vector<std::string> forcePlan;   // KERNEL=PLAN
  std::string chains = "auto";          // auto, always or never
  std::string plans;                    // a file of 'dlc tune'; empty: none
  Precision precision = Precision::f32; // tf32: of products on cuda
  std::optional<double> maxError;       // for mixed
  bool bestEffort = false; // for mixed: where no choice holds the bound, the nearest one is written
  ErrorMetric errorMetric = ErrorMetric::rel; // of maxError
  std::optional<Precision> io; // f16, bf16, f32: type of float inputs and outputs; else as declared
  QuantizationScheme quantize = QuantizationScheme::none;
  SparsityScheme sparse = SparsityScheme::none;
  bool noRefit =
      false; // int8, dynamic: the file holds bytes, and not the weights that they come from
  // nullopt: faster for int8 and dynamic, possible for the others
  std::optional<QuantizeWhere> quantizeWhere;
  CalibrationOptions calibration;
  std::vector<std::string> keepF32; // globs: layers that --precision and --quantize leave alone
  std::string report;               // file for what became of each layer; empty: none
  bool validatePasses = false;
  bool locations = false;               // print them with --compile-to
  bool explain = false;                 // remark on what is not fused
  bool quiet = false;                   // no progress, no closing line
  std::vector<std::string> commandLine; // for repro.sh
  std::map<std::string, KernelPlans> *kernelPlans =
      nullptr; // gets those of each kernel by its name
};

/// `targets` names one; `output` is the file of plans.
struct TuneOptions : CompileOptions {
  DeviceOptions device;            // auto: the target's
  std::vector<std::string> inputs; // as for `dlc run`; the others are random
  int64_t candidates = 6;          // plans of a kernel that are tried, at most
  double seconds = 1;              // of each round
};

struct BisectOptions {
  std::string input; // .dl or .onnx
  std::vector<std::string> weights;
  std::string model;                    // empty: the only one of the file
  std::vector<std::string> constInputs; // of an ONNX model: NAME=@FILE.npy
  std::vector<std::string> states;      // of an ONNX model: INPUT=OUTPUT
  ShapeOptions shapes;
  Precision precision = Precision::f16; // or bf16
  CalibrationOptions calibration;
  double maxError = 0;
  ErrorMetric errorMetric = ErrorMetric::rel;
  std::vector<std::string> keepF32;
  bool json = false;
};

struct CheckOptions {
  std::string input; // "-": standard input
  std::vector<std::string> weights;
  std::string model; // empty: the only one of the file
  bool withoutWeights = false;
  std::vector<std::string> constInputs; // of an ONNX model: NAME=@FILE.npy
  std::vector<std::string> states;      // of an ONNX model: INPUT=OUTPUT
  ShapeOptions shapes;
  bool json = false;
  bool quiet = false; // no closing line
};

struct FormatOptions {
  std::vector<std::string> files; // "-": standard input, to standard output
  bool check = false;             // change nothing
  bool toOutput = false;
};

struct InspectSourceOptions {
  std::string input, model;
  int64_t batch = 1; // for symbolic dims, in the count of operations
  bool json = false;
};

struct ImportAsTextOptions {
  std::string input;   // .onnx
  std::string output;  // .dl
  std::string weights; // .safetensors in the folder of `output`; empty: named after it
  std::vector<std::string> constInputs; // NAME=@FILE.npy
  std::vector<std::string> states;      // INPUT=OUTPUT
  bool force = false;                   // replace files that exist
  ShapeOptions shapes;
};

/// What makes a step of training of a model.
struct TrainingOptions {
  std::string loss;                 // "cross_entropy(logits, labels)"
  std::vector<std::string> metrics; // "accuracy(logits, labels)"
  std::vector<std::string> targets; // "labels: i64[N]"
  std::string optimizer = "SGD";    // "Adam(lr=1e-3)"
  std::vector<std::string> trained; // globs over weights; empty: all
  NormStatistics norms = NormStatistics::batch;
  bool scalesLoss = false;         // against underflow of gradients in f16
  std::optional<double> clipNorm;  // the most that the norm of all gradients together may be
  std::optional<double> clipValue; // the most that a number of a gradient may be
  bool onGpu = false;              // the step is for a GPU
};

/// A model, and what makes a step of training of it.
struct TrainedModel {
  std::string input;                // .dl or .onnx
  std::string model;                // empty: the only one of the file
  std::vector<std::string> weights; // files of the first weights; empty: those that the model names
  bool fromScratch = false;         // no file is read: the first weights are drawn
  TrainingOptions training;
  ShapeOptions shapes;
};

struct GradOptions : TrainedModel {
  std::string output;      // .dl or .mlir
  std::string firstStates; // .safetensors of what the states begin with; empty: none
  StepPart part = StepPart::step;
  int64_t seed = 0;   // of weights that are drawn
  bool force = false; // replace files that exist
};

struct TrainOptions : TrainedModel {
  std::string output;                  // .safetensors
  std::vector<std::string> data;       // FILE.npz, or INPUT=FILE.npy
  std::vector<std::string> validation; // the same; empty: none
  int64_t epochs = 1, seed = 0;
  std::optional<int64_t> batch; // samples in a step; else 64, or what there are and the model takes
  bool inOrder = false;         // samples are not shuffled
  std::string checkpoint, resume;       // .safetensors; empty: none
  std::string log;                      // .jsonl; empty: none
  Precision precision = Precision::f32; // of values between layers; weights stay in f32
  DeviceOptions device;
  bool force = false; // replace files that exist
  bool quiet = false; // no progress
};

struct PruneOptions {
  std::string input;                  // .dl or .onnx
  std::string output;                 // .dl; the weights go beside it
  std::string model;                  // empty: the only one of the file
  std::string pattern = "global";     // or layer, block, 2:4, channels, low-rank
  std::string method;                 // empty: the pattern's own
  bool permute = false;               // 2:4: channels change places first
  int64_t channelMultiple = 1;        // of a layer's channels that are left
  std::string allocation = "uniform"; // of layer and block: or sensitivity
  int64_t steps = 1;              // of sparsegpt: sparsities from the first to the one asked for
  std::optional<double> sparsity; // above 0 and below 1; 2:4 needs none
  CalibrationOptions calibration; // for all methods but magnitude
  std::vector<std::string> skip;  // globs: layers that stay as they are
  std::vector<std::string> constInputs; // of an ONNX model: NAME=@FILE.npy
  std::vector<std::string> states;      // of an ONNX model: INPUT=OUTPUT
  std::string report;                   // .json; empty: none
  bool force = false;                   // replace files that exist
  bool quiet = false;                   // no table
};

struct QuantizeOptions : QuantizationOptions {
  std::string input;  // .dl or .onnx
  std::string output; // .dl; the weights go beside it
  std::string model;  // empty: the only one of the file
  QuantizationScheme scheme = QuantizationScheme::w4;
  CalibrationOptions calibration;       // no data: weights are rounded to nearest
  std::vector<std::string> keepF32;     // globs: layers that stay as they are
  std::vector<std::string> constInputs; // of an ONNX model: NAME=@FILE.npy
  std::vector<std::string> states;      // of an ONNX model: INPUT=OUTPUT
  std::string report;                   // .json; empty: none
  bool force = false;                   // replace files that exist
  bool quiet = false;                   // no table
};

struct ListOptions {
  std::string what;               // ops or layers
  std::vector<std::string> names; // globs; empty: all
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_BASE_COMPILEOPTIONS_H
