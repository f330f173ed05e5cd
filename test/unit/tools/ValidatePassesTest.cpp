//===- ValidatePassesTest.cpp - --validate-passes finds planted faults by name ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/compiler/ValidatePasses.h"

#include "ir/dl/DLOps.h"
#include "passes/Pipelines.h"
#include "tools/driver/source/Dialects.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

#include <gtest/gtest.h>

using namespace mlir;
using namespace dlc;

namespace {

/// A pass that applies `change` to the function: a fault to be found.
struct PlantedPass : PassWrapper<PlantedPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlantedPass)
  PlantedPass(std::string flag, std::function<void(func::FuncOp)> change)
      : flag(std::move(flag)), change(std::move(change)) {}
  StringRef getArgument() const override { return flag; }
  void runOnOperation() override { change(getOperation()); }
  std::string flag;
  std::function<void(func::FuncOp)> change;
};

constexpr const char *kModel = R"(
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  func.func @forward(%x: tensor<?x2x4x4xf32, #dl.t<[s0, 2, 4, 4]>>)
      -> (tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>> {dl.name = "y"}) {
    %w = dl.weight "w" : tensor<3x2x1x1xf32>
    %m = dl.weight "m" : tensor<3xf32>
    %v = dl.weight "v" : tensor<3xf32>
    %0 = dl.conv2d %x, %w : (tensor<?x2x4x4xf32, #dl.t<[s0, 2, 4, 4]>>, tensor<3x2x1x1xf32>) -> tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>
    %1 = dl.batch_norm %0, %m, %v : (tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>, tensor<3xf32>, tensor<3xf32>) -> tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>
    %2 = dl.relu %1 : (tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>) -> tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>
    return %2 : tensor<?x3x4x4xf32, #dl.t<[s0, 3, 4, 4]>>
  }
})";

class ValidatePasses : public ::testing::Test {
protected:
  ValidatePasses() {
    DialectRegistry registry;
    registerDialects(registry);
    context = std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    module = parseSourceString<ModuleOp>(kModel, context.get());
  }

  /// Runs all graph phases with `planted` after simplify; what the validator found.
  std::string findingWith(std::string flag, std::function<void(func::FuncOp)> change) {
    PassValidator validator;
    EXPECT_TRUE(succeeded(validator.begin(*module)));
    PassManager manager(context.get());
    manager.addInstrumentation(validator.makeInstrumentation());
    addPhase(manager, Phase::simplify, {});
    if (change)
      manager.addNestedPass<func::FuncOp>(
          std::make_unique<PlantedPass>(std::move(flag), std::move(change)));
    addPhase(manager, Phase::compress, {});
    addPhase(manager, Phase::layout, {});
    addPhase(manager, Phase::fuse, {});
    EXPECT_TRUE(succeeded(manager.run(*module)));
    EXPECT_GT(validator.getNumRuns(), 3u);
    return validator.getFinding();
  }

  std::unique_ptr<MLIRContext> context;
  OwningOpRef<ModuleOp> module;
};

/// The bias that a wrong fold of the batch norm would give.
void forgetMean(func::FuncOp function) {
  function.walk([](dl::Conv2dOp conv) {
    OpBuilder builder(conv);
    Value bias = conv.getBias();
    conv.getBiasMutable()[0].set(dl::NegOp::create(builder, conv.getLoc(), bias));
  });
}

TEST_F(ValidatePasses, RightPassesAreSilent) { EXPECT_EQ(findingWith("", nullptr), ""); }

TEST_F(ValidatePasses, AWrongFoldIsNamed) {
  std::string finding = findingWith("wrong-fold", forgetMean);
  EXPECT_EQ(finding, "pass 'wrong-fold' changed output 'y' at [0, 0, 0, 1] for small integers: "
                     "2.625100613E+00 before, 3.449198246E+00 after");
}

TEST_F(ValidatePasses, AWrongFoldIsFoundBesideADeclaredBound) {
  std::string finding = findingWith("fold-batch-norm", forgetMean);
  EXPECT_EQ(finding, "pass 'fold-batch-norm' changed output 'y' at [0, 0, 0, 1] for small "
                     "integers: 2.625100613E+00 before, 3.449198246E+00 after (it may move results "
                     "by 1.0E-04 of the largest)");
}

/// A scale that is taken into the weights, and not into the bias.
TEST_F(ValidatePasses, AScaleThatLeavesTheBiasIsNamed) {
  std::string finding = findingWith("fold-scales", [](func::FuncOp function) {
    function.walk([](dl::Conv2dOp conv) {
      OpBuilder builder(conv);
      auto two = cast<TypedAttr>(builder.getF32FloatAttr(2));
      Value weight = conv.getWeight();
      Value factor = dl::FullOp::create(builder, conv.getLoc(), weight.getType(), two);
      conv.getWeightMutable().set(dl::MulOp::create(builder, conv.getLoc(), weight, factor));
      builder.setInsertionPointAfter(conv);
      Value half = dl::FullOp::create(builder, conv.getLoc(), conv.getType(), two);
      auto quotient = dl::DivOp::create(builder, conv.getLoc(), conv.getY(), half);
      conv.getY().replaceAllUsesExcept(quotient, quotient);
    });
  });
  EXPECT_EQ(
      finding,
      "pass 'fold-scales' changed output 'y' at [0, 0, 0, 1] for small integers: 2.625100613E+00 "
      "before, 2.831125021E+00 after (it may move results by 1.0E-04 of the largest)");
}

/// A change that puts an op before everything that reads the input: `make` builds it of the input.
std::function<void(func::FuncOp)>
beforeReaders(std::function<Operation *(OpBuilder &, Location, Value)> make) {
  return [make](func::FuncOp function) {
    OpBuilder builder(function.getBody());
    Value x = function.getArgument(0);
    Operation *op = make(builder, function.getLoc(), x);
    x.replaceAllUsesExcept(op->getResult(0), op);
  };
}

/// Rows that are taken in another order than before.
TEST_F(ValidatePasses, APartOfAnotherPlaceIsNamed) {
  auto roll = [](OpBuilder &builder, Location loc, Value x) -> Operation * {
    return dl::RollOp::create(builder, loc, x.getType(), x, builder.getDenseI64ArrayAttr({1}),
                              builder.getDenseI64ArrayAttr({2}));
  };
  std::string finding = findingWith("hoist-slices", beforeReaders(roll));
  EXPECT_EQ(finding, "pass 'hoist-slices' changed output 'y' at [0, 0, 0, 1] for small integers: "
                     "2.625100613E+00 before, 0.000000000E+00 after");
}

/// A permutation where a view would do as well by its type alone.
TEST_F(ValidatePasses, APermutationThatIsNoViewIsNamed) {
  auto permute = [](OpBuilder &builder, Location loc, Value x) -> Operation * {
    return dl::PermuteOp::create(builder, loc, x.getType(), x,
                                 builder.getDenseI64ArrayAttr({0, 1, 3, 2}));
  };
  std::string finding = findingWith("move-views", beforeReaders(permute));
  EXPECT_EQ(finding, "pass 'move-views' changed output 'y' at [0, 0, 0, 1] for small integers: "
                     "2.625100613E+00 before, 3.910261631E+00 after");
}

/// An activation after another one, which is left out where it is the only one.
TEST_F(ValidatePasses, ARuleThatGoesTooFarIsNamed) {
  std::string finding = findingWith("simplify-algebra", [](func::FuncOp function) {
    function.walk([](dl::ReluOp relu) { relu.getY().replaceAllUsesWith(relu.getX()); });
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'simplify-algebra' changed output 'y' at "))
      << finding;
}

/// A normalization without the small number that keeps it from dividing by zero.
TEST_F(ValidatePasses, ANormWithoutItsEpsilonIsNamed) {
  module = parseSourceString<ModuleOp>(R"(
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {dl.name = "y"}) {
  %0 = dl.layer_norm %x {eps = 1.0e-02 : f64, normalized_shape = array<i64: 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
})",
                                       context.get());
  std::string finding = findingWith("raise-norms", [](func::FuncOp function) {
    function.walk([](dl::StandardizeOp norm) {
      norm->setAttr("eps", Builder(norm.getContext()).getF64FloatAttr(1e-9));
    });
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'raise-norms' changed output 'y' at "))
      << finding;
}

/// Two products of one value, whose results are taken for each other.
TEST_F(ValidatePasses, ExchangedPartsOfAMergedProductAreNamed) {
  module = parseSourceString<ModuleOp>(R"(
func.func @forward(%x: tensor<4x8xf32>) -> (tensor<4x8xf32> {dl.name = "q"}, tensor<4x8xf32> {dl.name = "k"}) {
  %v = dl.weight "v" : tensor<8x8xf32>
  %w = dl.weight "w" : tensor<8x8xf32>
  %q = dl.linear %x, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %k = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %q, %k : tensor<4x8xf32>, tensor<4x8xf32>
})",
                                       context.get());
  std::string finding = findingWith("merge-products", [](func::FuncOp function) {
    Operation *end = function.front().getTerminator();
    Value first = end->getOperand(0);
    end->setOperand(0, end->getOperand(1));
    end->setOperand(1, first);
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'merge-products' changed output 'q' at "))
      << finding;
}

/// Rounding down leaves integers as they are.
TEST_F(ValidatePasses, FractionsTellWhatIntegersDoNot) {
  auto floor = [](OpBuilder &builder, Location loc, Value x) -> Operation * {
    return dl::FloorOp::create(builder, loc, x.getType(), x);
  };
  std::string finding = findingWith("rounds", beforeReaders(floor));
  EXPECT_EQ(finding, "pass 'rounds' changed output 'y' at [0, 0, 0, 1] for random numbers: "
                     "1.665900826E+00 before, 7.094453573E-01 after");
}

/// relu(x) for NaN is NaN; 0 * x + relu(x) is too, but for infinities it is not: only special
/// values tell.
TEST_F(ValidatePasses, SpecialValuesTellWhatNumbersDoNot) {
  std::string finding = findingWith("drops-infinities", [](func::FuncOp function) {
    function.walk([](dl::ReluOp relu) {
      OpBuilder builder(relu->getContext());
      builder.setInsertionPointAfter(relu);
      auto type = cast<RankedTensorType>(relu.getType());
      Value zero = dl::FullOp::create(builder, relu.getLoc(), type,
                                      cast<TypedAttr>(builder.getF32FloatAttr(0)));
      Value product = dl::MulOp::create(builder, relu.getLoc(), relu.getY(), zero);
      Value sum = dl::AddOp::create(builder, relu.getLoc(), relu.getY(), product);
      relu.getY().replaceUsesWithIf(sum, [&](OpOperand &use) {
        return use.getOwner() != product.getDefiningOp() && use.getOwner() != sum.getDefiningOp();
      });
    });
  });
  EXPECT_EQ(finding, "pass 'drops-infinities' changed output 'y' at [1, 0, 3, 0] for special "
                     "values: INF before, nan after");
}

/// Where a pass may move results, it may do so in the model of one target alone.
TEST_F(ValidatePasses, EachTargetIsHeldAgainstItself) {
  PassValidator validator;
  EXPECT_TRUE(succeeded(validator.begin(*module)));
  PassManager manager(context.get());
  manager.addInstrumentation(validator.makeInstrumentation());
  addPhase(manager, Phase::simplify, {});
  addPhase(manager, Phase::compress, {});
  manager.nest<ModuleOp>().addNestedPass<func::FuncOp>(
      std::make_unique<PlantedPass>("quantize-products", [](func::FuncOp function) {
        if (function->getParentOfType<ModuleOp>().getName() == "cuda")
          forgetMean(function);
      }));
  addPhase(manager, Phase::layout, {});
  addPhase(manager, Phase::fuse, {});
  EXPECT_TRUE(succeeded(manager.run(*module)));
  EXPECT_EQ(validator.getFinding(), "");
}

//===- Faults in fusions ----------------------------------------------------------------------===//

/// On cuda: a convolution with its pooling, a product that is stored with its activation, and a
/// state that is read and then updated in place.
constexpr const char *kFusedModel = R"(
module {
  func.func @forward(%x: tensor<1x2x6x6xf32>, %a: tensor<4x8xf32>, %at: tensor<i64>, %n: tensor<2x3xf32>,
                     %s: tensor<2x8xf32> {dl.state})
      -> (tensor<1x3x2x2xf32> {dl.name = "pooled"}, tensor<4x8xf32> {dl.name = "sum"}, tensor<4x8xf32> {dl.name = "gelu"},
          tensor<2x8xf32> {dl.name = "old"}, tensor<2x8xf32> {dl.state}) {
    %f = dl.weight "f" : tensor<3x2x3x3xf32>
    %c = dl.conv2d %x, %f : (tensor<1x2x6x6xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x4xf32>
    %r = dl.relu %c : (tensor<1x3x4x4xf32>) -> tensor<1x3x4x4xf32>
    %p = dl.max_pool2d %r {kernel_size = array<i64: 2, 2>} : (tensor<1x3x4x4xf32>) -> tensor<1x3x2x2xf32>
    %w = dl.weight "w" : tensor<8x8xf32>
    %h = dl.linear %a, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %g = dl.gelu %h : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %m = dl.update_slice %s, %at, %n {dim = 1 : i64} : (tensor<2x8xf32>, tensor<i64>, tensor<2x3xf32>) -> tensor<2x8xf32>
    %o = dl.neg %s : (tensor<2x8xf32>) -> tensor<2x8xf32>
    return %p, %h, %g, %o, %m : tensor<1x3x2x2xf32>, tensor<4x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
  }
})";

class ValidateFusions : public ValidatePasses {
protected:
  ValidateFusions() { module = parseSourceString<ModuleOp>(kFusedModel, context.get()); }

  /// Applies `change` to the fusions of each target and returns the validator's finding. A change
  /// returns whether it had one to make.
  std::string findingAfterFusion(std::function<bool(dl::FusionOp)> change) {
    PassValidator validator;
    EXPECT_TRUE(succeeded(validator.begin(*module)));
    PassManager manager(context.get());
    manager.addInstrumentation(validator.makeInstrumentation());
    addPhase(manager, Phase::simplify, {});
    addPhase(manager, Phase::compress, {});
    addPhase(manager, Phase::layout, {});
    addPhase(manager, Phase::fuse, {});
    unsigned changed = 0;
    manager.nest<ModuleOp>().addNestedPass<func::FuncOp>(
        std::make_unique<PlantedPass>("planted", [&](func::FuncOp function) {
          if (function->getParentOfType<ModuleOp>().getName() == "cuda")
            for (auto fusion : llvm::to_vector(function.getOps<dl::FusionOp>()))
              changed += change(fusion);
        }));
    EXPECT_TRUE(succeeded(manager.run(*module)));
    EXPECT_EQ(changed, 1u);
    return validator.getFinding();
  }
};

TEST_F(ValidateFusions, RightFusionsAreSilent) {
  EXPECT_EQ(findingAfterFusion([](dl::FusionOp fusion) { return fusion.getInPlace(); }), "");
}

TEST_F(ValidateFusions, AnUpdateBeforeAReadOfTheOldValueIsFound) {
  std::string finding = findingAfterFusion([](dl::FusionOp fusion) {
    if (fusion.getInPlace())
      fusion->moveBefore(&fusion->getBlock()->front());
    return fusion.getInPlace();
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'planted' changed output 'old' at ")) << finding;
}

TEST_F(ValidateFusions, ExchangedResultsAreFound) {
  std::string finding = findingAfterFusion([](dl::FusionOp fusion) {
    if (fusion.getNumResults() != 2)
      return false;
    Operation *yield = fusion.getBodyBlock().getTerminator();
    Value first = yield->getOperand(0);
    yield->setOperand(0, yield->getOperand(1));
    yield->setOperand(1, first);
    return true;
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'planted' changed output 'sum' at ")) << finding;
}

TEST_F(ValidateFusions, AFaultBetweenProductAndPoolingIsFound) {
  std::string finding = findingAfterFusion([](dl::FusionOp fusion) {
    auto pools = llvm::to_vector(fusion.getBodyBlock().getOps<dl::MaxPool2dOp>());
    if (pools.empty())
      return false;
    Operation *relu = pools.front()->getOperand(0).getDefiningOp();
    EXPECT_TRUE(isa<dl::ReluOp>(relu)) << "the pooling is in the convolution's fusion";
    relu->getResult(0).replaceAllUsesWith(relu->getOperand(0));
    return true;
  });
  EXPECT_TRUE(StringRef(finding).starts_with("pass 'planted' changed output 'pooled' at "))
      << finding;
}

} // namespace
