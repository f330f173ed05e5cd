//===- ReasonsTest.cpp - Each decision has a text of its own ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/structure/Reasons.h"

#include "gtest/gtest.h"

#include <set>

using namespace dlc;

namespace {

template <typename Case> struct Row {
  Case one;
  const char *why, *change;
};

constexpr Row<dl::NotFused> kNotFused[] = {
    {dl::NotFused::separate, "each op is to be a kernel of its own",
     "leave out the option 'separate' of the pass"},
    {dl::NotFused::no_fuse, "the text says @no_fuse", "take @no_fuse from the text"},
    {dl::NotFused::reshaped, "its reader sees it with other dims, through a view",
     "reshape after the reader in place of before it"},
    {dl::NotFused::several_users, "its value has several users: it is computed once and kept",
     "let one op alone read it"},
    {dl::NotFused::at_load, "it depends on weights alone and is computed once at load",
     "nothing needs to: no run computes or moves it"},
    {dl::NotFused::narrow_operand, "a product reads it in fewer bits than it is computed in",
     "nothing: one kernel would take longer"},
    {dl::NotFused::too_many_places,
     "the kernel would compute its ops in too many places: what is read at several indices is "
     "computed at each",
     "read the value at fewer indices"},
    {dl::NotFused::too_many_inputs, "the kernel would have too many inputs",
     "join or add up fewer tensors at once"},
    {dl::NotFused::computed_index,
     "it is read at computed indices, some of its elements perhaps many times: it is formed first",
     "apply the op to what is read, in place of reading its result"},
    {dl::NotFused::checked_index,
     "it is read at indices that may lie outside it, so that it is formed first",
     "read it without padding"},
    {dl::NotFused::read_by_product,
     "a contraction reads each element many times; only casts are repeated there",
     "nothing: one kernel would take longer"},
    {dl::NotFused::read_again, "each element is read several times: it is computed once and kept",
     "nothing: one kernel would take longer"},
    {dl::NotFused::overlapping_windows,
     "windows overlap, so that each element is read several times: it is computed once and kept",
     "use a stride that is no smaller than the window"},
    {dl::NotFused::joined_rows,
     "each element of a row would choose among the tensors of the dl.cat: it is formed first",
     "apply the reader to the tensors before they are joined"},
    {dl::NotFused::recurrence, "a recurrence is a kernel of its own",
     "nothing: no kernel computes both"},
    {dl::NotFused::lines, "a scan, sort or scatter is a kernel of its own",
     "nothing: no kernel computes both"},
    {dl::NotFused::two_roots,
     "both have a reduction, a window or a contraction, and no kernel computes these two, or none "
     "as fast",
     "nothing: no kernel computes both in less time"},
    {dl::NotFused::other_dims, "its reader has other dims",
     "apply the reader before the dims change"},
    {dl::NotFused::other_index, "its reader does not read it at its own index",
     "move or slice the result of the reader in place of what it reads"},
    {dl::NotFused::in_place, "its tensors are written where they lie in it",
     "nothing needs to: no run computes or moves it"},
    {dl::NotFused::part_not_computed,
     "not every tensor of the dl.cat is computed by a kernel that could write it there",
     "join what kernels compute; an input, a weight or a state is always copied"},
    {dl::NotFused::part_reads_part,
     "a kernel that computes a tensor of the dl.cat reads another one of them",
     "join other tensors than those that these are computed of"},
    {dl::NotFused::part_unaligned,
     "a tensor would begin in the dl.cat where kernels cannot store whole vectors",
     "join tensors whose rows are a multiple of 64 bytes"},
    {dl::NotFused::part_layout, "a tensor of the dl.cat lies in another layout than its result",
     "nothing: the layouts were chosen for the least time"},
    {dl::NotFused::part_read_dense,
     "a product, an attention, a move or the caller reads a tensor of the dl.cat, too, and needs "
     "it in one piece",
     "let maps, reductions or windows alone read the tensors beside the dl.cat"},
    {dl::NotFused::part_twice, "the dl.cat has a tensor twice",
     "repeat the tensor in place of joining it twice"},
    {dl::NotFused::layer_kind, "the layer below is of another kind",
     "use one kind of recurrence for both layers"},
    {dl::NotFused::layer_units,
     "steps run in waves with those of the layer below where both have as many units, and no "
     "projection",
     "give both layers as many units, and no projection"},
    {dl::NotFused::layer_direction, "the layer below goes the other way along time",
     "nothing: its first step waits for the last one of the layer below"},
    {dl::NotFused::layer_lengths, "the layer below has other lengths",
     "give both layers the same lengths"},
    {dl::NotFused::layer_type, "the layer below has other dims or another type",
     "give both layers the same dtype"},
    {dl::NotFused::layer_weight,
     "the weight of the product between the layers does not lie row by row",
     "store the weight as it is multiplied"},
    {dl::NotFused::layer_shared, "the layer below shares its kernel with others",
     "nothing, where the layer below has two directions"},
    {dl::NotFused::layer_read,
     "others read the product between the layers, or are computed with it",
     "let the upper layer alone read the product"},
    {dl::NotFused::layer_end, "it needs more of the layer below than y, after the last step",
     "start the upper layer from a state that does not wait for the layer below"},
    {dl::NotFused::slower_waves,
     "its steps take less time after those of the layer below than in waves with them",
     "run fewer rows at once"},
    {dl::NotFused::other_rows,
     "one kernel reduces the rows of one tensor, and these are rows of others or wait for all of "
     "them",
     "reduce the same dims of tensors with the same dims"},
    {dl::NotFused::few_rows,
     "there are few rows, and long ones: a kernel of one reduction has several blocks for each of "
     "them",
     "reduce more rows at once"},
    {dl::NotFused::slower_rows, "one kernel would compute it again for each reduction of the row",
     "nothing: one kernel would take longer"},
    {dl::NotFused::short_rows,
     "its rows are shorter than a vector or a warp, which each of them would have in one kernel",
     "nothing: one kernel would take longer"},
};

constexpr Row<dl::Converted> kConverted[] = {
    {dl::Converted::taken, "the model takes it so",
     "declare the input with its dims in the other order and permute it in the text, which moves "
     "no bytes"},
    {dl::Converted::returned, "the model returns it so",
     "return a permutation of it, which moves no bytes, in place of the tensor"},
    {dl::Converted::fixed,
     "the op that computes it and the one that reads it have one layout each, and these differ",
     "nothing: no kernel of either takes the other layout"},
    {dl::Converted::cheapest,
     "the layouts of all tensors together are estimated to take the least time so",
     "let ops that want one layout alone read it"},
};

/// All cases up to `last` are in `rows`, in their order, and no two have one reason.
template <typename Case, size_t count>
void expectTexts(const Row<Case> (&rows)[count], uint64_t last) {
  ASSERT_EQ(count, last + 1);
  std::set<std::string> texts;
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(static_cast<size_t>(rows[i].one), i);
    dl::Reason reason = dl::reasonOf(rows[i].one);
    EXPECT_EQ(reason.why, rows[i].why);
    EXPECT_EQ(reason.change, rows[i].change);
    EXPECT_TRUE(texts.insert(rows[i].why).second) << rows[i].why;
  }
}

TEST(Reasons, EachEdgeThatIsNotFusedHasOne) {
  expectTexts(kNotFused, dl::getMaxEnumValForNotFused());
}

TEST(Reasons, EachConvertHasOne) { expectTexts(kConverted, dl::getMaxEnumValForConverted()); }

} // namespace
