//===- InspectSource.cpp - What is in a model's text --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/source/InspectSource.h"

#include "frontend/Frontend.h"
#include "ir/analysis/CostModel.h"
#include "ir/dl/DLOps.h"
#include "passes/Passes.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/inspect/ModelSummary.h"
#include "tools/driver/source/Import.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace dlc {
/// Arithmetic of one run, with each symbolic dim at `batch`, or the end of its range that is
/// nearest.
static uint64_t countFlops(ModuleOp original, int64_t batch) {
  // Ops that are made of others cost what those cost.
  OwningOpRef<ModuleOp> decomposed = original.clone();
  PassManager manager(original.getContext());
  manager.addNestedPass<func::FuncOp>(createDecomposeOps());
  ModuleOp module = succeeded(manager.run(*decomposed)) ? *decomposed : original;
  SmallVector<AffineExpr> sizes;
  for (const dl::Range &range : dl::symbolRanges(module))
    sizes.push_back(
        getAffineConstantExpr(std::clamp(batch, range.min, range.max), module.getContext()));
  uint64_t flops = 0;
  auto add = [&](AffineExpr count) {
    if (auto constant = dl::asConstant(dl::normalize(count.replaceSymbols(sizes))))
      flops += static_cast<uint64_t>(*constant);
  };
  module.walk([&](Operation *op) {
    if (auto nest = dyn_cast<LoopNestOpInterface>(op))
      return add(flopsOf(nest));
    if (auto recurrent = dyn_cast<RecurrentOpInterface>(op))
      return add(flopsOf(recurrent));
    if (auto lines = dyn_cast<LineOpInterface>(op))
      return add(flopsOf(lines));
    // What is left are weights, and the terminators of other dialects.
    assert((op->getDialect()->getNamespace() != "dl" || op->getNumOperands() == 0) &&
           "each op that computes says what it costs");
  });
  return flops;
}

static std::string shapeText(const LayerFacts::Weight &weight) {
  std::string text = "[";
  for (auto [position, dim] : llvm::enumerate(weight.shape))
    text += (position ? "," : "") + std::to_string(dim);
  return text + "]";
}

static std::string describe(const ModelSummary &summary, ModuleOp module, const SourceIndex &index,
                            int64_t batch) {
  std::string out = ("Model " + module.getName().value_or("") + "\n").str();
  auto values = [&](const char *title, const auto &list) {
    out += title;
    for (const auto &[name, type] : list)
      out += "  " + name + ": " + type + "\n";
  };
  values("Inputs\n", summary.inputs());
  values("Outputs\n", summary.outputs());
  if (!summary.states().empty())
    values("States\n", summary.states());

  // The columns are as wide as what stands in them.
  std::vector<std::array<std::string, 4>> rows = {{"layer", "kind", "gives", "parameters"}};
  for (const LayerFacts &layer : index.layers) {
    std::string gives = layer.outputs.empty() ? "never called" : layer.outputs.front();
    if (layer.outputs.size() > 1)
      gives += " (" + std::to_string(layer.outputs.size()) + " calls)";
    uint64_t parameters = ModelSummary::elementsOf(layer, false);
    rows.push_back({layer.path, layer.kind, gives, parameters ? grouped(parameters) : ""});
  }
  std::array<size_t, 4> widths = {};
  for (const auto &row : rows)
    for (size_t column = 0; column < row.size(); ++column)
      widths[column] = std::max(widths[column], row[column].size());
  out += "Layers\n";
  for (const auto &row : rows) {
    std::string line = "  ";
    for (size_t column = 0; column < 3; ++column)
      line += row[column] + std::string(widths[column] - row[column].size() + 2, ' ');
    line += std::string(widths[3] - row[3].size(), ' ') + row[3];
    out += StringRef(line).rtrim().str() + "\n";
  }

  out += "Totals\n  " + grouped(summary.parameters()) + " parameters in " +
         std::to_string(index.layers.size()) + " layers";
  if (uint64_t buffers = summary.buffers())
    out += ", and " + grouped(buffers) + " values of running statistics";
  out += "\n  " + grouped(countFlops(module, batch)) + " arithmetic operations in a run";
  if (!dl::symbolRanges(module).empty())
    out += " with symbolic dims of " + std::to_string(batch);
  return out + "\n";
}

static std::string describeJson(const ModelSummary &summary, ModuleOp module,
                                const SourceIndex &index, int64_t batch) {
  Json json;
  json.beginObject();
  summary.write(json);
  json.beginArray("layers");
  for (const LayerFacts &layer : index.layers) {
    json.beginObject()
        .string("path", layer.path)
        .string("kind", layer.kind)
        .integer("line", layer.place.line)
        .integer("parameters", static_cast<int64_t>(ModelSummary::elementsOf(layer, false)));
    json.beginArray("outputs");
    for (const std::string &type : layer.outputs)
      json.string(type);
    json.endArray().beginArray("weights");
    for (const LayerFacts::Weight &weight : layer.weights)
      json.beginObject().string("path", weight.path).string("shape", shapeText(weight)).endObject();
    json.endArray().endObject();
  }
  json.endArray().integer("batch", batch);
  return json.integer("flops", static_cast<int64_t>(countFlops(module, batch))).endObject().take();
}

int inspectSource(const InspectSourceOptions &options) {
  if (int code = checkReadable(options.input))
    return code;
  ImportedModel model; // with all dialects: costs are counted on what the ops emit
  SourceIndex index;
  // The structure is the text's alone: no weights are needed to see it.
  ImportOptions import{{}, /*withoutWeights=*/true};
  import.index = &index;
  import.model = options.model;
  model.module = importFile(options.input, import, *model.context);
  if (!model.module)
    return kModelError;
  ModelSummary summary(*model.module, index);
  return finishOutput(options.json ? describeJson(summary, *model.module, index, options.batch)
                                   : describe(summary, *model.module, index, options.batch));
}

} // namespace dlc
