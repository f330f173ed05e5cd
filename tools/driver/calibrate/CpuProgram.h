//===- CpuProgram.h - A model that the compiler itself runs -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_CALIBRATE_CPUPROGRAM_H
#define DLC_TOOLS_DRIVER_CALIBRATE_CPUPROGRAM_H

#include "codegen/package/Package.h"
#include "passes/Pipelines.h"
#include "tools/driver/run/Tensors.h"
#include "tools/driver/weights/WeightReader.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>
#include <vector>

namespace dlc {

/// The package of `module`, which is what phase `simplify` left, compiled for the CPU alone, in f32
/// unless `options` say otherwise; their targets do not count. The module is used up. `readPacked`
/// gives the weights whose offset is -1. Fails where a phase does, after an error.
mlir::FailureOr<std::string> compileCpuProgram(mlir::ModuleOp module, PipelineOptions options = {},
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
