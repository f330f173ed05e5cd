//===- Array.cpp - A caller's array as the C API takes it --------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's arrays are read by the buffer protocol and PyTorch's by its own attributes, which takes a
// tenth of the time of DLPack; anything else by DLPack
// (https://dmlc.github.io/dlpack/latest/python_spec.html).
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Array.h"
#include "runtime/python/Failure.h"
#include "runtime/python/Frameworks.h"

namespace nb = nanobind;
using namespace dlc;
using namespace dlc::python;

/// Device types of DLPack.
enum : int { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

static std::string typeName(nb::handle object) {
  return nb::cast<std::string>(nb::handle(Py_TYPE(object.ptr())).attr("__name__"));
}

/// Text of the exception that is set, which is cleared.
static std::string takeError() {
  nb::python_error error;
  return nb::cast<std::string>(nb::str(error.value()));
}

static void checkRank(const Port &port, int64_t rank) {
  if (rank > DLC_MAX_RANK)
    raise(DLC_USAGE, port.text() + ": expected 0 to " + std::to_string(DLC_MAX_RANK) +
                         " dims, got " + std::to_string(rank));
}

[[noreturn]] static void raiseNotContiguous(const Port &port, Access access) {
  raise(DLC_USAGE, port.text() + " is not contiguous in C order; " +
                       (access == Access::write ? "results are written only into one that is"
                                                : "give the model a copy of it that is"));
}

static void warnNotContiguous(const Port &port) {
  warnOfCopy(port.text() + " is not contiguous in C order and is copied for each run; a contiguous "
                           "array is read where it lies");
}

/// The integer type in which the bits of `wanted` may come, since few frameworks have the type
/// itself.
static bool holdsBits(dlc_dtype got, dlc_dtype wanted) {
  switch (wanted) {
  case DLC_BF16:
    return got == DLC_U16;
  case DLC_I4:
  case DLC_I2:
    return got == DLC_I8;
  case DLC_F8E4M3FN:
  case DLC_F8E4M3FNUZ:
  case DLC_F8E5M2:
  case DLC_F8E5M2FNUZ:
  case DLC_F8E8M0:
  case DLC_F4E2M1:
  case DLC_U4:
  case DLC_U2:
    return got == DLC_U8;
  default:
    return false;
  }
}

Array::~Array() {
  if (buffer.obj)
    PyBuffer_Release(&buffer);
}

void Array::read(nb::handle object, const Port &port, Access access, const Place &place,
                 dlc_tensor &out) {
  held = nb::borrow(object);
  out = {};
  out.struct_size = sizeof(dlc_tensor);
  if (isNumPyArray(object)) {
    origin = Framework::numpy;
    readBuffer(port, access, out);
  } else if (isTorchTensor(object)) {
    origin = Framework::torch;
    readTorch(port, access, place, out);
  } else if (nb::hasattr(object, "__dlpack_device__")) {
    readDLPack(port, access, place, out);
  } else if (PyObject_CheckBuffer(object.ptr())) {
    origin = Framework::numpy; // a scalar of NumPy, array.array, memoryview
    readBuffer(port, access, out);
  } else {
    raise(DLC_USAGE,
          port.text() +
              ": expected an array of NumPy, PyTorch, JAX or another one with DLPack, got " +
              typeName(object));
  }
  if (holdsBits(out.dtype, port.info.dtype))
    out.dtype = port.info.dtype;
  out.memory = onDevice ? DLC_MEMORY_DEVICE : DLC_MEMORY_HOST;
  int64_t count = 1;
  for (int dim = 0; dim < out.rank; ++dim)
    count *= out.dims[dim];
  out.bytes = static_cast<size_t>(count) * dlc_dtype_size(out.dtype);
}

void Array::checkPlace(const Port &port, const Place &place, int ordinal) const {
  if (place.isCuda && ordinal != place.ordinal)
    raise(DLC_USAGE, port.text() + " is on cuda:" + std::to_string(ordinal) +
                         ", and the model runs on cuda:" + std::to_string(place.ordinal));
}

//===- The buffer protocol --------------------------------------------------------------------===//

/// The element type of a buffer; -1 where dlc has none.
static int fromFormat(const char *format, Py_ssize_t size) {
  if (!format)
    return DLC_U8;
  if (*format == '@' || *format == '=' || *format == '<')
    ++format;
  if (!*format || format[1])
    return -1;
  auto bySize = [&](int one, int two, int four, int eight) {
    return size == 1 ? one : size == 2 ? two : size == 4 ? four : size == 8 ? eight : -1;
  };
  switch (*format) {
  case 'd':
  case 'f':
  case 'e':
    return bySize(-1, DLC_F16, DLC_F32, DLC_F64);
  case 'b':
  case 'h':
  case 'i':
  case 'l':
  case 'q':
    return bySize(DLC_I8, DLC_I16, DLC_I32, DLC_I64);
  case 'B':
  case 'H':
  case 'I':
  case 'L':
  case 'Q':
    return bySize(DLC_U8, DLC_U16, DLC_U32, DLC_U64);
  case '?':
    return DLC_BOOL;
  default:
    return -1;
  }
}

/// Whether the buffer could be had; otherwise an exception is set.
bool Array::openBuffer(nb::handle from, Access access) {
  int flags = PyBUF_FORMAT | PyBUF_STRIDES | (access == Access::write ? PyBUF_WRITABLE : 0);
  return PyObject_GetBuffer(from.ptr(), &buffer, flags) == 0;
}

void Array::readBuffer(const Port &port, Access access, dlc_tensor &out) {
  int small = -1;
  if (!openBuffer(held, access)) {
    std::string why = takeError();
    // NumPy describes no dtype of ml_dtypes: its bits are read.
    if (origin == Framework::numpy && nb::hasattr(held, "dtype"))
      small = fromMlDType(held);
    // Signed integers of few bits do not have their sign in the rest of the byte, as dlc has it.
    if (small == DLC_I4 || small == DLC_I2)
      copy = held.attr(access == Access::read ? "astype" : "view")("i1");
    else if (small >= 0)
      copy = held.attr("view")(dlc_dtype_size(static_cast<dlc_dtype>(small)) == 2 ? "u2" : "u1");
    if (small < 0 || !openBuffer(copy, access))
      raise(DLC_USAGE, port.text() + ": its memory cannot be " +
                           (access == Access::write ? "written: " : "read: ") +
                           (small < 0 ? why : takeError()));
  }
  checkRank(port, buffer.ndim);
  if (!PyBuffer_IsContiguous(&buffer, 'C')) {
    if (access == Access::write)
      raiseNotContiguous(port, access);
    warnNotContiguous(port);
    PyBuffer_Release(&buffer);
    copy = numpyContiguous(small >= 0 ? copy : held);
    if (!openBuffer(copy, access))
      raiseSet();
  }
  int dtype = small >= 0 ? small : fromFormat(buffer.format, buffer.itemsize);
  if (dtype < 0)
    raise(DLC_USAGE, port.text() + ": expected " + dlc_dtype_name(port.info.dtype) +
                         ", got elements of the format '" + buffer.format +
                         "', which dlc does not know");
  out.dtype = static_cast<dlc_dtype>(dtype);
  out.rank = buffer.ndim;
  std::copy(buffer.shape, buffer.shape + buffer.ndim, out.dims);
  out.data = buffer.buf;
}

//===- PyTorch --------------------------------------------------------------------------------===//

namespace {
/// Names of attributes of tensors.
struct TensorNames {
  PyObject *isCuda = intern("is_cuda"), *isCpu = intern("is_cpu"), *dtype = intern("dtype"),
           *shape = intern("shape"), *layout = intern("layout"),
           *requiresGrad = intern("requires_grad"), *isContiguous = intern("is_contiguous"),
           *isNegated = intern("is_neg");

  static PyObject *intern(const char *name) { return PyUnicode_InternFromString(name); }
  static const TensorNames &get() {
    static const TensorNames names;
    return names;
  }
};
} // namespace

static bool isTrue(const nb::object &object) { return object.ptr() == Py_True; }

void Array::readTorch(const Port &port, Access access, const Place &place, dlc_tensor &out) {
  const TensorNames &names = TensorNames::get();
  nb::object tensor = held;
  if (isTrue(attribute(tensor, names.requiresGrad)) && torchRecordsGradients())
    raise(DLC_USAGE, port.text() +
                         " requires a gradient, which dlc does not compute; give the model "
                         "x.detach(), or call it under torch.no_grad()");
  onDevice = isTrue(attribute(tensor, names.isCuda));
  if (onDevice) {
    int ordinal = nb::cast<int>(tensor.attr("get_device")());
    checkPlace(port, place, ordinal);
    finishTorchStream(ordinal, place.stream);
  } else if (!isTrue(attribute(tensor, names.isCpu))) {
    raise(DLC_USAGE, port.text() + " is on the device " +
                         nb::cast<std::string>(nb::str(torchDevice(tensor))) +
                         "; expected cpu or cuda");
  }
  if (!isTorchStrided(attribute(tensor, names.layout)))
    raise(DLC_USAGE, port.text() + " is sparse; expected a dense tensor");
  bool isPlain = isTrue(callMethod(tensor, names.isContiguous)) &&
                 !isTrue(callMethod(tensor, names.isNegated));
  if (!isPlain) {
    if (access == Access::write)
      raiseNotContiguous(port, access);
    warnNotContiguous(port);
    copy = tensor.attr("detach")().attr("resolve_neg")().attr("contiguous")();
    tensor = copy;
    // On a GPU the copy is made in PyTorch's stream.
    if (onDevice)
      finishTorchStream(nb::cast<int>(tensor.attr("get_device")()), place.stream);
  }
  nb::object type = attribute(tensor, names.dtype);
  int dtype = fromTorchDType(type);
  if (dtype < 0)
    raise(DLC_USAGE, port.text() + ": expected " + dlc_dtype_name(port.info.dtype) + ", got " +
                         nb::cast<std::string>(nb::str(type)));
  out.dtype = static_cast<dlc_dtype>(dtype);
  nb::object shape = attribute(tensor, names.shape);
  Py_ssize_t rank = PyTuple_Size(shape.ptr());
  checkRank(port, rank);
  out.rank = static_cast<int>(rank);
  for (Py_ssize_t dim = 0; dim < rank; ++dim)
    out.dims[dim] = PyLong_AsLongLong(PyTuple_GetItem(shape.ptr(), dim));
  out.data = torchData(tensor);
}

//===- DLPack ---------------------------------------------------------------------------------===//

/// The element type of DLPack's; -1 where dlc has none.
static int fromDLPack(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  if (type.lanes != 1)
    return -1;
  auto bySize = [&](int one, int two, int four, int eight) {
    return type.bits == 8    ? one
           : type.bits == 16 ? two
           : type.bits == 32 ? four
           : type.bits == 64 ? eight
                             : -1;
  };
  switch (static_cast<Code>(type.code)) {
  case Code::Float:
    return bySize(-1, DLC_F16, DLC_F32, DLC_F64);
  case Code::Int:
    return bySize(DLC_I8, DLC_I16, DLC_I32, DLC_I64);
  case Code::UInt:
    return bySize(DLC_U8, DLC_U16, DLC_U32, DLC_U64);
  case Code::Bfloat:
    return bySize(-1, DLC_BF16, -1, -1);
  case Code::Bool:
    return bySize(DLC_BOOL, -1, -1, -1);
  case Code::Float8_E4M3FN:
    return DLC_F8E4M3FN;
  case Code::Float8_E4M3FNUZ:
    return DLC_F8E4M3FNUZ;
  case Code::Float8_E5M2:
    return DLC_F8E5M2;
  case Code::Float8_E5M2FNUZ:
    return DLC_F8E5M2FNUZ;
  case Code::Float8_E8M0FNU:
    return DLC_F8E8M0;
  default:
    return -1;
  }
}

static bool isContiguous(const nb::ndarray<nb::ro> &array) {
  int64_t step = 1;
  for (size_t dim = array.ndim(); dim-- > 0;) {
    if (array.shape(dim) == 0)
      return true;
    if (array.shape(dim) > 1 && array.stride(dim) != step)
      return false;
    step *= static_cast<int64_t>(array.shape(dim));
  }
  return true;
}

void Array::readDLPack(const Port &port, Access access, const Place &place, dlc_tensor &out) {
  nb::object device = held.attr("__dlpack_device__")();
  int kind = nb::cast<int>(nb::int_(device[0])), ordinal = nb::cast<int>(nb::int_(device[1]));
  onDevice = kind == kCuda || kind == kCudaManaged;
  if (!onDevice && kind != kCpu && kind != kCudaHost)
    raise(DLC_USAGE, port.text() + " is on a device of DLPack's type " + std::to_string(kind) +
                         "; expected a CPU or a CUDA GPU");
  nb::object source = held;
  if (onDevice) {
    checkPlace(port, place, ordinal);
    if (!place.stream)
      raise(DLC_USAGE, port.text() + " is in GPU memory, and its framework must be told in which "
                                     "stream the model reads it; load the model with stream=");
    source = held.attr("__dlpack__")(nb::arg("stream") = reinterpret_cast<uintptr_t>(place.stream));
  }
  try {
    imported = access == Access::write ? nb::ndarray<nb::ro>(nb::cast<nb::ndarray<>>(source))
                                       : nb::cast<nb::ndarray<nb::ro>>(source);
  } catch (const nb::cast_error &) {
    raise(DLC_USAGE, port.text() + ": " + typeName(held) + " does not give its memory to be " +
                         (access == Access::write ? "written" : "read") + " by DLPack");
  }
  checkRank(port, static_cast<int64_t>(imported.ndim()));
  if (!isContiguous(imported))
    raiseNotContiguous(port, access);
  int dtype = fromDLPack(imported.dtype());
  if (dtype < 0)
    raise(DLC_USAGE, port.text() + ": expected " + dlc_dtype_name(port.info.dtype) +
                         ", got a type of DLPack's code " + std::to_string(imported.dtype().code) +
                         " and " + std::to_string(imported.dtype().bits) + " bits");
  out.dtype = static_cast<dlc_dtype>(dtype);
  out.rank = static_cast<int>(imported.ndim());
  for (int dim = 0; dim < out.rank; ++dim)
    out.dims[dim] = static_cast<int64_t>(imported.shape(static_cast<size_t>(dim)));
  out.data = const_cast<void *>(imported.data());
}
