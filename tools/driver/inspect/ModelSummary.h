//===- ModelSummary.h - What a model consists of, in numbers ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_INSPECT_MODELSUMMARY_H
#define DLC_TOOLS_DRIVER_INSPECT_MODELSUMMARY_H

#include "frontend/dl/syntax/SourceIndex.h"
#include "tools/driver/base/Json.h"

#include "mlir/IR/BuiltinOps.h"

namespace dlc {

/// "25,557,032"
std::string grouped(uint64_t number);

/// Reads an imported module and what was noted while it was imported; both must outlive it.
class ModelSummary {
public:
  ModelSummary(mlir::ModuleOp module, const SourceIndex &index) : module(module), index(index) {}

  /// "62,346 parameters, 5 layers, inputs x: f32[N,3,32,32], outputs y: f32[N,10]"
  std::string line() const;
  /// The same as members of the object that is open.
  void write(Json &json) const;

  /// Elements of the weights that training changes, and of those that it keeps beside them (running
  /// means).
  uint64_t parameters() const { return elements(false); }
  uint64_t buffers() const { return elements(true); }
  /// Name and type of each.
  std::vector<std::pair<std::string, std::string>> inputs() const;
  std::vector<std::pair<std::string, std::string>> outputs() const;
  std::vector<std::pair<std::string, std::string>> states() const;

  static uint64_t elementsOf(const LayerFacts &layer, bool ofBuffers);

private:
  uint64_t elements(bool ofBuffers) const;

  mutable mlir::ModuleOp module; // a handle, whose accessors are not const
  const SourceIndex &index;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_INSPECT_MODELSUMMARY_H
