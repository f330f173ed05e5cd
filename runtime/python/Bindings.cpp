//===- Bindings.cpp - The module dlc._runtime --------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What model.py builds on: its classes document what these do, _runtime.pyi says what they take.
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Failure.h"
#include "runtime/python/Session.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>

#include <optional>

namespace nb = nanobind;
using namespace nb::literals;
using namespace dlc;
using namespace dlc::python;

/// (name, dtype, dims as numbers or names, the smallest dims, the largest dims) of each port.
static nb::list described(const std::vector<Port> &ports) {
  nb::list made;
  for (const Port &port : ports) {
    nb::list dims, least, most;
    for (int dim = 0; dim < port.info.rank; ++dim) {
      const char *name = port.info.dim_names[dim];
      dims.append(name ? nb::object(nb::str(name)) : nb::object(nb::int_(port.info.dims[dim])));
      least.append(port.info.min_dims[dim]);
      most.append(port.info.max_dims[dim]);
    }
    made.append(nb::make_tuple(port.name, dlc_dtype_name(port.info.dtype), nb::tuple(dims),
                               nb::tuple(least), nb::tuple(most)));
  }
  return made;
}

static nb::list inputs(const Package &package) { return described(package.inputs()); }
static nb::list outputs(const Package &package) { return described(package.outputs()); }
static nb::list states(const Package &package) { return described(package.states()); }
static const char *precision(const Package &package) {
  return dlc_dtype_name(dlc_module_precision(package.module()));
}

static int64_t cacheCapacity(const Package &package) {
  return dlc_module_cache_capacity(package.module());
}

static void construct(Session *session, std::shared_ptr<Package> package, const std::string &device,
                      int threads, bool checked, bool profile, bool noJit,
                      const std::optional<std::string> &cacheDir, nb::object progress, bool noGraph,
                      uintptr_t stream, bool timeDevice, int cublas, int timeoutMs,
                      bool noOverlap) {
  dlc_context_options options = {};
  options.struct_size = sizeof(options);
  options.device = device.c_str();
  options.threads = threads;
  options.checked = checked;
  options.profile = profile;
  options.no_jit = noJit;
  options.cache_dir = cacheDir ? cacheDir->c_str() : nullptr;
  options.no_graph = noGraph;
  options.stream = reinterpret_cast<void *>(stream);
  options.time_device = timeDevice;
  options.cublas = static_cast<dlc_cublas>(cublas);
  options.timeout_ms = timeoutMs;
  options.no_overlap = noOverlap;
  new (session) Session(std::move(package), options, device, std::move(progress));
}

NB_MODULE(_runtime, module) { // NOLINT(performance-unnecessary-value-param): the macro's
  // Models that live until the interpreter ends are no leak worth a warning.
  nb::set_leak_warnings(false);
  module.attr("version") = dlc_version();

  nb::class_<Package>(module, "Package")
      .def_static("load", &Package::load, "path"_a, "verify_all"_a)
      .def_static("load_memory", &Package::loadMemory, "data"_a, "verify_all"_a)
      .def_prop_ro("inputs", &inputs)
      .def_prop_ro("outputs", &outputs)
      .def_prop_ro("states", &states)
      .def_prop_ro("precision", &precision)
      .def_prop_ro("cache_capacity", &cacheCapacity);

  nb::class_<Session>(module, "Session")
      .def("__init__", &construct, "package"_a, nb::kw_only(), "device"_a, "threads"_a, "checked"_a,
           "profile"_a, "no_jit"_a, "cache_dir"_a.none(), "progress"_a.none(), "no_graph"_a,
           "stream"_a, "time_device"_a, "cublas"_a, "timeout_ms"_a, "no_overlap"_a)
      .def("call", &Session::call, "positional"_a, "named"_a)
      .def("run", &Session::run, "inputs"_a, "outputs"_a.none())
      .def("prepare", &Session::prepare, "shapes"_a)
      .def("reset", &Session::reset)
      .def("read_state", &Session::readState, "index"_a)
      .def("write_state", &Session::writeState, "index"_a, "array"_a)
      .def("seed", &Session::seed, "seed"_a)
      .def("cache_length", &Session::cacheLength)
      .def("close", &Session::close)
      .def("device", &Session::device)
      .def("remarks", &Session::remarks)
      .def("profile", &Session::profile)
      .def("device_time", &Session::deviceTime)
      .def("memory", &Session::memory);
}
