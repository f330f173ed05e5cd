//===- BenchMain.cpp - gpu-bench: what a model takes, without its surroundings -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-bench FOLDER [--rotate] [--small]: FOLDER/model.bin under the shapes of the first run in
// FOLDER/plan.txt (CasePlan.h). gpu-bench --empty [--small]: a kernel that does nothing, as a row
// to read the others against.
//
// Several runs stand in one CUDA graph, and many replays of it between two events, so that neither
// the events nor the launch of a graph count; a round takes about kRound. With --rotate each run of
// the graph has weights, inputs and intermediate values of its own, more than kRotated in all, so
// that none of them is found in the second-level cache. Prints JSON: microseconds of a run (median,
// least and most of the rounds), kernels of a run, copies of the model. --small: few replays, for
// the emulator, whose times say nothing.
//===----------------------------------------------------------------------===//
#include "runtime/core/bind/ShapeBinder.h"
#include "runtime/core/package/Plan.h"
#include "runtime/cuda/CudaProgram.h"
#include "runtime/schema/KernelAbi.h"
#include "test/hardware/CasePlan.h"
#include "test/hardware/words/Words.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

using namespace dlc;
using namespace dlc::hardware;
using rt::Status;
using schema::Storage;

namespace {

/// More than twice the second-level cache of any GPU so far.
constexpr int64_t kRotated = 128 << 20;
constexpr int kMostCopies = 64, kLeastRuns = 4;
constexpr double kRound = 20e3; ///< microseconds
constexpr int kRounds = 9;

struct Options {
  std::string folder;
  bool rotate = false, small = false, empty = false;
};

/// A model with memory of its own.
class Copy {
public:
  static rt::Expected<std::unique_ptr<Copy>> make(const std::string &path, const Run &run);
  Status enqueue(cuda::Stream stream) const;
  /// The bytes that a run reads and writes, at most.
  int64_t bytes() const { return program->weightBytes() + plan.persistentBytes + plan.arenaBytes; }
  size_t launches() const {
    return size_t(std::count_if(plan.commands.begin(), plan.commands.end(),
                                [](const rt::PlannedCommand &command) { return !command.skip; }));
  }

private:
  Status prepare(const Run &run);

  std::shared_ptr<rt::Module> module;
  std::shared_ptr<cuda::CudaProgram> program;
  rt::Plan plan;
  cuda::DeviceBlock arena, states, exchange;
  std::vector<cuda::DevicePtr> addresses;
};

} // namespace

rt::Expected<std::unique_ptr<Copy>> Copy::make(const std::string &path, const Run &run) {
  auto copy = std::make_unique<Copy>();
  auto loaded = rt::Module::load(path.c_str(), /*verifyAll=*/false);
  if (loaded.failed())
    return loaded.status();
  copy->module = loaded.take();
  if (Status status = copy->prepare(run); status.failed())
    return status;
  return copy;
}

Status Copy::prepare(const Run &run) {
  std::vector<rt::Dims> dims;
  for (const Input &input : run.inputs)
    dims.push_back(input.dims);
  auto binding = rt::bindShapes(*module, dims);
  if (binding.failed())
    return binding.status();
  auto prepared = cuda::CudaProgram::get(*module, 0, {});
  if (prepared.failed())
    return prepared.status();
  program = prepared.take();
  auto planned = rt::planProgram(program->program(), binding->values, rt::Phase::main,
                                 rt::Interface::arena, program->variants());
  if (planned.failed())
    return planned.status();
  plan = planned.take();
  cuda::GpuDevice &device = program->device();
  const cuda::Driver &driver = device.driver();
  {
    cuda::ContextScope scope(device);
    DLC_TRY(scope.status());
    DLC_TRY(program->require(plan, {}));
  }
  DLC_TRY(arena.reserve(device, plan.arenaBytes, "the activations"));
  DLC_TRY(states.reserve(device, plan.stateBytes, "the states"));
  int64_t exchangeBytes = std::max<int64_t>(plan.exchangeBytes, abi::kExchangeCounterBytes);
  DLC_TRY(exchange.reserve(device, exchangeBytes, "what blocks exchange"));
  addresses.assign(plan.buffers.size(), 0);
  program->resolve(plan, addresses);
  Status status = device.check(
      driver.memsetD8Async(exchange.address(), 0, abi::kExchangeCounterBytes, nullptr), "clear");
  if (plan.stateBytes && !status.failed())
    status = device.check(
        driver.memsetD8Async(states.address(), 0, size_t(plan.stateBytes), nullptr), "clear");
  for (size_t i = 0; i < plan.buffers.size() && !status.failed(); ++i) {
    const rt::PlannedBuffer &buffer = plan.buffers[i];
    if (buffer.storage == Storage::exchange)
      addresses[i] = exchange.address();
    else if (buffer.storage == Storage::state)
      addresses[i] = states.address() + cuda::DevicePtr(buffer.offset);
    else if (buffer.storage != Storage::weight && buffer.storage != Storage::persistent)
      addresses[i] = arena.address() + cuda::DevicePtr(buffer.offset);
    if (buffer.storage == Storage::input && buffer.root == i && buffer.bytes)
      status =
          device.check(driver.memcpyHtoDAsync(addresses[i], run.inputs[buffer.index].data.data(),
                                              size_t(buffer.bytes), nullptr),
                       "copy an input");
  }
  Status finished = device.check(driver.streamSynchronize(nullptr), "prepare a model");
  return status.failed() ? status : finished;
}

Status Copy::enqueue(cuda::Stream stream) const {
  for (const rt::PlannedCommand &command : plan.commands)
    DLC_TRY(program->enqueue(plan, command, addresses, stream, /*early=*/true));
  return {};
}

//===- Measuring ----------------------------------------------------------===//

/// Captures `runs` times what `enqueue` enqueues, and prints the microseconds of one.
static Status measure(Gpu &gpu, const Options &options, int runs, size_t launches, int copies,
                      const std::function<Status(int)> &enqueue) {
  const cuda::Driver &driver = gpu.driver();
  for (int i = 0; i < copies;
       ++i) // modules are loaded when they first run, which no capture allows
    DLC_TRY(enqueue(i));
  DLC_TRY(gpu.wait());
  if (options.small)
    runs = copies;
  DLC_TRY(gpu.check(driver.streamBeginCapture(gpu.stream(), cuda::StreamCaptureMode::ThreadLocal),
                    "capture"));
  Status recorded;
  for (int i = 0; i < runs && !recorded.failed(); ++i)
    recorded = enqueue(i);
  cuda::Graph graph = nullptr;
  cuda::GraphExec exec = nullptr;
  Status ended = gpu.check(driver.streamEndCapture(gpu.stream(), &graph), "end a capture");
  DLC_TRY(recorded);
  DLC_TRY(ended);
  DLC_TRY(gpu.check(driver.graphInstantiate(&exec, graph, 0), "make a graph"));
  cuda::Event begin = nullptr, end = nullptr;
  DLC_TRY(gpu.check(driver.eventCreate(&begin, cuda::kEventDefault), "create an event"));
  DLC_TRY(gpu.check(driver.eventCreate(&end, cuda::kEventDefault), "create an event"));
  int replays = 1;
  std::vector<double> times;
  // The first two rounds find out how many replays a round takes, and warm up.
  for (int round = 0; round < (options.small ? 3 : kRounds + 2); ++round) {
    DLC_TRY(gpu.check(driver.eventRecord(begin, gpu.stream()), "record an event"));
    for (int i = 0; i < replays; ++i)
      DLC_TRY(gpu.check(driver.graphLaunch(exec, gpu.stream()), "launch a graph"));
    DLC_TRY(gpu.check(driver.eventRecord(end, gpu.stream()), "record an event"));
    DLC_TRY(gpu.wait());
    float milliseconds = 0;
    DLC_TRY(gpu.check(driver.eventElapsedTime(&milliseconds, begin, end), "read the time"));
    double one = 1e3 * double(milliseconds) / replays;
    if (round < 2) {
      if (!options.small)
        replays = int(std::clamp(kRound / std::max(one, 1.0), 1.0, 10000.0));
      continue;
    }
    times.push_back(one / runs);
  }
  driver.eventDestroy(begin);
  driver.eventDestroy(end);
  driver.graphExecDestroy(exec);
  driver.graphDestroy(graph);
  std::sort(times.begin(), times.end());
  std::printf("{\"gpu_us\": %.6g, \"gpu_us_min\": %.6g, \"gpu_us_max\": %.6g, \"launches\": %zu, "
              "\"copies\": %d, \"runs_in_graph\": %d, \"replays\": %d}\n",
              times[times.size() / 2], times.front(), times.back(), launches, copies, runs,
              replays);
  return {};
}

/// How many runs stand in one graph: several where they are short, each copy equally often.
static int runsFor(size_t launches, int copies) {
  int runs = int(std::clamp<size_t>(64 / std::max<size_t>(launches, 1), kLeastRuns, 64));
  return (runs + copies - 1) / copies * copies;
}

static Status measureEmpty(Gpu &gpu, const Options &options) {
  auto function = gpu.find(textOf("calibrate.cu"), "empty");
  if (function.failed())
    return function.status();
  unsigned long long out = 0;
  void *parameters[] = {&out};
  return measure(gpu, options, runsFor(1, 1), 1, 1,
                 [&](int) { return gpu.enqueue(*function, {{1}, {32}}, parameters); });
}

static Status measureModel(Gpu &gpu, const Options &options, const Run &run) {
  std::vector<std::unique_ptr<Copy>> copies;
  int64_t total = 0;
  do {
    auto copy = Copy::make(options.folder + "/model.bin", run);
    if (copy.failed())
      return copy.status();
    copies.push_back(copy.take());
    total += copies.back()->bytes();
  } while (options.rotate && total < (options.small ? 1 << 20 : kRotated) &&
           copies.size() < (options.small ? 2 : kMostCopies));
  size_t launches = copies.front()->launches();
  int count = int(copies.size());
  return measure(gpu, options, runsFor(launches, count), launches, count,
                 [&](int i) { return copies[size_t(i % count)]->enqueue(gpu.stream()); });
}

int main(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    options.rotate |= argument == "--rotate";
    options.small |= argument == "--small";
    options.empty |= argument == "--empty";
    if (!argument.starts_with("--"))
      options.folder = argument;
  }
  if (options.folder.empty() != options.empty) {
    std::fprintf(stderr, "usage: gpu-bench FOLDER [--rotate] [--small] | --empty [--small]\n");
    return 2;
  }
  CasePlan plan;
  if (!options.empty)
    if (std::string problem = readPlan(options.folder, plan); !problem.empty()) {
      std::fprintf(stderr, "error: %s\n", problem.c_str());
      return 5;
    }
  auto gpu = Gpu::open(0);
  if (gpu.failed()) {
    std::fprintf(stderr, "error: %s\n", gpu.status().message().c_str());
    return 5;
  }
  Status status = options.empty ? measureEmpty(**gpu, options)
                                : measureModel(**gpu, options, plan.runs.front());
  if (status.failed()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return 4;
  }
  return 0;
}
