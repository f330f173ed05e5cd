//===- ShapeBinder.h - From the dims of the inputs to the values of the symbols -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CORE_BIND_SHAPEBINDER_H
#define DLC_RUNTIME_CORE_BIND_SHAPEBINDER_H

#include "runtime/core/Status.h"
#include "runtime/core/package/Module.h"

#include <cstdint>
#include <vector>

namespace dlc::rt {

using Dims = std::vector<int64_t>;

/// Everything that depends on the inputs' shapes alone. Counted symbols have their largest values;
/// their counts are the last outputs. Symbols that a flow reads during the run have no values yet,
/// and dims of outputs that depend on them are -1.
struct Binding {
  std::vector<int64_t> symbols;
  std::vector<int64_t> values; ///< of each expression of the module
  std::vector<Dims> outputs, states;
};

/// Finds the symbols' values from the dims of each input and checks every dim against them. A dim
/// that is a symbol gives its value; one such as 2*N is solved where it determines N alone, and
/// checked in any case. `given`: of a segment, the values of its given symbols. DLC_USAGE with a
/// sentence that names input, dim, expected and got.
Expected<Binding> bindShapes(const Module &module, const std::vector<Dims> &inputs,
                             const std::vector<int64_t> &given = {});

/// Checks a value that the running model computed for a symbol. DLC_USAGE if it is outside of the
/// symbol's range.
Status checkComputed(const schema::Symbol &symbol, int64_t value);

} // namespace dlc::rt

#endif // DLC_RUNTIME_CORE_BIND_SHAPEBINDER_H
