//===- Batches.cpp - A data set in batches, shuffled --------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Batches.h"

#include "tools/driver/base/Output.h"
#include "tools/driver/run/Session.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace dlc {

static std::string describe(const std::string &name, const HostTensor &array) {
  return "array '" + name + "' is " + array.describe();
}

/// The numbers of `from` in another dtype; false where that cannot be.
static bool convert(const HostTensor &from, dlc_dtype dtype, HostTensor &to) {
  if (dtype != DLC_F32 && dtype != DLC_I64 && dtype != DLC_I32)
    return false;
  to.dtype = dtype;
  to.dims = from.dims;
  if (!to.allocate())
    return false;
  for (int64_t i = 0, size = from.size(); i < size; ++i) {
    double value = from.at(i);
    uint8_t *place = to.data.data() + i * (dtype == DLC_I64 ? 8 : 4);
    if (dtype == DLC_F32) {
      auto number = static_cast<float>(value);
      std::memcpy(place, &number, sizeof(number));
      continue;
    }
    if (value != std::floor(value))
      return false;
    auto number = static_cast<int64_t>(value);
    std::memcpy(place, &number, dtype == DLC_I64 ? 8 : 4);
  }
  return true;
}

/// The file of the texts that has the input, and its name there.
static std::string fileOf(const std::vector<std::string> &texts, const std::string &input) {
  std::string archive;
  for (const std::string &text : texts) {
    size_t equals = text.find('=');
    if (equals != std::string::npos && text.substr(0, equals) == input)
      return text.substr(equals + 1);
    if (equals == std::string::npos)
      archive = text;
  }
  return archive;
}

/// What is wrong with the numbers of a row, from 0 on; empty where nothing is.
static std::string problemIn(const HostTensor &all, int64_t row, int64_t inRow, int64_t classes) {
  for (int64_t i = row * inRow; i < (row + 1) * inRow; ++i) {
    double value = all.at(i);
    if (!std::isfinite(value))
      return "a number that is not finite";
    if (classes && value != -100 && (value < 0 || value >= static_cast<double>(classes)))
      return "the class " + std::to_string(static_cast<int64_t>(value)) + "; expected 0 to " +
             std::to_string(classes - 1) + ", or -100 for none";
  }
  return "";
}

int Batches::read(const std::vector<std::string> &texts, const dlc_value_info &info,
                  int64_t classes, Source &source) {
  std::string file = fileOf(texts, source.name), problem;
  if (file.empty())
    return fail(kUsage, "no --data for the input '" + source.name + "', which is " +
                            describeValue(info) + "; expected an .npz that has it, or '" +
                            source.name + "=FILE.npy'");
  HostTensor array;
  if (int code = readTensor(file, source.name, array, problem))
    return fail(code, problem);
  std::string what = file + ": " + describe(source.name, array);
  if (array.dims.empty() || array.dims[0] == 0)
    return fail(kUsage, what + "; expected one row a sample");
  if (array.dtype == info.dtype)
    source.all = std::move(array);
  else if (!convert(array, info.dtype, source.all))
    return fail(kUsage, what + "; the input is " + describeValue(info));
  int64_t inRow = 1;
  for (int dim = 1; dim < info.rank; ++dim) {
    if (info.dims[dim] < 0)
      return fail(kUsage, "the input '" + source.name + "' is " + describeValue(info) +
                              ", of which more than the first dim varies; fix it by --shapes");
    inRow *= info.dims[dim];
  }
  if (source.all.size() != inRow * source.all.dims[0])
    return fail(kUsage, what + "; a row of the input '" + source.name + "' has " +
                            std::to_string(inRow) + " numbers");
  source.all.dims.resize(static_cast<size_t>(info.rank));
  for (int dim = 1; dim < info.rank; ++dim)
    source.all.dims[static_cast<size_t>(dim)] = info.dims[dim];
  for (int64_t row = 0; row < source.all.dims[0]; ++row)
    if (std::string problem = problemIn(source.all, row, inRow, classes); !problem.empty())
      return fail(kUsage, what + "; row " + std::to_string(row) + " holds " + problem);
  return kOk;
}

int Batches::open(const std::vector<std::string> &texts, dlc_module *module,
                  const std::map<std::string, int64_t> &classes) {
  for (size_t index = 0; index < dlc_module_num_inputs(module); ++index) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    dlc_module_input(module, index, &info);
    Source source{info.name, {}, {}};
    if (info.rank == 0)
      return fail(kUnsupported, "the input '" + source.name + "' has no dim for samples");
    auto ofClasses = classes.find(source.name);
    if (int code = read(texts, info, ofClasses == classes.end() ? 0 : ofClasses->second, source))
      return code;
    int64_t rows = source.all.dims[0];
    if (!sources.empty() && rows != samples)
      return fail(kUsage, describe(source.name, source.all) + ", but '" + sources.front().name +
                              "' has " + std::to_string(samples) +
                              " rows; expected as many in each");
    samples = rows;
    bool isStatic = info.dims[0] >= 0;
    least = std::max(least, isStatic ? info.dims[0] : info.min_dims[0]);
    largest = std::min(largest, isStatic ? info.dims[0] : info.max_dims[0]);
    sources.push_back(std::move(source));
  }
  order.resize(static_cast<size_t>(samples));
  inOrder();
  return kOk;
}

int Batches::setBatch(int64_t most) {
  if (most < least || most > largest)
    return fail(kUsage,
                "--batch is " + std::to_string(most) + "; the model takes " +
                    (least == largest ? std::to_string(least)
                                      : std::to_string(least) + " to " + std::to_string(largest)) +
                    " samples in a run");
  if (most > samples)
    return fail(kUsage, "--batch is " + std::to_string(most) + ", and the data have " +
                            std::to_string(samples) + " samples; expected at most as many");
  batch = most;
  isFixed = samples % batch < least && samples % batch != 0;
  return kOk;
}

void Batches::inOrder() {
  std::iota(order.begin(), order.end(), 0);
  position = 0;
}

void Batches::shuffle(uint64_t seed) {
  inOrder();
  std::mt19937_64 engine(seed);
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[engine() % i]);
}

bool Batches::next(std::vector<dlc_tensor> &inputs) {
  given = std::min(batch, samples - position);
  if (given == 0 || (isFixed && given < batch))
    return false;
  inputs.clear();
  for (Source &source : sources) {
    size_t bytes = source.all.data.size() / static_cast<size_t>(samples);
    source.batch.dtype = source.all.dtype;
    source.batch.dims = source.all.dims;
    source.batch.dims[0] = given;
    source.batch.data.resize(bytes * static_cast<size_t>(given));
    for (int64_t row = 0; row < given; ++row)
      std::memcpy(source.batch.data.data() + bytes * static_cast<size_t>(row),
                  source.all.data.data() +
                      bytes * static_cast<size_t>(order[static_cast<size_t>(position + row)]),
                  bytes);
    inputs.push_back(source.batch.view());
  }
  position += given;
  return true;
}

} // namespace dlc
