// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=LAUNCH
// A constant matrix of [K, N] that few rows are multiplied by is packed to [N, K] at load, once for
// all kernels that want it so: also for that which runs first, and comes last here. Who reads it as
// it lies goes on to do so. A batch stays outermost. Rows that may be few or many have one order
// for all variants. Not packed: what is no constant, what is always shared by many rows, and where
// k has less that lies together than n.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 512>]} {
module @cuda {
// CHECK: dlx.kernel @late attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x64xf16>, %{{.*}}: tensor<64x96xf16, #dl.t<[64, 96], order = [1, 0]>>):
  dlx.kernel @late attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x64xf16>, %w: tensor<64x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<1x64xf16>, tensor<64x96xf16>) -> tensor<1x96xf16>
    dl.yield %0 : tensor<1x96xf16>
  }
// CHECK-NOT: @early_pack
// CHECK: dlx.kernel @early attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x64xf16>, %{{.*}}: tensor<64x96xf16, #dl.t<[64, 96], order = [1, 0]>>):
  dlx.kernel @early attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<8x64xf16>, %w: tensor<64x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<8x64xf16>, tensor<64x96xf16>) -> tensor<8x96xf16>
    %1 = dl.relu %0 : (tensor<8x96xf16>) -> tensor<8x96xf16>
    dl.yield %1 : tensor<8x96xf16>
  }
// CHECK: dlx.kernel @transposed attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x96xf16>, %{{.*}}: tensor<64x96xf16>):
  dlx.kernel @transposed attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x96xf16>, %w: tensor<64x96xf16>):
    %0 = dl.linear %x, %w : (tensor<1x96xf16>, tensor<64x96xf16>) -> tensor<1x64xf16>
    dl.yield %0 : tensor<1x64xf16>
  }
// CHECK: dlx.kernel @many attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<64x64xf16>, %{{.*}}: tensor<64x96xf16>):
  dlx.kernel @many attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<64x64xf16>, %w: tensor<64x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<64x64xf16>, tensor<64x96xf16>) -> tensor<64x96xf16>
    dl.yield %0 : tensor<64x96xf16>
  }
// CHECK: dlx.kernel @any attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<?x64xf16, #dl.t<[s0, 64]>>, %{{.*}}: tensor<64x96xf16, #dl.t<[64, 96], order = [1, 0]>>):
  dlx.kernel @any attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<?x64xf16, #dl.t<[s0, 64]>>, %w: tensor<64x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<?x64xf16, #dl.t<[s0, 64]>>, tensor<64x96xf16>) -> tensor<?x96xf16, #dl.t<[s0, 96]>>
    dl.yield %0 : tensor<?x96xf16, #dl.t<[s0, 96]>>
  }
// CHECK: dlx.kernel @given attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x64xf16>, %{{.*}}: tensor<64x96xf16>):
  dlx.kernel @given attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x64xf16>, %w: tensor<64x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<1x64xf16>, tensor<64x96xf16>) -> tensor<1x96xf16>
    %1 = dl.tanh %0 : (tensor<1x96xf16>) -> tensor<1x96xf16>
    dl.yield %1 : tensor<1x96xf16>
  }
// CHECK: dlx.kernel @odd attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<1x63xf16>, %{{.*}}: tensor<63x96xf16>):
  dlx.kernel @odd attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<1x63xf16>, %w: tensor<63x96xf16>):
    %0 = dl.matmul %x, %w : (tensor<1x63xf16>, tensor<63x96xf16>) -> tensor<1x96xf16>
    dl.yield %0 : tensor<1x96xf16>
  }
// CHECK: dlx.kernel @batch attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<3x1x64xf32>, %{{.*}}: tensor<3x64x96xf32, #dl.t<[3, 64, 96], order = [0, 2, 1]>>):
  dlx.kernel @batch attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<3x1x64xf32>, %w: tensor<3x64x96xf32>):
    %0 = dl.matmul %x, %w : (tensor<3x1x64xf32>, tensor<3x64x96xf32>) -> tensor<3x1x96xf32>
    dl.yield %0 : tensor<3x1x96xf32>
  }
// The few may be the columns: then the first factor is the matrix.
// CHECK: dlx.kernel @columns attributes
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<64x96xf16, #dl.t<[64, 96], order = [1, 0]>>, %{{.*}}: tensor<2x64xf16>):
  dlx.kernel @columns attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%w: tensor<64x96xf16>, %x: tensor<2x64xf16>):
    %0 = dl.contract %w, %x {x_loops = array<i64: 2, 0>, other_loops = array<i64: 1, 2>, rank = 2 : i64} : (tensor<64x96xf16>, tensor<2x64xf16>) -> tensor<96x2xf16>
    dl.yield %0 : tensor<96x2xf16>
  }
// LAUNCH: %[[W:.*]] = dlx.weight "w"
// LAUNCH: %[[P:.*]] = dlx.alloc {persistent} : <tensor<64x96xf16, #dl.t<[64, 96], order = [1, 0]>>>
// LAUNCH-NEXT: dlx.launch @late_pack(%[[W]]) -> (%[[P]]) {init}
// LAUNCH-NEXT: dlx.launch @early(%{{.*}}, %[[P]])
// LAUNCH-NEXT: dlx.launch @transposed(%{{.*}}, %[[W]])
// LAUNCH-NEXT: dlx.launch @late(%{{.*}}, %[[P]])
// LAUNCH-NEXT: dlx.launch @any(%{{.*}}, %[[P]])
// LAUNCH-NEXT: dlx.launch @many(%{{.*}}, %[[W]])
// LAUNCH-NEXT: dlx.launch @columns(%[[P]], %{{.*}})
// LAUNCH-NEXT: dlx.launch @given(%{{.*}}, %arg5)
// LAUNCH-NEXT: dlx.launch @odd(
// LAUNCH-NEXT: dlx.alloc {persistent}
// LAUNCH-NEXT: dlx.launch @batch_pack(
// LAUNCH-NEXT: dlx.launch @batch(
  dlx.program @P attributes {input_names = ["a", "b", "c", "d", "e", "g", "h", "i", "j"], output_names = ["o", "p", "q", "r", "s", "t", "u", "v", "z"]} {
  ^bb0(%a: !dlx.buffer<tensor<1x64xf16>>, %b: !dlx.buffer<tensor<8x64xf16>>, %c: !dlx.buffer<tensor<1x96xf16>>, %d: !dlx.buffer<tensor<?x64xf16, #dl.t<[s0, 64]>>>, %e: !dlx.buffer<tensor<2x64xf16>>, %g: !dlx.buffer<tensor<64x96xf16>>, %h: !dlx.buffer<tensor<1x63xf16>>, %i: !dlx.buffer<tensor<3x1x64xf32>>, %j: !dlx.buffer<tensor<64x64xf16>>):
    %w = dlx.weight "w" : !dlx.buffer<tensor<64x96xf16>>
    %n = dlx.weight "n" : !dlx.buffer<tensor<63x96xf16>>
    %m = dlx.weight "m" : !dlx.buffer<tensor<3x64x96xf32>>
    %o = dlx.alloc : !dlx.buffer<tensor<8x96xf16>>
    %p = dlx.alloc : !dlx.buffer<tensor<1x64xf16>>
    %q = dlx.alloc : !dlx.buffer<tensor<1x96xf16>>
    %r = dlx.alloc : !dlx.buffer<tensor<?x96xf16, #dl.t<[s0, 96]>>>
    %s = dlx.alloc : !dlx.buffer<tensor<96x2xf16>>
    %t = dlx.alloc : !dlx.buffer<tensor<1x96xf16>>
    %u = dlx.alloc : !dlx.buffer<tensor<1x96xf16>>
    %v = dlx.alloc : !dlx.buffer<tensor<3x1x96xf32>>
    %z = dlx.alloc : !dlx.buffer<tensor<64x96xf16>>
    dlx.launch @early(%b, %w) -> (%o) : (!dlx.buffer<tensor<8x64xf16>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<8x96xf16>>)
    dlx.launch @transposed(%c, %w) -> (%p) : (!dlx.buffer<tensor<1x96xf16>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<1x64xf16>>)
    dlx.launch @late(%a, %w) -> (%q) : (!dlx.buffer<tensor<1x64xf16>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<1x96xf16>>)
    dlx.launch @any(%d, %w) -> (%r) : (!dlx.buffer<tensor<?x64xf16, #dl.t<[s0, 64]>>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<?x96xf16, #dl.t<[s0, 96]>>>)
    dlx.launch @many(%j, %w) -> (%z) : (!dlx.buffer<tensor<64x64xf16>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<64x96xf16>>)
    dlx.launch @columns(%w, %e) -> (%s) : (!dlx.buffer<tensor<64x96xf16>>, !dlx.buffer<tensor<2x64xf16>>) -> (!dlx.buffer<tensor<96x2xf16>>)
    dlx.launch @given(%a, %g) -> (%t) : (!dlx.buffer<tensor<1x64xf16>>, !dlx.buffer<tensor<64x96xf16>>) -> (!dlx.buffer<tensor<1x96xf16>>)
    dlx.launch @odd(%h, %n) -> (%u) : (!dlx.buffer<tensor<1x63xf16>>, !dlx.buffer<tensor<63x96xf16>>) -> (!dlx.buffer<tensor<1x96xf16>>)
    dlx.launch @batch(%i, %m) -> (%v) : (!dlx.buffer<tensor<3x1x64xf32>>, !dlx.buffer<tensor<3x64x96xf32>>) -> (!dlx.buffer<tensor<3x1x96xf32>>)
    dlx.return %o, %p, %q, %r, %s, %t, %u, %v, %z : !dlx.buffer<tensor<8x96xf16>>, !dlx.buffer<tensor<1x64xf16>>, !dlx.buffer<tensor<1x96xf16>>, !dlx.buffer<tensor<?x96xf16, #dl.t<[s0, 96]>>>, !dlx.buffer<tensor<96x2xf16>>, !dlx.buffer<tensor<1x96xf16>>, !dlx.buffer<tensor<1x96xf16>>, !dlx.buffer<tensor<3x1x96xf32>>, !dlx.buffer<tensor<64x96xf16>>
  }
}
}
