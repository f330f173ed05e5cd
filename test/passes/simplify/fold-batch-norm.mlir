// RUN: dlc-opt %s -fold-batch-norm -split-input-file | FileCheck %s

// CHECK-LABEL: @conv
// CHECK-DAG: %[[W:.*]] = dl.weight "w"
// CHECK-DAG: %[[B:.*]] = dl.weight "b"
// CHECK-DAG: %[[M:.*]] = dl.weight "m"
// CHECK-DAG: %[[V:.*]] = dl.weight "v"
// CHECK-DAG: %[[G:.*]] = dl.weight "g"
// CHECK-DAG: %[[S:.*]] = dl.weight "s"
// CHECK: %[[EPS:.*]] = dl.full 1.000000e-03 : f32 -> tensor<4xf32>
// CHECK: %[[SUM:.*]] = dl.add %[[V]], %[[EPS]]
// CHECK: %[[ROOT:.*]] = dl.sqrt %[[SUM]]
// CHECK: %[[SCALE:.*]] = dl.div %[[G]], %[[ROOT]]
// CHECK: %[[CENTRED:.*]] = dl.sub %[[B]], %[[M]]
// CHECK: %[[SCALED:.*]] = dl.mul %[[CENTRED]], %[[SCALE]]
// CHECK: %[[BIAS:.*]] = dl.add %[[SCALED]], %[[S]]
// CHECK: %[[COLUMN:.*]] = dl.reshape %[[SCALE]] {{.*}} -> tensor<4x1x1x1xf32>
// CHECK: %[[WIDE:.*]] = dl.broadcast %[[COLUMN]] {{.*}} -> tensor<4x3x3x3xf32>
// CHECK: %[[WEIGHT:.*]] = dl.mul %[[W]], %[[WIDE]]
// CHECK: %[[Y:.*]] = dl.conv2d %{{.*}}, %[[WEIGHT]], %[[BIAS]] {padding = array<i64: 1, 1>}
// CHECK: return %[[Y]]
func.func @conv(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %w = dl.weight "w" : tensor<4x3x3x3xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %g = dl.weight "g" : tensor<4xf32>
  %s = dl.weight "s" : tensor<4xf32>
  %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.batch_norm %0, %m, %v, %g, %s {eps = 1.0e-3 : f64} : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// -----

// Without bias, weight and shift.
// CHECK-LABEL: @linear
// CHECK: %[[ONE:.*]] = dl.full 1.000000e+00
// CHECK: %[[SCALE:.*]] = dl.div %[[ONE]]
// CHECK: %[[MINUS:.*]] = dl.neg
// CHECK: %[[BIAS:.*]] = dl.mul %[[MINUS]], %[[SCALE]]
// CHECK: dl.linear %{{.*}}, %{{.*}}, %[[BIAS]]
// CHECK-NOT: dl.batch_norm
func.func @linear(%x: tensor<2x8xf32>) -> tensor<2x4xf32> {
  %w = dl.weight "w" : tensor<4x8xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.linear %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %1 = dl.batch_norm %0, %m, %v : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// The convolution's own result is an output too.
// CHECK-LABEL: @used_twice
// CHECK: dl.batch_norm
func.func @used_twice(%x: tensor<2x3x8x8xf32>) -> (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) {
  %w = dl.weight "w" : tensor<4x3x1x1xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.conv2d %x, %w : (tensor<2x3x8x8xf32>, tensor<4x3x1x1xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.batch_norm %0, %m, %v : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %0, %1 : tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>
}

// -----

// Dim 1 of a [N, T, F] linear layer is not its features.
// CHECK-LABEL: @other_dim
// CHECK: dl.batch_norm
func.func @other_dim(%x: tensor<2x4x8xf32>) -> tensor<2x4x4xf32> {
  %w = dl.weight "w" : tensor<4x8xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.linear %x, %w : (tensor<2x4x8xf32>, tensor<4x8xf32>) -> tensor<2x4x4xf32>
  %1 = dl.batch_norm %0, %m, %v : (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %1 : tensor<2x4x4xf32>
}

// -----

// Statistics that are inputs cannot be folded at load.
// CHECK-LABEL: @statistics_from_input
// CHECK: dl.batch_norm
func.func @statistics_from_input(%x: tensor<2x8xf32>, %m: tensor<4xf32>) -> tensor<2x4xf32> {
  %w = dl.weight "w" : tensor<4x8xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.linear %x, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %1 = dl.batch_norm %0, %m, %v : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Half-precision weights would be rounded once more.
// CHECK-LABEL: @half
// CHECK: dl.batch_norm
func.func @half(%x: tensor<2x8xf16>) -> tensor<2x4xf16> {
  %w = dl.weight "w" : tensor<4x8xf16>
  %m = dl.weight "m" : tensor<4xf16>
  %v = dl.weight "v" : tensor<4xf16>
  %0 = dl.linear %x, %w : (tensor<2x8xf16>, tensor<4x8xf16>) -> tensor<2x4xf16>
  %1 = dl.batch_norm %0, %m, %v : (tensor<2x4xf16>, tensor<4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
  return %1 : tensor<2x4xf16>
}

// -----

// The norm is to be a kernel of its own.
// CHECK-LABEL: @no_fuse
// CHECK: dl.conv1d
// CHECK: dl.batch_norm
func.func @no_fuse(%x: tensor<2x3x8xf32>) -> tensor<2x4x8xf32> {
  %w = dl.weight "w" : tensor<4x3x1xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.conv1d %x, %w : (tensor<2x3x8xf32>, tensor<4x3x1xf32>) -> tensor<2x4x8xf32>
  %1 = dl.batch_norm %0, %m, %v {dl.no_fuse} : (tensor<2x4x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  return %1 : tensor<2x4x8xf32>
}

// -----

// A transposed convolution: its channels are laid out as pixels, in four phases of two groups of three.
// CHECK-LABEL: @transposed
// CHECK: %[[PARTS:.*]] = dl.reshape %{{.*}} -> tensor<2x1x3xf32>
// CHECK: %[[PHASES:.*]] = dl.broadcast %[[PARTS]] {{.*}} -> tensor<2x4x3xf32>
// CHECK: %[[SCALE:.*]] = dl.reshape %[[PHASES]] {{.*}} -> tensor<24xf32>
// CHECK: %[[BIAS:.*]] = dl.mul %{{.*}}, %[[SCALE]] : (tensor<24xf32>, tensor<24xf32>)
// CHECK: %[[WEIGHT:.*]] = dl.mul %{{.*}}, %{{.*}} : (tensor<24x2x2x2xf32>, tensor<24x2x2x2xf32>)
// CHECK: %[[PRODUCT:.*]] = dl.conv2d %{{.*}}, %[[WEIGHT]], %[[BIAS]] {groups = 2 : i64
// CHECK: %[[PIXELS:.*]] = dl.depth_to_space %[[PRODUCT]] {block = array<i64: 2, 2>
// CHECK: return %[[PIXELS]]
func.func @transposed(%x: tensor<2x4x8x8xf32>) -> tensor<2x6x14x14xf32> {
  %w = dl.weight "w" : tensor<24x2x2x2xf32>
  %m = dl.weight "m" : tensor<6xf32>
  %v = dl.weight "v" : tensor<6xf32>
  %0 = dl.conv2d %x, %w {groups = 2 : i64} : (tensor<2x4x8x8xf32>, tensor<24x2x2x2xf32>) -> tensor<2x24x7x7xf32>
  %1 = dl.depth_to_space %0 {block = array<i64: 2, 2>, crop = array<i64: 0, 0, 0, 0>, groups = 2 : i64} : (tensor<2x24x7x7xf32>) -> tensor<2x6x14x14xf32>
  %2 = dl.batch_norm %1, %m, %v : (tensor<2x6x14x14xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x6x14x14xf32>
  return %2 : tensor<2x6x14x14xf32>
}

// -----

// For any batch and height.
// CHECK-LABEL: @any_size
// CHECK: %[[WIDE:.*]] = dl.broadcast {{.*}} -> tensor<4x3x3x3xf32>
// CHECK: %[[WEIGHT:.*]] = dl.mul %{{.*}}, %[[WIDE]]
// CHECK-NEXT: %[[Y:.*]] = dl.conv2d %arg0, %[[WEIGHT]], %{{.*}} -> tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>
// CHECK-NEXT: return %[[Y]]
func.func @any_size(%x: tensor<?x3x?x8xf32, #dl.t<[s0, 3, s1, 8]>>) -> tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>> {
  %w = dl.weight "w" : tensor<4x3x3x3xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %g = dl.weight "g" : tensor<4xf32>
  %s = dl.weight "s" : tensor<4xf32>
  %0 = dl.conv2d %x, %w, %b {padding = array<i64: 1, 1>} : (tensor<?x3x?x8xf32, #dl.t<[s0, 3, s1, 8]>>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>
  %1 = dl.batch_norm %0, %m, %v, %g, %s {eps = 1.0e-3 : f64} : (tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>
  return %1 : tensor<?x4x?x8xf32, #dl.t<[s0, 4, s1, 8]>>
}
