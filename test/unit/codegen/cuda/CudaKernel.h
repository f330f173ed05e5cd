//===- CudaKernel.h - One kernel from its meaning to its result on the emulator -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TEST_UNIT_CODEGEN_CUDA_CUDAKERNEL_H
#define DLC_TEST_UNIT_CODEGEN_CUDA_CUDAKERNEL_H

#include "ir/dlx/DLXOps.h"
#include "ir/interpreter/Accuracy.h"
#include "runtime/schema/Residence.h"
#include "test/unit/emulator/EmuDevice.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <random>

namespace dlc::test {

/// The extents at which tiles, warps and vectors begin and end.
inline constexpr int64_t kBoundaries[] = {0,  1,  2,  3,  7,  8,  9,   15,  16, 17,
                                          31, 32, 33, 63, 64, 65, 127, 128, 129};

/// How the inputs are filled: floats in [-1, 1), whole numbers in [-3, 3], or floats with NaN,
/// infinities and -0.
enum class Fill { uniform, whole, special };

/// A CUtensorMap.
struct alignas(64) TensorMap {
  char opaque[128];
};

/// Schedules, prints, compiles and runs a kernel, and compares it with what the reference
/// interpreter says of its body. The emulator's checker is on; every scheduling policy is a test of
/// its own.
class CudaKernelTest : public CheckedTest {
protected:
  /// `body` is what stands in the dlx.kernel's braces; the module's symbols are s0 in [0,
  /// `largest`] and s1 in [1, 4]. With DLC_DUMP_KERNELS set, the text is also written into the
  /// folder `kind` of that folder, and `check` runs nothing. `hopper` "always": the kernel for
  /// sm_90a, which there must be.
  void load(const std::string &kind, const std::string &body, int64_t largest = 200,
            const std::string &precision = "f32", const std::string &hopper = "never");
  /// The schedule of the kernels that are loaded; empty: the one with the smallest estimate.
  std::string schedule;
  /// Numbers of its plan, or of that for sm_90a, in the place of those that are estimated best.
  llvm::SmallVector<std::pair<llvm::StringRef, int64_t>> numbers;
  /// The body of a kernel that gives relu(x w^T + b), of s0 rows.
  static std::string linear(const std::string &type, int columns, int depth);
  /// Compiles `text` in place of what was printed: to plant a bug.
  void replaceText(const std::string &text);
  /// Compiles the text with the first `line` of device header `header` taken out: a planted bug.
  void removeFromHeader(llvm::StringRef header, llvm::StringRef line);
  /// The number that the kernel's template gets under this name; -1 where there is none.
  int config(llvm::StringRef name) const;
  /// Runs with the symbols' values; the test fails where a result is off.
  void check(llvm::ArrayRef<int64_t> symbols, Tolerance tolerance, Fill fill = Fill::uniform);
  void checkBoundaries(Tolerance tolerance, Fill fill = Fill::uniform) {
    for (int64_t size : kBoundaries)
      check({size, 2}, tolerance, fill);
  }
  /// The launch alone: fills `inputs`, and `actual` where it succeeds.
  Result run(llvm::ArrayRef<int64_t> symbols, Fill fill, llvm::SmallVectorImpl<Tensor> &inputs,
             Tensor &actual);
  const std::string &text() const { return kernelText; }
  /// Shared memory and multiprocessors of the GPU that persistent kernels are launched for.
  int64_t sharedLimit = 227 << 10, multiprocessors = 3;

  std::mt19937 engine{7}; ///< of the inputs
  /// Makes an input. A test overrides it whose inputs are not any numbers.
  virtual Tensor random(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> symbols, Fill fill);

  /// Whether the schedule has made a kernel for sm_90a beside the other.
  bool hasHopperKernel();
  /// The kernels for some shapes or GPUs that it has made beside the other.
  std::vector<dlx::VariantAttr> variants();
  /// Goes on with this one.
  void takeVariant(dlx::VariantAttr variant);

private:
  void take(dlx::KernelOp one);
  /// What the kernel takes behind its dims.
  std::vector<TensorMap> tensorMaps(llvm::ArrayRef<int64_t> symbols,
                                    llvm::ArrayRef<DevicePtr> buffers);
  /// The launch as the runtime makes it on that GPU, of `blocks` along the grid's x.
  abi::Spread spread(int64_t blocks);

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  dlx::KernelOp kernel;
  std::string kernelText;
  Function function = nullptr;
};

} // namespace dlc::test

#endif // DLC_TEST_UNIT_CODEGEN_CUDA_CUDAKERNEL_H
