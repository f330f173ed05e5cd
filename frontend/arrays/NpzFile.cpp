//===- NpzFile.cpp - Named arrays of NumPy's .npz format ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes are taken from the central directory, where NumPy writes them as 32-bit numbers even when
// it reserves zip64 room in the local headers.
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/NpzFile.h"

#include "frontend/Spelling.h"
#include "frontend/arrays/SafetensorsFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <zlib.h>

using namespace llvm;
using support::endian::read16le;
using support::endian::read32le;

namespace dlc::frontend {

// Sizes of the fixed parts of the records.
static constexpr uint64_t kEndRecord = 22, kDirectoryRecord = 46, kLocalHeader = 30;

Error NpzFile::fail(uint64_t offset, const Twine &message) const {
  return createStringError("'" + buffer->getBufferIdentifier() + "': byte " + Twine(offset) + ": " +
                           message);
}

Expected<NpzFile> NpzFile::open(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer));
}

Expected<NpzFile> NpzFile::parse(std::unique_ptr<MemoryBuffer> buffer) {
  NpzFile file;
  file.buffer = std::move(buffer);
  if (Error error = file.readDirectory())
    return std::move(error);
  return std::move(file);
}

Error NpzFile::readDirectory() {
  StringRef bytes = buffer->getBuffer();
  if (!bytes.starts_with("PK"))
    return fail(0, "this is not an npz file; save the arrays with numpy.savez");
  // The end record, behind which only a comment of at most 65,535 bytes may stand.
  size_t end = bytes.rfind(StringRef("PK\5\6", 4));
  if (end == StringRef::npos || bytes.size() - end < kEndRecord ||
      end + kEndRecord + read16le(bytes.data() + end + 20) != bytes.size())
    return fail(bytes.size(), "the zip archive has no end record; the file is truncated");
  const char *record = bytes.data() + end;
  uint64_t count = read16le(record + 10), size = read32le(record + 12),
           start = read32le(record + 16);
  if (read16le(record + 4) != 0 || read16le(record + 6) != 0 || read16le(record + 8) != count)
    return fail(end, "the zip archive is split over several files; expected one");
  if (count == 0xffff || size == 0xffffffff || start == 0xffffffff)
    return fail(
        end, "a zip64 archive (over 4 GiB or 65,534 arrays) is not supported; save as safetensors");
  if (start + size != end)
    return fail(end, "the zip directory lies at " + Twine(start) + ".." + Twine(start + size) +
                         ", expected it right before byte " + Twine(end) + "; the file is damaged");
  uint64_t position = start;
  for (uint64_t i = 0; i < count; ++i)
    if (Error error = readEntry(position, start))
      return error;
  if (position != end)
    return fail(position, "the zip directory goes on past its " + Twine(count) +
                              " entries; the file is damaged");
  uint64_t packed = 0, unpacked = 0;
  for (const Entry &entry : entries) {
    packed += entry.packed;
    unpacked += entry.unpacked;
  }
  if (unpacked > kAlwaysAllowedBytes && unpacked / kMaxRatio > packed)
    return fail(start, "the archive would unpack from " + Twine(packed) + " to " + Twine(unpacked) +
                           " bytes; the limit above 64 MiB is a factor of " + Twine(kMaxRatio) +
                           ". Save it with numpy.savez, uncompressed");
  // Entries that share bytes are how small archives unpack to huge ones.
  std::vector<const Entry *> byOffset;
  for (const Entry &entry : entries)
    byOffset.push_back(&entry);
  llvm::sort(byOffset,
             [](const Entry *a, const Entry *b) { return a->headerOffset < b->headerOffset; });
  for (size_t i = 1; i < byOffset.size(); ++i)
    if (byOffset[i - 1]->dataOffset + byOffset[i - 1]->packed > byOffset[i]->headerOffset)
      return fail(byOffset[i]->headerOffset,
                  "arrays '" + byOffset[i - 1]->name + "' and '" + byOffset[i]->name +
                      "' overlap in the zip archive; the file is damaged or hostile");
  return Error::success();
}

Error NpzFile::readEntry(uint64_t &position, uint64_t directoryStart) {
  StringRef bytes = buffer->getBuffer();
  if (bytes.size() - position < kDirectoryRecord ||
      !bytes.substr(position).starts_with(StringRef("PK\1\2", 4)))
    return fail(position, "expected an entry of the zip directory; the file is damaged");
  const char *record = bytes.data() + position;
  uint64_t nameBytes = read16le(record + 28),
           tail = nameBytes + read16le(record + 30) + read16le(record + 32);
  if (bytes.size() - position - kDirectoryRecord < tail)
    return fail(position, "an entry of the zip directory is cut off; the file is damaged");
  Entry entry;
  StringRef name = bytes.substr(position + kDirectoryRecord, nameBytes);
  entry.name = name.str();
  entry.crc = read32le(record + 16);
  entry.packed = read32le(record + 20);
  entry.unpacked = read32le(record + 24);
  entry.headerOffset = read32le(record + 42);
  unsigned flags = read16le(record + 8), method = read16le(record + 10);
  if (flags & 0x2041) // encrypted, strongly encrypted, masked
    return fail(position, "array '" + name + "' is encrypted; save it without a password");
  if (method != 0 && method != 8)
    return fail(position,
                "array '" + name + "' is packed with zip method " + Twine(method) +
                    "; expected stored or deflate, as numpy.savez and savez_compressed write");
  entry.isDeflated = method == 8;
  if (entry.packed == 0xffffffff || entry.unpacked == 0xffffffff ||
      entry.headerOffset == 0xffffffff)
    return fail(position,
                "array '" + name +
                    "' needs zip64 (over 4 GiB), which is not supported; save as safetensors");
  if (!entry.isDeflated && entry.packed != entry.unpacked)
    return fail(position,
                "array '" + name + "' is stored, but its two sizes differ; the file is damaged");
  if (entry.unpacked > kAlwaysAllowedBytes && entry.unpacked / kMaxRatio > entry.packed)
    return fail(position, "array '" + name + "' would unpack from " + Twine(entry.packed) + " to " +
                              Twine(entry.unpacked) +
                              " bytes; the limit above 64 MiB is a factor of " + Twine(kMaxRatio) +
                              ". Save it with numpy.savez, uncompressed");
  if (!StringRef(entry.name).ends_with(".npy"))
    return fail(position,
                "'" + name +
                    "' in the archive is not an .npy array; save the arrays with numpy.savez");
  entry.name.resize(entry.name.size() - 4);
  if (!byName.try_emplace(entry.name, entries.size()).second)
    return fail(position, "two arrays have the name '" + entry.name + "'; expected each name once");
  if (Error error = locateData(entry, directoryStart))
    return error;
  entries.push_back(std::move(entry));
  position += kDirectoryRecord + tail;
  return Error::success();
}

Error NpzFile::locateData(Entry &entry, uint64_t directoryStart) const {
  StringRef bytes = buffer->getBuffer();
  if (entry.headerOffset > directoryStart || directoryStart - entry.headerOffset < kLocalHeader ||
      !bytes.substr(entry.headerOffset).starts_with(StringRef("PK\3\4", 4)))
    return fail(entry.headerOffset,
                "array '" + entry.name + "' has no local header; the file is damaged");
  const char *record = bytes.data() + entry.headerOffset;
  entry.dataOffset =
      entry.headerOffset + kLocalHeader + read16le(record + 26) + read16le(record + 28);
  if (entry.dataOffset > directoryStart || directoryStart - entry.dataOffset < entry.packed)
    return fail(entry.headerOffset, "array '" + entry.name +
                                        "' reaches beyond the archive's data; the file is damaged");
  return Error::success();
}

std::vector<StringRef> NpzFile::names() const {
  std::vector<StringRef> result;
  for (const Entry &entry : entries)
    result.push_back(entry.name);
  return result;
}

Expected<const NpzFile::Entry *> NpzFile::find(StringRef name) const {
  constexpr size_t kMaxShown = 10;
  if (auto found = byName.find(name); found != byName.end())
    return &entries[found->second];
  std::vector<StringRef> all = names();
  auto near = nearest(name, all);
  std::string held;
  for (StringRef one : ArrayRef(all).take_front(kMaxShown))
    held += (held.empty() ? "" : ", ") + one.str();
  if (all.size() > kMaxShown)
    held += " and " + std::to_string(all.size() - kMaxShown) + " others";
  return createStringError(
      "'" + buffer->getBufferIdentifier() + "' has no array " + quote(name) +
      (near ? "; did you mean " + quote(*near) + "? It holds: " : "; it holds: ") +
      (held.empty() ? "none" : held));
}

Expected<NpyArray> NpzFile::read(StringRef name) const {
  auto found = find(name);
  if (!found)
    return found.takeError();
  const Entry &entry = **found;
  StringRef bytes = buffer->getBuffer().substr(entry.dataOffset, entry.packed);
  std::vector<char> unpacked;
  if (entry.isDeflated) {
    if (Error error = inflateEntry(entry, entry.unpacked, unpacked))
      return std::move(error);
    bytes = StringRef(unpacked.data(), unpacked.size());
  }
  if (crc32_z(0, bytes.bytes_begin(), bytes.size()) != entry.crc)
    return fail(entry.dataOffset, "array '" + name + "' has a wrong checksum; the file is damaged");
  return parseNpy(bytes, displayName(entry));
}

Expected<NpyLayout> NpzFile::layout(StringRef name) const {
  auto found = find(name);
  if (!found)
    return found.takeError();
  const Entry &entry = **found;
  StringRef bytes = buffer->getBuffer().substr(entry.dataOffset, entry.packed);
  std::vector<char> unpacked;
  if (entry.isDeflated) {
    uint64_t limit = std::min<uint64_t>(entry.unpacked, kMaxNpyPrefixBytes);
    if (Error error = inflateEntry(entry, limit, unpacked))
      return std::move(error);
    bytes = StringRef(unpacked.data(), unpacked.size());
  }
  return parseNpyLayout(bytes, entry.unpacked, displayName(entry));
}

StringRef NpzFile::stored(StringRef name) const {
  const Entry &entry = entries[byName.at(name)];
  return entry.isDeflated ? StringRef()
                          : buffer->getBuffer().substr(entry.dataOffset, entry.packed);
}

std::string NpzFile::displayName(const Entry &entry) const {
  return (buffer->getBufferIdentifier() + ":" + entry.name).str();
}

/// Unpacks the first `limit` bytes of an entry; where that is all of it, they must end with the
/// packed ones. Memory grows with what has been unpacked, never by the word of the directory.
Error NpzFile::inflateEntry(const Entry &entry, uint64_t limit, std::vector<char> &out) const {
  constexpr uint64_t kStep = 1 << 16;
  StringRef packed = buffer->getBuffer().substr(entry.dataOffset, entry.packed);
  z_stream stream = {};
  stream.next_in = const_cast<Bytef *>(packed.bytes_begin());
  stream.avail_in = packed.size();
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return fail(entry.dataOffset, "zlib cannot start: out of memory");
  int status = Z_OK;
  uint64_t made = 0;
  // One byte more than promised would be too many.
  while (status == Z_OK && made <= limit) {
    out.resize(std::min(std::max(2 * made, kStep), limit + 1));
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + made);
    stream.avail_out = out.size() - made;
    status = inflate(&stream, Z_NO_FLUSH);
    made = out.size() - stream.avail_out;
    if (status == Z_BUF_ERROR || stream.avail_out > 0)
      break;
  }
  uint64_t left = stream.avail_in;
  inflateEnd(&stream);
  bool isWhole = status == Z_STREAM_END && made == entry.unpacked && left == 0;
  bool isPrefix = limit < entry.unpacked && made >= limit;
  out.resize(std::min(made, limit));
  if (isWhole || isPrefix)
    return Error::success();
  return fail(entry.dataOffset, "array '" + entry.name + "' does not unpack to the " +
                                    Twine(entry.unpacked) +
                                    " bytes that the directory promises; the file is damaged");
}

} // namespace dlc::frontend
