//===- Wire.h - Fields of protobuf messages -----------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_READ_WIRE_H
#define DLC_FRONTEND_ONNX_READ_WIRE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace dlc::onnx {

/// A varint at the begin of `bytes`, which is then shortened; nothing where it is cut off or longer
/// than 10 bytes.
std::optional<uint64_t> takeVarint(llvm::ArrayRef<uint8_t> &bytes);

/// One field of a message: a number, or the bytes of a string, a message or packed numbers.
struct Field {
  enum Encoding { varint, fixed64, bytes, fixed32 };
  unsigned number;
  Encoding encoding;
  uint64_t value;                // varint, fixed64, fixed32
  llvm::ArrayRef<uint8_t> data;  // bytes; of fixed fields, their bytes
  llvm::ArrayRef<uint8_t> whole; // of a varint, its bytes

  llvm::StringRef text() const {
    return {reinterpret_cast<const char *>(data.data()), data.size()};
  }
};

/// Reads the fields of a message one by one. Nothing is allocated by the word of the file.
class FieldReader {
public:
  explicit FieldReader(llvm::ArrayRef<uint8_t> message) : rest(message) {}

  /// The next field; nothing at the end of the message and where it is damaged: see problem().
  std::optional<Field> next();
  /// Why reading stopped before the end; empty where it did not.
  llvm::StringRef problem() const { return damage; }
  /// Where it stopped.
  const uint8_t *position() const { return rest.data(); }

private:
  std::optional<Field> stop(llvm::StringRef why);

  llvm::ArrayRef<uint8_t> rest;
  llvm::StringRef damage;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_READ_WIRE_H
