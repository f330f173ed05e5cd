//===- Failure.cpp - Failures of the C API as exceptions of Python -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Failure.h"

namespace nb = nanobind;
using namespace dlc;

void python::raise(dlc_status code, const std::string &sentence) {
  nb::object type = nb::module_::import_("dlc.errors").attr("Error");
  nb::object error = type(sentence, static_cast<int>(code));
  PyErr_SetObject(type.ptr(), error.ptr());
  raiseSet();
}

void python::warnOfCopy(const std::string &sentence) {
  nb::object category = nb::module_::import_("dlc.errors").attr("CopyWarning");
  // 2: the frame of Model's own method is the first, its caller's the second.
  if (PyErr_WarnEx(category.ptr(), sentence.c_str(), 2) != 0)
    raiseSet();
}
