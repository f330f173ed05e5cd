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
using dlc::schema::Storage;
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
  for (int64_t n : {1, 2, 3, 64, 5, 1}) {
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
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, data, sizeof(data)}, out = in;
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
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, x, 64}, out = in;
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
  EXPECT_TRUE(lastErrorHas("there is no output 1; the module has 1"));
}

TEST(Api, OutputDimsAfterBind) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  int rank;
  int64_t dims[DLC_MAX_RANK];
  EXPECT_EQ(dlc_context_output_dims(context.get(), 0, &rank, dims), DLC_USAGE);
  dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {7, 4}, nullptr, 0};
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
}

TEST(Api, WrongArgumentsAreRefusedWithASentence) {
  ModulePtr module = load(affinePackage().file());
  ContextPtr context = open(module.get(), options());
  std::vector<float> x(16), y(16);
  dlc_tensor in = tensor(DLC_F32, {4, 4}, x), out = tensor(DLC_F32, {4, 4}, y);
  auto refused = [&](const char *piece) {
    EXPECT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_USAGE);
    EXPECT_TRUE(lastErrorHas(piece));
  };
  in.dtype = DLC_F64;
  refused("input 'x': expected f32[N,4], got f64");
  int wild = 77;
  std::memcpy(&in.dtype, &wild, sizeof(wild));
  refused("unknown element type 77");
  in.dtype = DLC_F32;
  in.rank = 9;
  refused("expected 0 to 8 dims, got 9");
  in.rank = 1;
  refused("input 'x': expected 2 dims, got 1");
  in.rank = 2;
  in.bytes = 63;
  refused("its dims need 64 bytes, the array has 63");
  in.bytes = 64;
  in.data = nullptr;
  refused("its data pointer is null");
  in.data = x.data();
  out.dims[0] = 3;
  refused("output 'y', dim 0: expected 4, got 3");
  out.dims[0] = 4;
  out.struct_size = 8;
  refused("struct_size");
  out.struct_size = sizeof(out);
  EXPECT_EQ(dlc_context_run(nullptr, &in, 1, &out, 1), DLC_USAGE);
  EXPECT_EQ(dlc_context_run(context.get(), nullptr, 1, &out, 1), DLC_USAGE);
  EXPECT_EQ(dlc_context_run(context.get(), &in, 0, &out, 1), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("expected 1 input, got 0"));
  EXPECT_EQ(dlc_module_load(nullptr, nullptr, nullptr), DLC_USAGE);
  dlc_module *none = nullptr;
  EXPECT_EQ(dlc_module_load_memory("", 0, nullptr, &none), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_context_create(nullptr, nullptr, nullptr), DLC_USAGE);
  open(module.get(), options("tpu"), DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("unknown device 'tpu'"));
  open(module.get(), options("cpu", -1), DLC_USAGE);
  dlc_context_options forgotten = {};
  open(module.get(), forgotten, DLC_USAGE);
  EXPECT_TRUE(lastErrorHas("struct_size is 0"));
  dlc_module_free(nullptr);
  dlc_context_free(nullptr);
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
  EXPECT_TRUE(lastErrorHas("cannot open the file: No such file"));
  EXPECT_EQ(dlc_module_load("/", nullptr, &module), DLC_DEVICE);
  EXPECT_TRUE(lastErrorHas("got a directory"));
  EXPECT_EQ(dlc_module_load("/dev/null", nullptr, &module), DLC_DEVICE);
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
  EXPECT_TRUE(lastErrorHas("directory"));
}

TEST(Api, NamesAndSizesOfElementTypes) {
  EXPECT_STREQ(dlc_dtype_name(DLC_BF16), "bf16");
  EXPECT_EQ(dlc_dtype_size(DLC_BF16), 2u);
  EXPECT_STREQ(dlc_dtype_name(DLC_BOOL), "bool");
  EXPECT_STREQ(dlc_dtype_name(static_cast<dlc_dtype>(15)), "?");
  EXPECT_EQ(dlc_dtype_size(static_cast<dlc_dtype>(10)), 0u);
  EXPECT_NE(std::string(dlc_version()), "");
}
