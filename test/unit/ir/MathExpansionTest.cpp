//===- MathExpansionTest.cpp - How exact exp, log, tanh, erf and erfc are --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expanded arithmetic is compiled by LLVM for this processor, as the CPU target does, and
// compared with the C library in the next wider format. Every DLC_MATH_STRIDE-th (default 1021st)
// of the 2^32 single-precision numbers is tried; 1 tries all of them (tools/scripts/math-ulp).
//===----------------------------------------------------------------------------------------------===//
#include "ir/scalar/MathExpansion.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
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
#include <thread>

using namespace mlir;

namespace {

/// `@exp(%in, %out, %n)` and the like apply a function to n numbers, 16 at a time.
std::string mapSource(StringRef function, StringRef element) {
  std::string vector = ("vector<16x" + element + ">").str();
  return ("func.func @" + function + R"((%in: !llvm.ptr, %out: !llvm.ptr, %n: i64) {
    %zero = arith.constant 0 : i64
    %step = arith.constant 16 : i64
    scf.for %i = %zero to %n step %step : i64 {
      %from = llvm.getelementptr %in[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
          element + R"(
      %to = llvm.getelementptr %out[%i] : (!llvm.ptr, i64) -> !llvm.ptr, )" +
          element + "\n %x = llvm.load %from {alignment = 4 : i64} : !llvm.ptr -> " + vector +
          "\n %y = math." + function + " %x : " + vector +
          "\n llvm.store %y, %to {alignment = 4 : i64} : " + vector +
          ", !llvm.ptr\n }\n return\n}\n")
      .str();
}

/// The functions of one element type, compiled.
class Compiled {
public:
  explicit Compiled(StringRef element) {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    DialectRegistry registry;
    registry.insert<arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                    LLVM::LLVMDialect>();
    registerBuiltinDialectTranslation(registry);
    registerLLVMDialectTranslation(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    std::string source;
    for (StringRef function : {"exp", "log", "tanh", "erf", "erfc"})
      source += mapSource(function, element);
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(source, &context);
    RewritePatternSet patterns(&context);
    dlc::populateMathExpansionPatterns(patterns);
    bool isLowered = module && succeeded(applyPatternsGreedily(*module, std::move(patterns)));
    if (isLowered)
      module->walk([&](Operation *op) {
        leftOver += isa<math::ExpOp, math::LogOp, math::TanhOp, math::ErfOp, math::ErfcOp>(op);
      });
    PassManager passes(&context);
    passes.addPass(createSCFToControlFlowPass());
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

  template <typename T> void run(StringRef function, const T *in, T *out, int64_t count) {
    auto symbol = llvm::cantFail(jit->lookup(function));
    symbol.toPtr<void (*)(const T *, T *, int64_t)>()(in, out, count);
  }
  bool isReady() const { return jit && leftOver == 0; }

private:
  std::unique_ptr<llvm::orc::LLJIT> jit;
  int leftOver = 0;
};

/// Distance of `got` from `wanted` in units of the last place of T.
template <typename T, typename Wide> double ulps(T got, Wide wanted) {
  T nearest = static_cast<T>(wanted);
  if (got == nearest || (std::isnan(got) && std::isnan(wanted)))
    return 0; // rounded rightly, infinities included; the exact distance of up to 1/2 is not
              // counted
  if (std::isnan(got) || std::isnan(wanted) || std::isinf(got) || std::isinf(nearest))
    return std::numeric_limits<double>::infinity();
  int exponent = std::max(std::ilogb(wanted), std::numeric_limits<T>::min_exponent - 1);
  return std::abs(static_cast<double>(
      std::ldexp(static_cast<Wide>(got) - wanted, std::numeric_limits<T>::digits - 1 - exponent)));
}

template <typename Wide> Wide exact(StringRef function, Wide x) {
  return function == "exp"    ? std::exp(x)
         : function == "log"  ? std::log(x)
         : function == "tanh" ? std::tanh(x)
         : function == "erf"  ? std::erf(x)
                              : std::erfc(x);
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
Worst measure(Compiled &compiled, StringRef function, const std::vector<T> &inputs) {
  std::vector<T> outputs(inputs.size());
  compiled.run(function, inputs.data(), outputs.data(), inputs.size());
  Worst worst;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Wide wanted = exact(function, static_cast<Wide>(inputs[i]));
    Worst one{ulps(outputs[i], wanted), static_cast<double>(inputs[i]), 1,
              !std::isnan(wanted) && std::signbit(wanted) != std::signbit(outputs[i])};
    worst.merge(one);
  }
  return worst;
}

uint64_t stride() {
  const char *text = std::getenv("DLC_MATH_STRIDE");
  return text ? std::max(1, std::atoi(text)) : 1021;
}

/// Units of the last place that a function may be off. erfc is a product of two functions.
double allowed(StringRef function) { return function == "erfc" ? 3.0 : 2.0; }

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
        worst[t].merge(measure<float, double>(compiled, GetParam(), inputs));
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
  Worst worst = measure<float, double>(compiled, GetParam(), inputs);
  EXPECT_LE(worst.error, allowed(GetParam())) << GetParam() << " at " << worst.input;
  EXPECT_EQ(worst.signs, 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, SinglePrecision,
                         testing::Values("exp", "log", "tanh", "erf", "erfc"));

class DoublePrecision : public testing::TestWithParam<const char *> {};

TEST_P(DoublePrecision, IsWithinItsUlps) {
  static_assert(std::numeric_limits<long double>::digits > 60,
                "the reference needs a format wider than double");
  Compiled compiled("f64");
  ASSERT_TRUE(compiled.isReady());
  std::vector<double> inputs = {0.0,       -0.0,       INFINITY,  -INFINITY, NAN,
                                0x1p-1074, -0x1p-1074, 0x1p-1022, 709.782,   709.783,
                                -708.4,    -745.13,    -745.14,   -1e300,    1e300,
                                1.0,       -1.0,       0.5625,    5.9,       6.1};
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
  Worst worst = measure<double, long double>(compiled, GetParam(), inputs);
  std::printf("%s f64: %llu inputs, largest error %.3f ulp at %a\n", GetParam(),
              static_cast<unsigned long long>(worst.count), worst.error, worst.input);
  EXPECT_LE(worst.error, allowed(GetParam())) << GetParam() << " at " << worst.input;
  EXPECT_EQ(worst.signs, 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, DoublePrecision,
                         testing::Values("exp", "log", "tanh", "erf", "erfc"));

TEST(MathFunction, HasTheArithmeticAsItsBody) {
  MLIRContext context;
  context.loadDialect<arith::ArithDialect, func::FuncDialect, math::MathDialect>();
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
