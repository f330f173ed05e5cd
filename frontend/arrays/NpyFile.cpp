//===- NpyFile.cpp - Arrays of NumPy's .npy format ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header is a Python dict literal. It is read by the grammar of the three keys that NumPy
// writes, never evaluated.
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/NpyFile.h"

#include "frontend/arrays/SafetensorsFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace dlc::frontend {

namespace {

class NpyReader {
public:
  /// `bytes` may end behind the header of a file of `fileBytes`.
  NpyReader(StringRef bytes, uint64_t fileBytes, StringRef name)
      : bytes(bytes), fileBytes(fileBytes), name(name) {}
  Expected<NpyLayout> readLayout();
  Expected<NpyArray> read();

private:
  Error fail(const Twine &message) const {
    return createStringError("'" + name + "': byte " + Twine(position) + ": " + message);
  }
  void skipSpace() {
    while (position < headerEnd && StringRef(" \t\n").contains(bytes[position]))
      ++position;
  }
  bool consumeIf(StringRef text) {
    skipSpace();
    if (!bytes.slice(position, headerEnd).starts_with(text))
      return false;
    position += text.size();
    return true;
  }
  Error expect(StringRef text) {
    if (consumeIf(text))
      return Error::success();
    return fail("expected \"" + text + "\" in the npy header; the file is damaged, or is not npy");
  }
  Error readPrefix();
  Error readHeader();
  Expected<StringRef> readQuoted();
  Error readDescr();
  Error readShape();

  StringRef bytes;
  uint64_t fileBytes;
  StringRef name;
  size_t position = 0, headerEnd = 0;
  NpyLayout layout;
};

} // namespace

Error NpyReader::readPrefix() {
  if (bytes.starts_with("version https://git-lfs"))
    return createStringError("'" + name +
                             "' is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  if (bytes.starts_with("PK\x03\x04"))
    return fail("this is a zip archive (npz?), expected npy; name the array in it, or save it with "
                "numpy.save");
  if (!bytes.starts_with("\x93NUMPY"))
    return fail("this is not an npy file; save the array with numpy.save");
  position = 6;
  if (bytes.size() < 12)
    return fail("the npy file ends in its first 12 bytes; it is truncated");
  unsigned version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3)
    return fail("npy format version " + Twine(version) + "; expected 1, 2 or 3");
  position = 8;
  uint64_t length = version == 1 ? support::endian::read16le(bytes.data() + 8)
                                 : support::endian::read32le(bytes.data() + 8);
  if (length > kMaxNpyHeaderBytes)
    return fail("a header of " + Twine(length) + " bytes; the limit is " +
                Twine(kMaxNpyHeaderBytes) + ". Is this an npy file?");
  position = version == 1 ? 10 : 12;
  if (length > bytes.size() - position)
    return fail("a header of " + Twine(length) + " bytes in a file of " + Twine(fileBytes) +
                "; the file is truncated");
  headerEnd = position + length;
  return Error::success();
}

Expected<StringRef> NpyReader::readQuoted() {
  StringRef mark = consumeIf("'") ? "'" : "\"";
  if (mark == "\"")
    if (Error error = expect("'"))
      return std::move(error);
  size_t end = bytes.find(mark, position);
  if (end == StringRef::npos || end >= headerEnd)
    return fail("a string of the npy header does not end; the file is damaged");
  StringRef text = bytes.slice(position, end);
  position = end + 1;
  return text;
}

Error NpyReader::readDescr() {
  skipSpace();
  if (consumeIf("["))
    return fail("the array has structured elements; save each field as an array of its own");
  auto descr = readQuoted();
  if (!descr)
    return descr.takeError();
  StringRef code = *descr;
  char order = code.empty() ? 0 : code.front();
  if (StringRef("<>|=").contains(order))
    code = code.drop_front();
  layout.isBigEndian = order == '>';
  if (code.starts_with("O"))
    return fail(
        "the array holds Python objects, which dlc never loads; save it with a numeric dtype");
  auto type = fromNpy(code);
  if (!type)
    return fail("the dtype '" + *descr +
                "' is not supported; expected float16/32/64, (u)int8 to 64 or bool");
  layout.type = *type;
  return Error::success();
}

Error NpyReader::readShape() {
  if (Error error = expect("("))
    return error;
  while (!consumeIf(")")) {
    skipSpace();
    size_t begin = position;
    while (position < headerEnd && isDigit(bytes[position]))
      ++position;
    int64_t dim;
    if (bytes.slice(begin, position).getAsInteger(10, dim))
      return fail("expected a dim from 0 to 2^63-1 in the npy header; the file is damaged");
    if (layout.shape.size() == kMaxNpyRank)
      return fail("more than " + Twine(kMaxNpyRank) +
                  " dims; reshape the array before it is saved");
    layout.shape.push_back(dim);
    if (!consumeIf(","))
      return expect(")");
  }
  return Error::success();
}

Error NpyReader::readHeader() {
  if (Error error = expect("{"))
    return error;
  bool hasDescr = false, hasOrder = false, hasShape = false;
  while (!consumeIf("}")) {
    auto key = readQuoted();
    if (!key)
      return key.takeError();
    if (Error error = expect(":"))
      return error;
    bool *seen = *key == "descr"           ? &hasDescr
                 : *key == "fortran_order" ? &hasOrder
                 : *key == "shape"         ? &hasShape
                                           : nullptr;
    if (!seen || std::exchange(*seen, true))
      return fail("unexpected key '" + *key +
                  "' in the npy header; expected descr, fortran_order and shape once");
    if (seen == &hasDescr) {
      if (Error error = readDescr())
        return error;
    } else if (seen == &hasShape) {
      if (Error error = readShape())
        return error;
    } else if (!(layout.isFortran = consumeIf("True"))) {
      if (Error error = expect("False"))
        return error;
    }
    if (!consumeIf(",")) {
      if (Error error = expect("}"))
        return error;
      break;
    }
  }
  if (!hasDescr || !hasOrder || !hasShape)
    return fail("the npy header needs descr, fortran_order and shape; the file is damaged");
  skipSpace();
  if (position != headerEnd)
    return fail("the npy header goes on past its end; the file is damaged");
  return Error::success();
}

/// Column-major to row-major: walks the result in order and steps through the source.
static void toRowMajor(NpyArray &array, const uint8_t *from) {
  size_t rank = array.shape.size(), size = sizeOf(array.type), offset = 0;
  SmallVector<size_t> stride(rank), index(rank, 0);
  size_t step = size;
  for (size_t dim = 0; dim < rank; ++dim) {
    stride[dim] = step;
    step *= array.shape[dim];
  }
  for (size_t at = 0; at < array.data.size(); at += size) {
    std::memcpy(array.data.data() + at, from + offset, size);
    for (size_t dim = rank; dim-- > 0;) {
      offset += stride[dim];
      if (++index[dim] < static_cast<size_t>(array.shape[dim]))
        break;
      offset -= stride[dim] * index[dim];
      index[dim] = 0;
    }
  }
}

Expected<NpyLayout> NpyReader::readLayout() {
  if (Error error = readPrefix())
    return std::move(error);
  if (Error error = readHeader())
    return std::move(error);
  auto size = byteSize(layout.type, layout.shape);
  if (!size)
    return fail("the size of " + describe(layout.type, layout.shape) +
                " overflows 64 bits; the file is damaged");
  if (*size != fileBytes - headerEnd)
    return fail(describe(layout.type, layout.shape) + " needs " + Twine(*size) +
                " bytes, the file holds " + Twine(fileBytes - headerEnd) +
                "; it is damaged or truncated");
  layout.dataOffset = headerEnd;
  return layout;
}

Expected<NpyArray> NpyReader::read() {
  auto layout = readLayout();
  if (!layout)
    return layout.takeError();
  NpyArray array{layout->type, layout->shape, {}};
  const uint8_t *from = bytes.bytes_begin() + layout->dataOffset, *end = bytes.bytes_end();
  if (layout->isFortran && from != end) {
    array.data.resize(end - from);
    toRowMajor(array, from);
  } else {
    array.data.assign(from, end);
  }
  if (layout->isBigEndian)
    for (size_t at = 0, width = sizeOf(array.type); at < array.data.size(); at += width)
      std::reverse(array.data.begin() + at, array.data.begin() + at + width);
  if (array.type == ElementType::boolean)
    for (uint8_t &value : array.data)
      value = value != 0;
  return std::move(array);
}

Expected<NpyArray> parseNpy(StringRef bytes, StringRef name) {
  return NpyReader(bytes, bytes.size(), name).read();
}

Expected<NpyLayout> parseNpyLayout(StringRef prefix, uint64_t fileBytes, StringRef name) {
  return NpyReader(prefix, fileBytes, name).readLayout();
}

Expected<NpyArray> readNpy(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parseNpy((*buffer)->getBuffer(), path);
}

Expected<NpyLayout> readNpyLayout(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parseNpyLayout((*buffer)->getBuffer(), (*buffer)->getBufferSize(), path);
}

Error writeNpy(raw_ostream &os, ElementType type, ArrayRef<int64_t> shape, ArrayRef<uint8_t> data) {
  if (npyCode(type).empty())
    return createStringError("npy has no dtype " + nameOf(type) + "; cast the output to f32");
  assert(byteSize(type, shape) == data.size() && "the data must be as long as its shape says");
  std::string header = ("{'descr': '" + Twine(sizeOf(type) == 1 ? "|" : "<") + npyCode(type) +
                        "', 'fortran_order': False, 'shape': (")
                           .str();
  for (auto [position, dim] : enumerate(shape))
    header += (position ? " " : "") + std::to_string(dim) + ",";
  if (shape.size() > 1)
    header.pop_back(); // (4, 8), but (4,)
  header += "), }";
  // NumPy aligns the data to 64 bytes and ends the header with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  char length[2];
  support::endian::write16le(length, header.size());
  os << StringRef("\x93NUMPY\x01\x00", 8) << StringRef(length, 2) << header;
  os.write(reinterpret_cast<const char *>(data.data()), data.size());
  return Error::success();
}

} // namespace dlc::frontend
