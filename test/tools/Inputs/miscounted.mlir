module attributes {dl.symbols = [#dl.symbol<"found", 0, 4, most = () -> (4)>]} {
func.func @main(%x: tensor<4xf32> {dl.name = "x"}) -> (tensor<?xf32, #dl.t<[s0]>> {dl.name = "y"}, tensor<i64> {dl.count, dl.name = "found"}) {
  %y = dl.trim %x {dim = 0 : i64, size = affine_map<()[s0] -> (s0)>} : (tensor<4xf32>) -> tensor<?xf32, #dl.t<[s0]>>
  %n = dl.scalar_tensor {s = affine_map<() -> (99)>, dtype = i64} : () -> tensor<i64>
  return %y, %n : tensor<?xf32, #dl.t<[s0]>>, tensor<i64>
}
}
