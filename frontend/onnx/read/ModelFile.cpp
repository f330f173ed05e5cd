//===- ModelFile.cpp - An ONNX file, mapped and checked -----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers of fields are those of onnx.proto. The messages are read by a reader of our own and not
// by protobuf's: that one copies every weight out of the file, forgets where it lay (`dl.weight`
// names file and offset) and stops at 2 GiB.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/read/ModelFile.h"

#include "frontend/Spelling.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "frontend/onnx/read/MessageReader.h"

#include "llvm/Support/Endian.h"

using namespace llvm;

namespace dlc::onnx {

void Payload::add(ArrayRef<uint8_t> more) {
  if (whole.empty() && joined.empty()) {
    whole = more;
    return;
  }
  if (joined.empty())
    joined.assign(whole.begin(), whole.end());
  joined.insert(joined.end(), more.begin(), more.end());
}

namespace {

/// Reads messages; stops at the first problem.
class Reader : private MessageReader {
public:
  using MessageReader::error;
  using MessageReader::MessageReader;

  bool read(ArrayRef<uint8_t> message, Model &model);
  bool read(ArrayRef<uint8_t> message, Tensor &tensor);
  bool readSparse(ArrayRef<uint8_t> message, Tensor &tensor);

private:
  bool read(ArrayRef<uint8_t> message, Graph &graph);
  bool read(ArrayRef<uint8_t> message, Node &node);
  bool read(ArrayRef<uint8_t> message, Attribute &attribute);
  bool read(ArrayRef<uint8_t> message, ValueInfo &value);
  bool readType(ArrayRef<uint8_t> message, ValueInfo &value);
  bool readTensorType(ArrayRef<uint8_t> message, ValueInfo &value);
  bool readShape(ArrayRef<uint8_t> message, ValueInfo &value);
  bool read(ArrayRef<uint8_t> message, Function &function);
  bool read(ArrayRef<uint8_t> message, Opset &opset);
  bool readEntry(ArrayRef<uint8_t> message, std::pair<StringRef, StringRef> &entry);

  template <typename T> bool readInto(const Field &field, T &message) {
    return expect(field, Field::bytes) && count() && read(field.data, message);
  }
  template <typename T> bool append(const Field &field, std::vector<T> &messages) {
    return readInto(field, messages.emplace_back());
  }

  unsigned nesting = 0;
};

bool Reader::read(ArrayRef<uint8_t> message, Model &model) {
  return eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return number(field, model.irVersion);
    case 2:
      return name(field, model.producer);
    case 7:
      model.hasGraph = true;
      return readInto(field, model.graph);
    case 8:
      return append(field, model.opsets);
    case 25:
      return append(field, model.functions);
    }
    return true;
  });
}

bool Reader::read(ArrayRef<uint8_t> message, Opset &opset) {
  return eachField(message, [&](const Field &field) {
    return field.number == 1   ? name(field, opset.domain)
           : field.number == 2 ? number(field, opset.version)
                               : true;
  });
}

bool Reader::read(ArrayRef<uint8_t> message, Graph &graph) {
  if (++nesting > Limits::kNesting)
    return refuse("graphs are nested more than " + Twine(Limits::kNesting) +
                  " deep; the limit is " + Twine(Limits::kNesting));
  bool isGood = eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return append(field, graph.nodes);
    case 2:
      return name(field, graph.name);
    case 5:
      return append(field, graph.initializers);
    case 11:
      return append(field, graph.inputs);
    case 12:
      return append(field, graph.outputs);
    case 15:
      return expect(field, Field::bytes) && count() &&
             readSparse(field.data, graph.initializers.emplace_back());
    }
    return true;
  });
  --nesting;
  return isGood;
}

bool Reader::read(ArrayRef<uint8_t> message, Node &node) {
  return eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return appendName(field, node.inputs);
    case 2:
      return appendName(field, node.outputs);
    case 3:
      return name(field, node.name);
    case 4:
      return name(field, node.op);
    case 5:
      return append(field, node.attributes);
    case 7:
      return name(field, node.domain);
    }
    return true;
  });
}

bool Reader::read(ArrayRef<uint8_t> message, Attribute &attribute) {
  auto realOf = [](uint64_t bits) { return bit_cast<float>(static_cast<uint32_t>(bits)); };
  return eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return name(field, attribute.name);
    case 2:
      attribute.real = realOf(field.value);
      return expect(field, Field::fixed32);
    case 3:
      return number(field, attribute.integer.emplace());
    case 4:
      attribute.string = field.text();
      return expect(field, Field::bytes);
    case 5:
      attribute.tensor = std::make_unique<Tensor>();
      return readInto(field, *attribute.tensor);
    case 6:
      attribute.graph = std::make_unique<Graph>();
      return readInto(field, *attribute.graph);
    case 7: {
      Payload numbers;
      if (!payload(field, Field::fixed32, numbers) || numbers.bytes().size() % 4)
        return fail(field.data.data(), "packed numbers are cut off");
      for (ArrayRef<uint8_t> rest = numbers.bytes(); !rest.empty(); rest = rest.drop_front(4))
        attribute.reals.push_back(realOf(support::endian::read32le(rest.data())));
      return true;
    }
    case 8:
      return varints(field, [&](int64_t value) { attribute.integers.push_back(value); });
    case 9:
      attribute.strings.push_back(field.text());
      return expect(field, Field::bytes);
    case 10:
    case 11:
    case 14:
    case 15:
    case 23:
      attribute.isOther = true;
      return true;
    case 22:
      attribute.tensor = std::make_unique<Tensor>();
      return expect(field, Field::bytes) && count() && readSparse(field.data, *attribute.tensor);
    case 20:
      return number(field, attribute.type);
    case 21:
      return name(field, attribute.reference);
    }
    return true;
  });
}

bool Reader::readEntry(ArrayRef<uint8_t> message, std::pair<StringRef, StringRef> &entry) {
  return eachField(message, [&](const Field &field) {
    return field.number == 1   ? name(field, entry.first)
           : field.number == 2 ? name(field, entry.second)
                               : true;
  });
}

bool Reader::read(ArrayRef<uint8_t> message, Tensor &tensor) {
  tensor.message = message;
  bool isGood = eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return varints(field, [&](int64_t dim) { tensor.dims.push_back(dim); });
    case 2:
      return number(field, tensor.dataType);
    case 3:
      tensor.isSegmented = true;
      return true;
    case 4:
      return payload(field, Field::fixed32, tensor.floats);
    case 5:
      return payload(field, Field::varint, tensor.integers32);
    case 6:
      tensor.hasStrings = true;
      return true;
    case 7:
      return payload(field, Field::varint, tensor.integers64);
    case 8:
      return name(field, tensor.name);
    case 9:
      tensor.hasRaw = true;
      tensor.raw.whole = field.data;
      return expect(field, Field::bytes);
    case 10:
      return payload(field, Field::fixed64, tensor.doubles);
    case 11:
      return payload(field, Field::varint, tensor.unsigned64);
    case 13:
      return expect(field, Field::bytes) && count() &&
             readEntry(field.data, tensor.externalData.emplace_back());
    case 14:
      tensor.isExternal = field.value == 1;
      return expect(field, Field::varint);
    }
    return true;
  });
  if (isGood && tensor.dims.size() > Limits::kRank)
    return refuse("tensor " + frontend::quote(tensor.name) + " has " + Twine(tensor.dims.size()) +
                  " dims; the limit is " + Twine(Limits::kRank));
  return isGood;
}

bool Reader::readSparse(ArrayRef<uint8_t> message, Tensor &tensor) {
  tensor.message = message;
  tensor.parts.resize(2);
  Tensor &values = tensor.parts[0], &places = tensor.parts[1];
  bool isGood = eachField(message, [&](const Field &field) {
    return field.number == 1   ? readInto(field, values)
           : field.number == 2 ? readInto(field, places)
           : field.number == 3 ? varints(field, [&](int64_t dim) { tensor.dims.push_back(dim); })
                               : true;
  });
  tensor.name = values.name;
  tensor.dataType = values.dataType;
  if (isGood && tensor.dims.size() > Limits::kRank)
    return refuse("tensor " + frontend::quote(tensor.name) + " has " + Twine(tensor.dims.size()) +
                  " dims; the limit is " + Twine(Limits::kRank));
  return isGood;
}

bool Reader::read(ArrayRef<uint8_t> message, ValueInfo &value) {
  return eachField(message, [&](const Field &field) {
    if (field.number == 2)
      return expect(field, Field::bytes) && readType(field.data, value);
    return field.number == 1 ? name(field, value.name) : true;
  });
}

bool Reader::readType(ArrayRef<uint8_t> message, ValueInfo &value) {
  return eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      value.kind = ValueInfo::tensor;
      return expect(field, Field::bytes) && readTensorType(field.data, value);
    case 4:
      value.kind = ValueInfo::sequence;
      break;
    case 5:
      value.kind = ValueInfo::map;
      break;
    case 8:
      value.kind = ValueInfo::sparse;
      break;
    case 9:
      value.kind = ValueInfo::optional;
      break;
    }
    return true;
  });
}

bool Reader::readTensorType(ArrayRef<uint8_t> message, ValueInfo &value) {
  return eachField(message, [&](const Field &field) {
    if (field.number == 1)
      return number(field, value.dataType);
    if (field.number != 2)
      return true;
    value.hasShape = true;
    return expect(field, Field::bytes) && readShape(field.data, value);
  });
}

bool Reader::readShape(ArrayRef<uint8_t> message, ValueInfo &value) {
  return eachField(message, [&](const Field &field) {
    if (field.number != 1)
      return true;
    if (value.dims.size() == Limits::kRank)
      return refuse("value " + frontend::quote(value.name) + " has more than " +
                    Twine(Limits::kRank) + " dims; the limit is " + Twine(Limits::kRank));
    Dim &dim = value.dims.emplace_back();
    return expect(field, Field::bytes) && eachField(field.data, [&](const Field &part) {
             return part.number == 1   ? number(part, dim.value.emplace())
                    : part.number == 2 ? name(part, dim.symbol)
                                       : true;
           });
  });
}

bool Reader::read(ArrayRef<uint8_t> message, Function &function) {
  return eachField(message, [&](const Field &field) {
    switch (field.number) {
    case 1:
      return name(field, function.name);
    case 4:
      return appendName(field, function.inputs);
    case 5:
      return appendName(field, function.outputs);
    case 7:
      return append(field, function.nodes);
    case 9:
      return append(field, function.opsets);
    case 10:
      return name(field, function.domain);
    case 11:
      return append(field, function.defaults);
    }
    return true;
  });
}

ArrayRef<uint8_t> bytesOf(const MemoryBuffer &buffer) {
  return {reinterpret_cast<const uint8_t *>(buffer.getBufferStart()), buffer.getBufferSize()};
}

} // namespace

Expected<std::unique_ptr<ModelFile>> ModelFile::open(StringRef path) {
  auto buffer = frontend::mapFile(path);
  if (!buffer)
    return buffer.takeError();
  return parse(std::move(*buffer));
}

Expected<std::unique_ptr<ModelFile>> ModelFile::parse(std::unique_ptr<MemoryBuffer> buffer) {
  auto file = std::make_unique<ModelFile>(std::move(buffer));
  ArrayRef<uint8_t> bytes = bytesOf(*file->buffer);
  auto read = [&] {
    file->contents = Model();
    Reader reader(file->path(), bytes.data(), &file->knownNames);
    return reader.read(bytes, file->contents) ? Error::success() : reader.error();
  };
  if (Error error = read())
    return std::move(error);
  if (file->knownNames.replace()) // once more, with the replacements
    if (Error error = read())
      return std::move(error);
  if (!file->contents.hasGraph)
    return createStringError(
        frontend::quote(file->path()) +
        ": it holds no graph: it is empty, cut off or no ONNX model; export or "
        "download it again");
  return file;
}

std::string ModelFile::placeOf(const Tensor &tensor) const {
  const uint8_t *begin = reinterpret_cast<const uint8_t *>(buffer->getBufferStart());
  return std::to_string(tensor.message.data() - begin) + ":" +
         std::to_string(tensor.message.size()) + (tensor.parts.empty() ? "" : ":sparse");
}

Expected<Tensor> parseTensor(ArrayRef<uint8_t> message, bool isSparse, StringRef path) {
  Tensor tensor;
  Reader reader(path, message.data());
  if (!(isSparse ? reader.readSparse(message, tensor) : reader.read(message, tensor)))
    return reader.error();
  return std::move(tensor);
}

} // namespace dlc::onnx
