//===- PackageTest.cpp - What the package writer refuses ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What it writes is read back by test/package and by the runtime's tests.
//===------------------------------------------------------------------------------------------===//
#include "codegen/package/Package.h"

#include "ir/dl/DLDialect.h"
#include "ir/dlx/DLXOps.h"
#include "runtime/schema/ModuleHeader.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

using namespace dlc;
using namespace dlc::codegen;
using namespace mlir;

namespace {

/// `commands` between the input %x and the output %y, both f32[4], for `target`.
std::string program(const std::string &commands, const std::string &kernels = "",
                    const std::string &target = "cpu") {
  return "module @" + target + " { " + kernels +
         "\ndlx.program @main attributes {input_names = [\"x\"], output_names = [\"y\"]} {\n"
         "^bb0(%x: !dlx.buffer<tensor<4xf32>>):\n" +
         commands +
         "\n%y = dlx.alloc : !dlx.buffer<tensor<4xf32>>\n"
         "dlx.copy %x to %y : !dlx.buffer<tensor<4xf32>>\n"
         "dlx.return %y : !dlx.buffer<tensor<4xf32>>\n} }";
}

const std::string scheduled =
    "dlx.kernel @relu attributes {kind = #dlx.kind<map>, entry = \"dlc_relu\", "
    "dims = affine_map<() -> ()>, "
    "grid = affine_map<() -> (1, 1, 1)>} {\n^bb0(%x: tensor<4xf32>):\n"
    "dl.yield %x : tensor<4xf32>\n}";

class PackageTest : public testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<dl::DLDialect, dlx::DLXDialect, arith::ArithDialect>();
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("dlc-package", folder));
    std::error_code error;
    llvm::raw_fd_ostream(file(), error) << "eight by"; // as many bytes
    ASSERT_FALSE(error);
  }
  void TearDown() override { (void)llvm::sys::fs::remove_directories(folder); }

  std::string file(llvm::StringRef name = "w.safetensors") {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name);
    return std::string(path);
  }

  /// Where the weights of the package written last begin, by their numbers.
  std::vector<uint64_t> weightOffsets() const {
    std::vector<uint64_t> offsets;
    for (const schema::Weight *weight :
         *schema::GetModule(bytes.data() + schema::kTableOffset)->weights())
      offsets.push_back(weight->data()->offset());
    return offsets;
  }

  /// The errors, one in a line; "" where a package was written.
  std::string write(const std::string &source) {
    std::string errors;
    ScopedDiagnosticHandler collect(&context, [&](Diagnostic &diagnostic) {
      errors += diagnostic.str() + "\n";
      return success();
    });
    auto module = parseSourceString<ModuleOp>("module {\n" + source + "\n}", &context);
    if (!module)
      return "unreadable: " + errors;
    auto packed = [](Operation *, llvm::StringRef,
                     llvm::StringRef) -> FailureOr<std::vector<uint8_t>> {
      return std::vector<uint8_t>(12);
    };
    bytes.clear();
    llvm::raw_string_ostream os(bytes);
    bool written = succeeded(writePackage(*module, code, packed, os));
    EXPECT_EQ(written, errors.empty()) << errors;
    EXPECT_EQ(written, !bytes.empty());
    return errors;
  }

  std::string writeWeight(const std::string &attributes,
                          const std::string &type = "tensor<4xf32>") {
    return write(
        program("%w = dlx.weight \"fc.weight\" {" + attributes + "} : !dlx.buffer<" + type + ">"));
  }

  std::string bytes; // of the package written last
  MLIRContext context;
  llvm::SmallString<128> folder;
  GeneratedCode code;
};

TEST_F(PackageTest, APackageHoldsAProgramForATarget) {
  EXPECT_EQ(write(program("")), "");
  EXPECT_EQ(write(""),
            "'builtin.module' op holds neither module @cpu nor module @cuda: nothing to package\n");
  EXPECT_EQ(write("module @cpu {}"), "'builtin.module' op needs one dlx.program\n");
  EXPECT_EQ(write("module @cpu { dlx.program @main attributes {input_names = [\"x\"], output_names "
                  "= [\"y\"]} {\n"
                  "^bb0(%x: !dlx.buffer<tensor<2x3xf32, #dl.t<[2, 3], order = [1, 0]>>>):\n"
                  "%y = dlx.alloc : !dlx.buffer<tensor<4xf32>>\n"
                  "dlx.return %y : !dlx.buffer<tensor<4xf32>>\n} }"),
            "'dlx.program' op has 'x' in a layout that is not row-major\n");
}

TEST_F(PackageTest, OutputsAndCommandsAreThoseOfThePlan) {
  EXPECT_EQ(
      write(
          "module @cpu { dlx.program @main attributes {input_names = [\"x\"], output_names = "
          "[\"y\"]} {\n"
          "^bb0(%x: !dlx.buffer<tensor<4xf32>>):\ndlx.return %x : !dlx.buffer<tensor<4xf32>>\n} }"),
      "'dlx.program' op returns a buffer that is not an allocation of its own; the buffers phase "
      "copies such "
      "outputs\n");
  EXPECT_EQ(write(program("%c = arith.constant 1 : i32")),
            "'arith.constant' op is no command of a package\n");
}

TEST_F(PackageTest, KernelsHaveCode) {
  std::string kernel =
      "dlx.kernel @relu attributes {kind = #dlx.kind<map>} {\n^bb0(%x: tensor<4xf32>):\n"
      "dl.yield %x : tensor<4xf32>\n}";
  EXPECT_EQ(write(program("", kernel)),
            "'dlx.kernel' op has no code: no schedule for its target has run\n");
  EXPECT_EQ(write(program("", scheduled, "cuda")),
            "'dlx.kernel' op has no CUDA text: 'dlc_relu' was not printed\n");
  code.cpu.push_back({"avx2", {}, {0xc3}, {{"dlc_other", 0}}, {}});
  EXPECT_EQ(write(program("", scheduled)),
            "'dlx.kernel' op has no code for avx2: 'dlc_relu' is not in the image\n");
}

TEST_F(PackageTest, WeightsAreInTheirFiles) {
  std::string here = "file = \"" + file() + "\"";
  EXPECT_EQ(writeWeight(here, "tensor<2xf32>"), "");
  EXPECT_EQ(writeWeight(here, "tensor<?xf32, #dl.t<[s0]>>"),
            "weight 'fc.weight' needs static dims, got f32[s0]\n");
  EXPECT_EQ(
      writeWeight(""),
      "weight 'fc.weight' is bound to no file; add `weights \"file.safetensors\"` to the model or "
      "pass --weights\n");
  EXPECT_EQ(writeWeight("file = \"" + file("none") + "\""),
            "cannot read weights file '" + file("none") + "': No such file or directory\n");
  EXPECT_EQ(writeWeight(here + ", offset = 4 : i64"),
            "weight 'fc.weight' needs bytes 4 to 20 of '" + file() + "', which has 8\n");
  EXPECT_EQ(writeWeight(here + ", offset = -1 : i64"),
            "weight 'fc.weight' needs 16 bytes of '" + file() + "', which has 12 for it now\n");
  EXPECT_EQ(writeWeight(here + ", hash = \"" + std::string(32, '0') + "\"", "tensor<2xf32>"),
            "weight 'fc.weight' in '" + file() +
                "' has changed while the model was compiled; compile it again\n");
}

TEST_F(PackageTest, WeightsOfEqualBytesShareThem) {
  std::error_code error;
  llvm::raw_fd_ostream(file("tied"), error) << "samesamediff";
  ASSERT_FALSE(error);
  auto weight = [&](const std::string &name, int offset, const std::string &type) {
    return "%" + name + " = dlx.weight \"" + name + "\" {file = \"" + file("tied") +
           "\", offset = " + std::to_string(offset) + " : i64} : !dlx.buffer<" + type + ">\n";
  };
  EXPECT_EQ(write(program(weight("a", 0, "tensor<1xf32>") + weight("b", 4, "tensor<1xf32>") +
                          weight("c", 8, "tensor<1xf32>") + weight("d", 4, "tensor<4xi8>") +
                          weight("e", 4, "tensor<2xf32>") + weight("f", 0, "tensor<0xf32>"))),
            "");
  std::vector<uint64_t> at = weightOffsets();
  ASSERT_EQ(at.size(), 6u);
  EXPECT_EQ(at[0], at[1]);
  EXPECT_EQ(at[0], at[3]) << "bytes are shared whatever they mean";
  EXPECT_NE(at[0], at[2]);
  EXPECT_NE(at[0], at[4]) << "all bytes are compared, not those that one has";
  EXPECT_EQ(bytes.substr(at[1], 4), "same");
  EXPECT_EQ(bytes.substr(at[2], 4), "diff");
  EXPECT_EQ(bytes.substr(at[4], 8), "samediff");
}

} // namespace
