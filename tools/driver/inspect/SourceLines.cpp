//===- SourceLines.cpp - The model's lines in the text of its kernels ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/inspect/SourceLines.h"

#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace dlc {
namespace {

/// Lines of files, each read once.
class Files {
public:
  /// The line, from 1, without spaces at its ends; empty where there is none.
  StringRef line(StringRef path, unsigned number) {
    auto [entry, isNew] = files.try_emplace(path);
    if (isNew)
      if (auto buffer = llvm::MemoryBuffer::getFile(path)) {
        entry->second.buffer = std::move(*buffer);
        entry->second.buffer->getBuffer().split(entry->second.lines, '\n');
      }
    const SmallVector<StringRef> &lines = entry->second.lines;
    return number >= 1 && number <= lines.size() ? lines[number - 1].trim() : StringRef();
  }

private:
  struct File {
    std::unique_ptr<llvm::MemoryBuffer> buffer;
    SmallVector<StringRef> lines;
  };
  llvm::StringMap<File> files;
};

} // namespace

/// A fusion of a whole network would bury its kernel.
static constexpr size_t kMaxLines = 16;

static SmallVector<std::string> linesOf(dlx::KernelOp kernel, Files &files) {
  SmallVector<std::string> lines;
  for (Operation &op : kernel.getBodyBlock().without_terminator())
    op.getLoc()->walk([&](Location loc) {
      auto place = dyn_cast<FileLineColLoc>(loc);
      StringRef text =
          place ? files.line(place.getFilename().getValue(), place.getLine()) : StringRef();
      if (text.empty())
        return WalkResult::advance();
      std::string line = (llvm::sys::path::filename(place.getFilename().getValue()) + ":" +
                          std::to_string(place.getLine()) + ": " + text)
                             .str();
      if (lines.size() < kMaxLines && !llvm::is_contained(lines, line))
        lines.push_back(std::move(line));
      return WalkResult::advance();
    });
  return lines;
}

void quoteSourceLines(ModuleOp target) {
  Files files;
  llvm::StringMap<dlx::KernelOp> kernels; // by entry
  for (auto kernel : target.getOps<dlx::KernelOp>())
    if (kernel.getEntry())
      kernels[*kernel.getEntry()] = kernel;
  target.walk([&](gpu::GPUFuncOp function) {
    dlx::KernelOp kernel = kernels.lookup(function.getName());
    auto comment = function->getAttrOfType<ArrayAttr>("dlc.comment");
    if (!kernel || !comment)
      return;
    SmallVector<Attribute> all(comment.begin(), comment.end());
    for (const std::string &line : linesOf(kernel, files))
      all.push_back(StringAttr::get(target.getContext(), line));
    function->setAttr("dlc.comment", ArrayAttr::get(target.getContext(), all));
  });
}

} // namespace dlc
