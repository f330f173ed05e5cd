//===- Passes.cpp - The passes that make kernels of outlined fusions ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "codegen/Passes.h"

#include "codegen/cpu/schedule/CpuOracle.h"
#include "codegen/cpu/schedule/Schedule.h"
#include "codegen/cuda/schedule/CudaOracle.h"
#include "codegen/cuda/schedule/Schedule.h"
#include "ir/dl/DLDialect.h"
#include "ir/dlx/DLXOps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassRegistry.h"

using namespace mlir;

namespace dlc::codegen {

void addScheduleCpu(OpPassManager &manager, const SelectSchedulesCpuPassOptions &options) {
  manager.addPass(createSelectSchedulesCpuPass(options));
  manager.addPass(createBuildKernelsCpuPass());
}

void addScheduleCuda(OpPassManager &manager, const SelectSchedulesCudaPassOptions &options) {
  manager.addPass(createSelectSchedulesCudaPass(options));
  manager.addPass(createBuildKernelsCudaPass());
}

void addSchedule(OpPassManager &manager, StringRef name, const ScheduleWishes &wishes) {
  if (name == "cuda") {
    SelectSchedulesCudaPassOptions options;
    llvm::append_range(options.force, wishes.force);
    options.candidates = wishes.candidates;
    options.chains = wishes.chains;
    return addScheduleCuda(manager, options);
  }
  SelectSchedulesCpuPassOptions options;
  llvm::append_range(options.force, wishes.force);
  options.candidates = wishes.candidates;
  addScheduleCpu(manager, options);
}

bool hasSchedule(StringRef target, StringRef name) {
  if (target == "cuda")
    return scheduleNamed(name) != nullptr;
  return llvm::any_of(cpuSchedules(),
                      [&](const CpuSchedule &schedule) { return schedule.name == name; });
}

void registerScheduleOracles(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *context, dl::DLDialect *dialect) {
    // An oracle runs passes of its target inside of others, where no dialect can be loaded.
    context->loadDialect<arith::ArithDialect, dlx::DLXDialect, func::FuncDialect, gpu::GPUDialect,
                         math::MathDialect, memref::MemRefDialect, scf::SCFDialect>();
    auto &oracles = dialect->addInterface<ScheduleOracles>();
    oracles.add("cpu", std::make_unique<CpuOracle>());
    oracles.add("cuda", std::make_unique<CudaOracle>());
  });
}

namespace {
struct ScheduleCudaOptions : PassPipelineOptions<ScheduleCudaOptions> {
  Option<std::string> hopper{*this, "hopper", llvm::cl::init("auto")};
  Option<std::string> chains{*this, "chains", llvm::cl::init("auto")};
  Option<bool> parts{*this, "parts", llvm::cl::init(true)};
  ListOption<std::string> force{*this, "force"};
};
} // namespace

void registerPasses() {
  registerDLCCodegenPasses();
  static PassPipelineRegistration<> ofCpu("dl-schedule-cpu", /*description=*/"dl-schedule-cpu",
                                          [](OpPassManager &manager) { addScheduleCpu(manager); });
  static PassPipelineRegistration<ScheduleCudaOptions> ofCuda(
      "dl-schedule-cuda", /*description=*/"dl-schedule-cuda",
      [](OpPassManager &manager, const ScheduleCudaOptions &options) {
        SelectSchedulesCudaPassOptions select;
        select.hopper = options.hopper;
        select.chains = options.chains;
        select.parts = options.parts;
        llvm::append_range(select.force, options.force);
        addScheduleCuda(manager, select);
      });
}

} // namespace dlc::codegen
