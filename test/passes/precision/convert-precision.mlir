// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-precision))' -split-input-file | FileCheck %s --check-prefixes=CHECK,F16
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-precision{dtype=bf16}))' -split-input-file | FileCheck %s --check-prefixes=CHECK,BF16
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-precision{dtype=f64}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=DTYPE
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-precision{keep-f32=layer_norm}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(convert-precision{keep-f32=[a}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GLOB
// DTYPE: error: dtype is f16 or bf16, got 'f64'
// GLOB: error: keep-f32: '[a' is no pattern:

// Products are narrow, and what follows them; one cast of the input, one at the end.
// CHECK-LABEL: @chain
// F16: %[[X:.*]] = dl.cast %{{.*}} {dtype = f16} : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf16, #dl.t<[s0, 8]>>
// F16: %[[W:.*]] = dl.weight "w" : tensor<8x8xf32>
// F16: %[[NARROW:.*]] = dl.cast %[[W]] {dtype = f16}
// F16: %[[A:.*]] = dl.linear %[[X]], %[[NARROW]] : (tensor<?x8xf16, #dl.t<[s0, 8]>>, tensor<8x8xf16>) -> tensor<?x8xf16, #dl.t<[s0, 8]>>
// F16-NEXT: %[[R:.*]] = dl.relu %[[A]] : (tensor<?x8xf16, #dl.t<[s0, 8]>>)
// F16-NEXT: %[[B:.*]] = dl.linear %[[R]], %[[NARROW]]
// F16-NEXT: %[[Y:.*]] = dl.cast %[[B]] {dtype = f32}
// F16-NEXT: return %[[Y]] : tensor<?x8xf32, #dl.t<[s0, 8]>>
// BF16: dl.linear %{{.*}} -> tensor<?x8xbf16, #dl.t<[s0, 8]>>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @chain(%x: tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>> {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w : (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<8x8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  %1 = dl.relu %0 : (tensor<?x8xf32, #dl.t<[s0, 8]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  %2 = dl.linear %1, %w : (tensor<?x8xf32, #dl.t<[s0, 8]>>, tensor<8x8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %2 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
}

// -----

// An exponential stays in f32, and so does what reads it beside a narrow value.
// CHECK-LABEL: @wide
// CHECK: %[[A:.*]] = dl.matmul {{.*}}16>
// CHECK-NEXT: %[[WIDE:.*]] = dl.cast %[[A]] {dtype = f32}
// CHECK-NEXT: %[[E:.*]] = dl.exp %[[WIDE]] : (tensor<4x4xf32>)
// CHECK-NEXT: %[[S:.*]] = dl.add %[[WIDE]], %[[E]] : (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK-NEXT: return %[[S]]
func.func @wide(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = dl.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dl.exp %0 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = dl.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A value computed from an input of f32 stays in f32 until a product reads it. Integers are untouched.
// CHECK-LABEL: @input
// CHECK-NEXT: %[[H:.*]] = dl.mul %{{.*}}, %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK-NEXT: %[[I:.*]] = dl.add %{{.*}} : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
// CHECK-NEXT: return %[[H]], %[[I]]
func.func @input(%x: tensor<4x4xf32>, %i: tensor<4xi64>) -> (tensor<4x4xf32>, tensor<4xi64>) {
  %0 = dl.mul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dl.add %i, %i : (tensor<4xi64>, tensor<4xi64>) -> tensor<4xi64>
  return %0, %1 : tensor<4x4xf32>, tensor<4xi64>
}

// -----

// Rows of a table of weights are as narrow as the table.
// CHECK-LABEL: @table
// CHECK: %[[T:.*]] = dl.cast %{{.*}} : (tensor<9x4xf32>)
// CHECK: dl.embedding %{{.*}}, %[[T]] : {{.*}}16>
func.func @table(%i: tensor<3xi64>) -> tensor<3x4xf32> {
  %w = dl.weight "w" : tensor<9x4xf32>
  %0 = dl.embedding %i, %w : (tensor<3xi64>, tensor<9x4xf32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

// Arithmetic of weights, which runs at load, stays as exact as it was.
// CHECK-LABEL: @weights
// CHECK: %[[M:.*]] = dl.mul %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>)
// CHECK-NEXT: %[[C:.*]] = dl.cast %[[M]]
// CHECK-NEXT: dl.linear %{{.*}}, %[[C]]
func.func @weights(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %w = dl.weight "w" : tensor<4x4xf32>
  %0 = dl.mul %w, %w : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dl.linear %x, %0 : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// -----

// Numbers that f16 would make infinite or 0 keep the op in f32; bf16 has the exponents of f32.
// CHECK-LABEL: @numbers
// F16: dl.add %{{.*}} : (tensor<4x4xf32>, tensor<4x4xf32>)
// F16: dl.clamp %{{.*}} : (tensor<4x4xf32>)
// BF16: dl.add %{{.*}} : (tensor<4x4xbf16>, tensor<4x4xbf16>)
// BF16: dl.clamp %{{.*}} : (tensor<4x4xbf16>)
func.func @numbers(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dl.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = dl.full -1.0e+09 : f32 -> tensor<4x4xf32>
  %2 = dl.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = dl.clamp %0 {min = 1.0e-12 : f64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2, %3 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// A cast of the user's own stays: what it was cast from is narrow already.
// CHECK-LABEL: @own
// F16-NEXT: %[[X:.*]] = dl.cast %[[ARG:.*]] {dtype = f32} : (tensor<4x4xf16>)
// F16-NEXT: %[[M:.*]] = dl.matmul %[[ARG]], %[[ARG]] : (tensor<4x4xf16>, tensor<4x4xf16>)
// F16-NEXT: %[[Y:.*]] = dl.cast %[[M]] {dtype = f32}
// F16-NEXT: return %[[X]], %[[Y]]
func.func @own(%x: tensor<4x4xf16>) -> (tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = dl.cast %x {dtype = f32} : (tensor<4x4xf16>) -> tensor<4x4xf32>
  %1 = dl.matmul %0, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0, %1 : tensor<4x4xf32>, tensor<4x4xf32>
}

// -----

// f64 is the user's wish.
// CHECK-LABEL: @double
// CHECK-NEXT: dl.matmul %{{.*}} : (tensor<4x4xf64>, tensor<4x4xf64>)
func.func @double(%x: tensor<4x4xf64>) -> tensor<4x4xf64> {
  %0 = dl.matmul %x, %x : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>
  return %0 : tensor<4x4xf64>
}

// -----

// A standardize follows what it reads, unless the norm that it comes from is kept.
// CHECK-LABEL: @norms
// F16: dl.standardize %{{.*}} -> tensor<2x4x8xf16>
// F16: dl.standardize %{{.*}} -> tensor<2x4x8xf16>
// KEPT-LABEL: @norms
// KEPT: %[[Y:.*]] = dl.standardize %{{[^ ]*}} {affine_dims = array<i64: 2>, {{.*}} -> tensor<2x4x8xf32>
// KEPT: dl.standardize %{{[^ ]*}} {affine_dims = array<i64: 1>, {{.*}} -> tensor<2x4x8xf16>
func.func @norms(%x: tensor<2x4x8xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>) {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w : (tensor<2x4x8xf32>, tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %1 = dl.standardize %0 {affine_dims = array<i64: 2>, dims = array<i64: 2>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %2 = dl.standardize %0 {affine_dims = array<i64: 1>, dims = array<i64: 2>} : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return %1, %2 : tensor<2x4x8xf32>, tensor<2x4x8xf32>
}

// -----

// An op that was decided to stay in f32 does so, and what follows it too; the mark has been read then.
// CHECK-LABEL: @marked
// F16: dl.linear %{{.*}} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
// F16-NEXT: dl.relu %{{.*}} : (tensor<2x8xf32>) -> tensor<2x8xf32>
// F16: dl.linear %{{.*}} -> tensor<2x8xf16>
func.func @marked(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  %w = dl.weight "w" : tensor<8x8xf32>
  %0 = dl.linear %x, %w {dl.keep_f32} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  %1 = dl.relu %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = dl.linear %1, %w : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
  return %2 : tensor<2x8xf32>
}

// -----

// What repeats few numbers is cast before it repeats them: memory has the few.
// CHECK-LABEL: @repeated
// F16: %[[S:.*]] = dl.weight "scale" : tensor<8xf32>
// F16: %[[N:.*]] = dl.cast %[[S]] {dtype = f16}
// F16: %[[R:.*]] = dl.broadcast %[[N]] : (tensor<8xf16>) -> tensor<4x8xf16>
// F16: %[[M:.*]] = dl.mul %{{.*}}, %[[R]]
// F16: %[[F:.*]] = dl.full 3.000000e+00 : f32 -> tensor<4x8xf16>
// F16: dl.add %[[M]], %[[F]]
func.func @repeated(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %w = dl.weight "w" : tensor<8x8xf32>
  %s = dl.weight "scale" : tensor<8xf32>
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = dl.broadcast %s : (tensor<8xf32>) -> tensor<4x8xf32>
  %2 = dl.mul %0, %1 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = dl.full 3.0 : f32 -> tensor<4x8xf32>
  %4 = dl.add %2, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %4 : tensor<4x8xf32>
}

// -----

// A product of e4m3 stays: its sums are beyond f16 before they are scaled.
// CHECK-LABEL: @float8
// CHECK: dl.linear {{.*}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: return
func.func @float8(%x: tensor<4x8xf8E4M3FN>, %w: tensor<8x8xf8E4M3FN>) -> tensor<4x8xf32> {
  %0 = dl.cast %x {dtype = f32} : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %1 = dl.cast %w {dtype = f32} : (tensor<8x8xf8E4M3FN>) -> tensor<8x8xf32>
  %2 = dl.linear %0, %1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}
