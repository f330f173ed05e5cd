//===- Tune.cpp - Which plan of each kernel is the fastest on this machine ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/tune/Tune.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/tune/PairedRuns.h"
#include "tools/driver/tune/PlanFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

#include <algorithm>
#include <unistd.h>

namespace dlc {
namespace {

/// A plan is tried only where it is estimated to take at most this many times the fastest one.
constexpr double kHopeless = 3;
/// A plan must be faster by this share to take another's place: two runs of one kernel differ by as
/// much.
constexpr double kLeastGain = 0.05;

/// A kernel of the model with the plans that it could run by.
struct TunedKernel {
  std::string name, digest;
  TimedKernel own;                     // as it runs by the estimates
  std::vector<std::string> candidates; // schedules, that with the smallest estimate first
  std::optional<TimedKernel> best;     // faster than its own
  double ownBesideBest = 0;            // microseconds, in the runs of `best`
};

/// The folder of the compiled models, gone with this object.
struct WorkFolder {
  llvm::SmallString<128> path;
  std::vector<std::string> files;
  ~WorkFolder() {
    std::error_code ignored; // what stays is in the folder of temporary files
    for (const std::string &file : files)
      ignored = llvm::sys::fs::remove(file);
    if (!path.empty())
      ignored = llvm::sys::fs::remove(path);
  }
  /// A name for a file, which goes when a signal ends the process, too.
  std::string file(const std::string &name) {
    llvm::SmallString<128> whole = path;
    llvm::sys::path::append(whole, name);
    files.push_back(whole.str().str());
    llvm::sys::RemoveFileOnSignal(whole);
    return files.back();
  }
};

class Tuning {
public:
  Tuning(const TuneOptions &options, int (*compileModel)(const CompileOptions &))
      : options(options), compileModel(compileModel) {}
  int run();

private:
  int prepare();
  void showProgress(const std::string &what) const;
  /// Compiles the model to `file`, its kernels by `forced` plans.
  int compile(const std::string &file, std::vector<std::string> forced,
              std::map<std::string, KernelPlans> *found = nullptr) const;
  PairedRuns runsOf(const std::string &other) const;
  int listKernels();
  int tryRound(size_t round, size_t rounds);
  std::vector<std::string> foundPlans() const;
  int finish();

  const TuneOptions &options;
  int (*compileModel)(const CompileOptions &);
  DeviceOptions device;
  std::string deviceName, target;
  WorkFolder folder;
  std::string ownFile; // the model by its own plans
  std::map<std::string, KernelPlans> plans;
  std::vector<TunedKernel> kernels;
};

} // namespace

void Tuning::showProgress(const std::string &what) const {
  if (options.quiet || !isatty(STDERR_FILENO))
    return;
  std::string line = what.empty() ? "\r\033[K" : "\r\033[Kdlc: tune: " + what + " ...";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

int Tuning::prepare() {
  target = options.targets.front() == "cpu" ? "cpu" : "cuda";
  device = options.device;
  if (device.device == "auto")
    device.device = target;
  bool isCpu = device.device == "cpu";
  if (isCpu != (target == "cpu"))
    return fail(kUsage, "--target " + options.targets.front() + " does not run on --device " +
                            device.device + "; expected --target " +
                            (isCpu ? "cpu" : "cuda or a GPU architecture"));
  if (int code = checkOutput(options.output))
    return code;
  if (device.device == "cuda-emu" && !options.quiet)
    complain("warning: times of the emulated GPU say nothing about a GPU: these plans are for "
             "tests alone");
  if (std::error_code error = llvm::sys::fs::createUniqueDirectory("dlc-tune", folder.path))
    return fail(kDevice, "cannot make a folder for compiled models: " + error.message());
  return kOk;
}

int Tuning::compile(const std::string &file, std::vector<std::string> forced,
                    std::map<std::string, KernelPlans> *found) const {
  CompileOptions one = options;
  one.output = file;
  one.quiet = true;
  one.forcePlan = std::move(forced);
  one.chains = "never"; // each kernel is timed by itself
  one.kernelPlans = found;
  return compileModel(one);
}

PairedRuns Tuning::runsOf(const std::string &other) const {
  return {ownFile, other, device, options.inputs, options.seconds};
}

/// "1x3x224x224", with symbolic dims at their smallest.
static std::string smallestShape(const dlc_value_info &info) {
  std::string shape;
  for (int dim = 0; dim < info.rank; ++dim)
    shape += (dim ? "x" : "") +
             std::to_string(info.dim_names[dim] ? info.min_dims[dim] : info.dims[dim]);
  return shape;
}

/// Plans are for one shape of each input: what is fastest for one is not for another.
static int checkShapes(dlc_module *module) {
  for (size_t i = 0, count = dlc_module_num_inputs(module); i < count; ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_input(module, i, &info))
      return failRuntime(status);
    for (int dim = 0; dim < info.rank; ++dim)
      if (info.dim_names[dim])
        return fail(kUsage, std::string("input '") + info.name + "' is " + describeValue(info) +
                                ", and plans are measured for one shape; give it, here and to "
                                "'dlc compile', by --shapes " +
                                info.name + ":" + smallestShape(info));
  }
  return kOk;
}

/// Finds the kernels that more than one schedule can run, and what they take by their own plans.
int Tuning::listKernels() {
  showProgress("compiling");
  ownFile = folder.file("own.bin");
  if (int code = compile(ownFile, {}, &plans))
    return code;
  {
    Session session;
    if (int code = session.open(ownFile, device))
      return code;
    deviceName = dlc_context_device(session.getContext());
    if (int code = checkShapes(session.getModule()))
      return code;
  }
  showProgress("timing the model's own plans");
  KernelTimes own, again;
  if (int code = runsOf(ownFile).timeKernels(own, again))
    return code;
  for (const auto &[name, timed] : own) {
    const KernelPlans &known = plans[name];
    TunedKernel kernel{name, known.digest, timed, {}, {}, 0};
    for (const auto &[plan, ns] : known.plans)
      if (plan != timed.plan && double(ns) <= kHopeless * double(known.plans.front().second) &&
          kernel.candidates.size() < static_cast<size_t>(options.candidates))
        kernel.candidates.push_back(plan);
    if (!kernel.candidates.empty())
      kernels.push_back(std::move(kernel));
  }
  return kOk;
}

/// Runs each kernel by its candidate of this number, beside the model's own plans.
int Tuning::tryRound(size_t round, size_t rounds) {
  std::string number = llvm::formatv("round {0} of {1}: ", round + 1, rounds);
  std::vector<std::string> forced;
  for (const TunedKernel &kernel : kernels)
    if (round < kernel.candidates.size())
      forced.push_back(kernel.name + "=" + kernel.candidates[round]);
  showProgress(number + "compiling");
  std::string file = folder.file(llvm::formatv("round{0}.bin", round + 1));
  if (int code = compile(file, forced))
    return code;
  showProgress(number + llvm::formatv("timing {0} kernels", forced.size()).str());
  KernelTimes own, others;
  if (int code = runsOf(file).timeKernels(own, others))
    return code;
  for (TunedKernel &kernel : kernels) {
    if (round >= kernel.candidates.size())
      continue;
    const TimedKernel &one = own[kernel.name], &other = others[kernel.name];
    if (other.plan != kernel.candidates[round] || other.microseconds <= 0)
      continue; // it cannot run so here
    double gain = one.microseconds / other.microseconds,
           known = kernel.best ? kernel.ownBesideBest / kernel.best->microseconds
                               : 1 / (1 - kLeastGain);
    if (gain > known) {
      kernel.best = other;
      kernel.ownBesideBest = one.microseconds;
    }
  }
  return kOk;
}

std::vector<std::string> Tuning::foundPlans() const {
  std::vector<std::string> plans;
  for (const TunedKernel &kernel : kernels)
    if (kernel.best)
      plans.push_back(kernel.name + "=" + kernel.best->plan);
  return plans;
}

/// Times the whole model by the plans that were found, writes the file and says what it is worth.
int Tuning::finish() {
  std::vector<std::string> found = foundPlans();
  double own = 0, tuned = 0;
  if (!found.empty()) {
    showProgress("timing the whole model");
    std::string file = folder.file("tuned.bin");
    if (int code = compile(file, found))
      return code;
    if (int code = runsOf(file).timeRuns(own, tuned))
      return code;
  }
  showProgress("");
  std::vector<MeasuredPlan> measured;
  std::string table;
  // The kernel that saves most time comes first.
  llvm::sort(kernels, [](const TunedKernel &a, const TunedKernel &b) {
    auto order = [](const TunedKernel &kernel) {
      double saved = kernel.best ? kernel.ownBesideBest - kernel.best->microseconds : 0;
      return std::pair(-saved, llvm::StringRef(kernel.name));
    };
    return order(a) < order(b);
  });
  for (const TunedKernel &kernel : kernels) {
    if (!kernel.best) {
      measured.push_back({target, kernel.digest, kernel.own.plan,
                          llvm::formatv("{0}: {1:F1} us, no other plan is faster ({2})",
                                        kernel.name, kernel.own.microseconds, kernel.own.lines),
                          /*isOwn=*/true});
      continue;
    }
    std::string text =
        llvm::formatv("{0}: {1:F1} us, by {2} {3:F1} ({4})", kernel.name, kernel.best->microseconds,
                      kernel.own.plan, kernel.ownBesideBest, kernel.own.lines);
    table += "  " + text + "\n    " + kernel.best->plan + "\n";
    measured.push_back({target, kernel.digest, kernel.best->plan, std::move(text)});
  }
  std::vector<std::string> remarks = {
      "Plans that 'dlc tune' measured; 'dlc compile --plans' takes them.",
      "Model " + options.input + " on " + deviceName + "."};
  std::string sum =
      found.empty()
          ? llvm::formatv("{0}: of {1} kernels with more than one plan, none is faster by another",
                          deviceName, kernels.size())
                .str()
          : llvm::formatv("{0}: {1} of {2} kernels with more than one plan are faster by another; "
                          "the model takes {3:F3} ms by the estimates and {4:F3} ms by these plans",
                          deviceName, found.size(), kernels.size(), own, tuned)
                .str();
  if (int code = writeFile(options.output, planFileText(remarks, measured)))
    return code;
  return options.quiet ? int(kOk) : finishOutput(table + sum + "\n");
}

int Tuning::run() {
  if (int code = prepare())
    return code;
  size_t rounds = 0;
  if (int code = listKernels())
    return showProgress(""), code;
  for (const TunedKernel &kernel : kernels)
    rounds = std::max(rounds, kernel.candidates.size());
  for (size_t round = 0; round < rounds; ++round)
    if (int code = tryRound(round, rounds))
      return showProgress(""), code;
  return finish();
}

int tuneModel(const TuneOptions &options, int (*compile)(const CompileOptions &)) {
  return Tuning(options, compile).run();
}

} // namespace dlc
