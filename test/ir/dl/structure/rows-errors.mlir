// RUN: dlc-opt %s -split-input-file -verify-diagnostics

// Wrong fusions of rows: what a kernel that walks one row after the other cannot know.

// A softmax of columns waits for all rows.
func.func @rows_of_other_dims(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.softmax %0 {dim = 0 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----

// A map alone has no rows.
func.func @rows_of_no_reduction(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.exp %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %0 : tensor<8x8xf32>
  }
  return
}

// -----

// A product sums what two tensors have.
func.func @rows_and_a_product(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.linear %a, %a : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.softmax %0 {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----

// The value of row j at element (i, j).
func.func @rows_of_another_row(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.mean %a {dim = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
    %1 = dl.broadcast %0 {shape = affine_map<() -> (8, 8)>} : (tensor<8xf32>) -> tensor<8x8xf32>
    %2 = dl.sub %a, %1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %2 : tensor<8x8xf32>
  }
  return
}

// -----

// The last row first.
func.func @rows_upside_down(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.flip %0 {dims = array<i64: 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----

// Elements of all rows in each.
func.func @rows_transposed(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.permute %0 {dims = array<i64: 1, 0>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----

// The mean of the means waits for all rows.
func.func @rows_reduced_twice(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y:2 = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> (tensor<f32>, tensor<8xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.mean %a {dim = array<i64: 1>} : (tensor<8x8xf32>) -> tensor<8xf32>
    %1 = dl.mean %0 {dim = array<i64: 0>} : (tensor<8xf32>) -> tensor<f32>
    dl.yield %1, %0 : tensor<f32>, tensor<8xf32>
  }
  return
}

// -----

// The rows that the data say.
func.func @rows_that_are_looked_up(%x: tensor<8x8xf32>, %i: tensor<8xi64>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x, %i) {rows} : (tensor<8x8xf32>, tensor<8xi64>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>, %j: tensor<8xi64>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.embedding %j, %0 : (tensor<8xi64>, tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %1 : tensor<8x8xf32>
  }
  return
}

// -----

// A window reaches into the rows beside it.
func.func @rows_in_windows(%x: tensor<1x8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
  ^bb0(%a: tensor<1x8x8xf32>):
    %0 = dl.softmax %a {dim = 2 : i64} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    %1 = dl.permute %0 {dims = array<i64: 0, 2, 1>} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    %2 = dl.max_pool1d %1 {kernel_size = array<i64: 3>, stride = array<i64: 1>, padding = array<i64: 1>} : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    dl.yield %2 : tensor<1x8x8xf32>
  }
  return
}

// -----

// Half of the rows.
func.func @rows_with_other_results(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.slice %0 {dim = 0 : i64, end = 4 : i64} : (tensor<8x8xf32>) -> tensor<4x8xf32>
    dl.yield %1 : tensor<4x8xf32>
  }
  return
}

// -----

// One kernel stores both at one index.
func.func @rows_in_two_layouts(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y:2 = dl.fusion (%x) {rows} : (tensor<8x8xf32>) -> (tensor<8x8xf32, #dl.t<[8, 8], order = [1, 0]>>, tensor<8x8xf32>) {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = dl.convert_layout %0 : (tensor<8x8xf32>) -> tensor<8x8xf32, #dl.t<[8, 8], order = [1, 0]>>
    dl.yield %1, %0 : tensor<8x8xf32, #dl.t<[8, 8], order = [1, 0]>>, tensor<8x8xf32>
  }
  return
}

// -----

// In place is another kind of kernel.
func.func @rows_in_place(%x: tensor<8x8xf32>) {
  // expected-error @+1 {{does not reduce the rows of one tensor; expected reductions of the same rows, maps of these, and results with the elements of the rows or one for each row}}
  %y = dl.fusion (%x) {in_place, rows} : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%a: tensor<8x8xf32>):
    %0 = dl.softmax %a {dim = 1 : i64} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    dl.yield %0 : tensor<8x8xf32>
  }
  return
}
