//===- Patch.cpp - Patches and regions of images, of ONNX ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===------------------------------------------------------------------------------------------===//
#include "frontend/Spelling.h"
#include "frontend/onnx/OpRules.h"
#include "frontend/onnx/ops/Windows.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace dlc::onnx {

//===- Patches --------------------------------------------------------------------------------===//

/// Patches laid over an image that is as much larger as its pads say, which then go.
static bool buildCol2Im(NodeImport &node) {
  auto image = node.integers(1, "the image's size"), block = node.integers(2, "the block's size");
  SmallVector<int64_t> dilation = node.integerList("dilations"), pads = node.integerList("pads"),
                       stride = node.integerList("strides");
  Item x = node.tensor(0);
  if (!image || !block || node.hasFailed())
    return false;
  size_t spatial = image->size();
  if (dilation.empty())
    dilation.assign(spatial, 1);
  if (stride.empty())
    stride.assign(spatial, 1);
  if (pads.empty())
    pads.assign(2 * spatial, 0);
  if (spatial == 0 || block->size() != spatial || dilation.size() != spatial ||
      stride.size() != spatial || pads.size() != 2 * spatial)
    return node.fail("it has " + llvm::Twine(spatial) + ", " + llvm::Twine(block->size()) + ", " +
                     llvm::Twine(dilation.size()) + ", " + llvm::Twine(stride.size()) + " and " +
                     llvm::Twine(pads.size()) +
                     " numbers of its image, block, dilations, strides and pads; expected as many "
                     "of each, and twice as many pads");
  auto isWrong = [](int64_t n) { return n < 0 || n > INT32_MAX; };
  if (llvm::any_of(*image, isWrong) || llvm::any_of(pads, isWrong))
    return node.fail("its image and pads have numbers beyond 0 to 2^31 - 1");
  dl::Dims sizes;
  for (size_t i = 0; i < spatial; ++i)
    sizes.push_back(node.dim((*image)[i] + pads[i] + pads[spatial + i]));
  SmallVector<int64_t> none(spatial, 0);
  Item y = node.call("col2im", {x, dimItems(sizes), itemList(*block), itemList(dilation),
                                itemList(none), itemList(stride)});
  for (size_t i = 0; i < spatial; ++i)
    if (pads[i] || pads[spatial + i])
      y = node.call("slice", {y},
                    {{"dim", item(static_cast<int64_t>(2 + i))},
                     {"start", item(pads[i])},
                     {"end", item(pads[i] + (*image)[i])}});
  node.set(0, y);
  return !node.hasFailed();
}

/// Largest values back where they stood: indices count the elements of the whole tensor, of the
/// size that the pool had at least; a larger output_shape adds zeros behind.
static bool buildMaxUnpool(NodeImport &node) {
  auto window = readWindow(node, node.dims(0), {});
  int64_t rank = node.rank(0);
  std::optional<SmallVector<int64_t>> shape;
  if (node.has(2) && !(shape = node.integers(2, "the result's shape")))
    return false;
  Item x = node.tensor(0), indices = node.tensor(1);
  if (!window || node.hasFailed())
    return false;
  if (rank > 5)
    return node.unsupported("it fills " + node.typeText(0), "; dlc takes 1 to 3 spatial dims");
  if (shape && static_cast<int64_t>(shape->size()) != rank)
    return node.fail("its result's shape has " + llvm::Twine(shape->size()) +
                     " numbers; expected " + llvm::Twine(rank));
  dl::Dims in = node.dims(0), image;
  SmallVector<int64_t> behind;
  bool isLarger = false;
  for (int64_t i = 0; i < rank - 2; ++i) {
    image.push_back(dl::normalize((in[2 + i] - 1) * window->stride[i] + window->kernel[i] -
                                  window->low[i] - window->high[i]));
    auto size = dl::asConstant(image.back());
    if (shape && (!size || (*shape)[2 + i] < *size || (*shape)[2 + i] > INT32_MAX))
      return node.unsupported("its result's shape is smaller than " + node.text(image.back()) +
                                  " in dim " + llvm::Twine(2 + i),
                              "; dlc takes larger ones");
    behind.push_back(shape ? (*shape)[2 + i] - *size : 0);
    isLarger |= behind.back() != 0;
  }
  AffineExpr plane = dl::product(image, node.context);
  Item size =
      node.call("scalar_tensor", {Item::dim(plane, {}), item(Type(node.builder.getI64Type()))});
  Item places = node.call("remainder", {node.cast(indices, node.builder.getI64Type()), size});
  Item y = node.call("max_unpool" + std::to_string(rank - 2) + "d", {x, places},
                     {{"kernel_size", itemList(window->kernel)}, {"output_size", dimItems(image)}});
  if (isLarger) {
    SmallVector<int64_t> widths;
    for (int64_t width : llvm::reverse(behind)) {
      widths.push_back(0);
      widths.push_back(width);
    }
    y = node.call("pad", {y, itemList(widths)});
  }
  node.set(0, y);
  return !node.hasFailed();
}

//===- Regions --------------------------------------------------------------------------------===//

/// Regions in rows of their own, the images that they are of in another tensor.
static bool buildRoiAlign(NodeImport &node) {
  // Before opset 16 elements stood at whole numbers.
  std::string transformation = node.string("coordinate_transformation_mode",
                                           node.opset < 16 ? "output_half_pixel" : "half_pixel");
  std::string mode = node.string("mode", "avg");
  SmallVector<int64_t> size = {node.integer("output_height", 1), node.integer("output_width", 1)};
  int64_t ratio = node.integer("sampling_ratio", 0);
  double scale = node.real("spatial_scale", 1.0);
  Item x = node.tensor(0), rois = node.tensor(1), images = node.tensor(2);
  if (node.hasFailed())
    return false;
  if (transformation != "half_pixel" && transformation != "output_half_pixel")
    return node.fail("its coordinate_transformation_mode is " + frontend::quote(transformation) +
                     "; expected half_pixel or output_half_pixel");
  dl::Dims dims = node.dims(2);
  if (dims.size() != 1)
    return node.fail("it takes one image's number for each region, got " + node.typeText(2));
  Item column = node.reshape(node.cast(images, node.dtype(1)), {dims[0], node.dim(1)});
  Item boxes = node.call("cat", {{Item::List{column, rois}, {}}, item(int64_t(1))});
  node.set(0, node.call("roi_align", {x, boxes},
                        {{"output_size", itemList(size)},
                         {"spatial_scale", item(scale)},
                         {"sampling_ratio", item(ratio)},
                         {"aligned", item(transformation == "half_pixel")},
                         {"mode", item(StringRef(mode))}}));
  return !node.hasFailed();
}

static bool buildDeformConv(NodeImport &node) {
  dl::Dims weight = node.dims(1);
  SmallVector<int64_t> kernel;
  for (AffineExpr dim : ArrayRef<AffineExpr>(weight).drop_front(std::min<size_t>(2, weight.size())))
    kernel.push_back(dl::asConstant(dim).value_or(0));
  auto window = readWindow(node, node.dims(0), kernel);
  int64_t groups = node.integer("group", 1), shared = node.integer("offset_group", 1);
  Item x = node.tensor(0), w = node.tensor(1), offset = node.tensor(2);
  if (!window || node.hasFailed())
    return false;
  if (kernel.size() != 2 || node.rank(0) != 4 || node.rank(2) != 4)
    return node.unsupported("it takes " + node.typeText(0) + " and " + node.typeText(1),
                            "; dlc shifts taps of two spatial dims");
  // The groups follow from the channels.
  auto channels = dl::asConstant(node.dims(0)[1]), taken = dl::asConstant(weight[1]),
       shifts = dl::asConstant(node.dims(2)[1]);
  auto isMultiple = [](int64_t of, std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (int64_t factor : factors)
      if (llvm::MulOverflow(product, factor, product))
        return false;
    return of == product;
  };
  if (!channels || !taken || !shifts || !isMultiple(*channels, {*taken, groups}) ||
      !isMultiple(*shifts, {2, shared, kernel[0], kernel[1]}))
    return node.fail("its channels are not those of group " + llvm::Twine(groups) +
                     " and offset_group " + llvm::Twine(shared) + ": " + node.typeText(0) + ", " +
                     node.typeText(1) + ", " + node.typeText(2));
  if (!window->isSymmetric()) {
    x = padded(node, x, *window, 0);
    window->low.assign(2, 0);
  }
  std::vector<std::pair<StringRef, Item>> named{{"stride", itemList(window->stride)},
                                                {"padding", itemList(window->low)},
                                                {"dilation", itemList(window->dilation)}};
  if (node.has(3))
    named.push_back({"bias", node.tensor(3)});
  if (node.has(4))
    named.push_back({"mask", node.tensor(4)});
  node.set(0, node.call("deform_conv2d", {x, offset, w}, named));
  return !node.hasFailed();
}

llvm::ArrayRef<OddRule> patchRules() {
  static const OddRule rules[] = {{"Col2Im", 18, buildCol2Im},
                                  {"MaxUnpool", 9, buildMaxUnpool},
                                  {"RoiAlign", 10, buildRoiAlign},
                                  {"DeformConv", 19, buildDeformConv}};
  return rules;
}

} // namespace dlc::onnx
