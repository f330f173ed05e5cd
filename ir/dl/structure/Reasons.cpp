//===- Reasons.cpp - What dlc tells of its decisions ------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "ir/dl/structure/Reasons.h"

#include "llvm/Support/ErrorHandling.h"

namespace dlc::dl {

static constexpr llvm::StringLiteral kNothing = "nothing: no kernel computes both";
static constexpr llvm::StringLiteral kNoGain = "nothing needs to: no run computes or moves it";
static constexpr llvm::StringLiteral kSlower = "nothing: one kernel would take longer";

Reason reasonOf(NotFused notFused) {
  switch (notFused) {
  case NotFused::separate:
    return {"each op is to be a kernel of its own", "leave out the option 'separate' of the pass"};
  case NotFused::no_fuse:
    return {"the text says @no_fuse", "take @no_fuse from the text"};
  case NotFused::reshaped:
    return {"its reader sees it with other dims, through a view",
            "reshape after the reader in place of before it"};
  case NotFused::several_users:
    return {"its value has several users: it is computed once and kept",
            "let one op alone read it"};
  case NotFused::at_load:
    return {"it depends on weights alone and is computed once at load", kNoGain};
  case NotFused::narrow_operand:
    return {"a product reads it in fewer bits than it is computed in", kSlower};
  case NotFused::too_many_places:
    return {"the kernel would compute its ops in too many places: what is read at several indices "
            "is computed at each",
            "read the value at fewer indices"};
  case NotFused::too_many_inputs:
    return {"the kernel would have too many inputs", "join or add up fewer tensors at once"};
  case NotFused::computed_index:
    return {"it is read at computed indices, some of its elements perhaps many times: it is formed "
            "first",
            "apply the op to what is read, in place of reading its result"};
  case NotFused::checked_index:
    return {"it is read at indices that may lie outside it, so that it is formed first",
            "read it without padding"};
  case NotFused::read_by_product:
    return {"a contraction reads each element many times; only casts are repeated there", kSlower};
  case NotFused::read_again:
    return {"each element is read several times: it is computed once and kept", kSlower};
  case NotFused::overlapping_windows:
    return {"windows overlap, so that each element is read several times: it is computed once and "
            "kept",
            "use a stride that is no smaller than the window"};
  case NotFused::joined_rows:
    return {
        "each element of a row would choose among the tensors of the dl.cat: it is formed first",
        "apply the reader to the tensors before they are joined"};
  case NotFused::recurrence:
    return {"a recurrence is a kernel of its own", kNothing};
  case NotFused::lines:
    return {"a scan, sort or scatter is a kernel of its own", kNothing};
  case NotFused::two_roots:
    return {
        "both have a reduction, a window or a contraction, and no kernel computes these two, or "
        "none as fast",
        "nothing: no kernel computes both in less time"};
  case NotFused::other_dims:
    return {"its reader has other dims", "apply the reader before the dims change"};
  case NotFused::other_index:
    return {"its reader does not read it at its own index",
            "move or slice the result of the reader in place of what it reads"};
  case NotFused::in_place:
    return {"its tensors are written where they lie in it", kNoGain};
  case NotFused::part_not_computed:
    return {"not every tensor of the dl.cat is computed by a kernel that could write it there",
            "join what kernels compute; an input, a weight or a state is always copied"};
  case NotFused::part_reads_part:
    return {"a kernel that computes a tensor of the dl.cat reads another one of them",
            "join other tensors than those that these are computed of"};
  case NotFused::part_unaligned:
    return {"a tensor would begin in the dl.cat where kernels cannot store whole vectors",
            "join tensors whose rows are a multiple of 64 bytes"};
  case NotFused::part_layout:
    return {"a tensor of the dl.cat lies in another layout than its result",
            "nothing: the layouts were chosen for the least time"};
  case NotFused::part_read_dense:
    return {"a product, an attention, a move or the caller reads a tensor of the dl.cat, too, and "
            "needs it in one piece",
            "let maps, reductions or windows alone read the tensors beside the dl.cat"};
  case NotFused::part_twice:
    return {"the dl.cat has a tensor twice", "repeat the tensor in place of joining it twice"};
  case NotFused::layer_kind:
    return {"the layer below is of another kind", "use one kind of recurrence for both layers"};
  case NotFused::layer_units:
    return {
        "steps run in waves with those of the layer below where both have as many units, and no "
        "projection",
        "give both layers as many units, and no projection"};
  case NotFused::layer_direction:
    return {"the layer below goes the other way along time",
            "nothing: its first step waits for the last one of the layer below"};
  case NotFused::layer_lengths:
    return {"the layer below has other lengths", "give both layers the same lengths"};
  case NotFused::layer_type:
    return {"the layer below has other dims or another type", "give both layers the same dtype"};
  case NotFused::layer_weight:
    return {"the weight of the product between the layers does not lie row by row",
            "store the weight as it is multiplied"};
  case NotFused::layer_shared:
    return {"the layer below shares its kernel with others",
            "nothing, where the layer below has two directions"};
  case NotFused::layer_read:
    return {"others read the product between the layers, or are computed with it",
            "let the upper layer alone read the product"};
  case NotFused::layer_end:
    return {"it needs more of the layer below than y, after the last step",
            "start the upper layer from a state that does not wait for the layer below"};
  case NotFused::slower_waves:
    return {"its steps take less time after those of the layer below than in waves with them",
            "run fewer rows at once"};
  case NotFused::other_rows:
    return {"one kernel reduces the rows of one tensor, and these are rows of others or wait for "
            "all of them",
            "reduce the same dims of tensors with the same dims"};
  case NotFused::few_rows:
    return {"there are few rows, and long ones: a kernel of one reduction has several blocks for "
            "each of them",
            "reduce more rows at once"};
  case NotFused::short_rows:
    return {"its rows are shorter than a vector or a warp, which each of them would have in one "
            "kernel",
            kSlower};
  case NotFused::slower_rows:
    return {"one kernel would compute it again for each reduction of the row", kSlower};
  }
  llvm_unreachable("each case has a text");
}

Reason reasonOf(Converted converted) {
  switch (converted) {
  case Converted::taken:
    return {"the model takes it so",
            "declare the input with its dims in the other order and permute it in the text, which "
            "moves no bytes"};
  case Converted::returned:
    return {"the model returns it so",
            "return a permutation of it, which moves no bytes, in place of the tensor"};
  case Converted::fixed:
    return {"the op that computes it and the one that reads it have one layout each, and these "
            "differ",
            "nothing: no kernel of either takes the other layout"};
  case Converted::cheapest:
    return {"the layouts of all tensors together are estimated to take the least time so",
            "let ops that want one layout alone read it"};
  }
  llvm_unreachable("each case has a text");
}

} // namespace dlc::dl
