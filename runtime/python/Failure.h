//===- Failure.h - Failures of the C API as exceptions of Python -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_FAILURE_H
#define DLC_RUNTIME_PYTHON_FAILURE_H

#include "dlc/runtime.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace dlc::python {

/// Raises dlc.Error with this sentence and this code. The GIL is held.
[[noreturn]] void raise(dlc_status code, const std::string &sentence);

/// Raises what the thread's last call of the C API said, where it failed.
inline void check(dlc_status status) {
  if (status != DLC_OK)
    raise(status, dlc_last_error());
}

/// Raises the exception of Python that a call of its C API has set.
[[noreturn]] inline void raiseSet() { throw nanobind::python_error(); }

/// A new reference, or the exception that is set.
inline nanobind::object steal(PyObject *made) {
  if (!made)
    raiseSet();
  return nanobind::steal(made);
}

/// Warns with dlc.CopyWarning at the line that called the model.
void warnOfCopy(const std::string &sentence);

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_FAILURE_H
