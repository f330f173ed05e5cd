// RUN: dlc-opt %s -specialize-shapes="shapes=x:4x8" | FileCheck %s --check-prefix=FIXED
// RUN: dlc-opt %s -specialize-shapes="shapes=z:4x17" | FileCheck %s --check-prefix=FIXED
// RUN: dlc-opt %s -specialize-shapes="min-shapes=x:2x8 max-shapes=x:2x16" | FileCheck %s --check-prefix=RANGE
// RUN: dlc-opt %s | FileCheck %s --check-prefix=WHOLE

// RUN: not dlc-opt %s -specialize-shapes="shapes=x" 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: error: --shapes: expected 'input:8x3x224x224', and commas between several, got 'x'
// RUN: not dlc-opt %s -specialize-shapes="min-shapes=x:1x-1" 2>&1 | FileCheck %s --check-prefix=DIM
// DIM: error: --min-shapes: expected 'input:8x3x224x224', and commas between several, got 'x:1x-1'
// RUN: not dlc-opt %s -specialize-shapes="max-shapes=q:1x2" 2>&1 | FileCheck %s --check-prefix=NAME
// NAME: error: --max-shapes: the model has no input 'q'; it has 'x', 'z', 'w'
// RUN: not dlc-opt %s -specialize-shapes="shapes=x:1" 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: error: --shapes: 'x' has 2 dims, got 1; it is f32[N,T]
// RUN: not dlc-opt %s -specialize-shapes="shapes=x:9x1" 2>&1 | FileCheck %s --check-prefix=SYMBOL
// SYMBOL: error: --shapes: 'x', dim 0: 9 makes N = 9, and it is in 1..8
// RUN: not dlc-opt %s -specialize-shapes="shapes=z:1x18" 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: --shapes: 'z', dim 1: no T in 1..64 makes T*2 + 1 equal to 18
// RUN: not dlc-opt %s -specialize-shapes="shapes=x:1x4,z:1x11" 2>&1 | FileCheck %s --check-prefix=CONTRADICTION
// CONTRADICTION: error: --shapes: 'z', dim 1: expected 9, got 11
// RUN: not dlc-opt %s -specialize-shapes="shapes=w:12" 2>&1 | FileCheck %s --check-prefix=OPEN
// OPEN: error: --shapes: 'w', dim 0: the shapes do not determine N*T; name more inputs
// RUN: not dlc-opt %s -specialize-shapes="shapes=x:1x4 min-shapes=x:2x4" 2>&1 | FileCheck %s --check-prefix=OUTSIDE
// OUTSIDE: error: --shapes makes N = 1, and --min-shapes and --max-shapes leave 2..8
// RUN: not dlc-opt %s -specialize-shapes="max-shapes=x:1x4 min-shapes=x:2x4" 2>&1 | FileCheck %s --check-prefix=EMPTY
// EMPTY: error: --min-shapes makes N at least 2, --max-shapes at most 1

// RUN: not dlc-opt %s -specialize-shapes="opt-shapes=x:9x4" 2>&1 | FileCheck %s --check-prefix=BEYOND
// BEYOND: error: --opt-shapes: 'x', dim 0: 9 makes N = 9, and it is in 1..8
// RUN: not dlc-opt %s -specialize-shapes="opt-shapes=x:8x4 max-shapes=x:4x64" 2>&1 | FileCheck %s --check-prefix=NARROWED
// NARROWED: error: --opt-shapes makes N = 8, and the shapes that will come leave 1..4
// RUN: not dlc-opt %s -specialize-shapes="opt-shapes=x:8x4 shapes=x:4x4" 2>&1 | FileCheck %s --check-prefix=FIXEDOPT
// FIXEDOPT: error: --opt-shapes makes N = 8, and the shapes that will come leave 4..4
// RUN: not dlc-opt %s -specialize-shapes="opt-shapes=x:4x4,z:5x9" 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: error: --opt-shapes: 'z', dim 0: expected 4, got 5
// RUN: dlc-opt %s -specialize-shapes="opt-shapes=z:4x17 max-shapes=z:8x33" | FileCheck %s --check-prefix=OPT
// OPT: module attributes {dl.symbols = [#dl.symbol<"N", 1, 8 usual 4>, #dl.symbol<"T", 1, 16 usual 8>]}

// Two symbols give a third dim.
// RUN: dlc-opt %s -specialize-shapes="shapes=x:2x3,w:6" | FileCheck %s --check-prefix=PRODUCT
// PRODUCT: tensor<6xf32> {dl.name = "w"}

// FIXED: module {
// FIXED: @forward(%{{.*}}: tensor<4x8xf32> {dl.name = "x"}, %{{.*}}: tensor<4x17xf32> {dl.name = "z"}, %{{.*}}: tensor<32xf32> {dl.name = "w"}) -> (tensor<4x26xf32> {dl.name = "y"})
// FIXED: dl.full 1.000000e+00 : f32 -> tensor<4x1xf32>
// FIXED: dl.reshape %{{.*}} {shape = #[[DIMS:.*]]} : (tensor<32xf32>) -> tensor<4x8xf32>

// N is a number and gone, T is the first symbol now.
// RANGE: module attributes {dl.symbols = [#dl.symbol<"T", 8, 16>]}
// RANGE: tensor<2x?xf32, #dl.t<[2, s0]>> {dl.name = "x"}
// RANGE: tensor<2x?xf32, #dl.t<[2, s0 * 2 + 1]>> {dl.name = "z"}

// WHOLE: dl.symbols = [#dl.symbol<"N", 1, 8>, #dl.symbol<"T", 1, 64>]
module attributes {dl.symbols = [#dl.symbol<"N", 1, 8>, #dl.symbol<"T", 1, 64>]} {
  func.func @forward(%x: tensor<?x?xf32, #dl.t<[s0, s1]>> {dl.name = "x"}, %z: tensor<?x?xf32, #dl.t<[s0, s1 * 2 + 1]>> {dl.name = "z"}, %w: tensor<?xf32, #dl.t<[s0 * s1]>> {dl.name = "w"}) -> (tensor<?x?xf32, #dl.t<[s0, s1 * 3 + 2]>> {dl.name = "y"}) {
    %one = dl.full 1.0 : f32 -> tensor<?x1xf32, #dl.t<[s0, 1]>>
    %r = dl.reshape %w {shape = affine_map<()[s0, s1] -> (s0, s1)>} : (tensor<?xf32, #dl.t<[s0 * s1]>>) -> tensor<?x?xf32, #dl.t<[s0, s1]>>
    %s = dl.add %x, %r : (tensor<?x?xf32, #dl.t<[s0, s1]>>, tensor<?x?xf32, #dl.t<[s0, s1]>>) -> tensor<?x?xf32, #dl.t<[s0, s1]>>
    %y = dl.cat %s, %z, %one {dim = 1 : i64} : (tensor<?x?xf32, #dl.t<[s0, s1]>>, tensor<?x?xf32, #dl.t<[s0, s1 * 2 + 1]>>, tensor<?x1xf32, #dl.t<[s0, 1]>>) -> tensor<?x?xf32, #dl.t<[s0, s1 * 3 + 2]>>
    return %y : tensor<?x?xf32, #dl.t<[s0, s1 * 3 + 2]>>
  }
}
