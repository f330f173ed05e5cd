// RUN: dlc-opt --dl-schedule-cpu -split-input-file %s | FileCheck %s

// Many rows: f16 becomes f32 in scratch memory, a panel of the weight once for all blocks of a chunk, a block's rows before they are
// multiplied. None is converted in the loop over the sum.

// CHECK-LABEL: dlx.kernel @half attributes
// CHECK: module @avx512
// CHECK: func.func @half(%[[X:[^:]+]]: memref<?xf16>, %[[W:[^:]+]]: memref<?xf16>
// CHECK: %[[PANELS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xf32>
// CHECK: %[[ROWS:.+]] = memref.view {{.*}} memref<?xi8> to memref<?xf32>
// CHECK: %[[STEP:.+]] = vector.load %[[W]]{{.*}} vector<16xf16>
// CHECK: %[[WIDE:.+]] = arith.extf %[[STEP]] : vector<16xf16> to vector<16xf32>
// CHECK: vector.store %[[WIDE]], %[[PANELS]]
// CHECK: %[[ROW:.+]] = vector.load %[[X]]{{.*}} vector<16xf16>
// CHECK: %[[WIDEROW:.+]] = arith.extf %[[ROW]] : vector<16xf16> to vector<16xf32>
// CHECK: vector.store %[[WIDEROW]], %[[ROWS]]
// CHECK: %[[B:.+]] = vector.load %[[PANELS]]{{.*}} vector<16xf32>
// CHECK-NOT: arith.extf
// CHECK: memref.load %[[ROWS]]
// CHECK-NOT: arith.extf
// CHECK: math.fma
// CHECK-NOT: module @avx512_bf16
dlx.kernel @half attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<48x64xf16>, %w: tensor<16x64xf16>):
  %0 = dl.linear %x, %w : (tensor<48x64xf16>, tensor<16x64xf16>) -> tensor<48x16xf16>
  dl.yield %0 : tensor<48x16xf16>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<48x64xf16>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<16x64xf16>>
  %y = dlx.alloc : !dlx.buffer<tensor<48x16xf16>>
  dlx.launch @half(%x, %w) -> (%y) : (!dlx.buffer<tensor<48x64xf16>>, !dlx.buffer<tensor<16x64xf16>>) -> (!dlx.buffer<tensor<48x16xf16>>)
  dlx.return %y : !dlx.buffer<tensor<48x16xf16>>
}

// -----

// Few rows of bf16: two steps of a panel are one vector, whose columns are interleaved; a pair of the first operand is 32 bits. The
// ninth step stands by itself, with 0 beside it.

// CHECK-LABEL: dlx.kernel @pairs attributes
// CHECK: module @avx512 {
// CHECK-NOT: dpbf16ps
// CHECK: module @avx512_bf16
// CHECK: func.func @pairs(%[[X:[^:]+]]: memref<?xbf16>, %[[W:[^:]+]]: memref<?xbf16>
// CHECK: %[[STEPS:.+]] = vector.load %[[W]]{{.*}} vector<32xbf16>
// CHECK: %[[PAIRS:.+]] = vector.shuffle %[[STEPS]], %[[STEPS]] [0, 16, 1, 17, 2, 18,
// CHECK: arith.bitcast %[[PAIRS]] : vector<32xbf16> to vector<32xi16>
// CHECK: vector.load %[[X]]{{.*}} vector<2xbf16>
// CHECK: vector.bitcast %{{.+}} : vector<2xbf16> to vector<1xi32>
// CHECK: llvm.call_intrinsic "llvm.x86.avx512bf16.dpbf16ps.512"({{.*}} : (vector<16xf32>, vector<32xbf16>, vector<32xbf16>) -> vector<16xf32>
// CHECK: scf.yield
// CHECK: arith.extui %{{.+}} : i16 to i32
dlx.kernel @pairs attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x9xbf16>, %w: tensor<16x9xbf16>):
  %0 = dl.linear %x, %w : (tensor<2x9xbf16>, tensor<16x9xbf16>) -> tensor<2x16xbf16>
  dl.yield %0 : tensor<2x16xbf16>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<2x9xbf16>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<16x9xbf16>>
  %y = dlx.alloc : !dlx.buffer<tensor<2x16xbf16>>
  dlx.launch @pairs(%x, %w) -> (%y) : (!dlx.buffer<tensor<2x9xbf16>>, !dlx.buffer<tensor<16x9xbf16>>) -> (!dlx.buffer<tensor<2x16xbf16>>)
  dlx.return %y : !dlx.buffer<tensor<2x16xbf16>>
}

// -----

// The first operand is computed as it is read, in f32, and not rounded to bf16 before it is multiplied: no pairs.

// CHECK-LABEL: dlx.kernel @computed attributes
// CHECK: module @avx512 {
// CHECK-NOT: module @avx512_bf16
dlx.kernel @computed attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<2x9xbf16>, %w: tensor<16x9xbf16>):
  %0 = dl.sigmoid %x : (tensor<2x9xbf16>) -> tensor<2x9xbf16>
  %1 = dl.linear %0, %w : (tensor<2x9xbf16>, tensor<16x9xbf16>) -> tensor<2x16xbf16>
  dl.yield %1 : tensor<2x16xbf16>
}
dlx.program @Model attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<2x9xbf16>>):
  %w = dlx.weight "w" : !dlx.buffer<tensor<16x9xbf16>>
  %y = dlx.alloc : !dlx.buffer<tensor<2x16xbf16>>
  dlx.launch @computed(%x, %w) -> (%y) : (!dlx.buffer<tensor<2x9xbf16>>, !dlx.buffer<tensor<16x9xbf16>>) -> (!dlx.buffer<tensor<2x16xbf16>>)
  dlx.return %y : !dlx.buffer<tensor<2x16xbf16>>
}
