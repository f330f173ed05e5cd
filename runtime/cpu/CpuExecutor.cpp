//===- CpuExecutor.cpp - A context that runs on the CPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels read inputs and write outputs in the caller's memory where that is aligned to
// abi::kBufferAlignment and overlaps no other array of the call; else through a staging copy.
// The plans of the shapes bound last are kept, since a server meets the same few again and again.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cpu/CpuExecutor.h"
#include "runtime/core/Text.h"
#include "runtime/cpu/CpuProgram.h"

#include <algorithm>
#include <cstring>
#include <list>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

using namespace dlc;
using namespace dlc::cpu;
using rt::Status;
using schema::Storage;

namespace {

/// The caller may have flush-to-zero or another rounding mode set; the model's bits must not depend
/// on it.
class IeeeArithmetic {
#if defined(__x86_64__)
public:
  IeeeArithmetic() : saved(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~IeeeArithmetic() { _mm_setcsr(saved); }

private:
  unsigned saved;
#endif
};

class CpuExecutor : public rt::Executor {
public:
  CpuExecutor(const rt::Module &module, std::shared_ptr<CpuProgram> shared,
              const std::shared_ptr<ThreadPool> &pool, const rt::ExecutorOptions &options)
      : program(std::move(shared)),
        runner(module, program->program(), program->kernels(), pool, program->isChecked()),
        profiled(options.profile), timeout(options.timeoutMs),
        name(rt::text("cpu (", program->isa(), ", ", pool->size(),
                      pool->size() == 1 ? " thread" : " threads",
                      program->isChecked() ? ", checked)" : ")")) {}

  const std::string &device() const override { return name; }

  dlc_memory_info memory() const override {
    static const rt::Plan none;
    const rt::Plan &plan = shapes.empty() ? none : shapes.front().plan;
    return {sizeof(dlc_memory_info), program->weightBytes(), plan.persistentBytes,
            plan.arenaBytes,         runner.scratchBytes(),  plan.stateBytes};
  }

  Status bind(const rt::Binding &binding) override {
    DLC_TRY(find(binding));
    const rt::Plan &plan = shapes.front().plan;
    addresses.of.assign(plan.buffers.size(), nullptr);
    addresses.guards.assign(program->isChecked() ? plan.buffers.size() : 0, nullptr);
    program->resolve(plan, addresses);
    DLC_TRY(runner.reserve(plan));
    DLC_TRY(placeStates(plan));
    return program->isChecked() ? guardBuffers(plan) : placeArena(plan);
  }

  void resetStates() override { areStatesZero = false; }

  rt::Expected<rt::Argument> stateMemory(size_t index) override {
    const rt::Plan *plan = shapes.empty() ? nullptr : &shapes.front().plan;
    for (size_t i = 0; plan && i < plan->buffers.size() && i < addresses.of.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan->buffers[i];
      if (buffer.storage != Storage::state || buffer.index != index || !addresses.of[i])
        continue;
      clearStates(*plan);
      return rt::Argument{addresses.of[i], false};
    }
    return rt::noBoundStates();
  }

  Status run(const std::vector<rt::Argument> &inputs,
             const std::vector<rt::Argument> &outputs) override {
    IeeeArithmetic ieee;
    profileEntries.clear();
    const auto &[symbols, values, plan] = shapes.front();
    clearStates(plan);
    DLC_TRY(program->isChecked() ? fillGuarded(plan, inputs)
                                 : useCallerMemory(plan, inputs, outputs));
    DLC_TRY(runner.run(plan, values, addresses, profiled ? &profileEntries : nullptr, timeout));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.root == i && buffer.storage == Storage::output &&
          addresses.of[i] != outputs[buffer.index].data && buffer.bytes)
        std::memcpy(outputs[buffer.index].data, addresses.of[i], buffer.bytes);
    }
    return {};
  }

private:
  /// The program under one value of each symbol.
  struct BoundShape {
    std::vector<int64_t> symbols, values; ///< `values` are those of the module's expressions
    rt::Plan plan;
  };
  /// How many shapes are kept.
  static constexpr size_t kMostShapes = 16;

  /// Makes the shape of `binding` the first of `shapes`, and plans it where it is not among them.
  Status find(const rt::Binding &binding) {
    auto found = std::find_if(shapes.begin(), shapes.end(), [&](const BoundShape &shape) {
      return shape.symbols == binding.symbols;
    });
    if (found != shapes.end()) {
      shapes.splice(shapes.begin(), shapes, found);
      return {};
    }
    rt::Expected<rt::Plan> planned = planProgram(program->program(), binding.values,
                                                 rt::Phase::main, rt::Interface::callerMemory);
    if (planned.failed())
      return planned.status();
    shapes.push_front({binding.symbols, binding.values, planned.take()});
    if (shapes.size() > kMostShapes)
      shapes.pop_back();
    return {};
  }

  static bool isInterface(const rt::PlannedBuffer &buffer) {
    return buffer.storage == Storage::input || buffer.storage == Storage::output;
  }

  /// Checked mode: each between guard pages of its own.
  Status placeStates(const rt::Plan &plan) {
    if (!program->isChecked())
      DLC_TRY(states.reserve(plan.stateBytes, "the states"));
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.storage != Storage::state)
        continue;
      if (!program->isChecked()) {
        addresses.of[i] = states.data() + buffer.offset;
        continue;
      }
      if (guardedStates.size() <= buffer.index)
        guardedStates.resize(buffer.index + 1);
      GuardedBuffer &guard = guardedStates[buffer.index];
      if (buffer.root == i &&
          (!guard.data() || guard.size() != static_cast<size_t>(buffer.bytes))) {
        rt::Expected<GuardedBuffer> made = GuardedBuffer::create(buffer.bytes);
        if (made.failed())
          return made.status();
        guard = made.take();
        guard.poison(); // marks what lies before it, too
        areStatesZero = false;
      }
      addresses.of[i] = guard.data();
    }
    // Only now: the list may have grown.
    for (size_t i = 0; program->isChecked() && i < plan.buffers.size(); ++i)
      if (plan.buffers[i].storage == Storage::state)
        addresses.guards[i] = &guardedStates[plan.buffers[i].index];
    return {};
  }

  void clearStates(const rt::Plan &plan) {
    if (std::exchange(areStatesZero, true))
      return;
    if (states.data())
      std::memset(states.data(), 0, static_cast<size_t>(plan.stateBytes));
    for (GuardedBuffer &guard : guardedStates)
      if (guard.data())
        std::memset(guard.data(), 0, guard.size());
  }

  Status placeArena(const rt::Plan &plan) {
    DLC_TRY(arena.reserve(plan.arenaBytes, "the activations"));
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (plan.buffers[i].storage == Storage::arena)
        addresses.of[i] = arena.data() + plan.buffers[i].offset;
    staging.resize(plan.buffers.size()); // blocks of other shapes serve again
    return {};
  }

  /// Checked mode: every buffer but those of the program gets a mapping of its own.
  Status guardBuffers(const rt::Plan &plan) {
    guarded.clear();
    guarded.resize(plan.buffers.size());
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (!isInterface(buffer) && buffer.storage != Storage::arena)
        continue;
      if (buffer.root == i) {
        rt::Expected<GuardedBuffer> made = GuardedBuffer::create(buffer.bytes);
        if (made.failed())
          return made.status();
        guarded[i] = made.take();
      }
      addresses.of[i] = guarded[buffer.root].data();
      addresses.guards[i] = &guarded[buffer.root];
    }
    return {};
  }

  Status fillGuarded(const rt::Plan &plan, const std::vector<rt::Argument> &inputs) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.root != i || !guarded[i].data())
        continue;
      guarded[i].setWritable(true);
      if (buffer.storage != Storage::input) {
        guarded[i].poison();
        continue;
      }
      if (buffer.bytes)
        std::memcpy(guarded[i].data(), inputs[buffer.index].data, buffer.bytes);
      guarded[i].setWritable(false);
    }
    return {};
  }

  Status useCallerMemory(const rt::Plan &plan, const std::vector<rt::Argument> &inputs,
                         const std::vector<rt::Argument> &outputs) {
    ranges.clear();
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.root != i || !isInterface(buffer))
        continue;
      bool isOutput = buffer.storage == Storage::output;
      auto *theirs = static_cast<uint8_t *>(
          isOutput ? outputs[buffer.index].data : const_cast<void *>(inputs[buffer.index].data));
      ranges.push_back({theirs, theirs + buffer.bytes, isOutput, static_cast<uint32_t>(i)});
    }
    for (const Range &range : ranges) {
      uint8_t *place = range.begin;
      int64_t bytes = range.end - range.begin;
      if (!place || reinterpret_cast<uintptr_t>(place) % abi::kBufferAlignment ||
          (range.isOutput && isShared(range))) {
        DLC_TRY(staging[range.buffer].reserve(std::max<int64_t>(bytes, 1),
                                              "the staging copies of inputs and outputs"));
        place = staging[range.buffer].data();
        if (!range.isOutput && bytes)
          std::memcpy(place, range.begin, bytes);
      }
      addresses.of[range.buffer] = place;
    }
    for (size_t i = 0; i < plan.buffers.size(); ++i)
      if (isInterface(plan.buffers[i]))
        addresses.of[i] = addresses.of[plan.buffers[i].root];
    return {};
  }

  struct Range {
    uint8_t *begin, *end;
    bool isOutput;
    uint32_t buffer;
  };
  /// Whether an output overlaps another array of the call: a kernel would destroy what a later one
  /// reads.
  bool isShared(const Range &range) const {
    for (const Range &other : ranges)
      if (other.buffer != range.buffer && other.begin < range.end && range.begin < other.end)
        return true;
    return false;
  }

  std::shared_ptr<CpuProgram> program;
  CommandRunner runner;
  bool profiled;
  std::chrono::milliseconds timeout; ///< of a run's commands; 0: none
  std::string name;
  std::list<BoundShape> shapes; ///< bound last, the newest first, which is the one that runs
  Addresses addresses;
  HostBlock arena;
  HostBlock states;                         ///< one behind another
  std::vector<GuardedBuffer> guardedStates; ///< checked mode: by their numbers
  bool areStatesZero = false;               ///< or hold what runs have left
  std::vector<HostBlock> staging;           ///< by buffer
  std::vector<GuardedBuffer> guarded;       ///< checked mode: by buffer
  std::vector<Range> ranges;
};

} // namespace

rt::Expected<std::unique_ptr<rt::Executor>>
dlc::cpu::createExecutor(rt::Module &module, const rt::ExecutorOptions &options) {
  int threads = options.threads > 0 ? options.threads : availableThreads();
  std::shared_ptr<ThreadPool> pool = ThreadPool::shared(threads);
  IeeeArithmetic ieee;
  rt::Expected<std::shared_ptr<CpuProgram>> program =
      CpuProgram::get(module, pool, options.checked);
  if (program.failed())
    return program.status();
  return std::unique_ptr<rt::Executor>(
      std::make_unique<CpuExecutor>(module, program.take(), pool, options));
}
