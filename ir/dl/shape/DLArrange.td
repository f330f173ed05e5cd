//===- DLArrange.td - Ops that shift, turn, repeat and mask elements --------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef DLC_IR_DL_DLARRANGE_TD
#define DLC_IR_DL_DLARRANGE_TD

include "ir/dl/shape/DLShape.td"

def DL_RollOp : DL_MoveOp<"roll", [{roll(Tensor x, int[1] shifts, int[1] dims)
roll(Tensor x, int[] shifts, int[] dims)
roll(Tensor x, int[1] shifts)}]> {
  let summary = "Elements shifted along dims, those that leave coming in again";
  let description = [{
    Without `dims`, along the flattened tensor. PyTorch: `torch.roll`.
    ```mlir
    %y = dl.roll %x {shifts = array<i64: 2>, dims = array<i64: 1>} : (tensor<4x8xf32>) ->
        tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DenseI64ArrayAttr:$shifts,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$dims);
}

def DL_FlipOp : DL_MoveOp<"flip", "flip(Tensor x, int[] dims)"> {
  let summary = "Dims from the end to the begin";
  let description = [{
    PyTorch: `torch.flip`.
    ```mlir
    %y = dl.flip %x {dims = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DenseI64ArrayAttr:$dims);
}

def DL_RepeatOp : DL_MoveOp<"repeat",
                            "repeat(Tensor x, int[] repeats)\ntile(Tensor x, int[] repeats)"> {
  let summary = "The tensor again and again along its dims";
  let description = [{
    One number for each dim; more of them add leading dims, and dims without one are not repeated.
    PyTorch: `Tensor.repeat`, `torch.tile`.
    ```mlir
    %y = dl.repeat %x {repeats = array<i64: 2, 1, 3>} : (tensor<4x8xf32>) -> tensor<2x4x24xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, DenseI64ArrayAttr:$repeats);
}

def DL_RepeatInterleaveOp : DL_MoveOp<"repeat_interleave",
                                      "repeat_interleave(Tensor x, int repeats, int dim)"> {
  let summary = "Each index of a dim so many times";
  let description = [{
    PyTorch: `torch.repeat_interleave` with one number of repeats.
    ```mlir
    %y = dl.repeat_interleave %x {repeats = 2 : i64, dim = 1 : i64} : (tensor<4x8xf32>) ->
        tensor<4x16xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$repeats, I64Attr:$dim);
}

def DL_UnfoldDimOp : DL_MoveOp<"unfold_dim",
                               "unfold(Tensor self, int dimension, int size, int step)"> {
  let summary = "The slices of a dim that a window of size elements shows, step apart";
  let description = [{
    `dimension` becomes the number of windows; their elements are a new last dim. PyTorch:
    `Tensor.unfold`, a method alone.
    ```mlir
    %y = dl.unfold_dim %x {dimension = 0 : i64, size = 3 : i64, step = 2 : i64} :
        (tensor<9x8xf32>) -> tensor<4x8x3xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$dimension, I64Attr:$size, I64Attr:$step);
}

def DL_PixelUnshuffleOp : DL_MoveOp<"pixel_unshuffle",
                                    "pixel_unshuffle(Tensor x, int downscale_factor)"> {
  let summary = "Squares of pixels gathered into channels";
  let description = [{
    [..., C, H*r, W*r] becomes [..., C*r*r, H, W]. PyTorch: `torch.nn.functional.pixel_unshuffle`.
    ```mlir
    %y = dl.pixel_unshuffle %x {downscale_factor = 2 : i64} : (tensor<1x2x6x10xf32>) ->
        tensor<1x8x3x5xf32>
    ```
  }];
  let arguments = (ins DL_AnyTensor:$x, I64Attr:$downscale_factor);
}

class DL_TriangleOp<string mnemonic, string predicate>
    : DL_LoopOp<mnemonic, mnemonic # "(Tensor x, int diagonal=0)", ["emitResult"]> {
  let arguments = (ins DL_AnyTensor:$x, DefaultValuedAttr<I64Attr, "0">:$diagonal);
  let results = (outs DL_AnyTensor:$y);
  let extraClassDefinition = compatibleDefinition # [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location> location, Adaptor adaptor,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      return ::dlc::dl::inferTriangle(getOperationName(), location, adaptor.getX(), types);
    }
    ::dlc::LoopNest $cppClass::getLoopNest() { return ::dlc::dl::triangleNest(*this); }
    ::mlir::Value $cppClass::emitResult(::dlc::BodyContext &context, ::mlir::ValueRange args,
                                        ::mlir::ValueRange) {
      return ::dlc::dl::emitTriangle(context, args.front(), getX(), getDiagonal(),
                                     ::mlir::arith::CmpIPredicate::}] #
      predicate # [{);
    }
  }];
}

def DL_TrilOp : DL_TriangleOp<"tril", "sle"> {
  let summary = "Zeros above a diagonal of the last two dims";
  let description = [{
    `diagonal` counts from the main one upwards. PyTorch: `torch.tril`.
    ```mlir
    %y = dl.tril %x {diagonal = -1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}
def DL_TriuOp : DL_TriangleOp<"triu", "sge"> {
  let summary = "Zeros below a diagonal of the last two dims";
  let description = [{
    `diagonal` counts from the main one upwards. PyTorch: `torch.triu`.
    ```mlir
    %y = dl.triu %x {diagonal = 1 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ```
  }];
}

#endif // DLC_IR_DL_DLARRANGE_TD
