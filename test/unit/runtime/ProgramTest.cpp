//===- ProgramTest.cpp - What programs may hold: init, views, copies, scratch, images ---------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/Text.h"
#include "runtime/cpu/Isa.h"
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>
#include <unistd.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace dlc::test;
using dlc::abi::CpuArgs;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

static float *floats(const CpuArgs *args, int i) { return static_cast<float *>(args->buffers[i]); }

static std::vector<float> runOnce(dlc_context *context, std::vector<float> x,
                                  const std::vector<int64_t> &dims, size_t outputs,
                                  const std::vector<int64_t> &outputDims) {
  std::vector<float> y(outputs);
  dlc_tensor in = tensor(DLC_F32, dims, x), out = tensor(DLC_F32, outputDims, y);
  EXPECT_EQ(dlc_context_run(context, &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  return y;
}

static std::atomic<int> initRuns;

/// y = x * p where the init program makes p = w + 1.
static PackageBuilder initPackage() {
  PackageBuilder package;
  Expr n = package.constant(4);
  package.input("x", DType::f32, {n});
  package.output("y", DType::f32, {n});
  package.weight("w", {1, 2, 3, 4}, {4});
  package.program(Target::cpu);
  uint32_t w = package.buffer(Storage::weight, DType::f32, {n});
  uint32_t p = package.buffer(Storage::persistent, DType::f32, {n});
  uint32_t x = package.buffer(Storage::input, DType::f32, {n}),
           y = package.buffer(Storage::output, DType::f32, {n});
  uint32_t init =
      package.kernel("add_one", [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
        initRuns += begin == 0;
        for (int64_t i = begin; i < end; ++i)
          floats(args, 1)[i] = floats(args, 0)[i] + 1;
      });
  uint32_t scale =
      package.kernel("scale", [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
        for (int64_t i = begin; i < end; ++i)
          floats(args, 2)[i] = floats(args, 0)[i] * floats(args, 1)[i];
      });
  package.launch(init, {B::buffer(w), B::buffer(p)}, {n}, {0}, true);
  package.launch(scale, {B::buffer(x), B::buffer(p), B::buffer(y)}, {n});
  return package;
}

/// y = x * p * scale, p = (w + 1) + (v + 1) + scale: the init program alone uses w, v and the sums
/// before p.
static PackageBuilder temporaryPackage(int64_t elements) {
  PackageBuilder package;
  Expr n = package.constant(elements);
  package.input("x", DType::f32, {n});
  package.output("y", DType::f32, {n});
  const auto size = static_cast<size_t>(elements);
  package.weight("w", std::vector<float>(size, 2), {size});
  package.weight("v", std::vector<float>(size, 3), {size});
  package.weight("scale", std::vector<float>(size, 1), {size});
  package.program(Target::cpu);
  auto make = [&](Storage storage, uint32_t index) {
    return package.buffer(storage, DType::f32, {n}, index);
  };
  uint32_t w = make(Storage::weight, 0), v = make(Storage::weight, 1),
           scale = make(Storage::weight, 2), a = make(Storage::persistent, 0),
           b = make(Storage::persistent, 0), c = make(Storage::persistent, 0),
           p = make(Storage::persistent, 0), x = make(Storage::input, 0),
           y = make(Storage::output, 0);
  uint32_t addOne =
      package.kernel("add_one", [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
        for (int64_t i = begin; i < end; ++i)
          floats(args, 1)[i] = floats(args, 0)[i] + 1;
      });
  uint32_t add = package.kernel("add", [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
    for (int64_t i = begin; i < end; ++i)
      floats(args, 2)[i] = floats(args, 0)[i] + floats(args, 1)[i];
  });
  uint32_t multiply =
      package.kernel("multiply", [](const CpuArgs *args, int64_t begin, int64_t end, void *) {
        for (int64_t i = begin; i < end; ++i)
          floats(args, 3)[i] = floats(args, 0)[i] * floats(args, 1)[i] * floats(args, 2)[i];
      });
  package.launch(addOne, {B::buffer(w), B::buffer(a)}, {n}, {0}, true);
  package.launch(addOne, {B::buffer(v), B::buffer(b)}, {n}, {0}, true);
  package.launch(add, {B::buffer(a), B::buffer(b), B::buffer(c)}, {n}, {0}, true);
  package.launch(add, {B::buffer(c), B::buffer(scale), B::buffer(p)}, {n}, {0}, true);
  package.launch(multiply, {B::buffer(x), B::buffer(p), B::buffer(scale), B::buffer(y)}, {n});
  return package;
}

/// Bytes of the file `path` that are in the memory of this process.
static int64_t residentBytes(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  bool isOurs = false;
  int64_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string first;
    int64_t number;
    words >> first;
    if (!first.ends_with(':'))
      isOurs = line.ends_with(path);
    else if (isOurs && first == "Rss:" && words >> number)
      total += number * 1024;
  }
  return total;
}

TEST(Program, WhatTheInitProgramAloneUsesGoes) {
  // A system may bring 2 MiB of a file to memory at once.
  constexpr int64_t kElements = 1 << 20, kBytes = 4 * kElements, kMost = 3 << 20;
  const std::vector<uint8_t> bytes = temporaryPackage(kElements).file();
  const std::string path =
      std::filesystem::temp_directory_path() / ("dlc-test-" + std::to_string(getpid()) + ".bin");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  dlc_module *opened = nullptr;
  ASSERT_EQ(dlc_module_load(path.c_str(), nullptr, &opened), DLC_OK) << dlc_last_error();
  ModulePtr module(opened);
  std::filesystem::remove(path);
  EXPECT_LT(residentBytes(path + " (deleted)"), kMost); // the hashes are checked
  for (bool checked : {false, true}) {
    dlc_context_options chosen = options();
    chosen.checked = checked;
    ContextPtr context = open(module.get(), chosen);
    EXPECT_EQ(runOnce(context.get(), std::vector<float>(kElements, 2), {kElements}, kElements,
                      {kElements}),
              std::vector<float>(kElements, 2 * 8));
    dlc_memory_info memory = {};
    memory.struct_size = sizeof(memory);
    ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
    EXPECT_EQ(memory.weight_bytes, kBytes);
    EXPECT_EQ(memory.persistent_bytes, kBytes);
    EXPECT_LT(residentBytes(path + " (deleted)"), kBytes + kMost);
  }
}

TEST(Program, TheInitProgramRunsOnceForAllContexts) {
  ModulePtr module = load(initPackage().file());
  initRuns = 0;
  for (int i = 0; i < 3; ++i) {
    ContextPtr context = open(module.get(), options("cpu", 1 + i));
    EXPECT_EQ(runOnce(context.get(), {1, 1, 1, 10}, {4}, 4, {4}),
              std::vector<float>({2, 3, 4, 50}));
  }
  EXPECT_EQ(initRuns, 1);
  dlc_context_options chosen = options();
  chosen.checked = 1;
  ContextPtr context = open(module.get(), chosen);
  EXPECT_EQ(runOnce(context.get(), {1, 1, 1, 10}, {4}, 4, {4}), std::vector<float>({2, 3, 4, 50}));
}

TEST(Program, ViewsAndCopies) {
  // x[2,3] -> view [6] -> copy to y[6]; the arena buffer between is viewed as well.
  PackageBuilder package;
  Expr two = package.constant(2), three = package.constant(3), six = package.constant(6);
  package.input("x", DType::f32, {two, three});
  package.output("y", DType::f32, {six});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {two, three});
  uint32_t flat = package.buffer(Storage::view, DType::f32, {six}, x);
  uint32_t h = package.buffer(Storage::arena, DType::f32, {six}, 0, 0, 1);
  uint32_t square = package.buffer(Storage::view, DType::f32, {three, two}, h);
  uint32_t again = package.buffer(Storage::view, DType::f32, {six}, square);
  uint32_t y = package.buffer(Storage::output, DType::f32, {six});
  package.copy(flat, square);
  package.copy(again, y);
  ModulePtr module = load(package.file());
  for (int checked : {0, 1}) {
    dlc_context_options chosen = options();
    chosen.checked = checked;
    ContextPtr context = open(module.get(), chosen);
    EXPECT_STREQ(dlc_context_device(context.get()),
                 checked ? "cpu (no kernels, 2 threads, checked)" : "cpu (no kernels, 2 threads)");
    EXPECT_EQ(runOnce(context.get(), {1, 2, 3, 4, 5, 6}, {2, 3}, 6, {6}),
              std::vector<float>({1, 2, 3, 4, 5, 6}));
  }
}

TEST(Program, SizesThatContradictAreFoundAtBind) {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, 9), three = package.constant(3);
  package.input("x", DType::f32, {n});
  package.output("y", DType::f32, {three});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n}),
           y = package.buffer(Storage::output, DType::f32, {three});
  package.copy(x, y);
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  EXPECT_EQ(runOnce(context.get(), {1, 2, 3}, {3}, 3, {3}), std::vector<float>({1, 2, 3}));
  std::vector<float> four(4), out(3);
  dlc_tensor in = tensor(DLC_F32, {4}, four), result = tensor(DLC_F32, {3}, out);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &result, 1), DLC_INCOMPATIBLE);
  EXPECT_STREQ(dlc_last_error(), "malformed module (compile the model again): command 0: it copies "
                                 "16 bytes to a buffer of 12");
  EXPECT_EQ(runOnce(context.get(), {1, 2, 3}, {3}, 3, {3}), std::vector<float>({1, 2, 3}));

  // A buffer smaller than its dims and tiles.
  PackageBuilder tiled = affinePackage();
  tiled.module.programs[0]->buffers[2]->tile_dim = 0;
  tiled.module.programs[0]->buffers[2]->tile = 16;
  ModulePtr other = load(tiled.file());
  ContextPtr tiledContext = open(other.get(), options());
  dlc_tensor five = {sizeof(dlc_tensor), DLC_F32, 2, {5, 4}, nullptr, 0, DLC_MEMORY_HOST};
  EXPECT_EQ(dlc_context_bind(tiledContext.get(), &five, 1), DLC_INCOMPATIBLE);
  EXPECT_STREQ(dlc_last_error(), "malformed module (compile the model again): buffer 2: its size, "
                                 "80 bytes, does not fit its dims");
}

TEST(Program, MoreMemoryThanThereIsIsRefusedWithTheNumber) {
  PackageBuilder package;
  Expr n = package.symbol("N", 1, int64_t(1) << 50);
  package.input("x", DType::f32, {n});
  package.output("y", DType::f32, {package.constant(0)});
  package.program(Target::cpu);
  uint32_t y = package.buffer(Storage::output, DType::f32, {package.constant(0)});
  uint32_t h = package.buffer(Storage::arena, DType::f32, {n}, 0, 0, 0);
  package.launch(package.kernel("none", [](const CpuArgs *, int64_t, int64_t, void *) {}),
                 {B::buffer(h), B::buffer(y)}, {package.constant(0)});
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 1, {int64_t(1) << 49}, nullptr, 0, DLC_MEMORY_HOST};
  EXPECT_EQ(dlc_context_bind(context.get(), &in, 1), DLC_DEVICE);
  uint64_t physical = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(dlc_last_error(), "not enough memory: the activations need 2.0 PiB, this machine has " +
                                  dlc::rt::byteCount(physical));
}

TEST(Program, ScratchIsPrivateToAThread) {
  PackageBuilder package;
  Expr n = package.constant(256);
  package.input("x", DType::f32, {n});
  package.output("y", DType::f32, {n});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n}),
           y = package.buffer(Storage::output, DType::f32, {n});
  auto kernel = [](const CpuArgs *args, int64_t begin, int64_t end, void *scratch) {
    auto *mine = static_cast<float *>(scratch);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(scratch) % 64, 0u);
    for (int64_t i = begin; i < end; ++i) {
      for (int k = 0; k < 100; ++k)
        mine[k] = floats(args, 0)[i];
      float sum = 0;
      for (int k = 0; k < 100; ++k)
        sum += mine[k];
      floats(args, 1)[i] = sum;
    }
  };
  package.launch(package.kernel("sum", kernel), {B::buffer(x), B::buffer(y)}, {n},
                 package.constant(400));
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options("cpu", 4));
  std::vector<float> in(256);
  for (int i = 0; i < 256; ++i)
    in[i] = float(i);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> out = runOnce(context.get(), in, {256}, 256, {256});
    for (int i = 0; i < 256; ++i)
      ASSERT_EQ(out[i], 100.0f * float(i));
  }
}

TEST(Program, ImportsAreFilledIn) {
  PackageBuilder package;
  Expr n = package.constant(1);
  package.input("x", DType::i64, {n});
  package.output("y", DType::i64, {n});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::i64, {n}),
           y = package.buffer(Storage::output, DType::i64, {n});
  // The kernel is jumped to with the slot's content as its fourth argument.
  auto kernel = [](const CpuArgs *args, int64_t, int64_t, void *slot) {
    *static_cast<int64_t *>(args->buffers[1]) = reinterpret_cast<int64_t>(slot);
  };
  uint32_t index = package.kernel("slot", kernel);
  std::vector<uint8_t> &code = package.imageBytes[0];
  code.resize(16); // the jump, padded
  code.resize(24); // the slot
  package.module.programs[0]->kernels[0]->cpu[0] = dlc::schema::CpuEntry(0, 24);
  // mov rcx, [rip - 15] (the slot); jmp -33 (the jump to the kernel)
  code.insert(code.end(), {0x48, 0x8b, 0x0d, 0xf1, 0xff, 0xff, 0xff, 0xe9, 0xdc, 0xff, 0xff, 0xff});
  auto import = std::make_unique<dlc::schema::ImportT>();
  import->name = "memcpy";
  import->slot = 16;
  package.module.programs[0]->cpu_images[0]->imports.push_back(std::move(import));
  package.launch(index, {B::buffer(x), B::buffer(y)}, {n});
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  std::vector<int64_t> in(1), out(1);
  dlc_tensor a = tensor(DLC_I64, {1}, in), b = tensor(DLC_I64, {1}, out);
  ASSERT_EQ(dlc_context_run(context.get(), &a, 1, &b, 1), DLC_OK) << dlc_last_error();
  EXPECT_EQ(out[0], reinterpret_cast<int64_t>(
                        static_cast<void *(*)(void *, const void *, size_t)>(&std::memcpy)));
}

TEST(Program, BoolsAreZeroOrOne) {
  PackageBuilder package;
  Expr n = package.constant(4);
  package.input("mask", DType::boolean, {n});
  package.output("y", DType::boolean, {n});
  package.program(Target::cpu);
  uint32_t x = package.buffer(Storage::input, DType::boolean, {n});
  uint32_t y = package.buffer(Storage::output, DType::boolean, {n});
  package.copy(x, y);
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  std::vector<uint8_t> in = {0, 1, 7, 0}, out(4);
  dlc_tensor a = tensor(DLC_BOOL, {4}, in), b = tensor(DLC_BOOL, {4}, out);
  EXPECT_EQ(dlc_context_run(context.get(), &a, 1, &b, 1), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "input 'mask': element 2 is 7; a bool is 0 or 1");
}

#if defined(__x86_64__)
TEST(Program, TheCallersFloatModeDoesNotMatter) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options("cpu", 1));
  unsigned saved = _mm_getcsr(), flushing = saved | 0x8040; // flush to zero, denormals are zero
  _mm_setcsr(flushing);
  std::vector<float> y = runOnce(context.get(), {1e-40f, 0, 0, 0}, {1, 4}, 4, {1, 4});
  EXPECT_EQ(_mm_getcsr() & 0x8040, 0x8040u) << "the caller's mode is given back";
  _mm_setcsr(saved);
  EXPECT_EQ(y[1], 2);
}
#endif

TEST(Program, ManyContextsInManyThreads) {
  ModulePtr module = load(affinePackage().file());
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 8; ++thread)
    threads.emplace_back([&, thread] {
      for (int round = 0; round < 20; ++round) {
        ContextPtr context = open(module.get(), options("cpu", 1 + thread % 3));
        for (int64_t n = 1; n < 12; ++n) {
          std::vector<float> x(n * 4, float(thread));
          std::vector<float> y = runOnce(context.get(), x, {n, 4}, n * 4, {n, 4});
          for (size_t i = 0; i < y.size(); ++i)
            ASSERT_EQ(y[i], 2 * float(thread) + float(i % 4 + 1));
        }
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(Isa, ImagesForOtherProcessorsAreRefusedWithTheReason) {
  PackageBuilder package = affinePackage();
  package.module.programs[0]->cpu_images[0]->isa = "avx9000";
  package.module.programs[0]->cpu_images[0]->features = {"sse2", "avx9000f"};
  ModulePtr module = load(package.file());
  open(module.get(), options(), DLC_INCOMPATIBLE);
  std::string reason = "the module's CPU code is for another processor: it has avx9000, which this "
                       "one cannot run; avx9000 needs 'avx9000f': compile the model for this "
                       "processor";
  EXPECT_EQ(dlc_last_error(), reason);
  open(module.get(), options("auto"), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(),
            "no device can run the module. cuda: the module has no CUDA program. cpu: " + reason);
}

TEST(Isa, AModuleWithoutCpuProgram) {
  PackageBuilder package;
  package.program(Target::cuda);
  ModulePtr module = load(package.file());
  open(module.get(), options(), DLC_UNSUPPORTED);
  EXPECT_STREQ(dlc_last_error(),
               "the module has no program for the CPU: compile it with '--target cpu'");
}

/// The code of `package`'s first image once more, under another name.
static void addImage(PackageBuilder &package, const char *isa, std::vector<std::string> features) {
  dlc::schema::ProgramT &program = *package.module.programs[0];
  auto image = std::make_unique<dlc::schema::CpuImageT>();
  image->isa = isa;
  image->features = std::move(features);
  image->code = std::make_unique<dlc::schema::Segment>();
  package.imageBytes.push_back(package.imageBytes[0]);
  for (auto &kernel : program.kernels)
    kernel->cpu.push_back(
        dlc::schema::CpuEntry(uint32_t(program.cpu_images.size()), kernel->cpu[0].entry()));
  program.cpu_images.push_back(std::move(image));
}

TEST(Isa, TheBestFittingImageIsTaken) {
  PackageBuilder package = affinePackage();
  addImage(package, "avx2", {"avx2", "fma"});
  addImage(package, "avx9000", {"avx9000f"});
  ModulePtr module = load(package.file());
  bool avx2 =
      dlc::cpu::hasFeature("avx2") && dlc::cpu::hasFeature("fma") && dlc::cpu::hasFeature("f16c");
  ContextPtr best = open(module.get(), options("cpu", 1));
  EXPECT_EQ(std::string(dlc_context_device(best.get())),
            avx2 ? "cpu (avx2, 1 thread)" : "cpu (sse2, 1 thread)");
  setenv("DLC_CPU_ISA", "sse2", 1);
  ContextPtr forced = open(module.get(), options("cpu", 1));
  EXPECT_EQ(std::string(dlc_context_device(forced.get())), "cpu (sse2, 1 thread)");
  setenv("DLC_CPU_ISA", "neon", 1);
  open(module.get(), options("cpu", 1), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(),
               "DLC_CPU_ISA is 'neon', the module has code for sse2, avx2, avx9000");
  unsetenv("DLC_CPU_ISA");
  EXPECT_EQ(runOnce(best.get(), {1, 1, 1, 1}, {1, 4}, 4, {1, 4}),
            runOnce(forced.get(), {1, 1, 1, 1}, {1, 4}, 4, {1, 4}));
}

/// vdpbf16ps is slow on other vendors' processors: there its image is taken by name alone.
TEST(Isa, PairsOfBrainFloatsAreMultipliedWhereThatIsFast) {
  PackageBuilder package = affinePackage();
  addImage(package, "avx512_bf16", {"avx512bf16"});
  ModulePtr module = load(package.file());
  bool has = dlc::cpu::hasFeature("avx512bf16") && dlc::cpu::hasFeature("avx512vnni") &&
             dlc::cpu::hasFeature("avx512bw");
  std::ifstream info("/proc/cpuinfo");
  std::string processors(std::istreambuf_iterator<char>(info), {});
  bool isFast = processors.find("AuthenticAMD") != std::string::npos;
  ContextPtr best = open(module.get(), options("cpu", 1));
  EXPECT_EQ(std::string(dlc_context_device(best.get())),
            has && isFast ? "cpu (avx512_bf16, 1 thread)" : "cpu (sse2, 1 thread)");
  if (!has)
    return;
  setenv("DLC_CPU_ISA", "avx512_bf16", 1);
  ContextPtr named = open(module.get(), options("cpu", 1));
  EXPECT_EQ(std::string(dlc_context_device(named.get())), "cpu (avx512_bf16, 1 thread)");
  unsetenv("DLC_CPU_ISA");
}

TEST(Isa, AgreesWithTheCompilersView) {
#if defined(__x86_64__)
  EXPECT_EQ(dlc::cpu::hasFeature("avx2"), bool(__builtin_cpu_supports("avx2")));
  EXPECT_EQ(dlc::cpu::hasFeature("fma"), bool(__builtin_cpu_supports("fma")));
  EXPECT_EQ(dlc::cpu::hasFeature("avx512f"), bool(__builtin_cpu_supports("avx512f")));
  EXPECT_EQ(dlc::cpu::hasFeature("avx512bw"), bool(__builtin_cpu_supports("avx512bw")));
  EXPECT_EQ(dlc::cpu::hasFeature("avx512vnni"), bool(__builtin_cpu_supports("avx512vnni")));
  EXPECT_EQ(dlc::cpu::hasFeature("avx512bf16"), bool(__builtin_cpu_supports("avx512bf16")));
  EXPECT_TRUE(dlc::cpu::hasFeature("+sse2"));
#endif
  EXPECT_FALSE(dlc::cpu::hasFeature("no-such-feature"));
}
