// RUN: dlc-opt --dl-schedule-cpu -split-input-file %s | FileCheck %s

// A long sum over many rows: each block of rows asks for a part of the panels that come next, and 64 rows are one chunk, whose offsets
// are the row's number times a step: no row is divided into lines and columns of the image.

// CHECK-LABEL: dlx.kernel @product attributes
// CHECK: module @avx512_vnni
// CHECK: func.func @product(%[[X:[^:]+]]: memref<?xi8>, %[[W:[^:]+]]: memref<?xi8>
// CHECK-NOT: memref.view
// CHECK: %[[STEPS:.+]] = vector.load %[[W]][%{{.+}}] : memref<?xi8>, vector<64xi8>
// CHECK: memref.prefetch %[[W]][%{{.+}}], read, locality<2>, data : memref<?xi8>
// CHECK: vector.load %[[X]][%{{.+}}] : memref<?xi8>, vector<4xi8>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.vpdpbusd.512"
dlx.kernel @product attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x1024x8x8xui8, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>, %w: tensor<64x1024x1x1xi8>):
  %0 = dl.cast %x {dtype = i32} : (tensor<1x1024x8x8xui8, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>) -> tensor<1x1024x8x8xi32, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>
  %1 = dl.cast %w {dtype = i32} : (tensor<64x1024x1x1xi8>) -> tensor<64x1024x1x1xi32>
  %2 = dl.conv2d %0, %1 : (tensor<1x1024x8x8xi32, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>, tensor<64x1024x1x1xi32>) -> tensor<1x64x8x8xi32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>
  dl.yield %2 : tensor<1x64x8x8xi32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<1x1024x8x8xui8, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<64x1024x1x1xi8>>
  %y = dlx.alloc : !dlx.buffer<tensor<1x64x8x8xi32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>>
  dlx.launch @product(%x, %w) -> (%y) : (!dlx.buffer<tensor<1x1024x8x8xui8, #dl.t<[1, 1024, 8, 8], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<64x1024x1x1xi8>>) -> (!dlx.buffer<tensor<1x64x8x8xi32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>>)
  dlx.return %y : !dlx.buffer<tensor<1x64x8x8xi32, #dl.t<[1, 64, 8, 8], order = [0, 2, 3, 1]>>>
}

// -----

// Three channels: the weights of a tap are put together in scratch memory, after the row of zeros, with 0 as the fourth step; blocks after
// which a byte may be read load four of the image at once, the others one by one.

// CHECK-LABEL: dlx.kernel @few_channels attributes
// CHECK: module @avx512_vnni
// CHECK: func.func @few_channels(%[[X:[^:]+]]: memref<?xi8>, %[[W:[^:]+]]: memref<?xi8>
// CHECK: %[[ZEROS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xi8>
// CHECK: %[[PANELS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xi8>
// CHECK: vector.store %{{.+}}, %[[PANELS]][%{{.+}}] : memref<?xi8>, vector<64xi8>
// CHECK: vector.load %[[PANELS]][%{{.+}}] : memref<?xi8>, vector<64xi8>
// CHECK-NOT: memref.prefetch
// CHECK: vector.load %[[X]][%{{.+}}] : memref<?xi8>, vector<4xi8>
// CHECK: memref.load %{{.+}}[%{{.+}}] : memref<?xi8>
dlx.kernel @few_channels attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x3x32x32xui8, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>, %w: tensor<16x3x3x3xi8>):
  %0 = dl.cast %x {dtype = i32} : (tensor<1x3x32x32xui8, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>) -> tensor<1x3x32x32xi32, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>
  %1 = dl.cast %w {dtype = i32} : (tensor<16x3x3x3xi8>) -> tensor<16x3x3x3xi32>
  %2 = dl.conv2d %0, %1 {padding = array<i64: 1, 1>} : (tensor<1x3x32x32xi32, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>, tensor<16x3x3x3xi32>) -> tensor<1x16x32x32xi32, #dl.t<[1, 16, 32, 32], order = [0, 2, 3, 1]>>
  dl.yield %2 : tensor<1x16x32x32xi32, #dl.t<[1, 16, 32, 32], order = [0, 2, 3, 1]>>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<1x3x32x32xui8, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<16x3x3x3xi8>>
  %y = dlx.alloc : !dlx.buffer<tensor<1x16x32x32xi32, #dl.t<[1, 16, 32, 32], order = [0, 2, 3, 1]>>>
  dlx.launch @few_channels(%x, %w) -> (%y) : (!dlx.buffer<tensor<1x3x32x32xui8, #dl.t<[1, 3, 32, 32], order = [0, 2, 3, 1]>>>, !dlx.buffer<tensor<16x3x3x3xi8>>) -> (!dlx.buffer<tensor<1x16x32x32xi32, #dl.t<[1, 16, 32, 32], order = [0, 2, 3, 1]>>>)
  dlx.return %y : !dlx.buffer<tensor<1x16x32x32xi32, #dl.t<[1, 16, 32, 32], order = [0, 2, 3, 1]>>>
}
