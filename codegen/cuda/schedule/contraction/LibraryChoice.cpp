//===- LibraryChoice.cpp - Which products cuBLASLt gets -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The estimate: tiles of fixed sides, shared out among the multiprocessors in turns, at a rate that
// was measured on the H100 (LibraryRates). For every GPU that the file is for, the kernels and the
// call are compared at some shapes.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/schedule/contraction/LibraryChoice.h"

#include "codegen/cuda/schedule/Schedules.h"
#include "codegen/cuda/schedule/variants/ShapeSamples.h"
#include "codegen/plan/PlanChoice.h"
#include "ir/machine/EstimateMargins.h"

#include <cmath>

using namespace mlir;

namespace dlc::codegen {

/// Sides of the library's tiles, of 16-bit elements and of floats.
static constexpr double kTileOfHalves[] = {128, 256}, kTileOfFloats[] = {64, 128};
/// Shapes at which the call and the kernels are compared, and parts in which it may pay.
static constexpr size_t kSamples = 25, kMostParts = 3;
static constexpr int64_t kLargestSampled = 16384;

static double nanosecondsOfCall(PlanQuestion &question) {
  const Contraction &c = *question.product();
  const GpuModel &gpu = question.k.gpu();
  double m = question.usualOf(c.m), n = question.usualOf(c.n), depth = question.usualOf(c.depth),
         batch = question.usualOf(c.batch);
  Type element = getElementTypeOrSelf(question.kernel().getResultTensors().front().getType());
  bool isOfFloats = element.isF32() && !question.allowsTf32;
  double rate = isOfFloats        ? gpu.library.floats
                : element.isF32() ? gpu.library.halves / 2
                                  : gpu.library.halves;
  const double *tile = isOfFloats ? kTileOfFloats : kTileOfHalves;
  // Tall and wide products are as good as each other.
  double tiles = batch * std::min(std::ceil(m / tile[0]) * std::ceil(n / tile[1]),
                                  std::ceil(m / tile[1]) * std::ceil(n / tile[0]));
  double turns = std::ceil(tiles / double(gpu.multiprocessors));
  double bytes = batch * (m * depth + n * depth + m * n) * element.getIntOrFloatBitWidth() / 8;
  return question.nanoseconds(gpu.library.ends) +
         std::max(question.nanoseconds(turns * tile[0] * tile[1] * depth / rate),
                  bytes / gpu.memoryBytes);
}

static dlx::PlanAttr match(PlanQuestion &question) {
  if (question.kind() != dlx::KernelKind::contraction || !question.product() ||
      !libraryCallOf(*question.product(), question.allowsTf32))
    return {};
  return dlx::PlanAttr::get(question.kernel().getContext(), kLibrarySchedule.name,
                            nanosecondsOfCall(question), {});
}

//===- Where it pays --------------------------------------------------------------------------===//

namespace {
/// The kernels that compute one product, and the call.
class LibraryChoice {
public:
  LibraryChoice(dlx::KernelOp kernel, PlanQuestion &question) : kernel(kernel), question(question) {
    Contraction &c = *question.product();
    extents =
        dividersOf({c.m.extent, c.n.extent, c.batch.extent, c.depth.extent}, question.k.ranges());
  }

  /// Where the call pays: entries of `product_calls`.
  SmallVector<Attribute> calls();

private:
  /// Nanoseconds of the kernel that serves these shapes on this GPU.
  double nanosecondsOfKernel(PlanQuestion &one, ArrayRef<dl::Range> shapes, const GpuModel &gpu);
  /// The same of the kernel and of the call, for which it must be clearly faster.
  std::vector<double> costs(PlanQuestion &one, ArrayRef<dl::Range> shapes, const GpuModel &gpu);

  dlx::KernelOp kernel;
  PlanQuestion &question;
  SmallVector<AffineExpr> extents;
};
} // namespace

double LibraryChoice::nanosecondsOfKernel(PlanQuestion &one, ArrayRef<dl::Range> shapes,
                                          const GpuModel &gpu) {
  auto holds = [&](dlx::VariantAttr variant) {
    if (variant.getGpu() != 0 && variant.getGpu() != gpu.architecture)
      return false;
    if (!variant.getOf())
      return true;
    for (auto [position, of] : llvm::enumerate(variant.getOf().getValue().getResults())) {
      auto value = dl::rangeOf(of, shapes);
      if (!value || value->min < variant.getLimits()[2 * position] ||
          value->min > variant.getLimits()[2 * position + 1])
        return false;
    }
    return true;
  };
  if (ArrayAttr variants = kernel.getVariantsAttr())
    for (auto variant : variants.getAsRange<dlx::VariantAttr>())
      if (holds(variant))
        return nanosecondsBy(*SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(
                                  kernel->getParentOp(), variant.getKernel())
                                  .getPlan(),
                             one);
  return nanosecondsBy(*kernel.getPlan(), one);
}

std::vector<double> LibraryChoice::costs(PlanQuestion &one, ArrayRef<dl::Range> shapes,
                                         const GpuModel &gpu) {
  one.k.askedGpu = &gpu;
  double kernel = nanosecondsOfKernel(one, shapes, gpu), call = nanosecondsOfCall(one);
  one.k.askedGpu = nullptr;
  return {kernel, call / kMargins.change};
}

SmallVector<Attribute> LibraryChoice::calls() {
  SmallVector<Attribute> found;
  MLIRContext *context = kernel.getContext();
  auto callOn = [&](int64_t gpu) -> Attribute {
    return dlx::CallAttr::get(context, gpu, AffineMapAttr(), DenseI64ArrayAttr());
  };
  ShapeSamples samples(extents, question.k.ranges(), kSamples, kLargestSampled);
  if (samples.size() == 0)
    return found;
  SmallVector<const GpuModel *> gpus;
  if (kernel->getParentOfType<ModuleOp>()->hasAttr(kTargetGpu))
    gpus.push_back(&question.k.gpu());
  else
    for (const GpuModel &gpu : kGpus)
      gpus.push_back(&gpu);
  // Where it does not pay for the largest shape, it does for none: it has fewer tiles to share out.
  size_t last = samples.size() - 1;
  PlanQuestion largest(question, samples.symbolsAt(last));
  llvm::erase_if(gpus, [&](const GpuModel *gpu) {
    std::vector<double> both = costs(largest, samples.symbolsAt(last), *gpu);
    return both[0] <= both[1];
  });
  if (gpus.empty())
    return found;
  if (extents.empty()) {
    if (gpus.size() == std::size(kGpus))
      return {callOn(0)};
    for (const GpuModel *gpu : gpus)
      found.push_back(callOn(gpu->architecture));
    return found;
  }
  std::vector<std::vector<std::vector<double>>> all(gpus.size());
  for (size_t sample = 0; sample < samples.size(); ++sample) {
    PlanQuestion one(question, samples.symbolsAt(sample));
    for (auto [gpu, ofGpu] : llvm::zip_equal(gpus, all))
      ofGpu.push_back(costs(one, samples.symbolsAt(sample), *gpu));
  }
  for (auto [gpu, ofGpu] : llvm::zip_equal(gpus, all)) {
    for (const ServedPart &part :
         samples.divide([&](size_t sample) { return ofGpu[sample]; }, extents, kMostParts))
      found.push_back(dlx::CallAttr::get(
          context, gpu->architecture,
          AffineMapAttr::get(dl::dimsMap({part.shapes->extent}, context)),
          DenseI64ArrayAttr::get(context, {part.shapes->range.min, part.shapes->range.max})));
  }
  return found;
}

void recordLibraryCall(dlx::KernelOp kernel, PlanQuestion &question, LibraryUse use) {
  if (!question.product())
    return;
  std::optional<LibraryCall> call = libraryCallOf(*question.product(), question.allowsTf32);
  if (!call)
    return;
  MLIRContext *context = kernel.getContext();
  SmallVector<Attribute> calls;
  if (use == LibraryUse::always)
    calls.push_back(dlx::CallAttr::get(context, 0, AffineMapAttr(), DenseI64ArrayAttr()));
  else if (use == LibraryUse::asEstimated)
    calls = LibraryChoice(kernel, question).calls();
  auto record = [&](dlx::KernelOp one) {
    one.setProductAttr(AffineMapAttr::get(call->product));
    one.setProductInputsAttr(DenseI64ArrayAttr::get(context, call->inputs));
    one.setProductTf32(call->tf32);
    if (!calls.empty())
      one.setProductCallsAttr(ArrayAttr::get(context, calls));
  };
  record(kernel);
  if (ArrayAttr variants = kernel.getVariantsAttr())
    for (auto variant : variants.getAsRange<dlx::VariantAttr>())
      record(SymbolTable::lookupNearestSymbolFrom<dlx::KernelOp>(kernel->getParentOp(),
                                                                 variant.getKernel()));
}

constinit const Schedule kLibrarySchedule = {"cublaslt", match, nullptr};

} // namespace dlc::codegen
