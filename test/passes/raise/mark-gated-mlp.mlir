// RUN: dlc-opt %s -mark-gated-mlp -split-input-file | FileCheck %s
// RUN: dlc-opt %s -mark-gated-mlp -convert-precision='dtype=f16 keep-f32=gated_mlp' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(mark-gated-mlp),split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s --check-prefix=FUSED
// FUSED-NOT: dl.role

!x = tensor<4x8xf32>
!h = tensor<4x16xf32>
!w = tensor<16x8xf32>
!d = tensor<8x16xf32>

// The user keeps all of it in f32, and not the product behind it.
// KEPT-LABEL: @silu
// KEPT-COUNT-3: dl.linear {{.*}}dl.role = "gated_mlp"{{.*}}xf32>
// KEPT: dl.linear {{.*}}xf16>
// CHECK-LABEL: @silu
// CHECK: dl.linear %arg0, %{{.*}} {dl.role = "gated_mlp"}
// CHECK: dl.silu %{{.*}} {dl.role = "gated_mlp"}
// CHECK: dl.linear %arg0, %{{.*}} {dl.role = "gated_mlp"}
// CHECK: dl.mul %{{.*}} {dl.role = "gated_mlp"}
// CHECK: dl.linear %{{.*}} {dl.role = "gated_mlp"}
// CHECK: dl.linear %{{[^{]*}} : (tensor<4x8xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
func.func @silu(%x: !x) -> !h {
  %gate = dl.weight "gate" : !w
  %up = dl.weight "up" : !w
  %down = dl.weight "down" : !d
  %0 = dl.linear %x, %gate : (!x, !w) -> !h
  %1 = dl.silu %0 : (!h) -> !h
  %2 = dl.linear %x, %up : (!x, !w) -> !h
  %3 = dl.mul %1, %2 : (!h, !h) -> !h
  %4 = dl.linear %3, %down : (!h, !d) -> !x
  %5 = dl.linear %4, %up : (!x, !w) -> !h
  return %5 : !h
}

// A GELU, the factors the other way round, biases; the result is read twice, so that no product is the last one.
// CHECK-LABEL: @gelu
// CHECK-COUNT-6: dl.role = "gated_mlp"
// CHECK-NOT: dl.role
func.func @gelu(%x: !x) -> (!h, !h) {
  %gate = dl.weight "gate" : !w
  %up = dl.weight "up" : !w
  %b = dl.weight "bias" : !h
  %0 = dl.linear %x, %gate : (!x, !w) -> !h
  %1 = dl.add %0, %b : (!h, !h) -> !h
  %2 = dl.gelu %1 {approximate = "tanh"} : (!h) -> !h
  %3 = dl.linear %x, %up : (!x, !w) -> !h
  %4 = dl.add %b, %3 : (!h, !h) -> !h
  %5 = dl.mul %4, %2 : (!h, !h) -> !h
  return %5, %5 : !h, !h
}

// Gate and up as one product.
// CHECK-LABEL: @joined
// CHECK: dl.linear %arg0, %{{.*}} {dl.role = "gated_mlp"}
// CHECK-COUNT-4: dl.role = "gated_mlp"
// CHECK-NOT: dl.role
func.func @joined(%x: !x) -> tensor<4x8xf32> {
  %w = dl.weight "gate_up" : !w
  %0 = dl.linear %x, %w : (!x, !w) -> !h
  %1 = dl.slice %0 {dim = 1 : i64, end = 8 : i64} : (!h) -> !x
  %2 = dl.slice %0 {dim = 1 : i64, start = 8 : i64} : (!h) -> !x
  %3 = dl.silu %1 : (!x) -> !x
  %4 = dl.mul %3, %2 : (!x, !x) -> !x
  return %4 : !x
}

// Something else reads the gate.
// CHECK-LABEL: @read_twice
// CHECK-NOT: dl.role
func.func @read_twice(%x: !x) -> (!h, !h) {
  %gate = dl.weight "gate" : !w
  %up = dl.weight "up" : !w
  %0 = dl.linear %x, %gate : (!x, !w) -> !h
  %1 = dl.silu %0 : (!h) -> !h
  %2 = dl.linear %x, %up : (!x, !w) -> !h
  %3 = dl.mul %1, %2 : (!h, !h) -> !h
  return %3, %1 : !h, !h
}

// Products of two tensors; one that is no product; another activation; a product of activations, as in attention.
// CHECK-LABEL: @others
// CHECK-NOT: dl.role
func.func @others(%x: !x, %y: !x, %z: !w) -> (!h, !h, !h, !h) {
  %gate = dl.weight "gate" : !w
  %up = dl.weight "up" : !w
  %0 = dl.linear %x, %gate : (!x, !w) -> !h
  %1 = dl.silu %0 : (!h) -> !h
  %2 = dl.linear %y, %up : (!x, !w) -> !h
  %3 = dl.mul %1, %2 : (!h, !h) -> !h
  %4 = dl.linear %x, %gate : (!x, !w) -> !h
  %5 = dl.silu %4 : (!h) -> !h
  %6 = dl.mul %5, %3 : (!h, !h) -> !h
  %7 = dl.linear %x, %gate : (!x, !w) -> !h
  %8 = dl.sigmoid %7 : (!h) -> !h
  %9 = dl.linear %x, %up : (!x, !w) -> !h
  %10 = dl.mul %8, %9 : (!h, !h) -> !h
  %11 = dl.linear %x, %z : (!x, !w) -> !h
  %12 = dl.silu %11 : (!h) -> !h
  %13 = dl.linear %x, %up : (!x, !w) -> !h
  %14 = dl.mul %12, %13 : (!h, !h) -> !h
  return %3, %6, %10, %14 : !h, !h, !h, !h
}

// -----

!x = tensor<?x8xf32, #dl.t<[s0, 8]>>
!h = tensor<?x16xf32, #dl.t<[s0, 16]>>

module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>]} {
  // CHECK-LABEL: @symbolic
  // CHECK-COUNT-5: dl.role = "gated_mlp"
  func.func @symbolic(%x: !x) -> !x {
    %gate = dl.weight "gate" : tensor<16x8xf32>
    %up = dl.weight "up" : tensor<16x8xf32>
    %down = dl.weight "down" : tensor<8x16xf32>
    %0 = dl.linear %x, %gate : (!x, tensor<16x8xf32>) -> !h
    %1 = dl.silu %0 : (!h) -> !h
    %2 = dl.linear %x, %up : (!x, tensor<16x8xf32>) -> !h
    %3 = dl.mul %1, %2 : (!h, !h) -> !h
    %4 = dl.linear %3, %down : (!h, tensor<8x16xf32>) -> !x
    return %4 : !x
  }
}
