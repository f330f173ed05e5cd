// RUN: dlc-opt %s -raise-norms -canonicalize -split-input-file | FileCheck %s

!x = tensor<2x4x8xf32>
!r = tensor<2x4x1xf32>
!w = tensor<8xf32>

// Layer norm as PyTorch's exporter writes it: pow, sqrt, div, then weight and bias.
// CHECK-LABEL: @layer_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = dl.standardize %[[X]], %[[W]], %[[B]] {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 9.99999{{.*}}E-6 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm(%x: !x, %w: !w, %b: !w) -> !x {
  %eps = dl.full 1.0e-5 : f32 -> !r
  %0 = dl.mean %x {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.pow_number %2 {exponent = 2.0 : f64} : (!x) -> !x
  %4 = dl.mean %3 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %5 = dl.add %4, %eps : (!r, !r) -> !r
  %6 = dl.sqrt %5 : (!r) -> !r
  %7 = dl.broadcast %6 : (!r) -> !x
  %8 = dl.div %2, %7 : (!x, !x) -> !x
  %9 = dl.broadcast %w : (!w) -> !x
  %10 = dl.mul %8, %9 : (!x, !x) -> !x
  %11 = dl.broadcast %b : (!w) -> !x
  %12 = dl.add %10, %11 : (!x, !x) -> !x
  return %12 : !x
}

// Operands the other way round, a product for the square, rsqrt, the weight on it, dims dropped and added again.
// CHECK-LABEL: @layer_norm_commuted
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>, %[[B:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = dl.standardize %[[X]], %[[W]], %[[B]] {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm_commuted(%x: !x, %w: !w, %b: !w) -> !x {
  %eps = dl.full 0.5 : f32 -> tensor<2x4xf32>
  %0 = dl.mean %x {dim = array<i64: 2>} : (!x) -> tensor<2x4xf32>
  %1 = dl.reshape %0 {shape = affine_map<() -> (2, 4, 1)>} : (tensor<2x4xf32>) -> !r
  %2 = dl.broadcast %1 : (!r) -> !x
  %3 = dl.sub %x, %2 : (!x, !x) -> !x
  %4 = dl.mul %3, %3 : (!x, !x) -> !x
  %5 = dl.mean %4 {dim = array<i64: 2>} : (!x) -> tensor<2x4xf32>
  %6 = dl.add %eps, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %7 = dl.reshape %6 {shape = affine_map<() -> (2, 4, 1)>} : (tensor<2x4xf32>) -> !r
  %8 = dl.rsqrt %7 : (!r) -> !r
  %9 = dl.broadcast %8 : (!r) -> !x
  %10 = dl.broadcast %w : (!w) -> !x
  %11 = dl.mul %10, %9 : (!x, !x) -> !x
  %12 = dl.mul %11, %3 : (!x, !x) -> !x
  %13 = dl.broadcast %b : (!w) -> !x
  %14 = dl.add %13, %12 : (!x, !x) -> !x
  return %14 : !x
}

// The mean as a sum times 1/8 and as a sum over 8; the power -1/2; mean - x under the square; no weight.
// CHECK-LABEL: @layer_norm_of_sums
// CHECK-NEXT: %[[Y:.*]] = dl.standardize %{{.*}} {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 5.000000e-01 : f64}
// CHECK-NEXT: return %[[Y]]
func.func @layer_norm_of_sums(%x: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %eight = dl.full 8.0 : f32 -> !r
  %eighth = dl.full 0.125 : f32 -> !r
  %0 = dl.sum %x {dim = array<i64: 2>, keepdim = true} : (!x) -> !r
  %1 = dl.mul %eighth, %0 : (!r, !r) -> !r
  %2 = dl.broadcast %1 : (!r) -> !x
  %3 = dl.sub %x, %2 : (!x, !x) -> !x
  %4 = dl.sub %2, %x : (!x, !x) -> !x
  %5 = dl.square %4 : (!x) -> !x
  %6 = dl.sum %5 {dim = array<i64: 2>, keepdim = true} : (!x) -> !r
  %7 = dl.div %6, %eight : (!r, !r) -> !r
  %8 = dl.add %7, %eps : (!r, !r) -> !r
  %9 = dl.pow_number %8 {exponent = -0.5 : f64} : (!r) -> !r
  %10 = dl.broadcast %9 : (!r) -> !x
  %11 = dl.mul %3, %10 : (!x, !x) -> !x
  return %11 : !x
}

// The variance as an op. A bias without a weight stays a sum.
// CHECK-LABEL: @layer_norm_of_variance
// CHECK: %[[Y:.*]] = dl.standardize %{{[^ ,]*}} {affine_dims = array<i64: 2>, dims = array<i64: 2>, eps = 5.000000e-01 : f64}
// CHECK: dl.add %[[Y]]
func.func @layer_norm_of_variance(%x: !x, %b: !w) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.mean %x {dim = array<i64: 2>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.var %x {dim = array<i64: 2>, keepdim = true, unbiased = false} : (!x) -> !r
  %4 = dl.add %3, %eps : (!r, !r) -> !r
  %5 = dl.sqrt %4 : (!r) -> !r
  %6 = dl.broadcast %5 : (!r) -> !x
  %7 = dl.div %2, %6 : (!x, !x) -> !x
  %8 = dl.broadcast %b : (!w) -> !x
  %9 = dl.add %7, %8 : (!x, !x) -> !x
  return %9 : !x
}

// The sum of squares over 7 is another variance.
// CHECK-LABEL: @unbiased
// CHECK-NOT: dl.standardize
func.func @unbiased(%x: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.mean %x {dim = array<i64: 2>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.var %x {dim = array<i64: 2>, keepdim = true} : (!x) -> !r
  %4 = dl.add %3, %eps : (!r, !r) -> !r
  %5 = dl.sqrt %4 : (!r) -> !r
  %6 = dl.broadcast %5 : (!r) -> !x
  %7 = dl.div %2, %6 : (!x, !x) -> !x
  return %7 : !x
}

// RMS norm as transformers writes it, and its weight.
// CHECK-LABEL: @rms_norm
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<8xf32>)
// CHECK-NEXT: %[[Y:.*]] = dl.rms_norm %[[X]], %[[W]] {eps = 5.000000e-01 : f64, normalized_shape = array<i64: 8>}
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm(%x: !x, %w: !w) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  %6 = dl.broadcast %w : (!w) -> !x
  %7 = dl.mul %6, %5 : (!x, !x) -> !x
  return %7 : !x
}

// As 1 / sqrt, with a factor of all of it.
// CHECK-LABEL: @rms_norm_scaled
// CHECK: %[[TWO:.*]] = dl.full 2.0
// CHECK: %[[Y:.*]] = dl.rms_norm %{{.*}} {eps = 5.000000e-01 : f64, normalized_shape = array<i64: 8>}
// CHECK: %[[SCALED:.*]] = dl.mul %[[Y]], %[[TWO]]
// CHECK: return %[[SCALED]]
func.func @rms_norm_scaled(%x: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %one = dl.full 1.0 : f32 -> !r
  %two = dl.full 2.0 : f32 -> !x
  %0 = dl.mul %x, %x : (!x, !x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.sqrt %2 : (!r) -> !r
  %4 = dl.div %one, %3 : (!r, !r) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.mul %5, %two : (!x, !x) -> !x
  %7 = dl.mul %x, %6 : (!x, !x) -> !x
  return %7 : !x
}

// 16 bits in, f32 between, 16 bits out: one op on 16 bits, and its weight.
// CHECK-LABEL: @rms_norm_half
// CHECK-SAME: (%[[X:.*]]: tensor<2x4x8xf16>, %[[W:.*]]: tensor<8xf16>)
// CHECK-NEXT: %[[Y:.*]] = dl.rms_norm %[[X]], %[[W]] {{.*}}(tensor<2x4x8xf16>, tensor<8xf16>) -> tensor<2x4x8xf16>
// CHECK-NEXT: return %[[Y]]
func.func @rms_norm_half(%x16: tensor<2x4x8xf16>, %w: tensor<8xf16>) -> tensor<2x4x8xf16> {
  %eps = dl.full 1.0e-6 : f32 -> !r
  %x = dl.cast %x16 {dtype = f32} : (tensor<2x4x8xf16>) -> !x
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  %6 = dl.cast %5 {dtype = f16} : (!x) -> tensor<2x4x8xf16>
  %7 = dl.broadcast %w : (tensor<8xf16>) -> tensor<2x4x8xf16>
  %8 = dl.mul %7, %6 : (tensor<2x4x8xf16>, tensor<2x4x8xf16>) -> tensor<2x4x8xf16>
  return %8 : tensor<2x4x8xf16>
}

// Over two dims, with a weight of both.
// CHECK-LABEL: @two_dims
// CHECK: dl.rms_norm %{{[^,]*}}, %{{[^,]*}} {eps = 5.000000e-01 : f64, normalized_shape = array<i64: 4, 8>}
func.func @two_dims(%x: !x, %w: tensor<4x8xf32>) -> !x {
  %eps = dl.full 0.5 : f32 -> tensor<2x1x1xf32>
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: 1, 2>, keepdim = true} : (!x) -> tensor<2x1x1xf32>
  %2 = dl.add %1, %eps : (tensor<2x1x1xf32>, tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %3 = dl.rsqrt %2 : (tensor<2x1x1xf32>) -> tensor<2x1x1xf32>
  %4 = dl.broadcast %3 : (tensor<2x1x1xf32>) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  %6 = dl.broadcast %w : (tensor<4x8xf32>) -> !x
  %7 = dl.mul %6, %5 : (!x, !x) -> !x
  return %7 : !x
}

// Over the pixels of each channel, with a weight of the channels: an instance norm. Over the channels alone: a layer norm of them.
// CHECK-LABEL: @channels_first
// CHECK: %[[Y:.*]] = dl.standardize %{{[^,]*}}, %{{[^,]*}} {affine_dims = array<i64: 1>, dims = array<i64: 2, 3>,
// CHECK: dl.standardize %[[Y]], %{{[^,]*}} {affine_dims = array<i64: 1>, dims = array<i64: 1>,
func.func @channels_first(%x: tensor<2x3x4x5xf32>, %w: tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32> {
  %eps = dl.full 0.5 : f32 -> tensor<2x3x1x1xf32>
  %0 = dl.mean %x {dim = array<i64: 2, 3>, keepdim = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %1 = dl.broadcast %0 : (tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %2 = dl.sub %x, %1 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %3 = dl.square %2 : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %4 = dl.mean %3 {dim = array<i64: 2, 3>, keepdim = true} : (tensor<2x3x4x5xf32>) -> tensor<2x3x1x1xf32>
  %5 = dl.add %4, %eps : (tensor<2x3x1x1xf32>, tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %6 = dl.sqrt %5 : (tensor<2x3x1x1xf32>) -> tensor<2x3x1x1xf32>
  %7 = dl.broadcast %6 : (tensor<2x3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %8 = dl.div %2, %7 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %9 = dl.broadcast %w : (tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %10 = dl.mul %8, %9 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %eps1 = dl.full 0.5 : f32 -> tensor<2x1x4x5xf32>
  %11 = dl.mean %10 {dim = array<i64: 1>, keepdim = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %12 = dl.broadcast %11 : (tensor<2x1x4x5xf32>) -> tensor<2x3x4x5xf32>
  %13 = dl.sub %10, %12 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %14 = dl.square %13 : (tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %15 = dl.mean %14 {dim = array<i64: 1>, keepdim = true} : (tensor<2x3x4x5xf32>) -> tensor<2x1x4x5xf32>
  %16 = dl.add %15, %eps1 : (tensor<2x1x4x5xf32>, tensor<2x1x4x5xf32>) -> tensor<2x1x4x5xf32>
  %17 = dl.sqrt %16 : (tensor<2x1x4x5xf32>) -> tensor<2x1x4x5xf32>
  %18 = dl.broadcast %17 : (tensor<2x1x4x5xf32>) -> tensor<2x3x4x5xf32>
  %19 = dl.div %13, %18 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  %20 = dl.broadcast %w : (tensor<3x1x1xf32>) -> tensor<2x3x4x5xf32>
  %21 = dl.mul %19, %20 : (tensor<2x3x4x5xf32>, tensor<2x3x4x5xf32>) -> tensor<2x3x4x5xf32>
  return %21 : tensor<2x3x4x5xf32>
}

// The root mean square is an output too: it would be computed twice.
// CHECK-LABEL: @used_twice
// CHECK-NOT: dl.rms_norm
func.func @used_twice(%x: !x) -> (!x, !r) {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  return %5, %3 : !x, !r
}

// The squares are added up over another dim than that along which they are repeated, which is as long.
// CHECK-LABEL: @wrong_dim
// CHECK-NOT: dl.rms_norm
func.func @wrong_dim(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %eps = dl.full 0.5 : f32 -> tensor<8xf32>
  %0 = dl.square %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = dl.mean %0 {dim = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
  %2 = dl.add %1, %eps : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = dl.rsqrt %2 : (tensor<8xf32>) -> tensor<8xf32>
  %4 = dl.broadcast %3 : (tensor<8xf32>) -> tensor<8x8xf32>
  %5 = dl.mul %x, %4 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %5 : tensor<8x8xf32>
}

// CHECK-LABEL: @eps_is_an_input
// CHECK-NOT: dl.rms_norm
func.func @eps_is_an_input(%x: !x, %eps: !r) -> !x {
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  return %5 : !x
}

// What is divided is not what was squared.
// CHECK-LABEL: @other_operand
// CHECK-NOT: dl.rms_norm
func.func @other_operand(%x: !x, %z: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %z, %4 : (!x, !x) -> !x
  return %5 : !x
}

// A weight of other dims than those that are normalized stays a factor.
// CHECK-LABEL: @other_weight
// CHECK: %[[Y:.*]] = dl.rms_norm %{{[^,]*}} {
// CHECK: dl.mul %[[Y]], %{{.*}}
func.func @other_weight(%x: !x, %w: tensor<4x1xf32>) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  %6 = dl.broadcast %w : (tensor<4x1xf32>) -> !x
  %7 = dl.mul %5, %6 : (!x, !x) -> !x
  return %7 : !x
}

// The norm without its weight is an output too.
// CHECK-LABEL: @norm_used_twice
// CHECK: %[[Y:.*]] = dl.rms_norm %{{[^,]*}} {
// CHECK: %[[Z:.*]] = dl.mul %[[Y]], %{{.*}}
// CHECK: return %[[Z]], %[[Y]]
func.func @norm_used_twice(%x: !x, %w: !w) -> (!x, !x) {
  %0 = dl.rms_norm %x {eps = 0.5 : f64, normalized_shape = array<i64: 8>} : (!x) -> !x
  %1 = dl.broadcast %w : (!w) -> !x
  %2 = dl.mul %0, %1 : (!x, !x) -> !x
  return %2, %0 : !x, !x
}

// One op has an annotation that the others have not.
// CHECK-LABEL: @annotated
// CHECK-NOT: dl.rms_norm
func.func @annotated(%x: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: -1>, dl.no_fuse, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  return %5 : !x
}

// -----

// Symbolic dims, of the batch and of what is normalized; an rms_norm needs the number of the latter.
!x = tensor<?x?xf32, #dl.t<[s0, s1]>>
!r = tensor<?x1xf32, #dl.t<[s0, 1]>>
!w = tensor<?xf32, #dl.t<[s1]>>
!s = tensor<?x8xf32, #dl.t<[s0, 8]>>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>, #dl.symbol<"T", 1, 64>]} {
// CHECK-LABEL: @symbolic_layer_norm
// CHECK: dl.standardize %{{[^,]*}}, %{{[^,]*}} {affine_dims = array<i64: 1>, dims = array<i64: 1>,
func.func @symbolic_layer_norm(%x: !x, %w: !w) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.mean %x {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.square %2 : (!x) -> !x
  %4 = dl.mean %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.add %4, %eps : (!r, !r) -> !r
  %6 = dl.sqrt %5 : (!r) -> !r
  %7 = dl.broadcast %6 : (!r) -> !x
  %8 = dl.div %2, %7 : (!x, !x) -> !x
  %9 = dl.broadcast %w : (!w) -> !x
  %10 = dl.mul %8, %9 : (!x, !x) -> !x
  return %10 : !x
}

// CHECK-LABEL: @symbolic_rows
// CHECK: dl.rms_norm %{{.*}} {eps = 5.000000e-01 : f64, normalized_shape = array<i64: 8>}
func.func @symbolic_rows(%x: !s) -> !s {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!s) -> !s
  %1 = dl.mean %0 {dim = array<i64: 1>, keepdim = true} : (!s) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !s
  %5 = dl.mul %x, %4 : (!s, !s) -> !s
  return %5 : !s
}

// CHECK-LABEL: @symbolic_width
// CHECK-NOT: dl.rms_norm
func.func @symbolic_width(%x: !x) -> !x {
  %eps = dl.full 0.5 : f32 -> !r
  %0 = dl.square %x : (!x) -> !x
  %1 = dl.mean %0 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %2 = dl.add %1, %eps : (!r, !r) -> !r
  %3 = dl.rsqrt %2 : (!r) -> !r
  %4 = dl.broadcast %3 : (!r) -> !x
  %5 = dl.mul %x, %4 : (!x, !x) -> !x
  return %5 : !x
}
}
