// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s --check-prefix=IR

// A short line is one tile; of a long one the first elements stay in the tile; a long one that is wanted whole goes through
// memory that comes with the launch.

// IR: dlx.kernel @all_clear
// IR: dlx.launch @all(%{{.*}}, %{{.*}}, %{{.*}}) -> (

module attributes {dl.symbols = [#dl.symbol<"N", 1, 20000>]} {
module @cuda {
// CHECK-LABEL: {{^}}DLC_KERNEL(64) dlc_short(
// CHECK-NEXT:     const i64 *__restrict__ x,
// CHECK-NEXT:     i64 *__restrict__ y) {
// CHECK-NEXT:   DLC_SHARED(i64, keys, [128]);
// CHECK-NEXT:   DLC_SHARED(i32, places, [128]);
// CHECK:   for (int i = thread; i < 100; i += 64) {
// CHECK-NEXT:     const i64 x_i = x[i + line * 100];
// CHECK-NEXT:     keys[i] = x_i ^ (i64)0x8000000000000000ull;
// CHECK-NEXT:     places[i] = i;
// CHECK:   dlc::barrier();
// CHECK:   for (int level = 0; level < 7; ++level) {
// CHECK-NEXT:     if (half < 100) {
// CHECK:       for (int step = 0; step < level + 1; ++step) {
// CHECK:         for (int pair = thread; pair < 64; pair += 64) {
// CHECK:           const int high = test ? start + stride * 2 - 1 - within : low + stride;
// CHECK-NEXT:           if (high < 100) {
// CHECK:             const bool test_1 = (u64)low_key > (u64)high_key || (low_key == high_key && low_place > high_place);
// CHECK:   for (int rank = thread; rank < 100; rank += 64) {
dlx.kernel @short attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<3x100xi64>):
  %0 = dl.order %x {dim = 1 : i64, descending = false, count = affine_map<() -> (100)>} : (tensor<3x100xi64>) -> tensor<3x100xi64>
  dl.yield %0 : tensor<3x100xi64>
}
// CHECK-LABEL: {{^}}DLC_KERNEL(512) dlc_few(
// CHECK-NOT: line_keys
// CHECK:   for (int tile = 0; tile < tiles; ++tile) {
// CHECK-NEXT:     const int count = dlc::min(4096 - kept, s0 - first);
// CHECK:     kept = 40;
// CHECK:   for (int rank = thread; rank < dlc::min(s0, 40); rank += 512) {
// CHECK:   for (int rank = s0 + thread; rank < 40; rank += 512) {
// CHECK-NEXT:     y[rank] = 0;
dlx.kernel @few attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<?xf32, #dl.t<[s0]>>):
  %0 = dl.order %x {dim = 0 : i64, descending = true, count = affine_map<() -> (40)>} : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<40xi64>
  dl.yield %0 : tensor<40xi64>
}
// CHECK-LABEL: {{^}}DLC_KERNEL(512) dlc_all(
// CHECK-NEXT:     const float *__restrict__ in0,
// CHECK-NEXT:     i32 *__restrict__ line_keys,
// CHECK-NEXT:     i32 *__restrict__ line_places,
// CHECK:   for (int first = 0; first < s0; first += 4096) {
// CHECK:   int half = 4096;
// CHECK:   for (int level = 0; level < 3; ++level) {
// CHECK-NEXT:     if (half < s0) {
dlx.kernel @all attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<?xf32, #dl.t<[s0]>>):
  %0 = dl.order %x {dim = 0 : i64, descending = true, count = affine_map<()[s0] -> (s0)>} : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xi64, #dl.t<[s0]>>
  dl.yield %0 : tensor<?xi64, #dl.t<[s0]>>
}
dlx.program @main attributes {input_names = ["x"], output_names = ["y"]} {
^bb0(%x: !dlx.buffer<tensor<?xf32, #dl.t<[s0]>>>):
  %y = dlx.alloc : <tensor<?xi64, #dl.t<[s0]>>>
  dlx.launch @all(%x) -> (%y) : (!dlx.buffer<tensor<?xf32, #dl.t<[s0]>>>) -> (!dlx.buffer<tensor<?xi64, #dl.t<[s0]>>>)
  dlx.return %y : !dlx.buffer<tensor<?xi64, #dl.t<[s0]>>>
}
// Sums of a block, and of a thread where lines stand side by side.
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_sums(
// CHECK:   for (int first = 0; first < s0; first += 256) {
// CHECK:     for (int step = 0; step < 8; ++step) {
// CHECK:     before = before + all;
dlx.kernel @sums attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<?xf32, #dl.t<[s0]>>):
  %0 = dl.running_sum %x {dim = 0 : i64} : (tensor<?xf32, #dl.t<[s0]>>) -> tensor<?xf32, #dl.t<[s0]>>
  dl.yield %0 : tensor<?xf32, #dl.t<[s0]>>
}
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_side_by_side(
// CHECK-NOT: DLC_SHARED
// CHECK:   for (int i_2 = 0; i_2 < 100; ++i_2) {
// CHECK:     sum =
dlx.kernel @side_by_side attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<3x100x40xf32>):
  %0 = dl.running_sum %x {dim = 1 : i64} : (tensor<3x100x40xf32>) -> tensor<3x100x40xf32>
  dl.yield %0 : tensor<3x100x40xf32>
}
// Updates of a line are sorted by their places, those outside last; a thread for each place adds its run of them.
// CHECK-LABEL: {{^}}DLC_KERNEL(512) dlc_updates(
// CHECK:   for (int place = thread; place < 50; place += 512) {
// CHECK-NEXT:     y[place] = in0[place];
// CHECK:   for (int first = 0; first < s0; first += 4096) {
// CHECK-NEXT:     const int held = dlc::min(s0 - first, 4096);
// CHECK:       keys[i] = place >= 0 && place < 50 ? place : -1;
// CHECK-NEXT:       places[i] = i;
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
// CHECK:       if (key != -1 && (0 < rank ? keys[rank - 1] != key : true)) {
// CHECK:         float result = y[place];
// CHECK:         for (int at = rank; at < low; ++at) {
// CHECK-NEXT:           const int i = first + places[at];
// CHECK-NEXT:           const float update = in2[i];
// CHECK-NEXT:           result = result + update;
// CHECK-NEXT:         }
// CHECK-NEXT:         y[place] = result;
// CHECK-NEXT:       }
// CHECK-NEXT:     }
// CHECK-NEXT:     dlc::barrier();
dlx.kernel @updates attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<50xf32>, %i: tensor<?xi64, #dl.t<[s0]>>, %s: tensor<?xf32, #dl.t<[s0]>>):
  %0 = dl.scatter_apply %x, %i, %s {dim = 0 : i64, reduce = "sum"} : (tensor<50xf32>, tensor<?xi64, #dl.t<[s0]>>, tensor<?xf32, #dl.t<[s0]>>) -> tensor<50xf32>
  dl.yield %0 : tensor<50xf32>
}
// Neighbouring lines go through the updates themselves, for a part of the places each; the last update stays.
// CHECK-LABEL: {{^}}DLC_KERNEL(128) dlc_neighbours(
// CHECK:   const int first = part * 64;
// CHECK-NEXT:   const int end = first + dlc::min(600 - first, 64);
// CHECK-NEXT:   if (line < 40) {
// CHECK:     for (int i = 0; i < 9; ++i) {
// CHECK-NEXT:       const i32 position = in1[i];
// CHECK:       if (place >= first && place < end) {
// CHECK-NEXT:         const float update = in2[line + i * 40];
// CHECK-NEXT:         y[place * 40 + line] = update;
dlx.kernel @neighbours attributes {kind = #dlx.kind<lines>} {
^bb0(%x: tensor<600x40xf32>, %i: tensor<9x1xi32>, %s: tensor<9x40xf32>):
  %0 = dl.scatter_apply %x, %i, %s {dim = 0 : i64} : (tensor<600x40xf32>, tensor<9x1xi32>, tensor<9x40xf32>) -> tensor<600x40xf32>
  dl.yield %0 : tensor<600x40xf32>
}
// A thread compares its box with those taken before; the boxes of the threads are gone through in order.
// CHECK-LABEL: {{^}}DLC_KERNEL(256) dlc_boxes(
// CHECK:   int taken = 0;
// CHECK:   for (int first = 0; first < s0; first += 256) {
// CHECK-NEXT:     const int held = taken < 5 ? dlc::min(s0 - first, 256) : 0;
// CHECK:       const i64 v = in0[first + thread + line * s0];
// CHECK-NEXT:       place = (u64)v < (u64)(i64)s0 ? (int)v : -1;
// CHECK:       const float low0 = in1[place];
// CHECK:       own_4 = in6[place + line * s0] != 0;
// CHECK:     bool is_out = own_4 != true;
// CHECK-NEXT:     #pragma unroll 1
// CHECK-NEXT:     for (int j = 0; j < taken; ++j) {
// CHECK:         const int its_place = (int)y[j + line * 5];
// CHECK:     is_out_of[thread] = (i32)is_out;
// CHECK-NEXT:     dlc::barrier();
// CHECK:     for (int i = 0; i < held; ++i) {
// CHECK-NEXT:       const bool is_taken = taken_1 < 5 && is_out_of[i] == 0;
// CHECK-NEXT:       if (is_taken) {
// CHECK-NEXT:         if (thread == i) {
// CHECK-NEXT:           y[taken_1 + line * 5] = (i64)place;
// CHECK:           if (threshold < v_2 / (v_3 - v_2)) {
// CHECK-NEXT:             is_out_of[thread] = 1;
// CHECK:         dlc::barrier();
// CHECK:   for (int rank = taken + thread; rank < 5; rank += 256) {
// CHECK-NEXT:     y[rank + line * 5] = (i64)-1;
dlx.kernel @boxes attributes {kind = #dlx.kind<lines>} {
^bb0(%o: tensor<3x?xi64, #dl.t<[3, s0]>>, %a: tensor<1x?xf32, #dl.t<[1, s0]>>, %b: tensor<1x?xf32, #dl.t<[1, s0]>>,
     %c: tensor<1x?xf32, #dl.t<[1, s0]>>, %d: tensor<1x?xf32, #dl.t<[1, s0]>>, %t: tensor<1xf32>,
     %m: tensor<3x?xi1, #dl.t<[3, s0]>>):
  %0 = dl.suppress %o, %a, %b, %c, %d, %t, %m {count = affine_map<() -> (5)>} :
      (tensor<3x?xi64, #dl.t<[3, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>,
       tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1x?xf32, #dl.t<[1, s0]>>, tensor<1xf32>, tensor<3x?xi1, #dl.t<[3, s0]>>) ->
      tensor<3x5xi64>
  dl.yield %0 : tensor<3x5xi64>
}
}
}
