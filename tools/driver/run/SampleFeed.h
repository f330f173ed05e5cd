//===- SampleFeed.h - Samples of a data set, batch by batch -------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A data set is an .npz of arrays by the names of a model's inputs, one row a sample. An array of
// the input's rank has its samples along the first dim, and batches are cut from it; an array of
// one dim more holds a whole input in each row. It is on the C API alone. Problems are reported as
// they occur; the ExitCode says which kind.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_TOOLS_DRIVER_RUN_SAMPLEFEED_H
#define DLC_TOOLS_DRIVER_RUN_SAMPLEFEED_H

#include "tools/driver/run/Tensors.h"

#include <map>
#include <string>
#include <vector>

namespace dlc {

class SampleFeed {
public:
  /// The most rows of a batch unless setBatch says otherwise.
  static constexpr int64_t kDefaultBatch = 64;

  /// The first `ownInputs` inputs of each module are the caller's: the data do not have them, and
  /// next() leaves them out.
  explicit SampleFeed(size_t ownInputs = 0) : ownInputs(ownInputs) {}

  /// Reads the .npz (or the .npy, where the model has one input) and checks it against the module's
  /// inputs. kUsage where an array is missing, empty, of another dtype or of dims that do not fit,
  /// or holds NaN or infinities; kDevice and kIncompatible where the file cannot be read.
  int open(const std::string &path, dlc_module *module);
  /// Random inputs instead of a file, `samples` of them, each a whole input of the smallest dims
  /// that all of the modules take. The modules' inputs have the same names, dtypes and ranks.
  int fillRandom(int64_t samples, const std::vector<dlc_module *> &modules);
  /// Narrows the batches to those that this module takes, too: its inputs have the names, dtypes
  /// and ranks of the first one's. kUsage where the data or the batches do not fit it.
  int addModule(dlc_module *module);

  /// Rows of each array.
  int64_t numSamples() const { return samples; }
  /// The sizes that a batch may have; where they are equal it is fixed.
  int64_t smallestBatch() const { return smallest; }
  int64_t largestBatch() const { return largest; }
  /// Batches have at most `most` rows, as far as the modules allow it, from the next rewind() on.
  void setBatch(int64_t most);

  /// The inputs of the next batch, in the order of the first module: pointers into arrays that live
  /// as long as the feed. False at the end, with `views` as they were.
  bool next(std::vector<dlc_tensor> &views);
  /// Samples of the batch that next() has given.
  int64_t rows() const { return given; }
  void rewind() { position = 0; }
  /// How many of the samples no batch takes: those at the end that are fewer than the smallest.
  int64_t numLeftOut() const;

private:
  struct Source {
    std::string name;
    HostTensor array;
    bool isWhole; // each row is a whole input
  };
  /// The number that a symbol was fixed to, and where.
  struct Binding {
    int64_t value;
    std::string where;
  };
  using Bindings = std::map<std::string, Binding>;

  int read(const dlc_value_info &info);
  int checkNumbers(const Source &source) const;
  int checkDims(const Source &source, const dlc_value_info &info, Bindings &bindings) const;
  int narrow(const Source &source, const dlc_value_info &info, const Bindings &bindings);
  std::string describe(const Source &source) const;
  int failDims(const Source &source, const dlc_value_info &info, const std::string &why) const;
  /// Rows of the batch that begins where `left` rows are left; 0 where none fits.
  int64_t batchOf(int64_t left) const;

  size_t ownInputs;
  std::string file;
  std::vector<Source> sources; // in the order of the first module's inputs
  int64_t samples = 0, position = 0, given = 0;
  int64_t smallest = 1, largest = INT64_MAX, most = kDefaultBatch;
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_RUN_SAMPLEFEED_H
