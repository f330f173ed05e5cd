//===- Package.h - What a model.bin says about itself -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API shows inputs and outputs; kernels, their lines of the model and their text stand in the
// package's table.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_PACKAGE_H
#define DLC_TOOLS_DRIVER_RUN_PACKAGE_H

#include "runtime/core/package/Module.h"

#include <memory>
#include <string>
#include <vector>

namespace dlc {

/// Loads and verifies `path`; null, after an error, where that fails, and the ExitCode in `code`.
std::shared_ptr<rt::Module> openPackage(const std::string &path, int &code);
/// The modules that have programs: the module itself, or the segments that its flow calls.
std::vector<const rt::Module *> partsOf(const rt::Module &module);
/// The programs for the target, one for each of these modules; empty where the package has none.
std::vector<const schema::Program *> programsOf(const rt::Module &module, schema::Target target);
/// Bytes of the weights, those that segments share counted once.
int64_t weightBytes(const rt::Module &module);
/// "cpu" or "cuda".
const char *nameOf(schema::Target target);
/// "rows (columns=2 deep=8), 3.1 us modelled; not tiles 44 us"; empty where there is no plan.
std::string describePlan(const schema::Kernel &kernel);
/// "model.dl:14:9, model.dl:15:9", of an ONNX model "/l/GRU"; of many the first ones and how many
/// there are more.
std::string linesOf(const schema::Kernel &kernel);
/// Lines of the first kernel `name` of the programs; empty where they have none.
std::string linesOf(const std::vector<const schema::Program *> &programs, const std::string &name);
/// The kernel of that name; else those that compute what is called so: an op ("max_pool2d"), a
/// layer or block of the model
/// ("conv2"), a node of an ONNX model ("/l/GRU"). Of these, kernels of runs hide those of the load.
std::vector<const schema::Kernel *> findKernels(const schema::Program &program,
                                                const std::string &name);

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_PACKAGE_H
