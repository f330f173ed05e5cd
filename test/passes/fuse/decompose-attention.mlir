// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(decompose-attention)))' -split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(decompose-attention)))' -split-input-file | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(decompose-attention{explain})))' -split-input-file -o /dev/null 2>&1 | FileCheck %s --check-prefix=WHY

// WHY-NOT: remark:
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs 8 rows of queries or more, got 7
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs 8 rows of queries or more, got 7
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs 8 rows of queries or more, got 1
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs a dim of the result that only the queries have and one that only the values have, and query and key summed along one dim
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs query, key and value of one type, and that, the scores and the weights in f32, f16 or bf16
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs heads of 1 to 256 elements, known when the model is compiled
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs heads of 1 to 256 elements
// WHY: remark: the attention becomes several kernels on cpu: one kernel needs weights that are not rounded to e4m3
// WHY-NOT: remark:

// A kernel computes the attention on both targets.
// CHECK-LABEL: @causal
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal}
func.func @causal(%q: tensor<8x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<8x4xf32> {
  %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x4xf32>, tensor<9x4xf32>) -> tensor<8x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.matmul %1, %c : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}

// -----

// The CPU's kernel has vectors along the rows. For few of them the products and the softmax are ops of their own, and one adds the
// causal mask.
// CPU-LABEL: @few
// CPU-NEXT: %[[S:.*]] = dl.contract %arg0, %arg1
// CPU-NEXT: %[[M:.*]] = dl.causal_mask : () -> tensor<7x9xf32>
// CPU-NEXT: %[[A:.*]] = dl.add %[[S]], %[[M]]
// CPU-NEXT: %[[P:.*]] = dl.softmax %[[A]]
// CPU-NEXT: %[[Y:.*]] = dl.matmul %[[P]], %arg2
// CPU-NEXT: return %[[Y]]
// CUDA-LABEL: @few
// CUDA-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal}
func.func @few(%q: tensor<7x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<7x4xf32> {
  %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<7x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<7x4xf32> {
  ^bb0(%a: tensor<7x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<7x4xf32>, tensor<9x4xf32>) -> tensor<7x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<7x9xf32>) -> tensor<7x9xf32>
    %2 = dl.matmul %1, %c : (tensor<7x9xf32>, tensor<9x4xf32>) -> tensor<7x4xf32>
    dl.yield %2 : tensor<7x4xf32>
  }
  return %y : tensor<7x4xf32>
}

// -----

// Scores of 16 bits would be rounded between the kernels, or become infinite: up to the softmax all is f32.
// CPU-LABEL: @halves
// CPU-NEXT: %[[H:.*]] = dl.full 5.000000e-01 : f32 -> tensor<7x9xf32>
// CPU-NEXT: %[[Q:.*]] = dl.cast %arg0 {dtype = f32}
// CPU-NEXT: %[[K:.*]] = dl.cast %arg1 {dtype = f32}
// CPU-NEXT: %[[S:.*]] = dl.contract %[[Q]], %[[K]] {{.*}} -> tensor<7x9xf32>
// CPU-NEXT: %[[T:.*]] = dl.mul %[[S]], %[[H]]
// CPU-NEXT: %[[M:.*]] = dl.causal_mask : () -> tensor<7x9xf32>
// CPU-NEXT: %[[A:.*]] = dl.add %[[T]], %[[M]]
// CPU-NEXT: %[[P:.*]] = dl.softmax %[[A]] {{.*}} -> tensor<7x9xf32>
// CPU-NEXT: %[[R:.*]] = dl.cast %[[P]] {dtype = f16}
// CPU-NEXT: %[[Y:.*]] = dl.matmul %[[R]], %arg2
// CPU-NEXT: return %[[Y]]
// CUDA-LABEL: @halves
// CUDA-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal}
func.func @halves(%q: tensor<7x4xf16>, %k: tensor<9x4xf16>, %v: tensor<9x4xf16>) -> tensor<7x4xf16> {
  %y = dl.attention(%q, %k, %v) {is_causal} : (tensor<7x4xf16>, tensor<9x4xf16>, tensor<9x4xf16>) -> tensor<7x4xf16> {
  ^bb0(%a: tensor<7x4xf16>, %b: tensor<9x4xf16>, %c: tensor<9x4xf16>):
    %half = dl.full 5.000000e-01 : f32 -> tensor<7x9xf16>
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<7x4xf16>, tensor<9x4xf16>) -> tensor<7x9xf16>
    %1 = dl.mul %0, %half : (tensor<7x9xf16>, tensor<7x9xf16>) -> tensor<7x9xf16>
    %2 = dl.softmax %1 {dim = 1 : i64} : (tensor<7x9xf16>) -> tensor<7x9xf16>
    %3 = dl.matmul %2, %c : (tensor<7x9xf16>, tensor<9x4xf16>) -> tensor<7x4xf16>
    dl.yield %3 : tensor<7x4xf16>
  }
  return %y : tensor<7x4xf16>
}

// -----

// As convert-precision leaves it: the product in 16 bits, the softmax in f32.
// CPU-LABEL: @narrowed
// CPU-NEXT: %[[Q:.*]] = dl.cast %arg0 {dtype = f32}
// CPU-NEXT: %[[K:.*]] = dl.cast %arg1 {dtype = f32}
// CPU-NEXT: %[[S:.*]] = dl.contract %[[Q]], %[[K]] {{.*}} -> tensor<1x9xf32>
// CPU-NEXT: %[[M:.*]] = dl.cast %arg3 {dtype = f32}
// CPU-NEXT: %[[A:.*]] = dl.add %[[S]], %[[M]]
// CPU-NEXT: %[[P:.*]] = dl.softmax %[[A]]
// CPU-NEXT: %[[R:.*]] = dl.cast %[[P]] {dtype = bf16}
// CPU-NEXT: dl.matmul %[[R]], %arg2
// CUDA-LABEL: @narrowed
// CUDA-NEXT: dl.attention
func.func @narrowed(%q: tensor<1x4xbf16>, %k: tensor<9x4xbf16>, %v: tensor<9x4xbf16>, %m: tensor<1x9xbf16>) -> tensor<1x4xbf16> {
  %y = dl.attention(%q, %k, %v, %m) : (tensor<1x4xbf16>, tensor<9x4xbf16>, tensor<9x4xbf16>, tensor<1x9xbf16>) -> tensor<1x4xbf16> {
  ^bb0(%a: tensor<1x4xbf16>, %b: tensor<9x4xbf16>, %c: tensor<9x4xbf16>, %d: tensor<1x9xbf16>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<1x4xbf16>, tensor<9x4xbf16>) -> tensor<1x9xbf16>
    %1 = dl.add %0, %d : (tensor<1x9xbf16>, tensor<1x9xbf16>) -> tensor<1x9xbf16>
    %2 = dl.cast %1 {dtype = f32} : (tensor<1x9xbf16>) -> tensor<1x9xf32>
    %3 = dl.softmax %2 {dim = 1 : i64} : (tensor<1x9xf32>) -> tensor<1x9xf32>
    %4 = dl.cast %3 {dtype = bf16} : (tensor<1x9xf32>) -> tensor<1x9xbf16>
    %5 = dl.matmul %4, %c : (tensor<1x9xbf16>, tensor<9x4xbf16>) -> tensor<1x4xbf16>
    dl.yield %5 : tensor<1x4xbf16>
  }
  return %y : tensor<1x4xbf16>
}

// -----

// Elements of the value along two dims.
// CPU-LABEL: @apart
// CPU-NOT: dl.attention
// CPU: dl.softmax
// CUDA-LABEL: @apart
// CUDA: dl.attention
func.func @apart(%q: tensor<8x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4x3xf32>) -> tensor<8x4x3xf32> {
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4x3xf32>) -> tensor<8x4x3xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4x3xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x4xf32>, tensor<9x4xf32>) -> tensor<8x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.contract %1, %c {x_loops = array<i64: 0, 3>, other_loops = array<i64: 3, 1, 2>, rank = 3 : i64} : (tensor<8x9xf32>, tensor<9x4x3xf32>) -> tensor<8x4x3xf32>
    dl.yield %2 : tensor<8x4x3xf32>
  }
  return %y : tensor<8x4x3xf32>
}

// -----

// Doubles.
// CHECK-LABEL: @doubles
// CHECK-NOT: dl.attention
// CHECK: dl.softmax
func.func @doubles(%q: tensor<8x4xf64>, %k: tensor<4x9xf64>, %v: tensor<9x4xf64>) -> tensor<8x4xf64> {
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf64>, tensor<4x9xf64>, tensor<9x4xf64>) -> tensor<8x4xf64> {
  ^bb0(%a: tensor<8x4xf64>, %b: tensor<4x9xf64>, %c: tensor<9x4xf64>):
    %0 = dl.matmul %a, %b : (tensor<8x4xf64>, tensor<4x9xf64>) -> tensor<8x9xf64>
    %1 = dl.softmax %0 {dim = -1 : i64} : (tensor<8x9xf64>) -> tensor<8x9xf64>
    %2 = dl.matmul %1, %c : (tensor<8x9xf64>, tensor<9x4xf64>) -> tensor<8x4xf64>
    dl.yield %2 : tensor<8x4xf64>
  }
  return %y : tensor<8x4xf64>
}

// -----

// Heads wider than a block's registers hold.
// CHECK-LABEL: @wide
// CHECK-NOT: dl.attention
// CHECK: dl.softmax
func.func @wide(%q: tensor<8x4xf32>, %k: tensor<4x9xf32>, %v: tensor<9x257xf32>) -> tensor<8x257xf32> {
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<4x9xf32>, tensor<9x257xf32>) -> tensor<8x257xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<4x9xf32>, %c: tensor<9x257xf32>):
    %0 = dl.matmul %a, %b : (tensor<8x4xf32>, tensor<4x9xf32>) -> tensor<8x9xf32>
    %1 = dl.softmax %0 {dim = -1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.matmul %1, %c : (tensor<8x9xf32>, tensor<9x257xf32>) -> tensor<8x257xf32>
    dl.yield %2 : tensor<8x257xf32>
  }
  return %y : tensor<8x257xf32>
}

// -----

// A symbolic width is not known to be narrow enough; symbolic rows and keys are no matter.
!q = tensor<?x?xf32, #dl.t<[s0, s1]>>
!s = tensor<?x?xf32, #dl.t<[s0, s0]>>
module attributes {dl.symbols = [#dl.symbol<"T", 1, 64>, #dl.symbol<"E", 1, 64>]} {
  // CHECK-LABEL: @symbolic
  // CHECK: dl.softmax
  // CHECK: dl.attention
  func.func @symbolic(%q: !q, %k: !q, %p: tensor<?x4xf32, #dl.t<[s0, 4]>>) -> (!q, tensor<?x4xf32, #dl.t<[s0, 4]>>) {
    %y = dl.attention(%q, %k, %q) : (!q, !q, !q) -> !q {
    ^bb0(%a: !q, %b: !q, %c: !q):
      %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
      %1 = dl.softmax %0 {dim = -1 : i64} : (!s) -> !s
      %2 = dl.matmul %1, %c : (!s, !q) -> !q
      dl.yield %2 : !q
    }
    %z = dl.attention(%p, %p, %p) : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>> {
    ^bb0(%a: tensor<?x4xf32, #dl.t<[s0, 4]>>, %b: tensor<?x4xf32, #dl.t<[s0, 4]>>, %c: tensor<?x4xf32, #dl.t<[s0, 4]>>):
      %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<?x4xf32, #dl.t<[s0, 4]>>, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> !s
      %1 = dl.softmax %0 {dim = -1 : i64} : (!s) -> !s
      %2 = dl.matmul %1, %c : (!s, tensor<?x4xf32, #dl.t<[s0, 4]>>) -> tensor<?x4xf32, #dl.t<[s0, 4]>>
      dl.yield %2 : tensor<?x4xf32, #dl.t<[s0, 4]>>
    }
    return %y, %z : !q, tensor<?x4xf32, #dl.t<[s0, 4]>>
  }
}

// -----

// The CPU rounds weights as it is written; kernels of CUDA do so as parts of the largest one.
// CHECK-LABEL: @float8
// CPU-NOT: dl.attention
// CUDA: dl.attention
// CHECK: return
func.func @float8(%q: tensor<16x8xf32>, %k: tensor<9x8xf32>, %v: tensor<9x8xf32>) -> tensor<16x8xf32> {
  %y = dl.attention(%q, %k, %v) : (tensor<16x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<16x8xf32> {
  ^bb0(%a: tensor<16x8xf32>, %b: tensor<9x8xf32>, %c: tensor<9x8xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<16x8xf32>, tensor<9x8xf32>) -> tensor<16x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<16x9xf32>) -> tensor<16x9xf32>
    %2 = dl.cast %1 {dtype = f8E4M3FN} : (tensor<16x9xf32>) -> tensor<16x9xf8E4M3FN>
    %3 = dl.cast %2 {dtype = f32} : (tensor<16x9xf8E4M3FN>) -> tensor<16x9xf32>
    %4 = dl.matmul %3, %c : (tensor<16x9xf32>, tensor<9x8xf32>) -> tensor<16x8xf32>
    dl.yield %4 : tensor<16x8xf32>
  }
  return %y : tensor<16x8xf32>
}
