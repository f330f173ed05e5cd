//===- NpyFileTest.cpp - npy and npz, good and bad ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/NpyFile.h"
#include "frontend/arrays/NpzFile.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <zlib.h>

using namespace dlc::frontend;
using llvm::StringRef;

namespace {

std::string makeNpy(const std::string &header, const std::string &data, char version = 1) {
  std::string file = std::string("\x93NUMPY") + version + '\0';
  char length[4] = {};
  llvm::support::endian::write32le(length, header.size());
  file.append(length, version == 1 ? 2 : 4);
  return file + header + data;
}

std::string dict(const std::string &descr, const std::string &fortran, const std::string &shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

std::string npyError(const std::string &bytes) {
  auto array = parseNpy(bytes, "x.npy");
  return array ? "no error" : llvm::toString(array.takeError());
}

std::string bytesOf(const NpyArray &array) { return {array.data.begin(), array.data.end()}; }

TEST(NpyFile, readsAllVersionsAndTypes) {
  for (char version : {1, 2, 3}) {
    auto array = parseNpy(makeNpy(dict("<i2", "False", "(2, 1)"), "abcd", version), "x.npy");
    ASSERT_TRUE(static_cast<bool>(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(describe(array->type, array->shape), "i16[2,1]");
    EXPECT_EQ(bytesOf(*array), "abcd");
  }
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "()"), "abcd")), "no error");
  EXPECT_EQ(npyError(makeNpy(dict("|u1", "False", "(4,)"), "abcd")), "no error");
  EXPECT_EQ(npyError(makeNpy(dict("<f8", "False", "(0, 3)"), "")), "no error");
  EXPECT_EQ(npyError(makeNpy(dict("<f8", "True", "(0, 3)"), "")), "no error");
}

TEST(NpyFile, convertsOrderEndiannessAndBooleans) {
  // 2x3 column-major: a d / b e / c f by rows is a c e, b d f.
  auto fortran = parseNpy(makeNpy(dict("|i1", "True", "(2, 3)"), "abcdef"), "x.npy");
  ASSERT_TRUE(static_cast<bool>(fortran));
  EXPECT_EQ(bytesOf(*fortran), "acebdf");
  auto cube = parseNpy(makeNpy(dict("|i1", "True", "(2, 2, 2)"), "abcdefgh"), "x.npy");
  ASSERT_TRUE(static_cast<bool>(cube));
  EXPECT_EQ(bytesOf(*cube), "aecgbfdh");
  auto big = parseNpy(makeNpy(dict(">i4", "False", "(2,)"), "abcdefgh"), "x.npy");
  ASSERT_TRUE(static_cast<bool>(big));
  EXPECT_EQ(bytesOf(*big), "dcbahgfe");
  auto boolean = parseNpy(makeNpy(dict("|b1", "False", "(3,)"), std::string("\0\1\7", 3)), "x.npy");
  ASSERT_TRUE(static_cast<bool>(boolean));
  EXPECT_EQ(bytesOf(*boolean), std::string("\0\1\1", 3));
}

TEST(NpyFile, refusesWhatItDoesNotRead) {
  EXPECT_EQ(npyError(""),
            "'x.npy': byte 0: this is not an npy file; save the array with numpy.save");
  EXPECT_EQ(npyError("version https://git-lfs.github.com"),
            "'x.npy' is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  EXPECT_EQ(npyError("PK\3\4abc"), "'x.npy': byte 0: this is a zip archive (npz?), expected npy; "
                                   "name the array in it, or save it with numpy.save");
  EXPECT_EQ(npyError(makeNpy(dict("|O", "False", "(1,)"), "12345678")),
            "'x.npy': byte 24: the array holds Python objects, which dlc never loads; save it with "
            "a numeric dtype");
  EXPECT_EQ(npyError(makeNpy(dict("<c8", "False", "(1,)"), "12345678")),
            "'x.npy': byte 25: the dtype '<c8' is not supported; expected float16/32/64, (u)int8 "
            "to 64 or bool");
  EXPECT_EQ(npyError(makeNpy(dict("<M8[ns]", "False", "(1,)"), "12345678")),
            "'x.npy': byte 29: the dtype '<M8[ns]' is not supported; expected float16/32/64, "
            "(u)int8 to 64 or bool");
  for (const char *descr : {"<U4", "|S4", "", "<f3"})
    EXPECT_NE(npyError(makeNpy(dict(descr, "False", "(1,)"), "12345678"))
                  .find("' is not supported; expected float16/32/64, (u)int8 to 64 or bool"),
              std::string::npos)
        << descr;
  EXPECT_EQ(npyError(makeNpy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                             "1234")),
            "'x.npy': byte 21: the array has structured elements; save each field as an array of "
            "its own");
  EXPECT_EQ(
      npyError(makeNpy("__import__('os')", "")),
      "'x.npy': byte 10: expected \"{\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "(1,)"), "1234", 4)),
            "'x.npy': byte 6: npy format version 4; expected 1, 2 or 3");
  EXPECT_EQ(npyError(makeNpy(std::string(70000, ' '), "", 2)),
            "'x.npy': byte 8: a header of 70000 bytes; the limit is 65536. Is this an npy file?");
}

TEST(NpyFile, refusesBadHeaders) {
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "(2,)"), "1234")),
            "'x.npy': byte 68: f32[2] needs 8 bytes, the file holds 4; it is damaged or truncated");
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "(4294967296, 4294967296)"), "")),
            "'x.npy': byte 88: the size of f32[4294967296,4294967296] overflows 64 bits; the file "
            "is damaged");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "False", "(-1,)"), "")),
      "'x.npy': byte 61: expected a dim from 0 to 2^63-1 in the npy header; the file is damaged");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "False", "(99999999999999999999,)"), "")),
      "'x.npy': byte 81: expected a dim from 0 to 2^63-1 in the npy header; the file is damaged");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "Maybe", "(1,)"), "1234")),
      "'x.npy': byte 44: expected \"False\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(npyError(makeNpy("{'descr': '<f4', 'descr': '<f4'}", "")),
            "'x.npy': byte 35: unexpected key 'descr' in the npy header; expected descr, "
            "fortran_order and shape once");
  EXPECT_EQ(npyError(makeNpy("{'strides': (4,)}", "")),
            "'x.npy': byte 21: unexpected key 'strides' in the npy header; expected descr, "
            "fortran_order and shape once");
  EXPECT_EQ(npyError(makeNpy("{'descr", "")),
            "'x.npy': byte 12: a string of the npy header does not end; the file is damaged");
  EXPECT_EQ(
      npyError(makeNpy("{\"descr", "")),
      "'x.npy': byte 11: expected \"'\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(
      npyError(makeNpy("{'descr' 4", "")),
      "'x.npy': byte 19: expected \":\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "False", "4"), "")),
      "'x.npy': byte 60: expected \"(\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "False", "(1 2)"), "")),
      "'x.npy': byte 63: expected \")\" in the npy header; the file is damaged, or is not npy");
  EXPECT_EQ(
      npyError(makeNpy(dict("<f4", "False", "(1,2) 'x'"), "")),
      "'x.npy': byte 66: expected \"}\" in the npy header; the file is damaged, or is not npy");
  std::string dims;
  for (int i = 0; i < 33; ++i)
    dims += "1,";
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "(" + dims + ")"), "1234")),
            "'x.npy': byte 126: more than 32 dims; reshape the array before it is saved");
  std::string good = makeNpy(dict("<f4", "False", "(1,)"), "1234");
  EXPECT_EQ(npyError(good.substr(0, 11)),
            "'x.npy': byte 6: the npy file ends in its first 12 bytes; it is truncated");
  EXPECT_EQ(npyError(good.substr(0, 40)),
            "'x.npy': byte 10: a header of 58 bytes in a file of 40; the file is truncated");
  EXPECT_EQ(
      npyError(makeNpy("{'descr': '<f4'}", "")),
      "'x.npy': byte 26: the npy header needs descr, fortran_order and shape; the file is damaged");
  EXPECT_EQ(npyError(makeNpy(dict("<f4", "False", "()") + "x", "1234")),
            "'x.npy': byte 66: the npy header goes on past its end; the file is damaged");
}

TEST(NpyFile, writesWhatItReads) {
  for (llvm::SmallVector<int64_t> shape : {llvm::SmallVector<int64_t>{}, {6}, {2, 3}, {0, 5}}) {
    std::vector<uint8_t> data(*byteSize(ElementType::f16, shape), 7);
    std::string text;
    llvm::raw_string_ostream os(text);
    ASSERT_FALSE(writeNpy(os, ElementType::f16, shape, data));
    auto array = parseNpy(text, "x.npy");
    ASSERT_TRUE(static_cast<bool>(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(array->shape, shape);
    EXPECT_EQ(array->data, data);
    EXPECT_EQ((text.size() - data.size()) % 64, 0u);
  }
  EXPECT_EQ(llvm::toString(writeNpy(llvm::nulls(), ElementType::bf16, {}, {0, 0})),
            "npy has no dtype bf16; cast the output to f32");
}

TEST(NpyFile, survivesDamage) {
  std::string good = makeNpy(dict("<f4", "True", "(1, 2)"), "12345678");
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(npyError(good.substr(0, i)), "no error");
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] ^= 1 << bit;
      npyError(damaged);
    }
  }
}

//===- npz ------------------------------------------------------------------------------------===//

void put(std::string &to, uint64_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i)
    to += static_cast<char>(i < sizeof(value) ? value >> (8 * i) : 0);
}

std::string deflate(const std::string &text) {
  z_stream stream = {};
  std::string packed(text.size() + 64, '\0');
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(text.data()));
  stream.avail_in = text.size();
  stream.next_out = reinterpret_cast<Bytef *>(packed.data());
  stream.avail_out = packed.size();
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

struct Member {
  std::string name, data;
  bool isDeflated = false;
  unsigned flags = 0, method = 0;
  uint64_t unpacked = 0; // claimed; 0 is the truth
};

std::string makeZip(const std::vector<Member> &members) {
  std::string file, directory;
  for (const Member &member : members) {
    std::string packed = member.isDeflated ? deflate(member.data) : member.data;
    std::string sizes;
    put(sizes, member.flags, 2);
    put(sizes, member.method ? member.method : member.isDeflated ? 8 : 0, 2);
    put(sizes, 0, 4); // time
    put(sizes, crc32(0, reinterpret_cast<const Bytef *>(member.data.data()), member.data.size()),
        4);
    put(sizes, packed.size(), 4);
    put(sizes, member.unpacked ? member.unpacked : member.data.size(), 4);
    put(sizes, member.name.size(), 2);
    put(sizes, 0, 2); // extra
    directory += "PK\1\2";
    put(directory, 20, 2);
    put(directory, 20, 2);
    directory += sizes;
    directory.append(10, 0); // comment, disk, attributes
    put(directory, file.size(), 4);
    directory += member.name;
    file += "PK\3\4";
    put(file, 20, 2);
    file += sizes + member.name + packed;
  }
  uint64_t start = file.size();
  file += directory + "PK\5\6";
  put(file, 0, 4);
  put(file, members.size(), 2);
  put(file, members.size(), 2);
  put(file, directory.size(), 4);
  put(file, start, 4);
  put(file, 0, 2);
  return file;
}

llvm::Expected<NpzFile> parseZip(const std::string &bytes) {
  return NpzFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "x.npz"));
}

std::string zipError(const std::string &bytes) {
  auto file = parseZip(bytes);
  return file ? "no error" : llvm::toString(file.takeError());
}

const std::string kArray = makeNpy(dict("<i2", "False", "(2, 1)"), "abcd");

TEST(NpzFile, readsStoredAndDeflated) {
  auto file = parseZip(makeZip({{"a.npy", kArray}, {"dir/../b.npy", kArray, true}}));
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->names(), (std::vector<StringRef>{"a", "dir/../b"}));
  for (const char *name : {"a", "dir/../b"}) {
    auto array = file->read(name);
    ASSERT_TRUE(static_cast<bool>(array)) << llvm::toString(array.takeError());
    EXPECT_EQ(bytesOf(*array), "abcd");
  }
  EXPECT_EQ(llvm::toString(file->read("c").takeError()),
            "'x.npz' has no array 'c'; it holds: a, dir/../b");
}

TEST(NpzFile, writesWhatItReads) {
  std::vector<uint8_t> data = {1, 2, 3, 4, 5, 6};
  int64_t row[] = {3}, column[] = {3, 1}, empty[] = {0, 7};
  std::vector<NamedArray> arrays = {{"a", ElementType::i16, row, data},
                                    {"layer/\xC3\xA4:0", ElementType::f16, column, data},
                                    {"", ElementType::f64, empty, {}}};
  std::string archive;
  ASSERT_FALSE(writeNpz(archive, arrays));
  auto file = parseZip(archive);
  ASSERT_TRUE(static_cast<bool>(file)) << llvm::toString(file.takeError());
  EXPECT_EQ(file->names(), (std::vector<StringRef>{"a", "layer/\xC3\xA4:0", ""}));
  for (const NamedArray &array : arrays) {
    auto read = file->read(array.name); // which checks its sum
    ASSERT_TRUE(static_cast<bool>(read)) << llvm::toString(read.takeError());
    EXPECT_EQ(read->type, array.type);
    EXPECT_EQ(llvm::ArrayRef<int64_t>(read->shape), array.shape);
    EXPECT_EQ(llvm::ArrayRef<uint8_t>(read->data), array.data);
  }
  std::string again, nothing;
  ASSERT_FALSE(writeNpz(again, arrays));
  EXPECT_EQ(again, archive);
  ASSERT_FALSE(writeNpz(nothing, {}));
  auto none = parseZip(nothing);
  ASSERT_TRUE(static_cast<bool>(none)) << llvm::toString(none.takeError());
  EXPECT_TRUE(none->names().empty());
}

TEST(NpzFile, refusesToWrite) {
  uint8_t bytes[2] = {};
  int64_t one[] = {1}, huge[] = {int64_t(1) << 32};
  auto whyNot = [](llvm::ArrayRef<NamedArray> arrays) {
    std::string archive;
    return llvm::toString(writeNpz(archive, arrays));
  };
  NamedArray array = {"a", ElementType::i16, one, bytes};
  EXPECT_EQ(whyNot({array, array}), "two arrays have the name 'a'; expected each name once");
  array.type = ElementType::bf16;
  EXPECT_EQ(whyNot(array), "array 'a': npy has no dtype bf16; cast the output to f32");
  // Refused by its size alone: no byte of it is read.
  array = {"a", ElementType::u8, huge, llvm::ArrayRef<uint8_t>(bytes, size_t(1) << 32)};
  EXPECT_EQ(whyNot(array), "1 array of 4294967831 bytes; an npz takes 65,534 arrays and 4 GiB: "
                           "write each array to an .npy file of its own");
  std::string longName(65532, 'n');
  array = {longName, ElementType::i16, one, bytes};
  EXPECT_EQ(whyNot(array),
            "the name '" + std::string(80, 'n') + "...' has 65532 bytes; an npz takes 65,531");
}

TEST(NpzFile, refusesBadArchives) {
  EXPECT_EQ(zipError("hello"),
            "'x.npz': byte 0: this is not an npz file; save the arrays with numpy.savez");
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray}, {"a.npy", kArray}})),
            "'x.npz': byte 269: two arrays have the name 'a'; expected each name once");
  EXPECT_EQ(zipError(makeZip({{"a.txt", "hello"}})),
            "'x.npz': byte 40: 'a.txt' in the archive is not an .npy array; save the arrays with "
            "numpy.savez");
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray, false, 1}})),
            "'x.npz': byte 109: array 'a.npy' is encrypted; save it without a password");
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray, false, 0, 12}})),
            "'x.npz': byte 109: array 'a.npy' is packed with zip method 12; expected stored or "
            "deflate, as numpy.savez and savez_compressed write");
  EXPECT_EQ(
      zipError(makeZip({{"a.npy", kArray, false, 0, 0, 5}})),
      "'x.npz': byte 109: array 'a.npy' is stored, but its two sizes differ; the file is damaged");
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray, true, 0, 0, 0xffffffff}})),
            "'x.npz': byte 106: array 'a.npy' needs zip64 (over 4 GiB), which is not supported; "
            "save as safetensors");
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray, true, 0, 0, 0xfffffffe}})),
            "'x.npz': byte 106: array 'a.npy' would unpack from 71 to 4294967294 bytes; the limit "
            "above 64 MiB is a factor of 100. Save it with numpy.savez, uncompressed");
}

TEST(NpzFile, refusesWrongSizesAndSums) {
  auto readError = [](const std::string &bytes) {
    auto file = parseZip(bytes);
    return file ? llvm::toString(file->read("a").takeError()) : llvm::toString(file.takeError());
  };
  EXPECT_EQ(readError(makeZip({{"a.npy", kArray, true, 0, 0, kArray.size() - 1}})),
            "'x.npz': byte 35: array 'a' does not unpack to the 73 bytes that the directory "
            "promises; the file is damaged");
  EXPECT_EQ(readError(makeZip({{"a.npy", kArray, true, 0, 0, kArray.size() + 1}})),
            "'x.npz': byte 35: array 'a' does not unpack to the 75 bytes that the directory "
            "promises; the file is damaged");
  std::string damaged = makeZip({{"a.npy", kArray}});
  damaged[damaged.find("abcd")] = 'x';
  EXPECT_EQ(readError(damaged),
            "'x.npz': byte 35: array 'a' has a wrong checksum; the file is damaged");
}

/// An archive of the arrays a and b, with `bytes` written at `offset` behind the last place where
/// `mark` stands.
std::string patched(const std::string &mark, size_t offset, const std::string &bytes) {
  std::string file = makeZip({{"a.npy", kArray}, {"b.npy", kArray}});
  return file.replace(file.rfind(mark) + offset, bytes.size(), bytes);
}

TEST(NpzFile, refusesDamagedRecords) {
  const std::string end = "PK\5\6", entry = "PK\1\2", local = "PK\3\4";
  EXPECT_EQ(zipError(patched(end, 0, "xx")),
            "'x.npz': byte 342: the zip archive has no end record; the file is truncated");
  EXPECT_EQ(zipError(patched(end, 4, "\1")),
            "'x.npz': byte 320: the zip archive is split over several files; expected one");
  EXPECT_EQ(zipError(patched(end, 8, "\xff\xff\xff\xff")),
            "'x.npz': byte 320: a zip64 archive (over 4 GiB or 65,534 arrays) is not supported; "
            "save as safetensors");
  EXPECT_EQ(zipError(patched(end, 12, "\1")),
            "'x.npz': byte 320: the zip directory lies at 218..219, expected it right before byte "
            "320; the file is damaged");
  EXPECT_EQ(zipError(patched(end, 8, std::string("\1\0\1\0", 4))),
            "'x.npz': byte 269: the zip directory goes on past its 1 entries; the file is damaged");
  EXPECT_EQ(zipError(patched(entry, 0, "xx")),
            "'x.npz': byte 269: expected an entry of the zip directory; the file is damaged");
  EXPECT_EQ(zipError(patched(entry, 28, "\xff")),
            "'x.npz': byte 269: an entry of the zip directory is cut off; the file is damaged");
  EXPECT_EQ(zipError(patched(local, 0, "xx")),
            "'x.npz': byte 109: array 'b' has no local header; the file is damaged");
  EXPECT_EQ(zipError(patched(local, 26, "\xff")),
            "'x.npz': byte 109: array 'b' reaches beyond the archive's data; the file is damaged");
  // Both directory entries point at the first member.
  EXPECT_EQ(zipError(patched(entry, 42, std::string(4, 0))),
            "'x.npz': byte 0: arrays 'a' and 'b' overlap in the zip archive; the file is damaged "
            "or hostile");
}

TEST(NpzFile, refusesBombs) {
  // Each of the two within its limit, but not both together.
  EXPECT_EQ(zipError(makeZip({{"a.npy", kArray, true, 0, 0, 60 << 20},
                              {"b.npy", kArray, true, 0, 0, 60 << 20}})),
            "'x.npz': byte 212: the archive would unpack from 142 to 125829120 bytes; the limit "
            "above 64 MiB is a factor of 100. Save it with numpy.savez, uncompressed");
}

TEST(NpzFile, survivesDamage) {
  std::string good = makeZip({{"a.npy", kArray}, {"b.npy", kArray, true}});
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(zipError(good.substr(0, i)), "no error");
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] ^= 1 << bit;
      auto file = parseZip(damaged);
      if (!file) {
        llvm::consumeError(file.takeError());
        continue;
      }
      for (StringRef name : file->names())
        if (auto array = file->read(name))
          EXPECT_EQ(bytesOf(*array).size(), *byteSize(array->type, array->shape));
        else
          llvm::consumeError(array.takeError());
    }
  }
}

} // namespace
