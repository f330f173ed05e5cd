//===- CudaExecutor.cpp - A context that runs on a GPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One block of GPU memory holds the activations, and those inputs and outputs that the caller has in host memory.
// Everything runs on one stream, the caller's or the context's own; run() returns when the outputs are in
// the caller's memory.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaExecutor.h"
#include "runtime/core/Text.h"
#include "runtime/cuda/BoundShapes.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/RunArguments.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <chrono>
#include <thread>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using schema::Storage;

namespace {

class CudaExecutor : public rt::Executor {
public:
  CudaExecutor(const rt::Module &module, std::shared_ptr<CudaProgram> shared,
               const rt::ExecutorOptions &options)
      : program(std::move(shared)), gpu(program->device()), driver(gpu.driver()),
        profiled(options.profile), timed(options.timeDevice), noGraph(options.noGraph),
        overlaps(!options.noOverlap && !options.profile), // a kernel's time is its own
        timeout(options.timeoutMs),
        name(rt::text("cuda:", gpu.ordinal(), " (", gpu.name(), ", sm_", gpu.architecture(), ")")),
        stream(static_cast<Stream>(options.stream)), library(gpu, useOf(options.cublas)),
        arguments(gpu, module), shapes(gpu) {}

  ~CudaExecutor() override {
    if (gpu.isHung())
      return;
    ContextScope scope(gpu);
    // What a failed run left in the stream must not outlive the memory that it works on.
    if (isPending)
      driver.streamSynchronize(stream);
    shapes.clear();
    library.close();
    arguments.release();
    for (const auto *made : {&events, &marks})
      for (Event event : *made)
        driver.eventDestroy(event);
    if (own)
      driver.streamDestroy(own);
    arena.release();
    exchange.release();
    states.release();
    workspace.release();
  }

  Status start() {
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    if (stream)
      DLC_TRY(checkCallersStream());
    DLC_TRY(gpu.check(driver.streamCreate(&own, kStreamNonBlocking), "create a stream"));
    if (!stream)
      stream = own;
    return {};
  }

  const std::string &device() const override { return name; }
  std::string remarks() const override {
    const std::string &kernels = program->remarks(), &products = library.remarks();
    return kernels + (kernels.empty() || products.empty() ? "" : "\n") + products;
  }
  double deviceMicroseconds() const override { return deviceTime; }

  dlc_memory_info memory() const override {
    rt::Plan none;
    const rt::Plan &plan = bound ? bound->plan : none;
    return {sizeof(dlc_memory_info), program->weightBytes(), plan.persistentBytes,
            plan.arenaBytes,         plan.exchangeBytes,     plan.stateBytes};
  }

  Status bind(const rt::Binding &binding) override {
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    bound = shapes.find(binding.symbols);
    if (!bound) {
      rt::Expected<rt::Plan> planned =
          planProgram(program->program(), binding.values, rt::Phase::main, rt::Interface::arena,
                      program->specialGpu());
      if (planned.failed())
        return planned.status();
      bound = &shapes.add(binding.symbols, planned.take());
    }
    Status status = place();
    if (status.failed()) {
      bound = nullptr;
      shapes.clear(); // their addresses are of an arena that is gone
    }
    return status;
  }

  void resetStates() override { areStatesZero = false; }
  bool takesDeviceMemory() const override { return true; }

  Status run(const std::vector<rt::Argument> &inputs,
             const std::vector<rt::Argument> &outputs) override {
    profileEntries.clear();
    deviceTime = -1;
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    bool moved = false;
    DLC_TRY(arguments.place(bound->plan, bound->arena, inputs, outputs, bound->addresses, moved));
    bound->isStale |= moved;
    isPending = true;
    Status status = enqueue();
    if (gpu.isHung())
      return status;
    // Also after a failure: copies from and to the caller's memory must not outlive this call.
    Status finished = gpu.check(driver.streamSynchronize(stream), "finish the run");
    isPending = finished.failed();
    // Blocks that were not all run have left their counters anywhere.
    isExchangeClear &= !status.failed() && !finished.failed();
    DLC_TRY(status);
    DLC_TRY(finished);
    arguments.deliver();
    ++bound->runs;
    return readEvents();
  }

private:
  static LibraryUse useOf(dlc_cublas cublas) {
    return cublas == DLC_CUBLAS_NEVER    ? LibraryUse::never
           : cublas == DLC_CUBLAS_ALWAYS ? LibraryUse::always
                                         : LibraryUse::estimated;
  }

  /// The stream must be of the context that the kernels are loaded into, and not be capturing: a run ends
  /// with waiting for it.
  Status checkCallersStream() {
    Context context = nullptr;
    if (driver.streamGetCtx) {
      DLC_TRY(gpu.check(driver.streamGetCtx(stream, &context), "use the caller's stream"));
      if (context != gpu.context())
        return {DLC_USAGE, rt::text("the stream belongs to another context than the primary one of "
                                    "GPU ",
                                    gpu.ordinal())};
    }
    StreamCaptureStatus status = StreamCaptureStatus::None;
    if (driver.streamIsCapturing)
      DLC_TRY(gpu.check(driver.streamIsCapturing(stream, &status), "use the caller's stream"));
    return status == StreamCaptureStatus::None
               ? Status()
               : Status(DLC_USAGE,
                        "the stream captures a graph; a run waits for its results, which "
                        "a capture cannot");
  }

  /// Makes room for the bound shape and resolves its addresses.
  Status place() {
    DLC_TRY(arena.reserve(gpu, bound->plan.arenaBytes, "the activations"));
    if (bound->plan.exchangeBytes > exchangeRoom) {
      exchangeRoom = 0;
      isExchangeClear = false;
      DLC_TRY(exchange.reserve(gpu, bound->plan.exchangeBytes, "what blocks exchange"));
      exchangeRoom = bound->plan.exchangeBytes;
    }
    DLC_TRY(states.reserve(gpu, bound->plan.stateBytes, "the states"));
    if (bound->products.empty())
      DLC_TRY(library.prepare(bound->plan, bound->products));
    size_t workspaceBytes = 0;
    for (const auto &product : bound->products)
      if (product)
        workspaceBytes = std::max(workspaceBytes, product->workspaceBytes());
    DLC_TRY(workspace.reserve(gpu, static_cast<int64_t>(workspaceBytes), "cuBLASLt's products"));
    if (bound->addresses.empty() || bound->arena != arena.address() ||
        bound->exchange != exchange.address() || bound->states != states.address() ||
        bound->workspace != workspace.address()) {
      shapes.forgetGraph(*bound);
      bound->arena = arena.address();
      bound->exchange = exchange.address();
      bound->states = states.address();
      bound->workspace = workspace.address();
      bound->addresses.assign(bound->plan.buffers.size(), 0);
      program->resolve(bound->plan, bound->addresses);
      for (size_t i = 0; i < bound->plan.buffers.size(); ++i) {
        Storage storage = bound->plan.buffers[i].storage;
        if (storage == Storage::exchange)
          bound->addresses[i] = exchange.address();
        else if (storage == Storage::state)
          bound->addresses[i] = states.address() + bound->plan.buffers[i].offset;
        else if (storage != Storage::weight && storage != Storage::persistent)
          bound->addresses[i] = arena.address() + bound->plan.buffers[i].offset;
      }
    }
    size_t wanted = profiled ? bound->plan.commands.size() + 1 : timed ? 2 : 0;
    while (events.size() < wanted) {
      Event event = nullptr;
      DLC_TRY(gpu.check(driver.eventCreate(&event, kEventDefault), "create an event"));
      events.push_back(event);
    }
    while (timeout.count() > 0 && marks.size() <= bound->plan.commands.size()) {
      Event mark = nullptr;
      DLC_TRY(gpu.check(driver.eventCreate(&mark, kEventDisableTiming), "create an event"));
      marks.push_back(mark);
    }
    return {};
  }

  Status enqueue() {
    DLC_TRY(arguments.copyIn(bound->addresses, stream, /*replayed=*/bound->graph != nullptr));
    if (bound->plan.exchangeBytes > 0 && !isExchangeClear) {
      DLC_TRY(
          gpu.check(driver.memsetD8Async(exchange.address(), 0, abi::kExchangeCounterBytes, stream),
                    "clear what blocks exchange"));
      isExchangeClear = true;
    }
    if (bound->plan.stateBytes > 0 && !areStatesZero) {
      DLC_TRY(gpu.check(driver.memsetD8Async(states.address(), 0,
                                             static_cast<size_t>(bound->plan.stateBytes), stream),
                        "clear the states"));
      areStatesZero = true;
    }
    if (profiled || timed)
      DLC_TRY(record(0));
    DLC_TRY(enqueueCommands());
    if (timed && !profiled)
      DLC_TRY(record(1));
    // Before copies to ordinary memory, which wait in the driver.
    if (timeout.count() > 0)
      DLC_TRY(await());
    return arguments.copyOut(bound->addresses, stream);
  }

  /// The commands one by one, or as a graph: not for a shape's first run, which may be its last, and not
  /// where each command is timed.
  Status enqueueCommands() {
    isReplayed = false;
    if (!profiled && !noGraph && !bound->withoutGraph && bound->runs > 0) {
      if (!bound->graph || bound->isStale)
        DLC_TRY(shapes.capture(*bound, own, [&] { return enqueueEach(own, /*marked=*/false); }));
      if (bound->graph && !bound->withoutGraph) {
        Status launched = gpu.check(driver.graphLaunch(bound->graph, stream), "launch a graph");
        isReplayed = !launched.failed();
        if (isReplayed)
          return {};
        DLC_TRY(gpu.usable());
        shapes.forgetGraph(*bound);
        bound->withoutGraph = true;
      }
    }
    return enqueueEach(stream, /*marked=*/timeout.count() > 0);
  }

  Status enqueueEach(Stream into, bool marked) {
    for (size_t i = 0; i < bound->plan.commands.size(); ++i) {
      std::unique_ptr<LibraryProduct> &product = bound->products[i];
      if (product && !library.enqueue(*product, bound->addresses, bound->workspace, into))
        product.reset();
      if (!product)
        DLC_TRY(program->enqueue(bound->plan, bound->plan.commands[i], bound->addresses, into,
                                 overlaps));
      if (profiled)
        DLC_TRY(record(i + 1));
      if (marked)
        DLC_TRY(mark(i));
    }
    return {};
  }

  Status mark(size_t command) {
    return gpu.check(driver.eventRecord(marks[command], stream), "record an event");
  }

  /// Waits until the commands are done, but not for ever.
  Status await() {
    using Clock = std::chrono::steady_clock;
    size_t last = bound->plan.commands.size();
    DLC_TRY(mark(last));
    const Clock::time_point end = Clock::now() + timeout;
    for (std::chrono::microseconds pause(10);; pause = std::min(2 * pause, kLongestPause)) {
      Result result = driver.eventQuery(marks[last]);
      if (result != Result::NotReady)
        return gpu.check(result, "finish the run");
      if (Clock::now() >= end)
        return gpu.hang(rt::text("after ", timeout.count(), " ms ", whatRuns()));
      std::this_thread::sleep_for(pause);
    }
  }

  std::string whatRuns() const {
    const std::vector<rt::PlannedCommand> &commands = bound->plan.commands;
    if (isReplayed)
      return rt::text("the graph of ", commands.size(),
                      " commands still runs; '--no-graph' (no_graph) tells which of them");
    size_t at = 0;
    while (at + 1 < commands.size() && driver.eventQuery(marks[at]) != Result::NotReady)
      ++at;
    const schema::Launch *launch = commands.empty() ? nullptr : commands[at].launch;
    return (launch ? rt::describeKernel(*program->program().kernels()->Get(launch->kernel()))
                   : std::string("a copy")) +
           " still runs";
  }

  Status record(size_t event) {
    return gpu.check(driver.eventRecord(events[event], stream), "record an event");
  }

  Status elapsed(size_t from, size_t to, double &microseconds) {
    float milliseconds = 0;
    DLC_TRY(gpu.check(driver.eventElapsedTime(&milliseconds, events[from], events[to]),
                      "read a kernel's time"));
    microseconds = 1000.0 * milliseconds;
    return {};
  }

  Status readEvents() {
    if (timed && !profiled)
      return elapsed(0, 1, deviceTime);
    if (!profiled)
      return {};
    deviceTime = 0;
    for (size_t i = 0; i < bound->plan.commands.size(); ++i) {
      const rt::PlannedCommand &command = bound->plan.commands[i];
      dlc_profile_entry entry{"copy", "copy", 0, command.flops, command.bytes, deviceTime};
      DLC_TRY(elapsed(i, i + 1, entry.microseconds));
      deviceTime += entry.microseconds; // between two commands lies one event only
      if (command.launch) {
        const schema::Kernel &kernel = *program->program().kernels()->Get(command.launch->kernel());
        entry.kernel = kernel.name()->c_str();
        entry.kind = bound->products[i] ? "cublasLt" : kernel.kind()->c_str();
      }
      profileEntries.push_back(entry);
    }
    return {};
  }

  std::shared_ptr<CudaProgram> program;
  GpuDevice &gpu;
  const Driver &driver;
  static constexpr std::chrono::microseconds kLongestPause{1000};

  bool profiled, timed, noGraph, overlaps;
  std::chrono::milliseconds timeout; ///< of a run's commands; 0: none
  bool isReplayed = false;           ///< the current run launched a graph
  std::string name;
  Stream stream;        ///< the caller's or `own`
  Stream own = nullptr; ///< also for capturing: the caller's may be one that cannot
  std::vector<Event>
      events; ///< before the first command, then after each (profiled) or the last (timed)
  std::vector<Event> marks; ///< with a timeout: after each command, and after all
  DeviceBlock arena, exchange, states, workspace;
  int64_t exchangeRoom = 0;
  bool isExchangeClear = false; ///< its counters are zero
  bool areStatesZero = false;   ///< or hold what runs have left
  MatrixLibrary library;        ///< outlives the products in `shapes`
  RunArguments arguments;
  BoundShapes shapes;
  BoundShape *bound = nullptr; ///< one of `shapes`
  bool isPending = false;
  double deviceTime = -1;
};

} // namespace

rt::Expected<std::unique_ptr<rt::Executor>>
dlc::cuda::createExecutor(rt::Module &module, int ordinal, const rt::ExecutorOptions &options) {
  if (options.checked)
    return Status(DLC_UNSUPPORTED, "checked mode is for the CPU; the emulator checks CUDA kernels");
  rt::Expected<std::shared_ptr<CudaProgram>> program =
      CudaProgram::get(module, ordinal, {options.noJit, options.cacheFolder, options.progress});
  if (program.failed())
    return program.status();
  auto executor = std::make_unique<CudaExecutor>(module, program.take(), options);
  DLC_TRY(executor->start());
  return std::unique_ptr<rt::Executor>(std::move(executor));
}
