//===- Package.h - Writes a model.bin -----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PACKAGE_PACKAGE_H
#define DLC_CODEGEN_PACKAGE_PACKAGE_H

#include "codegen/cpu/image/CpuCode.h"
#include "runtime/schema/module_generated.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace dlc::codegen {

/// Machine code of a kernel for one GPU architecture, made ahead of time.
struct CudaBinary {
  uint32_t arch; ///< 90 for sm_90
  schema::CubinVariant variant;
  std::string producer; ///< "NVRTC 13.0"
  std::string code;
};

/// CUDA C++ of one kernel, the names of the headers that it includes, and what was compiled from it
/// already.
struct CudaText {
  std::string text;
  std::vector<std::string> headers;
  std::vector<CudaBinary> binaries = {};
  bool isForHopper = false;   ///< empty on other GPUs than sm_90a
  bool needsClusters = false; ///< empty on GPUs before sm_90
};

/// What the targets' code generators made of a module that is past the buffers phase.
struct GeneratedCode {
  std::vector<CpuCode> cpu;                       // one for each instruction set
  std::map<std::string, CudaText> cuda;           // by name of the gpu.func (dlx.kernel's `entry`)
  std::map<std::string, std::string> cudaHeaders; // name -> contents
};

/// The bytes of a weight that is packed in its file (offset -1); a failure has been reported at it.
using ReadPacked = llvm::function_ref<mlir::FailureOr<std::vector<uint8_t>>(
    mlir::Operation *weight, llvm::StringRef file, llvm::StringRef name)>;

/// Writes the package of `module`, which holds `module @cpu`, `module @cuda` or both. The same
/// module and code give the same bytes. Weights are read from the files that their ops name; a file
/// that is gone or has become shorter is an error at the weight's location.
mlir::LogicalResult writePackage(mlir::ModuleOp module, const GeneratedCode &code,
                                 ReadPacked readPacked, llvm::raw_ostream &os);

/// A segment of a model that is cut, past the phases, and its code.
struct CompiledSegment {
  mlir::ModuleOp module;
  const GeneratedCode *code;
};

/// The same of a model that is cut into segments: `flow` holds the function that calls them by
/// their names, which are those of the modules.
mlir::LogicalResult writePackage(mlir::ModuleOp flow, llvm::ArrayRef<CompiledSegment> segments,
                                 ReadPacked readPacked, llvm::raw_ostream &os);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_PACKAGE_PACKAGE_H
