//===- Checkpoint.cpp - A training that goes on where it stopped --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "tools/driver/train/Checkpoint.h"

#include "frontend/arrays/SafetensorsFile.h"
#include "tools/driver/base/Output.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstring>

namespace dlc {

/// The tensor that holds a TrainingPlace.
static constexpr const char *kPlace = "dlc.place";

namespace {
/// Tensors in the order of their bytes.
struct TensorList {
  std::vector<frontend::StoredTensor> tensors;
  std::string bytes;

  void add(const std::string &name, const HostTensor &value) {
    tensors.push_back(
        {name, *frontend::elementTypeNamed(dlc_dtype_name(value.dtype)), {}, 0, value.data.size()});
    tensors.back().shape.assign(value.dims.begin(), value.dims.end());
    bytes.append(value.data.begin(), value.data.end());
  }
  int write(const std::string &path) const {
    auto file = frontend::safetensorsHeader(tensors);
    return file ? writeFile(path, *file + bytes)
                : fail(kUnsupported, llvm::toString(file.takeError()));
  }
};
} // namespace

static int addStates(StepProgram &program, const std::vector<std::string> &names,
                     TensorList &list) {
  for (const std::string &name : names) {
    HostTensor value;
    if (int code = program.readState(name, value))
      return code;
    list.add(name, value);
  }
  return kOk;
}

int writeStates(const std::string &path, StepProgram &program,
                const std::vector<std::string> &names) {
  TensorList list;
  if (int code = addStates(program, names, list))
    return code;
  return list.write(path);
}

int writeFirstWeights(const std::string &path, const std::vector<FirstWeight> &weights,
                      uint64_t seed) {
  TensorList list;
  for (const FirstWeight &weight : weights)
    list.add(weight.name, HostTensor{DLC_F32, weight.dims, firstBytes(weight, seed)});
  return list.write(path);
}

int writeCheckpoint(const std::string &path, StepProgram &program, const TrainingPlace &place) {
  TensorList list;
  if (int code = addStates(program, program.stateNames(), list))
    return code;
  HostTensor numbers{DLC_I64, {3}, {}};
  numbers.data.resize(3 * sizeof(int64_t));
  const int64_t values[] = {place.epoch, place.steps, place.seed};
  std::memcpy(numbers.data.data(), values, sizeof(values));
  list.add(kPlace, numbers);
  return list.write(path);
}

int readCheckpoint(const std::string &path, StepProgram &program, TrainingPlace &place) {
  auto file = frontend::SafetensorsFile::open(path);
  if (!file)
    return fail(kDevice, llvm::toString(file.takeError()));
  const frontend::StoredTensor *numbers = file->find(kPlace);
  if (!numbers || numbers->bytes != 3 * sizeof(int64_t))
    return fail(kUsage, "'" + path +
                            "' is no checkpoint of dlc train; --weights begins with the "
                            "weights of a file");
  int64_t values[3];
  std::memcpy(values, file->data(*numbers).data(), sizeof(values));
  place = {values[0], values[1], values[2]};
  std::vector<std::string> names = program.stateNames();
  auto refuse = [&](const std::string &what) {
    return fail(kUsage, "'" + path + "' " + what +
                            "; expected a checkpoint of the same model, "
                            "--train and --optimizer");
  };
  for (const std::string &name : names) {
    HostTensor own;
    if (int code = program.readState(name, own))
      return code;
    const frontend::StoredTensor *stored = file->find(name);
    if (!stored)
      return refuse("has no '" + name + "'");
    if (std::vector<int64_t>(stored->shape.begin(), stored->shape.end()) != own.dims ||
        stored->bytes != own.data.size())
      return refuse("has another '" + name + "' than " + own.describe());
    llvm::ArrayRef<uint8_t> bytes = file->data(*stored);
    if (int code = program.writeState(name, own.dims, bytes.data(), bytes.size()))
      return code;
  }
  for (const frontend::StoredTensor &tensor : file->tensors())
    if (tensor.name != kPlace && !llvm::is_contained(names, tensor.name))
      return refuse("has '" + tensor.name + "', which this training does not keep");
  return kOk;
}

} // namespace dlc
