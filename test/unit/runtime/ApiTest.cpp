//===- ApiTest.cpp - The C API: loading, describing, running ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numeric>
#include <thread>
#include <unistd.h>

using namespace dlc::test;
using dlc::schema::DType;
using dlc::schema::Target;

static std::vector<float> iota(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

static float affine(size_t i) { return 2 * float(i) + float(i % 4 + 1); }

TEST(Api, RunsAPackage) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  // Some shapes come again while their plans are kept, and 40 in turn when those are gone.
  std::vector<int64_t> batches = {1, 2, 3, 64, 5, 1};
  for (int64_t n = 0; n < 80; ++n)
    batches.push_back(n % 40 + 1);
  for (int64_t n : batches) {
    std::vector<float> x = iota(n * 4), y(n * 4, -1);
    dlc_tensor in = tensor(DLC_F32, {n, 4}, x), out = tensor(DLC_F32, {n, 4}, y);
    ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
    for (size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], affine(i)) << i << " of " << n;
  }
}

TEST(Api, AnEmptyBatchGivesAnEmptyResult) {
  ModulePtr module = load(affinePackage().file());
  for (int checked : {0, 1}) {
    dlc_context_options chosen = options();
    chosen.checked = checked;
    ContextPtr context = open(module.get(), chosen);
    std::vector<float> none;
    dlc_tensor in = tensor(DLC_F32, {0, 4}, none), out = tensor(DLC_F32, {0, 4}, none);
    EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  }
}

TEST(Api, InputAndOutputMayShareMemory) {
  // Reads of the input happen before writes of the output only by copy.
  PackageBuilder package = affinePackage();
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  alignas(64) float data[16];
  for (int i = 0; i < 16; ++i)
    data[i] = float(i);
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, data, sizeof(data), DLC_MEMORY_HOST},
             out = in;
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(data[i], affine(i));
}

TEST(Api, ReadsAndWritesUnalignedMemory) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  alignas(64) char room[2][16 * sizeof(float) + 1];
  float *x = reinterpret_cast<float *>(room[0] + 1), *y = reinterpret_cast<float *>(room[1] + 1);
  for (int i = 0; i < 16; ++i) {
    float value = float(i);
    std::memcpy(reinterpret_cast<char *>(x) + 4 * i, &value, 4);
  }
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, x, 64, DLC_MEMORY_HOST}, out = in;
  out.data = y;
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  for (int i = 0; i < 16; ++i) {
    float value;
    std::memcpy(&value, reinterpret_cast<char *>(y) + 4 * i, 4);
    EXPECT_EQ(value, affine(i));
  }
}

TEST(Api, DescribesInputsAndOutputs) {
  ModulePtr module = load(affinePackage().file());
  ASSERT_EQ(dlc_module_num_inputs(module.get()), 1u);
  ASSERT_EQ(dlc_module_num_outputs(module.get()), 1u);
  dlc_value_info info = {};
  info.struct_size = sizeof(info);
  ASSERT_EQ(dlc_module_input(module.get(), 0, &info), DLC_OK);
  EXPECT_STREQ(info.name, "x");
  EXPECT_EQ(info.dtype, DLC_F32);
  ASSERT_EQ(info.rank, 2);
  EXPECT_EQ(info.dims[0], -1);
  EXPECT_STREQ(info.dim_names[0], "N");
  EXPECT_EQ(info.min_dims[0], 0);
  EXPECT_EQ(info.max_dims[0], 64);
  EXPECT_EQ(info.dims[1], 4);
  EXPECT_EQ(info.dim_names[1], nullptr);
  EXPECT_EQ(dlc_module_output(module.get(), 1, &info), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no output 1; the module has 1");
  EXPECT_EQ(dlc_module_input(module.get(), 2, &info), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no input 2; the module has 1");
  info.struct_size = 8;
  for (dlc_value_info *wrong : {&info, static_cast<dlc_value_info *>(nullptr)}) {
    EXPECT_EQ(dlc_module_input(module.get(), 0, wrong), DLC_USAGE);
    EXPECT_STREQ(dlc_last_error(), "the info pointer is null or its struct_size is too small");
  }
}

TEST(Api, OutputDimsAfterBind) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  int rank;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_output_dims(context.get(), 0, &rank, dims), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(),
               "the context has no bound shapes: call dlc_context_bind or dlc_context_run first");
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {7, 4}, nullptr, 0, DLC_MEMORY_HOST};
  ASSERT_EQ(dlc_context_bind(context.get(), &in, 1), DLC_OK) << dlc_last_error();
  ASSERT_EQ(dlc_context_output_dims(context.get(), 0, &rank, dims), DLC_OK);
  EXPECT_EQ(rank, 2);
  EXPECT_EQ(dims[0], 7);
  EXPECT_EQ(dims[1], 4);
  dlc_memory_info memory = {};
  memory.struct_size = sizeof(memory);
  ASSERT_EQ(dlc_context_memory(context.get(), &memory), DLC_OK);
  EXPECT_EQ(memory.weight_bytes, 16);
  EXPECT_EQ(memory.arena_bytes, 128); // 7*4*4 = 112, aligned to 64
  EXPECT_EQ(dlc_context_output_dims(context.get(), 1, &rank, dims), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "there is no output 1; the module has 1");
}

TEST(Api, WrongArgumentsAreRefusedWithASentence) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  std::vector<float> x(16), y(16);
  dlc_tensor in = tensor(DLC_F32, {4, 4}, x), out = tensor(DLC_F32, {4, 4}, y);
  // Runs with one field changed for the time of the call.
  auto refused = [&](auto &field, auto wrong, const char *message) {
    auto right = field;
    std::memcpy(&field, &wrong, sizeof(wrong));
    static_assert(sizeof(field) == sizeof(wrong));
    EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_USAGE);
    EXPECT_STREQ(dlc_last_error(), message);
    field = right;
  };
  refused(in.dtype, DLC_F64, "input 'x': expected f32[N,4], got f64");
  refused(in.dtype, 77, "input 0: unknown element type 77");
  refused(in.rank, 9, "input 0: expected 0 to 8 dims, got 9");
  refused(in.rank, 1, "input 'x': expected 2 dims, got 1; 'x' is f32[N,4] with N in 0..64");
  refused(in.bytes, size_t(63), "input 'x': its dims need 64 bytes, the array has 63");
  refused(in.data, static_cast<void *>(nullptr), "input 'x': its data pointer is null");
  refused(in.struct_size, size_t(8),
          "the struct_size of the first input is not the size of dlc_tensor");
  refused(out.dims[0], int64_t(3), "output 'y', dim 0: expected 4, got 3");
  refused(out.rank, 1, "output 'y': expected 2 dims, got 1");
  refused(out.rank, -1, "output 0: expected 0 to 8 dims, got -1");
  refused(out.dtype, DLC_I32, "output 'y': expected f32, got i32");
  refused(out.bytes, size_t(60), "output 'y': its dims need 64 bytes, the array has 60");
  refused(out.data, static_cast<void *>(nullptr), "output 'y': its data pointer is null");
  refused(out.struct_size, sizeof(out) + 1,
          "the struct_size of the first output is not the size of dlc_tensor");
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
}

TEST(Api, WrongPointersAndCountsAreRefusedWithASentence) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  std::vector<float> x(16), y(16);
  dlc_tensor in = tensor(DLC_F32, {4, 4}, x), out = tensor(DLC_F32, {4, 4}, y);
  auto refused = [](dlc_status status, const char *message) {
    EXPECT_EQ(status, DLC_USAGE);
    EXPECT_STREQ(dlc_last_error(), message);
  };
  auto run = [&](const dlc_tensor *inputs, size_t numInputs, dlc_tensor *outputs,
                 size_t numOutputs) {
    return dlc_context_run(context.get(), inputs, numInputs, outputs, numOutputs);
  };
  refused(run(nullptr, 1, &out, 1), "the pointer to the inputs is null");
  refused(run(&in, 1, nullptr, 1), "the pointer to the outputs is null");
  refused(run(&in, 0, &out, 1), "expected 1 input, got 0");
  refused(run(&in, 1, &out, 0), "expected 1 output, got 0");
  dlc_tensor two[] = {in, in};
  refused(run(two, 2, &out, 1), "expected 1 input, got 2");
  two[1].struct_size = 0;
  refused(run(two, 2, &out, 1), "input 1: its struct_size differs from the first one's");

  dlc_module *noModule = nullptr;
  dlc_context *noContext = nullptr;
  dlc_load_options forgottenLoad = {};
  dlc_context_options forgotten = {}, chosen = options("tpu");
  const char *noSize = "the options' struct_size is 0; set it to sizeof(the struct)";
  refused(dlc_module_load("m.bin", nullptr, nullptr), "the pointer to the module is null");
  refused(dlc_module_load(nullptr, nullptr, &noModule), "the path is null");
  refused(dlc_module_load("m.bin", &forgottenLoad, &noModule), noSize);
  refused(dlc_module_load_memory(nullptr, 8, nullptr, &noModule), "the data pointer is null");
  refused(dlc_context_create(module.get(), nullptr, nullptr), "the pointer to the context is null");
  refused(dlc_context_create(nullptr, nullptr, &noContext), "the module is null");
  refused(dlc_context_create(module.get(), &forgotten, &noContext), noSize);
  refused(dlc_context_create(module.get(), &chosen, &noContext),
          "unknown device 'tpu'; expected cpu, cuda, cuda:N or auto");
  for (const char *device : {"cuda:", "cuda:1x", "cuda:-1", "cuda 1"}) {
    chosen.device = device;
    refused(dlc_context_create(module.get(), &chosen, &noContext),
            ("unknown device '" + std::string(device) + "'; expected cpu, cuda, cuda:N or auto")
                .c_str());
  }
  chosen = options("cpu", -1);
  refused(dlc_context_create(module.get(), &chosen, &noContext),
          "expected 0 to 1024 threads, got -1");
  dlc_value_info info = {};
  info.struct_size = sizeof(info);
  refused(dlc_module_input(nullptr, 0, &info), "the module is null");
  refused(dlc_module_output(nullptr, 0, &info), "the module is null");
  EXPECT_EQ(dlc_module_num_inputs(nullptr) + dlc_module_num_outputs(nullptr), 0u);

  int rank;
  int64_t dims[DLC_MAX_RANK];
  const dlc_profile_entry *entries;
  size_t count;
  dlc_memory_info memory = {};
  refused(dlc_context_bind(nullptr, &in, 1), "the context is null");
  refused(dlc_context_run(nullptr, &in, 1, &out, 1), "the context is null");
  refused(dlc_context_output_dims(nullptr, 0, &rank, dims), "a pointer is null");
  refused(dlc_context_profile(nullptr, &entries, &count), "a pointer is null");
  refused(dlc_context_profile(context.get(), &entries, &count),
          "the context was created without the option 'profile'");
  refused(dlc_context_memory(context.get(), &memory),
          "a pointer is null, or struct_size is too small");
  dlc_module_free(nullptr);
  dlc_context_free(nullptr);
}

TEST(Api, BytesThatAreNoFile) {
  dlc_module *none = nullptr;
  EXPECT_EQ(dlc_module_load_memory("", 0, nullptr, &none), DLC_INCOMPATIBLE);
  EXPECT_STREQ(dlc_last_error(), "no bytes given; expected those of a model.bin");
  EXPECT_EQ(dlc_module_load_memory("", size_t(1) << 62, nullptr, &none), DLC_DEVICE);
  EXPECT_STREQ(dlc_last_error(), "cannot allocate 4.0 EiB for a copy of the module");
}

TEST(Api, AnInputOfMoreThan64Bits) {
  // Nothing reads x, so nothing else asks for its size.
  PackageBuilder package;
  Expr n = package.symbol("N", 1, int64_t(1) << 40), m = package.symbol("M", 1, int64_t(1) << 40);
  package.input("x", DType::f32, {n, m});
  package.program(Target::cpu);
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), options());
  dlc_tensor in = {sizeof(in), DLC_F32,        2, {int64_t(1) << 40, int64_t(1) << 40}, &in,
                   8,          DLC_MEMORY_HOST};
  EXPECT_EQ(dlc_context_run(context.get(), &in, 1, nullptr, 0), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "input 'x': its size overflows 64 bits");
}

TEST(Api, ContextsKeepTheModuleAlive) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  module.reset();
  std::vector<float> x = iota(8), y(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK) << dlc_last_error();
  EXPECT_EQ(y[7], affine(7));
}

TEST(Api, LoadsFromAFileAndNamesIt) {
  std::string path = testing::TempDir() + "dlc-runtime-test-" + std::to_string(getpid()) + ".bin";
  std::vector<uint8_t> file = affinePackage().file();
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char *>(file.data()), file.size());
  dlc_module *module = nullptr;
  dlc_load_options all = {sizeof(all), 1};
  ASSERT_EQ(dlc_module_load(path.c_str(), &all, &module), DLC_OK) << dlc_last_error();
  EXPECT_STREQ(dlc_last_error(), "");
  ContextPtr context = open(module, options("auto"));
  EXPECT_EQ(std::string(dlc_context_device(context.get())), "cpu (sse2, 2 threads)");
  dlc_module_free(module);
  std::remove(path.c_str());
  EXPECT_EQ(dlc_module_load(path.c_str(), nullptr, &module), DLC_DEVICE);
  EXPECT_EQ(dlc_last_error(), "'" + path + "': cannot open the file: No such file or directory");
  EXPECT_EQ(dlc_module_load("/", nullptr, &module), DLC_DEVICE);
  EXPECT_STREQ(dlc_last_error(), "'/': expected a regular file, got a directory");
  EXPECT_EQ(dlc_module_load("/dev/null", nullptr, &module), DLC_DEVICE);
  EXPECT_STREQ(dlc_last_error(), "'/dev/null': expected a regular file, got a special file");
  std::ofstream(path, std::ios::binary).flush();
  EXPECT_EQ(dlc_module_load(path.c_str(), nullptr, &module), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(), "'" + path +
                                  "': the file is empty; expected a model.bin written by 'dlc "
                                  "compile'");
  std::ofstream(path, std::ios::binary) << "dl 1";
  EXPECT_EQ(dlc_module_load(path.c_str(), nullptr, &module), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(), "'" + path +
                                  "': expected a model.bin written by 'dlc compile', got a .dl "
                                  "source file: compile it first with 'dlc compile MODEL.dl -o "
                                  "model.bin'");
  std::remove(path.c_str());
  EXPECT_EQ(module, nullptr);
}

TEST(Api, ProfileListsTheCommands) {
  ModulePtr module = load(affinePackage().file());
  dlc_context_options chosen = options();
  const dlc_profile_entry *entries;
  size_t count;
  EXPECT_EQ(dlc_context_profile(open(module.get(), chosen).get(), &entries, &count), DLC_USAGE);
  chosen.profile = 1;
  ContextPtr context = open(module.get(), chosen);
  std::vector<float> x = iota(8), y(8);
  dlc_tensor in = tensor(DLC_F32, {2, 4}, x), out = tensor(DLC_F32, {2, 4}, y);
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK);
  ASSERT_EQ(dlc_context_profile(context.get(), &entries, &count), DLC_OK);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(entries[0].kernel, "twice");
  EXPECT_STREQ(entries[1].kernel, "add_row");
  EXPECT_GE(entries[0].microseconds, 0.0);
}

TEST(Api, ErrorsBelongToTheirThread) {
  dlc_module *module = nullptr;
  EXPECT_EQ(dlc_module_load("/", nullptr, &module), DLC_DEVICE);
  std::thread([] { EXPECT_STREQ(dlc_last_error(), ""); }).join();
  EXPECT_STREQ(dlc_last_error(), "'/': expected a regular file, got a directory");
}

TEST(Api, NamesAndSizesOfElementTypes) {
  EXPECT_STREQ(dlc_dtype_name(DLC_BF16), "bf16");
  EXPECT_EQ(dlc_dtype_size(DLC_BF16), 2u);
  EXPECT_STREQ(dlc_dtype_name(DLC_BOOL), "bool");
  EXPECT_STREQ(dlc_dtype_name(static_cast<dlc_dtype>(DLC_U2 + 1)), "?");
  EXPECT_EQ(dlc_dtype_size(static_cast<dlc_dtype>(DLC_U2 + 1)), 0u);
  EXPECT_NE(std::string(dlc_version()), "");
}
