//===- ImportAsText.cpp - Foreign models as .dl text and safetensors --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/ImportAsText.h"

#include "frontend/Frontend.h"
#include "frontend/dl/Format.h"
#include "frontend/onnx/WriteDl.h"
#include "frontend/weights/InputFiles.h"
#include "frontend/weights/SafetensorsFile.h"
#include "ir/dl/DLOps.h"
#include "ir/interpreter/Tensor.h"
#include "tools/driver/Import.h"
#include "tools/driver/Output.h"
#include "tools/driver/WeightReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace dlc {

/// Appends the bytes of a weight.
static LogicalResult readWeight(dl::WeightOp op, uint64_t size, std::string &bytes) {
  std::string file = op.getFile()->str();
  auto offset = static_cast<int64_t>(op.getOffset());
  if (offset < 0) {
    auto read = readPackedWeight(op, file, op.getSource().value_or(op.getName()));
    if (failed(read))
      return failure();
    bytes.append(read->begin(), read->end());
    return success();
  }
  auto buffer = frontend::mapFile(file);
  if (!buffer)
    return emitError(op.getLoc(), llvm::toString(buffer.takeError()));
  bytes.append((*buffer)->getBufferStart() + offset, size);
  return success();
}

/// Turns rows and columns of the last `size` bytes.
static void transpose(std::string &bytes, size_t size, ArrayRef<int64_t> shape) {
  std::string rows = bytes.substr(bytes.size() - size);
  char *to = bytes.data() + bytes.size() - size;
  const size_t element = size / (shape[0] * shape[1]);
  for (int64_t column = 0; column < shape[1]; ++column)
    for (int64_t row = 0; row < shape[0]; ++row, to += element)
      std::memcpy(to, rows.data() + (row * shape[1] + column) * element, element);
}

/// A safetensors file of these weights.
static LogicalResult writeWeights(ArrayRef<onnx::NamedWeight> weights, std::string &file) {
  auto typeOf = [](const onnx::NamedWeight &weight) {
    return cast<RankedTensorType>(cast<dl::WeightOp>(weight.weight).getType());
  };
  auto sizeOf = [&](const onnx::NamedWeight &weight) {
    return static_cast<uint64_t>(typeOf(weight).getNumElements()) *
           elementBytes(typeOf(weight).getElementType());
  };
  std::string header = "{";
  uint64_t begin = 0;
  for (const onnx::NamedWeight &weight : weights) {
    Type element = typeOf(weight).getElementType();
    StringRef dtype = dl::dtypeName(element);
    StringRef stored = frontend::safetensorsName(*frontend::elementTypeNamed(dtype));
    if (stored.empty()) {
      fail(kUnsupported, "weight '" + weight.path + "' is " + dl::text(typeOf(weight)) +
                             "; safetensors have no " + dtype.str());
      return failure();
    }
    header += (header.size() > 1 ? ",\"" : "\"") + weight.path + "\":{\"dtype\":\"" + stored.str() +
              "\",\"shape\":[";
    SmallVector<int64_t> shape(typeOf(weight).getShape());
    if (weight.isTransposed)
      std::reverse(shape.begin(), shape.end());
    for (auto [position, dim] : llvm::enumerate(shape))
      header += (position ? "," : "") + std::to_string(dim);
    header += "],\"data_offsets\":[" + std::to_string(begin) + ",";
    begin += sizeOf(weight);
    header += std::to_string(begin) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  char size[8];
  llvm::support::endian::write64le(size, header.size());
  file.reserve(8 + header.size() + begin);
  file.append(size, 8);
  file += header;
  for (const onnx::NamedWeight &weight : weights) {
    if (failed(readWeight(cast<dl::WeightOp>(weight.weight), sizeOf(weight), file)))
      return failure();
    if (weight.isTransposed)
      transpose(file, sizeOf(weight), typeOf(weight).getShape());
  }
  return success();
}

/// Checks that the file is not an input, and that it does not exist unless --force is given.
/// Returns an ExitCode, after reporting the error.
static int checkNew(const std::string &path, bool force) {
  if (int code = checkOutput(path))
    return code;
  if (!force && llvm::sys::fs::exists(path))
    return fail(kUsage,
                "'" + path + "' exists already; name another file, or add --force to replace it");
  return kOk;
}

int importAsText(const ImportAsTextOptions &options) {
  if (!isOnnx(options.input))
    return fail(kUsage, "'" + options.input +
                            "' is no .onnx file; expected an ONNX model ('dlc compile' takes "
                            ".dl text as it is)");
  if (!StringRef(options.output).ends_with(".dl"))
    return fail(kUsage, "-o names '" + options.output + "'; expected a .dl file");
  SmallString<128> weightsPath(options.weights);
  if (weightsPath.empty()) {
    weightsPath = options.output;
    llvm::sys::path::replace_extension(weightsPath, "safetensors");
  }
  if (!weightsPath.ends_with(".safetensors"))
    return fail(kUsage,
                "--weights names '" + weightsPath.str().str() +
                    "'; expected a .safetensors file, the format that dlc writes weights in");
  if (llvm::sys::path::parent_path(weightsPath) != llvm::sys::path::parent_path(options.output))
    return fail(kUsage, "--weights names '" + weightsPath.str().str() +
                            "'; expected a file in the folder of '" + options.output +
                            "', where the model finds it");
  const std::string weightsFile = weightsPath.str().str();
  frontend::noteInputFile(options.input);
  if (int code = checkNew(options.output, options.force))
    return code;
  ImportedModel model;
  if (int code = importModel({options.input,
                              {},
                              false,
                              false,
                              {},
                              options.constInputs,
                              options.states,
                              options.shapes},
                             model))
    return code;
  std::vector<onnx::NamedWeight> weights;
  std::string text = onnx::writeDl(*model.module, llvm::sys::path::filename(weightsPath), weights);
  auto formatted =
      formatSource(llvm::MemoryBuffer::getMemBufferCopy(text, options.output), *model.context);
  std::string file;
  if (!weights.empty() && failed(writeWeights(weights, file)))
    return kModelError;
  // Both, before either is written: the import knows which other files the model consists of.
  if (int code = checkNew(options.output, options.force))
    return code;
  if (int code = weights.empty() ? int(kOk) : checkNew(weightsFile, options.force))
    return code;
  if (int code = weights.empty() ? int(kOk) : writeFile(weightsFile, file))
    return code;
  return writeFile(options.output, formatted.value_or(text));
}

} // namespace dlc
