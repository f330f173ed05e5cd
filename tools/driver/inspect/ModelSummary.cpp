//===- ModelSummary.cpp - What a model consists of, in numbers ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/ModelSummary.h"

#include "ir/dl/DLOps.h"
#include "ir/dl/base/DLTypes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;

namespace dlc {

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;)
    text.insert(at -= 3, ",");
  return text;
}

uint64_t ModelSummary::elementsOf(const LayerFacts &layer, bool ofBuffers) {
  uint64_t sum = 0;
  for (const LayerFacts::Weight &weight : layer.weights) {
    if (weight.isBuffer != ofBuffers)
      continue;
    uint64_t product = 1;
    for (int64_t dim : weight.shape)
      product *= static_cast<uint64_t>(dim);
    sum += product;
  }
  return sum;
}

uint64_t ModelSummary::elements(bool ofBuffers) const {
  uint64_t sum = 0;
  for (const LayerFacts &layer : index.layers)
    sum += elementsOf(layer, ofBuffers);
  // A model that was imported has weights and no layers.
  if (index.layers.empty() && !ofBuffers)
    module.walk([&](dl::WeightOp weight) {
      auto type = cast<RankedTensorType>(weight.getY().getType());
      if (isa<FloatType>(type.getElementType()))
        sum += static_cast<uint64_t>(type.getNumElements());
    });
  return sum;
}

static std::string typeText(Type type, ModuleOp module) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dl::text(tensor, module) : "?";
}

std::vector<std::pair<std::string, std::string>> ModelSummary::inputs() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto [position, type] : llvm::enumerate(function.getArgumentTypes())) {
      if (function.getArgAttr(position, "dl.state"))
        continue;
      auto name = function.getArgAttrOfType<StringAttr>(position, "dl.name");
      found.push_back({name ? name.str() : "", typeText(type, module)});
    }
  return found;
}

std::vector<std::pair<std::string, std::string>> ModelSummary::outputs() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto [position, type] : llvm::enumerate(function.getResultTypes())) {
      if (function.getResultAttr(position, "dl.state") ||
          function.getResultAttr(position, "dl.count"))
        continue;
      auto name = function.getResultAttrOfType<StringAttr>(position, "dl.name");
      found.push_back({name ? name.str() : "", typeText(type, module)});
    }
  return found;
}

std::vector<std::pair<std::string, std::string>> ModelSummary::states() const {
  std::vector<std::pair<std::string, std::string>> found;
  for (auto function : module.getOps<func::FuncOp>())
    for (auto [position, type] : llvm::enumerate(function.getArgumentTypes()))
      if (function.getArgAttr(position, "dl.state"))
        found.push_back({function.getArgAttrOfType<StringAttr>(position, "dl.name").str(),
                         typeText(type, module)});
  return found;
}

std::string ModelSummary::line() const {
  auto list = [](const std::vector<std::pair<std::string, std::string>> &values) {
    std::string text;
    for (const auto &[name, type] : values)
      text += (text.empty() ? " " : ", ") + name + ": " + type;
    return text;
  };
  auto count = [](uint64_t number, const char *what) {
    return grouped(number) + " " + what + (number == 1 ? "" : "s");
  };
  if (!module.getName()) {
    size_t blocks = llvm::count_if(index.mentions, [](const Mention &mention) {
      return mention.kind == Mention::Kind::block && mention.isDefinition();
    });
    return count(blocks, "block") + ", no model";
  }
  bool isImported = index.layers.empty() && parameters() > 0;
  return count(parameters(), "parameter") +
         (isImported ? "" : ", " + count(index.layers.size(), "layer")) + ", inputs" +
         list(inputs()) + ", outputs" + list(outputs()) +
         (states().empty() ? "" : ", states" + list(states()));
}

void ModelSummary::write(Json &json) const {
  json.string("model", module.getName().value_or(""))
      .integer("parameters", static_cast<int64_t>(parameters()))
      .integer("buffers", static_cast<int64_t>(buffers()))
      .integer("layer_count", static_cast<int64_t>(index.layers.size()));
  auto list = [&](const char *key, const std::vector<std::pair<std::string, std::string>> &values) {
    json.beginArray(key);
    for (const auto &[name, type] : values)
      json.beginObject().string("name", name).string("type", type).endObject();
    json.endArray();
  };
  list("inputs", inputs());
  list("outputs", outputs());
  list("states", states());
}

} // namespace dlc
