//===- ImportAsText.cpp - Foreign models as .dl text and safetensors --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/ImportAsText.h"

#include "frontend/Frontend.h"
#include "frontend/dl/Format.h"
#include "frontend/onnx/WriteDl.h"
#include "frontend/weights/SafetensorsFile.h"
#include "ir/dl/DLOps.h"
#include "tools/driver/Import.h"
#include "tools/driver/Output.h"
#include "tools/driver/WeightReader.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dlc {

/// The name of an element type in safetensors.
static std::string safetensorsName(Type dtype) {
  std::string name = dl::text(RankedTensorType::get({}, dtype));
  name.resize(name.find('['));
  return StringRef(name).upper();
}

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

/// A safetensors file of these weights.
static LogicalResult writeWeights(ArrayRef<onnx::NamedWeight> weights, std::string &file) {
  std::string header = "{", bytes;
  for (const onnx::NamedWeight &weight : weights) {
    auto op = cast<dl::WeightOp>(weight.weight);
    auto type = cast<RankedTensorType>(op.getType());
    uint64_t begin = bytes.size();
    unsigned bits = type.getElementTypeBitWidth();
    if (failed(readWeight(op, type.getNumElements() * (bits == 1 ? 1 : bits / 8), bytes)))
      return failure();
    header += (header.size() > 1 ? ",\"" : "\"") + weight.path + "\":{\"dtype\":\"" +
              safetensorsName(type.getElementType()) + "\",\"shape\":[";
    for (auto [position, dim] : llvm::enumerate(type.getShape()))
      header += (position ? "," : "") + std::to_string(dim);
    header +=
        "],\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(bytes.size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  char size[8];
  llvm::support::endian::write64le(size, header.size());
  file = std::string(size, 8) + header + bytes;
  return success();
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
  if (llvm::sys::path::parent_path(weightsPath) != llvm::sys::path::parent_path(options.output))
    return fail(kUsage, "--weights names '" + weightsPath.str().str() +
                            "'; expected a file in the folder of '" + options.output +
                            "', where the model finds it");
  ImportedModel model;
  if (int code = importModel({options.input, {}, false, false, {}, options.constInputs}, model))
    return code;
  std::vector<onnx::NamedWeight> weights;
  auto text = onnx::writeDl(*model.module, llvm::sys::path::filename(weightsPath), weights);
  if (!text)
    return fail(kUnsupported, "an op of '" + options.input +
                                  "' has an infinite number, which the language cannot write; "
                                  "compile the ONNX file itself");
  auto formatted =
      formatSource(llvm::MemoryBuffer::getMemBufferCopy(*text, options.output), *model.context);
  std::string file;
  if (!weights.empty() && failed(writeWeights(weights, file)))
    return kModelError;
  if (std::string why = weights.empty() ? "" : writeFile(weightsPath.str().str(), file);
      !why.empty())
    return fail(kDevice, why);
  std::string why = writeFile(options.output, formatted.value_or(*text));
  return why.empty() ? kOk : fail(kDevice, why);
}

} // namespace dlc
