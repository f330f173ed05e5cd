// RUN: dlc-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(assign-layouts)))' | FileCheck %s
// Several groups of 2, 4 or 8 channels make a vector on the CPU, whose convolutions of f32 read
// them together: they lie channels last. Groups of 3 fill none, bytes and halves have other
// kernels, and on CUDA a thread computes neighbours along the image.
module {
module @cpu {
// CHECK-LABEL: @vectors
// CHECK: dl.conv2d {{.*}}groups = 4{{.*}} -> tensor<1x32x4x4xf32, #dl.t<[1, 32, 4, 4], order = [0, 2, 3, 1]>>
// CHECK-NOT: dl.convert_layout
// CHECK: dl.conv2d {{.*}}groups = 8{{.*}} -> tensor<1x32x2x2xf32, #dl.t<[1, 32, 2, 2], order = [0, 2, 3, 1]>>
func.func @vectors(%x: tensor<1x32x6x6xf32>, %w: tensor<32x8x3x3xf32>, %v: tensor<32x4x3x3xf32>) -> tensor<1x32x2x2xf32> {
  %0 = dl.conv2d %x, %w {groups = 4 : i64} : (tensor<1x32x6x6xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x4x4xf32>
  %1 = dl.conv2d %0, %v {groups = 8 : i64} : (tensor<1x32x4x4xf32>, tensor<32x4x3x3xf32>) -> tensor<1x32x2x2xf32>
  return %1 : tensor<1x32x2x2xf32>
}
// CHECK-LABEL: @others
// CHECK-NOT: order = [0, 2, 3, 1]
// CHECK: return
func.func @others(%x: tensor<1x12x6x6xf32>, %w: tensor<12x3x3x3xf32>, %h: tensor<1x16x6x6xf16>, %v: tensor<16x4x3x3xf16>, %u: tensor<24x4x3x3xf32>) -> (tensor<1x12x4x4xf32>, tensor<1x16x4x4xf16>, tensor<1x24x4x4xf32>) {
  %0 = dl.conv2d %x, %w {groups = 4 : i64} : (tensor<1x12x6x6xf32>, tensor<12x3x3x3xf32>) -> tensor<1x12x4x4xf32>
  %1 = dl.conv2d %h, %v {groups = 4 : i64} : (tensor<1x16x6x6xf16>, tensor<16x4x3x3xf16>) -> tensor<1x16x4x4xf16>
  // Twice as many channels come out of a group as go in.
  %2 = dl.conv2d %x, %u {groups = 3 : i64} : (tensor<1x12x6x6xf32>, tensor<24x4x3x3xf32>) -> tensor<1x24x4x4xf32>
  return %0, %1, %2 : tensor<1x12x4x4xf32>, tensor<1x16x4x4xf16>, tensor<1x24x4x4xf32>
}
}
module @cuda {
// CHECK-LABEL: @rows
// CHECK-NOT: order = [0, 2, 3, 1]
func.func @rows(%x: tensor<1x32x6x6xf32>, %w: tensor<32x8x3x3xf32>) -> tensor<1x32x4x4xf32> {
  %0 = dl.conv2d %x, %w {groups = 4 : i64} : (tensor<1x32x6x6xf32>, tensor<32x8x3x3xf32>) -> tensor<1x32x4x4xf32>
  return %0 : tensor<1x32x4x4xf32>
}
}
}
