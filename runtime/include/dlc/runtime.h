/*===- runtime.h - The C API of the dlc runtime -------------------------------------------------===
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Load a model.bin, run it. One module may be shared by many threads; each thread uses a context of
 * its own. dlc.hpp beside this file has the same for C++17, with exceptions and destructors.
 * Structs begin with their size (`struct_size = sizeof(...)`) so that later versions can grow them.
 * Functions return DLC_OK or a code; dlc_last_error() then gives this thread's sentence about it.
 *
 * Environment: DLC_LIBCUDA, DLC_LIBNVRTC and DLC_LIBCUBLASLT name the CUDA driver, NVRTC and
 * cuBLASLt libraries to load instead of those found; DLC_CACHE_DIR names the folder of compiled
 * kernels (default: dlc/kernels in XDG_CACHE_HOME or ~/.cache; empty: none), which grows to
 * DLC_CACHE_MB (default: 512); DLC_CPU_ISA ("avx2") names the code to take where a module has
 * several.
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

/* The tools exit with these values where an error reaches them. */
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
  /* One element a byte: the bits of a float in its low bits, an integer as int8_t or uint8_t. */
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

/* The sentence about this thread's last failed call; empty if there was none. Valid until the next
 * call. */
DLC_API const char *dlc_last_error(void);
DLC_API const char *dlc_version(void);
/* "f32"; "?" for a value out of range. */
DLC_API const char *dlc_dtype_name(dlc_dtype dtype);
DLC_API size_t dlc_dtype_size(dlc_dtype dtype);

typedef struct dlc_load_options {
  size_t struct_size;
  int verify_all; /* non-zero: check the hash of every segment; default: of those up to 64 MiB */
} dlc_load_options;

/* Maps and verifies `path`. Nothing of the file is executed here. `options` may be null. While the
 * module lives the file may be replaced by rename, as `dlc compile` does, but not be changed in
 * place. */
DLC_API dlc_status dlc_module_load(const char *path, const dlc_load_options *options,
                                   dlc_module **out);
/* The same from memory; the bytes are copied. */
DLC_API dlc_status dlc_module_load_memory(const void *data, size_t bytes,
                                          const dlc_load_options *options, dlc_module **out);
/* Contexts of the module keep it alive; freeing null is allowed. */
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
/* Tensors that a context keeps from run to run ('state' in a model): a KV cache, what a stream has
 * seen. */
DLC_API size_t dlc_module_num_states(const dlc_module *module);
/* Positions that the model's caches hold, where it has states to which each run adds its own
 * positions and counts them; else 0. A run that has no room for its positions is refused. */
DLC_API int64_t dlc_module_cache_capacity(const dlc_module *module);
/* DLC_F16 or DLC_BF16 where values of f32 may be stored in it between the model's layers (dlc
 * compile --precision), so that outputs of f32 have an error of that type; DLC_F32 otherwise. */
DLC_API dlc_dtype dlc_module_precision(const dlc_module *module);
/* Strings live as long as the module. */
DLC_API dlc_status dlc_module_input(const dlc_module *module, size_t index, dlc_value_info *info);
DLC_API dlc_status dlc_module_output(const dlc_module *module, size_t index, dlc_value_info *info);
DLC_API dlc_status dlc_module_state(const dlc_module *module, size_t index, dlc_value_info *info);

/* Matrix products without prologue or epilogue may be computed by NVIDIA's cuBLASLt, in the same
 * types and with sums in f32 as dlc's own kernels; the bits may differ. dlc's own kernels take over
 * where it is missing or fails. */
typedef enum dlc_cublas {
  /* Those for which the file says that it is faster, on this GPU and for these shapes */
  DLC_CUBLAS_AUTO,
  DLC_CUBLAS_NEVER, /* none */
  DLC_CUBLAS_ALWAYS /* each one that it can compute */
} dlc_cublas;

typedef struct dlc_context_options {
  size_t struct_size;
  const char *device; /* "cpu", "cuda", "cuda:1", "auto" (cuda where it is usable); null = "auto" */
  int threads;        /* CPU threads; 0 = one for each core that this process may use */
  /* CPU: every buffer between guard pages, filled with NaN before use; for tests, slow */
  int checked;
  int profile; /* keep the time of each command of the last run */
  /* CUDA: take the package's compiled kernels; fail where it has none for the GPU. Default: compile
   * them, or take them from the cache. */
  int no_jit;
  const char *cache_dir; /* CUDA: folder of compiled kernels; "" = none; null = DLC_CACHE_DIR */
  /* CUDA: told how many of the kernels to compile are done, on the calling thread; may be null.
   * Kernels are compiled when the context is made, and those for some shapes alone when such shapes
   * are bound: `progress_data` lives as long as the context. */
  void (*progress)(void *data, size_t done, size_t total);
  void *progress_data;
  /* CUDA: launch kernel by kernel. Default: a run replays a CUDA graph from the second run of its
   * shapes on, and before that where shapes that the same kernels serve were run already. */
  int no_graph;
  /* CUDA: the CUstream (cudaStream_t) to work in, of the GPU's primary context: runs come after
   * what is in it already. It must outlive the context. Null: a stream of the context's own. */
  void *stream;
  int time_device;   /* CUDA: measure each run by events of the GPU: dlc_context_device_time */
  dlc_cublas cublas; /* CUDA: what cuBLASLt computes, where it is installed */
  /* A run whose commands take longer fails; 0: as long as they take. CPU: seen between two
   * commands, the context remains good. CUDA: the GPU counts as lost, nothing is freed, since that
   * could wait for ever. */
  int timeout_ms;
  /* CUDA: no kernel begins before the one before it has ended (sm_90 and later do that, and wait
   * inside) */
  int no_overlap;
} dlc_context_options;

/* Prepares the module for a device: runs the init program, compiles CUDA kernels. `options` may be
 * null. Contexts of one module on one GPU share kernels and weights: the options of the first
 * decide how they are made. */
DLC_API dlc_status dlc_context_create(dlc_module *module, const dlc_context_options *options,
                                      dlc_context **out);
/* Waits until the context's enqueued runs have ended. Freeing null is allowed. */
DLC_API void dlc_context_free(dlc_context *context);
/* "cpu (avx512, 2 threads)" or the GPU's name. */
DLC_API const char *dlc_context_device(const dlc_context *context);
/* What came to pass otherwise than one may expect, a sentence a line: why "auto" did not take CUDA,
 * why compiled kernels are not kept, why cuBLASLt is not used. Empty where there is nothing; valid
 * until the next bind or run. */
DLC_API const char *dlc_context_remarks(const dlc_context *context);

typedef enum dlc_memory_kind {
  DLC_MEMORY_HOST, /* what the CPU reads and writes */
  /* Memory of the context's GPU: cuMemAlloc, cudaMalloc, a tensor of another framework */
  DLC_MEMORY_DEVICE
} dlc_memory_kind;

/* A dense row-major array. The caller owns `data`. */
typedef struct dlc_tensor {
  size_t struct_size;
  dlc_dtype dtype;
  int rank;
  int64_t dims[DLC_MAX_RANK];
  void *data;
  size_t bytes; /* size of `data`; must be at least what dims and dtype need */
  /* In GPU memory `data` begins at a multiple of 16 bytes. Kernels read and write it there and
   * nothing is copied; what the caller enqueued to fill it elsewhere than in the context's stream
   * must be done, and outputs overlap nothing. Bools there are not looked at: they must be 0 or 1.
   * */
  dlc_memory_kind memory;
} dlc_tensor;

/* Fixes the symbols from the inputs' dims and places the buffers; `data` is not read. run does it
 * as well; call it first to learn the outputs' dims. It waits for enqueued runs where it must, as
 * all functions of a context do. */
DLC_API dlc_status dlc_context_bind(dlc_context *context, const dlc_tensor *inputs,
                                    size_t num_inputs);
/* Dims of an output under the last bind. Where the data say how large a dim is (nonzero: as many
 * rows as it finds), the bind gives the largest that it can be, which is what the array handed to
 * run must have; after a run these are the real dims, and the array holds the real elements densely
 * from its begin, what lies after them being undefined, until the next bind or run. A model with
 * loops, branches or sizes that it computes may know a dim only after the run: then it is -1 after
 * a bind. */
DLC_API dlc_status dlc_context_output_dims(const dlc_context *context, size_t index, int *rank,
                                           int64_t dims[DLC_MAX_RANK]);
/* Runs the model; inputs and outputs in the module's order. Returns when the outputs are written.
 * The context's states then have their new values. Inputs that would give a state other dims than
 * those it holds are refused, and so is every run after one that failed when it had begun: reset
 * the states. Where the data say how large an output is, ask dlc_context_output_dims then; in GPU
 * memory such a dim must be the first (DLC_UNSUPPORTED elsewhere). An output whose `data` is null
 * and whose `bytes` are 0 is left to the context, which keeps it: dlc_context_output_data. Its rank
 * and dims are not looked at. An array for an output with dims that are -1 after a bind may have
 * any size there: it must hold what the model computes. If it is too small, DLC_USAGE names the
 * bytes that it needs once the model has run, and the states are as before the run. */
DLC_API dlc_status dlc_context_run(dlc_context *context, const dlc_tensor *inputs,
                                   size_t num_inputs, dlc_tensor *outputs, size_t num_outputs);
/* The output that the last dlc_context_run left to the context: dense and row-major in host memory,
 * with the dims of dlc_context_output_dims. Valid until the next bind or run. DLC_USAGE for an
 * output that was written to an array of the caller. */
DLC_API dlc_status dlc_context_output_data(const dlc_context *context, size_t index,
                                           const void **data, size_t *bytes);
/* Dims of what a state holds. Before the first run, and after a reset, DLC_USAGE for a state some
 * of whose dims only a run tells. */
DLC_API dlc_status dlc_context_state_dims(const dlc_context *context, size_t index, int *rank,
                                          int64_t dims[DLC_MAX_RANK]);
/* Copies what a state holds into `data`, host memory of the caller: dense and row-major, of the
 * dtype that dlc_module_state tells and the dims of dlc_context_state_dims. It is what the last run
 * has left there, and zeros before the first one. Waits for the runs in line. DLC_USAGE if `bytes`
 * are too few, and after a run that failed when it had begun. */
DLC_API dlc_status dlc_context_read_state(dlc_context *context, size_t index, void *data,
                                          size_t bytes);
/* Sets the contents of a state for the next run from `data`: dense row-major host memory of the
 * state's dtype. `dims` has `rank` sizes. Sizes that the module declares must match; a symbolic dim
 * has the size that the next run's inputs give it, and the size of what the state holds. Other
 * states are unchanged. Waits for queued runs. DLC_USAGE if dims or bytes do not match, or after a
 * run that failed midway; DLC_UNSUPPORTED for a model with caches (dlc_module_cache_capacity),
 * whose positions the context counts. */
DLC_API dlc_status dlc_context_write_state(dlc_context *context, size_t index, const int64_t *dims,
                                           int rank, const void *data, size_t bytes);
/* Restarts the random numbers of a model at `seed` for the next run. The seed is 0 by default and
 * after a reset. DLC_USAGE if the model has no state 'generator' of i64[2], so draws none. */
DLC_API dlc_status dlc_context_seed(dlc_context *context, int64_t seed);
/* All states are zero in the next run, as in the first. */
DLC_API dlc_status dlc_context_reset_states(dlc_context *context);
/* Positions of the model's caches that runs have taken since the states were reset, those in line
 * included. A run in line that fails before it writes, as for a bool that is 2, gives its positions
 * back. */
DLC_API int64_t dlc_context_cache_length(const dlc_context *context);

/* Binds the shapes as dlc_context_bind does, and does ahead whatever their runs need beside the
 * data: buffers are placed, and on a GPU kernels for these shapes alone are compiled, cuBLASLt's
 * algorithms are chosen and the commands are captured as a CUDA graph. Call it for each set of
 * shapes that dlc_context_enqueue is to take on a GPU; prepared shapes are kept as long as the
 * context. On the CPU it is never needed, and saves the first run the time to allocate. Waits for
 * the runs in flight. States that runs have filled must keep their dims. */
DLC_API dlc_status dlc_context_prepare(dlc_context *context, const dlc_tensor *inputs,
                                       size_t num_inputs);

typedef struct dlc_enqueue_options {
  size_t struct_size;
  /* CUDA: the CUstream (cudaStream_t) of the GPU's primary context to put this run into; it must
   * live until the run has ended. Null: the context's stream. (CUDA's default stream has the name
   * CU_STREAM_LEGACY here.) */
  void *stream;
} dlc_enqueue_options;

/* Like dlc_context_run, but returns when the run is in line. All runs of a context, these and those
 * of dlc_context_run, compute one after another in the order of the calls, in whichever streams: a
 * run may read what the one before it writes, and states pass from each to the next. Two contexts
 * run side by side. The arrays (not the dlc_tensor structs) belong to the run until it has ended:
 * until then the caller neither frees them nor writes to them nor reads outputs. `options` and
 * `run` may be null. `run` is set to a handle that the caller frees, also after the context; null
 * where the call fails.  On the CPU a thread of the context's own computes the runs; it starts with
 * the first one and sleeps where there are none. Values of bools are looked at when the run begins.
 * On a GPU the shapes must be prepared: DLC_NOT_PREPARED otherwise, and nothing is launched.
 * Nothing is compiled, allocated or waited for: arrays lie in GPU memory or in pinned memory of the
 * host (cuMemHostAlloc, cudaMallocHost), and DLC_UNSUPPORTED is the answer where the data say how
 * large an output is, which takes a look at the data after the run, and for models with loops,
 * branches or sizes that they compute. A context with the option `profile`, `time_device` or
 * `timeout_ms` takes no such runs on a GPU.  A call that fails has enqueued nothing, or has waited
 * for what it had begun: the arrays are the caller's again. What fails later is told by
 * dlc_run_wait and dlc_context_synchronize. On the CPU the runs after a run that failed go on, but
 * for those of a module with states, which fail as dlc_context_run does until
 * dlc_context_reset_states. On a GPU such a failure is one after which the GPU is lost for the
 * process. */
DLC_API dlc_status dlc_context_enqueue(dlc_context *context, const dlc_tensor *inputs,
                                       size_t num_inputs, dlc_tensor *outputs, size_t num_outputs,
                                       const dlc_enqueue_options *options, dlc_run **run);
/* Waits until all runs of the context have ended; the status is of the first one that failed since
 * the last call. */
DLC_API dlc_status dlc_context_synchronize(dlc_context *context);

/* Waits for the run's end, at most `milliseconds` (negative: as long as it takes; 0 asks only). The
 * status is the run's own, or DLC_PENDING where it has not ended. A handle may be used by many
 * threads at once. */
DLC_API dlc_status dlc_run_wait(dlc_run *run, int milliseconds);
/* Dims of an output of a run that has ended well, as dlc_context_output_dims gives them after a
 * run. */
DLC_API dlc_status dlc_run_output_dims(dlc_run *run, size_t index, int *rank,
                                       int64_t dims[DLC_MAX_RANK]);
/* Does not wait: the run goes on. Freeing null is allowed. */
DLC_API void dlc_run_free(dlc_run *run);

typedef struct dlc_profile_entry {
  const char *kernel; /* name of the kernel, or "copy" */
  const char *kind;   /* as dlc inspect shows it; "copy"; "cublasLt" where that computed it */
  double microseconds;
  int64_t flops, bytes;      /* of this launch under the bound shapes */
  double start_microseconds; /* when it began, from the begin of the first */
} dlc_profile_entry;

/* Commands of the last run in order; needs the option `profile`. Valid until the next run. */
DLC_API dlc_status dlc_context_profile(const dlc_context *context,
                                       const dlc_profile_entry **entries, size_t *count);

/* What the GPU needed for the commands of the last run, copies from and to the caller's memory not
 * counted. Needs the option `time_device` or `profile`; DLC_UNSUPPORTED on the CPU. */
DLC_API dlc_status dlc_context_device_time(const dlc_context *context, double *microseconds);

/* weight_bytes are those of the weights that runs read as they are in the file; persistent_bytes
 * are what was made of the others when the context was created, after which these are in memory no
 * more. */
typedef struct dlc_memory_info {
  size_t struct_size;
  int64_t weight_bytes, persistent_bytes, arena_bytes, scratch_bytes;
  int64_t state_bytes;
} dlc_memory_info;
/* Under the last bind. */
DLC_API dlc_status dlc_context_memory(const dlc_context *context, dlc_memory_info *info);

#ifdef __cplusplus
}
#endif
#endif /* DLC_RUNTIME_H */
