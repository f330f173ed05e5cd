//===- ImportAsText.cpp - Foreign models as .dl text and safetensors ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/source/ImportAsText.h"

#include "frontend/Frontend.h"
#include "frontend/arrays/InputFiles.h"
#include "frontend/arrays/SafetensorsFile.h"
#include "frontend/dl/format/Format.h"
#include "frontend/dl/write/WriteDl.h"
#include "ir/dl/DLOps.h"
#include "ir/interpreter/Tensor.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/weights/WeightReader.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <cstring>

using namespace mlir;

namespace dlc {

/// Appends the bytes of a weight.
static LogicalResult appendWeight(dl::WeightOp op, ChangedWeight changed, std::string &bytes) {
  if (const std::vector<uint8_t> *own = changed ? changed(op.getName()) : nullptr) {
    bytes.append(own->begin(), own->end());
    return success();
  }
  auto read = readWeightBytes(op);
  if (succeeded(read))
    bytes.append(read->begin(), read->end());
  return read;
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

/// The weight as its file holds it.
static frontend::StoredTensor storedTensor(const onnx::NamedWeight &weight) {
  auto type = cast<RankedTensorType>(cast<dl::WeightOp>(weight.weight).getType());
  frontend::StoredTensor stored{
      weight.path, *frontend::elementTypeNamed(dl::dtypeName(type.getElementType())), {}, 0, 0};
  stored.shape.assign(type.getShape().begin(), type.getShape().end());
  if (weight.isTransposed)
    std::reverse(stored.shape.begin(), stored.shape.end());
  stored.bytes = static_cast<uint64_t>(type.getNumElements()) * elementBytes(type.getElementType());
  return stored;
}

/// A safetensors file of these weights; an ExitCode, reported unless it is kOk.
static int writeWeights(ArrayRef<onnx::NamedWeight> weights, ChangedWeight changed,
                        std::string &file) {
  auto tensors = llvm::map_to_vector(weights, storedTensor);
  auto header = frontend::safetensorsHeader(tensors);
  if (!header)
    return fail(kUnsupported, llvm::toString(header.takeError()));
  file = std::move(*header);
  uint64_t size = file.size();
  for (const frontend::StoredTensor &tensor : tensors)
    size += tensor.bytes;
  file.reserve(size);
  for (auto [weight, tensor] : llvm::zip_equal(weights, tensors)) {
    auto op = cast<dl::WeightOp>(weight.weight);
    if (failed(appendWeight(op, changed, file)))
      return kModelError;
    if (weight.isTransposed)
      transpose(file, tensor.bytes, cast<RankedTensorType>(op.getType()).getShape());
  }
  return kOk;
}

int checkNew(const std::string &path, bool force) {
  if (int code = checkOutput(path))
    return code;
  if (!force && llvm::sys::fs::exists(path))
    return fail(kUsage,
                "'" + path + "' exists already; name another file, or add --force to replace it");
  return kOk;
}

int checkTextName(const std::string &path) {
  return StringRef(path).ends_with(".dl")
             ? static_cast<int>(kOk)
             : fail(kUsage, "-o names '" + path + "'; expected a .dl file");
}

std::string weightsBeside(StringRef textPath, StringRef suffix) {
  SmallString<128> path(textPath);
  llvm::sys::path::replace_extension(path, "");
  return (path + suffix + ".safetensors").str();
}

int writeNewFiles(ArrayRef<NewFile> files, bool force) {
  for (const NewFile &file : files)
    if (int code = checkNew(file.path, force))
      return code;
  for (const NewFile &file : files)
    if (int code = writeFile(file.path, file.bytes))
      return code;
  return kOk;
}

int textOf(ImportedModel &model, const std::string &path, const std::string &weightsPath,
           ImportedText &result, ChangedWeight changed) {
  StringRef file = llvm::sys::path::filename(weightsPath);
  result.text = onnx::writeDl(*model.module, file, result.weights);
  if (auto formatted =
          formatSource(llvm::MemoryBuffer::getMemBufferCopy(result.text, path), *model.context))
    result.text = std::move(*formatted);
  return result.weights.empty() ? static_cast<int>(kOk)
                                : writeWeights(result.weights, changed, result.weightsFile);
}

/// Names the ops of a text after the modules in its comments. "# module layer1.0.conv1" holds for
/// the lines up to the next such comment. The writer makes layers, blocks and loops of these names.
static void nameModules(ModuleOp module, StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return;
  SmallVector<StringRef> lines;
  (*file)->getBuffer().split(lines, '\n');
  SmallVector<std::string> modules;
  std::string current;
  for (StringRef line : lines) {
    StringRef text = line.trim();
    if (text.consume_front("# module"))
      current = text.trim().str();
    modules.push_back(current);
  }
  MLIRContext *context = module.getContext();
  module.walk([&](Operation *op) {
    auto place = op->getLoc()->findInstanceOf<FileLineColLoc>();
    if (!place || place.getLine() == 0 || place.getLine() > modules.size() ||
        modules[place.getLine() - 1].empty())
      return;
    std::string name = modules[place.getLine() - 1];
    std::replace(name.begin(), name.end(), '.', '/');
    auto node = NameLoc::get(StringAttr::get(context, name + "/" + op->getName().stripDialect()));
    op->setLoc(NameLoc::get(node.getName(), node));
  });
}

int importAsText(const ImportAsTextOptions &options) {
  if (!isOnnx(options.input) && !StringRef(options.input).ends_with(".dl"))
    return fail(kUsage, "'" + options.input +
                            "' is neither an .onnx file nor a .dl text; expected one of these");
  if (int code = checkTextName(options.output))
    return code;
  const std::string weightsPath =
      options.weights.empty() ? weightsBeside(options.output) : options.weights;
  if (!StringRef(weightsPath).ends_with(".safetensors"))
    return fail(kUsage,
                "--weights names '" + weightsPath +
                    "'; expected a .safetensors file, the format that dlc writes weights in");
  if (llvm::sys::path::parent_path(weightsPath) != llvm::sys::path::parent_path(options.output))
    return fail(kUsage, "--weights names '" + weightsPath +
                            "'; expected a file in the folder of '" + options.output +
                            "', where the model finds it");
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
  if (!isOnnx(options.input))
    nameModules(*model.module, options.input);
  ImportedText imported;
  if (int code = textOf(model, options.output, weightsPath, imported))
    return code;
  std::vector<NewFile> files;
  if (!imported.weights.empty())
    files.push_back({weightsPath, imported.weightsFile});
  files.push_back({options.output, imported.text});
  return writeNewFiles(files, options.force);
}

} // namespace dlc
