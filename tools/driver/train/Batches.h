//===- Batches.h - A data set in batches, shuffled ----------------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_TRAIN_BATCHES_H
#define DLC_TOOLS_DRIVER_TRAIN_BATCHES_H

#include "tools/driver/run/Tensors.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace dlc {

/// The arrays of a data set, named like the inputs of a model, with one row for each sample.
/// Problems are reported; the ExitCode says which kind.
class Batches {
public:
  /// Reads "FILE.npz", whose arrays are named like the inputs, and "INPUT=FILE" for single arrays.
  /// Numbers are converted to the dtype of the input, and rows are reshaped to its dims. `classes`
  /// has the number of classes of each target that holds classes. Such a target may also hold -100,
  /// which means no class.
  int open(const std::vector<std::string> &texts, dlc_module *module,
           const std::map<std::string, int64_t> &classes);
  int64_t numSamples() const { return samples; }
  /// Sets the rows of a batch; kUsage if the model does not take so many. If the rest of the
  /// samples is smaller than any batch that the model takes, the rest is left out.
  int setBatch(int64_t most);
  /// Returns the largest batch of at most `most` rows that the data and the model allow.
  int64_t batchUpTo(int64_t most) const { return std::min({most, samples, largest}); }
  int64_t numBatches() const { return (samples + (isFixed ? 0 : batch - 1)) / batch; }

  /// Begins again, in an order that depends only on `seed`.
  void shuffle(uint64_t seed);
  void inOrder();
  /// Leaves out the first `batches`.
  void skip(int64_t batches) { position = std::min(samples, batches * batch); }
  /// The inputs of the next batch, valid until the next call; false at the end.
  bool next(std::vector<dlc_tensor> &inputs);
  int64_t rows() const { return given; }

private:
  struct Source {
    std::string name;
    HostTensor all;   // of the input's dtype, one row a sample
    HostTensor batch; // what next() gave
  };
  int read(const std::vector<std::string> &texts, const dlc_value_info &info, int64_t classes,
           Source &source);

  std::vector<Source> sources;
  std::vector<int64_t> order;
  int64_t samples = 0, batch = 64, position = 0, given = 0;
  int64_t least = 1, largest = INT64_MAX; // that the model takes
  bool isFixed = false;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_TRAIN_BATCHES_H
