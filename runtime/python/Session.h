//===- Session.h - A package on a device -------------------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===--------------------------------------------------------------------------------------===//
#ifndef DLC_RUNTIME_PYTHON_SESSION_H
#define DLC_RUNTIME_PYTHON_SESSION_H

#include "runtime/python/Package.h"
#include "runtime/python/Result.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace dlc::python {

/// A dlc_context. Calls from several threads come one after another; the GIL is free while the
/// model runs.
class Session {
public:
  /// `device` is that of `options`, whose other strings are read here alone. `progress` is None or
  /// called with (done, total).
  Session(std::shared_ptr<Package> package, dlc_context_options options, const std::string &device,
          nanobind::object progress);
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// The model called like a function: its one result, or a tuple of them.
  nanobind::object call(const nanobind::tuple &positional, const nanobind::dict &named);
  /// Results by name. `outputs` are arrays by name to write into, or None; those it lacks are
  /// allocated.
  nanobind::dict run(const nanobind::dict &inputs, const nanobind::object &outputs);
  /// Binds the shapes of all inputs, in their order; the shapes of the outputs.
  nanobind::list prepare(const nanobind::list &shapes);
  void reset();
  /// A NumPy array with what state `index` holds.
  nanobind::object readState(size_t index);
  /// The array in host memory is what state `index` holds in the next run.
  void writeState(size_t index, nanobind::handle array);
  void seed(int64_t seed);
  /// Positions of the model's caches that runs have taken since the last reset.
  int64_t cacheLength();
  void close();

  std::string device();
  std::string remarks();
  /// A tuple for each command of the last run: kernel, kind, microseconds, flops, bytes, start in
  /// microseconds.
  nanobind::list profile();
  double deviceTime();
  nanobind::dict memory();

private:
  class Turn;
  struct Progress;
  /// Throws what the caller's function of progress has thrown since the last time.
  void throwRaised();
  void bind(const std::vector<dlc_tensor> &inputs);
  const int64_t *dimsOf(size_t output) const { return outputDims.data() + output * DLC_MAX_RANK; }
  /// Whether only the run tells the output's dims.
  bool isLeftToContext(size_t output) const;
  std::vector<nanobind::object> execute(const std::vector<nanobind::object> &inputs,
                                        const std::vector<nanobind::object> &outputs);

  std::shared_ptr<Package> package;
  Place place;
  bool isCounted = false;         ///< the data may say how large an output is
  std::unique_ptr<Progress> told; ///< null: nobody listens. The context refers to it
  dlc_context *context = nullptr;

  // One turn at a time. Nobody waits for it with the GIL held.
  std::mutex turn;
  std::atomic<std::thread::id> inTurn{};

  // The last bind: nothing is asked again while the shapes stay.
  bool isBound = false;
  std::vector<int64_t> inputDims, outputDims;
};

} // namespace dlc::python

#endif // DLC_RUNTIME_PYTHON_SESSION_H
