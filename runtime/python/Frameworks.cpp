//===- Frameworks.cpp - NumPy and PyTorch, where the process has them --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Frameworks.h"
#include "runtime/python/Failure.h"

#include <array>
#include <cstring>
#include <iterator>

namespace nb = nanobind;
using namespace dlc;
using namespace dlc::python;

namespace {

struct Names {
  /// NumPy's name or that of ml_dtypes, PyTorch's, and the integers that hold the bits where there
  /// is none.
  const char *numpy, *torch, *bits;
};

/// CU_STREAM_LEGACY: PyTorch calls this stream 0, by which dlc means none.
constexpr uintptr_t kLegacyStream = 1;

// ORDER DTYPE.
constexpr Names kNames[kNumDTypes] = {
    {"float64", "float64", nullptr},
    {"float32", "float32", nullptr},
    {"float16", "float16", nullptr},
    {"bfloat16", "bfloat16", "uint16"},
    {"int64", "int64", nullptr},
    {"int32", "int32", nullptr},
    {"int16", "int16", nullptr},
    {"int8", "int8", nullptr},
    {"uint8", "uint8", nullptr},
    {"bool", "bool", nullptr},
    {"uint16", "uint16", nullptr},
    {"uint32", "uint32", nullptr},
    {"uint64", "uint64", nullptr},
    {"float8_e4m3fn", "float8_e4m3fn", "uint8"},
    {"float8_e4m3fnuz", "float8_e4m3fnuz", "uint8"},
    {"float8_e5m2", "float8_e5m2", "uint8"},
    {"float8_e5m2fnuz", "float8_e5m2fnuz", "uint8"},
    {"float8_e8m0fnu", "float8_e8m0fnu", "uint8"},
    {"float4_e2m1fn", nullptr, "uint8"},
    {"int4", nullptr, "int8"},
    {"uint4", nullptr, "uint8"},
    {"int2", nullptr, "int8"},
    {"uint2", nullptr, "uint8"},
};

/// The module of this name if the process has imported it; null otherwise.
nb::object importedModule(const char *name) {
  nb::object modules = nb::module_::import_("sys").attr("modules");
  PyObject *found = PyDict_GetItemString(modules.ptr(), name); // borrowed
  return found ? nb::borrow(found) : nb::object();
}

/// `module.type` once that is imported; null before. An import that still goes on may lack it.
PyObject *typeOf(const char *module, const char *type) {
  nb::object found = importedModule(module);
  return found && nb::hasattr(found, type) ? nb::object(found.attr(type)).release().ptr() : nullptr;
}

bool isInstance(nb::handle object, PyObject *type) {
  return type && PyType_IsSubtype(Py_TYPE(object.ptr()), reinterpret_cast<PyTypeObject *>(type));
}

struct NumPy {
  nb::object empty, contiguous;
  std::array<nb::object, kNumDTypes> dtypes;

  NumPy() {
    nb::module_ numpy = nb::module_::import_("numpy");
    empty = numpy.attr("empty");
    contiguous = numpy.attr("ascontiguousarray");
    nb::object small; // it is optional
    if (!nb::module_::import_("importlib.util").attr("find_spec")("ml_dtypes").is_none())
      small = nb::module_::import_("ml_dtypes");
    for (int i = 0; i < kNumDTypes; ++i) {
      bool own = !kNames[i].bits;
      bool hasSmall = !own && small && nb::hasattr(small, kNames[i].numpy);
      nb::object type = own        ? numpy.attr(i == DLC_BOOL ? "bool_" : kNames[i].numpy)
                        : hasSmall ? small.attr(kNames[i].numpy)
                                   : numpy.attr(kNames[i].bits);
      dtypes[i] = numpy.attr("dtype")(type);
    }
  }
  static NumPy &get() {
    static NumPy *made = new NumPy; // outlives the interpreter on purpose
    return *made;
  }
};

struct Torch {
  nb::object module, empty, keywords, gradients, strided;
  std::array<nb::object, kNumDTypes> dtypes; ///< null where this PyTorch has no such type

  Torch() {
    module = nb::module_::import_("torch");
    empty = module.attr("empty");
    gradients = module.attr("is_grad_enabled");
    strided = module.attr("strided");
    keywords = nb::make_tuple("dtype", "device");
    for (int i = 0; i < kNumDTypes; ++i)
      if (kNames[i].torch && nb::hasattr(module, kNames[i].torch))
        dtypes[i] = module.attr(kNames[i].torch);
      else if (kNames[i].bits)
        dtypes[i] = module.attr(kNames[i].bits);
  }
  static Torch &get() {
    static Torch *made = new Torch; // outlives the interpreter on purpose
    return *made;
  }
};

} // namespace

bool python::isNumPyArray(nb::handle object) {
  static PyObject *type = nullptr;
  if (!type)
    type = typeOf("numpy", "ndarray");
  return isInstance(object, type);
}

bool python::isTorchTensor(nb::handle object) {
  static PyObject *type = nullptr;
  if (!type)
    type = typeOf("torch", "Tensor");
  return isInstance(object, type);
}

nb::handle python::numpyDType(dlc_dtype dtype) { return NumPy::get().dtypes[dtype]; }

int python::fromMlDType(nb::handle array) {
  nb::object name = array.attr("dtype").attr("name");
  for (int i = 0; i < kNumDTypes; ++i)
    if (kNames[i].bits && std::strcmp(nb::cast<const char *>(name), kNames[i].numpy) == 0)
      return i;
  return -1;
}

nb::object python::numpyEmpty(nb::handle shape, dlc_dtype dtype) {
  NumPy &numpy = NumPy::get();
  PyObject *arguments[] = {nullptr, shape.ptr(), numpy.dtypes[dtype].ptr()};
  return steal(PyObject_Vectorcall(numpy.empty.ptr(), arguments + 1,
                                   2 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}

nb::object python::numpyContiguous(nb::handle array) { return NumPy::get().contiguous(array); }

int python::fromTorchDType(nb::handle dtype) {
  const auto &dtypes = Torch::get().dtypes;
  for (int i = 0; i < kNumDTypes; ++i)
    if (dtypes[i].ptr() == dtype.ptr())
      return i;
  return -1;
}

nb::object python::torchEmpty(nb::handle shape, const Port &port, nb::handle device) {
  Torch &torch = Torch::get();
  nb::handle dtype = torch.dtypes[port.info.dtype];
  if (!dtype.is_valid())
    raise(DLC_UNSUPPORTED, port.text() + ": this PyTorch has no type for " +
                               dlc_dtype_name(port.info.dtype) + "; give the model NumPy arrays");
  PyObject *arguments[] = {nullptr, shape.ptr(), dtype.ptr(), device.ptr()};
  return steal(PyObject_Vectorcall(torch.empty.ptr(), arguments + 1,
                                   1 | PY_VECTORCALL_ARGUMENTS_OFFSET, torch.keywords.ptr()));
}

void *python::torchData(nb::handle tensor) {
  static PyObject *name = PyUnicode_InternFromString("data_ptr");
  nb::object address = callMethod(tensor, name);
  void *data = PyLong_AsVoidPtr(address.ptr());
  if (PyErr_Occurred())
    raiseSet();
  return data;
}

nb::object python::torchDevice(nb::handle tensor) {
  static PyObject *name = PyUnicode_InternFromString("device");
  return attribute(tensor, name);
}

bool python::isTorchStrided(nb::handle layout) { return layout.is(Torch::get().strided); }

bool python::torchRecordsGradients() { return nb::cast<bool>(Torch::get().gradients()); }

void python::finishTorchStream(int ordinal, void *stream) {
  nb::object current = Torch::get().module.attr("cuda").attr("current_stream")(ordinal);
  auto handle = nb::cast<uintptr_t>(current.attr("cuda_stream"));
  if (!stream || reinterpret_cast<uintptr_t>(stream) != (handle ? handle : kLegacyStream))
    current.attr("synchronize")();
}

nb::object python::attribute(nb::handle object, PyObject *name) {
  return steal(PyObject_GetAttr(object.ptr(), name));
}

nb::object python::callMethod(nb::handle object, PyObject *name) {
  PyObject *arguments[] = {nullptr, object.ptr()};
  return steal(
      PyObject_VectorcallMethod(name, arguments + 1, 1 | PY_VECTORCALL_ARGUMENTS_OFFSET, nullptr));
}
