//===- Package.h - A loaded model.bin ----------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_PACKAGE_H
#define DLC_RUNTIME_PYTHON_PACKAGE_H

#include "runtime/python/Port.h"

#include <memory>
#include <vector>

namespace dlc::python {

/// A dlc_module and what it takes and gives. Sessions share it.
class Package {
public:
  /// Maps the file, without the GIL.
  static std::shared_ptr<Package> load(const char *path, bool verifyAll);
  /// Copies the bytes.
  static std::shared_ptr<Package> loadMemory(const nanobind::bytes &data, bool verifyAll);

  dlc_module *module() const { return owned.get(); }
  const std::vector<Port> &inputs() const { return ins; }
  const std::vector<Port> &outputs() const { return outs; }
  const std::vector<Port> &states() const { return kept; }

private:
  struct Free {
    void operator()(dlc_module *module) const { dlc_module_free(module); }
  };
  explicit Package(dlc_module *module);

  std::unique_ptr<dlc_module, Free> owned;
  std::vector<Port> ins, outs, kept;
};

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_PACKAGE_H
