// RUN: dlc-opt --dl-schedule-cpu -split-input-file %s | FileCheck %s

// The order of tiles says what threads share. Many weights, and rows that a core's cache holds: all chunks of rows of a group of
// columns, then the next group.

// CHECK-LABEL: module @avx512
// CHECK: func.func @wide(
// CHECK: scf.for %[[TILE:.+]] = %
// CHECK: %[[CHUNKS:.+]] = arith.constant 6 : index
// CHECK-NEXT: %[[CHUNK:.+]] = arith.remui %[[TILE]], %[[CHUNKS]] : index
// CHECK-NEXT: %[[REST:.+]] = arith.divui %[[TILE]], %[[CHUNKS]] : index
// CHECK-NEXT: %[[GROUPS:.+]] = arith.constant 64 : index
// CHECK-NEXT: arith.remui %[[REST]], %[[GROUPS]] : index
// CHECK: arith.muli %[[CHUNK]], %{{.+}} : index
dlx.kernel @wide attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<256x512xf32>, %w: tensor<2048x512xf32>):
  %0 = dl.linear %x, %w : (tensor<256x512xf32>, tensor<2048x512xf32>) -> tensor<256x2048xf32>
  dl.yield %0 : tensor<256x2048xf32>
}

dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<256x512xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<2048x512xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<256x2048xf32>>
  dlx.launch @wide(%x, %w) -> (%y) : (!dlx.buffer<tensor<256x512xf32>>, !dlx.buffer<tensor<2048x512xf32>>) -> (!dlx.buffer<tensor<256x2048xf32>>)
  dlx.return %y : !dlx.buffer<tensor<256x2048xf32>>
}

// -----

// Few weights and many rows: all groups of a chunk, then the next chunk.

// CHECK-LABEL: module @avx512
// CHECK: func.func @tall(
// CHECK: scf.for %[[TILE:.+]] = %
// CHECK: %[[GROUPS:.+]] = arith.constant 4 : index
// CHECK-NEXT: arith.remui %[[TILE]], %[[GROUPS]] : index
// CHECK-NEXT: %[[REST:.+]] = arith.divui %[[TILE]], %[[GROUPS]] : index
// CHECK-NEXT: %[[CHUNKS:.+]] = arith.constant 86 : index
// CHECK-NEXT: %[[CHUNK:.+]] = arith.remui %[[REST]], %[[CHUNKS]] : index
// CHECK: arith.muli %[[CHUNK]], %{{.+}} : index
dlx.kernel @tall attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<4096x64xf32>, %w: tensor<128x64xf32>):
  %0 = dl.linear %x, %w : (tensor<4096x64xf32>, tensor<128x64xf32>) -> tensor<4096x128xf32>
  dl.yield %0 : tensor<4096x128xf32>
}

dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<4096x64xf32>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<128x64xf32>>
  %y = dlx.alloc : !dlx.buffer<tensor<4096x128xf32>>
  dlx.launch @tall(%x, %w) -> (%y) : (!dlx.buffer<tensor<4096x64xf32>>, !dlx.buffer<tensor<128x64xf32>>) -> (!dlx.buffer<tensor<4096x128xf32>>)
  dlx.return %y : !dlx.buffer<tensor<4096x128xf32>>
}
