//===- QuantizationChoice.cpp - Which layers are quantized, and what they gain ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/QuantizationChoice.h"

#include "passes/Passes.h"
#include "tools/driver/cli/Output.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc {

GainTargets gainTargets(const CompileOptions &options) {
  return {options.targets, options.precision};
}

int keepSlowerLayers(ModuleOp module, const CompileOptions &options) {
  bool decides = options.quantizeWhere.empty() ? options.quantize == "int8"
                                               : options.quantizeWhere == "faster";
  if (!decides)
    return kOk;
  KeepSlowerOptions keep;
  keep.scheme = options.quantize;
  keep.targets.assign(options.targets.begin(), options.targets.end());
  keep.precision = options.precision;
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addNestedPass<func::FuncOp>(createKeepSlower(keep));
  return failed(manager.run(module)) ? static_cast<int>(kInternal) : kOk;
}

void writeGains(Json &json, ArrayRef<TargetGain> gains) {
  if (gains.empty())
    return;
  json.beginArray("gains");
  for (const TargetGain &gain : gains)
    json.beginObject()
        .string("target", gain.target)
        .real("gain", gain.gain())
        .real("before_us", gain.before)
        .real("after_us", gain.after)
        .real("convert_us", gain.convert)
        .string("rates", gain.isModelled ? "modelled" : "measured")
        .endObject();
  json.endArray();
}

} // namespace dlc
