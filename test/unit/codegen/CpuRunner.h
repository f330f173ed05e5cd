//===- CpuRunner.h - Runs dlx programs on the CPU in the test's own process ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A runtime of the smallest kind, for tests of schedules: it walks the dlx.program, calls the
// kernels of the flat image, and gives every buffer a mapping of its own with inaccessible pages on
// both sides.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TEST_UNIT_CODEGEN_CPURUNNER_H
#define DLC_TEST_UNIT_CODEGEN_CPURUNNER_H

#include "codegen/cpu/image/CpuCode.h"
#include "runtime/schema/KernelAbi.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace dlc::test {

/// Memory that ends at an inaccessible page (up to the alignment that kernels are promised) and
/// begins after one. Filled with 0xff bytes: NaN in every float.
class GuardedBuffer {
public:
  explicit GuardedBuffer(size_t bytes);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer &) = delete;
  uint8_t *data() const { return begin; }
  size_t size() const { return bytes; }
  /// The bytes between the end and the inaccessible page are as they were.
  bool slackIntact() const;

private:
  uint8_t *base, *begin;
  size_t bytes, mapped;
};

/// Calls code of a flat image. UBSan's check of function types would read the bytes before the
/// image.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
void callKernel(abi::CpuKernel kernel, const abi::CpuArgs &args, int64_t begin, int64_t end,
                void *scratch);

using Bytes = std::vector<uint8_t>;
template <typename T> Bytes toBytes(const std::vector<T> &values) {
  auto *data = reinterpret_cast<const uint8_t *>(values.data());
  return Bytes(data, data + values.size() * sizeof(T));
}
template <typename T> std::vector<T> fromBytes(const Bytes &bytes) {
  auto *data = reinterpret_cast<const T *>(bytes.data());
  return std::vector<T>(data, data + bytes.size() / sizeof(T));
}

class CpuRunner {
public:
  /// Parses `source` (a module with dlx.kernels and one dlx.program), schedules and compiles it for
  /// all instruction sets. The test fails on errors; then isValid() is false.
  explicit CpuRunner(const std::string &source);
  ~CpuRunner();
  bool isValid() const { return valid; }
  /// Whether the program has code for `isa`, and this processor runs it.
  bool canRun(codegen::IsaVariant isa) const;

  /// The program's outputs, in row-major order as its types must be. `weights` by name, `symbols`
  /// in the module's order. Every launch is made as `parts` calls over consecutive parts of its
  /// tiles.
  std::vector<Bytes> run(codegen::IsaVariant isa, const std::vector<Bytes> &inputs,
                         const std::map<std::string, Bytes> &weights = {},
                         const std::vector<int64_t> &symbols = {}, int64_t parts = 1);
  /// Nanoseconds of the fastest of `repetitions` runs of kernel `name`'s first launch, on one
  /// thread.
  double time(codegen::IsaVariant isa, const std::string &name, const std::vector<Bytes> &inputs,
              const std::map<std::string, Bytes> &weights, int repetitions);

  mlir::ModuleOp module() { return *owned; }
  const std::vector<codegen::CpuCode> &codes() const { return compiled; }
  double scheduleMs = 0, compileMs = 0;

private:
  struct Image;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> owned;
  std::vector<codegen::CpuCode> compiled;
  std::vector<std::unique_ptr<Image>> images;
  bool valid = false;
  std::string timedKernel;
  int timedRepetitions = 0;
  double fastest = 0;
};

} // namespace dlc::test

#endif // DLC_TEST_UNIT_CODEGEN_CPURUNNER_H
