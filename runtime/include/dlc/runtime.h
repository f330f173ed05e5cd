/*===- runtime.h - The C API of the dlc runtime -------------------------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loads and runs a model.bin. Threads may share a module, but each needs its own context. dlc.hpp
 * wraps this API for C++17, with exceptions and destructors.
 *
 * Each struct begins with its size (`struct_size = sizeof(...)`), so that later versions can grow
 * it. Functions return DLC_OK or an error code; dlc_last_error() then describes the error.
 *
 * Environment variables:
 *   DLC_LIBCUDA, DLC_LIBNVRTC, DLC_LIBCUBLASLT  libraries to load instead of the installed ones
 *   DLC_CACHE_DIR  folder for compiled kernels; empty for none. Default: dlc/kernels in
 *                  XDG_CACHE_HOME or ~/.cache
 *   DLC_CACHE_MB   maximum size of that folder (default: 512)
 *   DLC_CPU_ISA    instruction set to use if a module has code for several, such as "avx2"
 *===------------------------------------------------------------------------------------------===*/
#ifndef DLC_RUNTIME_H
#define DLC_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define DLC_API
#else
#define DLC_API __attribute__((visibility("default")))
#endif

/* Error codes. The command-line tools exit with the same values. */
typedef enum dlc_status {
  DLC_OK = 0,
  DLC_USAGE = 2,        /* a wrong call or argument: null, unknown name, wrong shape */
  DLC_UNSUPPORTED = 3,  /* this runtime or device cannot do it */
  DLC_DEVICE = 5,       /* device, driver, memory or I/O failed */
  DLC_INCOMPATIBLE = 6, /* damaged file, not ours, newer, or for another processor */
  DLC_NOT_PREPARED = 7, /* dlc_context_enqueue on a GPU: these shapes are not prepared */
  DLC_PENDING = 8,      /* dlc_run_wait: the run has not ended yet */
  DLC_INTERNAL = 70     /* an error of dlc's own */
} dlc_status;

/* ORDER DTYPE: the same values as DType in runtime/schema/module.fbs. */
typedef enum dlc_dtype {
  DLC_F64,
  DLC_F32,
  DLC_F16,
  DLC_BF16,
  DLC_I64,
  DLC_I32,
  DLC_I16,
  DLC_I8,
  DLC_U8,
  DLC_BOOL,
  DLC_U16,
  DLC_U32,
  DLC_U64,
  /* One element per byte: a float's bits in the low bits, an integer as int8_t or uint8_t. */
  DLC_F8E4M3FN,
  DLC_F8E4M3FNUZ,
  DLC_F8E5M2,
  DLC_F8E5M2FNUZ,
  DLC_F8E8M0,
  DLC_F4E2M1,
  DLC_I4,
  DLC_U4,
  DLC_I2,
  DLC_U2
} dlc_dtype;

#define DLC_MAX_RANK 8

typedef struct dlc_module dlc_module;
typedef struct dlc_context dlc_context;
typedef struct dlc_run dlc_run;

/* Describes the last call of this thread that failed; empty if none did. Valid until the thread's
 * next call. */
DLC_API const char *dlc_last_error(void);
DLC_API const char *dlc_version(void);
/* "f32", for example; "?" if the value is out of range. */
DLC_API const char *dlc_dtype_name(dlc_dtype dtype);
DLC_API size_t dlc_dtype_size(dlc_dtype dtype);

typedef struct dlc_load_options {
  size_t struct_size;
  int verify_all; /* non-zero: check the hash of every segment; default: of those up to 64 MiB */
} dlc_load_options;

/* Maps and verifies the file at `path`; executes nothing in it. `options` may be null. While the
 * module exists, the file may be replaced by rename (as `dlc compile` does) but must not be
 * modified in place. */
DLC_API dlc_status dlc_module_load(const char *path, const dlc_load_options *options,
                                   dlc_module **out);
/* Loads a module from memory; copies the bytes. */
DLC_API dlc_status dlc_module_load_memory(const void *data, size_t bytes,
                                          const dlc_load_options *options, dlc_module **out);
/* Releases the module. Its contexts keep it alive. `module` may be null. */
DLC_API void dlc_module_free(dlc_module *module);

typedef struct dlc_value_info {
  size_t struct_size;
  const char *name;
  dlc_dtype dtype;
  int rank;
  int64_t dims[DLC_MAX_RANK];     /* -1 where the dim is symbolic */
  int64_t min_dims[DLC_MAX_RANK]; /* the range that a symbolic dim may take */
  int64_t max_dims[DLC_MAX_RANK];
  const char *dim_names[DLC_MAX_RANK]; /* "N", "2*N"; null where the dim is static */
} dlc_value_info;

DLC_API size_t dlc_module_num_inputs(const dlc_module *module);
DLC_API size_t dlc_module_num_outputs(const dlc_module *module);
/* Number of states: tensors that a context keeps between runs, such as a KV cache or a stream's
 * history. */
DLC_API size_t dlc_module_num_states(const dlc_module *module);
/* Capacity of the model's caches in positions; 0 if it has none. A cache is a state to which each
 * run appends positions, and counts them. A run that does not fit is refused. */
DLC_API int64_t dlc_module_cache_capacity(const dlc_module *module);
/* DLC_F16 or DLC_BF16 if the model may store f32 values between layers in that type (dlc compile
 * --precision), so that its f32 outputs have the error of that type; otherwise DLC_F32. */
DLC_API dlc_dtype dlc_module_precision(const dlc_module *module);
/* Describe an input, output or state. Strings are valid for the life of the module. */
DLC_API dlc_status dlc_module_input(const dlc_module *module, size_t index, dlc_value_info *info);
DLC_API dlc_status dlc_module_output(const dlc_module *module, size_t index, dlc_value_info *info);
DLC_API dlc_status dlc_module_state(const dlc_module *module, size_t index, dlc_value_info *info);

/* Which matmuls NVIDIA's cuBLASLt computes. Only matmuls without a fused prologue or epilogue
 * qualify. Types are the same as in dlc's kernels and sums are in f32; bits may differ. dlc's
 * kernels are used if cuBLASLt is missing or fails. */
typedef enum dlc_cublas {
  /* Matmuls that the file marks as faster with cuBLASLt on this GPU and for these shapes. */
  DLC_CUBLAS_AUTO,
  DLC_CUBLAS_NEVER,
  DLC_CUBLAS_ALWAYS /* every matmul that cuBLASLt can compute */
} dlc_cublas;

typedef struct dlc_context_options {
  size_t struct_size;
  const char *device; /* "cpu", "cuda", "cuda:1" or "auto" (cuda if usable); null = "auto" */
  int threads;        /* CPU threads; 0 = one per core that this process may use */
  /* CPU: place each buffer between guard pages, filled with NaN before use. Slow; for tests. */
  int checked;
  int profile; /* record the time of each command of the last run */
  /* CUDA: use only kernels that the package has compiled for this GPU, and fail if it has none.
   * Default: compile kernels or read them from the cache. */
  int no_jit;
  const char *cache_dir; /* CUDA: folder for compiled kernels; "" = none; null = DLC_CACHE_DIR */
  /* CUDA: called on the calling thread as kernels are compiled; may be null. Most kernels are
   * compiled when the context is created, kernels for particular shapes when such shapes are bound,
   * so `progress_data` must outlive the context. */
  void (*progress)(void *data, size_t done, size_t total);
  void *progress_data;
  /* CUDA: launch kernels one by one. Default: replay a CUDA graph from the second run with the same
   * shapes on, or from the first if runs with other shapes used the same kernels. */
  int no_graph;
  /* CUDA: the CUstream (cudaStream_t) to run in, which must belong to the GPU's primary context and
   * outlive this context. Null: a stream owned by the context. */
  void *stream;
  int time_device;   /* CUDA: time each run by GPU events; see dlc_context_device_time */
  dlc_cublas cublas; /* CUDA: which matmuls cuBLASLt computes, if it is installed */
  /* Time limit for a run in milliseconds; 0 for none. CPU: checked between commands; the context
   * stays usable. CUDA: the GPU is treated as lost and nothing is freed, since freeing could block
   * forever. */
  int timeout_ms;
  /* CUDA: start each kernel only after the previous one has finished. Default on sm_90 and later:
   * kernels start early and wait inside. */
  int no_overlap;
} dlc_context_options;

/* Prepares the module for a device: runs its init program and compiles CUDA kernels. `options` may
 * be null. Contexts of a module on the same GPU share kernels and weights, which are made with the
 * options of the first context. */
DLC_API dlc_status dlc_context_create(dlc_module *module, const dlc_context_options *options,
                                      dlc_context **out);
/* Waits for the enqueued runs, then frees the context. `context` may be null. */
DLC_API void dlc_context_free(dlc_context *context);
/* The device, as in "cpu (avx512, 2 threads)", or the name of the GPU. */
DLC_API const char *dlc_context_device(const dlc_context *context);
/* Remarks about fallbacks, one sentence per line: why "auto" did not choose CUDA, why compiled
 * kernels are not cached, why cuBLASLt is not used. Empty if there are none. Valid until the next
 * bind or run. */
DLC_API const char *dlc_context_remarks(const dlc_context *context);

typedef enum dlc_memory_kind {
  DLC_MEMORY_HOST,
  /* Memory of the context's GPU, from cuMemAlloc, cudaMalloc or another framework */
  DLC_MEMORY_DEVICE
} dlc_memory_kind;

/* A dense row-major array. The caller owns `data`. */
typedef struct dlc_tensor {
  size_t struct_size;
  dlc_dtype dtype;
  int rank;
  int64_t dims[DLC_MAX_RANK];
  void *data;
  size_t bytes; /* size of `data`: at least what dims and dtype need */
  /* GPU memory must be aligned to 16 bytes; kernels access it directly, without a copy. Work that
   * fills it must have finished or be enqueued in the context's stream. Outputs must not overlap
   * other arrays. Bools are not checked and must be 0 or 1. */
  dlc_memory_kind memory;
} dlc_tensor;

/* Binds shapes: computes the symbols from the dims of the inputs and allocates the buffers. `data`
 * is not read. dlc_context_run binds as well; bind first to learn the dims of the outputs. Like all
 * functions of a context it waits for enqueued runs if necessary. */
DLC_API dlc_status dlc_context_bind(dlc_context *context, const dlc_tensor *inputs,
                                    size_t num_inputs);
/* Dims of an output for the bound shapes. After a bind, a data-dependent dim (the rows of nonzero)
 * has its maximum size, and the array passed to run must have that size. After a run it has its
 * actual size: the array starts with the actual elements, densely, and the rest is undefined. Valid
 * until the next bind or run. In a model with loops, branches or computed sizes, a dim may be known
 * only after a run; it is -1 after a bind. */
DLC_API dlc_status dlc_context_output_dims(const dlc_context *context, size_t index, int *rank,
                                           int64_t dims[DLC_MAX_RANK]);
/* Runs the model and returns when the outputs are written. `inputs` and `outputs` are in the
 * module's order. States then have their new values.
 *
 * An input whose dims would change the dims of a filled state is refused. After a run that failed
 * midway, runs are refused until dlc_context_reset_states.
 *
 * Call dlc_context_output_dims after the run for the actual size of a data-dependent output. In GPU
 * memory only the first dim may be data-dependent (otherwise DLC_UNSUPPORTED).
 *
 * An output with null `data` and 0 `bytes` is kept by the context: see dlc_context_output_data. Its
 * rank and dims are ignored.
 *
 * For a dim that is -1 after a bind, the array may have any size that holds the result. If it is
 * too small, the run returns DLC_USAGE, the error names the size needed, and the states are as
 * before the run. */
DLC_API dlc_status dlc_context_run(dlc_context *context, const dlc_tensor *inputs,
                                   size_t num_inputs, dlc_tensor *outputs, size_t num_outputs);
/* Returns an output that the last dlc_context_run left to the context: dense, row-major, in host
 * memory, with the dims of dlc_context_output_dims. Valid until the next bind or run. DLC_USAGE if
 * the output was written to an array of the caller. */
DLC_API dlc_status dlc_context_output_data(const dlc_context *context, size_t index,
                                           const void **data, size_t *bytes);
/* Dims of the contents of a state. DLC_USAGE if a dim is known only after a run and no run has
 * filled the state since it was created or reset. */
DLC_API dlc_status dlc_context_state_dims(const dlc_context *context, size_t index, int *rank,
                                          int64_t dims[DLC_MAX_RANK]);
/* Copies the contents of a state to `data`: dense row-major host memory, with the dtype of
 * dlc_module_state and the dims of dlc_context_state_dims. The contents are zeros before the first
 * run. Waits for queued runs. DLC_USAGE if `bytes` is too small, or after a run that failed
 * midway. */
DLC_API dlc_status dlc_context_read_state(dlc_context *context, size_t index, void *data,
                                          size_t bytes);
/* Sets the contents of a state for the next run from `data`: dense row-major host memory of the
 * dtype of the state, with `rank` dims. Dims that the module declares must match; a symbolic dim
 * must have the size that the inputs of the next run give it. Other states are unchanged. Waits for
 * queued runs. DLC_USAGE if dims or bytes do not match, or after a run that failed midway.
 * DLC_UNSUPPORTED for models with caches (dlc_module_cache_capacity), since the context counts
 * their positions. */
DLC_API dlc_status dlc_context_write_state(dlc_context *context, size_t index, const int64_t *dims,
                                           int rank, const void *data, size_t bytes);
/* Seeds the random numbers of the next run. The seed is 0 by default and after a reset. DLC_USAGE
 * if the model draws no random numbers, so has no state `generator` of i64[2]. */
DLC_API dlc_status dlc_context_seed(dlc_context *context, int64_t seed);
/* Sets all states to zero for the next run. */
DLC_API dlc_status dlc_context_reset_states(dlc_context *context);
/* Positions in use in the caches since the last reset, including those of queued runs. A queued run
 * that fails before it writes, for example because a bool is 2, returns its positions. */
DLC_API int64_t dlc_context_cache_length(const dlc_context *context);

/* Binds the shapes and does everything for their runs that does not need data: allocates buffers
 * and, on a GPU, compiles kernels for these shapes, chooses cuBLASLt algorithms and captures a CUDA
 * graph. Call it for each set of shapes before dlc_context_enqueue on a GPU; the context keeps
 * prepared shapes until it is freed. On the CPU it is optional and saves the first run its
 * allocations. Waits for queued runs. States that runs have filled must keep their dims. */
DLC_API dlc_status dlc_context_prepare(dlc_context *context, const dlc_tensor *inputs,
                                       size_t num_inputs);

typedef struct dlc_enqueue_options {
  size_t struct_size;
  /* CUDA: the CUstream (cudaStream_t) for this run, of the GPU's primary context; it must live
   * until the run has ended. Null: the context's stream. (CU_STREAM_LEGACY names CUDA's default
   * stream.) */
  void *stream;
} dlc_enqueue_options;

/* Like dlc_context_run, but returns as soon as the run is queued.
 *
 * Order: the runs of a context, from this function and from dlc_context_run, execute one after
 * another in the order of the calls, whichever streams they use. A run may read what the previous
 * one writes, and states pass from run to run. Runs of two contexts may overlap.
 *
 * Ownership: until the run has ended, the caller must not free or write the arrays, nor read
 * outputs; the dlc_tensor structs may be reused at once. `options` and `run` may be null. `run`
 * receives a handle that the caller frees, before or after the context; null if the call fails.
 *
 * CPU: a thread of the context executes the runs. It starts with the first one and sleeps when the
 * queue is empty. Bools are checked when the run starts.
 *
 * GPU: shapes must be prepared (otherwise DLC_NOT_PREPARED, and nothing is launched). Nothing is
 * compiled, allocated or waited for, so arrays must be in GPU memory or pinned host memory
 * (cuMemHostAlloc, cudaMallocHost). DLC_UNSUPPORTED for models with data-dependent outputs, loops,
 * branches or computed sizes, and for contexts with `profile`, `time_device` or `timeout_ms`.
 *
 * Errors: if the call fails, nothing is queued and the caller owns the arrays. Later errors are
 * returned by dlc_run_wait and dlc_context_synchronize. On the CPU, runs after a failed run
 * continue, except in a module with states, where they fail until dlc_context_reset_states. On a
 * GPU, a failed run means that the process has lost the GPU. */
DLC_API dlc_status dlc_context_enqueue(dlc_context *context, const dlc_tensor *inputs,
                                       size_t num_inputs, dlc_tensor *outputs, size_t num_outputs,
                                       const dlc_enqueue_options *options, dlc_run **run);
/* Waits for all runs of the context; returns the status of the first one that failed since the last
 * call. */
DLC_API dlc_status dlc_context_synchronize(dlc_context *context);

/* Waits for the run for at most `milliseconds` (negative: without a limit; 0: only asks). Returns
 * the status of the run, or DLC_PENDING if it has not ended. Threads may share a handle. */
DLC_API dlc_status dlc_run_wait(dlc_run *run, int milliseconds);
/* Dims of an output of a run that ended with DLC_OK; see dlc_context_output_dims. */
DLC_API dlc_status dlc_run_output_dims(dlc_run *run, size_t index, int *rank,
                                       int64_t dims[DLC_MAX_RANK]);
/* Frees the handle without waiting; the run continues. `run` may be null. */
DLC_API void dlc_run_free(dlc_run *run);

typedef struct dlc_profile_entry {
  const char *kernel; /* name of the kernel, or "copy" */
  const char *kind;   /* as dlc inspect shows it; or "copy"; "cublasLt" if cuBLASLt ran it */
  double microseconds;
  int64_t flops, bytes;      /* of this launch, for the bound shapes */
  double start_microseconds; /* since the start of the first command */
} dlc_profile_entry;

/* Commands of the last run, in order. Needs the option `profile`. Valid until the next run. */
DLC_API dlc_status dlc_context_profile(const dlc_context *context,
                                       const dlc_profile_entry **entries, size_t *count);

/* GPU time of the last run, without copies from and to the memory of the caller. Needs the option
 * `time_device` or `profile`. DLC_UNSUPPORTED on the CPU. */
DLC_API dlc_status dlc_context_device_time(const dlc_context *context, double *microseconds);

/* weight_bytes: weights that runs read as stored in the file. persistent_bytes: data computed from
 * other weights when the context was created; those weights are no longer in memory. */
typedef struct dlc_memory_info {
  size_t struct_size;
  int64_t weight_bytes, persistent_bytes, arena_bytes, scratch_bytes;
  int64_t state_bytes;
} dlc_memory_info;
/* Memory for the bound shapes. */
DLC_API dlc_status dlc_context_memory(const dlc_context *context, dlc_memory_info *info);

#ifdef __cplusplus
}
#endif
#endif /* DLC_RUNTIME_H */
