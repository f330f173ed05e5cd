//===- BenchCommand.cpp - dlc bench: how fast a compiled model runs --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "tools/driver/CommandLine.h"
#include "tools/driver/Json.h"
#include "tools/driver/Output.h"
#include "tools/driver/Package.h"
#include "tools/driver/Session.h"

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
  bool json = false;
  dlc::DeviceOptions device;
};

/// Milliseconds.
struct Summary {
  double min, max, mean, median, p90, p95, p99;
};

/// A kernel over the profiled runs.
struct KernelTime {
  std::string name, kind, lines;
  int64_t launches = 0;    // in one run
  double milliseconds = 0; // of all launches of one run
  double flops = 0, bytes = 0;
};

struct Report {
  std::string device;
  double load, first, seconds = 0;
  std::vector<double> latencies;
  Summary summary = {};
  std::vector<KernelTime> kernels;
  dlc_memory_info memory = {};
};
} // namespace

static constexpr const char *kFooter =
    R"(One request after another (a closed loop): latency is the time of dlc_context_run, copies to and from the device
included. An input that is not given is random, its symbolic dims at their smallest. The kernel table comes from runs of
their own, which do not count.

Examples:
  dlc bench model.bin
  dlc bench model.bin --input x=32x3x224x224xf32=random --threads 4 --duration 10
  dlc bench model.bin --device cuda --json > result.json)";

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
  }
  report.seconds = since(begin) / 1000;
  report.summary = summarize(report.latencies);
  report.memory.struct_size = sizeof(report.memory);
  if (dlc_status status = dlc_context_memory(session.getContext(), &report.memory))
    return failRuntime(status);
  return kOk;
}

/// Times of each kernel over runs of a second context that records them.
static int profile(const BenchOptions &options, const std::string &device, Report &report) {
  constexpr int kRuns = 10;
  Session session;
  if (int code = session.open(options.model, options.device, /*profile=*/true))
    return code;
  if (int code = session.setInputs(options.inputs, /*fillMissing=*/true))
    return code;
  if (int code = session.bind())
    return code;
  if (int code = session.fillInputs())
    return code;
  int code = kOk;
  auto package = openPackage(options.model, code);
  if (!package)
    return code;
  const schema::Program *program =
      programOf(*package, device.starts_with("cpu") ? schema::Target::cpu : schema::Target::cuda);
  for (int run = -1; run < kRuns; ++run) { // one to warm up
    if (int failed = session.run())
      return failed;
    const dlc_profile_entry *entries = nullptr;
    size_t count = 0;
    if (dlc_status status = dlc_context_profile(session.getContext(), &entries, &count))
      return failRuntime(status);
    for (size_t i = 0; run >= 0 && i < count; ++i) {
      auto kernel =
          std::find_if(report.kernels.begin(), report.kernels.end(),
                       [&](const KernelTime &known) { return known.name == entries[i].kernel; });
      if (kernel == report.kernels.end()) {
        report.kernels.push_back({entries[i].kernel, entries[i].kind,
                                  program ? linesOf(*program, entries[i].kernel) : ""});
        kernel = report.kernels.end() - 1;
      }
      kernel->milliseconds += entries[i].microseconds / 1000 / kRuns;
      if (run > 0)
        continue;
      ++kernel->launches;
      kernel->flops += static_cast<double>(entries[i].flops);
      kernel->bytes += static_cast<double>(entries[i].bytes);
    }
  }
  std::sort(
      report.kernels.begin(), report.kernels.end(), [](const KernelTime &a, const KernelTime &b) {
        return a.milliseconds != b.milliseconds ? a.milliseconds > b.milliseconds : a.name < b.name;
      });
  return kOk;
}

//===- Text and JSON ------------------------------------------------------------------------------===//

template <typename... Args> static std::string format(const char *pattern, Args... args) {
  char text[512];
  snprintf(text, sizeof(text), pattern, args...);
  return text;
}

static std::string asText(const Report &report) {
  const Summary &s = report.summary;
  std::string out = "Device: " + report.device + "\n";
  out += format("Load: %.3f ms   First inference: %.3f ms\n", report.load, report.first);
  out += format("Memory: weights %lld, made at load %lld, intermediate %lld, scratch %lld bytes\n",
                static_cast<long long>(report.memory.weight_bytes),
                static_cast<long long>(report.memory.persistent_bytes),
                static_cast<long long>(report.memory.arena_bytes),
                static_cast<long long>(report.memory.scratch_bytes));
  out += "=== Performance summary ===\n";
  out += format("Iterations: %zu in %.3f s\n", report.latencies.size(), report.seconds);
  out += format("Throughput: %.3f qps\n",
                static_cast<double>(report.latencies.size()) / report.seconds);
  out += format("Latency: min = %.5f ms, max = %.5f ms, mean = %.5f ms, median = %.5f ms, "
                "percentile(90%%) = %.5f ms, "
                "percentile(95%%) = %.5f ms, percentile(99%%) = %.5f ms\n",
                s.min, s.max, s.mean, s.median, s.p90, s.p95, s.p99);
  double total = 0;
  for (const KernelTime &kernel : report.kernels)
    total += kernel.milliseconds;
  out += "=== Kernels ===\n";
  out += format(" %6s  %10s  %5s  %9s  %8s  %-28s %-11s %s\n", "Time %", "Time (ms)", "Calls",
                "GFLOP/s", "GB/s", "Kernel", "Kind", "Model lines");
  for (const KernelTime &kernel : report.kernels) {
    double seconds = kernel.milliseconds / 1000;
    out += format(" %6.1f  %10.5f  %5lld  %9.2f  %8.2f  %-28s %-11s ",
                  total > 0 ? 100 * kernel.milliseconds / total : 0, kernel.milliseconds,
                  static_cast<long long>(kernel.launches),
                  seconds > 0 ? kernel.flops / seconds * 1e-9 : 0,
                  seconds > 0 ? kernel.bytes / seconds * 1e-9 : 0,
                  kernel.name.substr(0, 200).c_str(), kernel.kind.substr(0, 20).c_str()) +
           kernel.lines + "\n";
  }
  return out + format(" %6.1f  %10.5f  total\n", 100.0, total);
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
  json.beginObject("memory_bytes").integer("weights", report.memory.weight_bytes);
  json.integer("persistent", report.memory.persistent_bytes)
      .integer("arena", report.memory.arena_bytes);
  json.integer("scratch", report.memory.scratch_bytes).endObject().beginArray("kernels");
  for (const KernelTime &kernel : report.kernels)
    json.beginObject()
        .string("name", kernel.name)
        .string("kind", kernel.kind)
        .string("lines", kernel.lines)
        .integer("launches", kernel.launches)
        .real("ms", kernel.milliseconds)
        .real("flops", kernel.flops)
        .real("bytes", kernel.bytes)
        .endObject();
  json.endArray().endObject();
  return json.take();
}

static int bench(const BenchOptions &options) {
  Report report = {};
  Session session;
  Clock::time_point begin = Clock::now();
  if (int code = session.open(options.model, options.device))
    return code;
  report.load = since(begin);
  report.device = dlc_context_device(session.getContext());
  if (int code = session.setInputs(options.inputs, /*fillMissing=*/true))
    return code;
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
  if (int code = profile(options, report.device, report))
    return code;
  return finishOutput(options.json ? asJson(report) : asText(report));
}

} // namespace dlc

void dlc::addBenchCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command =
      app.add_subcommand("bench", "Measure latency, throughput and the time of each kernel");
  command->footer(kFooter);
  command->add_option("model", options->model, "The compiled model, model.bin")->required();
  command->add_option("--input", options->inputs, "As for 'dlc run'; default: random")
      ->allow_extra_args(false);
  command->add_option("--iterations", options->iterations, "Run at least so often")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--warmup", options->warmup, "Milliseconds to run before measuring")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command->add_option("--duration", options->duration, "Run for at least so many seconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  options->device.declare(*command);
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([&action, options] { action = [options] { return bench(*options); }; });
}
