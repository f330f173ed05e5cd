//===- MessageReader.h - The fields of a message, read with care --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What any message of a stranger's file may hold and how much of it: which fields an ONNX message
// has is ModelFile.cpp's.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_READ_MESSAGEREADER_H
#define DLC_FRONTEND_ONNX_READ_MESSAGEREADER_H

#include "frontend/onnx/read/ModelFile.h"
#include "frontend/onnx/read/Wire.h"

#include "llvm/Support/ConvertUTF.h"

namespace dlc::onnx {

/// Reads fields; stops at the first problem. What it gives views the bytes.
class MessageReader {
public:
  /// `names`: how names with control characters are called; null where nobody asks.
  MessageReader(llvm::StringRef path, const uint8_t *begin, Names *names = nullptr)
      : path(path), begin(begin), names(names) {}
  /// What was wrong, after something returned false.
  llvm::Error error() { return llvm::createStringError("'" + path.str() + "': " + problem); }

protected:
  /// Calls `take` for each field; it returns false after a problem.
  template <typename Take> bool eachField(llvm::ArrayRef<uint8_t> message, Take take) {
    FieldReader fields(message);
    while (std::optional<Field> field = fields.next())
      if (!take(*field))
        return false;
    if (fields.problem().empty())
      return true;
    return fail(fields.position(), fields.problem());
  }

  bool fail(const uint8_t *at, const llvm::Twine &why) {
    if (problem.empty())
      problem = ("byte " + llvm::Twine(at - begin) + ": " + why +
                 "; the file is damaged or no ONNX model: export or download it again")
                    .str();
    return false;
  }
  bool refuse(const llvm::Twine &why) {
    if (problem.empty())
      problem = why.str();
    return false;
  }
  bool expect(const Field &field, Field::Encoding encoding) {
    return field.encoding == encoding ||
           fail(field.encoding == Field::varint ? field.whole.data() : field.data.data(),
                "field " + llvm::Twine(field.number) + " is of another type than in onnx.proto");
  }
  bool count() {
    return ++messages <= Limits::kMessages ||
           refuse("it has more than " + llvm::Twine(Limits::kMessages) +
                  " nodes, attributes, tensors and values; the limit is " +
                  llvm::Twine(Limits::kMessages));
  }
  bool number(const Field &field, int64_t &value) {
    value = static_cast<int64_t>(field.value);
    return expect(field, Field::varint);
  }
  bool name(const Field &field, llvm::StringRef &value) {
    if (!expect(field, Field::bytes))
      return false;
    value = field.text();
    if (value.size() > Limits::kNameBytes)
      return refuse("byte " + llvm::Twine(field.data.data() - begin) + ": a name of " +
                    llvm::Twine(value.size()) + " bytes; the limit is " +
                    llvm::Twine(Limits::kNameBytes));
    const auto *at = reinterpret_cast<const llvm::UTF8 *>(value.data());
    if (value.contains('\0') || !llvm::isLegalUTF8String(&at, at + value.size()))
      return fail(field.data.data(), "a name is no UTF-8 text");
    if (names)
      value = names->nameOf(value);
    return true;
  }
  bool appendName(const Field &field, std::vector<llvm::StringRef> &names) {
    return name(field, names.emplace_back());
  }
  /// A repeated number: one, or packed ones.
  bool varints(const Field &field, llvm::function_ref<void(int64_t)> take) {
    if (field.encoding == Field::varint) {
      take(static_cast<int64_t>(field.value));
      return true;
    }
    if (!expect(field, Field::bytes))
      return false;
    for (llvm::ArrayRef<uint8_t> rest = field.data; !rest.empty();) {
      auto value = takeVarint(rest);
      if (!value)
        return fail(rest.data(), "a number is cut off or longer than 64 bits");
      take(static_cast<int64_t>(*value));
    }
    return true;
  }
  bool payload(const Field &field, Field::Encoding single, Payload &payload) {
    if (field.encoding == single) {
      payload.add(single == Field::varint ? field.whole : field.data);
      return true;
    }
    if (!expect(field, Field::bytes))
      return false;
    payload.add(field.data);
    return true;
  }

private:
  llvm::StringRef path;
  const uint8_t *begin;
  Names *names;
  std::string problem;
  size_t messages = 0;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_READ_MESSAGEREADER_H
