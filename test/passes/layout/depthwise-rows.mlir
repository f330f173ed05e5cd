// RUN: dlc-opt %s --pass-pipeline='builtin.module(builtin.module(func.func(assign-layouts)))' | FileCheck %s
// A depthwise convolution lies as what is around it does, where the target's kernels slide along rows as fast.
module {
module @cuda {
// Between images that are row-major nothing moves.
// CHECK-LABEL: @alone
// CHECK-NOT: dl.convert_layout
// CHECK: dl.conv2d {{.*}} -> tensor<2x32x16x16xf16>
// CHECK-NEXT: dl.relu
// CHECK-NEXT: return
func.func @alone(%x: tensor<2x32x16x16xf16>) -> tensor<2x32x16x16xf16> {
  %w = dl.weight "w" : tensor<32x1x3x3xf16>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<2x32x16x16xf16>, tensor<32x1x3x3xf16>) -> tensor<2x32x16x16xf16>
  %1 = dl.relu %0 : (tensor<2x32x16x16xf16>) -> tensor<2x32x16x16xf16>
  return %1 : tensor<2x32x16x16xf16>
}

// Between other convolutions it lies channels last.
// CHECK-LABEL: @among
// CHECK: dl.conv2d {{.*}} order = [0, 2, 3, 1]
// CHECK-NEXT: dl.conv2d {{.*}} order = [0, 2, 3, 1]{{.*}}-> {{.*}}order = [0, 2, 3, 1]
// CHECK-NEXT: dl.conv2d {{.*}} order = [0, 2, 3, 1]
func.func @among(%x: tensor<2x3x16x16xf16>) -> tensor<2x32x16x16xf16> {
  %v = dl.weight "v" : tensor<32x3x1x1xf16>
  %w = dl.weight "w" : tensor<32x1x3x3xf16>
  %u = dl.weight "u" : tensor<32x32x1x1xf16>
  %0 = dl.conv2d %x, %v : (tensor<2x3x16x16xf16>, tensor<32x3x1x1xf16>) -> tensor<2x32x16x16xf16>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<2x32x16x16xf16>, tensor<32x1x3x3xf16>) -> tensor<2x32x16x16xf16>
  %2 = dl.conv2d %1, %u : (tensor<2x32x16x16xf16>, tensor<32x32x1x1xf16>) -> tensor<2x32x16x16xf16>
  return %2 : tensor<2x32x16x16xf16>
}

// What is converted for the convolution after it is converted before it, by the kernel of a map.
// CHECK-LABEL: @after_a_map
// CHECK: dl.relu
// CHECK-NEXT: dl.convert_layout
// CHECK-NEXT: dl.conv2d {{.*}} order = [0, 2, 3, 1]{{.*}}-> {{.*}}order = [0, 2, 3, 1]
// CHECK-NOT: dl.convert_layout
// CHECK: return
func.func @after_a_map(%x: tensor<2x32x16x16xf16>) -> tensor<2x32xf16> {
  %w = dl.weight "w" : tensor<32x1x3x3xf16>
  %u = dl.weight "u" : tensor<32x32x1x1xf16>
  %0 = dl.relu %x : (tensor<2x32x16x16xf16>) -> tensor<2x32x16x16xf16>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<2x32x16x16xf16>, tensor<32x1x3x3xf16>) -> tensor<2x32x16x16xf16>
  %2 = dl.conv2d %1, %u : (tensor<2x32x16x16xf16>, tensor<32x32x1x1xf16>) -> tensor<2x32x16x16xf16>
  %3 = dl.mean %2 {dim = array<i64: 2, 3>} : (tensor<2x32x16x16xf16>) -> tensor<2x32xf16>
  return %3 : tensor<2x32xf16>
}

// Rows of 14 are no whole vectors.
// CHECK-LABEL: @odd_rows
// CHECK: dl.convert_layout %arg0
func.func @odd_rows(%x: tensor<2x32x14x14xf16>) -> tensor<2x32x14x14xf16> {
  %w = dl.weight "w" : tensor<32x1x3x3xf16>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<2x32x14x14xf16>, tensor<32x1x3x3xf16>) -> tensor<2x32x14x14xf16>
  return %0 : tensor<2x32x14x14xf16>
}

// Columns that lie apart are no vectors.
// CHECK-LABEL: @dilated
// CHECK: dl.convert_layout %arg0
func.func @dilated(%x: tensor<2x32x16x16xf16>) -> tensor<2x32x16x16xf16> {
  %w = dl.weight "w" : tensor<32x1x3x3xf16>
  %0 = dl.conv2d %x, %w {padding = array<i64: 2, 2>, dilation = array<i64: 2, 2>, groups = 32 : i64} : (tensor<2x32x16x16xf16>, tensor<32x1x3x3xf16>) -> tensor<2x32x16x16xf16>
  return %0 : tensor<2x32x16x16xf16>
}
}

// On the CPU channels are the lanes of vectors.
module @cpu {
// CHECK-LABEL: @on_the_cpu
// CHECK: dl.convert_layout %arg0
func.func @on_the_cpu(%x: tensor<2x32x16x16xf32>) -> tensor<2x32x16x16xf32> {
  %w = dl.weight "w" : tensor<32x1x3x3xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, groups = 32 : i64} : (tensor<2x32x16x16xf32>, tensor<32x1x3x3xf32>) -> tensor<2x32x16x16xf32>
  return %0 : tensor<2x32x16x16xf32>
}
}
}
