//===- DLOps.h - The ops of the dl dialect ------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLOPS_H
#define DLC_IR_DL_DLOPS_H

#include "ir/dl/DLDialect.h"
#include "ir/dl/base/DLTypes.h"
#include "ir/dl/recurrent/DLRecurrent.h"
#include "ir/dlx/DLXOps.h" // dl.yield also ends a dlx.kernel
#include "ir/interfaces/Decomposable.h"
#include "ir/interfaces/Lines.h"
#include "ir/interfaces/LoopNest.h"
#include "ir/scalar/Scalar.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace dlc::dl {

// Used by the bodies of the records.

/// How the elements of `tensor` are read.
ScalarKind kindOf(mlir::Value tensor);
/// All operands have equal dims and element types; the result has the type of the first.
llvm::LogicalResult inferElementwise(llvm::StringRef op, std::optional<mlir::Location> location,
                                     mlir::ValueRange operands,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
/// The same, with a result of bools.
llvm::LogicalResult inferPredicate(llvm::StringRef op, std::optional<mlir::Location> location,
                                   mlir::ValueRange operands,
                                   llvm::SmallVectorImpl<mlir::Type> &types);
/// The first operand is a condition, which the op itself holds to be of bools; the others are
/// elementwise.
llvm::LogicalResult inferChoice(llvm::StringRef op, std::optional<mlir::Location> location,
                                mlir::ValueRange operands,
                                llvm::SmallVectorImpl<mlir::Type> &types);
/// The second operand is a condition, which the op itself holds to be of bools; the result has the
/// type of the first.
llvm::LogicalResult inferFilled(llvm::StringRef op, std::optional<mlir::Location> location,
                                mlir::ValueRange operands,
                                llvm::SmallVectorImpl<mlir::Type> &types);
/// Elementwise, with `numbers` that an integer operand takes only if they are whole.
llvm::LogicalResult inferWithNumbers(llvm::StringRef op, std::optional<mlir::Location> location,
                                     mlir::ValueRange operands,
                                     llvm::ArrayRef<std::optional<llvm::APFloat>> numbers,
                                     llvm::SmallVectorImpl<mlir::Type> &types);
/// x as elements of `dtype`, which takes as many bytes.
llvm::LogicalResult inferBitcast(llvm::StringRef op, std::optional<mlir::Location> location,
                                 mlir::Value x, mlir::Type dtype,
                                 llvm::SmallVectorImpl<mlir::Type> &types);
/// The term of a contraction: the product of its two values in the accumulator's type.
mlir::Value emitProduct(BodyContext &context, mlir::ValueRange args, mlir::Type elementType);
/// The accumulator, plus the bias where there is one, in the compute type of `elementType`.
mlir::Value emitBias(BodyContext &context, mlir::ValueRange args, mlir::ValueRange accs,
                     mlir::Type elementType);
/// How many terms the loops over `reduction` have, in the type of `like`.
Scalar numTerms(BodyContext &context, const Dims &reduction, Scalar like);
/// Of two stages: the sum of x, then the sum of the squared distances from the mean.
mlir::Value varianceTerm(BodyContext &context, unsigned stage, const Dims &reduction,
                         mlir::ValueRange args, mlir::ValueRange accs);
/// Nest of an op that reads its first operand at `map` of the result's index.
LoopNest moveNest(mlir::Operation *op, llvm::ArrayRef<mlir::AffineExpr> map, bool checked = false,
                  double fill = 0.0);
/// Success where indices `first` to before `last` lie in dim `dim` of `x` for every value of the
/// module's symbols; an error at `op` otherwise.
llvm::LogicalResult verifyWithin(mlir::Operation *op, mlir::Value x, int64_t dim,
                                 mlir::AffineExpr first, mlir::AffineExpr last);
/// Whether the dims `a` and `b` of an op with operand `x`, which differ in form, are equal for some
/// sizes: the range of their difference, by the symbols of the module around `x`, holds 0. False
/// where both are numbers and where the module has no symbols.
bool canBeEqual(mlir::Value x, mlir::AffineExpr a, mlir::AffineExpr b);
/// The loop indices from number `from` to before `to`.
llvm::SmallVector<mlir::AffineExpr> loopsOf(mlir::MLIRContext *context, int64_t from, int64_t to);
/// tril and triu: x where `column kept row + diagonal` holds in the last two dims, else 0.
llvm::LogicalResult inferTriangle(llvm::StringRef op, std::optional<mlir::Location> location,
                                  mlir::Value x, llvm::SmallVectorImpl<mlir::Type> &types);
LoopNest triangleNest(mlir::Operation *op);
mlir::Value emitTriangle(BodyContext &context, mlir::Value value, mlir::Value x, int64_t diagonal,
                         mlir::arith::CmpIPredicate kept);
/// The index in `dim` of `table` that `position`, an element of `index`, names; out of range where
/// that is. With `wraps`, negative positions count from the end.
mlir::Value emitPosition(BodyContext &context, mlir::Value position, mlir::Value index,
                         mlir::Value table, unsigned dim, bool wraps);
/// `dim` counted from the end if negative; nullopt, after an error at `location`, where it is out
/// of range.
std::optional<int64_t> wrapDim(std::optional<mlir::Location> location, llvm::StringRef op,
                               int64_t dim, int64_t rank);

/// The position, an index value, from which `dl.update_slice` writes: `start`, an element of
/// `held`, moved so that `part` fits into `size`.
mlir::Value clampedStart(BodyContext &context, mlir::Value start, mlir::Value held,
                         mlir::AffineExpr size, mlir::AffineExpr part);

} // namespace dlc::dl

#define GET_OP_CLASSES
#include "ir/dl/DLOps.h.inc"

#endif // DLC_IR_DL_DLOPS_H
