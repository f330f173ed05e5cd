//===- BenchCommand.cpp - dlc bench: how fast a compiled model runs -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/base/Json.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/cli/CommandLine.h"
#include "tools/driver/measure/KernelProfile.h"
#include "tools/driver/run/Session.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>

using Clock = std::chrono::steady_clock;

namespace {
struct BenchOptions {
  std::string model;
  std::vector<std::string> inputs;
  int64_t iterations = 10;
  double warmup = 200, duration = 3;
  std::string trace;
  bool json = false, profile = false, resetState = false;
  dlc::DeviceOptions device;
};

/// Milliseconds.
struct Summary {
  double min, max, mean, median, p90, p95, p99;
};

struct Report {
  std::string device;
  double load, first, seconds = 0;
  std::vector<double> latencies, deviceTimes; // ms; the GPU's, where there is one
  Summary summary = {}, deviceSummary = {};
  dlc::KernelProfile kernels;
  dlc_memory_info memory = {};
};
} // namespace

static constexpr const char *kExamples =
    R"(Sends one request after another. The latency is the time of dlc_context_run,
including copies to and from the device; on a GPU the time of its kernels is
printed, too. Inputs that are not given are random, with symbolic dims at their
smallest. The kernel table comes from separate runs.

Examples:
  dlc bench model.bin
  dlc bench model.bin --input x=32x3x224x224xf32=random --threads 4
  dlc bench model.bin --device cuda --json > result.json
  dlc bench model.bin --device cuda --profile --trace trace.json)";

namespace dlc {

static double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

static Summary summarize(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  // The smallest time that at least this part of the runs did not exceed.
  auto percentile = [&](double part) {
    size_t rank = static_cast<size_t>(std::ceil(part * static_cast<double>(times.size())));
    return times[std::clamp<size_t>(rank, 1, times.size()) - 1];
  };
  size_t middle = times.size() / 2;
  double median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  double mean =
      std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
  return {times.front(),    times.back(),    mean, median, percentile(0.90),
          percentile(0.95), percentile(0.99)};
}

/// Runs until both the iterations and the duration are over.
static int measure(Session &session, const BenchOptions &options, Report &report) {
  for (Clock::time_point begin = Clock::now(); since(begin) < options.warmup;)
    if (int code = session.run())
      return code;
  Clock::time_point begin = Clock::now();
  while (static_cast<int64_t>(report.latencies.size()) < options.iterations ||
         since(begin) < 1000 * options.duration) {
    Clock::time_point started = Clock::now();
    if (int code = session.run())
      return code;
    report.latencies.push_back(since(started));
    double microseconds;
    if (dlc_context_device_time(session.getContext(), &microseconds) == DLC_OK)
      report.deviceTimes.push_back(microseconds / 1000);
  }
  report.seconds = since(begin) / 1000;
  report.summary = summarize(report.latencies);
  if (!report.deviceTimes.empty())
    report.deviceSummary = summarize(report.deviceTimes);
  report.memory.struct_size = sizeof(report.memory);
  if (dlc_status status = dlc_context_memory(session.getContext(), &report.memory))
    return failRuntime(status);
  return kOk;
}

//===- Text and JSON --------------------------------------------------------------------------===//

static std::string asText(const Report &report, bool wide) {
  const Summary &s = report.summary;
  std::string out = "Device: " + report.device + "\n";
  out += format("Load: %.3f ms   First inference: %.3f ms\n", report.load, report.first);
  out += format("Memory: weights %lld, made at load %lld, intermediate %lld, scratch %lld bytes\n",
                static_cast<long long>(report.memory.weight_bytes),
                static_cast<long long>(report.memory.persistent_bytes),
                static_cast<long long>(report.memory.arena_bytes),
                static_cast<long long>(report.memory.scratch_bytes));
  if (report.memory.state_bytes)
    out += format("States: %lld bytes\n", static_cast<long long>(report.memory.state_bytes));
  out += "=== Performance summary ===\n";
  out += format("Iterations: %zu in %.3f s\n", report.latencies.size(), report.seconds);
  out += format("Throughput: %.3f qps\n",
                static_cast<double>(report.latencies.size()) / report.seconds);
  out += format("Latency: min = %.5f ms, max = %.5f ms, mean = %.5f ms, median = %.5f ms, "
                "percentile(90%%) = %.5f ms, "
                "percentile(95%%) = %.5f ms, percentile(99%%) = %.5f ms\n",
                s.min, s.max, s.mean, s.median, s.p90, s.p95, s.p99);
  if (!report.deviceTimes.empty()) {
    const Summary &d = report.deviceSummary;
    out += format("GPU time: min = %.5f ms, max = %.5f ms, mean = %.5f ms, median = %.5f ms, "
                  "percentile(99%%) = %.5f ms, by its events, copies not counted\n",
                  d.min, d.max, d.mean, d.median, d.p99);
  }
  return out + "=== Kernels ===\n" + report.kernels.asText(wide);
}

static std::string asJson(const Report &report) {
  const Summary &s = report.summary;
  Json json;
  json.beginObject()
      .string("device", report.device)
      .real("load_ms", report.load)
      .real("first_inference_ms", report.first);
  json.integer("iterations", static_cast<int64_t>(report.latencies.size()))
      .real("seconds", report.seconds);
  json.real("throughput_qps", static_cast<double>(report.latencies.size()) / report.seconds);
  json.beginObject("latency_ms")
      .real("min", s.min)
      .real("max", s.max)
      .real("mean", s.mean)
      .real("median", s.median);
  json.real("p90", s.p90).real("p95", s.p95).real("p99", s.p99).endObject();
  if (!report.deviceTimes.empty()) {
    const Summary &d = report.deviceSummary;
    json.beginObject("gpu_ms").real("min", d.min).real("max", d.max).real("mean", d.mean);
    json.real("median", d.median).real("p99", d.p99).endObject();
  }
  json.beginObject("memory_bytes").integer("weights", report.memory.weight_bytes);
  json.integer("persistent", report.memory.persistent_bytes)
      .integer("arena", report.memory.arena_bytes);
  json.integer("scratch", report.memory.scratch_bytes).integer("states", report.memory.state_bytes);
  json.endObject().beginArray("kernels");
  report.kernels.write(json);
  json.endArray().endObject();
  return json.take();
}

static int bench(const BenchOptions &options) {
  Report report = {};
  Session session;
  Clock::time_point begin = Clock::now();
  DeviceOptions device = options.device;
  device.timeDevice = true;
  auto checkTrace = [&] { return options.trace.empty() ? int(kOk) : checkOutput(options.trace); };
  if (int code = checkTrace())
    return code;
  if (int code = session.open(options.model, device))
    return code;
  report.load = since(begin);
  report.device = dlc_context_device(session.getContext());
  if (int code = session.setInputs(options.inputs, /*fillMissing=*/true))
    return code;
  if (int code = checkTrace()) // the inputs are known now
    return code;
  if (options.resetState)
    session.resetInEachStep();
  begin = Clock::now();
  if (int code = session.bind())
    return code;
  report.first = since(begin);
  if (int code = session.fillInputs())
    return code;
  begin = Clock::now();
  if (int code = session.run())
    return code;
  report.first += since(begin);
  if (int code = measure(session, options, report))
    return code;
  if (int code = report.kernels.measure(options.model, options.device, options.inputs))
    return code;
  if (!options.trace.empty())
    if (int code = writeFile(options.trace, report.kernels.asTrace()))
      return code;
  return finishOutput(options.json ? asJson(report) : asText(report, options.profile));
}

} // namespace dlc

void dlc::addBenchCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command =
      app.add_subcommand("bench", "Measure latency, throughput and the time of each kernel");
  setExamples(*command, kExamples);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();

  const char *group = "Measurement";
  setHelp(command->add_option("--input", options->inputs, "As for 'dlc run' [random]")
              ->allow_extra_args(false),
          group, "SPEC");
  setHelp(command->add_option("--iterations", options->iterations, "Fewest runs [10]")
              ->check(checkPositive, "POSITIVE"),
          group, "N");
  setHelp(command->add_option("--warmup", options->warmup, "Milliseconds to run first [200]")
              ->check(checkNotNegative, "NONNEGATIVE"),
          group, "MS");
  setHelp(command->add_option("--duration", options->duration, "Shortest time in all [3]")
              ->check(checkNotNegative, "NONNEGATIVE"),
          group, "SECONDS");
  setHelp(command->add_flag("--reset-state", options->resetState, "Reset states before each run"),
          group, "");
  options->device.declare(*command);
  auto *profile = setHelp(
      command->add_flag("--profile", options->profile, "Per kernel: operations, bytes, roofline"),
      group, "", R"(The last column is the share of what the GPU can do.)");
  setHelp(command->add_flag("--json", options->json, "Print JSON"), group, "")->excludes(profile);
  setHelp(command->add_option("--trace", options->trace, "Write the last profiled run as a trace"),
          group, "FILE", R"(For chrome://tracing and Perfetto.)");
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}
