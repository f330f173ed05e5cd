//===- ShapeForms.cpp - One graph for many shapes --------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/graphs/ShapeForms.h"

#include <algorithm>
#include <utility>

using namespace dlc;
using namespace dlc::cuda;

/// The numbers that two shapes of one form have in common: for each command, whether it is skipped
/// and which variant's launch it is.
static std::vector<int64_t> keyOf(const schema::Program &program, const rt::Plan &plan) {
  std::vector<int64_t> key;
  key.reserve(plan.commands.size());
  for (const rt::PlannedCommand &command : plan.commands) {
    key.push_back(command.skip ? -1 : reinterpret_cast<intptr_t>(command.launch));
    // CUDA does not say that it looks, where a graph is changed, whether all blocks of a
    // cooperative launch find room at once. Such a launch has the same grid in all shapes of a
    // form.
    if (!command.skip && command.launch &&
        program.kernels()->Get(command.launch->kernel())->cooperative())
      key.insert(key.end(), command.grid, command.grid + 3);
  }
  return key;
}

CommandGraph *ShapeForms::find(const schema::Program &program, const BoundShape &shape) {
  if (std::any_of(shape.products.begin(), shape.products.end(),
                  [](const auto &product) { return product != nullptr; }))
    return nullptr;
  std::vector<int64_t> key = keyOf(program, shape.plan);
  auto found =
      std::find_if(forms.begin(), forms.end(), [&](const Form &form) { return form.key == key; });
  if (found != forms.end()) {
    forms.splice(forms.begin(), forms, found);
    return &forms.front().graph;
  }
  forms.emplace_front(device, std::move(key));
  if (forms.size() > kLimit)
    forms.pop_back();
  return nullptr;
}
