// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | dlc-translate --mlir-to-cuda | FileCheck %s --strict-whitespace
// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-select-schedules-cuda)' | FileCheck %s --check-prefix=PLAN
// The first layer of a network reads whole rows of its image, or of a video, which is rounded on the way where it comes in floats. Not where
// channels lie together or are many, where rows are no whole vectors, for floats, and where the image is computed.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>]} {
module @cuda {
// PLAN: dlx.kernel @first {{.*}}plan = #dlx.plan<schedule = "few_channels", numbers = {filters = 64 : i64
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(128, 3) dlc_first(
// CHECK-NEXT:     const float *__restrict__ x,
// CHECK-NEXT:     const dlc::f16 *__restrict__ weight,
// CHECK-NEXT:     const dlc::f16 *__restrict__ bias,
// CHECK-NEXT:     dlc::f16 *__restrict__ y,
// CHECK-NEXT:     i64 s0_arg) {
// CHECK-NEXT:   dlc::begin_grid();
// CHECK-NEXT:   struct config {
// CHECK-NEXT:     using type = dlc::f16;
// CHECK-NEXT:     using index = int;
// CHECK-NEXT:     enum { across = 0, channels = 3, deep = 1, filters = 64, high = 224, out_deep = 1, out_high = 112, out_wide = 112, pad_front = 0, pad_left = 3, pad_top = 3, rows = 8, stride_d = 1, stride_h = 2, stride_w = 2, taps_d = 1, taps_h = 7, taps_w = 7, tile_n = 64, turns = 2, vector = 8, wide = 224 };
// CHECK-NEXT:   };
// CHECK-NEXT:   dlc::contract_few_channels<config>(
// CHECK-NEXT:       x, weight,
// CHECK-NEXT:       [&](const int m, const int n, const dlc::vec<float, 8> &total) {
// CHECK-NEXT:         const dlc::vec<dlc::f16, 8> bias8 = dlc::load<8>(bias + n);
// CHECK-NEXT:         dlc::vec<dlc::f16, 8> y8;
// CHECK-NEXT:         #pragma unroll
// CHECK-NEXT:         for (int e = 0; e < 8; ++e) {
// CHECK-NEXT:           y8[e] = dlc::from_f<dlc::f16>(dlc::max(total[e] + dlc::to_f(bias8[e]), 0.0f));
// CHECK-NEXT:         }
// CHECK-NEXT:         dlc::store(y + m * 64 + n, y8);
// CHECK-NEXT:       });
// CHECK-NEXT: }
dlx.kernel @first attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x224x224xf32, #dl.t<[s0, 3, 224, 224]>>, %w: tensor<64x3x7x7xf16>, %b: tensor<64xf16>):
  %0 = dl.cast %x {dtype = f16} : (tensor<?x3x224x224xf32, #dl.t<[s0, 3, 224, 224]>>) -> tensor<?x3x224x224xf16, #dl.t<[s0, 3, 224, 224]>>
  %1 = dl.conv2d %0, %w, %b {padding = array<i64: 3, 3>, stride = array<i64: 2, 2>} : (tensor<?x3x224x224xf16, #dl.t<[s0, 3, 224, 224]>>, tensor<64x3x7x7xf16>, tensor<64xf16>) -> tensor<?x64x112x112xf16, #dl.t<[s0, 64, 112, 112], order = [0, 2, 3, 1]>>
  %2 = dl.relu %1 : (tensor<?x64x112x112xf16, #dl.t<[s0, 64, 112, 112], order = [0, 2, 3, 1]>>) -> tensor<?x64x112x112xf16, #dl.t<[s0, 64, 112, 112], order = [0, 2, 3, 1]>>
  dl.yield %2 : tensor<?x64x112x112xf16, #dl.t<[s0, 64, 112, 112], order = [0, 2, 3, 1]>>
}

// PLAN: dlx.kernel @rows {{.*}}plan = #dlx.plan<schedule = "few_channels"
dlx.kernel @rows attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x1x64x64xbf16, #dl.t<[s0, 1, 64, 64]>>, %w: tensor<32x1x3x3xbf16>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x1x64x64xbf16, #dl.t<[s0, 1, 64, 64]>>, tensor<32x1x3x3xbf16>) -> tensor<?x32x64x64xbf16, #dl.t<[s0, 32, 64, 64]>>
  dl.yield %0 : tensor<?x32x64x64xbf16, #dl.t<[s0, 32, 64, 64]>>
}

// A video: three frames of it under each window.
// PLAN: dlx.kernel @video {{.*}}plan = #dlx.plan<schedule = "few_channels", numbers = {filters = 32 : i64
// CHECK-LABEL: {{^}}DLC_KERNEL_OCCUPANCY(128, 3) dlc_video(
// CHECK: enum {{.*}} channels = 3, deep = 16, {{.*}} out_deep = 16, {{.*}} pad_front = 1, {{.*}} stride_d = 1, {{.*}} taps_d = 3,
dlx.kernel @video attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x16x112x112xf16, #dl.t<[s0, 3, 16, 112, 112]>>, %w: tensor<64x3x3x7x7xf16>):
  %0 = dl.conv3d %x, %w {padding = array<i64: 1, 3, 3>, stride = array<i64: 1, 2, 2>} : (tensor<?x3x16x112x112xf16, #dl.t<[s0, 3, 16, 112, 112]>>, tensor<64x3x3x7x7xf16>) -> tensor<?x64x16x56x56xf16, #dl.t<[s0, 64, 16, 56, 56], order = [0, 2, 3, 4, 1]>>
  dl.yield %0 : tensor<?x64x16x56x56xf16, #dl.t<[s0, 64, 16, 56, 56], order = [0, 2, 3, 4, 1]>>
}

// PLAN: dlx.kernel @channels_last
// PLAN-NOT: few_channels
dlx.kernel @channels_last attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64], order = [0, 2, 3, 1]>>, %w: tensor<32x3x3x3xf16>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64], order = [0, 2, 3, 1]>>, tensor<32x3x3x3xf16>) -> tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
}

dlx.kernel @many_channels attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x5x64x64xf16, #dl.t<[s0, 5, 64, 64]>>, %w: tensor<32x5x3x3xf16>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x5x64x64xf16, #dl.t<[s0, 5, 64, 64]>>, tensor<32x5x3x3xf16>) -> tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
}

dlx.kernel @odd_rows attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x64x63xf16, #dl.t<[s0, 3, 64, 63]>>, %w: tensor<32x3x3x3xf16>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x3x64x63xf16, #dl.t<[s0, 3, 64, 63]>>, tensor<32x3x3x3xf16>) -> tensor<?x32x64x63xf16, #dl.t<[s0, 32, 64, 63], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<?x32x64x63xf16, #dl.t<[s0, 32, 64, 63], order = [0, 2, 3, 1]>>
}

dlx.kernel @floats attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x64x64xf32, #dl.t<[s0, 3, 64, 64]>>, %w: tensor<32x3x3x3xf32>):
  %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<?x3x64x64xf32, #dl.t<[s0, 3, 64, 64]>>, tensor<32x3x3x3xf32>) -> tensor<?x32x64x64xf32, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
  dl.yield %0 : tensor<?x32x64x64xf32, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
}

dlx.kernel @computed attributes {kind = #dlx.kind<contraction>} {
^bb0(%x: tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64]>>, %w: tensor<32x3x3x3xf16>):
  %0 = dl.neg %x : (tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64]>>) -> tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64]>>
  %1 = dl.conv2d %0, %w {padding = array<i64: 1, 1>} : (tensor<?x3x64x64xf16, #dl.t<[s0, 3, 64, 64]>>, tensor<32x3x3x3xf16>) -> tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
  dl.yield %1 : tensor<?x32x64x64xf16, #dl.t<[s0, 32, 64, 64], order = [0, 2, 3, 1]>>
}
}
}
