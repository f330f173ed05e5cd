//===- Module.h - A loaded and verified model.bin -------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_PACKAGE_MODULE_H
#define DLC_RUNTIME_CORE_PACKAGE_MODULE_H

#include "runtime/core/Status.h"
#include "runtime/core/bind/Expressions.h"
#include "runtime/core/package/FileBytes.h"
#include "runtime/schema/module_generated.h"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace dlc::rt {

/// What a device made of a module's program and shares among its contexts: code, weights in place,
/// persistent buffers. Derived by each device.
class PreparedProgram {
public:
  virtual ~PreparedProgram() = default;
};

/// A model.bin that passed all checks. Immutable and shared by threads, but for the cache of
/// prepared programs, which locks.
class Module {
public:
  /// `verifyAll`: also hash the segments beyond 64 MiB, which are otherwise read when they are
  /// used.
  static Expected<std::shared_ptr<Module>> load(const char *path, bool verifyAll);
  static Expected<std::shared_ptr<Module>> loadMemory(const void *data, size_t bytes,
                                                      bool verifyAll);

  const schema::Module &table() const { return *root; }
  const Expressions &expressions() const { return exprs; }
  /// Null if the module has no program of its own for the target, as a module with a flow.
  const schema::Program *program(schema::Target target) const;
  /// Whether the module runs on the target: by its own program, or by the programs of all its
  /// segments.
  bool hasProgram(schema::Target target) const;
  /// Null for a straight model.
  const schema::Flow *flow() const { return root->flow(); }
  /// The modules that the flow calls. They share the file's bytes and have their own expressions
  /// and programs.
  const std::vector<std::shared_ptr<Module>> &segments() const { return children; }
  const uint8_t *bytes(const schema::Segment &segment) const {
    return file->data() + segment.offset();
  }
  /// Gives the memory of a segment back that nobody is about to read: of a mapped file alone, and
  /// who reads it again has the same bytes.
  void releasePages(const schema::Segment &segment) const {
    file->releasePages(segment.offset(), segment.bytes());
  }
  /// The same of all segments.
  void releasePages() const { file->releasePages(0, file->size()); }
  size_t fileBytes() const { return file->size(); }
  /// Outputs that callers see: the counts behind them (schema::Symbol) are not among these.
  size_t numOutputs() const { return outputCount; }

  /// Names of the symbolic dims of a value ("2*N"); empty for a static one.
  const std::vector<std::string> &dimNames(const schema::Value &value) const {
    return names.at(&value);
  }
  /// "f32[N,1,28,28]".
  std::string describe(const schema::Value &value) const;

  using Prepare = std::function<Expected<std::shared_ptr<PreparedProgram>>()>;
  /// The program prepared under `key` ("cpu avx512", "cuda:0"), by `prepare` the first time. A
  /// failure is not kept. It lives as long as the module.
  Expected<std::shared_ptr<PreparedProgram>> prepared(const std::string &key,
                                                      const Prepare &prepare);

private:
  using FilePtr = std::shared_ptr<const FileBytes>;
  explicit Module(FilePtr file) : file(std::move(file)) {}
  static Expected<std::shared_ptr<Module>> open(FileBytes file, bool verifyAll);
  Status verify(bool verifyAll);
  void describeValues();
  Status checkHashes(bool verifyAll) const;
  Status checkGaps(uint64_t begin) const;

  FilePtr file;
  const schema::Module *root = nullptr;
  size_t outputCount = 0;
  Expressions exprs;
  std::vector<std::shared_ptr<Module>> children;
  std::map<const schema::Value *, std::vector<std::string>> names;
  std::mutex preparing;
  std::map<std::string, std::shared_ptr<PreparedProgram>> preparedPrograms;
};

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_PACKAGE_MODULE_H
