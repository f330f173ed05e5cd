//===- CudaExecutor.cpp - A context that runs on a GPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs and outputs are copied to and from one block of GPU memory that also holds the activations.
// Everything runs on one stream of the context; run() returns when the outputs are in the caller's memory.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaExecutor.h"
#include "runtime/core/Text.h"
#include "runtime/cuda/CudaProgram.h"

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using schema::Storage;

namespace {

class CudaExecutor : public rt::Executor {
public:
  CudaExecutor(std::shared_ptr<CudaProgram> shared, bool profiled)
      : program(std::move(shared)), gpu(program->device()), driver(gpu.driver()),
        profiled(profiled),
        name(rt::text("cuda:", gpu.ordinal(), " (", gpu.name(), ", sm_", gpu.architecture(), ")")) {
  }

  ~CudaExecutor() override {
    ContextScope scope(gpu);
    for (Event event : events)
      driver.eventDestroy(event);
    if (stream)
      driver.streamDestroy(stream);
    arena.release();
  }

  Status start() {
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    return gpu.check(driver.streamCreate(&stream, kStreamNonBlocking), "create a stream");
  }

  const std::string &device() const override { return name; }

  dlc_memory_info memory() const override {
    return {sizeof(dlc_memory_info), program->weightBytes(), plan.persistentBytes, plan.arenaBytes,
            0};
  }

  Status bind(const rt::Binding &binding) override {
    DLC_TRY(gpu.usable());
    rt::Expected<rt::Plan> planned =
        planProgram(program->program(), binding.values, rt::Phase::main, rt::Interface::arena);
    if (planned.failed())
      return planned.status();
    plan = planned.take();
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    DLC_TRY(arena.reserve(gpu, plan.arenaBytes, "the activations"));
    addresses.assign(plan.buffers.size(), 0);
    program->resolve(plan, addresses);
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      Storage storage = plan.buffers[i].storage;
      if (storage != Storage::weight && storage != Storage::persistent)
        addresses[i] = arena.address() + plan.buffers[i].offset;
    }
    return profiled ? makeEvents() : Status();
  }

  Status run(const std::vector<const void *> &inputs, const std::vector<void *> &outputs) override {
    profileEntries.clear();
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    Status status = enqueue(inputs, outputs);
    // Also after a failure: copies from and to the caller's memory must not outlive this call.
    Status finished = gpu.check(driver.streamSynchronize(stream), "finish the run");
    DLC_TRY(status);
    DLC_TRY(finished);
    return profiled ? readEvents() : Status();
  }

private:
  Status enqueue(const std::vector<const void *> &inputs, const std::vector<void *> &outputs) {
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.root == i && buffer.storage == Storage::input && buffer.bytes)
        DLC_TRY(gpu.check(
            driver.memcpyHtoDAsync(addresses[i], inputs[buffer.index], buffer.bytes, stream),
            "copy an input to the GPU"));
    }
    if (profiled)
      DLC_TRY(record(0));
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      DLC_TRY(program->enqueue(plan, plan.commands[i], addresses, stream));
      if (profiled)
        DLC_TRY(record(i + 1));
    }
    for (size_t i = 0; i < plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = plan.buffers[i];
      if (buffer.root == i && buffer.storage == Storage::output && buffer.bytes)
        DLC_TRY(gpu.check(
            driver.memcpyDtoHAsync(outputs[buffer.index], addresses[i], buffer.bytes, stream),
            "copy an output from the GPU"));
    }
    return {};
  }

  Status makeEvents() {
    while (events.size() < plan.commands.size() + 1) {
      Event event = nullptr;
      DLC_TRY(gpu.check(driver.eventCreate(&event, kEventDefault), "create an event"));
      events.push_back(event);
    }
    return {};
  }

  Status record(size_t event) {
    return gpu.check(driver.eventRecord(events[event], stream), "record an event");
  }

  Status readEvents() {
    for (size_t i = 0; i < plan.commands.size(); ++i) {
      const rt::PlannedCommand &command = plan.commands[i];
      float milliseconds = 0;
      DLC_TRY(gpu.check(driver.eventElapsedTime(&milliseconds, events[i], events[i + 1]),
                        "read a kernel's time"));
      dlc_profile_entry entry{"copy", "copy", 1000.0 * milliseconds, command.flops, command.bytes};
      if (command.launch) {
        const schema::Kernel &kernel = *program->program().kernels()->Get(command.launch->kernel());
        entry.kernel = kernel.name()->c_str();
        entry.kind = kernel.kind()->c_str();
      }
      profileEntries.push_back(entry);
    }
    return {};
  }

  std::shared_ptr<CudaProgram> program;
  GpuDevice &gpu;
  const Driver &driver;
  bool profiled;
  std::string name;
  Stream stream = nullptr;
  std::vector<Event> events; ///< before the first command and after each
  DeviceBlock arena;
  rt::Plan plan;
  std::vector<DevicePtr> addresses; ///< by buffer
};

} // namespace

rt::Expected<std::unique_ptr<rt::Executor>>
dlc::cuda::createExecutor(rt::Module &module, int ordinal, const rt::ExecutorOptions &options) {
  if (options.checked)
    return Status(DLC_UNSUPPORTED, "checked mode is for the CPU; the emulator checks CUDA kernels");
  rt::Expected<std::shared_ptr<CudaProgram>> program = CudaProgram::get(module, ordinal);
  if (program.failed())
    return program.status();
  auto executor = std::make_unique<CudaExecutor>(program.take(), options.profile);
  DLC_TRY(executor->start());
  return std::unique_ptr<rt::Executor>(std::move(executor));
}
