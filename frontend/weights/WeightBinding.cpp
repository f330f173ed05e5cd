//===- WeightBinding.cpp - A model's parameters and the tensors of a file -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------------------------------===//
#include "frontend/weights/WeightBinding.h"

#include "frontend/dl/Spelling.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace dlc::frontend {

static std::string hashOf(ArrayRef<uint8_t> bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(bytes);
  return llvm::utohexstr(hash.high64, /*LowerCase=*/true, 16) +
         llvm::utohexstr(hash.low64, true, 16);
}

BoundWeights bindWeights(const Model &model, const SafetensorsFile &file, llvm::SMLoc clause,
                         Diagnostics &diagnostics, MLIRContext *context, bool withHashes) {
  llvm::StringSet<> claimed(llvm::from_range, model.trainingState);
  SmallVector<StringRef> owned;
  for (const auto &[name, layer] : model.layers)
    for (const Parameter &parameter : layer.weights) {
      claimed.insert(parameter.path);
      owned.push_back(parameter.path);
    }
  SmallVector<StringRef> spare;
  for (const StoredTensor &tensor : file.tensors())
    if (!claimed.contains(tensor.name))
      spare.push_back(tensor.name);

  BoundWeights bound;
  bool hasErroneousLayer = false;
  for (const auto &[name, layer] : model.layers) {
    hasErroneousLayer |= !layer.kind;
    for (const Parameter &parameter : layer.weights) {
      if (diagnostics.isFull())
        return bound;
      const StoredTensor *tensor = file.find(parameter.path);
      if (!tensor) {
        diagnostics.error(parameter.loc)
            << "weight " << quote(parameter.path) << " "
            << describe(ElementType::f32, parameter.shape).substr(3) << " is not in "
            << quote(file.path()) << didYouMean(parameter.path, spare);
        continue;
      }
      Type dtype = dtypeOf(nameOf(tensor->type), context);
      if (ArrayRef<int64_t>(tensor->shape) != ArrayRef<int64_t>(parameter.shape)) {
        diagnostics.error(parameter.loc)
            << "weight " << quote(parameter.path) << " is " << describe(tensor->type, tensor->shape)
            << " in " << quote(file.path()) << "; the layer needs "
            << describe(ElementType::f32, parameter.shape).substr(3);
        continue;
      }
      if (!dtype || !isa<FloatType>(dtype)) {
        diagnostics.error(parameter.loc)
            << "weight " << quote(parameter.path) << " has the dtype " << nameOf(tensor->type)
            << " in " << quote(file.path()) << "; expected f64, f32, f16 or bf16";
        continue;
      }
      bound[parameter.path] = {dtype, file.path().str(), tensor->offset,
                               withHashes ? hashOf(file.data(*tensor)) : std::string()};
    }
  }
  // What a layer with errors would own is not known.
  if (!hasErroneousLayer)
    for (StringRef name : spare) {
      if (diagnostics.isFull())
        return bound;
      const StoredTensor *tensor = file.find(name);
      diagnostics.error(clause) << quote(file.path()) << " holds " << quote(name) << " "
                                << describe(tensor->type, tensor->shape) << ", which no layer owns"
                                << didYouMean(name, owned);
    }
  return bound;
}

} // namespace dlc::frontend
