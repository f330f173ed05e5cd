//===- CpuCode.cpp - Scheduled CPU kernels to machine code -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/CpuCode.h"

#include "codegen/cpu/image/FlatImage.h"
#include "codegen/cpu/image/MachineCode.h"
#include "codegen/cpu/lower/LowerKernels.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

#include <thread>

using namespace mlir;

namespace dlc::codegen {

namespace {

/// One instruction set's code on its way; what touches MLIR happens on the caller's thread.
struct Compilation {
  IsaVariant isa;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  std::optional<llvm::Expected<FlatImage>> image;

  LogicalResult translate(ModuleOp cpuModule);
  void generate();
  FailureOr<CpuCode> finish(ModuleOp cpuModule);
};

} // namespace

LogicalResult Compilation::translate(ModuleOp cpuModule) {
  auto kernels = cpuModule.lookupSymbol<ModuleOp>(isaName(isa));
  if (!kernels)
    return cpuModule.emitError("has no module @")
           << isaName(isa) << "; run dl-schedule-cpu before compiling";
  registerBuiltinDialectTranslation(*cpuModule.getContext());
  registerLLVMDialectTranslation(*cpuModule.getContext());
  OwningOpRef<ModuleOp> copy(kernels.clone());
  if (failed(lowerKernels(*copy)))
    return failure();
  module = translateModuleToLLVMIR(*copy, context, isaName(isa));
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

FailureOr<CpuCode> compileCpu(ModuleOp cpuModule, IsaVariant isa) {
  Compilation compilation{isa, {}, {}, {}};
  if (failed(compilation.translate(cpuModule)))
    return failure();
  compilation.generate();
  return compilation.finish(cpuModule);
}

FailureOr<std::vector<CpuCode>> compileCpuVariants(ModuleOp cpuModule) {
  std::vector<std::unique_ptr<Compilation>> compilations;
  std::vector<std::thread> threads;
  bool translated = true;
  for (IsaVariant isa : kIsaVariants) {
    if (isa > IsaVariant::avx512 && !cpuModule.lookupSymbol<ModuleOp>(isaName(isa)))
      continue;
    compilations.emplace_back(new Compilation{isa, {}, {}, {}});
    translated = succeeded(compilations.back()->translate(cpuModule));
    if (!translated)
      break;
    threads.emplace_back(&Compilation::generate, compilations.back().get());
  }
  for (std::thread &thread : threads)
    thread.join();
  std::vector<CpuCode> codes;
  for (auto &compilation : compilations) {
    if (!compilation->image) // not translated; reported there
      continue;
    FailureOr<CpuCode> code = compilation->finish(cpuModule);
    translated &= succeeded(code);
    if (succeeded(code))
      codes.push_back(std::move(*code));
  }
  if (!translated)
    return failure();
  return codes;
}

} // namespace dlc::codegen
