//===- Item.h - What an expression stands for ---------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_FRONTEND_DL_EVALUATE_ITEM_H
#define DLC_FRONTEND_DL_EVALUATE_ITEM_H

#include "ir/dl/base/DLTypes.h"

#include "mlir/IR/Value.h"
#include "llvm/Support/SMLoc.h"

#include <string>
#include <variant>
#include <vector>

namespace dlc::frontend {

struct Instance;

/// A layer of the model, by its whole path; or a block's instance.
struct LayerRef {
  Instance *instance = nullptr; // null: a layer
  llvm::StringRef path;
};

/// A compile-time value, a tensor of the function that is being built, or a layer.
struct Item {
  struct None {};
  /// Stands for an expression whose error has been reported, so that its uses report nothing.
  struct Poison {};
  using List = std::vector<Item>;

  /// Dims are integers where they are constant; the AffineExpr is one that has symbols. Tuples are
  /// lists.
  std::variant<None, Poison, bool, int64_t, double, std::string, mlir::AffineExpr, mlir::Type,
               mlir::Value, LayerRef, List>
      value;
  llvm::SMLoc loc;

  template <typename T> bool is() const { return std::holds_alternative<T>(value); }
  template <typename T> const T &as() const { return std::get<T>(value); }
  /// The same, said at `place`.
  Item at(llvm::SMLoc place) && {
    loc = place;
    return std::move(*this);
  }
  bool isNumber() const { return is<bool>() || is<int64_t>() || is<double>(); }
  bool isDim() const { return is<int64_t>() || is<mlir::AffineExpr>(); }
  /// Of a dim.
  mlir::AffineExpr asDim(mlir::MLIRContext *context) const;
  bool isPoison() const { return is<Poison>(); }
  bool isTensor() const { return is<mlir::Value>(); }
  mlir::RankedTensorType tensorType() const {
    return mlir::cast<mlir::RankedTensorType>(as<mlir::Value>().getType());
  }

  /// A dim, as an integer where it is constant.
  static Item dim(mlir::AffineExpr dim, llvm::SMLoc loc);
};

/// For messages: "the integer 3", "the dim N*4", "a tensor f32[N,10]".
std::string describe(const Item &item, dl::SymbolNames names);

/// The element type of a dtype's name ("f32"); null where there is none.
mlir::Type dtypeOf(llvm::StringRef name, mlir::MLIRContext *context);
/// All names of dtypes.
llvm::ArrayRef<llvm::StringRef> dtypeNames();

} // namespace dlc::frontend

#endif // DLC_FRONTEND_DL_EVALUATE_ITEM_H
