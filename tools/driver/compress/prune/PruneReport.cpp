//===- PruneReport.cpp - What dlc prune did, for people and programs ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compress/prune/PruneReport.h"

#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <array>
#include <functional>
#include <numeric>

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

static std::string dimsOf(llvm::ArrayRef<int64_t> dims) {
  return llvm::join(llvm::map_range(dims, [](int64_t dim) { return std::to_string(dim); }), "x");
}

static std::string dimsOf(const frontend::StoredTensor &tensor) { return dimsOf(tensor.shape); }

/// Lines of cells, those of the columns of `numbers` aligned to the right; columns without text go.
template <size_t Size>
static std::string alignedText(llvm::ArrayRef<std::array<std::string, Size>> rows,
                               llvm::ArrayRef<size_t> numbers) {
  std::array<size_t, Size> widths{};
  for (const auto &row : rows)
    for (auto [width, cell] : llvm::zip_equal(widths, row))
      width = std::max(width, cell.size());
  std::string text;
  for (const auto &row : rows) {
    std::string line;
    for (size_t i = 0; i < Size; ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0 && widths[i] > 0)
        line += "  ";
      line += llvm::is_contained(numbers, i) ? padding + row[i] : row[i] + padding;
    }
    text += llvm::StringRef(line).rtrim().str() + "\n";
  }
  return text;
}

std::string tableOf(const PruneReport &report) {
  constexpr size_t kError = 5, kNote = 6;
  using Row = std::array<std::string, kNote + 1>;
  std::vector<Row> rows{{"weight", "dims", "zeros before", "after", "removed", "", ""}};
  auto add = [&](std::string name, std::string dims, const ZeroEffect &effect) {
    rows.push_back({std::move(name), std::move(dims), percent(shareOf(effect.zerosBefore, effect)),
                    percent(shareOf(effect.zerosAfter, effect)), percent(effect.removedShare())});
  };
  for (const PrunedWeight &weight : report.weights) {
    add(weight.path, dimsOf(*weight.tensor), weight.effect);
    if (weight.outputError) {
      rows.front()[kError] = "output error";
      rows.back()[kError] = percent(*weight.outputError);
    }
    if (!weight.whyKept.empty())
      rows.back()[kNote] = "left alone: " + weight.whyKept;
  }
  const ZeroEffect total = report.total();
  add("all", std::to_string(total.numbers), total);
  std::string text = alignedText<kNote + 1>(rows, {2, 3, 4, kError});
  if (report.reordering)
    text += llvm::formatv("channels that changed places: {0}; the zeros leave {1} of the weights' "
                          "worth, {2} in their own order\n",
                          report.reordering->channels, percent(report.reordering->keptAfter),
                          percent(report.reordering->keptBefore))
                .str();
  return text;
}

static int64_t countOf(llvm::ArrayRef<int64_t> dims) {
  return dims.empty() ? 0
                      : std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies());
}

/// "1,234 -> 617, 50.00 % less"
static std::string change(double before, double after) {
  const double share = before > 0 ? 1 - after / before : 0;
  return llvm::formatv("{0:N} -> {1:N}, {2} less", static_cast<int64_t>(before),
                       static_cast<int64_t>(after), percent(share))
      .str();
}

static std::pair<int64_t, int64_t> countsOf(const SmallerReport &report) {
  std::pair<int64_t, int64_t> counts = {0, 0};
  for (const SmallerReport::Weight &weight : report.weights) {
    counts.first += countOf(weight.before);
    counts.second += countOf(weight.after);
  }
  return counts;
}

std::string tableOf(const SmallerReport &report) {
  std::vector<std::array<std::string, 3>> rows{{"weight", "dims before", "after"}};
  for (const SmallerReport::Weight &weight : report.weights)
    if (weight.before != weight.after)
      rows.push_back({weight.path, dimsOf(weight.before), dimsOf(weight.after)});
  auto [before, after] = countsOf(report);
  return alignedText<3>(rows, {}) +
         "numbers: " + change(static_cast<double>(before), static_cast<double>(after)) +
         "\nmultiplications: " + change(report.multiplicationsBefore, report.multiplicationsAfter) +
         "\n";
}

std::string jsonOf(const SmallerReport &report, const PruneOptions &options) {
  Json json;
  json.beginObject();
  json.string("model", options.input);
  json.string("output", options.output);
  json.string("pattern", options.pattern);
  json.string("method", options.method);
  json.real("sparsity", *options.sparsity);
  json.beginArray("weights");
  for (const SmallerReport::Weight &weight : report.weights)
    json.beginObject()
        .string("name", weight.path)
        .string("dims_before", dimsOf(weight.before))
        .string("dims_after", dimsOf(weight.after))
        .endObject();
  json.endArray();
  auto [before, after] = countsOf(report);
  json.integer("numbers_before", before);
  json.integer("numbers_after", after);
  json.real("multiplications_before", report.multiplicationsBefore);
  json.real("multiplications_after", report.multiplicationsAfter);
  json.endObject();
  return json.take();
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
  json.string("method", options.method);
  json.real("sparsity", options.sparsity.value_or(0.5));
  json.string("allocation", options.allocation);
  json.integer("steps", options.steps);
  json.beginArray("weights");
  for (const PrunedWeight &weight : report.weights) {
    json.beginObject();
    json.string("name", weight.path);
    json.string("dtype", frontend::nameOf(weight.tensor->type));
    json.string("dims", dimsOf(*weight.tensor));
    addEffect(json, weight.effect);
    if (weight.outputError)
      json.real("output_error", *weight.outputError);
    if (!weight.whyKept.empty())
      json.string("left_alone", weight.whyKept);
    json.endObject();
  }
  json.endArray();
  json.beginObject("all");
  addEffect(json, report.total());
  json.endObject();
  if (report.reordering) {
    json.beginObject("reordering");
    json.integer("channels", report.reordering->channels);
    json.real("kept_before", report.reordering->keptBefore);
    json.real("kept_after", report.reordering->keptAfter);
    json.endObject();
  }
  json.endObject();
  return json.take();
}

template <class Report> static int finish(const Report &report, const PruneOptions &options) {
  if (!options.report.empty())
    if (int code = writeFile(options.report, jsonOf(report, options)))
      return code;
  return options.quiet ? static_cast<int>(kOk) : finishOutput(tableOf(report));
}

int finishReport(const SmallerReport &report, const PruneOptions &options) {
  return finish(report, options);
}
int finishReport(const PruneReport &report, const PruneOptions &options) {
  return finish(report, options);
}

} // namespace dlc
