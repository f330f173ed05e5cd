//===- CaseMain.cpp - gpu-case: a model on the GPU against the CPU's results -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-case FOLDER --inputs FILE: writes what it would feed the model.
// gpu-case FOLDER [--device cuda:N] [--repeat N]: runs FOLDER/model.bin as FOLDER/plan.txt says
// (CasePlan.h), on the CPU and N times on the GPU, and demands that each value lies within its
// bound and that each repetition gives the same bits. Then once more, launch by launch, with a line
// "ran KERNEL" for each kernel but those whose results nothing reads under the shapes of the last
// run: a package may hold others for other GPUs and shapes. Then each kernel by itself, on what the
// CPU's commands have written in the last of the runs (Replay.h), with a line "replayed KERNEL" for
// each one that is right. cuBLASLt takes no part. A line "FAILED ..." for each output and each
// kernel that is wrong; the last line is "N outputs, N wrong". Exit status: 0, 4 where something is
// wrong, else the runtime's.
//===----------------------------------------------------------------------===//
#include "test/hardware/CasePlan.h"
#include "test/hardware/Replay.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

using namespace dlc;
using namespace dlc::hardware;

namespace {

struct Options {
  std::string folder, device = "cuda", inputs;
  int repeat = 2;
};

/// An output: its own dims, and the elements that it has.
struct Result {
  std::vector<int64_t> dims;
  std::vector<char> data;
  bool operator==(const Result &) const = default;
};

/// A module on a device.
class Target {
public:
  Target(dlc_module *module, const char *device, bool profile) : module(module) {
    dlc_context_options settings = {};
    settings.struct_size = sizeof settings;
    settings.device = device;
    settings.threads = 1; // many cases run at a time
    settings.cublas = DLC_CUBLAS_NEVER;
    settings.profile = profile;
    status = dlc_context_create(module, &settings, &context);
  }
  ~Target() { dlc_context_free(context); }
  Target(const Target &) = delete;
  Target &operator=(const Target &) = delete;

  dlc_status run(const Run &run, std::vector<Result> &results);
  /// Adds the kernels that the last run launched.
  void collect(std::set<std::string> &ran) const;

private:
  dlc_module *module;
  dlc_context *context = nullptr;
  dlc_status status;
};

} // namespace

static dlc_tensor tensorOf(dlc_dtype dtype, const std::vector<int64_t> &dims, void *data,
                           size_t bytes) {
  dlc_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = dtype;
  tensor.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims);
  tensor.data = data;
  tensor.bytes = bytes;
  return tensor;
}

static size_t elements(const std::vector<int64_t> &dims) {
  size_t count = 1;
  for (int64_t dim : dims)
    count *= size_t(dim);
  return count;
}

static dlc_dtype dtypeOf(dlc_module *module, size_t output) {
  dlc_value_info info = {};
  info.struct_size = sizeof info;
  dlc_module_output(module, output, &info);
  return info.dtype;
}

dlc_status Target::run(const Run &run, std::vector<Result> &results) {
  if (status)
    return status;
  std::vector<dlc_tensor> given, taken;
  for (const Input &input : run.inputs)
    given.push_back(tensorOf(input.dtype, input.dims, const_cast<char *>(input.data.data()),
                             input.data.size()));
  if (dlc_status bound = dlc_context_bind(context, given.data(), given.size()))
    return bound;
  auto dimsOf = [&](size_t i) {
    int rank = 0;
    int64_t dims[DLC_MAX_RANK];
    dlc_context_output_dims(context, i, &rank, dims);
    return std::vector<int64_t>(dims, dims + rank);
  };
  size_t count = dlc_module_num_outputs(module);
  results.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    Result &result = results[i];
    result.dims = dimsOf(i);
    size_t bytes = elements(result.dims) * dlc_dtype_size(dtypeOf(module, i));
    result.data.assign(bytes + 1, char(0xa5)); // what the run does not write is seen
    taken.push_back(tensorOf(dtypeOf(module, i), result.dims, result.data.data(), bytes));
  }
  if (dlc_status ran = dlc_context_run(context, given.data(), given.size(), taken.data(), count))
    return ran;
  for (size_t i = 0; i < count; ++i) { // the data may say how large an output is
    results[i].dims = dimsOf(i);
    results[i].data.resize(elements(results[i].dims) * dlc_dtype_size(dtypeOf(module, i)));
  }
  return dlc_context_reset_states(context);
}

void Target::collect(std::set<std::string> &ran) const {
  const dlc_profile_entry *entries = nullptr;
  size_t count = 0;
  if (dlc_context_profile(context, &entries, &count) == DLC_OK)
    for (size_t i = 0; i < count; ++i)
      ran.insert(entries[i].kernel);
}

/// Says why an output is wrong; empty where it is right.
static std::string judge(dlc_dtype dtype, const Rule &rule, int roundingBits, const Result &actual,
                         const Result &expected) {
  if (actual.dims != expected.dims)
    return "has other dims than on the CPU";
  return difference(dtype, rule, roundingBits, actual.data.data(), expected.data.data(),
                    expected.data.size());
}

/// All runs. How many outputs are wrong is added up.
static dlc_status compare(const Options &options, dlc_module *module, const CasePlan &plan,
                          std::set<std::string> &ran, size_t &outputs, size_t &wrong) {
  Target cpu(module, "cpu", false), gpu(module, options.device.c_str(), false),
      profiled(module, options.device.c_str(), true);
  for (const Run &run : plan.runs) {
    std::vector<Result> expected, first, now;
    if (dlc_status status = cpu.run(run, expected)) {
      std::printf("%s, on the CPU: ", run.label.c_str());
      return status;
    }
    if (expected.size() != run.outputs.size()) {
      std::printf("%s: the model has %zu outputs, plan.txt has %zu\n", run.label.c_str(),
                  expected.size(), run.outputs.size());
      return DLC_USAGE;
    }
    for (int turn = 0; turn <= options.repeat; ++turn) {
      // The last one launch by launch.
      Target &target = turn < options.repeat ? gpu : profiled;
      if (dlc_status status = target.run(run, now)) {
        std::printf("%s, turn %d: ", run.label.c_str(), turn + 1);
        return status;
      }
      if (turn == 0)
        first = now;
      for (size_t i = 0; i < now.size(); ++i)
        if (now[i] != first[i]) {
          std::printf("FAILED %s, %s: turn %d gives other bits than the first\n",
                      run.outputs[i].name.c_str(), run.label.c_str(), turn + 1);
          ++wrong;
        }
    }
    profiled.collect(ran);
    for (size_t i = 0; i < first.size(); ++i, ++outputs)
      if (std::string problem = judge(dtypeOf(module, i), run.outputs[i].rule, plan.roundingBits,
                                      first[i], expected[i]);
          !problem.empty()) {
        std::printf("FAILED %s, %s: %s\n", run.outputs[i].name.c_str(), run.label.c_str(),
                    problem.c_str());
        ++wrong;
      }
  }
  return DLC_OK;
}

static int ordinalOf(const std::string &device) {
  size_t colon = device.find(':');
  return colon == std::string::npos ? 0 : std::atoi(device.c_str() + colon + 1);
}

/// Each kernel by itself, on the values of the last run. Out of `ran` go those of which nothing was
/// seen there.
static rt::Status replayLast(const Options &options, const std::string &path, const CasePlan &plan,
                             std::set<std::string> &ran, size_t &wrong) {
  auto loaded = rt::Module::load(path.c_str(), /*verifyAll=*/false);
  if (loaded.failed())
    return loaded.status();
  std::shared_ptr<rt::Module> module = loaded.take();
  if (!canReplay(*module))
    return {};
  ReplayReport report;
  if (rt::Status status =
          replay(*module, plan.runs.back(), plan.roundingBits, ordinalOf(options.device), report);
      status.failed())
    return status;
  for (const std::string &problem : report.problems)
    std::printf("FAILED %s\n", problem.c_str());
  for (const std::string &kernel : report.right)
    std::printf("replayed %s\n", kernel.c_str());
  for (const std::string &kernel : report.unknown)
    ran.erase(kernel);
  wrong += report.problems.size();
  return {};
}

static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--device" && i + 1 < argc)
      options.device = argv[++i];
    else if (argument == "--inputs" && i + 1 < argc)
      options.inputs = argv[++i];
    else if (argument == "--repeat" && i + 1 < argc)
      options.repeat = std::max(1, std::atoi(argv[++i]));
    else if (options.folder.empty() && argument[0] != '-')
      options.folder = argument;
    else
      return false;
  }
  return !options.folder.empty();
}

int main(int argc, char **argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: gpu-case FOLDER [--device cuda:N] [--repeat N] | FOLDER --inputs FILE\n");
    return 2;
  }
  CasePlan plan;
  if (std::string problem = readPlan(options.folder, plan); !problem.empty()) {
    std::printf("error: %s\n", problem.c_str());
    return 5;
  }
  if (!options.inputs.empty()) {
    std::ofstream out(options.inputs, std::ios::binary);
    for (const Run &run : plan.runs)
      for (const Input &input : run.inputs)
        out.write(input.data.data(), std::streamsize(input.data.size()));
    return out.flush() ? 0 : 5;
  }
  std::string path = options.folder + "/model.bin";
  dlc_module *module = nullptr;
  dlc_status status = dlc_module_load(path.c_str(), nullptr, &module);
  size_t outputs = 0, wrong = 0;
  std::set<std::string> ran;
  if (!status)
    status = compare(options, module, plan, ran, outputs, wrong);
  if (status) {
    std::printf("error: %s\n", dlc_last_error());
    dlc_module_free(module);
    return static_cast<int>(status);
  }
  dlc_module_free(module);
  if (rt::Status replayed = replayLast(options, path, plan, ran, wrong); replayed.failed()) {
    std::printf("error: replay: %s\n", replayed.message().c_str());
    return static_cast<int>(replayed.code());
  }
  for (const std::string &kernel : ran)
    std::printf("ran %s\n", kernel.c_str());
  std::printf("%zu outputs, %zu wrong\n", outputs, wrong);
  return wrong ? 4 : 0;
}
