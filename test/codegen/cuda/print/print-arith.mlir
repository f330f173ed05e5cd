// RUN: dlc-translate --mlir-to-cuda %s | FileCheck %s
gpu.module @kernels {
  gpu.func @floats(%x: memref<?xf32> {dlc.role = "x"}, %d: memref<?xf64> {dlc.role = "d"},
      %h: memref<?xf16> {dlc.role = "h"}, %b: memref<?xbf16> {dlc.role = "b"}, %t: memref<?xi8> {dlc.role = "t"})
      kernel attributes {known_block_size = array<i32: 1, 1, 1>, dlc.index_bits = 32 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %v = memref.load %x[%c0] {dlc.role = "v"} : memref<?xf32>
    %w = memref.load %x[%c1] {dlc.role = "w"} : memref<?xf32>
    %0 = arith.subf %v, %w : f32
    %1 = arith.subf %w, %0 : f32
    %2 = arith.addf %1, %v : f32
    %3 = arith.mulf %2, %w : f32
    %4 = arith.divf %v, %3 : f32
    %5 = arith.negf %4 : f32
    // CHECK: x[0] = -(v / ((w - (v - w) + v) * w));
    memref.store %5, %x[%c0] : memref<?xf32>
    // NaN compares unordered: only the negated opposite says so.
    %lt = arith.cmpf ult, %v, %w : f32
    %nan = arith.cmpf uno, %v, %v : f32
    %or = arith.ori %lt, %nan : i1
    %eq = arith.cmpf oeq, %v, %w : f32
    %and = arith.andi %or, %eq : i1
    %max = arith.maximumf %v, %w : f32
    %sel = arith.select %and, %max, %v : f32
    // CHECK: x[1] = (!(v >= w) || dlc::is_nan(v)) && v == w ? dlc::max(v, w) : v;
    memref.store %sel, %x[%c1] : memref<?xf32>
    %inf = arith.constant 0xFF800000 : f32
    %qnan = arith.constant 0x7FC00000 : f32
    %tiny = arith.constant 1.0e-45 : f32
    %mzero = arith.constant -0.0 : f32
    // CHECK: x[2] = -DLC_INF;
    memref.store %inf, %x[%c2] : memref<?xf32>
    // CHECK: x[3] = DLC_NAN;
    memref.store %qnan, %x[%c3] : memref<?xf32>
    %6 = arith.subf %v, %mzero : f32
    %7 = arith.mulf %6, %tiny : f32
    // CHECK: x[4] = (v - -0.0f) * 1e-45f;
    memref.store %7, %x[%c4] : memref<?xf32>
    %e = memref.load %d[%c0] {dlc.role = "e"} : memref<?xf64>
    %tenth = arith.constant 0.1 : f64
    %8 = arith.mulf %e, %tenth : f64
    %9 = arith.truncf %8 : f64 to f32
    // CHECK: x[0] = (float)(e * 0.1);
    memref.store %9, %x[%c0] : memref<?xf32>
    %10 = arith.truncf %e : f64 to bf16
    // CHECK: b[0] = dlc::from_d<dlc::bf16>(e);
    memref.store %10, %b[%c0] : memref<?xbf16>
    %11 = memref.load %h[%c0] : memref<?xf16>
    %12 = arith.extf %11 : f16 to f32
    %13 = math.sqrt %12 : f32
    %14 = arith.truncf %13 : f32 to f16
    // CHECK: h[1] = dlc::from_f<dlc::f16>(dlc::sqrt(dlc::to_f(h[0])));
    memref.store %14, %h[%c1] : memref<?xf16>
    %15 = arith.extf %v : f32 to f64
    %16 = math.fma %15, %e, %tenth : f64
    // CHECK: d[1] = dlc::fma((double)v, e, 0.1);
    memref.store %16, %d[%c1] : memref<?xf64>
    %17 = arith.fptosi %v : f32 to i8
    // CHECK: t[0] = (i8)dlc::to_i32_rz(v);
    memref.store %17, %t[%c0] : memref<?xi8>
    // The sign of an unsigned byte is nobody's.
    %18 = memref.load %t[%c1] : memref<?xi8>
    %19 = arith.uitofp %18 : i8 to f32
    // CHECK: x[0] = (float)(u8)t[1];
    memref.store %19, %x[%c0] : memref<?xf32>
    // Integers are rounded once to the 16-bit formats.
    // CHECK: h[0] = dlc::from_d<dlc::f16>((double)(u8)t[1]);
    %20 = memref.load %t[%c1] : memref<?xi8>
    %21 = arith.uitofp %20 : i8 to f16
    memref.store %21, %h[%c0] : memref<?xf16>
    gpu.return
  }

  // CHECK-LABEL: DLC_KERNEL(1) integers(
  // A word of C++ is no name.
  // CHECK: i64 v3) {
  // CHECK-NEXT:   dlc::begin_grid();
  // CHECK-NEXT: const int i = (int)v3;
  gpu.func @integers(%x: memref<?xi32> {dlc.role = "x"}, %y: memref<?xi64> {dlc.role = "y"},
      %z: memref<?xi8> {dlc.role = "z"}, %n: i64 {dlc.role = "while"})
      kernel attributes {known_block_size = array<i32: 1, 1, 1>, dlc.index_bits = 32 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c30 = arith.constant 30 : index
    %i = arith.index_cast %n {dlc.role = "i"} : i64 to index
    %v = memref.load %x[%i] {dlc.role = "v"} : memref<?xi32>
    // Data wraps around; index values never do.
    %min = arith.constant -2147483648 : i32
    %0 = arith.addi %v, %min : i32
    %1 = arith.muli %0, %v : i32
    %j = arith.addi %i, %c1 : index
    // CHECK: x[i + 1] = dlc::mul_wrap<i32>(dlc::add_wrap<i32>(v, (i32)0x80000000u), v);
    memref.store %1, %x[%j] : memref<?xi32>
    %q = memref.load %y[%i] {dlc.role = "q"} : memref<?xi64>
    %five = arith.constant 5 : i64
    %2 = arith.maxsi %q, %five : i64
    // CHECK: y[i] = dlc::max(q, 5ll);
    memref.store %2, %y[%i] : memref<?xi64>
    %3 = arith.divsi %q, %five : i64
    // CHECK: y[i] = dlc::div_trunc<i64>(q, 5ll);
    memref.store %3, %y[%i] : memref<?xi64>
    // A choice of two constants has the type of the data: max(int, i64) would be ambiguous.
    %minus = arith.constant -3 : i64
    %is = arith.cmpi eq, %q, %five : i64
    %either = arith.select %is, %five, %minus : i64
    %greater = arith.maxsi %either, %q : i64
    // CHECK: y[i] = dlc::max(q == 5 ? 5ll : -3, q);
    memref.store %greater, %y[%i] : memref<?xi64>
    %4 = memref.load %z[%i] {dlc.role = "a"} : memref<?xi8>
    %5 = arith.maxui %4, %4 : i8
    // CHECK: const i8 v_1 = (i8)dlc::max((u8)a, (u8)a);
    // CHECK: z[i] = v_1;
    memref.store %5, %z[%i] : memref<?xi8>
    // CHECK: z[i] = (i8)((u8)a < (u8)v_1);
    %less = arith.cmpi ult, %4, %5 : i8
    %6 = arith.extui %less : i1 to i8
    memref.store %6, %z[%i] : memref<?xi8>
    // Signed again after an unsigned division, and floor division of what may be negative.
    %7 = arith.subi %i, %c30 : index
    %8 = arith.floordivsi %7, %c30 : index
    %9 = arith.remui %i, %c30 : index
    %10 = arith.addi %8, %9 : index
    // CHECK: x[dlc::div_floor<i32>(i - 30, 30) + dlc::umod(i, 30)] = v;
    memref.store %v, %x[%10] : memref<?xi32>
    gpu.return
  }

  // Where an offset may pass 2^31, index is 64 bits wide.
  // CHECK-LABEL: DLC_KERNEL(1) wide(
  // CHECK: const i64 block = (i64)blockIdx.x;
  // CHECK-NEXT: x[dlc::min(block, 3ll)] = 0.0f;
  // CHECK-NEXT: x[dlc::udiv(block * 30, 7ll)] = dlc::to_f(h[block]);
  gpu.func @wide(%x: memref<?xf32> {dlc.role = "x"}, %h: memref<?xbf16> {dlc.role = "h"})
      kernel attributes {known_block_size = array<i32: 1, 1, 1>, dlc.index_bits = 64 : i32} {
    %c7 = arith.constant 7 : index
    %c30 = arith.constant 30 : index
    %zero = arith.constant 0.0 : f32
    %b = gpu.block_id x
    // A literal has the exact type as well if a cast that the text leaves out makes it an index.
    %three = arith.constant 3 : i64
    %most = arith.index_cast %three : i64 to index
    %place = arith.minsi %b, %most : index
    memref.store %zero, %x[%place] : memref<?xf32>
    %0 = arith.muli %b, %c30 : index
    %1 = arith.divui %0, %c7 : index
    %2 = memref.load %h[%b] : memref<?xbf16>
    %3 = arith.extf %2 : bf16 to f32
    memref.store %3, %x[%1] : memref<?xf32>
    gpu.return
  }
}
