// RUN: dlc-opt %s --split-input-file --pass-pipeline='builtin.module(dl-schedule-cuda)' --verify-diagnostics | FileCheck %s
// RUN: dlc-opt %s --split-input-file --pass-pipeline='builtin.module(dl-schedule-cuda{force=*=recurrent_units})' --verify-diagnostics | FileCheck %s --check-prefix=LANES
// Blocks that share the hidden units, and keep as many of them as a GPU takes. In f16 they multiply up to 64 rows on tensor cores:
// 128 blocks of eight of 1024 units, 8 KiB each and 64 bytes for the banks, 32 lines and 32 rows at a time; the states that
// products read are rounded, and what is kept of them in f32 is apart.

module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
module @cuda {
  // CHECK: dlx.kernel @large attributes {
  // CHECK-SAME: cooperative
  // CHECK-SAME: kept_columns = array<i64: 1024, 8256>
  // CHECK-SAME: other_plans = [#dlx.plan<schedule = "recurrent_units"
  // CHECK-SAME: persistent
  // CHECK-SAME: plan = #dlx.plan<schedule = "recurrent_tensor", numbers = {blocks = 128 : i64, line_tiles = 2 : i64, row_groups = 1 : i64, row_tiles = 4 : i64}
  // In f32 lanes multiply, in f32: the states of eight rows lie in shared memory twice.
  // CHECK: dlx.kernel @floats attributes {
  // CHECK-SAME: cooperative
  // CHECK-SAME: kept_columns = array<i64: 1024, 16384>
  // CHECK-SAME: persistent
  // CHECK-SAME: plan = #dlx.plan<schedule = "recurrent_units"
  // CHECK: gpu.func @dlc_large(
  // CHECK: dlk.call "keep_lines" in "dlc_recurrent_mma.cuh" type = f16
  // CHECK-SAME: before_bytes = 0
  // CHECK-SAME: column_bytes = 8256
  // CHECK-SAME: columns = 1024
  // CHECK-SAME: length = 1024
  // CHECK-SAME: staged_bytes = 32768
  // CHECK-SAME: stored = 1024
  // CHECK-SAME: width = 8
  // CHECK: dlk.call "begin_states" in "dlc_recurrent_mma.cuh"
  // CHECK-SAME: exchange(%{{.*}} : memref<?xf32>)
  // CHECK: dlk.call "begin_states"
  // CHECK: gpu.barrier {dlc.grid_counter = 2 : i32}
  // CHECK: scf.for
  // CHECK: dlk.call "multiply_states" in "dlc_recurrent_mma.cuh"
  // CHECK-SAME: exchange(%{{.*}} : memref<?xf32>)
  // CHECK: dlk.give %{{.*}} : f32
  // CHECK: gpu.barrier {dlc.grid_counter = 2 : i32}
  dlx.kernel @large attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x?x4096xf16, #dl.t<[5, s0, 4096]>>, %weight: tensor<4x1024x1024xf16>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x?x4096xf16, #dl.t<[5, s0, 4096]>>, tensor<4x1024x1024xf16>) -> (tensor<5x?x1024xf16, #dl.t<[5, s0, 1024]>>, tensor<?x1024xf16, #dl.t<[s0, 1024]>>, tensor<?x1024xf16, #dl.t<[s0, 1024]>>)
    dl.yield %y, %hn, %cn : tensor<5x?x1024xf16, #dl.t<[5, s0, 1024]>>, tensor<?x1024xf16, #dl.t<[s0, 1024]>>, tensor<?x1024xf16, #dl.t<[s0, 1024]>>
  }

  // CHECK: gpu.func @dlc_floats(
  // CHECK: dlk.call "keep_columns" in "dlc_recurrent.cuh"
  // CHECK-SAME: before_bytes = 0
  // CHECK-SAME: buffers = 2
  // CHECK-SAME: column_bytes = 16384
  // CHECK-SAME: rows = 8
  // CHECK-SAME: rows_at_once = 4
  // CHECK-SAME: staged_bytes = 65536
  // CHECK-SAME: width = 4
  // CHECK: scf.for
  // CHECK: dlk.call "multiply_columns" in "dlc_recurrent.cuh"
  // CHECK: gpu.barrier {dlc.grid_counter = 2 : i32}
  dlx.kernel @floats attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x?x4096xf32, #dl.t<[5, s0, 4096]>>, %weight: tensor<4x1024x1024xf32>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x?x4096xf32, #dl.t<[5, s0, 4096]>>, tensor<4x1024x1024xf32>) -> (tensor<5x?x1024xf32, #dl.t<[5, s0, 1024]>>, tensor<?x1024xf32, #dl.t<[s0, 1024]>>, tensor<?x1024xf32, #dl.t<[s0, 1024]>>)
    dl.yield %y, %hn, %cn : tensor<5x?x1024xf32, #dl.t<[5, s0, 1024]>>, tensor<?x1024xf32, #dl.t<[s0, 1024]>>, tensor<?x1024xf32, #dl.t<[s0, 1024]>>
  }

  // Few units: each row has a block of its own, which waits for nobody.
  // CHECK: gpu.func @dlc_small(
  // CHECK-SAME: workgroup(%{{.*}} : memref<32xf32
  // CHECK-NOT: dlk.call
  dlx.kernel @small attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x2x64xf32>, %weight: tensor<4x16x16xf32>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x64xf32>, tensor<4x16x16xf32>) -> (tensor<5x2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>)
    dl.yield %y, %hn, %cn : tensor<5x2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>
  }
}
}

// -----

// Two groups of 16 rows: each unit is there twice, in blocks of sixteen that read the states of their own rows alone.
module @cuda {
  // CHECK: dlx.kernel @groups attributes {
  // CHECK-SAME: kept_columns = array<i64: 2048, 8256>
  // CHECK-SAME: numbers = {blocks = 128 : i64, line_tiles = 4 : i64, row_groups = 2 : i64, row_tiles = 2 : i64}
  // CHECK: dlk.call "multiply_states"
  // CHECK-SAME: columns = 2048
  // CHECK-SAME: row_groups = 2
  dlx.kernel @groups attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x32x4096xf16>, %weight: tensor<4x1024x1024xf16>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x32x4096xf16>, tensor<4x1024x1024xf16>) -> (tensor<5x32x1024xf16>, tensor<32x1024xf16>, tensor<32x1024xf16>)
    dl.yield %y, %hn, %cn : tensor<5x32x1024xf16>, tensor<32x1024xf16>, tensor<32x1024xf16>
  }
}

// -----

// Two directions in one launch: blocks divide the units of both among them, sixteen each, and meet once a step. The results of
// the second op come first.
module @cuda {
  // CHECK: dlx.kernel @directions attributes {
  // CHECK-SAME: kept_columns = array<i64: 1024, 4160>
  // CHECK-SAME: plan = #dlx.plan<schedule = "recurrent_tensor", numbers = {blocks = 64 : i64
  // CHECK: gpu.func @dlc_directions(
  // CHECK: dlk.call "keep_lines"
  // CHECK-SAME: cell = 0 : i64, cells = 2 : i64, column_bytes = 4160 : i64, columns = 512 : i64
  // CHECK: dlk.call "keep_lines"
  // CHECK-SAME: cell = 1 : i64
  // CHECK: gpu.barrier {dlc.grid_counter
  // CHECK: scf.for
  // CHECK: dlk.call "multiply_states"
  // CHECK-SAME: cell = 0 : i64
  // CHECK: gpu.barrier
  // CHECK-NOT: grid_counter
  // CHECK: dlk.call "multiply_states"
  // CHECK-SAME: cell = 1 : i64
  // CHECK: gpu.barrier {dlc.grid_counter
  // CHECK: scf.yield
  dlx.kernel @directions attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%g: tensor<5x8x2048xf16>, %w: tensor<4x512x512xf16>, %h: tensor<5x8x2048xf16>, %v: tensor<4x512x512xf16>):
    %y, %hn, %cn = dl.lstm_steps %g, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<5x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    %z, %hm, %cm = dl.lstm_steps %h, %v {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>, reverse = true} : (tensor<5x8x2048xf16>, tensor<4x512x512xf16>) -> (tensor<5x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>)
    dl.yield %z, %hm, %cm, %y, %hn, %cn : tensor<5x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>, tensor<5x8x512xf16>, tensor<8x512xf16>, tensor<8x512xf16>
  }
}

// -----

// A projection: its columns lie after those of the units, and are kept too.
module @cuda {
  // LANES: dlx.kernel @projected attributes {
  // LANES-SAME: kept_columns = array<i64: 1024, 4096, 512, 2048>
  // LANES: dlk.call "keep_columns"
  // LANES-SAME: before_columns = 0
  // LANES: dlk.call "keep_columns"
  // LANES-SAME: before_bytes = 4096
  // LANES-SAME: before_columns = 1024
  dlx.kernel @projected attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x1x4096xf16>, %weight: tensor<4x1024x512xf16>, %projection: tensor<512x1024xf16>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight, %projection {operandSegmentSizes = array<i32: 1, 1, 0, 1, 0, 0>} : (tensor<5x1x4096xf16>, tensor<4x1024x512xf16>, tensor<512x1024xf16>) -> (tensor<5x1x512xf16>, tensor<1x512xf16>, tensor<1x1024xf16>)
    dl.yield %y, %hn, %cn : tensor<5x1x512xf16>, tensor<1x512xf16>, tensor<1x1024xf16>
  }
}

// -----

// A block keeps the states of its row in shared memory: in f64, and where not even one row of the shared plan fits.
module @cuda {
  // expected-error @+1 {{keeps 196608 bytes of states for each row; a block has 49152 bytes of shared memory}}
  dlx.kernel @wide attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x2x32768xf64>, %weight: tensor<4x8192x8192xf64>):
    %y, %hn, %cn = dl.lstm_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x32768xf64>, tensor<4x8192x8192xf64>) -> (tensor<5x2x8192xf64>, tensor<2x8192xf64>, tensor<2x8192xf64>)
    dl.yield %y, %hn, %cn : tensor<5x2x8192xf64>, tensor<2x8192xf64>, tensor<2x8192xf64>
  }
}

// -----

module @cuda {
  // expected-error @+1 {{keeps 196616 bytes of states for each row; a block has 49152 bytes of shared memory}}
  dlx.kernel @widest attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%gates: tensor<5x2x24577xf32>, %weight: tensor<1x24577x24577xf32>):
    %y, %hn = dl.rnn_tanh_steps %gates, %weight {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x2x24577xf32>, tensor<1x24577x24577xf32>) -> (tensor<5x2x24577xf32>, tensor<2x24577xf32>)
    dl.yield %y, %hn : tensor<5x2x24577xf32>, tensor<2x24577xf32>
  }
}

// -----

// Two layers in waves, six for five steps: a column has the lines of one unit of both, 8 KiB of the lower layer and 16 of the upper
// one, which multiplies the states that the lower one reads and its own. y of the lower one stays inside.
module @cuda {
  // LANES: dlx.kernel @layers attributes {
  // LANES-SAME: cooperative
  // LANES-SAME: kept_columns = array<i64: 1024, 24576>
  // LANES-SAME: plan = #dlx.plan<schedule = "recurrent_units", numbers = {blocks = 128 : i64}
  // LANES: gpu.func @dlc_layers(
  // LANES: dlk.call "keep_columns"
  // LANES-SAME: column_at = 0 : i64, column_bytes = 24576
  // LANES: dlk.call "keep_columns"
  // LANES-SAME: column_at = 8192 : i64
  // LANES: dlk.call "keep_columns"
  // LANES-SAME: column_at = 16384 : i64
  // LANES: gpu.barrier {dlc.grid_counter
  // LANES: %[[WAVES:.*]] = arith.constant 6 : index
  // LANES: scf.for %[[WAVE:.*]] = %{{.*}} to %[[WAVES]] {{.*}} iter_args(%[[FROM:.*]] = %{{.*}}, %{{.*}} = %{{.*}}, %[[FROM1:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
  // LANES: scf.if
  // LANES: dlk.call "multiply_columns"
  // LANES-SAME: sources = 1
  // LANES: gpu.barrier
  // LANES-NOT: grid_counter
  // LANES: scf.if
  // LANES: dlk.call "multiply_stacked_columns"
  // LANES-SAME: column_at = 8192 : i64
  // LANES-SAME: sources = 2
  // LANES-SAME: %[[FROM]], %[[FROM1]],
  // LANES: gpu.barrier {dlc.grid_counter
  // LANES: scf.yield
  dlx.kernel @layers attributes {kind = #dlx.kind<recurrent>} {
  ^bb0(%g: tensor<5x1x4096xf16>, %w: tensor<4x1024x1024xf16>, %u: tensor<4096x1024xf16>, %v: tensor<4x1024x1024xf16>):
    %y, %hn, %cn = dl.lstm_steps %g, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x1x4096xf16>, tensor<4x1024x1024xf16>) -> (tensor<5x1x1024xf16>, tensor<1x1024xf16>, tensor<1x1024xf16>)
    %l = dl.linear %y, %u : (tensor<5x1x1024xf16>, tensor<4096x1024xf16>) -> tensor<5x1x4096xf16>
    %z, %hm, %cm = dl.lstm_steps %l, %v {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0>} : (tensor<5x1x4096xf16>, tensor<4x1024x1024xf16>) -> (tensor<5x1x1024xf16>, tensor<1x1024xf16>, tensor<1x1024xf16>)
    dl.yield %z, %hn, %hm : tensor<5x1x1024xf16>, tensor<1x1024xf16>, tensor<1x1024xf16>
  }
}
