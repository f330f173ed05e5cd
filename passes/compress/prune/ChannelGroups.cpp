//===- ChannelGroups.cpp - Channels that can only go together -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "passes/compress/prune/ChannelGroups.h"

#include <array>
#include <map>
#include <numeric>

using namespace mlir;

namespace dlc {

ChannelGroups::ChannelGroups(func::FuncOp function, function_ref<bool(dl::WeightOp)> isKept) {
  for (BlockArgument argument : function.getArguments()) {
    add(argument);
    freeze(argument);
  }
  for (Operation &op : function.front()) {
    for (Value result : op.getResults())
      add(result);
    link(op);
    if (auto weight = dyn_cast<dl::WeightOp>(op); weight && isKept(weight))
      freeze(weight.getY());
  }
  collect(function);
}

//===- Sets of indices ------------------------------------------------------------------------===//

unsigned ChannelGroups::root(unsigned id) const {
  while (parents[id] != id)
    id = parents[id] = parents[parents[id]];
  return id;
}

void ChannelGroups::unite(unsigned a, unsigned b) {
  ties[a].push_back({numOps, b, true});
  ties[b].push_back({numOps, a, false});
  a = root(a);
  b = root(b);
  if (a == b)
    return;
  if (b < a)
    std::swap(a, b);
  parents[b] = a;
  if (frozen.test(b))
    frozen.set(a);
  if (channels.test(b))
    channels.set(a);
}

void ChannelGroups::unite(const Ids &a, const Ids &b) {
  if (a.size() != b.size()) {
    freeze(a);
    freeze(b);
    return;
  }
  for (auto [one, other] : llvm::zip_equal(a, b))
    unite(one, other);
}

void ChannelGroups::freeze(const Ids &list) {
  for (unsigned id : list)
    frozen.set(root(id));
}

void ChannelGroups::freeze(Value value) {
  for (const Ids &list : ids[value])
    freeze(list);
}

void ChannelGroups::freezeAll(Operation &op) {
  for (Value value : op.getOperands())
    freeze(value);
  for (Value value : op.getResults())
    freeze(value);
}

void ChannelGroups::add(Value value) {
  auto &lists = ids[value];
  for (AffineExpr dim : dl::dimsOf(value)) {
    Ids &list = lists.emplace_back(dl::asConstant(dim).value_or(0));
    std::iota(list.begin(), list.end(), parents.size());
    for (unsigned id : list) {
      parents.push_back(id);
      dimOf.push_back(numDims);
    }
    ++numDims;
    ties.resize(parents.size());
    frozen.resize(parents.size());
    channels.resize(parents.size());
  }
}

//===- One rule for each kind of op -----------------------------------------------------------===//

/// The same elements in row-major order: a dim that stays stays whole; where several become one, or
/// one becomes several with no more than one size other than 1, each element keeps its channel.
void ChannelGroups::linkReshape(Operation &op) {
  Value x = op.getOperand(0), y = op.getResult(0);
  dl::Dims from = dl::dimsOf(x), to = dl::dimsOf(y);
  size_t i = 0, j = 0;
  while (i < from.size() || j < to.size()) {
    // The shortest runs of dims that hold the same number of elements.
    size_t endFrom = i, endTo = j;
    MLIRContext *context = op.getContext();
    auto product = [&](const dl::Dims &dims, size_t begin, size_t end) {
      return dl::product(ArrayRef(dims).slice(begin, end - begin), context);
    };
    bool isFound = false;
    for (size_t length = 1; !isFound && length <= from.size() - i + to.size() - j; ++length)
      for (size_t taken = 0; taken <= length && !isFound; ++taken) {
        if (i + taken > from.size() || j + length - taken > to.size() || taken == 0 ||
            taken == length)
          continue;
        isFound = product(from, i, i + taken) == product(to, j, j + length - taken);
        endFrom = i + taken;
        endTo = j + length - taken;
      }
    if (!isFound) { // what is left are dims of size 1
      for (; i < from.size(); ++i)
        freeze(ids[x][i]);
      for (; j < to.size(); ++j)
        freeze(ids[y][j]);
      return;
    }
    // The channel of each element of the run, of both sides.
    auto elements = [&](Value value, size_t begin, size_t end) -> std::optional<Ids> {
      SmallVector<const Ids *> wide;
      for (size_t dim = begin; dim < end; ++dim) {
        const Ids &list = ids[value][dim];
        if (list.size() != 1)
          wide.push_back(&list);
        else
          freeze(list);
      }
      return wide.size() == 1 ? std::optional(*wide.front()) : std::nullopt;
    };
    auto isOne = [&](Value value, size_t begin, size_t end) {
      return end - begin == 1 && ids[value][begin].size() != 1;
    };
    std::optional<Ids> left =
        isOne(x, i, endFrom) ? std::optional(ids[x][i]) : elements(x, i, endFrom);
    std::optional<Ids> right =
        isOne(y, j, endTo) ? std::optional(ids[y][j]) : elements(y, j, endTo);
    if (left && right) {
      unite(*left, *right);
    } else if (right && !right->empty() && !ids[x][i].empty()) {
      // Several dims become one: an element belongs to the index of the first, and the others stay.
      const size_t inner = right->size() / ids[x][i].size();
      for (size_t at = 0; at < right->size(); ++at)
        unite((*right)[at], ids[x][i][at / inner]);
      for (size_t dim = i + 1; dim < endFrom; ++dim)
        freeze(ids[x][dim]);
    } else if (left || right || endFrom - i > 1 || endTo - j > 1) {
      for (size_t dim = i; dim < endFrom; ++dim)
        freeze(ids[x][dim]);
      for (size_t dim = j; dim < endTo; ++dim)
        freeze(ids[y][dim]);
    }
    i = endFrom;
    j = endTo;
  }
}

void ChannelGroups::linkCat(dl::CatOp op) {
  const int64_t rank = dl::typeOf(op.getY()).getRank(),
                along = (static_cast<int64_t>(op.getDim()) + rank) % rank;
  Ids joined;
  for (Value tensor : op.getTensors())
    for (int64_t dim = 0; dim < rank; ++dim)
      if (dim == along)
        llvm::append_range(joined, ids[tensor][dim]);
      else
        unite(ids[tensor][dim], ids[op.getY()][dim]);
  unite(joined, ids[op.getY()][along]);
}

void ChannelGroups::linkPad(dl::PadOp op) {
  ArrayRef<AffineExpr> widths = op.getPad().getResults();
  const int64_t rank = dl::typeOf(op.getY()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim) {
    const size_t at = 2 * (rank - 1 - dim);
    const auto low = at < widths.size() ? dl::asConstant(widths[at]) : 0,
               high = at < widths.size() ? dl::asConstant(widths[at + 1]) : 0;
    const Ids &from = ids[op.getX()][dim], &to = ids[op.getY()][dim];
    if (low == 0 && high == 0) {
      unite(from, to);
    } else if (!low || !high || *low < 0 || *high < 0 || op.getMode() != "constant" ||
               from.empty()) {
      freeze(from);
      freeze(to);
    } else {
      for (size_t index = 0; index < from.size(); ++index)
        unite(from[index], to[*low + index]);
    }
  }
}

void ChannelGroups::linkSlice(dl::SliceOp op) {
  AffineMap map = op.getLoopNest().results.front().map;
  for (auto [dim, index] : llvm::enumerate(map.getResults())) {
    const Ids &from = ids[op.getX()][dim], &to = ids[op.getY()][dim];
    if (isa<AffineDimExpr>(index)) {
      if (from.size() == to.size())
        unite(from, to);
      else // from the first one on
        for (size_t at = 0; at < to.size() && at < from.size(); ++at)
          unite(to[at], from[at]);
      continue;
    }
    auto sum = dyn_cast<AffineBinaryOpExpr>(index);
    auto start = sum && sum.getKind() == AffineExprKind::Add && isa<AffineDimExpr>(sum.getLHS())
                     ? dl::asConstant(sum.getRHS())
                     : std::nullopt;
    if (!start || from.empty() || to.empty()) { // steps stay, and what they step over
      freeze(from);
      freeze(to);
      continue;
    }
    for (size_t at = 0; at < to.size(); ++at)
      unite(to[at], from[*start + at]);
  }
}

/// A convolution of several groups: with one input channel each, a group goes with it; else all
/// groups lose the same channels.
bool ChannelGroups::linkGroups(Operation &op, const LoopNest &nest) {
  auto attribute = op.getAttrOfType<IntegerAttr>("groups");
  if (!attribute || attribute.getInt() == 1 || !nest.isProduct || op.getNumOperands() < 2 ||
      !isa<dl::Conv1dOp, dl::Conv2dOp, dl::Conv3dOp>(op))
    return false;
  const auto count = static_cast<size_t>(attribute.getInt());
  const Ids &in = ids[op.getOperand(0)][1], &rows = ids[op.getOperand(1)][0],
            &columns = ids[op.getOperand(1)][1], &out = ids[op.getResult(0)][1];
  const size_t inputs = in.size() / count, outputs = out.size() / count;
  for (auto [dim, list] : llvm::enumerate(ids[op.getOperand(0)]))
    if (dim > 1)
      freeze(list);
  for (auto [dim, list] : llvm::enumerate(ids[op.getResult(0)]))
    if (dim > 1)
      freeze(list);
  unite(ids[op.getOperand(0)][0], ids[op.getResult(0)][0]);
  unite(rows, out);
  if (op.getNumOperands() > 2)
    unite(ids[op.getOperand(2)][0], out);
  Product loops;
  for (auto [dim, list] : llvm::enumerate(ids[op.getResult(0)]))
    loops.push_back(list);
  for (auto [dim, list] : llvm::enumerate(ids[op.getOperand(1)]))
    if (dim > 0)
      loops.push_back(list);
  products.push_back(std::move(loops));
  if (inputs == 1) {
    freeze(columns);
    for (size_t row = 0; row < out.size(); ++row)
      unite(out[row], in[row / outputs]);
    return true; // what convolves a channel alone gives no channels of its own
  }
  for (size_t channel = 0; channel < in.size(); ++channel)
    unite(in[channel], columns[channel % inputs]);
  for (size_t row = 0; row < out.size(); ++row)
    unite(out[row], out[row % outputs]);
  for (unsigned id : rows)
    channels.set(root(id));
  return true;
}

void ChannelGroups::linkLoops(Operation &op, const LoopNest &nest) {
  Value result = op.getResult(0);
  Product loops(nest.numLoops());
  for (size_t loop = 0; loop < nest.parallel.size(); ++loop)
    loops[loop] = ids[result][loop];
  std::vector<bool> isKnown(nest.numLoops());
  auto read = [&](const Access &access) {
    Value operand = op.getOperand(access.operand);
    if (access.isComputed()) {
      freeze(operand);
      freeze(result);
      return;
    }
    for (auto [dim, index] : llvm::enumerate(access.map.getResults())) {
      const Ids &own = ids[operand][dim];
      auto loop = dyn_cast<AffineDimExpr>(index);
      if (!loop) {
        freeze(own);
        index.walk([&](AffineExpr part) {
          if (auto inner = dyn_cast<AffineDimExpr>(part))
            freeze(loops[inner.getPosition()]);
        });
        continue;
      }
      const unsigned at = loop.getPosition();
      if (at >= nest.parallel.size() && !isKnown[at]) {
        isKnown[at] = true;
        loops[at] = own;
      } else {
        unite(own, loops[at]);
      }
      if (at >= nest.parallel.size() && !nest.isProduct)
        freeze(own);
    }
  };
  for (const Access &access : nest.terms)
    read(access);
  for (const Access &access : nest.results)
    read(access);
  for (const Access &access : nest.spanReads)
    freeze(op.getOperand(access.operand));
  for (size_t loop = 0; loop < loops.size(); ++loop)
    if (nest.readsIndex(loop) || nest.isSpanned(loop))
      freeze(loops[loop]);
  if (!nest.isProduct)
    return;
  for (const Access &term : nest.terms)
    if (op.getOperand(term.operand).getDefiningOp<dl::WeightOp>())
      for (AffineExpr index : term.map.getResults())
        if (auto loop = dyn_cast<AffineDimExpr>(index);
            loop && loop.getPosition() < nest.parallel.size())
          for (unsigned id : loops[loop.getPosition()])
            channels.set(root(id));
  products.push_back(std::move(loops));
}

void ChannelGroups::link(Operation &op) {
  ++numOps;
  if (isa<dl::WeightOp, dl::FullOp>(op))
    return;
  if (isa<dl::ReshapeOp, dl::FlattenOp, dl::SqueezeOp, dl::UnsqueezeOp>(op))
    return linkReshape(op);
  if (auto cat = dyn_cast<dl::CatOp>(op))
    return linkCat(cat);
  if (auto pad = dyn_cast<dl::PadOp>(op))
    return linkPad(pad);
  if (auto slice = dyn_cast<dl::SliceOp>(op))
    return linkSlice(slice);
  auto looped = dyn_cast<LoopNestOpInterface>(op);
  if (!looped || op.getNumResults() != 1)
    return freezeAll(op);
  LoopNest nest = looped.getLoopNest();
  if (!linkGroups(op, nest))
    linkLoops(op, nest);
}

//===- Groups ---------------------------------------------------------------------------------===//

void ChannelGroups::collect(func::FuncOp function) {
  function.walk([&](dl::WeightOp weight) {
    for (auto [dim, list] : llvm::enumerate(ids[weight.getY()]))
      for (auto [index, id] : llvm::enumerate(list)) {
        const unsigned top = root(id);
        if (frozen.test(top) || !channels.test(top))
          continue;
        auto [known, isNew] = groups.try_emplace(top, slices.size());
        if (isNew)
          slices.emplace_back();
        slices[known->second].push_back(
            {weight, static_cast<unsigned>(dim), static_cast<int64_t>(index)});
      }
  });
  std::map<std::vector<std::pair<Operation *, unsigned>>, unsigned> known;
  for (const std::vector<Slice> &own : slices) {
    std::vector<std::pair<Operation *, unsigned>> dims;
    for (const Slice &slice : own)
      if (dims.empty() ||
          dims.back() != std::pair(dl::WeightOp(slice.weight).getOperation(), slice.dim))
        dims.emplace_back(dl::WeightOp(slice.weight).getOperation(), slice.dim);
    sets.push_back(known.try_emplace(std::move(dims), known.size()).first->second);
  }
}

/// How the indices of a group hang together, in the order of `members`: equal for groups of which
/// that is the same.
std::vector<unsigned> ChannelGroups::tiesOf(ArrayRef<unsigned> members) const {
  std::vector<unsigned> all;
  for (unsigned id : members) {
    SmallVector<std::array<unsigned, 3>> own;
    for (const Tie &tie : ties[id])
      own.push_back({tie.op,
                     static_cast<unsigned>(llvm::lower_bound(members, tie.other) - members.begin()),
                     tie.isFirst});
    llvm::sort(own);
    llvm::append_values(all, dimOf[id], static_cast<unsigned>(own.size()));
    for (const auto &tie : own)
      all.insert(all.end(), tie.begin(), tie.end());
  }
  return all;
}

std::vector<std::vector<size_t>> ChannelGroups::interchangeable() const {
  std::vector<std::vector<unsigned>> members(slices.size()); // ids, the smallest first
  for (unsigned id = 0; id < parents.size(); ++id)
    if (auto group = groups.find(root(id)); group != groups.end())
      members[group->second].push_back(id);
  std::map<std::vector<unsigned>, std::vector<size_t>> alike;
  for (size_t group = 0; group < members.size(); ++group)
    alike[tiesOf(members[group])].push_back(group);
  std::vector<std::vector<size_t>> lists;
  for (auto &[ties, own] : alike)
    if (own.size() > 1)
      lists.push_back(std::move(own));
  llvm::sort(lists); // in program order
  return lists;
}

std::optional<size_t> ChannelGroups::groupOf(Value value, unsigned dim, int64_t index) const {
  const Ids &list = ids.find(value)->second[dim];
  if (list.empty())
    return std::nullopt;
  auto found = groups.find(root(list[index]));
  return found == groups.end() ? std::nullopt : std::optional(found->second);
}

bool ChannelGroups::isSymbolic(Value value, unsigned dim) const {
  return !dl::asConstant(dl::dimsOf(value)[dim]);
}

SmallVector<int64_t> ChannelGroups::keptIndices(Value value, unsigned dim,
                                                const llvm::BitVector &removed) const {
  SmallVector<int64_t> kept;
  for (size_t index = 0; index < ids.find(value)->second[dim].size(); ++index) {
    auto group = groupOf(value, dim, static_cast<int64_t>(index));
    if (!group || !removed.test(*group))
      kept.push_back(static_cast<int64_t>(index));
  }
  return kept;
}

double ChannelGroups::multiplications(const llvm::BitVector &removed) const {
  double sum = 0;
  for (const Product &product : products) {
    double count = 1;
    for (const Ids &loop : product) {
      if (loop.empty())
        continue;
      size_t kept = 0;
      for (unsigned id : loop) {
        auto group = groups.find(root(id));
        kept += group == groups.end() || !removed.test(group->second);
      }
      count *= static_cast<double>(kept);
    }
    sum += count;
  }
  return sum;
}

bool ChannelGroups::leavesEach(const llvm::BitVector &removed) const {
  return llvm::all_of(products, [&](const Product &product) {
    return llvm::all_of(product, [&](const Ids &loop) {
      return loop.empty() || llvm::any_of(loop, [&](unsigned id) {
               auto group = groups.find(root(id));
               return group == groups.end() || !removed.test(group->second);
             });
    });
  });
}

} // namespace dlc
