//===- DamageTest.cpp - Packages cut off, flipped, or something else altogether ---------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/core/package/Hash.h"
#include "test/unit/runtime/Runner.h"
#include "test/unit/runtime/flow/FlowPackage.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <unistd.h>

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
    std::string length = std::to_string(bytes);
    ASSERT_EQ(outcome.error,
              bytes < 8 ? "the file ends after " + length + " bytes: it was cut off; copy it again"
              : bytes < 128 ? "the file ends after " + length +
                                  " bytes, inside its header: it was cut off; copy it again"
                            : "the file should have " + std::to_string(file.size()) +
                                  " bytes and has " + length + ": it was cut off; copy it again");
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

/// Hashes find damage, not malice: after them come the two verifiers. What passes may be another
/// model; it must bind or be refused. It is not run, as its code may start anywhere in the image.
static void flipTable(const std::vector<uint8_t> &file) {
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
        dlc_tensor in = {sizeof(dlc_tensor), DLC_F32, 2, {4, 4}, nullptr, 0, DLC_MEMORY_HOST};
        dlc_context_bind(context, &in, 1); // either answer will do
      }
      dlc_context_free(context);
    }
  EXPECT_GT(refused, accepted / 2);
  EXPECT_GT(accepted, 0u);
}

TEST(Damage, AFlippedTableWithRightHashesDoesNotCrash) { flipTable(affinePackage().file()); }

TEST(Damage, AFlippedFlowWithRightHashesDoesNotCrash) { flipTable(sampleFlow().file()); }

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
  EXPECT_STREQ(dlc_last_error(),
               "weight 'large' is damaged (its hash does not match): copy the file again");
}

TEST(Damage, SaysWhatElseAFileIs) {
  auto refused = [](std::string bytes, const std::string &message) {
    bytes.resize(256, ' ');
    Outcome outcome = tryLoad({bytes.begin(), bytes.end()});
    EXPECT_EQ(outcome.status, DLC_INCOMPATIBLE);
    EXPECT_EQ(outcome.error, message);
  };
  auto expect = [&](std::string bytes, const std::string &what) {
    refused(std::move(bytes), "expected a model.bin written by 'dlc compile', got " + what);
  };
  using namespace std::literals;
  expect("\x08\x07\x12\x07pytorch"s,
         "an ONNX model: compile it first with 'dlc compile MODEL.onnx -o model.bin'");
  expect("\x40\x01\0\0\0\0\0\0{\"w\":{}}"s,
         "a safetensors file: name it in a .dl model with 'weights', then 'dlc compile MODEL.dl'");
  expect("\x93NUMPY\x01\0"s, "a NumPy array (.npy): pass it with --input NAME=@FILE.npy");
  expect("PK\x03\x04"s,
         "a zip archive (.npz, .pt or .zip): pass an .npz with --input; save a PyTorch checkpoint "
         "as .safetensors for a .dl model");
  for (const char *source : {"dl 1\nmodel M {", "model M {", "dim N = 1..4", "# A net.\ndl 1\n"})
    expect(source, "a .dl source file: compile it first with 'dlc compile MODEL.dl -o model.bin'");
  for (const char *source : {"module {", "#dl.x"})
    expect(source, "MLIR text: compile it first with 'dlc compile MODEL.mlir --compile-from=PHASE "
                   "-o model.bin'");
  for (const char *source : {"<?xml version=\"1.0\"?><net", "<net name="})
    expect(source, "an OpenVINO or other XML file; dlc takes .dl models: 'dlc compile MODEL.dl -o "
                   "model.bin'");
  expect("version https://git-lfs.github.com/spec/v1"s,
         "a Git LFS pointer: fetch the file itself with 'git lfs pull'");
  for (const char *page : {"<!DOCTYPE html>", "<!doctype html>", "<html>"})
    expect(page, "a web page, perhaps from a failed download");
  expect("\x7f"
         "ELF"s,
         "an ELF program or library");
  refused("\x7f"
          "DLC\n\x1a\n"s,
          "the first bytes of a model.bin were changed: the file was transferred as text, or is "
          "damaged; transfer it again in binary mode");
  for (const char *bytes : {"anything", ""})
    refused(bytes, "expected a model.bin written by 'dlc compile'; these bytes are none");
  Outcome none = tryLoad({});
  EXPECT_EQ(none.status, DLC_USAGE);
  EXPECT_EQ(none.error, "the data pointer is null");
}

TEST(Damage, OtherVersionsAreNamed) {
  auto expect = [](uint32_t format, uint32_t abi, const std::string &what,
                   const std::string &reads) {
    std::vector<uint8_t> file = affinePackage().file();
    std::memcpy(file.data() + 8, &format, 4);
    std::memcpy(file.data() + 12, &abi, 4);
    rehash(file);
    Outcome outcome = tryLoad(file);
    EXPECT_EQ(outcome.status, DLC_INCOMPATIBLE);
    EXPECT_EQ(outcome.error, what + ", this runtime (dlc " + dlc_version() + reads);
  };
  static_assert(dlc::schema::kFormatVersion == 1 && dlc::schema::kAbiVersion == 1);
  expect(7, 1, "the file has format 7",
         ") reads up to 1: use a newer runtime, or compile the model again with this version");
  expect(0, 1, "the file has format 0", ") reads 1 and newer: compile the model again");
  expect(1, 2, "the file's kernels use calling convention 2",
         ") uses 1: compile the model again with this version");
}

TEST(Damage, TheHeaderIsChecked) {
  using dlc::schema::ModuleHeader;
  auto expect = [](auto change, bool hashes, const char *message) {
    std::vector<uint8_t> file = affinePackage().file();
    ModuleHeader header;
    std::memcpy(&header, file.data(), sizeof(header));
    change(header);
    std::memcpy(file.data(), &header, sizeof(header));
    if (hashes) {
      dlc::rt::Hash128 head = dlc::rt::hashBytes(&header, offsetof(ModuleHeader, headerHash));
      header.headerHash[0] = head.low;
      header.headerHash[1] = head.high;
      std::memcpy(file.data(), &header, sizeof(header));
    }
    Outcome outcome = tryLoad(file);
    EXPECT_EQ(outcome.status, DLC_INCOMPATIBLE);
    EXPECT_EQ(outcome.error, message);
  };
  expect([](ModuleHeader &header) { header.formatVersion = 7; }, false,
         "the header is damaged (its hash does not match): copy the file again");
  expect([](ModuleHeader &header) { header.reserved[63] = 1; }, true,
         "the header is damaged (reserved bytes are not zero): copy the file again");
  for (uint64_t bytes : {uint64_t(0), uint64_t(1) << 20, ~uint64_t(0)})
    expect([&](ModuleHeader &header) { header.tableBytes = bytes; }, true,
           "the header is damaged (the table does not fit into the file): copy the file again");
  expect([](ModuleHeader &header) { ++header.tableHash[0]; }, true,
         "the table is damaged (its hash does not match): copy the file again");
}

TEST(Damage, AppendedAndHiddenBytesAreRefused) {
  std::vector<uint8_t> file = affinePackage().file();
  std::string size = std::to_string(file.size());
  std::vector<uint8_t> longer = file;
  longer.push_back(0);
  EXPECT_EQ(tryLoad(longer).error, "the file should have " + size + " bytes and has " +
                                       std::to_string(longer.size()) +
                                       ": something was appended; copy it again");
  // The last weight begins on a multiple of 64; the byte before it is padding.
  std::vector<uint8_t> hidden = file;
  hidden[file.size() - 16 - 1] = 1;
  EXPECT_NE(tryLoad(hidden).error.find("are not zero"), std::string::npos) << tryLoad(hidden).error;
}

TEST(Damage, ATableOfTwoGiB) {
  // A sparse file that is refused before it is read.
  std::string path = testing::TempDir() + "dlc-damage-test-" + std::to_string(getpid());
  dlc::schema::ModuleHeader header = {};
  std::vector<uint8_t> file = affinePackage().file();
  std::memcpy(&header, file.data(), sizeof(header));
  header.tableBytes = uint64_t(1) << 31;
  header.fileBytes = dlc::schema::kTableOffset + header.tableBytes;
  dlc::rt::Hash128 hash =
      dlc::rt::hashBytes(&header, offsetof(dlc::schema::ModuleHeader, headerHash));
  header.headerHash[0] = hash.low;
  header.headerHash[1] = hash.high;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char *>(&header), sizeof(header));
  ASSERT_EQ(truncate(path.c_str(), off_t(header.fileBytes)), 0);
  dlc_module *module = nullptr;
  EXPECT_EQ(dlc_module_load(path.c_str(), nullptr, &module), DLC_INCOMPATIBLE);
  EXPECT_EQ(dlc_last_error(), "'" + path +
                                  "': the table has 2147483648 bytes; expected less than 2 GiB: "
                                  "compile the model in parts");
  std::remove(path.c_str());
}
