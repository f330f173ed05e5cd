//===- Elements.cpp - The elements of ONNX tensors, whatever form they are stored in ----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/arrays/InputFiles.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "frontend/onnx/read/ModelFile.h"
#include "frontend/onnx/read/Wire.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace dlc::onnx {

using frontend::ElementType;
using frontend::quote;

std::optional<ElementType> elementType(int64_t dataType) {
  switch (dataType) {
#define DATA_TYPE(number, name, dtype)                                                             \
  case number:                                                                                     \
    return ElementType::dtype;
#include "frontend/onnx/read/DataTypes.def"
  }
  return std::nullopt;
}

std::string dataTypeName(int64_t dataType) {
  switch (dataType) {
#define DATA_TYPE(number, name, dtype)                                                             \
  case number:                                                                                     \
    return #name;
#define OTHER_DATA_TYPE(number, name)                                                              \
  case number:                                                                                     \
    return #name;
#include "frontend/onnx/read/DataTypes.def"
  }
  return "data type " + std::to_string(dataType);
}

std::optional<uint64_t> byteSizeOf(ElementType type, ArrayRef<int64_t> dims) {
  if (any_of(dims, [](int64_t dim) { return dim > INT32_MAX; }))
    return std::nullopt;
  auto size = frontend::byteSize(type, dims);
  return size && *size <= uint64_t(1) << 56 ? size : std::nullopt;
}

/// The numbers of a payload of varints, cut to the elements' size.
static Error unpack(const Payload &payload, uint64_t count, unsigned size,
                    std::vector<uint8_t> &bytes) {
  ArrayRef<uint8_t> rest = payload.bytes();
  if (rest.size() < count) // each takes a byte at least: so much is never allocated in vain
    return createStringError("it holds fewer elements than its dims say");
  bytes.reserve(count * size);
  for (uint64_t i = 0; i < count; ++i) {
    auto value = takeVarint(rest);
    if (!value)
      return createStringError("it holds fewer elements than its dims say");
    for (unsigned byte = 0; byte < size; ++byte)
      bytes.push_back(static_cast<uint8_t>(*value >> (8 * byte)));
  }
  return rest.empty() ? Error::success()
                      : createStringError("it holds more elements than its dims say");
}

/// Opens the file `location` below the folder of `model`, without following a link.
static Expected<int> openBelow(StringRef model, StringRef location) {
  auto refuse = [&](const Twine &why) {
    return createStringError("its data are in " + quote(location) + ", " + why);
  };
  StringRef advice = "; expected a file in the folder of the model: put it there, or export the "
                     "model without external data";
  SmallVector<StringRef> parts;
  location.split(parts, '/');
  if (location.empty() || sys::path::is_absolute(location) || location.contains('\\') ||
      is_contained(parts, "..") || is_contained(parts, "") || is_contained(parts, "."))
    return refuse("which is no plain path in the folder of the model" + advice);
  std::string folder = sys::path::parent_path(model).str();
  int at = open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  for (auto [position, part] : enumerate(parts)) {
    bool isLast = position + 1 == parts.size();
    int next =
        at < 0
            ? -1
            : openat(at, part.str().c_str(),
                     O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (isLast ? 0 : O_DIRECTORY));
    int error = errno;
    if (at >= 0)
      close(at);
    at = next;
    if (at < 0)
      return error == ELOOP || (error == ENOTDIR && !isLast)
                 ? refuse("which is or goes through a link" + advice)
                 : refuse("which cannot be read: " +
                          std::error_code(error, std::generic_category()).message());
  }
  struct stat status;
  if (fstat(at, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 1)
    return at;
  close(at);
  return refuse(S_ISREG(status.st_mode) ? "which has several names (hard links)" + advice
                                        : "which is no regular file" + advice);
}

Expected<MemoryBuffer *> ModelFile::openExternal(StringRef location) {
  std::unique_ptr<MemoryBuffer> &mapped = externals[location];
  if (mapped)
    return mapped.get();
  auto file = openBelow(path(), location);
  if (!file)
    return file.takeError();
  SmallString<256> name(sys::path::parent_path(path()));
  sys::path::append(name, location);
  auto buffer = MemoryBuffer::getOpenFile(sys::fs::convertFDToNativeFile(*file), name,
                                          /*FileSize=*/-1, /*RequiresNullTerminator=*/false);
  close(*file);
  if (!buffer)
    return createStringError("cannot read " + quote(name) + ": " + buffer.getError().message());
  frontend::noteInputFile(name);
  mapped = std::move(*buffer);
  return mapped.get();
}

Expected<Elements> ModelFile::externalElements(const Tensor &tensor, Elements elements,
                                               uint64_t size) {
  StringRef location;
  uint64_t offset = 0, length = size;
  for (const auto &[key, value] : tensor.externalData) {
    if (key == "location")
      location = value;
    else if ((key == "offset" && value.getAsInteger(10, offset)) ||
             (key == "length" && value.getAsInteger(10, length)))
      return createStringError("its external data have the " + key + " " + quote(value) +
                               "; expected a number of bytes");
  }
  if (length != size)
    return createStringError("its external data have " + Twine(length) +
                             " bytes; its dims ask for " + Twine(size));
  auto file = openExternal(location);
  if (!file)
    return file.takeError();
  uint64_t available = (*file)->getBufferSize();
  if (offset > available || size > available - offset)
    return createStringError("its data are bytes " + Twine(offset) + " to " + Twine(offset + size) +
                             " of " + quote((*file)->getBufferIdentifier()) + ", which has " +
                             Twine(available) + "; the file is cut off or of another model");
  elements.bytes = {reinterpret_cast<const uint8_t *>((*file)->getBufferStart()) + offset, size};
  elements.file = (*file)->getBufferIdentifier().str();
  elements.offset = offset;
  return std::move(elements);
}

/// The payload that the elements of this type lie in where they are not raw.
static const Payload &payloadOf(const Tensor &tensor) {
  switch (tensor.dataType) {
  case 1:
    return tensor.floats;
  case 7:
    return tensor.integers64;
  case 11:
    return tensor.doubles;
  case 12:
  case 13:
    return tensor.unsigned64;
  default:
    return tensor.integers32;
  }
}

/// Bits of an element of the types that ONNX packs into bytes, the first in the lowest bits; 0 of
/// others.
static unsigned packedBits(ElementType type) {
  switch (type) {
  case ElementType::i4:
  case ElementType::u4:
  case ElementType::f4e2m1:
    return 4;
  case ElementType::i2:
  case ElementType::u2:
    return 2;
  default:
    return 0;
  }
}

/// One element a byte, of `count` packed ones.
static std::vector<uint8_t> unpackBits(ArrayRef<uint8_t> packed, uint64_t count, ElementType type) {
  unsigned bits = packedBits(type), perByte = 8 / bits;
  bool isSigned = type == ElementType::i4 || type == ElementType::i2;
  std::vector<uint8_t> elements(count);
  for (uint64_t i = 0; i < count; ++i) {
    unsigned code = packed[i / perByte] >> (i % perByte * bits) & ((1u << bits) - 1);
    elements[i] = static_cast<uint8_t>(isSigned ? SignExtend32(code, bits) : code);
  }
  return elements;
}

Expected<Elements> ModelFile::packedElements(const Tensor &tensor, Elements elements,
                                             uint64_t count) {
  if (tensor.isExternal)
    return createStringError(
        "it is " + frontend::describe(elements.type, elements.shape) +
        " in external data; dlc reads such elements from the model's own file: "
        "export the model without external data");
  uint64_t size = divideCeil(count * packedBits(elements.type), 8);
  std::vector<uint8_t> unpacked;
  ArrayRef<uint8_t> packed = tensor.raw.bytes();
  if (!tensor.hasRaw) {
    if (Error error = unpack(tensor.integers32, size, 1, unpacked))
      return std::move(error);
    packed = unpacked;
  }
  if (packed.size() != size)
    return createStringError("it holds " + Twine(packed.size()) + " bytes of elements; " +
                             frontend::describe(elements.type, elements.shape) + " has " +
                             Twine(size));
  elements.owned = unpackBits(packed, count, elements.type);
  elements.bytes = elements.owned;
  return std::move(elements);
}

Expected<Elements> ModelFile::denseElements(const Tensor &tensor, Elements elements,
                                            uint64_t size) {
  constexpr uint64_t kMostBytes = uint64_t(1) << 32; // a few bytes of a file can ask for any number
  if (size > kMostBytes)
    return createStringError("it is sparse and has " + Twine(size) +
                             " bytes with its zeros; dlc takes " + Twine(kMostBytes));
  auto values = this->elements(tensor.parts[0]);
  if (!values)
    return values.takeError();
  auto places = this->elements(tensor.parts[1]);
  if (!places)
    return places.takeError();
  size_t count = values->count(), rank = elements.shape.size();
  bool isFlat = places->shape.size() == 1; // one number for each element, or one for each dim of it
  if (places->type != ElementType::i64 || places->count() != count * (isFlat ? 1 : rank) ||
      (!isFlat && (places->shape.size() != 2 || places->shape[1] != static_cast<int64_t>(rank))))
    return createStringError("it is sparse: its " + Twine(count) + " elements have places of " +
                             frontend::describe(places->type, places->shape) + "; expected i64[" +
                             Twine(count) + "] or i64[" + Twine(count) + "," + Twine(rank) + "]");
  unsigned width = sizeOf(elements.type);
  elements.owned.resize(size);
  const uint8_t *place = places->bytes.data();
  auto next = [&](int64_t limit) {
    auto index = static_cast<int64_t>(support::endian::read64le(place));
    place += 8;
    return index >= 0 && index < limit ? std::optional(index) : std::nullopt;
  };
  int64_t last = -1;
  for (size_t i = 0; i < count; ++i) {
    std::optional<int64_t> at =
        isFlat ? next(static_cast<int64_t>(size / width)) : std::optional<int64_t>(0);
    for (size_t dim = 0; !isFlat && dim < rank; ++dim) {
      auto index = next(elements.shape[dim]);
      at = at && index ? std::optional(*at * elements.shape[dim] + *index) : std::nullopt;
    }
    if (!at)
      return createStringError("it is sparse: the place of its element " + Twine(i) +
                               " is outside of " +
                               frontend::describe(elements.type, elements.shape));
    if (*at <= last)
      return createStringError("it is sparse: its element " + Twine(i) + " is not after element " +
                               Twine(i - 1) + "; expected each place once, in ascending order");
    last = *at;
    std::copy_n(values->bytes.data() + i * width, width, elements.owned.data() + *at * width);
  }
  elements.bytes = elements.owned;
  return std::move(elements);
}

Expected<Elements> ModelFile::elements(const Tensor &tensor) {
  auto type = elementType(tensor.dataType);
  if (!type)
    return createStringError("it has the dtype " + dataTypeName(tensor.dataType) +
                             ", which dlc does not have");
  Elements elements{*type, tensor.dims, {}, {}, {}, 0};
  auto size = byteSizeOf(*type, elements.shape);
  if (!size)
    return createStringError("its dims are negative or too large: " +
                             frontend::describe(*type, elements.shape));
  if (!tensor.parts.empty())
    return denseElements(tensor, std::move(elements), *size);
  if (tensor.isSegmented)
    return createStringError("it is cut into segments, which no exporter writes");
  if (packedBits(*type))
    return packedElements(tensor, std::move(elements), *size);
  if (tensor.isExternal)
    return externalElements(tensor, std::move(elements), *size);
  const Payload &payload = tensor.hasRaw ? tensor.raw : payloadOf(tensor);
  bool isPlain = tensor.hasRaw || tensor.dataType == 1 || tensor.dataType == 11;
  if (!isPlain) {
    if (Error error = unpack(payload, *size / sizeOf(*type), sizeOf(*type), elements.owned))
      return std::move(error);
    elements.bytes = elements.owned;
  } else if (payload.bytes().size() != *size) {
    return createStringError("it holds " + Twine(payload.bytes().size()) + " bytes of elements; " +
                             frontend::describe(*type, elements.shape) + " has " + Twine(*size));
  } else if (payload.joined.empty()) {
    elements.bytes = payload.whole;
    elements.file = path().str();
    elements.offset =
        elements.bytes.empty()
            ? 0
            : elements.bytes.data() - reinterpret_cast<const uint8_t *>(buffer->getBufferStart());
  } else {
    elements.owned = payload.joined;
    elements.bytes = elements.owned;
  }
  if (*type == ElementType::boolean && any_of(elements.bytes, [](uint8_t b) { return b > 1; }))
    return createStringError("it is a BOOL tensor that holds other numbers than 0 and 1");
  return std::move(elements);
}

Expected<std::vector<uint8_t>> readTensorAt(StringRef path, StringRef place) {
  uint64_t offset = 0, size = 0;
  auto [begin, rest] = place.split(':');
  auto [length, kind] = rest.split(':');
  if (begin.getAsInteger(10, offset) || length.getAsInteger(10, size))
    return createStringError("the weight does not say where in " + quote(path) +
                             " it is; import the model again");
  auto buffer = frontend::mapFile(path);
  if (!buffer)
    return buffer.takeError();
  if (offset > (*buffer)->getBufferSize() || size > (*buffer)->getBufferSize() - offset)
    return createStringError(quote(path) + " has changed since it was imported");
  auto tensor =
      parseTensor({reinterpret_cast<const uint8_t *>((*buffer)->getBufferStart()) + offset, size},
                  kind == "sparse", path);
  if (!tensor)
    return tensor.takeError();
  ModelFile file(std::move(*buffer));
  auto elements = file.elements(*tensor);
  if (!elements)
    return createStringError(quote(path) + ": tensor " + quote(tensor->name) + ": " +
                             toString(elements.takeError()));
  return std::vector<uint8_t>(elements->bytes.begin(), elements->bytes.end());
}

} // namespace dlc::onnx
