//===- DamageTest.cpp - Packages cut off, flipped, or something else altogether ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cstring>

using namespace dlc::test;

namespace {

struct Outcome {
  dlc_status status;
  std::string error;
};

Outcome tryLoad(const std::vector<uint8_t> &file) {
  dlc_module *module = nullptr;
  dlc_status status = dlc_module_load_memory(file.data(), file.size(), nullptr, &module);
  dlc_module_free(module);
  return {status, dlc_last_error()};
}

void expectRightResult(const std::vector<uint8_t> &file) {
  ModulePtr module = load(file);
  ContextPtr context = open(module.get(), options("cpu", 1));
  std::vector<float> x = {1, 2, 3, 4}, y(4);
  dlc_tensor in = tensor(DLC_F32, {1, 4}, x), out = tensor(DLC_F32, {1, 4}, y);
  ASSERT_EQ(dlc_context_run(context.get(), &in, 1, &out, 1), DLC_OK);
  EXPECT_EQ(y, std::vector<float>({3, 6, 9, 12}));
}

} // namespace

TEST(Damage, EveryTruncationIsRefused) {
  const std::vector<uint8_t> file = affinePackage().file();
  for (size_t bytes = 1; bytes < file.size(); ++bytes) {
    Outcome outcome = tryLoad({file.begin(), file.begin() + bytes});
    ASSERT_EQ(outcome.status, DLC_INCOMPATIBLE) << bytes;
    ASSERT_NE(outcome.error.find("cut off"), std::string::npos) << bytes << ": " << outcome.error;
  }
}

TEST(Damage, EveryFlippedBitIsRefused) {
  const std::vector<uint8_t> file = affinePackage().file();
  for (size_t byte = 0; byte < file.size(); ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> damaged = file;
      damaged[byte] ^= uint8_t(1 << bit);
      Outcome outcome = tryLoad(damaged);
      ASSERT_EQ(outcome.status, DLC_INCOMPATIBLE) << "byte " << byte << " bit " << bit;
      ASSERT_FALSE(outcome.error.empty());
    }
  expectRightResult(file);
}

TEST(Damage, AFlippedTableWithRightHashesDoesNotCrash) {
  // Hashes find damage, not malice: behind them stand the two verifiers. What passes may be another
  // model; it must bind or be refused. It is not run, as its code may start anywhere in the image.
  const std::vector<uint8_t> file = affinePackage().file();
  dlc::schema::ModuleHeader header;
  std::memcpy(&header, file.data(), sizeof(header));
  size_t refused = 0, accepted = 0;
  for (size_t byte = 0; byte < header.tableBytes; ++byte)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<uint8_t> damaged = file;
      damaged[dlc::schema::kTableOffset + byte] ^= uint8_t(1 << bit);
      rehash(damaged);
      dlc_module *raw = nullptr;
      if (dlc_module_load_memory(damaged.data(), damaged.size(), nullptr, &raw) != DLC_OK) {
        ++refused;
        continue;
      }
      ++accepted;
      ModulePtr module(raw);
      dlc_value_info info = {};
      info.struct_size = sizeof(info);
      for (size_t i = 0; i < dlc_module_num_inputs(raw); ++i)
        EXPECT_EQ(dlc_module_input(raw, i, &info), DLC_OK);
      dlc_context *context = nullptr;
      dlc_context_options chosen = options("cpu", 1);
      if (dlc_context_create(raw, &chosen, &context) == DLC_OK) {
        dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, nullptr, 0};
        dlc_context_bind(context, &in, 1); // either answer will do
      }
      dlc_context_free(context);
    }
  EXPECT_GT(refused, accepted / 2);
  EXPECT_GT(accepted, 0u);
}

TEST(Damage, LargeSegmentsAreHashedOnRequest) {
  PackageBuilder package = affinePackage();
  std::vector<float> large((size_t(64) << 18) + 16); // 64 MiB and a little
  package.weight("large", large, {large.size()});
  std::vector<uint8_t> file = package.file();
  file[file.size() - 1000] ^= 1;
  dlc_module *module = nullptr;
  EXPECT_EQ(dlc_module_load_memory(file.data(), file.size(), nullptr, &module), DLC_OK)
      << dlc_last_error();
  dlc_module_free(module);
  dlc_load_options all = {sizeof(all), 1};
  EXPECT_EQ(dlc_module_load_memory(file.data(), file.size(), &all, &module), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("weight 'large' is damaged"));
}

TEST(Damage, SaysWhatElseAFileIs) {
  auto expect = [](std::string bytes, const char *piece) {
    bytes.resize(256, ' ');
    Outcome outcome = tryLoad({bytes.begin(), bytes.end()});
    EXPECT_EQ(outcome.status, DLC_INCOMPATIBLE);
    EXPECT_NE(outcome.error.find(piece), std::string::npos) << outcome.error;
  };
  using namespace std::literals;
  expect("\x08\x07\x12\x07pytorch"s, "an ONNX model: compile it first");
  expect("\x40\x01\0\0\0\0\0\0{\"w\":{}}"s, "a safetensors file");
  expect("\x93NUMPY\x01\0"s, "a NumPy array");
  expect("PK\x03\x04"s, "a zip archive");
  expect("dl 1\nmodel M {"s, "a .dl source file");
  expect("<?xml version=\"1.0\"?><net"s, "OpenVINO");
  expect("version https://git-lfs.github.com/spec/v1"s, "Git LFS pointer");
  expect("<!DOCTYPE html>"s, "web page");
  expect("\x7f"
         "ELF"s,
         "ELF");
  expect("\x7f"
         "DLC\n\x1a\n"s,
         "transferred as text");
  expect("anything"s, "these bytes are none");
  expect(""s, "these bytes are none");
}

TEST(Damage, OtherVersionsAreNamed) {
  auto withVersions = [](uint32_t format, uint32_t abi) {
    std::vector<uint8_t> file = affinePackage().file();
    std::memcpy(file.data() + 8, &format, 4);
    std::memcpy(file.data() + 12, &abi, 4);
    rehash(file);
    return tryLoad(file);
  };
  using dlc::schema::kAbiVersion;
  using dlc::schema::kFormatVersion;
  Outcome newer = withVersions(kFormatVersion + 6, kAbiVersion);
  EXPECT_EQ(newer.status, DLC_INCOMPATIBLE);
  EXPECT_NE(newer.error.find("the file has format 7"), std::string::npos) << newer.error;
  EXPECT_NE(newer.error.find("use a newer runtime"), std::string::npos);
  Outcome older = withVersions(0, kAbiVersion);
  EXPECT_NE(older.error.find("compile the model again"), std::string::npos) << older.error;
  Outcome otherAbi = withVersions(kFormatVersion, kAbiVersion + 1);
  EXPECT_EQ(otherAbi.status, DLC_INCOMPATIBLE);
  EXPECT_NE(otherAbi.error.find("calling convention"), std::string::npos) << otherAbi.error;
}

TEST(Damage, AppendedAndHiddenBytesAreRefused) {
  std::vector<uint8_t> file = affinePackage().file();
  std::vector<uint8_t> longer = file;
  longer.push_back(0);
  EXPECT_NE(tryLoad(longer).error.find("something was appended"), std::string::npos);
  // The last weight begins on a multiple of 64; the byte before it is padding.
  std::vector<uint8_t> hidden = file;
  hidden[file.size() - 16 - 1] = 1;
  EXPECT_NE(tryLoad(hidden).error.find("are not zero"), std::string::npos) << tryLoad(hidden).error;
}
