//===- DriverAbi.h - The part of the CUDA driver and NVRTC ABI that dlc uses ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlc loads CUDA at run time and builds without its headers, so it declares the ABI itself: types,
// the enumerators that it reads or passes, and (in Symbols.def) the functions. Values are NVIDIA's,
// stable since CUDA 11; test/unit/runtime/DriverAbiTest.cpp checks them against cuda.h where that
// is installed. The emulated driver in test/emulator implements the same declarations.
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_CUDA_DRIVER_DRIVERABI_H
#define DLC_RUNTIME_CUDA_DRIVER_DRIVERABI_H

#include <cstddef>
#include <cstdint>

namespace dlc::cuda {

/// CUresult. Every driver function returns one; values that dlc does not name may occur.
enum class Result : int {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  StubLibrary = 34,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  UnsupportedPtxVersion = 222,
  Contained = 226,
  SharedObjectInitFailed = 303,
  OperatingSystem = 304,
  InvalidHandle = 400,
  IllegalState = 401,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  LaunchOutOfResources = 701,
  LaunchTimeout = 702,
  ContextIsDestroyed = 709,
  Assert = 710,
  HardwareStackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidPc = 718,
  LaunchFailed = 719,
  CooperativeLaunchTooLarge = 720,
  NotPermitted = 800,
  NotSupported = 801,
  SystemNotReady = 802,
  SystemDriverMismatch = 803,
  StreamCaptureUnsupported = 900,
  StreamCaptureInvalidated = 901,
  GraphExecUpdateFailure = 910,
  InvalidClusterSize = 912,
  Unknown = 999,
};

/// CUdevice, CUdeviceptr; the handles are opaque pointers.
using Device = int;
using DevicePtr = unsigned long long;
using Context = struct CUctx_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;
using GraphNode = struct CUgraphNode_st *;

/// CUdevice_attribute.
enum class DeviceAttribute : int {
  MaxThreadsPerBlock = 1,
  MaxBlockDimX = 2,
  MaxBlockDimY = 3,
  MaxBlockDimZ = 4,
  MaxGridDimX = 5,
  MaxGridDimY = 6,
  MaxGridDimZ = 7,
  MaxSharedMemoryPerBlock = 8,
  WarpSize = 10,
  MaxRegistersPerBlock = 12,
  ClockRate = 13,
  MultiprocessorCount = 16,
  Integrated = 18,
  ComputeMode = 20,
  MemoryClockRate = 36,
  GlobalMemoryBusWidth = 37,
  L2CacheSize = 38,
  MaxThreadsPerMultiprocessor = 39,
  UnifiedAddressing = 41,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  MaxSharedMemoryPerMultiprocessor = 81,
  MaxRegistersPerMultiprocessor = 82,
  CooperativeLaunch = 95,
  MaxSharedMemoryPerBlockOptin = 97,
};

/// CUpointer_attribute, CUmemorytype.
enum class PointerAttribute : int {
  Context = 1,
  MemoryType = 2,
  DeviceOrdinal = 9,
  RangeStart = 11,
  RangeSize = 12,
};
enum class MemoryType : int { Host = 1, Device = 2 };

/// CUfunction_attribute. MaxDynamicSharedSizeBytes may be set; the others are read.
enum class FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  ConstSizeBytes = 2,
  LocalSizeBytes = 3,
  NumRegs = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  MaxDynamicSharedSizeBytes = 8,
  PreferredSharedMemoryCarveout = 9,
  NonPortableClusterSizeAllowed = 14,
};

inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventDefault = 0;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kMemHostAllocPortable = 1;

/// CUjit_option. Option values are passed as `void *`: a pointer for buffers, a number for sizes.
enum class JitOption : int {
  MaxRegisters = 0,
  InfoLogBuffer = 3,
  InfoLogBufferSizeBytes = 4,
  ErrorLogBuffer = 5,
  ErrorLogBufferSizeBytes = 6,
};

enum class StreamCaptureMode : int { Global = 0, ThreadLocal = 1, Relaxed = 2 };
enum class StreamCaptureStatus : int { None = 0, Active = 1, Invalidated = 2 };
enum class GraphNodeType : int { Kernel = 0, Memcpy = 1, Memset = 2 };

/// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNodeParams {
  Function function;
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  void **parameters;
  void **extra;
  void *kernel;
  Context context;
};

/// CUDA_MEMCPY3D_v2. A copy of a row of bytes from memory of the GPU to memory of the GPU sets the
/// two addresses, the width, and 1 for height and depth.
struct MemcpyNodeParams {
  struct Side {
    size_t x, y, z, level;
    MemoryType type = MemoryType::Device;
    const void *host;
    DevicePtr device;
    void *array, *reserved;
    size_t pitch, height;
  };
  Side source, target;
  size_t width, height, depth;
};

/// CUgraphExecUpdateResultInfo. `result` is 0 where the graph was taken over.
struct GraphExecUpdateInfo {
  int result;
  GraphNode errorNode, errorFromNode;
};

/// CUlaunchAttribute with the one that dlc sets: the kernel may begin before the one before it in
/// its stream has ended.
struct alignas(8) LaunchAttribute {
  static constexpr int kProgrammaticStreamSerialization = 6;

  int id = kProgrammaticStreamSerialization;
  int padding = 0;
  int isAllowed = 1;
  char unused[60] = {};
};
/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX, gridY, gridZ;
  unsigned blockX, blockY, blockZ;
  unsigned sharedBytes;
  Stream stream;
  LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUtensorMap: 128 bytes that only the driver makes.
struct alignas(128) TensorMap {
  unsigned char opaque[128];
};
/// CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion: what dlc passes. f32 becomes
/// tf32 on the way.
enum class TensorMapType : int { U8 = 0, F16 = 6, Bf16 = 9, Tf32 = 11 };
inline constexpr int kSwizzle128 = 3, kPromoteL2To256 = 3;

/// nvrtcResult.
enum class NvrtcResult : int {
  Success = 0,
  OutOfMemory = 1,
  ProgramCreationFailure = 2,
  InvalidInput = 3,
  InvalidProgram = 4,
  InvalidOption = 5,
  Compilation = 6,
  BuiltinOperationFailure = 7,
  InternalError = 11,
};

using NvrtcProgram = struct _nvrtcProgram *;

} // namespace dlc::cuda

#endif // DLC_RUNTIME_CUDA_DRIVER_DRIVERABI_H
