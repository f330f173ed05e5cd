//===- classify.cpp - The digit network from C++17, with nothing but the runtime --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Build: c++ -std=c++17 classify.cpp $(pkg-config --cflags --libs dlc) -o classify
// Run:   ./classify digits.bin
//
// Enqueues two images and prints what the network makes of them. Exit status 0 when it says one and
// three.
//===--------------------------------------------------------------------------------------===//
#include <algorithm>
#include <cstdio>
#include <dlc/dlc.hpp>

static float images[2][64] = {
    {0,  0, 0, 12, 13, 5,  0,  0,  0,  0, 0, 11, 16, 9,  0,  0,  0,  0,  3, 15, 16, 6,
     0,  0, 0, 7,  15, 16, 16, 2,  0,  0, 0, 0,  1,  16, 16, 3,  0,  0,  0, 0,  1,  16,
     16, 6, 0, 0,  0,  0,  1,  16, 16, 6, 0, 0,  0,  0,  0,  11, 16, 10, 0, 0},
    {0,  0, 3, 10, 15, 6, 0,  0, 0, 4,  16, 9, 4, 16, 2, 0,  0,  8, 14, 0, 9, 10,
     0,  0, 0, 1,  4,  7, 16, 2, 0, 0,  0,  0, 2, 15, 7, 0,  0,  0, 0,  0, 0, 1,
     14, 1, 0, 0,  0,  0, 12, 8, 1, 11, 7,  0, 0, 0,  8, 16, 15, 5, 0,  0}};

int main(int argc, char **argv) try {
  dlc::Model model(argc > 1 ? argv[1] : "digits.bin");
  dlc::Context context(model, "cpu");
  std::vector<float> probs[2];
  std::vector<dlc::Run> runs;
  for (int i = 0; i < 2; ++i) {
    for (float &pixel : images[i])
      pixel /= 16;
    probs[i].resize(10);
    runs.push_back(context.enqueue({dlc::Tensor({1, 1, 8, 8}, dlc::Span<float>(images[i]))},
                                   {dlc::Tensor({1, 10}, probs[i])}));
  }
  int digits[2];
  for (int i = 0; i < 2; ++i) {
    runs[i].wait();
    digits[i] = int(std::max_element(probs[i].begin(), probs[i].end()) - probs[i].begin());
    std::printf("image %d is a %d (%.1f %%)\n", i, digits[i], 100 * probs[i][digits[i]]);
  }
  return digits[0] == 1 && digits[1] == 3 ? 0 : 1;
} catch (const dlc::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.status();
}
