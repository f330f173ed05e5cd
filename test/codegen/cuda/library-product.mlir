// RUN: dlc-opt %s --pass-pipeline='builtin.module(dl-schedule-cuda)' | FileCheck %s
// CHECK-DAG: #[[MAP0:map[0-9]*]] = affine_map<()[s0] -> (s0, 96, 64, 1, 64, 1, 0, 96, 1, 0, 96, 0)>{{$}}
// CHECK-DAG: #[[MAP1:map[0-9]*]] = affine_map<()[s0, s1] -> (s0, 96, s1, 1, s1, 1, 0, 1, s1, 0, 96, 0)>{{$}}
// CHECK-DAG: #[[MAP2:map[0-9]*]] = affine_map<()[s0] -> (s0, 96, 64, 12, 64, 1, s0 * 64, 96, 1, 6144, 96, s0 * 96)>{{$}}
// CHECK-DAG: #[[MAP3:map[0-9]*]] = affine_map<()[s0] -> (s0 * 3, 96, 64, 1, 64, 1, 0, 96, 1, 0, 96, 0)>{{$}}
// CHECK-DAG: #[[MAP4:map[0-9]*]] = affine_map<()[s0] -> (96, s0, 64, 1, 1, 96, 0, 1, 64, 0, s0, 0)>{{$}}
// What a matrix library may compute is written on the kernel: rows, columns, depth, batch, then the steps of both factors
// and of the result.
module attributes {dl.symbols = [#dl.symbol<"N", 1, 512>, #dl.symbol<"K", 1, 512>, #dl.symbol<"M", 1, 4096>]} {
module @cuda {
  // CHECK-LABEL: dlx.kernel @plain attributes
  // CHECK-SAME: product = #[[MAP0]]{{[,}]}}
  // CHECK-SAME: product_inputs = array<i64: 0, 1>, product_tf32
  dlx.kernel @plain attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<?x64xf32, #dl.t<[s0, 64]>>, %b: tensor<64x96xf32>):
    %0 = dl.matmul %a, %b {dl.tf32} : (tensor<?x64xf32, #dl.t<[s0, 64]>>, tensor<64x96xf32>) -> tensor<?x96xf32, #dl.t<[s0, 96]>>
    dl.yield %0 : tensor<?x96xf32, #dl.t<[s0, 96]>>
  }
  // The weight of a layer lies along k. Steps may be symbols.
  // CHECK-LABEL: dlx.kernel @linear attributes
  // CHECK-SAME: product = #[[MAP1]]{{[,}]}}
  // CHECK-NOT: product_tf32
  // CHECK-LABEL: dlx.kernel @stack
  dlx.kernel @linear attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<?x?xf16, #dl.t<[s0, s1]>>, %b: tensor<96x?xf16, #dl.t<[96, s1]>>):
    %0 = dl.linear %a, %b : (tensor<?x?xf16, #dl.t<[s0, s1]>>, tensor<96x?xf16, #dl.t<[96, s1]>>) -> tensor<?x96xf16, #dl.t<[s0, 96]>>
    dl.yield %0 : tensor<?x96xf16, #dl.t<[s0, 96]>>
  }
  // CHECK-SAME: product = #[[MAP2]]{{[,}]}}
  dlx.kernel @stack attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<3x4x?x64xbf16, #dl.t<[3, 4, s0, 64]>>, %b: tensor<3x4x64x96xbf16>):
    %0 = dl.matmul %a, %b : (tensor<3x4x?x64xbf16, #dl.t<[3, 4, s0, 64]>>, tensor<3x4x64x96xbf16>) -> tensor<3x4x?x96xbf16, #dl.t<[3, 4, s0, 96]>>
    dl.yield %0 : tensor<3x4x?x96xbf16, #dl.t<[3, 4, s0, 96]>>
  }
  // One matrix for the whole batch: its rows are the rows of one product.
  // CHECK-LABEL: dlx.kernel @shared
  // CHECK-SAME: product = #[[MAP3]]{{[,}]}}
  dlx.kernel @shared attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<3x?x64xf32, #dl.t<[3, s0, 64]>>, %b: tensor<64x96xf32>):
    %0 = dl.matmul %a, %b : (tensor<3x?x64xf32, #dl.t<[3, s0, 64]>>, tensor<64x96xf32>) -> tensor<3x?x96xf32, #dl.t<[3, s0, 96]>>
    dl.yield %0 : tensor<3x?x96xf32, #dl.t<[3, s0, 96]>>
  }
  // The result's columns are the first operand's rows: the factors change places.
  // CHECK-LABEL: dlx.kernel @turned
  // CHECK-SAME: product = #[[MAP4]]{{[,}]}}
  // CHECK-SAME: product_inputs = array<i64: 1, 0>
  dlx.kernel @turned attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<?x64xf32, #dl.t<[s0, 64]>>, %b: tensor<64x96xf32>):
    %0 = dl.contract %a, %b {x_loops = array<i64: 1, 2>, other_loops = array<i64: 2, 0>, rank = 2 : i64} : (tensor<?x64xf32, #dl.t<[s0, 64]>>, tensor<64x96xf32>) -> tensor<96x?xf32, #dl.t<[96, s0]>>
    dl.yield %0 : tensor<96x?xf32, #dl.t<[96, s0]>>
  }
  // Not those with anything around them, nor integers, nor what slides, nor what is computed.
  // CHECK-LABEL: dlx.kernel @bias
  // CHECK-NOT: product =
  dlx.kernel @bias attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<96x64xf32>, %c: tensor<96xf32>):
    %0 = dl.linear %a, %b, %c : (tensor<64x64xf32>, tensor<96x64xf32>, tensor<96xf32>) -> tensor<64x96xf32>
    dl.yield %0 : tensor<64x96xf32>
  }
  dlx.kernel @epilogue attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x96xf32>):
    %0 = dl.matmul %a, %b : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    %1 = dl.relu %0 : (tensor<64x96xf32>) -> tensor<64x96xf32>
    dl.yield %1 : tensor<64x96xf32>
  }
  dlx.kernel @prologue attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x96xf32>):
    %0 = dl.relu %a : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %1 = dl.matmul %0, %b : (tensor<64x64xf32>, tensor<64x96xf32>) -> tensor<64x96xf32>
    dl.yield %1 : tensor<64x96xf32>
  }
  dlx.kernel @integers attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<64x64xi32>, %b: tensor<64x96xi32>):
    %0 = dl.matmul %a, %b : (tensor<64x64xi32>, tensor<64x96xi32>) -> tensor<64x96xi32>
    dl.yield %0 : tensor<64x96xi32>
  }
  dlx.kernel @conv attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%x: tensor<8x16x8x8xf32>, %w: tensor<32x16x3x3xf32>):
    %0 = dl.conv2d %x, %w {padding = array<i64: 1, 1>} : (tensor<8x16x8x8xf32>, tensor<32x16x3x3xf32>) -> tensor<8x32x8x8xf32>
    dl.yield %0 : tensor<8x32x8x8xf32>
  }
  // Where the call was estimated to be faster: products of floats on all GPUs, large ones of 16-bit
  // elements on those whose tensor cores dlc's kernels do not reach.
  // CHECK-LABEL: dlx.kernel @floats
  // CHECK-SAME: other_plans = [{{.*}}#dlx.plan<schedule = "cublaslt", ns = {{[0-9]+}}>], plan = #dlx.plan<schedule = "float_units"
  // CHECK-SAME: product_calls = [#dlx.call<>]
  dlx.kernel @floats attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<4096x4096xf32>, %b: tensor<4096x4096xf32>):
    %0 = dl.matmul %a, %b : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    dl.yield %0 : tensor<4096x4096xf32>
  }
  // CHECK-LABEL: dlx.kernel @halves
  // CHECK-SAME: product_calls = [#dlx.call<gpu = 100, of = #{{map[0-9]*}}, limits = [{{[0-9]+}}, 4096]>, #dlx.call<gpu = 103, of = #{{map[0-9]*}}, limits = [{{[0-9]+}}, 4096]>]
  // A variant is the same product, and there is a call in its place too.
  // CHECK-LABEL: dlx.kernel @halves_for
  // CHECK-SAME: product_calls = [#dlx.call<gpu = 100, of =
  dlx.kernel @halves attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<?x4096xf16, #dl.t<[s2, 4096]>>, %b: tensor<4096x4096xf16>):
    %0 = dl.matmul %a, %b : (tensor<?x4096xf16, #dl.t<[s2, 4096]>>, tensor<4096x4096xf16>) -> tensor<?x4096xf16, #dl.t<[s2, 4096]>>
    dl.yield %0 : tensor<?x4096xf16, #dl.t<[s2, 4096]>>
  }
  // A thin one may be asked for, and is not taken unasked.
  // CHECK-LABEL: dlx.kernel @few_rows
  // CHECK-SAME: product = #
  // CHECK-NOT: product_calls
  // CHECK: gpu.module
  dlx.kernel @few_rows attributes {kind = #dlx.kind<contraction>} {
  ^bb0(%a: tensor<4x64xf32>, %b: tensor<64x96xf32>):
    %0 = dl.matmul %a, %b : (tensor<4x64xf32>, tensor<64x96xf32>) -> tensor<4x96xf32>
    dl.yield %0 : tensor<4x96xf32>
  }
}
}
