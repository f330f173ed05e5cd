//===- Passes.td - The passes that make kernels of outlined fusions ----------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PASSES_TD
#define DLC_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ScheduleCpuPass : Pass<"dl-schedule-cpu", "::mlir::ModuleOp"> {
  let summary = "Makes CPU kernel IR of every dlx.kernel";
  let description = [{
    Runs on `module @cpu`. Adds one nested module for each instruction set (@avx2, @avx512) with a func.func on flat
    buffers for each kernel, and records on the dlx.kernel its entry, the dims passed to it, the number of tiles and the
    bytes of scratch. A contraction may ask for its weight in panels: then a kernel that packs it is added to the init
    program and the launch reads the packed copy. Example: test/codegen/cpu/schedule-cpu.mlir.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def ScheduleCudaPass : Pass<"dl-schedule-cuda", "::mlir::ModuleOp"> {
  let summary = "Makes CUDA kernel IR of every dlx.kernel";
  let description = [{
    Runs on `module @cuda`. Adds one gpu.module with a gpu.func on flat buffers for each kernel: maps (vectors of
    neighbours), reductions (a warp or a block a row, all stages in one kernel), windows (a thread a result), contractions
    (tiles through shared memory; f16, bf16 and f32 with the attribute `dl.tf32` on tensor cores, on sm_90a by a kernel of its own). Records on the dlx.kernel its entry, the dims passed to
    it, grid, block and dynamic shared memory. A contraction whose sides are symbolic gets variants for parts of its shapes.
    Examples: test/codegen/cuda/schedule-cuda.mlir, schedule-hopper.mlir, variants/shape-parts.mlir.
  }];
  let options = [Option<"hopper", "hopper", "std::string", /*default=*/"\"auto\"",
      "Kernels for sm_90a beside the others: auto (where they are estimated to be faster), always (where they are possible), never">,
      Option<"parts", "parts", "bool", /*default=*/"true",
      "Kernels for parts of the shapes beside the one for all of them, where dims are symbolic">];
  let dependentDialects = [
    "::dlc::dlk::DLKDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect", "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // DLC_CODEGEN_PASSES_TD
