// RUN: dlc-translate --mlir-to-cuda %s | FileCheck %s
// What may not move, and where values live.
gpu.module @kernels {
  // CHECK-LABEL: DLC_KERNEL(64) hazards(
  // CHECK-NEXT: const float *__restrict__ r,
  // CHECK-NEXT: float *x) {
  // CHECK-NEXT: DLC_SHARED(float, tile, [2][33]);
  // CHECK-NEXT:   dlc::begin_grid();
  // CHECK-NEXT: const int thread = (int)threadIdx.x;
  gpu.func @hazards(%r: memref<?xf32> {dlc.role = "r", llvm.noalias}, %x: memref<?xf32> {dlc.role = "x"})
      workgroup(%tile: memref<2x33xf32, #gpu.address_space<workgroup>> {dlc.role = "tile"})
      kernel attributes {known_block_size = array<i32: 32, 2, 1>, dlc.index_bits = 32 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c8 = arith.constant 8 : index
    %zero = arith.constant 0.0 : f32
    %one = arith.constant 1.0 : f32
    %w = arith.constant 32 : i32
    %m = arith.constant 16 : i32
    %t = gpu.thread_id x
    // A load stays before the store that may change it ...
    // CHECK-NEXT: const float v = x[0];
    // CHECK-NEXT: x[0] = 0.0f;
    // CHECK-NEXT: x[1] = v + 1.0f;
    %a = memref.load %x[%c0] : memref<?xf32>
    memref.store %zero, %x[%c0] : memref<?xf32>
    %b = arith.addf %a, %one : f32
    memref.store %b, %x[%c1] : memref<?xf32>
    // ... and a load of shared memory before the barrier.
    // CHECK-NEXT: tile[0][thread] = x[2];
    // CHECK-NEXT: dlc::barrier();
    // CHECK-NEXT: const float v_1 = tile[1][thread];
    // CHECK-NEXT: dlc::barrier();
    // CHECK-NEXT: x[2] = v_1;
    %c = memref.load %x[%c2] : memref<?xf32>
    memref.store %c, %tile[%c0, %t] : memref<2x33xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %d = memref.load %tile[%c1, %t] : memref<2x33xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    memref.store %d, %x[%c2] : memref<?xf32>
    // A guarded read is one expression; it does not read where the guard fails.
    // CHECK-NEXT: const bool test = thread >= 1;
    // CHECK-NEXT: const bool inside = test && thread < 8;
    // CHECK-NEXT: const float padded = inside ? r[thread - 1] : 0.0f;
    %g0 = arith.cmpi sge, %t, %c1 : index
    %g1 = arith.cmpi slt, %t, %c8 : index
    %g = arith.andi %g0, %g1 {dlc.role = "inside"} : i1
    %p = scf.if %g -> f32 {
      %i = arith.subi %t, %c1 : index
      %q = memref.load %r[%i] : memref<?xf32>
      scf.yield %q : f32
    } else {
      scf.yield %zero : f32
    } {dlc.role = "padded"}
    // Carried values change at once: (m, s) = (s, m + s).
    // CHECK-NEXT: float m = padded;
    // CHECK-NEXT: float s = 1.0f;
    // CHECK-NEXT: #pragma unroll 1
    // CHECK-NEXT: for (int k = thread; k < 8; k += 2) {
    // CHECK-NEXT:   const auto m_next = s;
    // CHECK-NEXT:   s = m + s;
    // CHECK-NEXT:   m = m_next;
    // CHECK-NEXT: }
    %ms:2 = scf.for %k = %t to %c8 step %c2 iter_args(%mm = %p, %ss = %one) -> (f32, f32) {
      %n = arith.addf %mm, %ss : f32
      scf.yield %ss, %n : f32, f32
    } {dlc.roles = ["k", "m", "s"], dlc.unroll = 1 : i32}
    // All lanes reach a shuffle: it never moves into a condition.
    // CHECK-NEXT: const float other = dlc::shfl_xor(s, 16);
    // CHECK-NEXT: const float best = test ? other : 1.0f;
    %o, %ok = gpu.shuffle xor %ms#1, %m, %w {dlc.role = "other"} : f32
    %best = arith.select %g0, %o, %one {dlc.role = "best"} : f32
    // CHECK-NEXT: float acc[2][4];
    // CHECK-NEXT: acc[1][2] = best;
    // CHECK-NEXT: if (inside) {
    // CHECK-NEXT:   x[thread] = acc[1][2];
    // CHECK-NEXT: }
    %acc = memref.alloca() {dlc.role = "acc"} : memref<2x4xf32, #gpu.address_space<private>>
    memref.store %best, %acc[%c1, %c2] : memref<2x4xf32, #gpu.address_space<private>>
    scf.if %g {
      %z = memref.load %acc[%c1, %c2] : memref<2x4xf32, #gpu.address_space<private>>
      memref.store %z, %x[%t] : memref<?xf32>
    }
    gpu.return
  }
}
