//===- CaseMain.cpp - gpu-case: a compiled model against its reference -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// gpu-case FOLDER [--device NAME] [--repeat N]: runs FOLDER/model.bin as FOLDER/plan.txt says, N times each, and demands that
// each value lies within its bound and that each repetition gives the same bits. Then once more, launch by launch, with a line
// "ran KERNEL" for each kernel: a package may hold others for other GPUs and shapes. cuBLASLt takes no part. A line for each
// output that is wrong; the last line is "N outputs, N wrong". Exit status: 0, 4 where one is wrong, else the runtime's.
//
// plan.txt, a line each:
//   run LABEL                                  then its inputs and outputs in the model's order
//   in DTYPE DIM...                            data in inputs.bin, one after another, in the dtype's own format
//   out exact|bound NAME DTYPE DIM...  expected values in expected.bin
//     exact    in the dtype's own format: the same value, of zeros the same sign; NaN where NaN is
//     bound    a float for each value (f64: a double), then a float for how far it may lie from that. A value that
//              equals the expected one, infinities too, is right whatever the bound; NaN where NaN is
//   NAME has no spaces.
//===----------------------------------------------------------------------===//
#include "dlc/runtime.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

/// Bytes of a file that are taken one piece after another.
class Bytes {
public:
  bool open(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    data = text.str();
    return bool(file);
  }
  const char *take(size_t count) {
    if (count > data.size() - at)
      return nullptr;
    at += count;
    return data.data() + at - count;
  }
  bool isAtEnd() const { return at == data.size(); }

private:
  std::string data;
  size_t at = 0;
};

struct Value {
  dlc_dtype dtype;
  std::vector<int64_t> dims;
  size_t elements = 1, bytes = 0;
};

struct Output {
  std::string name;
  bool isExact;
  Value value;
};

struct Run {
  std::string label;
  std::vector<Value> inputs;
  std::vector<Output> outputs;
};

struct Options {
  std::string folder, device = "cuda";
  int repeat = 2;
};

} // namespace

static bool parseValue(std::istream &words, Value &value) {
  std::string dtype;
  words >> dtype;
  int code = 0;
  while (dtype != dlc_dtype_name(static_cast<dlc_dtype>(code)))
    if (std::strcmp(dlc_dtype_name(static_cast<dlc_dtype>(code++)), "?") == 0)
      return false;
  value.dtype = static_cast<dlc_dtype>(code);
  for (int64_t dim; words >> dim;) {
    value.dims.push_back(dim);
    value.elements *= static_cast<size_t>(dim);
  }
  value.bytes = value.elements * dlc_dtype_size(value.dtype);
  return value.dims.size() <= DLC_MAX_RANK;
}

static bool readPlan(const std::string &path, std::vector<Run> &runs) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind, rule;
    words >> kind;
    if (kind == "run") {
      runs.push_back({});
      std::getline(words >> std::ws, runs.back().label);
      continue;
    }
    if (runs.empty())
      return false;
    if (kind == "in") {
      runs.back().inputs.push_back({});
      if (!parseValue(words, runs.back().inputs.back()))
        return false;
    } else if (kind == "out") {
      Output output;
      words >> rule >> output.name;
      output.isExact = rule == "exact";
      if ((rule != "exact" && rule != "bound") || !parseValue(words, output.value))
        return false;
      runs.back().outputs.push_back(output);
    } else {
      return false;
    }
  }
  return !runs.empty();
}

//===- Judging ------------------------------------------------------------===//

static double widened(uint16_t half) {
  int exponent = half >> 10 & 31, digits = half & 1023;
  double value = exponent == 31  ? (digits ? NAN : INFINITY)
                 : exponent == 0 ? std::ldexp(digits, -24)
                                 : std::ldexp(1024 + digits, exponent - 25);
  return half & 0x8000 ? -value : value;
}

template <class T> static T at(const void *data, size_t index) {
  T value;
  std::memcpy(&value, static_cast<const char *>(data) + index * sizeof(T), sizeof(T));
  return value;
}

static bool isFloat(dlc_dtype dtype) {
  return dtype == DLC_F64 || dtype == DLC_F32 || dtype == DLC_F16 || dtype == DLC_BF16;
}

static double real(dlc_dtype dtype, const void *data, size_t index) {
  switch (dtype) {
  case DLC_F64:
    return at<double>(data, index);
  case DLC_F32:
    return at<float>(data, index);
  case DLC_F16:
    return widened(at<uint16_t>(data, index));
  default: {
    uint32_t bits = uint32_t(at<uint16_t>(data, index)) << 16; // bf16
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  }
}

/// Empty, or a sentence about how many values are wrong and the first of them. Takes the expected values.
static std::string judge(const Output &output, const std::vector<char> &actual, Bytes &expected) {
  const Value &value = output.value;
  bool isWide = value.dtype == DLC_F64;
  const char *wanted =
      expected.take(output.isExact ? value.bytes : value.elements * (isWide ? 8 : 4));
  const char *bounds = output.isExact ? wanted : expected.take(value.elements * 4);
  if (!wanted || !bounds)
    return "expected.bin is too short";
  size_t wrong = 0;
  char first[200] = "";
  size_t width = dlc_dtype_size(value.dtype);
  for (size_t i = 0; i < value.elements; ++i) {
    double got = 0, want = 0, bound = 0;
    bool same;
    if (output.isExact && !isFloat(value.dtype)) {
      same = std::memcmp(actual.data() + i * width, wanted + i * width, width) == 0;
    } else {
      got = real(value.dtype, actual.data(), i);
      want = output.isExact ? real(value.dtype, wanted, i)
             : isWide       ? at<double>(wanted, i)
                            : at<float>(wanted, i);
      bound = output.isExact ? 0 : at<float>(bounds, i);
      same = std::isnan(want) ? std::isnan(got)
             : output.isExact ? got == want && std::signbit(got) == std::signbit(want)
                              : got == want || std::fabs(got - want) <= bound;
    }
    if (same || wrong++)
      continue;
    if (isFloat(value.dtype))
      std::snprintf(first, sizeof first, "value %zu is %.9g, expected %.9g within %.3g", i, got,
                    want, bound);
    else
      std::snprintf(first, sizeof first, "value %zu differs", i);
  }
  return wrong ? std::to_string(wrong) + " of " + std::to_string(value.elements) +
                     " values are wrong: " + first
               : "";
}

//===- Running ------------------------------------------------------------===//

static int fail(dlc_status status) {
  std::printf("error: %s\n", dlc_last_error());
  return static_cast<int>(status);
}

static dlc_tensor tensorOf(const Value &value, void *data) {
  dlc_tensor tensor = {};
  tensor.struct_size = sizeof tensor;
  tensor.dtype = value.dtype;
  tensor.rank = static_cast<int>(value.dims.size());
  for (size_t i = 0; i < value.dims.size(); ++i)
    tensor.dims[i] = value.dims[i];
  tensor.data = data;
  tensor.bytes = value.bytes;
  return tensor;
}

/// Adds the kernels that the last run launched.
static void collect(const dlc_context *context, std::set<std::string> &ran) {
  const dlc_profile_entry *entries = nullptr;
  size_t count = 0;
  if (dlc_context_profile(context, &entries, &count) == DLC_OK)
    for (size_t i = 0; i < count; ++i)
      ran.insert(entries[i].kernel);
}

/// Runs all; counts of outputs and of wrong ones are added up. `ran` may be null.
static int execute(const Options &options, dlc_context *context, const std::vector<Run> &runs,
                   Bytes &inputs, Bytes &expected, size_t &outputs, size_t &wrong,
                   std::set<std::string> *ran) {
  for (const Run &run : runs) {
    std::vector<dlc_tensor> given, results;
    for (const Value &value : run.inputs) {
      const char *data = inputs.take(value.bytes);
      if (!data) {
        std::printf("error: inputs.bin is too short\n");
        return 5;
      }
      given.push_back(tensorOf(value, const_cast<char *>(data)));
    }
    std::vector<std::vector<char>> first, now;
    for (int turn = 0; turn < options.repeat; ++turn) {
      now.clear();
      results.clear();
      for (const Output &output : run.outputs) {
        now.emplace_back(output.value.bytes + 1, char(0xa5)); // what the run does not write is seen
        results.push_back(tensorOf(output.value, now.back().data()));
      }
      if (dlc_status status = dlc_context_run(context, given.data(), given.size(), results.data(),
                                              results.size())) {
        std::printf("%s, turn %d: ", run.label.c_str(), turn + 1);
        return fail(status);
      }
      if (ran)
        collect(context, *ran);
      if (turn == 0)
        first = now;
      for (size_t i = 0; i < now.size(); ++i)
        if (now[i] != first[i]) {
          std::printf("FAILED %s, %s: turn %d gives other bits than the first\n",
                      run.outputs[i].name.c_str(), run.label.c_str(), turn + 1);
          ++wrong;
        }
    }
    for (size_t i = 0; i < first.size(); ++i, ++outputs)
      if (std::string problem = judge(run.outputs[i], first[i], expected); !problem.empty()) {
        std::printf("FAILED %s, %s: %s\n", run.outputs[i].name.c_str(), run.label.c_str(),
                    problem.c_str());
        ++wrong;
      }
  }
  if (!inputs.isAtEnd() || !expected.isAtEnd()) {
    std::printf("error: inputs.bin or expected.bin holds more than plan.txt says\n");
    return 5;
  }
  return 0;
}

/// All runs in a context of their own; with `ran`, launch by launch.
static int inContext(const Options &options, dlc_module *module, const std::vector<Run> &runs,
                     size_t &outputs, size_t &wrong, std::set<std::string> *ran) {
  Bytes inputs, expected;
  if (!inputs.open(options.folder + "/inputs.bin") ||
      !expected.open(options.folder + "/expected.bin")) {
    std::printf("error: %s holds no case that can be read\n", options.folder.c_str());
    return 5;
  }
  dlc_context_options settings = {};
  settings.struct_size = sizeof settings;
  settings.device = options.device.c_str();
  settings.cublas = DLC_CUBLAS_NEVER;
  settings.profile = ran ? 1 : 0;
  dlc_context *context = nullptr;
  if (dlc_status status = dlc_context_create(module, &settings, &context))
    return fail(status);
  int code = execute(options, context, runs, inputs, expected, outputs, wrong, ran);
  dlc_context_free(context);
  return code;
}

static bool parse(int argc, char **argv, Options &options) {
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    if (argument == "--device" && i + 1 < argc)
      options.device = argv[++i];
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
    std::fprintf(stderr, "usage: gpu-case FOLDER [--device NAME] [--repeat N]\n");
    return 2;
  }
  std::vector<Run> runs;
  if (!readPlan(options.folder + "/plan.txt", runs)) {
    std::printf("error: %s holds no case that can be read\n", options.folder.c_str());
    return 5;
  }
  dlc_module *module = nullptr;
  if (dlc_status status =
          dlc_module_load((options.folder + "/model.bin").c_str(), nullptr, &module))
    return fail(status);
  size_t outputs = 0, wrong = 0;
  std::set<std::string> ran;
  int code = inContext(options, module, runs, outputs, wrong, nullptr);
  if (!code) {
    options.repeat = 1;
    size_t again = 0;
    code = inContext(options, module, runs, again, wrong, &ran);
  }
  dlc_module_free(module);
  if (code)
    return code;
  for (const std::string &kernel : ran)
    std::printf("ran %s\n", kernel.c_str());
  std::printf("%zu outputs, %zu wrong\n", outputs, wrong);
  return wrong ? 4 : 0;
}
