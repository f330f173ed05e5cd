//===- InterpreterTest.cpp - The reference interpreter ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ops compute is tested against PyTorch by test/numeric; here is what surrounds them.
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/Interpreter.h"

#include "ir/dl/DLDialect.h"
#include "ir/interpreter/Accuracy.h"
#include "ir/interpreter/ScalarTape.h"
#include "ir/scalar/ScalarFunctions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringSet.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace dlc;

namespace {

class InterpreterTest : public testing::Test {
protected:
  InterpreterTest() {
    context.loadDialect<dl::DLDialect, func::FuncDialect, arith::ArithDialect, math::MathDialect>();
    context.getDiagEngine().registerHandler(
        [this](Diagnostic &diagnostic) { errors += diagnostic.str() + "\n"; });
  }
  func::FuncOp parse(StringRef source) {
    module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module) << errors;
    return *module->getOps<func::FuncOp>().begin();
  }
  Tensor floats(ArrayRef<int64_t> dims, ArrayRef<double> numbers, Type type = {}) {
    Tensor tensor(type ? type : Float32Type::get(&context), dims);
    llvm::copy(numbers, tensor.floats().begin());
    return tensor;
  }

  std::string takeErrors() { return std::exchange(errors, ""); }

  MLIRContext context;
  std::string errors;
  OwningOpRef<ModuleOp> module;
};

TEST_F(InterpreterTest, KeepsMoreDigitsThanTheTypeUnlessAsked) {
  auto function = parse(R"(func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
    %y = dl.exp %x : (tensor<1xf32>) -> tensor<1xf32>
    return %y : tensor<1xf32>
  })");
  double exact = (*interpret(function, {floats({1}, {1.0})}, {}))[0].floats()[0];
  EXPECT_EQ(exact, std::exp(1.0));
  InterpreterOptions rounding;
  rounding.roundResults = true;
  EXPECT_EQ((*interpret(function, {floats({1}, {1.0})}, {}, rounding))[0].floats()[0],
            std::exp(1.0f));
}

TEST_F(InterpreterTest, CastsRoundAlways) {
  auto function = parse(R"(func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
    %h = dl.cast %x {dtype = f16} : (tensor<1xf32>) -> tensor<1xf16>
    %y = dl.cast %h {dtype = f32} : (tensor<1xf16>) -> tensor<1xf32>
    return %y : tensor<1xf32>
  })");
  EXPECT_EQ((*interpret(function, {floats({1}, {2049.0})}, {}))[0].floats()[0], 2048.0);
  EXPECT_EQ((*interpret(function, {floats({1}, {65520.0})}, {}))[0].floats()[0], INFINITY);
}

TEST_F(InterpreterTest, RunsFusionsAsTheirOps) {
  auto function = parse(R"(func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
    %y = dl.fusion (%x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
    ^bb0(%a: tensor<2x3xf32>):
      %0 = dl.neg %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
      %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<2x3xf32>) -> tensor<2x3xf32>
      dl.yield %1 : tensor<2x3xf32>
    }
    return %y : tensor<2x3xf32>
  })");
  auto results = interpret(function, {floats({2, 3}, {0, 0, 0, -1, 0, 1})}, {});
  ASSERT_TRUE(succeeded(results)) << errors;
  EXPECT_DOUBLE_EQ((*results)[0].floats()[1], 1.0 / 3.0);
  EXPECT_DOUBLE_EQ((*results)[0].floats()[3], 1.0 / (1.0 + std::exp(-1.0) + std::exp(-2.0)));
}

TEST_F(InterpreterTest, AsksForWeightsAndChecksThem) {
  StringRef source = R"(func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
    %w = dl.weight "scale" : tensor<2xf32>
    %y = dl.mul %x, %w : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    return %y : tensor<2xf32>
  })";
  auto function = parse(source);
  Tensor x = floats({2}, {3, 4});
  EXPECT_TRUE(failed(interpret(function, {x}, {})));
  EXPECT_EQ(takeErrors(), "weight 'scale' cannot be read: the interpreter got no weights\n");
  InterpreterOptions options;
  options.readWeight = [&](dl::WeightOp) -> FailureOr<Tensor> { return floats({2}, {10, 0.5}); };
  auto results = interpret(function, {x}, {}, options);
  ASSERT_TRUE(succeeded(results));
  EXPECT_EQ((*results)[0].floats(), ArrayRef<double>({30, 2}));
  options.readWeight = [&](dl::WeightOp) -> FailureOr<Tensor> { return floats({1}, {10}); };
  EXPECT_TRUE(failed(interpret(function, {x}, {}, options)));
  EXPECT_EQ(takeErrors(), "weight 'scale' is expected as 'tensor<2xf32>', got [1] of 'f32'\n");
}

TEST_F(InterpreterTest, RunsBranchesLoopsAndReads) {
  auto function = parse(
      R"(module attributes {dl.symbols = [#dl.symbol<"N", 0, 9>, #dl.symbol<"k", 0, 9 read true>, #dl.symbol<"m", 0, 9 read true>,
        #dl.symbol<"in", 0, 9 read true>, #dl.symbol<"out", 0, 9 read true>, #dl.symbol<"T", 0, 9 read true>]} {
    func.func @f(%x: tensor<?xf32, #dl.t<[s0]>>, %n: tensor<i64>, %c: tensor<i1>)
        -> (tensor<?xf32, #dl.t<[s2]>>, tensor<?xf32, #dl.t<[s4]>>, tensor<?xi64, #dl.t<[s5]>>) {
      dl.read %n as affine_map<()[s0, s1] -> (s1)> : tensor<i64>
      %y = dl.if %c : (tensor<i1>) -> tensor<?xf32, #dl.t<[s2]>> {
        %0 = dl.narrow %x {dim = 0 : i64, start = affine_map<() -> (0)>, length = affine_map<()[s0, s1] -> (s1)>}
            : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s1]>>
        dl.yield %0 : tensor<?xf32, #dl.t<[s1]>>
      } else {
        dl.yield %x : tensor<?xf32, #dl.t<[s0]>>
      }
      %z, %steps = dl.while trips(%n : tensor<i64>) (%y) : (tensor<?xf32, #dl.t<[s2]>>) -> (tensor<?xf32, #dl.t<[s4]>>, tensor<?xi64, #dl.t<[s5]>>) {
      ^bb0(%step: tensor<i64>, %a: tensor<?xf32, #dl.t<[s3]>>):
        %0 = dl.cat %a, %x {dim = 0 : i64} : (tensor<?xf32, #dl.t<[s3]>>, tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s3 + s0]>>
        dl.yield %0, %step : tensor<?xf32, #dl.t<[s3 + s0]>>, tensor<i64>
      }
      return %y, %z, %steps : tensor<?xf32, #dl.t<[s2]>>, tensor<?xf32, #dl.t<[s4]>>, tensor<?xi64, #dl.t<[s5]>>
    }
  })");
  auto run = [&](int64_t n, bool taken) {
    Tensor x = floats({3}, {1, 2, 3}), count(IntegerType::get(&context, 64), {}),
           condition(IntegerType::get(&context, 1), {});
    count.ints()[0] = n;
    condition.ints()[0] = taken;
    auto bound = bindSymbols(function, {x, count, condition});
    EXPECT_TRUE(succeeded(bound)) << errors;
    return interpret(function, {x, count, condition}, *bound);
  };
  auto results = run(2, true);
  ASSERT_TRUE(succeeded(results)) << errors;
  EXPECT_EQ((*results)[0].floats(), ArrayRef<double>({1, 2}));
  EXPECT_EQ((*results)[1].floats(), ArrayRef<double>({1, 2, 1, 2, 3, 1, 2, 3}));
  EXPECT_EQ((*results)[2].ints(), ArrayRef<int64_t>({0, 1}));
  results = run(0, false);
  ASSERT_TRUE(succeeded(results)) << errors;
  EXPECT_EQ((*results)[0].floats(), ArrayRef<double>({1, 2, 3}));
  EXPECT_EQ((*results)[1].floats(), ArrayRef<double>({1, 2, 3}));
  EXPECT_EQ((*results)[2].getDims(), ArrayRef<int64_t>({0}));
  EXPECT_TRUE(failed(run(-1, false)));
  EXPECT_EQ(takeErrors(), "the model computes k = -1; expected 0 to 9\n");
  EXPECT_TRUE(failed(run(3, false))); // the loop would give 12 elements
  EXPECT_EQ(takeErrors(), "the model computes out = 12; expected 0 to 9\n");
}

TEST_F(InterpreterTest, ChecksWhatLoopsCarryAndGather) {
  auto loop = [&](StringRef carried, StringRef gathered) {
    return parse(
        (R"(module attributes {dl.symbols = [#dl.symbol<"N", 0, 9>, #dl.symbol<"in", 0, 9 read true>, #dl.symbol<"out", 0, 9 read true>]} {
    func.func @f(%x: tensor<?xf32, #dl.t<[s0]>>, %n: tensor<i64>) {
      %z, %all = dl.while trips(%n : tensor<i64>) (%x) : (tensor<?xf32, #dl.t<[s0]>>) -> (tensor<?xf32, #dl.t<[s2]>>, tensor<2x?xf32, #dl.t<[2, s2]>>) {
      ^bb0(%step: tensor<i64>, %a: tensor<?xf32, #dl.t<[)" +
         carried + R"(]>>):
        %0 = dl.cat %x, %x {dim = 0 : i64} : (tensor<?xf32, #dl.t<[s0]>>, tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s0 * 2]>>
        dl.yield %0, )" +
         gathered + R"( : tensor<?xf32, #dl.t<[s0 * 2]>>, tensor<?xf32, #dl.t<[)" + carried +
         R"(]>>
      }
      return
    }
  })")
            .str());
  };
  auto run = [&](func::FuncOp function) {
    Tensor x = floats({3}, {1, 2, 3}), count(IntegerType::get(&context, 64), {});
    count.ints()[0] = 2;
    return interpret(function, {x, count}, *bindSymbols(function, {x, count}));
  };
  EXPECT_TRUE(failed(run(loop("s0", "%a"))));
  EXPECT_EQ(takeErrors(), "expected a tensor of [3], got [6]\n");
  EXPECT_TRUE(failed(run(loop("s1", "%a"))));
  EXPECT_EQ(takeErrors(), "gathers tensors of [3] and [6]\n");
}

TEST_F(InterpreterTest, BindsSymbolsFromInputs) {
  auto function =
      parse(R"(module attributes {dl.symbols = [#dl.symbol<"N", 1, 4>, #dl.symbol<"T", 2, 9>]} {
    func.func @f(%x: tensor<?x?xf32, #dl.t<[s0, s1 * 2]>>, %y: tensor<?xf32, #dl.t<[s1]>>) -> tensor<?xf32, #dl.t<[s1]>> {
      return %y : tensor<?xf32, #dl.t<[s1]>>
    }
  })");
  Type f32 = Float32Type::get(&context);
  auto bound = bindSymbols(function, {Tensor(f32, {3, 10}), Tensor(f32, {5})});
  ASSERT_TRUE(succeeded(bound)) << errors;
  EXPECT_EQ(ArrayRef<int64_t>(*bound), ArrayRef<int64_t>({3, 5}));
  EXPECT_TRUE(failed(bindSymbols(function, {Tensor(f32, {3, 11}), Tensor(f32, {5})})));
  EXPECT_EQ(takeErrors(), "input 0 is expected as [3, 10] of 'f32', got [3, 11] of 'f32'\n");
  EXPECT_TRUE(failed(bindSymbols(function, {Tensor(f32, {5, 10}), Tensor(f32, {5})})));
  EXPECT_EQ(takeErrors(), "symbol 0 is expected between 1 and 4, got 5\n");
}

TEST_F(InterpreterTest, LetsAnObserverSeeEachOp) {
  auto function = parse(R"(func.func @f(%x: tensor<1xf32>) -> tensor<1xf32> {
    %a = dl.neg %x : (tensor<1xf32>) -> tensor<1xf32>
    %b = dl.add %a, %a : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
    return %b : tensor<1xf32>
  })");
  SmallVector<double> seen;
  InterpreterOptions options;
  options.observe = [&](Operation *, ArrayRef<Tensor> results) {
    seen.push_back(results[0].floats()[0]);
  };
  ASSERT_TRUE(succeeded(interpret(function, {floats({1}, {3})}, {}, options)));
  EXPECT_EQ(ArrayRef<double>(seen), ArrayRef<double>({-3, -6}));
}

TEST_F(InterpreterTest, RefusesWhatItDoesNotKnow) {
  auto function =
      parse("func.func @f(%x: i32) -> i32 { %y = arith.addi %x, %x : i32 return %y : i32 }");
  EXPECT_TRUE(failed(interpretBlock(function.getBody().front(),
                                    {Tensor(IntegerType::get(&context, 32), {})}, {})));
  EXPECT_EQ(takeErrors(),
            "'arith.addi' cannot be interpreted: expected an op of dl, as before outline\n");
  auto external = parse("func.func private @f(tensor<1xf32>) -> tensor<1xf32>");
  EXPECT_TRUE(failed(interpret(external, {floats({1}, {1})}, {})));
  EXPECT_EQ(takeErrors(), "has no body to interpret\n");
}

/// Element bytes of every 16-bit pattern survive the way through double.
TEST_F(InterpreterTest, SixteenBitFormatsRoundTrip) {
  for (Type type : {Type(Float16Type::get(&context)), Type(BFloat16Type::get(&context))}) {
    std::vector<char> bytes(2 << 16);
    for (uint32_t i = 0; i < 1 << 16; ++i)
      bytes[2 * i] = static_cast<char>(i), bytes[2 * i + 1] = static_cast<char>(i >> 8);
    Tensor tensor = Tensor::fromBytes(type, {1 << 16}, bytes);
    std::vector<char> back = tensor.toBytes();
    for (uint32_t i = 0; i < 1 << 16; ++i)
      if (!std::isnan(tensor.floats()[i]))
        ASSERT_TRUE(bytes[2 * i] == back[2 * i] && bytes[2 * i + 1] == back[2 * i + 1]) << i;
    for (uint32_t i = 0; i < 1 << 16; ++i) {
      double number = tensor.floats()[i];
      APFloat same(cast<FloatType>(type).getFloatSemantics(), APInt(16, i));
      bool loses;
      same.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      ASSERT_TRUE(same.convertToDouble() == number || (std::isnan(number) && same.isNaN())) << i;
    }
  }
}

TEST_F(InterpreterTest, RoundsAsAPFloatDoes) {
  uint64_t state = 7;
  for (Type type : {Type(Float16Type::get(&context)), Type(BFloat16Type::get(&context)),
                    Type(Float32Type::get(&context))})
    for (int i = 0; i < 20000; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      double number = std::ldexp(static_cast<double>(static_cast<int64_t>(state)),
                                 -63 - static_cast<int>(state % 170) + 20);
      APFloat expected(number);
      bool loses;
      expected.convert(cast<FloatType>(type).getFloatSemantics(), APFloat::rmNearestTiesToEven,
                       &loses);
      expected.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &loses);
      ASSERT_EQ(roundTo(type, number), expected.convertToDouble()) << number;
    }
}

/// Each pattern of a format, NaNs among them, comes back as it was.
TEST_F(InterpreterTest, KeepsTheBitsOfFloats) {
  auto keeps = [&](Type element, uint64_t bits) {
    SmallVector<char> bytes(elementBytes(element));
    std::memcpy(bytes.data(), &bits, bytes.size());
    std::vector<char> back = Tensor::fromBytes(element, {}, bytes).toBytes();
    return ArrayRef<char>(back) == ArrayRef<char>(bytes);
  };
  Builder b(&context);
  for (Type element : {Type(b.getF16Type()), Type(b.getBF16Type())})
    for (uint64_t bits = 0; bits < 65536; ++bits)
      ASSERT_TRUE(keeps(element, bits)) << bits;
  for (Type element :
       {Type(Float8E4M3FNType::get(&context)), Type(Float8E4M3FNUZType::get(&context)),
        Type(Float8E5M2Type::get(&context)), Type(Float8E5M2FNUZType::get(&context)),
        Type(Float8E8M0FNUType::get(&context))})
    for (uint64_t bits = 0; bits < 256; ++bits)
      ASSERT_TRUE(keeps(element, bits)) << bits;
  for (uint64_t bits : {0x7f800001ull, 0xff812345ull, 0x7fc00000ull, 0x7f800000ull, 0x80000000ull,
                        0x00000001ull, 0x3f800000ull})
    EXPECT_TRUE(keeps(b.getF32Type(), bits)) << bits;
  for (uint64_t bits : {0x7ff0000000000001ull, 0xfff8000000000123ull, 0x0000000000000001ull})
    EXPECT_TRUE(keeps(b.getF64Type(), bits)) << bits;
}

TEST_F(InterpreterTest, ComparesWithinTolerance) {
  Tensor expected = floats({2, 2}, {1, 2, 3, 4}), actual = floats({2, 2}, {1, 2, 3.25, 4});
  EXPECT_FALSE(compareTensors(expected, expected, {}));
  auto text = compareTensors(actual, expected, {});
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "1 of 4 values differ, most at [1, 0]: 3.25, expected 3");
  EXPECT_FALSE(compareTensors(actual, expected, {0.0, 0.1}));
  EXPECT_TRUE(compareTensors(actual, expected, {0.0, 0.05}));
  EXPECT_TRUE(compareTensors(floats({1}, {NAN}), floats({1}, {1}), {0.0, 1e9}));
  EXPECT_TRUE(compareTensors(floats({1}, {1}), floats({1}, {NAN}), {0.0, 1e9}));
  EXPECT_FALSE(compareTensors(floats({1}, {1 + 0x1p-23}), floats({1}, {1}), {1.0, 0.0}));
  EXPECT_TRUE(compareTensors(floats({1}, {1 + 0x1p-22}), floats({1}, {1}), {1.0, 0.0}));
  EXPECT_TRUE(compareTensors(floats({2}, {1, 2}), floats({1, 2}, {1, 2}), {}));
}

/// Every op that a body may build compiles to a tape.
TEST_F(InterpreterTest, KnowsEveryScalarOp) {
  StringRef source = R"(func.func @f(%f: f32, %i: i32, %h: f16, %b: i1, %n: index, %s: i8) {
    %0 = arith.constant 1 : i32
    %1 = arith.addf %f, %f : f32
    %2 = arith.subf %f, %f : f32
    %3 = arith.mulf %f, %f : f32
    %4 = arith.divf %f, %f : f32
    %5 = arith.negf %f : f32
    %6 = arith.maximumf %f, %f : f32
    %7 = arith.minimumf %f, %f : f32
    %8 = arith.cmpf olt, %f, %f : f32
    %9 = arith.addi %i, %i : i32
    %10 = arith.subi %i, %i : i32
    %11 = arith.muli %i, %i : i32
    %12 = arith.divsi %i, %i : i32
    %13 = arith.divui %i, %i : i32
    %14 = arith.maxsi %i, %i : i32
    %15 = arith.maxui %i, %i : i32
    %16 = arith.minsi %i, %i : i32
    %17 = arith.minui %i, %i : i32
    %18 = arith.andi %i, %i : i32
    %19 = arith.ori %i, %i : i32
    %20 = arith.cmpi sge, %n, %n : index
    %21 = arith.select %b, %f, %f : f32
    %22 = arith.extf %h : f16 to f32
    %23 = arith.truncf %f : f32 to f16
    %24 = arith.fptosi %f : f32 to i32
    %25 = arith.fptoui %f : f32 to i32
    %26 = arith.sitofp %i : i32 to f32
    %27 = arith.uitofp %i : i32 to f32
    %28 = arith.extsi %s : i8 to i32
    %29 = arith.extui %s : i8 to i32
    %30 = arith.trunci %i : i32 to i8
    %31 = arith.index_cast %n : index to i32
    %v67 = arith.bitcast %f : f32 to i32
    %32 = math.absf %f : f32
    %33 = math.absi %i : i32
    %34 = math.sqrt %f : f32
    %35 = math.floor %f : f32
    %v41 = arith.xori %i, %i : i32
    %v42 = math.ceil %f : f32
    %v43 = math.trunc %f : f32
    %v44 = math.roundeven %f : f32
    %v50 = math.exp2 %f : f32
    %v51 = math.expm1 %f : f32
    %v52 = math.log2 %f : f32
    %v53 = math.log10 %f : f32
    %v54 = math.log1p %f : f32
    %v55 = math.sin %f : f32
    %v56 = math.cos %f : f32
    %v57 = math.tan %f : f32
    %v58 = math.asin %f : f32
    %v59 = math.acos %f : f32
    %v60 = math.atan %f : f32
    %v61 = math.atan2 %f, %f : f32
    %v62 = math.powf %f, %f : f32
    %v63 = math.ipowi %i, %i : i32
    %v64 = arith.remf %f, %f : f32
    %v65 = arith.remsi %i, %i : i32
    %v66 = arith.remui %i, %i : i32
    %v36 = math.exp %f : f32
    %v37 = math.log %f : f32
    %v38 = math.tanh %f : f32
    %v39 = math.erf %f : f32
    %v71 = dls.gelu %f : f32
    %v72 = dls.sigmoid %f : f32
    %v40 = math.erfc %f : f32
    return
  })";
  auto function = parse(source);
  Block &body = function.getBody().front();
  body.getTerminator()->erase();
  llvm::StringSet<> present;
  for (Operation &op : body)
    present.insert(op.getName().getStringRef());
#define DLC_SCALAR_OP(Class, Weight)                                                               \
  EXPECT_TRUE(present.contains(Class::getOperationName())) << #Class;
#include "ir/scalar/ScalarOps.def"
  ScalarTape tape(body, body.back().getResult(0));
  EXPECT_TRUE(tape.resultIsFloat());
  for (int argument : {0, 2})
    tape.argument(argument).floats[0] = 0.5;
  for (int argument : {1, 3, 4, 5})
    tape.argument(argument).ints[0] = 1;
  EXPECT_EQ(tape.run(1).floats[0], std::erfc(0.5));
  // The parsed ops go with the module; it needs no terminator to be destroyed.
}

} // namespace
