//===- SafetensorsHeader.cpp - How a .safetensors file begins -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/SafetensorsFile.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/JSON.h"

using namespace llvm;

namespace dlc::frontend {

Expected<std::string> safetensorsHeader(ArrayRef<StoredTensor> tensors) {
  std::string header(8, '\0'); // the place of its size
  raw_string_ostream stream(header);
  uint64_t begin = 0;
  stream << '{';
  for (const StoredTensor &tensor : tensors) {
    StringRef dtype = safetensorsName(tensor.type);
    if (dtype.empty())
      return createStringError("weight '" + tensor.name + "' is " +
                               describe(tensor.type, tensor.shape) + "; safetensors have no " +
                               nameOf(tensor.type));
    stream << (&tensor == tensors.begin() ? "" : ",") << json::Value(tensor.name)
           << ":{\"dtype\":\"" << dtype << "\",\"shape\":[";
    interleave(tensor.shape, stream, ",");
    stream << "],\"data_offsets\":[" << begin << ",";
    begin += tensor.bytes;
    stream << begin << "]}";
  }
  stream << '}';
  header.resize((header.size() + 7) / 8 * 8, ' ');
  support::endian::write64le(header.data(), header.size() - 8);
  return header;
}

} // namespace dlc::frontend
