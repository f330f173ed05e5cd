//===- WeightFile.cpp - Named tensors, whatever file holds them ---------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/WeightFile.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using namespace llvm;

namespace dlc::frontend {

/// A safetensors file begins with the length of its header, in 8 bytes, of which those of a length
/// such as 640 are a pickle's too, and those of 19280 a zip's.
static bool beginsAsSafetensors(StringRef bytes) {
  return bytes.size() > 8 && bytes.substr(4, 4) == StringRef("\0\0\0\0", 4) && bytes[8] == '{';
}

/// What a file is that holds weights in a format which is not read; empty where nothing is known of
/// it.
static StringRef foreignFormat(StringRef bytes) {
  if (beginsAsSafetensors(bytes))
    return {};
  // The one entry that every archive of torch.save has stands first in it.
  if (bytes.starts_with("PK") && bytes.take_front(512).contains("/data.pkl"))
    return "a PyTorch checkpoint (pickle), which dlc never loads; save it with "
           "safetensors.torch.save_file(model.state_dict(), ...)";
  if (bytes.starts_with("\x80\x02"))
    return "a Python pickle, which dlc never loads; save the weights as safetensors";
  if (bytes.starts_with("\x89HDF"))
    return "an HDF5 file; save the weights with numpy.savez or as safetensors";
  if (bytes.starts_with("\x93NUMPY"))
    return "a single npy array; save named arrays with numpy.savez";
  return {};
}

Expected<WeightFile> WeightFile::open(StringRef path) {
  auto buffer = mapFile(path);
  if (!buffer)
    return buffer.takeError();
  StringRef bytes = (*buffer)->getBuffer();
  if (StringRef format = foreignFormat(bytes); !format.empty())
    return createStringError("'" + path + "' is " + format);
  WeightFile file;
  file.name = path.str();
  if (!bytes.starts_with("PK") || beginsAsSafetensors(bytes)) {
    auto parsed = SafetensorsFile::parse(std::move(*buffer));
    if (!parsed)
      return parsed.takeError();
    file.safetensors = std::move(*parsed);
    return std::move(file);
  }
  const char *begin = bytes.data();
  auto parsed = NpzFile::parse(std::move(*buffer));
  if (!parsed)
    return parsed.takeError();
  for (StringRef name : parsed->names()) {
    auto layout = parsed->layout(name);
    if (!layout)
      return layout.takeError();
    StoredTensor &tensor = file.packed.emplace_back();
    tensor.name = name.str();
    tensor.type = layout->type;
    tensor.shape = layout->shape;
    tensor.bytes = *byteSize(layout->type, layout->shape);
    // Rank 1 is the same in both orders.
    bool isPlain = !layout->isBigEndian && (!layout->isFortran || layout->shape.size() < 2) &&
                   layout->type != ElementType::boolean;
    StringRef stored = isPlain ? parsed->stored(name) : StringRef();
    tensor.offset = stored.empty() ? kPacked : stored.data() - begin + layout->dataOffset;
    file.byName[name] = file.packed.size() - 1;
  }
  file.npz = std::move(*parsed);
  return std::move(file);
}

const StoredTensor *WeightFile::find(StringRef name) const {
  if (safetensors)
    return safetensors->find(name);
  auto entry = byName.find(name);
  return entry == byName.end() ? nullptr : &packed[entry->second];
}

Expected<WeightBytes> WeightFile::data(const StoredTensor &tensor) const {
  if (safetensors)
    return WeightBytes{safetensors->data(tensor), {}};
  // The checksum covers the whole entry, also where the array's bytes lie in it as they are.
  auto array = npz->read(tensor.name);
  if (!array)
    return array.takeError();
  WeightBytes result;
  result.owned = std::move(array->data);
  result.bytes = result.owned;
  return std::move(result);
}

//===- NaN ------------------------------------------------------------------------------------===//

/// NaN: the bits behind the sign are more than those of infinity. A loop without branches, which
/// the compiler vectorises.
template <class Bits> static uint64_t countAbove(ArrayRef<uint8_t> bytes, Bits infinity) {
  constexpr Bits kMagnitude = static_cast<Bits>(~Bits(0)) >> 1;
  uint64_t count = 0;
  for (size_t at = 0, size = bytes.size() / sizeof(Bits); at < size;) {
    // Few enough for a narrow counter.
    size_t end = std::min<size_t>(size, at + 128);
    Bits found = 0;
    for (; at < end; ++at) {
      Bits value;
      std::memcpy(&value, bytes.data() + at * sizeof(Bits), sizeof(Bits));
      found += static_cast<Bits>(value & kMagnitude) > infinity;
    }
    count += found;
  }
  return count;
}

uint64_t countNaN(ElementType type, ArrayRef<uint8_t> bytes) {
  switch (type) {
  case ElementType::f64:
    return countAbove<uint64_t>(bytes, 0x7ff0000000000000);
  case ElementType::f32:
    return countAbove<uint32_t>(bytes, 0x7f800000);
  case ElementType::f16:
    return countAbove<uint16_t>(bytes, 0x7c00);
  case ElementType::bf16:
    return countAbove<uint16_t>(bytes, 0x7f80);
  default:
    return 0;
  }
}

} // namespace dlc::frontend
