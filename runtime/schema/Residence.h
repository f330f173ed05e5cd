//===- Residence.h - Weights that the blocks of a GPU keep in shared memory ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A persistent kernel that runs for many steps (a recurrence) reads the same weights in every step.
// Its blocks divide the columns of the weights among them, and each block keeps as many of its own
// columns as the dynamic shared memory of the GPU takes; it streams the others from the
// second-level cache in every step. The package says how many columns there are and how long they
// are (Launch.kept of module.fbs). This rule, which depends on the GPU, says what becomes of them:
// the runtime launches by it, the kernel reads the outcome from gridDim and the size of its dynamic
// shared memory, and the schedule estimates with it.
//
//   blocks     = as many as the grid says, at most one for each multiprocessor, so that all are
//              resident at once on
//                every GPU; none of them without a column of the first list;
//   own        = ceil(columns / blocks) columns for each block, the last blocks may have fewer;
//   resident   = min(own, (most - fixed) / bytes of a column), one list after the other;
//   streamed   = own - resident: 0 while the weights fit, and one more for each column that does
//              not.
//
// `most` is what one block may ask for (cudaDevAttrMaxSharedMemoryPerBlockOptin): 227 KiB on sm_90
// and sm_100, 163 KiB on sm_80 and sm_87, 99 KiB on sm_86, sm_89 and sm_120. `fixed` may not pass
// the smallest of them, kLeastSharedLimit. The results do not depend on what is resident: the same
// shapes give the same bits on every GPU.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_SCHEMA_RESIDENCE_H
#define DLC_RUNTIME_SCHEMA_RESIDENCE_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace dlc::abi {

/// The dynamic shared memory that a block may ask for on every GPU from sm_80 on, in bytes.
inline constexpr int64_t kLeastSharedLimit = 99 << 10;

/// A list of `count` columns of `bytes` each, both positive; a column begins at a multiple of 16
/// bytes.
struct KeptColumns {
  int64_t count, bytes;
};

/// How a launch is spread over one GPU. `sharedBytes` is the dynamic shared memory of a block.
struct Spread {
  int64_t blocks, sharedBytes;
};

/// Columns that a block has, of `columns` that are divided among `blocks`.
inline int64_t columnsOfBlock(int64_t columns, int64_t blocks) {
  return (columns + blocks - 1) / blocks;
}
/// The number of a block's own columns that `room` bytes take.
inline int64_t residentColumns(int64_t own, int64_t bytes, int64_t room) {
  return std::min(own, std::max<int64_t>(0, room) / bytes);
}

/// Spreads a launch of at most `mostBlocks` blocks over a GPU whose blocks may ask for `mostBytes`.
/// `kept` are its `lists` lists of columns.
inline Spread spreadColumns(int64_t mostBlocks, int64_t multiprocessors, int64_t fixedBytes,
                            int64_t mostBytes, const KeptColumns *kept, size_t lists) {
  Spread spread = {std::min(mostBlocks, multiprocessors), fixedBytes};
  if (spread.blocks <= 0)
    return spread; // nothing is computed
  if (lists)
    spread.blocks = columnsOfBlock(kept->count, columnsOfBlock(kept->count, spread.blocks));
  for (const KeptColumns *list = kept; list != kept + lists; ++list)
    spread.sharedBytes +=
        list->bytes * residentColumns(columnsOfBlock(list->count, spread.blocks), list->bytes,
                                      mostBytes - spread.sharedBytes);
  return spread;
}

} // namespace dlc::abi

#endif // DLC_RUNTIME_SCHEMA_RESIDENCE_H
