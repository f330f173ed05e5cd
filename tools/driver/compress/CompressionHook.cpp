//===- CompressionHook.cpp - What --quantize and --sparse do around the phases ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/CompressionHook.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/base/Progress.h"
#include "tools/driver/calibrate/Calibration.h"
#include "tools/driver/calibrate/WeightFit.h"
#include "tools/driver/compiler/CompileSession.h"
#include "tools/driver/compress/sparse/BlockStorage.h"
#include "tools/driver/compress/sparse/TwoOfFourStorage.h"
#include "tools/driver/weights/StoredWeights.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using Clock = std::chrono::steady_clock;

namespace dlc {
namespace {

/// The part of a --sparse scheme that the driver does.
struct StorageWay {
  SparsityScheme scheme;
  int (*count)(ModuleOp module, int64_t &found); ///< before the pass: writes counts to the weights
  SparseStorage (*storageOf)(ModuleOp module, int64_t found); ///< after it
  const char *command; ///< what `dlc refit` names where it refuses
};

constexpr StorageWay kStorageWays[] = {
    {SparsityScheme::block, countBlocks, blockStorageOf, kBlockSparseCommand},
    {SparsityScheme::twoOfFour, countFullGroups, twoOfFourStorageOf, kTwoOfFourCommand},
};

class CompressionHook : public PhaseHook {
public:
  explicit CompressionHook(CompileSession &session) : session(session), options(session.options) {}

  int before(Phase phase, ModuleOp module) override;
  int after(Phase phase, ModuleOp module) override;
  bool changes(Phase phase) const override {
    return phase == Phase::compress &&
           (options.quantize != QuantizationScheme::none || options.sparse != SparsityScheme::none);
  }

private:
  /// Fits the few bits that weights are to be stored in.
  int fitWeights(ModuleOp module);
  /// Says which products run on integers, and writes the ranges of their activations on --calib to
  /// them.
  int calibrate(ModuleOp module);
  /// Counts the zeros of weights, for the pass that leaves them out.
  int countZeros(ModuleOp module);
  /// Says what that pass did, and keeps other weights out of the file if it did anything.
  void finishZeros(ModuleOp module);
  int storeIntegers(ModuleOp module);
  /// The file holds weights that were fitted, by this command: others cannot take their place.
  static void markFitted(ModuleOp module, StringRef command) {
    module->setAttr("dl.fitted_by", StringAttr::get(module.getContext(), command));
  }
  /// Null without --sparse.
  const StorageWay *storageWay() const {
    for (const StorageWay &way : kStorageWays)
      if (way.scheme == options.sparse)
        return &way;
    return nullptr;
  }
  Progress progress() {
    return [this](const std::string &what) { session.showProgress(what); };
  }

  CompileSession &session;
  const CompileOptions &options;
  int64_t productWeights = 0; ///< that --sparse looked at
};

} // namespace

int CompressionHook::before(Phase phase, ModuleOp module) {
  if (phase != Phase::compress)
    return kOk;
  int code = kOk;
  switch (recordOf(options.quantize).part) {
  case QuantizedPart::nothing:
    break;
  case QuantizedPart::products:
    code = calibrate(module);
    break;
  case QuantizedPart::weights:
    code = fitWeights(module);
    break;
  }
  return code == kOk && storageWay() ? countZeros(module) : code;
}

int CompressionHook::after(Phase phase, ModuleOp module) {
  if (phase == Phase::compress && options.noRefit && recordOf(options.quantize).isOfIntegers)
    return storeIntegers(module);
  if (phase == Phase::fuse)
    finishZeros(module);
  return kOk;
}

int CompressionHook::fitWeights(ModuleOp module) {
  Clock::time_point started = Clock::now();
  WeightFit fit(options, progress());
  int code = fit.run(module);
  session.showProgress("");
  session.trace.addStep("fit-weights", started);
  if (code != kOk)
    return code;
  markFitted(module, fit.commandText());
  if (!options.quiet)
    complain(fit.asText());
  return session.writeReport(fit.asJson());
}

int CompressionHook::calibrate(ModuleOp module) {
  Clock::time_point started = Clock::now();
  Calibration calibration(options, progress());
  int code = calibration.run(module);
  session.showProgress("");
  session.trace.addStep("calibration", started);
  if (code != kOk)
    return code;
  if (std::string command = calibration.commandText(); !command.empty())
    markFitted(module, command);
  if (!options.quiet)
    complain(calibration.asText());
  return session.writeReport(calibration.asJson());
}

int CompressionHook::countZeros(ModuleOp module) {
  Clock::time_point started = Clock::now();
  int code = storageWay()->count(module, productWeights);
  session.trace.addStep("count-zeros", started);
  return code;
}

void CompressionHook::finishZeros(ModuleOp module) {
  const StorageWay *way = storageWay();
  if (!way)
    return;
  const SparseStorage storage = way->storageOf(module, productWeights);
  if (storage.stored > 0)
    markFitted(module, way->command);
  if (!options.quiet)
    complain(storage.text());
}

/// The integers that phase `compress` made of weights take their place in the file.
int CompressionHook::storeIntegers(ModuleOp module) {
  Clock::time_point started = Clock::now();
  int code = kOk;
  for (auto target : module.getOps<ModuleOp>())
    if (code == kOk)
      code = storeQuantizedWeights(*target.getOps<func::FuncOp>().begin());
  session.trace.addStep("store-integers", started);
  return code;
}

std::unique_ptr<PhaseHook> makeCompressionHook(CompileSession &session) {
  return std::make_unique<CompressionHook>(session);
}

} // namespace dlc
