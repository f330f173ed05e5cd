//===- CudaExecutor.cpp - A context that runs on a GPU ---------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One block of GPU memory holds the activations, and those inputs and outputs that the caller has
// in host memory. Runs come one after another, in one stream, the caller's or the context's own, or
// in those that enqueue() is given; run() returns when the outputs are in the caller's memory.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/CudaExecutor.h"
#include "runtime/core/Text.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/cuda/driver/StreamOrder.h"
#include "runtime/cuda/graphs/BoundShapes.h"
#include "runtime/cuda/graphs/RunArguments.h"
#include "runtime/cuda/graphs/ShapeForms.h"
#include "runtime/schema/KernelAbi.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <new>
#include <thread>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using schema::Storage;

namespace {

class CudaExecutor : public rt::Executor {
public:
  CudaExecutor(const rt::Module &module, std::shared_ptr<CudaProgram> shared,
               const rt::ExecutorOptions &options, KernelOptions kernels)
      : program(std::move(shared)), kernelOptions(std::move(kernels)), gpu(program->device()),
        driver(gpu.driver()), profiled(options.profile), timed(options.timeDevice),
        noGraph(options.noGraph), asksLibrary(options.cublas == DLC_CUBLAS_ALWAYS),
        overlaps(!options.noOverlap && !options.profile), // a kernel's time is its own
        timeout(options.timeoutMs),
        name(rt::text("cuda:", gpu.ordinal(), " (", gpu.name(), ", sm_", gpu.architecture(), ")")),
        stream(static_cast<Stream>(options.stream)), order(gpu),
        library(gpu, useOf(options.cublas)), arguments(gpu, module), shapes(gpu), forms(gpu) {}

  ~CudaExecutor() override {
    if (gpu.isHung())
      return;
    ContextScope scope(gpu);
    // Runs in flight must not outlive the memory that they use.
    (void)order.finish();
    shapes.clear();
    forms.clear();
    library.close();
    arguments.release();
    order.release();
    for (const auto *made : {&events, &marks})
      for (Event event : *made)
        driver.eventDestroy(event);
    if (own)
      driver.streamDestroy(own);
    tensors.clear();
    arena.release();
    exchange.release();
    states.release();
    workspace.release();
  }

  Status start() {
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    if (stream)
      DLC_TRY(order.check(stream));
    DLC_TRY(gpu.check(driver.streamCreate(&own, kStreamNonBlocking), "create a stream"));
    if (!stream)
      stream = own;
    order.setHome(stream);
    return {};
  }

  const std::string &device() const override { return name; }
  std::string remarks() const override {
    const std::string kernels = program->remarks(), &products = library.remarks();
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
    // Runs in flight use the buffers that may move now.
    DLC_TRY(order.finish());
    bound = shapes.find(binding.symbols);
    if (!bound) {
      // Each product that the library shall compute is a launch of its own.
      rt::VariantUse variants = program->variants();
      variants.chains &= !asksLibrary;
      rt::Expected<rt::Plan> planned = planProgram(program->program(), binding.values,
                                                   rt::Phase::main, rt::Interface::arena, variants);
      if (planned.failed())
        return planned.status();
      DLC_TRY(program->require(*planned, kernelOptions));
      bound = &shapes.add(binding.symbols, planned.take());
    }
    Status status = place();
    if (!status.failed())
      status = refresh();
    if (status.failed()) {
      bound = nullptr;
      shapes.clear(); // their addresses are of an arena that is gone
    }
    return status;
  }

  void resetStates() override { areStatesZero = false; }

  rt::Expected<rt::Argument> stateMemory(size_t index) override {
    for (size_t i = 0; bound && i < bound->plan.buffers.size(); ++i) {
      const rt::PlannedBuffer &buffer = bound->plan.buffers[i];
      if (buffer.storage != Storage::state || buffer.index != index)
        continue;
      ContextScope scope(gpu);
      DLC_TRY(scope.status());
      DLC_TRY(clearStates(stream));
      return rt::Argument{reinterpret_cast<void *>(states.address() + buffer.offset), true};
    }
    return rt::noBoundStates();
  }
  bool takesDeviceMemory() const override { return true; }

  Status prepare() override {
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    bound->isPrepared = true;
    return capture();
  }

  bool keepsLine() const override { return true; }

  rt::Expected<std::shared_ptr<rt::EnqueuedRun>>
  enqueue(const rt::Binding &binding, const std::vector<rt::Argument> &inputs,
          const std::vector<rt::Argument> &outputs, void *callersStream, bool wanted) override {
    DLC_TRY(gpu.usable());
    if (profiled || timed || timeout.count() > 0)
      return Status(DLC_USAGE, "a context with the option 'profile', 'time_device' or 'timeout_ms' "
                               "waits for each run: use "
                               "dlc_context_run, or a context without them");
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    BoundShape *shape = shapes.find(binding.symbols);
    if (!shape || !shape->isPrepared)
      return Status(
          DLC_NOT_PREPARED,
          "the shapes of this run are not prepared: call dlc_context_prepare with them first");
    auto into = callersStream ? static_cast<Stream>(callersStream) : stream;
    if (into != own)
      DLC_TRY(order.check(into));
    bound = shape;
    bool moved = false;
    DLC_TRY(arguments.place(bound->plan, bound->arena, inputs, outputs, bound->addresses, moved));
    bound->isStale |= moved;
    DLC_TRY(arguments.checkPinned());
    std::shared_ptr<EventRun> run;
    if (wanted) {
      auto made = EventRun::create(program->sharedDevice(), binding.outputs);
      if (made.failed())
        return made.status();
      run = made.take();
    }
    DLC_TRY(order.begin(into));
    Status status;
    try {
      status = enqueueRun(into, /*mayStage=*/false);
    } catch (const std::bad_alloc &) { // what has been enqueued must be waited for
      status = {DLC_DEVICE, "out of memory"};
    }
    Status ended = order.end(into);
    if (!status.failed())
      status = ended;
    if (!status.failed() && run)
      status = run->record(into);
    if (status.failed()) {
      // The arrays are the caller's again. Blocks that were not all run have left their counters
      // anywhere.
      (void)gpu.check(driver.streamSynchronize(into), "finish the run");
      isExchangeClear = false;
      return status;
    }
    ++bound->runs;
    return std::shared_ptr<rt::EnqueuedRun>(std::move(run));
  }

  Status synchronize() override {
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    return order.finish();
  }

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
    DLC_TRY(order.begin(stream));
    Status status = enqueueRun(stream, /*mayStage=*/true);
    (void)order.end(stream); // which cannot fail for the context's stream
    if (gpu.isHung())
      return status;
    // Also after a failure: copies from and to the caller's memory must not outlive this call.
    Status finished = order.finish();
    // Blocks that were not all run have left their counters anywhere.
    isExchangeClear &= !status.failed() && !finished.failed();
    DLC_TRY(status);
    DLC_TRY(finished);
    arguments.deliver();
    ++bound->runs;
    return readEvents();
  }

  rt::Expected<void *> allocate(size_t bytes) override {
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    DeviceBlock block;
    DLC_TRY(block.reserve(gpu, static_cast<int64_t>(bytes),
                          "the tensors between the model's segments"));
    auto *address = reinterpret_cast<void *>(block.address());
    tensors.emplace(address, std::move(block));
    return address;
  }

  void release(void *block) override {
    if (gpu.isHung())
      return;
    ContextScope scope(gpu);
    tensors.erase(block);
  }

  Status copy(rt::Argument target, rt::Argument source, size_t bytes) override {
    if (bytes == 0)
      return {};
    if (!target.onDevice && !source.onDevice)
      return Executor::copy(target, source, bytes);
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    auto address = [](const rt::Argument &place) {
      return reinterpret_cast<DevicePtr>(place.data);
    };
    DLC_TRY(order.begin(stream));
    Status status =
        !target.onDevice
            ? gpu.check(driver.memcpyDtoHAsync(target.data, address(source), bytes, stream),
                        "copy a tensor between the model's segments")
        : source.onDevice
            ? gpu.check(driver.memcpyDtoDAsync(address(target), address(source), bytes, stream),
                        "copy a tensor between the model's segments")
            : gpu.check(driver.memcpyHtoDAsync(address(target), source.data, bytes, stream),
                        "copy a tensor between the model's segments");
    (void)order.end(stream); // which cannot fail for the context's stream
    // Copies from and to host memory may be read or changed when this returns.
    if (!status.failed() && target.onDevice && source.onDevice)
      return {};
    Status finished = order.finish();
    return status.failed() ? status : finished;
  }

  /// Profiling, timing and timeouts wait for each run.
  Status launch(const std::vector<rt::Argument> &inputs,
                const std::vector<rt::Argument> &outputs) override {
    if (profiled || timed || timeout.count() > 0)
      return run(inputs, outputs);
    DLC_TRY(gpu.usable());
    ContextScope scope(gpu);
    DLC_TRY(scope.status());
    bool moved = false;
    DLC_TRY(arguments.place(bound->plan, bound->arena, inputs, outputs, bound->addresses, moved));
    bound->isStale |= moved;
    DLC_TRY(order.begin(stream));
    Status status = enqueueRun(stream, /*mayStage=*/false);
    (void)order.end(stream);
    if (status.failed()) {
      isExchangeClear = false;
      return status;
    }
    ++bound->runs;
    return {};
  }

  void *streamHandle() const override { return stream; }

private:
  static LibraryUse useOf(dlc_cublas cublas) {
    return cublas == DLC_CUBLAS_NEVER    ? LibraryUse::never
           : cublas == DLC_CUBLAS_ALWAYS ? LibraryUse::always
                                         : LibraryUse::estimated;
  }

  /// Zeros the states where they shall be zero.
  Status clearStates(Stream into) {
    if (bound->plan.stateBytes > 0 && !areStatesZero)
      DLC_TRY(gpu.check(driver.memsetD8Async(states.address(), 0,
                                             static_cast<size_t>(bound->plan.stateBytes), into),
                        "clear the states"));
    areStatesZero = true;
    return {};
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
    if (!isPlaced()) {
      bound->graph.forget();
      bound->runs = 0;
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

  /// Places the prepared shapes anew where a block has moved, and records their graphs for that
  /// place.
  Status refresh() {
    BoundShape *wanted = bound;
    Status status;
    for (BoundShape &shape : shapes) {
      bound = &shape;
      if (shape.isPrepared && !status.failed() && !isPlaced()) {
        status = place();
        if (!status.failed())
          status = capture();
      }
    }
    bound = wanted;
    return status;
  }

  /// The addresses are those of the blocks.
  bool isPlaced() const {
    return !bound->addresses.empty() && bound->arena == arena.address() &&
           bound->exchange == exchange.address() && bound->states == states.address() &&
           bound->workspace == workspace.address();
  }

  bool mayUseGraph() const { return !profiled && !noGraph && !bound->graph.isGivenUp(); }

  /// Records the commands as the bound shape's graph, where that pays and can be done.
  Status capture() {
    CommandGraph &graph = bound->graph;
    if (!mayUseGraph() || (graph.isMade() && !bound->isStale))
      return {};
    if (!graph.isMade() || !patch(graph, Patched::interface)) {
      DLC_TRY(gpu.usable());
      DLC_TRY(record(graph));
    }
    bound->isStale = false;
    return {};
  }

  Status record(CommandGraph &graph) {
    return graph.record(
        own, [&] { return enqueueEach(own, /*marked=*/false, &graph); },
        [&] { return order.finish(); });
  }

  bool patch(CommandGraph &graph, Patched which) {
    return graph.patch(*program, bound->plan, bound->addresses, which);
  }

  /// The graph that has this run's commands; null where they are enqueued one by one. From its
  /// second run on, or ahead, a shape has a graph of its own. The first run may be its last, and
  /// takes the graph of the shape's form.
  Status findGraph(CommandGraph *&graph) {
    graph = nullptr;
    if (!mayUseGraph())
      return {};
    if (bound->runs > 0 || bound->isPrepared) {
      DLC_TRY(capture());
      graph = &bound->graph;
    } else if (CommandGraph *shared = forms.find(program->program(), *bound)) {
      if (!shared->isMade() && !shared->isGivenUp())
        DLC_TRY(record(*shared));
      else if (shared->isMade() && !patch(*shared, Patched::all))
        shared->giveUp();
      DLC_TRY(gpu.usable());
      graph = shared;
    }
    if (graph && !graph->isMade())
      graph = nullptr;
    return {};
  }

  /// `mayStage`: where there is a graph, copies of small arrays in host memory go through memory
  /// that is pinned, until deliver().
  Status enqueueRun(Stream into, bool mayStage) {
    CommandGraph *graph = nullptr;
    DLC_TRY(findGraph(graph));
    DLC_TRY(arguments.copyIn(bound->addresses, into, mayStage && graph));
    if (bound->plan.exchangeBytes > 0 && !isExchangeClear) {
      DLC_TRY(
          gpu.check(driver.memsetD8Async(exchange.address(), 0, abi::kExchangeCounterBytes, into),
                    "clear what blocks exchange"));
      isExchangeClear = true;
    }
    DLC_TRY(clearStates(into));
    if (profiled || timed)
      DLC_TRY(recordEvent(0));
    DLC_TRY(enqueueCommands(into, graph));
    if (timed && !profiled)
      DLC_TRY(recordEvent(1));
    // Before copies to ordinary memory, which wait in the driver.
    if (timeout.count() > 0)
      DLC_TRY(await());
    return arguments.copyOut(bound->addresses, into);
  }

  /// The commands as a graph, or one by one: where there is none, or it does not start.
  Status enqueueCommands(Stream into, CommandGraph *graph) {
    isReplayed = graph && !gpu.check(graph->launch(into), "launch a graph").failed();
    if (isReplayed)
      return {};
    if (graph) {
      DLC_TRY(gpu.usable());
      DLC_TRY(order.finish()); // a run in flight may be of this graph
      graph->giveUp();
    }
    return enqueueEach(into, /*marked=*/timeout.count() > 0);
  }

  /// `recording`: the graph that the stream's capture becomes.
  Status enqueueEach(Stream into, bool marked, CommandGraph *recording = nullptr) {
    for (size_t i = 0; i < bound->plan.commands.size(); ++i) {
      std::unique_ptr<LibraryProduct> &product = bound->products[i];
      if (product && !library.enqueue(*product, bound->addresses, bound->workspace, into))
        product.reset();
      if (!product)
        DLC_TRY(program->enqueue(bound->plan, bound->plan.commands[i], bound->addresses, into,
                                 overlaps));
      if (recording && !product && !bound->plan.commands[i].skip)
        recording->note(i, into);
      if (profiled)
        DLC_TRY(recordEvent(i + 1));
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

  Status recordEvent(size_t event) {
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
      if (command.isInChain)
        continue;
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
  const KernelOptions kernelOptions;
  GpuDevice &gpu;
  const Driver &driver;
  static constexpr std::chrono::microseconds kLongestPause{1000};

  bool profiled, timed, noGraph, asksLibrary, overlaps;
  std::chrono::milliseconds timeout; ///< of a run's commands; 0: none
  bool isReplayed = false;           ///< the current run launched a graph
  std::string name;
  Stream stream;        ///< the caller's or `own`
  Stream own = nullptr; ///< also for capturing: the caller's may be one that cannot
  StreamOrder order;
  std::vector<Event>
      events; ///< before the first command, then after each (profiled) or the last (timed)
  std::vector<Event> marks; ///< with a timeout: after each command, and after all
  DeviceBlock arena, exchange, states, workspace;
  std::map<void *, DeviceBlock> tensors; ///< from allocate()
  int64_t exchangeRoom = 0;
  bool isExchangeClear = false; ///< its counters are zero
  bool areStatesZero = false;   ///< or hold what runs have left
  MatrixLibrary library;        ///< outlives the products in `shapes`
  RunArguments arguments;
  BoundShapes shapes;
  ShapeForms forms;
  BoundShape *bound = nullptr; ///< one of `shapes`
  double deviceTime = -1;
};

} // namespace

rt::Expected<std::unique_ptr<rt::Executor>>
dlc::cuda::createExecutor(rt::Module &module, int ordinal, const rt::ExecutorOptions &options) {
  if (options.checked)
    return Status(DLC_UNSUPPORTED, "checked mode is for the CPU; the emulator checks CUDA kernels");
  KernelOptions kernels;
  kernels.noJit = options.noJit;
  if (options.cacheFolder)
    kernels.cacheFolder = options.cacheFolder;
  kernels.progress = options.progress;
  rt::Expected<std::shared_ptr<CudaProgram>> program = CudaProgram::get(module, ordinal, kernels);
  if (program.failed())
    return program.status();
  auto executor =
      std::make_unique<CudaExecutor>(module, program.take(), options, std::move(kernels));
  DLC_TRY(executor->start());
  return std::unique_ptr<rt::Executor>(std::move(executor));
}
