//===- LowerKernelAbi.cpp - The runtime's calling convention for CPU kernels --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/lower/LowerKernels.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace dlc::codegen {

/// A flat buffer at `pointer` as a memref. Its size is not known here and nothing asks for it.
static Value bufferAt(OpBuilder &builder, Location loc, LLVMTypeConverter &converter,
                      MemRefType type, Value pointer) {
  auto descriptor = MemRefDescriptor::poison(builder, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(builder, loc, pointer);
  descriptor.setAlignedPtr(builder, loc, pointer);
  descriptor.setConstantOffset(builder, loc, 0);
  descriptor.setConstantStride(builder, loc, 0, 1);
  Value packed = descriptor;
  return UnrealizedConversionCastOp::create(builder, loc, type, packed).getResult(0);
}

static LogicalResult lowerKernelAbi(func::FuncOp kernel, LLVMTypeConverter &converter) {
  Block &body = kernel.getBody().front();
  if (body.getNumArguments() < 3)
    return kernel.emitError("a CPU kernel takes buffers, dims, begin, end and scratch");
  MLIRContext *context = kernel.getContext();
  Location loc = kernel.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  SmallVector<BlockArgument> old(body.getArguments());
  SmallVector<Value> arguments;
  for (Type type : {pointer, i64, i64, pointer})
    arguments.push_back(body.addArgument(type, loc));

  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  auto load = [&](Value base, int64_t index, Type type) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, type, base, ArrayRef<LLVM::GEPArg>{index});
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  // abi::CpuArgs: { buffers, dims }.
  Value buffers = load(arguments[0], 0, pointer), dims;
  int64_t numBuffers = 0, numDims = 0;
  auto asIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
  };
  for (BlockArgument argument : ArrayRef(old).drop_back(3)) {
    Value value;
    if (auto type = dyn_cast<MemRefType>(argument.getType())) {
      value = bufferAt(builder, loc, converter, type, load(buffers, numBuffers++, pointer));
    } else {
      if (!dims)
        dims = load(arguments[0], 1, pointer);
      value = asIndex(load(dims, numDims++, i64));
    }
    argument.replaceAllUsesWith(value);
  }
  size_t last = old.size() - 1;
  old[last - 2].replaceAllUsesWith(asIndex(arguments[1]));
  old[last - 1].replaceAllUsesWith(asIndex(arguments[2]));
  old[last].replaceAllUsesWith(
      bufferAt(builder, loc, converter, cast<MemRefType>(old[last].getType()), arguments[3]));
  body.eraseArguments(0, old.size());
  kernel.setFunctionType(FunctionType::get(context, {pointer, i64, i64, pointer}, {}));
  return success();
}

LogicalResult lowerKernelAbi(ModuleOp module) {
  LLVMTypeConverter converter(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>())
    if (failed(lowerKernelAbi(kernel, converter)))
      return failure();
  return success();
}

} // namespace dlc::codegen
