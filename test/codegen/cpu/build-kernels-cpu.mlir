// RUN: dlc-opt --dl-schedule-cpu %s | FileCheck %s

// CHECK-DAG: [[SYMBOL:#.+]] = affine_map<()[s0] -> (s0)>
// CHECK-DAG: [[FLAT:#.+]] = affine_map<()[s0] -> ((s0 * 3) ceildiv 4096)>
// CHECK-DAG: [[ROWS:#.+]] = affine_map<() -> (40)>
// CHECK-DAG: [[NONE:#.+]] = affine_map<() -> (0)>

// A map whose operands lie as the result does is one long row: vectors, then a part of one.
// CHECK: dlx.kernel @relu attributes {dims = [[SYMBOL]], entry = "relu", grid = [[FLAT]], kind = #dlx.kind<map>, plan = #dlx.plan<schedule = "map", ns = {{[0-9]+}}>, scratch = [[NONE]]}
dlx.kernel @relu attributes {kind = #dlx.kind<map>} {
^bb0(%x: tensor<?x3xf32, #dl.t<[s0, 3]>>):
  %0 = dl.relu %x : (tensor<?x3xf32, #dl.t<[s0, 3]>>) -> tensor<?x3xf32, #dl.t<[s0, 3]>>
  dl.yield %0 : tensor<?x3xf32, #dl.t<[s0, 3]>>
}
// CHECK: dlx.kernel @softmax attributes {{.*}}grid = [[ROWS]]
dlx.kernel @softmax attributes {kind = #dlx.kind<reduce>} {
^bb0(%x: tensor<40x100xf32>):
  %0 = dl.softmax %x {dim = 1 : i64} : (tensor<40x100xf32>) -> tensor<40x100xf32>
  dl.yield %0 : tensor<40x100xf32>
}

// CHECK: module @avx2 {
// CHECK: func.func @relu(%[[X:.+]]: memref<?xf32>, %[[Y:.+]]: memref<?xf32>, %[[N:.+]]: index, %[[BEGIN:.+]]: index, %[[END:.+]]: index, %{{.+}}: memref<?xi8>)
// CHECK: arith.muli %[[BEGIN]], %c4096
// CHECK: scf.for
// CHECK: %[[V:.+]] = vector.load %[[X]][%{{.+}}] : memref<?xf32>, vector<8xf32>
// CHECK: %[[R:.+]] = arith.maximumf %[[V]]
// CHECK: vector.store %[[R]], %[[Y]]
// CHECK: scf.if
// CHECK: vector.maskedload %[[X]]
// CHECK: vector.maskedstore %[[Y]]

// The first stage keeps four vectors, combines them in a fixed order, halves the last until one lane is left.
// CHECK: func.func @softmax
// CHECK: %[[MANY:.+]]:4 = scf.for
// CHECK-COUNT-4: arith.maximumf {{.*}} vector<8xf32>
// CHECK: arith.maximumf %[[MANY]]#0, %[[MANY]]#1
// CHECK: vector.shuffle {{.*}} [4, 5, 6, 7]
// CHECK: vector.extract %{{.+}}[0] : f32 from vector<1xf32>
// CHECK: math.exp
// CHECK: arith.divf

// CHECK: module @avx512 {
// CHECK: func.func @relu
// CHECK: vector.load {{.*}} vector<16xf32>
