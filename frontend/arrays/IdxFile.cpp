//===- IdxFile.cpp - Arrays of the IDX format, that of MNIST's own files ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/IdxFile.h"

#include "frontend/arrays/SafetensorsFile.h"

#include "llvm/Support/Endian.h"

#include <algorithm>
#include <optional>
#include <zlib.h>

using namespace llvm;

namespace dlc::frontend {

static constexpr StringLiteral kGzip = "\x1f\x8b";

static Error fail(StringRef name, uint64_t byte, const Twine &message) {
  return createStringError(inconvertibleErrorCode(),
                           (name + ": byte " + Twine(byte) + ": " + message).str());
}

static std::optional<ElementType> typeOfCode(uint8_t code) {
  switch (code) {
  case 0x08:
    return elementTypeNamed("u8");
  case 0x09:
    return elementTypeNamed("i8");
  case 0x0B:
    return elementTypeNamed("i16");
  case 0x0C:
    return elementTypeNamed("i32");
  case 0x0D:
    return elementTypeNamed("f32");
  case 0x0E:
    return elementTypeNamed("f64");
  default:
    return std::nullopt;
  }
}

/// Unpacks up to `limit` bytes of a gzip file. Memory grows with what has been unpacked.
static Expected<std::string> unpack(StringRef packed, StringRef name, uint64_t limit) {
  constexpr size_t kStep = 1 << 16, kMostStep = 1 << 30;
  constexpr int kWithHeader = 16;
  z_stream stream = {};
  stream.next_in = const_cast<Bytef *>(packed.bytes_begin());
  stream.avail_in = static_cast<uInt>(packed.size());
  if (inflateInit2(&stream, MAX_WBITS + kWithHeader) != Z_OK)
    return fail(name, 0, "zlib cannot start: out of memory");
  std::string out;
  int status = Z_OK;
  size_t made = 0;
  while (status == Z_OK && made < limit) {
    out.resize(std::min<uint64_t>(made + std::clamp(made, kStep, kMostStep), limit));
    stream.next_out = reinterpret_cast<Bytef *>(out.data() + made);
    stream.avail_out = static_cast<uInt>(out.size() - made);
    status = inflate(&stream, Z_NO_FLUSH);
    made = out.size() - stream.avail_out;
    if (status == Z_BUF_ERROR)
      break;
  }
  inflateEnd(&stream);
  out.resize(made);
  if (status != Z_STREAM_END && made < limit)
    return fail(name, packed.size() - stream.avail_in, "cannot be unpacked; the file is damaged");
  return out;
}

/// The header's bytes, without the packing.
static Expected<std::string> headOf(StringRef bytes, StringRef name) {
  constexpr uint64_t kMostHeader = 4 + 4 * kMaxNpyRank;
  if (bytes.starts_with(kGzip))
    return unpack(bytes, name, kMostHeader);
  return bytes.take_front(kMostHeader).str();
}

Expected<NpyArray> parseIdx(StringRef bytes, StringRef name) {
  auto head = headOf(bytes, name);
  if (!head)
    return head.takeError();
  auto byte = [&](size_t at) { return static_cast<uint8_t>((*head)[at]); };
  if (head->size() < 4 || byte(0) != 0 || byte(1) != 0)
    return fail(name, 0, "is no IDX file; expected two bytes of 0, the type and the rank");
  auto type = typeOfCode(byte(2));
  size_t rank = byte(3);
  if (!type)
    return fail(name, 2,
                "the type " + Twine(static_cast<unsigned>(byte(2))) +
                    " is not one of IDX; expected 8, 9, 11, 12, 13 "
                    "or 14");
  if (rank < 1 || rank > kMaxNpyRank || head->size() < 4 + 4 * rank)
    return fail(name, 3,
                "the rank is " + Twine(rank) + "; expected 1 to " + Twine(kMaxNpyRank) +
                    ", and as many dims");
  NpyArray array;
  array.type = *type;
  for (size_t i = 0; i < rank; ++i)
    array.shape.push_back(support::endian::read32be(head->data() + 4 + 4 * i));
  uint64_t start = 4 + 4 * rank;
  auto bytesByDims = byteSize(*type, array.shape);
  if (!bytesByDims || *bytesByDims > INT64_MAX / 2)
    return fail(name, 4, "the dims have more elements than a file can hold");
  const uint64_t size = *bytesByDims;
  std::string unpacked;
  StringRef all = bytes;
  if (bytes.starts_with(kGzip)) {
    auto whole = unpack(bytes, name, start + size + 1);
    if (!whole)
      return whole.takeError();
    unpacked = std::move(*whole);
    all = unpacked;
  }
  if (all.size() != start + size)
    return fail(name, std::min<uint64_t>(all.size(), start + size),
                "the array ends at byte " + Twine(start + size) + " by its dims; the file " +
                    (all.size() < start + size ? "is shorter" : "goes on"));
  array.data.assign(all.begin() + start, all.end());
  uint64_t width = sizeOf(*type);
  for (uint64_t at = 0; width > 1 && at < array.data.size(); at += width)
    std::reverse(array.data.begin() + at, array.data.begin() + at + width);
  return array;
}

Expected<NpyArray> readIdx(StringRef path) {
  auto file = mapFile(path);
  if (!file)
    return file.takeError();
  return parseIdx((*file)->getBuffer(), path);
}

bool isIdxFile(StringRef path) {
  auto file = MemoryBuffer::getFileSlice(path, 4, 0);
  if (!file)
    return false;
  StringRef begin = (*file)->getBuffer();
  return begin.starts_with(kGzip) || begin.starts_with(StringRef("\0\0", 2));
}

} // namespace dlc::frontend
