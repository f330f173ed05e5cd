//===- ChannelGroups.h - Channels that can only go together -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A channel that a product gives is an index of a dim of its weight, of its result, of the running
// mean of the batch norm after it, of the weight that multiplies it next. Where two results are
// added their channels are one; where they are concatenated they lie side by side; a flattened one
// is many columns of a linear layer. Every op says by its loops (LoopNest.h) which indices of its
// operands and its result belong together; a few that move elements have a rule of their own. What
// an op mixes or what nobody knows stays whole.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_PASSES_COMPRESS_PRUNE_CHANNELGROUPS_H
#define DLC_PASSES_COMPRESS_PRUNE_CHANNELGROUPS_H

#include "ir/dl/base/DLBuilder.h"
#include "ir/interfaces/LoopNest.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>
#include <vector>

namespace dlc {

class ChannelGroups {
public:
  /// An index of a dim of a weight.
  struct Slice {
    dl::WeightOp weight;
    unsigned dim;
    int64_t index;
  };

  /// Looks at the function of a model as it was imported. Weights for which `isKept` holds keep all
  /// their channels. The function may not change while this is asked.
  ChannelGroups(mlir::func::FuncOp function, llvm::function_ref<bool(dl::WeightOp)> isKept);

  /// Groups of channels that can be removed, each all together, in the order in which the model
  /// computes them. Removing one gives what the model gives when the numbers of all of its slices
  /// are zero, but for rounding.
  size_t size() const { return slices.size(); }
  llvm::ArrayRef<Slice> slicesOf(size_t group) const { return slices[group]; }
  /// Groups with the same number are slices of the same dims of the same weights: the channels of
  /// one layer, or those of a sum of layers.
  unsigned setOf(size_t group) const { return sets[group]; }
  /// Groups that may change their places: every op ties their indices together in the same way, one
  /// by one. Two of them change places when slice k of the one and slice k of the other do, for
  /// each k; the model then computes what it did, its sums in another order. Each list has two or
  /// more.
  std::vector<std::vector<size_t>> interchangeable() const;

  /// The group of an index; nothing where that stays.
  std::optional<size_t> groupOf(mlir::Value value, unsigned dim, int64_t index) const;
  /// The indices of a dim that are left, those of a symbolic one excepted, which has none.
  llvm::SmallVector<int64_t> keptIndices(mlir::Value value, unsigned dim,
                                         const llvm::BitVector &removed) const;
  bool isSymbolic(mlir::Value value, unsigned dim) const;

  /// Multiplications of all products in one run, symbolic dims counted as 1.
  double multiplications(const llvm::BitVector &removed) const;
  /// Whether each dim of a product has a channel left.
  bool leavesEach(const llvm::BitVector &removed) const;

private:
  using Ids = std::vector<unsigned>; // of the indices of a dim; empty: the dim is symbolic
  /// The loops of a product, each by the indices that it runs over.
  using Product = std::vector<Ids>;

  unsigned root(unsigned id) const;
  void unite(unsigned a, unsigned b);
  void unite(const Ids &a, const Ids &b);
  void freeze(const Ids &ids);
  void freeze(mlir::Value value);
  void freezeAll(mlir::Operation &op);
  void add(mlir::Value value);
  void link(mlir::Operation &op);
  void linkLoops(mlir::Operation &op, const LoopNest &nest);
  void linkReshape(mlir::Operation &op);
  void linkCat(dl::CatOp op);
  void linkPad(dl::PadOp op);
  void linkSlice(dl::SliceOp op);
  bool linkGroups(mlir::Operation &op, const LoopNest &nest);
  std::vector<unsigned> tiesOf(llvm::ArrayRef<unsigned> members) const;
  void collect(mlir::func::FuncOp function);

  llvm::DenseMap<mlir::Value, llvm::SmallVector<Ids, 4>> ids;
  mutable std::vector<unsigned> parents;
  std::vector<unsigned> dimOf; // by id: the number of its dim among those of all values
  unsigned numDims = 0, numOps = 0;
  /// What op united an id with which other one, in its own order.
  struct Tie {
    unsigned op, other;
    bool isFirst;
  };
  std::vector<llvm::SmallVector<Tie, 4>> ties; // by id
  llvm::BitVector frozen, channels;            // by id; of a root after all
  std::vector<Product> products;
  llvm::DenseMap<unsigned, size_t> groups; // by root
  std::vector<std::vector<Slice>> slices;
  std::vector<unsigned> sets;
};

/// Takes the removed channels out of the function: the types of all values and the attributes that
/// hold sizes. The numbers of the weights are the caller's.
void removeChannels(mlir::func::FuncOp function, const ChannelGroups &groups,
                    const llvm::BitVector &removed);

} // namespace dlc

#endif // DLC_PASSES_COMPRESS_PRUNE_CHANNELGROUPS_H
