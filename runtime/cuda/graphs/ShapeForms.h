//===- ShapeForms.h - One graph for many shapes ---------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sequence that grows has another shape in each run, and none of them comes again. Shapes whose
// commands differ in arguments, grids and sizes of copies alone are of one form. The form has one
// graph, which is given the numbers of each shape in turn, in place, and so replays for shapes that
// were never seen before.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_GRAPHS_SHAPEFORMS_H
#define DLC_RUNTIME_CUDA_GRAPHS_SHAPEFORMS_H

#include "runtime/cuda/graphs/BoundShapes.h"

#include <cstdint>
#include <list>
#include <vector>

namespace dlc::cuda {

/// The forms of a program's shapes, those met last. Destroyed with the device's context current.
class ShapeForms {
public:
  /// How many are kept. A program has as many as combinations of its launches' variants, which
  /// change together.
  static constexpr size_t kLimit = 8;

  explicit ShapeForms(GpuDevice &device) : device(device) {}

  /// The graph of the shape's form, whose numbers may be those of another shape. Null where no
  /// shape of that form was met before, and where a command is a library's product, which has nodes
  /// of its own making. No run of any form's graph is in flight: the oldest may go.
  CommandGraph *find(const schema::Program &program, const BoundShape &shape);
  void clear() { forms.clear(); }

private:
  struct Form {
    Form(GpuDevice &device, std::vector<int64_t> key) : graph(device), key(std::move(key)) {}

    CommandGraph graph;
    std::vector<int64_t> key;
  };

  GpuDevice &device;
  std::list<Form> forms; ///< the newest first
};

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_GRAPHS_SHAPEFORMS_H
