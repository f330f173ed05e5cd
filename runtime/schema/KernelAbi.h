//===- KernelAbi.h - How the runtime calls a generated kernel -----------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The calling convention between generated code and runtime. With module.fbs it is all that codegen
// may include from runtime/. A change here bumps kAbiVersion in ModuleHeader.h.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_SCHEMA_KERNELABI_H
#define DLC_RUNTIME_SCHEMA_KERNELABI_H

#include <cstdint>

namespace dlc::abi {

/// Arguments of a CPU kernel. `buffers` and `dims` hold the launch's arguments of each kind in the
/// order of the launch's argument list. Every buffer is aligned to kBufferAlignment, but in checked
/// mode only to its element: there its end meets a guard page, so that an access one element too
/// far faults. So a kernel uses no vector access that faults on unaligned addresses, and touches no
/// byte outside the buffer.
struct CpuArgs {
  void *const *buffers;
  const int64_t *dims;
};

/// A CPU kernel computes tiles [begin, end) of the launch's tile range. `scratch` is private to the
/// calling thread, aligned to kBufferAlignment and of the launch's scratch size; null where that is
/// 0. Tiles write disjoint elements, so any partition over threads gives the same bits. A launch
/// with phases has as many tiles in each, those of phase p from p * tiles on: no tile of a phase
/// runs before all of the phase before it are done, and all threads share one scratch. A call may
/// be for tiles of several phases, in their order.
using CpuKernel = void (*)(const CpuArgs *args, int64_t begin, int64_t end, void *scratch);

/// A CUDA kernel takes one parameter for each argument of the launch, in order: a pointer for a
/// buffer, an `long long` for a dim. Then one 128-byte CUtensorMap for each tensor map of the
/// launch.

/// Alignment in bytes of every buffer on every device.
inline constexpr int64_t kBufferAlignment = 64;

/// Memory that the blocks of a CUDA launch exchange begins with so many bytes of counters: zero
/// before the launch, and left so, but for the high bit of the last one, through which all blocks
/// of a cooperative launch meet (grid_barrier of dlc_device.cuh); nothing else uses that one.
inline constexpr int64_t kExchangeCounterBytes = 4096;
inline constexpr int64_t kExchangeCounters = kExchangeCounterBytes / 4;
inline constexpr int64_t kGridCounter = kExchangeCounters - 1;

/// What a CPU image may import. Anything else is refused by the compiler and by the loader.
inline constexpr const char *kCpuImports[] = {"memcpy", "memset"};

} // namespace dlc::abi

#endif // DLC_RUNTIME_SCHEMA_KERNELABI_H
