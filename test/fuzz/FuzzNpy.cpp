//===- FuzzNpy.cpp - Any bytes as an npy, npz or IDX file ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/IdxFile.h"
#include "frontend/arrays/NpzFile.h"
#include "test/fuzz/Demand.h"

#include "llvm/Support/raw_ostream.h"

using namespace dlc;
using namespace dlc::frontend;

/// What was read can be written, and is the same when read again.
static void checkArray(const NpyArray &array) {
  fuzz::demand(byteSize(array.type, array.shape) == array.data.size(), "a size that its shape has");
  fuzz::touch(array.data);
  std::string text;
  llvm::raw_string_ostream os(text);
  if (llvm::Error error = writeNpy(os, array.type, array.shape, array.data)) {
    fuzz::demand(false, "an array that can be written again");
    llvm::consumeError(std::move(error));
  }
  auto again = parseNpy(text, "again");
  if (!again) {
    fuzz::demand(false, "a written array that can be read");
    llvm::consumeError(again.takeError());
    return;
  }
  fuzz::demand(again->type == array.type && again->shape == array.shape &&
                   again->data == array.data,
               "the same array after a round trip");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  if (!bytes.starts_with("PK")) {
    bool isIdx = bytes.starts_with("\x1f\x8b") || bytes.starts_with(llvm::StringRef("\0\0", 2));
    auto array = isIdx ? parseIdx(bytes, "input") : parseNpy(bytes, "input");
    if (array)
      checkArray(*array);
    else
      fuzz::demandSentence(array.takeError());
    return 0;
  }
  auto file = NpzFile::parse(
      llvm::MemoryBuffer::getMemBuffer(bytes, "input", /*RequiresNullTerminator=*/false));
  if (!file) {
    fuzz::demandSentence(file.takeError());
    return 0;
  }
  for (llvm::StringRef name : file->names()) {
    auto layout = file->layout(name);
    auto array = file->read(name);
    if (array) {
      fuzz::demand(layout && layout->type == array->type && layout->shape == array->shape,
                   "a header that says what the array is");
      checkArray(*array);
    } else {
      fuzz::demandSentence(array.takeError());
    }
    llvm::consumeError(layout.takeError());
  }
  return 0;
}
