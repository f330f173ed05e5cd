func.func @main(%x: tensor<4x1x16xf32>, %a: tensor<512x16xf32>, %b: tensor<512x128xf32>) -> tensor<4x1x128xf32> {
  %y, %hn, %cn = dl.lstm %x, %a, %b {operandSegmentSizes = array<i32: 1, 0, 2, 0>} : (tensor<4x1x16xf32>, tensor<512x16xf32>, tensor<512x128xf32>) -> (tensor<4x1x128xf32>, tensor<1x1x128xf32>, tensor<1x1x128xf32>)
  return %y : tensor<4x1x128xf32>
}
