//===- MathExpansionTest.cpp - How exact the expanded functions are -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expanded arithmetic is compiled by LLVM for this processor, as the CPU target does, and
// compared with the C library in the next wider format. Every DLC_MATH_STRIDE-th (default 1021st)
// of the 2^32 single-precision numbers is tried; 1 tries all of them (tools/scripts/math-ulp).
//===------------------------------------------------------------------------------------------===//
// Assertions in LLVM's headers of ORC name members that a build with NDEBUG lacks.
#define DLC_NO_ASSERTIONS

#include "ir/scalar/MathExpansion.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <thread>

using namespace mlir;

namespace {

constexpr const char *kUnary[] = {"exp",   "exp2", "expm1", "log",  "log2", "log10",
                                  "log1p", "tanh", "erf",   "erfc", "sin",  "cos",
                                  "tan",   "asin", "acos",  "atan", "gelu", "sigmoid"};
constexpr const char *kBinary[] = {"powf", "atan2", "remf"};

/// Formulas of other functions: they lose digits far down their tails.
bool isComposite(StringRef function) { return function == "gelu" || function == "sigmoid"; }

/// `@exp(%in, %in2, %out, %n)` and the like apply a function to n numbers, or pairs, 16 at a time.
std::string mapSource(StringRef function, StringRef element, bool isBinary) {
  std::string vector = ("vector<16x" + element + ">").str();
  std::string type = element.str();
  std::string dialect = function == "remf" ? "arith." : isComposite(function) ? "dls." : "math.";
  return "func.func @" + function.str() +
         R"((%in: !llvm.ptr, %in2: !llvm.ptr, %out: !llvm.ptr, %n: i64) {
    %zero = arith.constant 0 : i64
    %step = arith.constant 16 : i64
    scf.for %i = %zero to %n step %step : i64 {
      %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         type + R"(
      %from2 = llvm.getelementptr %in2[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         type + R"(
      %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
         type + "\n %x = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> " + vector +
         "\n %x2 = llvm.load %from2 {alignment = 4 : i64} : !llvm.ptr -> " + vector +
         "\n %y = " + dialect + function.str() + (isBinary ? " %x, %x2 : " : " %x : ") + vector +
         "\n llvm.store %y, %to {alignment = 4 : i64} : " + vector +
         ", !llvm.ptr\n }\n return\n}\n";
}

/// The functions of one element type, compiled.
class Compiled {
public:
  explicit Compiled(StringRef element) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                    LLVM::LLVMDialect, vector::VectorDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    dlc::loadMathDialects(&context);
    std::string source;
    for (StringRef function : kUnary)
      source += mapSource(function, element, /*isBinary=*/false);
    for (StringRef function : kBinary)
      source += mapSource(function, element, /*isBinary=*/true);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
    RewritePatternSet patterns(&context);
    dlc::populateMathExpansionPatterns(patterns);
    bool isLowered = module && succeeded(applyPatternsGreedily(*module, std::move(patterns)));
    if (isLowered)
      module->walk([&](Operation *op) { leftOver += dlc::expandedMath(op).has_value(); });
    PassManager passes(&context);
    passes.addPass(createSCFToControlFlowPass());
    passes.addPass(createConvertVectorToLLVMPass());
    passes.addPass(createConvertMathToLLVMPass());
    passes.addPass(createArithToLLVMConversionPass());
    passes.addPass(createConvertControlFlowToLLVMPass());
    passes.addPass(createConvertFuncToLLVMPass());
    passes.addPass(createReconcileUnrealizedCastsPass());
    isLowered = isLowered && succeeded(passes.run(*module));
    if (!isLowered)
      return;
    auto llvmContext = std::make_unique<llvm::LLVMContext>();
    auto llvmModule = translateModuleToLLVMIR(*module, *llvmContext);
    auto host = llvm::cantFail(llvm::orc::JITTargetMachineBuilder::detectHost());
    jit = llvm::cantFail(
        llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(std::move(host)).create());
    llvm::cantFail(jit->addIRModule({std::move(llvmModule), std::move(llvmContext)}));
  }

  template <typename T>
  void run(StringRef function, const T *in, const T *in2, T *out, int64_t count) {
    auto symbol = llvm::cantFail(jit->lookup(function));
    symbol.toPtr<void (*)(const T *, const T *, T *, int64_t)>()(in, in2, out, count);
  }
  bool isReady() const { return jit && leftOver == 0; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  int leftOver = 0;
};

/// Distance of `got` from `wanted` in units of the last place of T; if `least` is larger, in those
/// of `least`.
template <typename T, typename Wide> double ulps(T got, Wide wanted, Wide least) {
  T nearest = static_cast<T>(wanted);
  if (got == nearest || (std::isnan(got) && std::isnan(wanted)))
    return 0; // rounded rightly, infinities included; the exact distance of up to 1/2 is not
              // counted
  if (std::isnan(got) || std::isnan(wanted) || std::isinf(got) || std::isinf(nearest))
    return std::numeric_limits<double>::infinity();
  int exponent = std::max(std::ilogb(std::max(std::abs(wanted), least)),
                          std::numeric_limits<T>::min_exponent - 1);
  return std::abs(static_cast<double>(
      std::ldexp(static_cast<Wide>(got) - wanted, std::numeric_limits<T>::digits - 1 - exponent)));
}

/// At minus infinity the limit.
template <typename Wide> Wide exactGelu(Wide x) {
  return (x < -200 ? -200 : x) / 2 * std::erfc(-x / std::numbers::sqrt2_v<Wide>);
}

template <typename Wide> Wide exactSigmoid(Wide x) { return 1 / (1 + std::exp(-x)); }

template <typename Wide> Wide exact(StringRef function, Wide x, Wide y) {
  using Function = Wide (*)(Wide);
  static const std::map<StringRef, Function> unary = {
      {"exp", std::exp},   {"exp2", std::exp2},      {"expm1", std::expm1}, {"log", std::log},
      {"log2", std::log2}, {"log10", std::log10},    {"log1p", std::log1p}, {"tanh", std::tanh},
      {"erf", std::erf},   {"erfc", std::erfc},      {"sin", std::sin},     {"cos", std::cos},
      {"tan", std::tan},   {"asin", std::asin},      {"acos", std::acos},   {"atan", std::atan},
      {"gelu", exactGelu}, {"sigmoid", exactSigmoid}};
  if (auto found = unary.find(function); found != unary.end())
    return found->second(x);
  return function == "powf"    ? std::pow(x, y)
         : function == "atan2" ? std::atan2(x, y)
                               : std::fmod(x, y);
}

struct Worst {
  double error = 0, input = 0;
  uint64_t count = 0;
  int signs = 0; // results whose sign bit is wrong
  void merge(const Worst &other) {
    count += other.count;
    signs += other.signs;
    if (other.error > error)
      error = other.error, input = other.input;
  }
};

template <typename T, typename Wide>
Worst measure(Compiled &compiled, StringRef function, const std::vector<T> &inputs,
              const std::vector<T> &others) {
  std::vector<T> outputs(inputs.size());
  compiled.run(function, inputs.data(), others.data(), outputs.data(), inputs.size());
  Worst worst;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Wide wanted = exact(function, static_cast<Wide>(inputs[i]), static_cast<Wide>(others[i]));
    Wide least = isComposite(function) ? std::abs(static_cast<Wide>(inputs[i])) * Wide(0x1p-10) : 0;
    Worst one{ulps(outputs[i], wanted, least), static_cast<double>(inputs[i]), 1,
              !std::isnan(wanted) && std::signbit(wanted) != std::signbit(outputs[i])};
    worst.merge(one);
  }
  return worst;
}

uint64_t stride() {
  const char *text = std::getenv("DLC_MATH_STRIDE");
  return text ? std::max(1, std::atoi(text)) : 1021;
}

/// Units of the last place that a function may be off. In double precision gelu rounds x / sqrt(2),
/// and its tail scales that by x^2.
double allowed(StringRef function, bool isSingle = true) {
  return function == "remf"                  ? 0.0
         : !isComposite(function)            ? 2.0
         : isSingle || function == "sigmoid" ? 4.0
                                             : 16.0;
}

class SinglePrecision : public testing::TestWithParam<const char *> {};

TEST_P(SinglePrecision, IsWithinItsUlps) {
  static Compiled compiled("f32");
  ASSERT_TRUE(compiled.isReady());
  constexpr uint64_t inputsAtOnce = 1 << 14;
  const uint64_t step = stride(), total = (uint64_t(1) << 32) / step;
  std::vector<Worst> worst(2);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < worst.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t first = t * inputsAtOnce; first < total; first += worst.size() * inputsAtOnce) {
        std::vector<float> inputs(inputsAtOnce);
        for (uint64_t i = 0; i < inputsAtOnce; ++i) {
          uint32_t bits = static_cast<uint32_t>(std::min(first + i, total) * step);
          std::memcpy(&inputs[i], &bits, sizeof bits);
        }
        worst[t].merge(measure<float, double>(compiled, GetParam(), inputs, inputs));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  worst[0].merge(worst[1]);
  std::printf("%s f32: %llu inputs, largest error %.3f ulp at %a\n", GetParam(),
              static_cast<unsigned long long>(worst[0].count), worst[0].error, worst[0].input);
  EXPECT_LE(worst[0].error, allowed(GetParam())) << GetParam() << " at " << worst[0].input;
  EXPECT_EQ(worst[0].signs, 0);
  EXPECT_GE(worst[0].count, total);
}

TEST_P(SinglePrecision, IsRightAtTheEdges) {
  Compiled compiled("f32");
  ASSERT_TRUE(compiled.isReady());
  constexpr float inf = std::numeric_limits<float>::infinity();
  std::vector<float> inputs = {0.0f,
                               -0.0f,
                               inf,
                               -inf,
                               NAN,
                               -NAN,
                               0x1p-149f,
                               -0x1p-149f,
                               0x1.fffp-127f,
                               0x1p-126f,
                               1.0f,
                               -1.0f,
                               88.72283f,
                               88.72284f,
                               -87.33655f,
                               -103.97f,
                               -103.98f,
                               -150.0f,
                               0x1.fffffep127f,
                               -0x1.fffffep127f,
                               0.5625f,
                               0x1.fffffep-1f,
                               9.0f,
                               3.9f};
  inputs.resize(32, 0.25f);
  Worst worst = measure<float, double>(compiled, GetParam(), inputs, inputs);
  EXPECT_LE(worst.error, allowed(GetParam())) << GetParam() << " at " << worst.input;
  EXPECT_EQ(worst.signs, 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, SinglePrecision, testing::ValuesIn(kUnary));

class DoublePrecision : public testing::TestWithParam<const char *> {};

TEST_P(DoublePrecision, IsWithinItsUlps) {
  static_assert(std::numeric_limits<long double>::digits > 60,
                "the reference needs a format wider than double");
  Compiled compiled("f64");
  ASSERT_TRUE(compiled.isReady());
  std::vector<double> inputs = {0.0,        -0.0,      INFINITY,
                                -INFINITY,  NAN,       0x1p-1074,
                                -0x1p-1074, 0x1p-1022, 709.782,
                                709.783,    -708.4,    -745.13,
                                -745.14,    -1e300,    1e300,
                                1.0,        -1.0,      0.5625,
                                5.9,        6.1,       0x1.6ac5b262ca1ffp849,
                                0x1p1023,   1e22,      0x1.921fb54442d18p0};
  // Every exponent and sign, with mantissas that a fixed recurrence draws.
  uint64_t state = 42;
  auto draw = [&] { return state = state * 6364136223846793005u + 1442695040888963407u; };
  for (int i = 0; i < 200'000; ++i) {
    uint64_t bits = draw() ^ (draw() >> 32);
    double number;
    std::memcpy(&number, &bits, sizeof bits);
    inputs.push_back(number);
  }
  // Where the functions change.
  for (int i = 0; i < 800'000; ++i)
    inputs.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(draw())), -63 + i % 11));
  inputs.resize((inputs.size() + 15) / 16 * 16, 0.5);
  Worst worst = measure<double, long double>(compiled, GetParam(), inputs, inputs);
  std::printf("%s f64: %llu inputs, largest error %.3f ulp at %a\n", GetParam(),
              static_cast<unsigned long long>(worst.count), worst.error, worst.input);
  EXPECT_LE(worst.error, allowed(GetParam(), /*isSingle=*/false))
      << GetParam() << " at " << worst.input;
  EXPECT_EQ(worst.signs, 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, DoublePrecision, testing::ValuesIn(kUnary));

//===- Functions of two numbers ---------------------------------------------------------------===//

/// Numbers of every size and sign, whole ones, ones near 1 and the special ones: enough of each for
/// the pairs to meet.
template <typename T> std::vector<T> sampled(uint64_t seed, int count) {
  constexpr T inf = std::numeric_limits<T>::infinity();
  const T special[] = {0,
                       T(-0.0),
                       1,
                       -1,
                       inf,
                       -inf,
                       T(NAN),
                       2,
                       -2,
                       3,
                       -3,
                       T(0.5),
                       T(-0.5),
                       std::numeric_limits<T>::denorm_min(),
                       std::numeric_limits<T>::min(),
                       std::numeric_limits<T>::max(),
                       -std::numeric_limits<T>::max()};
  std::vector<T> numbers;
  uint64_t state = seed;
  auto draw = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ (state >> 29);
  };
  while (static_cast<int>(numbers.size()) < count) {
    uint64_t choice = draw() >> 40;
    T fraction = static_cast<T>(static_cast<int64_t>(draw())) * T(0x1p-63);
    switch (choice % 6) {
    case 0:
      numbers.push_back(special[(choice / 6) % std::size(special)]);
      break;
    case 1:
      numbers.push_back(static_cast<T>(static_cast<int>((choice / 6) % 129) - 64));
      break;
    case 2:
      numbers.push_back(1 + fraction / 1024);
      break;
    case 3:
      numbers.push_back(std::ldexp(fraction, static_cast<int>((choice / 6) % 20) - 10));
      break;
    default:
      numbers.push_back(std::ldexp(fraction, static_cast<int>((choice / 6) % 2000) *
                                                     std::numeric_limits<T>::max_exponent / 1024 -
                                                 std::numeric_limits<T>::max_exponent));
    }
  }
  return numbers;
}

template <typename T, typename Wide> void checkPairs(StringRef element, StringRef function) {
  Compiled compiled(element);
  ASSERT_TRUE(compiled.isReady());
  Worst worst =
      measure<T, Wide>(compiled, function, sampled<T>(1, 1 << 20), sampled<T>(2, 1 << 20));
  std::printf("%s %s: %llu pairs, largest error %.3f ulp at %a\n", function.data(), element.data(),
              static_cast<unsigned long long>(worst.count), worst.error, worst.input);
  EXPECT_LE(worst.error, allowed(function)) << function.str() << " at " << worst.input;
  EXPECT_EQ(worst.signs, 0);
}

class Pairs : public testing::TestWithParam<const char *> {};
TEST_P(Pairs, AreWithinTheirUlpsInSingle) { checkPairs<float, double>("f32", GetParam()); }
TEST_P(Pairs, AreWithinTheirUlpsInDouble) { checkPairs<double, long double>("f64", GetParam()); }
INSTANTIATE_TEST_SUITE_P(Functions, Pairs, testing::ValuesIn(kBinary));

TEST(MathFunction, HasTheArithmeticAsItsBody) {
  MLIRContext context;
  dlc::loadMathDialects(&context);
  OpBuilder builder(&context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder.getUnknownLoc());
  auto function = dlc::buildMathFunction(builder, builder.getUnknownLoc(), "dlc_tanh",
                                         dlc::MathFunction::tanh, builder.getF32Type());
  module->push_back(function);
  EXPECT_TRUE(succeeded(verify(*module)));
  int mathOps = 0;
  function.walk([&](Operation *op) { mathOps += dlc::expandedMath(op).has_value(); });
  EXPECT_EQ(mathOps, 0);
  EXPECT_EQ(function.getFunctionType(),
            builder.getFunctionType({builder.getF32Type()}, {builder.getF32Type()}));
}

TEST(MathExpansion, LeavesSixteenBitTypesAlone) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect>();
  auto module = parseSourceString<ModuleOp>(
      "func.func @f(%x: f16) -> f16 { %y = math.exp %x : f16 return %y : f16 }", &context);
  int expandable = 0, mathOps = 0;
  module->walk([&](math::ExpOp op) { ++mathOps, expandable += dlc::expandedMath(op).has_value(); });
  EXPECT_EQ(mathOps, 1);
  EXPECT_EQ(expandable, 0);
}

} // namespace
