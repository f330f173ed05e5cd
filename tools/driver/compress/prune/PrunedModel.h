//===- PrunedModel.h - A model whose weights change, and its files ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEDMODEL_H
#define DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEDMODEL_H

#include "passes/compress/prune/BlockMask.h"
#include "tools/driver/compress/WeightImage.h"
#include "tools/driver/source/ImportAsText.h"

#include "llvm/ADT/StringMap.h"

namespace dlc {

/// A model of dlc prune, the text that it gets, and the numbers of its weights, which may change.
class PrunedModel {
public:
  static constexpr llvm::StringLiteral kBefore = "@before";

  /// Where a dl.weight's numbers are.
  struct Place {
    std::string path; // in the new model
    size_t file;
    const frontend::StoredTensor *tensor;
    bool isTransposed; // against the op
  };

  /// Imports the model and reads its weights. An ExitCode, reported unless it is kOk.
  int open(const PruneOptions &options);

  mlir::ModuleOp module() const { return *model.module; }
  /// Null for a weight that the new text does not name.
  const Place *find(llvm::StringRef weight) const;
  /// As the file holds them.
  StoredNumbers numbersOf(const Place &place);
  /// The number of the file that is number `position` of the op's weight.
  static uint64_t positionInFile(const Place &place, uint64_t position);
  /// The blocks of a weight of `place` as the file holds it.
  static WeightBlocks blocksInFile(const Place &place, const PrunableWeight &weight);
  /// The runs of the op's weight as the file holds it; nothing where they are none there.
  static std::optional<SumRuns> runsInFile(const Place &place, std::optional<SumRuns> runs);

  /// The bytes of a weight as they are now, in the order of the op.
  std::vector<uint8_t> bytesNow(const Place &place) const {
    return bytesIn(files[place.file].image, place);
  }
  /// From now on the numbers change, and those of now are the ones before.
  void keepBefore();
  /// Lets the weights of `copy`, a clone of the module, come from `readNow`.
  void readFromHere(mlir::ModuleOp copy) const;
  /// The same of a weight of such a copy: a codegen::ReadPacked. A name that ends in kBefore stands
  /// for the weight as its file had it.
  mlir::FailureOr<std::vector<uint8_t>> readNow(mlir::Operation *weight, llvm::StringRef file,
                                                llvm::StringRef name);

  /// Writes the text and the weights; an ExitCode, reported unless it is kOk.
  int write(const PruneOptions &options);
  /// Writes the module, which has changed, as dlc import does. `numbers` are those of its weights
  /// by name, in the order of the ops.
  int writeChanged(const PruneOptions &options,
                   const llvm::StringMap<std::vector<uint8_t>> &numbers, ImportedText &written);

private:
  /// A weights file to be written.
  struct File {
    std::string path;
    WeightImage image;
  };

  int readText(const PruneOptions &options);
  int readOnnx(const PruneOptions &options);
  int addFile(const std::string &path, llvm::Expected<WeightImage> image);

  static std::vector<uint8_t> bytesIn(const WeightImage &image, const Place &place);

  ImportedModel model;
  std::string text; // of the new model
  std::vector<File> files, filesBefore;
  llvm::StringMap<Place> places; // by the name of a dl.weight
};

} // namespace dlc

#endif // DLC_TOOLS_DRIVER_COMPRESS_PRUNE_PRUNEDMODEL_H
