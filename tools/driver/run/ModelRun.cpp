//===- ModelRun.cpp - A model that is run on one batch after another ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/run/ModelRun.h"

#include "frontend/arrays/InputFiles.h"
#include "tools/driver/base/Output.h"

#include <algorithm>
#include <cstring>

namespace dlc {

int runOnce(dlc_context *context, const std::vector<dlc_tensor> &inputs,
            const std::vector<std::string> &names, std::vector<HostTensor> &outputs) {
  if (dlc_status status = dlc_context_bind(context, inputs.data(), inputs.size()))
    return failRuntime(status);
  std::vector<dlc_tensor> views;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (int code = makeRoom(context, i, names[i], outputs[i]))
      return code;
    views.push_back(outputs[i].view());
  }
  if (dlc_status status =
          dlc_context_run(context, inputs.data(), inputs.size(), views.data(), views.size()))
    return failRuntime(status);
  for (size_t i = 0; i < outputs.size(); ++i) // the data may say how large it is
    if (int code = takeOutput(context, i, names[i], outputs[i]))
      return code;
  return kOk;
}

int ModelRun::open(const std::string &file, const DeviceOptions &options) {
  path = file;
  if (int code = session.open(path, options))
    return code;
  auto collect = [&](Infos &infos, size_t count, auto get) {
    infos.assign(count, {});
    for (size_t i = 0; i < count; ++i) {
      infos[i].struct_size = sizeof(dlc_value_info);
      if (dlc_status status = get(getModule(), i, &infos[i]))
        return failRuntime(status);
    }
    return int(kOk);
  };
  if (int code = collect(inputInfos, dlc_module_num_inputs(getModule()), dlc_module_input))
    return code;
  if (int code = collect(outputInfos, dlc_module_num_outputs(getModule()), dlc_module_output))
    return code;
  for (size_t i = 0; i < inputInfos.size(); ++i)
    order.push_back(i);
  names = session.outputNames();
  results.resize(names.size());
  return kOk;
}

std::string ModelRun::describe() const { return path + " on " + getDevice(); }

std::vector<std::string> ModelRun::inputNames() const {
  std::vector<std::string> inputs;
  for (const dlc_value_info &info : inputInfos)
    inputs.emplace_back(info.name);
  return inputs;
}

int ModelRun::failOther(const ModelRun &first, const char *what, const Infos &mine,
                        const Infos &others) const {
  auto list = [](const Infos &infos) {
    std::string text;
    for (const dlc_value_info &info : infos)
      text += std::string(text.empty() ? "" : ", ") + info.name + ": " + describeValue(info);
    return text;
  };
  return fail(kUsage, "the models have different " + std::string(what) + ": '" + first.path +
                          "' has " + list(others) + "; '" + path + "' has " + list(mine));
}

/// Position of the value of this name, dtype and dims, as far as these are numbers; -1 where there
/// is none. The dtype of an output may differ: a model may give in 16 bits what the other gives in
/// 32.
static int findLike(const std::vector<dlc_value_info> &infos, const dlc_value_info &wanted,
                    bool isOutput) {
  auto isLike = [&](const dlc_value_info &info) {
    bool fits = !std::strcmp(info.name, wanted.name) && info.rank == wanted.rank &&
                (isOutput || info.dtype == wanted.dtype);
    for (int dim = 0; fits && dim < info.rank; ++dim)
      fits = info.dim_names[dim] || wanted.dim_names[dim] || info.dims[dim] == wanted.dims[dim];
    return fits;
  };
  auto found = std::find_if(infos.begin(), infos.end(), isLike);
  return found == infos.end() ? -1 : static_cast<int>(found - infos.begin());
}

int ModelRun::follow(const ModelRun &first) {
  for (size_t i = 0; i < inputInfos.size(); ++i) {
    int index = findLike(first.inputInfos, inputInfos[i], /*isOutput=*/false);
    if (index < 0 || inputInfos.size() != first.inputInfos.size())
      return failOther(first, "inputs", inputInfos, first.inputInfos);
    order[i] = static_cast<size_t>(index);
  }
  bool areSame = outputInfos.size() == first.outputInfos.size();
  for (const dlc_value_info &output : outputInfos)
    areSame = areSame && findLike(first.outputInfos, output, /*isOutput=*/true) >= 0;
  return areSame ? int(kOk) : failOther(first, "outputs", outputInfos, first.outputInfos);
}

int ModelRun::advance(const std::vector<dlc_tensor> &feed, SampleRange,
                      const std::vector<HostTensor> *) {
  dlc_context *context = session.getContext();
  std::vector<dlc_tensor> inputs;
  for (size_t index : order)
    inputs.push_back(feed[index]);
  for (size_t i = 0; i < results.size(); ++i)
    results[i].dtype = outputInfos[i].dtype;
  if (dlc_module_num_states(getModule()))
    dlc_context_reset_states(context);
  return runOnce(context, inputs, names, results);
}

//===- Outputs in a file ----------------------------------------------------------------------===//

int StoredOutputs::open(const std::string &file, const ModelRun &model, int64_t samples) {
  path = file;
  names = model.outputNames();
  arrays.resize(names.size());
  results.resize(names.size());
  frontend::noteInputFile(path);
  if (!isArchive(path) && names.size() > 1)
    return fail(kUsage, "'" + path + "' holds one array, and the model has " +
                            std::to_string(names.size()) +
                            " outputs; expected an .npz of arrays by their names");
  for (size_t i = 0; i < names.size(); ++i) {
    std::string problem;
    if (int code = readTensor(path, names[i], arrays[i], problem))
      return fail(code, problem);
    if (arrays[i].dims.empty() || arrays[i].dims[0] != samples)
      return fail(kUsage, "output '" + names[i] + "' is " + arrays[i].describe() + " in '" + path +
                              "'; expected a row for each of the " + std::to_string(samples) +
                              " samples of the data");
  }
  return kOk;
}

int StoredOutputs::advance(const std::vector<dlc_tensor> &, SampleRange range,
                           const std::vector<HostTensor> *like) {
  for (size_t i = 0; i < arrays.size(); ++i) {
    const std::vector<int64_t> &dims = (*like)[i].dims;
    std::vector<int64_t> row(arrays[i].dims.begin() + 1, arrays[i].dims.end());
    bool isBatched = !dims.empty() && dims[0] == range.rows &&
                     std::equal(dims.begin() + 1, dims.end(), row.begin(), row.end());
    if (!isBatched && (range.rows != 1 || dims != row))
      return fail(kUsage, "output '" + names[i] + "' is " + arrays[i].describe() + " in '" + path +
                              "', but a batch of " + std::to_string(range.rows) + " gave " +
                              (*like)[i].describe() + "; expected a row of such a shape a sample");
    size_t bytes = arrays[i].data.size() / static_cast<size_t>(arrays[i].dims[0]);
    auto begin = arrays[i].data.begin() + static_cast<ptrdiff_t>(bytes) * range.first;
    results[i] = {arrays[i].dtype, dims, {}};
    results[i].data.assign(begin, begin + static_cast<ptrdiff_t>(bytes) * range.rows);
  }
  return kOk;
}

} // namespace dlc
