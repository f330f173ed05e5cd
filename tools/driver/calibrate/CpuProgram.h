//===- CpuProgram.h - A model that the compiler itself runs -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_CPUPROGRAM_H
#define DLC_TOOLS_DRIVER_CALIBRATE_CPUPROGRAM_H

#include "codegen/package/Package.h"
#include "passes/precision/Precision.h"
#include "tools/driver/run/Tensors.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace dlc {

struct CpuProgramOptions {
  Precision precision = Precision::f32; // or f16, bf16
  std::vector<std::string> keepF32;
};

/// Returns the package of `module`, as phase `simplify` left it, compiled for the CPU only. The
/// module is changed. `readPacked` reads the weights whose offset is -1. Fails after an error if a
/// phase fails.
mlir::FailureOr<std::string> compileCpuProgram(mlir::ModuleOp module,
                                               const CpuProgramOptions &options = {},
                                               codegen::ReadPacked readPacked = readPackedWeight);

/// Such a package in memory, run batch by batch. Problems are reported; the ExitCode says which
/// kind.
class CpuProgram {
public:
  CpuProgram() = default;
  CpuProgram(const CpuProgram &) = delete;
  CpuProgram &operator=(const CpuProgram &) = delete;
  ~CpuProgram();

  int open(const std::string &package);
  /// Runs one batch, its states zero; the results are in `outputs` then.
  int run(const std::vector<dlc_tensor> &inputs);
  dlc_module *getModule() const { return module; }

  std::vector<HostTensor> outputs;
  std::vector<std::string> outputNames;

private:
  dlc_module *module = nullptr;
  dlc_context *context = nullptr;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_CALIBRATE_CPUPROGRAM_H
