//===- FlatImageTest.cpp - Objects that no flat image can hold are refused ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM IR by hand, compiled to an object: what dlc's own lowering must never make.
//===------------------------------------------------------------------------------------------===//
#include "codegen/cpu/image/FlatImage.h"

#include "codegen/cpu/image/MachineCode.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"

#include "gtest/gtest.h"

using namespace dlc;
using namespace dlc::codegen;

namespace {

std::vector<uint8_t> objectOf(llvm::StringRef text) {
  llvm::InitializeNativeTargetAsmParser(); // for `module asm`
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(text, diagnostic, context);
  EXPECT_TRUE(module) << diagnostic.getMessage().str();
  auto object = compileObject(*module, IsaVariant::avx2);
  if (!object) {
    ADD_FAILURE() << llvm::toString(object.takeError());
    return {};
  }
  return {object->begin(), object->end()};
}

std::string errorOf(const std::vector<uint8_t> &object) {
  auto image = makeFlatImage(object);
  return image ? "" : llvm::toString(image.takeError());
}

TEST(FlatImage, SectionsAreCodeAndConstants) {
  EXPECT_EQ(errorOf(objectOf("define i32 @f() { ret i32 1 }")), "");
  EXPECT_EQ(errorOf(objectOf("@counter = global i32 7")),
            "the code has writable data in section '.data'");
  EXPECT_EQ(errorOf(objectOf("@mark = constant i32 7, section \".note.dlc\"")),
            "the code has section '.note.dlc' of type 7");
}

TEST(FlatImage, RelocationsStayInsideAndRelative) {
  EXPECT_EQ(
      errorOf(objectOf("@table = constant [4 x i32] zeroinitializer\n"
                       "define ptr @f() { ret ptr @table }")),
      "kernel 'f' has a relocation of type R_X86_64_REX_GOTPCRELX against 'table'; only PC32 and "
      "PLT32 are position-independent in a flat image");
  EXPECT_EQ(
      errorOf(objectOf("module asm \".globl f\"\nmodule asm \".type f,@function\"\n"
                       "module asm \"f: leaq note(%rip), %rax\"\nmodule asm \".size f, . - f\"\n"
                       "module asm \".section .remarks,\\22\\22,@progbits\"\n"
                       "module asm \".globl note\"\nmodule asm \"note: .long 0\"\n")),
      "kernel 'f' refers to 'note' in a section that is not loaded");
  EXPECT_EQ(errorOf(objectOf("module asm \".globl f\"\nmodule asm \".type f,@function\"\n"
                             "module asm \"f: .reloc ., R_X86_64_PC32, f + 0x90000000\"\n"
                             "module asm \".long 0\"\nmodule asm \".size f, . - f\"\n")),
            "kernel 'f' has a relocation out of range");
}

TEST(FlatImage, DamagedObjectsAreRefused) {
  for (const std::vector<uint8_t> &bytes : {std::vector<uint8_t>(), std::vector<uint8_t>(64, 0),
                                            std::vector<uint8_t>{0x7f, 'E', 'L', 'F', 2, 1, 1, 0}})
    EXPECT_NE(errorOf(bytes), "");
  std::vector<uint8_t> program = objectOf("define i32 @f() { ret i32 1 }");
  program[offsetof(llvm::ELF::Elf64_Ehdr, e_type)] = llvm::ELF::ET_EXEC;
  EXPECT_EQ(errorOf(program), "expected a relocatable x86-64 object");
}

} // namespace
