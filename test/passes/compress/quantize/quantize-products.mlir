// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{keep-f32=linear}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{keep-f32=[a}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: keep-f32: '[a' is no pattern:
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=dynamic}))' -split-input-file | FileCheck %s --check-prefix=DYNAMIC
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=int7}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=SCHEME
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=fp8}))' -split-input-file | FileCheck %s --check-prefix=FLOAT8
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{symmetric per-tensor}))' -split-input-file | FileCheck %s --check-prefix=SYMMETRIC
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-products{scheme=dynamic symmetric}))' -split-input-file | FileCheck %s --check-prefix=ROWS
// SCHEME: error: scheme is int8, dynamic or fp8, got int7

// The activation in u8 with a zero point, the weights in i8 with a scale for each row, sums in i32.
// CHECK-LABEL: @linear
// CHECK-SAME: (%[[X:.*]]: tensor<?x32xf32, #dl.t<[s0, 32]>>)
// CHECK-DAG: %[[PER:.*]] = dl.full 8.500000e+01 : f32
// CHECK: %[[STEPS:.*]] = dl.mul %[[X]], %[[PER]]
// CHECK: %[[ROUND:.*]] = dl.round %[[STEPS]]
// CHECK: %[[SHIFTED:.*]] = dl.add %[[ROUND]],
// CHECK: %[[Q:.*]] = dl.cast %[[SHIFTED]] {dtype = ui8}
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[WIDE:.*]] = dl.cast %[[Q]] {dtype = i32}
// CHECK: %[[ZERO:.*]] = dl.full 85 : i32
// CHECK: %[[LEFT:.*]] = dl.sub %[[WIDE]], %[[ZERO]]
// CHECK: %[[ABS:.*]] = dl.abs %[[W]]
// CHECK: %[[MOST:.*]] = dl.amax %[[ABS]] {dim = array<i64: 1>, keepdim = true}
// CHECK: %[[SCALE:.*]] = dl.div %[[MOST]],
// CHECK: %[[RIGHT8:.*]] = dl.cast %{{.*}} {dtype = i8} : (tensor<8x32xf32>) -> tensor<8x32xi8>
// CHECK: %[[RIGHT:.*]] = dl.cast %[[RIGHT8]] {dtype = i32}
// CHECK: %[[SUM:.*]] = dl.linear %[[LEFT]], %[[RIGHT]] : (tensor<?x32xi32, #dl.t<[s0, 32]>>, tensor<8x32xi32>) -> tensor<?x8xi32, #dl.t<[s0, 8]>>
// CHECK: %[[F:.*]] = dl.cast %[[SUM]] {dtype = f32}
// CHECK: %[[SCALED:.*]] = dl.mul %[[F]],
// CHECK: %[[Y:.*]] = dl.add %[[SCALED]],
// CHECK: return %[[Y]]
// With `symmetric` the larger end of the range, 2, is 127 steps of i8, and nothing is taken off; one scale serves the whole weight.
// SYMMETRIC-LABEL: @linear
// SYMMETRIC: dl.cast %{{.*}} {dtype = i8} : (tensor<?x32xf32, #dl.t<[s0, 32]>>)
// SYMMETRIC-NOT: dl.sub
// SYMMETRIC: dl.amax %{{.*}} {dim = array<i64: 0, 1>, keepdim = true} : (tensor<8x32xf32>) -> tensor<1x1xf32>
// SYMMETRIC: dl.linear %{{.*}} -> tensor<?x8xi32, #dl.t<[s0, 8]>>
// ROWS-LABEL: @columns
// ROWS: %[[ABS:.*]] = dl.abs %{{.*}} : (tensor<32x5xf32>)
// ROWS: dl.amax %[[ABS]] {dim = array<i64: 0>, keepdim = true} : (tensor<32x5xf32>) -> tensor<1x5xf32>
// ROWS: dl.cast %{{.*}} {dtype = i8} : (tensor<32x5xf32>)
// ROWS-NOT: dl.sub
// ROWS: return
// KEPT-LABEL: @linear
// KEPT-NOT: i32
// KEPT: return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @linear(%x: tensor<?x32xf32, #dl.t<[s0, 32]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>> {
  %w = dl.weight "w" : tensor<8x32xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %0 = dl.linear %x, %w, %b {dl.activation_range = array<f64: -1.0, 2.0>} : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<8x32xf32>, tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
}

// -----

// A range from 0 on needs no zero point. Pooling and reshaping work on bytes, and the pooling of
// numbers is gone.
// CHECK-LABEL: @pooled
// CHECK: dl.conv2d {{.*}} -> tensor<1x8x8x8xi32>
// CHECK: %[[R:.*]] = dl.relu
// CHECK-NOT: dl.add
// CHECK: %[[Q:.*]] = dl.cast %{{.*}} {dtype = ui8} : (tensor<1x8x8x8xf32>)
// CHECK-NEXT: %[[P:.*]] = dl.max_pool2d %[[Q]] {{.*}} : (tensor<1x8x8x8xui8>) -> tensor<1x8x4x4xui8>
// CHECK-NEXT: dl.reshape %[[P]] {{.*}} -> tensor<1x128xui8>
// CHECK-NOT: max_pool2d
// CHECK: return
func.func @pooled(%x: tensor<1x4x8x8xf32>) -> tensor<1x6xf32> {
  %w = dl.weight "w" : tensor<8x4x3x3xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %l = dl.weight "l" : tensor<6x128xf32>
  %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>, dl.activation_range = array<f64: -1.0, 2.0>} : (tensor<1x4x8x8xf32>, tensor<8x4x3x3xf32>, tensor<8xf32>) -> tensor<1x8x8x8xf32>
  %1 = dl.relu %0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = dl.max_pool2d %1 {kernel_size = array<i64: 2, 2>} : (tensor<1x8x8x8xf32>) -> tensor<1x8x4x4xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (1, 128)>} : (tensor<1x8x4x4xf32>) -> tensor<1x128xf32>
  %4 = dl.linear %3, %l {dl.activation_range = array<f64: 0.0, 5.1>} : (tensor<1x128xf32>, tensor<6x128xf32>) -> tensor<1x6xf32>
  return %4 : tensor<1x6xf32>
}

// -----

// Two products of one value read one tensor of bytes. Columns of a matrix are channels, and so are
// the rows of one that stands on the left.
// CHECK-LABEL: @shared
// CHECK-COUNT-1: dl.cast %{{.*}} {dtype = ui8}
// CHECK: dl.amax %{{.*}} {dim = array<i64: 0>, keepdim = true} : (tensor<32x8xf32>) -> tensor<1x8xf32>
// CHECK: dl.matmul %{{.*}} -> tensor<32x8xi32>
// CHECK: dl.amax %{{.*}} {dim = array<i64: 1>, keepdim = true} : (tensor<8x32xf32>) -> tensor<8x1xf32>
// CHECK: dl.matmul %{{.*}} -> tensor<8x32xi32>
// CHECK: dl.broadcast %{{.*}} : (tensor<8x1xf32>) -> tensor<8x32xf32>
func.func @shared(%x: tensor<32x32xf32>) -> (tensor<32x8xf32>, tensor<8x32xf32>) {
  %w = dl.weight "w" : tensor<32x8xf32>
  %v = dl.weight "v" : tensor<8x32xf32>
  %0 = dl.matmul %x, %w {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<32x32xf32>, tensor<32x8xf32>) -> tensor<32x8xf32>
  %1 = dl.matmul %v, %x {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  return %0, %1 : tensor<32x8xf32>, tensor<8x32xf32>
}

// -----

// Without a range a product stays, and so do a product of two activations, one of integers and one
// of 9 terms.
// CHECK-LABEL: @kept
// CHECK-NOT: ui8
// CHECK: return
func.func @kept(%x: tensor<8x32xf32>, %i: tensor<8x32xi32>, %p: tensor<1x8x6x6xf32>) -> (tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x8xi32>, tensor<1x8x6x6xf32>) {
  %w = dl.weight "w" : tensor<32x32xf32>
  %v = dl.weight "v" : tensor<32x8xi32>
  %d = dl.weight "d" : tensor<8x1x3x3xf32>
  %0 = dl.linear %x, %w : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
  %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %2 = dl.matmul %x, %1 {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
  %3 = dl.matmul %i, %v {dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<8x32xi32>, tensor<32x8xi32>) -> tensor<8x8xi32>
  %4 = dl.conv2d %p, %d {padding = array<i64: 1, 1>, groups = 8 : i64, dl.activation_range = array<f64: 0.0, 1.0>} : (tensor<1x8x6x6xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x6x6xf32>
  return %2, %0, %3, %4 : tensor<8x8xf32>, tensor<8x32xf32>, tensor<8x8xi32>, tensor<1x8x6x6xf32>
}

// -----

// With scheme=dynamic each row has its own scale and zero point, of u8. The zero point is taken off the sums,
// that many times the sum of the weights that the row meets. A row that two products read is quantized
// once. The range of calibration, where there is one, says nothing.
// DYNAMIC-LABEL: @rows
// DYNAMIC-SAME: (%[[X:.*]]: tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>)
// DYNAMIC: %[[AMIN:.*]] = dl.amin %[[X]] {dim = array<i64: 2>, keepdim = true} : {{.*}} -> tensor<?x3x1xf32, #dl.t<[s0, 3, 1]>>
// DYNAMIC: %[[LOW:.*]] = dl.minimum %[[AMIN]],
// DYNAMIC: %[[AMAX:.*]] = dl.amax %[[X]] {dim = array<i64: 2>, keepdim = true}
// DYNAMIC: %[[HIGH:.*]] = dl.maximum %[[AMAX]],
// DYNAMIC: %[[EXTENT:.*]] = dl.sub %[[HIGH]], %[[LOW]]
// DYNAMIC: dl.full 2.550000e+02
// DYNAMIC: %[[SCALE:.*]] = dl.div %[[EXTENT]],
// DYNAMIC: %[[PLACE:.*]] = dl.div %[[LOW]], %[[SCALE]]
// DYNAMIC: %[[UP:.*]] = dl.neg %[[PLACE]]
// DYNAMIC: %[[ROUND:.*]] = dl.round %[[UP]]
// DYNAMIC: %[[ZERO:.*]] = dl.cast %[[ROUND]] {dtype = ui8} : {{.*}} -> tensor<?x3x1xui8, #dl.t<[s0, 3, 1]>>
// DYNAMIC: %[[ALL:.*]] = dl.broadcast %[[SCALE]]
// DYNAMIC: %[[STEPS:.*]] = dl.div %[[X]], %[[ALL]]
// DYNAMIC: %[[NEAREST:.*]] = dl.round %[[STEPS]]
// DYNAMIC: %[[SHIFTED:.*]] = dl.add %[[NEAREST]],
// DYNAMIC: %[[Q:.*]] = dl.cast %[[SHIFTED]] {dtype = ui8}
// DYNAMIC: %[[N:.*]] = dl.cast %[[Q]] {dtype = i32}
// DYNAMIC: %[[R:.*]] = dl.cast %{{.*}} {dtype = i32} : (tensor<16x32xi8>)
// DYNAMIC: %[[SUM:.*]] = dl.linear %[[N]], %[[R]] : {{.*}} -> tensor<?x3x16xi32, #dl.t<[s0, 3, 16]>>
// DYNAMIC: %[[OFW:.*]] = dl.sum %[[R]] {dim = array<i64: 1>, dtype = i32, keepdim = true} : (tensor<16x32xi32>) -> tensor<16x1xi32>
// DYNAMIC: %[[LESS:.*]] = dl.mul {{.*}} -> tensor<?x3x16xi32, #dl.t<[s0, 3, 16]>>
// DYNAMIC: %[[EXACT:.*]] = dl.sub %[[SUM]], %[[LESS]]
// DYNAMIC: %[[STEP:.*]] = dl.mul
// DYNAMIC: %[[F:.*]] = dl.cast %[[EXACT]] {dtype = f32}
// DYNAMIC: %[[SCALED:.*]] = dl.mul %[[F]], %[[STEP]]
// DYNAMIC: dl.add %[[SCALED]],
// DYNAMIC-NOT: dl.amin
// DYNAMIC: dl.linear {{.*}} -> tensor<?x3x24xi32, #dl.t<[s0, 3, 24]>>
// DYNAMIC: return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @rows(%x: tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>) -> (tensor<?x3x16xf32, #dl.t<[s0, 3, 16]>>, tensor<?x3x24xf32, #dl.t<[s0, 3, 24]>>) {
  %w = dl.weight "w" : tensor<16x32xf32>
  %v = dl.weight "v" : tensor<24x32xf32>
  %b = dl.weight "b" : tensor<16xf32>
  %0 = dl.linear %x, %w, %b {dl.activation_range = array<f64: -1.0, 2.0>} : (tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>, tensor<16x32xf32>, tensor<16xf32>) -> tensor<?x3x16xf32, #dl.t<[s0, 3, 16]>>
  %1 = dl.linear %x, %v : (tensor<?x3x32xf32, #dl.t<[s0, 3, 32]>>, tensor<24x32xf32>) -> tensor<?x3x24xf32, #dl.t<[s0, 3, 24]>>
  return %0, %1 : tensor<?x3x16xf32, #dl.t<[s0, 3, 16]>>, tensor<?x3x24xf32, #dl.t<[s0, 3, 24]>>
}
}

// -----

// A matrix that stands on the left is read by columns: each has a grid of its own. Another reader of
// the value goes on with f32.
// DYNAMIC-LABEL: @columns
// DYNAMIC-SAME: (%[[X:.*]]: tensor<32x5xf32>)
// DYNAMIC: dl.amin %[[X]] {dim = array<i64: 0>, keepdim = true} : (tensor<32x5xf32>) -> tensor<1x5xf32>
// DYNAMIC: dl.matmul %{{.*}} : (tensor<16x32xi32>, tensor<32x5xi32>) -> tensor<16x5xi32>
// DYNAMIC: dl.broadcast %{{.*}} : (tensor<1x5xi32>) -> tensor<16x5xi32>
// DYNAMIC: dl.tanh %[[X]]
func.func @columns(%x: tensor<32x5xf32>) -> (tensor<16x5xf32>, tensor<32x5xf32>) {
  %v = dl.weight "v" : tensor<16x32xf32>
  %0 = dl.matmul %v, %x : (tensor<16x32xf32>, tensor<32x5xf32>) -> tensor<16x5xf32>
  %1 = dl.tanh %x : (tensor<32x5xf32>) -> tensor<32x5xf32>
  return %0, %1 : tensor<16x5xf32>, tensor<32x5xf32>
}

// -----

// These stay with scheme=dynamic: a convolution, a product of few results, and one of two activations.
// DYNAMIC-LABEL: @windows
// DYNAMIC-NOT: ui8
// DYNAMIC: return
func.func @windows(%x: tensor<1x4x8x8xf32>, %y: tensor<8x32xf32>) -> (tensor<1x16x8x8xf32>, tensor<8x6xf32>, tensor<8x8xf32>) {
  %w = dl.weight "w" : tensor<16x4x3x3xf32>
  %l = dl.weight "l" : tensor<6x32xf32>
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>, dl.activation_range = array<f64: -1.0, 2.0>} : (tensor<1x4x8x8xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x8x8xf32>
  %1 = dl.linear %y, %l : (tensor<8x32xf32>, tensor<6x32xf32>) -> tensor<8x6xf32>
  %2 = dl.permute %y {dims = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %3 = dl.matmul %y, %2 : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
  return %0, %1, %3 : tensor<1x16x8x8xf32>, tensor<8x6xf32>, tensor<8x8xf32>
}

// -----

// With scheme=fp8 both operands are rounded to e4m3 and multiplied as f32; what lies outside becomes the
// nearest number before. A channel of zeros has a scale, too.
// FLOAT8-LABEL: @floats
// FLOAT8-SAME: (%[[X:.*]]: tensor<?x32xf32, #dl.t<[s0, 32]>>)
// FLOAT8: dl.full 223.999985 : f32
// FLOAT8: %[[STEPS:.*]] = dl.mul %[[X]],
// FLOAT8: %[[IN:.*]] = dl.clamp %[[STEPS]] {max = 4.480000e+02 : f64, min = -4.480000e+02 : f64}
// FLOAT8: %[[Q:.*]] = dl.cast %[[IN]] {dtype = f8E4M3FN}
// FLOAT8: %[[N:.*]] = dl.cast %[[Q]] {dtype = f32}
// FLOAT8: dl.full 1.000000e-30 : f32
// FLOAT8: dl.maximum
// FLOAT8: dl.cast %{{.*}} {dtype = f8E4M3FN} : (tensor<8x32xf32>) -> tensor<8x32xf8E4M3FN>
// FLOAT8: %[[R:.*]] = dl.cast %{{.*}} {dtype = f32} : (tensor<8x32xf8E4M3FN>) -> tensor<8x32xf32>
// FLOAT8: %[[SUM:.*]] = dl.linear %[[N]], %[[R]] : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<8x32xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
// FLOAT8: %[[SCALED:.*]] = dl.mul %[[SUM]],
// FLOAT8: %[[Y:.*]] = dl.add %[[SCALED]],
// FLOAT8: dl.linear %[[X]], %{{.*}} : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<8x32xf32>, tensor<8xf32>)
// FLOAT8: return %[[Y]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @floats(%x: tensor<?x32xf32, #dl.t<[s0, 32]>>) -> (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<?x8xf32, #dl.t<[s0, 8]>>) {
  %w = dl.weight "w" : tensor<8x32xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %0 = dl.linear %x, %w, %b {dl.activation_range = array<f64: -1.0, 2.0>} : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<8x32xf32>, tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  %1 = dl.linear %x, %w, %b : (tensor<?x32xf32, #dl.t<[s0, 32]>>, tensor<8x32xf32>, tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %0, %1 : tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<?x8xf32, #dl.t<[s0, 8]>>
}
}
