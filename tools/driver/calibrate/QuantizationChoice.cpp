//===- QuantizationChoice.cpp - Which layers are quantized, and what they gain ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/calibrate/QuantizationChoice.h"

#include "passes/Passes.h"
#include "tools/driver/base/Output.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace dlc {

GainTargets gainTargets(const CompileOptions &options) {
  return {options.targets, options.precision};
}

bool keepsLosses(const CompileOptions &options) {
  return options.quantizeWhere ? *options.quantizeWhere == QuantizeWhere::faster
                               : recordOf(options.quantize).isOfIntegers;
}

int keepSlowerLayers(ModuleOp module, const CompileOptions &options) {
  if (!keepsLosses(options))
    return kOk;
  KeepSlowerOptions keep;
  keep.scheme = nameOf(options.quantize);
  keep.targets.assign(options.targets.begin(), options.targets.end());
  keep.precision = nameOf(options.precision);
  keep.refits = recordOf(options.quantize).isOfIntegers && !options.noRefit;
  PassManager manager(module.getContext(), ModuleOp::getOperationName());
  manager.addNestedPass<func::FuncOp>(createKeepSlower(keep));
  return failed(manager.run(module)) ? static_cast<int>(kInternal) : kOk;
}

std::string countsByTarget(ArrayRef<std::vector<TargetGain>> gains, const CompileOptions &options) {
  std::string text;
  for (const std::string &target : options.targets) {
    const auto kept = llvm::count_if(gains, [&](const std::vector<TargetGain> &layer) {
      return llvm::any_of(
          layer, [&](const TargetGain &gain) { return gain.target == target && gain.isLoss(); });
    });
    if (kept > 0 && keepsLosses(options))
      text += llvm::formatv("; {0} of them on {1}", gains.size() - kept, target).str();
  }
  return text;
}

void writeGains(Json &json, ArrayRef<TargetGain> gains, const CompileOptions &options) {
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
        .string("type", keepsLosses(options) && gain.isLoss() ? "f32" : nameOf(options.quantize))
        .endObject();
  json.endArray();
}

} // namespace dlc
