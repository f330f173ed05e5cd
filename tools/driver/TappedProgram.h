//===- TappedProgram.h - A program whose activations are outputs -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TAPPEDPROGRAM_H
#define DLC_TOOLS_DRIVER_TAPPEDPROGRAM_H

#include "tools/driver/Tensors.h"

namespace dlc {

/// A program with taps (passes/compress/TapActivations.cpp) in memory: its first outputs are the
/// activations.
class TappedProgram {
public:
  TappedProgram() = default;
  TappedProgram(const TappedProgram &) = delete;
  TappedProgram &operator=(const TappedProgram &) = delete;
  ~TappedProgram();

  /// `package` outlives this. An ExitCode; all but kOk are reported.
  int open(const std::string &package);
  /// Runs one batch; its taps are in `outputs` then. An ExitCode; all but kOk are reported.
  int run(const std::vector<dlc_tensor> &inputs);

  dlc_module *module = nullptr;
  std::vector<HostTensor> outputs;

private:
  dlc_context *context = nullptr;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TAPPEDPROGRAM_H
