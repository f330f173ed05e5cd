// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s

// Both sums compute what they read: one kernel less, and one that only reads in place of one that writes. Each copy says of what
// it reads why it is apart.
// CHECK-LABEL: func.func @TwoSums(
// CHECK: %[[P:.*]]:2 = dl.fusion({{.*}}) {rows}
// CHECK: dl.softmax
// CHECK: dl.neg
// CHECK: dl.sum
// CHECK: dl.fusion(%[[P]]#1) {edges = [#dl.edge<input = 0, reader = "neg", producer = "softmax", why = other_rows>]}
// CHECK-NEXT: ^bb0
// CHECK-NEXT: dl.neg
// CHECK-NEXT: dl.sum
// CHECK-NEXT: dl.yield
// CHECK-NOT: dl.neg
func.func @TwoSums(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<48xf32>, tensor<64x48xf32>) {
  %p = dl.softmax %x {dim = 1 : i64} : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %v = dl.neg %p : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %a = dl.sum %v {dim = array<i64: 1>} : (tensor<64x48xf32>) -> tensor<64xf32>
  %b = dl.sum %v {dim = array<i64: 0>} : (tensor<64x48xf32>) -> tensor<48xf32>
  return %a, %b, %p : tensor<64xf32>, tensor<48xf32>, tensor<64x48xf32>
}

// -----

// The same of a chain, and where a dim is a symbol.
// CHECK-LABEL: func.func @Symbolic(
// CHECK: dl.fusion
// CHECK: dl.neg
// CHECK-NEXT: dl.abs
// CHECK-NEXT: dl.sum
// CHECK: dl.fusion
// CHECK: dl.neg
// CHECK-NEXT: dl.abs
// CHECK-NEXT: dl.sum
// CHECK-NOT: dl.neg
#rows = #dl.t<[s0, 48]>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
  func.func @Symbolic(%x: tensor<?x48xf32, #rows>) -> (tensor<?xf32, #dl.t<[s0]>>, tensor<48xf32>) {
    %u = dl.neg %x : (tensor<?x48xf32, #rows>) -> tensor<?x48xf32, #rows>
    %v = dl.abs %u : (tensor<?x48xf32, #rows>) -> tensor<?x48xf32, #rows>
    %a = dl.sum %v {dim = array<i64: 1>} : (tensor<?x48xf32, #rows>) -> tensor<?xf32, #dl.t<[s0]>>
    %b = dl.sum %v {dim = array<i64: 0>} : (tensor<?x48xf32, #rows>) -> tensor<48xf32>
    return %a, %b : tensor<?xf32, #dl.t<[s0]>>, tensor<48xf32>
  }
}

// -----

// A product reads it too, and would compute each element many times.
// CHECK-LABEL: func.func @Product(
// CHECK-COUNT-1: dl.neg
// CHECK-NOT: dl.neg
func.func @Product(%x: tensor<64x32xf32>, %w: tensor<48x32xf32>) -> (tensor<64xf32>, tensor<64x48xf32>) {
  %v = dl.neg %x : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %a = dl.sum %v {dim = array<i64: 1>} : (tensor<64x32xf32>) -> tensor<64xf32>
  %b = dl.linear %v, %w : (tensor<64x32xf32>, tensor<48x32xf32>) -> tensor<64x48xf32>
  return %a, %b : tensor<64xf32>, tensor<64x48xf32>
}

// -----

// The model returns it: it is stored anyway.
// CHECK-LABEL: func.func @Returned(
// CHECK-COUNT-1: dl.neg
// CHECK-NOT: dl.neg
func.func @Returned(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<48xf32>, tensor<64x48xf32>) {
  %v = dl.neg %x : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %a = dl.sum %v {dim = array<i64: 1>} : (tensor<64x48xf32>) -> tensor<64xf32>
  %b = dl.sum %v {dim = array<i64: 0>} : (tensor<64x48xf32>) -> tensor<48xf32>
  return %a, %b, %v : tensor<64xf32>, tensor<48xf32>, tensor<64x48xf32>
}

// -----

// The text asks for a kernel of its own.
// CHECK-LABEL: func.func @Asked(
// CHECK-COUNT-1: dl.neg
// CHECK-NOT: dl.neg
func.func @Asked(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<48xf32>) {
  %v = dl.neg %x {dl.no_fuse} : (tensor<64x48xf32>) -> tensor<64x48xf32>
  %a = dl.sum %v {dim = array<i64: 1>} : (tensor<64x48xf32>) -> tensor<64xf32>
  %b = dl.sum %v {dim = array<i64: 0>} : (tensor<64x48xf32>) -> tensor<48xf32>
  return %a, %b : tensor<64xf32>, tensor<48xf32>
}

// -----

// It reads three large tensors for the one that it writes: each reader would read them all.
// CHECK-LABEL: func.func @ManyInputs(
// CHECK-COUNT-2: dl.add
// CHECK-NOT: dl.add
func.func @ManyInputs(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>, %z: tensor<4096x4096xf32>) -> (tensor<4096xf32>, tensor<4096xf32>) {
  %u = dl.add %x, %y : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %v = dl.add %u, %z : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %a = dl.sum %v {dim = array<i64: 1>} : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  %b = dl.sum %v {dim = array<i64: 0>} : (tensor<4096x4096xf32>) -> tensor<4096xf32>
  return %a, %b : tensor<4096xf32>, tensor<4096xf32>
}
