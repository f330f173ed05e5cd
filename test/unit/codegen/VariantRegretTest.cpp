//===- VariantRegretTest.cpp - What one file for all shapes loses, by the estimates -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product whose rows are symbolic, bound to each number of rows: what its kernel is estimated to
// take, of what the best tile for that number takes.
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"
#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/schedule/contraction/ContractionChoice.h"
#include "ir/dl/DLOps.h"
#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace mlir;
using namespace dlc;
using namespace dlc::codegen;

namespace {
struct Layer {
  const char *what, *type;
  int64_t depth, columns;
};

/// Products of BERT-base, GPT-2, a Llama of 2048, and a head of ten classes.
constexpr Layer kLayers[] = {
    {"BERT qkv", "f32", 768, 768},     {"BERT up", "f32", 768, 3072},
    {"BERT down", "f32", 3072, 768},   {"BERT up", "f16", 768, 3072},
    {"BERT down", "f16", 3072, 768},   {"Llama gate", "f16", 2048, 5632},
    {"Llama down", "f16", 5632, 2048}, {"Llama out", "f16", 2048, 2048},
    {"head", "f32", 2048, 10},         {"a long sum", "bf16", 8192, 256},
};

struct Regret {
  double mean, worst;
  int64_t worstRows;
  size_t kernels;
};

class VariantRegretTest : public testing::Test {
protected:
  Regret regretOf(const Layer &layer, bool parts) {
    std::string k = std::to_string(layer.depth), n = std::to_string(layer.columns),
                type = layer.type;
    std::string x = "tensor<?x" + k + "x" + type + ", #dl.t<[s0, " + k + "]>>",
                w = "tensor<" + n + "x" + k + "x" + type + ">",
                y = "tensor<?x" + n + "x" + type + ", #dl.t<[s0, " + n + "]>>";
    std::string source =
        "module attributes {dl.symbols = [#dl.symbol<\"N\", 9, 4096>]} {\nmodule @cuda {\n"
        "dlx.kernel @k attributes {kind = #dlx.kind<contraction>} {\n^bb0(%x: " +
        x + ", %w: " + w + "):\n%0 = dl.linear %x, %w : (" + x + ", " + w + ") -> " + y +
        "\ndl.yield %0 : " + y + "\n}\n}\n}\n";
    DialectRegistry registry;
    registry.insert<dl::DLDialect, dlx::DLXDialect>();
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    auto module = parseSourceString<ModuleOp>(source, &context);
    PassManager passes(&context);
    SelectSchedulesCudaPassOptions options;
    options.hopper = "never";
    options.parts = parts;
    addScheduleCuda(passes, options);
    EXPECT_TRUE(module && succeeded(passes.run(*module)));
    dlx::KernelOp general;
    module->walk([&](dlx::KernelOp kernel) {
      if (kernel.getSymName() == "k")
        general = kernel;
    });
    int64_t bytes = layer.type == std::string("f32") ? 4 : 2;
    auto unit = bytes == 4 ? ProductUnit::floats : ProductUnit::tensorCores;
    size_t kernels = 1;
    ArrayAttr variants = general.getVariantsAttr();
    if (variants)
      kernels += variants.size();
    double sum = 0, worst = 0;
    int64_t count = 0, worstRows = 0;
    for (int64_t rows = 9; rows <= 4096; rows = std::max(rows + 1, rows * 21 / 20)) {
      std::string taken = "k";
      for (Attribute attribute : variants ? variants.getValue() : ArrayRef<Attribute>()) {
        auto variant = cast<dlx::VariantAttr>(attribute);
        if (taken == "k" && rows >= variant.getLimits()[0] && rows <= variant.getLimits()[1])
          taken = variant.getKernel().getValue().str();
      }
      ProductShape shape = {rows, layer.columns, layer.depth, 1, bytes};
      // The columns are what lies together in the result.
      double ratio = estimatedClocks(tileOf(*module, taken, unit), shape, kHopper) /
                     estimatedClocks(chooseTile(unit, shape, kHopper, true), shape, kHopper);
      sum += std::log(ratio);
      ++count;
      if (ratio > worst) {
        worst = ratio;
        worstRows = rows;
      }
    }
    return {std::exp(sum / double(count)), worst, worstRows, kernels};
  }

private:
  static ProductTile tileOf(ModuleOp module, const std::string &kernel, ProductUnit unit) {
    ProductTile tile = {};
    tile.unit = unit;
    module.walk([&](gpu::GPUFuncOp function) {
      if (function.getName() != "dlc_" + kernel)
        return;
      function.walk([&](dlk::CallOp call) {
        auto number = [&](StringRef name, int64_t otherwise) {
          auto value = call.getConfig().getAs<IntegerAttr>(name);
          return value ? value.getInt() : otherwise;
        };
        tile = {
            number("tile_m", 0),  number("tile_n", 0),  number("tile_k", 0), number("warps_m", 0),
            number("warps_n", 0), number("warps_k", 0), number("stages", 0), unit,
            number("parts", 1)};
      });
    });
    EXPECT_GT(tile.m, 0) << kernel << " has no tile";
    return tile;
  }

  MLIRContext context;
};
} // namespace

TEST_F(VariantRegretTest, OfProductsWithSymbolicRows) {
  double before = 0, after = 0, worst = 0;
  for (const Layer &layer : kLayers) {
    Regret one = regretOf(layer, false), several = regretOf(layer, true);
    std::printf("%-11s %-4s %5lld x %-5lld one kernel %.2f (worst %6.2f)   %zu kernels %.3f (worst "
                "%.2f, %lld rows)\n",
                layer.what, layer.type, (long long)layer.depth, (long long)layer.columns, one.mean,
                one.worst, several.kernels, several.mean, several.worst,
                (long long)several.worstRows);
    EXPECT_LE(several.kernels, 6u) << layer.what;
    EXPECT_LE(several.mean, one.mean + 1e-9) << layer.what;
    before += std::log(one.mean);
    after += std::log(several.mean);
    worst = std::max(worst, several.worst);
  }
  before = std::exp(before / std::size(kLayers));
  after = std::exp(after / std::size(kLayers));
  std::printf("geometric mean over 9 to 4096 rows, of the best tile's time: one kernel %.2f, "
              "variants %.3f, worst %.2f\n",
              before, after, worst);
  EXPECT_LE(after, 1.05);
  EXPECT_LE(worst, 2.1);
}
