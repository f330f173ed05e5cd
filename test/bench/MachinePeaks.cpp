//===- MachinePeaks.cpp - What this processor can do at most ------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes copied and multiply-adds a second, the two sides of a roofline; op_roofline.py calls it
// through ctypes, in the process in which it times the ops.
//===------------------------------------------------------------------------------------------===//
#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// The least time over `rounds` in which `threads` threads, started together, have all run
/// `work(thread)`.
template <typename Work> double leastSeconds(int threads, int rounds, Work work) {
  std::atomic<int> round = 0, done = 0;
  auto helper = [&](int thread) {
    for (int next = 1; next <= rounds; ++next) {
      while (round.load(std::memory_order_acquire) < next)
        _mm_pause();
      work(thread);
      done.fetch_add(1, std::memory_order_release);
    }
  };
  std::vector<std::thread> helpers;
  for (int thread = 1; thread < threads; ++thread)
    helpers.emplace_back(helper, thread);
  double least = 1e9;
  for (int next = 1; next <= rounds; ++next) {
    done = 0;
    auto begin = Clock::now();
    round.store(next, std::memory_order_release);
    work(0);
    while (done.load(std::memory_order_acquire) < threads - 1)
      _mm_pause();
    least = std::min(least, secondsSince(begin));
  }
  for (std::thread &one : helpers)
    one.join();
  return least;
}

// More chains than latency times width, all in registers. The asm keeps each of them.
constexpr int kChains = 12;
constexpr int64_t kSteps = 40000;

__attribute__((target("avx512f"))) double multiplyAdds512() {
  __m512 acc[kChains], factor = _mm512_set1_ps(0.999f);
  for (__m512 &one : acc)
    one = _mm512_set1_ps(1.0f);
  for (int64_t step = 0; step < kSteps; ++step)
    for (__m512 &one : acc) {
      one = _mm512_fmadd_ps(one, factor, factor);
      asm volatile("" : "+v"(one));
    }
  return 2.0 * 16 * kChains * kSteps;
}

__attribute__((target("avx2,fma"))) double multiplyAdds256() {
  __m256 acc[kChains], factor = _mm256_set1_ps(0.999f);
  for (__m256 &one : acc)
    one = _mm256_set1_ps(1.0f);
  for (int64_t step = 0; step < kSteps; ++step)
    for (__m256 &one : acc) {
      one = _mm256_fmadd_ps(one, factor, factor);
      asm volatile("" : "+x"(one));
    }
  return 2.0 * 8 * kChains * kSteps;
}

__attribute__((target("avx512f,avx512bf16"))) double multiplyAddsOfPairs512() {
  __m512 acc[kChains];
  __m512bh factor = _mm512_cvtne2ps_pbh(_mm512_set1_ps(0.5f), _mm512_set1_ps(0.5f));
  for (__m512 &one : acc)
    one = _mm512_set1_ps(1.0f);
  for (int64_t step = 0; step < kSteps; ++step)
    for (__m512 &one : acc) {
      one = _mm512_dpbf16_ps(one, factor, factor);
      asm volatile("" : "+v"(one));
    }
  return 2.0 * 32 * kChains * kSteps;
}

__attribute__((target("avx512f,avx512vnni"))) double multiplyAddsOfBytes512() {
  __m512i acc[kChains], factor = _mm512_set1_epi8(1);
  for (__m512i &one : acc)
    one = _mm512_set1_epi32(1);
  for (int64_t step = 0; step < kSteps; ++step)
    for (__m512i &one : acc) {
      one = _mm512_dpbusd_epi32(one, factor, factor);
      asm volatile("" : "+v"(one));
    }
  return 2.0 * 64 * kChains * kSteps;
}

} // namespace

/// Arithmetic of f32 a second, a multiply-add as two, by the widest vectors that the processor has.
extern "C" double dlc_bench_peak_flops(int threads) {
  bool wide = __builtin_cpu_supports("avx512f");
  auto work = [&](int) { return wide ? multiplyAdds512() : multiplyAdds256(); };
  double flops = work(0);
  return threads * flops / leastSeconds(threads, 20, work);
}

/// The same of bf16 with sums in f32 (vdpbf16ps); 0 where the processor has no instruction for it.
extern "C" double dlc_bench_peak_brain_flops(int threads) {
  if (!__builtin_cpu_supports("avx512bf16"))
    return 0;
  auto work = [&](int) { return multiplyAddsOfPairs512(); };
  double flops = work(0);
  return threads * flops / leastSeconds(threads, 20, work);
}

/// The same of bytes with sums in i32 (vpdpbusd); 0 where the processor has no instruction for it.
extern "C" double dlc_bench_peak_byte_ops(int threads) {
  if (!__builtin_cpu_supports("avx512vnni"))
    return 0;
  auto work = [&](int) { return multiplyAddsOfBytes512(); };
  double operations = work(0);
  return threads * operations / leastSeconds(threads, 20, work);
}

/// Bytes read and written a second when one half of `bytes` is copied to the other again and again.
extern "C" double dlc_bench_copy_rate(size_t bytes, int threads) {
  size_t half = std::max<size_t>(bytes / 2, 4096) / threads;
  size_t total = half * threads;
  std::unique_ptr<char[]> from(new char[total]), to(new char[total]);
  memset(from.get(), 1, total);
  memset(to.get(), 2, total);
  auto work = [&](int thread) {
    memcpy(to.get() + thread * half, from.get() + thread * half, half);
    asm volatile("" ::: "memory");
  };
  int rounds = static_cast<int>(std::clamp<size_t>((size_t(64) << 20) / total, 5, 200));
  return 2.0 * static_cast<double>(total) / leastSeconds(threads, rounds, work);
}
