//===- ValidatePasses.cpp - Runs the model before and after each pass ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/ValidatePasses.h"

#include "tools/driver/weights/WeightReader.h"

#include "ir/analysis/CostModel.h"
#include "ir/dl/base/DimNeeds.h"
#include "ir/interpreter/Interpreter.h"
#include "passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace dlc {

//===- Inputs and weights ---------------------------------------------------------------------===//

/// A small generator of our own: the same numbers on every machine.
namespace {
class Random {
public:
  explicit Random(uint64_t seed) : state(seed * 0x9E3779B97F4A7C15u + 1) {}
  uint64_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  }
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }

private:
  uint64_t state;
};
} // namespace

enum class Content { integers, random, special };
static constexpr std::pair<Content, const char *> kContents[] = {
    {Content::integers, "small integers"},
    {Content::random, "random numbers"},
    {Content::special, "special values"}};

static Tensor makeTensor(Type element, ArrayRef<int64_t> dims, Content content, Random &random) {
  Tensor tensor(element, dims);
  if (!tensor.isFloat()) {
    int64_t high = element.isInteger(1) ? 1 : 3,
            low = element.isUnsignedInteger() || element.isInteger(1) ? 0 : -3;
    for (int64_t &value : tensor.ints())
      value = random.integer(low, high);
    return tensor;
  }
  static const double special[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   -0.0,
                                   0.0,
                                   1.0e-40,
                                   -1.0};
  for (double &value : tensor.floats()) {
    bool isSpecial = content == Content::special && random.integer(0, 7) == 0;
    value = isSpecial                      ? special[random.integer(0, std::size(special) - 1)]
            : content == Content::integers ? static_cast<double>(random.integer(-3, 3))
                                           : random.uniform(-2, 2);
    value = roundTo(element, value);
  }
  return tensor;
}

/// The bytes that the weight names; without a file, positive numbers that its name decides.
static FailureOr<Tensor> readWeight(dl::WeightOp weight) {
  auto type = cast<RankedTensorType>(weight.getType());
  Type element = type.getElementType();
  Tensor tensor(element, type.getShape());
  if (!weight.getFile()) {
    Random random(llvm::xxh3_64bits(weight.getName()));
    if (!tensor.isFloat())
      return makeTensor(element, type.getShape(), Content::integers, random);
    for (double &value : tensor.floats())
      value = roundTo(element, random.uniform(0.125, 1));
    return tensor;
  }
  uint64_t bytes = static_cast<uint64_t>(tensor.size()) * elementBytes(element);
  if (weight.getOffset() == ~uint64_t(0)) {
    auto packed =
        readPackedWeight(weight, *weight.getFile(), weight.getSource().value_or(weight.getName()));
    if (failed(packed))
      return failure();
    if (packed->size() != bytes)
      return weight.emitError("weights file '")
             << *weight.getFile() << "' has changed: '" << weight.getName() << "' has "
             << packed->size() << " bytes, expected " << bytes;
    return Tensor::fromBytes(element, type.getShape(),
                             {reinterpret_cast<const char *>(packed->data()), bytes});
  }
  uint64_t size = 0;
  std::error_code unknown = llvm::sys::fs::file_size(*weight.getFile(), size);
  // A slice would be mapped beyond the file's end, and reading it would be the end of the process.
  if (!unknown && (size < bytes || weight.getOffset() > size - bytes))
    return weight.emitError("weights file '")
           << *weight.getFile() << "' has changed: it ends before '" << weight.getName() << "'";
  auto slice = llvm::MemoryBuffer::getFileSlice(*weight.getFile(), bytes, weight.getOffset());
  if (!slice)
    return weight.emitError("cannot read weights file '")
           << *weight.getFile() << "': " << slice.getError().message();
  return Tensor::fromBytes(element, type.getShape(), {(*slice)->getBufferStart(), bytes});
}

static func::FuncOp functionOf(ModuleOp module) {
  auto functions = module.getOps<func::FuncOp>();
  return functions.empty() ? func::FuncOp() : *functions.begin();
}

//===- Comparison -----------------------------------------------------------------------------===//

static bool isSame(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Position of the first element that moved more than `fraction` of the largest finite magnitude;
/// -1 if there is none.
static int64_t firstDifference(const Tensor &before, const Tensor &after, double fraction) {
  double largest = 0;
  for (int64_t i = 0; i < before.size(); ++i)
    if (std::isfinite(before.at(i)))
      largest = std::max(largest, std::abs(before.at(i)));
  for (int64_t i = 0; i < before.size(); ++i) {
    double a = before.at(i), b = after.at(i);
    if (isSame(a, b) || (fraction > 0 && std::abs(a - b) <= fraction * largest))
      continue;
    return i;
  }
  return -1;
}

static std::string indexText(int64_t position, ArrayRef<int64_t> dims) {
  SmallVector<std::string> parts;
  for (int64_t size : llvm::reverse(dims)) {
    parts.push_back(std::to_string(position % size));
    position /= size;
  }
  std::reverse(parts.begin(), parts.end());
  return "[" + llvm::join(parts, ", ") + "]";
}

/// An input in the type that convert-signature has given it.
static Tensor convertedTo(Type element, const Tensor &input) {
  if (input.getElementType() == element)
    return input;
  Tensor converted(element, input.getDims());
  for (int64_t i = 0; i < input.size(); ++i)
    converted.floats()[i] = roundTo(element, input.at(i));
  return converted;
}

//===- Runs -----------------------------------------------------------------------------------===//

FailureOr<SmallVector<Tensor>> PassValidator::run(ModuleOp module, ArrayRef<Tensor> inputs) {
  InterpreterOptions options;
  // Each value rounded to its dtype: then a pass that keeps the arithmetic keeps every bit.
  options.roundResults = true;
  options.readWeight = readWeight;
  ++numRuns;
  SmallVector<Tensor> converted;
  for (auto [input, type] : llvm::zip_equal(inputs, functionOf(module).getArgumentTypes()))
    converted.push_back(convertedTo(getElementTypeOrSelf(type), input));
  return interpret(functionOf(module), converted, symbols, options);
}

/// The ranges of the symbols, made so small that what the ops need of one symbol beyond them
/// (dl.needs) is there.
static SmallVector<dl::Range> usableRanges(ModuleOp module) {
  SmallVector<dl::Range> ranges = dl::symbolRanges(module);
  auto needs = module->getAttrOfType<ArrayAttr>("dl.needs");
  for (Attribute attribute : needs ? needs.getValue() : ArrayRef<Attribute>()) {
    auto need = cast<DictionaryAttr>(attribute);
    AffineExpr dim = need.getAs<AffineMapAttr>("dim").getValue().getResult(0);
    llvm::SmallDenseSet<AffineExpr> symbols;
    dim.walk([&](AffineExpr part) {
      if (isa<AffineSymbolExpr>(part))
        symbols.insert(part);
    });
    // One of several would have to fit all sizes of the others.
    if (symbols.size() > 1)
      continue;
    if (auto narrowed = dl::narrowingFor(dim, need.getAs<IntegerAttr>("least").getInt(), ranges,
                                         [](unsigned) { return true; }))
      ranges[narrowed->symbol] = narrowed->range;
  }
  return ranges;
}

/// Whether sizes of the symbols are such that the runtime would bind them.
static bool areUsable(ModuleOp module, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> values;
  for (auto [symbol, range] : llvm::zip(symbols, dl::symbolRanges(module))) {
    if (symbol < range.min || symbol > range.max)
      return false;
    values.push_back(getAffineConstantExpr(symbol, module.getContext()));
  }
  auto needs = module->getAttrOfType<ArrayAttr>("dl.needs");
  return llvm::all_of(needs ? needs.getValue() : ArrayRef<Attribute>(), [&](Attribute attribute) {
    auto need = cast<DictionaryAttr>(attribute);
    AffineExpr dim = need.getAs<AffineMapAttr>("dim").getValue().getResult(0);
    auto size = dl::asConstant(dl::normalize(dim.replaceSymbols(values)));
    int64_t least = need.getAs<IntegerAttr>("least").getInt();
    return size && (need.contains("exact") ? *size == least : *size >= least);
  });
}

/// Sizes that a runtime would bind: near `wanted`, of which each symbol takes the nearest in its
/// range, else small random ones; `wanted` itself where none is found.
static SmallVector<int64_t> usableSizes(ModuleOp module, ArrayRef<dl::Range> ranges,
                                        int64_t wanted) {
  auto sizesAt = [&](llvm::function_ref<int64_t()> size) {
    SmallVector<int64_t> symbols;
    for (dl::Range range : ranges)
      symbols.push_back(std::clamp<int64_t>(size(), range.min, range.max));
    bindComputed(module, symbols);
    return symbols;
  };
  constexpr int64_t kMostTries = 256;
  for (int64_t size = wanted; size < wanted + kMostTries; ++size)
    if (auto symbols = sizesAt([&] { return size; }); areUsable(module, symbols))
      return symbols;
  Random random(1);
  for (int64_t most = 0; most < kMostTries; ++most)
    if (auto symbols = sizesAt([&] { return random.integer(0, most / 8); });
        areUsable(module, symbols))
      return symbols;
  return sizesAt([&] { return wanted; });
}

LogicalResult PassValidator::begin(ModuleOp module) {
  func::FuncOp function = functionOf(module);
  if (!function)
    return module.emitError(
        "--validate-passes needs the model as one function; start before the compress phase");
  // 3 is small, odd, and no special case of any op.
  SmallVector<dl::Range> ranges = usableRanges(module);
  symbols = usableSizes(module, ranges, 3);
  auto evaluate = [&](AffineExpr dim) {
    SmallVector<AffineExpr> values;
    for (int64_t symbol : symbols)
      values.push_back(getAffineConstantExpr(symbol, module.getContext()));
    return *dl::asConstant(dl::normalize(dim.replaceSymbols(values)));
  };
  auto countFlops = [&] {
    int64_t flops = 0;
    function.walk([&](LoopNestOpInterface op) { flops += evaluate(flopsOf(op)); });
    function.walk([&](RecurrentOpInterface op) { flops += evaluate(flopsOf(op)); });
    function.walk([&](LineOpInterface op) { flops += evaluate(flopsOf(op)); });
    return flops;
  };
  int64_t flops = countFlops();
  if (flops > kMaxFlopsForEach) { // as little work as the model allows
    symbols = usableSizes(module, ranges, 0);
    flops = countFlops();
  }
  eachPass = flops <= kMaxFlopsForEach;

  for (auto [content, name] : kContents) {
    Random random(static_cast<uint64_t>(content) + 1);
    Sample sample{name, {}, {}};
    for (Type type : function.getArgumentTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      SmallVector<int64_t> dims;
      for (AffineExpr dim : dl::getDims(tensor))
        dims.push_back(evaluate(dim));
      sample.inputs.push_back(makeTensor(tensor.getElementType(), dims, content, random));
    }
    auto outputs = run(module, sample.inputs);
    if (failed(outputs))
      return failure();
    sample.outputs[""] = std::move(*outputs);
    samples.push_back(std::move(sample));
  }
  return success();
}

LogicalResult PassValidator::compare(ModuleOp module, StringRef pass, double allowed) {
  const StringRef target = module->getParentOp() ? *module.getName() : "";
  for (Sample &sample : samples) {
    auto outputs = run(module, sample.inputs);
    if (failed(outputs))
      return failure();
    // Infinities times scaled weights may turn out as NaN or not: a pass that moves results is not
    // held to them.
    bool isHeld = allowed == 0 || StringRef(sample.name) != "special values";
    // A target's first comparison is with the model of all.
    auto own = sample.outputs.find(target);
    const auto &known = own != sample.outputs.end() ? own->second : sample.outputs[""];
    for (auto [position, pair] : llvm::enumerate(llvm::zip(known, *outputs))) {
      auto &[before, after] = pair;
      int64_t where = isHeld ? firstDifference(before, after, allowed) : -1;
      if (where < 0)
        continue;
      auto name = functionOf(module).getResultAttrOfType<StringAttr>(position, "dl.name");
      finding = llvm::formatv(
          "pass '{0}' changed output '{1}' at {2} for {3}: {4:E9} before, {5:E9} after", pass,
          name ? name.str() : std::to_string(position), indexText(where, before.getDims()),
          sample.name, before.at(where), after.at(where));
      if (allowed > 0)
        finding += llvm::formatv(" (it may move results by {0:E1} of the largest)", allowed);
      return failure();
    }
    sample.outputs[target] = std::move(*outputs);
  }
  return success();
}

LogicalResult PassValidator::compareAll(ModuleOp module) {
  double allowed = 0;
  for (const auto &pass : ran)
    allowed += boundOf(pass.getKey());
  return compare(module, "simplify ... fuse", allowed);
}

namespace {
class Instrumentation final : public PassInstrumentation {
public:
  explicit Instrumentation(PassValidator &validator) : validator(validator) {}
  void runAfterPass(Pass *pass, Operation *op) override {
    validator.note(pass->getArgument());
    if (pass->getArgument().empty() || !validator.runsEachPass() || !validator.getFinding().empty())
      return;
    auto module = dyn_cast<ModuleOp>(op);
    if (!module)
      module = op->getParentOfType<ModuleOp>();
    if (functionOf(module))
      (void)validator.compare(module, pass->getArgument(), boundOf(pass->getArgument()));
  }

private:
  PassValidator &validator;
};
} // namespace

std::unique_ptr<PassInstrumentation> PassValidator::makeInstrumentation() {
  return std::make_unique<Instrumentation>(*this);
}

} // namespace dlc
