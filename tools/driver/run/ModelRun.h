//===- ModelRun.h - A model that is run on one batch after another ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// On the C API alone. Problems are reported as they occur; the ExitCode says which kind.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_MODELRUN_H
#define DLC_TOOLS_DRIVER_RUN_MODELRUN_H

#include "tools/driver/run/OutputDifference.h"
#include "tools/driver/run/Session.h"

namespace dlc {

/// Binds the shapes of the inputs, makes room for `outputs`, whose dtypes are set, and runs once;
/// then each output has its own dims and numbers. `names` are those of the outputs. An ExitCode,
/// reported.
int runOnce(dlc_context *context, const std::vector<dlc_tensor> &inputs,
            const std::vector<std::string> &names, std::vector<HostTensor> &outputs);

/// Where the outputs for a batch come from: a model, or a file.
class OutputSource {
public:
  virtual ~OutputSource() = default;
  /// Makes the outputs for the samples of `range`, whose inputs are in the order of the feed; an
  /// ExitCode. `like` are the outputs that another source made for them; null where this is the
  /// first one.
  virtual int advance(const std::vector<dlc_tensor> &inputs, SampleRange range,
                      const std::vector<HostTensor> *like) = 0;
  /// The outputs of the last batch, in the order of outputNames().
  const std::vector<HostTensor> &outputs() const { return results; }
  const std::vector<std::string> &outputNames() const { return names; }

protected:
  std::vector<HostTensor> results;
  std::vector<std::string> names;
};

class ModelRun : public OutputSource {
public:
  int open(const std::string &path, const DeviceOptions &options);
  dlc_module *getModule() const { return session.getModule(); }
  const std::string &getPath() const { return path; }
  /// What dlc_context_device says.
  std::string getDevice() const { return dlc_context_device(session.getContext()); }
  std::vector<std::string> inputNames() const;
  /// As Session has it.
  int findOutput(const std::string &name) const { return session.findOutput(name); }
  /// "m.bin on cpu (avx512, 2 threads)".
  std::string describe() const;

  /// The feed's inputs are in the order of `first`, whose inputs and outputs these are: kUsage
  /// where they are not the same by name, rank, dims that are numbers in both, and for inputs
  /// dtype.
  int follow(const ModelRun &first);
  /// Runs the model, its states zero.
  int advance(const std::vector<dlc_tensor> &inputs, SampleRange range,
              const std::vector<HostTensor> *like) override;

private:
  using Infos = std::vector<dlc_value_info>;
  int failOther(const ModelRun &first, const char *what, const Infos &mine,
                const Infos &others) const;

  std::string path;
  Session session;
  Infos inputInfos, outputInfos;
  std::vector<size_t> order; // of the feed's inputs
};

/// Outputs in a file, by name: an .npz, or an .npy where the model has one output. A row for each
/// sample, as SampleFeed has it.
class StoredOutputs : public OutputSource {
public:
  /// Reads the outputs that the model has; kUsage where an array is missing or has not `samples`
  /// rows.
  int open(const std::string &path, const ModelRun &model, int64_t samples);
  int advance(const std::vector<dlc_tensor> &inputs, SampleRange range,
              const std::vector<HostTensor> *like) override;

private:
  std::string path;
  std::vector<HostTensor> arrays;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_MODELRUN_H
