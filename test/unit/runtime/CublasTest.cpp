//===- CublasTest.cpp - Matrix products by cuBLASLt, on the emulated one ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/driver/Library.h"
#include "test/unit/runtime/CudaRunner.h"

#include <algorithm>
#include <dlfcn.h>

using namespace dlc::test;
using dlc::cuda::BlasStatus;
using dlc::cuda::CublasLt;
using dlc::schema::DType;
using dlc::schema::Storage;
using dlc::schema::Target;
using B = PackageBuilder;

// NVIDIA's own library needs no GPU for what describes a product: each number that dlc passes must
// mean something to it.
TEST(CublasOfNvidia, TakesWhatDlcPasses) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "what NVIDIA's library allocates for itself is no leak of ours";
#endif
#endif
  using namespace dlc::cuda;
  const char *named = getenv("DLC_LIBCUBLASLT");
  auto opened = CublasLt::open(0);
  if (named || opened.failed())
    GTEST_SKIP() << "cuBLASLt is not installed";
  const CublasLt &blas = **opened;
  EXPECT_GE(blas.version, 120000u);
  constexpr auto kOk = BlasStatus::Success;
  BlasMatmul matmul = nullptr;
  for (BlasCompute compute : {BlasCompute::F32FastTf32, BlasCompute::F32}) {
    if (matmul)
      EXPECT_EQ(blas.matmulDestroy(matmul), kOk);
    ASSERT_EQ(blas.matmulCreate(&matmul, compute, BlasType::F32), kOk);
  }
  for (BlasOperation operation : {BlasOperation::Transpose, BlasOperation::None})
    for (auto side : {BlasMatmulAttribute::TransposeA, BlasMatmulAttribute::TransposeB})
      EXPECT_EQ(blas.matmulSet(matmul, side, &operation, sizeof(operation)), kOk);
  for (BlasType type : {BlasType::F32, BlasType::F16, BlasType::Bf16}) {
    BlasLayout layout = nullptr;
    ASSERT_EQ(blas.layoutCreate(&layout, type, 8, 4, 16), kOk);
    int32_t batch = 3;
    int64_t stride = 64;
    EXPECT_EQ(blas.layoutSet(layout, BlasLayoutAttribute::BatchCount, &batch, sizeof(batch)), kOk);
    EXPECT_EQ(blas.layoutSet(layout, BlasLayoutAttribute::BatchStride, &stride, sizeof(stride)),
              kOk);
    EXPECT_NE(blas.layoutSet(layout, BlasLayoutAttribute::BatchStride, &stride, 4), kOk);
    EXPECT_EQ(blas.layoutDestroy(layout), kOk);
  }
  BlasPreference preference = nullptr;
  ASSERT_EQ(blas.preferenceCreate(&preference), kOk);
  uint64_t workspace = 1 << 20;
  uint32_t alignment = 16;
  using Preference = BlasPreferenceAttribute;
  EXPECT_EQ(blas.preferenceSet(preference, Preference::MaxWorkspaceBytes, &workspace, 8), kOk);
  EXPECT_EQ(
      blas.preferenceSet(preference, Preference::ReductionSchemes, &kBlasReduceInComputeType, 4),
      kOk);
  for (auto attribute : {Preference::AlignmentA, Preference::AlignmentB, Preference::AlignmentC,
                         Preference::AlignmentD})
    EXPECT_EQ(blas.preferenceSet(preference, attribute, &alignment, sizeof(alignment)), kOk);
  EXPECT_EQ(blas.preferenceDestroy(preference), kOk);
  EXPECT_EQ(blas.matmulDestroy(matmul), kOk);
}

#if !defined(DLC_EMU_DRIVER_PATH)
TEST(Cublas, OnTheEmulator) { GTEST_SKIP() << "the emulator is not part of this build"; }
#else

namespace {

constexpr int64_t kDepth = 12, kColumns = 8;

/// A kernel that does not multiply: which of the two ran can be seen.
constexpr const char *kOwnKernel = R"(
extern "C" __global__ void multiply(const float *x, const float *w, float *h, long long n) {
  long long i = (long long)blockIdx.x * 64 + threadIdx.x;
  if (i < n)
    h[i] = -1.0f;
}
)";

/// h = x[N,12] times w[12,8], then y = h. `transposed`: w is [8,12].
PackageBuilder productPackage(bool transposed = false) {
  PackageBuilder package;
  Expr n = package.symbol("N", 0, 64), depth = package.constant(kDepth),
       columns = package.constant(kColumns), one = package.constant(1), none = package.constant(0);
  package.input("x", DType::f32, {n, depth});
  package.output("y", DType::f32, {n, columns});
  std::vector<float> w(kDepth * kColumns);
  for (size_t i = 0; i < w.size(); ++i)
    w[i] = float(i % 7) - 3;
  std::vector<uint64_t> dims = {kDepth, kColumns};
  if (transposed)
    std::swap(dims[0], dims[1]);
  package.weight("w", w, dims);
  package.program(Target::cuda);
  uint32_t x = package.buffer(Storage::input, DType::f32, {n, depth});
  uint32_t weight = transposed ? package.buffer(Storage::weight, DType::f32, {columns, depth})
                               : package.buffer(Storage::weight, DType::f32, {depth, columns});
  uint32_t h = package.buffer(Storage::arena, DType::f32, {n, columns}, 0, 0, 1);
  uint32_t y = package.buffer(Storage::output, DType::f32, {n, columns});
  Expr count = package.product({n, columns});
  Expr blocks = package.apply(dlc::schema::ExprOp::ceildiv, count, package.constant(64));
  package.launch(package.cudaKernel("multiply", kOwnKernel, 64),
                 {B::buffer(x), B::buffer(weight), B::buffer(h), B::dim(count)}, {blocks},
                 package.constant(0));
  package.copy(h, y);
  auto product = std::make_unique<dlc::schema::ProductT>();
  product->a = 0;
  product->b = 1;
  product->target = 2;
  product->rows = n.row;
  product->columns = columns.row;
  product->depth = depth.row;
  product->batch = one.row;
  product->a_row = depth.row;
  product->a_depth = one.row;
  product->a_batch = none.row;
  product->b_depth = transposed ? one.row : columns.row;
  product->b_column = transposed ? depth.row : one.row;
  product->b_batch = none.row;
  product->target_row = columns.row;
  product->target_batch = none.row;
  package.module.programs[0]->main[0]->command.AsLaunch()->product = std::move(product);
  return package;
}

/// The emulated library's counters.
struct Emulator {
  long (*products)();
  long (*alive)();
  const char *(*leaks)();
  void (*failAt)(long call, int result);
  const char *(*failedFunction)();

  Emulator() {
    void *blas = dlopen(DLC_EMU_CUBLASLT_PATH, RTLD_NOW | RTLD_LOCAL);
    void *driver = dlopen(DLC_EMU_DRIVER_PATH, RTLD_NOW | RTLD_LOCAL);
    auto bind = [](auto &function, void *library, const char *name) {
      function =
          reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    };
    bind(products, blas, "dlcEmuBlasProducts");
    bind(alive, blas, "dlcEmuBlasAlive");
    bind(leaks, driver, "dlcEmuLeaks");
    bind(failAt, driver, "dlcEmuFailAt");
    bind(failedFunction, driver, "dlcEmuFailedFunction");
  }
};

/// Another function in the place of one of cuBLASLt's, while it lives.
template <class Function> class Instead {
public:
  Instead(Function *CublasLt::*member, Function *other)
      : place(const_cast<CublasLt *>(*CublasLt::open(0))->*member), original(place) {
    place = other;
  }
  ~Instead() { place = original; }
  Instead(const Instead &) = delete;

private:
  Function *&place;
  Function *original;
};

template <BlasStatus kStatus, class... Args> BlasStatus failing(Args...) { return kStatus; }

enum class By { library, kernel, nobody };

class Cublas : public Cuda {
protected:
  Environment blas{"DLC_LIBCUBLASLT", DLC_EMU_CUBLASLT_PATH};

  static dlc_context_options with(dlc_cublas use) {
    dlc_context_options chosen = options("cuda");
    chosen.cublas = use;
    return chosen;
  }

  /// Runs productPackage() on n rows; who computed it.
  static By run(dlc_context *context, int64_t n, bool transposed = false) {
    std::vector<float> x(size_t(n * kDepth)), y(size_t(n * kColumns), -2);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i % 5);
    dlc_tensor in = tensor(DLC_F32, {n, kDepth}, x), out = tensor(DLC_F32, {n, kColumns}, y);
    if (dlc_context_run(context, &in, 1, &out, 1) != DLC_OK)
      return By::nobody;
    if (std::all_of(y.begin(), y.end(), [](float value) { return value == -1; }))
      return By::kernel;
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < kColumns; ++c) {
        float sum = 0;
        for (int64_t k = 0; k < kDepth; ++k) {
          int64_t at = transposed ? c * kDepth + k : k * kColumns + c;
          sum += x[size_t(r * kDepth + k)] * (float(at % 7) - 3);
        }
        EXPECT_EQ(y[size_t(r * kColumns + c)], sum) << r << ", " << c;
      }
    return By::library;
  }

  /// The same from the package to its end; the remarks.
  std::string remarks(dlc_cublas use, By expected) {
    ModulePtr module = load(productPackage().file());
    ContextPtr context = open(module.get(), with(use));
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(run(context.get(), 5), expected);
    return dlc_context_remarks(context.get());
  }

  Emulator emulator;
};

} // namespace

TEST_F(Cublas, WhereItIsAskedFor) {
  EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::library), "");
  EXPECT_EQ(remarks(DLC_CUBLAS_NEVER, By::kernel), "");
  EXPECT_EQ(remarks(DLC_CUBLAS_AUTO, By::kernel), ""); // the file does not say where it pays
  EXPECT_EQ(emulator.alive(), 0);
  EXPECT_STREQ(emulator.leaks(), "");
  ModulePtr module = load(productPackage().file());
  open(module.get(), with(static_cast<dlc_cublas>(3)), DLC_USAGE);
  EXPECT_STREQ(dlc_last_error(), "unknown use of cuBLASLt, 3; expected DLC_CUBLAS_AUTO, "
                                 "DLC_CUBLAS_NEVER or DLC_CUBLAS_ALWAYS");
}

// Unasked it computes the product on the GPUs and for the shapes that the file names.
TEST_F(Cublas, WhereTheFileSaysThatItPays) {
  for (uint32_t gpu : {0, 90, 100}) {
    PackageBuilder package = productPackage();
    auto &product = *package.module.programs[0]->main[0]->command.AsLaunch()->product;
    auto call = std::make_unique<dlc::schema::ProductCallT>();
    call->gpu = gpu;
    call->limits.emplace_back(product.rows, 5, 40);
    product.calls.push_back(std::move(call));
    ModulePtr module = load(package.file());
    ContextPtr context = open(module.get(), with(DLC_CUBLAS_AUTO));
    By within = gpu == 100 ? By::kernel : By::library; // the emulated GPU is of sm_90
    for (auto [n, expected] :
         {std::pair(4, By::kernel), {5, within}, {40, within}, {41, By::kernel}})
      EXPECT_EQ(run(context.get(), n), expected) << gpu << ", " << n;
  }
}

TEST_F(Cublas, GraphsOfManyShapesAndATransposedFactor) {
  for (bool transposed : {false, true}) {
    ModulePtr module = load(productPackage(transposed).file());
    ContextPtr context = open(module.get(), with(DLC_CUBLAS_ALWAYS));
    ASSERT_TRUE(context);
    for (int round = 0; round < 3; ++round)
      for (int64_t n : {1, 64, 17, 3}) {
        EXPECT_EQ(run(context.get(), n, transposed), By::library);
      }
    EXPECT_EQ(run(context.get(), 0), By::kernel); // nothing to do: no value to tell them apart
    long before = emulator.products();
    EXPECT_EQ(run(context.get(), 3, transposed), By::library);
    EXPECT_EQ(emulator.products(), before) << "replayed, not called again";
  }
}

// The library chooses a kernel for each shape: no graph of another shape has it.
TEST_F(Cublas, ShapesOfItsProductsShareNoGraph) {
  ModulePtr module = load(productPackage().file());
  ContextPtr context = open(module.get(), with(DLC_CUBLAS_ALWAYS));
  ASSERT_TRUE(context);
  DriverCalls before = driverCalls();
  for (int64_t n = 1; n < 6; ++n)
    EXPECT_EQ(run(context.get(), n), By::library);
  EXPECT_EQ((driverCalls() - before).captures, 0);
  EXPECT_EQ(run(context.get(), 5), By::library);
  EXPECT_EQ((driverCalls() - before).captures, 1);
}

TEST_F(Cublas, ProfilesNameIt) {
  ModulePtr module = load(productPackage().file());
  dlc_context_options chosen = with(DLC_CUBLAS_ALWAYS);
  chosen.profile = 1;
  ContextPtr context = open(module.get(), chosen);
  EXPECT_EQ(run(context.get(), 9), By::library);
  const dlc_profile_entry *entries;
  size_t count;
  ASSERT_EQ(dlc_context_profile(context.get(), &entries, &count), DLC_OK);
  ASSERT_EQ(count, 2u);
  EXPECT_STREQ(entries[0].kernel, "multiply");
  EXPECT_STREQ(entries[0].kind, "cublasLt");
}

TEST_F(Cublas, MissingLibrariesAreNoFailure) {
  Environment missing("DLC_LIBCUBLASLT", "/nonexistent/libcublasLt.so");
  std::string told = remarks(DLC_CUBLAS_ALWAYS, By::kernel);
  EXPECT_EQ(told.find("cuBLASLt would take large matrix products, dlc's own kernels do: cannot "
                      "load '/nonexistent/libcublasLt.so' ("),
            0u)
      << told;
  EXPECT_EQ(told.find('\n'), std::string::npos) << "told once: " << told;
  EXPECT_EQ(remarks(DLC_CUBLAS_AUTO, By::kernel), "") << "nothing that it would have taken";
  Environment wrong("DLC_LIBCUBLASLT", "libc.so.6");
  EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::kernel),
            "cuBLASLt would take large matrix products, dlc's own kernels do: the library "
            "'libc.so.6' lacks cublasLtGetVersion: use cuBLAS 12 or 13");
}

TEST_F(Cublas, FailuresGiveTheProductToTheKernel) {
  const std::string version = std::string("cuBLASLt 13.0.2 (") + DLC_EMU_CUBLASLT_PATH + ")";
  using namespace dlc::cuda;
  {
    Instead fault(&CublasLt::create, failing<BlasStatus::NotInitialized, BlasHandle *>);
    EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::kernel),
              "dlc's own kernels take matrix products, because " + version +
                  " does not start: CUBLAS_STATUS_NOT_INITIALIZED");
  }
  {
    Instead fault(&CublasLt::preferenceCreate, failing<BlasStatus::AllocFailed, BlasPreference *>);
    EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::kernel),
              "dlc's own kernel takes a matrix product of 5 x 12 by 12 x 8, because " + version +
                  " does not prepare it: CUBLAS_STATUS_ALLOC_FAILED");
  }
  {
    Instead fault(&CublasLt::heuristic,
                  failing<BlasStatus::NotSupported, BlasHandle, BlasMatmul, BlasLayout, BlasLayout,
                          BlasLayout, BlasLayout, BlasPreference, int, BlasHeuristic *, int *>);
    EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::kernel), "") << "an answer, no failure";
  }
  static std::vector<std::pair<BlasStatus, const char *>> failures = {
      {BlasStatus::InvalidValue, "CUBLAS_STATUS_INVALID_VALUE"},
      {BlasStatus::ArchMismatch, "CUBLAS_STATUS_ARCH_MISMATCH"},
      {BlasStatus::ExecutionFailed, "CUBLAS_STATUS_EXECUTION_FAILED"},
      {BlasStatus::InternalError, "CUBLAS_STATUS_INTERNAL_ERROR"},
      {BlasStatus::MappingError, "cuBLAS error 11"}};
  for (auto [status, name] : failures) {
    static BlasStatus planted;
    planted = status;
    Instead fault(
        &CublasLt::multiply,
        +[](BlasHandle, BlasMatmul, const void *, const void *, BlasLayout, const void *,
            BlasLayout, const void *, const void *, BlasLayout, void *, BlasLayout,
            const BlasAlgorithm *, void *, size_t, Stream) { return planted; });
    EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::kernel),
              "dlc's own kernel takes a matrix product, because " + version +
                  " fails at it: " + name);
  }
  EXPECT_EQ(emulator.alive(), 0);
  EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::library), "") << "all is well again";
}

TEST_F(Cublas, EachCallMayFail) {
  const std::vector<uint8_t> file = productPackage().file();
  for (int result : {2, 700}) {
    long endured = 0, failed = 0;
    for (long call = 0;; ++call) {
      ModulePtr module = load(file);
      emulator.failAt(call, result);
      dlc_context *context = nullptr;
      dlc_context_options chosen = with(DLC_CUBLAS_ALWAYS);
      dlc_status status = dlc_context_create(module.get(), &chosen, &context);
      for (int i = 0; status == DLC_OK && i < 3; ++i)
        if (run(context, 5) == By::nobody)
          status = DLC_DEVICE;
      std::string function = emulator.failedFunction(), message = dlc_last_error();
      emulator.failAt(-1, 0);
      dlc_context_free(context);
      module.reset();
      EXPECT_STREQ(emulator.leaks(), "") << "after " << function;
      EXPECT_EQ(emulator.alive(), 0) << "after " << function;
      if (function.empty())
        break;
      bool isBlas = function.find("cublasLt") != std::string::npos;
      if (isBlas && result == 2)
        EXPECT_EQ(status, DLC_OK) << function << ": " << message;
      if (isBlas && result == 700 && function.find("while") == std::string::npos)
        EXPECT_NE(message.find("end the process and start anew"), std::string::npos)
            << function << ": " << message;
      (status == DLC_OK ? endured : failed) += isBlas;
    }
    if (result == 2)
      EXPECT_GT(endured, 10);
    else
      EXPECT_GT(failed, 10);
  }
  EXPECT_EQ(remarks(DLC_CUBLAS_ALWAYS, By::library), "");
}

TEST_F(Cublas, ItsWorkspaceIsMemoryToo) {
  static std::vector<size_t> sizes;
  static decltype(dlc::cuda::Driver::memAlloc) allocate;
  sizes.clear();
  auto *driver = const_cast<dlc::cuda::Driver *>(*dlc::cuda::Driver::open());
  allocate = driver->memAlloc;
  driver->memAlloc = [](dlc::cuda::DevicePtr *pointer, size_t bytes) {
    sizes.push_back(bytes);
    // The weights, the activations, the workspace.
    return sizes.size() == 3 ? dlc::cuda::Result::OutOfMemory : allocate(pointer, bytes);
  };
  ModulePtr module = load(productPackage().file());
  ContextPtr context = open(module.get(), with(DLC_CUBLAS_ALWAYS));
  EXPECT_EQ(run(context.get(), 5), By::nobody);
  EXPECT_STREQ(dlc_last_error(),
               "not enough GPU memory: cuBLASLt's products need 64.0 KiB; 8.0 GiB of 8.0 GiB are "
               "free on dlc CUDA emulator (sm_90a)");
  driver->memAlloc = allocate;
  EXPECT_EQ(run(context.get(), 5), By::library);
  EXPECT_EQ(sizes.size(), 3u);
}

TEST_F(Cublas, ThePackageIsVerified) {
  struct Fault {
    void (*plant)(dlc::schema::ProductT &);
    const char *message;
  };
  const Fault faults[] = {
      {[](dlc::schema::ProductT &p) { p.b = 3; },
       "its product names argument 3, which is no buffer of the launch"},
      {[](dlc::schema::ProductT &p) { p.target = 9; },
       "its product names argument 9, which is no buffer of the launch"},
      {[](dlc::schema::ProductT &p) { p.depth = 999; },
       "its product names expression 999; there are "},
  };
  for (const Fault &fault : faults) {
    PackageBuilder package = productPackage();
    fault.plant(*package.module.programs[0]->main[0]->command.AsLaunch()->product);
    load(package.file(), DLC_INCOMPATIBLE);
    EXPECT_TRUE(lastErrorHas(std::string("malformed module (compile the model again): program 0 "
                                         "(cuda), command 0: ") +
                             fault.message))
        << dlc_last_error();
  }
  PackageBuilder cpu = affinePackage();
  cpu.module.programs[0]->main[0]->command.AsLaunch()->product =
      std::make_unique<dlc::schema::ProductT>();
  load(cpu.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("program 0 (cpu), command 0: a matrix product for a library is in a "
                           "program for the CPU"));
  PackageBuilder package = productPackage();
  for (auto &buffer : package.module.programs[0]->buffers)
    if (buffer->storage == Storage::arena)
      buffer->dtype = DType::i32;
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("its product is of i32; expected one type, f32, f16 or bf16"));
  package = productPackage();
  auto *launch = package.module.programs[0]->main[0]->command.AsLaunch();
  for (auto &buffer : package.module.programs[0]->buffers)
    if (buffer->storage == Storage::arena) // and all three arguments are this one
      buffer->dtype = DType::f16, launch->args[0] = launch->args[1] = launch->args[2];
  launch->product->tf32 = true;
  load(package.file(), DLC_INCOMPATIBLE);
  EXPECT_TRUE(lastErrorHas("its product of f16 may be rounded to tf32"));
  package = productPackage();
  package.module.programs[0]->main[0]->command.AsLaunch()->product->b_depth =
      package.constant(100).row;
  ModulePtr module = load(package.file());
  ContextPtr context = open(module.get(), with(DLC_CUBLAS_NEVER));
  EXPECT_EQ(run(context.get(), 5), By::nobody);
  EXPECT_TRUE(lastErrorHas("command 0: a matrix of its product leaves its buffer"));
}

#endif
