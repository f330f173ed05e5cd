//===- KernelProfile.h - What each kernel of a model takes --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_MEASURE_KERNELPROFILE_H
#define DLC_TOOLS_DRIVER_MEASURE_KERNELPROFILE_H

#include "runtime/schema/module_generated.h"
#include "tools/driver/base/Json.h"
#include "tools/driver/run/Session.h"

#include <cstdio>
#include <string>
#include <vector>

namespace dlc {

/// snprintf into a string; at most 511 bytes.
template <typename... Args> std::string format(const char *pattern, Args... args) {
  char text[512];
  snprintf(text, sizeof(text), pattern, args...);
  return text;
}

/// The kernels of a model over some runs in which each is timed: launched one by one, so that a run
/// takes longer than otherwise.
class KernelProfile {
public:
  /// Runs the model on these inputs; an ExitCode.
  int measure(const std::string &model, const DeviceOptions &device,
              const std::vector<std::string> &inputs);

  /// A table, the slowest first. `wide`: with operations, bytes and shares of the peak.
  std::string asText(bool wide) const;
  /// An object for each kernel, in an array that is open.
  void write(Json &json) const;
  /// The last run in the Trace Event Format: one slice a launch.
  std::string asTrace() const;

private:
  /// A kernel over the runs.
  struct KernelTime {
    std::string name, kind, lines;
    int64_t launches = 0;    // in one run
    double milliseconds = 0; // of all launches of one run
    double flops = 0, bytes = 0;
  };
  struct Slice {
    size_t kernel;
    double start, microseconds;
    int64_t flops, bytes;
  };
  void add(const dlc_profile_entry &entry, const std::vector<const schema::Program *> &programs,
           int run, int runs);

  std::string model, device;
  std::vector<KernelTime> kernels;
  std::vector<Slice> lastRun;
  double peakFlops = 0, peakBytes = 0; // a second; 0: not known
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_MEASURE_KERNELPROFILE_H
