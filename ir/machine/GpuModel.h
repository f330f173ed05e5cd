//===- GpuModel.h - What is known of the GPUs that kernels run on -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One description for every choice between kernels, the compiler's and the runtime's. It needs
// nothing but the language: the runtime includes it, too.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_IR_MACHINE_GPUMODEL_H
#define DLC_IR_MACHINE_GPUMODEL_H

#include <cstdint>

namespace dlc {

/// How fast one multiprocessor runs a kernel that multiplies slabs out of a ring of stages in
/// shared memory.
struct RingRates {
  /// Multiply-adds a clock: of floats, or on tensor cores of 16-bit elements (of bytes twice as
  /// many)
  double products;
  double bytes;   ///< bytes a clock that arrive from L2 while all multiprocessors ask for them
  double latency; ///< clocks from the issue of a copy to its data
  double ends;    ///< clocks of a tile before its first product and after its last
  double total;   ///< clocks of the way of one total to its result
  double
      shortTurn; ///< times as long where less than 64 columns of totals are on their way in a turn
  /// Bytes of totals a clock, between blocks that share a tile: by memory, of wgmma within a
  /// cluster
  double exchange;
  double meeting;   ///< clocks in which blocks that share a tile meet
  double leastPart; ///< clocks of reading the totals of one block at least
};

/// How fast one multiprocessor takes a step of a recurrence.
struct StepRates {
  double bytes;    ///< a clock, from L2
  double products; ///< multiply-adds a clock whose operands lie in shared memory
  /// Clocks from the last store of a block to the first load of another after a barrier of the grid
  double meeting;
  double arrival; ///< clocks that each block adds to that
  // On tensor cores; modelled on all GPUs.
  double tensorProducts; ///< multiply-adds a clock of 16-bit elements
  double shared;         ///< bytes a clock of shared memory
  double states;         ///< bytes a clock of states from L2, of which all blocks read the same
  double tensorSteps;    ///< times measured over times estimated by these
};

/// The rates that schedules other than those of products reach. Plans are compared by them;
/// `tools/scripts/bench kernels` compares them with measured kernels.
struct ScheduleRates {
  double map;               ///< share of the rate of memory of a map whose reads are neighbours
  double mapApart;          ///< the same where they are not: a transpose
  double reduce;            ///< share of the rate of memory, a warp or a block a row
  double readAgain;         ///< time of a row's bytes that a cache has, relative to the first time
  double splitReduce;       ///< the same of rows that blocks share
  double direct;            ///< the same of a thread for each result, or of plain tiles
  double arithmetic;        ///< share of peakFloats for the operations of CostModel
  double gridMeeting;       ///< clocks in which all blocks of a launch meet
  double attentionProducts; ///< multiply-adds a clock of one block on tensor cores ...
  double attentionShared;   ///< ... times this, where a warp has 32 rows in place of 16 ...
  double attentionBlocks;   ///< ... of which so many do not slow each other on a multiprocessor
  double attentionThreads;  ///< ... and so many threads: tensor cores are slower under fewer
  double attentionFloats;   ///< multiply-adds a clock of one block on the units of floats
  double attentionEnds;     ///< clocks of a block beside them
  double attentionWeights;  ///< scores that become weights a clock, beside wgmma ...
  double attentionHidden;   ///< ... the share of the shorter one that either hides of the other ...
  double attentionSpan;     ///< ... and clocks of a span beside both
  double attentionMasked;   ///< times a weight takes whose score reads a mask
  double attentionTurned;   ///< values of e4m3 a clock that threads turn into columns
  double issued;            ///< instructions of warps a clock
  double loadsAtOnce;       ///< loads of a thread that are on their way together
  double loads;             ///< loads of threads a clock, where each has a result of its own ...
  double clocksOfTerm;      ///< ... and clocks from one of its terms to the next
  double tileProducts;      ///< multiply-adds a clock of plain tiles ...
  double tileSlab;          ///< ... clocks from a slab's request to its use ...
  double tileEnds;          ///< ... and of a block before its first product and after its last
  double
      gatheredBytes; ///< bytes a clock that 128 threads of a multiprocessor copy from an image ...
  double gatheredElements; ///< elements a clock of less than 4 bytes that threads copy one by one
  double gatherBegins;     ///< ... and clocks in which they find the rows of a tile
  double finishesAlone; ///< times in which one warpgroup finishes a tile's totals, over that of two
  double blockMeeting;  ///< clocks in which the threads of a block meet ...
  double clusterMeeting; ///< ... and the blocks of a cluster
  double sparseProducts; ///< products of sparse tensor cores in the time of one of others
  // Times measured over times estimated by their own rates.
  double windows;     ///< of tiles whose rows are gathered: convolutions
  double floatUnits;  ///< of tiles of floats
  double depthwise;   ///< of strips
  double recurrences; ///< of steps
};

/// Where one way to work on the rows of a reduction, or on few rows times a matrix, gives way to
/// the next: each rests on how many bytes threads have on their way, and on what a meeting of
/// blocks costs.
struct RowLimits {
  int64_t warpRow = 512;      ///< terms up to which a row goes to a warp, longer ones to a block
  int64_t threadColumn = 64;  ///< terms up to which a row across memory goes to a thread ...
  int64_t threadColumns = 32; ///< ... and any, where there are so many for each multiprocessor
  int64_t sharedRow = 32768;  ///< terms from which on blocks share a row ...
  int64_t sharedTerms = 4096; ///< ... each at least so many of them
  int64_t sharedColumn = 128; ///< terms from which on blocks share rows across memory ...
  int64_t sharedElements = 65536; ///< ... if all rows together have so many ...
  int64_t threadTerms = 16;       ///< ... each thread at least so many of them ...
  int64_t fewestParts = 4;        ///< ... in so many parts at least: with fewer the gain is small
  int64_t busyWarps =
      12; ///< warps of a multiprocessor that, with eight vectors each, keep memory busy
  int64_t blocksTogether =
      2; ///< blocks of a multiprocessor where several share the sums of few rows
};

/// What cuBLASLt reaches.
struct LibraryRates {
  double halves,
      floats;  ///< multiply-adds a clock of one multiprocessor, of 16-bit elements and floats
  double ends; ///< clocks of a call beside them
};

/// A GPU. Numbers of one multiprocessor are for one clock. `peak...` are NVIDIA's; other rates are
/// what dlc's kernels reach: measured where `source` names a result file, else modelled.
struct GpuModel {
  int architecture; ///< 90 for sm_90
  const char *name;
  const char *source; ///< of test/bench/results, "" where everything is modelled
  int64_t multiprocessors;
  int64_t groupOfMultiprocessors =
      16;              ///< a cluster of blocks lies within one; groups of some GPUs have more
  int64_t sharedBytes; ///< of a multiprocessor, as far as blocks may have it
  int64_t threads;     ///< that a multiprocessor holds
  int64_t registers;   ///< of a multiprocessor, 32 bits each
  RowLimits rows = {};
  double gigahertz;
  double peakHalves;   ///< multiply-adds of 16-bit elements, with sums in f32
  double peakFloats;   ///< multiply-adds of floats
  double halfProducts; ///< multiply-adds of 16-bit elements on tensor cores; of bytes twice as many
  double floatProducts;   ///< multiply-adds of floats
  double clocksOfLatency; ///< from a copy's issue to its data
  double memoryBytes;     ///< a nanosecond, of the whole GPU
  double
      bytesOnce; ///< a clock, of the whole GPU: a product takes no less than all of its bytes once
  int64_t bytesOfMeeting;   ///< that a multiprocessor reads from memory while blocks meet
  double launch;            ///< microseconds of a kernel that has nothing to do, between two events
  double launchInRow;       ///< microseconds that a kernel takes among others at least
  double nextLaunch = 0.67; ///< microseconds from a kernel's end to the next one in a graph
  double unpacked;          ///< weights in few bits that become floats
  RingRates mma;            ///< contract_mma, on tensor cores
  RingRates wgmma;          ///< contract_wgmma; all 0 where a GPU has none
  RingRates floats;         ///< contract_simt
  StepRates steps;          ///< of recurrences
  LibraryRates library;
  ScheduleRates schedules;
};

/// Rings on a GPU that nobody has measured: as an A100's are modelled.
constexpr RingRates modelledRing(double products) {
  return {.products = products,
          .bytes = 40,
          .latency = 600,
          .ends = 1500,
          .total = 0.03,
          .shortTurn = 1,
          .exchange = 40,
          .meeting = 1800,
          .leastPart = 300};
}

inline constexpr StepRates kModelledSteps = {.bytes = 64,
                                             .products = 32,
                                             .meeting = 1500,
                                             .arrival = 8,
                                             .tensorProducts = 512,
                                             .shared = 100,
                                             .states = 24,
                                             .tensorSteps = 0.66};

/// Fitted to the H100's kernels (test/bench/results/kernels-nvidia-h100-80gb-hbm3-2026-11-23.tsv),
/// and modelled for all others. `attentionProducts`, `attentionShared`, `attentionWeights` to
/// `attentionSpan` and `issued` to `gatherBegins` are modelled for the H100, too. The first two
/// are from instructions: 64 rows and 64 keys of 64 take 580 of each of four warps (446 where a
/// warp has 32 rows), and attention kernels measured before issued 0.62 a clock of a scheduler.
/// Weights are bounded by the exponentials, 16 a clock; 128 rows and 128 keys of 64 take 434
/// instructions of each of eight warps beside the products, of which 66 are exponentials. To turn
/// 16 values takes 34 instructions of a lane (`attentionTurned`); a mask's load and its address
/// are about as many again as a weight's own (`attentionMasked`). Rows of a
/// gather are found in some 150 instructions of a warp, one after the other. `attentionBlocks`,
/// `attentionHidden`, `depthwise`, `gatheredBytes` and StepRates::tensorSteps are fitted to kernels
/// of test/bench/results/workloads/*-2026-11-27.json. `finishesAlone`: a scheduler has one warp of
/// a warpgroup, whose steps wait for each other, where two fill each other's waits; issue alone
/// would say 1. `gatheredElements`: an element takes 33 instructions of a lane, four schedulers
/// issue 128 a clock. `sparseProducts`: the hardware has twice the rate; others reach 1.2 times by
/// whole kernels, which copies bound, too.
inline constexpr ScheduleRates kScheduleRates = {.map = 0.8,
                                                 .mapApart = 0.31,
                                                 .reduce = 0.78,
                                                 .readAgain = 0.25,
                                                 .splitReduce = 0.9,
                                                 .direct = 0.6,
                                                 .arithmetic = 0.2,
                                                 .gridMeeting = 2000,
                                                 .attentionProducts = 140,
                                                 .attentionShared = 1.3,
                                                 .attentionBlocks = 2.3,
                                                 .attentionThreads = 128,
                                                 .attentionFloats = 20,
                                                 .attentionEnds = 2000,
                                                 .attentionWeights = 15.5,
                                                 .attentionHidden = 0.2,
                                                 .attentionSpan = 100,
                                                 .attentionMasked = 2,
                                                 .attentionTurned = 60,
                                                 .issued = 4,
                                                 .loadsAtOnce = 4,
                                                 .loads = 16,
                                                 .clocksOfTerm = 20,
                                                 .tileProducts = 48,
                                                 .tileSlab = 900,
                                                 .tileEnds = 1500,
                                                 .gatheredBytes = 23,
                                                 .gatheredElements = 4,
                                                 .gatherBegins = 500,
                                                 .finishesAlone = 1.5,
                                                 .blockMeeting = 40,
                                                 .clusterMeeting = 250,
                                                 .sparseProducts = 1.6,
                                                 .windows = 1.5,
                                                 .floatUnits = 1.6,
                                                 .depthwise = 1.3,
                                                 .recurrences = 2.05};

/// The model of a GPU of which only the data sheet is known.
constexpr GpuModel modelledGpu(int architecture, const char *name, int64_t multiprocessors,
                               int64_t sharedBytes, int64_t threads, double gigahertz,
                               double halves, double floats, double memoryBytes) {
  return {.architecture = architecture,
          .name = name,
          .source = "",
          .multiprocessors = multiprocessors,
          .sharedBytes = sharedBytes,
          .threads = threads,
          .registers = 65536,
          .gigahertz = gigahertz,
          .peakHalves = halves,
          .peakFloats = floats,
          .halfProducts = halves < 1024 ? halves : 1024, // what mma.sync reaches on any of them
          .floatProducts = floats,
          .clocksOfLatency = 600,
          .memoryBytes = memoryBytes,
          .bytesOnce = memoryBytes / gigahertz,
          .bytesOfMeeting = 64 << 10,
          .launch = 4,
          .launchInRow = 2,
          .unpacked = 12,
          .mma = modelledRing(halves < 1024 ? halves : 1024),
          .wgmma = {},
          .floats = modelledRing(floats),
          .steps = kModelledSteps,
          .library = {.halves = 0.8 * halves, .floats = 0.85 * floats, .ends = 6000},
          .schedules = kScheduleRates};
}

inline constexpr GpuModel kAmpere =
    modelledGpu(80, "A100", 108, 160 << 10, 2048, 1.41, 1024, 64, 1555);

/// `mma`, `wgmma`, `bytesOnce` and `launch` are fitted to 1,194 measured tiles
/// (`tools/scripts/bench tiles` fits them anew), but for `wgmma.shortTurn`: 100352 x 256 x 64 took
/// 39 us in tiles of 256 columns, 32 a turn, and 32 us in tiles of 128. `wgmma.exchange` and
/// `wgmma.meeting` are modelled: of another's shared memory a multiprocessor reads some 2.7 TB/s /
/// 132, and a barrier of a cluster takes some 250 clocks. `memoryBytes` was measured, `library` is
/// fitted to five measured products (`tools/scripts/bench kernels`). The rest is modelled.
inline constexpr GpuModel kHopper = {.architecture = 90,
                                     .name = "H100 SXM",
                                     .source = "tiles-nvidia-h100-80gb-hbm3-2026-11-23.csv",
                                     .multiprocessors = 132,
                                     .sharedBytes = 227 << 10,
                                     .threads = 2048,
                                     .registers = 65536,
                                     .gigahertz = 1.755,
                                     .peakHalves = 2048,
                                     .peakFloats = 128,
                                     .halfProducts = 1280,
                                     .floatProducts = 128,
                                     .clocksOfLatency = 650,
                                     .memoryBytes = 2950,
                                     .bytesOnce = 1605,
                                     .bytesOfMeeting = 64 << 10,
                                     .launch = 4.08,
                                     .launchInRow = 2,
                                     .unpacked = 12,
                                     .mma = {.products = 1280,
                                             .bytes = 31.9,
                                             .latency = 1734,
                                             .ends = 143,
                                             .total = 0.148,
                                             .shortTurn = 1,
                                             .exchange = 26.1,
                                             .meeting = 3024,
                                             .leastPart = 0},
                                     .wgmma = {.products = 1728,
                                               .bytes = 59.5,
                                               .latency = 650,
                                               .ends = 797,
                                               .total = 0.150,
                                               .shortTurn = 1.3,
                                               .exchange = 13,
                                               .meeting = 700,
                                               .leastPart = 0},
                                     .floats = {.products = 128,
                                                .bytes = 60,
                                                .latency = 650,
                                                .ends = 1500,
                                                .total = 0.03,
                                                .shortTurn = 1,
                                                .exchange = 60,
                                                .meeting = 1950,
                                                .leastPart = 325},
                                     .steps = kModelledSteps,
                                     .library = {.halves = 1640, .floats = 112, .ends = 6000},
                                     .schedules = kScheduleRates};

/// By architecture. A new GPU is a line here.
inline constexpr GpuModel kGpus[] = {
    kAmpere,
    modelledGpu(86, "A10", 72, 99 << 10, 1536, 1.695, 512, 128, 600),
    modelledGpu(89, "L40S", 142, 99 << 10, 1536, 2.52, 512, 128, 864),
    kHopper,
    modelledGpu(100, "B200", 148, 227 << 10, 2048, 1.85, 4096, 128, 7700),
    modelledGpu(103, "B300", 148, 227 << 10, 2048, 1.92, 4096, 128, 7700),
    modelledGpu(120, "RTX PRO 6000", 188, 99 << 10, 1536, 2.6, 512, 128, 1792),
};

/// The model of an architecture (90 for sm_90): of one that has none, that of the last before it;
/// of none before it, the first.
constexpr const GpuModel &gpuModelOf(int architecture) {
  const GpuModel *found = kGpus;
  for (const GpuModel &gpu : kGpus)
    if (gpu.architecture <= architecture)
      found = &gpu;
  return *found;
}

} // namespace dlc

#endif // DLC_IR_MACHINE_GPUMODEL_H
