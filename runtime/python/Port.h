//===- Port.h - An input, output or state of a model, as Python sees it ------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_PORT_H
#define DLC_RUNTIME_PYTHON_PORT_H

#include "dlc/runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace dlc::python {

struct Port {
  const char *kind; ///< "input", "output"
  dlc_value_info info;
  nanobind::str name;

  /// Some dim is a symbol.
  bool isSymbolic() const {
    for (int dim = 0; dim < info.rank; ++dim)
      if (info.dims[dim] < 0)
        return true;
    return false;
  }
  /// "input 'x'".
  std::string text() const { return std::string(kind) + " '" + info.name + "'"; }
};

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_PORT_H
