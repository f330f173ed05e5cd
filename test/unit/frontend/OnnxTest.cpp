//===- OnnxTest.cpp - What bounds the import of an ONNX model -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rest of the importer's messages is in test/frontend/onnx: by its own limits this one takes
// seconds to reach.
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/Import.h"
#include "frontend/onnx/read/ModelFile.h"
#include "test/unit/frontend/Listener.h"

#include "mlir/IR/BuiltinOps.h"
#include "gtest/gtest.h"

namespace dlc::onnx {
namespace {

/// A field of number 15 or below: a text or message of up to 127 bytes, or a number of up to 127.
std::string field(int number, const std::string &bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string field(int number, char value) {
  return std::string{static_cast<char>(number << 3), value};
}

std::string shaped(const std::string &name, std::initializer_list<char> dims) {
  std::string shape;
  for (char dim : dims)
    shape += field(1, field(1, dim));
  return field(1, name) + field(2, field(1, field(1, char(1)) + field(2, shape)));
}

/// One node that is made of seven ops.
std::unique_ptr<ModelFile> normalization() {
  std::string node =
      field(1, "x") + field(2, "y") + field(3, "n") + field(4, "MeanVarianceNormalization");
  std::string graph =
      field(1, node) + field(11, shaped("x", {2, 3, 4, 5})) + field(12, field(1, "y"));
  std::string model = field(8, field(2, char(20))) + field(7, graph);
  auto file = ModelFile::parse(llvm::MemoryBuffer::getMemBufferCopy(model, "norm.onnx"));
  if (!file)
    ADD_FAILURE() << llvm::toString(file.takeError());
  return file ? std::move(*file) : nullptr;
}

TEST(OnnxImport, FewNodesOfManyOps) {
  mlir::MLIRContext context;
  {
    frontend::Listener listener(context);
    EXPECT_FALSE(importModel(normalization(), {}, context, 1));
    EXPECT_EQ(listener.text,
              "error: norm.onnx: node 'n' (MeanVarianceNormalization): with it the model becomes "
              "more than 4 ops; the limit is 4\n");
  }
  frontend::Listener listener(context);
  EXPECT_TRUE(importModel(normalization(), {}, context));
  EXPECT_EQ(listener.text, "");
}

} // namespace
} // namespace dlc::onnx
