//===- SafetensorsFileTest.cpp - Headers, good and bad ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/SafetensorsFile.h"

#include "llvm/Support/Endian.h"

#include "gtest/gtest.h"

using namespace dlc::frontend;
using llvm::StringRef;

namespace {

std::string makeFile(const std::string &header, size_t dataBytes) {
  std::string file(8, '\0');
  llvm::support::endian::write64le(file.data(), header.size());
  file += header;
  for (size_t i = 0; i < dataBytes; ++i)
    file += static_cast<char>(i);
  return file;
}

llvm::Expected<SafetensorsFile> parse(const std::string &bytes) {
  return SafetensorsFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "w.st"));
}

std::string parseError(const std::string &bytes) {
  auto file = parse(bytes);
  return file ? "no error" : llvm::toString(file.takeError());
}

std::string headerError(const std::string &header, size_t dataBytes = 8) {
  return parseError(makeFile(header, dataBytes));
}

std::string tensor(const std::string &dtype, const std::string &shape, const std::string &offsets) {
  return R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

TEST(SafetensorsFile, readsTensors) {
  auto file = parse(makeFile(
      R"( {"__metadata__":{"format":"pt"}, "b":{"shape":[2,1],"dtype":"I16","data_offsets":[8,12]},
      "a.weight":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"e\u00e9":{"dtype":"F64","shape":[0,3],"data_offsets":[8,8]}} )",
      12));
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), 3u);
  const StoredTensor *a = file->find("a.weight"), *b = file->find("b");
  ASSERT_TRUE(a && b && file->find("e\xC3\xA9"));
  EXPECT_EQ(file->find("c"), nullptr);
  EXPECT_EQ(describe(b->type, b->shape), "i16[2,1]");
  EXPECT_EQ(file->data(*a).size(), 8u);
  EXPECT_EQ(file->data(*b)[0], 8);
}

TEST(SafetensorsFile, acceptsAFileWithoutTensors) { EXPECT_EQ(headerError("{}", 0), "no error"); }

TEST(SafetensorsFile, refusesWrongFiles) {
  EXPECT_EQ(parseError(""),
            "'w.st' has 0 bytes; a safetensors file begins with the 8 bytes of its header size");
  EXPECT_EQ(parseError("version https://git-lfs.github.com/spec/v1\n"),
            "'w.st' is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  EXPECT_EQ(parseError("<!doctype html><html>"),
            "'w.st': byte 0: a header of 8104636974849335612 bytes; the limit is 100000000. Is "
            "this a safetensors file?");
  EXPECT_EQ(parseError(makeFile("{}", 0).substr(0, 9)),
            "'w.st': byte 0: a header of 2 bytes in a file of 9; the file is truncated, or is not "
            "safetensors");
}

TEST(SafetensorsFile, refusesBadJson) {
  EXPECT_EQ(headerError("[]"), "'w.st': byte 8: expected '{' in the JSON header; the file is "
                               "damaged, or is not safetensors");
  EXPECT_EQ(headerError("{} x", 0),
            "'w.st': byte 11: the JSON header goes on past its end; the file is damaged");
  EXPECT_EQ(headerError(R"({"a)"),
            "'w.st': byte 11: a string of the JSON header does not end; the file is damaged");
  EXPECT_EQ(headerError("{\"\xFF\":{}}"),
            "'w.st': byte 12: a string of the JSON header is not valid UTF-8; the file is damaged");
  EXPECT_EQ(
      headerError("{\"\n\":{}}"),
      "'w.st': byte 10: a control character in a string of the JSON header; the file is damaged");
  EXPECT_EQ(
      headerError(R"({"\ud800x\q":{}})"),
      "'w.st': byte 20: a string of the JSON header has an invalid escape; the file is damaged");
  EXPECT_EQ(headerError("{\"" + std::string(5000, 'n') + "\":{}}"),
            "'w.st': byte 5011: a string of 5000 bytes in the JSON header; the limit is 4096");
  EXPECT_EQ(headerError(R"({"a":{"dtype":"F32","dtype":"F32"}})"),
            "'w.st': byte 35: the name 'dtype' appears twice; each tensor needs its own name");
  // A bomb of brackets is refused at the first one that the grammar does not have.
  EXPECT_EQ(headerError(R"({"a":{"shape":)" + std::string(100000, '[')),
            "'w.st': byte 23: expected an integer from 0 to 2^64-1 in the JSON header; the file is "
            "damaged");
}

TEST(SafetensorsFile, refusesBadTensors) {
  EXPECT_EQ(headerError(tensor("F99", "[2]", "[0,8]")),
            "'w.st': byte 27: tensor 'a' has the unknown dtype 'F99'; convert it to F32");
  EXPECT_EQ(headerError(R"({"a":{"strides":[1]}})"),
            "'w.st': byte 24: tensor 'a' has the unknown key 'strides'; expected dtype, shape and "
            "data_offsets");
  EXPECT_EQ(headerError(R"({"a":{"dtype":"F32"}})"),
            "'w.st': byte 28: tensor 'a' needs dtype, shape and two data_offsets");
  EXPECT_EQ(headerError(tensor("F32", "[-1]", "[0,8]")),
            "'w.st': byte 37: expected an integer from 0 to 2^64-1 in the JSON header; the file is "
            "damaged");
  EXPECT_EQ(headerError(tensor("F32", "[1e99]", "[0,8]")),
            "'w.st': byte 38: expected ']' in the JSON header; the file is damaged, or is not "
            "safetensors");
  EXPECT_EQ(headerError(tensor("F32", "[99999999999999999999]", "[0,8]")),
            "'w.st': byte 57: expected an integer from 0 to 2^64-1 in the JSON header; the file is "
            "damaged");
  EXPECT_EQ(headerError(tensor("F32", "[9223372036854775808]", "[0,8]")),
            "'w.st': byte 79: tensor 'a' has a dim of 9223372036854775808, beyond 2^63-1; the file "
            "is damaged");
  EXPECT_EQ(headerError(tensor("F32", "[4294967296,4294967296]", "[0,8]")),
            "'w.st': byte 81: the size of tensor 'a' overflows 64 bits; the file is damaged");
  EXPECT_EQ(headerError(tensor("F32", "[0,4294967296,4294967296]", "[0,8]")),
            "'w.st': byte 83: the size of tensor 'a' overflows 64 bits; the file is damaged");
  EXPECT_EQ(headerError(tensor("F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]")),
            "'w.st': byte 70: more than 16 dims; the file is damaged, or is not safetensors");
  EXPECT_EQ(headerError(tensor("F32", "[3]", "[0,8]")),
            "'w.st': byte 61: tensor 'a' has 8 bytes; f32[3] needs 12; the file is damaged");
  EXPECT_EQ(
      headerError(tensor("F32", "[2]", "[0,4,8]")),
      "'w.st': byte 61: more than 2 data_offsets; the file is damaged, or is not safetensors");
  EXPECT_EQ(
      headerError(tensor("F32", "[2]", "[8,0]")),
      "'w.st': byte 61: tensor 'a' lies at 8..0 of 8 data bytes; the file is damaged or truncated");
  EXPECT_EQ(headerError(tensor("F32", "[2]", "[4,12]")),
            "'w.st': byte 62: tensor 'a' lies at 4..12 of 8 data bytes; the file is damaged or "
            "truncated");
}

TEST(SafetensorsFile, refusesHolesAndOverlaps) {
  auto two = [](const std::string &first, const std::string &second, size_t bytes) {
    return headerError(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + first +
                           R"(},"b":{"dtype":"U8","shape":[4],"data_offsets":)" + second + "}}",
                       bytes);
  };
  EXPECT_EQ(two("[0,4]", "[4,8]", 8), "no error");
  EXPECT_EQ(two("[4,8]", "[0,4]", 8), "no error");
  EXPECT_EQ(two("[0,4]", "[2,6]", 6), "'w.st': byte 115: tensor 'b' begins at byte 115, inside the "
                                      "tensor before; expected byte 117. Save the file again");
  EXPECT_EQ(two("[0,4]", "[5,9]", 9), "'w.st': byte 117: tensor 'b' begins at byte 118, after a "
                                      "hole; expected byte 117. Save the file again");
  EXPECT_EQ(two("[0,4]", "[4,8]", 9), "'w.st': byte 121: the tensors end here, but the file goes "
                                      "on to byte 122. Save the file again");
  EXPECT_EQ(headerError(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"a":{}})"),
            "'w.st': byte 64: the name 'a' appears twice; each tensor needs its own name");
}

TEST(SafetensorsFile, survivesDamage) {
  std::string good = makeFile(tensor("F32", "[2]", "[0,8]"), 8);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(parseError(good.substr(0, i)), "no error");
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] ^= 1 << bit;
      if (auto file = parse(damaged))
        for (const StoredTensor &tensor : file->tensors())
          EXPECT_LE(tensor.offset + tensor.bytes, damaged.size());
      else
        llvm::consumeError(file.takeError());
    }
  }
}

TEST(SafetensorsFile, namesFilesThatCannotBeRead) {
  auto file = SafetensorsFile::open("/nonexistent/w.st");
  EXPECT_EQ(llvm::toString(file.takeError()),
            "cannot read '/nonexistent/w.st': No such file or directory");
  file = SafetensorsFile::open("/");
  EXPECT_EQ(llvm::toString(file.takeError()),
            "cannot read '/': it is a directory; expected a file");
  file = SafetensorsFile::open("/dev/null");
  EXPECT_EQ(llvm::toString(file.takeError()), "cannot read '/dev/null': it is not a regular file");
}

TEST(SafetensorsHeader, IsReadBack) {
  std::vector<StoredTensor> tensors{{"a", ElementType::f16, {2, 3}, 0, 12},
                                    {"quote \" and \\", ElementType::i64, {}, 0, 8},
                                    {"none", ElementType::f32, {0, 4}, 0, 0}};
  auto header = safetensorsHeader(tensors);
  ASSERT_TRUE(static_cast<bool>(header)) << llvm::toString(header.takeError());
  EXPECT_EQ(header->size() % 8, 0u);
  auto file = parse(*header + std::string(20, 'x'));
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  ASSERT_EQ(file->tensors().size(), tensors.size());
  uint64_t offset = header->size();
  for (const StoredTensor &expected : tensors) {
    const StoredTensor *got = file->find(expected.name);
    ASSERT_NE(got, nullptr) << expected.name;
    EXPECT_EQ(got->type, expected.type);
    EXPECT_EQ(got->shape, expected.shape);
    EXPECT_EQ(got->offset, offset);
    EXPECT_EQ(got->bytes, expected.bytes);
    offset += expected.bytes;
  }
}

TEST(SafetensorsHeader, RefusesTypesThatTheFormatLacks) {
  std::vector<StoredTensor> tensors{{"w", ElementType::i4, {2}, 0, 2}};
  auto header = safetensorsHeader(tensors);
  ASSERT_FALSE(static_cast<bool>(header));
  EXPECT_EQ(llvm::toString(header.takeError()), "weight 'w' is i4[2]; safetensors have no i4");
}

} // namespace
