// RUN: dlc-opt %s -raise-norms -canonicalize -split-input-file | FileCheck %s

// Norms of groups of channels, and of each channel.

!x = tensor<2x6x4x5xf32>
!g = tensor<2x3x40xf32>
!r = tensor<2x3x1xf32>

// A group norm as PyTorch decomposes it: groups by a view, and each channel's weight and bias after the view back.
// CHECK-LABEL: @group_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x6x4x5xf32>, %[[W:.*]]: tensor<6xf32>, %[[B:.*]]: tensor<6xf32>)
// CHECK-DAG: %[[S:.*]] = dl.reshape %[[X]] {{.*}} -> tensor<2x3x2x4x5xf32>
// CHECK-DAG: %[[SW:.*]] = dl.reshape %[[W]] {{.*}} -> tensor<3x2xf32>
// CHECK-DAG: %[[SB:.*]] = dl.reshape %[[B]] {{.*}} -> tensor<3x2xf32>
// CHECK: %[[N:.*]] = dl.standardize %[[S]], %[[SW]], %[[SB]] {affine_dims = array<i64: 1, 2>, dims = array<i64: 2, 3, 4>, eps = 5.000000e-01 : f64}
// CHECK-NEXT: %[[Y:.*]] = dl.reshape %[[N]] {{.*}} -> tensor<2x6x4x5xf32>
// CHECK-NEXT: return %[[Y]]
func.func @group_norm(%x: !x, %w: tensor<6xf32>, %b: tensor<6xf32>) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %v = dl.reshape %x {shape = affine_map<() -> (2, 3, 40)>} : (!x) -> !g
  %0 = dl.mean %v {dim = array<i64: 2>, keepdim = true} : (!g) -> !r
  %1 = dl.broadcast %0 : (!r) -> !g
  %2 = dl.sub %v, %1 : (!g, !g) -> !g
  %3 = dl.var %v {dim = array<i64: 2>, keepdim = true, unbiased = false} : (!g) -> !r
  %4 = dl.add %3, %eps : (!r, !r) -> !r
  %5 = dl.rsqrt %4 : (!r) -> !r
  %6 = dl.broadcast %5 : (!r) -> !g
  %7 = dl.mul %2, %6 : (!g, !g) -> !g
  %8 = dl.reshape %7 {shape = affine_map<() -> (2, 6, 4, 5)>} : (!g) -> !x
  %9 = dl.reshape %w {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %10 = dl.broadcast %9 : (tensor<6x1x1xf32>) -> !x
  %11 = dl.mul %8, %10 : (!x, !x) -> !x
  %12 = dl.reshape %b {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %13 = dl.broadcast %12 : (tensor<6x1x1xf32>) -> !x
  %14 = dl.add %13, %11 : (!x, !x) -> !x
  return %14 : !x
}

// A group norm as PyTorch exports it to ONNX: an InstanceNormalization whose weight is 1 and bias 0.
// CHECK-LABEL: @of_instances
// CHECK: dl.standardize %{{.*}}, %{{.*}}, %{{.*}} {affine_dims = array<i64: 1, 2>, dims = array<i64: 2, 3, 4>, eps = 5.000000e-01 : f64}
// CHECK-NEXT: dl.reshape
// CHECK-NEXT: return
func.func @of_instances(%x: !x, %w: tensor<6xf32>, %b: tensor<6xf32>) -> !x {
  %one = dl.full 1.0 : f32 -> tensor<3xf32>
  %zero = dl.full 0.0 : f32 -> tensor<3xf32>
  %v = dl.reshape %x {shape = affine_map<() -> (2, 3, 40)>} : (!x) -> !g
  %7 = dl.standardize %v, %one, %zero {affine_dims = array<i64: 1>, dims = array<i64: 2>, eps = 5.0e-1 : f64} : (!g, tensor<3xf32>, tensor<3xf32>) -> !g
  %8 = dl.reshape %7 {shape = affine_map<() -> (2, 6, 4, 5)>} : (!g) -> !x
  %9 = dl.reshape %w {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %10 = dl.broadcast %9 : (tensor<6x1x1xf32>) -> !x
  %11 = dl.mul %8, %10 : (!x, !x) -> !x
  %12 = dl.reshape %b {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %13 = dl.broadcast %12 : (tensor<6x1x1xf32>) -> !x
  %14 = dl.add %11, %13 : (!x, !x) -> !x
  return %14 : !x
}

// A weight for each place is not one for each channel; a bias of the groups is not 0; something else reads the norm.
// CHECK-LABEL: @other_weight
// CHECK: %[[N:.*]] = dl.standardize %{{[^,]*}} {affine_dims = array<i64: 2>, dims = array<i64: 2>
// CHECK: %[[V:.*]] = dl.reshape %[[N]]
// CHECK: dl.mul %[[V]]
func.func @other_weight(%x: !x, %w: tensor<5xf32>) -> !x {
  %v = dl.reshape %x {shape = affine_map<() -> (2, 3, 40)>} : (!x) -> !g
  %7 = dl.standardize %v {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 5.0e-1 : f64} : (!g) -> !g
  %8 = dl.reshape %7 {shape = affine_map<() -> (2, 6, 4, 5)>} : (!g) -> !x
  %10 = dl.broadcast %w : (tensor<5xf32>) -> !x
  %11 = dl.mul %8, %10 : (!x, !x) -> !x
  return %11 : !x
}
// CHECK-LABEL: @weighted_groups
// CHECK: dl.standardize %{{.*}} {affine_dims = array<i64: 1>
// CHECK: dl.mul
func.func @weighted_groups(%x: !x, %one: tensor<3xf32>, %w: tensor<6x1x1xf32>) -> !x {
  %v = dl.reshape %x {shape = affine_map<() -> (2, 3, 40)>} : (!x) -> !g
  %7 = dl.standardize %v, %one {affine_dims = array<i64: 1>, dims = array<i64: 2>, eps = 5.0e-1 : f64} : (!g, tensor<3xf32>) -> !g
  %8 = dl.reshape %7 {shape = affine_map<() -> (2, 6, 4, 5)>} : (!g) -> !x
  %10 = dl.broadcast %w : (tensor<6x1x1xf32>) -> !x
  %11 = dl.mul %8, %10 : (!x, !x) -> !x
  return %11 : !x
}
// CHECK-LABEL: @read_twice
// CHECK: dl.standardize %{{[^,]*}} {affine_dims = array<i64: 2>
// CHECK: dl.mul
func.func @read_twice(%x: !x, %w: tensor<6x1x1xf32>) -> (!x, !x) {
  %v = dl.reshape %x {shape = affine_map<() -> (2, 3, 40)>} : (!x) -> !g
  %7 = dl.standardize %v {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 5.0e-1 : f64} : (!g) -> !g
  %8 = dl.reshape %7 {shape = affine_map<() -> (2, 6, 4, 5)>} : (!g) -> !x
  %10 = dl.broadcast %w : (tensor<6x1x1xf32>) -> !x
  %11 = dl.mul %8, %10 : (!x, !x) -> !x
  return %11, %8 : !x, !x
}

// An instance norm of each channel's own mean and variance.
// CHECK-LABEL: @instance_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x6x4x5xf32>, %[[W:.*]]: tensor<6xf32>, %[[B:.*]]: tensor<6xf32>)
// CHECK-NEXT: %[[Y:.*]] = dl.standardize %[[X]], %[[W]], %[[B]] {affine_dims = array<i64: 1>, dims = array<i64: 2, 3>, eps = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @instance_norm(%x: !x, %w: tensor<6xf32>, %b: tensor<6xf32>) -> !x {
  %eps = dl.full 0.5 : f32 -> tensor<2x6x1x1xf32>
  %0 = dl.mean %x {dim = array<i64: 2, 3>, keepdim = true} : (!x) -> tensor<2x6x1x1xf32>
  %1 = dl.broadcast %0 : (tensor<2x6x1x1xf32>) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.var %x {dim = array<i64: 2, 3>, keepdim = true, unbiased = false} : (!x) -> tensor<2x6x1x1xf32>
  %4 = dl.add %3, %eps : (tensor<2x6x1x1xf32>, tensor<2x6x1x1xf32>) -> tensor<2x6x1x1xf32>
  %5 = dl.rsqrt %4 : (tensor<2x6x1x1xf32>) -> tensor<2x6x1x1xf32>
  %6 = dl.broadcast %5 : (tensor<2x6x1x1xf32>) -> !x
  %7 = dl.mul %2, %6 : (!x, !x) -> !x
  %9 = dl.reshape %w {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %10 = dl.broadcast %9 : (tensor<6x1x1xf32>) -> !x
  %11 = dl.mul %7, %10 : (!x, !x) -> !x
  %12 = dl.reshape %b {shape = affine_map<() -> (6, 1, 1)>} : (tensor<6xf32>) -> tensor<6x1x1xf32>
  %13 = dl.broadcast %12 : (tensor<6x1x1xf32>) -> !x
  %14 = dl.add %11, %13 : (!x, !x) -> !x
  return %14 : !x
}

// The same as PyTorch decomposes it: a batch norm of one batch whose channels are those of all samples, whose weights repeat.
// CHECK-LABEL: @instances_as_channels
// CHECK: dl.standardize %{{.*}}, %{{.*}}, %{{.*}} {affine_dims = array<i64: 1>, dims = array<i64: 2, 3>, eps = 5.000000e-01 : f64} : (tensor<1x12x4x5xf32>
// CHECK-NOT: dl.mul
func.func @instances_as_channels(%x: !x, %w: tensor<6xf32>, %b: tensor<6xf32>) -> !x {
  %eps = dl.full 0.5 : f32 -> tensor<1x12x1x1xf32>
  %rw = dl.repeat %w {repeats = array<i64: 2>} : (tensor<6xf32>) -> tensor<12xf32>
  %rb = dl.repeat %b {repeats = array<i64: 2>} : (tensor<6xf32>) -> tensor<12xf32>
  %v = dl.reshape %x {shape = affine_map<() -> (1, 12, 4, 5)>} : (!x) -> tensor<1x12x4x5xf32>
  %0 = dl.mean %v {dim = array<i64: 0, 2, 3>, keepdim = true} : (tensor<1x12x4x5xf32>) -> tensor<1x12x1x1xf32>
  %1 = dl.broadcast %0 : (tensor<1x12x1x1xf32>) -> tensor<1x12x4x5xf32>
  %2 = dl.sub %v, %1 : (tensor<1x12x4x5xf32>, tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32>
  %3 = dl.var %v {dim = array<i64: 0, 2, 3>, keepdim = true, unbiased = false} : (tensor<1x12x4x5xf32>) -> tensor<1x12x1x1xf32>
  %4 = dl.add %3, %eps : (tensor<1x12x1x1xf32>, tensor<1x12x1x1xf32>) -> tensor<1x12x1x1xf32>
  %5 = dl.rsqrt %4 : (tensor<1x12x1x1xf32>) -> tensor<1x12x1x1xf32>
  %6 = dl.broadcast %5 : (tensor<1x12x1x1xf32>) -> tensor<1x12x4x5xf32>
  %7 = dl.mul %2, %6 : (tensor<1x12x4x5xf32>, tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32>
  %9 = dl.reshape %rw {shape = affine_map<() -> (12, 1, 1)>} : (tensor<12xf32>) -> tensor<12x1x1xf32>
  %10 = dl.broadcast %9 : (tensor<12x1x1xf32>) -> tensor<1x12x4x5xf32>
  %11 = dl.mul %7, %10 : (tensor<1x12x4x5xf32>, tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32>
  %12 = dl.reshape %rb {shape = affine_map<() -> (12, 1, 1)>} : (tensor<12xf32>) -> tensor<12x1x1xf32>
  %13 = dl.broadcast %12 : (tensor<12x1x1xf32>) -> tensor<1x12x4x5xf32>
  %14 = dl.add %11, %13 : (tensor<1x12x4x5xf32>, tensor<1x12x4x5xf32>) -> tensor<1x12x4x5xf32>
  %15 = dl.reshape %14 {shape = affine_map<() -> (2, 6, 4, 5)>} : (tensor<1x12x4x5xf32>) -> !x
  return %15 : !x
}

// -----

!x = tensor<?x6x?xf32, #dl.t<[s0, 6, s1]>>
!g = tensor<?x3x?xf32, #dl.t<[s0, 3, s1*2]>>
!r = tensor<?x3x1xf32, #dl.t<[s0, 3, 1]>>

module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>, #dl.symbol<"T", 1, 64>]} {
  // CHECK-LABEL: @symbolic
  // CHECK: dl.standardize %{{.*}}, %{{.*}} {affine_dims = array<i64: 1, 2>, dims = array<i64: 2, 3>, eps = 5.000000e-01 : f64}
  // CHECK-NOT: dl.mul
  func.func @symbolic(%x: !x, %w: tensor<6x1xf32>) -> !x {
    %eps = dl.full 0.5 : f32 -> !r
    %v = dl.reshape %x {shape = affine_map<()[s0, s1] -> (s0, 3, s1 * 2)>} : (!x) -> !g
    %0 = dl.mean %v {dim = array<i64: 2>, keepdim = true} : (!g) -> !r
    %1 = dl.broadcast %0 : (!r) -> !g
    %2 = dl.sub %v, %1 : (!g, !g) -> !g
    %3 = dl.var %v {dim = array<i64: 2>, keepdim = true, unbiased = false} : (!g) -> !r
    %4 = dl.add %3, %eps : (!r, !r) -> !r
    %5 = dl.rsqrt %4 : (!r) -> !r
    %6 = dl.broadcast %5 : (!r) -> !g
    %7 = dl.mul %2, %6 : (!g, !g) -> !g
    %8 = dl.reshape %7 {shape = affine_map<()[s0, s1] -> (s0, 6, s1)>} : (!g) -> !x
    %10 = dl.broadcast %w : (tensor<6x1xf32>) -> !x
    %11 = dl.mul %8, %10 : (!x, !x) -> !x
    return %11 : !x
  }
}
