//===- CalibrateMain.cpp - gpu-calibrate: what a GPU's parts take -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-calibrate [--small]: prints JSON, name -> number: context creation, launches, the barrier of
// a grid, latency and bandwidth of the second-level cache and of the memory. Times are medians by
// the GPU's events. --small: sizes that the emulator bears; its times say nothing.
//===----------------------------------------------------------------------===//
#include "test/hardware/words/Words.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

using namespace dlc;
using namespace dlc::hardware;
using cuda::DeviceAttribute;
using rt::Status;

namespace {

class Calibration {
public:
  Calibration(Gpu &gpu, bool isSmall) : gpu(gpu), isSmall(isSmall) {}
  Status run();
  std::string json;

  void add(const char *name, double value) {
    char line[100];
    std::snprintf(line, sizeof line, "%s\n \"%s\": %.6g", json.empty() ? "" : ",", name, value);
    json += line;
  }

private:
  /// Median microseconds of a launch.
  Status time(const char *kernel, const Gpu::Launch &how, void **parameters, double &microseconds);
  Status launches();
  Status barriers();
  Status latency(const char *name, size_t bytes);
  Status bandwidth(const char *name, size_t bytes, int passes);
  int attribute(DeviceAttribute which) const {
    int value = 0;
    return gpu.driver().deviceGetAttribute(&value, which, 0) == cuda::Result::Success ? value : 0;
  }

  Gpu &gpu;
  bool isSmall;
  cuda::KernelText text = textOf("calibrate.cu");
};

} // namespace

Status Calibration::time(const char *kernel, const Gpu::Launch &how, void **parameters,
                         double &microseconds) {
  auto function = gpu.find(text, kernel);
  if (function.failed())
    return function.status();
  const cuda::Driver &driver = gpu.driver();
  cuda::Event begin = nullptr, end = nullptr;
  DLC_TRY(gpu.check(driver.eventCreate(&begin, cuda::kEventDefault), "create an event"));
  DLC_TRY(gpu.check(driver.eventCreate(&end, cuda::kEventDefault), "create an event"));
  std::vector<double> times;
  for (int turn = 0; turn < (isSmall ? 2 : 12); ++turn) {
    DLC_TRY(gpu.check(driver.eventRecord(begin, gpu.stream()), "record an event"));
    DLC_TRY(gpu.enqueue(*function, how, parameters));
    DLC_TRY(gpu.check(driver.eventRecord(end, gpu.stream()), "record an event"));
    DLC_TRY(gpu.wait());
    float milliseconds = 0;
    DLC_TRY(gpu.check(driver.eventElapsedTime(&milliseconds, begin, end), "read the time"));
    if (turn > 0) // the first one warms up
      times.push_back(1e3 * milliseconds);
  }
  driver.eventDestroy(begin);
  driver.eventDestroy(end);
  std::sort(times.begin(), times.end());
  microseconds = times[times.size() / 2];
  return {};
}

/// A thousand launches in a row, by the host's clock until all are done.
Status Calibration::launches() {
  auto function = gpu.find(text, "empty");
  if (function.failed())
    return function.status();
  unsigned long long out = 0;
  void *parameters[] = {&out};
  int count = isSmall ? 10 : 1000;
  double best = 0;
  for (int turn = 0; turn < 3; ++turn) {
    DLC_TRY(gpu.wait());
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i)
      DLC_TRY(gpu.enqueue(*function, {{1}, {32}}, parameters));
    DLC_TRY(gpu.wait());
    double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
                    .count() /
                count;
    best = turn == 0 ? us : std::min(best, us);
  }
  add("launch_in_stream_us", best);
  return {};
}

Status Calibration::barriers() {
  unsigned zero = 0;
  auto counter = gpu.upload(&zero, sizeof zero);
  if (counter.failed())
    return counter.status();
  int blocks = isSmall ? 4 : std::max(1, attribute(DeviceAttribute::MultiprocessorCount));
  cuda::DevicePtr address = *counter;
  double times[2];
  int rounds[2] = {isSmall ? 1 : 100, isSmall ? 5 : 1100};
  for (int i = 0; i < 2; ++i) {
    void *parameters[] = {&address, &rounds[i]};
    DLC_TRY(time("barriers", {{unsigned(blocks)}, {128}, 0, true}, parameters, times[i]));
  }
  add("grid_barrier_us", (times[1] - times[0]) / (rounds[1] - rounds[0]));
  add("grid_barrier_blocks", blocks);
  return {};
}

/// `bytes` of memory in cache lines of 128 bytes, walked in an order that no prefetcher guesses.
Status Calibration::latency(const char *name, size_t bytes) {
  size_t lines = bytes / 128;
  std::vector<uint32_t> order(lines), next(lines * 32);
  for (size_t i = 0; i < lines; ++i)
    order[i] = uint32_t(i);
  uint64_t random = 1;
  for (size_t i = lines - 1; i > 0; --i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    std::swap(order[i], order[(random >> 33) % i]);
  }
  for (size_t i = 0; i < lines; ++i)
    next[order[i] * 32] = order[(i + 1) % lines] * 32;
  uint32_t zero = 0;
  auto table = gpu.upload(next.data(), next.size() * 4), out = gpu.upload(&zero, 4);
  if (table.failed() || out.failed())
    return table.failed() ? table.status() : out.status();
  cuda::DevicePtr tableAddress = *table, outAddress = *out;
  int steps = isSmall ? 100 : int(2 * lines);
  void *parameters[] = {&tableAddress, &outAddress, &steps};
  double us = 0;
  DLC_TRY(time("chase", {{1}, {1}}, parameters, us));
  add(name, 1e3 * us / steps);
  return {};
}

Status Calibration::bandwidth(const char *name, size_t bytes, int passes) {
  std::vector<char> zeros(bytes);
  auto data = gpu.upload(zeros.data(), bytes), out = gpu.upload(zeros.data(), 16);
  if (data.failed() || out.failed())
    return data.failed() ? data.status() : out.status();
  cuda::DevicePtr dataAddress = *data, outAddress = *out;
  int n = int(bytes / 16);
  unsigned blocks =
      isSmall ? 4 : 8u * unsigned(std::max(1, attribute(DeviceAttribute::MultiprocessorCount)));
  void *parameters[] = {&dataAddress, &outAddress, &n, &passes};
  double us = 0;
  DLC_TRY(time("sweep", {{blocks}, {256}}, parameters, us));
  if (us > 0)
    add(name, double(bytes) * passes / us * 1e-3);
  return {};
}

Status Calibration::run() {
  add("multiprocessors", attribute(DeviceAttribute::MultiprocessorCount));
  add("clock_mhz", attribute(DeviceAttribute::ClockRate) / 1e3);
  add("memory_clock_mhz", attribute(DeviceAttribute::MemoryClockRate) / 1e3);
  size_t cache = size_t(attribute(DeviceAttribute::L2CacheSize));
  add("l2_bytes", double(cache));
  DLC_TRY(launches());
  DLC_TRY(barriers());
  size_t inside = isSmall ? 4096 : std::max<size_t>(cache / 4, 1 << 20) / 128 * 128,
         outside = isSmall ? 65536 : size_t(512) << 20;
  DLC_TRY(latency("l2_latency_ns", inside));
  DLC_TRY(latency("memory_latency_ns", isSmall ? outside : size_t(256) << 20));
  DLC_TRY(bandwidth("l2_read_gb_s", inside, isSmall ? 2 : 50));
  return bandwidth("memory_read_gb_s", outside, 1);
}

int main(int argc, char **argv) {
  bool isSmall = argc == 2 && std::strcmp(argv[1], "--small") == 0;
  if (argc > 1 && !isSmall) {
    std::fprintf(stderr, "usage: gpu-calibrate [--small]\n");
    return 2;
  }
  auto begin = std::chrono::steady_clock::now();
  auto gpu = Gpu::open(0);
  double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  if (gpu.failed()) {
    std::fprintf(stderr, "error: %s\n", gpu.status().message().c_str());
    return 5;
  }
  Calibration calibration(**gpu, isSmall);
  calibration.add("context_creation_ms", ms);
  if (Status status = calibration.run(); status.failed()) {
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
    return 4;
  }
  std::printf("{%s\n}\n", calibration.json.c_str());
  return 0;
}
