// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// Lines put in order: words of keys and places in scratch memory that grows with the line, elements left out where few are asked
// for, pairs compared by vectors where few are left, else elements in order given as they are, or a network that compares the first
// bits of keys, with insertion of what these leave out of order, or passes by so many digits as the keys have that differ. No loop over the line stands in another.

// CHECK: #[[SCRATCH:.*]] = affine_map<()[s0] -> (s0 * 16 + 33792)>
// CHECK: dlx.kernel @first attributes {{.*}}scratch = #[[SCRATCH]]
// CHECK: module @avx2 {
// CHECK: func.func @first(%[[X:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?xi64>, %[[N:[^:]*]]: index,
// CHECK: %[[COUNTERS:.*]] = memref.view %{{.*}}[%c0][%c4096]
// CHECK: %[[SOME:.*]] = memref.view %{{.*}}[%c0{{.*}}][%c16]
// CHECK: %[[WORDS:.*]] = memref.view %{{.*}}[%c16384{{.*}}]{{.*}} to memref<?xi64>
// CHECK: arith.cmpi sgt, %[[N]], %c1024
// CHECK: %[[LEFT:.*]] = scf.if
// A sample, and up to which digit enough of it lies.
// CHECK: scf.for %{{.*}} = %{{.*}} to %c512
// CHECK: memref.load %[[X]]
// CHECK: arith.bitcast %{{.*}} : f32 to i32
// CHECK: arith.shrui %{{.*}}, %c21_i32
// CHECK: scf.while
// CHECK: memref.load %[[COUNTERS]]
// CHECK: arith.cmpi ult
// CHECK: scf.condition
// Vectors, most of which have nothing to keep.
// CHECK: scf.for %{{.*}} iter_args(%[[KEPT:.*]] = %
// CHECK: vector.load %[[X]]{{.*}} vector<16xf32>
// CHECK: %[[MASK:.*]] = arith.cmpi ule, {{.*}} vector<16xi32>
// CHECK: vector.bitcast %[[MASK]] : vector<16xi1> to vector<1xi16>
// CHECK: scf.if
// CHECK: vector.store %{{.*}}, %[[SOME]]
// CHECK: scf.while
// CHECK: math.cttz
// CHECK: memref.store %{{.*}}, %[[WORDS]]
// CHECK: arith.cmpi sle, %[[LEFT]], %c128
// CHECK: scf.for %{{.*}} to %[[LEFT]] step %c64
// CHECK: vector.load %[[WORDS]]
// CHECK: scf.for %{{.*}} to %[[LEFT]] {{.*}} -> (vector<16xi64>, vector<16xi64>, vector<16xi64>, vector<16xi64>)
// CHECK-COUNT-4: arith.cmpi ult, {{.*}} vector<16xi64>
// CHECK: scf.for %{{.*}} to %[[LEFT]] step
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: } else {
// CHECK: arith.minui {{.*}} vector<16xi64>
// CHECK: arith.maxui {{.*}} vector<16xi64>
// CHECK: scf.if
// CHECK: scf.for %{{.*}} to %[[LEFT]] step
// CHECK-NOT: vector
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK: } else {
// CHECK: arith.cmpi ule, %[[LEFT]], %c4096
// CHECK: %[[OPEN:.*]] = scf.if
// CHECK: vector.store %{{.*}}, %[[NETWORK:.*]][%{{.*}}] : memref<?xi32>, vector<16xi32>
// CHECK-COUNT-8: vector.load %[[NETWORK]]
// CHECK-COUNT-19: arith.minui {{.*}} vector<16xi32>
// CHECK-COUNT-8: vector.store %{{.*}}, %[[NETWORK]]
// CHECK: vector.shuffle
// CHECK: memref.load %[[NETWORK]]
// CHECK: memref.store %{{.*}}, %[[WORDS]]
// CHECK: memref.store %{{.*}}, %[[COUNTERS]]
// CHECK: scf.while
// CHECK: memref.store %{{.*}}, %[[WORDS]]
// CHECK: vector.store %{{.*}}, %[[Y]]
// CHECK: scf.if %[[OPEN]]
// CHECK: math.ctlz
// CHECK: scf.for %{{.*}} to %[[LEFT]] step
// CHECK: scf.for {{.*}} -> (index, index, index, index, i64)
// CHECK: scf.for
// CHECK: %[[WORD:.*]] = memref.load %[[WORDS]]
// CHECK: memref.store %{{.*}}, %[[COUNTERS]]
// CHECK: memref.store %{{.*}}, %[[COUNTERS]]
// CHECK: memref.store %[[WORD]], %[[WORDS]]
// CHECK: memref.store %{{.*}}, %[[Y]]
// CHECK-NOT: to %[[LEFT]]

// All of 20 elements are compared with each other, those of keys that fill the word also by their places.

// CHECK: func.func @pairs
// CHECK-NOT: scf.if
// CHECK: vector.store %{{.*}} : memref<?xi64>, vector<8xi64>
// CHECK: scf.for %{{.*}} to %c20{{.*}} -> (vector<16xi64>, vector<16xi64>)
// CHECK: arith.cmpi ult
// CHECK-NEXT: arith.cmpi eq
// CHECK: arith.cmpi slt
// CHECK: return

// Sums of neighbouring lines are a vector.

// CHECK: func.func @sums
// CHECK: scf.for %{{.*}} = %{{.*}} to %c100 {{.*}} iter_args({{.*}}) -> (vector<16xf32>)
// CHECK: vector.maskedload
// CHECK-NEXT: arith.addf
// CHECK: vector.maskedstore

// Integers are added up in vectors, the same in any order; then those that are left.

// CHECK: func.func @counts
// CHECK: scf.for %{{.*}} to %{{.*}} step %c16{{.*}} -> (i32)
// CHECK: vector.load %arg0
// CHECK-COUNT-4: vector.shuffle
// CHECK: vector.store %{{.*}}, %arg1
// CHECK: scf.for %{{.*}} -> (i32)
// CHECK-NOT: vector
// CHECK: return

// Updates go one after the other, each a vector where all neighbours have its place; else each line goes by itself.

// CHECK: func.func @rows
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c600
// CHECK: vector.maskedload %arg0
// CHECK: vector.maskedstore %arg3
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c9
// CHECK: %[[AT:.*]] = memref.load %arg1
// CHECK: arith.cmpi ult, %[[PLACE:.*]], %c600
// CHECK-NEXT: scf.if
// CHECK: vector.maskedload %arg2
// CHECK: vector.maskedload %arg3
// CHECK-NEXT: arith.addf
// CHECK: vector.maskedstore %arg3
// CHECK-NOT: scf.for
// CHECK: func.func @elements
// CHECK: vector.store
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c9
// CHECK: scf.for
// CHECK: memref.load %arg1
// CHECK: scf.if
// CHECK: %[[UPDATE:.*]] = memref.load %arg2
// CHECK: memref.store %[[UPDATE]], %arg3

// Boxes come as the order names them, until enough are taken; each is compared with 16 of those taken before it at a time, until it
// overlaps one; their corners and areas lie in scratch.

// CHECK: func.func @boxes
// CHECK-COUNT-5: memref.view
// CHECK: %[[STATE:.*]]:2 = scf.while
// CHECK: arith.cmpi slt, %{{.*}}, %c5
// CHECK: scf.condition
// CHECK: ^bb0(%{{.*}}: index, %[[BEFORE:.*]]: index):
// CHECK: memref.load %arg0
// CHECK: arith.cmpi ult
// CHECK: memref.load %arg6
// CHECK: scf.if
// CHECK: %[[NEAR:.*]] = scf.for %{{.*}} = %c0{{.*}} to %[[BEFORE]] step %c16{{.*}} -> (i1)
// CHECK-COUNT-5: vector.load
// CHECK: arith.divf {{.*}} : vector<16xf32>
// CHECK: vector.reduction <or>
// CHECK: scf.if %[[NEAR]] -> (index)
// CHECK-COUNT-5: memref.store
// CHECK: scf.for %{{.*}} = %[[STATE]]#1 to %c5
// CHECK: memref.store %c-1_i64

module attributes {dl.symbols = [#dl.symbol<"N", 1, 9001>]} {
dlx.kernel @first attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<2x?xf32, #dl.t<[2, s0]>>):
  %0 = dl.order %x {dim = 1 : i64, descending = true, count = affine_map<() -> (5)>} : (tensor<2x?xf32, #dl.t<[2, s0]>>) -> tensor<2x5xi64>
  dl.yield %0 : tensor<2x5xi64>
}
dlx.kernel @pairs attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<6x20xi64>):
  %0 = dl.order %x {dim = 1 : i64, descending = false, count = affine_map<() -> (20)>} : (tensor<6x20xi64>) -> tensor<6x20xi64>
  dl.yield %0 : tensor<6x20xi64>
}
dlx.kernel @sums attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<3x100x40xf32>):
  %0 = dl.running_sum %x {dim = 1 : i64} : (tensor<3x100x40xf32>) -> tensor<3x100x40xf32>
  dl.yield %0 : tensor<3x100x40xf32>
}
dlx.kernel @counts attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<?xi32, #dl.t<[s0]>>):
  %0 = dl.running_sum %x {dim = 0 : i64} : (tensor<?xi32, #dl.t<[s0]>>) -> tensor<?xi32, #dl.t<[s0]>>
  dl.yield %0 : tensor<?xi32, #dl.t<[s0]>>
}
dlx.kernel @rows attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<600x40xf32>, %i: tensor<9x1xi64>, %s: tensor<9x40xf32>):
  %0 = dl.scatter_apply %x, %i, %s {dim = 0 : i64, reduce = "sum"} : (tensor<600x40xf32>, tensor<9x1xi64>, tensor<9x40xf32>) -> tensor<600x40xf32>
  dl.yield %0 : tensor<600x40xf32>
}
dlx.kernel @elements attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<600x32xf32>, %i: tensor<9x32xi64>, %s: tensor<9x32xf32>):
  %0 = dl.scatter_apply %x, %i, %s {dim = 0 : i64} : (tensor<600x32xf32>, tensor<9x32xi64>, tensor<9x32xf32>) -> tensor<600x32xf32>
  dl.yield %0 : tensor<600x32xf32>
}
dlx.kernel @boxes attributes {kind = #dlx.kind<lines>} {
^bb0(%o: tensor<3x?xi64, #dl.t<[3, s0]>>, %a: tensor<1x?xf32, #dl.t<[1, s0]>>, %b: tensor<1x?xf32, #dl.t<[1, s0]>>,
     %c: tensor<1x?xf32, #dl.t<[1, s0]>>, %d: tensor<1x?xf32, #dl.t<[1, s0]>>, %t: tensor<1xf32>,
     %m: tensor<3x?xi1, #dl.t<[3, s0]>>):
  %0 = dl.suppress %o, %a, %b, %c, %d, %t, %m {count = affine_map<() -> (5)>} :
      (tensor<3x?xi64, #dl.t<[3, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>,
       tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1xf32>, tensor<3x?xi1, #dl.t<[3, s0]>>) ->
      tensor<3x5xi64>
  dl.yield %0 : tensor<3x5xi64>
}
}
