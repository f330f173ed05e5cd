//===- Model.h - What an ONNX file says ---------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of onnx.proto as far as inference needs them. Strings and numbers are views of the
// mapped file, so that weights of any size are read where they lie.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_READ_MODEL_H
#define DLC_FRONTEND_ONNX_READ_MODEL_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <memory>
#include <optional>
#include <vector>

namespace dlc::onnx {

/// The numbers of a repeated field, as they are encoded in the file.
struct Payload {
  llvm::ArrayRef<uint8_t> whole; // of one packed field
  std::vector<uint8_t> joined;   // of several fields, where `whole` does not hold them all

  llvm::ArrayRef<uint8_t> bytes() const {
    return joined.empty() ? whole : llvm::ArrayRef<uint8_t>(joined);
  }
  void add(llvm::ArrayRef<uint8_t> more);
};

/// A TensorProto. One of the payloads holds its elements, or another file.
struct Tensor {
  llvm::StringRef name;
  int64_t dataType = 0; // TensorProto.DataType
  llvm::SmallVector<int64_t, 4> dims;
  Payload raw, floats, doubles;               // little-endian
  Payload integers32, integers64, unsigned64; // varints
  bool hasRaw = false, hasStrings = false, isExternal = false, isSegmented = false;
  llvm::SmallVector<std::pair<llvm::StringRef, llvm::StringRef>, 0> externalData;
  llvm::ArrayRef<uint8_t> message; // all of it, for who reads it again
  /// The elements other than 0 of a SparseTensorProto, and their positions.
  std::vector<Tensor> parts;
};

struct Graph;

/// An AttributeProto.
struct Attribute {
  llvm::StringRef name;
  llvm::StringRef reference; // in a function: the attribute of the call whose value it has
  int64_t type = 0;          // AttributeProto.AttributeType; 0 in the oldest files
  std::optional<float> real;
  std::optional<int64_t> integer;
  std::optional<llvm::StringRef> string;
  std::unique_ptr<Tensor> tensor; // dense or sparse
  std::unique_ptr<Graph> graph;
  std::vector<float> reals;
  std::vector<int64_t> integers;
  std::vector<llvm::StringRef> strings;
  bool isOther = false; // lists of tensors and graphs, types
};

/// A NodeProto.
struct Node {
  llvm::StringRef name, op, domain;
  std::vector<llvm::StringRef> inputs, outputs; // empty: left out
  std::vector<Attribute> attributes;
};

struct Dim {
  std::optional<int64_t> value;
  llvm::StringRef symbol; // where there is no value
};

/// A ValueInfoProto.
struct ValueInfo {
  enum Kind { unknown, tensor, sequence, optional, map, sparse };
  llvm::StringRef name;
  Kind kind = unknown;
  int64_t dataType = 0;
  bool hasShape = false;
  llvm::SmallVector<Dim, 4> dims;
};

/// A GraphProto.
struct Graph {
  llvm::StringRef name;
  std::vector<Node> nodes;
  std::vector<Tensor> initializers; // dense and sparse ones
  std::vector<ValueInfo> inputs, outputs;
};

struct Opset {
  llvm::StringRef domain; // empty: ONNX's own
  int64_t version = 0;
};

/// A FunctionProto: an op that the file defines itself.
struct Function {
  llvm::StringRef name, domain;
  std::vector<llvm::StringRef> inputs, outputs;
  std::vector<Attribute> defaults;
  std::vector<Node> nodes;
  std::vector<Opset> opsets;
};

/// A ModelProto.
struct Model {
  int64_t irVersion = 0;
  llvm::StringRef producer; // the program that made the file, such as "pytorch"
  std::vector<Opset> opsets;
  Graph graph;
  bool hasGraph = false;
  std::vector<Function> functions;
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_READ_MODEL_H
