// RUN: dlc-opt --dl-schedule-cpu -split-input-file %s | FileCheck %s

// The weight of a linear layer is packed once at load into panels of 16 columns; bias and activation run on the
// accumulators.

// CHECK: dlx.kernel @fc_pack {{.*}}kind = #dlx.kind<map>
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<40x8xf32>):
// CHECK-NEXT: dl.convert_layout {{.*}} -> tensor<40x8xf32, #dl.t<[40, 8], order = [0, 1], tile = 16 of 0>>

// CHECK: dlx.kernel @fc attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x8xf32>, %{{.*}}: tensor<40x8xf32, #dl.t<[40, 8], order = [0, 1], tile = 16 of 0>>, %{{.*}}: tensor<40xf32>):
dlx.kernel @fc attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<40x8xf32>, %b: tensor<40xf32>):
  %0 = dl.linear %x, %w, %b : (tensor<4x8xf32>, tensor<40x8xf32>, tensor<40xf32>) -> tensor<4x40xf32>
  %1 = dl.relu %0 : (tensor<4x40xf32>) -> tensor<4x40xf32>
  dl.yield %1 : tensor<4x40xf32>
}

// CHECK: dlx.program
// CHECK: %[[W:.+]] = dlx.weight "w"
// CHECK: %[[PACKED:.+]] = dlx.alloc {persistent}
// CHECK: dlx.launch @fc_pack(%[[W]]) -> (%[[PACKED]]) {init}
// CHECK: dlx.launch @fc(%{{.*}}, %[[PACKED]], %{{.*}})
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<40x8xf32>>
  %b = dlx.weight "b" : !dlx.buffer<tensor<40xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<4x40xf32>>
  dlx.launch @fc(%x, %w, %b) -> (%y) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<40x8xf32>>, !dlx.buffer<tensor<40xf32>>) -> (!dlx.buffer<tensor<4x40xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4x40xf32>>
}

// CHECK: module @avx512 {
// CHECK: func.func @fc(%[[X:[^:]+]]: memref<?xf32>, %[[B:[^:]+]]: memref<?xf32>, %[[BIAS:[^:]+]]: memref<?xf32>, %[[Y:[^:]+]]: memref<?xf32>
// Four rows by three panels.
// CHECK: %[[ACC:.+]]:12 = scf.for
// CHECK: vector.load %[[B]]
// CHECK: vector.load %[[B]]
// CHECK: vector.load %[[B]]
// CHECK: %[[A:.+]] = memref.load %[[X]]
// CHECK: %[[ROW:.+]] = vector.broadcast %[[A]] : f32 to vector<16xf32>
// CHECK-COUNT-3: math.fma %[[ROW]]
// The last panel has 8 of 16 columns.
// CHECK: %[[BIASES:.+]] = vector.maskedload %[[BIAS]]
// CHECK: %[[SUM:.+]] = arith.addf %[[ACC]]#0, %[[BIASES]]
// CHECK: %[[OUT:.+]] = arith.maximumf %[[SUM]]
// CHECK: vector.maskedstore %[[Y]][%{{.+}}], %{{.+}}, %[[OUT]]

// -----

// What is added is padded along the columns. That needs a test of lanes and no code for single elements: the weight lies in panels.

// CHECK-LABEL: dlx.kernel @padded_pack
// CHECK: dl.convert_layout {{.*}} -> tensor<32x8xf32, #dl.t<[32, 8], order = [0, 1], tile = 16 of 0>>
// CHECK-LABEL: dlx.kernel @padded attributes
// CHECK: module @avx512
// CHECK: func.func @padded
// CHECK: math.fma
// CHECK: arith.cmpi ult
// CHECK: vector.maskedload %{{.+}} : memref<?xf32>, vector<16xi1>, vector<16xf32> into vector<16xf32>
dlx.kernel @padded attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4x8xf32>, %w: tensor<32x8xf32>, %r: tensor<4x16xf32>):
  %0 = dl.linear %x, %w : (tensor<4x8xf32>, tensor<32x8xf32>) -> tensor<4x32xf32>
  %1 = dl.pad %r {pad = affine_map<() -> (8, 8)>} : (tensor<4x16xf32>) -> tensor<4x32xf32>
  %2 = dl.add %0, %1 : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  dl.yield %2 : tensor<4x32xf32>
}
dlx.program @Model attributes {input_names = ["x", "r"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4x8xf32>>, %r: !dlx.buffer<tensor<4x16xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<32x8xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<4x32xf32>>
  dlx.launch @padded(%x, %w, %r) -> (%y) : (!dlx.buffer<tensor<4x8xf32>>, !dlx.buffer<tensor<32x8xf32>>, !dlx.buffer<tensor<4x16xf32>>) -> (!dlx.buffer<tensor<4x32xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4x32xf32>>
}
