//===- IdxFileTest.cpp - Files of MNIST's format, good and bad ----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/IdxFile.h"

#include "gtest/gtest.h"

#include <zlib.h>

using namespace dlc::frontend;

namespace {

std::string idx(char type, const std::vector<uint8_t> &dims, const std::string &data) {
  std::string file{'\0', '\0', type, static_cast<char>(dims.size())};
  for (uint8_t dim : dims)
    file += std::string(3, '\0') + static_cast<char>(dim);
  return file + data;
}

std::string gzip(const std::string &bytes) {
  z_stream stream = {};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&stream, bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string bytesOf(const std::string &file) {
  auto array = parseIdx(file, "x");
  return array ? std::string(array->data.begin(), array->data.end())
               : llvm::toString(array.takeError());
}

std::string errorOf(const std::string &file) {
  auto array = parseIdx(file, "x");
  return array ? "no error" : llvm::toString(array.takeError());
}

TEST(IdxFile, readsBytesAndBigEndianNumbers) {
  EXPECT_EQ(bytesOf(idx(8, {2, 3}, "abcdef")), "abcdef");
  EXPECT_EQ(bytesOf(idx(9, {2}, "ab")), "ab");
  EXPECT_EQ(bytesOf(idx(11, {2}, "abcd")), "badc");
  EXPECT_EQ(bytesOf(idx(12, {1}, "abcd")), "dcba");
  EXPECT_EQ(bytesOf(idx(13, {1}, "abcd")), "dcba");
  EXPECT_EQ(bytesOf(idx(14, {1}, "abcdefgh")), "hgfedcba");
  auto array = parseIdx(idx(12, {0, 5}, ""), "x");
  ASSERT_TRUE(bool(array));
  EXPECT_EQ(nameOf(array->type), "i32");
  EXPECT_EQ(array->shape, (llvm::SmallVector<int64_t, 4>{0, 5}));
}

TEST(IdxFile, unpacks) {
  EXPECT_EQ(bytesOf(gzip(idx(8, {2, 3}, "abcdef"))), "abcdef");
  EXPECT_EQ(bytesOf(gzip(idx(8, {250, 250, 2}, std::string(125000, 'q')))),
            std::string(125000, 'q'));
}

TEST(IdxFile, refusesWhatIsNone) {
  EXPECT_EQ(errorOf(""),
            "x: byte 0: is no IDX file; expected two bytes of 0, the type and the rank");
  EXPECT_EQ(errorOf("abcdefgh"),
            "x: byte 0: is no IDX file; expected two bytes of 0, the type and the rank");
  EXPECT_EQ(errorOf(idx(10, {2}, "ab")),
            "x: byte 2: the type 10 is not one of IDX; expected 8, 9, 11, 12, 13 or 14");
  EXPECT_EQ(errorOf(idx(8, {}, "ab")),
            "x: byte 3: the rank is 0; expected 1 to 32, and as many dims");
  EXPECT_EQ(errorOf(std::string("\0\0\x08\x03\0\0", 6)),
            "x: byte 3: the rank is 3; expected 1 to 32, and as many dims");
  std::string huge = idx(14, {1, 1, 1}, "");
  for (size_t i = 4; i < huge.size(); ++i)
    huge[i] = '\xff';
  EXPECT_EQ(errorOf(huge), "x: byte 4: the dims have more elements than a file can hold");
  std::fill(huge.begin() + 4, huge.begin() + 8, '\0'); // also beside a dim of 0
  std::string wide = huge.substr(0, 3) + '\4' + huge.substr(4) + std::string(4, '\xff');
  EXPECT_EQ(errorOf(wide), "x: byte 4: the dims have more elements than a file can hold");
  EXPECT_EQ(errorOf(idx(8, {2, 3}, "abcde")),
            "x: byte 17: the array ends at byte 18 by its dims; the file is shorter");
  EXPECT_EQ(errorOf(idx(8, {2, 3}, "abcdefg")),
            "x: byte 18: the array ends at byte 18 by its dims; the file goes on");
  EXPECT_EQ(errorOf(gzip(idx(8, {2, 3}, "abcdefg"))),
            "x: byte 18: the array ends at byte 18 by its dims; the file goes on");
  std::string packed = gzip(idx(8, {250, 250}, std::string(62500, 'q')));
  EXPECT_EQ(errorOf(packed.substr(0, packed.size() / 2)).find("x: byte "), 0U);
  EXPECT_NE(
      errorOf(packed.substr(0, packed.size() / 2)).find("cannot be unpacked; the file is damaged"),
      std::string::npos);
}

} // namespace
