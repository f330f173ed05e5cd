//===- CpuCodeTest.cpp - What becomes a flat code image, and what is refused -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/CpuCode.h"
#include "codegen/cpu/image/FlatImage.h"
#include "test/unit/codegen/CpuRunner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"

#include "gtest/gtest.h"

#include <cstring>
#include <sys/mman.h>

using namespace dlc::codegen;
using namespace mlir;

namespace {

/// Kernel IR by hand: `body` in a kernel of one buffer %x, one dim %n, tiles %b to %e.
class CpuCodeTest : public ::testing::Test {
protected:
  CpuCodeTest() {
    context.loadDialect<arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
                        math::MathDialect, memref::MemRefDialect, scf::SCFDialect>();
  }

  FailureOr<CpuCode> compile(const std::string &body) {
    std::string source = "module { module @avx2 { func.func @hand(%x: memref<?xf32>, %n: index, "
                         "%b: index, %e: index, "
                         "%s: memref<?xi8>) {\n" +
                         body + "\nreturn\n} } }";
    auto module = parseSourceString<ModuleOp>(source, &context);
    EXPECT_TRUE(module);
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      message += diagnostic.str();
      return success();
    });
    return compileCpu(*module, IsaVariant::avx2);
  }

  MLIRContext context;
  std::string message;
};

TEST_F(CpuCodeTest, KernelReadsBuffersAndDimsThroughTheAbi) {
  auto code =
      compile("%c1 = arith.constant 1 : index\nscf.for %i = %b to %e step %c1 {\n"
              "%v = memref.load %x[%i] : memref<?xf32>\n%k = arith.index_cast %n : index to i32\n"
              "%f = arith.sitofp %k : i32 to f32\n%r = arith.addf %v, %f : f32\n"
              "memref.store %r, %x[%i] : memref<?xf32>\n}");
  ASSERT_TRUE(succeeded(code)) << message;
  EXPECT_EQ(code->isa, "avx2");
  EXPECT_TRUE(code->imports.empty());
  ASSERT_EQ(code->entries.count("hand"), 1u);
  if (!__builtin_cpu_supports("avx2"))
    return;
  void *image =
      mmap(nullptr, code->image.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(image, code->image.data(), code->image.size());
  mprotect(image, code->image.size(), PROT_READ | PROT_EXEC);
  alignas(64) float values[4] = {1, 2, 3, 4};
  void *buffers[] = {values};
  int64_t dims[] = {10};
  dlc::abi::CpuArgs args{buffers, dims};
  auto kernel =
      reinterpret_cast<dlc::abi::CpuKernel>(static_cast<uint8_t *>(image) + code->entries["hand"]);
  dlc::test::callKernel(kernel, args, 1, 3, nullptr);
  EXPECT_EQ(values[0], 1);
  EXPECT_EQ(values[1], 12);
  EXPECT_EQ(values[2], 13);
  EXPECT_EQ(values[3], 4);
  munmap(image, code->image.size());
}

TEST_F(CpuCodeTest, AnImportIsRefusedByKernelAndName) {
  auto code = compile("%v = memref.load %x[%b] : memref<?xf32>\n%r = math.sinh %v : f32\n"
                      "memref.store %r, %x[%b] : memref<?xf32>");
  EXPECT_TRUE(failed(code));
  EXPECT_EQ(message, "no code for avx2: kernel 'hand' needs the function 'sinhf', which kernels "
                     "cannot call: only memcpy and "
                     "memset may be imported; this is a bug in dlc's lowering");
}

TEST_F(CpuCodeTest, MemcpyIsImportedThroughASlot) {
  auto code =
      compile("%p = memref.extract_aligned_pointer_as_index %x : memref<?xf32> -> index\n"
              "%i = arith.index_cast %p : index to i64\n%q = llvm.inttoptr %i : i64 to !llvm.ptr\n"
              "%t = llvm.getelementptr %q[4096] : (!llvm.ptr) -> !llvm.ptr, f32\n"
              "%z = arith.index_cast %n : index to i64\n"
              "\"llvm.intr.memcpy\"(%t, %q, %z) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, "
              "i64) -> ()");
  ASSERT_TRUE(succeeded(code)) << message;
  ASSERT_EQ(code->imports.size(), 1u);
  uint64_t slot = code->imports.at("memcpy");
  EXPECT_EQ(slot % 8, 0u);
  EXPECT_LE(slot + 8, code->image.size());
}

TEST_F(CpuCodeTest, TwoCompilesGiveTheSameBytes) {
  std::string body = "%v = memref.load %x[%b] : memref<?xf32>\n%r = math.exp %v : f32\n"
                     "memref.store %r, %x[%b] : memref<?xf32>";
  auto first = compile(body), second = compile(body);
  ASSERT_TRUE(succeeded(first) && succeeded(second)) << message;
  EXPECT_EQ(first->image, second->image);
}

TEST_F(CpuCodeTest, AModuleWithoutScheduleIsRefused) {
  auto module = parseSourceString<ModuleOp>("module {}", &context);
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(compileCpu(*module, IsaVariant::avx512)));
  EXPECT_EQ(message, "has no module @avx512; run dl-schedule-cpu before compiling");
}

TEST_F(CpuCodeTest, AKernelOfAnotherInterfaceIsRefused) {
  auto module = parseSourceString<ModuleOp>(
      "module { module @avx2 { func.func @hand(%x: memref<?xf32>) { return } } }", &context);
  ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
    message += diagnostic.str();
    return success();
  });
  EXPECT_TRUE(failed(compileCpu(*module, IsaVariant::avx2)));
  EXPECT_EQ(message, "a CPU kernel takes buffers, dims, begin, end and scratch");
}

} // namespace
