//===- LibraryProduct.cpp - A launch as a call of cuBLASLt ------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library's matrices lie column by column, ours row by row: read its way, each of ours is its
// transposed. So it is asked for D^T = B^T A^T, whose factors and result are then where and how it
// expects them.
//===--------------------------------------------------------------------------------------===//
#include "runtime/cuda/kernels/LibraryProduct.h"
#include "runtime/core/Text.h"
#include "runtime/cuda/kernels/ProductChoice.h"

#include <utility>

using namespace dlc;
using namespace dlc::cuda;
using rt::Status;
using rt::text;

/// What NVIDIA recommends to allow on Hopper and later; the library takes less where it needs less.
static constexpr uint64_t kMostWorkspace = uint64_t(32) << 20;
/// Of every matrix, a caller's own among them.
static constexpr uint32_t kAlignment = 16;

static std::string nameOf(BlasStatus status) {
  switch (status) {
  case BlasStatus::NotInitialized:
    return "CUBLAS_STATUS_NOT_INITIALIZED";
  case BlasStatus::AllocFailed:
    return "CUBLAS_STATUS_ALLOC_FAILED";
  case BlasStatus::InvalidValue:
    return "CUBLAS_STATUS_INVALID_VALUE";
  case BlasStatus::ArchMismatch:
    return "CUBLAS_STATUS_ARCH_MISMATCH";
  case BlasStatus::ExecutionFailed:
    return "CUBLAS_STATUS_EXECUTION_FAILED";
  case BlasStatus::InternalError:
    return "CUBLAS_STATUS_INTERNAL_ERROR";
  case BlasStatus::NotSupported:
    return "CUBLAS_STATUS_NOT_SUPPORTED";
  default:
    return text("cuBLAS error ", static_cast<int>(status));
  }
}

LibraryProduct &LibraryProduct::operator=(LibraryProduct &&other) noexcept {
  std::swap(blas, other.blas);
  std::swap(matmul, other.matmul);
  std::swap(layouts, other.layouts);
  std::swap(algorithm, other.algorithm);
  std::swap(workspace, other.workspace);
  std::swap(buffers, other.buffers);
  return *this;
}

LibraryProduct::~LibraryProduct() {
  for (BlasLayout layout : layouts)
    if (layout)
      blas->layoutDestroy(layout);
  if (matmul)
    blas->matmulDestroy(matmul);
}

void MatrixLibrary::close() {
  if (handle && !device.isHung())
    blas->destroy(handle);
  handle = nullptr;
}

void MatrixLibrary::note(const std::string &sentence) {
  if (notes.find(sentence) == std::string::npos)
    notes += (notes.empty() ? "" : "\n") + sentence;
}

bool MatrixLibrary::open() {
  if (handle || isClosed)
    return handle != nullptr;
  isClosed = true;
  rt::Expected<const CublasLt *> opened = CublasLt::open(device.driver().version);
  if (opened.failed()) {
    note("cuBLASLt would take large matrix products, dlc's own kernels do: " +
         opened.status().message());
    return false;
  }
  blas = *opened;
  if (BlasStatus status = blas->create(&handle); status != BlasStatus::Success) {
    handle = nullptr;
    note(text("dlc's own kernels take matrix products, because ", blas->describe(),
              " does not start: ", nameOf(status)));
    return false;
  }
  return true;
}

static BlasType typeOf(schema::DType dtype) {
  return dtype == schema::DType::f16    ? BlasType::F16
         : dtype == schema::DType::bf16 ? BlasType::Bf16
                                        : BlasType::F32;
}

std::unique_ptr<LibraryProduct> MatrixLibrary::make(const rt::PlannedProduct &product) {
  auto made = std::unique_ptr<LibraryProduct>(new LibraryProduct(*blas));
  BlasPreference preference = nullptr;
  BlasHeuristic found = {};
  int count = 0;
  BlasStatus status = BlasStatus::Success;
  auto does = [&](BlasStatus result) {
    status = result;
    return result == BlasStatus::Success;
  };
  // A matrix, transposed: what lies along our rows lies along its columns.
  auto layout = [&](int index, const rt::PlannedMatrix &matrix, int64_t rows, int64_t columns) {
    bool isAlongRows = matrix.column == 1 && matrix.row >= columns;
    int32_t batch = static_cast<int32_t>(product.batch);
    made->buffers[index] = matrix.buffer;
    return does(blas->layoutCreate(&made->layouts[index], typeOf(product.dtype),
                                   isAlongRows ? columns : rows, isAlongRows ? rows : columns,
                                   isAlongRows ? matrix.row : matrix.column)) &&
           does(blas->layoutSet(made->layouts[index], BlasLayoutAttribute::BatchCount, &batch,
                                sizeof(batch))) &&
           does(blas->layoutSet(made->layouts[index], BlasLayoutAttribute::BatchStride,
                                &matrix.batch, sizeof(matrix.batch)));
  };
  auto transpose = [&](BlasMatmulAttribute which, const rt::PlannedMatrix &matrix,
                       int64_t columns) {
    auto operation = matrix.column == 1 && matrix.row >= columns ? BlasOperation::None
                                                                 : BlasOperation::Transpose;
    return does(blas->matmulSet(made->matmul, which, &operation, sizeof(operation)));
  };
  auto prefer = [&](BlasPreferenceAttribute attribute, auto value) {
    return does(blas->preferenceSet(preference, attribute, &value, sizeof(value)));
  };
  auto compute = product.tf32 ? BlasCompute::F32FastTf32 : BlasCompute::F32;
  using Preference = BlasPreferenceAttribute;
  bool done =
      does(blas->matmulCreate(&made->matmul, compute, BlasType::F32)) &&
      transpose(BlasMatmulAttribute::TransposeA, product.b, product.columns) &&
      transpose(BlasMatmulAttribute::TransposeB, product.a, product.depth) &&
      layout(0, product.b, product.depth, product.columns) &&
      layout(1, product.a, product.rows, product.depth) &&
      layout(2, product.target, product.rows, product.columns) &&
      does(blas->preferenceCreate(&preference)) &&
      prefer(Preference::MaxWorkspaceBytes, kMostWorkspace) &&
      // Sums are f32 to their end, and their parts come together in one order.
      prefer(Preference::ReductionSchemes, kBlasReduceInComputeType) &&
      prefer(Preference::AlignmentA, kAlignment) && prefer(Preference::AlignmentB, kAlignment) &&
      prefer(Preference::AlignmentC, kAlignment) && prefer(Preference::AlignmentD, kAlignment) &&
      does(blas->heuristic(handle, made->matmul, made->layouts[0], made->layouts[1],
                           made->layouts[2], made->layouts[2], preference, 1, &found, &count));
  if (preference)
    blas->preferenceDestroy(preference);
  if (done && (count < 1 || found.state != BlasStatus::Success))
    status = BlasStatus::NotSupported;
  // That it has no way for a shape is an answer, not an error.
  if (status == BlasStatus::NotSupported)
    return nullptr;
  if (!done) {
    note(text("dlc's own kernel takes a matrix product of ", product.rows, " x ", product.depth,
              " by ", product.depth, " x ", product.columns, ", because ", blas->describe(),
              " does not prepare it: ", nameOf(status)));
    return nullptr;
  }
  made->algorithm = found.algorithm;
  made->workspace = found.workspaceBytes;
  return made;
}

Status MatrixLibrary::prepare(const rt::Plan &plan,
                              std::vector<std::unique_ptr<LibraryProduct>> &products) {
  products.clear();
  products.resize(plan.commands.size());
  for (size_t i = 0; i < plan.commands.size(); ++i) {
    const auto &product = plan.commands[i].product;
    if (!product || plan.commands[i].skip || use == LibraryUse::never)
      continue;
    bool wanted = use == LibraryUse::always ? isLibraryProduct(*product)
                                            : paysAsLibraryProduct(*product, device.architecture());
    if (wanted && open())
      products[i] = make(*product);
  }
  return device.usable();
}

bool MatrixLibrary::enqueue(const LibraryProduct &product, const std::vector<DevicePtr> &addresses,
                            DevicePtr workspace, Stream stream) {
  auto at = [&](int index) { return reinterpret_cast<void *>(addresses[product.buffers[index]]); };
  float one = 1, zero = 0;
  BlasStatus status = blas->multiply(
      handle, product.matmul, &one, at(0), product.layouts[0], at(1), product.layouts[1], &zero,
      at(2), product.layouts[2], at(2), product.layouts[2], &product.algorithm,
      reinterpret_cast<void *>(workspace), product.workspace, stream);
  if (status != BlasStatus::Success)
    note(text("dlc's own kernel takes a matrix product, because ", blas->describe(),
              " fails at it: ", nameOf(status)));
  return status == BlasStatus::Success;
}
