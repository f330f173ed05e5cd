// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=8}))' -split-input-file | FileCheck %s --check-prefixes=CHECK,W8
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=4 group=32 symmetric=false}))' -split-input-file | FileCheck %s --check-prefixes=CHECK,W4
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{keep-f32=linear}))' -split-input-file | FileCheck %s --check-prefix=KEPT
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{keep-f32=[a}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GLOB
// GLOB: error: keep-f32: '[a' is no pattern:
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=5}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=BITS
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=4 symmetric=true}))' -split-input-file | FileCheck %s --check-prefix=SYMMETRIC
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=8 symmetric=false per-tensor}))' -split-input-file | FileCheck %s --check-prefix=TENSOR
// RUN: dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{bits=8 group=16}))' -split-input-file | FileCheck %s --check-prefix=GROUPS
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{group=16 per-tensor}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// CONTRADICTION: error: group is 0 or more, and 0 with per-tensor, got 16
// BITS: error: bits is 4 or 8, got 5
// RUN: not dlc-opt %s -pass-pipeline='builtin.module(func.func(quantize-weights{group=-1}))' -split-input-file 2>&1 | FileCheck %s --check-prefix=GROUP
// GROUP: error: group is 0 or more, and 0 with per-tensor, got -1

// 8 bits have a scale for each row; 4 bits lie in pairs, and each group of 32 has a scale and a zero point. 45 columns are 23 bytes
// and two groups, of which the second ends early. The batch stays symbolic.
// CHECK-LABEL: @linear
// CHECK-SAME: (%[[X:.*]]: tensor<?x45xf32, #dl.t<[s0, 45]>>)
// W8: %[[C:.*]] = dl.weight "w.codes" {{{.*}}file = "weights in few bits"{{.*}}offset = -1{{.*}}} : tensor<8x45xi8>
// W8: %[[S:.*]] = dl.weight "w.scale" {{.*}} : tensor<8x1xf32>
// W8: %[[N:.*]] = dl.cast %[[C]] {dtype = f32}
// W8: %[[B:.*]] = dl.broadcast %[[S]] : (tensor<8x1xf32>) -> tensor<8x45xf32>
// W8: %[[W:.*]] = dl.mul %[[N]], %[[B]]
// W4: %[[P:.*]] = dl.weight "w.codes" {{.*}} : tensor<8x23xui8>
// W4: %[[S:.*]] = dl.weight "w.scale" {{.*}} : tensor<8x2xf32>
// W4: %[[Z:.*]] = dl.weight "w.zero" {{.*}} : tensor<8x2xui8>
// W4: %[[LOW:.*]] = dl.bitwise_and %[[P]], %{{.*}}
// W4: %[[HIGH:.*]] = dl.floor_divide %[[P]], %{{.*}}
// W4: %[[BOTH:.*]] = dl.cat %[[LOW]], %[[HIGH]] {dim = 1 : i64} : (tensor<8x23xui8>, tensor<8x23xui8>) -> tensor<8x46xui8>
// W4: %[[CODES:.*]] = dl.slice %[[BOTH]] {{.*}} -> tensor<8x45xui8>
// W4: dl.repeat_interleave %[[Z]] {dim = 1 : i64, repeats = 32 : i64} : (tensor<8x2xui8>) -> tensor<8x64xui8>
// W4: %[[STEPS:.*]] = dl.sub
// W4: dl.repeat_interleave %[[S]]
// W4: %[[W:.*]] = dl.mul %[[STEPS]],
// Symmetric codes of 4 bits have the zero point 8; one scale a row, or a weight, is repeated; 8 bits come in groups, too.
// SYMMETRIC-LABEL: @linear
// SYMMETRIC: dl.weight "w.codes" {{.*}} : tensor<8x23xui8>
// SYMMETRIC: %[[S:.*]] = dl.weight "w.scale" {{.*}} : tensor<8x1xf32>
// SYMMETRIC-NOT: "w.zero"
// SYMMETRIC: %[[EIGHT:.*]] = dl.full 8.000000e+00 : f32
// SYMMETRIC: %[[STEPS:.*]] = dl.sub %{{.*}}, %[[EIGHT]]
// SYMMETRIC: %[[B:.*]] = dl.broadcast %[[S]] : (tensor<8x1xf32>) -> tensor<8x45xf32>
// SYMMETRIC: dl.mul %[[STEPS]], %[[B]]
// TENSOR-LABEL: @linear
// TENSOR: dl.weight "w.codes" {{.*}} : tensor<8x45xui8>
// TENSOR: dl.weight "w.scale" {{.*}} : tensor<1x1xf32>
// TENSOR: %[[Z:.*]] = dl.weight "w.zero" {{.*}} : tensor<1x1xui8>
// TENSOR: dl.broadcast %[[Z]] : (tensor<1x1xui8>) -> tensor<8x45xui8>
// GROUPS-LABEL: @linear
// GROUPS: dl.weight "w.codes" {{.*}} : tensor<8x45xi8>
// GROUPS: %[[S:.*]] = dl.weight "w.scale" {{.*}} : tensor<8x3xf32>
// GROUPS-NOT: dl.sub
// GROUPS: dl.repeat_interleave %[[S]] {dim = 1 : i64, repeats = 16 : i64} : (tensor<8x3xf32>) -> tensor<8x48xf32>
// CHECK: dl.linear %[[X]], %[[W]], %{{.*}} : (tensor<?x45xf32, #dl.t<[s0, 45]>>, tensor<8x45xf32>, tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
// KEPT-LABEL: @linear
// KEPT-NOT: codes
// KEPT: return
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
func.func @linear(%x: tensor<?x45xf32, #dl.t<[s0, 45]>>) -> tensor<?x8xf32, #dl.t<[s0, 8]>> {
  %w = dl.weight "w" {file = "w.safetensors", offset = 64 : i64, hash = ""} : tensor<8x45xf32>
  %b = dl.weight "b" : tensor<8xf32>
  %0 = dl.linear %x, %w, %b : (tensor<?x45xf32, #dl.t<[s0, 45]>>, tensor<8x45xf32>, tensor<8xf32>) -> tensor<?x8xf32, #dl.t<[s0, 8]>>
  return %0 : tensor<?x8xf32, #dl.t<[s0, 8]>>
}
}

// -----

// Columns of a matrix become rows; so do those of a transposed one, and of a contract.
// CHECK-LABEL: @turned
// W8: dl.weight "w.codes" : tensor<8x32xi8>
// W8: %[[W:.*]] = dl.mul
// W8: dl.linear %arg0, %[[W]] : (tensor<2x4x32xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
// W8: dl.weight "t.codes" : tensor<8x32xi8>
// W8: %[[T:.*]] = dl.mul
// W8-NOT: dl.permute
// W8: dl.linear %arg0, %[[T]] : (tensor<2x4x32xf32>, tensor<8x32xf32>) -> tensor<2x4x8xf32>
// W8: dl.weight "c.codes" : tensor<8x32xi8>
// W8: %[[C:.*]] = dl.mul
// W8: dl.contract %arg0, %[[C]] {other_loops = array<i64: 0, 3>, rank = 3 : i64, x_loops = array<i64: 1, 2, 3>} : (tensor<2x4x32xf32>, tensor<8x32xf32>) -> tensor<8x2x4xf32>
// W4: return
func.func @turned(%x: tensor<2x4x32xf32>) -> (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<8x2x4xf32>) {
  %w = dl.weight "w" : tensor<32x8xf32>
  %0 = dl.matmul %x, %w : (tensor<2x4x32xf32>, tensor<32x8xf32>) -> tensor<2x4x8xf32>
  %t = dl.weight "t" : tensor<8x32xf32>
  %p = dl.permute %t {dims = array<i64: 1, 0>} : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %1 = dl.matmul %x, %p : (tensor<2x4x32xf32>, tensor<32x8xf32>) -> tensor<2x4x8xf32>
  %c = dl.weight "c" : tensor<32x8xf32>
  %2 = dl.contract %x, %c {x_loops = array<i64: 1, 2, 3>, other_loops = array<i64: 3, 0>, rank = 3 : i64} : (tensor<2x4x32xf32>, tensor<32x8xf32>) -> tensor<8x2x4xf32>
  return %0, %1, %2 : tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<8x2x4xf32>
}

// -----

// A table that is multiplied with, too, is stored once.
// CHECK-LABEL: @tied
// CHECK-COUNT-1: dl.weight "w.codes"
// CHECK-NOT: dl.weight "w"
// CHECK: %[[W:.*]] = dl.mul
// CHECK: %[[ROWS:.*]] = dl.embedding %arg0, %[[W]]
// CHECK: dl.linear %[[ROWS]], %[[W]]
func.func @tied(%x: tensor<3xi64>) -> tensor<3x16xf32> {
  %w = dl.weight "w" : tensor<16x32xf32>
  %0 = dl.embedding %x, %w : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %1 = dl.linear %0, %w : (tensor<3x32xf32>, tensor<16x32xf32>) -> tensor<3x16xf32>
  return %1 : tensor<3x16xf32>
}

// -----

// Tables of look-ups, of whatever kind they are; 8 bits where products have 4.
// CHECK-LABEL: @tables
// W8: dl.weight "e.codes" : tensor<16x32xi8>
// W8: dl.weight "e.scale" : tensor<16x1xf32>
// W8: %[[E:.*]] = dl.mul
// W8: dl.embedding %arg0, %[[E]] : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
// W8: dl.weight "i.codes"
// W8: %[[I:.*]] = dl.mul
// W8: dl.index %[[I]], %arg0
// W8: dl.weight "s.codes"
// W8: %[[S:.*]] = dl.mul
// W8: dl.index_select %[[S]], %arg0 {dim = 0 : i64}
// W4: dl.weight "e.codes" : tensor<16x32xi8>
// W4: return
func.func @tables(%x: tensor<3xi64>) -> (tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>) {
  %e = dl.weight "e" : tensor<16x32xf32>
  %0 = dl.embedding %x, %e : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %i = dl.weight "i" : tensor<16x32xf32>
  %1 = dl.index %i, %x : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  %s = dl.weight "s" : tensor<16x32xf32>
  %2 = dl.index_select %s, %x {dim = 0 : i64} : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<3x32xf32>
  return %0, %1, %2 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<3x32xf32>
}

// -----

// Tables that stay: one that is computed, one that is also added, one whose columns are taken, one of short rows, one whose rows
// are known at load.
// CHECK-LABEL: @kept_tables
// CHECK-NOT: codes
// CHECK: return
func.func @kept_tables(%x: tensor<3xi64>, %h: tensor<16x32xf32>) -> (tensor<3x32xf32>, tensor<3x32xf32>, tensor<16x32xf32>, tensor<16x3xf32>, tensor<3x8xf32>, tensor<2x32xf32>) {
  %a = dl.weight "a" : tensor<16x32xf32>
  %twice = dl.add %a, %a : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %0 = dl.embedding %x, %twice : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %b = dl.weight "b" : tensor<16x32xf32>
  %1 = dl.embedding %x, %b : (tensor<3xi64>, tensor<16x32xf32>) -> tensor<3x32xf32>
  %2 = dl.add %h, %b : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  %c = dl.weight "c" : tensor<16x32xf32>
  %3 = dl.index_select %c, %x {dim = 1 : i64} : (tensor<16x32xf32>, tensor<3xi64>) -> tensor<16x3xf32>
  %d = dl.weight "d" : tensor<16x8xf32>
  %4 = dl.embedding %x, %d : (tensor<3xi64>, tensor<16x8xf32>) -> tensor<3x8xf32>
  %e = dl.weight "e" : tensor<16x32xf32>
  %places = dl.weight "places" : tensor<2xi64>
  %5 = dl.embedding %places, %e : (tensor<2xi64>, tensor<16x32xf32>) -> tensor<2x32xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<3x32xf32>, tensor<3x32xf32>, tensor<16x32xf32>, tensor<16x3xf32>, tensor<3x8xf32>, tensor<2x32xf32>
}

// -----

// What stays: a first factor, sums of few terms, a weight that is also added or that is summed along both of its dims, one of
// another dtype, a product of weights alone.
// CHECK-LABEL: @kept
// CHECK-NOT: codes
// CHECK: return
func.func @kept(%x: tensor<32x32xf32>, %few: tensor<2x15xf32>, %h: tensor<2x32xf16>) -> (tensor<32x32xf32>, tensor<2x8xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<2x8xf16>, tensor<8x8xf32>) {
  %a = dl.weight "a" : tensor<32x32xf32>
  %0 = dl.matmul %a, %x : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %b = dl.weight "b" : tensor<8x15xf32>
  %1 = dl.linear %few, %b : (tensor<2x15xf32>, tensor<8x15xf32>) -> tensor<2x8xf32>
  %c = dl.weight "c" : tensor<32x32xf32>
  %2 = dl.linear %x, %c : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %3 = dl.add %2, %c : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %d = dl.weight "d" : tensor<32x32xf32>
  %4 = dl.linear %x, %d : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %5 = dl.matmul %x, %d : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
  %e = dl.weight "e" : tensor<8x32xf16>
  %6 = dl.linear %h, %e : (tensor<2x32xf16>, tensor<8x32xf16>) -> tensor<2x8xf16>
  %g = dl.weight "g" : tensor<8x32xf32>
  %8 = dl.linear %g, %g : (tensor<8x32xf32>, tensor<8x32xf32>) -> tensor<8x8xf32>
  return %0, %1, %3, %4, %5, %6, %8 : tensor<32x32xf32>, tensor<2x8xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<2x8xf16>, tensor<8x8xf32>
}

// -----

// A weight that the driver has marked has 8 bits where the others have 4.
// CHECK-LABEL: @wide
// W4: dl.weight "v.codes"{{.*}} : tensor<4x16xui8>
// W4: dl.weight "w.codes"{{.*}} : tensor<8x32xi8>
// W4: dl.weight "w.scale"{{.*}} : tensor<8x1xf32>
// CHECK-NOT: "w.zero"
// CHECK: return
func.func @wide(%x: tensor<2x32xf32>) -> (tensor<2x4xf32>, tensor<2x8xf32>) {
  %v = dl.weight "v" : tensor<4x32xf32>
  %w = dl.weight "w" {dl.stored_bits = 8 : i64} : tensor<8x32xf32>
  %0 = dl.linear %x, %v : (tensor<2x32xf32>, tensor<4x32xf32>) -> tensor<2x4xf32>
  %1 = dl.linear %x, %w : (tensor<2x32xf32>, tensor<8x32xf32>) -> tensor<2x8xf32>
  return %0, %1 : tensor<2x4xf32>, tensor<2x8xf32>
}
