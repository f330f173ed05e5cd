//===- QuantizationGain.cpp - What integers and weights in few bits are estimated to gain -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/quantize/QuantizationGain.h"

#include "ir/kernel/Sides.h"
#include "ir/machine/CpuModel.h"
#include "ir/machine/GpuModel.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace dlc {

/// Columns that a panel of the CPU holds, and neighbours that it multiplies at once.
static constexpr int64_t kPanel = 16, kNeighbours = 4;
/// An image of at most so many channels is not laid channels last (AssignLayouts).
static constexpr int64_t kFewChannels = 4;
/// Rows and columns of a tile on a GPU, and steps of a sum that a block takes at least.
static constexpr double kGpuTile = 64, kGpuPart = 256;

namespace {
/// A product as the estimate sees it: numbers of elements and of multiply-adds.
struct Work {
  double products = 1, results = 1, activations = 1, weights = 1;
  double rows = 1, columns = 1, depth = 1; // of one matrix product; a batch has `batch` of them
  double batch = 1;
  int64_t neighbours = 1;  // steps of the sum that lie together in the activation
  bool hasColumns = false; // results of one activation by many weights: a matrix product
  bool isGrouped = false;  // in groups
};
} // namespace

/// A weight of 4 bits has a share in the scale and the zero point of its group.
static double bytesOfWeight(unsigned bits) { return bits == 8 ? 1 : 5.25 / 8; }

/// The symbols' usual sizes, or their smallest.
static SmallVector<dl::Range> sizesOf(Operation *op) {
  SmallVector<dl::Range> symbols = dl::symbolRanges(op->getParentOfType<ModuleOp>());
  for (dl::Range &symbol : symbols)
    if (symbol.usual == 0)
      symbol.usual = std::max<int64_t>(1, symbol.min);
  return symbols;
}

namespace {
/// The sizes of tensors at the usual sizes of the symbols of a module.
class UsualSizes {
public:
  explicit UsualSizes(Operation *op) : symbols(sizesOf(op)) {}
  int64_t of(AffineExpr dim) {
    auto size = dl::usualOf(dim, symbols);
    allAreKnown &= size.has_value();
    return size.value_or(1);
  }
  double ofTensor(Value tensor) {
    double size = 1;
    for (AffineExpr dim : dl::getDims(cast<RankedTensorType>(tensor.getType())))
      size *= static_cast<double>(of(dim));
    return size;
  }
  /// False where one of those that were asked for has no usual size.
  bool areKnown() const { return allAreKnown; }

private:
  SmallVector<dl::Range> symbols;
  bool allAreKnown = true;
};
} // namespace

/// The data say how large the op's result is.
static bool isCounted(Operation *op) {
  return dl::mentions(dl::getDims(cast<RankedTensorType>(op->getResult(0).getType())),
                      dl::countedSymbols(op->getParentOfType<ModuleOp>()));
}

static std::optional<Work> workOf(Operation *op, unsigned weightOperand) {
  auto loops = dyn_cast<LoopNestOpInterface>(op);
  if (!loops)
    return std::nullopt;
  LoopNest nest = loops.getLoopNest();
  auto sides = findSides(nest, 1 - weightOperand);
  if (!sides || isCounted(op))
    return std::nullopt;
  UsualSizes sizes(op);
  const Access &activation = nest.terms[1 - weightOperand], &weight = nest.terms[weightOperand];
  Work work;
  work.activations = sizes.ofTensor(op->getOperand(activation.operand));
  work.weights = sizes.ofTensor(op->getOperand(weight.operand));
  for (unsigned dim = 0; dim < nest.parallel.size(); ++dim) {
    auto size = static_cast<double>(sizes.of(nest.parallel[dim]));
    work.results *= size;
    (sides->rows.test(dim)      ? work.rows
     : sides->columns.test(dim) ? work.columns
                                : work.batch) *= size;
  }
  work.hasColumns = sides->columns.any();
  // Groups of channels, or of one channel each.
  work.isGrouped = sides->groups.any() || (nest.isWindow() && sides->batch.any());
  for (auto [loop, extent] : llvm::enumerate(nest.reduction)) {
    int64_t size = sizes.of(extent);
    work.depth *= static_cast<double>(size);
    // Channels of an image lie together; a matrix has one loop.
    unsigned dim = nest.parallel.size() + loop;
    if (!nest.isWindow() || activation.map.getResult(1).isFunctionOfDim(dim))
      work.neighbours = std::max(work.neighbours, size);
  }
  work.products = work.results * work.depth;
  return sizes.areKnown() ? std::optional(work) : std::nullopt;
}

/// Elements that a look-up reads and gives, and those of its table.
struct Rows {
  double elements, table;
};

static std::optional<Rows> rowsOf(const OpOperand &table) {
  Operation *op = table.getOwner();
  if (isCounted(op))
    return std::nullopt;
  UsualSizes sizes(op);
  Rows rows = {sizes.ofTensor(op->getResult(0)), sizes.ofTensor(table.get())};
  return sizes.areKnown() ? std::optional(rows) : std::nullopt;
}

//===- The CPU --------------------------------------------------------------------------------===//

/// Nanoseconds that reading `bytes` of weights takes beside arithmetic of `compute`.
static double withWeights(const CpuModel &cpu, double compute, double bytes) {
  double memory = bytes > cpu.weightCache ? bytes / cpu.memory : 0;
  // About half of the shorter one is not hidden.
  return std::max(compute, memory) + std::min(compute, memory) / 2;
}

/// Multiply-adds with panels filled up.
static double filledProducts(const Work &work) {
  auto columns = static_cast<int64_t>(work.columns);
  return work.products * static_cast<double>(llvm::alignTo(columns, kPanel)) / work.columns;
}

static double floatsOnCpu(const CpuModel &cpu, const Work &work) {
  if (!work.hasColumns || work.isGrouped)
    return work.products / cpu.looseFloats;
  Rate rate = work.neighbours <= kFewChannels ? cpu.fewChannels : cpu.floatProducts;
  return withWeights(cpu, filledProducts(work) / rate, work.weights * 4);
}

static TargetGain integersOnCpu(const Work &work, double readers) {
  const CpuModel &cpu = kAvx512Vnni;
  double convert = work.activations / readers / cpu.roundedNumbers + work.results / cpu.scaledSums;
  double products = work.products / cpu.looseIntegers;
  if (work.hasColumns && !work.isGrouped && work.neighbours > 1) {
    double filled = filledProducts(work) *
                    static_cast<double>(llvm::alignTo(work.neighbours, kNeighbours)) /
                    static_cast<double>(work.neighbours);
    products = withWeights(cpu, filled / cpu.byteProducts, work.weights);
  }
  return {"cpu", floatsOnCpu(cpu, work) / 1e3, (products + convert) / 1e3, convert / 1e3, false};
}

/// Numbers are rounded to floats of 8 bits, and multiplied in f32.
static TargetGain float8OnCpu(const Work &work, double readers) {
  const CpuModel &cpu = kAvx512Vnni;
  double before = floatsOnCpu(cpu, work),
         convert = work.activations / readers / cpu.roundedNumbers + work.results / cpu.scaledSums;
  return {"cpu", before / 1e3, (before + convert) / 1e3, convert / 1e3, false};
}

static TargetGain fewBitsOnCpu(const Work &work, unsigned bits) {
  const CpuModel &cpu = kAvx512Vnni;
  double passes = std::ceil(work.rows / cpu.rowsAtOnce);
  double convert = passes * work.weights / (bits == 8 ? cpu.unpackedBytes : cpu.unpackedHalves);
  double products = filledProducts(work) / cpu.floatProducts;
  double after = withWeights(cpu, products + convert, work.weights * bytesOfWeight(bits));
  return {"cpu", floatsOnCpu(cpu, work) / 1e3, after / 1e3, convert / 1e3, false};
}

/// One multiplication an element, beside reading its row.
static TargetGain rowsOnCpu(const Rows &rows, unsigned bits) {
  const CpuModel cpu = kAvx512Vnni;
  auto time = [&](double compute, double bytes) {
    double memory = rows.table * bytes > cpu.weightCache ? rows.elements * bytes / cpu.memory : 0;
    return std::max(compute, memory) + std::min(compute, memory) / 2;
  };
  double moved = rows.elements / cpu.looseFloats,
         convert = rows.elements / (bits == 8 ? cpu.unpackedBytes : cpu.unpackedHalves);
  return {"cpu", time(moved, 4) / 1e3, time(moved + convert, bytesOfWeight(bits)) / 1e3,
          convert / 1e3, false};
}

//===- CUDA -----------------------------------------------------------------------------------===//

/// Microseconds of a product at `rate` multiply-adds a multiprocessor and clock, and of `bytes`.
static double onGpu(const GpuModel &gpu, const Work &work, double rate, double bytes) {
  double blocks = std::ceil(work.rows / kGpuTile) * std::ceil(work.columns / kGpuTile) *
                  work.batch * std::ceil(work.depth / kGpuPart);
  auto all = static_cast<double>(gpu.multiprocessors);
  double products = work.products / (rate * gpu.gigahertz * std::min(all, blocks));
  return gpu.launchInRow + std::max(products, bytes / gpu.memoryBytes) / 1e3;
}

/// Bytes that a product reads and writes, activations and weights of so many each.
static double bytesOf(const Work &work, double ofActivation, double ofWeight) {
  return work.activations * ofActivation + work.weights * ofWeight + work.results * 4;
}

static double asItIsOnGpu(const GpuModel &gpu, const Work &work, Precision precision) {
  double rate = work.isGrouped                 ? gpu.floatProducts
                : isNarrow(precision)          ? gpu.halfProducts
                : precision == Precision::tf32 ? gpu.halfProducts / 2
                                               : gpu.floatProducts,
         bytes = isNarrow(precision) ? 2 : 4;
  return onGpu(gpu, work, rate, bytesOf(work, bytes, bytes));
}

/// Integers, or floats of 8 bits; groups of the latter are computed in f32.
static TargetGain bytesOnGpu(const Work &work, double readers, Precision precision, bool isFloat8) {
  const GpuModel &gpu = kHopper;
  double before = asItIsOnGpu(gpu, work, precision),
         convert = work.activations * (4 + 1) / readers / gpu.memoryBytes / 1e3;
  if (work.isGrouped && isFloat8)
    return {"cuda", before, asItIsOnGpu(gpu, work, Precision::f32) + convert, convert, true};
  double rate = work.isGrouped ? gpu.floatProducts / 2 : gpu.halfProducts * 2;
  return {"cuda", before, onGpu(gpu, work, rate, bytesOf(work, 1, 1)) + convert, convert, true};
}

static TargetGain fewBitsOnGpu(const Work &work, unsigned bits, Precision precision) {
  const GpuModel &gpu = kHopper;
  double blocks = std::ceil(work.rows / kGpuTile) * std::ceil(work.columns / kGpuTile);
  double convert =
      std::ceil(work.rows / kGpuTile) * work.weights /
      (gpu.unpacked * gpu.gigahertz * std::min(static_cast<double>(gpu.multiprocessors), blocks)) /
      1e3;
  return {"cuda", asItIsOnGpu(gpu, work, precision),
          onGpu(gpu, work, gpu.floatProducts, bytesOf(work, 4, bytesOfWeight(bits))) + convert,
          convert, true};
}

static TargetGain rowsOnGpu(const Rows &rows, unsigned bits, Precision precision) {
  constexpr GpuModel gpu = kHopper;
  auto time = [&](double bytes) {
    return gpu.launchInRow + rows.elements * (bytes + 4) / gpu.memoryBytes / 1e3;
  };
  return {"cuda", time(isNarrow(precision) ? 2 : 4), time(bytesOfWeight(bits)), 0, true};
}

//===- All targets ----------------------------------------------------------------------------===//

/// Products of weights that read `activation`: they read one tensor of bytes.
static double readersOf(Value activation) {
  int64_t readers = 0;
  for (OpOperand &use : activation.getUses())
    if (auto loops = dyn_cast<LoopNestOpInterface>(use.getOwner()))
      readers += loops.getLoopNest().isProduct;
  return static_cast<double>(std::max<int64_t>(1, readers));
}

std::vector<TargetGain> gainsOfProduct(const QuantizableProduct &product, QuantizationScheme scheme,
                                       const GainTargets &of) {
  std::vector<TargetGain> gains;
  auto work = workOf(product.op, product.weight);
  if (!work || scheme == QuantizationScheme::dynamic)
    return gains;
  double readers = readersOf(product.getActivation());
  const bool isFloat8 = scheme == QuantizationScheme::fp8;
  for (const std::string &target : of.targets)
    if (target == "cpu")
      gains.push_back(isFloat8 ? float8OnCpu(*work, readers) : integersOnCpu(*work, readers));
    else
      gains.push_back(bytesOnGpu(*work, readers, of.precision, isFloat8));
  return gains;
}

std::vector<TargetGain> gainsOfFewBits(const PackableWeight &weight, unsigned bits,
                                       const GainTargets &of) {
  std::vector<TargetGain> gains;
  for (const std::string &target : of.targets) {
    TargetGain all = {target, 0, 0, 0, false};
    const bool isCpu = target == "cpu";
    auto add = [&](const TargetGain &gain) {
      all.before += gain.before;
      all.after += gain.after;
      all.convert += gain.convert;
      all.isModelled |= gain.isModelled;
    };
    for (OpOperand *use : weight.products) {
      auto work = workOf(use->getOwner(), use->getOperandNumber());
      if (!work)
        return {};
      add(isCpu ? fewBitsOnCpu(*work, bits) : fewBitsOnGpu(*work, bits, of.precision));
    }
    for (OpOperand *use : weight.tables) {
      auto rows = rowsOf(*use);
      if (!rows)
        return {};
      add(isCpu ? rowsOnCpu(*rows, bits) : rowsOnGpu(*rows, bits, of.precision));
    }
    gains.push_back(std::move(all));
  }
  return gains;
}

std::string gainText(ArrayRef<TargetGain> gains, bool keepsLosses) {
  std::string text;
  for (const TargetGain &gain : gains) {
    text += text.empty() ? "" : ", ";
    const bool isKept = keepsLosses && gain.isLoss();
    text +=
        (isKept ? llvm::formatv("{0:F2}x", gain.gain()) : llvm::formatv("{0:F1}x", gain.gain()));
    if (gains.size() > 1)
      text += " " + gain.target;
    if (gain.isModelled)
      text += " (modelled)";
    if (isKept)
      text += ": kept in f32";
  }
  return text;
}

/// Microseconds in two digits or three.
static std::string timeText(double time) {
  return llvm::formatv(time < 10 ? "{0:F1} us" : "{0:F0} us", time).str();
}

std::string lossText(StringRef scheme, ArrayRef<TargetGain> gains) {
  std::string text = scheme.str();
  for (const TargetGain &gain : gains) {
    bool isFirst = &gain == &gains.front();
    text += llvm::formatv("{0} {1:F2}x on {2} (convert {3}{4})", isFirst ? "" : ",", gain.gain(),
                          gain.target, timeText(gain.convert), gain.isModelled ? ", modelled" : "")
                .str();
  }
  return text;
}

} // namespace dlc
