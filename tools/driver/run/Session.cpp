//===- Session.cpp - A model on a device, with its inputs and outputs ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/Session.h"

#include "frontend/Spelling.h"
#include "frontend/arrays/InputFiles.h"
#include "runtime/cuda/driver/Library.h"
#include "tools/driver/base/OptionChecks.h"
#include "tools/driver/base/Output.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <unistd.h>

namespace dlc {

int failRuntime(dlc_status status) { return fail(static_cast<int>(status), dlc_last_error()); }

bool useEmulator(std::string &problem) {
  std::error_code error;
  auto folder =
      std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "lib";
  for (auto [variable, library] : {std::pair("DLC_LIBCUDA", "libdlc_cuda_emu.so"),
                                   std::pair("DLC_LIBNVRTC", "libdlc_nvrtc_emu.so"),
                                   std::pair("DLC_LIBCUBLASLT", "libdlc_cublaslt_emu.so")}) {
    auto path = folder / library;
    if (!std::filesystem::exists(path, error)) {
      problem = "device cuda-emu needs " + path.string() +
                ", which is not built; build the targets of test/emulator";
      return false;
    }
    setenv(variable, path.c_str(), /*overwrite=*/0); // the user may point at others
  }
  setenv("DLC_CACHE_DIR", "", /*overwrite=*/0); // the emulated NVRTC has a cache of its own
  return true;
}

std::string describeValue(const dlc_value_info &info) {
  std::string text = std::string(dlc_dtype_name(info.dtype)) + "[", ranges;
  std::set<std::string> seen;
  for (int i = 0; i < info.rank; ++i) {
    std::string dim = info.dim_names[i] ? info.dim_names[i] : std::to_string(info.dims[i]);
    text += (i ? "," : "") + dim;
    if (info.dim_names[i] && seen.insert(dim).second)
      ranges += (ranges.empty() ? "" : ", ") + dim + " = " + std::to_string(info.min_dims[i]) +
                ".." + std::to_string(info.max_dims[i]);
  }
  return text + "]" + (ranges.empty() ? "" : " (" + ranges + ")");
}

Session::~Session() {
  dlc_context_free(context);
  dlc_module_free(module);
}

/// A line on a terminal while kernels are compiled.
static void showKernels(void *, size_t done, size_t total) {
  if (!isatty(STDERR_FILENO))
    return;
  std::string line = "\r\033[K";
  if (done < total)
    line +=
        "dlc: compiling kernels, " + std::to_string(done) + " of " + std::to_string(total) + " ...";
  (void)!write(STDERR_FILENO, line.data(), line.size());
}

/// Prints the device that "auto" chose, and the runtime's remarks. If stderr is not a terminal,
/// "auto" prints only when a GPU is left idle.
void Session::tellDevice(const DeviceOptions &options) {
  std::string remarks = dlc_context_remarks(context);
  bool isAuto = options.device == "auto", isPerson = isatty(STDERR_FILENO);
  bool isGpuIdle = isAuto && remarks.starts_with("not on a GPU") &&
                   !remarks.ends_with("no CUDA program") && !cuda::Driver::open().failed();
  if (isAuto && (isPerson || isGpuIdle))
    complain(std::string("device: ") + dlc_context_device(context));
  tells = isPerson || isGpuIdle || options.device.starts_with("cuda");
  tellRemarks();
}

/// What the runtime remarks that was not told yet.
void Session::tellRemarks() {
  std::string remarks = dlc_context_remarks(context);
  if (!tells || remarks.size() <= told.size())
    return;
  size_t from = remarks.starts_with(told) ? told.size() : 0;
  complain(remarks.substr(from ? from + 1 : 0)); // behind the line's end
  told = remarks;
}

int openProgram(const std::string &path, const DeviceOptions &options, bool profile,
                dlc_module *&module, dlc_context *&context) {
  frontend::noteInputFile(path);
  dlc_load_options load = {sizeof(load), options.verifyAll};
  if (dlc_status status = dlc_module_load(path.c_str(), &load, &module))
    return failRuntime(status);
  bool emulated = options.device == "cuda-emu";
  if (std::string problem; emulated && !useEmulator(problem))
    return fail(kDevice, problem);
  dlc_context_options settings = {};
  settings.struct_size = sizeof(settings);
  settings.device = emulated ? "cuda" : options.device.c_str();
  settings.threads = options.threads;
  settings.checked = options.checked;
  settings.profile = profile;
  settings.no_jit = options.noJit;
  settings.no_graph = options.noGraph;
  settings.no_overlap = options.noOverlap;
  settings.time_device = options.timeDevice;
  settings.timeout_ms = static_cast<int>(options.timeout * 1000);
  settings.cublas = options.noCublas ? DLC_CUBLAS_NEVER
                    : options.cublas ? DLC_CUBLAS_ALWAYS
                                     : DLC_CUBLAS_AUTO;
  if (options.noCache)
    settings.cache_dir = "";
  else if (!options.cacheFolder.empty())
    settings.cache_dir = options.cacheFolder.c_str();
  settings.progress = showKernels;
  if (dlc_status status = dlc_context_create(module, &settings, &context)) {
    // A device that was asked for and cannot be used is a device error, whatever keeps it from
    // working.
    int code = failRuntime(status);
    return code == kUnsupported && options.device.starts_with("cuda") ? static_cast<int>(kDevice)
                                                                      : code;
  }
  return kOk;
}

int Session::open(const std::string &path, const DeviceOptions &options, bool profile) {
  if (int code = openProgram(path, options, profile, module, context))
    return code;
  if (!profile)
    tellDevice(options);

  auto collect = [&](Values &values, size_t count, auto get) {
    for (size_t i = 0; i < count; ++i) {
      dlc_value_info info = {};
      info.struct_size = sizeof(info);
      if (get(module, i, &info) != DLC_OK)
        return false;
      values.names.push_back(info.name);
      values.infos.push_back(info);
    }
    values.tensors.resize(count);
    values.views.resize(count);
    return true;
  };
  if (!collect(inputs, dlc_module_num_inputs(module), dlc_module_input) ||
      !collect(outputs, dlc_module_num_outputs(module), dlc_module_output))
    return failRuntime(DLC_INTERNAL);
  return kOk;
}

int failMemory(const char *what, const std::string &name, const HostTensor &tensor) {
  return fail(kDevice, std::string(what) + " '" + name + "', " + tensor.describe() +
                           ", does not fit into the memory of this machine");
}

/// Dims of an output: after a bind -1 where only the run tells them.
static int readDims(dlc_context *context, size_t index, std::vector<int64_t> &dims) {
  int rank = 0;
  int64_t found[DLC_MAX_RANK];
  if (dlc_status status = dlc_context_output_dims(context, index, &rank, found))
    return failRuntime(status);
  dims.assign(found, found + rank);
  return kOk;
}

static bool isKnown(const std::vector<int64_t> &dims) {
  return std::all_of(dims.begin(), dims.end(), [](int64_t dim) { return dim >= 0; });
}

int makeRoom(dlc_context *context, size_t index, const std::string &name, HostTensor &output) {
  if (int code = readDims(context, index, output.dims))
    return code;
  if (!isKnown(output.dims))
    output.data = {};
  else if (!output.allocate())
    return failMemory("output", name, output);
  return kOk;
}

int takeOutput(dlc_context *context, size_t index, const std::string &name, HostTensor &output) {
  if (int code = readDims(context, index, output.dims))
    return code;
  size_t bytes = static_cast<size_t>(output.size()) * dlc_dtype_size(output.dtype);
  if (bytes <= output.data.size()) {
    output.data.resize(bytes);
    return kOk;
  }
  const void *data = nullptr;
  if (dlc_status status = dlc_context_output_data(context, index, &data, &bytes))
    return failRuntime(status);
  if (!output.allocate())
    return failMemory("output", name, output);
  std::memcpy(output.data.data(), data, bytes);
  return kOk;
}

int Session::find(const Values &values, const std::string &name, const char *what) {
  if (name.empty() && values.names.size() == 1)
    return 0;
  std::string all;
  std::vector<llvm::StringRef> names;
  for (size_t i = 0; i < values.names.size(); ++i) {
    if (values.names[i] == name)
      return static_cast<int>(i);
    all += (i ? ", " : "") + values.names[i];
    names.push_back(values.names[i]);
  }
  auto near = frontend::nearest(name, names);
  complain(
      name.empty()
          ? std::string("error: the model has several ") + what +
                "s; name the one that is meant: " + all
          : std::string("error: the model has no ") + what + " " + frontend::quote(name) +
                (near ? "; did you mean " + frontend::quote(*near) + "? It has: " : "; it has: ") +
                all);
  return -1;
}

int Session::findOutput(const std::string &name) const { return find(outputs, name, "output"); }

int Session::setInput(const std::string &text, std::vector<bool> &given) {
  std::string problem;
  auto spec = TensorSpec::parse(text, problem);
  if (!spec)
    return fail(kUsage, "--input " + problem);
  int index = find(inputs, spec->name, "input");
  if (index < 0)
    return kUsage;
  const dlc_value_info &info = inputs.infos[index];
  if (given[index])
    return fail(kUsage, "input '" + inputs.names[index] + "' is given twice");
  given[index] = true;
  specs[index] = *spec;
  HostTensor &tensor = inputs.tensors[index];
  if (!spec->file.empty()) {
    if (int code = readLayout(spec->file, inputs.names[index], tensor, problem))
      return fail(code, problem);
    tensor.takeBytesAs(info.dtype);
    if (tensor.dtype != info.dtype)
      return fail(kUsage, "input '" + inputs.names[index] + "' is " + describeValue(info) +
                              ", but '" + spec->file + "' holds " + tensor.describe() +
                              "; save it as " + dlc_dtype_name(info.dtype));
    if (tensor.dims.size() > DLC_MAX_RANK)
      return fail(kUsage, "input '" + inputs.names[index] + "' is " + describeValue(info) +
                              ", but '" + spec->file + "' holds " + tensor.describe());
  } else if (spec->shape) {
    tensor = *spec->shape;
  } else {
    tensor.dtype = info.dtype;
    for (int i = 0; i < info.rank; ++i)
      tensor.dims.push_back(info.min_dims[i]);
  }
  return kOk;
}

int Session::fillInputs() {
  for (size_t i = 0; i < specs.size(); ++i) {
    HostTensor &tensor = inputs.tensors[i];
    if (specs[i].file.empty()) {
      bool done = specs[i].random ? fillRandom(tensor, i + 1) : tensor.allocate();
      if (!done)
        return failMemory("input", inputs.names[i], tensor);
    } else {
      std::vector<int64_t> dims = tensor.dims;
      std::string problem;
      if (int code = readTensor(specs[i].file, inputs.names[i], tensor, problem))
        return fail(code, problem);
      tensor.takeBytesAs(inputs.infos[i].dtype);
      if (tensor.dims != dims || tensor.dtype != inputs.infos[i].dtype)
        return fail(kDevice, "'" + specs[i].file + "' has changed while it was read");
    }
    inputs.views[i] = tensor.view();
  }
  return kOk;
}

int Session::setInputs(const std::vector<std::string> &texts, bool fillMissing) {
  std::vector<bool> given(inputs.names.size());
  specs.assign(inputs.names.size(), {});
  for (const std::string &text : texts)
    if (int code = setInput(text, given))
      return code;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i])
      continue;
    if (!fillMissing)
      return fail(kUsage, "input '" + inputs.names[i] + "', " + describeValue(inputs.infos[i]) +
                              ", is not given; add --input " + inputs.names[i] +
                              "=@FILE.npy or --input " + inputs.names[i] + "=random");
    if (int code = setInput(inputs.names[i] + "=random", given))
      return code;
  }
  return kOk;
}

int Session::setSteps() {
  int first = -1;
  for (size_t i = 0; i < specs.size(); ++i) {
    const std::vector<int64_t> &dims = inputs.tensors[i].dims;
    if (specs[i].file.empty() && !specs[i].shape)
      continue;
    if (dims.empty() || dims[0] < 1)
      return fail(kUsage, "--steps: input '" + inputs.names[i] + "' is " +
                              inputs.tensors[i].describe() +
                              "; expected one dim more than the model's, of at least one step");
    if (first >= 0 && dims[0] != steps)
      return fail(kUsage, "--steps: input '" + inputs.names[i] + "' has " +
                              std::to_string(dims[0]) + " steps, '" + inputs.names[first] +
                              "' has " + std::to_string(steps) + "; expected as many");
    steps = dims[0];
    first = static_cast<int>(i);
  }
  if (first < 0)
    return fail(kUsage, "--steps: no input tells how many; give one by a file or with its dims, as "
                        "in --input x=100x1x8xf32=random");
  isStepped = true;
  for (size_t i = 0; i < specs.size(); ++i)
    if (specs[i].file.empty() && !specs[i].shape)
      inputs.tensors[i].dims.insert(inputs.tensors[i].dims.begin(), steps);
  return kOk;
}

dlc_tensor Session::viewOf(HostTensor &tensor, int64_t step) const {
  dlc_tensor view = tensor.view();
  if (!isStepped)
    return view;
  view.rank -= 1;
  std::copy(tensor.dims.begin() + 1, tensor.dims.end(), view.dims);
  view.bytes /= static_cast<size_t>(steps);
  if (view.data)
    view.data = static_cast<uint8_t *>(view.data) + static_cast<size_t>(step) * view.bytes;
  return view;
}

int Session::failSteps(size_t output) const {
  return fail(kUsage, "--steps: the data say how large output '" + outputs.names[output] +
                          "' is, in each step anew; run the steps one by one");
}

int Session::bind() {
  for (size_t i = 0; i < inputs.tensors.size(); ++i)
    inputs.views[i] = viewOf(inputs.tensors[i], 0);
  if (dlc_status status = dlc_context_bind(context, inputs.views.data(), inputs.views.size()))
    return failRuntime(status);
  tellRemarks();
  for (size_t i = 0; i < outputs.tensors.size(); ++i) {
    HostTensor &tensor = outputs.tensors[i];
    tensor.dtype = outputs.infos[i].dtype;
    if (int code = makeRoom(context, i, outputs.names[i], tensor))
      return code;
    if (isStepped) {
      if (!isKnown(tensor.dims))
        return failSteps(i);
      tensor.dims.insert(tensor.dims.begin(), steps);
      if (!tensor.allocate())
        return failMemory("output", outputs.names[i], tensor);
    }
    outputs.views[i] = viewOf(tensor, 0);
  }
  return kOk;
}

int Session::run() {
  for (int64_t step = 0; step < steps; ++step) {
    for (Values *values : {&inputs, &outputs})
      for (size_t i = 0; i < values->tensors.size(); ++i)
        values->views[i] = viewOf(values->tensors[i], step);
    if (resetsStates)
      dlc_context_reset_states(context);
    if (seed && (step == 0 || resetsStates))
      if (dlc_status status = dlc_context_seed(context, *seed))
        return failRuntime(status);
    dlc_status status = dlc_context_run(context, inputs.views.data(), inputs.views.size(),
                                        outputs.views.data(), outputs.views.size());
    tellRemarks();
    if (status)
      return failRuntime(status);
  }
  return kOk;
}

int Session::cutOutputs() {
  for (size_t i = 0; i < outputs.tensors.size(); ++i) {
    HostTensor &tensor = outputs.tensors[i];
    if (!isStepped) {
      if (int code = takeOutput(context, i, outputs.names[i], tensor))
        return code;
      continue;
    }
    std::vector<int64_t> found;
    if (int code = readDims(context, i, found))
      return code;
    found.insert(found.begin(), steps);
    if (found != tensor.dims)
      return failSteps(i);
  }
  return kOk;
}

} // namespace dlc
