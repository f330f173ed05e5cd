//===- Frameworks.h - NumPy and PyTorch, where the process has them ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Neither is imported because of dlc: an array of theirs proves that they are there. Objects that
// are found once are kept until the process ends.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_FRAMEWORKS_H
#define DLC_RUNTIME_PYTHON_FRAMEWORKS_H

#include "runtime/python/Port.h"

namespace dlc::python {

/// Element types of the C API. ORDER DTYPE.
inline constexpr int kNumDTypes = DLC_U2 + 1;

/// Whether `object` is an array of NumPy, or a tensor of PyTorch. Neither is imported.
bool isNumPyArray(nanobind::handle object);
bool isTorchTensor(nanobind::handle object);

/// NumPy's dtype of an element type. Those that NumPy lacks are those of ml_dtypes where that can
/// be imported, and else unsigned or signed integers that hold the bits.
nanobind::handle numpyDType(dlc_dtype dtype);
/// The element type of a NumPy array whose dtype is one of ml_dtypes; -1 for any other.
int fromMlDType(nanobind::handle array);
nanobind::object numpyEmpty(nanobind::handle shape, dlc_dtype dtype);
/// A copy in C order.
nanobind::object numpyContiguous(nanobind::handle array);

/// The element type of a tensor; -1 where dlc has none.
int fromTorchDType(nanobind::handle dtype);
/// Raises dlc.Error where this PyTorch has no such type.
nanobind::object torchEmpty(nanobind::handle shape, const Port &port, nanobind::handle device);
nanobind::object torchDevice(nanobind::handle tensor);
/// The address of a tensor's first element.
void *torchData(nanobind::handle tensor);
/// Whether this layout of a tensor is the dense one.
bool isTorchStrided(nanobind::handle layout);
bool torchRecordsGradients();
/// Waits for PyTorch's current stream of the GPU unless it is `stream`.
void finishTorchStream(int ordinal, void *stream);

/// `object.name`, and `object.name()`. `name` is an interned string.
nanobind::object attribute(nanobind::handle object, PyObject *name);
nanobind::object callMethod(nanobind::handle object, PyObject *name);

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_FRAMEWORKS_H
