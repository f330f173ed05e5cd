//===- EnqueueTime.cpp - What enqueueing a run costs its caller -------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// enqueue-time MODEL.bin DEVICE: the time of dlc_context_enqueue on the host, of a run that finds
// nobody in line (soon after the one before it, or after a pause in which the thread of the CPU's
// runs has gone to sleep), and of the last of sixteen in line. Symbolic dims are the smallest;
// arrays for a GPU lie in its memory, two sets of them in turn.
//===--------------------------------------------------------------------------------------===//
#include "dlc/dlc.hpp"
#include "runtime/cuda/driver/Device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

using Clock = std::chrono::steady_clock;

namespace {

/// The arrays of one run.
class Arrays {
public:
  Arrays(const std::vector<dlc::ValueInfo> &values, const dlc::Context &context, bool isOutput,
         dlc::cuda::GpuDevice *gpu) {
    for (size_t i = 0; i < values.size(); ++i) {
      dlc::Shape shape = isOutput ? context.outputShape(i) : values[i].minDims;
      size_t bytes = dlc_dtype_size(values[i].dtype);
      for (int64_t extent : shape)
        bytes *= static_cast<size_t>(extent);
      if (!gpu) {
        host.emplace_back(bytes + 64);
        void *data = host.back().data();
        size_t room = host.back().size();
        tensors.emplace_back(shape, values[i].dtype, std::align(64, bytes, data, room), bytes);
        continue;
      }
      dlc::cuda::ContextScope scope(*gpu);
      dlc::cuda::DevicePtr pointer = 0;
      if (gpu->driver().memAlloc(&pointer, bytes) != dlc::cuda::Result::Success ||
          gpu->driver().memsetD8Async(pointer, 0, bytes, nullptr) != dlc::cuda::Result::Success)
        throw dlc::Error(DLC_DEVICE, "not enough GPU memory");
      gpu->driver().streamSynchronize(nullptr);
      tensors.emplace_back(shape, values[i].dtype, reinterpret_cast<void *>(pointer), bytes,
                           DLC_MEMORY_DEVICE);
    }
  }

  std::vector<dlc::Tensor> tensors;

private:
  std::vector<std::vector<char>> host;
};

} // namespace

int main(int argc, char **argv) try {
  if (argc != 3) {
    std::fprintf(stderr, "usage: enqueue-time MODEL.bin DEVICE\n");
    return 2;
  }
  dlc::Model model(argv[1]);
  dlc::Context context(model, argv[2]);
  std::shared_ptr<dlc::cuda::GpuDevice> gpu;
  if (std::strncmp(argv[2], "cuda", 4) == 0)
    gpu = *dlc::cuda::GpuDevice::open(0);
  std::vector<dlc::Tensor> shapes;
  for (const dlc::ValueInfo &input : model.inputs())
    shapes.emplace_back(input.minDims, input.dtype);
  context.prepare(shapes);
  std::vector<Arrays> inputs, outputs;
  for (int i = 0; i < 2; ++i) {
    inputs.emplace_back(model.inputs(), context, false, gpu.get());
    outputs.emplace_back(model.outputs(), context, true, gpu.get());
  }
  std::vector<std::vector<dlc::Tensor>> to = {outputs[0].tensors, outputs[1].tensors};
  struct {
    const char *title;
    int line;
    bool areTheSame;
    std::chrono::microseconds pause;
  } cases[] = {{"nobody in line", 1, true, {}},
               {"nobody in line, changing arrays", 1, false, {}},
               {"nobody in line, after a pause", 1, true, std::chrono::microseconds(500)},
               {"the last of 16 in line", 16, true, {}},
               {"the last of 16 in line, changing arrays", 16, false, {}}};
  for (auto [title, line, areTheSame, pause] : cases) {
    std::vector<double> times;
    for (int round = 0; round < 1000; ++round) {
      std::this_thread::sleep_for(pause);
      double last = 0;
      for (int i = 0; i < line; ++i) {
        size_t set = areTheSame ? 0 : static_cast<size_t>(i + round) % 2;
        const std::vector<dlc::Tensor> &in = inputs[set].tensors;
        Clock::time_point begin = Clock::now();
        dlc::check(dlc_context_enqueue(context.get(), in.data(), in.size(), to[set].data(),
                                       to[set].size(), nullptr, nullptr));
        last = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
      }
      times.push_back(last);
      context.synchronize();
    }
    std::sort(times.begin(), times.end());
    std::printf("%s: least = %.2f us, median = %.2f us (%.2f .. %.2f)\n", title, times.front(),
                times[times.size() / 2], times[times.size() / 20], times[times.size() * 19 / 20]);
  }
  return 0;
} catch (const dlc::Error &error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return error.status();
}
