//===- Result.cpp - Arrays for a model's outputs -----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Result.h"
#include "runtime/python/Failure.h"
#include "runtime/python/Frameworks.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace nb = nanobind;
using namespace dlc;
using namespace dlc::python;

/// What JAX asks of memory that it takes over without a copy.
static constexpr size_t kAlignment = 64;

static nb::object shapeOf(const int64_t *dims, int rank) {
  nb::object shape = steal(PyTuple_New(rank));
  for (int dim = 0; dim < rank; ++dim)
    PyTuple_SetItem(shape.ptr(), dim, steal(PyLong_FromLongLong(dims[dim])).release().ptr());
  return shape;
}

/// DLPack's type of an element of dlc: an integer of as many bytes where DLPack packs several
/// elements into a byte.
static nb::dlpack::dtype toDLPack(dlc_dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  auto made = [&](Code code) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code),
                             static_cast<uint8_t>(8 * dlc_dtype_size(dtype)), 1};
  };
  switch (dtype) {
  case DLC_F64:
  case DLC_F32:
  case DLC_F16:
    return made(Code::Float);
  case DLC_BF16:
    return made(Code::Bfloat);
  case DLC_I64:
  case DLC_I32:
  case DLC_I16:
  case DLC_I8:
  case DLC_I4:
  case DLC_I2:
    return made(Code::Int);
  case DLC_BOOL:
    return made(Code::Bool);
  case DLC_F8E4M3FN:
    return made(Code::Float8_E4M3FN);
  case DLC_F8E4M3FNUZ:
    return made(Code::Float8_E4M3FNUZ);
  case DLC_F8E5M2:
    return made(Code::Float8_E5M2);
  case DLC_F8E5M2FNUZ:
    return made(Code::Float8_E5M2FNUZ);
  case DLC_F8E8M0:
    return made(Code::Float8_E8M0FNU);
  default:
    return made(Code::UInt);
  }
}

/// A dense array without its memory.
static dlc_tensor describe(const Port &port, const int64_t *dims) {
  dlc_tensor made = {};
  made.struct_size = sizeof(dlc_tensor);
  made.dtype = port.info.dtype;
  made.rank = port.info.rank;
  made.bytes = dlc_dtype_size(made.dtype);
  for (int dim = 0; dim < made.rank; ++dim) {
    made.dims[dim] = dims[dim];
    made.bytes *= static_cast<size_t>(dims[dim]);
  }
  return made;
}

void Result::allocate(const Array *like, const Port &port, const int64_t *dims, const Place &place,
                      dlc_tensor &out) {
  nb::object shape = shapeOf(dims, port.info.rank);
  if (like && like->framework() == Array::Framework::torch) {
    object = torchEmpty(shape, port, torchDevice(like->object()));
    out = describe(port, dims);
    out.data = torchData(object);
    out.memory = like->isOnDevice() ? DLC_MEMORY_DEVICE : DLC_MEMORY_HOST;
    return;
  }
  if (!like || like->framework() == Array::Framework::numpy) {
    object = numpyEmpty(shape, port.info.dtype);
  } else {
    if (nb::hasattr(like->object(), "__array_namespace__"))
      arrayApi = like->object().attr("__array_namespace__")();
    if (like->isOnDevice() && !arrayApi)
      raise(DLC_UNSUPPORTED, port.text() + ": the framework of the first input cannot be asked for "
                                           "GPU memory; give the model an array for each output");
    if (like->isOnDevice()) {
      nb::object name = numpyDType(port.info.dtype).attr("name");
      object = arrayApi.attr("empty")(shape, nb::arg("dtype") = arrayApi.attr(name));
    }
  }
  if (object)
    return array.read(object, port, Access::write, place, out);

  out = describe(port, dims);
  size_t rounded = std::max((out.bytes + kAlignment - 1) / kAlignment, size_t{1}) * kAlignment;
  out.data = std::aligned_alloc(kAlignment, rounded);
  if (!out.data)
    throw std::bad_alloc();
  block = nb::capsule(out.data, [](void *data) noexcept { std::free(data); });
}

nb::object Result::keep(const Array *like, const Port &port, const int64_t *dims,
                        const Place &place, const void *data) {
  dlc_tensor out;
  if (!like || !like->isOnDevice()) {
    allocate(like, port, dims, place, out);
    if (out.bytes)
      std::memcpy(out.data, data, out.bytes);
    return finish(port, out, dims);
  }
  // An array of the CPU that its framework moves to the GPU.
  out = describe(port, dims);
  nb::object shape = shapeOf(dims, port.info.rank);
  if (like->framework() == Array::Framework::torch) {
    object = torchEmpty(shape, port, nb::str("cpu"));
    if (out.bytes)
      std::memcpy(torchData(object), data, out.bytes);
    return object.attr("to")(torchDevice(like->object()));
  }
  if (!nb::hasattr(like->object(), "__array_namespace__"))
    raise(DLC_UNSUPPORTED, port.text() + ": the framework of the first input cannot be asked for "
                                         "GPU memory; give the model an array for each output");
  object = numpyEmpty(shape, port.info.dtype);
  if (out.bytes)
    std::memcpy(reinterpret_cast<void *>(nb::cast<uintptr_t>(object.attr("ctypes").attr("data"))),
                data, out.bytes);
  return like->object().attr("__array_namespace__")().attr("asarray")(object);
}

void Result::take(nb::handle given, const Port &port, const Place &place, dlc_tensor &out) {
  object = nb::borrow(given);
  array.read(given, port, Access::write, place, out);
}

nb::object Result::finish(const Port &port, const dlc_tensor &written, const int64_t *dims) {
  int rank = port.info.rank;
  if (block) {
    size_t shape[DLC_MAX_RANK];
    std::copy(dims, dims + rank, shape);
    nb::ndarray<nb::array_api> made(written.data, static_cast<size_t>(rank), shape, block, nullptr,
                                    toDLPack(port.info.dtype), nb::device::cpu::value);
    nb::object result = nb::cast(made);
    return arrayApi ? nb::object(arrayApi.attr("from_dlpack")(result)) : result;
  }
  if (std::equal(dims, dims + rank, written.dims))
    return object;
  int64_t count = 1;
  for (int dim = 0; dim < rank; ++dim)
    count *= dims[dim];
  return object.attr("reshape")(-1)[nb::slice(nb::none(), nb::int_(count), nb::none())].attr(
      "reshape")(shapeOf(dims, rank));
}
