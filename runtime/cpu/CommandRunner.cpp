//===- CommandRunner.cpp - Runs the commands of a plan on CPU threads ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/CommandRunner.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/FaultGuard.h"

#include <chrono>
#include <cstring>
#include <mutex>

using namespace dlc;
using namespace dlc::cpu;
using rt::Status;
using rt::text;

#if defined(__clang__)
#define DLC_CALLS_GENERATED_CODE __attribute__((no_sanitize("function")))
#else
#define DLC_CALLS_GENERATED_CODE
#endif

/// Below this much work (operations + bytes, some microseconds) a launch stays on one thread.
static constexpr int64_t kWideWork = 50000;

/// One launch as the threads see it.
struct CommandRunner::Launch {
  abi::CpuKernel kernel;
  abi::CpuArgs args;
  uint8_t *scratch;
  int64_t scratchStride; ///< 0: all threads share one, or there is none
  bool hasScratch;
  std::vector<GuardedBuffer> *guardedScratch;
  std::mutex lock; ///< of `fault`
  Fault fault;

  uint8_t *scratchOf(int slot) const {
    if (!hasScratch)
      return nullptr;
    if (scratchStride == 0)
      slot = 0;
    return guardedScratch->empty() ? scratch + slot * scratchStride
                                   : (*guardedScratch)[slot].data();
  }
  // -fsanitize=function reads a type before the function's first byte, which generated code has
  // not.
  DLC_CALLS_GENERATED_CODE static void run(void *state, int64_t begin, int64_t end, int slot) {
    auto &launch = *static_cast<Launch *>(state);
    launch.kernel(&launch.args, begin, end, launch.scratchOf(slot));
  }

  struct Piece {
    Launch &launch;
    int64_t begin, end;
    int slot;
  };
  static void runGuarded(void *state, int64_t begin, int64_t end, int slot) {
    Piece piece{*static_cast<Launch *>(state), begin, end, slot};
    Fault fault = callGuarded(
        [](void *state) {
          auto &piece = *static_cast<Piece *>(state);
          run(&piece.launch, piece.begin, piece.end, piece.slot);
        },
        &piece);
    if (!fault.happened)
      return;
    std::lock_guard guard(piece.launch.lock);
    if (!piece.launch.fault.happened)
      piece.launch.fault = fault;
  }
};

Status CommandRunner::reserve(const rt::Plan &plan) {
  scratchStride = plan.scratchBytes;
  if (!checked)
    return scratch.reserve(scratchBytes(), "the kernels' scratch buffers");
  guardedScratch.clear();
  for (int i = 0; i < pool->size() && scratchStride; ++i) {
    rt::Expected<GuardedBuffer> buffer = GuardedBuffer::create(scratchStride);
    if (buffer.failed())
      return buffer.status();
    guardedScratch.push_back(buffer.take());
  }
  return {};
}

Status CommandRunner::run(const rt::Plan &plan, const std::vector<int64_t> &values,
                          const Addresses &addresses, std::vector<dlc_profile_entry> *profile,
                          std::chrono::milliseconds timeout,
                          const std::function<void(size_t)> &done) {
  using Clock = std::chrono::steady_clock;
  using Microseconds = std::chrono::duration<double, std::micro>;
  bool timed = profile || timeout.count() > 0;
  Clock::time_point begin = timed ? Clock::now() : Clock::time_point();
  for (const rt::PlannedCommand &command : plan.commands) {
    Clock::time_point start = timed ? Clock::now() : Clock::time_point();
    if (timeout.count() > 0 && start - begin >= timeout)
      return {DLC_DEVICE, explainTimeout(plan, command, timeout)};
    if (command.skip) {
    } else if (command.launch) {
      DLC_TRY(launch(command, addresses, values));
    } else {
      std::memmove(addresses.of[command.target], addresses.of[command.source],
                   plan.buffers[command.source].bytes);
    }
    if (done)
      done(&command - plan.commands.data());
    if (!profile)
      continue;
    dlc_profile_entry entry{"copy", "copy", 0, command.flops, command.bytes, 0};
    if (command.launch) {
      const schema::Kernel &kernel = *program.kernels()->Get(command.launch->kernel());
      entry.kernel = kernel.name()->c_str();
      entry.kind = kernel.kind()->c_str();
    }
    entry.microseconds = Microseconds(Clock::now() - start).count();
    entry.start_microseconds = Microseconds(start - begin).count();
    profile->push_back(entry);
  }
  return {};
}

std::string CommandRunner::explainTimeout(const rt::Plan &plan, const rt::PlannedCommand &next,
                                          std::chrono::milliseconds timeout) const {
  return text("after ", timeout.count(), " ms ", &next - plan.commands.data(), " of the run's ",
              plan.commands.size(), " commands are done; ",
              next.launch ? rt::describeKernel(*program.kernels()->Get(next.launch->kernel()))
                          : std::string("a copy"),
              " is next. Give it more time (--timeout, timeout_ms) or more threads (--threads)");
}

Status CommandRunner::launch(const rt::PlannedCommand &command, const Addresses &addresses,
                             const std::vector<int64_t> &values) {
  buffers.clear();
  dims.clear();
  for (const rt::PlannedArg &arg : command.args)
    if (arg.isBuffer)
      buffers.push_back(addresses.of[arg.value]);
    else
      dims.push_back(arg.value);
  Launch launch;
  launch.kernel = kernels[command.launch->kernel()];
  launch.args = {buffers.data(), dims.data()};
  launch.scratch = scratch.data();
  launch.hasScratch = scratchStride > 0;
  launch.scratchStride = command.grid[1] > 1 ? 0 : scratchStride;
  launch.guardedScratch = &guardedScratch;
  if (checked)
    return launchChecked(launch, command, addresses, values);
  int64_t work = (command.flops + command.bytes) / command.grid[1];
  pool->run(command.grid[0], command.grid[1], work == 0 || work >= kWideWork, Launch::run, &launch);
  return {};
}

Status CommandRunner::launchChecked(Launch &launch, const rt::PlannedCommand &command,
                                    const Addresses &addresses,
                                    const std::vector<int64_t> &values) {
  std::string kernel = rt::describeKernel(*program.kernels()->Get(command.launch->kernel()));
  for (GuardedBuffer &buffer : guardedScratch)
    buffer.poison();
  // Always wide: races between threads should show.
  pool->run(command.grid[0], command.grid[1], true, Launch::runGuarded, &launch);
  if (launch.fault.happened)
    return {DLC_INTERNAL, text("checked mode: ", kernel, " ",
                               explainAddress(launch.fault.address, command, addresses, values))};
  for (const rt::PlannedArg &arg : command.args)
    if (arg.isBuffer && !addresses.guards[arg.value]->isFrontIntact())
      return {DLC_INTERNAL,
              text("checked mode: ", kernel, " wrote before the begin of ",
                   rt::describeBuffer(module, program, values, static_cast<uint32_t>(arg.value)))};
  for (const GuardedBuffer &buffer : guardedScratch)
    if (!buffer.isFrontIntact())
      return {DLC_INTERNAL,
              text("checked mode: ", kernel, " wrote before the begin of its scratch")};
  return {};
}

/// "accessed byte 4 past the end of buffer 3 (...)".
std::string CommandRunner::explainAddress(const void *address, const rt::PlannedCommand &command,
                                          const Addresses &addresses,
                                          const std::vector<int64_t> &values) const {
  auto relate = [&](const GuardedBuffer &guard, const std::string &what) {
    auto *at = static_cast<const uint8_t *>(address);
    if (at < guard.data())
      return text("accessed memory ", guard.data() - at, " bytes before the begin of ", what);
    size_t offset = at - guard.data();
    if (offset >= guard.size())
      return text("accessed memory ", offset - guard.size(), " bytes past the end of ", what);
    return text("wrote to byte ", offset, " of ", what, ", which is only read");
  };
  if (!address)
    return "made an access that the processor refuses: an aligned vector access to unaligned "
           "memory, or an "
           "address that is no address";
  for (const rt::PlannedArg &arg : command.args)
    if (arg.isBuffer && addresses.guards[arg.value]->holds(address))
      return relate(*addresses.guards[arg.value],
                    rt::describeBuffer(module, program, values, static_cast<uint32_t>(arg.value)));
  for (const GuardedBuffer &guard : guardedScratch)
    if (guard.holds(address))
      return relate(guard, "its scratch");
  return "accessed memory far from all of its buffers";
}
