//===- Value.h - What the values of an ONNX graph stand for -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_ONNX_VALUE_H
#define DLC_FRONTEND_ONNX_VALUE_H

#include "frontend/onnx/read/Model.h"
#include "ir/dl/base/DerivedSize.h"

#include "mlir/IR/Value.h"

#include <memory>

namespace dlc::onnx {

/// A number that is known at import: an integer or truth value as a dim, which may hold symbols, or
/// a real number. A real number may be computed from sizes.
struct Number {
  mlir::AffineExpr dim;
  double real = 0;
  dl::DerivedAttr derived = {}; // of a real number: how sizes give it, in place of `real`

  bool isReal() const { return !dim; }
  bool operator==(const Number &other) const {
    return dim == other.dim && real == other.real && derived == other.derived;
  }
};

/// A small tensor whose elements are known at import: shapes, axes, and what is computed from them.
struct Known {
  /// Larger ones are computed by the model.
  static constexpr int64_t kMaxElements = 1024;

  mlir::Type dtype;
  llvm::SmallVector<int64_t, 4> shape;
  std::vector<Number> numbers; // row-major

  /// Whether sizes give one of its real numbers.
  bool hasDerivedReals() const;
  /// All of them, where they are integers without symbols.
  std::optional<llvm::SmallVector<int64_t>> integers() const;
  /// All of them as dims, where they are integers.
  std::optional<dl::Dims> dims() const;
  std::optional<llvm::SmallVector<double>> reals() const;
};

struct Sequence;

/// A value of the graph: a tensor of the function, numbers that are known, an initializer that
/// nobody has used as a tensor yet, or several of these; or a sequence or an optional.
struct Value {
  mlir::Value tensor;
  std::optional<Known> known;
  const Tensor *stored = nullptr;
  std::string name;                        // of the initializer
  bool isPoison = false;                   // made by a node that was refused
  bool isLeftOut = false;                  // an input of a function that its call does not give
  std::shared_ptr<Sequence> sequence = {}; // shared by nobody but copies that do not change it
};

/// A sequence of tensors, or of sequences; an optional is one of at most one element. The elements
/// are listed if their number is known at import. Otherwise they have one rank and dtype, and
/// tensors hold them: T[all], the elements of all tensors one after another; i64[n, rank], the dims
/// of each tensor; then for each level of sequences around the tensors an i64[m], the lengths of
/// the inner sequences.
struct Sequence {
  std::vector<Value> elements = {};
  llvm::SmallVector<mlir::Value, 2> tensors = {}; // empty: listed
  bool isOptional = false;
  llvm::SmallVector<bool, 1> optionals = {}; // of the inner sequences in `tensors`: are optionals

  bool isListed() const { return tensors.empty(); }
  bool isEmptyList() const { return isListed() && elements.empty(); }
  /// Levels of sequences in `tensors`: 1 for a sequence of tensors.
  size_t depth() const { return tensors.size() - 1; }
};

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_VALUE_H
