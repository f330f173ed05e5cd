//===- OpRules.h - Which dl ops compute which ONNX ops ------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX op that one dl op computes as it stands is a line of that op's record (`onnx`,
// ir/dl/base/DLBase.td). Any other is a function of ops/, named in the table of its family.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_ONNX_OPRULES_H
#define DLC_FRONTEND_ONNX_OPRULES_H

#include "frontend/onnx/Importer.h"
#include "ir/OpTable.h"

namespace dlc::onnx {

/// A line of a record.
struct PlainRule {
  struct Entry {
    enum Kind { operand, optionalOperand, operands, attribute, constant } kind;
    llvm::StringRef param, attributeName, value; // value: the default, or the only one; empty: none
  };
  llvm::StringRef dlOp; // "dl.elu"
  llvm::StringRef name; // "Elu", with its domain where that is not ONNX's
  int64_t since = 1, until = INT64_MAX;
  llvm::SmallVector<Entry, 4> entries;
};

/// How a node of an op without a record line is built. `name` has its domain in front where that is
/// not ONNX's: "com.microsoft.Gelu".
struct OddRule {
  llvm::StringRef name;
  int64_t since;
  bool (*build)(NodeImport &node);
};

/// Reads a line of a record; lines are part of the program, so it must be well formed.
PlainRule parsePlainRule(llvm::StringRef dlOp, llvm::StringRef line);
llvm::ArrayRef<PlainRule> plainRules();
/// The functions of all families.
llvm::ArrayRef<OddRule> oddRules();

/// Builds the node; false where it failed, reported. `name` has the domain.
bool buildNode(NodeImport &node, llvm::StringRef name);
/// Whether there is a rule for the op.
bool hasRule(llvm::StringRef name, int64_t opset);
/// "; the nearest op that dlc imports is 'X'", or nothing.
std::string nearestRule(llvm::StringRef name, int64_t opset);

/// x, of dtype `from`, as Cast converts it: beyond the range of a float of 8 bits to its largest
/// number where it `saturates`; f8e8m0 rounds by `mode`: up, down or nearest. ops/Elementwise.cpp
Item converted(NodeImport &node, Item x, mlir::Type from, mlir::Type dtype, bool saturates = true,
               llvm::StringRef mode = "up");

/// The dtype that `attribute` names by its number in ONNX, `otherwise` where it is 0 or the node
/// does not have it; null, reported, where dlc does not compute with it. ops/Elementwise.cpp
mlir::Type dtypeNamedBy(NodeImport &node, llvm::StringRef attribute, mlir::Type otherwise);
/// The float that `stash_type` names, f32 where the node does not have it; null, reported, where it
/// names no float. ops/Elementwise.cpp
mlir::Type stashType(NodeImport &node);
/// The float that holds the numbers of both: f32 for f16 and bf16. ops/Elementwise.cpp
mlir::Type wider(mlir::Type a, mlir::Type b);

/// Positions in a dim of `size` that count from its end become ones from its front. ops/Index.cpp
Item wrapped(NodeImport &node, Item index, mlir::AffineExpr size);

/// alpha A' B' + beta C of inputs 0 to 2, as Gemm's attributes say; nothing, reported, after an
/// error. ops/Contraction.cpp
std::optional<Item> gemm(NodeImport &node);

/// Returns the Fourier transform along the last dim but one of x [..., m, 1 or 2], cut or filled up
/// with zeros to n points; the last dim holds real and imaginary parts. ops/Signal.cpp
Item transformed(NodeImport &node, Item x, mlir::AffineExpr n, bool isInverse, bool isOneSided);

/// Returns input 0 as a matrix: the dims before the attribute `axis`, 1 by default, become one, and
/// those from it on. Nothing, reported, after an error. ops/shape/Reshape.cpp
std::optional<Item> flattened(NodeImport &node);

/// Returns `x` with the sum of `sizes`, the sizes of its parts, as the dim `axis`. Sizes that could
/// be negative become 0 at least. A run in which the dim is not this sum is refused when shapes are
/// bound. Poison, reported, if it never is. ops/shape/Slice.cpp
Item joinedOfParts(NodeImport &node, Item x, int64_t axis,
                   llvm::MutableArrayRef<mlir::AffineExpr> sizes);
/// x without the elements that a Dropout drops, and the mask of the others.
struct Dropped {
  Item y, mask;
};
/// `ratio` and `training` are inputs of the node. Nothing, reported, after an error.
std::optional<Dropped> dropped(NodeImport &node, Item x, size_t ratio, size_t training);

// Families, each in ops/.
llvm::ArrayRef<OddRule> elementwiseRules();
llvm::ArrayRef<OddRule> activationRules();
llvm::ArrayRef<OddRule> reductionRules();
llvm::ArrayRef<OddRule> reshapeRules();
llvm::ArrayRef<OddRule> arrangementRules();
llvm::ArrayRef<OddRule> sliceRules();
llvm::ArrayRef<OddRule> padRules();
llvm::ArrayRef<OddRule> indexRules();
llvm::ArrayRef<OddRule> windowRules();
llvm::ArrayRef<OddRule> contractionRules();
llvm::ArrayRef<OddRule> normalizationRules();
llvm::ArrayRef<OddRule> quantizationRules();
llvm::ArrayRef<OddRule> creationRules();
llvm::ArrayRef<OddRule> recurrentRules();
llvm::ArrayRef<OddRule> attentionRules();
llvm::ArrayRef<OddRule> rotaryRules();
llvm::ArrayRef<OddRule> scatterRules();
llvm::ArrayRef<OddRule> orderRules();
llvm::ArrayRef<OddRule> countedRules();
llvm::ArrayRef<OddRule> resizeRules();
llvm::ArrayRef<OddRule> lossRules();
llvm::ArrayRef<OddRule> sequenceRules();
llvm::ArrayRef<OddRule> signalRules();
llvm::ArrayRef<OddRule> sampleRules();
llvm::ArrayRef<OddRule> patchRules();
llvm::ArrayRef<OddRule> randomRules();
llvm::ArrayRef<OddRule> gradientRules();
llvm::ArrayRef<OddRule> optimizerRules();
llvm::ArrayRef<OddRule> firstFormRules();
llvm::ArrayRef<OddRule> microsoftFusionRules();
llvm::ArrayRef<OddRule> microsoftAttentionRules();
llvm::ArrayRef<OddRule> groupQueryRules();
llvm::ArrayRef<OddRule> blockQuantizedRules();
llvm::ArrayRef<OddRule> microsoftQuantizedRules();
llvm::ArrayRef<OddRule> microsoftNormRules();
llvm::ArrayRef<OddRule> microsoftOtherRules();
llvm::ArrayRef<OddRule> expertRules();

} // namespace dlc::onnx

#endif // DLC_FRONTEND_ONNX_OPRULES_H
