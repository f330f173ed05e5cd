//===- CommandRunner.h - Runs the commands of a plan on CPU threads -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CPU_COMMANDRUNNER_H
#define DLC_RUNTIME_CPU_COMMANDRUNNER_H

#include "runtime/core/package/Plan.h"
#include "runtime/cpu/GuardedBuffer.h"
#include "runtime/cpu/HostBlock.h"
#include "runtime/cpu/ThreadPool.h"
#include "runtime/schema/KernelAbi.h"

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

namespace dlc::cpu {

/// Where the bytes of a program's buffers are. One entry for each buffer of the program.
struct Addresses {
  std::vector<uint8_t *> of;
  /// Checked mode: the mapping of each buffer's root; else empty.
  std::vector<const GuardedBuffer *> guards;
};

/// Kernels as addresses, threads, scratch. Serves one plan at a time.
class CommandRunner {
public:
  CommandRunner(const rt::Module &module, const schema::Program &program,
                const std::vector<abi::CpuKernel> &kernels, std::shared_ptr<ThreadPool> pool,
                bool checked)
      : module(module), program(program), kernels(kernels), pool(std::move(pool)),
        checked(checked) {}

  /// Allocates the scratch that the plan needs.
  rt::Status reserve(const rt::Plan &plan);
  int64_t scratchBytes() const { return scratchStride * pool->size(); }

  /// Runs all commands. `values` are the expressions' (for messages). `profile`, where not null,
  /// gets one entry for each command. In checked mode a bad access ends the run with DLC_INTERNAL.
  /// A run that has commands left after `timeout` (0: none) ends with DLC_DEVICE before the next of
  /// them. `done`, where it is set, is called with the number of each command that has run.
  rt::Status run(const rt::Plan &plan, const std::vector<int64_t> &values,
                 const Addresses &addresses, std::vector<dlc_profile_entry> *profile,
                 std::chrono::milliseconds timeout = {},
                 const std::function<void(size_t)> &done = {});

private:
  struct Launch;
  std::string explainTimeout(const rt::Plan &plan, const rt::PlannedCommand &next,
                             std::chrono::milliseconds timeout) const;
  rt::Status launch(const rt::PlannedCommand &command, const Addresses &addresses,
                    const std::vector<int64_t> &values);
  rt::Status launchChecked(Launch &launch, const rt::PlannedCommand &command,
                           const Addresses &addresses, const std::vector<int64_t> &values);
  std::string explainAddress(const void *address, const rt::PlannedCommand &command,
                             const Addresses &addresses, const std::vector<int64_t> &values) const;

  const rt::Module &module;
  const schema::Program &program;
  const std::vector<abi::CpuKernel> &kernels;
  std::shared_ptr<ThreadPool> pool;
  bool checked;
  int64_t scratchStride = 0;
  HostBlock scratch;
  std::vector<GuardedBuffer> guardedScratch; ///< checked mode: one for each thread
  std::vector<void *> buffers;               ///< of the current launch
  std::vector<int64_t> dims;
};

} // namespace dlc::cpu

#endif // DLC_RUNTIME_CPU_COMMANDRUNNER_H
