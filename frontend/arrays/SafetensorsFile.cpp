//===- SafetensorsFile.cpp - Named tensors of a .safetensors file -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file: header size (8 bytes, little-endian), header (JSON), bytes of the tensors without gaps.
// The JSON has two levels alone, so it is read by its own grammar without recursion; LLVM's JSON
// reader would accept duplicate keys.
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/SafetensorsFile.h"

#include "frontend/arrays/InputFiles.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace dlc::frontend {

Expected<std::unique_ptr<MemoryBuffer>> mapFile(StringRef path) {
  auto cannot = [&](const Twine &why) {
    return createStringError("cannot read '" + path + "': " + why);
  };
  sys::fs::file_status status;
  if (std::error_code error = sys::fs::status(path, status))
    return cannot(error.message());
  if (status.type() == sys::fs::file_type::directory_file)
    return cannot("it is a directory; expected a file");
  if (status.type() != sys::fs::file_type::regular_file)
    return cannot("it is not a regular file");
  noteInputFile(path, status);
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return cannot(buffer.getError().message());
  return std::move(*buffer);
}

namespace {

/// Reads the header; offsets in errors are those of the file.
class HeaderReader {
public:
  HeaderReader(StringRef file, StringRef header, uint64_t dataStart, uint64_t fileSize)
      : file(file), text(header), dataStart(dataStart), fileSize(fileSize) {}

  Expected<std::vector<StoredTensor>> read();

private:
  Error fail(const Twine &message) const {
    return createStringError("'" + file + "': byte " + Twine(8 + position) + ": " + message);
  }
  char peek() {
    while (position < text.size() && StringRef(" \t\r\n").contains(text[position]))
      ++position;
    return position < text.size() ? text[position] : 0;
  }
  bool consumeIf(char c) {
    if (peek() != c || position == text.size())
      return false;
    ++position;
    return true;
  }
  Error expect(char c) {
    if (consumeIf(c))
      return Error::success();
    return fail("expected '" + Twine(c) +
                "' in the JSON header; the file is damaged, or is not safetensors");
  }
  /// `{ "key": <member> , ... }`; keys must differ.
  Error readObject(function_ref<Error(StringRef key)> member);
  Expected<std::string> readString();
  Expected<uint64_t> readUnsigned();
  Error readArray(size_t limit, StringRef what, SmallVectorImpl<uint64_t> &values);
  Error readTensor(StoredTensor &tensor);

  StringRef file, text;
  size_t position = 0;
  uint64_t dataStart, fileSize;
};

} // namespace

Error HeaderReader::readObject(function_ref<Error(StringRef key)> member) {
  StringSet<> seen;
  if (Error error = expect('{'))
    return error;
  if (consumeIf('}'))
    return Error::success();
  do {
    auto key = readString();
    if (!key)
      return key.takeError();
    if (!seen.insert(*key).second)
      return fail("the name '" + *key + "' appears twice; each tensor needs its own name");
    if (Error error = expect(':'))
      return error;
    if (Error error = member(*key))
      return error;
  } while (consumeIf(','));
  return expect('}');
}

Expected<std::string> HeaderReader::readString() {
  if (Error error = expect('"'))
    return error;
  size_t begin = position;
  bool escaped = false;
  for (; position < text.size() && text[position] != '"'; ++position) {
    if (static_cast<unsigned char>(text[position]) < 0x20)
      return fail("a control character in a string of the JSON header; the file is damaged");
    if (text[position] == '\\') {
      escaped = true;
      ++position;
    }
  }
  if (position >= text.size())
    return fail("a string of the JSON header does not end; the file is damaged");
  StringRef raw = text.slice(begin, position++);
  if (raw.size() > SafetensorsFile::kMaxNameBytes)
    return fail("a string of " + Twine(raw.size()) + " bytes in the JSON header; the limit is " +
                Twine(SafetensorsFile::kMaxNameBytes));
  const auto *bytes = reinterpret_cast<const UTF8 *>(raw.bytes_begin());
  if (!isLegalUTF8String(&bytes, reinterpret_cast<const UTF8 *>(raw.bytes_end())))
    return fail("a string of the JSON header is not valid UTF-8; the file is damaged");
  if (!escaped)
    return raw.str();
  // One string without nesting: LLVM's reader decodes its escapes.
  auto value = json::parse(("\"" + raw + "\"").str());
  if (!value) {
    consumeError(value.takeError());
    return fail("a string of the JSON header has an invalid escape; the file is damaged");
  }
  return value->getAsString()->str();
}

Expected<uint64_t> HeaderReader::readUnsigned() {
  peek();
  size_t begin = position;
  while (position < text.size() && isDigit(text[position]))
    ++position;
  StringRef digits = text.slice(begin, position);
  uint64_t value;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0') ||
      digits.getAsInteger(10, value))
    return fail("expected an integer from 0 to 2^64-1 in the JSON header; the file is damaged");
  return value;
}

Error HeaderReader::readArray(size_t limit, StringRef what, SmallVectorImpl<uint64_t> &values) {
  if (Error error = expect('['))
    return error;
  if (consumeIf(']'))
    return Error::success();
  do {
    auto value = readUnsigned();
    if (!value)
      return value.takeError();
    if (values.size() == limit)
      return fail("more than " + Twine(limit) + " " + what +
                  "; the file is damaged, or is not safetensors");
    values.push_back(*value);
  } while (consumeIf(','));
  return expect(']');
}

Error HeaderReader::readTensor(StoredTensor &tensor) {
  std::optional<ElementType> type;
  std::optional<SmallVector<uint64_t>> shape, offsets;
  Error error = readObject([&](StringRef key) -> Error {
    if (key == "dtype") {
      auto name = readString();
      if (!name)
        return name.takeError();
      if (!(type = fromSafetensors(*name)))
        return fail("tensor '" + tensor.name + "' has the unknown dtype '" + *name +
                    "'; convert it to F32");
      return Error::success();
    }
    if (key == "shape")
      return readArray(SafetensorsFile::kMaxRank, "dims", shape.emplace());
    if (key == "data_offsets")
      return readArray(2, "data_offsets", offsets.emplace());
    return fail("tensor '" + tensor.name + "' has the unknown key '" + key +
                "'; expected dtype, shape and data_offsets");
  });
  if (error)
    return error;
  if (!type || !shape || !offsets || offsets->size() != 2)
    return fail("tensor '" + tensor.name + "' needs dtype, shape and two data_offsets");
  tensor.type = *type;
  for (uint64_t dim : *shape) {
    if (dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return fail("tensor '" + tensor.name + "' has a dim of " + Twine(dim) +
                  ", beyond 2^63-1; the file is damaged");
    tensor.shape.push_back(dim);
  }
  auto bytes = byteSize(tensor.type, tensor.shape);
  if (!bytes)
    return fail("the size of tensor '" + tensor.name + "' overflows 64 bits; the file is damaged");
  uint64_t begin = (*offsets)[0], end = (*offsets)[1];
  if (begin > end || end > fileSize - dataStart)
    return fail("tensor '" + tensor.name + "' lies at " + Twine(begin) + ".." + Twine(end) +
                " of " + Twine(fileSize - dataStart) +
                " data bytes; the file is damaged or truncated");
  if (end - begin != *bytes)
    return fail("tensor '" + tensor.name + "' has " + Twine(end - begin) + " bytes; " +
                describe(tensor.type, tensor.shape) + " needs " + Twine(*bytes) +
                "; the file is damaged");
  tensor.offset = dataStart + begin;
  tensor.bytes = *bytes;
  return Error::success();
}

Expected<std::vector<StoredTensor>> HeaderReader::read() {
  std::vector<StoredTensor> tensors;
  Error error = readObject([&](StringRef key) -> Error {
    if (key == "__metadata__")
      return readObject([&](StringRef) -> Error {
        auto value = readString();
        return value ? Error::success() : value.takeError();
      });
    StoredTensor &tensor = tensors.emplace_back();
    tensor.name = key.str();
    return readTensor(tensor);
  });
  if (error)
    return std::move(error);
  if (peek() != 0 || position != text.size())
    return fail("the JSON header goes on past its end; the file is damaged");
  // The bytes must be covered exactly once.
  llvm::sort(tensors, [](const StoredTensor &a, const StoredTensor &b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  uint64_t expected = dataStart;
  for (const StoredTensor &tensor : tensors) {
    if (tensor.offset != expected)
      return createStringError(
          "'" + file + "': byte " + Twine(std::min(expected, tensor.offset)) + ": tensor '" +
          tensor.name + "' begins at byte " + Twine(tensor.offset) + ", " +
          (tensor.offset < expected ? "inside the tensor before" : "after a hole") +
          "; expected byte " + Twine(expected) + ". Save the file again");
    expected += tensor.bytes;
  }
  if (expected != fileSize)
    return createStringError("'" + file + "': byte " + Twine(expected) +
                             ": the tensors end here, but the file goes on to byte " +
                             Twine(fileSize) + ". Save the file again");
  return tensors;
}

Expected<SafetensorsFile> SafetensorsFile::open(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer));
}

Expected<SafetensorsFile> SafetensorsFile::parse(std::unique_ptr<MemoryBuffer> buffer) {
  StringRef bytes = buffer->getBuffer(), path = buffer->getBufferIdentifier();
  if (bytes.starts_with("version https://git-lfs"))
    return createStringError("'" + path +
                             "' is a Git LFS pointer, not the file itself; run 'git lfs pull'");
  if (bytes.size() < 8)
    return createStringError(
        "'" + path + "' has " + Twine(bytes.size()) +
        " bytes; a safetensors file begins with the 8 bytes of its header size");
  uint64_t headerBytes = support::endian::read64le(bytes.data());
  if (headerBytes > kMaxHeaderBytes)
    return createStringError("'" + path + "': byte 0: a header of " + Twine(headerBytes) +
                             " bytes; the limit is " + Twine(kMaxHeaderBytes) +
                             ". Is this a safetensors file?");
  if (headerBytes > bytes.size() - 8)
    return createStringError("'" + path + "': byte 0: a header of " + Twine(headerBytes) +
                             " bytes in a file of " + Twine(bytes.size()) +
                             "; the file is truncated, or is not safetensors");
  uint64_t dataStart = 8 + headerBytes;
  auto tensors = HeaderReader(path, bytes.substr(8, headerBytes), dataStart, bytes.size()).read();
  if (!tensors)
    return tensors.takeError();
  SafetensorsFile file;
  file.buffer = std::move(buffer);
  file.entries = std::move(*tensors);
  for (auto [index, tensor] : enumerate(file.entries))
    file.byName[tensor.name] = index;
  return file;
}

const StoredTensor *SafetensorsFile::find(StringRef name) const {
  auto entry = byName.find(name);
  return entry == byName.end() ? nullptr : &entries[entry->second];
}

ArrayRef<uint8_t> SafetensorsFile::data(const StoredTensor &tensor) const {
  StringRef bytes = buffer->getBuffer().substr(tensor.offset, tensor.bytes);
  return ArrayRef(bytes.bytes_begin(), bytes.bytes_end());
}

} // namespace dlc::frontend
