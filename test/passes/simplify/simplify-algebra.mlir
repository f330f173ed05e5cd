// RUN: dlc-opt %s -simplify-algebra -split-input-file | FileCheck %s

// CHECK-LABEL: @vanishes
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>)
// CHECK-NEXT: return %[[X]]
func.func @vanishes(%x: tensor<4xf32>) -> tensor<4xf32> {
  %one = dl.full 1.0 : f32 -> tensor<4xf32>
  %zero = dl.full 0.0 : f32 -> tensor<4xf32>
  %minusZero = dl.full -0.0 : f32 -> tensor<4xf32>
  %0 = dl.mul %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.mul %one, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.div %1, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.sub %2, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = dl.add %3, %minusZero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = dl.neg %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = dl.neg %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = dl.maximum %6, %6 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %7 : tensor<4xf32>
}

// -----

// CHECK-LABEL: @once
// CHECK-NEXT: dl.relu
// CHECK-NEXT: dl.broadcast {{.*}} : (tensor<1xf32>) -> tensor<2x3x4xf32>
// CHECK-NEXT: return
func.func @once(%x: tensor<1xf32>) -> tensor<2x3x4xf32> {
  %0 = dl.relu %x : (tensor<1xf32>) -> tensor<1xf32>
  %1 = dl.relu %0 : (tensor<1xf32>) -> tensor<1xf32>
  %2 = dl.broadcast %1 : (tensor<1xf32>) -> tensor<3x4xf32>
  %3 = dl.broadcast %2 : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  return %3 : tensor<2x3x4xf32>
}

// -----

// f16 -> f32 -> f16 loses nothing.
// CHECK-LABEL: @widened
// CHECK-SAME: (%[[X:.*]]: tensor<4xf16>)
// CHECK-NEXT: return %[[X]]
func.func @widened(%x: tensor<4xf16>) -> tensor<4xf16> {
  %0 = dl.cast %x {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = dl.cast %0 {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  return %1 : tensor<4xf16>
}

// -----

// x + 0 makes +0 of -0; x - (-0) does as well; 0 * x may be NaN; f32 -> f16 -> f32 rounds; f16 -> bf16 -> f16 rounds.
// CHECK-LABEL: @stays
// CHECK: dl.add
// CHECK: dl.sub
// CHECK: dl.mul
// CHECK-COUNT-4: dl.cast
func.func @stays(%x: tensor<4xf32>, %h: tensor<4xf16>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>) {
  %zero = dl.full 0.0 : f32 -> tensor<4xf32>
  %minusZero = dl.full -0.0 : f32 -> tensor<4xf32>
  %0 = dl.add %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.sub %x, %minusZero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.mul %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.cast %x {dtype = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %4 = dl.cast %3 {dtype = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %5 = dl.cast %h {dtype = bf16} : (tensor<4xf16>) -> tensor<4xbf16>
  %6 = dl.cast %5 {dtype = f16} : (tensor<4xbf16>) -> tensor<4xf16>
  return %0, %1, %2, %4, %6 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf16>
}

// -----

// x / 2^n and x * 2^-n round one number; so do x^2 and x * x.
// CHECK-LABEL: @cheaper
// CHECK-DAG: %[[EIGHTH:.*]] = dl.full 1.250000e-01 : f32 -> tensor<?x4xf32
// CHECK-DAG: %[[SIXTY:.*]] = dl.full 6.400000e+01 : f32 -> tensor<?x4xf32
// CHECK: %[[A:.*]] = dl.mul %arg0, %[[EIGHTH]]
// CHECK: %[[B:.*]] = dl.mul %[[A]], %[[SIXTY]]
// CHECK: %[[C:.*]] = dl.neg %[[B]]
// CHECK: %[[D:.*]] = dl.square %[[C]]
// CHECK: %[[E:.*]] = dl.pow_number %[[D]] {exponent = 3.000000e+00 : f64}
// CHECK-NEXT: return %[[E]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
func.func @cheaper(%x: tensor<?x4xf32, #dl.t<[s0, 4]>>, %c: tensor<?x4xi1, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>> {
  %eight = dl.full 8.0 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %part = dl.full 0.015625 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %minus = dl.full -1.0 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %one = dl.full 1.0 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %two = dl.full 2.0 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %three = dl.full 3.0 : f32 -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %0 = dl.div %x, %eight : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %1 = dl.div %0, %part : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %2 = dl.mul %minus, %1 : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %3 = dl.pow %2, %one : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %4 = dl.pow %3, %two : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %5 = dl.pow %4, %three : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  %6 = dl.where %c, %5, %5 : (tensor<?x4xi1, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
  return %6 : tensor<?x4xf32, #dl.t<[s0, 4]>>
}
}

// -----

// CHECK-LABEL: @concatenations
// CHECK-SAME: (%[[X:.*]]: tensor<2x4xf32>, %[[Y:.*]]: tensor<2x3xf32>)
// CHECK-NEXT: %[[Z:.*]] = dl.cat %[[X]], %[[Y]], %[[X]] {dim = 1 : i64}
// CHECK-NEXT: return %[[Z]]
func.func @concatenations(%x: tensor<2x4xf32>, %y: tensor<2x3xf32>) -> tensor<2x11xf32> {
  %0 = dl.cat %x, %y {dim = -1 : i64} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  %1 = dl.cat %0, %x {dim = 1 : i64} : (tensor<2x7xf32>, tensor<2x4xf32>) -> tensor<2x11xf32>
  return %1 : tensor<2x11xf32>
}

// -----

// Rounding and NaN: 1/3 is no number of f32, and 2^-127 no normal one; x * 0 and x - x are NaN for infinities; the square of
// a root is NaN where x is negative; (x + 1) + 2 and (x * 3) * 5 round twice; 0 - x is +0 for 0; x^(1/2) of -inf is
// +inf, and its root NaN.
// CHECK-LABEL: @rounds
// CHECK: dl.div %arg0
// CHECK: dl.div %arg0
// CHECK: dl.mul %arg0
// CHECK: dl.sub %arg0, %arg0
// CHECK: %[[ROOT:.*]] = dl.sqrt
// CHECK: dl.square %[[ROOT]]
// CHECK: %[[SUM:.*]] = dl.add %arg0
// CHECK: dl.add %[[SUM]]
// CHECK: %[[PRODUCT:.*]] = dl.mul %arg0
// CHECK: dl.mul %[[PRODUCT]]
// CHECK: dl.sub %{{.*}}, %arg0
// CHECK: dl.pow %arg0
// CHECK: %[[WIDE:.*]] = dl.mul %arg0
// CHECK: dl.div %[[WIDE]]
func.func @rounds(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %three = dl.full 3.0 : f32 -> tensor<4xf32>
  %five = dl.full 5.0 : f32 -> tensor<4xf32>
  %large = dl.full 1.7014118346046923173168730371588410572e+38 : f32 -> tensor<4xf32>
  %zero = dl.full 0.0 : f32 -> tensor<4xf32>
  %one = dl.full 1.0 : f32 -> tensor<4xf32>
  %half = dl.full 0.5 : f32 -> tensor<4xf32>
  %0 = dl.div %x, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = dl.div %x, %large : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = dl.mul %x, %zero : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = dl.sub %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = dl.sqrt %x : (tensor<4xf32>) -> tensor<4xf32>
  %5 = dl.square %4 : (tensor<4xf32>) -> tensor<4xf32>
  %6 = dl.add %x, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = dl.add %6, %five : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = dl.mul %x, %three : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = dl.mul %8, %five : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %10 = dl.sub %zero, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %11 = dl.pow %x, %half : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %12 = dl.mul %x, %five : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = dl.div %12, %five : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %0, %1, %2, %3, %5, %7, %9, %10, %11, %13 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Other readers of the inner concatenation, and a kernel of its own.
// CHECK-LABEL: @concatenations_stay
// CHECK-COUNT-4: dl.cat %{{[^,]*}}, %{{[^,]*}} {
func.func @concatenations_stay(%x: tensor<2x4xf32>, %y: tensor<2x3xf32>) -> (tensor<2x7xf32>, tensor<2x11xf32>, tensor<2x10xf32>) {
  %0 = dl.cat %x, %y {dim = 1 : i64} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  %1 = dl.cat %0, %x {dim = 1 : i64} : (tensor<2x7xf32>, tensor<2x4xf32>) -> tensor<2x11xf32>
  %2 = dl.cat %x, %y {dim = 1 : i64, dl.no_fuse} : (tensor<2x4xf32>, tensor<2x3xf32>) -> tensor<2x7xf32>
  %3 = dl.cat %2, %y {dim = 1 : i64} : (tensor<2x7xf32>, tensor<2x3xf32>) -> tensor<2x10xf32>
  return %0, %1, %3 : tensor<2x7xf32>, tensor<2x11xf32>, tensor<2x10xf32>
}
