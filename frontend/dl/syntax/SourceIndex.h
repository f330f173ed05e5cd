//===- SourceIndex.h - What the names in a model's text stand for -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Noted by the frontend as it goes, for editors and reports that ask for it (ImportOptions::index);
// it outlives the import.
//===------------------------------------------------------------------------------------------===//
#ifndef DLC_FRONTEND_DL_SYNTAX_SOURCEINDEX_H
#define DLC_FRONTEND_DL_SYNTAX_SOURCEINDEX_H

#include "llvm/ADT/StringMap.h"

#include <cstdint>
#include <string>
#include <vector>

namespace dlc {

/// Line and column count from 1, the column in bytes; line 0 is no place.
struct SourcePlace {
  std::string file;
  unsigned line = 0, column = 0;
  bool operator==(const SourcePlace &) const = default;
};

/// A name in the text.
struct Mention {
  enum class Kind { dim, constant, model, block, layer, value, function, file };
  Kind kind;
  std::string name;
  SourcePlace place;      // where it stands; it is as long as its name
  SourcePlace definition; // the same place for a definition; none for what no text defines
  std::string text;       // what it stands for: "h: f32[N,64]"

  bool isDefinition() const { return place == definition; }
};

/// A layer of the model, as its declaration makes it.
struct LayerFacts {
  struct Weight {
    std::string path; // "conv1.weight"
    std::vector<int64_t> shape;
    bool isBuffer; // kept by training beside what it changes: running means
  };
  std::string path, kind; // "layer1.0.conv1", "Conv2d"
  SourcePlace place;
  std::vector<Weight> weights;
  std::vector<std::string> outputs; // the type that each of its calls gave: "f32[N,64,56,56]"
};

/// Whether training keeps the weight beside those that it changes, by the last part of its name in
/// PyTorch or Keras.
inline bool isStatistic(llvm::StringRef leaf) {
  return leaf.starts_with("running_") || leaf.starts_with("moving_");
}

struct SourceIndex {
  /// In the order in which the frontend came by them; a text that is evaluated twice is noted
  /// twice.
  std::vector<Mention> mentions;
  std::vector<LayerFacts> layers;

  /// Null where no layer has been declared at the path.
  LayerFacts *findLayer(llvm::StringRef path) {
    auto found = layerByPath.find(path);
    return found == layerByPath.end() ? nullptr : &layers[found->second];
  }
  void addLayer(LayerFacts facts) {
    layerByPath[facts.path] = layers.size();
    layers.push_back(std::move(facts));
  }

private:
  llvm::StringMap<size_t> layerByPath;
};

} // namespace dlc

#endif // DLC_FRONTEND_DL_SYNTAX_SOURCEINDEX_H
