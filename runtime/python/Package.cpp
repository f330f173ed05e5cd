//===- Package.cpp - A loaded model.bin --------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/python/Package.h"
#include "runtime/python/Failure.h"

namespace nb = nanobind;
using namespace dlc;
using namespace dlc::python;

using Describe = dlc_status(const dlc_module *, size_t, dlc_value_info *);

static std::vector<Port> portsOf(const dlc_module *module, const char *kind, size_t count,
                                 Describe describe) {
  std::vector<Port> ports;
  for (size_t i = 0; i < count; ++i) {
    dlc_value_info info = {};
    info.struct_size = sizeof(info);
    check(describe(module, i, &info));
    ports.push_back({kind, info, nb::str(info.name)});
  }
  return ports;
}

Package::Package(dlc_module *module) : owned(module) {
  ins = portsOf(module, "input", dlc_module_num_inputs(module), dlc_module_input);
  outs = portsOf(module, "output", dlc_module_num_outputs(module), dlc_module_output);
  kept = portsOf(module, "state", dlc_module_num_states(module), dlc_module_state);
}

static dlc_load_options optionsOf(bool verifyAll) {
  dlc_load_options options = {};
  options.struct_size = sizeof(options);
  options.verify_all = verifyAll;
  return options;
}

std::shared_ptr<Package> Package::load(const char *path, bool verifyAll) {
  dlc_load_options options = optionsOf(verifyAll);
  dlc_module *module = nullptr;
  dlc_status status;
  {
    nb::gil_scoped_release released;
    status = dlc_module_load(path, &options, &module);
  }
  check(status);
  return std::shared_ptr<Package>(new Package(module));
}

std::shared_ptr<Package> Package::loadMemory(const nb::bytes &data, bool verifyAll) {
  dlc_load_options options = optionsOf(verifyAll);
  dlc_module *module = nullptr;
  dlc_status status;
  {
    const void *begin = data.data();
    size_t size = data.size();
    nb::gil_scoped_release released;
    status = dlc_module_load_memory(begin, size, &options, &module);
  }
  check(status);
  return std::shared_ptr<Package>(new Package(module));
}
