//===- PruneReport.cpp - What dlc prune did, for people and programs -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/PruneReport.h"

#include "tools/driver/Json.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>

namespace dlc {

ZeroEffect PruneReport::total() const {
  ZeroEffect sum;
  for (const PrunedWeight &weight : weights)
    sum += weight.effect;
  return sum;
}

static std::string percent(double share) { return llvm::formatv("{0:F2} %", 100 * share).str(); }

static double shareOf(uint64_t zeros, const ZeroEffect &effect) {
  return effect.numbers ? static_cast<double>(zeros) / static_cast<double>(effect.numbers) : 0;
}

static std::string dimsOf(const frontend::StoredTensor &tensor) {
  return llvm::join(llvm::map_range(tensor.shape, [](int64_t dim) { return std::to_string(dim); }),
                    "x");
}

std::string tableOf(const PruneReport &report) {
  using Row = std::array<std::string, 6>;
  std::vector<Row> rows{{"weight", "dims", "zeros before", "after", "removed", ""}};
  auto add = [&](std::string name, std::string dims, const ZeroEffect &effect, std::string note) {
    rows.push_back({std::move(name), std::move(dims), percent(shareOf(effect.zerosBefore, effect)),
                    percent(shareOf(effect.zerosAfter, effect)), percent(effect.removedShare()),
                    std::move(note)});
  };
  for (const PrunedWeight &weight : report.weights)
    add(weight.path, dimsOf(*weight.tensor), weight.effect,
        weight.whyKept.empty() ? "" : "left alone: " + weight.whyKept);
  const ZeroEffect total = report.total();
  add("all", std::to_string(total.numbers), total, "");
  std::array<size_t, 6> widths{};
  for (const Row &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      const bool isNumber = i >= 2 && i <= 4;
      line += (i ? "  " : "") + (isNumber ? padding + row[i] : row[i] + padding);
    }
    stream << llvm::StringRef(line).rtrim() << '\n';
  }
  return text;
}

static void addEffect(Json &json, const ZeroEffect &effect) {
  json.integer("numbers", static_cast<int64_t>(effect.numbers));
  json.integer("zeros_before", static_cast<int64_t>(effect.zerosBefore));
  json.integer("zeros_after", static_cast<int64_t>(effect.zerosAfter));
  json.real("removed_share", effect.removedShare());
}

std::string jsonOf(const PruneReport &report, const PruneOptions &options) {
  Json json;
  json.beginObject();
  json.string("model", options.input);
  json.string("output", options.output);
  json.string("pattern", options.pattern);
  json.real("sparsity", options.sparsity.value_or(0.5));
  json.beginArray("weights");
  for (const PrunedWeight &weight : report.weights) {
    json.beginObject();
    json.string("name", weight.path);
    json.string("dtype", frontend::nameOf(weight.tensor->type));
    json.string("dims", dimsOf(*weight.tensor));
    addEffect(json, weight.effect);
    if (!weight.whyKept.empty())
      json.string("left_alone", weight.whyKept);
    json.endObject();
  }
  json.endArray();
  json.beginObject("all");
  addEffect(json, report.total());
  json.endObject();
  json.endObject();
  return json.take();
}

} // namespace dlc
