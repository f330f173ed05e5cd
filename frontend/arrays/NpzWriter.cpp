//===- NpzWriter.cpp - Arrays to NumPy's .npz format --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A zip archive: for each array a local header and its npy file, then the directory, which repeats
// the headers and says where they are, then the end record.
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/NpzFile.h"

#include "frontend/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/EndianStream.h"
#include "llvm/Support/raw_ostream.h"

#include <zlib.h>

using namespace llvm;

namespace dlc::frontend {

namespace {

/// The fields that the local header and the directory share for an array, in the order of the
/// format.
struct Entry {
  std::string name; // of the file in the archive
  uint32_t crc = 0, bytes = 0, headerOffset = 0;

  void writeCommon(support::endian::Writer &out) const {
    out.write<uint16_t>(20);                        // zip 2.0 suffices to read it
    out.write<uint16_t>(isASCII(name) ? 0 : 0x800); // the name is UTF-8
    out.write<uint16_t>(0);                         // stored
    out.write<uint16_t>(0);                         // 0:00 h
    out.write<uint16_t>(1 << 5 | 1); // 1 January 1980: when it is written changes no byte
    out.write<uint32_t>(crc);
    out.write<uint32_t>(bytes); // packed
    out.write<uint32_t>(bytes);
    out.write<uint16_t>(static_cast<uint16_t>(name.size()));
    out.write<uint16_t>(0); // no extra field
  }
};

class Writer {
public:
  explicit Writer(std::string &archive) : archive(archive), stream(archive) {}

  Error add(const NamedArray &array);
  void finish();

private:
  support::endian::Writer out() { return {stream, llvm::endianness::little}; }
  void writeLocalHeader(const Entry &entry);

  std::string &archive;
  raw_string_ostream stream; // unbuffered
  size_t begin = archive.size();
  std::vector<Entry> entries;
};

} // namespace

void Writer::writeLocalHeader(const Entry &entry) {
  stream << "PK\3\4";
  support::endian::Writer fields = out();
  entry.writeCommon(fields);
  stream << entry.name;
}

Error Writer::add(const NamedArray &array) {
  Entry entry;
  entry.name = (array.name + ".npy").str();
  entry.headerOffset = static_cast<uint32_t>(archive.size() - begin);
  writeLocalHeader(entry);
  size_t start = archive.size();
  if (Error error = writeNpy(stream, array.type, array.shape, array.data))
    return createStringError("array " + quote(array.name) + ": " + toString(std::move(error)));
  entry.bytes = static_cast<uint32_t>(archive.size() - start);
  entry.crc = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef *>(archive.data() + start), entry.bytes));
  // The header again, with what is known now.
  std::string header;
  Writer known(header);
  known.writeLocalHeader(entry);
  archive.replace(begin + entry.headerOffset, header.size(), header);
  entries.push_back(std::move(entry));
  return Error::success();
}

void Writer::finish() {
  size_t directory = archive.size() - begin;
  for (const Entry &entry : entries) {
    stream << "PK\1\2";
    support::endian::Writer fields = out();
    fields.write<uint16_t>(3 << 8 | 20); // by Unix, whose rights stand below
    entry.writeCommon(fields);
    fields.write<uint16_t>(0); // no comment
    fields.write<uint16_t>(0); // the only disk
    fields.write<uint16_t>(0); // binary
    fields.write<uint32_t>(0600u << 16);
    fields.write<uint32_t>(entry.headerOffset);
    stream << entry.name;
  }
  size_t end = archive.size() - begin;
  stream << "PK\5\6";
  support::endian::Writer fields = out();
  fields.write<uint32_t>(0); // the only disk
  fields.write<uint16_t>(static_cast<uint16_t>(entries.size()));
  fields.write<uint16_t>(static_cast<uint16_t>(entries.size()));
  fields.write<uint32_t>(static_cast<uint32_t>(end - directory));
  fields.write<uint32_t>(static_cast<uint32_t>(directory));
  fields.write<uint16_t>(0); // no comment
}

Error writeNpz(std::string &archive, ArrayRef<NamedArray> arrays) {
  // An array takes its bytes, its name in two records, the header of its npy file with its dims,
  // and the rest of these.
  constexpr uint64_t kRecords = 256, kDim = 21;
  uint64_t bytes = kRecords;
  StringSet<> names;
  for (const NamedArray &array : arrays) {
    if (!names.insert(array.name).second)
      return createStringError("two arrays have the name " + quote(array.name) +
                               "; expected each name once");
    if (array.name.size() > UINT16_MAX - 4)
      return createStringError("the name " + quote(array.name) + " has " +
                               Twine(array.name.size()) + " bytes; an npz takes 65,531");
    bytes += array.data.size() + 2 * array.name.size() + kDim * array.shape.size() + kRecords;
  }
  if (arrays.size() >= UINT16_MAX || bytes >= UINT32_MAX)
    return createStringError(Twine(arrays.size()) + (arrays.size() == 1 ? " array" : " arrays") +
                             " of " + Twine(bytes) +
                             " bytes; an npz takes 65,534 arrays and 4 GiB: write each array to an "
                             ".npy file of its own");
  archive.reserve(archive.size() + bytes);
  Writer writer(archive);
  for (const NamedArray &array : arrays)
    if (Error error = writer.add(array))
      return error;
  writer.finish();
  return Error::success();
}

} // namespace dlc::frontend
