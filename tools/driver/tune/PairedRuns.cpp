//===- PairedRuns.cpp - Two compiled models, timed in turn --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/PairedRuns.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/run/Package.h"
#include "tools/driver/tune/KernelRoles.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <chrono>

using Clock = std::chrono::steady_clock;

namespace dlc {
namespace {

/// Runs of a turn; the first does not count.
constexpr int kTurn = 6;
constexpr int kLeastTurns = 2;

/// One of the two models.
class TimedModel {
public:
  int open(const std::string &path, const DeviceOptions &device,
           const std::vector<std::string> &inputs, bool byKernel);
  /// Runs once and, where `counts`, keeps the times.
  int run(bool counts);
  KernelTimes kernelTimes() const;
  double medianOfRuns() const { return median(runs); }

private:
  static double median(std::vector<double> times) {
    if (times.empty())
      return 0;
    auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
  }
  int countKernels();

  struct Times {
    TimedKernel kernel;
    std::vector<double> microseconds; // a run each
  };
  Session session;
  std::shared_ptr<rt::Module> package;
  bool byKernel = false;
  std::map<std::string, KernelRole> roles; // by the kernel's name in the package
  std::map<std::string, Times> times;
  std::vector<double> runs; // ms
};

} // namespace

int TimedModel::open(const std::string &path, const DeviceOptions &device,
                     const std::vector<std::string> &inputs, bool ofKernels) {
  byKernel = ofKernels;
  DeviceOptions options = device;
  options.timeDevice = true;
  if (int code = session.open(path, options, byKernel))
    return code;
  int code = kOk;
  package = openPackage(path, code);
  if (!package)
    return code;
  bool isCpu = llvm::StringRef(dlc_context_device(session.getContext())).starts_with("cpu");
  for (const schema::Program *program :
       programsOf(*package, isCpu ? schema::Target::cpu : schema::Target::cuda))
    roles.merge(rolesOf(*program));
  if (int failed = session.setInputs(inputs, /*fillMissing=*/true))
    return failed;
  if (int failed = session.bind())
    return failed;
  return session.fillInputs();
}

/// Adds the last run to the times of the kernels.
int TimedModel::countKernels() {
  const dlc_profile_entry *entries = nullptr;
  size_t count = 0;
  if (dlc_status status = dlc_context_profile(session.getContext(), &entries, &count))
    return failRuntime(status);
  std::map<std::string, double> ofRun;
  for (size_t i = 0; i < count; ++i) {
    auto role = roles.find(entries[i].kernel);
    if (role == roles.end())
      continue; // a copy
    const auto &[launch, kernel] = role->second;
    ofRun[launch] += entries[i].microseconds;
    TimedKernel &timed = times[launch].kernel;
    timed.plan = llvm::StringRef(entries[i].kind) == "cublasLt" ? "cublaslt" : planOf(*kernel);
    timed.lines = linesOf(*kernel);
  }
  for (const auto &[launch, microseconds] : ofRun)
    times[launch].microseconds.push_back(microseconds);
  return kOk;
}

int TimedModel::run(bool counts) {
  Clock::time_point begin = Clock::now();
  if (int code = session.run())
    return code;
  double wall = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  if (!counts)
    return kOk;
  if (byKernel)
    return countKernels();
  double microseconds = 0;
  bool hasOwn = dlc_context_device_time(session.getContext(), &microseconds) == DLC_OK;
  runs.push_back(hasOwn ? microseconds / 1000 : wall);
  return kOk;
}

KernelTimes TimedModel::kernelTimes() const {
  KernelTimes result;
  for (const auto &[name, of] : times) {
    result[name] = of.kernel;
    result[name].microseconds = median(of.microseconds);
  }
  return result;
}

/// Runs both in turn for the time that `runs` gives them.
static int takeTurns(const PairedRuns &runs, bool byKernel, TimedModel &first, TimedModel &second) {
  if (int code = first.open(runs.first, runs.device, runs.inputs, byKernel))
    return code;
  if (int code = second.open(runs.second, runs.device, runs.inputs, byKernel))
    return code;
  for (TimedModel *model : {&first, &second})
    if (int code = model->run(/*counts=*/false))
      return code;
  Clock::time_point begin = Clock::now();
  auto since = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  for (int turn = 0; turn < kLeastTurns || since() < runs.seconds; ++turn)
    for (TimedModel *model : {&first, &second})
      for (int run = 0; run < kTurn; ++run)
        if (int code = model->run(/*counts=*/run > 0))
          return code;
  return kOk;
}

int PairedRuns::timeKernels(KernelTimes &ofFirst, KernelTimes &ofSecond) const {
  TimedModel one, other;
  if (int code = takeTurns(*this, /*byKernel=*/true, one, other))
    return code;
  ofFirst = one.kernelTimes();
  ofSecond = other.kernelTimes();
  return kOk;
}

int PairedRuns::timeRuns(double &ofFirst, double &ofSecond) const {
  TimedModel one, other;
  if (int code = takeTurns(*this, /*byKernel=*/false, one, other))
    return code;
  ofFirst = one.medianOfRuns();
  ofSecond = other.medianOfRuns();
  return kOk;
}

} // namespace dlc
