// RUN: dlc-opt %s -move-views -canonicalize -cse -split-input-file | FileCheck %s

// The residual joins the product, whatever the number of samples is; the reshape is one view of the sum.
// CHECK-LABEL: @residual
// CHECK-SAME: (%[[X:.*]]: tensor<?x4xf32, {{.*}}>, %[[Z:.*]]: tensor<?x4x6xf32
// CHECK: %[[Y:.*]] = dl.matmul %[[X]]
// CHECK: %[[BIAS:.*]] = dl.broadcast %{{.*}} : (tensor<6xf32>) -> tensor<?x6xf32
// CHECK: %[[SUM:.*]] = dl.add %[[Y]], %[[BIAS]]
// CHECK: %[[FLAT:.*]] = dl.reshape %[[Z]] {{.*}} -> tensor<?x6xf32
// CHECK: %[[ALL:.*]] = dl.add %[[SUM]], %[[FLAT]]
// CHECK: %[[OUT:.*]] = dl.reshape %[[ALL]] {{.*}} -> tensor<?x4x6xf32
// CHECK: return %[[OUT]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
func.func @residual(%x: tensor<?x4xf32, #dl.t<[s0 * 4, 4]>>, %z: tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>) -> tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>> {
  %w = dl.weight "w" : tensor<4x6xf32>
  %b = dl.weight "b" : tensor<6xf32>
  %0 = dl.matmul %x, %w : (tensor<?x4xf32, #dl.t<[s0 * 4, 4]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #dl.t<[s0 * 4, 6]>>
  %1 = dl.reshape %0 {shape = affine_map<()[s0] -> (s0, 4, 6)>} : (tensor<?x6xf32, #dl.t<[s0 * 4, 6]>>) -> tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>
  %b3 = dl.broadcast %b : (tensor<6xf32>) -> tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>
  %2 = dl.add %1, %b3 : (tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>, tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>) -> tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>
  %3 = dl.add %2, %z : (tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>, tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>) -> tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>
  return %3 : tensor<?x4x6xf32, #dl.t<[s0, 4, 6]>>
}
}

// -----

// A mask of windows that is added to the scores of all heads, in dims of their own.
// CHECK-LABEL: @window_mask
// CHECK: %[[SCORES:.*]] = dl.matmul
// CHECK-DAG: %[[VIEW:.*]] = dl.reshape %arg2 {{.*}} -> tensor<4x1x5x5xf32>
// CHECK-DAG: %[[MASK:.*]] = dl.broadcast %[[VIEW]] : (tensor<4x1x5x5xf32>) -> tensor<4x3x5x5xf32>
// CHECK: %[[SUM:.*]] = dl.add %[[SCORES]], %[[MASK]]
// CHECK: dl.softmax %[[SUM]]
func.func @window_mask(%q: tensor<4x3x5x8xf32>, %k: tensor<4x3x8x5xf32>, %m: tensor<1x4x1x5x5xf32>) -> tensor<4x3x5x5xf32> {
  %0 = dl.matmul %q, %k : (tensor<4x3x5x8xf32>, tensor<4x3x8x5xf32>) -> tensor<4x3x5x5xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (1, 4, 3, 5, 5)>} : (tensor<4x3x5x5xf32>) -> tensor<1x4x3x5x5xf32>
  %2 = dl.broadcast %m : (tensor<1x4x1x5x5xf32>) -> tensor<1x4x3x5x5xf32>
  %3 = dl.add %1, %2 : (tensor<1x4x3x5x5xf32>, tensor<1x4x3x5x5xf32>) -> tensor<1x4x3x5x5xf32>
  %4 = dl.reshape %3 {shape = affine_map<() -> (4, 3, 5, 5)>} : (tensor<1x4x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  %5 = dl.softmax %4 {dim = 3 : i64} : (tensor<4x3x5x5xf32>) -> tensor<4x3x5x5xf32>
  return %5 : tensor<4x3x5x5xf32>
}

// -----

// CHECK-LABEL: @unit_dims
// CHECK: %[[Y:.*]] = dl.matmul
// CHECK: %[[FLAT:.*]] = dl.reshape %arg2 {{.*}} -> tensor<5x6xf32>
// CHECK: dl.add %[[Y]], %[[FLAT]]
// CHECK-NOT: dl.permute
// CHECK: return
func.func @unit_dims(%x: tensor<5x4xf32>, %w: tensor<4x6xf32>, %z: tensor<1x5x6xf32>) -> tensor<1x5x6xf32> {
  %0 = dl.matmul %x, %w : (tensor<5x4xf32>, tensor<4x6xf32>) -> tensor<5x6xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (5, 1, 6)>} : (tensor<5x6xf32>) -> tensor<5x1x6xf32>
  %2 = dl.permute %1 {dims = array<i64: 1, 0, 2>} : (tensor<5x1x6xf32>) -> tensor<1x5x6xf32>
  %3 = dl.add %2, %z : (tensor<1x5x6xf32>, tensor<1x5x6xf32>) -> tensor<1x5x6xf32>
  return %3 : tensor<1x5x6xf32>
}

// -----

// Windows of rows that a norm gives: the norm reads x, an input, in the order of windows.
// CHECK-LABEL: @windows
// CHECK: %[[ROLL:.*]] = dl.roll %arg0
// CHECK: %[[SPLIT:.*]] = dl.reshape %[[ROLL]] {{.*}} -> tensor<2x3x2x8xf32>
// CHECK: %[[MOVED:.*]] = dl.permute %[[SPLIT]]
// CHECK: %[[Y:.*]] = dl.standardize %[[MOVED]], %{{.*}}, %{{.*}} {affine_dims = array<i64: 3>, dims = array<i64: 3>, eps = 1.000000e-03 : f64}
// CHECK: return %[[Y]]
func.func @windows(%x: tensor<6x2x8xf32>) -> tensor<3x2x2x8xf32> {
  %g = dl.weight "g" : tensor<8xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %0 = dl.standardize %x, %g, %b {dims = array<i64: 2>, affine_dims = array<i64: 2>, eps = 1.0e-3 : f64} : (tensor<6x2x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<6x2x8xf32>
  %1 = dl.roll %0 {dims = array<i64: 0>, shifts = array<i64: 1>} : (tensor<6x2x8xf32>) -> tensor<6x2x8xf32>
  %2 = dl.reshape %1 {shape = affine_map<() -> (2, 3, 2, 8)>} : (tensor<6x2x8xf32>) -> tensor<2x3x2x8xf32>
  %3 = dl.permute %2 {dims = array<i64: 1, 0, 2, 3>} : (tensor<2x3x2x8xf32>) -> tensor<3x2x2x8xf32>
  return %3 : tensor<3x2x2x8xf32>
}

// -----

// Not where rows are cut up, nor where the norm is read twice, nor before a view that no permutation reads.
// CHECK-LABEL: @norm_stays
// CHECK: %[[A:.*]] = dl.standardize %arg0
// CHECK: dl.permute %[[A]]
// CHECK: %[[B:.*]] = dl.standardize %arg1
// CHECK: dl.permute %[[B]]
// CHECK: %[[C:.*]] = dl.standardize %arg2
// CHECK: dl.reshape %[[C]]
func.func @norm_stays(%x: tensor<4x8xf32>, %y: tensor<2x4x8xf32>, %z: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<2x4x8xf32>, tensor<4x2x8xf32>, tensor<2x2x8xf32>) {
  %0 = dl.standardize %x {dims = array<i64: 1>, affine_dims = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = dl.standardize %y {dims = array<i64: 2>, affine_dims = array<i64>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %3 = dl.permute %2 {dims = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %4 = dl.standardize %z {dims = array<i64: 1>, affine_dims = array<i64>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = dl.reshape %4 {shape = affine_map<() -> (2, 2, 8)>} : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
  return %1, %2, %3, %5 : tensor<8x4xf32>, tensor<2x4x8xf32>, tensor<4x2x8xf32>, tensor<2x2x8xf32>
}

// -----

// Stays: the product is an output; the other operand is computed for the sum alone; a repetition along a part of joined
// dims; a kernel of its own.
// CHECK-LABEL: @stays
// CHECK-COUNT-4: dl.add {{.*}} -> tensor<2x4x6xf32>
// CHECK: return
func.func @stays(%x: tensor<8x4xf32>, %w: tensor<4x6xf32>, %z: tensor<2x4x6xf32>, %r: tensor<4x1xf32>) -> (tensor<8x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>) {
  %0 = dl.matmul %x, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %2 = dl.add %1, %z : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %3 = dl.relu %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %4 = dl.matmul %3, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %5 = dl.reshape %4 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %6 = dl.exp %z : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %7 = dl.add %5, %6 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %8 = dl.sigmoid %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %9 = dl.matmul %8, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %10 = dl.reshape %9 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %11 = dl.broadcast %r : (tensor<4x1xf32>) -> tensor<2x4x6xf32>
  %12 = dl.add %10, %11 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  %13 = dl.tanh %x : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %14 = dl.matmul %13, %w : (tensor<8x4xf32>, tensor<4x6xf32>) -> tensor<8x6xf32>
  %15 = dl.reshape %14 {shape = affine_map<() -> (2, 4, 6)>} : (tensor<8x6xf32>) -> tensor<2x4x6xf32>
  %16 = dl.add %15, %z {dl.no_fuse} : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %0, %2, %7, %12, %16 : tensor<8x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>, tensor<2x4x6xf32>
}

// -----

// Nor where the data say how many rows there are.
// CHECK-LABEL: @counted
// CHECK: %[[Y:.*]] = dl.matmul
// CHECK: dl.reshape %[[Y]]
// CHECK: dl.add {{.*}} -> tensor<?x2x3xf32
module attributes {dl.symbols = [#dl.symbol<"K", 0, 8, most = () -> (8)>]} {
func.func @counted(%x: tensor<?x4xf32, #dl.t<[s0, 4]>>, %w: tensor<4x6xf32>, %z: tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>) -> tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>> {
  %0 = dl.matmul %x, %w : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<4x6xf32>) -> tensor<?x6xf32, #dl.t<[s0, 6]>>
  %1 = dl.reshape %0 {shape = affine_map<()[s0] -> (s0, 2, 3)>} : (tensor<?x6xf32, #dl.t<[s0, 6]>>) -> tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>
  %2 = dl.add %1, %z : (tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>, tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>) -> tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>
  return %2 : tensor<?x2x3xf32, #dl.t<[s0, 2, 3]>>
}
}

// -----

// A view between an op and an elementwise op that could share its kernel moves after both.
// CHECK-LABEL: @reshape_sinks
// CHECK-NEXT: dl.full {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: %[[E:.*]] = dl.exp %arg0
// CHECK-NEXT: %[[M:.*]] = dl.mul %[[E]], {{.*}} : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
// CHECK-NEXT: dl.reshape %[[M]] {{.*}} -> tensor<4x2x3xf32>
func.func @reshape_sinks(%x: tensor<4x6xf32>) -> tensor<4x2x3xf32> {
  %0 = dl.exp %x : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %2 = dl.full 5.000000e-01 : f32 -> tensor<4x2x3xf32>
  %3 = dl.mul %1, %2 : (tensor<4x2x3xf32>, tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return %3 : tensor<4x2x3xf32>
}

// Of an input, or of a value that others read too, it stays where it is.
// CHECK-LABEL: @reshape_stays
// CHECK-NEXT: dl.reshape %arg0
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.exp
// CHECK-NEXT: dl.reshape
// CHECK-NEXT: dl.neg
func.func @reshape_stays(%x: tensor<4x6xf32>, %y: tensor<4x6xf32>) -> (tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>) {
  %0 = dl.reshape %x {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %1 = dl.exp %0 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  %2 = dl.exp %y : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (4, 2, 3)>} : (tensor<4x6xf32>) -> tensor<4x2x3xf32>
  %4 = dl.neg %3 : (tensor<4x2x3xf32>) -> tensor<4x2x3xf32>
  return %1, %2, %4 : tensor<4x2x3xf32>, tensor<4x6xf32>, tensor<4x2x3xf32>
}
