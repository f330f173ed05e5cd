// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=OUTLINED

// Weights of 4 bits: both products and the look-up compute the numbers that they read, of bytes, zero points and scales; nothing
// is made at load.
// CHECK-LABEL: @tied
// CHECK-DAG: %[[C:.*]] = dl.weight "w.codes"
// CHECK-DAG: %[[S:.*]] = dl.weight "w.scale"
// CHECK-DAG: %[[Z:.*]] = dl.weight "w.zero"
// CHECK: dl.fusion({{.*}}%[[C]]
// CHECK: dl.cat
// CHECK: dl.embedding
// CHECK: dl.fusion({{.*}}%[[C]]
// CHECK: dl.bitwise_and
// CHECK: dl.cat
// CHECK: dl.sub
// CHECK: dl.linear
// CHECK-NEXT: dl.relu
// CHECK: dl.fusion({{.*}}%[[C]]
// CHECK: dl.cat
// CHECK: dl.linear
// CHECK-NEXT: dl.yield
// CHECK-NOT: dl.fusion
// CHECK: return
// OUTLINED-LABEL: dlx.program @tied
// OUTLINED-NOT: persistent
// OUTLINED: dlx.launch @unpack_linear_relu(
// OUTLINED: dlx.launch @unpack_linear(
// OUTLINED-NOT: persistent
func.func @tied(%at: tensor<3xi64>) -> (tensor<3x16xf32>, tensor<3x16xf32>) {
  %c = dl.weight "w.codes" : tensor<16x32xui8>
  %s = dl.weight "w.scale" : tensor<16x2xf32>
  %z = dl.weight "w.zero" : tensor<16x2xui8>
  %15 = dl.full 15 : i8 -> tensor<16x32xui8>
  %16 = dl.full 16 : i8 -> tensor<16x32xui8>
  %low = dl.bitwise_and %c, %15 : (tensor<16x32xui8>, tensor<16x32xui8>) -> tensor<16x32xui8>
  %high = dl.floor_divide %c, %16 : (tensor<16x32xui8>, tensor<16x32xui8>) -> tensor<16x32xui8>
  %q = dl.cat %low, %high {dim = 1 : i64} : (tensor<16x32xui8>, tensor<16x32xui8>) -> tensor<16x64xui8>
  %codes = dl.cast %q {dtype = f32} : (tensor<16x64xui8>) -> tensor<16x64xf32>
  %zeros = dl.repeat_interleave %z {repeats = 32 : i64, dim = 1 : i64} : (tensor<16x2xui8>) -> tensor<16x64xui8>
  %zero = dl.cast %zeros {dtype = f32} : (tensor<16x64xui8>) -> tensor<16x64xf32>
  %steps = dl.sub %codes, %zero : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %scale = dl.repeat_interleave %s {repeats = 32 : i64, dim = 1 : i64} : (tensor<16x2xf32>) -> tensor<16x64xf32>
  %w = dl.mul %steps, %scale : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
  %rows = dl.embedding %at, %w : (tensor<3xi64>, tensor<16x64xf32>) -> tensor<3x64xf32>
  %y = dl.linear %rows, %w : (tensor<3x64xf32>, tensor<16x64xf32>) -> tensor<3x16xf32>
  %r = dl.relu %y : (tensor<3x16xf32>) -> tensor<3x16xf32>
  %v = dl.linear %rows, %w : (tensor<3x64xf32>, tensor<16x64xf32>) -> tensor<3x16xf32>
  return %r, %v : tensor<3x16xf32>, tensor<3x16xf32>
}

// -----

// What stays at load: weights of 16 bits, floats that are the result, a convolution's filters, the first factor of a product, and
// arithmetic of more than a few ops.
// CHECK-LABEL: @kept
// CHECK: dl.fusion
// CHECK: dl.cast
// CHECK-NEXT: dl.yield
// CHECK: dl.fusion
// CHECK: dl.linear
// OUTLINED-LABEL: dlx.program @kept
// OUTLINED-COUNT-5: {persistent}
func.func @kept(%x: tensor<4x32xf32>, %image: tensor<1x32x4x4xf32>) -> (tensor<4x8xf32>, tensor<8x32xf32>, tensor<1x8x4x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>) {
  %h = dl.weight "h" : tensor<8x32xf16>
  %0 = dl.cast %h {dtype = f32} : (tensor<8x32xf16>) -> tensor<8x32xf32>
  %1 = dl.linear %x, %0 : (tensor<4x32xf32>, tensor<8x32xf32>) -> tensor<4x8xf32>
  %r = dl.weight "r" : tensor<8x32xi8>
  %2 = dl.cast %r {dtype = f32} : (tensor<8x32xi8>) -> tensor<8x32xf32>
  %f = dl.weight "f" : tensor<8x32x3x3xi8>
  %3 = dl.cast %f {dtype = f32} : (tensor<8x32x3x3xi8>) -> tensor<8x32x3x3xf32>
  %4 = dl.conv2d %image, %3 {padding = array<i64: 1, 1>} : (tensor<1x32x4x4xf32>, tensor<8x32x3x3xf32>) -> tensor<1x8x4x4xf32>
  %a = dl.weight "a" : tensor<8x32xi8>
  %5 = dl.cast %a {dtype = f32} : (tensor<8x32xi8>) -> tensor<8x32xf32>
  %t = dl.permute %x {dims = array<i64: 1, 0>} : (tensor<4x32xf32>) -> tensor<32x4xf32>
  %6 = dl.matmul %5, %t : (tensor<8x32xf32>, tensor<32x4xf32>) -> tensor<8x4xf32>
  %e = dl.weight "e" : tensor<8x32xi8>
  %7 = dl.cast %e {dtype = f32} : (tensor<8x32xi8>) -> tensor<8x32xf32>
  %8 = dl.exp %7 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %9 = dl.exp %8 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %b = dl.exp %9 : (tensor<8x32xf32>) -> tensor<8x32xf32>
  %10 = dl.linear %x, %b : (tensor<4x32xf32>, tensor<8x32xf32>) -> tensor<4x8xf32>
  return %1, %2, %4, %6, %10 : tensor<4x8xf32>, tensor<8x32xf32>, tensor<1x8x4x4xf32>, tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// A 2:4 matrix is expanded where a product reads it: its numbers, cast at load, and its places lie in
// memory alone.
// CHECK-LABEL: @pairs
// CHECK-DAG: %[[P:.*]] = dl.weight "w.places"
// CHECK-DAG: %[[V:.*]] = dl.fusion(%{{.*}}) : (tensor<16x32xf32>) -> tensor<16x32xf16>
// CHECK: dl.fusion({{.*}}%[[V]], %[[P]]
// CHECK: dl.expand_two_of_four
// CHECK-NEXT: dl.linear
// CHECK-NEXT: dl.relu
// OUTLINED-LABEL: dlx.program @pairs
// OUTLINED: dlx.launch @unpack_linear_relu(
func.func @pairs(%x: tensor<3x64xf16>) -> tensor<3x16xf16> {
  %n = dl.weight "w.values" : tensor<16x32xf32>
  %p = dl.weight "w.places" : tensor<16x8xui8>
  %v = dl.cast %n {dtype = f16} : (tensor<16x32xf32>) -> tensor<16x32xf16>
  %w = dl.expand_two_of_four %v, %p : (tensor<16x32xf16>, tensor<16x8xui8>) -> tensor<16x64xf16>
  %0 = dl.linear %x, %w : (tensor<3x64xf16>, tensor<16x64xf16>) -> tensor<3x16xf16>
  %1 = dl.relu %0 : (tensor<3x16xf16>) -> tensor<3x16xf16>
  return %1 : tensor<3x16xf16>
}
