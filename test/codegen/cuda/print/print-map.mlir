// RUN: dlc-translate --mlir-to-cuda %s | FileCheck %s --strict-whitespace --match-full-lines
// A flat map by four elements a thread, with a scalar tail: vectors are loaded and stored whole, computed by element.

//      CHECK:// y = gelu(x + bias)
// CHECK-NEXT:// model.dl:3:7\x0aint pwned;\x5c
// CHECK-NEXT:#include "dlc_device.cuh"
// CHECK-EMPTY:
// CHECK-NEXT:static DLC_DEV float dlc_erf(float x) {
//      CHECK:}
// CHECK-EMPTY:
//      CHECK:DLC_KERNEL(256) map(
// CHECK-NEXT:    const float *__restrict__ x,
// CHECK-NEXT:    const float *__restrict__ bias,
// CHECK-NEXT:    float *__restrict__ y,
// CHECK-NEXT:    i64 n_arg) {
// CHECK-NEXT:  dlc::begin_grid();
// CHECK-NEXT:  const int total = (int)n_arg * 30;
// CHECK-NEXT:  const int block = (int)blockIdx.x;
// CHECK-NEXT:  const int thread = (int)threadIdx.x;
// CHECK-NEXT:  const int first = (block * 256 + thread) * 4;
// CHECK-NEXT:  if (first + 4 <= total) {
// CHECK-NEXT:    const dlc::vec<float, 4> x4 = dlc::load<4>(x + first);
// CHECK-NEXT:    dlc::vec<float, 4> y4;
// CHECK-NEXT:    #pragma unroll
// CHECK-NEXT:    for (int e = 0; e < 4; ++e) {
// CHECK-NEXT:      const float u = x4[e] + bias[dlc::umod(first + e, 30)];
// CHECK-NEXT:      y4[e] = 0.5f * u * (1.0f + dlc_erf(u * 0.70710677f));
// CHECK-NEXT:    }
// CHECK-NEXT:    dlc::store(y + first, y4);
// CHECK-NEXT:  } else {
// CHECK-NEXT:    for (int i = first; i < total; ++i) {
// CHECK-NEXT:      y[i] = x[i] + bias[dlc::umod(i, 30)];
// CHECK-NEXT:    }
// CHECK-NEXT:  }
// CHECK-NEXT:}
gpu.module @kernels {
  gpu.func @map(%x: memref<?xf32> {dlc.role = "x", llvm.noalias}, %bias: memref<?xf32> {dlc.role = "bias", llvm.noalias},
      %y: memref<?xf32> {dlc.role = "y", llvm.noalias}, %arg: i64 {dlc.role = "n_arg"})
      kernel attributes {known_block_size = array<i32: 256, 1, 1>, dlc.index_bits = 32 : i32,
                         dlc.comment = ["y = gelu(x + bias)", "model.dl:3:7\0Aint pwned;\\"]} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c30 = arith.constant 30 : index
    %c256 = arith.constant 256 : index
    %half = arith.constant 0.5 : f32
    %one = arith.constant 1.0 : f32
    %r = arith.constant 0.70710678118654752440 : f32
    %n = arith.index_cast %arg : i64 to index
    %total = arith.muli %n, %c30 {dlc.role = "total"} : index
    %block = gpu.block_id x
    %thread = gpu.thread_id x
    %t0 = arith.muli %block, %c256 : index
    %t1 = arith.addi %t0, %thread : index
    %first = arith.muli %t1, %c4 {dlc.role = "first"} : index
    %end = arith.addi %first, %c4 : index
    %full = arith.cmpi sle, %end, %total : index
    scf.if %full {
      %x4 = vector.load %x[%first] {dlc.role = "x4"} : memref<?xf32>, vector<4xf32>
      %none = ub.poison : vector<4xf32>
      %y4 = scf.for %e = %c0 to %c4 step %c1 iter_args(%acc = %none) -> vector<4xf32> {
        %xe = vector.extract %x4[%e] : f32 from vector<4xf32>
        %i = arith.addi %first, %e : index
        %col = arith.remui %i, %c30 : index
        %b = memref.load %bias[%col] : memref<?xf32>
        %u = arith.addf %xe, %b {dlc.role = "u"} : f32
        %h = arith.mulf %half, %u : f32
        %s = arith.mulf %u, %r : f32
        %f = math.erf %s : f32
        %p = arith.addf %one, %f : f32
        %g = arith.mulf %h, %p : f32
        %next = vector.insert %g, %acc[%e] : f32 into vector<4xf32>
        scf.yield %next : vector<4xf32>
      } {dlc.roles = ["e", "y4"], dlc.unroll}
      vector.store %y4, %y[%first] : memref<?xf32>, vector<4xf32>
    } else {
      scf.for %i = %first to %total step %c1 {
        %xe = memref.load %x[%i] : memref<?xf32>
        %col = arith.remui %i, %c30 : index
        %b = memref.load %bias[%col] : memref<?xf32>
        %u = arith.addf %xe, %b : f32
        memref.store %u, %y[%i] : memref<?xf32>
      }
    }
    gpu.return
  }
}
