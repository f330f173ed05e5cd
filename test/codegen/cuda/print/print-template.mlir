// RUN: dlc-opt %s | dlc-opt | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// The call of a template: its numbers by name, its bodies as lambdas that use what lies around them.
module {
gpu.module @kernels {
// CHECK: #include "dlc_contract.cuh"
// CHECK-LABEL: {{^}}DLC_KERNEL(128) scaled(
// CHECK-NEXT:     const dlc::f16 *a,
// CHECK-NEXT:     float *y) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   const int batch = (int)blockIdx.z;
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { stages = 3, tile_m = 64 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_mma<config>(
// CHECK-NEXT:       64, a, nullptr,
// CHECK-NEXT:       [&](const int m, const int k) -> int {
// CHECK-NEXT:         return m * 64 + k + batch;
// CHECK-NEXT:       },
// CHECK-NEXT:       [&](const int m, const dlc::vec<float, 4> &total) {
// CHECK-NEXT:         y[m] = total[2];
// CHECK-NEXT:       });
// CHECK-NEXT: }
  gpu.func @scaled(%a: memref<?xf16> {dlc.role = "a"}, %y: memref<?xf32> {dlc.role = "y"}) kernel
      attributes {known_block_size = array<i32: 128, 1, 1>, dlc.index_bits = 32 : i32} {
    %rows = arith.constant 64 : index
    %batch = gpu.block_id z {dlc.role = "batch"}
    %none = ub.poison : memref<?xf16>
    dlk.call "contract_mma" in "dlc_contract.cuh" type = f16 config = {stages = 3 : i64, tile_m = 64 : i64}
        roles = [["m", "k"], ["m", "total"]] (%rows, %a, %none : index, memref<?xf16>, memref<?xf16>) {
    ^bb0(%m: index, %k: index):
      %row = arith.muli %m, %rows : index
      %at = arith.addi %row, %k : index
      %place = arith.addi %at, %batch : index
      dlk.give %place : index
    }, {
    ^bb0(%m: index, %total: vector<4xf32>):
      %value = vector.extract %total[2] : f32 from vector<4xf32>
      memref.store %value, %y[%m] : memref<?xf32>
      dlk.give
    }
    gpu.return
  }
}
}
