//===- ShapeBinder.h - From the dims of the inputs to the values of the symbols -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_SHAPEBINDER_H
#define DLC_RUNTIME_CORE_SHAPEBINDER_H

#include "runtime/core/Status.h"
#include "runtime/core/package/Module.h"

#include <cstdint>
#include <vector>

namespace dlc::rt {

using Dims = std::vector<int64_t>;

/// Everything that depends on the inputs' shapes alone. Counted symbols have their largest values; their counts are the last
/// outputs.
struct Binding {
  std::vector<int64_t> symbols;
  std::vector<int64_t> values; ///< of each expression of the module
  std::vector<Dims> outputs, states;
};

/// Finds the symbols' values from the dims of each input and checks every dim against them. A dim that
/// is a symbol gives its value; one such as 2*N is solved where it determines N alone, and checked in any
/// case. DLC_USAGE with a sentence that names input, dim, expected and got.
Expected<Binding> bindShapes(const Module &module, const std::vector<Dims> &inputs);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_SHAPEBINDER_H
