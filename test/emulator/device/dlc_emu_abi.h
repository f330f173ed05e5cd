//===- dlc_emu_abi.h - what emulated kernel code calls --------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The boundary between a kernel that was compiled for the host and libdlc_cuda_emu.so: included by
// both, so that they cannot disagree. No libc headers: kernels are compiled without them, which is
// half of the compile time.
//===----------------------------------------------------------------------===//
#pragma once

/// Part of the cache key and of each image: a kernel compiled against another number is refused.
#define DLC_EMU_ABI_VERSION 10

struct DlcEmuDim {
  unsigned x, y, z;
};

/// What device code reads of its block; the head of the runtime's own record.
struct DlcEmuBlock {
  DlcEmuDim index, dim, grid;
  /// The block's shared memory; static variables from its start, dynamic memory at its end.
  unsigned char *shared;
  unsigned dynamicOffset, dynamicBytes;
};

/// What device code reads of its thread; the head of the runtime's fiber.
struct DlcEmuThread {
  DlcEmuDim index;
  int linear, lane, warp;
  DlcEmuBlock *block;
};

/// Flags of dlcEmuAccess.
enum DlcEmuAccessFlags : unsigned {
  DlcEmuLoad = 0,
  DlcEmuStore = 1,
  DlcEmuAtomic = 2,
  /// The access must be aligned to its size (vector accesses of the vocabulary).
  DlcEmuVector = 4,
};

/// Operands of mma: 16 steps of k in the 16-bit types, 8 in tf32, whose lower 13 bits the hardware
/// ignores, and of wgmma alone 32 of bytes, with i32 accumulators, and of e4m3.
enum DlcEmuMmaType : int { DlcEmuF16, DlcEmuBf16, DlcEmuTf32, DlcEmuByte, DlcEmuE4m3 };

/// Operands of mma and wgmma of bytes that have a sign.
enum DlcEmuSigns : unsigned { DlcEmuSignedA = 1, DlcEmuSignedB = 2 };

/// Operands of wgmma whose elements lie together along m or n, not along k.
enum DlcEmuMajors : unsigned { DlcEmuAlongM = 1, DlcEmuAlongN = 2 };

/// Which collective a lane takes part in; lanes of a warp that disagree are reported.
enum DlcEmuCollective : int {
  DlcEmuWarpBarrier = 1,
  DlcEmuShuffleIndex,
  DlcEmuShuffleXor,
  DlcEmuShuffleDown,
  DlcEmuShuffleUp,
  DlcEmuBallotOp,
  DlcEmuLdmatrix,
  DlcEmuLdmatrixTrans,
  DlcEmuMma,
  DlcEmuMmaBytes,
  DlcEmuMmaSparse,
};

#pragma GCC visibility push(default)
extern "C" {
/// The thread that runs on this host thread now.
extern __thread DlcEmuThread *dlcEmuSelf __attribute__((tls_model("initial-exec")));

/// Ends the kernel with a report about the calling thread. Does not return.
__attribute__((noreturn)) void dlcEmuFail(const char *what);

void dlcEmuBarrier(const char *file, int line);
void dlcEmuBeginGrid();
void dlcEmuGridBarrier();
// Clusters of blocks (dlc_cluster.cuh).
unsigned dlcEmuClusterRank();
/// `orders`: what threads wrote before it is seen by all after it.
void dlcEmuClusterBarrier(bool orders);
/// Where block `rank` of the cluster has what lies at `p` in this block's dynamic shared memory.
const void *dlcEmuClusterMap(const void *p, unsigned rank);
void dlcEmuWarpSync(const char *file, int line);
/// The value that lane `source` brought along.
unsigned long long dlcEmuShuffle(unsigned long long value, int source, int op);
unsigned dlcEmuBallot(bool predicate);

/// The address of the block's static shared variable with this key; made at the first call.
void *dlcEmuShared(const void *key, unsigned bytes, unsigned align, const char *name);
unsigned dlcEmuSharedAddress(const void *p);

/// Checker hooks; they do nothing in an unchecked launch.
void dlcEmuAccess(const void *p, unsigned bytes, unsigned flags);
void dlcEmuFence();
void dlcEmuMisaligned(const void *p, unsigned align, const char *file, unsigned line);

// Asynchronous copies (dlc_async.cuh).
void dlcEmuCopyAsync(void *shared, const void *global, int bytes, int sourceBytes);
void dlcEmuCopyCommit();
void dlcEmuCopyWait(int pending);
void dlcEmuMbarInit(unsigned long long *bar, unsigned count);
void dlcEmuMbarFenceInit();
void dlcEmuFenceAsync();
void dlcEmuMbarExpect(unsigned long long *bar, unsigned bytes);
void dlcEmuMbarArrive(unsigned long long *bar);
void dlcEmuMbarWait(unsigned long long *bar, unsigned phase);
void dlcEmuTmaLoad2d(void *shared, const void *map, unsigned long long *bar, int c0, int c1);

// Tensor cores (dlc_mma.cuh).
void dlcEmuLdmatrixX4(unsigned *regs, const void *row, bool transposed);
/// mi x nj products of 16x8x16 (tf32: 16x8x8): d[mi][nj][4] += a[mi][4] * b[nj/2][4].
void dlcEmuMmaTile(float *d, const unsigned *a, const unsigned *b, int mi, int nj, int type);
/// The same of 16x8x32, four bytes a word; `signs` are DlcEmuSigns.
void dlcEmuMmaTileBytes(int *d, const unsigned *a, const unsigned *b, int mi, int nj,
                        unsigned signs);
/// mi x nj products of 16x8x32 in 16-bit types, d[mi][nj][4] += a[mi][4] * b[nj][4], where two of
/// each four neighbours along k of a are stored, at the `places` [mi] that lanes 0 and 1 of each
/// four have.
void dlcEmuMmaTileSparse(float *d, const unsigned *a, const unsigned *places, const unsigned *b,
                         int mi, int nj, int type);
void dlcEmuWgmmaFence();
/// d[n/2] (+)= A(64x16) * B(16xn) (tf32: 64x8, 8xn), both in shared memory, named by descriptors;
/// `majors` are DlcEmuMajors.
void dlcEmuWgmma(float *d, int n, unsigned long long a, unsigned long long b, bool accumulate,
                 int type, unsigned majors);
/// The same of bytes, 64x32 and 32xn; `signs` are DlcEmuSigns.
void dlcEmuWgmmaBytes(int *d, int n, unsigned long long a, unsigned long long b, bool accumulate,
                      unsigned signs);
/// The product of 16-bit types with A in four registers a thread, which must not change before the
/// product is done.
void dlcEmuWgmmaHeld(float *d, int n, const unsigned *a, unsigned long long b, bool accumulate,
                     int type, unsigned majors);
/// The product 64x32 * 32xn of 16-bit types, where two of each four neighbours along k of A are
/// stored: 64x16, at the `places` that lanes 0 and 1 of each four have.
void dlcEmuWgmmaSparse(float *d, int n, unsigned long long a, unsigned places, unsigned long long b,
                       bool accumulate, int type);
void dlcEmuWgmmaCommit();
void dlcEmuWgmmaWait(int pending);
/// From here on the thread has `count` registers, more or fewer than before; so have all of its
/// warpgroup.
void dlcEmuSetRegisters(int count, bool more);
}
#pragma GCC visibility pop
