//===- Passes.td - The passes that make kernels of outlined fusions ---------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_CODEGEN_PASSES_TD
#define DLC_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def SelectSchedulesCpuPass : Pass<"dl-select-schedules-cpu", "::mlir::ModuleOp"> {
  let summary = "Decides how every dlx.kernel runs on a CPU";
  let description = [{
    Runs on `module @cpu`. A contraction may ask for its weight in panels: then a kernel that packs
    it is added to the init program and the launch reads the packed copy. Then every schedule of the
    table (codegen/cpu/schedule/Schedules.cpp) is asked about each kernel, which gets the plan with
    the smallest estimate, and those that lost. Example: test/codegen/cpu/select-schedules-cpu.mlir.
  }];
  let options = [ListOption<"force", "force", "std::string",
      "KERNEL=PLAN: the plan of a kernel; *=PLAN: of every kernel that it can run">,
      Option<"candidates", "candidates", "bool", /*default=*/"false",
      "Write on each kernel all plans that it could run by, with their numbers">];
  // Costs are counted on what bodies emit.
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def BuildKernelsCpuPass : Pass<"dl-build-kernels-cpu", "::mlir::ModuleOp"> {
  let summary = "Generate CPU kernel IR for every dlx.kernel";
  let description = [{
    Runs on `module @cpu` after dl-select-schedules-cpu. Adds one nested module for each instruction
    set (@avx2, @avx512) with a func.func on flat buffers for each kernel, by its plan, and records
    on the dlx.kernel its entry, the dims passed to it, the number of tiles and the bytes of
    scratch. `dl-schedule-cpu` is the pipeline of both passes. Example:
    test/codegen/cpu/build-kernels-cpu.mlir.
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def SelectSchedulesCudaPass : Pass<"dl-select-schedules-cuda", "::mlir::ModuleOp"> {
  let summary = "Decides how every dlx.kernel runs on a GPU";
  let description = [{
    Runs on `module @cuda`. Asks every schedule of the table (codegen/cuda/schedule/Schedules.cpp)
    about each kernel and writes on it the plan with the smallest estimate, and those that lost.
    Gives the program what the plans need: operands in other layouts, memory for the blocks of a
    launch. A contraction or attention whose sides are symbolic gets variants for parts of its
    shapes, and a contraction one for sm_90a where that is estimated to be faster. Launches of small
    kernels that follow each other get a chain, one launch in their place. No other pass of the
    phase changes the program. Examples: test/codegen/cuda/select-schedules-cuda.mlir,
    schedule-hopper.mlir, variants/shape-parts.mlir, chain/form-chains.mlir.
  }];
  let options = [Option<"hopper", "hopper", "std::string", /*default=*/"\"auto\"",
      "Kernels for sm_90a beside the others: auto (where they are estimated to be faster), always (where they are possible), never">,
      Option<"chains", "chains", "std::string", /*default=*/"\"auto\"",
      "One launch in the place of several small ones: auto (where it is estimated to be faster), always (where it is possible), never">,
      Option<"parts", "parts", "bool", /*default=*/"true",
      "Kernels for parts of the shapes beside the one for all of them, where dims are symbolic">,
      ListOption<"force", "force", "std::string",
      "KERNEL=PLAN: the plan of a kernel; *=PLAN: of every kernel that it can run">,
      Option<"candidates", "candidates", "bool", /*default=*/"false",
      "Write on each kernel all plans that it could run by, with their numbers">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def BuildKernelsCudaPass : Pass<"dl-build-kernels-cuda", "::mlir::ModuleOp"> {
  let summary = "Makes CUDA kernel IR of every dlx.kernel";
  let description = [{
    Runs on `module @cuda` after dl-select-schedules-cuda. Adds one gpu.module with a gpu.func on
    flat buffers for each kernel, by its plan: maps (vectors of neighbours), reductions (a warp or a
    block a row, all stages in one kernel), windows (a thread a result), contractions (tiles through
    shared memory; f16, bf16 and f32 with the attribute `dl.tf32` on tensor cores, on sm_90a by a
    kernel of its own). Records on the dlx.kernel its entry, the dims passed to it, grid, block and
    dynamic shared memory. `dl-schedule-cuda` is the pipeline of both passes. Example:
    test/codegen/cuda/build-kernels-cuda.mlir.
  }];
  let dependentDialects = [
    "::dlc::dlk::DLKDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
    "::mlir::math::MathDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::ub::UBDialect",
    "::mlir::vector::VectorDialect"];
}

#endif // DLC_CODEGEN_PASSES_TD
