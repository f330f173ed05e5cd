// RUN: dlc-opt %s -split-input-file -cut-segments -verify-diagnostics | FileCheck %s
// Ops that no branch, loop or read separates are a segment; the function keeps its calls and the steps.

// What needs a read is in the segment after it, and all else in the first one. A segment declares the symbols that it names: s1 and s2
// of the function are s0 and s1 of the second one. Both segments compute the constant.
module attributes {dl.symbols = [#dl.symbol<"M", 1, 8>, #dl.symbol<"N", 1, 64>, #dl.symbol<"k", 0, 64 read true>]} {
// CHECK-LABEL: func.func @levels
// CHECK-SAME: (%[[X:.*]]: tensor<?xf32, #dl.t<[s1]>>, %[[Z:.*]]: tensor<?xf32, #dl.t<[s0]>>, %[[N:.*]]: tensor<i64>)
// CHECK-NEXT: %[[A:.*]]:3 = dl.call @segment0(%[[X]], %[[N]], %[[Z]]) numbers [0, 1]
// CHECK-NEXT: dl.read %[[A]]#1 as #{{.*}} : tensor<i64>
// CHECK-NEXT: %[[B:.*]] = dl.call @segment1(%[[A]]#0) numbers [1, 2]
// CHECK-NEXT: return %[[A]]#2, %[[B]]
func.func @levels(%x: tensor<?xf32, #dl.t<[s1]>>, %z: tensor<?xf32, #dl.t<[s0]>>, %n: tensor<i64>)
    -> (tensor<?xf32, #dl.t<[s0]>>, tensor<?xf32, #dl.t<[s2]>>) {
  %c = dl.weight "c" : tensor<1xf32>
  %e = dl.exp %c : (tensor<1xf32>) -> tensor<1xf32>
  %b = dl.broadcast %e : (tensor<1xf32>) -> tensor<?xf32, #dl.t<[s1]>>
  %r = dl.mul %x, %b : (tensor<?xf32, #dl.t<[s1]>>, tensor<?xf32, #dl.t<[s1]>>) -> tensor<?xf32, #dl.t<[s1]>>
  %m = dl.neg %n : (tensor<i64>) -> tensor<i64>
  dl.read %m as affine_map<()[s0, s1, s2] -> (s2)> : tensor<i64>
  %p = dl.narrow %r {dim = 0 : i64, start = affine_map<() -> (0)>, length = affine_map<()[s0, s1, s2] -> (s2)>}
      : (tensor<?xf32, #dl.t<[s1]>>) -> tensor<?xf32, #dl.t<[s2]>>
  %d = dl.broadcast %e : (tensor<1xf32>) -> tensor<?xf32, #dl.t<[s2]>>
  %y = dl.add %p, %d : (tensor<?xf32, #dl.t<[s2]>>, tensor<?xf32, #dl.t<[s2]>>) -> tensor<?xf32, #dl.t<[s2]>>
  %q = dl.relu %z : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s0]>>
  return %q, %y : tensor<?xf32, #dl.t<[s0]>>, tensor<?xf32, #dl.t<[s2]>>
}
// CHECK: module @segment0
// CHECK-SAME: dl.symbols = [#dl.symbol<"M", 1, 8>, #dl.symbol<"N", 1, 64>]
// CHECK: dl.weight "c"
// CHECK: dl.relu
// CHECK: module @segment1
// CHECK-SAME: dl.symbols = [#dl.symbol<"N", 1, 64>, #dl.symbol<"k", 0, 64 read true>]
// CHECK-NOT: dl.relu
// CHECK: dl.narrow
// CHECK-SAME: (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s1]>>
// CHECK: dl.weight "c"
}

// -----

// Blocks inside steps are cut, too, the inner ones first. The loop runs its calls once in each step.
// CHECK-LABEL: func.func @nested
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[N:.*]]: tensor<i64>)
// CHECK-NEXT: %[[LOOP:.*]] = dl.while trips(%[[N]] : tensor<i64>) (%[[X]])
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<i64>, %[[A:.*]]: tensor<4xf32>):
// CHECK-NEXT: %[[C:.*]] = dl.call @segment2(%[[A]])
// CHECK-NEXT: %[[IF:.*]] = dl.if %[[C]]
// CHECK-NEXT: dl.call @segment0(%[[A]])
// CHECK-NEXT: dl.yield
// CHECK-NEXT: } else {
// CHECK-NEXT: dl.call @segment1(%[[A]])
// CHECK-NEXT: dl.yield
// CHECK-NEXT: }
// CHECK-NEXT: %[[D:.*]] = dl.call @segment3(%[[IF]])
// CHECK-NEXT: dl.yield %[[D]]
// CHECK-NEXT: }
// CHECK-NEXT: %[[Y:.*]] = dl.call @segment4(%[[LOOP]])
// CHECK-NEXT: return %[[Y]]
// CHECK: module @segment0
// CHECK: dl.relu
// CHECK: module @segment1
// CHECK: dl.exp
// CHECK: module @segment2
// CHECK: dl.sum
// CHECK: module @segment3
// CHECK: dl.neg
// CHECK: module @segment4
// CHECK: dl.tanh
func.func @nested(%x: tensor<4xf32>, %n: tensor<i64>) -> tensor<4xf32> {
  %loop = dl.while trips(%n : tensor<i64>) (%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%step: tensor<i64>, %a: tensor<4xf32>):
    %s = dl.sum %a {dims = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
    %zero = dl.full 0.0 : f32 -> tensor<f32>
    %c = dl.gt %s, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %b = dl.if %c : (tensor<i1>) -> tensor<4xf32> {
      %0 = dl.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      dl.yield %0 : tensor<4xf32>
    } else {
      %1 = dl.exp %a : (tensor<4xf32>) -> tensor<4xf32>
      dl.yield %1 : tensor<4xf32>
    }
    %d = dl.neg %b : (tensor<4xf32>) -> tensor<4xf32>
    dl.yield %d : tensor<4xf32>
  }
  %y = dl.tanh %loop : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// A branch that gives a constant needs a segment that makes it; a branch that gives what is there needs none.
// CHECK-LABEL: func.func @constants
// CHECK-SAME: (%[[X:.*]]: tensor<4xf32>, %[[C:.*]]: tensor<i1>)
// CHECK-NEXT: %[[IF:.*]] = dl.if %[[C]]
// CHECK-NEXT: %[[W:.*]] = dl.call @segment0() numbers []
// CHECK-NEXT: dl.yield %[[W]]
// CHECK-NEXT: } else {
// CHECK-NEXT: dl.yield %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: return %[[IF]]
// CHECK: module @segment0
// CHECK: dl.weight "w"
// CHECK-NOT: module @segment1
func.func @constants(%x: tensor<4xf32>, %c: tensor<i1>) -> tensor<4xf32> {
  %w = dl.weight "w" : tensor<4xf32>
  %y = dl.if %c : (tensor<i1>) -> tensor<4xf32> {
    dl.yield %w : tensor<4xf32>
  } else {
    dl.yield %x : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// The pass must not fire: nothing depends on the data.
// CHECK-LABEL: func.func @whole
// CHECK-NEXT: dl.relu
// CHECK-NEXT: return
// CHECK-NOT: module @segment0
func.func @whole(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = dl.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

module attributes {dl.symbols = [#dl.symbol<"found", 0, 8, most = () -> (8)>]} {
// expected-error @+1 {{has both counted dims and branches, loops or reads; expected one of them}}
func.func @both(%x: tensor<8xf32>, %c: tensor<i1>) -> tensor<8xf32> {
  %y = dl.if %c : (tensor<i1>) -> tensor<8xf32> {
    %0 = dl.relu %x : (tensor<8xf32>) -> tensor<8xf32>
    dl.yield %0 : tensor<8xf32>
  } else {
    dl.yield %x : tensor<8xf32>
  }
  return %y : tensor<8xf32>
}
}

// -----

module attributes {dl.symbols = [
    #dl.symbol<"n0", 1, 2>, #dl.symbol<"n1", 1, 2>, #dl.symbol<"n2", 1, 2>, #dl.symbol<"n3", 1, 2>, #dl.symbol<"n4", 1, 2>, #dl.symbol<"n5", 1, 2>,
    #dl.symbol<"n6", 1, 2>, #dl.symbol<"n7", 1, 2>, #dl.symbol<"n8", 1, 2>, #dl.symbol<"n9", 1, 2>, #dl.symbol<"n10", 1, 2>, #dl.symbol<"n11", 1, 2>,
    #dl.symbol<"n12", 1, 2>, #dl.symbol<"n13", 1, 2>, #dl.symbol<"n14", 1, 2>, #dl.symbol<"n15", 1, 2>, #dl.symbol<"n16", 1, 2>, #dl.symbol<"n17", 1, 2>,
    #dl.symbol<"n18", 1, 2>, #dl.symbol<"n19", 1, 2>, #dl.symbol<"n20", 1, 2>, #dl.symbol<"n21", 1, 2>, #dl.symbol<"n22", 1, 2>, #dl.symbol<"n23", 1, 2>,
    #dl.symbol<"n24", 1, 2>, #dl.symbol<"n25", 1, 2>, #dl.symbol<"n26", 1, 2>, #dl.symbol<"n27", 1, 2>, #dl.symbol<"n28", 1, 2>, #dl.symbol<"n29", 1, 2>,
    #dl.symbol<"n30", 1, 2>, #dl.symbol<"n31", 1, 2>, #dl.symbol<"n32", 1, 2>, #dl.symbol<"n33", 1, 2>, #dl.symbol<"n34", 1, 2>, #dl.symbol<"n35", 1, 2>,
    #dl.symbol<"n36", 1, 2>, #dl.symbol<"n37", 1, 2>, #dl.symbol<"n38", 1, 2>, #dl.symbol<"n39", 1, 2>, #dl.symbol<"n40", 1, 2>, #dl.symbol<"n41", 1, 2>,
    #dl.symbol<"n42", 1, 2>, #dl.symbol<"n43", 1, 2>, #dl.symbol<"n44", 1, 2>, #dl.symbol<"n45", 1, 2>, #dl.symbol<"n46", 1, 2>, #dl.symbol<"n47", 1, 2>,
    #dl.symbol<"n48", 1, 2>, #dl.symbol<"n49", 1, 2>, #dl.symbol<"n50", 1, 2>, #dl.symbol<"n51", 1, 2>, #dl.symbol<"n52", 1, 2>, #dl.symbol<"n53", 1, 2>,
    #dl.symbol<"n54", 1, 2>, #dl.symbol<"n55", 1, 2>, #dl.symbol<"n56", 1, 2>, #dl.symbol<"n57", 1, 2>, #dl.symbol<"n58", 1, 2>, #dl.symbol<"n59", 1, 2>,
    #dl.symbol<"n60", 1, 2>, #dl.symbol<"n61", 1, 2>, #dl.symbol<"n62", 1, 2>, #dl.symbol<"n63", 1, 2>, #dl.symbol<"n64", 1, 2>]} {
func.func @symbols(%x: tensor<?xf32, #dl.t<[
    s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11 + s12 + s13 + s14 + s15 + s16 + s17 + s18 + s19 + s20 + s21 + s22 + s23 + s24 +
    s25 + s26 + s27 + s28 + s29 + s30 + s31 + s32 + s33 + s34 + s35 + s36 + s37 + s38 + s39 + s40 + s41 + s42 + s43 + s44 + s45 + s46 + s47 + s48 + s49 +
    s50 + s51 + s52 + s53 + s54 + s55 + s56 + s57 + s58 + s59 + s60 + s61 + s62 + s63 + s64]>>, %c: tensor<i1>) -> tensor<f32> {
  // expected-error @+1 {{a part of the model that no branch or read divides has more than 64 dims that vary; use fewer}}
  %s = dl.sum %x {dims = array<i64: 0>} : (tensor<?xf32, #dl.t<[
    s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11 + s12 + s13 + s14 + s15 + s16 + s17 + s18 + s19 + s20 + s21 + s22 + s23 + s24 +
    s25 + s26 + s27 + s28 + s29 + s30 + s31 + s32 + s33 + s34 + s35 + s36 + s37 + s38 + s39 + s40 + s41 + s42 + s43 + s44 + s45 + s46 + s47 + s48 + s49 +
    s50 + s51 + s52 + s53 + s54 + s55 + s56 + s57 + s58 + s59 + s60 + s61 + s62 + s63 + s64]>>) -> tensor<f32>
  %y = dl.if %c : (tensor<i1>) -> tensor<f32> {
    dl.yield %s : tensor<f32>
  } else {
    %0 = dl.neg %s : (tensor<f32>) -> tensor<f32>
    dl.yield %0 : tensor<f32>
  }
  return %y : tensor<f32>
}
}
