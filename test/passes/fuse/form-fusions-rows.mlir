// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cuda},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s --check-prefixes=CHECK,CUDA
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions)))' -split-input-file | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: dlc-opt %s -pass-pipeline='builtin.module(split-targets{targets=cpu},builtin.module(func.func(form-fusions),outline-kernels))' -split-input-file | FileCheck %s --check-prefix=KIND

// A sum and the norm of it are stored by one kernel.
// CHECK-LABEL: func.func @SumAndNorm
// CHECK-NEXT: %[[F:.*]]:2 = dl.fusion(%{{.*}}, %{{.*}}) {rows}
// CHECK: dl.yield %{{.*}}, %{{.*}} : tensor<64x768xf32>, tensor<64x768xf32>
// CHECK: return %[[F]]#1, %[[F]]#0
// KIND: dlx.kernel @add_standardize attributes {kind = #dlx.kind<rows>}
module {
  func.func @SumAndNorm(%x: tensor<64x768xf32>, %r: tensor<64x768xf32>) -> (tensor<64x768xf32>, tensor<64x768xf32>) {
    %s = dl.add %x, %r : (tensor<64x768xf32>, tensor<64x768xf32>) -> tensor<64x768xf32>
    %y = dl.standardize %s {affine_dims = array<i64: 1>, dims = array<i64: 1>, eps = 1.0e-5 : f64} : (tensor<64x768xf32>) -> tensor<64x768xf32>
    return %s, %y : tensor<64x768xf32>, tensor<64x768xf32>
  }
}

// -----

// A mean and a mean of squares, one with the reduced dim, one without.
// CHECK-LABEL: func.func @Moments
// CHECK: dl.fusion(%{{.*}}) {rows}
// CHECK: dl.yield %{{.*}}, %{{.*}} : tensor<64x1xf32>, tensor<64xf32>
// CHECK-NOT: dl.fusion
module {
  func.func @Moments(%x: tensor<64x768xf32>) -> (tensor<64xf32>, tensor<64x1xf32>) {
    %m = dl.mean %x {dim = array<i64: 1>} : (tensor<64x768xf32>) -> tensor<64xf32>
    %q = dl.square %x : (tensor<64x768xf32>) -> tensor<64x768xf32>
    %v = dl.mean %q {dim = array<i64: 1>, keepdim = true} : (tensor<64x768xf32>) -> tensor<64x1xf32>
    return %m, %v : tensor<64xf32>, tensor<64x1xf32>
  }
}

// -----

// A softmax written out, of rows of any number: what stands for a row is read again at each element.
// CHECK-LABEL: func.func @Written
// CHECK: dl.fusion(%{{.*}}) {rows}
// CHECK: dl.amax
// CHECK: dl.sum
// CHECK: dl.yield %{{.*}} : tensor<?x40xf32
// CHECK-NOT: dl.fusion
module attributes {dl.symbols = [#dl.symbol<"N", 1, 1024>]} {
  func.func @Written(%x: tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>> {
    %a = dl.amax %x {dim = array<i64: 1>, keepdim = true} : (tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x1xf32, #dl.t<[s0, 1]>>
    %b = dl.broadcast %a {shape = affine_map<()[s0] -> (s0, 40)>} : (tensor<?x1xf32, #dl.t<[s0, 1]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %d = dl.sub %x, %b : (tensor<?x40xf32, #dl.t<[s0, 40]>>, tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %e = dl.exp %d : (tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %s = dl.sum %e {dim = array<i64: 1>, keepdim = true} : (tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x1xf32, #dl.t<[s0, 1]>>
    %t = dl.broadcast %s {shape = affine_map<()[s0] -> (s0, 40)>} : (tensor<?x1xf32, #dl.t<[s0, 1]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    %y = dl.div %e, %t : (tensor<?x40xf32, #dl.t<[s0, 40]>>, tensor<?x40xf32, #dl.t<[s0, 40]>>) -> tensor<?x40xf32, #dl.t<[s0, 40]>>
    return %y : tensor<?x40xf32, #dl.t<[s0, 40]>>
  }
}

// -----

// Rows of other dims are other kernels, and the reason is said.
// CHECK-LABEL: func.func @OtherRows
// CHECK: dl.fusion(%{{.*}}) : (tensor<64x48xf32>) -> tensor<64x48xf32>
// CHECK: dl.fusion(%{{.*}}) {edges = [#dl.edge<input = 0, reader = "sum", producer = "softmax", why = other_rows>]}
module {
  func.func @OtherRows(%x: tensor<64x48xf32>) -> (tensor<64x48xf32>, tensor<48xf32>) {
    %p = dl.softmax %x {dim = 1 : i64} : (tensor<64x48xf32>) -> tensor<64x48xf32>
    %s = dl.sum %p {dim = array<i64: 0>} : (tensor<64x48xf32>) -> tensor<48xf32>
    return %p, %s : tensor<64x48xf32>, tensor<48xf32>
  }
}

// -----

// @no_fuse keeps an op apart.
// CHECK-LABEL: func.func @Kept
// CHECK-COUNT-2: dl.fusion
module {
  func.func @Kept(%x: tensor<64x48xf32>) -> (tensor<64xf32>, tensor<64xf32>) {
    %a = dl.amax %x {dim = array<i64: 1>} : (tensor<64x48xf32>) -> tensor<64xf32>
    %b = dl.amin %x {dim = array<i64: 1>, dl.no_fuse} : (tensor<64x48xf32>) -> tensor<64xf32>
    return %a, %b : tensor<64xf32>, tensor<64xf32>
  }
}

// -----

// A long row that is not contiguous would be read twice by one kernel of the CPU that stores its elements.
// CHECK-LABEL: func.func @LongColumns
// CPU: %[[Y:.*]] = dl.fusion(%{{.*}}, %{{.*}}) : (tensor<256x262144xf32>, tensor<256x262144xf32>) -> tensor<256x262144xf32>
// CPU: dl.fusion(%[[Y]])
// CUDA: dl.fusion(%{{.*}}, %{{.*}}) {rows}
// CUDA-NOT: dl.fusion
module {
  func.func @LongColumns(%x: tensor<256x262144xf32>, %z: tensor<256x262144xf32>) -> (tensor<256x262144xf32>, tensor<262144xf32>) {
    %y = dl.mul %x, %z : (tensor<256x262144xf32>, tensor<256x262144xf32>) -> tensor<256x262144xf32>
    %s = dl.sum %y {dim = array<i64: 0>} : (tensor<256x262144xf32>) -> tensor<262144xf32>
    return %y, %s : tensor<256x262144xf32>, tensor<262144xf32>
  }
}
