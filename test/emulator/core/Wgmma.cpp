//===- Wgmma.cpp - Hopper's asynchronous matrix products --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A product is done at the wait for its group. From its issue until then the accumulator's
// registers hold NaN (of bytes -1), so that reading them too early shows. Operands lie in shared
// memory with the 128-byte swizzle, along k or (16-bit types) along m or n; other layouts are
// refused. A may lie in registers, which must hold at the wait what they held at the issue. Of a
// sparse A two of each four elements are stored; what is not stored is not multiplied.
//
// An H100 adds 32 products of e4m3 and the total before them as numbers that are cut off below
// 2^-13 of the largest one's power of two.
//===----------------------------------------------------------------------===//
#include "test/emulator/check/Checker.h"
#include "test/emulator/core/Async.h"
#include "test/emulator/core/TensorCore.h"
#include "test/emulator/core/TensorMap.h"
#include "test/emulator/core/Worker.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

namespace dlc::emu {

namespace {

constexpr int kGroup = 128, kRows = 64, kMostDepth = 32, kMaxColumns = 256;
/// Bits below the leading one that a sum of e4m3 keeps.
constexpr int kFractionOfFloat8 = 13;
/// Registers of a multiprocessor; they go to warps in units of eight for each thread.
constexpr int kRegisters = 65536, kUnit = 8, kFewest = 24, kMost = 255;

struct ProductOperands {
  float a[kRows][kMostDepth];
  float b[kMostDepth][kMaxColumns];
  float c[kRows][kMaxColumns];
};

int bytesOf(int type) {
  return type == DlcEmuTf32 ? 4 : type == DlcEmuByte || type == DlcEmuE4m3 ? 1 : 2;
}
int depthOf(int type) { return 32 / bytesOf(type); }
static_assert(kSparseDepth <= kMostDepth);

/// An operand of `rows` rows (of A; columns of B) by `depth` elements in shared memory.
struct Operand {
  uint64_t descriptor;
  int rows, depth, type;
  bool alongRows, isSigned;

  /// Offset of an element. Along k: rows of 128 bytes in groups of eight, `sbo` bytes between
  /// groups. Along the rows: 64 of them in 128 bytes, eight steps of k in a group; `sbo` bytes
  /// between groups, `lbo` to the next 64 rows.
  uint32_t offset(int row, int k) const {
    auto start = uint32_t(descriptor & 0x3fff) << 4, lbo = uint32_t(descriptor >> 16 & 0x3fff) << 4,
         sbo = uint32_t(descriptor >> 32 & 0x3fff) << 4;
    if (alongRows)
      return swizzle128(start + (row >> 6) * lbo + (k >> 3) * sbo + (k & 7) * 128 + (row & 63) * 2);
    return swizzle128(start + (row >> 3) * sbo + (row & 7) * 128 + k * bytesOf(type));
  }
  float element(const Block &block, int row, int k) const {
    uint32_t at = offset(row, k);
    if (at + bytesOf(type) > kSharedArena)
      failThread(Fault::IllegalAddress, "wgmma: operand outside shared memory");
    if (type == DlcEmuTf32) {
      uint32_t bits;
      std::memcpy(&bits, block.shared + at, sizeof bits);
      bits &= 0xffffe000u; // the hardware ignores the rest
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    if (type == DlcEmuE4m3)
      return widenFloat8(block.shared[at]);
    if (type == DlcEmuByte)
      return isSigned ? float(int8_t(block.shared[at])) : float(block.shared[at]);
    uint16_t bits;
    std::memcpy(&bits, block.shared + at, sizeof bits);
    return widen(bits, type == DlcEmuBf16);
  }
  /// Calls visit(offset) for each 16 bytes.
  template <class Visit> void forEachChunk(Visit visit) const {
    int perChunk = 16 / bytesOf(type);
    for (int row = 0; row < rows; row += alongRows ? perChunk : 1)
      for (int k = 0; k < depth; k += alongRows ? 1 : perChunk)
        visit(offset(row, k));
  }
};

Operand operandA(const AsyncProduct &product) {
  bool isByte = product.type == DlcEmuByte;
  return {product.a,
          kRows,
          depthOf(product.type),
          product.type,
          !isByte && (product.flags & DlcEmuAlongM) != 0,
          isByte && (product.flags & DlcEmuSignedA) != 0};
}
Operand operandB(const AsyncProduct &product) {
  bool isByte = product.type == DlcEmuByte;
  return {product.b,
          product.n,
          product.isSparse ? kSparseDepth : depthOf(product.type),
          product.type,
          !isByte && (product.flags & DlcEmuAlongN) != 0,
          isByte && (product.flags & DlcEmuSignedB) != 0};
}

HiddenAccumulator &findAccumulator(AsyncState &async, const void *registers) {
  return *std::find_if(async.accumulators.begin(), async.accumulators.end(),
                       [&](const auto &hidden) { return hidden.registers == registers; });
}

/// A of product `index`, which lies in the registers of the group's threads.
void readHeld(Thread *group, size_t index, float (&a)[kRows][kMostDepth]) {
  for (int t = 0; t < kGroup; ++t) {
    const AsyncProduct &mine = asyncOf(group[t]).products[index];
    if (!mine.held || std::memcmp(mine.held, mine.words, sizeof mine.words))
      failThread(Fault::LaunchFailed,
                 "missing wait: registers of A changed in thread %d while wgmma multiplied them",
                 group[t].linear);
    int row = t / 32 * 16 + t % 32 / 4;
    for (int e = 0; e < 16 && mine.type == DlcEmuE4m3; ++e) // four in each word
      a[row + (e >> 2 & 1) * 8][t % 4 * 4 + (e & 3) + (e >> 3) * 16] =
          widenFloat8(uint8_t(mine.words[e >> 2] >> (e & 3) * 8));
    for (int e = 0; e < 8 && mine.type != DlcEmuE4m3; ++e) { // two of 16 bits in each word
      int k = t % 4 * 2 + (e & 1) + (e >> 2) * 8;
      a[row + (e >> 1 & 1) * 8][k] =
          widen(uint16_t(mine.words[e >> 1] >> (e & 1) * 16), mine.type == DlcEmuBf16);
    }
  }
}

/// Returns `value` without what is below 2^-kFractionOfFloat8 of the largest power of two in
/// `largest`.
double cutOff(double value, double largest) {
  if (!(largest > 0) || !std::isfinite(largest))
    return value;
  int unit = std::ilogb(largest) - kFractionOfFloat8;
  return std::ldexp(std::trunc(std::ldexp(value, -unit)), unit);
}

/// The sum of 32 products of e4m3, and of `before`, as an H100 adds them.
float addFloat8(const ProductOperands &operands, int row, int column, float before) {
  double terms[kMostDepth + 1] = {before}, largest = std::fabs(before);
  for (int k = 0; k < kMostDepth; ++k) {
    terms[k + 1] = double(operands.a[row][k]) * operands.b[k][column];
    largest = std::max(largest, std::fabs(terms[k + 1]));
  }
  double sum = 0;
  for (double term : terms)
    sum += cutOff(term, largest);
  return float(cutOff(sum, std::fabs(sum)));
}

/// The total after a product, from its bits before.
uint32_t addTo(uint32_t bits, const AsyncProduct &product, const ProductOperands &operands, int row,
               int column) {
  float value = operands.c[row][column];
  if (product.type == DlcEmuByte) // exact: 32 products of bytes have 21 bits
    return (product.accumulate ? bits : 0u) + uint32_t(int32_t(value));
  float before = product.accumulate ? std::bit_cast<float>(bits) : 0.0f;
  if (product.type == DlcEmuE4m3)
    return std::bit_cast<uint32_t>(addFloat8(operands, row, column, before));
  return std::bit_cast<uint32_t>(product.accumulate ? before + value : value);
}

void multiply(Block &block, Thread *group, size_t index) {
  // On the heap: this library's thread-local storage must stay small.
  static thread_local std::unique_ptr<ProductOperands> scratch;
  if (!scratch)
    scratch = std::make_unique<ProductOperands>();
  ProductOperands &operands = *scratch;
  const AsyncProduct product = group[0].async->products[index];
  for (int t = 1; t < kGroup; ++t) {
    const auto &products = asyncOf(group[t]).products;
    if (products.size() <= index || products[index].a != product.a ||
        products[index].b != product.b || products[index].isSparse != product.isSparse)
      failThread(Fault::LaunchFailed,
                 "wgmma: the threads of the warpgroup name different operands");
  }
  const Operand a = operandA(product), b = operandB(product);
  if (product.held)
    readHeld(group, index, operands.a);
  for (int k = 0; k < a.depth; ++k)
    for (int row = 0; row < kRows && !product.held; ++row)
      operands.a[row][k] = a.element(block, row, k);
  for (int k = 0; k < b.depth; ++k)
    for (int column = 0; column < product.n; ++column)
      operands.b[k][column] = b.element(block, column, k);
  for (int row = 0; row < kRows; ++row) {
    float *c = operands.c[row];
    std::fill(c, c + product.n, 0.0f);
    auto placesOf = [&](int lane) {
      return asyncOf(group[row / 16 * 32 + lane]).products[index].places;
    };
    for (int stored = 0; stored < a.depth; ++stored) {
      int k = product.isSparse ? sparseStep(row % 16, stored, placesOf) : stored;
      for (int column = 0; column < product.n; ++column)
        c[column] += operands.a[row][stored] * operands.b[k][column];
    }
  }
  for (int t = 0; t < kGroup; ++t) {
    AsyncState &async = *group[t].async;
    const AsyncProduct &mine = async.products[index];
    HiddenAccumulator &hidden = findAccumulator(async, mine.accumulator);
    int warp = t / 32, lane = t % 32;
    for (int j = 0; j < product.n / 8; ++j)
      for (int half = 0; half < 2; ++half)
        for (int e = 0; e < 2; ++e) {
          uint32_t &sum = hidden.values[j * 4 + half * 2 + e];
          sum =
              addTo(sum, mine, operands, warp * 16 + lane / 4 + half * 8, j * 8 + lane % 4 * 2 + e);
        }
    if (--hidden.inFlight == 0)
      std::memcpy(mine.accumulator, hidden.values.data(), hidden.values.size() * sizeof(uint32_t));
  }
}

/// Does the products of all groups before `endGroup`.
void finishProducts(Block &block, Thread *group, int endGroup) {
  const auto &products = asyncOf(group[0]).products;
  size_t count = 0;
  while (count < products.size() && products[count].group < endGroup)
    ++count;
  for (size_t i = 0; i < count; ++i)
    multiply(block, group, i);
  for (int t = 0; t < kGroup; ++t) {
    AsyncState &async = asyncOf(group[t]);
    async.products.erase(async.products.begin(),
                         async.products.begin() + std::min(count, async.products.size()));
    std::erase_if(async.accumulators, [](const auto &hidden) { return hidden.inFlight == 0; });
  }
}

void requireSwizzle(uint64_t descriptor) {
  if ((descriptor >> 62 & 3) != 1)
    failThread(Fault::LaunchFailed, "wgmma: only the 128-byte swizzle is emulated");
}

void issue(const AsyncProduct &product) {
  AsyncState &async = asyncOf(self());
  void *d = product.accumulator;
  auto hidden = std::find_if(async.accumulators.begin(), async.accumulators.end(),
                             [&](const auto &other) { return other.registers == d; });
  if (hidden == async.accumulators.end()) {
    std::vector<uint32_t> values(product.n / 2);
    std::memcpy(values.data(), d, values.size() * sizeof(uint32_t));
    async.accumulators.push_back({d, std::move(values), 0});
    hidden = std::prev(async.accumulators.end());
    std::memset(d, 0xFF, product.n / 2 * sizeof(uint32_t));
  }
  ++hidden->inFlight;
  async.products.push_back(product);
  Block &block = self().home();
  Checker *checker = block.worker->launch().checker;
  if (!checker || self().linear % kGroup)
    return;
  // Once for the warpgroup.
  auto read = [&](const Operand &operand) {
    operand.forEachChunk([&](uint32_t offset) {
      checker->readByTensorCores(block.shared + offset, 16, uint32_t(product.group) + 1);
    });
  };
  if (!product.held)
    read(operandA(product));
  read(operandB(product));
}

/// Registers that each thread of a block alone on its multiprocessor begins with, at most.
int launchedRegisters(const Block &block) {
  int threads = (int(block.threads.size()) + kGroup - 1) / kGroup * kGroup;
  return std::min(kMost, kRegisters / threads / kUnit * kUnit);
}

} // namespace

void checkRegisters(const Block &block) {
  int launched = launchedRegisters(block), total = 0;
  bool asked = false;
  for (const Thread &thread : block.threads) {
    int first = block.threads[size_t(thread.linear) / kGroup * kGroup].registers;
    asked |= thread.registers != 0;
    total += thread.registers ? thread.registers : launched;
    if (thread.registers != first)
      failThread(Fault::LaunchFailed,
                 "setmaxnreg: thread %d has %d registers, the first of its warpgroup %d (0: it has "
                 "not asked)",
                 thread.linear, thread.registers, first);
  }
  if (asked && total > kRegisters)
    failThread(Fault::LaunchFailed, "setmaxnreg: %d registers of the block's threads, of %d", total,
               kRegisters);
}

} // namespace dlc::emu

using namespace dlc::emu;

extern "C" {

void dlcEmuWgmmaFence() {}

void dlcEmuWgmma(float *d, int n, unsigned long long a, unsigned long long b, bool accumulate,
                 int type, unsigned majors) {
  requireSwizzle(a);
  requireSwizzle(b);
  if (majors && bytesOf(type) != 2)
    failThread(Fault::LaunchFailed, "wgmma: operands of other types than 16 bits lie along k");
  issue({d, n, a, b, accumulate, type, majors, asyncOf(self()).productGroup});
}

void dlcEmuWgmmaBytes(int *d, int n, unsigned long long a, unsigned long long b, bool accumulate,
                      unsigned signs) {
  requireSwizzle(a);
  requireSwizzle(b);
  issue({d, n, a, b, accumulate, DlcEmuByte, signs, asyncOf(self()).productGroup});
}

void dlcEmuWgmmaHeld(float *d, int n, const unsigned *a, unsigned long long b, bool accumulate,
                     int type, unsigned majors) {
  requireSwizzle(b);
  AsyncProduct product{d, n, 0, b, accumulate, type, majors, asyncOf(self()).productGroup, a};
  std::memcpy(product.words, a, sizeof product.words);
  issue(product);
}

void dlcEmuWgmmaSparse(float *d, int n, unsigned long long a, unsigned places, unsigned long long b,
                       bool accumulate, int type) {
  requireSwizzle(a);
  requireSwizzle(b);
  if (bringsPlaces(self().lane))
    requireAscending("wgmma_sparse", places);
  AsyncProduct product{d, n, a, b, accumulate, type, 0, asyncOf(self()).productGroup};
  product.isSparse = true;
  product.places = places;
  issue(product);
}

void dlcEmuSetRegisters(int count, bool more) {
  Thread &thread = self();
  if (count < kFewest || count > kMost + 1 || count % kUnit)
    failThread(Fault::LaunchFailed,
               "setmaxnreg: %d registers; it takes multiples of 8 from 24 to 256", count);
  int before = thread.registers ? thread.registers : launchedRegisters(thread.home());
  if (more ? count < before : count > before)
    failThread(Fault::LaunchFailed, "setmaxnreg: from %d registers to %d is not %s", before, count,
               more ? "more" : "fewer");
  thread.registers = count;
}

void dlcEmuWgmmaCommit() { ++asyncOf(self()).productGroup; }

void dlcEmuWgmmaWait(int pending) {
  Thread &thread = self();
  Block &block = thread.home();
  int number = thread.linear / kGroup;
  if (block.threads.size() < size_t(number + 1) * kGroup)
    failThread(Fault::LaunchFailed, "wgmma_wait: the warpgroup has fewer than 128 threads");
  Thread *group = &block.threads[number * kGroup];
  if (++block.atWgmma[number] < kGroup) {
    thread.state = ThreadState::AtWgmma;
    block.worker->suspend();
    return;
  }
  block.atWgmma[number] = 0;
  finishProducts(block, group, asyncOf(thread).productGroup - pending);
  int done = std::max(0, asyncOf(thread).productGroup - pending);
  for (int t = 0; t < kGroup; ++t) {
    if (block.worker->launch().checker)
      block.order.finishProducts(group[t].linear, number, uint32_t(done));
    if (group[t].state == ThreadState::AtWgmma)
      block.worker->makeReady(group[t]);
  }
}

} // extern "C"
