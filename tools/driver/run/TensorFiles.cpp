//===- TensorFiles.cpp - Arrays from .npy, .npz and IDX files, and to them ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/arrays/IdxFile.h"
#include "frontend/arrays/NpzFile.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/run/Tensors.h"

#include "llvm/Support/raw_ostream.h"

#include <cassert>

namespace dlc {

bool isArchive(const std::string &path) { return path.ends_with(".npz"); }

static int failRead(llvm::Error error, std::string &problem) {
  problem = llvm::toString(std::move(error));
  // A wrong name is the caller's mistake; a file that is not an array is damaged.
  return llvm::StringRef(problem).starts_with("cannot read")     ? kDevice
         : llvm::StringRef(problem).contains("' has no array '") ? kUsage
                                                                 : kIncompatible;
}

static int setType(frontend::ElementType type, llvm::ArrayRef<int64_t> shape, HostTensor &tensor) {
  auto dtype = dtypeNamed(frontend::nameOf(type).str());
  assert(dtype && "each element type of files is a dtype");
  tensor.dtype = *dtype;
  tensor.dims.assign(shape.begin(), shape.end());
  return kOk;
}

int readLayout(const std::string &path, const std::string &name, HostTensor &tensor,
               std::string &problem) {
  auto read = [&]() -> llvm::Expected<frontend::NpyLayout> {
    if (!isArchive(path) && frontend::isIdxFile(path)) {
      auto array = frontend::readIdx(path);
      if (!array)
        return array.takeError();
      return frontend::NpyLayout{array->type, array->shape};
    }
    if (!isArchive(path))
      return frontend::readNpyLayout(path);
    auto archive = frontend::NpzFile::open(path);
    if (!archive)
      return archive.takeError();
    return archive->layout(name);
  };
  auto layout = read();
  if (!layout)
    return failRead(layout.takeError(), problem);
  return setType(layout->type, layout->shape, tensor);
}

int readTensor(const std::string &path, const std::string &name, HostTensor &tensor,
               std::string &problem) {
  auto read = [&]() -> llvm::Expected<frontend::NpyArray> {
    if (!isArchive(path) && frontend::isIdxFile(path))
      return frontend::readIdx(path);
    if (!isArchive(path))
      return frontend::readNpy(path);
    auto archive = frontend::NpzFile::open(path);
    if (!archive)
      return archive.takeError();
    return archive->read(name);
  };
  auto array = read();
  if (!array)
    return failRead(array.takeError(), problem);
  tensor.data = std::move(array->data);
  return setType(array->type, array->shape, tensor);
}

int writeTensors(const std::string &path, const std::vector<NamedTensor> &tensors) {
  std::vector<frontend::NamedArray> arrays;
  for (const auto &[name, tensor] : tensors) {
    auto type = frontend::elementTypeNamed(dlc_dtype_name(tensor->dtype));
    assert(type && "each dtype is an element type of files");
    arrays.push_back({name, *type, tensor->dims, tensor->data});
  }
  assert((isArchive(path) || arrays.size() == 1) && "an .npy file holds one array");
  std::string bytes;
  llvm::raw_string_ostream os(bytes);
  const frontend::NamedArray &first = arrays.front();
  if (llvm::Error error = isArchive(path)
                              ? frontend::writeNpz(bytes, arrays)
                              : frontend::writeNpy(os, first.type, first.shape, first.data))
    return fail(kDevice, "cannot write '" + path + "': " + llvm::toString(std::move(error)));
  return writeFile(path, bytes);
}

} // namespace dlc
