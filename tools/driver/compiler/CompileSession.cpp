//===- CompileSession.cpp - What a compile was asked for, and what it tells ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/CompileSession.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/compiler/QuantizationGrids.h"
#include "tools/driver/source/Import.h"

#include <unistd.h>

namespace dlc {

PipelineOptions CompileSession::pipelineOptions() const {
  PipelineOptions pipeline = quantizationOf(options);
  pipeline.targets = options.targets;
  pipeline.explain = options.explain;
  pipeline.precision = narrowTypeOf(options.precision);
  pipeline.sparse = options.sparse;
  pipeline.io = options.io;
  pipeline.gpu = onlyGpu;
  return pipeline;
}

bool CompileSession::hasShapes() const { return !givenShapes(options.shapes).empty(); }

llvm::LogicalResult CompileSession::runPasses(mlir::ModuleOp module,
                                              llvm::function_ref<void(mlir::PassManager &)> add) {
  mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
  manager.enableVerifier(options.validatePasses);
  manager.addInstrumentation(trace.makeInstrumentation());
  add(manager);
  return manager.run(module);
}

bool CompileSession::hasTwoReports() const {
  return isMixed(options.precision) && options.quantize != QuantizationScheme::none;
}

void CompileSession::showProgress(llvm::StringRef what) const {
  if (options.quiet || !isatty(STDERR_FILENO))
    return;
  std::string line = what.empty() ? "\r\033[K" : ("\r\033[Kdlc: " + what + " ...").str();
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

int CompileSession::writeReport(const std::string &json) {
  if (options.report.empty())
    return kOk;
  if (!hasTwoReports())
    return writeFile(options.report, json);
  if (report.empty()) {
    report = json;
    return kOk;
  }
  return writeFile(options.report,
                   "{\n\"quantize\": " + report + ",\n\"precision\": " + json + "}\n");
}

} // namespace dlc
