// RUN: dlc-opt %s -raise-activations -canonicalize -split-input-file | FileCheck %s

!x = tensor<4x8xf32>
!r = tensor<4x1xf32>

// GELU as PyTorch's exporter writes it.
// CHECK-LABEL: @gelu
// CHECK-SAME: (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT: %[[Y:.*]] = dl.gelu %[[X]] :
// CHECK-NEXT: return %[[Y]]
func.func @gelu(%x: !x) -> !x {
  %root = dl.full 1.41421354 : f32 -> !x
  %one = dl.full 1.0 : f32 -> !x
  %half = dl.full 0.5 : f32 -> !x
  %0 = dl.div %x, %root : (!x, !x) -> !x
  %1 = dl.erf %0 : (!x) -> !x
  %2 = dl.add %1, %one : (!x, !x) -> !x
  %3 = dl.mul %x, %2 : (!x, !x) -> !x
  %4 = dl.mul %3, %half : (!x, !x) -> !x
  return %4 : !x
}

// 0.5 * x first, and a product for the quotient; then the half multiplied out; then erfc; then over 2.
// CHECK-LABEL: @gelu_orders
// CHECK-COUNT-4: dl.gelu %{{[0-9a-z]*}} :
// CHECK-NOT: dl.mul
func.func @gelu_orders(%x: !x) -> !x {
  %slope = dl.full 0.707106 : f32 -> !x
  %minus = dl.full -0.70710678 : f32 -> !x
  %one = dl.full 1.0 : f32 -> !x
  %half = dl.full 0.5 : f32 -> !x
  %two = dl.full 2.0 : f32 -> !x
  %0 = dl.mul %half, %x : (!x, !x) -> !x
  %1 = dl.mul %slope, %x : (!x, !x) -> !x
  %2 = dl.erf %1 : (!x) -> !x
  %3 = dl.add %one, %2 : (!x, !x) -> !x
  %4 = dl.mul %0, %3 : (!x, !x) -> !x
  %5 = dl.mul %slope, %4 : (!x, !x) -> !x
  %6 = dl.erf %5 : (!x) -> !x
  %7 = dl.mul %6, %half : (!x, !x) -> !x
  %8 = dl.add %7, %half : (!x, !x) -> !x
  %9 = dl.mul %8, %4 : (!x, !x) -> !x
  %10 = dl.mul %9, %minus : (!x, !x) -> !x
  %11 = dl.erfc %10 : (!x) -> !x
  %12 = dl.mul %11, %half : (!x, !x) -> !x
  %13 = dl.mul %12, %9 : (!x, !x) -> !x
  %14 = dl.mul %13, %slope : (!x, !x) -> !x
  %15 = dl.erf %14 : (!x) -> !x
  %16 = dl.add %15, %one : (!x, !x) -> !x
  %17 = dl.mul %16, %13 : (!x, !x) -> !x
  %18 = dl.div %17, %two : (!x, !x) -> !x
  return %18 : !x
}

// By tanh: as transformers writes it, factored out, and by the sigmoid of twice the argument.
// CHECK-LABEL: @gelu_tanh
// CHECK-COUNT-3: dl.gelu %{{.*}} {approximate = "tanh"}
// CHECK-NOT: dl.mul
func.func @gelu_tanh(%x: !x) -> !x {
  %slope = dl.full 0.797884583 : f32 -> !x
  %cubic = dl.full 4.471500e-02 : f32 -> !x
  %twice = dl.full 1.59576912 : f32 -> !x
  %one = dl.full 1.0 : f32 -> !x
  %half = dl.full 0.5 : f32 -> !x
  %0 = dl.mul %half, %x : (!x, !x) -> !x
  %1 = dl.pow_number %x {exponent = 3.0 : f64} : (!x) -> !x
  %2 = dl.mul %cubic, %1 : (!x, !x) -> !x
  %3 = dl.add %x, %2 : (!x, !x) -> !x
  %4 = dl.mul %slope, %3 : (!x, !x) -> !x
  %5 = dl.tanh %4 : (!x) -> !x
  %6 = dl.add %one, %5 : (!x, !x) -> !x
  %7 = dl.mul %0, %6 : (!x, !x) -> !x
  %8 = dl.mul %7, %7 : (!x, !x) -> !x
  %9 = dl.mul %8, %cubic : (!x, !x) -> !x
  %10 = dl.add %9, %one : (!x, !x) -> !x
  %11 = dl.mul %7, %slope : (!x, !x) -> !x
  %12 = dl.mul %11, %10 : (!x, !x) -> !x
  %13 = dl.tanh %12 : (!x) -> !x
  %14 = dl.mul %13, %half : (!x, !x) -> !x
  %15 = dl.add %half, %14 : (!x, !x) -> !x
  %16 = dl.mul %15, %7 : (!x, !x) -> !x
  %17 = dl.mul %16, %16 : (!x, !x) -> !x
  %18 = dl.mul %17, %16 : (!x, !x) -> !x
  %19 = dl.mul %18, %cubic : (!x, !x) -> !x
  %20 = dl.add %16, %19 : (!x, !x) -> !x
  %21 = dl.mul %20, %twice : (!x, !x) -> !x
  %22 = dl.sigmoid %21 : (!x) -> !x
  %23 = dl.mul %22, %16 : (!x, !x) -> !x
  return %23 : !x
}

// Other numbers than those of GELU: 1.702 of its approximation by a sigmoid alone, 0.7 under erf, twice GELU.
// CHECK-LABEL: @other_numbers
// CHECK-NOT: dl.gelu
// CHECK-NOT: dl.silu
func.func @other_numbers(%x: !x) -> (!x, !x, !x) {
  %quick = dl.full 1.702 : f32 -> !x
  %root = dl.full 1.41421354 : f32 -> !x
  %near = dl.full 0.7 : f32 -> !x
  %half = dl.full 0.5 : f32 -> !x
  %one = dl.full 1.0 : f32 -> !x
  %0 = dl.mul %x, %quick : (!x, !x) -> !x
  %1 = dl.sigmoid %0 : (!x) -> !x
  %2 = dl.mul %x, %1 : (!x, !x) -> !x
  %3 = dl.mul %x, %near : (!x, !x) -> !x
  %4 = dl.erf %3 : (!x) -> !x
  %5 = dl.add %4, %one : (!x, !x) -> !x
  %6 = dl.mul %5, %x : (!x, !x) -> !x
  %7 = dl.mul %6, %half : (!x, !x) -> !x
  %8 = dl.div %x, %root : (!x, !x) -> !x
  %9 = dl.erf %8 : (!x) -> !x
  %10 = dl.add %9, %one : (!x, !x) -> !x
  %11 = dl.mul %10, %x : (!x, !x) -> !x
  return %2, %7, %11 : !x, !x, !x
}

// The gate of one value and another value: a gated unit, not SiLU.
// CHECK-LABEL: @other_value
// CHECK-NOT: dl.silu
func.func @other_value(%x: !x, %z: !x) -> !x {
  %0 = dl.sigmoid %x : (!x) -> !x
  %1 = dl.mul %z, %0 : (!x, !x) -> !x
  return %1 : !x
}

// The sigmoid is an output too.
// CHECK-LABEL: @gate_used_twice
// CHECK-NOT: dl.silu
func.func @gate_used_twice(%x: !x) -> (!x, !x) {
  %0 = dl.sigmoid %x : (!x) -> !x
  %1 = dl.mul %x, %0 : (!x, !x) -> !x
  return %1, %0 : !x, !x
}

// SiLU, with another factor; as a quotient; and in f32 between two casts.
// CHECK-LABEL: @silu
// CHECK: %[[A:.*]] = dl.silu %{{.*}}
// CHECK: %[[B:.*]] = dl.mul %[[A]], %{{.*}}
// CHECK: %[[C:.*]] = dl.silu %[[B]]
// CHECK: return %[[C]]
func.func @silu(%x: !x, %z: !x) -> !x {
  %one = dl.full 1.0 : f32 -> !x
  %0 = dl.sigmoid %x : (!x) -> !x
  %1 = dl.mul %0, %z : (!x, !x) -> !x
  %2 = dl.mul %1, %x : (!x, !x) -> !x
  %3 = dl.neg %2 : (!x) -> !x
  %4 = dl.exp %3 : (!x) -> !x
  %5 = dl.add %one, %4 : (!x, !x) -> !x
  %6 = dl.div %2, %5 : (!x, !x) -> !x
  return %6 : !x
}

// CHECK-LABEL: @silu_half
// CHECK-NEXT: %[[Y:.*]] = dl.silu %arg0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
// CHECK-NEXT: return %[[Y]]
func.func @silu_half(%x16: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %x = dl.cast %x16 {dtype = f32} : (tensor<4x8xbf16>) -> !x
  %0 = dl.sigmoid %x : (!x) -> !x
  %1 = dl.mul %x, %0 : (!x, !x) -> !x
  %2 = dl.cast %1 {dtype = bf16} : (!x) -> tensor<4x8xbf16>
  return %2 : tensor<4x8xbf16>
}

// The cast to another type than that of x is the user's.
// CHECK-LABEL: @other_half
// CHECK: dl.silu {{.*}} -> tensor<4x8xf32>
// CHECK: dl.cast
func.func @other_half(%x16: tensor<4x8xbf16>) -> tensor<4x8xf16> {
  %x = dl.cast %x16 {dtype = f32} : (tensor<4x8xbf16>) -> !x
  %0 = dl.silu %x : (!x) -> !x
  %1 = dl.cast %0 {dtype = f16} : (!x) -> tensor<4x8xf16>
  return %1 : tensor<4x8xf16>
}

// Mish by softplus, and written out.
// CHECK-LABEL: @mish
// CHECK-COUNT-2: dl.mish
// CHECK-NOT: dl.mul
func.func @mish(%x: !x) -> !x {
  %one = dl.full 1.0 : f32 -> !x
  %0 = dl.softplus %x : (!x) -> !x
  %1 = dl.tanh %0 : (!x) -> !x
  %2 = dl.mul %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.add %3, %one : (!x, !x) -> !x
  %5 = dl.log %4 : (!x) -> !x
  %6 = dl.tanh %5 : (!x) -> !x
  %7 = dl.mul %6, %2 : (!x, !x) -> !x
  return %7 : !x
}

// Hard swish by clamp, by a hard sigmoid as ONNX has it, by max and min, by relu6.
// CHECK-LABEL: @hardswish
// CHECK-COUNT-4: dl.hardswish
// CHECK-NOT: dl.mul
func.func @hardswish(%x: !x) -> !x {
  %zero = dl.full 0.0 : f32 -> !x
  %half = dl.full 0.5 : f32 -> !x
  %one = dl.full 1.0 : f32 -> !x
  %three = dl.full 3.0 : f32 -> !x
  %six = dl.full 6.0 : f32 -> !x
  %sixth = dl.full 0.166666672 : f32 -> !x
  %0 = dl.add %x, %three : (!x, !x) -> !x
  %1 = dl.clamp %0 {max = 6.0 : f64, min = 0.0 : f64} : (!x) -> !x
  %2 = dl.mul %x, %1 : (!x, !x) -> !x
  %3 = dl.div %2, %six : (!x, !x) -> !x
  %4 = dl.mul %3, %sixth : (!x, !x) -> !x
  %5 = dl.add %4, %half : (!x, !x) -> !x
  %6 = dl.clamp %5 {max = 1.0 : f64, min = 0.0 : f64} : (!x) -> !x
  %7 = dl.mul %6, %3 : (!x, !x) -> !x
  %8 = dl.mul %7, %sixth : (!x, !x) -> !x
  %9 = dl.add %8, %half : (!x, !x) -> !x
  %10 = dl.maximum %9, %zero : (!x, !x) -> !x
  %11 = dl.minimum %one, %10 : (!x, !x) -> !x
  %12 = dl.mul %11, %7 : (!x, !x) -> !x
  %13 = dl.add %three, %12 : (!x, !x) -> !x
  %14 = dl.relu6 %13 : (!x) -> !x
  %15 = dl.div %14, %six : (!x, !x) -> !x
  %16 = dl.mul %15, %12 : (!x, !x) -> !x
  return %16 : !x
}

// relu6(x + 2) is another curve.
// CHECK-LABEL: @other_hard_curve
// CHECK-NOT: dl.hardswish
func.func @other_hard_curve(%x: !x) -> !x {
  %two = dl.full 2.0 : f32 -> !x
  %six = dl.full 6.0 : f32 -> !x
  %0 = dl.add %x, %two : (!x, !x) -> !x
  %1 = dl.relu6 %0 : (!x) -> !x
  %2 = dl.mul %x, %1 : (!x, !x) -> !x
  %3 = dl.div %2, %six : (!x, !x) -> !x
  return %3 : !x
}

// Softmax by a quotient, and with dims dropped by the product with a reciprocal.
// CHECK-LABEL: @softmax
// CHECK-NEXT: %[[A:.*]] = dl.softmax %arg0 {dim = 1 : i64}
// CHECK-NEXT: %[[B:.*]] = dl.softmax %[[A]] {dim = 1 : i64}
// CHECK-NEXT: return %[[B]]
func.func @softmax(%x: !x) -> !x {
  %0 = dl.amax %x {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.div %3, %5 : (!x, !x) -> !x
  %7 = dl.amax %6 {dim = array<i64: 1>} : (!x) -> tensor<4xf32>
  %8 = dl.reshape %7 {shape = affine_map<() -> (4, 1)>} : (tensor<4xf32>) -> !r
  %9 = dl.broadcast %8 : (!r) -> !x
  %10 = dl.sub %6, %9 : (!x, !x) -> !x
  %11 = dl.exp %10 : (!x) -> !x
  %12 = dl.sum %11 {dim = array<i64: 1>} : (!x) -> tensor<4xf32>
  %13 = dl.reshape %12 {shape = affine_map<() -> (4, 1)>} : (tensor<4xf32>) -> !r
  %14 = dl.reciprocal %13 : (!r) -> !r
  %15 = dl.broadcast %14 : (!r) -> !x
  %16 = dl.mul %15, %11 : (!x, !x) -> !x
  return %16 : !x
}

// In f32 between two casts.
// CHECK-LABEL: @softmax_half
// CHECK-NEXT: %[[Y:.*]] = dl.softmax %arg0 {dim = 0 : i64} : (tensor<4x8xf16>) -> tensor<4x8xf16>
// CHECK-NEXT: return %[[Y]]
func.func @softmax_half(%x16: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %x = dl.cast %x16 {dtype = f32} : (tensor<4x8xf16>) -> !x
  %0 = dl.amax %x {dim = array<i64: 0>, keepdim = true} : (!x) -> tensor<1x8xf32>
  %1 = dl.broadcast %0 : (tensor<1x8xf32>) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 0>, keepdim = true} : (!x) -> tensor<1x8xf32>
  %5 = dl.broadcast %4 : (tensor<1x8xf32>) -> !x
  %6 = dl.div %3, %5 : (!x, !x) -> !x
  %7 = dl.cast %6 {dtype = f16} : (!x) -> tensor<4x8xf16>
  return %7 : tensor<4x8xf16>
}

// Without the largest element it overflows where softmax would not.
// CHECK-LABEL: @softmax_without_largest
// CHECK-NOT: dl.softmax
func.func @softmax_without_largest(%x: !x) -> !x {
  %0 = dl.exp %x : (!x) -> !x
  %1 = dl.sum %0 {dim = array<i64: -1>, keepdim = true} : (!x) -> !r
  %2 = dl.broadcast %1 : (!r) -> !x
  %3 = dl.div %0, %2 : (!x, !x) -> !x
  return %3 : !x
}

// The largest along one dim, the sum along the other.
// CHECK-LABEL: @softmax_of_two_dims
// CHECK-NOT: dl.softmax
func.func @softmax_of_two_dims(%x: !x) -> !x {
  %0 = dl.amax %x {dim = array<i64: 0>, keepdim = true} : (!x) -> tensor<1x8xf32>
  %1 = dl.broadcast %0 : (tensor<1x8xf32>) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.div %3, %5 : (!x, !x) -> !x
  return %6 : !x
}

// The exponentials are an output too.
// CHECK-LABEL: @softmax_used_twice
// CHECK-NOT: dl.softmax
func.func @softmax_used_twice(%x: !x) -> (!x, !x) {
  %0 = dl.amax %x {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.div %3, %5 : (!x, !x) -> !x
  return %6, %3 : !x, !x
}

// The logarithm of the sum taken from what is lowered already, and together with the largest.
// CHECK-LABEL: @log_softmax
// CHECK-NEXT: %[[A:.*]] = dl.log_softmax %arg0 {dim = 1 : i64}
// CHECK-NEXT: %[[B:.*]] = dl.log_softmax %[[A]] {dim = 1 : i64}
// CHECK-NEXT: return %[[B]]
func.func @log_softmax(%x: !x) -> !x {
  %0 = dl.amax %x {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.log %4 : (!r) -> !r
  %6 = dl.broadcast %5 : (!r) -> !x
  %7 = dl.sub %2, %6 : (!x, !x) -> !x
  %8 = dl.amax %7 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %9 = dl.broadcast %8 : (!r) -> !x
  %10 = dl.sub %7, %9 : (!x, !x) -> !x
  %11 = dl.exp %10 : (!x) -> !x
  %12 = dl.sum %11 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %13 = dl.log %12 : (!r) -> !r
  %14 = dl.add %13, %8 : (!r, !r) -> !r
  %15 = dl.broadcast %14 : (!r) -> !x
  %16 = dl.sub %7, %15 : (!x, !x) -> !x
  return %16 : !x
}

// The sum without its logarithm.
// CHECK-LABEL: @lowered_by_the_sum
// CHECK-NOT: dl.log_softmax
func.func @lowered_by_the_sum(%x: !x) -> !x {
  %0 = dl.amax %x {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.sub %2, %5 : (!x, !x) -> !x
  return %6 : !x
}

// -----

!x = tensor<?x?xf32, #dl.t<[s0, s1]>>
!r = tensor<?x1xf32, #dl.t<[s0, 1]>>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>, #dl.symbol<"T", 1, 64>]} {
// CHECK-LABEL: @symbolic
// CHECK: %[[Y:.*]] = dl.softmax %{{.*}} {dim = 1 : i64}
// CHECK: dl.silu %[[Y]]
func.func @symbolic(%x: !x) -> !x {
  %0 = dl.amax %x {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %1 = dl.broadcast %0 : (!r) -> !x
  %2 = dl.sub %x, %1 : (!x, !x) -> !x
  %3 = dl.exp %2 : (!x) -> !x
  %4 = dl.sum %3 {dim = array<i64: 1>, keepdim = true} : (!x) -> !r
  %5 = dl.broadcast %4 : (!r) -> !x
  %6 = dl.div %3, %5 : (!x, !x) -> !x
  %7 = dl.sigmoid %6 : (!x) -> !x
  %8 = dl.mul %6, %7 : (!x, !x) -> !x
  return %8 : !x
}
}
