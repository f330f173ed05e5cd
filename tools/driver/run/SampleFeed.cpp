//===- SampleFeed.cpp - Samples of a data set, batch by batch -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/SampleFeed.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"
#include "tools/driver/run/Session.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <cmath>

namespace dlc {

/// "float32": what numpy calls the dtype; empty where it has no such type.
static std::string numpyName(dlc_dtype dtype) {
  std::string name = dlc_dtype_name(dtype);
  if (dtype == DLC_BOOL)
    return "bool_";
  if (dtype == DLC_BF16 || dtype >= DLC_F8E4M3FN)
    return {};
  const char *kind = name[0] == 'f' ? "float" : name[0] == 'u' ? "uint" : "int";
  return kind + name.substr(1);
}

/// Whether the name of a dim is that of a symbol, and no expression of symbols.
static bool isSymbol(const std::string &name) {
  return std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

static std::string count(int64_t number, const std::string &what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

std::string SampleFeed::describe(const Source &source) const {
  if (file.empty())
    return "the random array of '" + source.name + "' is " + source.array.describe();
  std::string array = isArchive(file) ? "array '" + source.name + "' of '" + file + "'"
                                      : "the array of '" + file + "'";
  return array + " is " + source.array.describe();
}

int SampleFeed::failDims(const Source &source, const dlc_value_info &info,
                         const std::string &why) const {
  return fail(kUsage, describe(source) + ", but input '" + source.name + "' is " +
                          describeValue(info) + ": " + why);
}

int SampleFeed::read(const dlc_value_info &info) {
  Source source = {info.name, {}, false};
  std::string problem;
  if (int code = readTensor(file, source.name, source.array, problem))
    return fail(code, problem);
  HostTensor &array = source.array;
  array.takeBytesAs(info.dtype);
  if (array.dtype != info.dtype) {
    std::string numpy = numpyName(info.dtype);
    return failDims(source, info,
                    info.dtype == DLC_BF16 ? "NumPy has no bf16; declare the input as f32"
                    : numpy.empty()        ? "save its bytes as numpy.uint8"
                                           : "save it with .astype(numpy." + numpy + ")");
  }
  source.isWhole = static_cast<int>(array.dims.size()) == info.rank + 1;
  if (array.dims.empty() || (!source.isWhole && static_cast<int>(array.dims.size()) != info.rank))
    return failDims(source, info,
                    "expected " +
                        (info.rank ? count(info.rank, "dim") + ", the first of them samples, or "
                                   : std::string()) +
                        count(info.rank + 1, "dim") + ", a whole input in each row");
  if (array.dims[0] == 0)
    return fail(kUsage, describe(source) + ": it has no rows; expected at least one sample");
  if (sources.empty())
    samples = array.dims[0];
  if (array.dims[0] != samples)
    return fail(kUsage, describe(source) + ": it has " + count(array.dims[0], "row") + ", but '" +
                            sources.front().name + "' has " + std::to_string(samples) +
                            "; expected one row a sample in each");
  sources.push_back(std::move(source));
  return kOk;
}

int SampleFeed::checkNumbers(const Source &source) const {
  const HostTensor &array = source.array;
  bool isFloat =
      array.dtype <= DLC_BF16 || (array.dtype >= DLC_F8E4M3FN && array.dtype <= DLC_F4E2M1);
  int64_t nans = 0, infinities = 0, first = -1;
  for (int64_t i = 0, size = isFloat ? array.size() : 0; i < size; ++i) {
    double value = array.at(i);
    if (std::isfinite(value))
      continue;
    ++(std::isnan(value) ? nans : infinities);
    if (first < 0)
      first = i;
  }
  if (first < 0)
    return kOk;
  int64_t row = first / (array.size() / samples);
  return fail(kUsage, describe(source) + ": " + std::to_string(nans) +
                          " of its numbers are NaN and " + std::to_string(infinities) +
                          " are infinite, the first in row " + std::to_string(row) +
                          "; expected finite numbers");
}

int SampleFeed::checkDims(const Source &source, const dlc_value_info &info,
                          Bindings &bindings) const {
  // The first dim of a whole array counts samples, and that of others is the batch.
  for (int dim = source.isWhole ? 0 : 1; dim < info.rank; ++dim) {
    int64_t found = source.array.dims[dim + source.isWhole];
    std::string which = "dim " + std::to_string(dim + source.isWhole) + " is " +
                        std::to_string(found) + ", expected ";
    if (!info.dim_names[dim]) {
      if (found != info.dims[dim])
        return failDims(source, info, which + std::to_string(info.dims[dim]));
      continue;
    }
    if (found < info.min_dims[dim] || found > info.max_dims[dim])
      return failDims(source, info,
                      which + std::to_string(info.min_dims[dim]) + " to " +
                          std::to_string(info.max_dims[dim]));
    std::string name = info.dim_names[dim];
    auto [known, isNew] = bindings.insert({name, {found, source.name}});
    const Binding &binding = known->second;
    if (!isNew && binding.value != found) {
      which += std::to_string(binding.value) + " as ";
      which.append(name).append(" is in '").append(binding.where).append("'");
      return failDims(source, info, which);
    }
  }
  return kOk;
}

int SampleFeed::narrow(const Source &source, const dlc_value_info &info, const Bindings &bindings) {
  int64_t least = 1, greatest = 1;
  if (!source.isWhole) {
    const char *name = info.dim_names[0];
    if (name && !isSymbol(name))
      return failDims(source, info,
                      std::string("its first dim is ") + name +
                          ", which is no number of samples; expected " +
                          count(info.rank + 1, "dim") + ", a whole input in each row");
    auto bound = name ? bindings.find(name) : bindings.end();
    least = bound != bindings.end() ? bound->second.value
            : name                  ? std::max<int64_t>(info.min_dims[0], 1)
                                    : info.dims[0];
    greatest = name && bound == bindings.end() ? info.max_dims[0] : least;
    if (greatest < 1)
      return failDims(source, info, "its first dim is 0, which takes no samples");
  }
  if (least > largest || greatest < smallest) {
    auto range = [](int64_t from, int64_t to) {
      return std::to_string(from) + (to > from ? " to " + std::to_string(to) : std::string());
    };
    return failDims(source, info,
                    "it takes " + range(least, greatest) +
                        " rows at a time, and what came before " + "it " +
                        range(smallest, largest) + "; expected a batch that all take");
  }
  smallest = std::max(smallest, least);
  largest = std::min(largest, greatest);
  return kOk;
}

int SampleFeed::open(const std::string &path, dlc_module *module) {
  assert(sources.empty() && "a feed has one file");
  frontend::noteInputFile(path);
  file = path;
  size_t count = dlc_module_num_inputs(module) - ownInputs;
  if (count == 0)
    return fail(kUsage, "the model has no inputs; '" + path + "' has nothing to feed");
  if (!isArchive(path) && count > 1)
    return fail(kUsage, "'" + path + "' holds one array, and the model has " +
                            std::to_string(count) +
                            " inputs; expected an .npz of arrays by their names");
  for (size_t i = 0; i < count; ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_input(module, ownInputs + i, &info))
      return failRuntime(status);
    if (int code = read(info))
      return code;
  }
  if (int code = addModule(module))
    return code;
  for (const Source &source : sources)
    if (int code = checkNumbers(source))
      return code;
  return kOk;
}

int SampleFeed::fillRandom(int64_t number, const std::vector<dlc_module *> &modules) {
  assert(sources.empty() && "a feed is filled once");
  samples = number;
  for (dlc_module *module : modules)
    for (size_t i = ownInputs; i < dlc_module_num_inputs(module); ++i) {
      dlc_value_info info = {};
      info.struct_size = sizeof(info);
      if (dlc_status status = dlc_module_input(module, i, &info))
        return failRuntime(status);
      auto found = std::find_if(sources.begin(), sources.end(),
                                [&](const Source &source) { return source.name == info.name; });
      if (found == sources.end()) {
        HostTensor array = {info.dtype, std::vector<int64_t>(info.rank + 1, 1), {}};
        array.dims[0] = samples;
        found = sources.insert(sources.end(), {info.name, std::move(array), /*isWhole=*/true});
      }
      for (int dim = 0; dim < info.rank; ++dim) {
        int64_t least = info.dim_names[dim] ? info.min_dims[dim] : info.dims[dim];
        int64_t &chosen = found->array.dims[static_cast<size_t>(dim) + 1];
        chosen = std::max(chosen, least);
      }
    }
  for (size_t i = 0; i < sources.size(); ++i)
    if (!dlc::fillRandom(sources[i].array, i + 1))
      return fail(kDevice, "input '" + sources[i].name + "', " + sources[i].array.describe() +
                               ", does not fit into the memory of this machine");
  for (dlc_module *module : modules)
    if (int code = addModule(module))
      return code;
  return kOk;
}

int SampleFeed::addModule(dlc_module *module) {
  std::vector<std::pair<const Source *, dlc_value_info>> inputs;
  for (size_t i = ownInputs; i < dlc_module_num_inputs(module); ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    if (dlc_status status = dlc_module_input(module, i, &info))
      return failRuntime(status);
    auto found = std::find_if(sources.begin(), sources.end(),
                              [&](const Source &source) { return source.name == info.name; });
    assert(found != sources.end() && "the modules have inputs of the same names");
    inputs.emplace_back(&*found, info);
  }
  Bindings bindings;
  for (auto &[source, info] : inputs)
    if (int code = checkDims(*source, info, bindings))
      return code;
  for (auto &[source, info] : inputs)
    if (int code = narrow(*source, info, bindings))
      return code;
  if (samples < smallest)
    return fail(kUsage, "'" + file + "' holds " + count(samples, "sample") +
                            ", but the model takes at least " + std::to_string(smallest) +
                            " at a time");
  return kOk;
}

void SampleFeed::setBatch(int64_t rows) { most = std::max<int64_t>(rows, 1); }

int64_t SampleFeed::batchOf(int64_t left) const {
  int64_t rows = std::min(std::clamp(most, smallest, largest), left);
  if (rows < smallest)
    return 0;
  // A few rows less now where the rest would else be too few for a batch.
  int64_t rest = left - rows;
  if (rest > 0 && rest < smallest && left - smallest >= smallest)
    rows = left - smallest;
  return rows;
}

int64_t SampleFeed::numLeftOut() const {
  int64_t left = samples;
  while (int64_t rows = batchOf(left))
    left -= rows;
  return left;
}

bool SampleFeed::next(std::vector<dlc_tensor> &views) {
  int64_t rows = batchOf(samples - position);
  if (rows == 0)
    return false;
  views.assign(sources.size(), {});
  for (size_t i = 0; i < sources.size(); ++i) {
    HostTensor &array = sources[i].array;
    dlc_tensor &view = views[i];
    size_t rowBytes = array.data.size() / static_cast<size_t>(samples);
    view.struct_size = sizeof(view);
    view.dtype = array.dtype;
    view.rank = static_cast<int>(array.dims.size()) - sources[i].isWhole;
    std::copy_n(array.dims.begin() + sources[i].isWhole, view.rank, view.dims);
    if (!sources[i].isWhole)
      view.dims[0] = rows;
    view.bytes = rowBytes * static_cast<size_t>(rows);
    view.data = array.data.data() + static_cast<size_t>(position) * rowBytes;
  }
  position += rows;
  given = rows;
  return true;
}

} // namespace dlc
