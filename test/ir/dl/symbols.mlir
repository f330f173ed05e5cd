// RUN: dlc-opt %s | FileCheck %s
// Symbolic dims come in normal form, so that equal dims are one expression.

// CHECK: #dl.symbol<"H", 1, 128 step 32 offset 5 why "a joint">
// CHECK-SAME: #dl.symbol<"few", -3, 4 derived <min(
// CHECK-SAME: #dl.symbol<"part", 0, 44 derived <integer(#dl.derived<floor(#dl.derived<product(#dl.derived<real(
// CHECK-SAME: 0.69{{9+}}6 : f64)>)>)>>
module attributes {dl.symbols = [#dl.symbol<"N", 1, 64>, #dl.symbol<"T", 1, 512>,
    #dl.symbol<"H", 1, 128 step 32 offset 5 why "a joint">,
    #dl.symbol<"few", -3, 4 derived <min(affine_map<()[s0] -> (s0 - 4)>, affine_map<() -> (4)>)>>,
    #dl.symbol<"part", 0, 44 derived <integer(#dl.derived<floor(#dl.derived<product(
        #dl.derived<real(affine_map<()[s0] -> (s0)>)>, 0.7 : f64)>)>)>>]} {

// CHECK-LABEL: @normal_form
// CHECK-SAME: #dl.t<[s0 * 2, s1 + 3]>
func.func private @normal_form(tensor<?x?xf32, #dl.t<[s0 + s0, 1 + s1 + 2]>>)

// CHECK-LABEL: @products
// CHECK: dl.flatten %{{.*}} -> tensor<?xf32, #dl.t<[s0 * s1]>>
func.func @products(%x: tensor<?x?xf32, #dl.t<[s0, s1]>>) {
  %y = dl.flatten %x : (tensor<?x?xf32, #dl.t<[s0, s1]>>) -> tensor<?xf32, #dl.t<[s1 * s0]>>
  return
}

// CHECK-LABEL: @windows
// CHECK: -> tensor<1x1x?x5xf32, #dl.t<[1, 1, (s1 - 3) floordiv 2 + 1, 5]>>
func.func @windows(%x: tensor<1x1x?x11xf32, #dl.t<[1, 1, s1, 11]>>, %w: tensor<1x1x3x3xf32>) {
  %y = dl.conv2d %x, %w {stride = array<i64: 2, 2>} : (tensor<1x1x?x11xf32, #dl.t<[1, 1, s1, 11]>>, tensor<1x1x3x3xf32>)
      -> tensor<1x1x?x5xf32, #dl.t<[1, 1, (s1 - 3) floordiv 2 + 1, 5]>>
  return
}
}
