// RUN: dlc-opt --dl-schedule-cpu -split-input-file %s | FileCheck %s

// Few rows: the weight stays in bytes in its panels; two rows of a panel are interleaved, widened, and multiplied with a pair of the
// first operand, which lies in memory as 32 bits. The ninth step stands by itself, with 0 beside it.

// CHECK-LABEL: dlx.kernel @product_pack
// CHECK: dl.convert_layout {{.*}} -> tensor<9x16xi8, #dl.t<[9, 16], order = [1, 0], tile = 16 of 1>>
// CHECK-LABEL: dlx.kernel @product attributes
// CHECK: module @avx2
// CHECK: func.func @product(%[[X:[^:]+]]: memref<?xi16>, %[[W:[^:]+]]: memref<?xi8>
// CHECK: scf.for
// CHECK: %[[B0:.+]] = vector.load %[[W]][%{{.+}}] : memref<?xi8>, vector<16xi8>
// CHECK: %[[B1:.+]] = vector.load %[[W]][%{{.+}}] : memref<?xi8>, vector<16xi8>
// CHECK: %[[LOW:.+]] = vector.shuffle %[[B0]], %[[B1]] [0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23]
// CHECK: %[[WIDE:.+]] = arith.extsi %[[LOW]] : vector<16xi8> to vector<16xi16>
// CHECK: vector.shuffle %[[B0]], %[[B1]] [8, 24, 9, 25,
// CHECK: %[[PAIR:.+]] = vector.load %[[X]][%{{.+}}] : memref<?xi16>, vector<2xi16>
// CHECK: vector.bitcast %[[PAIR]] : vector<2xi16> to vector<1xi32>
// CHECK: %[[A:.+]] = vector.bitcast %{{.+}} : vector<8xi32> to vector<16xi16>
// CHECK: %[[SUM:.+]] = llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"(%[[A]], %[[WIDE]])
// CHECK: arith.addi %{{.+}}, %[[SUM]] : vector<8xi32>
// CHECK: scf.yield
// CHECK: arith.extui %{{.+}} : i16 to i32
// CHECK: module @avx512
// CHECK: llvm.call_intrinsic "llvm.x86.avx512.pmaddw.d.512"
dlx.kernel @product attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x9xi16>, %w: tensor<9x16xi8>):
  %0 = dl.cast %x {dtype = i32} : (tensor<2x9xi16>) -> tensor<2x9xi32>
  %1 = dl.cast %w {dtype = i32} : (tensor<9x16xi8>) -> tensor<9x16xi32>
  %2 = dl.matmul %0, %1 : (tensor<2x9xi32>, tensor<9x16xi32>) -> tensor<2x16xi32>
  dl.yield %2 : tensor<2x16xi32>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<2x9xi16>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<9x16xi8>>
  %y = dlx.alloc : !dlx.buffer<tensor<2x16xi32>>
  dlx.launch @product(%x, %w) -> (%y) : (!dlx.buffer<tensor<2x9xi16>>, !dlx.buffer<tensor<9x16xi8>>) -> (!dlx.buffer<tensor<2x16xi32>>)
  dlx.return %y : !dlx.buffer<tensor<2x16xi32>>
}

// -----

// Many rows: a panel of u8 is widened in scratch memory once for all blocks of a chunk. Taps outside of the image read the row of zeros
// that lies before it.

// CHECK-LABEL: dlx.kernel @convolution attributes
// CHECK: module @avx2
// CHECK: func.func @convolution(%[[X:[^:]+]]: memref<?xi16>, %[[W:[^:]+]]: memref<?xi8>
// CHECK: %[[ZEROS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xi16>
// CHECK: %[[PANELS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xi16>
// CHECK: %[[WIDE:.+]] = arith.extui %{{.+}} : vector<16xi8> to vector<16xi16>
// CHECK: vector.store %[[WIDE]], %[[PANELS]]
// CHECK: vector.load %[[PANELS]][%{{.+}}] : memref<?xi16>, vector<16xi16>
// CHECK-NOT: arith.extui %{{.+}} : vector
// CHECK: llvm.call_intrinsic "llvm.x86.avx2.pmadd.wd"
// CHECK: arith.select %{{.+}}, %[[X]], %[[ZEROS]]
dlx.kernel @convolution attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<1x32x14x14xi16, #dl.t<[1, 32, 14, 14], order = [0, 2, 3, 1]>>, %w: tensor<16x32x3x3xui8>):
  %0 = dl.cast %x {dtype = i32} : (tensor<1x32x14x14xi16, #dl.t<[1, 32, 14, 14], order = [0, 2, 3, 1]>>) -> tensor<1x32x14x14xi32, #dl.t<[1, 32, 14, 14], order = [0, 2, 3, 1]>>
  %1 = dl.cast %w {dtype = i32} : (tensor<16x32x3x3xui8>) -> tensor<16x32x3x3xi32>
  %2 = dl.conv2d %0, %1 {padding = array<i64: 1, 1>} : (tensor<1x32x14x14xi32, #dl.t<[1, 32, 14, 14], order = [0, 2, 3, 1]>>, tensor<16x32x3x3xi32>) -> tensor<1x16x14x14xi32, #dl.t<[1, 16, 14, 14], order = [0, 2, 3, 1]>>
  dl.yield %2 : tensor<1x16x14x14xi32, #dl.t<[1, 16, 14, 14], order = [0, 2, 3, 1]>>
}

// -----

// The first operand may be anything of an i32: no pairs.

// CHECK-LABEL: dlx.kernel @wide attributes
// CHECK: module @avx2
// CHECK-NOT: call_intrinsic
// CHECK: arith.muli
dlx.kernel @wide attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x9xi32>, %w: tensor<9x16xi8>):
  %0 = dl.cast %w {dtype = i32} : (tensor<9x16xi8>) -> tensor<9x16xi32>
  %1 = dl.matmul %x, %0 : (tensor<2x9xi32>, tensor<9x16xi32>) -> tensor<2x16xi32>
  dl.yield %1 : tensor<2x16xi32>
}
