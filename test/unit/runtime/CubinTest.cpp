//===- CubinTest.cpp - Kernels compiled ahead of time -----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Architecture.h"
#include "runtime/cuda/kernels/KernelCompiler.h"
#include "test/unit/runtime/CudaRunner.h"

using namespace dlc::test;
using dlc::cuda::Architecture;
using dlc::cuda::CompileTarget;
using dlc::cuda::KernelCompiler;
using dlc::cuda::KernelText;
using dlc::schema::CubinVariant;

TEST(Architecture, Names) {
  for (const char *name : {"sm_80", "sm_86", "sm_90", "sm_90a", "sm_100f", "sm_120a"}) {
    auto parsed = Architecture::parse(name);
    ASSERT_FALSE(parsed.failed()) << parsed.status().message();
    EXPECT_EQ(parsed->name(), name);
  }
  const char *const kNoName = "expected a name such as sm_80, sm_90a or sm_120";
  for (auto [name, why] :
       {std::pair("sm_75", "dlc needs sm_80 (Ampere) or newer"),
        {"sm_80a", "GPUs before sm_90 have no 'a' variant"},
        {"sm_90f", "GPUs before sm_100 have no 'f' variant"},
        {"sm_90b", "after the number expected nothing, 'a' (exactly this GPU) or "
                   "'f' (its family)"},
        {"sm_", kNoName},
        {"compute_90", kNoName},
        {"90", kNoName},
        {"sm_090", kNoName},
        {"sm_-1", kNoName},
        {"sm_99999", kNoName}}) {
    auto parsed = Architecture::parse(name);
    ASSERT_TRUE(parsed.failed()) << name;
    EXPECT_EQ(parsed.status().code(), DLC_USAGE);
    EXPECT_EQ(parsed.status().message(), "architecture '" + std::string(name) + "': " + why);
  }
}

TEST(Architecture, WhatRunsWhere) {
  auto runs = [](const char *code, int device) {
    return Architecture::parse(code)->runsOn(device);
  };
  EXPECT_TRUE(runs("sm_80", 80) && runs("sm_80", 86) && runs("sm_80", 89));
  EXPECT_FALSE(runs("sm_86", 80) || runs("sm_80", 90) || runs("sm_90", 89));
  EXPECT_FALSE(runs("sm_80", 87) || runs("sm_87", 89)); // integrated GPUs stand apart
  EXPECT_TRUE(runs("sm_87", 87));
  EXPECT_TRUE(runs("sm_90a", 90) && runs("sm_90", 90));
  EXPECT_TRUE(runs("sm_100f", 100) && runs("sm_100f", 103) && runs("sm_100", 103));
  EXPECT_FALSE(runs("sm_100a", 103) || runs("sm_100f", 110) || runs("sm_120", 100));
  EXPECT_TRUE(runs("sm_120", 121) && runs("sm_120f", 121));
  auto better = [](const char *a, const char *b) {
    return dlc::cuda::servesBetter(*Architecture::parse(a), *Architecture::parse(b));
  };
  EXPECT_TRUE(better("sm_86", "sm_80") && better("sm_90a", "sm_90") && better("sm_100f", "sm_100"));
  EXPECT_FALSE(better("sm_80", "sm_80") || better("sm_80", "sm_86"));
}

#if defined(DLC_EMU_DRIVER_PATH)

namespace {

class Cubin : public Cuda {
protected:
  /// The code of the package's source for an architecture, by the emulated NVRTC.
  std::string codeOf(const PackageBuilder &package, size_t source, const char *architecture) {
    KernelCompiler compiler(0, "");
    KernelText text;
    text.name = "k";
    text.source = package.module.programs.back()->cuda_sources[source]->text.c_str();
    std::vector<std::string> images;
    auto arch = Architecture::parse(architecture);
    EXPECT_FALSE(arch.failed());
    auto status = compiler.compile({text}, CompileTarget{*arch, false}, images);
    EXPECT_FALSE(status.failed()) << status.message();
    return images.at(0);
  }

  /// cudaPackage() with code for the architectures.
  PackageBuilder packageFor(const std::vector<const char *> &architectures) {
    PackageBuilder package = cudaPackage();
    for (const char *name : architectures)
      for (uint32_t source = 0; source < 2; ++source) {
        Architecture arch = *Architecture::parse(name);
        package.cubin(source, uint32_t(arch.number), arch.variant, codeOf(package, source, name));
      }
    return package;
  }

  dlc_context_options withoutJit() {
    dlc_context_options chosen = options("cuda");
    chosen.no_jit = 1;
    return chosen;
  }

  /// Loads and runs the package; how many kernels were compiled for it.
  int compilesOf(const PackageBuilder &package, dlc_context_options chosen,
                 std::string *remarks = nullptr) {
    int before = countCompiles();
    ModulePtr module = load(package.file());
    ContextPtr context = open(module.get(), chosen);
    if (context)
      expectRight(context.get(), 3);
    if (context && remarks)
      *remarks = dlc_context_remarks(context.get());
    return countCompiles() - before;
  }
};

} // namespace

TEST_F(Cubin, ThePackagesCodeIsTaken) {
  countCompiles();
  for (const char *arch : {"sm_90", "sm_90a"})
    EXPECT_EQ(compilesOf(packageFor({arch}), withoutJit()), 0) << arch;
  EXPECT_EQ(compilesOf(packageFor({"sm_80", "sm_90a", "sm_120"}), withoutJit()), 0);
  Environment device("DLC_EMU_ARCH", "86");
  EXPECT_EQ(compilesOf(packageFor({"sm_90a", "sm_80"}), withoutJit()), 0);
}

TEST_F(Cubin, NvrtcIsNotEvenLoaded) {
  countCompiles(); // which loads the one that serves
  PackageBuilder package = packageFor({"sm_90a"});
  Environment missing("DLC_LIBNVRTC", "/nonexistent/libnvrtc.so");
  EXPECT_EQ(compilesOf(package, options("cuda")), 0);
}

TEST_F(Cubin, CodeForOthersIsCompiledFromTextAndSaidSo) {
  std::string remarks;
  EXPECT_EQ(compilesOf(packageFor({"sm_80", "sm_120"}), options("cuda"), &remarks), 2);
  EXPECT_EQ(remarks, "kernels are compiled for sm_90: the package has compiled code for sm_80, "
                     "sm_120 only");
  EXPECT_EQ(compilesOf(cudaPackage(), options("cuda"), &remarks), 2);
  EXPECT_EQ(remarks, "");
}

TEST_F(Cubin, NoJitFailsWithTheReason) {
  auto expectFailure = [&](const PackageBuilder &package, const std::string &why) {
    int before = countCompiles();
    ModulePtr module = load(package.file());
    open(module.get(), withoutJit(), DLC_UNSUPPORTED);
    EXPECT_TRUE(lastErrorHas(why));
    EXPECT_EQ(countCompiles(), before);
  };
  expectFailure(cudaPackage(), "which is turned off: the package has no compiled code; compile the "
                               "model with '--target sm_90a'");
  expectFailure(packageFor({"sm_80"}), "the package has compiled code for sm_80 only");
  PackageBuilder package = packageFor({"sm_90a"});
  Environment device("DLC_EMU_ARCH", "100");
  expectFailure(package, "(sm_100), which is turned off: the package has compiled code for sm_90a "
                         "only; compile the model with '--target sm_100a'");
}

TEST_F(Cubin, WhatTheDriverRefusesIsCompiledFromText) {
  PackageBuilder package = cudaPackage();
  package.cubin(0, 90, CubinVariant::specific, std::string(200, 'x'));
  package.cubin(1, 90, CubinVariant::specific, std::string(200, 'y'));
  std::string remarks;
  EXPECT_EQ(compilesOf(package, options("cuda"), &remarks), 2);
  EXPECT_NE(remarks.find("the driver (CUDA 13.0) does not take the package's code for sm_90a "
                         "(NVRTC 13.0): CUDA_ERROR_INVALID_IMAGE"),
            std::string::npos)
      << remarks;
  ModulePtr module = load(package.file());
  open(module.get(), withoutJit(), DLC_UNSUPPORTED);
  EXPECT_TRUE(lastErrorHas("does not take the package's code for sm_90a"));
}

TEST_F(Cubin, ADriverOlderThanTheCodeAndTheCompiler) {
  PackageBuilder package = packageFor({"sm_90a"});
  Environment old("DLC_EMU_DRIVER", "12040");
  ModulePtr module = load(package.file());
  // The table of a driver is read once; its version here is still the newer one.
  open(module.get(), options("cuda"), DLC_DEVICE);
  EXPECT_TRUE(lastErrorHas("does not take what NVRTC 13.0 made: "
                           "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  EXPECT_TRUE(lastErrorHas("update the driver"));
}

TEST_F(Cubin, WhatNvrtcDoesNotKnow) {
  KernelCompiler compiler(0, "");
  auto status = compiler.check({87});
  EXPECT_EQ(status.code(), DLC_USAGE);
  EXPECT_EQ(status.message(), "NVRTC 13.0 cannot compile for sm_87; it knows sm_80, sm_86, sm_89, "
                              "sm_90, sm_90a, sm_100, sm_100f, sm_100a, sm_120, sm_120f, sm_120a");
  EXPECT_FALSE(compiler.check(*Architecture::parse("sm_100f")).failed());
  // A device between two that it knows: PTX of the older one.
  auto target = compiler.targetFor(103, "B300");
  ASSERT_FALSE(target.failed());
  EXPECT_EQ(target->option(), "--gpu-architecture=compute_100");
  EXPECT_EQ(compiler.targetFor(90, "H100")->option(), "--gpu-architecture=sm_90a");
  EXPECT_TRUE(compiler.targetFor(75, "T4").failed());
}

TEST_F(Cubin, PtxServesANewerDevice) {
  Environment device("DLC_EMU_ARCH", "103");
  EXPECT_EQ(compilesOf(cudaPackage(), options("cuda")), 2);
}

TEST_F(Cubin, DamageIsFoundAtLoad) {
  std::vector<uint8_t> file = packageFor({"sm_90a"}).file();
  file[file.size() - 500] ^= 1; // in the last segments
  std::vector<uint8_t> damaged = file;
  load(damaged, DLC_INCOMPATIBLE);
  PackageBuilder empty = cudaPackage();
  empty.cubin(0, 90, CubinVariant::plain, "");
  load(empty.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("program 0 (cuda), source 0, cubin 0: it has no code"));
  PackageBuilder strange = cudaPackage();
  strange.cubin(1, 7, CubinVariant::plain, "code");
  load(strange.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("source 1, cubin 0: it is for an unknown architecture"));
  strange.module.programs[0]->cuda_sources[1]->cubins[0]->arch = 90;
  strange.module.programs[0]->cuda_sources[1]->cubins[0]->producer = "\x01";
  load(strange.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("source 1, cubin 0: its producer is no clean text"));
}

#endif
