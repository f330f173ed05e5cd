//===- TensorCore.cpp - ldmatrix and mma.sync -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lanes of a warp meet, and the last one computes for all. Which lane holds which element is
// the PTX manual's: of a 16x8 tile of C, lane l holds columns 2(l%4), 2(l%4)+1 of rows l/4 and
// l/4+8.
//===----------------------------------------------------------------------===//
#include "test/emulator/core/TensorCore.h"
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Worker.h"
#include <cstring>
#include <memory>

namespace dlc::emu {

namespace {

constexpr int kMaxRows = 64, kMaxColumns = 256, kDepth = 16, kByteDepth = 32;
static_assert(kDepth == kSparseStored && kByteDepth == kSparseDepth);

/// Operands of a warp's product, gathered from its lanes. B is kept by k, so that the inner loop
/// runs along columns. Integers are kept without a sign: so they wrap.
template <class Number, int Depth> struct TileOperands {
  Number a[kMaxRows][Depth];
  Number b[Depth][kMaxColumns];
  Number c[kMaxRows][kMaxColumns];

  /// This thread's own, on the heap: this library's thread-local storage must stay small.
  static TileOperands &scratch() {
    static thread_local std::unique_ptr<TileOperands> tile;
    if (!tile)
      tile = std::make_unique<TileOperands>();
    return *tile;
  }
  /// c += a * b.
  void multiply(int rows, int columns, int depth) {
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < depth; ++k) {
        const Number left = a[row][k];
        for (int column = 0; column < columns; ++column)
          c[row][column] += left * b[k][column];
      }
  }
};

void requireFullWarp(const Warp &warp, int slot, const char *what) {
  if (warp.members[slot] != 0xffffffffu)
    failThread(Fault::LaunchFailed, "%s: only the lanes 0x%08x of the warp take part", what,
               warp.members[slot]);
}

template <bool Transposed> void loadMatrices(Block &, Warp &warp, int slot) {
  requireFullWarp(warp, slot, "ldmatrix");
  for (int matrix = 0; matrix < 4; ++matrix)
    for (int lane = 0; lane < 32; ++lane) {
      auto half = [&](int row, int column) {
        return static_cast<const uint16_t *>(warp.operand[slot][matrix * 8 + row][0])[column];
      };
      int major = lane / 4, minor = lane % 4 * 2;
      uint32_t low = Transposed ? half(minor, major) : half(major, minor);
      uint32_t high = Transposed ? half(minor + 1, major) : half(major, minor + 1);
      static_cast<uint32_t *>(warp.operand[slot][lane][1])[matrix] = low | high << 16;
    }
}

/// The operands that lanes bring to mma_tile and mma_tile_sparse (Total float) and to
/// mma_tile_bytes (int). `format`: a DlcEmuMmaType, or DlcEmuSigns.
template <class Total> struct TileCall {
  Total *d;
  const uint32_t *a, *b;
  int mi, nj;
  unsigned format;
  const uint32_t *places = nullptr;
};

/// Calls visit(row, k, value) for the elements of a 16-row tile of A that lane `lane` holds in
/// register `word`.
template <class Visit>
void visitWord(const TileCall<float> &call, bool, int lane, int word, uint32_t bits, Visit visit) {
  int row = lane / 4 + (word & 1) * 8;
  if (call.format == DlcEmuTf32) {
    uint32_t kept = bits & 0xffffe000u;
    float value;
    std::memcpy(&value, &kept, sizeof value);
    visit(row, lane % 4 + (word >> 1) * 4, value);
    return;
  }
  int k = lane % 4 * 2 + (word >> 1) * 8;
  visit(row, k, widen(uint16_t(bits), call.format == DlcEmuBf16));
  visit(row, k + 1, widen(uint16_t(bits >> 16), call.format == DlcEmuBf16));
}
/// The same of bytes, of A or of B.
template <class Visit>
void visitWord(const TileCall<int> &call, bool isA, int lane, int word, uint32_t bits,
               Visit visit) {
  int row = lane / 4 + (word & 1) * 8, k = lane % 4 * 4 + (word >> 1) * 16;
  bool isSigned = call.format & (isA ? DlcEmuSignedA : DlcEmuSignedB);
  for (int e = 0; e < 4; ++e) {
    uint8_t byte = uint8_t(bits >> e * 8);
    visit(row, k + e, isSigned ? uint32_t(int32_t(int8_t(byte))) : uint32_t(byte));
  }
}

template <class Total> const TileCall<Total> &callOf(const Warp &warp, int slot, int lane) {
  return *static_cast<const TileCall<Total> *>(warp.operand[slot][lane][0]);
}

/// Calls visit(lane, its accumulator, row, column) for each pair of neighbours in C.
template <class Total, class Visit> void forEachPair(Warp &warp, int slot, Visit visit) {
  for (int lane = 0; lane < 32; ++lane) {
    const auto &call = callOf<Total>(warp, slot, lane);
    for (int i = 0; i < call.mi; ++i)
      for (int j = 0; j < call.nj; ++j)
        for (int half = 0; half < 2; ++half)
          visit(call.d + (i * call.nj + j) * 4 + half * 2, i * 16 + lane / 4 + half * 8,
                j * 8 + lane % 4 * 2);
  }
}

template <class Total, class Tile> void multiplyAs(Warp &warp, int slot, int depth, Tile &tile) {
  const auto &first = callOf<Total>(warp, slot, 0);
  for (int lane = 0; lane < 32; ++lane) {
    const auto &call = callOf<Total>(warp, slot, lane);
    for (int i = 0; i < call.mi; ++i)
      for (int r = 0; r < 4; ++r)
        visitWord(call, true, lane, r, call.a[i * 4 + r],
                  [&](int row, int k, auto value) { tile.a[i * 16 + row][k] = value; });
    // A column of B lies in the lanes as a row of A does; its second register holds the further
    // half of k.
    for (int j = 0; j < call.nj; ++j)
      for (int r = 0; r < 2; ++r)
        visitWord(call, false, lane, r * 2, call.b[(j >> 1) * 4 + (j & 1) * 2 + r],
                  [&](int column, int k, auto value) { tile.b[k][j * 8 + column] = value; });
  }
  forEachPair<Total>(warp, slot, [&](Total *d, int row, int column) {
    std::memcpy(&tile.c[row][column], d, 2 * sizeof(Total));
  });
  tile.multiply(first.mi * 16, first.nj * 8, depth);
  forEachPair<Total>(warp, slot, [&](Total *d, int row, int column) {
    std::memcpy(d, &tile.c[row][column], 2 * sizeof(Total));
  });
}

void multiplyTiles(Block &, Warp &warp, int slot) {
  requireFullWarp(warp, slot, "mma_tile");
  int depth = callOf<float>(warp, slot, 0).format == DlcEmuTf32 ? 8 : kDepth;
  multiplyAs<float>(warp, slot, depth, TileOperands<float, kDepth>::scratch());
}

void multiplyByteTiles(Block &, Warp &warp, int slot) {
  requireFullWarp(warp, slot, "mma_tile_bytes");
  unsigned signs = callOf<int>(warp, slot, 0).format;
  for (int lane = 1; lane < 32; ++lane)
    if (callOf<int>(warp, slot, lane).format != signs)
      failThread(
          Fault::LaunchFailed,
          "divergent warp: the lanes of mma_tile_bytes disagree about which operands have a sign");
  multiplyAs<int>(warp, slot, kByteDepth, TileOperands<uint32_t, kByteDepth>::scratch());
}

void multiplySparseTiles(Block &, Warp &warp, int slot) {
  requireFullWarp(warp, slot, "mma_tile_sparse");
  auto &tile = TileOperands<float, kSparseDepth>::scratch();
  const auto &first = callOf<float>(warp, slot, 0);
  for (int lane = 0; lane < 32; ++lane) {
    const auto &call = callOf<float>(warp, slot, lane);
    for (int i = 0; i < call.mi; ++i)
      for (int r = 0; r < 4; ++r)
        visitWord(call, true, lane, r, call.a[i * 4 + r],
                  [&](int row, int stored, float value) { tile.a[i * 16 + row][stored] = value; });
    // The first two registers of a column of B hold steps 0-15 of k, as those of mma_tile do.
    for (int j = 0; j < call.nj; ++j)
      for (int r = 0; r < 4; ++r)
        visitWord(call, false, lane, r % 2 * 2, call.b[j * 4 + r],
                  [&](int column, int k, float value) {
                    tile.b[r / 2 * kDepth + k][j * 8 + column] = value;
                  });
  }
  forEachPair<float>(warp, slot, [&](float *d, int row, int column) {
    std::memcpy(&tile.c[row][column], d, 2 * sizeof(float));
  });
  for (int row = 0; row < first.mi * 16; ++row)
    for (int stored = 0; stored < kSparseStored; ++stored) {
      int k = sparseStep(row % 16, stored, [&](int lane) {
        return callOf<float>(warp, slot, lane).places[row / 16];
      });
      // Only stored elements are multiplied: NaN in B does not show at other steps.
      for (int column = 0; column < first.nj * 8; ++column)
        tile.c[row][column] += tile.a[row][stored] * tile.b[k][column];
    }
  forEachPair<float>(warp, slot, [&](float *d, int row, int column) {
    std::memcpy(d, &tile.c[row][column], 2 * sizeof(float));
  });
}

/// Lets a warp meet for a product; the last lane to come computes it.
template <class Total>
void meet(TileCall<Total> call, int op, const char *name, void (*multiply)(Block &, Warp &, int)) {
  if (call.mi * 16 > kMaxRows || call.nj * 8 > kMaxColumns)
    failThread(Fault::LaunchFailed, "%s of %dx%d: the emulator takes up to %dx%d", name,
               call.mi * 16, call.nj * 8, kMaxRows, kMaxColumns);
  Thread &thread = self();
  thread.home().warps[thread.warp].operand[warpSlot()][thread.lane][0] = &call;
  joinWarp(op, multiply);
}

} // namespace

void requireAscending(const char *what, uint32_t places) {
  for (int group = 0; group < 8; ++group) {
    unsigned low = places >> group * 4 & 3, high = places >> (group * 4 + 2) & 3;
    if (low >= high)
      failThread(
          Fault::LaunchFailed,
          "unordered places: %s, lane %d: the two elements of group %d of row %d stand at %u "
          "and %u of its four; places must ascend",
          what, self().lane, self().lane % 4 * 4 + group % 4, self().lane / 4 + group / 4 * 8, low,
          high);
  }
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void dlcEmuLdmatrixX4(unsigned *regs, const void *row, bool transposed) {
  requireShared(row, 16, "ldmatrix");
  Thread &thread = self();
  Block &block = thread.home();
  if (Checker *check = block.worker->launch().checker)
    check->access(row, 16, DlcEmuLoad);
  void **operand = block.warps[thread.warp].operand[warpSlot()][thread.lane];
  operand[0] = const_cast<void *>(row);
  operand[1] = regs;
  joinWarp(transposed ? DlcEmuLdmatrixTrans : DlcEmuLdmatrix,
           transposed ? loadMatrices<true> : loadMatrices<false>);
}

void dlcEmuMmaTile(float *d, const unsigned *a, const unsigned *b, int mi, int nj, int type) {
  meet<float>({d, a, b, mi, nj, unsigned(type)}, DlcEmuMma, "mma_tile", multiplyTiles);
}

void dlcEmuMmaTileSparse(float *d, const unsigned *a, const unsigned *places, const unsigned *b,
                         int mi, int nj, int type) {
  if (bringsPlaces(self().lane))
    for (int i = 0; i < mi; ++i)
      requireAscending("mma_tile_sparse", places[i]);
  meet<float>({d, a, b, mi, nj, unsigned(type), places}, DlcEmuMmaSparse, "mma_tile_sparse",
              multiplySparseTiles);
}

void dlcEmuMmaTileBytes(int *d, const unsigned *a, const unsigned *b, int mi, int nj,
                        unsigned signs) {
  meet<int>({d, a, b, mi, nj, signs}, DlcEmuMmaBytes, "mma_tile_bytes", multiplyByteTiles);
}

} // extern "C"
