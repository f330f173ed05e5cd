//===- CpuCode.h - Scheduled CPU kernels to machine code ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `dl-schedule-cpu` leaves one nested module for each instruction set in `module @cpu`, named by
// it, with one func.func for each kernel. compileCpu makes a flat code image of such a module: what
// CpuImage and CpuEntry of runtime/schema/module.fbs hold.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_CODEGEN_CPU_IMAGE_CPUCODE_H
#define DLC_CODEGEN_CPU_IMAGE_CPUCODE_H

#include "mlir/IR/BuiltinOps.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dlc::codegen {

/// Instruction sets, each with all that those before it have. Every package has code for the first
/// two. It has code for the third one where a kernel multiplies bytes, four at a time (vpdpbusd),
/// or short integers, and for the fourth one where a kernel multiplies pairs of bf16 (vdpbf16ps).
enum class IsaVariant { avx2, avx512, avx512Vnni, avx512Bf16 };
inline constexpr IsaVariant kIsaVariants[] = {IsaVariant::avx2, IsaVariant::avx512,
                                              IsaVariant::avx512Vnni, IsaVariant::avx512Bf16};

/// "avx2", "avx512", "avx512_vnni", "avx512_bf16": the name of the nested module and of the image.
llvm::StringRef isaName(IsaVariant isa);
/// What the code may use, by LLVM's names; the loader asks the processor for each.
std::vector<std::string> isaFeatures(IsaVariant isa);

/// Position-independent code of all kernels for one instruction set.
struct CpuCode {
  std::string isa;
  std::vector<std::string> features;
  std::vector<uint8_t> image;
  /// Offset in `image` of each kernel, by the name of its func.func (the kernel's `entry`).
  std::map<std::string, uint64_t> entries;
  /// Offset of the 8-byte slot that the loader fills with the address of each imported function.
  std::map<std::string, uint64_t> imports;
};

/// Compiles the functions of the module named isaName(isa) in `cpuModule`, which is left as it is.
/// Fails, after an error that names the kernel, where code would need anything beside
/// abi::kCpuImports.
mlir::FailureOr<CpuCode> compileCpu(mlir::ModuleOp cpuModule, IsaVariant isa);

/// The same for all instruction sets that `cpuModule` has a module for: the functions are lowered
/// on the threads of its context, and each instruction set then has a thread of its own.
mlir::FailureOr<std::vector<CpuCode>> compileCpuVariants(mlir::ModuleOp cpuModule);

} // namespace dlc::codegen

#endif // DLC_CODEGEN_CPU_IMAGE_CPUCODE_H
