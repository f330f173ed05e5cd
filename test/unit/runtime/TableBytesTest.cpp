//===- TableBytesTest.cpp - Faults that a writer of tables cannot make, put into the bytes ----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "test/unit/runtime/PackageBuilder.h"
#include "test/unit/runtime/Runner.h"

#include <cstring>

using namespace dlc::test;
using namespace dlc::schema;

namespace {

/// A package's file whose bytes are changed; the hashes of header and table are made right.
struct Bytes {
  std::vector<uint8_t> file = affinePackage().file();

  const Module *table() const { return GetModule(file.data() + kTableOffset); }
  Segment *weight() const { return const_cast<Segment *>(table()->weights()->Get(0)->data()); }

  /// The bytes of a table's field.
  template <class Table> uint8_t *field(const Table *table, flatbuffers::voffset_t which) {
    auto *at = reinterpret_cast<const flatbuffers::Table *>(table)->GetAddressOf(which);
    return const_cast<uint8_t *>(at);
  }
  /// Appends `count` bytes of `value` that the header counts.
  void append(size_t count, uint8_t value = 0) {
    file.resize(file.size() + count, value);
    uint64_t bytes = file.size();
    std::memcpy(file.data() + offsetof(ModuleHeader, fileBytes), &bytes, sizeof(bytes));
  }
  void refused(const std::string &message) {
    rehash(file);
    load(file, DLC_INCOMPATIBLE);
    EXPECT_EQ(dlc_last_error(), message);
  }
  void malformed(const std::string &message) {
    refused("malformed module (compile the model again): " + message);
  }
};

} // namespace

TEST(TableBytes, AnUnknownCommand) {
  Bytes bytes;
  const CommandEntry *entry = bytes.table()->programs()->Get(0)->main()->Get(1);
  *bytes.field(entry, CommandEntry::VT_COMMAND_TYPE) = 3;
  bytes.malformed("program 0 (cpu), command 1: unknown command 3; a newer dlc may have written it");
}

TEST(TableBytes, ListsOfWideElementsAreAligned) {
  // A list's place is told by an offset of 4 bytes; 4 more, and its elements of 8 bytes lie askew.
  auto shift = [](uint8_t *field) {
    uint32_t offset;
    std::memcpy(&offset, field, 4);
    offset += 4;
    std::memcpy(field, &offset, 4);
  };
  Bytes dims;
  shift(dims.field(dims.table()->weights()->Get(0), Weight::VT_DIMS));
  dims.malformed("weight 'bias': its dims are not aligned");
  Bytes expressions;
  shift(expressions.field(expressions.table(), Module::VT_EXPRESSIONS));
  expressions.malformed("expressions: the table is not aligned");
}

TEST(TableBytes, NoTable) {
  Bytes bytes;
  std::memset(bytes.file.data() + kTableOffset, 0xff, 4);
  bytes.malformed("table: its structure is broken");
}

TEST(TableBytes, SegmentsThatOverlap) {
  Bytes bytes;
  *bytes.weight() = Segment(bytes.weight()->offset() - 64, 16, 0, 0); // where the code begins
  bytes.malformed("code of program 0, image 0: it overlaps weight 'bias'");
}

TEST(TableBytes, SegmentsOutsideTheFile) {
  for (uint64_t offset : {uint64_t(1) << 20, uint64_t(128), ~uint64_t(63)}) {
    Bytes bytes;
    *bytes.weight() = Segment(offset, 16, 0, 0);
    ModuleHeader header;
    std::memcpy(&header, bytes.file.data(), sizeof(header));
    bytes.malformed("weight 'bias': bytes " + std::to_string(offset) +
                    " + 16 lie outside the file's segments, " +
                    std::to_string(kTableOffset + header.tableBytes) + " to " +
                    std::to_string(bytes.file.size()));
  }
}

TEST(TableBytes, HolesBetweenSegments) {
  Bytes before;
  before.append(8192);
  const Segment &code = *before.table()->programs()->Get(0)->cpu_images()->Get(0)->code();
  *before.weight() = Segment(code.offset() + 64 * 100, 16, 0, 0);
  before.malformed("weight 'bias': " + std::to_string(64 * 100 - code.bytes()) +
                   " unused bytes lie before it");
  Bytes behind;
  behind.append(4097);
  behind.malformed("file: 4097 unused bytes lie after the last segment");
}

TEST(TableBytes, BytesThatNothingNames) {
  Bytes between;
  between.file[between.weight()->offset() - 1] = 1;
  const Segment &code = *between.table()->programs()->Get(0)->cpu_images()->Get(0)->code();
  between.refused("unused bytes at " + std::to_string(code.offset() + code.bytes()) +
                  " are not zero: the file is damaged; copy it again");
  Bytes behind;
  std::string end = std::to_string(behind.file.size());
  behind.append(16, 7);
  behind.refused("unused bytes at " + end + " are not zero: the file is damaged; copy it again");
}

TEST(TableBytes, DamagedSegments) {
  Bytes weight;
  weight.file[weight.weight()->offset()] ^= 1;
  weight.refused("weight 'bias' is damaged (its hash does not match): copy the file again");
  Bytes code;
  code.file[code.table()->programs()->Get(0)->cpu_images()->Get(0)->code()->offset()] ^= 1;
  code.refused(
      "code of program 0, image 0 is damaged (its hash does not match): copy the file again");
}

TEST(TableBytes, TwoWeightsMayShareASegment) {
  PackageBuilder package = affinePackage();
  package.weight("tied", {1, 2, 3, 4}, {4});
  std::vector<uint8_t> file = package.file();
  const Module *table = GetModule(file.data() + kTableOffset);
  Segment first = *table->weights()->Get(0)->data(), second = *table->weights()->Get(1)->data();
  EXPECT_NE(first.offset(), second.offset());
  load(file);
  // Both at the place of the last one: the same table, as only numbers in it change.
  *const_cast<Segment *>(table->weights()->Get(0)->data()) = second;
  rehash(file);
  load(file, DLC_INCOMPATIBLE); // the old place is now a hole with bytes in it
  EXPECT_TRUE(lastErrorHas("are not zero"));
  std::fill_n(file.begin() + first.offset(), first.bytes(), uint8_t(0));
  load(file);
  // Half over each other is an overlap.
  Segment shifted(first.offset(), 128, 0, 0);
  *const_cast<Segment *>(table->weights()->Get(0)->data()) = shifted;
  rehash(file);
  load(file, DLC_INCOMPATIBLE);
}
