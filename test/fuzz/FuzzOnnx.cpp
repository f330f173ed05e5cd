//===- FuzzOnnx.cpp - Any bytes as an ONNX model ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the bytes to a verified module. A context costs milliseconds to make and keeps every type and attribute that it has seen:
// one serves many inputs, and is then replaced.
//===----------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Import.h"
#include "test/fuzz/Demand.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"

using namespace dlc;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr unsigned kInputsPerContext = 500;
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || uses++ % kInputsPerContext == 0)
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);

  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  auto file = onnx::ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes, "input.onnx"));
  if (!file) {
    fuzz::demandSentence(file.takeError());
    return 0;
  }
  ImportOptions options;
  bool isUnsupported = false;
  options.isUnsupported = &isUnsupported;
  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler handler(context.get(), [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    fuzz::demand(diagnostic.str().size() > 10, "a message that says what is wrong");
    return mlir::success();
  });
  auto module = onnx::importModel(std::move(*file), options, *context);
  fuzz::demand(!module == (errors > 0), "a module, or an error that says why there is none");
  fuzz::demand(!module || !isUnsupported, "a module, or something that dlc cannot do");
  return 0;
}
