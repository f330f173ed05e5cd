//===- OneDNNMatmul.cpp - oneDNN's matrix product, timed as dlc times its own ---*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: onednn-matmul N SECONDS [packed]
// Multiplies two N x N f32 matrices for SECONDS and prints the median time of one product in
// milliseconds. "packed" lets oneDNN choose the layout of the second matrix, repacked before the
// clock starts: what it does for constant weights. The number of threads is OMP_NUM_THREADS.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

using namespace dnnl;
using Clock = std::chrono::steady_clock;

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: onednn-matmul N SECONDS [packed]\n");
    return 2;
  }
  const memory::dim n = std::atoll(argv[1]);
  const double seconds = std::atof(argv[2]);
  const bool packed = argc > 3 && !std::strcmp(argv[3], "packed");

  engine cpu(engine::kind::cpu, 0);
  stream queue(cpu);
  const memory::desc rows({n, n}, memory::data_type::f32, memory::format_tag::ab);
  const memory::desc any({n, n}, memory::data_type::f32, memory::format_tag::any);
  matmul::primitive_desc product({rows, packed ? any : rows, rows}, cpu);
  memory a(rows, cpu), b(rows, cpu), c(rows, cpu);
  for (memory *m : {&a, &b}) {
    float *data = static_cast<float *>(m->get_data_handle());
    for (memory::dim i = 0; i < n * n; ++i)
      data[i] = static_cast<float>(i % 13) / 13.0f - 0.5f;
  }
  memory weights = b;
  if (product.weights_desc() != rows) {
    weights = memory(product.weights_desc(), cpu);
    reorder(b, weights).execute(queue, b, weights);
    queue.wait();
  }

  matmul primitive(product);
  const std::unordered_map<int, memory> arguments = {
      {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, c}};
  auto run = [&] {
    const auto begin = Clock::now();
    primitive.execute(queue, arguments);
    queue.wait();
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  };
  for (double warm = 0; warm < 200;)
    warm += run();
  std::vector<double> times;
  for (const auto begin = Clock::now();
       std::chrono::duration<double>(Clock::now() - begin).count() < seconds;)
    times.push_back(run());
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  std::printf("median = %.6f ms\n", times[times.size() / 2]);
  return 0;
}
