// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// Blocks that share the units of a GRU: the text reads the number of its blocks, and its shared memory, from the launch.

module @cuda {
  // CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(256, 1) dlc_gru(
  //      CHECK:  dlc::begin_grid();
  //      CHECK:    enum { before_bytes = 0, before_columns = 0, buffers = 1, column_bytes = 3072, columns = 256, copied = 4, groups = 3, length = 256, rows = 1, rows_at_once = 1, staged_bytes = 1024, warps = 8, width = 4 };
  // CHECK-NEXT:  };
  // CHECK-NEXT:  dlc::keep_columns<config>(
  // CHECK-NEXT:      weight);
  // The states before the first step, in memory that the launches of a run use in turn.
  //      CHECK:    exchange[i_1 + 1024] = 0.0f;
  //      CHECK:  dlc::grid_barrier(reinterpret_cast<u32 *>(exchange) + 1023);
  //      CHECK:  for (int step = 0; step < 5; ++step) {
  //      CHECK:    dlc::multiply_columns<config_1>(
  // CHECK-NEXT:        1, exchange, from, weight,
  // CHECK-NEXT:        [&](const int row, const int unit) -> dlc::vec<float, 4> {
  //      CHECK:        [&](const int row, const int unit, const dlc::vec<float, 4> &sums, const dlc::vec<float, 4> &prior) {
  //      CHECK:          exchange[to + (row * 256 + unit)] =
  // CHECK-NEXT:          y[(step + row) * 256 + unit] =
  // CHECK-NEXT:        });
  // CHECK-NEXT:    dlc::grid_barrier(reinterpret_cast<u32 *>(exchange) + 1023);
  //      CHECK:  for (int i_1 = i; i_1 < 256; i_1 += stride) {
  dlx.kernel @gru attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x1x768xf32>, %weight: tensor<3x256x256xf32>):
    %y, %hn = dl.gru_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x1x768xf32>, tensor<3x256x256xf32>) -> (tensor<5x1x256xf32>, tensor<1x256xf32>)
    dl.yield %y, %hn : tensor<5x1x256xf32>, tensor<1x256xf32>
  }
}
