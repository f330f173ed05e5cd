//===- CpuCode.cpp - Scheduled CPU kernels to machine code --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/CpuCode.h"

#include "codegen/cpu/image/FlatImage.h"
#include "codegen/cpu/image/MachineCode.h"
#include "codegen/cpu/lower/LowerKernels.h"
#include "codegen/plan/ParallelKernels.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <thread>

using namespace mlir;

namespace dlc::codegen {

namespace {

/// One instruction set's code on its way; what touches MLIR happens on threads that its context
/// knows of.
struct Compilation {
  explicit Compilation(IsaVariant isa) : isa(isa) { context.setDiscardValueNames(true); }

  IsaVariant isa;
  ModuleOp kernels;
  std::vector<OwningOpRef<ModuleOp>> lowered; // a module for each function
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::optional<llvm::Expected<FlatImage>> image;

  LogicalResult translate();
  void generate();
  FailureOr<CpuCode> finish(ModuleOp cpuModule);
};

using Compilations = std::vector<std::unique_ptr<Compilation>>;

} // namespace

/// Lowers all functions, as many at a time as there are threads.
static LogicalResult lower(const Compilations &compilations, MLIRContext *context) {
  struct Function {
    Operation *op;
    Compilation *of;
    OwningOpRef<ModuleOp> *lowered;
  };
  std::vector<Function> functions;
  for (auto &compilation : compilations) {
    Block::OpListType &ops = compilation->kernels.getBody()->getOperations();
    compilation->lowered.resize(ops.size());
    for (auto [op, lowered] : llvm::zip_equal(ops, compilation->lowered))
      functions.push_back({&op, compilation.get(), &lowered});
  }
  KernelLowering lowering(context);
  return forEachKernel(context, functions.size(), [&](size_t number) {
    Function &function = functions[number];
    *function.lowered = ModuleOp::create(function.of->kernels.getLoc());
    (*function.lowered)->push_back(function.op->clone());
    return lowering.lower(**function.lowered);
  });
}

LogicalResult Compilation::translate() {
  OwningOpRef<ModuleOp> all(ModuleOp::create(kernels.getLoc()));
  Block *body = all->getBody();
  for (auto &one : lowered)
    body->getOperations().splice(body->end(), one->getBody()->getOperations());
  lowered.clear();
  module = translateModuleToLLVMIR(*all, context, isaName(isa));
  return success(module != nullptr);
}

void Compilation::generate() {
  auto object = compileObject(*module, isa);
  if (!object) {
    image.emplace(object.takeError());
    return;
  }
  image.emplace(makeFlatImage({reinterpret_cast<const uint8_t *>(object->data()), object->size()}));
}

FailureOr<CpuCode> Compilation::finish(ModuleOp cpuModule) {
  if (!*image)
    return cpuModule.emitError("no code for ")
           << isaName(isa) << ": " << llvm::toString(image->takeError());
  FlatImage &flat = **image;
  return CpuCode{isaName(isa).str(), isaFeatures(isa), std::move(flat.bytes),
                 std::move(flat.entries), std::move(flat.imports)};
}

static FailureOr<std::vector<CpuCode>> compile(ModuleOp cpuModule, ArrayRef<IsaVariant> isas) {
  MLIRContext *context = cpuModule.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  Compilations compilations;
  for (IsaVariant isa : isas) {
    compilations.emplace_back(new Compilation(isa));
    compilations.back()->kernels = cpuModule.lookupSymbol<ModuleOp>(isaName(isa));
    if (!compilations.back()->kernels)
      return cpuModule.emitError("has no module @")
             << isaName(isa) << "; run dl-schedule-cpu before compiling";
  }
  if (failed(lower(compilations, context)))
    return failure();
  std::vector<std::thread> threads;
  bool isGood = true;
  for (auto &compilation : compilations) {
    isGood = succeeded(compilation->translate());
    if (!isGood)
      break;
    threads.emplace_back(&Compilation::generate, compilation.get());
  }
  for (std::thread &thread : threads)
    thread.join();
  std::vector<CpuCode> codes;
  for (auto &compilation : compilations) {
    if (!compilation->image) // not translated; reported there
      continue;
    FailureOr<CpuCode> code = compilation->finish(cpuModule);
    isGood &= succeeded(code);
    if (succeeded(code))
      codes.push_back(std::move(*code));
  }
  if (!isGood)
    return failure();
  return codes;
}

FailureOr<CpuCode> compileCpu(ModuleOp cpuModule, IsaVariant isa) {
  FailureOr<std::vector<CpuCode>> codes = compile(cpuModule, isa);
  if (failed(codes))
    return failure();
  return std::move(codes->front());
}

FailureOr<std::vector<CpuCode>> compileCpuVariants(ModuleOp cpuModule) {
  return compile(cpuModule, llvm::filter_to_vector(kIsaVariants, [&](IsaVariant isa) {
                   return isa <= IsaVariant::avx512 ||
                          cpuModule.lookupSymbol<ModuleOp>(isaName(isa));
                 }));
}

} // namespace dlc::codegen
