// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(decompose-attention,form-fusions),outline-kernels))' -split-input-file | FileCheck %s

// Two layers are launches of one kernel. Their arguments come in the order in which the result asks for them.
// CHECK-LABEL: module @cuda
// CHECK-NEXT: dlx.program @Layers
// CHECK-NEXT: ^bb0(%[[Q:.*]]: {{.*}}, %[[K:.*]]: {{.*}}, %[[V:.*]]: !dlx.buffer<tensor<2x9x4xf32>>):
// CHECK-NEXT: %[[A:.*]] = dlx.alloc : <tensor<2x8x4xf32>>
// CHECK-NEXT: dlx.launch @attention(%[[Q]], %[[K]], %[[V]]) -> (%[[A]])
// CHECK-NEXT: %[[B:.*]] = dlx.alloc : <tensor<2x8x4xf32>>
// CHECK-NEXT: dlx.launch @attention(%[[A]], %[[K]], %[[V]]) -> (%[[B]])
// CHECK-NEXT: dlx.return %[[B]]
// CHECK: dlx.kernel @attention attributes {kind = #dlx.kind<attention>} {
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<2x8x4xf32>, %{{.*}}: tensor<2x9x4xf32>, %{{.*}}: tensor<2x9x4xf32>):
// CHECK-NEXT: dl.attention
// CHECK-NOT: dlx.kernel
!q = tensor<2x8x4xf32>
!k = tensor<2x9x4xf32>
!s = tensor<2x8x9xf32>
func.func @Layers(%q: !q, %k: !k, %v: !k) -> !q {
  %y = dl.attention(%v, %q, %k) {is_causal} : (!k, !q, !k) -> !q {
  ^bb0(%c: !k, %a: !q, %b: !k):
    %0 = dl.contract %a, %b {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (!q, !k) -> !s
    %1 = dl.softmax %0 {dim = -1 : i64} : (!s) -> !s
    %2 = dl.matmul %1, %c : (!s, !k) -> !q
    dl.yield %2 : !q
  }
  %z = dl.attention(%v, %y, %k) {is_causal} : (!k, !q, !k) -> !q {
  ^bb0(%c: !k, %a: !q, %b: !k):
    %0 = dl.contract %a, %b {other_loops = array<i64: 0, 2, 3>, rank = 3 : i64, x_loops = array<i64: 0, 1, 3>} : (!q, !k) -> !s
    %1 = dl.softmax %0 {dim = -1 : i64} : (!s) -> !s
    %2 = dl.matmul %1, %c : (!s, !k) -> !q
    dl.yield %2 : !q
  }
  return %z : !q
}

// -----

// Casts of what the products read, the sum of a mask of full dims, and what is done to the result are in the kernel. Arithmetic on
// the query, or on a mask that repeats, would be done many times.
// CHECK-LABEL: dlx.program @Around
// CHECK-COUNT-3: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @attention
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x4xf32>, %{{.*}}: tensor<9x4xf16>, %{{.*}}: tensor<9xf32>, %{{.*}}: tensor<8x9xf32>, %{{.*}}: tensor<9x4xf32>, %{{.*}}: tensor<8x4xf32>):
// CHECK: dl.attention
// CHECK: dl.add
!q = tensor<8x4xf32>
!k = tensor<9x4xf32>
!s = tensor<8x9xf32>
func.func @Around(%x: !q, %k: tensor<9x4xf16>, %v: !k, %mask: tensor<9xf32>, %whole: !s, %r: !q) -> !q {
  %q = dl.exp %x : (!q) -> !q
  %kk = dl.cast %k {dtype = f32} : (tensor<9x4xf16>) -> !k
  %m = dl.exp %mask : (tensor<9xf32>) -> tensor<9xf32>
  %n = dl.exp %whole : (!s) -> !s
  %y = dl.attention(%q, %kk, %m, %n, %v) : (!q, !k, tensor<9xf32>, !s, !k) -> !q {
  ^bb0(%a: !q, %b: !k, %i: tensor<9xf32>, %j: !s, %c: !k):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !k) -> !s
    %1 = dl.broadcast %i : (tensor<9xf32>) -> !s
    %2 = dl.add %0, %1 : (!s, !s) -> !s
    %3 = dl.add %2, %j : (!s, !s) -> !s
    %4 = dl.softmax %3 {dim = -1 : i64} : (!s) -> !s
    %5 = dl.matmul %4, %c : (!s, !k) -> !q
    dl.yield %5 : !q
  }
  %z = dl.add %y, %r : (!q, !q) -> !q
  return %z : !q
}

// -----

// Heads that are slices of one tensor are read where they lie; a slice that another op reads too is stored.
// CHECK-LABEL: dlx.program @Slices
// CHECK-COUNT-2: dlx.launch
// CHECK-NOT: dlx.launch
// CHECK: dlx.kernel @attention
// CHECK: dl.slice {{.*}} start = 0
// CHECK: dl.slice {{.*}} start = 2
// CHECK-NOT: dl.slice
// CHECK: dl.attention
!h = tensor<9x2x4xf32>
!s = tensor<2x9x9xf32>
func.func @Slices(%x: tensor<9x6x4xf32>) -> (!h, !h) {
  %q = dl.slice %x {dim = 1 : i64, start = 0 : i64, end = 2 : i64} : (tensor<9x6x4xf32>) -> !h
  %k = dl.slice %x {dim = 1 : i64, start = 2 : i64, end = 4 : i64} : (tensor<9x6x4xf32>) -> !h
  %v = dl.slice %x {dim = 1 : i64, start = 4 : i64} : (tensor<9x6x4xf32>) -> !h
  %y = dl.attention(%q, %k, %v) : (!h, !h, !h) -> !h {
  ^bb0(%a: !h, %b: !h, %c: !h):
    %0 = dl.contract %a, %b {other_loops = array<i64: 2, 0, 3>, rank = 3 : i64, x_loops = array<i64: 1, 0, 3>} : (!h, !h) -> !s
    %1 = dl.softmax %0 {dim = -1 : i64} : (!s) -> !s
    %2 = dl.contract %1, %c {other_loops = array<i64: 3, 1, 2>, rank = 3 : i64, x_loops = array<i64: 1, 0, 3>} : (!s, !h) -> !h
    dl.yield %2 : !h
  }
  return %y, %v : !h, !h
}
