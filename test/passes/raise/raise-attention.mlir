// RUN: dlc-opt %s -raise-attention -canonicalize -split-input-file | FileCheck %s

!q = tensor<2x4x8x16xf32>
!k = tensor<2x4x9x16xf32>
!t = tensor<2x4x16x9xf32>
!s = tensor<2x4x8x9xf32>

// The scores divided by a number; keys transposed.
// CHECK-LABEL: @scaled_scores
// CHECK-NEXT: %[[Y:.*]] = dl.attention(%arg0, %arg1, %arg2) : (tensor<2x4x8x16xf32>, tensor<2x4x9x16xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x16xf32> {
// CHECK: %[[N:.*]] = dl.full 2.000000e+00
// CHECK: %[[S:.*]] = dl.contract
// CHECK: %[[M:.*]] = dl.mul %[[S]], %[[N]]
// CHECK: %[[W:.*]] = dl.softmax %[[M]]
// CHECK: %[[Z:.*]] = dl.contract %[[W]]
// CHECK-NEXT: dl.yield %[[Z]]
// CHECK: return %[[Y]]
func.func @scaled_scores(%q: !q, %k: !k, %v: !k) -> !q {
  %half = dl.full 0.5 : f32 -> !s
  %t = dl.permute %k {dims = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %0 = dl.matmul %q, %t : (!q, !t) -> !s
  %1 = dl.div %0, %half : (!s, !s) -> !s
  %2 = dl.softmax %1 {dim = -1 : i64} : (!s) -> !s
  %y = dl.matmul %2, %v : (!s, !k) -> !q
  return %y : !q
}

// As PyTorch's exporter writes it: the root of the scale on queries and keys, a mask for each text of the batch. Roots are rounded: two
// of them mean 1/4.
// CHECK-LABEL: @exported
// CHECK-NEXT: %[[Y:.*]] = dl.attention(%arg0, %arg1, %arg3, %arg2) : (tensor<2x4x8x16xf32>, tensor<2x4x9x16xf32>, tensor<2x1x1x9xf32>, tensor<2x4x9x16xf32>) -> tensor<2x4x8x16xf32> {
// CHECK: dl.full 2.500000e-01
// CHECK: return %[[Y]]
func.func @exported(%q: !q, %k: !k, %v: !k, %mask: tensor<2x1x1x9xf32>) -> !q {
  %rootq = dl.full 0.49999997 : f32 -> !q
  %rootk = dl.full 0.5 : f32 -> !t
  %p = dl.permute %k {dims = array<i64: 0, 1, 3, 2>} : (!k) -> !t
  %sq = dl.mul %q, %rootq : (!q, !q) -> !q
  %sk = dl.mul %p, %rootk : (!t, !t) -> !t
  %0 = dl.matmul %sq, %sk : (!q, !t) -> !s
  %m = dl.broadcast %mask : (tensor<2x1x1x9xf32>) -> !s
  %1 = dl.add %0, %m : (!s, !s) -> !s
  %2 = dl.softmax %1 {dim = 3 : i64} : (!s) -> !s
  %y = dl.matmul %2, %v : (!s, !k) -> !q
  return %y : !q
}

// Heads lie inside: queries are scaled before they are cut up, and the result is given in the order that comes next.
// CHECK-LABEL: @heads_inside
// CHECK: %[[H:.*]] = dl.reshape %arg0
// CHECK: %[[Y:.*]] = dl.attention(%[[H]], %arg1, %arg2) : {{.*}} -> tensor<2x8x4x16xf32> {
// CHECK: dl.full 2.500000e-01
// CHECK-NOT: dl.permute
// CHECK: return %[[Y]]
func.func @heads_inside(%x: tensor<2x8x64xf32>, %k: tensor<2x9x4x16xf32>, %v: tensor<2x9x4x16xf32>) -> tensor<2x8x4x16xf32> {
  %quarter = dl.full 0.25 : f32 -> tensor<2x8x64xf32>
  %0 = dl.mul %x, %quarter : (tensor<2x8x64xf32>, tensor<2x8x64xf32>) -> tensor<2x8x64xf32>
  %q = dl.reshape %0 {shape = affine_map<() -> (2, 8, 4, 16)>} : (tensor<2x8x64xf32>) -> tensor<2x8x4x16xf32>
  %1 = dl.contract %q, %k {x_loops = array<i64: 0, 2, 1, 4>, other_loops = array<i64: 0, 3, 1, 4>, rank = 4 : i64} : (tensor<2x8x4x16xf32>, tensor<2x9x4x16xf32>) -> !s
  %2 = dl.softmax %1 {dim = -1 : i64} : (!s) -> !s
  %3 = dl.contract %2, %v {x_loops = array<i64: 0, 2, 1, 4>, other_loops = array<i64: 0, 4, 2, 3>, rank = 4 : i64} : (!s, tensor<2x9x4x16xf32>) -> tensor<2x8x4x16xf32>
  return %3 : tensor<2x8x4x16xf32>
}

// The softmax stands second, and runs along the first dim of the scores: v^T p^T.
// CHECK-LABEL: @transposed
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) : (tensor<8x16xf32>, tensor<9x16xf32>, tensor<9x4xf32>) -> tensor<4x8xf32> {
// CHECK-NOT: dl.permute
// CHECK: return
func.func @transposed(%q: tensor<8x16xf32>, %k: tensor<9x16xf32>, %v: tensor<9x4xf32>) -> tensor<4x8xf32> {
  %t = dl.permute %q {dims = array<i64: 1, 0>} : (tensor<8x16xf32>) -> tensor<16x8xf32>
  %u = dl.permute %v {dims = array<i64: 1, 0>} : (tensor<9x4xf32>) -> tensor<4x9xf32>
  %0 = dl.matmul %k, %t : (tensor<9x16xf32>, tensor<16x8xf32>) -> tensor<9x8xf32>
  %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %y = dl.matmul %u, %1 : (tensor<4x9xf32>, tensor<9x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// f16, with a cast to f32 around the softmax that raise-activations has taken away.
// CHECK-LABEL: @half
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) : (tensor<8x16xf16>, tensor<9x16xf16>, tensor<9x16xf16>) -> tensor<8x16xf16> {
// CHECK: dl.full 2.500000e-01
// CHECK: return
func.func @half(%q: tensor<8x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x16xf16>) -> tensor<8x16xf16> {
  %quarter = dl.full 0.25 : f32 -> tensor<8x9xf16>
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf16>, tensor<9x16xf16>) -> tensor<8x9xf16>
  %1 = dl.mul %quarter, %0 : (tensor<8x9xf16>, tensor<8x9xf16>) -> tensor<8x9xf16>
  %2 = dl.softmax %1 {dim = 1 : i64} : (tensor<8x9xf16>) -> tensor<8x9xf16>
  %y = dl.matmul %2, %v : (tensor<8x9xf16>, tensor<9x16xf16>) -> tensor<8x16xf16>
  return %y : tensor<8x16xf16>
}

// -----

// The causal mask of PyTorch's exporter, of symbolic dims: 1 up to the diagonal, then -inf where that is 0.

!x = tensor<?x4x?x16xf32, #dl.t<[s0, 4, s1, 16]>>
!t = tensor<?x4x16x?xf32, #dl.t<[s0, 4, 16, s1]>>
!s = tensor<?x4x?x?xf32, #dl.t<[s0, 4, s1, s1]>>
!m = tensor<?x?xf32, #dl.t<[s1, s1]>>
!b = tensor<?x?xi1, #dl.t<[s1, s1]>>

module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>, #dl.symbol<"T", 1, 64>]} {
  // CHECK-LABEL: @causal
  // CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal} :
  // CHECK: dl.full 1.000000e+00
  // CHECK: return
  func.func @causal(%q: !x, %k: !x, %v: !x) -> !x {
    %one = dl.full 1.0 : f32 -> !m
    %zero = dl.full 0.0 : f32 -> !m
    %inf = dl.full 0xFF800000 : f32 -> !m
    %low = dl.tril %one : (!m) -> !m
    %is = dl.eq %low, %zero : (!m, !m) -> !b
    %mask = dl.where %is, %inf, %zero : (!b, !m, !m) -> !m
    %wide = dl.broadcast %mask : (!m) -> !s
    %t = dl.permute %k {dims = array<i64: 0, 1, 3, 2>} : (!x) -> !t
    %0 = dl.matmul %q, %t : (!x, !t) -> !s
    %1 = dl.add %wide, %0 : (!s, !s) -> !s
    %2 = dl.softmax %1 {dim = 3 : i64} : (!s) -> !s
    %y = dl.matmul %2, %v : (!s, !x) -> !x
    return %y : !x
  }
}

// -----

!q = tensor<8x4xf32>
!s = tensor<8x8xf32>
!b = tensor<8x8xi1>

// Columns after rows get -1e9, a number: each row has the first column. The scale comes after it.
// CHECK-LABEL: @causal_places
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal} :
// CHECK: dl.full 5.000000e-01
// CHECK: return
func.func @causal_places(%q: !q, %k: !q, %v: !q) -> !q {
  %half = dl.full 0.5 : f32 -> !s
  %low = dl.full -1.0e9 : f32 -> !s
  %i = dl.arange {end = affine_map<() -> (8)>} : () -> tensor<8xi64>
  %c = dl.reshape %i {shape = affine_map<() -> (8, 1)>} : (tensor<8xi64>) -> tensor<8x1xi64>
  %rows = dl.broadcast %c : (tensor<8x1xi64>) -> tensor<8x8xi64>
  %columns = dl.broadcast %i : (tensor<8xi64>) -> tensor<8x8xi64>
  %hidden = dl.gt %columns, %rows : (tensor<8x8xi64>, tensor<8x8xi64>) -> !b
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.where %hidden, %low, %0 : (!b, !s, !s) -> !s
  %2 = dl.mul %1, %half : (!s, !s) -> !s
  %3 = dl.softmax %2 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// (1 - tril) * -1e9, added.
// CHECK-LABEL: @causal_arithmetic
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal} :
// CHECK: dl.full 1.000000e+00
// CHECK: return
func.func @causal_arithmetic(%q: !q, %k: !q, %v: !q) -> !q {
  %one = dl.full 1.0 : f32 -> !s
  %low = dl.full -1.0e9 : f32 -> !s
  %seen = dl.tril %one : (!s) -> !s
  %rest = dl.sub %one, %seen : (!s, !s) -> !s
  %mask = dl.mul %rest, %low : (!s, !s) -> !s
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.add %0, %mask : (!s, !s) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// As Llama writes it: -inf above a diagonal times whether the column comes after the row, one column too many, cut off; then rows and columns from
// the second one on.
// CHECK-LABEL: @causal_parts
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) {is_causal} :
// CHECK: dl.full 1.000000e+00
// CHECK: return
func.func @causal_parts(%q: !q, %k: !q, %v: !q) -> !q {
  %low = dl.full -3.40282347E+38 : f32 -> tensor<9x10xf32>
  %upper = dl.triu %low {diagonal = 1 : i64} : (tensor<9x10xf32>) -> tensor<9x10xf32>
  %i = dl.arange {end = affine_map<() -> (9)>} : () -> tensor<9xi64>
  %j = dl.arange {end = affine_map<() -> (10)>} : () -> tensor<10xi64>
  %c = dl.reshape %i {shape = affine_map<() -> (9, 1)>} : (tensor<9xi64>) -> tensor<9x1xi64>
  %rows = dl.broadcast %c : (tensor<9x1xi64>) -> tensor<9x10xi64>
  %columns = dl.broadcast %j : (tensor<10xi64>) -> tensor<9x10xi64>
  %after = dl.gt %columns, %rows : (tensor<9x10xi64>, tensor<9x10xi64>) -> tensor<9x10xi1>
  %is = dl.cast %after {dtype = f32} : (tensor<9x10xi1>) -> tensor<9x10xf32>
  %mask = dl.mul %upper, %is : (tensor<9x10xf32>, tensor<9x10xf32>) -> tensor<9x10xf32>
  %cut = dl.slice %mask {dim = 1 : i64, start = 1 : i64, end = -1 : i64} : (tensor<9x10xf32>) -> tensor<9x8xf32>
  %part = dl.part %cut {dim = 0 : i64, start = affine_map<() -> (1)>, length = affine_map<() -> (8)>} : (tensor<9x8xf32>) -> !s
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.add %0, %part : (!s, !s) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// -inf above another diagonal: a mask as any other.
// CHECK-LABEL: @other_diagonal
// CHECK: %[[M:.*]] = dl.triu
// CHECK-NEXT: dl.attention(%arg0, %arg1, %[[M]], %arg2) :
// CHECK: return
func.func @other_diagonal(%q: !q, %k: !q, %v: !q) -> !q {
  %inf = dl.full 0xFF800000 : f32 -> !s
  %mask = dl.triu %inf {diagonal = 2 : i64} : (!s) -> !s
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.add %0, %mask : (!s, !s) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// -inf where a bool is true.
// CHECK-LABEL: @masked_fill
// CHECK-NEXT: %[[M:.*]] = dl.logical_not %arg3 : (tensor<8xi1>) -> tensor<8xi1>
// CHECK-NEXT: dl.attention(%arg0, %arg1, %[[M]], %arg2) :
// CHECK: dl.where
// CHECK: return
func.func @masked_fill(%q: !q, %k: !q, %v: !q, %m: tensor<8xi1>) -> !q {
  %mask = dl.broadcast %m : (tensor<8xi1>) -> !b
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.masked_fill %0, %mask {value = 0xFFF0000000000000 : f64} : (!s, !b) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// Other ops on the scores move into the body. A number where a bool is false: a row that is false everywhere is uniform.
// CHECK-LABEL: @finite
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg3, %arg2) :
// CHECK: %[[LOW:.*]] = dl.full -1.000000e+09
// CHECK: dl.where %{{.*}}, %{{.*}}, %[[LOW]]
// CHECK: return
func.func @finite(%q: !q, %k: !q, %v: !q, %mask: !b) -> !q {
  %low = dl.full -1.0e9 : f32 -> !s
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.where %mask, %0, %low : (!b, !s, !s) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// A mask that is scaled with the scores, and two of them.
// CHECK-LABEL: @scaled_mask
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg3, %arg2) :
// CHECK: dl.add
// CHECK: dl.mul
// CHECK: return
func.func @scaled_mask(%q: !q, %k: !q, %v: !q, %mask: !s) -> !q {
  %half = dl.full 0.5 : f32 -> !s
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.add %0, %mask : (!s, !s) -> !s
  %2 = dl.mul %1, %half : (!s, !s) -> !s
  %3 = dl.softmax %2 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}
// CHECK-LABEL: @two_masks
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg3, %arg4, %arg2) :
// CHECK: return
func.func @two_masks(%q: !q, %k: !q, %v: !q, %a: !s, %b: !s) -> !q {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.add %0, %a : (!s, !s) -> !s
  %2 = dl.add %1, %b : (!s, !s) -> !s
  %3 = dl.softmax %2 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// CHECK-LABEL: @capped
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) :
// CHECK: dl.tanh
// CHECK: return
func.func @capped(%q: !q, %k: !q, %v: !q) -> !q {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %1 = dl.tanh %0 : (!s) -> !s
  %3 = dl.softmax %1 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// The softmax runs along the queries.
// CHECK-LABEL: @along_queries
// CHECK-NOT: dl.attention
// CHECK: return
func.func @along_queries(%q: !q, %k: !q, %v: !q) -> !q {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %3 = dl.softmax %0 {dim = 0 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y : !q
}

// The weights, or the scores, are a result as well.
// CHECK-LABEL: @weights
// CHECK-NOT: dl.attention
// CHECK: return
func.func @weights(%q: !q, %k: !q, %v: !q) -> (!q, !s) {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %3 = dl.softmax %0 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y, %3 : !q, !s
}
// CHECK-LABEL: @scores
// CHECK-NOT: dl.attention
// CHECK: return
func.func @scores(%q: !q, %k: !q, %v: !q) -> (!q, !s) {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (!q, !q) -> !s
  %3 = dl.softmax %0 {dim = 1 : i64} : (!s) -> !s
  %y = dl.matmul %3, %v : (!s, !q) -> !q
  return %y, %0 : !q, !s
}

// -----

!q = tensor<2x8x5x16xf32>
!k = tensor<2x2x5x16xf32>
!s = tensor<2x8x5x5xf32>

// Keys and values repeated for four heads each: expand and reshape, and repeat_interleave.
// CHECK-LABEL: @groups
// CHECK-NOT: dl.permute
// CHECK: dl.attention(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<2x2x4x5x16xf32>, tensor<2x2x1x5x16xf32>, tensor<2x2x1x5x16xf32>) -> tensor<2x2x4x5x16xf32> {
// CHECK: return
func.func @groups(%q: !q, %k: !k, %v: !k) -> !q {
  %0 = dl.reshape %k {shape = affine_map<() -> (2, 2, 1, 5, 16)>} : (!k) -> tensor<2x2x1x5x16xf32>
  %1 = dl.broadcast %0 : (tensor<2x2x1x5x16xf32>) -> tensor<2x2x4x5x16xf32>
  %2 = dl.reshape %1 {shape = affine_map<() -> (2, 8, 5, 16)>} : (tensor<2x2x4x5x16xf32>) -> !q
  %3 = dl.repeat_interleave %v {repeats = 4 : i64, dim = 1 : i64} : (!k) -> !q
  %4 = dl.contract %q, %2 {x_loops = array<i64: 0, 1, 2, 4>, other_loops = array<i64: 0, 1, 3, 4>, rank = 4 : i64} : (!q, !q) -> !s
  %5 = dl.softmax %4 {dim = 3 : i64} : (!s) -> !s
  %y = dl.matmul %5, %3 : (!s, !q) -> !q
  return %y : !q
}

// The first head of the keys goes with heads 0, 2, 4 and 6 of the queries: these are no groups. Nor are keys in groups with values that are not.
// CHECK-LABEL: @tiled
// CHECK: %[[K:.*]] = dl.repeat
// CHECK: dl.attention(%arg0, %[[K]], %{{.*}}) : (tensor<2x8x5x16xf32>
// CHECK: return
func.func @tiled(%q: !q, %k: !k, %v: !k) -> !q {
  %2 = dl.repeat %k {repeats = array<i64: 1, 4, 1, 1>} : (!k) -> !q
  %3 = dl.repeat_interleave %v {repeats = 4 : i64, dim = 1 : i64} : (!k) -> !q
  %4 = dl.contract %q, %2 {x_loops = array<i64: 0, 1, 2, 4>, other_loops = array<i64: 0, 1, 3, 4>, rank = 4 : i64} : (!q, !q) -> !s
  %5 = dl.softmax %4 {dim = 3 : i64} : (!s) -> !s
  %y = dl.matmul %5, %3 : (!s, !q) -> !q
  return %y : !q
}

// Batch and heads in one dim, apart where a mask is added: no dim is joined any more.
// CHECK-LABEL: @joined
// CHECK-NEXT: %[[A:.*]] = dl.attention(%arg3, %arg0, %arg1, %arg2) : (tensor<2x1x5x5xf32>, tensor<2x5x8x16xf32>, tensor<2x5x8x16xf32>, tensor<2x5x8x16xf32>) -> tensor<2x8x5x16xf32> {
// CHECK: dl.full 2.500000e-01
// CHECK: return %[[A]]
func.func @joined(%q: tensor<2x5x8x16xf32>, %k: tensor<2x5x8x16xf32>, %v: tensor<2x5x8x16xf32>, %mask: tensor<2x1x5x5xf32>) -> !q {
  %quarter = dl.full 0.25 : f32 -> tensor<16x5x5xf32>
  %pq = dl.permute %q {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x5x8x16xf32>) -> !q
  %pk = dl.permute %k {dims = array<i64: 0, 2, 3, 1>} : (tensor<2x5x8x16xf32>) -> tensor<2x8x16x5xf32>
  %pv = dl.permute %v {dims = array<i64: 0, 2, 1, 3>} : (tensor<2x5x8x16xf32>) -> !q
  %fq = dl.reshape %pq {shape = affine_map<() -> (16, 5, 16)>} : (!q) -> tensor<16x5x16xf32>
  %fk = dl.reshape %pk {shape = affine_map<() -> (16, 16, 5)>} : (tensor<2x8x16x5xf32>) -> tensor<16x16x5xf32>
  %fv = dl.reshape %pv {shape = affine_map<() -> (16, 5, 16)>} : (!q) -> tensor<16x5x16xf32>
  %0 = dl.matmul %fq, %fk : (tensor<16x5x16xf32>, tensor<16x16x5xf32>) -> tensor<16x5x5xf32>
  %1 = dl.mul %0, %quarter : (tensor<16x5x5xf32>, tensor<16x5x5xf32>) -> tensor<16x5x5xf32>
  %2 = dl.reshape %1 {shape = affine_map<() -> (2, 8, 5, 5)>} : (tensor<16x5x5xf32>) -> !s
  %m = dl.broadcast %mask : (tensor<2x1x5x5xf32>) -> !s
  %3 = dl.add %2, %m : (!s, !s) -> !s
  %4 = dl.reshape %3 {shape = affine_map<() -> (16, 5, 5)>} : (!s) -> tensor<16x5x5xf32>
  %5 = dl.softmax %4 {dim = -1 : i64} : (tensor<16x5x5xf32>) -> tensor<16x5x5xf32>
  %6 = dl.matmul %5, %fv : (tensor<16x5x5xf32>, tensor<16x5x16xf32>) -> tensor<16x5x16xf32>
  %y = dl.reshape %6 {shape = affine_map<() -> (2, 8, 5, 16)>} : (tensor<16x5x16xf32>) -> !q
  return %y : !q
}

// -----

// Mixed precision by hand: the mask is added in f32.
// CHECK-LABEL: @mixed
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg3, %arg2) : (tensor<8x16xf16>, tensor<9x16xf16>, tensor<8x9xf32>, tensor<9x16xf16>) -> tensor<8x16xf16> {
// CHECK: dl.softmax {{.*}} -> tensor<8x9xf32>
// CHECK: return
func.func @mixed(%q: tensor<8x16xf16>, %k: tensor<9x16xf16>, %v: tensor<9x16xf16>, %mask: tensor<8x9xf32>) -> tensor<8x16xf16> {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf16>, tensor<9x16xf16>) -> tensor<8x9xf16>
  %1 = dl.cast %0 {dtype = f32} : (tensor<8x9xf16>) -> tensor<8x9xf32>
  %2 = dl.add %1, %mask : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x9xf32>
  %3 = dl.softmax %2 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
  %4 = dl.cast %3 {dtype = f16} : (tensor<8x9xf32>) -> tensor<8x9xf16>
  %y = dl.matmul %4, %v : (tensor<8x9xf16>, tensor<9x16xf16>) -> tensor<8x16xf16>
  return %y : tensor<8x16xf16>
}

// The softmax of the scores turned round, which are read at another index.
// CHECK-LABEL: @turned
// CHECK-NOT: dl.attention
// CHECK: return
func.func @turned(%q: tensor<8x16xf32>, %k: tensor<8x16xf32>, %v: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %1 = dl.flip %0 {dims = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = dl.softmax %1 {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = dl.matmul %2, %v : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// Batch and heads are joined after a mask was added and before one of the keys alone is applied, as in a decoder that was given a cache.
// CHECK-LABEL: @joined_masks
// CHECK: dl.attention({{.*}}) : {{.*}} -> tensor<2x3x5x16xf32> {
// CHECK: dl.maximum {{.*}} -> tensor<2x3x5x9xf32>
// CHECK: dl.where {{.*}} -> tensor<2x3x5x9xf32>
// CHECK: dl.softmax {{.*}} -> tensor<2x3x5x9xf32>
// CHECK: return
func.func @joined_masks(%q: tensor<2x3x5x16xf32>, %k: tensor<2x3x9x16xf32>, %v: tensor<2x3x9x16xf32>, %mask: tensor<2x1x5x9xf32>, %seen: tensor<9xi1>) -> tensor<2x3x5x16xf32> {
  %least = dl.full -3.0e38 : f32 -> tensor<2x3x5x9xf32>
  %inf = dl.full 0xFF800000 : f32 -> tensor<6x5x9xf32>
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 1, 2, 4>, other_loops = array<i64: 0, 1, 3, 4>, rank = 4 : i64} : (tensor<2x3x5x16xf32>, tensor<2x3x9x16xf32>) -> tensor<2x3x5x9xf32>
  %m = dl.broadcast %mask : (tensor<2x1x5x9xf32>) -> tensor<2x3x5x9xf32>
  %1 = dl.add %0, %m : (tensor<2x3x5x9xf32>, tensor<2x3x5x9xf32>) -> tensor<2x3x5x9xf32>
  %2 = dl.maximum %1, %least : (tensor<2x3x5x9xf32>, tensor<2x3x5x9xf32>) -> tensor<2x3x5x9xf32>
  %3 = dl.reshape %2 {shape = affine_map<() -> (6, 5, 9)>} : (tensor<2x3x5x9xf32>) -> tensor<6x5x9xf32>
  %n = dl.reshape %seen {shape = affine_map<() -> (1, 1, 9)>} : (tensor<9xi1>) -> tensor<1x1x9xi1>
  %s = dl.broadcast %n : (tensor<1x1x9xi1>) -> tensor<6x5x9xi1>
  %4 = dl.where %s, %3, %inf : (tensor<6x5x9xi1>, tensor<6x5x9xf32>, tensor<6x5x9xf32>) -> tensor<6x5x9xf32>
  %5 = dl.softmax %4 {dim = -1 : i64} : (tensor<6x5x9xf32>) -> tensor<6x5x9xf32>
  %w = dl.reshape %v {shape = affine_map<() -> (6, 9, 16)>} : (tensor<2x3x9x16xf32>) -> tensor<6x9x16xf32>
  %6 = dl.matmul %5, %w : (tensor<6x5x9xf32>, tensor<6x9x16xf32>) -> tensor<6x5x16xf32>
  %y = dl.reshape %6 {shape = affine_map<() -> (2, 3, 5, 16)>} : (tensor<6x5x16xf32>) -> tensor<2x3x5x16xf32>
  return %y : tensor<2x3x5x16xf32>
}

// -----

// Weights of which 256 are together are rounded to e4m3, as the values are; of 512, kernels that round them otherwise would lose more.
// CHECK-LABEL: @float8
// CHECK: %[[Y:.*]] = dl.attention(%{{.*}}, %{{.*}}, %{{.*}}) : (tensor<8x16xf32>, tensor<9x16xf32>, tensor<9x16xf32>) -> tensor<8x16xf32> {
// CHECK: dl.softmax
// CHECK: %[[S:.*]] = dl.mul
// CHECK: %[[N:.*]] = dl.cast %[[S]] {{.*}} -> tensor<8x9xf8E4M3FN>
// CHECK: %[[W:.*]] = dl.cast %[[N]]
// CHECK: dl.matmul %[[W]]
// CHECK-LABEL: @too_large
// CHECK-NOT: dl.attention
func.func @float8(%q8: tensor<8x16xf8E4M3FN>, %k8: tensor<9x16xf8E4M3FN>, %v8: tensor<9x16xf8E4M3FN>) -> tensor<8x16xf32> {
  %q = dl.cast %q8 {dtype = f32} : (tensor<8x16xf8E4M3FN>) -> tensor<8x16xf32>
  %k = dl.cast %k8 {dtype = f32} : (tensor<9x16xf8E4M3FN>) -> tensor<9x16xf32>
  %v = dl.cast %v8 {dtype = f32} : (tensor<9x16xf8E4M3FN>) -> tensor<9x16xf32>
  %c = dl.full 256.0 : f32 -> tensor<8x9xf32>
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf32>, tensor<9x16xf32>) -> tensor<8x9xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
  %2 = dl.mul %c, %1 : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x9xf32>
  %3 = dl.cast %2 {dtype = f8E4M3FN} : (tensor<8x9xf32>) -> tensor<8x9xf8E4M3FN>
  %4 = dl.cast %3 {dtype = f32} : (tensor<8x9xf8E4M3FN>) -> tensor<8x9xf32>
  %y = dl.matmul %4, %v : (tensor<8x9xf32>, tensor<9x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
func.func @too_large(%q: tensor<8x16xf32>, %k: tensor<9x16xf32>, %v: tensor<9x16xf32>) -> tensor<8x16xf32> {
  %c = dl.full 512.0 : f32 -> tensor<8x9xf32>
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf32>, tensor<9x16xf32>) -> tensor<8x9xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
  %2 = dl.mul %1, %c : (tensor<8x9xf32>, tensor<8x9xf32>) -> tensor<8x9xf32>
  %3 = dl.cast %2 {dtype = f8E4M3FN} : (tensor<8x9xf32>) -> tensor<8x9xf8E4M3FN>
  %4 = dl.cast %3 {dtype = f32} : (tensor<8x9xf8E4M3FN>) -> tensor<8x9xf32>
  %y = dl.matmul %4, %v : (tensor<8x9xf32>, tensor<9x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// A cast that does more than round makes other weights: here each is 0 or 1, there it has 2 digits.
// CHECK-LABEL: @whole_weights
// CHECK-NOT: dl.attention
// CHECK: return
func.func @whole_weights(%q: tensor<8x16xf32>, %k: tensor<9x16xf32>, %v: tensor<9x16xf32>) -> tensor<8x16xf32> {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf32>, tensor<9x16xf32>) -> tensor<8x9xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
  %2 = dl.cast %1 {dtype = i32} : (tensor<8x9xf32>) -> tensor<8x9xi32>
  %3 = dl.cast %2 {dtype = f32} : (tensor<8x9xi32>) -> tensor<8x9xf32>
  %y = dl.matmul %3, %v : (tensor<8x9xf32>, tensor<9x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
// CHECK-LABEL: @weights_in_e5m2
// CHECK-NOT: dl.attention
// CHECK: return
func.func @weights_in_e5m2(%q: tensor<8x16xf32>, %k: tensor<9x16xf32>, %v: tensor<9x16xf32>) -> tensor<8x16xf32> {
  %0 = dl.contract %q, %k {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x16xf32>, tensor<9x16xf32>) -> tensor<8x9xf32>
  %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
  %2 = dl.cast %1 {dtype = f8E5M2} : (tensor<8x9xf32>) -> tensor<8x9xf8E5M2>
  %3 = dl.cast %2 {dtype = f32} : (tensor<8x9xf8E5M2>) -> tensor<8x9xf32>
  %y = dl.matmul %3, %v : (tensor<8x9xf32>, tensor<9x16xf32>) -> tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}

// -----

// One that is an attention already stays.
// CHECK-LABEL: @already
// CHECK-NEXT: dl.attention(%arg0, %arg1, %arg2) :
// CHECK-NOT: dl.attention
// CHECK: return
func.func @already(%q: tensor<8x4xf32>, %k: tensor<9x4xf32>, %v: tensor<9x4xf32>) -> tensor<8x4xf32> {
  %y = dl.attention(%q, %k, %v) : (tensor<8x4xf32>, tensor<9x4xf32>, tensor<9x4xf32>) -> tensor<8x4xf32> {
  ^bb0(%a: tensor<8x4xf32>, %b: tensor<9x4xf32>, %c: tensor<9x4xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 0, 2>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<8x4xf32>, tensor<9x4xf32>) -> tensor<8x9xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x9xf32>) -> tensor<8x9xf32>
    %2 = dl.matmul %1, %c : (tensor<8x9xf32>, tensor<9x4xf32>) -> tensor<8x4xf32>
    dl.yield %2 : tensor<8x4xf32>
  }
  return %y : tensor<8x4xf32>
}
