//===- MachineCode.cpp - LLVM IR to an object file for one instruction set ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/MachineCode.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <array>
#include <mutex>

using namespace llvm;

namespace dlc::codegen {

namespace {
/// The features that an instruction set adds to those before it, by LLVM's names.
struct IsaRow {
  const char *name, *cpu; // of the image; of LLVM's, the largest that it takes in
  std::vector<const char *> features;
};
} // namespace

static const IsaRow &rowOf(IsaVariant isa) {
  static const auto &rows = *new std::array<IsaRow, std::size(kIsaVariants)>{{
      {"avx2", "x86-64-v3", {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe", "popcnt"}},
      {"avx512", "x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}},
      {"avx512_vnni", "x86-64-v4", {"avx512vnni"}},
      {"avx512_bf16", "x86-64-v4", {"avx512bf16"}},
  }};
  return rows[static_cast<size_t>(isa)];
}

llvm::StringRef isaName(IsaVariant isa) { return rowOf(isa).name; }

std::vector<std::string> isaFeatures(IsaVariant isa) {
  std::vector<std::string> features;
  for (IsaVariant part : kIsaVariants)
    if (part <= isa)
      llvm::append_range(features, rowOf(part).features);
  return features;
}

static Expected<std::unique_ptr<TargetMachine>> makeTargetMachine(IsaVariant isa) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
  });
  // Named here, not taken from the host: the same source gives the same bytes everywhere.
  Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const Target *target = TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return createStringError(inconvertibleErrorCode(), message);
  TargetOptions options;
  // Only fma that was asked for: a product and a sum round twice on every target.
  options.AllowFPOpFusion = FPOpFusion::Strict;
  std::string features;
  for (const std::string &feature : isaFeatures(isa))
    features += (features.empty() ? "+" : ",+") + feature;
  std::unique_ptr<TargetMachine> machine(
      target->createTargetMachine(triple, rowOf(isa).cpu, features, options, Reloc::PIC_,
                                  std::nullopt, CodeGenOptLevel::Default));
  if (!machine)
    return createStringError(inconvertibleErrorCode(),
                             "LLVM has no code generator for " + triple.str());
  return machine;
}

/// Not O2, which takes three times as long and finds no more: kernels are already vectorised and
/// unrolled, and each is one function without calls. A text
/// asks instcombine to prove that it is done after one round, which is for tests of its own.
static constexpr const char *kPipeline = "function(early-cse<memssa>,instcombine<no-verify-"
                                         "fixpoint>,simplifycfg,loop-mssa(licm),early-cse<memssa>,"
                                         "instcombine<no-verify-fixpoint>,simplifycfg)";

static Error optimise(Module &module, TargetMachine &machine) {
  LoopAnalysisManager loops;
  FunctionAnalysisManager functions;
  CGSCCAnalysisManager callGraph;
  ModuleAnalysisManager modules;
  PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  ModulePassManager passes;
  if (Error error = builder.parsePassPipeline(passes, kPipeline))
    return error;
  passes.run(module, modules);
  return Error::success();
}

/// Stores of one lane of a vector as stores of that element. LLVM 22's x86 back end does so itself,
/// but where the vector was truncated it stores the lane before truncation: four bytes for two.
static void storeSingleLanes(Module &module) {
  SmallVector<IntrinsicInst *> stores;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == Intrinsic::masked_store)
        stores.push_back(call);
  for (IntrinsicInst *store : stores) {
    auto *mask = dyn_cast<Constant>(store->getArgOperand(2));
    auto *vector = dyn_cast<FixedVectorType>(store->getArgOperand(0)->getType());
    if (!mask || !vector)
      continue;
    unsigned set = 0, lane = 0;
    for (unsigned i = 0; i < vector->getNumElements(); ++i)
      if (Constant *element = mask->getAggregateElement(i); !element || !element->isZeroValue())
        ++set, lane = i;
    if (set != 1)
      continue;
    IRBuilder<> builder(store);
    Value *element = builder.CreateExtractElement(store->getArgOperand(0), lane);
    Value *address =
        builder.CreateConstGEP1_64(vector->getElementType(), store->getArgOperand(1), lane);
    builder.CreateAlignedStore(element, address, Align(1));
    store->eraseFromParent();
  }
}

Expected<SmallVector<char, 0>> compileObject(Module &module, IsaVariant isa) {
  auto machine = makeTargetMachine(isa);
  if (!machine)
    return machine.takeError();
  module.setTargetTriple((*machine)->getTargetTriple());
  module.setDataLayout((*machine)->createDataLayout());
  module.setPICLevel(PICLevel::BigPIC);
  for (Function &function : module) {
    // Generic AVX-512 tuning would split our vectors in two.
    if (isa >= IsaVariant::avx512)
      function.addFnAttr("prefer-vector-width", "512");
    function.addFnAttr(Attribute::NoUnwind);
    if (!function.isDeclaration())
      function.setDSOLocal(true);
  }
  if (Error error = optimise(module, **machine))
    return std::move(error);
  storeSingleLanes(module);
  SmallVector<char, 0> object;
  raw_svector_ostream stream(object);
  legacy::PassManager emission;
  if ((*machine)->addPassesToEmitFile(emission, stream, nullptr, CodeGenFileType::ObjectFile))
    return createStringError(inconvertibleErrorCode(), "LLVM cannot write x86-64 objects");
  emission.run(module);
  return object;
}

} // namespace dlc::codegen
