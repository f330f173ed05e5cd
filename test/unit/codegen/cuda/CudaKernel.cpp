//===- CudaKernel.cpp - One kernel from its meaning to its result on the emulator ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "test/unit/codegen/cuda/CudaKernel.h"

#include "codegen/Passes.h"
#include "codegen/cuda/print/CudaText.h"
#include "codegen/cuda/schedule/Schedules.h"
#include "ir/dl/base/PrecisionMarks.h"
#include "ir/interfaces/LoopNest.h"
#include "ir/interpreter/Interpreter.h"
#include "runtime/schema/KernelAbi.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>

using namespace mlir;

namespace dlc::test {

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = dyn_cast<AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t a = evaluate(binary.getLHS(), dims, symbols),
          b = evaluate(binary.getRHS(), dims, symbols);
  switch (binary.getKind()) {
  case AffineExprKind::Add:
    return a + b;
  case AffineExprKind::Mul:
    return a * b;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(a, b);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(a, b);
  default:
    return llvm::mod(a, b);
  }
}

static SmallVector<int64_t> dimsOf(RankedTensorType type, ArrayRef<int64_t> symbols) {
  SmallVector<int64_t> dims;
  for (AffineExpr dim : dl::getDims(type))
    dims.push_back(evaluate(dim, {}, symbols));
  return dims;
}

/// Where each logical element, in row-major order, lies in memory.
static std::vector<int64_t> places(RankedTensorType type, ArrayRef<int64_t> symbols) {
  SmallVector<AffineExpr> variables;
  for (int64_t dim = 0; dim < type.getRank(); ++dim)
    variables.push_back(getAffineDimExpr(dim, type.getContext()));
  AffineExpr address = dl::physicalOffset(type, variables);
  SmallVector<int64_t> dims = dimsOf(type, symbols), index(dims.size(), 0);
  int64_t count = 1;
  for (int64_t size : dims)
    count *= size;
  std::vector<int64_t> result(count);
  for (int64_t &place : result) {
    place = evaluate(address, index, symbols);
    for (int64_t dim = dims.size() - 1; dim >= 0 && ++index[dim] == dims[dim]; --dim)
      index[dim] = 0;
  }
  return result;
}

/// The plan with `numbers` in the place of its own of these names.
static dlx::PlanAttr withNumbers(dlx::PlanAttr plan,
                                 ArrayRef<std::pair<StringRef, int64_t>> numbers) {
  NamedAttrList all(plan.getNumbers());
  for (auto [name, number] : numbers)
    all.set(name, IntegerAttr::get(IntegerType::get(plan.getContext(), 64), number));
  return dlx::PlanAttr::get(plan.getContext(), plan.getSchedule(),
                            all.getDictionary(plan.getContext()), plan.getNs());
}

void CudaKernelTest::load(const std::string &kind, const std::string &body, int64_t largest,
                          const std::string &precision, const std::string &hopper) {
  DialectRegistry registry;
  registry.insert<dl::DLDialect, dlx::DLXDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
  std::string source = "module attributes {dl.symbols = [#dl.symbol<\"N\", 0, " +
                       std::to_string(largest) +
                       ">, #dl.symbol<\"B\", 1, 4>]} {\n"
                       "module @cuda {\ndlx.kernel @k attributes {kind = #dlx.kind<" +
                       kind + ">} {\n" + body + "\n}\n}\n}\n";
  module = parseSourceString<ModuleOp>(source, &context);
  ASSERT_TRUE(module) << source;
  PassManager passes(&context);
  if (precision == "tf32")
    module->walk([&](LoopNestOpInterface op) {
      if (op.getLoopNest().isProduct)
        op->setAttr(dl::kTf32, UnitAttr::get(&context));
    });
  codegen::SelectSchedulesCudaPassOptions select;
  select.hopper = hopper;
  if (!schedule.empty())
    select.force.push_back("k=" + schedule);
  passes.addPass(codegen::createSelectSchedulesCudaPass(select));
  ASSERT_TRUE(succeeded(passes.run(*module)));
  module->walk([&](dlx::KernelOp op) {
    if (!numbers.empty() && (hopper != "always" || op.getSymName() != "k"))
      op.setPlanAttr(withNumbers(*op.getPlan(), numbers));
  });
  PassManager building(&context);
  building.addPass(codegen::createBuildKernelsCudaPass());
  ASSERT_TRUE(succeeded(building.run(*module)));
  kernel = {};
  module->walk([&](dlx::KernelOp op) {
    if (op.getSymName() == "k" || (hopper == "always" && op.getTensorMaps().has_value()))
      kernel = op;
  });
  ASSERT_EQ(hopper == "always", kernel.getTensorMaps().has_value());
  take(kernel);
  if (const char *folder = std::getenv("DLC_DUMP_KERNELS")) {
    static int count = 0;
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::path place = std::filesystem::path(folder) / kind;
    std::filesystem::create_directories(place);
    std::ofstream(place / (test.substr(0, test.find('/')) + "-" + std::to_string(count++) + ".cu"))
        << kernelText;
  }
}

void CudaKernelTest::take(dlx::KernelOp one) {
  kernel = one;
  FailureOr<codegen::CudaText> printed = failure();
  module->walk([&](gpu::GPUFuncOp op) {
    if (op.getName() == *kernel.getEntry())
      printed = codegen::printKernel(op);
  });
  ASSERT_TRUE(succeeded(printed));
  kernelText = printed->text;
  replaceText(kernelText);
}

std::vector<dlx::VariantAttr> CudaKernelTest::variants() {
  dlx::KernelOp general;
  module->walk([&](dlx::KernelOp op) {
    if (op.getSymName() == "k")
      general = op;
  });
  std::vector<dlx::VariantAttr> found;
  if (ArrayAttr attributes = general.getVariantsAttr())
    llvm::append_range(found, attributes.getAsRange<dlx::VariantAttr>());
  return found;
}

void CudaKernelTest::takeVariant(dlx::VariantAttr variant) {
  module->walk([&](dlx::KernelOp op) {
    if (op.getSymName() == variant.getKernel().getValue())
      take(op);
  });
}

void CudaKernelTest::replaceText(const std::string &text) {
  kernelText = text;
  function = compile(kernelText, kernel.getEntry()->str());
  ASSERT_TRUE(function) << kernelText;
}

abi::Spread CudaKernelTest::spread(int64_t blocks) {
  abi::Spread plain = {blocks, evaluate(kernel.getScratch()->getResult(0), {}, {})};
  if (!kernel.getPersistent())
    return plain;
  std::vector<abi::KeptColumns> kept;
  ArrayRef<int64_t> numbers = kernel.getKeptColumns().value_or(ArrayRef<int64_t>{});
  for (size_t i = 0; i < numbers.size(); i += 2)
    kept.push_back({numbers[i], numbers[i + 1]});
  return abi::spreadColumns(blocks, multiprocessors, plain.sharedBytes, sharedLimit, kept.data(),
                            kept.size());
}

bool CudaKernelTest::hasHopperKernel() {
  bool found = false;
  module->walk([&](dlx::KernelOp op) { found |= op.getTensorMaps().has_value(); });
  return found;
}

std::vector<TensorMap> CudaKernelTest::tensorMaps(ArrayRef<int64_t> symbols,
                                                  ArrayRef<DevicePtr> buffers) {
  std::vector<TensorMap> maps;
  std::optional<ArrayAttr> described = kernel.getTensorMaps();
  if (!described)
    return maps;
  for (auto map : described->getAsRange<dlx::TensorMapAttr>()) {
    unsigned input = map.getInput();
    Type element =
        cast<RankedTensorType>(kernel.getBodyBlock().getArgument(input).getType()).getElementType();
    ArrayRef<AffineExpr> shape = map.getShape().getValue().getResults();
    ArrayRef<int64_t> box = map.getBox().asArrayRef();
    unsigned long long extents[] = {(unsigned long long)evaluate(shape[0], {}, symbols),
                                    (unsigned long long)evaluate(shape[1], {}, symbols)},
                       strides[] = {(unsigned long long)evaluate(shape[2], {}, symbols) *
                                    elementBytes(element)};
    unsigned boxes[] = {unsigned(box[0]), unsigned(box[1])}, ones[] = {1, 1};
    // As the runtime does: CU_TENSOR_MAP_DATA_TYPE_FLOAT16, _BFLOAT16, _TFLOAT32; 128-byte swizzle.
    int dtype = element.isF16() ? 6 : element.isBF16() ? 9 : element.isF32() ? 11 : 0;
    maps.emplace_back();
    EXPECT_EQ(api.tensorMapEncodeTiled(&maps.back(), dtype, 2,
                                       reinterpret_cast<void *>(buffers[input]), extents, strides,
                                       boxes, ones, 0, 3, 0, 0),
              Result::Success);
  }
  return maps;
}

/// `text` with the include of `header` replaced by that header, `line` of which is taken out,
/// wherever it is included.
static bool inlineWithout(std::string &text, llvm::StringRef header, llvm::StringRef line) {
  static constexpr llvm::StringRef kInclude = "#include \"";
  for (size_t at = text.find(kInclude); at != std::string::npos; at = text.find(kInclude, at + 1)) {
    size_t begin = at + kInclude.size(), end = text.find('"', begin);
    std::string name = text.substr(begin, end - begin);
    if (!llvm::StringRef(name).ends_with(".cuh"))
      continue;
    std::string included = kernelFile(name);
    if (name == header) {
      size_t place = included.find(line);
      if (place == std::string::npos)
        return false;
      included.erase(place, line.size());
    } else if (!inlineWithout(included, header, line)) {
      continue;
    }
    text.replace(at, end + 1 - at, included);
    return true;
  }
  return false;
}

void CudaKernelTest::removeFromHeader(llvm::StringRef header, llvm::StringRef line) {
  std::string text = kernelText;
  ASSERT_TRUE(inlineWithout(text, header, line)) << header.str() << ": " << line.str();
  replaceText(text);
}

std::string CudaKernelTest::linear(const std::string &type, int columns, int depth) {
  std::string n = std::to_string(columns), k = std::to_string(depth),
              x = "tensor<?x" + k + "x" + type + ", #dl.t<[s0, " + k + "]>>",
              w = "tensor<" + n + "x" + k + "x" + type + ">", b = "tensor<" + n + "x" + type + ">",
              y = "tensor<?x" + n + "x" + type + ", #dl.t<[s0, " + n + "]>>";
  return "^bb0(%x: " + x + ", %w: " + w + ", %b: " + b + "):\n%0 = dl.linear %x, %w, %b : (" + x +
         ", " + w + ", " + b + ") -> " + y + "\n%1 = dl.relu %0 : (" + y + ") -> " + y +
         "\ndl.yield %1 : " + y;
}

int CudaKernelTest::config(llvm::StringRef name) const {
  std::string entry = " " + name.str() + " = ";
  size_t at = kernelText.find(entry);
  return at == std::string::npos ? -1 : std::stoi(kernelText.substr(at + entry.size()));
}

Tensor CudaKernelTest::random(RankedTensorType type, ArrayRef<int64_t> symbols, Fill fill) {
  Tensor tensor(type.getElementType(), dimsOf(type, symbols));
  std::uniform_int_distribution<int> whole(-3, 3), oneIn(0, 9);
  std::uniform_real_distribution<double> real(-1.0, 1.0);
  constexpr double kSpecials[] = {std::numeric_limits<double>::quiet_NaN(),
                                  std::numeric_limits<double>::infinity(),
                                  -std::numeric_limits<double>::infinity(), -0.0, 1e-40};
  if (!tensor.isFloat()) {
    bool isUnsigned = type.getElementType().isUnsignedInteger(),
         isBool = type.getElementType().isInteger(1);
    for (int64_t &element : tensor.ints())
      element = isBool ? whole(engine) > 0 : isUnsigned ? 128 + whole(engine) * 40 : whole(engine);
    return tensor;
  }
  for (double &element : tensor.floats()) {
    element = fill == Fill::whole ? whole(engine) : roundTo(type.getElementType(), real(engine));
    if (fill == Fill::special && oneIn(engine) == 0)
      element = roundTo(type.getElementType(), kSpecials[oneIn(engine) % 5]);
  }
  return tensor;
}

Result CudaKernelTest::run(ArrayRef<int64_t> symbols, Fill fill, SmallVectorImpl<Tensor> &inputs,
                           Tensor &actual) {
  Block &block = kernel.getBodyBlock();
  SmallVector<DevicePtr> buffers;
  bool isCooperative = kernel.getCooperative();
  DevicePtr exchange = 0;
  for (BlockArgument argument : block.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    // What no op reads is memory for the kernel itself.
    inputs.push_back(argument.use_empty() ? Tensor(type.getElementType(), dimsOf(type, symbols))
                                          : random(type, symbols, fill));
    std::vector<char> logical = inputs.back().toBytes();
    int64_t size = elementBytes(type.getElementType());
    // The checker finds what is read beyond the end.
    std::vector<char> physical(
        std::max<int64_t>(1, evaluate(dl::storedElements(type), {}, symbols) * size));
    for (auto [from, to] : llvm::enumerate(places(type, symbols)))
      std::memcpy(&physical[to * size], &logical[from * size], size);
    buffers.push_back(upload(physical));
  }
  if (kernel.getExchange()) {
    exchange = upload(
        std::vector<char>(4 * evaluate(kernel.getExchange()->getResult(0), {}, symbols), char(0)));
    buffers.push_back(exchange);
  }
  std::vector<char> physical;
  auto bytesOf = [&](RankedTensorType type) {
    return std::max<int64_t>(1, evaluate(dl::storedElements(type), {}, symbols) *
                                    int64_t(elementBytes(type.getElementType())));
  };
  size_t firstResult = buffers.size();
  for (Type type : kernel.getResultTensors().getTypes())
    buffers.push_back(upload(std::vector<char>(bytesOf(cast<RankedTensorType>(type)), char(0xa5))));

  SmallVector<long long> dims;
  for (AffineExpr dim : kernel.getDims()->getResults())
    dims.push_back(evaluate(dim, {}, symbols));
  SmallVector<void *> parameters;
  for (DevicePtr &buffer : buffers)
    parameters.push_back(&buffer);
  for (long long &dim : dims)
    parameters.push_back(&dim);
  SmallVector<unsigned> grid;
  for (AffineExpr blocks : kernel.getGrid()->getResults())
    grid.push_back(evaluate(blocks, {}, symbols));
  ArrayRef<int64_t> threads = *kernel.getBlock();
  abi::Spread spread = this->spread(grid[0]);
  grid[0] = spread.blocks;
  // The runtime launches no empty grid.
  Result result = Result::Success;
  if (grid[0] && grid[1] && grid[2]) {
    std::vector<TensorMap> maps = tensorMaps(symbols, buffers);
    for (TensorMap &map : maps)
      parameters.push_back(&map);
    unsigned scratch = spread.sharedBytes;
    if (scratch > 48 << 10) // as the runtime does
      result =
          api.funcSetAttribute(function, FunctionAttribute::MaxDynamicSharedSizeBytes, scratch);
    if (result != Result::Success)
      return result;
    result = isCooperative
                 ? api.launchCooperativeKernel(function, grid[0], grid[1], grid[2], threads[0],
                                               threads[1], threads[2], scratch, nullptr,
                                               parameters.data())
                 : api.launchKernel(function, grid[0], grid[1], grid[2], threads[0], threads[1],
                                    threads[2], scratch, nullptr, parameters.data(), nullptr);
    if (result == Result::Success)
      result = api.ctxSynchronize();
    if (result != Result::Success)
      return result;
  }
  if (exchange) { // for the next launch
    std::vector<uint32_t> counters = download<uint32_t>(exchange, abi::kExchangeCounters);
    counters[abi::kGridCounter] &= ~0x80000000u;
    for (uint32_t counter : counters)
      EXPECT_EQ(counter, 0u);
  }
  auto type = cast<RankedTensorType>(kernel.getResultTensors().front().getType());
  int64_t size = elementBytes(type.getElementType());
  physical = download<char>(buffers[firstResult], bytesOf(type));
  std::vector<char> logical;
  for (int64_t place : places(type, symbols))
    logical.insert(logical.end(), &physical[place * size], &physical[place * size] + size);
  actual = Tensor::fromBytes(type.getElementType(), dimsOf(type, symbols), logical);
  for (DevicePtr buffer : buffers)
    api.memFree(buffer);
  return result;
}

void CudaKernelTest::check(ArrayRef<int64_t> symbols, Tolerance tolerance, Fill fill) {
  ASSERT_TRUE(function);
  if (std::getenv("DLC_DUMP_KERNELS"))
    return; // the texts alone are wanted
  SmallVector<Tensor> inputs;
  Tensor actual;
  ASSERT_EQ(run(symbols, fill, inputs, actual), Result::Success) << report() << kernelText;
  auto expected = interpretBlock(kernel.getBodyBlock(), inputs, symbols);
  ASSERT_TRUE(succeeded(expected));
  auto difference = compareTensors(actual, expected->front(), tolerance);
  EXPECT_FALSE(difference) << "s0 = " << symbols[0] << ", s1 = " << symbols[1] << ": "
                           << *difference << "\n"
                           << kernelText;
}

} // namespace dlc::test
