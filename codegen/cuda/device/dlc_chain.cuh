//===- dlc_chain.cuh - kernels as stages of one launch --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A chain runs small kernels one after the other, by one block or by those of one cluster, which
// meet before each stage. A template that reads weights asks for the first of them before its block
// meets the others.
//===----------------------------------------------------------------------===//
#pragma once
#include "dlc_cluster.cuh"
#include "dlc_rows.cuh"

namespace dlc {

/// Before a stage the grids before this one end, or the threads of the block meet, or the blocks of
/// the cluster.
enum class stage_meeting { grid, block, cluster };

template <stage_meeting MEETING> struct chain_stage {
  static constexpr int kParts = 1;
  u32 x;         ///< the block of the grid that a launch would have
  bool is_first; ///< of those of the stage that this block takes: the others have met
  DLC_DEV u32 block() const { return x; }
  /// Whole blocks call together.
  DLC_DEV void begin() const {
    if (!is_first)
      return;
    if constexpr (MEETING == stage_meeting::grid)
      begin_grid();
    else if constexpr (MEETING == stage_meeting::block)
      barrier();
#ifdef DLC_HAS_CLUSTERS
    else
      cluster_barrier();
#endif
  }
};

/// contract_rows (dlc_rows.cuh) for block `block` of the grid that a launch would have, which may
/// have fewer. Config::meeting: a stage_meeting.
template <class Config, class FA, class FB, class FE>
DLC_DEV void contract_rows_in_chain(typename Config::index block, bool is_first,
                                    typename Config::index rows, typename Config::index columns,
                                    typename Config::index depth, const typename Config::type *a,
                                    const typename Config::type *b, const FA &element_a,
                                    const FB &element_b, const FE &finish) {
  using Stage = chain_stage<(stage_meeting)Config::meeting>;
  contract_rows_share<Config>(Stage{(u32)block, is_first}, rows, columns, depth, a, b, element_a,
                              element_b, finish);
}

} // namespace dlc
