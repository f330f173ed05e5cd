//===- Reference.cpp - Runs a module on the reference interpreter for run.py --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//   numeric-reference MODULE SYMBOLS INPUTS OUTPUTS
//
// For each line of SYMBOLS (the values of the module's symbols) the module's only function runs
// once: its inputs are taken from INPUTS one after another, elements in their own format; what it
// returns is appended to OUTPUTS, floats as double and integers as int64, so that the digits beyond
// a format are seen.
//===------------------------------------------------------------------------------------------===//
#include "ir/interpreter/Interpreter.h"
#include "ir/interpreter/NestRunner.h"
#include "tools/driver/source/Dialects.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

static std::unique_ptr<llvm::MemoryBuffer> read(const char *path) {
  auto buffer =
      llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer) {
    llvm::errs() << path << ": " << buffer.getError().message() << "\n";
    exit(1);
  }
  return std::move(*buffer);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    llvm::errs() << "usage: numeric-reference MODULE SYMBOLS INPUTS OUTPUTS\n";
    return 2;
  }
  DialectRegistry registry;
  dlc::registerDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context);
  if (!module)
    return 1;
  auto function = *module->getOps<func::FuncOp>().begin();
  auto symbolLines = read(argv[2]), inputs = read(argv[3]);
  std::error_code error;
  llvm::raw_fd_ostream outputs(argv[4], error);
  ArrayRef<char> rest(inputs->getBufferStart(), inputs->getBufferSize());
  SmallVector<StringRef> lines;
  symbolLines->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    SmallVector<int64_t> symbols;
    SmallVector<StringRef> numbers;
    line.split(numbers, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef number : numbers)
      symbols.push_back(std::stoll(number.str()));
    dlc::bindComputed(*module, symbols);
    SmallVector<dlc::Tensor> arguments;
    for (Type type : function.getArgumentTypes()) {
      auto tensor = cast<RankedTensorType>(type);
      SmallVector<int64_t> dims;
      int64_t bytes = dlc::elementBytes(tensor.getElementType());
      for (AffineExpr dim : dlc::dl::getDims(tensor)) {
        dims.push_back(dlc::evaluateDim(dim, symbols));
        bytes *= dims.back();
      }
      if (bytes > static_cast<int64_t>(rest.size())) {
        llvm::errs() << argv[3] << ": too short for the inputs under symbols '" << line << "'\n";
        return 1;
      }
      arguments.push_back(
          dlc::Tensor::fromBytes(tensor.getElementType(), dims, rest.take_front(bytes)));
      rest = rest.drop_front(bytes);
    }
    auto results = dlc::interpret(function, arguments, symbols);
    if (failed(results))
      return 1;
    for (const dlc::Tensor &result : *results)
      if (result.isFloat())
        outputs.write(reinterpret_cast<const char *>(result.floats().data()), result.size() * 8);
      else
        outputs.write(reinterpret_cast<const char *>(result.ints().data()), result.size() * 8);
  }
  return rest.empty() ? 0 : (llvm::errs() << argv[3] << ": longer than the inputs\n", 1);
}
