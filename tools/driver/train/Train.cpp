//===- Train.cpp - dlc train: weights from data -------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Train.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/source/ImportAsText.h"
#include "tools/driver/train/Batches.h"
#include "tools/driver/train/Checkpoint.h"
#include "tools/driver/train/EpochReport.h"
#include "tools/driver/train/StepProgram.h"
#include "tools/driver/train/step/TrainingStep.h"
#include "tools/driver/train/step/Update.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <unistd.h>

using namespace mlir;

namespace dlc {

namespace {
class Training {
public:
  Training(const TrainOptions &options, int (*compile)(const CompileOptions &))
      : options(options), compile(compile) {}
  ~Training();
  int run();

private:
  int checkOptions() const;
  bool isForGpu() const;
  int compileProgram(ModuleOp module, const std::string &name, StepProgram &program);
  int prepare();
  int setFirstWeights();
  int begin();
  int runEpoch(EpochReport &report);
  int reportSkipped();
  int validate(EpochReport &report);
  int save();

  const TrainOptions &options;
  int (*compile)(const CompileOptions &);
  SmallString<128> folder; // for compiled steps, removed at the end
  TrainingStep step;
  StepProgram program, evaluation;
  Batches data, validation;
  TrainingPlace place;
  int64_t skipped = 0; // steps that overflowed
};
} // namespace

Training::~Training() {
  if (!folder.empty())
    llvm::sys::fs::remove_directories(folder);
}

int Training::checkOptions() const {
  if (!StringRef(options.output).ends_with(".safetensors"))
    return fail(kUsage, "-o names '" + options.output + "'; expected a .safetensors file");
  for (const std::vector<std::string> *texts : {&options.data, &options.validation})
    for (const std::string &text : *texts) {
      bool isNamed = text.find('=') != std::string::npos;
      if (!isNamed && !isArchive(text))
        return fail(kUsage, "'" + text +
                                "' is not an .npz; expected one with an array for each "
                                "input, or INPUT=FILE.npy");
      frontend::noteInputFile(isNamed ? text.substr(text.find('=') + 1) : text);
    }
  frontend::noteInputFile(options.input);
  if (options.fromScratch && !options.weights.empty())
    return fail(kUsage,
                "--from-scratch draws the first weights, and --weights reads them; expected "
                "one of the two");
  if (!options.checkpoint.empty() && namesSameFile(options.checkpoint, options.output))
    return fail(kUsage, "-o and --checkpoint name one file, '" + options.output + "'");
  return checkNew(options.output, options.force);
}

bool Training::isForGpu() const {
  const std::string &device = options.device.device;
  return device.starts_with("cuda") || (device == "auto" && access("/dev/nvidiactl", R_OK) == 0);
}

int Training::compileProgram(ModuleOp module, const std::string &name, StepProgram &program) {
  SmallString<128> source(folder), package(folder);
  llvm::sys::path::append(source, name + ".mlir");
  llvm::sys::path::append(package, name + ".bin");
  if (int code = writeFile(source.str().str(), irOf(module)))
    return code;
  CompileOptions asked;
  asked.input = source.str();
  asked.output = package.str();
  asked.compileFrom = "import";
  asked.targets = {isForGpu() ? "cuda" : "cpu"};
  asked.quiet = true;
  asked.precision = options.precision;
  if (int code = compile(asked))
    return code;
  return program.open(package.str().str(), options.device);
}

int Training::prepare() {
  if (llvm::sys::fs::createUniqueDirectory("dlc-train", folder))
    return fail(kDevice, "cannot make a folder for compiled steps");
  ImportedModel model;
  if (int code = importTrainedModel(options, model))
    return code;
  TrainingOptions training = options.training;
  training.onGpu = isForGpu();
  if (int code = makeTrainingStep(model, training, step))
    return code;
  if (int code = compileProgram(*model.module, "step", program))
    return code;
  if (int code = data.open(options.data, program.getModule(), step.classes))
    return code;
  if (int code = data.setBatch(options.batch.value_or(data.batchUpTo(64))))
    return code;
  if (options.validation.empty())
    return kOk;
  ImportedModel plain;
  if (int code = importTrainedModel(options, plain))
    return code;
  if (int code = makeEvaluation(plain, options.training, step))
    return code;
  if (int code = compileProgram(*plain.module, "evaluation", evaluation))
    return code;
  if (int code = validation.open(options.validation, evaluation.getModule(), step.classes))
    return code;
  return validation.setBatch(validation.batchUpTo(options.batch.value_or(64)));
}

int Training::setFirstWeights() {
  for (const FirstWeight &weight : step.weights) {
    std::vector<uint8_t> bytes = firstBytes(weight, static_cast<uint64_t>(options.seed));
    if (int code = program.writeState(weight.name, weight.dims, bytes.data(), bytes.size()))
      return code;
  }
  return program.seed(options.seed);
}

int Training::runEpoch(EpochReport &report) {
  if (options.inOrder)
    data.inOrder();
  else
    data.shuffle(static_cast<uint64_t>(options.seed) * 0x9E3779B97F4A7C15 +
                 static_cast<uint64_t>(place.epoch));
  data.skip(place.steps);
  std::vector<dlc_tensor> inputs;
  std::vector<double> results;
  while (!isAskedToStop() && data.next(inputs)) {
    if (int code = program.run(inputs, results))
      return code;
    ++place.steps;
    report.add(results, data.rows());
    if (!std::isfinite(results.front()))
      return fail(kModelError, "the loss is " +
                                   std::string(std::isnan(results.front()) ? "NaN" : "infinite") +
                                   " in step " + std::to_string(place.steps) + " of epoch " +
                                   std::to_string(place.epoch) +
                                   "; a smaller lr, or clipping of gradients, may help. Nothing is "
                                   "saved of this epoch");
  }
  return kOk;
}

/// Says how many steps of the epoch overflowed.
int Training::reportSkipped() {
  if (!options.training.scalesLoss)
    return kOk;
  HostTensor value;
  if (int code = program.readState(kSkippedSteps, value))
    return code;
  auto all = static_cast<int64_t>(value.at(0));
  if (all > skipped && !options.quiet)
    complain("remark: " + std::to_string(all - skipped) + " steps of epoch " +
             std::to_string(place.epoch) +
             " overflowed in 16 bits and changed nothing; the scale of the loss was halved");
  skipped = all;
  return kOk;
}

int Training::validate(EpochReport &report) {
  if (options.validation.empty() || isAskedToStop())
    return kOk;
  for (const FirstWeight &weight : step.weights) {
    HostTensor value;
    if (int code = program.readState(weight.name, value))
      return code;
    if (int code =
            evaluation.writeState(weight.name, value.dims, value.data.data(), value.data.size()))
      return code;
  }
  validation.inOrder();
  std::vector<dlc_tensor> inputs;
  std::vector<double> results;
  while (validation.next(inputs)) {
    if (int code = evaluation.run(inputs, results))
      return code;
    report.addValidation(results, validation.rows());
  }
  return kOk;
}

/// The weights, by their names in the model, and the checkpoint.
int Training::save() {
  std::vector<std::string> names;
  for (const FirstWeight &weight : step.weights)
    names.push_back(weight.name);
  if (int code = writeStates(options.output, program, names))
    return code;
  return options.checkpoint.empty() ? static_cast<int>(kOk)
                                    : writeCheckpoint(options.checkpoint, program, place);
}

int Training::begin() {
  if (!options.resume.empty()) {
    if (int code = readCheckpoint(options.resume, program, place))
      return code;
    if (place.seed != options.seed)
      return fail(kUsage, "'" + options.resume + "' was begun with --seed " +
                              std::to_string(place.seed) + "; expected the same");
    return kOk;
  }
  place.seed = options.seed;
  return setFirstWeights();
}

int Training::run() {
  if (int code = checkOptions())
    return code;
  if (int code = prepare())
    return code;
  if (int code = begin())
    return code;
  stopWhenAsked(); // after the step, with what has been learnt
  EpochLog log(options, program.outputNames());
  while (place.epoch <= options.epochs && !isAskedToStop()) {
    EpochReport report(log, place.epoch, data.numBatches());
    if (int code = runEpoch(report))
      return code;
    if (int code = reportSkipped())
      return code;
    if (int code = validate(report))
      return code;
    if (int code = report.finish())
      return code;
    if (place.steps == data.numBatches())
      place = {place.epoch + 1, 0, place.seed};
    if (int code = save())
      return code;
  }
  if (isAskedToStop())
    complain("interrupted; the weights so far are in '" + options.output + "', and " +
             (options.checkpoint.empty() ? "--weights begins with them"
                                         : "--resume '" + options.checkpoint + "' goes on"));
  return kOk;
}

int trainModel(const TrainOptions &options, int (*compile)(const CompileOptions &)) {
  return Training(options, compile).run();
}

} // namespace dlc
