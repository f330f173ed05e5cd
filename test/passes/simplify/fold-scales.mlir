// RUN: dlc-opt %s -fold-scales -canonicalize -split-input-file | FileCheck %s
// RUN: dlc-opt %s -fold-scales -split-input-file | FileCheck %s --check-prefix=MARK

// A batch norm before another op is a product and a sum; the root and the quotient are those of four numbers.
// CHECK-LABEL: @norm_alone
// CHECK: %[[ROOT:.*]] = dl.sqrt %{{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[SCALE:.*]] = dl.div %{{.*}}, %[[ROOT]] : (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[MOVED:.*]] = dl.mul %{{.*}}, %[[SCALE]] : (tensor<4xf32>, tensor<4xf32>)
// CHECK: %[[SHIFT:.*]] = dl.sub %{{.*}}, %[[MOVED]]
// CHECK-DAG: %[[COLUMN:.*]] = dl.reshape %[[SCALE]] {{.*}} -> tensor<4x1x1xf32>
// CHECK-DAG: %[[WIDE:.*]] = dl.broadcast %[[COLUMN]] {{.*}} -> tensor<2x4x8x8xf32>
// CHECK: %[[SCALED:.*]] = dl.mul %{{.*}}, %[[WIDE]]
// CHECK: %[[SUM:.*]] = dl.add %[[SCALED]]
// CHECK: dl.relu %[[SUM]]
// CHECK-NOT: dl.batch_norm
// It computes in f32 whatever the precision of the model is.
// MARK-LABEL: @norm_alone
// MARK: dl.mul %arg0, %{{.*}} {dl.keep_f32}
// MARK: dl.add %{{.*}} {dl.keep_f32}
func.func @norm_alone(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32> {
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %g = dl.weight "g" : tensor<4xf32>
  %s = dl.weight "s" : tensor<4xf32>
  %0 = dl.batch_norm %x, %m, %v, %g, %s : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.relu %0 : (tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  return %1 : tensor<2x4x8x8xf32>
}

// -----

// A batch norm of any number of samples goes into the convolution after it, which has no padding.
// CHECK-LABEL: @norm_before
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[TERMS:.*]] = dl.mul %[[W]], %{{.*}} : (tensor<6x4x3x3xf32>
// CHECK: %[[BIAS:.*]] = dl.sum %[[TERMS]] {dim = array<i64: 1, 2, 3>} : (tensor<6x4x3x3xf32>) -> tensor<6xf32>
// CHECK: %[[SCALED:.*]] = dl.mul %[[W]], %{{.*}} : (tensor<6x4x3x3xf32>
// CHECK: %[[Y:.*]] = dl.conv2d %arg0, %[[SCALED]], %[[BIAS]] :
// CHECK: return %[[Y]]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
func.func @norm_before(%x: tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>) -> tensor<?x6x6x6xf32, #dl.t<[s0, 6, 6, 6]>> {
  %w = dl.weight "w" : tensor<6x4x3x3xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.batch_norm %x, %m, %v : (tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>
  %1 = dl.conv2d %0, %w : (tensor<?x4x8x8xf32, #dl.t<[s0, 4, 8, 8]>>, tensor<6x4x3x3xf32>) -> tensor<?x6x6x6xf32, #dl.t<[s0, 6, 6, 6]>>
  return %1 : tensor<?x6x6x6xf32, #dl.t<[s0, 6, 6, 6]>>
}
}

// -----

// Padding would be shifted: what goes into the weights is the scale before a shift, and here the shift is last.
// CHECK-LABEL: @padded
// CHECK: dl.mul %arg0
// CHECK: %[[X:.*]] = dl.add
// CHECK: dl.conv2d %[[X]], %{{[0-9]+}} {padding
func.func @padded(%x: tensor<2x4x8x8xf32>) -> tensor<2x6x8x8xf32> {
  %w = dl.weight "w" : tensor<6x4x3x3xf32>
  %m = dl.weight "m" : tensor<4xf32>
  %v = dl.weight "v" : tensor<4xf32>
  %0 = dl.batch_norm %x, %m, %v : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>} : (tensor<2x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<2x6x8x8xf32>
  return %1 : tensor<2x6x8x8xf32>
}

// -----

// A scale alone is no obstacle; of a grouped convolution, each group has channels of its own.
// CHECK-LABEL: @padded_scale
// CHECK: %[[ROWS:.*]] = dl.broadcast %{{.*}} : (tensor<2x1x2xf32>) -> tensor<2x3x2xf32>
// CHECK: %[[COLUMN:.*]] = dl.reshape %[[ROWS]] {{.*}} -> tensor<6x2x1x1xf32>
// CHECK: %[[WIDE:.*]] = dl.broadcast %[[COLUMN]]
// CHECK: %[[SCALED:.*]] = dl.mul %{{.*}}, %[[WIDE]]
// CHECK: dl.conv2d %arg0, %[[SCALED]] {groups = 2 : i64, padding
func.func @padded_scale(%x: tensor<2x4x8x8xf32>) -> tensor<2x6x8x8xf32> {
  %w = dl.weight "w" : tensor<6x2x3x3xf32>
  %s = dl.weight "s" : tensor<4x1x1xf32>
  %b = dl.broadcast %s : (tensor<4x1x1xf32>) -> tensor<2x4x8x8xf32>
  %0 = dl.mul %b, %x : (tensor<2x4x8x8xf32>, tensor<2x4x8x8xf32>) -> tensor<2x4x8x8xf32>
  %1 = dl.conv2d %0, %w {groups = 2 : i64, padding = array<i64: 1, 1>} : (tensor<2x4x8x8xf32>, tensor<6x2x3x3xf32>) -> tensor<2x6x8x8xf32>
  return %1 : tensor<2x6x8x8xf32>
}

// -----

// conv2d(x, w, b) / d * s - t: all of it is weight and bias.
// CHECK-LABEL: @chain
// CHECK: %[[Y:.*]] = dl.conv2d %arg0, %{{.*}}, %{{.*}} :
// CHECK-NEXT: return %[[Y]]
func.func @chain(%x: tensor<2x3x8x8xf32>) -> tensor<2x4x6x6xf32> {
  %w = dl.weight "w" : tensor<4x3x3x3xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %s = dl.weight "s" : tensor<4x1x1xf32>
  %t = dl.weight "t" : tensor<1x4x1x1xf32>
  %d = dl.weight "d" : tensor<4x1x1xf32>
  %s4 = dl.broadcast %s : (tensor<4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %t4 = dl.broadcast %t : (tensor<1x4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %0 = dl.conv2d %x, %w, %b : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %d4 = dl.broadcast %d : (tensor<4x1x1xf32>) -> tensor<2x4x6x6xf32>
  %1 = dl.div %0, %d4 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %2 = dl.mul %1, %s4 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  %3 = dl.sub %2, %t4 : (tensor<2x4x6x6xf32>, tensor<2x4x6x6xf32>) -> tensor<2x4x6x6xf32>
  return %3 : tensor<2x4x6x6xf32>
}

// -----

// The scale of a layer after the bias of a product and a permutation of both.
// CHECK-LABEL: @layer_scale
// CHECK: %[[W:.*]] = dl.mul %{{.*}}, %{{.*}} : (tensor<8x4xf32>
// CHECK: %[[Y:.*]] = dl.matmul %arg0, %[[W]]
// CHECK: %[[SUM:.*]] = dl.add %[[Y]]
// CHECK: %[[P:.*]] = dl.permute %[[SUM]]
// CHECK: return %[[P]]
func.func @layer_scale(%x: tensor<2x6x8xf32>) -> tensor<2x4x6xf32> {
  %w = dl.weight "w" : tensor<8x4xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %s = dl.weight "s" : tensor<4x1xf32>
  %b3 = dl.broadcast %b : (tensor<4xf32>) -> tensor<2x6x4xf32>
  %s3 = dl.broadcast %s : (tensor<4x1xf32>) -> tensor<2x4x6xf32>
  %0 = dl.matmul %x, %w : (tensor<2x6x8xf32>, tensor<8x4xf32>) -> tensor<2x6x4xf32>
  %1 = dl.add %0, %b3 : (tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  %2 = dl.permute %1 {dims = array<i64: 0, 2, 1>} : (tensor<2x6x4xf32>) -> tensor<2x4x6xf32>
  %3 = dl.mul %2, %s3 : (tensor<2x4x6xf32>, tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %3 : tensor<2x4x6xf32>
}

// -----

// A norm before a linear layer and before a matrix product.
// CHECK-LABEL: @features
// CHECK: %[[ADDED:.*]] = dl.linear %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<4x8xf32>) -> tensor<4xf32>
// CHECK: %[[BIAS:.*]] = dl.add %{{.*}}, %[[ADDED]]
// CHECK: dl.linear %arg0, %{{.*}}, %[[BIAS]]
// CHECK: %[[ROW:.*]] = dl.matmul %{{.*}}, %{{.*}} : (tensor<8xf32>, tensor<8x4xf32>) -> tensor<4xf32>
// CHECK: dl.matmul %arg0
// CHECK: dl.broadcast %[[ROW]]
func.func @features(%x: tensor<2x8xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = dl.weight "w" : tensor<4x8xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %u = dl.weight "u" : tensor<8x4xf32>
  %t = dl.weight "t" : tensor<8xf32>
  %t2 = dl.broadcast %t : (tensor<8xf32>) -> tensor<2x8xf32>
  %0 = dl.add %x, %t2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = dl.linear %0, %w, %b : (tensor<2x8xf32>, tensor<4x8xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = dl.sub %x, %t2 : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %3 = dl.matmul %2, %u : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  return %1, %3 : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// A number costs nothing where it stands: before a product it may overflow on purpose, and a weight that is stored
// may have blocks of zeros, or few bits.
// CHECK-LABEL: @number
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[X:.*]] = dl.mul %arg0
// CHECK: %[[Y:.*]] = dl.linear %[[X]], %[[W]] :
// CHECK: dl.div %[[Y]]
// CHECK: %[[ROW:.*]] = dl.linear %arg1, %{{[0-9]+}} :
// CHECK: dl.mul %[[ROW]]
func.func @number(%x: tensor<2x8xf32>, %z: tensor<1x8xf32>) -> (tensor<2x4xf32>, tensor<1x4xf32>) {
  %w = dl.weight "w" : tensor<4x8xf32>
  %a = dl.full 3.0 : f32 -> tensor<2x8xf32>
  %b = dl.full 3.0 : f32 -> tensor<2x4xf32>
  %0 = dl.mul %x, %a : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x8xf32>
  %1 = dl.linear %0, %w : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %2 = dl.div %1, %b : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %u = dl.weight "u" : tensor<4x8xf32>
  %c = dl.full 3.0 : f32 -> tensor<1x4xf32>
  %3 = dl.linear %z, %u : (tensor<1x8xf32>, tensor<4x8xf32>) -> tensor<1x4xf32>
  %4 = dl.mul %3, %c : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  return %2, %4 : tensor<2x4xf32>, tensor<1x4xf32>
}

// -----

// The bias of the product before is added by that one's kernel.
// CHECK-LABEL: @bias_before
// CHECK: %[[C:.*]] = dl.weight "c"
// CHECK: %[[X:.*]] = dl.add
// CHECK: dl.matmul %[[X]], %[[C]]
func.func @bias_before(%x: tensor<2x8xf32>) -> tensor<2x5xf32> {
  %w = dl.weight "w" : tensor<8x4xf32>
  %b = dl.weight "b" : tensor<4xf32>
  %c = dl.weight "c" : tensor<4x5xf32>
  %b2 = dl.broadcast %b : (tensor<4xf32>) -> tensor<2x4xf32>
  %0 = dl.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = dl.add %0, %b2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = dl.matmul %1, %c : (tensor<2x4xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return %2 : tensor<2x5xf32>
}

// -----

// Stays: the weight is read elsewhere; the product is an output; a scale of rows is none of the weight's; a scale
// that is an input; a kernel of its own.
// CHECK-LABEL: @stays
// CHECK-DAG: %[[W:.*]] = dl.weight "w"
// CHECK-DAG: %[[U:.*]] = dl.weight "u"
// CHECK-DAG: %[[V:.*]] = dl.weight "v"
// CHECK-DAG: %[[A:.*]] = dl.weight "a"
// CHECK-DAG: %[[C:.*]] = dl.weight "c"
// CHECK-DAG: dl.linear %{{.*}}, %[[W]] :
// CHECK-DAG: dl.linear %{{.*}}, %[[U]] :
// CHECK-DAG: dl.linear %{{.*}}, %[[V]] :
// CHECK-DAG: dl.linear %{{.*}}, %[[A]] :
// CHECK-DAG: dl.linear %{{.*}}, %[[C]] {dl.no_fuse} :
// CHECK: return
func.func @stays(%x: tensor<4x8xf32>, %i: tensor<4xf32>) -> (tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %w = dl.weight "w" : tensor<4x8xf32>
  %u = dl.weight "u" : tensor<4x8xf32>
  %v = dl.weight "v" : tensor<4x8xf32>
  %a = dl.weight "a" : tensor<4x8xf32>
  %c = dl.weight "c" : tensor<4x8xf32>
  %s = dl.weight "s" : tensor<4xf32>
  %r = dl.weight "r" : tensor<4x1xf32>
  %s2 = dl.broadcast %s : (tensor<4xf32>) -> tensor<4x4xf32>
  %r2 = dl.broadcast %r : (tensor<4x1xf32>) -> tensor<4x4xf32>
  %i2 = dl.broadcast %i : (tensor<4xf32>) -> tensor<4x4xf32>
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %1 = dl.mul %0, %s2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dl.mul %x, %w : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.linear %x, %u : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %4 = dl.mul %3, %s2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = dl.linear %x, %v : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %6 = dl.mul %5, %r2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %7 = dl.linear %x, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %8 = dl.mul %7, %i2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %9 = dl.linear %x, %c {dl.no_fuse} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %10 = dl.mul %9, %s2 {dl.no_fuse} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %1, %2, %3, %4, %6, %8, %10 : tensor<4x4xf32>, tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// In half precision, weights would be rounded once more: a norm computes in f32. One of the two ops is to run in f32, the other is not.
// CHECK-LABEL: @other_precision
// CHECK-DAG: %[[WIDE:.*]] = dl.cast %arg0 {dtype = f32} : (tensor<2x8xf16>) -> tensor<2x8xf32>
// CHECK-DAG: %[[SCALED:.*]] = dl.mul %[[WIDE]], %{{.*}} : (tensor<2x8xf32>
// CHECK-DAG: %[[SHIFTED:.*]] = dl.add %[[SCALED]], %{{.*}} : (tensor<2x8xf32>
// CHECK-DAG: dl.cast %[[SHIFTED]] {dtype = f16} : (tensor<2x8xf32>) -> tensor<2x8xf16>
// CHECK-DAG: dl.mul %{{.*}} : (tensor<2x4xf16>
// CHECK-DAG: dl.mul %{{.*}} {dl.keep_f32}
func.func @other_precision(%h: tensor<2x8xf16>, %x: tensor<2x8xf32>) -> (tensor<2x8xf16>, tensor<2x4xf16>, tensor<2x4xf32>) {
  %w = dl.weight "w" : tensor<4x8xf16>
  %u = dl.weight "u" : tensor<4x8xf32>
  %s = dl.weight "s" : tensor<4xf32>
  %c = dl.weight "c" : tensor<4xf16>
  %m = dl.weight "m" : tensor<8xf16>
  %v = dl.weight "v" : tensor<8xf16>
  %two = dl.broadcast %c : (tensor<4xf16>) -> tensor<2x4xf16>
  %three = dl.broadcast %s : (tensor<4xf32>) -> tensor<2x4xf32>
  %0 = dl.batch_norm %h, %m, %v : (tensor<2x8xf16>, tensor<8xf16>, tensor<8xf16>) -> tensor<2x8xf16>
  %1 = dl.linear %h, %w : (tensor<2x8xf16>, tensor<4x8xf16>) -> tensor<2x4xf16>
  %2 = dl.mul %1, %two : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %3 = dl.linear %x, %u : (tensor<2x8xf32>, tensor<4x8xf32>) -> tensor<2x4xf32>
  %4 = dl.mul %3, %three {dl.keep_f32} : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %0, %2, %4 : tensor<2x8xf16>, tensor<2x4xf16>, tensor<2x4xf32>
}

// -----

// Scales that are known to be 0, infinite or far from 1 stay: their products with weights might leave the range of f32.
// CHECK-LABEL: @extreme
// CHECK: %[[W:.*]] = dl.weight "w"
// CHECK: %[[X:.*]] = dl.mul %arg0
// CHECK: %[[Y:.*]] = dl.matmul %[[X]], %[[W]]
// CHECK: dl.div %[[Y]]
func.func @extreme(%x: tensor<2x4xf32>) -> tensor<2x6xf32> {
  %w = dl.weight "w" : tensor<4x6xf32>
  %s = dl.weight "s" {dl.magnitudes = array<f64: 1.0, 1.0e30>} : tensor<4xf32>
  %d = dl.weight "d" {dl.magnitudes = array<f64: 0.0, 1.0>} : tensor<6xf32>
  %0 = dl.broadcast %s : (tensor<4xf32>) -> tensor<2x4xf32>
  %1 = dl.mul %x, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = dl.matmul %1, %w : (tensor<2x4xf32>, tensor<4x6xf32>) -> tensor<2x6xf32>
  %3 = dl.broadcast %d : (tensor<6xf32>) -> tensor<2x6xf32>
  %4 = dl.div %2, %3 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x6xf32>
  return %4 : tensor<2x6xf32>
}

// -----

// A gain of 0 is a channel that a batch norm leaves out. Its shift is folded, whatever is small in it; one that is large is not.
// CHECK-LABEL: @gains
// CHECK: %[[Y:.*]] = dl.conv2d %arg0, %{{.*}}, %{{.*}} :
// CHECK-NOT: dl.batch_norm
// CHECK: %[[Z:.*]] = dl.conv2d %[[Y]]
// CHECK: dl.batch_norm %[[Z]]
func.func @gains(%x: tensor<2x4x8x8xf32>) -> tensor<2x4x4x4xf32> {
  %w = dl.weight "w" : tensor<4x4x3x3xf32>
  %u = dl.weight "u" : tensor<4x4x3x3xf32>
  %m = dl.weight "m" {dl.magnitudes = array<f64: 0.0, 1.0>} : tensor<4xf32>
  %v = dl.weight "v" {dl.magnitudes = array<f64: 0.0, 1.0e30>} : tensor<4xf32>
  %g = dl.weight "g" {dl.magnitudes = array<f64: 0.0, 1.0>} : tensor<4xf32>
  %h = dl.weight "h" {dl.magnitudes = array<f64: 1.0, 1.0e30>} : tensor<4xf32>
  %s = dl.weight "s" {dl.magnitudes = array<f64: 0.0, 1.0>} : tensor<4xf32>
  %0 = dl.conv2d %x, %w : (tensor<2x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x6x6xf32>
  %1 = dl.batch_norm %0, %m, %v, %g, %s : (tensor<2x4x6x6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x6x6xf32>
  %2 = dl.conv2d %1, %u : (tensor<2x4x6x6xf32>, tensor<4x4x3x3xf32>) -> tensor<2x4x4x4xf32>
  %3 = dl.batch_norm %2, %m, %v, %h, %s : (tensor<2x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4x4xf32>
  return %3 : tensor<2x4x4x4xf32>
}
