//===- Sample.cpp - Ops of ONNX that crop images and read between their elements ----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/SampleSteps.h"

using namespace mlir;

namespace dlc::onnx {

//===- Crops ----------------------------------------------------------------------------------===//

/// Each axis to a size, from the middle: cut, or filled up with zeros; the odd element goes behind.
static bool buildCenterCropPad(NodeImport &node) {
  auto sizes = node.integers(1, "the sizes");
  int64_t rank = node.rank(0);
  SmallVector<int64_t> axes = node.integerList("axes");
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (!sizes)
    return false;
  if (sizes->size() != axes.size())
    return node.fail("it has " + llvm::Twine(sizes->size()) + " sizes for " +
                     llvm::Twine(axes.size()) + " axes");
  Item y = node.tensor(0);
  SmallVector<int64_t> pads(2 * rank);
  for (auto [given, wanted] : llvm::zip(axes, *sizes)) {
    auto axis = node.axis(given, rank);
    if (!axis)
      return false;
    auto size = dl::asConstant(node.dims(0)[*axis]);
    if (!size)
      return node.unsupported("it crops a symbolic dim of " + node.typeText(0),
                              "; dlc needs its number");
    if (wanted < 0 || wanted > INT32_MAX)
      return node.fail("it has a size of " + llvm::Twine(wanted) + "; expected 0 to 2^31 - 1");
    int64_t more = wanted - *size, low = std::abs(more) / 2;
    if (more < 0)
      y = node.call("slice", {y},
                    {{"dim", item(*axis)}, {"start", item(low)}, {"end", item(low + wanted)}});
    if (more > 0) {
      pads[2 * (rank - 1 - *axis)] = low;
      pads[2 * (rank - 1 - *axis) + 1] = more - low;
    }
  }
  if (llvm::any_of(pads, [](int64_t width) { return width != 0; }))
    y = node.call("pad", {y, itemList(pads)});
  node.set(0, y);
  return !node.hasFailed();
}

//===- Grids ----------------------------------------------------------------------------------===//

/// Where the elements of a dim lie between -1 and 1, which are the middles of the outermost ones
/// (`aligns`) or their borders. A single one lies at 0, as in PyTorch.
static Item placesOf(NodeImport &node, int64_t size, bool aligns, Type dtype) {
  auto count = static_cast<double>(size);
  double step = aligns ? (size > 1 ? 2 / (count - 1) : 0) : 2 / count;
  Item i = node.cast(node.call("arange", {item(size)}), dtype);
  return node.call("add", {node.call("mul", {i, node.scalar(step, dtype)}),
                           node.scalar(aligns && size > 1 ? -1 : -1 + 1 / count, dtype)});
}

/// theta [N, 2, 3] or [N, 3, 4] times the places of an image of the size [N, C, (D,) H, W], x
/// first.
static bool buildAffineGrid(NodeImport &node) {
  bool aligns = node.integer("align_corners", 0) != 0;
  auto size = node.integers(1, "the size");
  Item theta = node.tensor(0);
  if (!size || node.hasFailed())
    return false;
  auto spatial = static_cast<int64_t>(size->size()) - 2;
  dl::Dims dims = node.dims(0);
  if ((spatial != 2 && spatial != 3) || dims.size() != 3 || !dl::isConstant(dims[1], spatial) ||
      !dl::isConstant(dims[2], spatial + 1) ||
      llvm::any_of(*size, [](int64_t n) { return n < 1 || n > INT32_MAX; }))
    return node.fail("it takes theta [N, 2, 3] and a size of 4 numbers, or [N, 3, 4] and 5, got " +
                     node.typeText(0) + " and " + llvm::Twine(size->size()));
  Type dtype = node.dtype(0);
  dl::Dims image;
  for (int64_t n : ArrayRef(*size).drop_front(2))
    image.push_back(node.dim(n));
  Item::List parts;
  for (int64_t i = spatial; i-- > 0;) {
    dl::Dims along(spatial, node.dim(1));
    along[i] = image[i];
    Item places = node.reshape(placesOf(node, (*size)[2 + i], aligns, dtype), along);
    parts.push_back(node.broadcast(places, image));
  }
  parts.push_back(
      node.broadcast(node.reshape(node.scalar(1, dtype), dl::Dims(spatial, node.dim(1))), image));
  AffineExpr count = dl::product(image, node.context);
  Item base = node.reshape(node.call("stack", {{parts, {}}, item(int64_t(-1))}),
                           {count, node.dim(spatial + 1)});
  Item grid = node.call("matmul", {base, node.permute(theta, {0, 2, 1})});
  dl::Dims result{dims[0]};
  result.append(image);
  result.push_back(node.dim(spatial));
  node.set(0, node.reshape(grid, result));
  return !node.hasFailed();
}

/// ONNX's names of the modes changed in opset 20.
static bool buildGridSample(NodeImport &node) {
  constexpr int64_t kMostDims = 5; // each one beside N and C doubles or quadruples what is read
  Item x = node.tensor(0), grid = node.tensor(1);
  bool aligns = node.integer("align_corners", 0) != 0;
  std::string mode = node.string("mode", "linear"), padding = node.string("padding_mode", "zeros");
  if (node.hasFailed())
    return false;
  if (node.isDerived())
    return buildSampleSteps(node, x, grid);
  if (node.rank(0) > kMostDims)
    return node.unsupported("it reads between elements of " + node.typeText(0),
                            "; dlc takes up to three dims after the channels");
  std::string torchMode = mode == "linear" ? "bilinear" : mode == "cubic" ? "bicubic" : mode;
  node.set(0, node.call("grid_sample", {x, grid},
                        {{"mode", item(StringRef(torchMode))},
                         {"padding_mode", item(StringRef(padding))},
                         {"align_corners", item(aligns)}}));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> sampleRules() {
  static const OddRule rules[] = {{"CenterCropPad", 18, buildCenterCropPad},
                                  {"AffineGrid", 20, buildAffineGrid},
                                  {"GridSample", 16, buildGridSample}};
  return rules;
}

} // namespace dlc::onnx
