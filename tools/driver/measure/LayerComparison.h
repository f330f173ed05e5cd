//===- LayerComparison.h - Each kernel of a model against its piece of another ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `verify --layers` and `compare --layers`. Both programs run one command at a time on the same
// samples, the model first. Then the reference runs; each value that it computes is held against
// the same value of the model, and then replaced by that. So each kernel of the reference reads
// what the kernel of the model has read, and an error is seen where it is made and nowhere after.
// Where the two programs have formed other kernels, a kernel is judged by the first value that both
// store.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_MEASURE_LAYERCOMPARISON_H
#define DLC_TOOLS_DRIVER_MEASURE_LAYERCOMPARISON_H

#include "tools/driver/measure/Comparison.h"
#include "tools/driver/run/SteppedProgram.h"

#include <map>
#include <set>

namespace dlc {

class LayerComparison {
public:
  explicit LayerComparison(const ComparisonOptions &options) : options(options) {}

  /// Options that are about outputs and not about layers: kUsage, reported; else kOk.
  static int checkOptions(const ComparisonOptions &options);
  /// Runs both, stepwise and on the devices that they are open on, on all samples of the feed,
  /// whose inputs are in the order of `first`, one of them. An ExitCode, reported.
  int run(SampleFeed &feed, const ModelRun &first, const ModelRun &model, const ModelRun &reference,
          const DeviceOptions &device);
  /// Prints a line for each value that both store, with one for each of `sources` before them, and
  /// judges them: kAccuracy where one is further off than its bound, with an error that names its
  /// layer and kernel.
  int report(const std::vector<std::string> &sources, const Comparison::Bound &bound) const;

private:
  /// Numbers in 8 bits as numbers: scale * q + offset.
  struct Grid {
    double scale = 0, offset = 0;
  };
  /// A value of the model, over all samples.
  struct Layer {
    std::string name, kernel, line;
    dlc_dtype dtype = DLC_F32;
    OutputDifference difference;
    std::optional<Grid> grid; // where the reference has floats in place of its bytes
  };
  /// What a command of the model has written.
  struct Record {
    size_t command;
    uint32_t buffer;
    HostTensor value;
    bool isTaken = false;
  };
  /// By SteppedProgram::keyOf, in the order of the commands.
  using Records = std::map<std::string, std::vector<Record>>;
  using Counts = std::map<std::string, size_t>;

  int runSamples(SampleFeed &feed, const std::vector<std::string> &names, SteppedProgram &model,
                 SteppedProgram &reference);
  rt::Status runModel(SteppedProgram &model);
  rt::Status countValues(SteppedProgram &reference);
  rt::Status runReference(SteppedProgram &model, SteppedProgram &reference, SampleRange range);
  Layer &layerOf(const SteppedProgram &model, const Record &record);
  static std::optional<Grid> fitGrid(const HostTensor &bytes, const HostTensor &numbers);
  bool isComparable(Layer &layer, Record &record, const HostTensor &expected) const;
  static void add(Layer &layer, HostTensor actual, HostTensor expected, SampleRange range);
  double errorOf(const Layer &layer) const;
  const Layer *worst() const;
  std::string judge(const Layer &layer, double most) const;
  std::string asText(const std::vector<std::string> &sources) const;
  std::string asJson(const std::vector<std::string> &sources, const Comparison::Bound &bound) const;

  ComparisonOptions options;
  Records records;                                     // of the batch that runs
  Counts counts;                                       // values of the reference
  std::map<std::pair<size_t, uint32_t>, Layer> layers; // by command and buffer of the model
  std::set<std::string> alone; // kernels of values that the reference does not store
  int64_t samples = 0, batches = 0;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_LAYERCOMPARISON_H
