//===- OpTable.h - What the records say about each dl op ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Folded from GET_OP_LIST: no list of ops is kept by hand. The language, the importers and the docs
// look ops up here.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_OPTABLE_H
#define DLC_IR_OPTABLE_H

#include "ir/dl/DLDialect.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace dlc {

/// One parameter of a PyTorch schema.
struct Param {
  enum Type {
    tensor,
    tensors,
    integer,
    integers,
    floating,
    floatings,
    boolean,
    string,
    dtype,
    dims,
    fixed // takes `constant` alone, and no attribute stands for it
  };
  llvm::StringRef name;
  Type type;
  /// `int[2]`: one int stands for so many; 0 for lists of any length. A SymInt is one dim.
  unsigned count = 0;
  bool optional = false;         // `Tensor?`: None may be passed
  bool optionalElements = false; // `int?[2]`: None among the numbers is -1 in the attribute
  bool keepsDtype =
      false; // `BoolTensor`: a condition, which takes no part in finding a common dtype
  bool takesNumber = false; // `IntTensor`: a number from 0 on, or a dim, stands for an i64[] of it
  bool hasDefault = false;
  llvm::StringRef defaultValue; // its text in the schema: "1", "None", "'none'", "[]"
  llvm::StringRef constant;     // as a default is written: "True", "'floor'", "None"
};

/// One way of calling an op: a line of its schema.
struct Signature {
  llvm::StringRef op;   // full op name, "dl.conv2d"
  llvm::StringRef name; // the name by which it is called, "conv2d"
  llvm::SmallVector<Param, 6> params;
  llvm::StringRef text; // the line: "relu(Tensor x)"
  /// Names of the results, "values" and "indices"; empty where there is one, or as many as the
  /// arguments say.
  llvm::SmallVector<llvm::StringRef, 0> results;
  bool returnsList = false; // `-> Tensor[]`
  /// A result of an op whose sizes the data say (DLBase.td, `counted`): its number among the op's
  /// results, and the dim that is padded, -1 for none, kAttribute for that of the attribute `dim`.
  /// One for each result that the caller gets; empty for other ops.
  struct Counted {
    static constexpr int kAttribute = -2;
    unsigned result;
    int dim;
  };
  llvm::SmallVector<Counted, 0> counted;
  /// The rank of the first tensor where callers may leave its first dim out, a batch; 0 elsewhere.
  unsigned batchedRank = 0;

  /// The caller gets a tuple, even of one tensor.
  bool returnsTuple() const { return returnsList || !results.empty(); }
};

/// An op of the dialect. `signatures` is empty where users cannot call it.
struct OpInfo {
  llvm::StringRef op;
  llvm::SmallVector<Signature, 1> signatures;
  llvm::StringRef summary; // of the record: what it computes, in a line
  llvm::StringRef
      onnx; // of the record: the ONNX ops that it computes as it stands, one a line (DLBase.td)
  dl::PrecisionRule precision; // of the record
};

/// All ops, in the order of the records.
llvm::ArrayRef<OpInfo> opTable();
/// The entry of a full name, such as "dl.conv2d"; null for ops of other dialects.
const OpInfo *opInfo(llvm::StringRef op);
/// Reads one line of a schema, "conv2d(Tensor x, ...)" or "max(...) -> (Tensor values, Tensor
/// indices)". It must be well formed: schemas are part of the program.
Signature parseSignature(llvm::StringRef op, llvm::StringRef line);
/// The ways of calling `name`, in the order of the records; empty where there is none.
llvm::SmallVector<const Signature *> signaturesOf(llvm::StringRef name);

} // namespace dlc

#endif // DLC_IR_OPTABLE_H
