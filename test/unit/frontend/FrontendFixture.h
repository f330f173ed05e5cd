//===- FrontendFixture.h - Models to dl modules, as text ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_UNIT_FRONTEND_FRONTENDFIXTURE_H
#define DLC_TEST_UNIT_FRONTEND_FRONTENDFIXTURE_H

#include "frontend/Frontend.h"
#include "test/unit/frontend/Listener.h"

#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

namespace dlc::frontend {

using llvm::StringRef;

/// Writes models and weights into a folder of its own, and imports them.
class Frontend : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("dlc-frontend", folder));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(folder); }

  std::string path(StringRef name) {
    llvm::SmallString<128> result(folder);
    llvm::sys::path::append(result, name);
    return std::string(result);
  }
  void write(StringRef name, StringRef content) {
    std::error_code error;
    llvm::raw_fd_ostream os(path(name), error);
    ASSERT_FALSE(error);
    os << content;
  }
  /// A safetensors file of zeros: name and dims of each tensor, f32.
  void writeWeights(StringRef name, std::vector<std::pair<std::string, std::vector<int>>> tensors,
                    const char *dtype = "F32") {
    std::string header = "{", comma;
    size_t offset = 0;
    for (auto &[tensor, shape] : tensors) {
      size_t size = StringRef(dtype) == "F16" ? 2 : 4;
      std::string dims;
      for (int dim : shape) {
        dims += (dims.empty() ? "" : ",") + std::to_string(dim);
        size *= dim;
      }
      header += comma + "\"" + tensor + "\":{\"dtype\":\"" + dtype + "\",\"shape\":[" + dims +
                "],\"data_offsets\":[" + std::to_string(offset) + "," +
                std::to_string(offset + size) + "]}";
      offset += size;
      comma = ",";
    }
    header += "}";
    std::string file(8, '\0');
    llvm::support::endian::write64le(file.data(), header.size());
    write(name, file + header + std::string(offset, '\0'));
  }

  /// Diagnostics, or else the module as text, of a whole file.
  std::string import(StringRef source, ImportOptions options = {}) {
    write("t.dl", source);
    mlir::MLIRContext context;
    context.printOpOnDiagnostic(false); // as the tools have it
    Listener listener(context);
    auto module = importFile(path("t.dl"), options, context);
    std::string text = listener.text;
    for (size_t at; (at = text.find(StringRef(folder))) != std::string::npos;)
      text.replace(at, folder.size() + 1, "");
    EXPECT_EQ(!module, StringRef(text).contains("error: ")) << text;
    if (module)
      llvm::raw_string_ostream(text) << *module;
    return text;
  }

  /// The diagnostics, or else the ops, of a forward of x: f32[N,3,8,8], z: f32[N], i: i64[4], h:
  /// f16[4], b: bool[4] without layers, whose output type is `type`. The body begins on line 5.
  std::string body(StringRef statements, StringRef type) {
    std::string text = import(("dl 1\ndim N = 2..16\nmodel M {\nforward(x: f32[N,3,8,8], _z: "
                               "f32[N], _i: i64[4], _h: f16[4], _b: bool[4]) -> "
                               "(y: " +
                               type + ") {\n" + statements + "\n}\n}")
                                  .str(),
                              {{}, true});
    StringRef ops = text;
    if (!ops.contains("func.func"))
      return text;
    std::string result;
    for (StringRef line; !ops.empty();) {
      std::tie(line, ops) = ops.split('\n');
      StringRef op = line.split(" = ").second;
      if (line.starts_with("4:9: warning: 'x'")) // x is there for the taking
        continue;
      if (line.contains(" = dl."))
        result += (op + "\n").str();
      else if (line.contains("error:") || line.contains("warning:"))
        result += (line + "\n").str();
    }
    return result;
  }

  llvm::SmallString<128> folder;
};

} // namespace dlc::frontend

#endif // DLC_TEST_UNIT_FRONTEND_FRONTENDFIXTURE_H
