//===- DriverAbiTest.cpp - Our declaration of the CUDA ABI against NVIDIA's -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiled against cuda.h and nvrtc.h where they are installed; a wrong value is a compile error.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/DriverAbi.h"
#include "runtime/cuda/driver/CublasLtAbi.h"

#include <gtest/gtest.h>

#if defined(DLC_CUDA_HEADERS)
#define CUDA_API_PER_THREAD_DEFAULT_STREAM 0
#undef CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda.h>
#include <nvrtc.h>
#if __has_include(<cublasLt.h>)
#include <cublasLt.h>
#define DLC_CUBLASLT_HEADER
#endif

#include <type_traits>

using namespace dlc;

#define SAME(ours, theirs) static_assert(static_cast<int>(ours) == static_cast<int>(theirs))

SAME(cuda::Result::OutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME(cuda::Result::NotInitialized, CUDA_ERROR_NOT_INITIALIZED);
SAME(cuda::Result::Deinitialized, CUDA_ERROR_DEINITIALIZED);
SAME(cuda::Result::StubLibrary, CUDA_ERROR_STUB_LIBRARY);
SAME(cuda::Result::DeviceUnavailable, CUDA_ERROR_DEVICE_UNAVAILABLE);
SAME(cuda::Result::NoDevice, CUDA_ERROR_NO_DEVICE);
SAME(cuda::Result::InvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME(cuda::Result::InvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME(cuda::Result::InvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME(cuda::Result::NoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME(cuda::Result::EccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME(cuda::Result::InvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME(cuda::Result::UnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME(cuda::Result::Contained, CUDA_ERROR_CONTAINED);
SAME(cuda::Result::SharedObjectInitFailed, CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
SAME(cuda::Result::OperatingSystem, CUDA_ERROR_OPERATING_SYSTEM);
SAME(cuda::Result::InvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME(cuda::Result::IllegalState, CUDA_ERROR_ILLEGAL_STATE);
SAME(cuda::Result::NotFound, CUDA_ERROR_NOT_FOUND);
SAME(cuda::Result::NotReady, CUDA_ERROR_NOT_READY);
SAME(cuda::Result::IllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME(cuda::Result::LaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
SAME(cuda::Result::LaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME(cuda::Result::ContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME(cuda::Result::Assert, CUDA_ERROR_ASSERT);
SAME(cuda::Result::HardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME(cuda::Result::IllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME(cuda::Result::MisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME(cuda::Result::InvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME(cuda::Result::InvalidPc, CUDA_ERROR_INVALID_PC);
SAME(cuda::Result::CooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
SAME(cuda::Result::LaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME(cuda::Result::NotPermitted, CUDA_ERROR_NOT_PERMITTED);
SAME(cuda::Result::NotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME(cuda::Result::SystemNotReady, CUDA_ERROR_SYSTEM_NOT_READY);
SAME(cuda::Result::SystemDriverMismatch, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
SAME(cuda::Result::StreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
SAME(cuda::Result::StreamCaptureInvalidated, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
SAME(cuda::Result::Unknown, CUDA_ERROR_UNKNOWN);

SAME(cuda::DeviceAttribute::MaxThreadsPerBlock, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(cuda::DeviceAttribute::MaxBlockDimZ, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(cuda::DeviceAttribute::MaxGridDimX, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X);
SAME(cuda::DeviceAttribute::MaxGridDimZ, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
SAME(cuda::DeviceAttribute::MaxSharedMemoryPerBlock,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(cuda::DeviceAttribute::WarpSize, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(cuda::DeviceAttribute::MaxRegistersPerBlock, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);
SAME(cuda::DeviceAttribute::ClockRate, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(cuda::DeviceAttribute::MultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(cuda::DeviceAttribute::Integrated, CU_DEVICE_ATTRIBUTE_INTEGRATED);
SAME(cuda::DeviceAttribute::ComputeMode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME(cuda::DeviceAttribute::MemoryClockRate, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
SAME(cuda::DeviceAttribute::GlobalMemoryBusWidth, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
SAME(cuda::DeviceAttribute::L2CacheSize, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(cuda::DeviceAttribute::MaxThreadsPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
SAME(cuda::DeviceAttribute::UnifiedAddressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME(cuda::DeviceAttribute::ComputeCapabilityMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(cuda::DeviceAttribute::ComputeCapabilityMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(cuda::DeviceAttribute::MaxSharedMemoryPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME(cuda::DeviceAttribute::MaxRegistersPerMultiprocessor,
     CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME(cuda::DeviceAttribute::CooperativeLaunch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME(cuda::DeviceAttribute::MaxSharedMemoryPerBlockOptin,
     CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);

SAME(cuda::FunctionAttribute::MaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(cuda::FunctionAttribute::SharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(cuda::FunctionAttribute::ConstSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME(cuda::FunctionAttribute::LocalSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME(cuda::FunctionAttribute::NumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME(cuda::FunctionAttribute::PtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME(cuda::FunctionAttribute::BinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME(cuda::FunctionAttribute::MaxDynamicSharedSizeBytes,
     CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(cuda::FunctionAttribute::PreferredSharedMemoryCarveout,
     CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);

SAME(cuda::JitOption::MaxRegisters, CU_JIT_MAX_REGISTERS);
SAME(cuda::JitOption::InfoLogBuffer, CU_JIT_INFO_LOG_BUFFER);
SAME(cuda::JitOption::InfoLogBufferSizeBytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME(cuda::JitOption::ErrorLogBuffer, CU_JIT_ERROR_LOG_BUFFER);
SAME(cuda::JitOption::ErrorLogBufferSizeBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(cuda::StreamCaptureMode::ThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
SAME(cuda::StreamCaptureMode::Relaxed, CU_STREAM_CAPTURE_MODE_RELAXED);
SAME(cuda::StreamCaptureStatus::Active, CU_STREAM_CAPTURE_STATUS_ACTIVE);
SAME(cuda::StreamCaptureStatus::Invalidated, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
SAME(cuda::GraphNodeType::Kernel, CU_GRAPH_NODE_TYPE_KERNEL);
SAME(cuda::GraphNodeType::Memcpy, CU_GRAPH_NODE_TYPE_MEMCPY);
SAME(cuda::GraphNodeType::Memset, CU_GRAPH_NODE_TYPE_MEMSET);
SAME(cuda::TensorMapType::F16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
SAME(cuda::TensorMapType::Bf16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
SAME(cuda::TensorMapType::Tf32, CU_TENSOR_MAP_DATA_TYPE_TFLOAT32);
SAME(cuda::kSwizzle128, CU_TENSOR_MAP_SWIZZLE_128B);
SAME(cuda::kPromoteL2To256, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
SAME(cuda::LaunchAttribute::kProgrammaticStreamSerialization,
     CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
SAME(sizeof(cuda::LaunchAttribute), sizeof(CUlaunchAttribute));
SAME(alignof(cuda::LaunchAttribute), alignof(CUlaunchAttribute));
SAME(offsetof(cuda::LaunchAttribute, isAllowed),
     offsetof(CUlaunchAttribute, value.programmaticStreamSerializationAllowed));
SAME(sizeof(cuda::LaunchConfig), sizeof(CUlaunchConfig));
SAME(offsetof(cuda::LaunchConfig, stream), offsetof(CUlaunchConfig, hStream));
SAME(offsetof(cuda::LaunchConfig, attributes), offsetof(CUlaunchConfig, attrs));
SAME(offsetof(cuda::LaunchConfig, attributeCount), offsetof(CUlaunchConfig, numAttrs));
static_assert(sizeof(cuda::TensorMap) == sizeof(CUtensorMap) &&
              alignof(cuda::TensorMap) >= alignof(CUtensorMap));
SAME(cuda::kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME(cuda::kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME(cuda::kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME(cuda::kMemHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME(cuda::NvrtcResult::Compilation, NVRTC_ERROR_COMPILATION);
SAME(cuda::NvrtcResult::InternalError, NVRTC_ERROR_INTERNAL_ERROR);
static_assert(sizeof(cuda::Device) == sizeof(CUdevice) &&
              sizeof(cuda::DevicePtr) == sizeof(CUdeviceptr));
SAME(cuda::PointerAttribute::Context, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME(cuda::PointerAttribute::MemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME(cuda::PointerAttribute::DeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME(cuda::PointerAttribute::RangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME(cuda::PointerAttribute::RangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME(cuda::MemoryType::Host, CU_MEMORYTYPE_HOST);
SAME(cuda::MemoryType::Device, CU_MEMORYTYPE_DEVICE);
SAME(cuda::Result::GraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
static_assert(sizeof(cuda::GraphExecUpdateInfo) == sizeof(CUgraphExecUpdateResultInfo));
static_assert(sizeof(cuda::KernelNodeParams) == sizeof(CUDA_KERNEL_NODE_PARAMS_v2));
SAME(sizeof(cuda::MemcpyNodeParams), sizeof(CUDA_MEMCPY3D));
SAME(offsetof(cuda::MemcpyNodeParams, source.type), offsetof(CUDA_MEMCPY3D, srcMemoryType));
SAME(offsetof(cuda::MemcpyNodeParams, source.device), offsetof(CUDA_MEMCPY3D, srcDevice));
SAME(offsetof(cuda::MemcpyNodeParams, target.type), offsetof(CUDA_MEMCPY3D, dstMemoryType));
SAME(offsetof(cuda::MemcpyNodeParams, target.device), offsetof(CUDA_MEMCPY3D, dstDevice));
SAME(offsetof(cuda::MemcpyNodeParams, width), offsetof(CUDA_MEMCPY3D, WidthInBytes));

/// A parameter as the calling convention sees it: enums are ints, handles are pointers.
template <class T>
using Passed =
    std::conditional_t<std::is_enum_v<T>, int, std::conditional_t<std::is_pointer_v<T>, void *, T>>;
template <class Ours, class Theirs> struct SameSignature : std::false_type {};
template <class R, class S, class... A, class... T>
struct SameSignature<R(A...), S(T...)>
    : std::bool_constant<(sizeof...(A) == sizeof...(T)) && std::is_same_v<Passed<R>, Passed<S>> &&
                         std::is_same_v<void(Passed<A>...), void(Passed<T>...)>> {};

// cuda.h names a function by a macro that expands to the exported symbol, so the symbol itself is
// declared, but for those whose newest version is another than the one that dlc uses.
#undef cuEventElapsedTime
namespace {
using namespace dlc::cuda;
using Device = dlc::cuda::Device;
#define cuEventElapsedTime cuEventElapsedTime_v2
#define DLC_DRIVER(member, symbol, parameters)                                                     \
  static_assert(SameSignature<Result parameters, decltype(symbol)>::value, #symbol);
#define DLC_DRIVER_OPTIONAL(member, symbol, parameters)                                            \
  static_assert(SameSignature<Result parameters, decltype(symbol)>::value, #symbol);
#define DLC_NVRTC(member, symbol, result, parameters)                                              \
  static_assert(SameSignature<result parameters, decltype(symbol)>::value, #symbol);
#include "runtime/cuda/driver/Symbols.def"
} // namespace

#if defined(DLC_CUBLASLT_HEADER)
SAME(cuda::BlasStatus::NotInitialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(cuda::BlasStatus::AllocFailed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(cuda::BlasStatus::InvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME(cuda::BlasStatus::ArchMismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(cuda::BlasStatus::MappingError, CUBLAS_STATUS_MAPPING_ERROR);
SAME(cuda::BlasStatus::ExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(cuda::BlasStatus::InternalError, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(cuda::BlasStatus::NotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(cuda::BlasType::F32, CUDA_R_32F);
SAME(cuda::BlasType::F16, CUDA_R_16F);
SAME(cuda::BlasType::Bf16, CUDA_R_16BF);
SAME(cuda::BlasCompute::F32, CUBLAS_COMPUTE_32F);
SAME(cuda::BlasCompute::F32FastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(cuda::BlasOperation::Transpose, CUBLAS_OP_T);
SAME(cuda::BlasMatmulAttribute::TransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(cuda::BlasMatmulAttribute::TransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(cuda::BlasLayoutAttribute::BatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(cuda::BlasLayoutAttribute::BatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(cuda::BlasPreferenceAttribute::MaxWorkspaceBytes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(cuda::BlasPreferenceAttribute::ReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(cuda::BlasPreferenceAttribute::AlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(cuda::BlasPreferenceAttribute::AlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(cuda::kBlasReduceInComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
static_assert(sizeof(cuda::BlasHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(cuda::BlasHeuristic, state) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, state));
namespace {
#define DLC_CUBLASLT(member, symbol, result, parameters)                                           \
  static_assert(SameSignature<result parameters, decltype(symbol)>::value, #symbol);
#include "runtime/cuda/driver/Symbols.def"
} // namespace
#endif

TEST(DriverAbi, AgreesWithTheHeaders) { SUCCEED() << "checked by the compiler"; }
#else
TEST(DriverAbi, AgreesWithTheHeaders) { GTEST_SKIP() << "cuda.h is not installed"; }
#endif
