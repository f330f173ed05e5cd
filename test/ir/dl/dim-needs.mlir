// RUN: dlc compile %s --compile-from=import --compile-to=simplify | FileCheck %s
// Ops that calls decompose into need sizes, too, where a module of its own has them. One entry is the strongest need of a size.

// CHECK: dl.needs = [
// CHECK-SAME: {dim = #{{[a-z0-9]+}}, least = 2 : i64, why = "{{[^"]*}}: patches needs 2 or more along dim 2 of f32[1,1,A,2]"}
// CHECK-SAME: why = "{{[^"]*}}: deform_patches gives f32[1,1,3,3,B - 2,6], where B - 2 must be 1 or more"}
// CHECK-SAME: why = "{{[^"]*}}: resample gives f32[1,1,C - 3,5], where C - 3 must be 1 or more"}
// CHECK-SAME: why = "{{[^"]*}}: max_positions2d gives i64[1,1,D/2,4], where D/2 must be 1 or more"}
module attributes {dl.symbols = [#dl.symbol<"A", 0, 64>, #dl.symbol<"B", 1, 64>, #dl.symbol<"C", 1, 64>, #dl.symbol<"D", 1, 64>]} {
  func.func @forward(%a: tensor<1x1x?x2xf32, #dl.t<[1, 1, s0, 2]>> {dl.name = "a"}, %b: tensor<1x1x?x8xf32, #dl.t<[1, 1, s1, 8]>> {dl.name = "b"},
      %o: tensor<1x18x?x6xf32, #dl.t<[1, 18, s1 - 2, 6]>> {dl.name = "o"}, %c: tensor<1x1x?x8xf32, #dl.t<[1, 1, s2, 8]>> {dl.name = "c"},
      %f: tensor<4x4xf32> {dl.name = "f"}, %d: tensor<1x1x?x8xf32, #dl.t<[1, 1, s3, 8]>> {dl.name = "d"})
      -> (tensor<1x1x2x2x?x1xf32, #dl.t<[1, 1, 2, 2, s0 - 1, 1]>> {dl.name = "p"}, tensor<1x1x3x3x?x6xf32, #dl.t<[1, 1, 3, 3, s1 - 2, 6]>> {dl.name = "q"},
          tensor<1x1x?x5xf32, #dl.t<[1, 1, s2 - 3, 5]>> {dl.name = "r"}, tensor<1x1x?x4xi64, #dl.t<[1, 1, s3 floordiv 2, 4]>> {dl.name = "s"}) {
    %p = dl.patches %a {kernel_size = array<i64: 2, 2>, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
        : (tensor<1x1x?x2xf32, #dl.t<[1, 1, s0, 2]>>) -> tensor<1x1x2x2x?x1xf32, #dl.t<[1, 1, 2, 2, s0 - 1, 1]>>
    %q = dl.deform_patches %b, %o {kernel_size = array<i64: 3, 3>, stride = array<i64: 1, 1>, padding = array<i64: 0, 0>, dilation = array<i64: 1, 1>}
        : (tensor<1x1x?x8xf32, #dl.t<[1, 1, s1, 8]>>, tensor<1x18x?x6xf32, #dl.t<[1, 18, s1 - 2, 6]>>) -> tensor<1x1x3x3x?x6xf32, #dl.t<[1, 1, 3, 3, s1 - 2, 6]>>
    %r = dl.resample %c, %f {up = array<i64: 1, 1>, down = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
        : (tensor<1x1x?x8xf32, #dl.t<[1, 1, s2, 8]>>, tensor<4x4xf32>) -> tensor<1x1x?x5xf32, #dl.t<[1, 1, s2 - 3, 5]>>
    %s = dl.max_positions2d %d {kernel_size = array<i64: 2, 2>}
        : (tensor<1x1x?x8xf32, #dl.t<[1, 1, s3, 8]>>) -> tensor<1x1x?x4xi64, #dl.t<[1, 1, s3 floordiv 2, 4]>>
    return %p, %q, %r, %s : tensor<1x1x2x2x?x1xf32, #dl.t<[1, 1, 2, 2, s0 - 1, 1]>>, tensor<1x1x3x3x?x6xf32, #dl.t<[1, 1, 3, 3, s1 - 2, 6]>>,
        tensor<1x1x?x5xf32, #dl.t<[1, 1, s2 - 3, 5]>>, tensor<1x1x?x4xi64, #dl.t<[1, 1, s3 floordiv 2, 4]>>
  }
}
