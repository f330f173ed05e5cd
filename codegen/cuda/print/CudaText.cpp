//===- CudaText.cpp - Kernel IR as CUDA C++ text ------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/cuda/print/CudaText.h"

#include "codegen/cuda/KernelTemplate.h"
#include "codegen/cuda/print/KernelPrinter.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/SetVector.h"

#include <map>

using namespace mlir;

namespace dlc::embed { // made by tools/cmake/DLCEmbed.cmake
struct File {
  const char *name, *text;
};
extern const File cudaHeaderFiles[];
} // namespace dlc::embed

namespace dlc::codegen {

/// What kernels of kernel IR alone include.
static constexpr StringRef kVocabulary = "dlc_device.cuh";
/// Kernels whose blocks meet in a cluster include this.
static constexpr StringRef kClusterVocabulary = "dlc_cluster.cuh";

/// Adds device header `name`, after those that it includes, to `headers`.
static void addWithIncludes(StringRef name, std::vector<std::string> &headers) {
  if (llvm::is_contained(headers, name))
    return;
  const embed::File *file = embed::cudaHeaderFiles;
  while (file->name && file->name != name)
    ++file;
  // What is not embedded is the emulator's: its compiler has it.
  if (!file->name)
    return;
  StringRef text = file->text, include = "\n#include \"";
  for (size_t at = text.find(include); at != StringRef::npos; at = text.find(include, at + 1))
    addWithIncludes(text.substr(at + include.size()).take_until([](char c) { return c == '"'; }),
                    headers);
  headers.push_back(name.str());
}

/// The bodies of exp, log and their like where the kernel calls them, once for each type: both
/// targets compute them by the same arithmetic.
static LogicalResult printMathFunctions(llvm::raw_ostream &os, gpu::GPUFuncOp kernel,
                                        unsigned indexBits) {
  std::map<std::pair<std::string, unsigned>, Operation *>
      calls; // by name, then width of the type: in an order that never changes
  kernel.walk([&](Operation *op) {
    if (auto function = expandedMath(op))
      calls.insert(
          {{mathFunctionText(*function), op->getOperand(0).getType().getIntOrFloatBitWidth()}, op});
  });
  loadMathDialects(kernel.getContext());
  OpBuilder builder(kernel.getContext());
  for (auto &[key, op] : calls) {
    OwningOpRef<func::FuncOp> function =
        buildMathFunction(builder, op->getLoc(), key.first, *expandedMath(op),
                          getElementTypeOrSelf(op->getOperand(0).getType()));
    if (failed(KernelPrinter(os, indexBits).printDeviceFunction(*function)))
      return failure();
  }
  return success();
}

FailureOr<CudaText> printKernel(gpu::GPUFuncOp kernel) {
  CudaText result;
  llvm::SetVector<StringRef> included;
  kernel.walk([&](dlk::CallOp call) { included.insert(call.getHeader()); });
  kernel.walk([&](gpu::BarrierOp barrier) {
    if (barrier->hasAttr("dlc.cluster") && included.empty())
      included.insert(kClusterVocabulary);
  });
  if (included.empty())
    included.insert(kVocabulary);
  for (StringRef header : included)
    addWithIncludes(header, result.headers);
  result.isForHopper = kernel->hasAttr("dlc.sm_90a");
  result.needsClusters = kernel->hasAttr("dlc.cluster");
  llvm::raw_string_ostream os(result.text);
  if (auto lines = kernel->getAttrOfType<ArrayAttr>("dlc.comment"))
    for (StringAttr line : lines.getAsRange<StringAttr>())
      os << "// " << cpp::commentText(line) << "\n";
  for (StringRef header : included)
    os << "#include \"" << header << "\"\n";
  os << "\n";
  unsigned indexBits = 64;
  if (auto bits = kernel->getAttrOfType<IntegerAttr>("dlc.index_bits"))
    indexBits = bits.getInt();
  if (indexBits != 32 && indexBits != 64)
    return kernel.emitError("cuda printer: dlc.index_bits is 32 or 64, got ") << indexBits;
  if (failed(printMathFunctions(os, kernel, indexBits)) ||
      failed(KernelPrinter(os, indexBits).printKernel(kernel)))
    return failure();
  return result;
}

std::map<std::string, std::string> cudaHeaders() {
  std::map<std::string, std::string> headers;
  for (const embed::File *file = embed::cudaHeaderFiles; file->name; ++file)
    headers[file->name] = file->text;
  return headers;
}

LogicalResult printKernels(Operation *module, llvm::raw_ostream &os) {
  WalkResult walked = module->walk([&](gpu::GPUFuncOp kernel) {
    FailureOr<CudaText> text = printKernel(kernel);
    if (failed(text))
      return WalkResult::interrupt();
    os << text->text;
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace dlc::codegen
