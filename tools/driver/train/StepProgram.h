//===- StepProgram.h - A compiled step and its states -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_STEPPROGRAM_H
#define DLC_TOOLS_DRIVER_TRAIN_STEPPROGRAM_H

#include "tools/driver/base/DeviceOptions.h"
#include "tools/driver/run/Tensors.h"

#include <string>
#include <vector>

namespace dlc {

/// A model whose states hold weights, whose outputs are numbers. Problems are reported; each
/// function returns an ExitCode.
class StepProgram {
public:
  StepProgram() = default;
  StepProgram(const StepProgram &) = delete;
  StepProgram &operator=(const StepProgram &) = delete;
  ~StepProgram();

  int open(const std::string &path, const DeviceOptions &options);
  dlc_module *getModule() const { return module; }
  /// Seeds the random numbers of the program, if it draws any.
  int seed(int64_t first);
  /// Runs one step; `results` gets the outputs.
  int run(const std::vector<dlc_tensor> &inputs, std::vector<double> &results);

  std::vector<std::string> outputNames() const;
  /// The states, in the order of the model.
  std::vector<std::string> stateNames() const;
  int readState(const std::string &name, HostTensor &value);
  int writeState(const std::string &name, const std::vector<int64_t> &dims, const void *data,
                 size_t bytes);

private:
  int find(const std::string &state) const;

  dlc_module *module = nullptr;
  dlc_context *context = nullptr;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_STEPPROGRAM_H
