//===- MutateMessage.h - Changes within a protobuf message --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A byte that changes somewhere in a message of messages mostly makes a length wrong, and the
// reader of the wire format sees no more than that. Here one field is changed and the lengths
// around it are written anew, so that what reads the model sees the change.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_FUZZ_MUTATEMESSAGE_H
#define DLC_TEST_FUZZ_MUTATEMESSAGE_H

#include "frontend/onnx/read/Wire.h"

#include <random>
#include <vector>

/// libFuzzer's own mutation of bytes; the new size.
extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace dlc::fuzz {

using Bytes = std::vector<uint8_t>;

inline void putVarint(Bytes &bytes, uint64_t value) {
  for (; value > 0x7f; value >>= 7)
    bytes.push_back(static_cast<uint8_t>(value | 0x80));
  bytes.push_back(static_cast<uint8_t>(value));
}

/// `bytes` as libFuzzer changes any, longer by at most `room`, and by one where there are none.
inline Bytes changedBytes(llvm::ArrayRef<uint8_t> bytes, size_t room) {
  Bytes changed(bytes.begin(), bytes.end());
  changed.resize(bytes.size() + room + (bytes.empty() && room == 0));
  changed.resize(LLVMFuzzerMutate(changed.data(), bytes.size(), changed.size()));
  return changed;
}

/// A number beside `value`, at an end of its range, or any.
inline uint64_t changedNumber(uint64_t value, std::minstd_rand &random) {
  switch (random() % 6) {
  case 0:
    return value + 1;
  case 1:
    return value - 1;
  case 2:
    return -value;
  case 3:
    return value ^ uint64_t(1) << random() % 64;
  case 4:
    return (uint64_t(1) << random() % 64) - random() % 2;
  default:
    return random() % 32;
  }
}

/// `message` with one field of it, or of a message in it, changed, left out, repeated or put in the
/// place of another. May be longer by `room` and the bytes of its lengths.
inline Bytes changedMessage(llvm::ArrayRef<uint8_t> message, size_t room, std::minstd_rand &random,
                            unsigned depth = 0) {
  constexpr unsigned kDepth = 32;
  std::vector<llvm::ArrayRef<uint8_t>> wholes; // the fields with their keys
  std::vector<onnx::Field> fields;
  onnx::FieldReader reader(message);
  const uint8_t *begin = message.data();
  while (std::optional<onnx::Field> field = reader.next()) {
    fields.push_back(*field);
    wholes.emplace_back(begin, reader.position());
    begin = reader.position();
  }
  if (fields.empty() || !reader.problem().empty() || depth == kDepth)
    return changedBytes(message, room);

  size_t at = random() % fields.size(), other = random() % fields.size();
  Bytes changed;
  auto put = [&](llvm::ArrayRef<uint8_t> bytes) {
    changed.insert(changed.end(), bytes.begin(), bytes.end());
  };
  auto putChanged = [&](const onnx::Field &field, llvm::ArrayRef<uint8_t> whole) {
    llvm::ArrayRef<uint8_t> rest = whole;
    onnx::takeVarint(rest);
    put(whole.drop_back(rest.size())); // the key
    if (field.encoding == onnx::Field::varint)
      return putVarint(changed, changedNumber(field.value, random));
    if (field.encoding != onnx::Field::bytes)
      return put(changedBytes(rest, 0));
    Bytes payload = random() % 4 ? changedMessage(field.data, room, random, depth + 1)
                                 : changedBytes(field.data, room);
    putVarint(changed, payload.size());
    put(payload);
  };
  enum { leftOut, repeated, replaced, kinds = 16 };
  unsigned kind = random() % kinds;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i != at) {
      put(wholes[i]);
    } else if (kind == repeated && wholes[other].size() <= room) {
      put(wholes[i]);
      put(wholes[other]);
    } else if (kind == replaced && wholes[other].size() <= room + wholes[i].size()) {
      put(wholes[other]);
    } else if (kind != leftOut) {
      putChanged(fields[i], wholes[i]);
    }
  }
  return changed;
}

} // namespace dlc::fuzz

#endif // DLC_TEST_FUZZ_MUTATEMESSAGE_H
