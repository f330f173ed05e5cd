//===- KernelFunctions.cpp - Signatures and shared memory of printed functions ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/CudaText.h"
#include "codegen/cuda/print/KernelPrinter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace dlc::codegen {

void KernelPrinter::begin() {
  names.clear();
  named.clear();
  pending.clear();
  yieldTargets.clear();
}

static bool isWritten(Value memref) {
  return llvm::any_of(memref.getUses(), [](OpOperand &use) {
    auto effects = dyn_cast<MemoryEffectOpInterface>(use.getOwner());
    return !effects || effects.getEffectOnValue<MemoryEffects::Write>(use.get());
  });
}

std::string KernelPrinter::parameter(Value argument, DictionaryAttr attributes) {
  auto wish = attributes ? attributes.getAs<StringAttr>("dlc.role") : StringAttr();
  auto memref = dyn_cast<MemRefType>(argument.getType());
  std::string name = names.fresh(wish ? wish.getValue() : memref ? "buffer" : "x");
  named[argument] = name;
  if (isa<dlk::TensorMapType>(argument.getType()))
    return "DLC_GRID_CONST dlc::tensor_map " + name;
  if (!memref)
    return typeOf(argument, function) + " " + name;
  auto element = cpp::typeName(memref.getElementType(), indexBits);
  if (memref.getRank() != 1 || !memref.getLayout().isIdentity() || !element) {
    error(function, "buffer '" + name + "' is not a flat memref of scalars");
    return "?";
  }
  std::string text = isWritten(argument) ? *element + " *" : "const " + *element + " *";
  return text + (attributes && attributes.contains("llvm.noalias") ? "__restrict__ " : "") + name;
}

LogicalResult KernelPrinter::printDeviceFunction(func::FuncOp func) {
  function = func;
  begin();
  std::string type = typeOf(func.getArgument(0), func);
  os << "static DLC_DEV " << type << " " << func.getName() << "(";
  for (BlockArgument argument : func.getArguments())
    os << (argument.getArgNumber() ? ", " : "") << parameter(argument, {});
  os << ") {\n";
  block(func.front(), {});
  os << "}\n\n";
  return failure(failed);
}

LogicalResult KernelPrinter::printKernel(gpu::GPUFuncOp kernel) {
  function = kernel;
  begin();
  auto blockSize = kernel.getKnownBlockSize();
  if (!blockSize || !kernel.isKernel() || !llvm::hasSingleElement(kernel.getBody())) {
    error(kernel, "needs a kernel of one block with known_block_size");
    return failure();
  }
  int64_t threads = 1;
  for (int32_t size : *blockSize)
    threads *= size;
  // Text for some architectures compiles to nothing on others.
  StringRef condition = kernel->hasAttr("dlc.sm_90a")    ? "DLC_HAS_WGMMA"
                        : kernel->hasAttr("dlc.cluster") ? "DLC_HAS_CLUSTERS"
                                                         : "";
  if (!condition.empty())
    os << "#ifdef " << condition << "\n\n";
  if (auto blocks = kernel->getAttrOfType<IntegerAttr>("dlc.resident_blocks"))
    os << "DLC_KERNEL_OCCUPANCY(" << threads << ", " << blocks.getInt() << ") ";
  else if (auto blocks = kernel->getAttrOfType<IntegerAttr>("dlc.cluster"))
    os << "DLC_KERNEL_CLUSTER(" << threads << ", " << blocks.getInt() << ") ";
  else
    os << "DLC_KERNEL(" << threads << ") ";
  os << kernel.getName() << "(";
  for (BlockArgument argument : kernel.getArguments().take_front(kernel.getNumArguments())) {
    unsigned position = argument.getArgNumber();
    os << (position ? ",\n    " : "\n    ") << parameter(argument, kernel.getArgAttrDict(position));
  }
  os << ") {\n";
  for (auto [position, shared] : llvm::enumerate(kernel.getWorkgroupAttributions())) {
    auto type = cast<MemRefType>(shared.getType());
    auto element = cpp::typeName(type.getElementType(), indexBits);
    if (!type.hasStaticShape() || !type.getLayout().isIdentity() || !element) {
      error(kernel, "shared memory has a static shape and a scalar element type");
      break;
    }
    auto wish =
        dyn_cast_or_null<StringAttr>(kernel.getWorkgroupAttributionAttr(position, "dlc.role"));
    named[shared] = names.fresh(wish ? wish.getValue() : "shared");
    os << "  DLC_SHARED(" << *element << ", " << named[shared] << ", ";
    for (int64_t size : type.getShape())
      os << "[" << size << "]";
    os << ");\n";
  }
  // Before anything is read or written: the runtime may launch the kernel before the one before it
  // has ended. Some templates do so themselves, once shared memory is ready or weights are on their
  // way.
  if (!kernel->hasAttr("dlc.begins"))
    os << "  dlc::begin_grid();\n";
  if (!failed)
    block(kernel.getBody().front(), {});
  os << "}\n";
  if (!condition.empty())
    os << "\n#endif // " << condition << "\n";
  return failure(failed);
}

} // namespace dlc::codegen
