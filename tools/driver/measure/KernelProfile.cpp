//===- KernelProfile.cpp - What each kernel of a model takes ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/measure/KernelProfile.h"

#include "runtime/cuda/driver/Device.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/run/Package.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>

namespace dlc {

void KernelProfile::add(const dlc_profile_entry &entry,
                        const std::vector<const schema::Program *> &programs, int run, int runs) {
  auto kernel = std::find_if(kernels.begin(), kernels.end(),
                             [&](const KernelTime &known) { return known.name == entry.kernel; });
  if (kernel == kernels.end()) {
    kernels.push_back({entry.kernel, entry.kind, linesOf(programs, entry.kernel)});
    kernel = kernels.end() - 1;
  }
  kernel->milliseconds += entry.microseconds / 1000 / runs;
  if (run == 0) {
    ++kernel->launches;
    kernel->flops += static_cast<double>(entry.flops);
    kernel->bytes += static_cast<double>(entry.bytes);
  }
  if (run + 1 == runs)
    lastRun.push_back({static_cast<size_t>(kernel - kernels.begin()), entry.start_microseconds,
                       entry.microseconds, entry.flops, entry.bytes});
}

int KernelProfile::measure(const std::string &path, const DeviceOptions &options,
                           const std::vector<std::string> &inputs) {
  constexpr int kRuns = 10;
  model = path;
  Session session;
  if (int code = session.open(path, options, /*profile=*/true))
    return code;
  if (int code = session.setInputs(inputs, /*fillMissing=*/true))
    return code;
  if (int code = session.bind())
    return code;
  if (int code = session.fillInputs())
    return code;
  int code = kOk;
  auto package = openPackage(path, code);
  if (!package)
    return code;
  device = dlc_context_device(session.getContext());
  bool isCpu = device.starts_with("cpu");
  std::vector<const schema::Program *> programs =
      programsOf(*package, isCpu ? schema::Target::cpu : schema::Target::cuda);
  if (!isCpu) // "cuda:1 (...)"
    if (auto gpu = cuda::GpuDevice::open(atoi(device.c_str() + strlen("cuda:"))); !gpu.failed()) {
      peakFlops = (*gpu)->peak().flops;
      peakBytes = (*gpu)->peak().bytes;
    }
  for (int run = -1; run < kRuns; ++run) { // one to warm up
    if (int failed = session.run())
      return failed;
    const dlc_profile_entry *entries = nullptr;
    size_t count = 0;
    if (dlc_status status = dlc_context_profile(session.getContext(), &entries, &count))
      return failRuntime(status);
    for (size_t i = 0; run >= 0 && i < count; ++i)
      add(entries[i], programs, run, kRuns);
  }
  return kOk;
}

/// "12.3", or "-" where the whole is not known.
static std::string share(double part, double seconds, double whole) {
  return whole > 0 && seconds > 0 ? format("%.1f", 100 * part / seconds / whole) : "-";
}

std::string KernelProfile::asText(bool wide) const {
  std::vector<size_t> order(kernels.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return kernels[a].milliseconds != kernels[b].milliseconds
               ? kernels[a].milliseconds > kernels[b].milliseconds
               : kernels[a].name < kernels[b].name;
  });
  double total = 0, flops = 0, bytes = 0;
  for (const KernelTime &kernel : kernels) {
    total += kernel.milliseconds;
    flops += kernel.flops;
    bytes += kernel.bytes;
  }
  std::string out = format(" %6s  %10s  %5s  ", "Time %", "Time (ms)", "Calls");
  if (wide)
    out += format("%14s  %14s  ", "FLOP", "Bytes");
  out += format("%9s  %8s  ", "GFLOP/s", "GB/s");
  if (wide)
    out += format("%6s  %6s  ", "% f32", "% mem");
  out += format("%-28s %-11s %s\n", "Kernel", "Kind", "Model lines");
  for (size_t index : order) {
    const KernelTime &kernel = kernels[index];
    double seconds = kernel.milliseconds / 1000;
    out += format(" %6.1f  %10.5f  %5lld  ", total > 0 ? 100 * kernel.milliseconds / total : 0,
                  kernel.milliseconds, static_cast<long long>(kernel.launches));
    if (wide)
      out += format("%14.0f  %14.0f  ", kernel.flops, kernel.bytes);
    out += format("%9.2f  %8.2f  ", seconds > 0 ? kernel.flops / seconds * 1e-9 : 0,
                  seconds > 0 ? kernel.bytes / seconds * 1e-9 : 0);
    if (wide)
      out += format("%6s  %6s  ", share(kernel.flops, seconds, peakFlops).c_str(),
                    share(kernel.bytes, seconds, peakBytes).c_str());
    out += format("%-28s %-11s ", kernel.name.substr(0, 200).c_str(),
                  kernel.kind.substr(0, 20).c_str()) +
           kernel.lines + "\n";
  }
  out += format(" %6.1f  %10.5f  total", 100.0, total);
  if (wide)
    out += format("  %14.0f  %14.0f", flops, bytes);
  out += "\n";
  if (wide)
    out += peakFlops > 0 && peakBytes > 0
               ? format("Peak of the GPU: %.0f GFLOP/s in f32 without tensor cores, %.0f GB/s\n",
                        peakFlops * 1e-9, peakBytes * 1e-9)
               : "What this device can do at most is not known\n";
  return out;
}

void KernelProfile::write(Json &json) const {
  for (const KernelTime &kernel : kernels) {
    json.beginObject()
        .string("name", kernel.name)
        .string("kind", kernel.kind)
        .string("lines", kernel.lines)
        .integer("launches", kernel.launches)
        .real("ms", kernel.milliseconds)
        .real("flops", kernel.flops)
        .real("bytes", kernel.bytes);
    double seconds = kernel.milliseconds / 1000;
    if (peakFlops > 0 && peakBytes > 0 && seconds > 0)
      json.real("f32_share", kernel.flops / seconds / peakFlops)
          .real("memory_share", kernel.bytes / seconds / peakBytes);
    json.endObject();
  }
}

std::string KernelProfile::asTrace() const {
  Json json;
  json.beginObject().string("displayTimeUnit", "ns").beginArray("traceEvents");
  auto name = [&](const char *what, const std::string &text) {
    json.beginObject().string("name", what).string("ph", "M").integer("pid", 1).integer("tid", 1);
    json.beginObject("args").string("name", text).endObject().endObject();
  };
  name("process_name", model);
  name("thread_name", device);
  for (const Slice &slice : lastRun) {
    const KernelTime &kernel = kernels[slice.kernel];
    json.beginObject().string("name", kernel.name).string("cat", kernel.kind).string("ph", "X");
    json.integer("pid", 1).integer("tid", 1).real("ts", slice.start);
    json.real("dur", slice.microseconds).beginObject("args").string("lines", kernel.lines);
    json.integer("flops", slice.flops).integer("bytes", slice.bytes).endObject().endObject();
  }
  return json.endArray().endObject().take();
}

} // namespace dlc
