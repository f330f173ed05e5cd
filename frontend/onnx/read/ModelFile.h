//===- ModelFile.h - An ONNX file, mapped and checked -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_READ_MODELFILE_H
#define DLC_FRONTEND_ONNX_READ_MODELFILE_H

#include "frontend/arrays/ElementType.h"
#include "frontend/onnx/read/Model.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

namespace dlc::onnx {

/// What files of strangers may ask for.
struct Limits {
  static constexpr unsigned kNesting = 32;     // graphs within graphs
  static constexpr size_t kMessages = 400'000; // nodes, attributes, tensors and values together
  static constexpr size_t kNameBytes = 1 << 16;
  static constexpr size_t kRank = 16;
};

/// The elements of a tensor, row-major and little-endian.
struct Elements {
  frontend::ElementType type;
  llvm::SmallVector<int64_t, 4> shape;
  llvm::ArrayRef<uint8_t> bytes;
  std::vector<uint8_t> owned; // what `bytes` views, where the file holds them in another form
  std::string file;           // that holds `bytes` as they are; empty where none does
  uint64_t offset = 0;        // there

  size_t count() const { return bytes.size() / frontend::sizeOf(type); }
};

/// The names of a file. A name with control characters, which a compiled model cannot have, is
/// replaced by another one.
class Names {
public:
  /// Returns what replaces `name`: the name itself if nothing does.
  llvm::StringRef nameOf(llvm::StringRef name);
  /// Finds replacements for the names that need one, among all names that nameOf was called with.
  /// False if there are none.
  bool replace();
  /// The replaced names of the file and their replacements.
  const llvm::MapVector<llvm::StringRef, std::string> &replaced() const { return replacements; }

private:
  llvm::MapVector<llvm::StringRef, std::string> replacements;
  llvm::StringSet<> others;
};

/// A model and the file that its strings and numbers lie in.
class ModelFile {
public:
  explicit ModelFile(std::unique_ptr<llvm::MemoryBuffer> buffer) : buffer(std::move(buffer)) {}
  /// Maps the file and reads its messages. An error names the file, the byte and what is wrong.
  static llvm::Expected<std::unique_ptr<ModelFile>> open(llvm::StringRef path);
  /// The same for bytes in memory, whose identifier is their path.
  static llvm::Expected<std::unique_ptr<ModelFile>>
  parse(std::unique_ptr<llvm::MemoryBuffer> buffer);

  const Model &model() const { return contents; }
  const Names &names() const { return knownNames; }
  llvm::StringRef path() const {
    return buffer ? buffer->getBufferIdentifier() : llvm::StringRef();
  }

  /// The elements of a tensor of the model, whatever form they are stored in. Data outside lie in a
  /// regular file in the folder of the model or below, reached without a link. An error says what
  /// is wrong with the tensor; the caller names it.
  llvm::Expected<Elements> elements(const Tensor &tensor);
  /// The place of the message of `tensor` in the file, for readTensorAt: "OFFSET:SIZE", and
  /// ":sparse" of a sparse one.
  std::string placeOf(const Tensor &tensor) const;

private:
  llvm::Expected<llvm::MemoryBuffer *> openExternal(llvm::StringRef location);
  /// The elements of a type that takes less than a byte.
  llvm::Expected<Elements> packedElements(const Tensor &tensor, Elements elements, uint64_t count);
  /// The elements of a sparse tensor, zeros among them.
  llvm::Expected<Elements> denseElements(const Tensor &tensor, Elements elements, uint64_t size);
  llvm::Expected<Elements> externalElements(const Tensor &tensor, Elements elements, uint64_t size);

  std::unique_ptr<llvm::MemoryBuffer> buffer;
  Names knownNames;
  Model contents;
  llvm::StringMap<std::unique_ptr<llvm::MemoryBuffer>> externals;
};

/// The elements of the tensor at a place, as placeOf gives it, of the ONNX file `path`.
llvm::Expected<std::vector<uint8_t>> readTensorAt(llvm::StringRef path, llvm::StringRef place);

/// Reads one TensorProto, or one SparseTensorProto.
llvm::Expected<Tensor> parseTensor(llvm::ArrayRef<uint8_t> message, bool isSparse,
                                   llvm::StringRef path);

/// The bytes of the elements of a tensor in a file, one at least for each; nothing where a dim is
/// negative or beyond 2^31 - 1, or they are more than 2^56, so that those who compute with them
/// need not fear for 64 bits.
std::optional<uint64_t> byteSizeOf(frontend::ElementType type, llvm::ArrayRef<int64_t> dims);

/// The dtype of a TensorProto.DataType; nothing where dlc has none.
std::optional<frontend::ElementType> elementType(int64_t dataType);
/// Its name in ONNX: "FLOAT16"; "data type 99" where there is none.
std::string dataTypeName(int64_t dataType);

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_READ_MODELFILE_H
